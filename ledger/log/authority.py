"""Which keys may sign a log's checkpoints, and the checkpoint that they signed.

    read_checkpoint(folder)   # Checkpoint("example.org/bench", 41, sha256:…), signature checked
    open_log(folder)          # LogReader at that checkpoint

The first trust root is believed because its digest is pinned outside the folder (`ledger.log.pin`), each later one
because the thresholds of the one before it and its own signed it. The log's keys are those that any of them lists under
the role `log`, up to the size from which one of them distrusts them, or at which the log holds a trust root that lists
them no more: a retired key signs no head that contains what retired it. Neither file times nor names are believed. A
head smaller than the last that was signed on this machine is a rollback, another root at that size a fork.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence

from ledger.folder import Folder
from ledger.log.checkpoint import Checkpoint, open_checkpoint
from ledger.log.journal import Batch
from ledger.log.log import LogReader, read_folder
from ledger.log.note import VerifierKey
from ledger.log.pin import Pin
from ledger.log.writer import CHECKPOINT
from ledger.records.envelope import Envelope
from ledger.records.kinds import Head, TrustRoot
from ledger.records.statement import Statement
from ledger.records.trust import TrustState, distrusted
from store import disk
from store.digest import Digest
from store.errors import InputError, LogInvalid, RecordRejected

__all__ = [
    "check_retired",
    "has_log",
    "log_keys",
    "open_interrupted",
    "open_log",
    "pin_trust",
    "pinned_root",
    "read_checkpoint",
    "read_note",
    "trust_chain",
    "trust_envelopes",
]


def has_log(folder: Folder) -> bool:
    """Whether a checkpoint is there, verified or not."""
    return (folder.log / CHECKPOINT).is_file()


def pinned_root(folder: Folder) -> Digest:
    """The digest of the first trust root that this machine believes.

    Raises:
        InputError: none is pinned.
    """
    found = Pin(folder.state).trust_root
    if found is None:
        fix = "get the digest from the operator, by a way you trust, and pin it: rbl trust update --pin sha256:…"
        raise InputError("no trust root is pinned for this ledger", where=folder.config.origin, fix=fix)
    return found


def pin_trust(folder: Folder, digest: Digest) -> None:
    """Believe this first trust root from now on.

    Raises:
        Conflict: another is pinned, and a head under it was signed here.
    """
    Pin(folder.state).pin(digest)


def trust_chain(folder: Folder, pinned: Digest | None = None) -> list[TrustRoot]:
    """The trust roots in `trust/`, in order, each verified.

    Args:
        folder: the benchmark folder.
        pinned: digest of the first; by default the one this machine remembers.

    Raises:
        LogInvalid: one is missing or does not verify (`trust`).
        InputError: none is pinned.
    """
    envelopes = trust_envelopes(folder, pinned)
    try:
        return _chain(envelopes, folder.config.origin)
    except RecordRejected as error:
        raise LogInvalid("trust", str(error), where=str(folder.trust)) from error


def trust_envelopes(folder: Folder, pinned: Digest | None = None) -> list[Envelope]:
    """The records in `trust/`, in order; the first is the pinned one, the others are not verified.

    Args:
        folder: the benchmark folder.
        pinned: digest of the first; by default the one this machine remembers.

    Raises:
        LogInvalid: one is missing or is no record (`trust`).
        InputError: none is pinned.
    """
    expected = pinned_root(folder) if pinned is None else pinned
    leaves: list[bytes] = []
    with disk.faults("cannot read the trust roots", folder.trust):
        while (place := folder.trust / f"{len(leaves) + 1}.root.json").exists():
            leaves.append(place.read_bytes())
    if not leaves:
        raise LogInvalid("trust", "the first trust root is missing", where=str(folder.trust / "1.root.json"))
    if Digest.of(leaves[0]) != expected:
        raise LogInvalid("trust", f"not the pinned trust root {expected}", where=str(folder.trust / "1.root.json"))
    try:
        return [Envelope.parse(leaf, where=str(folder.trust)) for leaf in leaves]
    except RecordRejected as error:
        raise LogInvalid("trust", str(error), where=str(folder.trust)) from error


def log_keys(origin: str, roots: Sequence[TrustRoot], size: int | None = None) -> list[VerifierKey]:
    """The keys that may sign a checkpoint of this size; with no size, those that are trusted now.

    Args:
        origin: the log's name, which is also the keys'.
        roots: the chain, oldest first.
        size: records in the checkpoint.
    """
    if not roots:
        return []
    limits = distrusted(roots)
    found = {}
    for root in roots if size is not None else roots[-1:]:
        grant = root.roles.get("log")
        for key in root.keys:
            limit = limits.get(key.keyid)
            trusted = limit is None or (size is not None and size <= limit)
            if grant is not None and key.keyid in grant.keys and trusted:
                found[key.public] = VerifierKey(origin, base64.b64decode(key.public))
    return list(found.values())


def read_note(folder: Folder) -> bytes:
    """The bytes of the checkpoint, not verified.

    Raises:
        InputError: there is none.
    """
    place = folder.log / CHECKPOINT
    with disk.faults("cannot read the checkpoint", place):
        try:
            return place.read_bytes()
        except FileNotFoundError as error:
            raise InputError("no log yet", where=str(place), fix="begin one: rbl init DIR") from error


def read_checkpoint(folder: Folder, pinned: Digest | None = None) -> Checkpoint:
    """The newest checkpoint, verified.

    Args:
        folder: the benchmark folder.
        pinned: digest of the first trust root; by default the one this machine remembers.

    Raises:
        LogInvalid: it does not verify, or is older than this machine remembers (`rollback`, `fork`).
        InputError: there is no log, or nothing is pinned.
    """
    return _read(folder, pinned, Pin(folder.state).head)


def open_log(folder: Folder, pinned: Digest | None = None) -> LogReader:
    """The log at its newest checkpoint; every byte read from it is authenticated.

    Args:
        folder: the benchmark folder.
        pinned: digest of the first trust root; by default the one this machine remembers.

    Raises:
        LogInvalid: checkpoint or tiles do not verify, or are not those that this machine remembers.
        InputError: there is no log, or nothing is pinned.
    """
    return _open(folder, pinned)


def open_interrupted(folder: Folder, journaled: Sequence[Batch]) -> LogReader:
    """The same, for who goes on with the log after a crash.

    Between the writing of a new trust root into `trust/` and of the checkpoint that holds it, the head is the old one,
    which that root may distrust. The root is not in force yet, for it is in the journal and not in the log.
    """
    try:
        return _open(folder, None)
    except LogInvalid as error:
        *before, newest = trust_envelopes(folder)
        waiting = any(newest.format() in batch.entries for batch in journaled)
        if error.rule != "note-unsigned" or not before or not waiting:
            raise
        return _open(folder, None, len(before))


def _chain(envelopes: Sequence[Envelope], origin: str) -> list[TrustRoot]:
    state = TrustState()
    roots: list[TrustRoot] = []
    for envelope in envelopes:
        body = Statement.parse(envelope.payload).body
        if not isinstance(body, TrustRoot) or body.ledger != origin:
            raise RecordRejected("origin", f"not a trust root of {origin}")
        # its index is not known before the log is read; it is not below the head that it was made after
        state.install(body, envelope, 0 if body.after is None else body.after.size)
        roots.append(body)
    return roots


def check_retired(
    folder: Folder,
    note: bytes,
    roots: Sequence[TrustRoot],
    log: Callable[[], LogReader],
    pinned: Digest | None = None,
) -> None:
    """See that no retired key alone signed a checkpoint: one that a trust root which is in it lists no more.

    Args:
        folder: the benchmark folder.
        note: the checkpoint, which keys of these roots signed.
        roots: the chain, oldest first.
        log: opens the log at the checkpoint, or at a later one; called only where the newest root's keys did not sign.
        pinned: digest of the first trust root; by default the one this machine remembers.

    Raises:
        LogInvalid: a retired key did (`retired`).
    """
    origin = folder.config.origin
    size = open_checkpoint(note, origin, log_keys(origin, roots, 0)).size
    if len(roots) == 1 or _signed(note, origin, log_keys(origin, roots[-1:], size)):
        return
    leaves = [envelope.digest for envelope in trust_envelopes(folder, pinned)]
    for number in range(len(roots), 1, -1):
        if _signed(note, origin, log_keys(origin, roots[number - 1 :], size)):
            return
        after = roots[number - 1].after
        assert after is not None  # only the first comes after nothing
        if any(Digest.of(leaf) == leaves[number - 1] for leaf in log().entries(after.size, size)):
            what = f"{size} records, trust root {number} among them, signed by a log key that it retired"
            raise LogInvalid("retired", what, where=CHECKPOINT, fix="find the head that the listed key signed")


def _signed(note: bytes, origin: str, verifiers: Sequence[VerifierKey]) -> bool:
    try:
        open_checkpoint(note, origin, verifiers)
    except LogInvalid as error:
        if error.rule != "note-unsigned":
            raise
        return False
    return True


def _open(folder: Folder, pinned: Digest | None, versions: int | None = None) -> LogReader:
    remembered = Pin(folder.state).head
    reader = LogReader(read_folder(folder.log), _read(folder, pinned, remembered, versions))
    if remembered is not None and reader.root_at(remembered.size) != remembered.root:
        raise _fork(folder, remembered)
    return reader


def _read(folder: Folder, pinned: Digest | None, remembered: Head | None, versions: int | None = None) -> Checkpoint:
    """The checkpoint, under the first so many trust roots.

    `remembered` was read before the checkpoint, so that an append in between cannot look like a rollback.
    """
    where = str(folder.log / CHECKPOINT)
    if remembered is not None and not has_log(folder):
        raise LogInvalid("rollback", "the checkpoint is gone", where=where, fix="restore the newest log/")
    note = read_note(folder)
    origin = folder.config.origin
    roots = trust_chain(folder, pinned)[:versions]
    checkpoint = open_checkpoint(note, origin, log_keys(origin, roots, 0), where=where)
    # a key that is distrusted from some index on does not sign heads beyond it
    open_checkpoint(note, origin, log_keys(origin, roots, checkpoint.size), where=where)
    check_retired(folder, note, roots, lambda: LogReader(read_folder(folder.log), checkpoint), pinned)
    if remembered is not None and checkpoint.size < remembered.size:
        what = f"{checkpoint.size} records, and {remembered.size} were signed here"
        raise LogInvalid("rollback", what, where=where, fix="restore the newest log/; an older one is not continued")
    if remembered is not None and checkpoint.size == remembered.size and checkpoint.root != remembered.root:
        raise _fork(folder, remembered)
    return checkpoint


def _fork(folder: Folder, remembered: Head) -> LogInvalid:
    what = f"another history: at {remembered.size} records the root was {remembered.root}"
    return LogInvalid("fork", what, where=str(folder.log), fix="keep both logs as evidence, and restore the first")
