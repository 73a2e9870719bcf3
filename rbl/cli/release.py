"""`rbl release`: cut a release and verify it."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from rbl.cli.app import noun, settings
from rbl.cli.output import AsJson, document, mark

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
    name: Name,
    digest: Annotated[str | None, typer.Option(help="The release digest that you were given.")] = None,
    pin: Annotated[str | None, typer.Option(help="Digest of trust root 1, known from elsewhere.")] = None,
    processes: Annotated[int | None, typer.Option(min=1, help="How many check at once; changes no result.")] = None,
    as_json: AsJson = False,
) -> None:
    """Verify a release in eight steps; exit code 1 and a named finding if anything differs.

    Example: rbl release verify first --digest sha256:…
    """
    from ledger.release.verify import verify as check
    from rbl.workspace import open_folder
    from store.digest import Digest

    found = check(
        open_folder(settings(ctx).directory),
        name,
        pin=None if pin is None else Digest.parse(pin),
        processes=processes,
    )
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
def show(ctx: typer.Context, name: Name) -> None:
    """Print a release's record as JSON. Example: rbl release show first"""
    from ledger.reader import Ledger
    from ledger.records import kinds
    from rbl.workspace import open_folder

    record = Ledger.open(open_folder(settings(ctx).directory)).release(name)
    print(json.dumps({"record": str(record.digest), "index": record.index, **kinds.to_json(record.body)}, indent=2))
