"""The few file operations that survive a crash, and the one place where an `OSError` becomes an error of this project.

    with faults("cannot write", path):
        descriptor = create(path)       # O_EXCL | O_NOFOLLOW: never through a link, never over a file
        write(descriptor, data)
        os.fsync(descriptor)
    sync_directory(path.parent)         # the name is durable only after this

A failed `fsync` is never tried again: Linux marks the pages clean after reporting the error once, so that a second
call would succeed over lost bytes (golang, PostgreSQL and letsencrypt/boulder#8902 learnt it the hard way). This
module knows nothing of objects or trees.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from store.errors import HarnessError

__all__ = ["create", "fault", "faults", "locked", "sync_all", "sync_directory", "sync_file", "write", "write_new"]

_ADVICE = {
    errno.ENOSPC: "free space on that disk",
    errno.EDQUOT: "raise the disk quota",
    errno.EROFS: "mount it writable",
    errno.EACCES: "run as the owner of the folder",
    errno.EPERM: "run as the owner of the folder",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.EIO: "check the disk",
}

_SYNCERS = 32  # concurrent fsyncs share one commit of the file system's journal
_GROUP = 16  # from so many files on, syncing the whole file system is the cheaper way
_SYNCFS_REPORTS = (5, 8)


@contextmanager
def faults(what: str, where: Path | str) -> Iterator[None]:
    """Turn what the operating system refuses inside the block into a `HarnessError` about `where`.

    Raises:
        HarnessError: an `OSError` left the block.
    """
    try:
        yield
    except OSError as error:
        raise fault(what, where, error) from error


def fault(what: str, where: Path | str, error: OSError) -> HarnessError:
    """The error to raise for an `OSError`."""
    reason = error.strerror or type(error).__name__
    return HarnessError(f"{what}: {reason}", where=str(where), fix=_ADVICE.get(error.errno or 0, ""))


def create(path: Path | str, mode: int = 0o600, *, dir_fd: int | None = None) -> int:
    """Open a new file for writing; an existing name, link or not, is an `OSError`."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(path, flags, mode, dir_fd=dir_fd)


def write(descriptor: int, data: bytes | memoryview) -> None:
    """Write all of it; the system may take less than it is given."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def write_new(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Write a new file, durable under its name on return; its folder is made where it is missing.

    Raises:
        FileExistsError: the name is taken.
        OSError: the disk refused.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = create(path, mode)
    try:
        write(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    sync_directory(path.parent)


def sync_file(path: Path | str) -> None:
    """Fsync an existing regular file. Raises `OSError`, which the caller must not answer with a second try."""
    _sync(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)


def sync_directory(path: Path | str) -> None:
    """Fsync a directory, so that the names in it are durable. Raises `OSError`."""
    _sync(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def sync_all(paths: Sequence[str]) -> None:
    """Force files, the folders that hold them and the folders above those to the disk. Raises the first `OSError`.

    Many files go down with one syncfs(2): one commit of the journal instead of one for each file and folder. Since
    Linux 5.8 it reports a failed write-back as fsync(2) does; elsewhere, and for few files, each is fsynced.
    """
    if len(paths) >= _GROUP and _SYNCFS is not None:
        folders = {Path(path).parent for path in paths}
        for folder in {folder.stat().st_dev: folder for folder in folders}.values():
            _sync_filesystem(folder)
        return
    with ThreadPoolExecutor(min(_SYNCERS, len(paths) or 1)) as pool:
        for _ in pool.map(sync_file, paths):
            pass
    folders = {Path(path).parent for path in paths}
    for folder in sorted(folders) + sorted({folder.parent for folder in folders}):
        sync_directory(folder)


def _sync_filesystem(folder: Path) -> None:
    assert _SYNCFS is not None
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if _SYNCFS(descriptor) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(folder))
    finally:
        os.close(descriptor)


def _syncfs() -> Callable[[int], int] | None:
    """The C library's syncfs, where the kernel reports errors through it (5.8, commit 735e4ae5ba28)."""
    if sys.platform != "linux":
        return None
    major, minor = (int(part) for part in re.findall(r"\d+", os.uname().release)[:2])
    if (major, minor) < _SYNCFS_REPORTS:
        return None
    return getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)


@contextmanager
def locked(path: Path | str, *, alone: bool = False) -> Iterator[None]:
    """Hold flock(2) on an existing file: shared, or `alone`. It waits, and the kernel lets go when the process dies.

    Raises:
        OSError: the file is gone, or its file system has no locks.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


def _sync(path: Path | str, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_SYNCFS = _syncfs()
