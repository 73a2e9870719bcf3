"""`rbl entry`: freeze what is ranked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rbl.cli.app import noun, settings
from rbl.cli.output import AlwaysJson, AsJson, document, show_record, table

app = noun(
    "Freeze what is ranked. Example: rbl entry freeze mine --agent command --files solution/ -- sh /agent/run.sh"
)


@app.command()
def freeze(
    ctx: typer.Context,
    entry: Annotated[str, typer.Argument(help="Id of the entry.")],
    argv: Annotated[list[str] | None, typer.Argument(help="For the command agent: what to run in /workspace.")] = None,
    agent: Annotated[str, typer.Option(help="oracle, mock-fix, noop or command.")] = "command",
    version: Annotated[str, typer.Option(help="Version of the agent.")] = "1",
    files: Annotated[Path | None, typer.Option(help="Folder that the agent sees at /agent, read-only.")] = None,
    model: Annotated[str | None, typer.Option(help="Model that answers, if any.")] = None,
    effort: Annotated[str | None, typer.Option(help="Reasoning effort, if any.")] = None,
    tools: Annotated[str, typer.Option(help="Tool profile.")] = "shell",
    as_json: AsJson = False,
) -> None:
    """Freeze an entry. Example: rbl entry freeze mine --files solution/ -- sh /agent/run.sh"""
    from ledger.declarations import freeze_entry
    from ledger.records import kinds
    from rbl.workspace import open_folder
    from runners.agents.registry import adapter
    from store.directory import put_tree

    folder = open_folder(settings(ctx).directory)
    chosen = kinds.Agent(
        adapter=agent,
        version=version,
        argv=argv or [],
        files=None if files is None else put_tree(folder.store, files),
    )
    adapter(agent).launch(chosen)
    folder.store.flush()
    record = freeze_entry(folder, entry, agent=chosen, model=model, reasoning_effort=effort, tool_profile=tools)
    if as_json:
        document("entry-freeze", id=entry, record=str(record.digest), index=record.index)
    else:
        print(f"entry {entry}: record {record.index} {record.digest}")


@app.command("list")
def list_entries(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List entries. Example: rbl entry list"""
    from ledger.reader import Ledger
    from ledger.records import kinds
    from rbl.workspace import open_folder

    records = Ledger.open(open_folder(settings(ctx).directory)).of(kinds.Entry)
    if as_json:
        rows = [{"id": record.body.id, "record": str(record.digest), "index": record.index} for record in records]
        document("entry-list", entries=rows)
    else:
        table(
            ("entry", "agent", "version", "model", "record"),
            [(r.body.id, r.body.agent.adapter, r.body.agent.version, r.body.model or "–", r.digest) for r in records],
        )


@app.command()
def show(
    ctx: typer.Context, entry: Annotated[str, typer.Argument(help="Id of the entry.")], _json: AlwaysJson = True
) -> None:
    """Print an entry as JSON. Example: rbl entry show mine"""
    from ledger.reader import Ledger
    from rbl.workspace import open_folder

    show_record("entry", Ledger.open(open_folder(settings(ctx).directory)).entry(entry))
