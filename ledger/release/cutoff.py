"""The ledger below a cutoff: what a release may look at, and nothing else.

    cut = Cut.of(records, size=412)         # records 0 … 411
    cut.attempts["20261130T230501Z__…"]     # Attempt(opened, artifacts, captures, evaluations, failures, closed)
    scope = Scope.of(cut, schedule_digest)  # the schedule with its split, protocol, cases and entries

Pure over verified records: signatures and admission rules were checked by whoever read them from the log. Nothing here
judges; a record that others should have refused (a second closing) is kept out by position: the first one stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self, TypeVar

from ledger.records import kinds
from ledger.records.record import Record
from store.digest import Digest
from store.errors import CheckFailed

__all__ = ["Attempt", "Cut", "Scope"]

B = TypeVar("B", bound=kinds.Body)


@dataclass(frozen=True, slots=True)
class Attempt:
    """The records of one attempt, in log order; what was made after its closing is `late` and counts for nothing."""

    id: str
    opened: Record[kinds.AttemptOpened]
    artifacts: tuple[Record[kinds.Artifacts], ...] = ()
    captures: Record[kinds.Captures] | None = None
    evaluations: tuple[Record[kinds.Evaluation], ...] = ()
    failures: tuple[Record[kinds.EvaluationFailed], ...] = ()
    closed: Record[kinds.AttemptClosed] | None = None
    late: tuple[Record[kinds.Artifacts], ...] = ()

    @property
    def records(self) -> Iterator[Record]:
        """Every record of it."""
        yield self.opened
        yield from self.artifacts
        if self.captures is not None:
            yield self.captures
        yield from self.failures
        yield from self.evaluations
        if self.closed is not None:
            yield self.closed
        yield from self.late

    def verdict(self, evaluator: Digest) -> Record[kinds.Evaluation] | None:
        """The evaluation that counts: the first of this attempt's captures under the protocol's evaluator."""
        captures = None if self.captures is None else self.captures.digest
        for record in self.evaluations:
            if record.body.evaluator == evaluator and record.body.captures == captures:
                return record
        return None


@dataclass(slots=True)
class _Gathering:
    """An attempt while its records are read."""

    opened: Record[kinds.AttemptOpened]
    artifacts: list[Record[kinds.Artifacts]] = field(default_factory=list)
    captures: Record[kinds.Captures] | None = None
    evaluations: list[Record[kinds.Evaluation]] = field(default_factory=list)
    failures: list[Record[kinds.EvaluationFailed]] = field(default_factory=list)
    closed: Record[kinds.AttemptClosed] | None = None
    late: list[Record[kinds.Artifacts]] = field(default_factory=list)

    def take(self, record: Record) -> None:
        """Take the next record of the attempt, in log order."""
        match record.body:
            case kinds.Artifacts():
                (self.artifacts if self.closed is None else self.late).append(record)
            case kinds.Captures():
                self.captures = self.captures or record
            case kinds.Evaluation():
                self.evaluations.append(record)
            case kinds.EvaluationFailed():
                self.failures.append(record)
            case kinds.AttemptClosed():
                self.closed = self.closed or record

    def attempt(self, name: str) -> Attempt:
        """The attempt as it stands at the cutoff."""
        return Attempt(
            id=name,
            opened=self.opened,
            artifacts=tuple(self.artifacts),
            captures=self.captures,
            evaluations=tuple(self.evaluations),
            failures=tuple(self.failures),
            closed=self.closed,
            late=tuple(self.late),
        )


@dataclass(frozen=True, slots=True)
class Cut:
    """Every record below a size, by digest, and grouped.

    Attributes:
        size: how many records there are.
        by_digest: record of a leaf digest.
        attempts: by id, in log order of their opening.
        withdrawals: in log order, reinstatements among them.
        trust_roots, releases: in log order.
    """

    size: int
    by_digest: Mapping[Digest, Record]
    attempts: Mapping[str, Attempt]
    withdrawals: tuple[Record[kinds.Withdrawal], ...]
    trust_roots: tuple[Record[kinds.TrustRoot], ...]
    releases: tuple[Record[kinds.Release], ...]

    @classmethod
    def of(cls, records: Iterable[Record], size: int) -> Self:
        """Read the records below `size`; later ones are not looked at."""
        by_digest: dict[Digest, Record] = {}
        attempts: dict[str, _Gathering] = {}
        withdrawals: list[Record[kinds.Withdrawal]] = []
        roots: list[Record[kinds.TrustRoot]] = []
        releases: list[Record[kinds.Release]] = []
        for record in records:
            if record.index >= size:
                break
            by_digest[record.digest] = record
            match record.body:
                case kinds.AttemptOpened(chain=chain):
                    attempts.setdefault(chain.attempt, _Gathering(record))
                case kinds.Artifacts(chain=chain) | kinds.Captures(chain=chain) | kinds.AttemptClosed(chain=chain):
                    if chain.attempt in attempts:
                        attempts[chain.attempt].take(record)
                case kinds.Evaluation(attempt=attempt) | kinds.EvaluationFailed(attempt=attempt):
                    if attempt in attempts:
                        attempts[attempt].take(record)
                case kinds.Withdrawal():
                    withdrawals.append(record)
                case kinds.TrustRoot():
                    roots.append(record)
                case kinds.Release():
                    releases.append(record)
        return cls(
            size=size,
            by_digest=by_digest,
            attempts={name: found.attempt(name) for name, found in attempts.items()},
            withdrawals=tuple(withdrawals),
            trust_roots=tuple(roots),
            releases=tuple(releases),
        )

    def get(self, digest: Digest, wanted: type[B]) -> Record[B]:
        """The record of a leaf digest, of one kind.

        Raises:
            CheckFailed: it is not below the cutoff, or is of another kind.
        """
        record = self.by_digest.get(digest)
        if record is None or not isinstance(record.body, wanted):
            kind = kinds.kind_of(wanted)
            raise CheckFailed(
                f"no {kind} record of that digest below the cutoff {self.size}",
                where=str(digest),
                fix=f"record the {kind} before what cites it",
            )
        return record


@dataclass(frozen=True, slots=True)
class Scope:
    """A schedule with all it names, resolved.

    Attributes:
        schedule, split, protocol: the records.
        cases: of the split, by case id, in its order.
        entries: of the schedule, by entry id, in its order.
    """

    schedule: Record[kinds.Schedule]
    split: Record[kinds.Split]
    protocol: Record[kinds.Protocol]
    cases: Mapping[str, Record[kinds.Case]]
    entries: Mapping[str, Record[kinds.Entry]]

    @classmethod
    def of(cls, cut: Cut, schedule: Digest) -> Self:
        """Resolve a schedule below a cutoff.

        Raises:
            CheckFailed: a record it names is not there, or names itself otherwise.
        """
        record = cut.get(schedule, kinds.Schedule)
        split = cut.get(record.body.split, kinds.Split)
        cases: dict[str, Record[kinds.Case]] = {}
        for ref in split.body.cases:
            case = cut.get(ref.record, kinds.Case)
            if (case.body.id, case.body.version) != (ref.id, ref.version) or ref.id in cases:
                raise CheckFailed(f"the split names {ref.id}@{ref.version} wrongly or twice", where=str(split.digest))
            cases[ref.id] = case
        entries: dict[str, Record[kinds.Entry]] = {}
        for named in record.body.entries:
            entry = cut.get(named.record, kinds.Entry)
            if entry.body.id != named.id or named.id in entries:
                raise CheckFailed(f"the schedule names entry {named.id} wrongly or twice", where=str(record.digest))
            entries[named.id] = entry
        return cls(
            schedule=record,
            split=split,
            protocol=cut.get(record.body.protocol, kinds.Protocol),
            cases=cases,
            entries=entries,
        )

    def holds(self, attempt: Attempt) -> bool:
        """Whether an attempt belongs: it cites this schedule and is formal."""
        body = attempt.opened.body
        return body.schedule == self.schedule.digest and body.purpose == "formal"

    def attempts(self, cut: Cut) -> list[Attempt]:
        """The attempts that belong, in log order of their opening."""
        return [attempt for attempt in cut.attempts.values() if self.holds(attempt)]

    def outside(self, cut: Cut) -> list[Attempt]:
        """Attempts of the same entries that do not belong, listed beside the release."""
        return [
            attempt
            for attempt in cut.attempts.values()
            if attempt.opened.body.entry.id in self.entries and not self.holds(attempt)
        ]
