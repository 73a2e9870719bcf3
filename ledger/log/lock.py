"""The lock of the one who may append: an advisory `flock` on a file of its own.

    with Lock(folder.journal / "lock", wait=30.0): …

The kernel lets go of it when its holder dies, however it dies; there is no stale lock to remove. It binds processes and
threads of one machine: a folder on a network file system without `flock` is not supported.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from store import disk
from store.errors import Conflict

__all__ = ["Lock"]

_FIRST_PAUSE: Final = 0.002
_LONGEST_PAUSE: Final = 0.05


class Lock:
    """Holds the lock from its making until `release`.

    Args:
        path: the lock file; made when absent, never removed.
        wait: seconds to wait for another holder.
        busy: what is said when that is not enough.

    Raises:
        Conflict: another holds it for longer than that.
        HarnessError: the file cannot be opened.
    """

    def __init__(self, path: Path, *, wait: float, busy: str = "another process is appending") -> None:
        self.path = path
        self._busy = busy
        with disk.faults("cannot take the lock", path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        try:
            self._take(wait)
        except BaseException:
            os.close(self._descriptor)
            raise

    def _take(self, wait: float) -> None:
        end = time.monotonic() + wait
        pause = _FIRST_PAUSE
        with disk.faults("cannot take the lock", self.path):
            while True:
                try:
                    fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError as error:
                    if time.monotonic() >= end:
                        fix = "try again when the other has ended"
                        raise Conflict(self._busy, where=str(self.path), fix=fix) from error
                else:
                    return
                time.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)

    def release(self) -> None:
        """Let go of it."""
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
