"""`rbl split`: freeze a list of case versions."""

from __future__ import annotations

from typing import Annotated

import typer

from rbl.cli.app import noun, settings
from rbl.cli.output import AsJson, document, table

app = noun("Freeze a list of case versions. Example: rbl split freeze pages resume creative@2")


@app.command()
def freeze(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Name of the split.")],
    cases: Annotated[list[str], typer.Argument(help="Published cases: ID (newest version) or ID@VERSION.")],
    as_json: AsJson = False,
) -> None:
    """Freeze a split. Example: rbl split freeze pages resume creative@2"""
    from ledger.declarations import freeze_split
    from rbl.workspace import open_folder

    record = freeze_split(open_folder(settings(ctx).directory), name, cases)
    if as_json:
        document("split-freeze", name=name, record=str(record.digest), index=record.index)
    else:
        print(f"split {name}: {len(record.body.cases)} cases, record {record.index} {record.digest}")


@app.command()
def show(
    ctx: typer.Context, name: Annotated[str, typer.Argument(help="Name of the split.")], as_json: AsJson = False
) -> None:
    """Show a split's cases. Example: rbl split show pages"""
    from ledger.reader import Ledger
    from rbl.workspace import open_folder

    record = Ledger.open(open_folder(settings(ctx).directory)).split(name)
    rows = [(case.id, case.version, str(case.record)) for case in record.body.cases]
    if as_json:
        cases = [{"id": case, "version": version, "record": digest} for case, version, digest in rows]
        document("split", name=record.body.name, record=str(record.digest), index=record.index, cases=cases)
    else:
        table(("case", "version", "record"), rows)
