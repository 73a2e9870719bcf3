"""A witness: remembers the last head that it cosigned of each log, and signs only what continues it.

    <state>/witness.vkey                        witness.example/w1+8d66cf3f+BBKVzkLnfU5H…
    <state>/<log>/keys                          the verifier keys that may sign this log's heads, one a line
    <state>/<log>/lock
    <state>/<log>/checkpoint                    the last head cosigned, as the log signed it
    <state>/<log>/evidence/<rule>-<id>/         what was refused, kept for ever:
        remembered                                  the checkpoint that the witness had cosigned
        submission                                  the one that was refused, with the proof that came with it
        refusal.json                                rule, reason, time, and whether the log's own signatures prove it

Order, under a lock of the log's own: check; make the new head durable; then sign. A crash between the last two loses a
signature, never a memory, and the log asks again with `old` at the new size. A refusal that may show a fault of the log
is durable before it is answered. It is proven where two heads of one size and of different roots are signed by the log
(`fork`); a proof that does not hold (`consistency`) may be the submitter's fault, who need not be the log, and an older
head (`rollback`) was true once. Which logs are watched is the operator's choice: an unknown origin is refused. Nothing
here speaks HTTP.
"""

from __future__ import annotations

import json
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Final

from ledger.folder import slug
from ledger.log import merkle
from ledger.log.checkpoint import Checkpoint, open_checkpoint
from ledger.log.cosignature import CosignerKey, cosign
from ledger.log.lock import Lock
from ledger.log.log import LogReader, Read
from ledger.log.note import Note, NoteSignature, Signing, VerifierKey
from ledger.log.submission import AddCheckpoint
from ledger.log.writer import replace_file
from store import disk
from store.digest import Digest
from store.errors import Conflict, InputError, LogInvalid, RuleBroken

__all__ = ["Answer", "Evidence", "Witness", "WitnessState"]

_WAIT: Final = 30.0
_MOST_TRIES: Final = 8
_ADVICE: Final = "keep the evidence, show it to others who read this log, and do not trust the log further"
_TEMPORARY: Final = ".tmp"
_LARGEST: Final = 1_000_000  # bytes of a file of evidence, above what a note can have


@dataclass(frozen=True, slots=True)
class Answer:
    """What a witness says to a submission.

    Attributes:
        signature: its cosignature; None where it refuses.
        size: of the last head that it cosigned, 0 where there is none.
        refusal: why it refuses; its rule is one of those that `ledger.log.submission` lists, or `rollback`.
    """

    signature: NoteSignature | None
    size: int
    refusal: RuleBroken | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """One refusal that was kept.

    Attributes:
        place: its folder.
        rule: what was broken.
        proven: whether the log's own signatures prove it.
        at: when, in POSIX seconds.
    """

    place: Path
    rule: str
    proven: bool
    at: int


class WitnessState:
    """What a witness remembers, without the key that signs.

    Args:
        directory: the state folder; must have been made by `create`.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @classmethod
    def create(cls, directory: Path, key: CosignerKey) -> WitnessState:
        """Begin a state folder.

        Raises:
            Conflict: another witness's state is there.
            HarnessError: the disk refused.
        """
        state = cls(directory)
        place = directory / "witness.vkey"
        if place.exists():
            if state.key != key:
                fix = "give each witness a state folder of its own"
                raise Conflict(f"the state of {state.key.name} is here", where=str(directory), fix=fix)
            return state
        with disk.faults("cannot make the witness's state", directory):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            disk.write_new(place, f"{key}\n".encode(), 0o644)
        return state

    @property
    def key(self) -> CosignerKey:
        """The witness's public key.

        Raises:
            InputError: there is no state here, or it is damaged.
        """
        data = _read(self.directory / "witness.vkey")
        if data is None:
            fix = "begin one: rbl ledger witness new NAME --state DIR"
            raise InputError("not the state of a witness", where=str(self.directory), fix=fix)
        return CosignerKey.parse(data.decode("utf-8", "replace").removesuffix("\n"))

    def trust(self, key: VerifierKey) -> None:
        """Watch a log: believe heads that this key signed for the origin of the same name.

        Raises:
            HarnessError: the disk refused.
        """
        _ = self.key
        if "\n" in key.name:
            raise InputError("an origin is one line")
        place = self._place(key.name)
        with disk.faults("cannot watch the log", place):
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            disk.sync_directory(self.directory)
        with self._locked(key.name):
            known = self.keys(key.name)
            if key not in known:
                text = "".join(f"{one}\n" for one in (*known, key))
                self._replace(place / "keys", text.encode())

    def keys(self, origin: str) -> list[VerifierKey]:
        """The keys that are trusted for a log; none where it is not watched.

        Raises:
            InputError: the file is damaged.
        """
        data = _read(self._place(origin) / "keys") or b""
        keys = [VerifierKey.parse(line) for line in data.decode("utf-8", "replace").split("\n")[:-1]]
        return [key for key in keys if key.name == origin]

    def origins(self) -> list[str]:
        """The logs that are watched."""
        found = set()
        for place in sorted(self.directory.glob("*/keys")):
            lines = (_read(place) or b"").decode("utf-8", "replace").split("\n")[:-1]
            found |= {VerifierKey.parse(line).name for line in lines}
        return sorted(found)

    def note(self, origin: str) -> bytes | None:
        """The last checkpoint that was cosigned, as the log signed it."""
        return _read(self._place(origin) / "checkpoint")

    def head(self, origin: str) -> Checkpoint | None:
        """What it says. It was verified before it was kept; it is read again under the keys trusted now.

        Raises:
            LogInvalid: the file is damaged.
        """
        data = self.note(origin)
        if data is None:
            return None
        where = str(self._place(origin) / "checkpoint")
        return open_checkpoint(data, origin, self.keys(origin), where=where)

    def evidence(self, origin: str) -> Iterator[Evidence]:
        """What was refused and kept, oldest first.

        Raises:
            LogInvalid: a file is damaged (`evidence`).
        """
        found = []
        for place in sorted((self._place(origin) / "evidence").glob("*-*")):
            where = str(place / "refusal.json")
            try:
                said = json.loads((_read(place / "refusal.json") or b"")[:_LARGEST])
                found.append(Evidence(place, str(said["rule"]), said["proven"] is True, int(said["at"])))
            except (ValueError, KeyError, TypeError) as error:
                raise LogInvalid("evidence", "not a refusal that was kept", where=where) from error
        yield from sorted(found, key=lambda one: one.at)

    # ------------------------------------------------------------------------------------------------ inside

    def _place(self, origin: str) -> Path:
        return self.directory / slug(origin)

    def _locked(self, origin: str) -> Lock:
        return Lock(self._place(origin) / "lock", wait=_WAIT, busy="working at another head of this log")

    def _replace(self, target: Path, data: bytes) -> None:
        """Under the lock: nobody else has temporary files here."""
        temporary = target.parent / _TEMPORARY
        with disk.faults("cannot keep the witness's state", target):
            temporary.mkdir(mode=0o700, exist_ok=True)
            for left in temporary.iterdir():  # by a crash
                shutil.rmtree(left) if left.is_dir() else left.unlink()
        replace_file(target, data, temporary)

    def _keep(self, origin: str, refusal: RuleBroken, submission: AddCheckpoint, at: int, other: Digest | None) -> Path:
        """Keep a refusal; the same two heads refused for the same reason are kept once."""
        place = self._place(origin)
        remembered = self.note(origin) or b""
        texts = [Note.parse(data).text.encode() for data in (remembered, submission.checkpoint) if data]
        target = place / "evidence" / f"{refusal.rule}-{sha256(b''.join(texts)).hexdigest()[:16]}"
        said = {"rule": refusal.rule, "what": refusal.what, "at": at, "proven": refusal.rule == "fork"}
        if other is not None:
            said["root_submitted_at_old"] = str(other)
        files = {
            "remembered": remembered,
            "submission": submission.format(),
            "refusal.json": json.dumps(said, indent=2).encode() + b"\n",
        }
        with disk.faults("cannot keep the evidence", target):
            if target.exists():
                return target
            partial = place / _TEMPORARY / f"evidence.{secrets.token_hex(8)}"
            partial.mkdir(mode=0o700, parents=True)
            for name, data in files.items():
                disk.write_new(partial / name, data, 0o644)
            target.parent.mkdir(mode=0o700, exist_ok=True)
            partial.rename(target)
            disk.sync_directory(target.parent)
            disk.sync_directory(place)
        return target


class Witness:
    """A witness that signs.

    Args:
        state: what it remembers.
        signer: its private key.
        clock: the time, in POSIX seconds.

    Raises:
        InputError: the key is not the one that the state is of.
    """

    def __init__(self, state: WitnessState, signer: Signing, clock: Callable[[], float] = time.time) -> None:
        self.state = state
        self.key = state.key
        self._signer = signer
        self._clock = clock
        if signer.public != self.key.public:
            raise InputError(f"not the key of {self.key.name}", where=str(state.directory), fix="name it with --key")

    def add_checkpoint(self, submission: AddCheckpoint, *, other: Digest | None = None) -> Answer:
        """Cosign a checkpoint, or refuse it (tlog-witness, add-checkpoint).

        Args:
            submission: from anyone.
            other: the root that the submitted tree has at the old size, where the caller verified it.

        Raises:
            Conflict: another submission is being worked at for too long.
            HarnessError: the disk refused; nothing was signed.
        """
        try:
            checkpoint, keys = self._opened(submission)
        except LogInvalid as refusal:
            return Answer(None, 0, refusal)
        submission = replace(submission, checkpoint=_bare(submission.checkpoint, keys))
        with self.state._locked(checkpoint.origin):  # noqa: SLF001 (the same module)
            return self._judge(checkpoint, submission, other)

    def cosign_log(self, note: bytes, read: Read, origin: str | None = None) -> Answer:
        """Read a log, from a folder or a server, and cosign its head, or refuse it.

        The proof is made from the log's own tiles, so that a log with another history is proven to have one.

        Args:
            note: the checkpoint that the log shows.
            read: gives its tiles.
            origin: the log that it must be of; None takes any that is watched.

        Raises:
            LogInvalid: the tiles are not those of the checkpoint.
            Conflict: the log is submitted by others so often that its head is never the newest.
            HarnessError: the disk refused; nothing was signed.
        """
        name = Note.parse(note, where="checkpoint").text.partition("\n")[0]
        if origin not in {None, name} or not self.state.keys(name):
            fix = "name its key: rbl ledger witness trust VKEY --state DIR"
            return Answer(None, 0, LogInvalid("origin", f"no log {name[:120]!r} is watched here", fix=fix))
        checkpoint = open_checkpoint(note, name, self.state.keys(name), where="checkpoint")
        for _ in range(_MOST_TRIES):
            last = self.state.head(name)
            if last is not None and checkpoint.size < last.size:
                return self._rolled_back(checkpoint, note)
            old = 0 if last is None else last.size
            proof, other = [], None
            if last is not None and (checkpoint.size, checkpoint.root) != (last.size, last.root):
                reader = LogReader(read, checkpoint)
                proof = reader.prove_consistency(old)
                root = reader.root_at(old)
                other = root if root != last.root else None
            else:
                LogReader(read, checkpoint)  # at least the right edge must be there
            answer = self.add_checkpoint(AddCheckpoint(old, tuple(proof), note), other=other)
            if answer.refusal is None or answer.refusal.rule != "stale":
                return answer
        raise Conflict("the log moves on faster than it can be read", where=name, fix="try again")

    def _opened(self, submission: AddCheckpoint) -> tuple[Checkpoint, list[VerifierKey]]:
        origin = Note.parse(submission.checkpoint).text.partition("\n")[0]
        keys = self.state.keys(origin) if origin else []
        if not keys:
            raise LogInvalid("origin", f"no log {origin[:120]!r} is watched here")
        checkpoint = open_checkpoint(submission.checkpoint, origin, keys)
        if submission.old > checkpoint.size:
            raise LogInvalid("request", f"the old size {submission.old} is above the new one, {checkpoint.size}")
        return checkpoint, keys

    def _judge(self, checkpoint: Checkpoint, submission: AddCheckpoint, other: Digest | None) -> Answer:
        state, origin = self.state, checkpoint.origin
        last = state.head(origin)
        size = 0 if last is None else last.size
        if submission.old != size:
            return Answer(None, size, LogInvalid("stale", f"the last head cosigned here has {size} records"))
        refusal = _refusal(last, checkpoint, submission, other)
        if refusal is not None:
            if last is not None:
                refusal.where = str(state._keep(origin, refusal, submission, self._now(), other))  # noqa: SLF001
            return Answer(None, size, refusal)
        # the memory is durable before the signature exists (tlog-witness: persist before responding)
        state._replace(state._place(origin) / "checkpoint", submission.checkpoint)  # noqa: SLF001
        return Answer(cosign(checkpoint, self.key.name, self._signer, self._now()), checkpoint.size)

    def _rolled_back(self, checkpoint: Checkpoint, note: bytes) -> Answer:
        state, origin = self.state, checkpoint.origin
        with state._locked(origin):  # noqa: SLF001 (the same module)
            last = state.head(origin)
            assert last is not None
            what = f"a head of {checkpoint.size} records, after one of {last.size} was cosigned"
            refusal = LogInvalid("rollback", what, fix=_ADVICE)
            submission = AddCheckpoint(last.size, (), _bare(note, state.keys(origin)))
            refusal.where = str(state._keep(origin, refusal, submission, self._now(), None))  # noqa: SLF001
            return Answer(None, last.size, refusal)

    def _now(self) -> int:
        return int(self._clock())


def _refusal(
    last: Checkpoint | None, checkpoint: Checkpoint, submission: AddCheckpoint, other: Digest | None
) -> LogInvalid | None:
    if last is None:
        return LogInvalid("consistency", "a proof without an old head") if submission.proof else None
    if checkpoint.size == last.size and checkpoint.root != last.root:
        what = f"two heads of {last.size} records: {last.root} was cosigned, {checkpoint.root} came now"
        return LogInvalid("fork", what, fix=_ADVICE)
    if other is not None and other != last.root:
        what = f"another history: at {last.size} records the root was {last.root}, and is {other} now"
        return LogInvalid("fork", what, fix=_ADVICE)
    try:
        merkle.verify_consistency(last.size, checkpoint.size, last.root.raw, checkpoint.root.raw, submission.proof)
    except LogInvalid as error:
        return error
    return None


def _bare(note: bytes, keys: list[VerifierKey]) -> bytes:
    """A note with the signatures of these keys alone: what anyone may add is not kept."""
    found = Note.parse(note)
    known = {(key.name, key.id) for key in keys}
    return Note(found.text, tuple(line for line in found.signatures if (line.name, line.id) in known)).format()


def _read(place: Path) -> bytes | None:
    with disk.faults("cannot read the witness's state", place):
        try:
            return place.read_bytes()
        except FileNotFoundError:
            return None
