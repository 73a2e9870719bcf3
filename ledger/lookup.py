"""A few records of a long log: found by an index, read from the authenticated log, each signature checked.

    lookup = Lookup.open(folder)
    lookup.attempt("20261130T2305").closed           # as `ledger.reader.Ledger`, without reading the whole log
    lookup.select(Query(kind="evaluation", entry="mine"))

The index holds only what this machine admitted by every rule: what its own sequencer has signed, or else what
`Ledger.open` admits now, once, before the index is extended. So a lookup believes no more than a whole view does, and
costs what it reads. What the index says of a record is compared with the record; it is never shown itself, but for
counts and for the names of open attempts, which rest on the digest over the whole index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Self, cast

from ledger.folder import Folder
from ledger.gathered import AttemptRecords, attempt_of, gather
from ledger.index import Index, Query
from ledger.indexing import extend
from ledger.log.authority import log_keys, open_log, trust_chain
from ledger.log.lock import Lock
from ledger.log.log import LogReader
from ledger.log.pin import Pin
from ledger.naming import choose_attempt, choose_named, name_of
from ledger.records import kinds
from ledger.records.envelope import Envelope
from ledger.records.record import Record
from ledger.records.statement import Statement
from ledger.signers import Signers
from store.digest import Digest
from store.errors import InputError, LogInvalid

__all__ = ["Lookup", "Query", "reindex"]

_WAIT: Final = 900.0  # seconds: another process indexes a long log once

Say = Callable[[int, int], None]
"""Told how many of how many records are indexed."""


def _silent(_done: int, _total: int) -> None:
    pass


class Lookup:
    """A view of a folder's log at one head that reads what it is asked for."""

    def __init__(self, log: LogReader, vkey: str, signers: Signers, index: Index) -> None:
        self.log = log
        self.vkey = vkey
        self.head = log.head
        self._signers = signers
        self._index = index
        self._opened: dict[str, tuple[str, str]] = {}

    @classmethod
    def open(cls, folder: Folder, say: Say = _silent) -> Self:
        """Verify a folder's head, and find or make the index of its log.

        Args:
            folder: the benchmark folder.
            say: told how many of how many records are indexed.

        Raises:
            LogInvalid: checkpoint, tile or bundle do not verify.
            RecordRejected: a record that is not indexed yet breaks a rule of admission.
            InputError: there is no log.
        """
        log = open_log(folder)
        keys = log_keys(folder.config.origin, trust_chain(folder))
        return cls(log, str(keys[0]), Signers.of(folder), _index(folder, log, say))

    # -------------------------------------------------------------------------------------------- single records

    def record(self, number: int) -> Record:
        """The record at an index, read from the authenticated log.

        Raises:
            LogInvalid: it does not verify, or there is none.
            RecordRejected: it is malformed, or not signed by who may sign it.
        """
        where = f"record {number}"
        envelope = Envelope.parse(self.log.entry(number), where=where)
        statement = Statement.parse(envelope.payload, where=where)
        signed = self._signers.check(envelope, statement.kind, number)
        body, kind = statement.body, statement.kind
        return Record(number, envelope.digest, envelope.payload_digest, body, kind, signed.keyids, signed.role)

    def get(self, digest: Digest) -> Record[kinds.Body]:
        """The record with this leaf digest.

        Raises:
            InputError: there is none.
        """
        found = self._beginning(digest.hex)
        if not found:
            raise InputError(f"no record {digest} in this ledger")
        return found[0]

    def get_as(self, digest: Digest, wanted: type[kinds.B]) -> Record[kinds.B]:
        """The record with this leaf digest, which must be of a kind.

        Raises:
            InputError: there is none, or it is of another kind.
        """
        record = self.get(digest)
        if not isinstance(record.body, wanted):
            raise InputError(f"{digest} is a {record.kind}, not a {kinds.kind_of(wanted)}")
        return cast("Record[kinds.B]", record)

    def find(self, name: str) -> Record:
        """The record that a text names: its index, or the beginning of its digest.

        Raises:
            InputError: it names none, or several.
        """
        if name.isascii() and name.isdigit() and int(name) < self.head.size:
            return self.record(int(name))
        start = name.removeprefix("sha256:").lower()
        found = self._beginning(start) if start and set(start) <= set("0123456789abcdef") else []
        if len(found) != 1:
            raise InputError(f"{len(found)} records are called {name!r}", fix="give an index or more digits")
        return found[0]

    def _beginning(self, digits: str) -> list[Record]:
        found = []
        for number in self._index.beginning(digits):
            record = self.record(number)
            if record.digest.hex[: len(digits)] == digits:
                found.append(record)
            elif record.digest.hex[:16] != digits[:16] and len(digits) >= 16:  # noqa: PLR2004 - what the index keeps
                raise _wrong(number)
        return found

    # -------------------------------------------------------------------------------------------- many records

    def counts(self) -> dict[str, int]:
        """How many records there are of each kind that there is."""
        return self._index.counts()

    def open_attempts(self) -> list[str]:
        """The ids of the attempts that were not closed, in the order they were opened."""
        return self._index.open_attempts()

    def select(self, query: Query) -> Iterator[Record]:
        """The records that a query wants, in log order, each read when it is asked for.

        Raises:
            LogInvalid: the index is wrong about a record (`index`).
        """
        for number in self._index.numbers(query):
            record = self.record(number)
            attempt = attempt_of(record.body)
            wrong = query.kind not in {None, record.kind} or query.attempt not in {None, attempt}
            wrong |= isinstance(query.since, str) and record.body.issued_at < query.since
            if query.entry is not None or query.case is not None:
                entry, case = self._owners(record.body, attempt)
                wrong |= query.entry not in {None, entry} or query.case not in {None, case}
            if wrong:
                raise _wrong(number)
            yield record

    def _owners(self, body: kinds.Body, attempt: str | None) -> tuple[str | None, str | None]:
        """The entry and the case that a record belongs to."""
        if attempt is None:
            entry = body.id if isinstance(body, kinds.Entry) else None
            return entry, body.id if isinstance(body, kinds.Case) else None
        if attempt not in self._opened:
            (number,) = self._index.numbers(Query(kind="attempt-opened", attempt=attempt)) or (0,)
            opening = self.record(number).body
            if not isinstance(opening, kinds.AttemptOpened) or opening.chain.attempt != attempt:
                raise _wrong(number)
            self._opened[attempt] = opening.entry.id, opening.case.id
        return self._opened[attempt]

    def of(self, wanted: type[kinds.B]) -> list[Record[kinds.B]]:
        """The records of one kind, in log order; for kinds that attempts do not have."""
        kind = kinds.kind_of(wanted)
        found = [self._declared(number, kind, name) for number, name in self._index.declared(kind)]
        return cast("list[Record[kinds.B]]", found)

    def release(self, name: str) -> Record[kinds.Release]:
        """The release with this name, or the one whose name begins so.

        Raises:
            InputError: none is called so.
        """
        known = {called: number for number, called in self._index.declared("release")}
        chosen = choose_named("release", name, list(known))
        return cast("Record[kinds.Release]", self._declared(known[chosen], "release", chosen))

    def _declared(self, number: int, kind: str, name: str) -> Record:
        record = self.record(number)
        body = record.body
        called = body.target.id if isinstance(body, kinds.Withdrawal) else name_of(body)
        if record.kind != kind or called != name:
            raise _wrong(number)
        return record

    # -------------------------------------------------------------------------------------------- attempts

    def attempt(self, name: str) -> AttemptRecords:
        """The attempt that a text names: its id, or the beginning or the end of exactly one.

        Raises:
            InputError: it names none, or several.
        """
        return self._gathered(self.attempt_id(name))

    def attempt_id(self, name: str) -> str:
        """The id that a text names, as `attempt`."""
        return choose_attempt(name, self._index.called(name))

    def attempts(self, entry: str | None = None, case: str | None = None) -> Iterator[AttemptRecords]:
        """The attempts of an entry, on a case, or all, in the order of opening, each read when it is asked for."""
        for attempt in self._index.attempts(entry, case):
            yield self._gathered(attempt)

    def tries(self, attempt: AttemptRecords) -> list[AttemptRecords]:
        """The attempt that this one tries again, and those that try this one again, in log order."""
        return [self._gathered(other) for other in self._index.tries(attempt.id, attempt.opened.body.retry_of)]

    def _gathered(self, attempt: str) -> AttemptRecords:
        records = list(self.select(Query(attempt=attempt)))
        if not records or not isinstance(records[0].body, kinds.AttemptOpened):
            raise LogInvalid("index", f"the opening of {attempt} is missing", where="index", fix="rbl ledger reindex")
        return gather(attempt, records, self._evaluator(records[0].body))

    def _evaluator(self, opened: kinds.AttemptOpened) -> Digest | None:
        if opened.schedule is None:
            return None
        schedule = self.get_as(opened.schedule, kinds.Schedule).body
        return self.get_as(schedule.protocol, kinds.Protocol).body.evaluator


def reindex(folder: Folder, say: Say = _silent) -> kinds.Head:
    """Make the index anew from the log, whatever is there.

    Returns:
        The head that it is of.

    Raises:
        As `Lookup.open`.
    """
    log = open_log(folder)
    _admit(folder, log)
    with _lock(folder):
        extend(folder.state / "index", log, None, say).close()
    return log.head


def _index(folder: Folder, log: LogReader, say: Say) -> Index:
    directory = folder.state / "index"
    found = Index.believed(directory, log)
    if found is not None and found.size == log.size:
        return found
    _admit(folder, log)
    with _lock(folder):
        found = Index.believed(directory, log)  # another may have made it meanwhile
        return found if found is not None and found.size == log.size else extend(directory, log, found, say)


def _lock(folder: Folder) -> Lock:
    return Lock(folder.state / "index" / "lock", wait=_WAIT, busy="making the index of this log")


def _admit(folder: Folder, log: LogReader) -> None:
    """See that every record of the log was admitted on this machine: by its sequencer, or else now."""
    signed = Pin(folder.state).head
    if signed is None or signed.size < log.size:  # `open_log` has compared the roots
        from ledger.reader import Ledger  # noqa: PLC0415 (only where a log is from elsewhere)

        Ledger.open(folder)


def _wrong(number: int) -> LogInvalid:
    return LogInvalid("index", f"it is wrong about record {number}", where="index", fix="rbl ledger reindex")
