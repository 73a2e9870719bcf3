"""Appends to the log: one at a time, admitted first, durable before signed, the same bytes after any crash.

    begin(folder, trust_root, [signer])            # the log, with the first trust root as leaf 0
    with Sequencer.open(folder) as sequencer:      # takes the lock, finishes what a crash interrupted
        sequencer.append([envelope])               # [41]: in a signed checkpoint
        sequencer.append(many, integrate=False)    # on the disk; in the checkpoint when the block ends
        sequencer.drain()                          # what others dropped into spool/

A record is admitted by every rule (`ledger.records.gate`), then *journaled* (written with the size and root it leads
to, and fsynced; it will be integrated whatever happens), then *integrated*: bundles and tiles create-exclusive, equal
or fail; new trust roots; the checkpoint signed, replaced atomically, its folder fsynced; the head remembered outside
the folder. Nothing is signed before it is durable. Opening replays the journal to the same bytes, and refuses a log
that is older than the head remembered here (`rollback`) or another (`fork`). The same payload is appended once: the
second time gives the first index. What records mean is not known here, and reading them is `ledger.reader`'s.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from ledger.folder import Folder
from ledger.log.authority import has_log, log_keys, open_interrupted, pinned_root
from ledger.log.checkpoint import Checkpoint, sign_checkpoint
from ledger.log.journal import Journal
from ledger.log.lock import Lock
from ledger.log.log import LogReader, read_folder
from ledger.log.pin import Pin
from ledger.log.spool import clear, read_spooled, reject, spool, spooled
from ledger.log.tiles import ENTRY_LIMIT
from ledger.log.tip import Tip
from ledger.log.writer import LogWriter, write_once
from ledger.records.envelope import PAYLOAD_TYPE, Envelope
from ledger.records.keys import Signer, keyid_of
from ledger.records.kinds import B, Head, Role, TrustRoot
from ledger.records.record import Record
from ledger.records.rotation import listed_signer
from ledger.records.statement import sign_statement
from store.digest import Digest
from store.errors import Conflict, InputError, LogInvalid, RecordRejected, Unavailable

__all__ = ["BATCH", "WAIT", "Sequencer", "begin", "spool", "submit"]

WAIT: Final = 30.0
"""Seconds that `open` waits for another holder of the lock."""

BATCH: Final = 256
"""Records journaled with one fsync when a spool is drained."""

_JOURNAL_LIMIT: Final = 1 << 20  # bytes; every opening reads the file
_LATER: Final = frozenset({"chain", "not-opened", "unknown-reference", "retry", "after"})
_MOST_TIPS: Final = 8  # logs whose state one process keeps between two openings

_tips: dict[tuple[Path, str, Digest], Tip] = {}
_tips_lock = threading.Lock()


class Sequencer:
    """The one appender of a log. Use `open`, and close it: the lock is held all the while.

    Args:
        folder: the benchmark folder.
        lock: held; released by `close`.
        fresh: whether a folder without a log is to be begun.
    """

    def __init__(self, folder: Folder, lock: Lock, *, fresh: bool = False) -> None:
        self.folder = folder
        self._lock = lock
        self._pin = Pin(folder.state)
        self._broken = False
        self._signer: Signer | None = None
        self._reader: LogReader | None = None
        self._journal = Journal(folder.journal / "batches")
        try:
            if has_log(folder) or self._pin.head is not None:
                self._reader = open_interrupted(folder, self._journal.batches)
            self._check_journal()
            begun = self._reader is not None or bool(self._journal.batches)
            _check_begun(folder, begun=begun or fresh)
            self._key = (folder.root, folder.config.origin, pinned_root(folder) if begun else Digest.of(b""))
            with _tips_lock:
                tip = _tips.pop(self._key, None)
            self._tip = self._rebuilt(tip)
            self._writer = LogWriter(folder.log, self._reader)
            if self._reader is not None and self._reader.head != self._pin.head:
                self._pin.remember(self._reader.head)  # a crash came between the checkpoint and this
            self.integrate()
        except BaseException:
            self._journal.close()
            raise

    @classmethod
    def open(cls, folder: Folder, *, wait: float = WAIT) -> Self:
        """Take the lock, bring the log to the end of its journal, and be ready to append.

        Args:
            folder: the benchmark folder.
            wait: seconds to wait while another appends.

        Raises:
            Conflict: another is appending for longer than that.
            LogInvalid: the log does not verify, was rolled back, or is another than this machine remembers.
            InputError: there is no log, or no trust root is pinned.
            HarnessError: the disk refused.
        """
        return cls._open(folder, wait=wait, fresh=False)

    @classmethod
    def _open(cls, folder: Folder, *, wait: float, fresh: bool) -> Self:
        lock = Lock(folder.journal / "lock", wait=wait)
        try:
            return cls(folder, lock, fresh=fresh)
        except BaseException:
            lock.release()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def head(self) -> Head | None:
        """The head of the newest checkpoint; None before the first."""
        return None if self._reader is None else self._reader.head

    @property
    def size(self) -> int:
        """Records so far, integrated or journaled."""
        return self._tip.size

    def append(self, envelopes: Sequence[Envelope], *, integrate: bool = True) -> list[int]:
        """Append records, all or none.

        Args:
            envelopes: signed records, in order.
            integrate: whether they are to stand in a signed checkpoint on return; otherwise they are durable on return,
                and stand in one when `integrate` or `close` was called.

        Returns:
            The index of each; of a payload that is there already, the index it has.

        Raises:
            RecordRejected: a rule of admission is broken.
            Unavailable: the log's key is not at hand.
            HarnessError: the disk refused; this object cannot be used any more.
        """
        return [record.index for record in self.append_records(envelopes, integrate=integrate)]

    def append_records(self, envelopes: Sequence[Envelope], *, integrate: bool = True) -> list[Record]:
        """As `append`, and return the records."""
        self._check_usable()
        first, leaves, records = self._tip.size, [], []
        try:
            for envelope in envelopes:
                record, leaf = self._admit(envelope)
                records.append(record)
                leaves += [] if leaf is None else [leaf]
            if leaves:
                self._check_signer()
        except BaseException:
            if leaves:
                self._tip = self._rebuilt()
            raise
        self._write(first, leaves)
        if integrate:
            self.integrate()
        return records

    def integrate(self) -> None:
        """Bring everything journaled into a signed checkpoint.

        Raises:
            Unavailable: the log's key is not at hand.
            LogInvalid: a tile is there with other bytes (`fork`).
            HarnessError: the disk refused; this object cannot be used any more.
        """
        self._check_usable()
        base = 0 if self._reader is None else self._reader.size
        entries = [entry for batch in self._journal.batches if batch.first >= base for entry in batch.entries]
        if not entries:
            return
        signer = self._check_signer()
        head = self._tip.head
        self._broken = True
        self._writer.integrate(entries)
        self._write_trust_roots()
        checkpoint = Checkpoint(self.folder.config.origin, head.size, head.root)
        self._writer.publish(sign_checkpoint(checkpoint, signer))
        self._pin.remember(head)
        self._reader = LogReader(read_folder(self.folder.log), checkpoint)
        self._tip.integrated(self._reader)
        self._writer.prune()
        if self._journal.size > _JOURNAL_LIMIT:
            self._journal.clear()
        else:
            self._journal.forget()
        self._broken = False

    def drain(self, directory: Path | None = None) -> list[int]:
        """Append what was dropped into a spool, oldest name first; what is refused is moved to its `rejected/`.

        A record that waits for another of the same spool is tried again after it.

        Args:
            directory: the spool; by default the folder's own.

        Returns:
            The indices of the records taken, each in a signed checkpoint.

        Raises:
            Unavailable: the log's key is not at hand.
            HarnessError: the disk refused.
        """
        place = self.folder.spool if directory is None else directory
        waiting = spooled(place)
        taken: dict[Path, int] = {}
        while waiting:
            refused: dict[Path, RecordRejected] = {}
            before = len(taken)
            for start in range(0, len(waiting), BATCH):
                self._drain_batch(waiting[start : start + BATCH], taken, refused)
            again = [path for path, error in refused.items() if error.rule in _LATER and len(taken) > before]
            for path, error in refused.items():
                if path not in again:
                    reject(path, error)
            waiting = again
        self.integrate()
        clear(taken)
        return list(taken.values())

    def close(self) -> None:
        """Integrate what is journaled, and let go of the lock."""
        try:
            if not self._broken:
                self.integrate()
        finally:
            if not self._broken and self._reader is not None:
                with _tips_lock:
                    _tips[self._key] = self._tip
                    while len(_tips) > _MOST_TIPS:
                        del _tips[next(iter(_tips))]
            self._journal.close()
            self._lock.release()

    # ------------------------------------------------------------------------------------------------ appending

    def _admit(self, envelope: Envelope) -> tuple[Record, bytes | None]:
        """The record, and its leaf where it is new."""
        known = self._tip.known(envelope)
        if known is not None:
            return self._tip.record(known), None
        leaf = envelope.format()
        if len(leaf) > ENTRY_LIMIT:
            raise RecordRejected("envelope", f"{len(leaf)} bytes; a leaf has at most {ENTRY_LIMIT}")
        if envelope.payload_type != PAYLOAD_TYPE or len(envelope.signatures) != 1:
            Envelope.parse(leaf)  # what readers could not parse must never become a leaf
        return self._tip.admit(envelope), leaf

    def _write(self, first: int, leaves: Sequence[bytes]) -> None:
        if leaves:
            self._broken = True
            self._journal.append(first, leaves, self._tip.head)
            self._broken = False

    def _drain_batch(self, paths: Sequence[Path], taken: dict[Path, int], refused: dict[Path, RecordRejected]) -> None:
        self._check_usable()
        self._check_signer()
        first, leaves = self._tip.size, []
        self._broken = True
        for path in paths:
            try:
                record, leaf = self._admit(Envelope.parse(read_spooled(path), where=path.name))
            except RecordRejected as error:
                refused[path] = error
            else:
                taken[path] = record.index
                leaves += [] if leaf is None else [leaf]
        self._write(first, leaves)
        self._broken = False

    def _write_trust_roots(self) -> None:
        for body, leaf in self._tip.trust_roots:
            place = self.folder.trust / f"{body.version}.root.json"
            if not place.exists():
                write_once(place, leaf, self.folder.log / ".tmp")

    def _check_usable(self) -> None:
        if self._broken:
            raise Conflict("an append failed halfway", where=str(self.folder.log), fix="open the sequencer again")

    def _check_signer(self) -> Signer:
        """The log's key, which the trust root in force must list."""
        roots = [body for body, _ in self._tip.trust_roots]
        listed = {keyid_of(key.public) for key in log_keys(self.folder.config.origin, roots)}
        signer = self._signer
        if signer is None or signer.keyid not in listed:
            signer = listed_signer(self.folder.keys, "log", listed)
        if signer.keyid not in listed:
            self._signer = None
            raise Unavailable(
                "the log key at hand is not one that the trust root lists",
                where=signer.keyid,
                fix="put the listed key there, or record a new trust root",
            )
        self._signer = signer
        return signer

    # ------------------------------------------------------------------------------------------------ opening

    def _rebuilt(self, tip: Tip | None = None) -> Tip:
        """The tip at the end of the journal, from what is remembered as far as that goes."""
        found = tip
        if self._reader is not None and found is not None and not found.precedes(self._reader):
            found = None
        found = found or Tip(self.folder.config.origin, self._key[2])
        if self._reader is not None:
            found.follow(self._reader)
        for batch in self._journal.batches:
            if batch.first >= found.size:
                found.replay(batch)
        return found

    def _check_journal(self) -> None:
        """The journal must continue the log, and what both hold must agree."""
        reader = self._reader
        size = 0 if reader is None else reader.size
        where = str(self._journal.path)
        for batch in self._journal.batches:
            if batch.first > size and batch is self._journal.batches[0]:
                what = f"the log has {size} records, the journal goes on from {batch.first}"
                raise LogInvalid("rollback", what, where=where, fix="restore the newest log/")
            if batch.first < size < batch.head.size:
                raise LogInvalid("journal", "a batch is half in the log", where=where)
            if reader is not None and batch.head.size <= size and reader.root_at(batch.head.size) != batch.head.root:
                raise LogInvalid("fork", f"journal and log differ at {batch.head.size} records", where=where)

    def _begin(self, envelope: Envelope) -> Record:
        if self._reader is None:
            self._key = (self.folder.root, self.folder.config.origin, envelope.digest)
            self._tip = Tip(self.folder.config.origin, envelope.digest)
            Tip(self.folder.config.origin, envelope.digest).admit(envelope)
            self._pin.pin(envelope.digest)
            return self.append_records([envelope])[0]
        record = self._tip.record(0)
        if record.digest != envelope.digest:
            raise Conflict("the log is begun already", where=str(self.folder.log), fix="record a later trust root")
        return record


def _check_begun(folder: Folder, *, begun: bool) -> None:
    if not begun:
        raise InputError("no log yet", where=str(folder.log), fix="begin one: rbl init DIR")


def begin(folder: Folder, root_body: TrustRoot, signers: Sequence[Signer]) -> Record[TrustRoot]:
    """Begin the log with its first trust root, whose digest is pinned on this machine.

    Args:
        folder: a benchmark folder without a log.
        root_body: version 1; lists the folder's `log` key under the role `log`.
        signers: holders of the role `root`.

    Raises:
        Conflict: there is a log with another first record, or this origin is pinned to another.
        RecordRejected: the trust root breaks a rule.
        Unavailable: the log's key is not at hand, or not listed.
    """
    envelope = sign_statement(root_body, signers)
    with Sequencer._open(folder, wait=WAIT, fresh=True) as sequencer:  # noqa: SLF001 (the same module)
        return sequencer._begin(envelope)  # noqa: SLF001


def submit(folder: Folder, body: B, signers: Role | Sequence[Signer]) -> Record[B]:
    """Sign a body, append it, and return its record, which stands in a signed checkpoint.

    Args:
        folder: the benchmark folder.
        body: what is said.
        signers: a role, whose key this user holds; or the keys themselves.

    Raises:
        RecordRejected: a rule of admission is broken.
        SchemaError: the body does not match its schema.
        Unavailable: a key is not at hand.
    """
    held = [folder.keys.signer(signers)] if isinstance(signers, str) else signers
    envelope = sign_statement(body, held)
    with Sequencer.open(folder) as sequencer:
        return sequencer.append_records([envelope])[0]
