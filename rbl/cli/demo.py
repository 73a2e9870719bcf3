"""`rbl demo`: the whole loop on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rbl.cli.app import settings, single
from rbl.cli.output import AsJson, document, mark, millionths, progress
from store.errors import InputError

app = single("Run the whole loop on a bundled case. Example: rbl demo demo")


@app.command()
def demo(
    ctx: typer.Context,
    directory: Annotated[Path, typer.Argument(help="Where; must not exist, or be empty.")] = Path("demo"),
    backend: Annotated[
        str, typer.Option(help="docker, or native where no Docker is: nothing of it is formal.")
    ] = "docker",
    tampering: Annotated[
        bool,
        typer.Option("--tamper", help="Then tamper with copies of the folder, and show that each is found."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """From an empty folder to a verified release of three entries, in minutes.

    With --tamper, a benchmark folder that is there already is not run again: copies of it are tampered with, and it is
    only read. Example: rbl demo demo && rbl demo demo --tamper
    """
    from rbl.demo import run_demo

    options = settings(ctx)
    if tampering and (directory / "rbl.toml").is_file():
        _tamper(directory, as_json=as_json)
        return
    found = run_demo(directory, backend, lambda text: progress(text, quiet=options.quiet))
    if tampering and found["release"] is None:
        raise InputError("no release to tamper with: native attempts cannot enter one", fix="use the docker backend")
    if as_json and tampering:
        _tamper(directory, as_json=True, demo=found)
        return
    if as_json:
        document("demo", **found)
        return
    for item in found["attempts"]:
        print(f"  {item['entry']:<10} {item['outcome']:<10} {millionths(item['score'])}  {item['seconds']} s")
    print(f"workspace  {found['workspace']}")
    print(f"release    {found['release'] or 'none: native attempts cannot enter one'}")
    print(f"digest     {found['digest'] or '–'}")
    print(f"{found['seconds']} s")
    if tampering:
        _tamper(directory, as_json=False)


def _tamper(directory: Path, *, as_json: bool, demo: dict[str, Any] | None = None) -> None:
    """Show what is found in tampered copies of a folder, each as soon as it was looked for."""
    from dataclasses import asdict

    from ledger.folder import Folder
    from rbl.tamper import tamper

    shown = []
    for item in tamper(Folder.open(directory)):
        shown.append(asdict(item))
        if not as_json:
            print(f"{mark(True)} {item.name}: {item.done}")
            for found in item.found:
                print(f"    {item.command}: {found.rule}: {found.record}: {found.consequence}")
    if as_json:
        document("demo-tamper", workspace=str(directory), demo=demo, tamperings=shown)
    else:
        print(f"{len(shown)} tamperings of copies of {directory}, each found; what the rules mean: docs/rules.md")
