"""`rbl report`: a release's results in four forms."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from rbl.cli.app import noun, settings
from rbl.cli.output import AsJson

app = noun("Print a release's results. Example: rbl report first --form markdown")

Form = Literal["table", "markdown", "csv", "json"]


@app.callback(invoke_without_command=True, no_args_is_help=False)
def report(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Name of the release.")],
    form: Annotated[Form, typer.Option(help="How to print it.")] = "table",
    as_json: AsJson = False,
) -> None:
    """Print each entry's mean, interval, valid of scheduled, excluded by class, and worst case.

    Example: rbl report first --form csv
    """
    from ledger.release.report import report as render
    from rbl.workspace import open_folder

    print(render(open_folder(settings(ctx).directory), name, "json" if as_json else form), end="")
