"""What admission depends on, at the end of the log: the rules' state, the payloads said already, the tree's edge.

    tip = Tip(origin, pinned)
    tip.follow(reader)             # fold the records of a verified log
    record = tip.admit(envelope)   # one record more, not yet written anywhere

Kept in memory between two openings of one log by one process, so that the second reads only what is new. A tip that
admitted what was then not written is thrown away by its owner and made anew. It does no I/O of its own.
"""

from __future__ import annotations

from array import array

from ledger.log import merkle
from ledger.log.journal import Batch
from ledger.log.log import LogReader
from ledger.records.envelope import Envelope
from ledger.records.examined import Examined
from ledger.records.gate import Gate
from ledger.records.kinds import Head, TrustRoot
from ledger.records.record import Record
from ledger.records.statement import Statement, predicate_of
from store.digest import Digest
from store.errors import LogInvalid, RecordRejected

__all__ = ["Tip"]

_REMEMBERED_ROOTS = 1024


class Tip:
    """The state after the last record, integrated or not.

    Args:
        origin: the ledger's name.
        pinned: the digest that leaf 0 must have.
    """

    def __init__(self, origin: str, pinned: Digest) -> None:
        self._pinned = pinned
        self._gate = Gate(origin, self.root_at)
        self._frontier = merkle.Frontier()
        self._reader: LogReader | None = None
        self._pending: list[bytes] = []
        self._roots: dict[int, Digest] = {}
        self._recent: dict[int, Record] = {}  # of records that no checkpoint holds yet
        self._by: dict[tuple[tuple[str, ...], str], int] = {}  # keys and role
        self._admitted = array("I")  # which of these each record was admitted under
        self.trust_roots: list[tuple[TrustRoot, bytes]] = []

    @property
    def size(self) -> int:
        """Records folded so far."""
        return self._frontier.size

    @property
    def head(self) -> Head:
        """Size and root after the last record."""
        return Head(size=self.size, root=Digest.from_raw(self._frontier.root()))

    def known(self, envelope: Envelope) -> int | None:
        """Where the same payload stands already, or None."""
        return self._gate.known(envelope.payload_digest)

    def record(self, index: int) -> Record:
        """A record that was folded; read again where it stands in the log.

        Raises:
            LogInvalid: it does not verify any more.
        """
        found = self._recent.get(index)
        if found is not None or self._reader is None:
            return self._recent[index]
        envelope = Envelope.parse(self._reader.entry(index))
        statement = Statement.parse(envelope.payload)
        keyids, role = list(self._by)[self._admitted[index]]
        return Record(index, envelope.digest, envelope.payload_digest, statement.body, statement.kind, keyids, role)

    def precedes(self, reader: LogReader) -> bool:
        """Whether a verified log continues this tip."""
        return self.size <= reader.size and reader.root_at(self.size) == self.head.root

    def admit(self, envelope: Envelope) -> Record:
        """Fold one record more.

        Raises:
            RecordRejected: a rule of admission is broken; nothing has changed.
        """
        leaf = envelope.format()
        if not self.size and envelope.digest != self._pinned:
            raise RecordRejected("origin", f"leaf 0 is not the pinned trust root {self._pinned}")
        return self._taken(self._gate.admit(envelope, self.size), leaf)

    def _taken(self, record: Record, leaf: bytes) -> Record:
        if isinstance(record.body, TrustRoot):
            self.trust_roots.append((record.body, leaf))
        self._pending.append(merkle.leaf_hash(leaf))
        self._frontier.append(self._pending[-1])
        self._recent[record.index] = record
        self._admitted.append(self._by.setdefault((record.keyids, record.role), len(self._by)))
        return record

    def follow(self, reader: LogReader) -> None:
        """Fold what a verified log holds beyond this tip.

        Signatures are not verified again: whoever signed the checkpoint did, and every reader does. A record whose key
        hints do not suffice is admitted in full.

        Raises:
            LogInvalid: the log does not continue this tip (`fork`), or holds a record that breaks a rule (`admission`).
        """
        if not self.precedes(reader):
            raise LogInvalid("fork", f"the log does not continue the {self.size} records that were read before")
        start = self.size
        self._reader = reader
        for leaf in reader.entries(start):
            try:
                self._follow(leaf)
            except RecordRejected as error:
                raise LogInvalid("admission", str(error), where=f"record {self.size}") from error
            self._pending.clear()
            self._recent.clear()

    def _follow(self, leaf: bytes) -> None:
        envelope = Envelope.parse(leaf)
        said = predicate_of(envelope.payload)
        if said is None or said[0] == "trust-root":
            self.admit(envelope)
            return
        hints = tuple(signature.keyid for signature in envelope.signatures)
        examined = Examined(envelope.digest.raw, envelope.payload_digest.raw, *said, hints)
        try:
            record = self._gate.admit_examined(examined, self.size)
        except RecordRejected:
            self.admit(envelope)
        else:
            self._taken(record, leaf)

    def replay(self, batch: Batch) -> None:
        """Fold a batch of the journal, which comes next.

        Raises:
            LogInvalid: it leads to another root than it says, or holds a record that breaks a rule (`journal`).
        """
        where = f"batch of record {batch.first}"
        for leaf in batch.entries:
            try:
                self.admit(Envelope.parse(leaf))
            except RecordRejected as error:
                raise LogInvalid("journal", str(error), where=where) from error
        if self.head != batch.head:
            raise LogInvalid("journal", "the batch leads to another root than it says", where=where)

    def integrated(self, reader: LogReader) -> None:
        """Say that everything so far stands in a signed checkpoint, which `reader` is at."""
        self._reader = reader
        self._pending.clear()
        self._recent.clear()

    def root_at(self, size: int) -> Digest:
        """The root over the first `size` records.

        Raises:
            LogInvalid: there are not that many (`size`).
        """
        found = self._roots.get(size)
        if found is None:
            if len(self._roots) >= _REMEMBERED_ROOTS:
                self._roots.clear()
            found = self._roots[size] = self._root_at(size)
        return found

    def _root_at(self, size: int) -> Digest:
        base = 0 if self._reader is None else self._reader.size
        if self._reader is not None and size <= base:
            return self._reader.root_at(size)
        if not 0 <= size <= self.size:
            raise LogInvalid("size", f"the log of {self.size} records never had {size}")
        frontier = merkle.Frontier() if self._reader is None else self._reader.edge()
        frontier.extend(self._pending[: size - base])
        return Digest.from_raw(frontier.root())
