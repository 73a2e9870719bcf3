"""`rbl ledger`: read and verify the log of records."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from rbl.cli.app import noun, settings
from rbl.cli.output import AsJson, document, mark, progress, table

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
    from rbl.workspace import open_folder

    records = [r for r in Ledger.open(open_folder(settings(ctx).directory)).records if kind in {None, r.kind}]
    if as_json:
        rows = [
            {"index": r.index, "kind": r.kind, "digest": str(r.digest), "issued_at": r.body.issued_at} for r in records
        ]
        document("ledger-list", records=rows)
    else:
        table(("index", "kind", "issued", "record"), [(r.index, r.kind, r.body.issued_at, r.digest) for r in records])


@app.command()
def show(ctx: typer.Context, record: Annotated[str, typer.Argument(help="Index, or beginning of a digest.")]) -> None:
    """Print one record's body as JSON. Example: rbl ledger show 12"""
    from ledger.reader import Ledger
    from ledger.records import kinds
    from rbl.workspace import open_folder

    found = Ledger.open(open_folder(settings(ctx).directory)).find(record)
    body = kinds.to_json(found.body)
    print(json.dumps({"index": found.index, "kind": found.kind, "record": str(found.digest), **body}, indent=2))


@app.command()
def verify(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Verify every tile, leaf, signature and rule of admission. Example: rbl ledger verify --json"""
    from ledger.verify import verify_ledger
    from rbl.workspace import open_folder

    options = settings(ctx)

    def say(done: int, total: int) -> None:
        if options.verbose:
            progress(f"{done} of {total} records", quiet=options.quiet)

    report = verify_ledger(open_folder(options.directory), progress=say)
    if as_json:
        findings = [{"rule": f.rule, "record": f.record, "consequence": f.consequence} for f in report.findings]
        document("ledger-verify", ok=not findings, size=report.size, root=str(report.root), findings=findings)
    else:
        for finding in report.findings:
            print(f"{mark(False)} {finding.rule}: {finding.record}: {finding.consequence}")
        print(f"{mark(not report.findings)} {report.size} records, root {report.root}")
    if report.findings:
        raise typer.Exit(1)
