"""`rbl demo`: the whole loop on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rbl.cli.app import settings, single
from rbl.cli.output import AsJson, document, millionths, progress

app = single("Run the whole loop on a bundled case. Example: rbl demo demo")


@app.command()
def demo(
    ctx: typer.Context,
    directory: Annotated[Path, typer.Argument(help="Where; must not exist, or be empty.")] = Path("demo"),
    backend: Annotated[
        str, typer.Option(help="docker, or native where no Docker is: nothing of it is formal.")
    ] = "docker",
    as_json: AsJson = False,
) -> None:
    """From an empty folder to a verified release of three entries, in minutes.

    Example: rbl demo demo && rbl -C demo release verify demo
    """
    from rbl.demo import run_demo

    options = settings(ctx)
    found = run_demo(directory, backend, lambda text: progress(text, quiet=options.quiet))
    if as_json:
        document("demo", **found)
        return
    for item in found["attempts"]:
        print(f"  {item['entry']:<10} {item['outcome']:<10} {millionths(item['score'])}  {item['seconds']} s")
    print(f"workspace  {found['workspace']}")
    print(f"release    {found['release'] or 'none: native attempts cannot enter one'}")
    print(f"digest     {found['digest'] or '–'}")
    print(f"{found['seconds']} s")
