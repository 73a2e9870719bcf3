"""`rbl schedule`: freeze the attempts that will be made."""

from __future__ import annotations

from typing import Annotated

import typer

from rbl.cli.app import noun, settings
from rbl.cli.output import AlwaysJson, AsJson, document, show_record

app = noun(
    "Freeze the attempts that will be made. Example: rbl schedule freeze s1 --split pages --protocol p1 --entry mine"
)


@app.command()
def freeze(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Name of the schedule.")],
    split: Annotated[str, typer.Option(help="Name of the split.")],
    protocol: Annotated[str, typer.Option(help="Name of the protocol.")],
    entry: Annotated[list[str], typer.Option(help="Id of an entry; repeat it.")],
    repeats: Annotated[int | None, typer.Option(min=1, help="At most the protocol's, the default.")] = None,
    as_json: AsJson = False,
) -> None:
    """Freeze a schedule. Example: rbl schedule freeze s1 --split pages --protocol p1 --entry noop --entry mine"""
    from ledger.declarations import freeze_schedule
    from rbl.workspace import open_folder

    folder = open_folder(settings(ctx).directory)
    record = freeze_schedule(folder, name, split=split, protocol=protocol, entries=entry, repeats=repeats)
    if as_json:
        document("schedule-freeze", name=name, record=str(record.digest), index=record.index)
    else:
        print(f"schedule {name}: record {record.index} {record.digest}")


@app.command()
def show(
    ctx: typer.Context, name: Annotated[str, typer.Argument(help="Name of the schedule.")], _json: AlwaysJson = True
) -> None:
    """Print a schedule as JSON. Example: rbl schedule show s1"""
    from ledger.reader import Ledger
    from rbl.workspace import open_folder

    show_record("schedule", Ledger.open(open_folder(settings(ctx).directory)).schedule(name))
