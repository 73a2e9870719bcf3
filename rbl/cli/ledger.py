"""`rbl ledger`: read and verify the log of records."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from rbl.cli.app import noun, settings
from rbl.cli.output import AlwaysJson, AsJson, document, mark, progress, show_record, table
from store.errors import InputError

Name = Annotated[str, typer.Argument(help="Index, or beginning of a digest.")]

app = noun("Read and verify the log of records. Example: rbl ledger verify")


@app.command()
def status(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Show the head, the number of records of each kind, and open attempts. Example: rbl ledger status --json"""
    from collections import Counter

    from ledger.reader import Ledger
    from rbl.workspace import open_folder

    folder = open_folder(settings(ctx).directory)
    ledger = Ledger.open(folder)
    kinds = dict(sorted(Counter(record.kind for record in ledger.records).items()))
    unclosed = [records.id for records in ledger.attempts() if records.closed is None]
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
    as_json: AsJson = False,
) -> None:
    """List records. Example: rbl ledger list --kind evaluation"""
    from ledger.reader import Ledger
    from ledger.records import kinds
    from rbl.workspace import open_folder

    if kind is not None and kind not in kinds.KINDS:
        raise InputError(f"no kind of record is called {kind!r}", fix=f"use one of {', '.join(kinds.KINDS)}")
    records = [r for r in Ledger.open(open_folder(settings(ctx).directory)).records if kind in {None, r.kind}]
    if as_json:
        rows = [
            {"index": r.index, "kind": r.kind, "digest": str(r.digest), "issued_at": r.body.issued_at} for r in records
        ]
        document("ledger-list", records=rows)
    else:
        table(("index", "kind", "issued", "record"), [(r.index, r.kind, r.body.issued_at, r.digest) for r in records])


@app.command()
def show(ctx: typer.Context, record: Name, _json: AlwaysJson = True) -> None:
    """Print one record's body as JSON. Example: rbl ledger show 12"""
    from ledger.reader import Ledger
    from rbl.workspace import open_folder

    show_record("record", Ledger.open(open_folder(settings(ctx).directory)).find(record))


@app.command()
def prove(ctx: typer.Context, record: Name) -> None:
    """Print a receipt that a record is in the log, in the format c2sp.org/tlog-proof; it verifies offline.

    Example: rbl ledger prove 12 > 12.tlog-proof
    """
    from ledger.log.authority import read_note
    from ledger.reader import Ledger
    from rbl.workspace import open_folder

    folder = open_folder(settings(ctx).directory)
    note = read_note(folder)
    ledger = Ledger.open(folder)
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
    as_json: AsJson = False,
) -> None:
    """Verify every tile, leaf, signature and rule of admission, in a folder or a bag.

    Example: rbl ledger verify --json
    """
    from ledger.verify import verify_ledger
    from rbl.places import is_elsewhere, open_place, trusted_root
    from store.digest import Digest

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
        report = verify_ledger(folder, progress=say, pinned=pinned)
    if as_json:
        findings = [{"rule": f.rule, "record": f.record, "consequence": f.consequence} for f in report.findings]
        document("ledger-verify", ok=not findings, size=report.size, root=str(report.root), findings=findings)
    else:
        for finding in report.findings:
            print(f"{mark(False)} {finding.rule}: {finding.record}: {finding.consequence}")
        print(f"{mark(not report.findings)} {report.size} records, root {report.root}{whose and ', ' + whose}")
    if report.findings:
        raise typer.Exit(1)
