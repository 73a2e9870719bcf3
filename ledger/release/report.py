"""A release's results as a table for people and programs: text, Markdown, CSV, JSON.

    rank  entry      score     95 % interval          worst     valid  ungradeable  timeout  harness  withdrawn
    1     oracle     1.000000  1.000000 … 1.000000    1.000000  4/4    0.000000     …
    –     imperfect  0.640000  –                      0.480000  3/4    …

A pure function of `results.json`: it prints what is there and computes nothing but decimal points, so a report never
disagrees with the release. Only the rows are read; a hundred thousand attempts beside them cost only their bytes.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any, Final, Literal

import msgspec

from store import canonical
from store.canonical import Json
from store.errors import InputError

__all__ = ["FORMATS", "Report", "ReportFormat", "decimal_text", "format_report", "parse_results"]

ReportFormat = Literal["table", "markdown", "csv", "json"]

FORMATS: Final[tuple[ReportFormat, ...]] = ("table", "markdown", "csv", "json")
"""Every format a report is written in."""

_MILLION: Final = 1_000_000
_NONE: Final = "–"


class Bounds(msgspec.Struct, frozen=True):
    """An interval in millionths."""

    low: int
    high: int


class ReportRow(msgspec.Struct, frozen=True):
    """What a table shows of an entry: fields of `rows[]`, in millionths."""

    entry: str
    rank: int | None
    score: int | None
    interval: Bounds | None
    worst: int | None
    before_withdrawals: int | None
    dimensions: dict[str, int]
    covered: int
    active: int
    scheduled: int
    opened: int
    valid: int
    counts: dict[str, int]
    valid_rate: int
    excluded: dict[str, int]


class Named(msgspec.Struct, frozen=True):
    """A record by name."""

    name: str
    record: str


class Levelled(msgspec.Struct, frozen=True):
    """What a table says of the protocol; `level` in millionths."""

    name: str
    record: str
    level: int
    min_valid: int


class Report(msgspec.Struct, frozen=True):
    """What a report reads of a result artifact."""

    schema: Literal["rbl/results/v1"]
    ledger: str
    split: Named
    protocol: Levelled
    schedule: Named
    rows: tuple[ReportRow, ...]


def parse_results(data: bytes) -> Report:
    """Read the part of `results.json` that a report shows.

    Raises:
        InputError: it is not a result artifact.
    """
    try:
        return msgspec.json.decode(data, type=Report)
    except msgspec.DecodeError as error:
        raise InputError(f"not a result artifact: {error}", fix="give the results.json of a release") from error


def format_report(report: Report, form: ReportFormat) -> str:
    """Write a report; the text ends with a line feed.

    Args:
        report: what `parse_results` read.
        form: one of `FORMATS`.
    """
    if form == "json":
        return canonical.dumps(_document(report)).decode() + "\n"
    if form == "csv":
        return _csv(report)
    head, rows = _columns(report)
    if form == "markdown":
        lines = [_bar(head), _bar(["---"] * len(head)), *(_bar(row) for row in rows)]
        return "\n".join(lines) + "\n"
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (head, *rows)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def decimal_text(value: int | None) -> str:
    """Millionths as a decimal text: 640,000 is `0.640000`; a dash where there is none."""
    if value is None:
        return _NONE
    whole, part = divmod(abs(value), _MILLION)
    return f"{'-' if value < 0 else ''}{whole}.{part:06d}"


def _document(report: Report) -> dict[str, Json]:
    rows: list[dict[str, Any]] = msgspec.to_builtins(report.rows)
    return {
        "schema": "rbl/report/v1",
        "ledger": report.ledger,
        "split": report.split.name,
        "protocol": report.protocol.name,
        "schedule": report.schedule.name,
        "level": report.protocol.level,
        "rows": list(rows),
    }


def _columns(report: Report) -> tuple[list[str], list[list[str]]]:
    names = _dimensions(report)
    classes = _classes(report)
    level = decimal_text(report.protocol.level * 100).rstrip("0").rstrip(".")
    head = ["rank", "entry", "score", f"{level} % interval", "worst", "valid", "cases", *classes, "unwithdrawn", *names]
    rows = [
        [
            _NONE if row.rank is None else str(row.rank),
            row.entry,
            decimal_text(row.score),
            _NONE if row.interval is None else f"{decimal_text(row.interval.low)} … {decimal_text(row.interval.high)}",
            decimal_text(row.worst),
            f"{row.valid}/{row.scheduled}",
            f"{row.covered}/{row.active}",
            *(decimal_text(row.excluded[name]) for name in classes),
            decimal_text(row.before_withdrawals),
            *(decimal_text(row.dimensions.get(name)) for name in names),
        ]
        for row in report.rows
    ]
    return head, rows


def _csv(report: Report) -> str:
    names, classes = _dimensions(report), _classes(report)
    buckets = sorted({bucket for row in report.rows for bucket in row.counts})
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["rank", "entry", "score", "low", "high", "worst", "before_withdrawals", "covered", "active", "scheduled"]
        + ["opened", "valid", "valid_rate"]
        + [f"excluded_{name}" for name in classes]
        + [f"count_{bucket}" for bucket in buckets]
        + names
    )
    for row in report.rows:
        interval = row.interval
        bounds: list[Any] = ["", ""] if interval is None else [interval.low, interval.high]
        writer.writerow(
            [_blank(row.rank), row.entry, _blank(row.score), *bounds, _blank(row.worst), _blank(row.before_withdrawals)]
            + [row.covered, row.active, row.scheduled, row.opened, row.valid, row.valid_rate]
            + [row.excluded[name] for name in classes]
            + [row.counts[bucket] for bucket in buckets]
            + [_blank(row.dimensions.get(name)) for name in names]
        )
    return out.getvalue()


def _dimensions(report: Report) -> list[str]:
    return sorted({name for row in report.rows for name in row.dimensions})


def _classes(report: Report) -> list[str]:
    return list(report.rows[0].excluded) if report.rows else []


def _bar(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _blank(value: int | None) -> int | str:
    return "" if value is None else value
