"""The ledger as its readers see it: every record admitted again by the rules, then found by name.

    ledger = Ledger.open(folder)
    ledger.head                               # size and root of the verified checkpoint
    ledger.attempt("20261130T2305").closed    # an id, or enough of it
    ledger.of(kinds.Case), ledger.get(digest), ledger.root_at(12)

Opening authenticates every leaf under the checkpoint and folds the gate over all of them: signature, role at the index,
schema, canonical form, chain. A process that opens the same folder again only admits what is new, when the log that it
verified before is a prefix of the present one. Nothing is believed because of a file that is not the log.
"""

from __future__ import annotations

import base64
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self, cast

from ledger.bundles import examined
from ledger.folder import Folder
from ledger.gathered import AttemptRecords, attempt_of, gather
from ledger.log.authority import log_keys, open_log, trust_chain
from ledger.log.log import LogReader
from ledger.naming import choose_attempt, choose_named, name_of, suggest
from ledger.records import kinds
from ledger.records.envelope import Envelope
from ledger.records.gate import Gate
from ledger.records.record import Record
from store import disk
from store.digest import Digest
from store.errors import InputError, LogInvalid, RblError

__all__ = ["AttemptRecords", "Ledger"]


class Ledger:
    """A verified view of a folder's log at one head."""

    def __init__(self, log: LogReader, vkey: str, records: Sequence[Record[kinds.Body]]) -> None:
        self._log = log
        self.vkey = vkey
        self.head = log.head
        self.records = records
        self._by_digest = {record.digest: record for record in records}
        self._by_kind: dict[type[kinds.Body], list[Record[kinds.Body]]] | None = None
        self._attempts: dict[str, AttemptRecords] | None = None

    @classmethod
    def open(cls, folder: Folder, pinned: Digest | None = None, *, full: bool = False) -> Self:
        """Read and verify a folder's log.

        Args:
            folder: the benchmark folder.
            pinned: digest of the first trust root; by default the one that this machine remembers.
            full: read every leaf again, also those that this process has admitted before.

        Raises:
            LogInvalid: a checkpoint, tile or bundle does not verify.
            RecordRejected: a record breaks a rule of admission.
            InputError: there is no log.
        """
        log = open_log(folder, pinned)
        roots = trust_chain(folder, pinned)
        with _LOCK:
            seen = _SEEN.get(folder.root)
            if full or seen is None or not seen.precedes(log):
                seen = _Seen(folder.config.origin)
            try:
                seen.admit(folder, log, roots)
            except RblError:
                _SEEN.pop(folder.root, None)
                raise
            _SEEN[folder.root] = seen
            records = tuple(seen.records)
        _check_trust(folder, records)
        vkey = str(log_keys(folder.config.origin, roots)[0])
        return cls(log, vkey, records)

    def leaf(self, index: int) -> bytes:
        """The leaf bytes at an index, authenticated."""
        return self._log.entry(index)

    @property
    def log(self) -> LogReader:
        """The authenticated log beneath, for proofs."""
        return self._log

    def root_at(self, size: int) -> Digest:
        """The root that the log had at a size.

        Raises:
            LogInvalid: the log never was that large.
        """
        return self._log.root_at(size)

    def of(self, wanted: type[kinds.B]) -> list[Record[kinds.B]]:
        """The records of one kind, in log order."""
        if self._by_kind is None:
            self._by_kind = {}
            for record in self.records:
                self._by_kind.setdefault(type(record.body), []).append(record)
        return cast("list[Record[kinds.B]]", list(self._by_kind.get(wanted, ())))

    def get(self, digest: Digest) -> Record[kinds.Body]:
        """The record with this leaf digest.

        Raises:
            InputError: there is none.
        """
        try:
            return self._by_digest[digest]
        except KeyError as error:
            raise InputError(f"no record {digest} in this ledger") from error

    def get_as(self, digest: Digest, wanted: type[kinds.B]) -> Record[kinds.B]:
        """The record with this leaf digest, which must be of a kind.

        Raises:
            InputError: there is none, or it is of another kind.
        """
        record = self.get(digest)
        if not isinstance(record.body, wanted):
            raise InputError(f"{digest} is a {record.kind}, not a {kinds.kind_of(wanted)}")
        return cast("Record[kinds.B]", record)

    def find(self, name: str) -> Record[kinds.Body]:
        """The record that a text names: its index, or the beginning of its digest.

        Raises:
            InputError: it names none, or several.
        """
        if name.isascii() and name.isdigit() and int(name) < len(self.records):
            return self.records[int(name)]
        start = name.removeprefix("sha256:")
        found = [record for record in self.records if record.digest.hex.startswith(start)]
        if len(found) != 1 or not start:
            raise InputError(f"{len(found)} records are called {name!r}", fix="give an index or more digits")
        return found[0]

    def attempts(self) -> list[AttemptRecords]:
        """Every attempt, in the order they were opened."""
        return list(self._all_attempts().values())

    def attempt(self, name: str) -> AttemptRecords:
        """The attempt that a text names: its id, or the beginning or the end of exactly one.

        Raises:
            InputError: it names none, or several.
        """
        known = self._all_attempts()
        return known[name] if name in known else known[choose_attempt(name, list(known))]

    def tries(self, attempt: AttemptRecords) -> list[AttemptRecords]:
        """The attempt that this one tries again, and those that try this one again, in log order."""
        before = attempt.opened.body.retry_of
        return [other for other in self.attempts() if other.id == before or other.opened.body.retry_of == attempt.id]

    def case(self, case: str, version: int | None = None) -> Record[kinds.Case]:
        """A version of a case; the newest when none is given."""
        found = [record for record in self.of(kinds.Case) if record.body.id == case]
        if version is not None:
            found = [record for record in found if record.body.version == version]
        if not found:
            known = sorted({f"{record.body.id}@{record.body.version}" for record in self.of(kinds.Case)})
            wanted = case if version is None else f"{case}@{version}"
            raise InputError(f"no published case {wanted!r}", fix=suggest("published", wanted, known))
        return max(found, key=lambda record: record.body.version)

    def entry(self, entry: str) -> Record[kinds.Entry]:
        """The entry with this id."""
        return self._named(kinds.Entry, entry)

    def split(self, name: str) -> Record[kinds.Split]:
        """The split with this name."""
        return self._named(kinds.Split, name)

    def protocol(self, name: str) -> Record[kinds.Protocol]:
        """The protocol with this name."""
        return self._named(kinds.Protocol, name)

    def schedule(self, name: str) -> Record[kinds.Schedule]:
        """The schedule with this name."""
        return self._named(kinds.Schedule, name)

    def release(self, name: str) -> Record[kinds.Release]:
        """The release with this name."""
        return self._named(kinds.Release, name)

    def _all_attempts(self) -> dict[str, AttemptRecords]:
        if self._attempts is None:
            self._attempts = self._gathered()
        return self._attempts

    def _gathered(self) -> dict[str, AttemptRecords]:
        grouped: dict[str, list[Record[kinds.Body]]] = {}
        for record in self.records:
            attempt = attempt_of(record.body)
            if attempt is not None:
                grouped.setdefault(attempt, []).append(record)
        found = {}
        for attempt, records in grouped.items():
            opened = next(record.body for record in records if isinstance(record.body, kinds.AttemptOpened))
            found[attempt] = gather(attempt, records, self._evaluator(opened))
        return found

    def _evaluator(self, opened: kinds.AttemptOpened) -> Digest | None:
        if opened.schedule is None:
            return None
        schedule = self.get_as(opened.schedule, kinds.Schedule).body
        return self.get_as(schedule.protocol, kinds.Protocol).body.evaluator

    def _named(self, wanted: type[kinds.B], name: str) -> Record[kinds.B]:
        found = {name_of(record.body): record for record in self.of(wanted)}
        return found[choose_named(kinds.kind_of(wanted), name, list(found))]


class _Seen:
    """What a process has admitted of one folder's log."""

    def __init__(self, origin: str) -> None:
        self.records: list[Record[kinds.Body]] = []
        self._log: LogReader | None = None
        self._gate = Gate(origin, self._root_at)

    def precedes(self, log: LogReader) -> bool:
        """What was admitted is a prefix of this log."""
        size = len(self.records)
        return self._log is not None and size <= log.size and log.root_at(size) == self._log.root_at(size)

    def admit(self, folder: Folder, log: LogReader, roots: Sequence[kinds.TrustRoot]) -> None:
        """Admit what is new in a log that what was admitted is a prefix of."""
        self._log = log
        public = {key.keyid: base64.b64decode(key.public) for root in roots for key in root.keys}
        for bundle in examined(folder.log, log.checkpoint, public, len(self.records)):
            for item in log.entries(bundle.start, bundle.end) if bundle.records is None else bundle.records:
                index = len(self.records)
                self.records.append(
                    self._gate.admit(Envelope.parse(item), index)
                    if isinstance(item, bytes)
                    else self._gate.admit_examined(item, index)
                )

    def _root_at(self, size: int) -> Digest:
        assert self._log is not None
        return self._log.root_at(size)


_SEEN: Final[dict[Path, _Seen]] = {}
_LOCK: Final = threading.Lock()


def _check_trust(folder: Folder, records: Sequence[Record[kinds.Body]]) -> None:
    """The trust roots in the log must be those in `trust/`, of which the first is the pinned one."""
    for record in records:
        if isinstance(record.body, kinds.TrustRoot):
            place = folder.trust / f"{record.body.version}.root.json"
            with disk.faults("cannot read a trust root", place):
                known = Digest.of(place.read_bytes())
            if known != record.digest:
                what = f"record {record.index} is another trust root than the one that is believed"
                raise LogInvalid("trust", what, where=str(place), fix="keep both as evidence; the log is not believed")
