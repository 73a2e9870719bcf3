"""The records of one attempt, put together: what it was opened as, what it made, how it was judged, how it ended.

    found = gather("20261130T2305…", records, evaluator)     # records of that attempt, in log order
    found.opened, found.closed, found.evaluation

Pure over admitted records; how they were found, by a whole view of the log or by an index, is for callers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from ledger.records import kinds
from ledger.records.record import Record
from store.digest import Digest

__all__ = ["AttemptRecords", "attempt_of", "gather"]


@dataclass(frozen=True, slots=True)
class AttemptRecords:
    """Every record of one attempt.

    Attributes:
        id: the attempt's.
        opened: its opening.
        artifacts: what it made; what came after its closing is in `late`.
        captures: null when it was not rendered, or not yet.
        evaluations: verdicts in log order.
        failures: the evaluator's failures in log order.
        closed: null while it is open.
        late: artifacts that arrived after the closing.
        withdrawals: sidecars in log order, reinstatements among them.
        evaluator: digest of the evaluator that the protocol of its schedule fixes; null without a schedule.
    """

    id: str
    opened: Record[kinds.AttemptOpened]
    artifacts: tuple[Record[kinds.Artifacts], ...]
    captures: Record[kinds.Captures] | None
    evaluations: tuple[Record[kinds.Evaluation], ...]
    failures: tuple[Record[kinds.EvaluationFailed], ...]
    closed: Record[kinds.AttemptClosed] | None
    late: tuple[Record[kinds.Artifacts], ...]
    withdrawals: tuple[Record[kinds.Withdrawal], ...]
    evaluator: Digest | None = None

    @property
    def evaluation(self) -> Record[kinds.Evaluation] | None:
        """The verdict that counts: the first under the protocol's evaluator; where there is none, the first."""
        counted = [record for record in self.evaluations if record.body.evaluator == self.evaluator]
        return next(iter(counted or self.evaluations), None)

    @property
    def withdrawn(self) -> bool:
        """Whether a withdrawal is in force at this head."""
        return self.standing_withdrawal is not None

    @property
    def standing_withdrawal(self) -> Record[kinds.Withdrawal] | None:
        """The withdrawal in force at this head; null when there is none or it was lifted."""
        standing: dict[Digest, Record[kinds.Withdrawal]] = {}
        for record in self.withdrawals:
            if record.body.reinstates is None:
                standing[record.digest] = record
            else:
                standing.pop(record.body.reinstates, None)
        return next(iter(standing.values()), None)

    def all(self) -> list[Record[kinds.Body]]:
        """Its records in log order."""
        found = (
            self.opened,
            *self.artifacts,
            self.captures,
            *self.evaluations,
            *self.failures,
            self.closed,
            *self.late,
            *self.withdrawals,
        )
        records = cast("list[Record[kinds.Body]]", [record for record in found if record is not None])
        return sorted(records, key=lambda record: record.index)


def attempt_of(body: kinds.Body) -> str | None:
    """The attempt that a record is a part of, or is about; None for others."""
    if isinstance(body, kinds.AttemptOpened | kinds.Artifacts | kinds.Captures | kinds.AttemptClosed):
        return body.chain.attempt
    if isinstance(body, kinds.Evaluation | kinds.EvaluationFailed):
        return body.attempt
    if isinstance(body, kinds.Withdrawal) and body.target.kind == "attempt":
        return body.target.id
    return None


def gather(attempt: str, records: Sequence[Record[kinds.Body]], evaluator: Digest | None) -> AttemptRecords:
    """Put the records of one attempt together.

    Args:
        attempt: its id.
        records: all of it, in log order, its opening among them.
        evaluator: digest of the evaluator that the protocol of its schedule fixes.
    """

    def of(wanted: type[kinds.B]) -> tuple[Record[kinds.B], ...]:
        return cast("tuple[Record[kinds.B], ...]", tuple(r for r in records if isinstance(r.body, wanted)))

    opened = of(kinds.AttemptOpened)[0]  # the gate admits nothing of an attempt before it
    closed = next(iter(of(kinds.AttemptClosed)), None)
    made = of(kinds.Artifacts)
    return AttemptRecords(
        id=attempt,
        opened=opened,
        artifacts=tuple(record for record in made if closed is None or record.index < closed.index),
        captures=next(iter(of(kinds.Captures)), None),
        evaluations=of(kinds.Evaluation),
        failures=of(kinds.EvaluationFailed),
        closed=closed,
        late=tuple(record for record in made if closed is not None and record.index > closed.index),
        withdrawals=of(kinds.Withdrawal),
        evaluator=evaluator,
    )
