"""The result artifact: `results.json`, a pure function of the records below the cutoff and a schedule.

    {"attempts":[{"bucket":"scored","case":"pricing","entry":"imperfect",…}],"cases":[…],"cutoff":{"root":…,"size":412},
     "ledger":"example.org/bench","outside":[…],"protocol":{…},"rows":[…],"schedule":{…},"schema":"rbl/results/v1",
     "split":{…}}

Canonical JSON, fixed by `schemas/v1/results.json` and explained in `schemas/v1/results.md`. Whoever has the records
writes the same bytes: nothing in it depends on the clock, the locale, the machine or the folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ledger.records import kinds
from ledger.records.record import Record
from ledger.release.aggregate import CaseRow, Counted, Row, Rules, aggregate
from ledger.release.cutoff import Attempt, Cut, Scope
from ledger.release.outcome import Standing, withdrawn
from store import canonical
from store.canonical import Json

__all__ = ["counted", "format_results", "results"]


def format_results(cut: Cut, scope: Scope, found: Sequence[Standing], cutoff: kinds.Head) -> bytes:
    """The bytes of `results.json`."""
    return canonical.dumps(results(cut, scope, found, cutoff))


def results(cut: Cut, scope: Scope, found: Sequence[Standing], cutoff: kinds.Head) -> dict[str, Json]:
    """The result artifact as a JSON value.

    Args:
        cut: the records below the cutoff.
        scope: the schedule and what it names.
        found: where each attempt stands.
        cutoff: the head at which nothing more was looked at.
    """
    taken = withdrawn(cut.withdrawals)
    active = {name: ("case", case.digest) not in taken for name, case in scope.cases.items()}
    protocol = scope.protocol.body
    rules = Rules(repeats=scope.schedule.body.repeats, min_valid=protocol.min_valid, level=protocol.level)
    rows = aggregate(rules, active, list(scope.entries), [counted(standing) for standing in found])
    return {
        "schema": "rbl/results/v1",
        "ledger": scope.schedule.body.ledger,
        "cutoff": {"size": cutoff.size, "root": str(cutoff.root)},
        "split": {"name": scope.split.body.name, "record": str(scope.split.digest)},
        "protocol": {
            "name": protocol.name,
            "record": str(scope.protocol.digest),
            "aggregation": protocol.aggregation,
            "interval": protocol.interval,
            "level": protocol.level,
            "min_valid": protocol.min_valid,
            "max_tries": protocol.max_tries,
            "weights": dict(protocol.weights),
        },
        "schedule": {
            "name": scope.schedule.body.name,
            "record": str(scope.schedule.digest),
            "repeats": scope.schedule.body.repeats,
        },
        "cases": [_case(case, taken.get(("case", case.digest))) for case in scope.cases.values()],
        "rows": [_row(row, scope.entries[row.entry]) for row in rows],
        "attempts": [_attempt(standing) for standing in sorted(found, key=_place)],
        "outside": [_outside(attempt) for attempt in sorted(scope.outside(cut), key=lambda attempt: attempt.id)],
    }


def counted(standing: Standing) -> Counted:
    """An attempt as the aggregation sees it."""
    entry, case, repeat = standing.slot
    return Counted(
        entry=entry,
        case=case,
        repeat=repeat,
        number=standing.number,
        bucket=standing.bucket,
        total=standing.total,
        closed_total=standing.total_before_withdrawal,
        dimensions=standing.dimensions,
    )


def _place(standing: Standing) -> tuple[str, str, int, int, str]:
    return (*standing.slot, standing.number, standing.attempt.id)


def _digest(record: Record[Any] | None) -> str | None:
    return None if record is None else str(record.digest)


def _case(case: Record[kinds.Case], withdrawal: Record[kinds.Withdrawal] | None) -> dict[str, Json]:
    body = case.body
    return {
        "id": body.id,
        "version": body.version,
        "record": str(case.digest),
        "track": body.track,
        "title": body.title,
        "active": withdrawal is None,
        "withdrawal": _digest(withdrawal),
    }


def _row(row: Row, entry: Record[kinds.Entry]) -> dict[str, Json]:
    return {
        "entry": row.entry,
        "record": str(entry.digest),
        "rank": row.rank,
        "score": row.score,
        "interval": None if row.interval is None else {"low": row.interval.low, "high": row.interval.high},
        "worst": row.worst,
        "before_withdrawals": row.before_withdrawals,
        "dimensions": dict(row.dimensions),
        "covered": row.covered,
        "active": row.active,
        "scheduled": row.scheduled,
        "opened": row.opened,
        "valid": row.valid,
        "counts": {str(bucket): count for bucket, count in row.counts.items()},
        "valid_rate": row.valid_rate,
        "excluded": dict(row.excluded),
        "cases": [_case_row(case) for case in row.cases],
    }


def _case_row(row: CaseRow) -> dict[str, Json]:
    return {
        "case": row.case,
        "active": row.active,
        "covered": row.covered,
        "valid": row.valid,
        "mean": row.mean,
        "low": row.low,
        "high": row.high,
        "worst": row.worst,
        "dimensions": dict(row.dimensions),
    }


def _attempt(standing: Standing) -> dict[str, Json]:
    attempt = standing.attempt
    entry, case, repeat = standing.slot
    return {
        "id": attempt.id,
        "entry": entry,
        "case": case,
        "repeat": repeat,
        "try": standing.number,
        "retry_of": attempt.opened.body.retry_of,
        "bucket": standing.bucket,
        "reason": standing.reason,
        "closing": standing.closing,
        "total": standing.total,
        "closed_total": standing.total_before_withdrawal,
        "dimensions": standing.dimensions,
        "milliseconds": 0 if attempt.closed is None else attempt.closed.body.milliseconds,
        "opened": str(attempt.opened.digest),
        "captures": _digest(attempt.captures),
        "evaluation": _digest(standing.verdict),
        "closed": _digest(attempt.closed),
        "withdrawal": _digest(standing.withdrawal),
    }


def _outside(attempt: Attempt) -> dict[str, Json]:
    body = attempt.opened.body
    return {
        "id": attempt.id,
        "entry": body.entry.id,
        "case": body.case.id,
        "purpose": body.purpose,
        "backend": body.backend,
        "schedule": None if body.schedule is None else str(body.schedule),
        "outcome": None if attempt.closed is None else attempt.closed.body.outcome,
        "opened": str(attempt.opened.digest),
    }
