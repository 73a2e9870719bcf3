"""A finished file becomes an object without being copied: a hard link, taken only when nobody else can write to it.

    with claimed(Path("staging/shot.png"), "objects/tmp/77.1") as descriptor:   # None: copy instead
        ...hash the descriptor, then link objects/tmp/77.1 under the object's name

Copied instead is a file on another file system, of another owner, with another hard link, with set-user-id or the like,
or open for writing anywhere (Linux refuses a read lease, fcntl(2) F_SETLEASE, on such a file, mapped memory included).
While the lease is held, whoever wants to open the file for writing waits. What is hashed is the link in `tmp/`, so it
does not matter what becomes of the staging name meanwhile. A copy is always right; a claim is only ever faster.
"""
# Links and descriptors by name: pathlib has no counterpart.
# ruff: noqa: PTH108

from __future__ import annotations

import errno
import fcntl
import os
import signal
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["claimed"]

_COPY_INSTEAD = {errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EACCES, errno.EOPNOTSUPP}
_NAMES = 2  # the staging name and ours


@contextmanager
def claimed(path: Path, name: str) -> Iterator[int | None]:
    """Link a file to a new name, and open it there so that nobody writes to it; the new name goes away at the end.

    Args:
        path: a regular file of the caller's.
        name: a free name in the store's `tmp/`.

    Yields:
        A descriptor at the file's beginning; None where it must be copied.

    Raises:
        OSError: the staging name is gone, or the disk refused.
    """
    try:
        os.link(path, name, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _COPY_INSTEAD:
            raise
        yield None
        return
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            yield descriptor if _is_ours_alone(descriptor) else None
        finally:
            os.close(descriptor)  # ends the lease
    finally:
        os.unlink(name)


def _is_ours_alone(descriptor: int) -> bool:
    found = os.fstat(descriptor)
    plain = stat.S_ISREG(found.st_mode) and not found.st_mode & (stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX)
    if not plain or found.st_uid != os.geteuid() or found.st_nlink != _NAMES or not hasattr(fcntl, "F_SETLEASE"):
        return False
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)  # who breaks the lease waits; nobody is killed by SIGIO
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError:  # open for writing, or a file system without leases: copying is right for both
        return False
    return True
