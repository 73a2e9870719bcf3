"""`rbl protocol`: freeze the rules of a run."""

from __future__ import annotations

from typing import Annotated

import typer

from rbl.cli.app import noun, settings
from rbl.cli.output import AlwaysJson, AsJson, document, show_record
from store.errors import InputError

app = noun("Freeze the rules of a run. Example: rbl protocol freeze p1 --repeats 2")


@app.command()
def freeze(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Name of the protocol.")],
    repeats: Annotated[int, typer.Option(min=1, max=99, help="Attempts of each entry on each case.")] = 1,
    max_tries: Annotated[int, typer.Option(min=1, max=9, help="Tries of one repeat after harness failures.")] = 2,
    min_valid: Annotated[int, typer.Option(min=1, help="Scored attempts that cover a case.")] = 1,
    seconds: Annotated[int, typer.Option(min=1, help="Longest production run.")] = 3600,
    memory: Annotated[int, typer.Option(min=64, help="Memory of a container, MiB.")] = 4096,
    cpus: Annotated[int, typer.Option(min=100, help="CPUs of a container, thousandths.")] = 2000,
    pids: Annotated[int, typer.Option(min=16, help="Processes of a container.")] = 512,
    workspace: Annotated[int, typer.Option(min=1, help="Size of the workspace, MiB.")] = 512,
    weight: Annotated[
        list[str] | None, typer.Option(help="Weight of a dimension, NAME=INTEGER; repeat it. Default: 1 for each.")
    ] = None,
    backend: Annotated[str, typer.Option(help="docker, or native for diagnosis only.")] = "docker",
    as_json: AsJson = False,
) -> None:
    """Freeze a protocol. Example: rbl protocol freeze p1 --repeats 2 --weight functional=2"""
    from ledger.declarations import freeze_protocol
    from ledger.records import kinds
    from rbl.workspace import open_backend, open_folder
    from runners.evaluator_process import evaluator_digest

    folder = open_folder(settings(ctx).directory)
    mib = 1024 * 1024
    weights = _weights(weight or [])
    record = freeze_protocol(
        folder,
        name,
        limits=kinds.Limits(seconds=seconds, memory=memory * mib, cpus=cpus, pids=pids, workspace=workspace * mib),
        repeats=repeats,
        max_tries=max_tries,
        environment=open_backend(folder, backend).environment(),
        evaluator=evaluator_digest(),
        weights=weights,
        min_valid=min_valid,
    )
    if as_json:
        document("protocol-freeze", name=name, record=str(record.digest), index=record.index)
    else:
        print(f"protocol {name}: record {record.index} {record.digest}")


@app.command()
def show(
    ctx: typer.Context, name: Annotated[str, typer.Argument(help="Name of the protocol.")], _json: AlwaysJson = True
) -> None:
    """Print a protocol's rules as JSON. Example: rbl protocol show p1"""
    from ledger.reader import Ledger
    from rbl.workspace import open_folder

    show_record("protocol", Ledger.open(open_folder(settings(ctx).directory)).protocol(name))


def _weights(words: list[str]) -> dict[str, int]:
    from ledger.records.kinds import DIMENSIONS

    weights: dict[str, int] = {dimension: 1 for dimension in DIMENSIONS if dimension != "policy"}
    for word in words:
        name, _, number = word.partition("=")
        if name not in weights or not (number.isascii() and number.isdigit()) or int(number) == 0:
            raise InputError(f"not a weight: {word!r}", fix=f"write NAME=INTEGER with one of {', '.join(weights)}")
        weights[name] = int(number)
    return weights
