"""`rbl report`: a release's results in four forms."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from rbl.cli.app import settings, single
from rbl.cli.output import AsJson, progress

app = single("Print a release's results. Example: rbl report first --form markdown")

Form = Literal["table", "markdown", "csv", "json"]


@app.command()
def report(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Name of the release.")],
    form: Annotated[Form, typer.Option(help="How to print it.")] = "table",
    as_json: AsJson = False,
) -> None:
    """Print each entry's mean, interval, valid of scheduled, excluded by class, and worst case.

    Example: rbl report first --form csv
    """
    from ledger.release.recorded import recorded
    from ledger.release.report import format_report, parse_results
    from rbl.workspace import open_folder, open_lookup

    options = settings(ctx)
    folder = open_folder(options.directory)
    record = recorded(folder, name)
    if record is None:  # by the beginning of its name, or its folder is gone
        record = open_lookup(folder, lambda text: progress(text, quiet=options.quiet)).release(name)
    results = parse_results(folder.store.get(record.body.results))
    print(format_report(results, "json" if as_json else form), end="")
