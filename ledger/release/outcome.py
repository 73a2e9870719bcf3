"""What became of each scheduled attempt: exactly one bucket, and the record that put it there.

    standings(cut, scope) -> [Standing(attempt, bucket="scored", reason="ok", total=812_345, …), …]

Buckets: `scored`, `ungradeable`, `timeout`, `harness-failure-retried`, `harness-failure-exhausted`, `withdrawn`. The
outcome is the closing's; a withdrawal of the attempt, or of its case, that stands at the cutoff overrides it, and both
are kept (`closing` beside `bucket`), so that a table can show either figure. Whether the records were *allowed* to say
so is judged in `declared` and `retries`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from ledger.records import kinds
from ledger.records.record import Record
from ledger.release.cutoff import Attempt, Cut, Scope
from ledger.release.finding import Finding
from store.digest import Digest

__all__ = ["BUCKETS", "Bucket", "Slot", "Standing", "Withdrawn", "gaps", "standings", "withdrawn"]

Bucket = Literal[
    "scored", "ungradeable", "timeout", "harness-failure-retried", "harness-failure-exhausted", "withdrawn"
]

BUCKETS: Final[tuple[Bucket, ...]] = (
    "scored",
    "ungradeable",
    "timeout",
    "harness-failure-retried",
    "harness-failure-exhausted",
    "withdrawn",
)
"""Every bucket, in the order in which tables print them."""

Slot = tuple[str, str, int]
"""A place in the schedule: entry id, case id, repeat from 1."""

Withdrawn = Mapping[tuple[str, Digest | str], Record[kinds.Withdrawal]]
"""The withdrawals that stand: by target kind and attempt id, or by target kind and record digest."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where one closed attempt stands at the cutoff.

    Attributes:
        attempt: its records.
        slot: its place in the schedule.
        number: of its try, from 1.
        bucket: the one it is counted in.
        reason: code of the closing, or of the withdrawal that overrides it.
        closing: outcome of the closing, whatever came later.
        verdict: the evaluation that counts; null unless the closing says scored.
        withdrawal: the sidecar that overrides the closing.
    """

    attempt: Attempt
    slot: Slot
    number: int
    bucket: Bucket
    reason: str
    closing: kinds.Outcome
    verdict: Record[kinds.Evaluation] | None
    withdrawal: Record[kinds.Withdrawal] | None

    @property
    def total(self) -> int | None:
        """Its score in millionths, when it is counted as scored."""
        return self.verdict.body.verdict.total if self.verdict is not None and self.bucket == "scored" else None

    @property
    def total_before_withdrawal(self) -> int | None:
        """Its score in millionths as closed, withdrawn or not."""
        return None if self.verdict is None else self.verdict.body.verdict.total

    @property
    def dimensions(self) -> dict[str, int]:
        """Its dimension scores in millionths, when it is counted as scored."""
        if self.verdict is None or self.bucket != "scored":
            return {}
        return {name: tally.score for name, tally in self.verdict.body.verdict.dimensions.items()}


def slot_of(attempt: Attempt) -> Slot:
    """The place in the schedule that an attempt claims."""
    body = attempt.opened.body
    return body.entry.id, body.case.id, body.repeat


def withdrawn(withdrawals: Iterable[Record[kinds.Withdrawal]]) -> Withdrawn:
    """The withdrawals that stand, the earliest for each target; a reinstatement lifts the one that it names.

    Attempts are keyed by id (any record of one may be the target), cases and releases by record digest.
    """
    standing: dict[Digest, Record[kinds.Withdrawal]] = {}
    for record in withdrawals:
        if record.body.reinstates is None:
            standing[record.digest] = record
        else:
            lifted = standing.get(record.body.reinstates)
            if lifted is not None and _key(lifted) == _key(record):
                del standing[lifted.digest]
    found: dict[tuple[str, Digest | str], Record[kinds.Withdrawal]] = {}
    for record in standing.values():
        found.setdefault(_key(record), record)
    return found


def standings(cut: Cut, scope: Scope) -> list[Standing]:
    """Where each closed attempt of a schedule stands, in log order of opening.

    Open attempts are not among them: see `gaps`.
    """
    taken = withdrawn(cut.withdrawals)
    attempts = scope.attempts(cut)
    retried = {attempt.opened.body.retry_of for attempt in attempts}
    return [
        _standing(attempt, attempt.closed.body, taken, scope.protocol.body.evaluator, retried=attempt.id in retried)
        for attempt in attempts
        if attempt.closed is not None
    ]


def gaps(cut: Cut, scope: Scope) -> list[Finding]:
    """What is missing: slots never opened, attempts never closed."""
    attempts = scope.attempts(cut)
    opened = {slot_of(attempt) for attempt in attempts}
    unopened = [slot for slot in scheduled(scope) if slot not in opened]
    return [
        Finding("open", attempt.id, "opened and never closed", "its outcome is unknown, so nothing can be frozen")
        for attempt in attempts
        if attempt.closed is None
    ] + [
        Finding(
            "unopened",
            f"{entry} × {case} × {repeat}",
            "scheduled and never opened",
            "the denominator has a hole, so nothing can be frozen",
        )
        for entry, case, repeat in unopened
    ]


def scheduled(scope: Scope) -> list[Slot]:
    """Every slot: entry × case × repeat, in the order of the records."""
    return [
        (entry, case, repeat)
        for entry in scope.entries
        for case in scope.cases
        for repeat in range(1, scope.schedule.body.repeats + 1)
    ]


def _standing(
    attempt: Attempt, closing: kinds.AttemptClosed, taken: Withdrawn, evaluator: Digest, *, retried: bool
) -> Standing:
    opened = attempt.opened.body
    withdrawal = taken.get(("attempt", attempt.id)) or taken.get(("case", opened.case.record))
    return Standing(
        attempt=attempt,
        slot=slot_of(attempt),
        number=opened.try_,
        bucket="withdrawn" if withdrawal is not None else _bucket(closing.outcome, retried=retried),
        reason=closing.reason if withdrawal is None else withdrawal.body.reason,
        closing=closing.outcome,
        verdict=attempt.verdict(evaluator) if closing.outcome == "scored" else None,
        withdrawal=withdrawal,
    )


def _bucket(outcome: kinds.Outcome, *, retried: bool) -> Bucket:
    if outcome != "harness-failure":
        return outcome
    return "harness-failure-retried" if retried else "harness-failure-exhausted"


def _key(record: Record[kinds.Withdrawal]) -> tuple[str, Digest | str]:
    target = record.body.target
    return target.kind, target.id if target.kind == "attempt" else target.record
