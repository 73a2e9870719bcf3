"""`rbl init`: make a benchmark folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rbl.cli.app import single
from rbl.cli.output import AsJson, document

app = single("Make a benchmark folder. Example: rbl init bench")


@app.command()
def init(
    directory: Annotated[Path, typer.Argument(help="Where; must not hold a benchmark folder.")],
    origin: Annotated[str | None, typer.Option(help="Origin of the log, such as example.org/bench.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a benchmark folder: configuration, keys, trust root, log. Example: rbl init bench"""
    from ledger.log.authority import pinned_root, read_checkpoint
    from rbl.workspace import create

    folder = create(directory, origin)
    head = read_checkpoint(folder).head
    if as_json:
        document("init", directory=str(folder.root), origin=folder.config.origin, size=head.size, root=str(head.root))
    else:
        print(f"{folder.root}: {folder.config.origin}\n  keys in {folder.keys.directory}")
        print(f"  trust root 1 is record 0: {pinned_root(folder)}\n  give that digest to whoever will verify")
