"""How commands print: one JSON document on standard output, or lines for people; progress on standard error.

    {"schema":"rbl/attempt-list/v1","attempts":[...]}

Colour appears only on a terminal and never with `NO_COLOR`. Nothing here decides anything.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

if TYPE_CHECKING:
    from ledger.records.record import Record

__all__ = ["AlwaysJson", "AsJson", "AsPolicy", "document", "mark", "millionths", "progress", "show_record", "table"]

AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
"""The `--json` option of every verb that lists, shows, runs or verifies."""

AlwaysJson = Annotated[bool, typer.Option("--json", hidden=True)]
"""The same of a verb that prints nothing else; it may be said, and changes nothing."""

AsPolicy = Annotated[
    Path | None,
    typer.Option("--policy", metavar="FILE", help="Who must have cosigned: a file of c2sp.org/tlog-policy."),
]
"""The `--policy` option of every verification."""

_GREEN: Final = "\x1b[32m"
_RED: Final = "\x1b[31m"
_PLAIN: Final = "\x1b[0m"


def document(schema: str, **fields: Any) -> None:
    """Print one JSON document, its `schema` field first."""
    print(json.dumps({"schema": f"rbl/{schema}/v1", **fields}, indent=2, ensure_ascii=False))


def show_record(schema: str, record: Record) -> None:
    """Print one record as a document: its digest, its index, and its body's fields."""
    from ledger.records import kinds

    document(schema, record=str(record.digest), index=record.index, kind=record.kind, **kinds.to_json(record.body))


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print columns, each as wide as its widest cell."""
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    for row in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def mark(good: bool) -> str:
    """A check mark or a cross, in colour on a terminal."""
    sign = "✓" if good else "✗"
    if not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        return sign
    return f"{_GREEN if good else _RED}{sign}{_PLAIN}"


def millionths(score: int | None) -> str:
    """A score for people: `0.873412`, or `–` where there is none."""
    return "–" if score is None else f"{score / 1_000_000:.6f}"


def progress(text: str, *, quiet: bool = False) -> None:
    """One line on standard error."""
    if not quiet:
        print(text, file=sys.stderr, flush=True)
