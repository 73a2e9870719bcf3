"""Objects whose bytes are not those of their name: moved aside with the evidence, never deleted.

    quarantine/2c26b46b68…7ae.9f01c2d3         the bytes, as they were found
    quarantine/2c26b46b68…7ae.9f01c2d3.json    {"by":"fsck","expected":"sha256:2c26…","found":"sha256:77b2…",
                                                "referrer":"record 12 (case) package","size":11,"when":"2026-…Z"}

A move takes whatever has the name at that moment. `examine` looks again at what it has moved: where a healthy writer
was faster, the object goes back to its place. Who names the object is known to the caller only.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from store import canonical, disk
from store.digest import Digest

__all__ = ["examine", "move"]


def move(root: Path, path: Path | str, digest: Digest) -> Path | None:
    """Move what has an object's name into a store's quarantine; where it is now, or None if there was nothing.

    Raises:
        HarnessError: the disk refused.
    """
    aside = root / "quarantine" / f"{digest.hex}.{secrets.token_hex(4)}"
    with disk.faults("cannot quarantine an object", aside), suppress(FileNotFoundError):
        Path(path).rename(aside)  # another reader may have been first
        return aside
    return None


def examine(root: Path, path: Path, digest: Digest, *, by: str, referrer: str = "") -> Path | None:
    """Move a corrupt object aside and write down what was found.

    Args:
        root: the store's folder.
        path: where the object is.
        digest: its name.
        by: what found it: `fsck`, `read`, …
        referrer: the record and place that name the object; empty when nothing does.

    Returns:
        Where the bytes are now; None where the object was gone, or whole after all and is back in its place.

    Raises:
        HarnessError: the disk refused.
    """
    aside = move(root, path, digest)
    if aside is None:
        return None
    with disk.faults("cannot examine an object", aside):
        found = aside.lstat()
        actual = _digest(aside) if stat.S_ISREG(found.st_mode) else None
        if actual == digest:
            with suppress(FileExistsError):  # a writer has put it again: the same bytes
                os.link(aside, path, follow_symlinks=False)
            aside.unlink()
            return None
        evidence = {
            "by": by,
            "expected": str(digest),
            "found": None if actual is None else str(actual),
            "kind": stat.filemode(found.st_mode),
            "referrer": referrer,
            "size": found.st_size,
            "when": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        disk.write_new(aside.with_name(f"{aside.name}.json"), canonical.dumps(evidence) + b"\n", 0o444)
    return aside


def _digest(path: Path) -> Digest:
    with path.open("rb", buffering=0) as file:
        return Digest(hashlib.file_digest(file, "sha256").hexdigest())
