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

import errno
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from store.errors import HarnessError

__all__ = ["create", "fault", "faults", "sync_all", "sync_directory", "sync_file", "write"]

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
    """Fsync files, then each folder that holds one, then the folders above those. Raises the first `OSError`."""
    with ThreadPoolExecutor(_SYNCERS) as pool:
        for _ in pool.map(sync_file, paths):
            pass
    folders = {Path(path).parent for path in paths}
    for folder in sorted(folders) + sorted({folder.parent for folder in folders}):
        sync_directory(folder)


def _sync(path: Path | str, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
