"""The rules of admission: a fold over the records of a log, in order.

    gate = Gate("example.org/bench", root_at)
    record = gate.admit(envelope, gate.size)      # or RecordRejected(rule, …), and nothing has changed

The sequencer admits before it appends, and every reader admits again. The rules, by the name that a refusal carries:

    envelope  size  canonical  kind  schema  subject        the bytes: `envelope`, `statement`
    origin              meant for another ledger
    duplicate           the same payload stands in the log already
    no-trust-root  one-signature  signature  unknown-key  duplicate-key  role  distrusted  threshold  trust-root
                                                            the signatures: `trust`
    after               made after a head that this log never had; or a release's cutoff
    unknown-reference  duplicate-reference  redefined  reinstates  not-scheduled
                                                            what a declaration cites: `admitted`
    not-opened  duplicate-attempt  chain  closed  closed-twice  captures-twice  plan  other-attempt  other-case
    commitment  retry                                       the life of an attempt: `attempts`
    revealed  ballots                                       what is said once attempts are made: `later`

It is pure: `root_at` gives the root that the log had at a size. That leaf 0 is the pinned trust root is the caller's to
check, and so is that the leaves are those of a signed checkpoint. Which of several verdicts counts is the release's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from ledger.records import kinds
from ledger.records.admitted import Admitted
from ledger.records.attempts import Attempts
from ledger.records.envelope import Envelope
from ledger.records.examined import Examined
from ledger.records.kept import Kept, Nothing
from ledger.records.later import Later
from ledger.records.numbered import Numbered
from ledger.records.record import Record
from ledger.records.statement import Statement
from ledger.records.trust import Signed, TrustState
from store.digest import Digest
from store.errors import RecordRejected

__all__ = ["Gate"]

_REMEMBERED: Final = 1024


class Gate:
    """The state that the rules need, at one size of the log.

    Attributes:
        trust: who may sign what.
        admitted, attempts: what was admitted here; for whoever keeps the state.

    Args:
        origin: of the ledger.
        root_at: the root that the log had at a size; asked only for sizes from 1 to `size`.
        kept: the state after the records before the first that is to be admitted; nothing by default.
    """

    def __init__(self, origin: str, root_at: Callable[[int], Digest], kept: Kept | None = None) -> None:
        self.origin: Final = origin
        self._kept: Kept = kept or Nothing()
        self.trust: Final = TrustState(self._kept.trust_root, self._kept.limits)
        self._root_at = root_at
        self._payloads = Numbered()
        self._heads: dict[int, Digest] = {}  # some that this log had: many records are made after one head
        self.admitted: Final = Admitted(self._kept)
        self.attempts: Final = Attempts(self.admitted, self._kept)
        self._later: Final = Later(self.admitted, self.attempts)

    @property
    def size(self) -> int:
        """How many records were admitted."""
        return self._kept.size + len(self._payloads)

    def payloads(self) -> Iterator[tuple[bytes, int]]:
        """The payload digests, 32 bytes each, and places of the records admitted here, in the order of the digests."""
        return ((digest, self._kept.size + place) for digest, place in self._payloads.ascending())

    def known(self, payload: Digest) -> int | None:
        """The index of the record with this payload digest, or None."""
        found = self._payloads.find(payload.raw)
        return self._kept.payload(payload.raw) if found is None else self._kept.size + found

    def admit(self, envelope: Envelope, index: int) -> Record:
        """Admit the next record.

        Args:
            envelope: the record.
            index: its place, which is `size`.

        Raises:
            RecordRejected: a rule is broken; nothing has changed.
        """
        try:
            statement = Statement.parse(envelope.payload)
            body = statement.body

            def signed() -> Signed:
                if isinstance(body, kinds.TrustRoot):
                    return self.trust.check_root(body, envelope, index)
                return self.trust.check(envelope, statement.kind, index)

            record = self._admit(statement.kind, body, envelope.digest, envelope.payload_digest, index, signed)
            if isinstance(body, kinds.TrustRoot):
                self.trust.install(body, envelope, index)
        except RecordRejected as error:
            if error.where:
                raise
            raise _placed(error, index) from error
        return record

    def admit_examined(self, examined: Examined, index: int) -> Record:
        """Admit the next record, of which everything that needs no state was checked elsewhere (`examined`).

        Args:
            examined: what was found; no trust root.
            index: its place, which is `size`.

        Raises:
            RecordRejected: a rule is broken; nothing has changed.
        """
        kind = examined.kind

        def signed() -> Signed:
            return self.trust.check_signers(examined.keyids, kind, index)

        try:
            digest, payload = Digest.from_raw(examined.digest), Digest.from_raw(examined.payload_digest)
            return self._admit(kind, examined.body, digest, payload, index, signed)
        except RecordRejected as error:
            if error.where:
                raise
            raise _placed(error, index) from error

    def _admit(
        self, kind: str, body: kinds.Body, digest: Digest, payload: Digest, index: int, signed: Callable[[], Signed]
    ) -> Record:
        if index != self.size:
            raise RecordRejected("order", f"record {index}, where {self.size} is the next")
        if body.ledger != self.origin:
            raise RecordRejected("origin", f"meant for the ledger {body.ledger}, and this is {self.origin}")
        if (twice := self.known(payload)) is not None:
            raise RecordRejected("duplicate", f"the same statement is record {twice}")
        by = signed()
        self._check_head(body.after, index)
        if isinstance(body, kinds.Release):
            self._check_head(body.cutoff, index)
        self.admitted.check(body)
        self.attempts.check(body)
        self._later.check(body)
        record = Record(index, digest, payload, body, kind, by.keyids, by.role)
        self._payloads.add(payload.raw)
        self.admitted.add(record)
        self.attempts.add(record)
        return record

    def _check_head(self, head: kinds.Head | None, index: int) -> None:
        if head is None:  # a trust root of version 1, whose place `trust` has checked
            return
        if not 1 <= head.size <= index:
            raise RecordRejected("after", f"it names a head of {head.size} records, and {index} are before it")
        if self._heads.get(head.size) == head.root:
            return
        if self._root_at(head.size) != head.root:
            raise RecordRejected("after", f"at {head.size} records the root of this log was not {head.root}")
        if len(self._heads) >= _REMEMBERED:
            self._heads.clear()
        self._heads[head.size] = head.root


def _placed(error: RecordRejected, index: int) -> RecordRejected:
    """The refusal, and which record it is about."""
    return RecordRejected(error.rule, error.what, where=f"record {index}", fix=error.fix)
