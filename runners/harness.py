"""One harness at a time works on a benchmark folder.

    with working(folder): …

Whoever runs or recovers attempts holds this lock meanwhile. So `rbl attempt recover` cannot close an attempt that is
running, which would be a free retry, and two runs of one schedule cannot race for its slots. The kernel lets go of the
lock when its holder dies.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ledger.folder import Folder
from ledger.log.lock import Lock
from store.errors import Conflict

__all__ = ["working"]


@contextmanager
def working(folder: Folder) -> Iterator[None]:
    """Hold the folder's harness lock for as long as the block runs.

    Raises:
        Conflict: another harness works on the folder.
    """
    try:
        lock = Lock(folder.attempts / ".lock", wait=0.0)
    except Conflict as error:
        fix = "wait for it, or stop it; -j makes several attempts at once"
        raise Conflict("another harness works on this folder", where=str(folder.root), fix=fix) from error
    try:
        yield
    finally:
        lock.release()
