r"""The journal: batches that are durable and not yet in a checkpoint.

    "rbl-journal/1\n"                                              the file's first 14 bytes
    then, for each batch:
      "RBLB"  u32 bytes of what follows, the checksum excluded
      u64 index of the first entry   u32 entries   each: u16 length, bytes
      u64 size of the log after it   32 bytes root after it
      32 bytes SHA-256 over all of the batch before this

Integers are big-endian. A batch is written and fsynced whole before any head that contains it is signed; from then on
the log can be brought to the same bytes whatever happens. An incomplete batch at the end is a write that a crash cut
off, was acknowledged to nobody, and is dropped; a broken one with a whole one behind it is damage, and refused. A
failed fsync is final (`store.disk`). Neither signatures nor the tree's rules are checked here.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final, Self

from ledger.log.merkle import HASH_SIZE
from ledger.log.tiles import format_bundle, parse_bundle
from ledger.records.kinds import Head
from store import disk
from store.digest import Digest
from store.errors import HarnessError, LogInvalid

__all__ = ["Batch", "Journal", "parse_journal"]

_FIRST: Final = b"rbl-journal/1\n"
_MARK: Final = b"RBLB"
_LENGTH = struct.Struct(">4sI")
_BEGIN = struct.Struct(">QI")
_END = struct.Struct(f">Q{HASH_SIZE}s")
_LEAST: Final = _BEGIN.size + _END.size


@dataclass(frozen=True, slots=True)
class Batch:
    """Entries appended together.

    Attributes:
        first: index of the first entry.
        entries: their bytes.
        head: size and root of the log after them.
    """

    first: int
    entries: tuple[bytes, ...]
    head: Head

    def format(self) -> bytes:
        """The bytes of the batch in the journal."""
        body = b"".join(
            (
                _BEGIN.pack(self.first, len(self.entries)),
                format_bundle(self.entries),
                _END.pack(self.head.size, self.head.root.raw),
            )
        )
        data = _LENGTH.pack(_MARK, len(body)) + body
        return data + sha256(data).digest()

    @classmethod
    def parse(cls, data: bytes, offset: int = 0) -> tuple[Self, int] | None:
        """The batch that begins at `offset` and where it ends, or None when no whole and sound batch does."""
        begin = offset + _LENGTH.size
        if begin > len(data):
            return None
        mark, length = _LENGTH.unpack_from(data, offset)
        end = begin + length
        if mark != _MARK or length < _LEAST or end + HASH_SIZE > len(data):
            return None
        if sha256(memoryview(data)[offset:end]).digest() != data[end : end + HASH_SIZE]:
            return None
        first, count = _BEGIN.unpack_from(data, begin)
        size, root = _END.unpack_from(data, end - _END.size)
        entries = parse_bundle(data[begin + _BEGIN.size : end - _END.size], count, where="journal")
        return cls(first, tuple(entries), Head(size=size, root=Digest.from_raw(root))), end + HASH_SIZE


def parse_journal(data: bytes, *, where: str = "") -> tuple[list[Batch], int]:
    """Read the bytes of a journal.

    Returns:
        Its batches, and how many bytes they take with what stands before them; what is behind was cut off by a crash.

    Raises:
        LogInvalid: it is no journal, or is damaged before its end (`journal`).
    """
    if not data.startswith(_FIRST):
        if _FIRST.startswith(data):
            return [], 0
        raise LogInvalid("journal", "not a journal", where=where, fix="restore the file, or move it away")
    batches: list[Batch] = []
    offset = len(_FIRST)
    while (found := Batch.parse(data, offset)) is not None:
        batch, offset = found
        if batch.head.size != batch.first + len(batch.entries):
            raise LogInvalid("journal", f"a batch does not add up to its size {batch.head.size}", where=where)
        if batches and batches[-1].head.size != batch.first:
            raise LogInvalid("journal", f"a batch is missing before entry {batch.first}", where=where)
        batches.append(batch)
    # entries are JSON and hold no NUL, so none of them can pass for a batch
    mark = data.find(_MARK, offset + 1)
    while mark >= 0:
        if Batch.parse(data, mark) is not None:
            raise LogInvalid("journal", f"damaged at byte {offset}", where=where, fix="restore the file from a copy")
        mark = data.find(_MARK, mark + 1)
    return batches, offset


class Journal:
    """The journal file, open for one writer, who holds the lock.

    Args:
        path: the file; made when absent.

    Raises:
        LogInvalid: it is damaged.
        HarnessError: the disk refused.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._failed = False
        with disk.faults("cannot open the journal", path):
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            self._descriptor = os.open(path, flags, 0o644)
        try:
            self._begin()
        except BaseException:
            os.close(self._descriptor)
            raise

    def _begin(self) -> None:
        with disk.faults("cannot read the journal", self.path):
            data = os.pread(self._descriptor, os.fstat(self._descriptor).st_size, 0)
            self.batches, self._end = parse_journal(data, where=str(self.path))
            if self._end < len(data) or not self._end:
                os.ftruncate(self._descriptor, self._end)
                if not self._end:
                    self._write(_FIRST)
                os.fsync(self._descriptor)
                disk.sync_directory(self.path.parent)

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self._end

    def append(self, first: int, entries: Sequence[bytes], head: Head) -> None:
        """Write one batch; when this returns it is on the disk.

        Args:
            first: index of the first entry.
            entries: their bytes.
            head: size and root of the log after them.

        Raises:
            HarnessError: the disk refused; nothing more can be written through this object.
        """
        if self._failed:
            raise HarnessError("the journal failed before", where=str(self.path), fix="check the disk, then try again")
        batch = Batch(first, tuple(entries), head)
        data = batch.format()
        self._failed = True
        with disk.faults("cannot write the journal", self.path):
            self._write(data)
            os.fdatasync(self._descriptor)
        self._failed = False
        self.batches.append(batch)

    def clear(self) -> None:
        """Drop all batches, which are in a durable checkpoint by now.

        Raises:
            HarnessError: the disk refused.
        """
        with disk.faults("cannot clear the journal", self.path):
            os.ftruncate(self._descriptor, len(_FIRST))
            os.fsync(self._descriptor)
        self.batches = []
        self._end = len(_FIRST)

    def forget(self) -> None:
        """Let go of the batches in memory; the file keeps them until `clear`."""
        self.batches = []

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            written = os.pwrite(self._descriptor, view, self._end)
            self._end += written
            view = view[written:]
