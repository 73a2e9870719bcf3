"""A file that is about to become an object: opened without following a link, and read as one unchanging whole.

    descriptor = open_source(path)                      # a link, fifo, socket or device is refused
    for piece in unchanged(descriptor, os.fstat(descriptor), "src/a.css"): ...

What is read counts only if the file is the same before and after: device, inode, size, and both times. A writer that
keeps a shared mapping changes bytes without changing times until the kernel writes them back, so a tree is read only
once its writers are dead; nothing here can see such a writer. Nothing is written here.
"""
# Descriptors by name, thousands a second: pathlib would show in the profile.

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from store import disk
from store.digest import Digest
from store.errors import InputError, TreeError

__all__ = ["CHUNK", "Hasher", "hash_source", "identity", "open_source", "shown", "unchanged"]

CHUNK = 1 << 20
"""Bytes read at a time; a file up to this size is hashed before anything is written for it."""


class Hasher(Protocol):
    """Whatever also wants to see the bytes while they are read, such as `hashlib.md5()`."""

    def update(self, data: bytes, /) -> object:
        """Take the next bytes."""


def open_source(path: Path) -> int:
    """Open a regular file for reading; the last component of the path is never followed as a link.

    Raises:
        InputError: it cannot be opened.
        TreeError: it is a link (`link`) or a socket (`device`).
    """
    try:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if Path(path).is_symlink():
            raise TreeError("a link is not stored as a file", rule="link", where=str(path)) from error
        if _is_socket(path):
            raise TreeError("not a regular file", rule="device", where=str(path)) from error
        raise InputError(f"cannot read: {error.strerror}", where=str(path)) from error


def identity(found: os.stat_result) -> tuple[int, int, int, int, int]:
    """What must stay as it is while a file is read: device, inode, size, modification and change time (ns)."""
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def unchanged(descriptor: int, before: os.stat_result, where: str) -> Iterator[bytes]:
    """The chunks of a file, raising at the end unless it is still the file that it was.

    Raises:
        TreeError: it changed meanwhile (`changed`).
        HarnessError: it cannot be read.
    """
    total = 0
    with disk.faults("cannot read", where):
        # One byte more than is expected, so that the end is seen without a buffer that small files never fill.
        while piece := os.read(descriptor, min(CHUNK, max(before.st_size - total, 0) + 1)):
            total += len(piece)
            yield piece
        after = os.fstat(descriptor)
    if identity(after) != identity(before) or total != before.st_size:
        fix = "store it once its writers have ended"
        raise TreeError("the file changed while it was read", rule="changed", where=where, fix=fix)


def shown(chunks: Iterable[bytes], hasher: Hasher) -> Iterator[bytes]:
    """The same chunks, each shown to another hasher on its way."""
    for piece in chunks:
        hasher.update(piece)
        yield piece


def hash_source(descriptor: int, where: str) -> tuple[Digest, int]:
    """Digest and size of an open file that does not change meanwhile. Raises as `unchanged` does."""
    before = os.fstat(descriptor)
    hasher = hashlib.sha256()
    for piece in unchanged(descriptor, before, where):
        hasher.update(piece)
    return Digest(hasher.hexdigest()), before.st_size


def _is_socket(path: Path) -> bool:
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except OSError:
        return False
