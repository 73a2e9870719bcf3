"""The cosigned heads of a log, kept where appending does not lose them.

    log/checkpoint        the newest head, with its cosignatures until the next append replaces it
    log/cosigned/41       the head of 41 records with every cosignature that was collected for it

    collect(folder, note, [signature])     # under the log's lock, durable
    for head in kept(folder.log): …        # newest first, nothing of it verified

A file a size, because witnesses cosign at different times, and two of them must be found below one head to count
together. A new cosignature by a key replaces that key's older one. Whether a cosignature verifies is for the caller to
know before it is collected, and for every reader to find out again; what is enough is `ledger.log.policy`'s to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ledger.folder import Folder
from ledger.log.authority import read_note
from ledger.log.checkpoint import Checkpoint, parse_decimal
from ledger.log.lock import Lock
from ledger.log.note import Note, NoteSignature
from ledger.log.writer import CHECKPOINT, replace_file
from store import disk
from store.errors import LogInvalid

__all__ = ["COSIGNED", "KeptHead", "collect", "kept"]

COSIGNED: Final = "cosigned"
"""The folder in `log/`."""

_WAIT: Final = 30.0
_TEMPORARY: Final = ".tmp"  # the log's own; whoever holds its lock may write there


@dataclass(frozen=True, slots=True)
class KeptHead:
    """A file of `log/cosigned/`.

    Attributes:
        size: what its name says.
        data: its bytes, of which nothing was verified.
        where: for errors.
    """

    size: int
    data: bytes
    where: str


def collect(folder: Folder, note: bytes, signatures: Sequence[NoteSignature]) -> Path:
    """Keep cosignatures of a head, below `log/checkpoint` as well while it is of that head.

    Args:
        folder: the benchmark folder.
        note: the checkpoint that they are of, verified.
        signatures: verified.

    Returns:
        Where they are kept.

    Raises:
        LogInvalid: another head of that size is kept (`fork`), or the note has no room for more (`note`).
        Conflict: the log's lock is held for too long.
        HarnessError: the disk refused.
    """
    given = Note.parse(note)
    place = folder.log / COSIGNED / str(Checkpoint.parse(given.text).size)
    temporary = folder.log / _TEMPORARY
    with Lock(folder.journal / "lock", wait=_WAIT):
        with disk.faults("cannot keep the cosigned head", place):
            temporary.mkdir(exist_ok=True)
            place.parent.mkdir(exist_ok=True)
            disk.sync_directory(folder.log)
            before = Note.parse(place.read_bytes(), where=str(place)) if place.exists() else given
        if before.text != given.text:
            fix = "keep both heads as evidence: the log signed two histories"
            raise LogInvalid("fork", "another head of this size was cosigned", where=str(place), fix=fix)
        replace_file(place, _with(before, signatures), temporary)
        newest = Note.parse(read_note(folder))
        if newest.text == given.text:
            replace_file(folder.log / CHECKPOINT, _with(newest, signatures), temporary)
    return place


def kept(log: Path) -> Iterator[KeptHead]:
    """The heads that are kept, the largest first. Files of other names are not looked at.

    Raises:
        HarnessError: one cannot be read.
    """
    with disk.faults("cannot read the cosigned heads", log / COSIGNED):
        try:
            named = [(parse_decimal(place.name), place) for place in (log / COSIGNED).iterdir() if place.is_file()]
        except (FileNotFoundError, NotADirectoryError):
            return
        for size, place in sorted(((size, place) for size, place in named if size is not None), reverse=True):
            yield KeptHead(size, place.read_bytes(), f"{log.name}/{COSIGNED}/{place.name}")


def _with(note: Note, signatures: Sequence[NoteSignature]) -> bytes:
    """A note with these lines below it, each in place of the same key's older one."""
    new = {(line.name, line.id): line for line in signatures}
    lines = [line for line in note.signatures if (line.name, line.id) not in new]
    data = Note(note.text, (*lines, *new.values())).format()
    Note.parse(data)  # readers refuse more signatures than they can look at
    return data
