"""Times as a file system tells them, whose clock moves in ticks."""

from __future__ import annotations

import secrets

from store.objects import ObjectStore


def moment(store: ObjectStore) -> int:
    """A time (ns) that lies after everything put before this call, and not after anything put later."""

    def now() -> int:
        path = store.root / "tmp" / secrets.token_hex(8)
        path.touch()
        try:
            return path.stat().st_ctime_ns
        finally:
            path.unlink()

    before = now()
    while (after := now()) == before:
        pass
    return after
