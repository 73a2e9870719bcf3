"""`rbl release`: cut a release and verify it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer

from rbl.cli.app import noun, settings
from rbl.cli.output import AlwaysJson, AsJson, AsPolicy, document, mark, progress, show_record
from store.errors import CheckFailed, InputError

app = noun("Cut a release and verify it. Example: rbl release freeze first --schedule all")

Name = Annotated[str, typer.Argument(help="Name of the release.")]


@app.command()
def freeze(
    ctx: typer.Context,
    name: Name,
    schedule: Annotated[str, typer.Option(help="Name of the schedule whose attempts it holds.")],
    as_json: AsJson = False,
) -> None:
    """Freeze a release: results, leaves, root, record, proofs. Example: rbl release freeze first --schedule all"""
    from ledger.release.freeze import freeze as cut
    from ledger.release.report import parse_results
    from rbl.workspace import open_folder

    folder = open_folder(settings(ctx).directory)
    record = cut(folder, name, schedule)
    ranked = sum(row.rank is not None for row in parse_results(folder.store.get(record.body.results)).rows)
    if as_json:
        document(
            "release-freeze",
            name=name,
            digest=str(record.body.root),
            root=str(record.body.root),
            size=record.body.cutoff.size,
            attempts=record.body.attempts,
            ranked=ranked,
            results=str(record.body.results),
        )
    else:
        print(f"release {name}: {record.body.attempts} attempts, {ranked} entries ranked\n  digest {record.body.root}")


@app.command()
def verify(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Name of the release, or an audit bag (.tar).")],
    of: Annotated[str | None, typer.Argument(metavar="[RELEASE]", help="Which release of the bag.")] = None,
    digest: Annotated[str | None, typer.Option(help="The release digest that you were given.")] = None,
    pin: Annotated[str | None, typer.Option(help="Digest of trust root 1, known from elsewhere.")] = None,
    processes: Annotated[int | None, typer.Option(min=1, help="How many check at once; changes no result.")] = None,
    policy: AsPolicy = None,
    as_json: AsJson = False,
) -> None:
    """Verify a release in eight steps; exit code 1 and a named finding if anything differs.

    Example: rbl release verify first --digest sha256:…, or rbl release verify first.tar
    """
    from ledger.release.verify import verify as check
    from rbl.places import is_elsewhere, only_release, open_place, read_policy
    from store.digest import Digest

    demanded = read_policy(policy)
    where = name if is_elsewhere(name) else None
    if "/" in name and where is None:
        raise InputError(
            "neither a release nor a bag", where=name, fix="give a release's name, or a bag's, which ends with .tar"
        )
    if where is None and of is not None:
        raise InputError("a release of what?", where=name, fix="name a bag (.tar) before the release")
    with open_place(where, settings(ctx).directory) as folder:
        name = name if where is None else of or only_release(folder, where)
        known = None if pin is None else Digest.parse(pin)
        found = check(folder, name, pin=known, processes=processes, policy=demanded)
    as_given = digest is None or found.digest == Digest.parse(digest)
    if as_json:
        document(
            "release-verify",
            ok=found.ok and as_given,
            steps=[{"name": step.name, "ok": step.ok, "detail": step.detail} for step in found.steps],
            digest=None if found.digest is None else str(found.digest),
            findings=[
                {"rule": f.rule, "where": f.where, "what": f.what, "consequence": f.consequence} for f in found.findings
            ],
        )
    else:
        for step in found.steps:
            print(f"{mark(step.ok)} {step.name:<12} {step.detail}")
        for finding in found.findings:
            print(f"  {finding}")
        if not as_given:
            print(f"{mark(good=False)} this release is {found.digest}, not {digest}")
        print(f"{'verified' if found.ok and as_given else 'NOT verified'}: {name} {found.digest}")
    if not (found.ok and as_given):
        raise typer.Exit(1)


@app.command()
def prove(ctx: typer.Context, name: Name, attempt: Annotated[str, typer.Argument(help="Id of the attempt.")]) -> None:
    """Print a receipt that a release counts an attempt, or excludes it and why; it verifies with nothing else at hand.

    Example: rbl release prove first 9f03ab12 > receipt.json && rbl release check receipt.json
    """
    from ledger.release.leaves import parse_leaves
    from ledger.release.receipt import prove as receipt
    from rbl.workspace import open_folder, open_lookup

    options = settings(ctx)
    folder = open_folder(options.directory)
    ledger = open_lookup(folder, lambda text: progress(text, quiet=options.quiet))
    items = parse_leaves(folder.store.get(ledger.release(name).body.leaves))
    found = receipt(items, ledger.attempt_id(attempt))
    print(found.format().decode())
    progress(found.sentence(), quiet=options.quiet)


@app.command()
def check(
    receipt: Annotated[Path, typer.Argument(help="A receipt that `rbl release prove` printed.")],
    digest: Annotated[str | None, typer.Option(help="The release digest that you were given.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check a receipt; needs no benchmark folder. Example: rbl release check receipt.json --digest sha256:…"""
    from ledger.release.receipt import Receipt
    from store.digest import Digest

    try:
        found = Receipt.parse(receipt.read_bytes().strip())
    except OSError as error:
        raise InputError(f"cannot read the receipt: {error.strerror}", where=str(receipt)) from error
    found.verify()
    if digest is not None and found.release != Digest.parse(digest):
        raise CheckFailed(f"the receipt is of the release {found.release}", where=str(receipt), fix="ask for another")
    if as_json:
        document("release-check", ok=True, release=str(found.release), leaf=json.loads(found.leaf))
    else:
        print(f"{mark(good=True)} {found.sentence()}\n  release {found.release}")


@app.command()
def diff(
    ctx: typer.Context,
    old: Name,
    new: Annotated[str, typer.Argument(help="Name of the other.")],
    as_json: AsJson = False,
) -> None:
    """Compare two releases: what changed, and the records that made it so. Example: rbl release diff first second"""
    from ledger.reader import Ledger
    from ledger.release.difference import compare
    from rbl.workspace import open_folder
    from store import canonical

    folder = open_folder(settings(ctx).directory)
    ledger = Ledger.open(folder)
    before, after = (canonical.loads(folder.store.get(ledger.release(name).body.results)) for name in (old, new))
    changes = compare(before, after)
    if as_json:
        document("release-diff", old=old, new=new, changes=[dataclasses.asdict(change) for change in changes])
        return
    for change in changes:
        what = f"{change.field}: {json.dumps(change.old)} → {json.dumps(change.new)}"
        if not change.field:
            what = "new" if change.old is None else "gone" if change.new is None else "another"
        print(f"{change.kind} {change.id}  {what}")
        for cause in change.because:
            print(f"  because {cause}")
    print(f"{len(changes)} changes")


@app.command()
def show(ctx: typer.Context, name: Name, _json: AlwaysJson = True) -> None:
    """Print a release's record as JSON. Example: rbl release show first"""
    from rbl.workspace import open_folder, open_lookup

    options = settings(ctx)
    ledger = open_lookup(open_folder(options.directory), lambda text: progress(text, quiet=options.quiet))
    show_record("release", ledger.release(name))
