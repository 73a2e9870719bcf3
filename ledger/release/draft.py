"""A release before it is recorded, or as a verifier makes it again: one pure step from records to root.

    draft = Draft.of(records, Head(size=412, root=…), schedule)
    draft.findings()      what forbids it
    draft.results, draft.leaves, draft.root

Freezing writes what this computes; verifying compares with what this computes. The same function on both sides keeps
them from drifting apart, and the JavaScript verifier, written independently, keeps both honest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Self

from ledger.records import kinds
from ledger.records.record import Record
from ledger.release import leaves
from ledger.release.cutoff import Cut, Scope
from ledger.release.declared import declared
from ledger.release.finding import Finding
from ledger.release.outcome import standings
from ledger.release.results import format_results
from ledger.release.retries import retries, withdrawals
from store.digest import Digest

__all__ = ["Draft"]


@dataclass(frozen=True, slots=True)
class Draft:
    """What a release says, computed from the records below its cutoff.

    Attributes:
        cut: those records.
        scope: the schedule and what it names.
        cutoff: the head.
        results: bytes of the result artifact.
        leaves: bytes of the object that lists the leaves.
        root: the release digest.
        attempts: how many attempts the schedule counts.
    """

    cut: Cut
    scope: Scope
    cutoff: kinds.Head
    results: bytes
    leaves: bytes
    root: Digest
    attempts: int

    @classmethod
    def of(cls, records: Iterable[Record], cutoff: kinds.Head, schedule: Digest) -> Self:
        """Compute a release.

        Args:
            records: verified, in log order, at least up to the cutoff.
            cutoff: the head below which records count.
            schedule: record of the schedule.

        Raises:
            CheckFailed: a record that the schedule needs is not below the cutoff.
        """
        cut = Cut.of(records, cutoff.size)
        scope = Scope.of(cut, schedule)
        found = standings(cut, scope)
        results = format_results(cut, scope, found, cutoff)
        items = leaves.leaves(cut, scope, found, Digest.of(results))
        return cls(
            cut=cut,
            scope=scope,
            cutoff=cutoff,
            results=results,
            leaves=leaves.format_leaves(items),
            root=leaves.root(items),
            attempts=len(scope.attempts(cut)),
        )

    def findings(self) -> list[Finding]:
        """Whatever forbids to freeze it."""
        return [
            *declared(self.cut, self.scope),
            *retries(self.cut, self.scope),
            *withdrawals(self.cut, self.scope),
        ]

    def records(self) -> Iterator[Record]:
        """Every record that the release rests on, its attempts' all included."""
        scope = self.scope
        yield from (scope.schedule, scope.split, scope.protocol)
        yield from scope.cases.values()
        yield from scope.entries.values()
        for attempt in scope.attempts(self.cut):
            yield from attempt.records
