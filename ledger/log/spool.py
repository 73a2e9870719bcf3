"""The spool: where anyone who may write drops signed records, and the sequencer finds them.

    spool/00001764547200000000000-9f1c2ab0ff31.dsse     one envelope, its leaf bytes
    spool/rejected/<name>.dsse                          what was refused, and why:
    spool/rejected/<name>.dsse.reason                   closed-twice: that attempt is closed

A record appears whole or not at all (written beside, then renamed), under a name that sorts by time. What lies there is
believed in nothing: links and devices are refused, and so is what is too long to be a record. Nothing is deleted that
was not appended.
"""

from __future__ import annotations

import os
import secrets
import stat
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ledger.log.tiles import ENTRY_LIMIT
from ledger.records.envelope import Envelope
from store import disk
from store.errors import RecordRejected

if TYPE_CHECKING:
    from ledger.folder import Folder

__all__ = ["clear", "read_spooled", "reject", "spool", "spooled"]

_SUFFIX: Final = ".dsse"


def spool(place: Folder | Path, envelope: Envelope) -> Path:
    """Drop a signed record; it is durable on return, and appended by the next `Sequencer.drain`.

    Args:
        place: a benchmark folder, or a spool.
        envelope: the record.

    Returns:
        The file that was made.

    Raises:
        HarnessError: the disk refused.
    """
    directory = place if isinstance(place, Path) else place.spool
    target = directory / f"{time.time_ns():023d}-{envelope.digest.short}{_SUFFIX}"
    beside = directory / f".{secrets.token_hex(8)}.partial"
    with disk.faults("cannot write into the spool", directory):
        directory.mkdir(parents=True, exist_ok=True)
        descriptor = disk.create(beside, 0o644)
        try:
            disk.write(descriptor, envelope.format())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        beside.rename(target)
        disk.sync_directory(directory)
    return target


def spooled(directory: Path) -> list[Path]:
    """The records that wait, oldest name first.

    Raises:
        HarnessError: the disk refused.
    """
    with disk.faults("cannot read the spool", directory):
        if not directory.is_dir():
            return []
        return sorted(path for path in directory.iterdir() if path.suffix == _SUFFIX and path.name[0] != ".")


def read_spooled(path: Path) -> bytes:
    """The bytes of a spooled file.

    Raises:
        RecordRejected: it is no regular file, or too long for a record (`envelope`).
        HarnessError: the disk refused.
    """
    with disk.faults("cannot read a spooled record", path):
        if not stat.S_ISREG(path.lstat().st_mode):
            raise RecordRejected("envelope", "not a regular file", where=path.name)
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(ENTRY_LIMIT + 1)
    if len(data) > ENTRY_LIMIT:
        raise RecordRejected("envelope", f"longer than {ENTRY_LIMIT} bytes", where=path.name)
    return data


def reject(path: Path, error: RecordRejected) -> None:
    """Move a file to `rejected/`, with the reason beside it.

    Raises:
        HarnessError: the disk refused.
    """
    aside = path.parent / "rejected"
    with disk.faults("cannot reject a spooled record", path):
        aside.mkdir(exist_ok=True)
        (aside / f"{path.name}.reason").write_text(f"{error}\n", "utf-8")
        path.rename(aside / path.name)


def clear(paths: Iterable[Path]) -> None:
    """Remove files whose records are in a signed checkpoint.

    Raises:
        HarnessError: the disk refused.
    """
    for path in paths:
        with disk.faults("cannot clear the spool", path):
            path.unlink(missing_ok=True)
