"""`rbl ledger`: read and verify the log of records."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from rbl.cli import witness
from rbl.cli.app import noun, settings
from rbl.cli.output import AlwaysJson, AsJson, AsPolicy, document, mark, progress, show_record, table
from store.errors import InputError

_LONGEST: Final = 16  # digits of an index

Name = Annotated[str, typer.Argument(help="Index, or beginning of a digest.")]

app = noun("Read and verify the log of records. Example: rbl ledger verify")


@app.command()
def status(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Show the head, the number of records of each kind, and open attempts. Example: rbl ledger status --json"""
    from rbl.workspace import open_folder, open_lookup

    options = settings(ctx)
    folder = open_folder(options.directory)
    ledger = open_lookup(folder, lambda text: progress(text, quiet=options.quiet))
    kinds = dict(sorted(ledger.counts().items()))
    unclosed = ledger.open_attempts()
    if as_json:
        document(
            "ledger-status",
            origin=folder.config.origin,
            vkey=ledger.vkey,
            size=ledger.head.size,
            root=str(ledger.head.root),
            checkpoint=(folder.log / "checkpoint").read_text("utf-8"),
            kinds=kinds,
            open_attempts=unclosed,
        )
        return
    print(f"{folder.config.origin}\n  size {ledger.head.size}\n  root {ledger.head.root}\n  key  {ledger.vkey}")
    for kind, count in kinds.items():
        print(f"  {count:>6} {kind}")
    for attempt in unclosed:
        print(f"  open: {attempt}")


@app.command("list")
def list_records(
    ctx: typer.Context,
    kind: Annotated[str | None, typer.Option(help="Only this kind.")] = None,
    attempt: Annotated[str | None, typer.Option(help="Only of this attempt: its id, or enough of it.")] = None,
    entry: Annotated[str | None, typer.Option(help="Only of this entry and its attempts.")] = None,
    case: Annotated[str | None, typer.Option(help="Only of this case and its attempts.")] = None,
    since: Annotated[
        str | None, typer.Option(help="Only from this index on, or issued at this UTC time or later.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List records. Example: rbl ledger list --kind evaluation --entry mine --since 2026-11-30"""
    from ledger.lookup import Query
    from ledger.records import kinds
    from rbl.workspace import open_folder, open_lookup

    if kind is not None and kind not in kinds.KINDS:
        raise InputError(f"no kind of record is called {kind!r}", fix=f"use one of {', '.join(kinds.KINDS)}")
    start = None if since is None else _since(since)
    options = settings(ctx)
    ledger = open_lookup(open_folder(options.directory), lambda text: progress(text, quiet=options.quiet))
    named = None if attempt is None else ledger.attempt_id(attempt)
    records = ledger.select(Query(kind, named, entry, case, start))
    rows = [(r.index, r.kind, r.body.issued_at, str(r.digest)) for r in records]
    if as_json:
        names = ("index", "kind", "issued_at", "digest")
        document("ledger-list", records=[dict(zip(names, row, strict=True)) for row in rows])
    else:
        table(("index", "kind", "issued", "record"), rows)


def _since(text: str) -> int | str:
    """A log index, or the beginning of a time."""
    if text.isascii() and text.isdigit() and len(text) < _LONGEST:
        return int(text)
    if re.fullmatch(r"\d{4}-\d\d(-\d\d(T\d\d(:\d\d(:\d\dZ?)?)?)?)?", text, re.ASCII) is None:
        fix = "give a log index, or a time in UTC like 2026-11-30 or 2026-11-30T23:05:01Z"
        raise InputError(f"neither an index nor a time: {text!r}", where="--since", fix=fix)
    return text


@app.command()
def show(ctx: typer.Context, record: Name, _json: AlwaysJson = True) -> None:
    """Print one record's body as JSON. Example: rbl ledger show 12"""
    from rbl.workspace import open_folder, open_lookup

    options = settings(ctx)
    ledger = open_lookup(open_folder(options.directory), lambda text: progress(text, quiet=options.quiet))
    show_record("record", ledger.find(record))


@app.command()
def reindex(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Make the index of the log anew. It only finds records, and is made and mended by itself; nothing rests on it.

    Example: rbl ledger reindex
    """
    from ledger.lookup import reindex as index_again
    from rbl.workspace import indexing, open_folder

    options = settings(ctx)
    head = index_again(open_folder(options.directory), indexing(lambda text: progress(text, quiet=options.quiet)))
    if as_json:
        document("ledger-reindex", size=head.size, root=str(head.root))
    else:
        print(f"indexed {head.size} records, root {head.root}")


@app.command()
def prove(ctx: typer.Context, record: Name) -> None:
    """Print a receipt that a record is in the log, in the format c2sp.org/tlog-proof; it verifies offline.

    Example: rbl ledger prove 12 > 12.tlog-proof
    """
    from ledger.log.authority import read_note
    from rbl.workspace import open_folder, open_lookup

    options = settings(ctx)
    folder = open_folder(options.directory)
    note = read_note(folder)
    ledger = open_lookup(folder, lambda text: progress(text, quiet=options.quiet))
    sys.stdout.buffer.write(ledger.log.receipt(ledger.find(record).index, note).format())


@app.command()
def append(
    ctx: typer.Context,
    files: Annotated[list[Path] | None, typer.Argument(help="Signed envelopes; what waits in spool/ if none.")] = None,
    as_json: AsJson = False,
) -> None:
    """Append records that somebody signed, all or none; without files, those that wait in the spool.

    What is refused in the spool is moved to spool/rejected/ with its reason. Example: rbl ledger append verdict.dsse
    """
    from rbl.spool import append_files, drain
    from rbl.workspace import open_folder

    folder = open_folder(settings(ctx).directory)
    appended, refused = (append_files(folder, files), {}) if files else drain(folder)
    if as_json:
        document("ledger-append", indices=appended, refused=refused)
    else:
        for index in appended:
            print(f"record {index}")
        for name, reason in refused.items():
            print(f"{mark(False)} {name}: {reason}")
        print(f"{len(appended)} records in the log, {len(refused)} refused")
    if refused:
        raise typer.Exit(1)


@app.command()
def verify(
    ctx: typer.Context,
    where: Annotated[str | None, typer.Argument(help="An audit bag (.tar); the folder of -C if none.")] = None,
    pin: Annotated[str | None, typer.Option(help="Digest of trust root 1, known from elsewhere.")] = None,
    policy: AsPolicy = None,
    pin_file: Annotated[
        Path | None, typer.Option(help="Your own file of what was verified before: only what is new is read.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify every tile, leaf, signature and rule of admission, in a folder or a bag.

    Example: rbl ledger verify --pin-file ~/bench.pin
    """
    from ledger.verify import verify_ledger
    from rbl.places import is_elsewhere, open_place, read_policy, trusted_root
    from store.digest import Digest

    demanded = read_policy(policy)
    options = settings(ctx)
    if where is not None and not is_elsewhere(where):
        raise InputError("not a bag", where=where, fix="name a .tar, or a folder with -C DIR")

    def say(done: int, total: int) -> None:
        if options.verbose:
            progress(f"{done} of {total} records", quiet=options.quiet)

    with open_place(where, options.directory) as folder:
        pinned, whose = None if pin is None else Digest.parse(pin), ""
        if where is not None:
            pinned, whose = trusted_root(folder, pin)
        report = verify_ledger(folder, progress=say, pinned=pinned, policy=demanded, pin_file=pin_file)
    witnessed = report.witnessed
    if as_json:
        findings = [{"rule": f.rule, "record": f.record, "consequence": f.consequence} for f in report.findings]
        by = None if witnessed is None else {"size": witnessed.size, "names": list(witnessed.names)}
        heads = {"size": report.size, "root": str(report.root), "verified_before": report.before, "witnessed": by}
        document("ledger-verify", ok=not findings, **heads, findings=findings)
    else:
        if witnessed is not None and witnessed.size:
            names = ", ".join(witnessed.names) or "nobody, as the policy allows"
            print(f"{mark(True)} the head of {witnessed.size} records is cosigned by {names}")
        for finding in report.findings:
            print(f"{mark(False)} {finding.rule}: {finding.record}: {finding.consequence}")
        before = f", {report.before} of them verified before" if report.before else ""
        print(f"{mark(not report.findings)} {report.size} records, root {report.root}{before}{whose and ', ' + whose}")
    if report.findings:
        raise typer.Exit(1)


app.command()(witness.cosign)
app.add_typer(witness.app, name="witness")
