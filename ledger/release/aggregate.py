"""The seeds' rule, exact: mean over valid attempts within a case, equal weight over active cases.

    aggregate(rules, cases, entries, results) -> [Row(entry="imperfect", rank=2, score=640_000, worst=480_000, …), …]

Pure arithmetic on values: no record, no file. Means are `Fraction`s and are rounded half to even once, at the end, to
millionths, so that two machines write the same bytes. An entry is ranked when it covers every active case with at least
`min_valid` scored attempts; otherwise it is shown, unranked. Since leaving failures out would reward failing, each row
also says valid of scheduled, the excluded rate by class, and the worst case, in which whatever is excluded scores 0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from ledger.release.outcome import BUCKETS, Bucket
from ledger.release.statistics import Interval, t_interval

__all__ = ["CaseRow", "Counted", "Row", "Rules", "aggregate"]

_MILLION: Final = 1_000_000
_EXCLUDED: Final[dict[str, Bucket]] = {
    "ungradeable": "ungradeable",
    "timeout": "timeout",
    "harness-failure": "harness-failure-exhausted",
    "withdrawn": "withdrawn",
}
"""Exclusion class of a slot to the bucket that its last try ended in."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What the protocol and the schedule fix: repeats of each slot, scored attempts that cover, level in millionths."""

    repeats: int
    min_valid: int
    level: int


@dataclass(frozen=True, slots=True)
class Counted:
    """One attempt, as the aggregation sees it.

    Attributes:
        entry, case, repeat, number: its slot and the number of its try.
        bucket: the one it is counted in.
        total: score in millionths when the bucket is scored.
        closed_total: score in millionths as closed, withdrawn or not.
        dimensions: dimension scores in millionths when the bucket is scored.
    """

    entry: str
    case: str
    repeat: int
    number: int
    bucket: Bucket
    total: int | None
    closed_total: int | None
    dimensions: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class CaseRow:
    """An entry on a case: `mean`, `low` and `high` over its valid attempts, `worst` with the excluded as 0."""

    case: str
    active: bool
    covered: bool
    valid: int
    mean: int | None
    low: int | None
    high: int | None
    worst: int
    dimensions: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Row:
    """An entry. Scores and rates in millionths.

    Attributes:
        entry: its id.
        rank: place among the ranked, ties share one; null when a case is not covered.
        score: mean of the means of the covered active cases; null when there is none.
        interval: t interval on the same case means; null below two.
        worst: mean over the active cases with whatever is excluded as 0; null without active cases.
        before_withdrawals: the score had no attempt and no case been withdrawn; null when there is none.
        dimensions: mean of case means for each dimension, over the covered active cases that use it.
        covered, active: cases.
        scheduled, opened, valid: slots of the schedule, attempts opened, slots that end in a scored attempt.
        counts: opened attempts by bucket; they sum to `opened`.
        valid_rate: valid of scheduled.
        excluded: slots that end in each class of exclusion, of scheduled.
        cases: the entry on each case.
    """

    entry: str
    rank: int | None
    score: int | None
    interval: Interval | None
    worst: int | None
    before_withdrawals: int | None
    dimensions: Mapping[str, int]
    covered: int
    active: int
    scheduled: int
    opened: int
    valid: int
    counts: Mapping[Bucket, int]
    valid_rate: int
    excluded: Mapping[str, int]
    cases: tuple[CaseRow, ...]


def aggregate(
    rules: Rules, cases: Mapping[str, bool], entries: Sequence[str], results: Iterable[Counted]
) -> tuple[Row, ...]:
    """Aggregate the attempts of a schedule.

    Args:
        rules: what is fixed beforehand.
        cases: case ids of the split; true for the active ones.
        entries: entry ids of the schedule.
        results: every closed attempt of the schedule.

    Returns:
        A row an entry: the ranked by rank, then the others; within each, by entry id.
    """
    by_entry: dict[str, list[Counted]] = defaultdict(list)
    for counted in results:
        by_entry[counted.entry].append(counted)
    drafts = [_Draft.of(rules, cases, entry, by_entry[entry]) for entry in entries]
    ranked = [draft.score for draft in drafts if draft.ranked and draft.score is not None]
    rows = [draft.row(rules, 1 + sum(score > (draft.score or 0) for score in ranked)) for draft in drafts]
    return tuple(sorted(rows, key=lambda row: (row.rank is None, row.rank or 0, row.entry)))


@dataclass(frozen=True, slots=True)
class _Draft:
    """A row before ranks are known, with exact values."""

    entry: str
    attempts: Sequence[Counted]
    cases: tuple[CaseRow, ...]
    means: Sequence[Fraction]
    worst: Sequence[Fraction]
    before: Sequence[Fraction]
    dimensions: Mapping[str, Sequence[Fraction]]
    active: int
    slots: int

    @classmethod
    def of(cls, rules: Rules, cases: Mapping[str, bool], entry: str, attempts: Sequence[Counted]) -> _Draft:
        """The sums of one entry over the cases, of which some may be withdrawn."""
        by_case: dict[str, list[Counted]] = defaultdict(list)
        for counted in attempts:
            by_case[counted.case].append(counted)
        means: list[Fraction] = []
        worst: list[Fraction] = []
        before: list[Fraction] = []
        dimensions: dict[str, list[Fraction]] = defaultdict(list)
        rows: list[CaseRow] = []
        for case, active in cases.items():
            found = by_case[case]
            totals = [counted.total for counted in found if counted.total is not None]
            closed = [counted.closed_total for counted in found if counted.closed_total is not None]
            covered = len(totals) >= max(rules.min_valid, 1)
            parts = _dimensions(found)
            lowest = Fraction(sum(totals), rules.repeats)
            rows.append(
                CaseRow(
                    case=case,
                    active=active,
                    covered=covered,
                    valid=len(totals),
                    mean=round(_mean(totals)) if totals else None,
                    low=min(totals, default=None),
                    high=max(totals, default=None),
                    worst=round(lowest),
                    dimensions={name: round(value) for name, value in parts.items()},
                )
            )
            if len(closed) >= max(rules.min_valid, 1):
                before.append(_mean(closed))
            if active:
                worst.append(lowest)
                if covered:
                    means.append(_mean(totals))
                    for name, value in parts.items():
                        dimensions[name].append(value)
        slots = rules.repeats * len(cases)
        return cls(entry, attempts, tuple(rows), means, worst, before, dimensions, sum(cases.values()), slots)

    @property
    def ranked(self) -> bool:
        return 0 < self.active == len(self.means)

    @property
    def score(self) -> Fraction | None:
        return _mean(self.means) if self.means else None

    def row(self, rules: Rules, rank: int) -> Row:
        """The printed row, at its rank."""
        counts: dict[Bucket, int] = dict.fromkeys(BUCKETS, 0)
        last: dict[tuple[str, int], Counted] = {}
        for counted in self.attempts:
            counts[counted.bucket] += 1
            slot = (counted.case, counted.repeat)
            if slot not in last or last[slot].number < counted.number:
                last[slot] = counted
        ends = [counted.bucket for counted in last.values()]
        return Row(
            entry=self.entry,
            rank=rank if self.ranked else None,
            score=_rounded(self.means),
            interval=t_interval(self.means, level=rules.level),
            worst=_rounded(self.worst),
            before_withdrawals=_rounded(self.before),
            dimensions={name: round(_mean(values)) for name, values in sorted(self.dimensions.items())},
            covered=len(self.means),
            active=self.active,
            scheduled=self.slots,
            opened=len(self.attempts),
            valid=ends.count("scored"),
            counts=counts,
            valid_rate=_rate(ends.count("scored"), self.slots),
            excluded={name: _rate(ends.count(bucket), self.slots) for name, bucket in _EXCLUDED.items()},
            cases=self.cases,
        )


def _dimensions(attempts: Iterable[Counted]) -> dict[str, Fraction]:
    values: dict[str, list[int]] = defaultdict(list)
    for counted in attempts:
        if counted.total is not None:
            for name, score in counted.dimensions.items():
                values[name].append(score)
    return {name: _mean(scores) for name, scores in sorted(values.items())}


def _mean(values: Sequence[int] | Sequence[Fraction]) -> Fraction:
    return sum((Fraction(value) for value in values), Fraction(0)) / len(values)


def _rounded(values: Sequence[Fraction]) -> int | None:
    return round(_mean(values)) if values else None


def _rate(part: int, whole: int) -> int:
    return round(Fraction(part * _MILLION, whole)) if whole else 0
