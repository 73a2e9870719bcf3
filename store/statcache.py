"""What a tree's files were when they were last hashed, so that putting it again need not read what did not change.

    cache = StatCache.open(store.root / "index", Path("site"))     # objects/index/<sha256 of the real path>.json
    put_tree(store, Path("site"), cache=cache)

    {"files":{"src/a.css":[64769,131,3,1764,1764,"2c26…7ae"]},"version":1}   device, inode, size, mtime, ctime, digest

A file is believed unchanged when device, inode, size, modification time *and* change time are what they were (no
program can set a change time back), and only if both times were then older than `SETTLED`: a file written in the same
tick of the clock as it was hashed looks the same before and after an edit, so it is never remembered (git calls such
an entry racy). The object must still be in the store, durable and of that size. The file is derived: what cannot be
read, or was written by another version, counts as empty. Nothing that is hashed is ever checked against it.
"""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path
from typing import Self

from store import disk
from store.digest import Digest
from store.errors import InputError
from store.source import identity

__all__ = ["SETTLED", "StatCache"]

SETTLED = 2_500_000_000
"""Nanoseconds: more than the coarsest clock of a file system in use (FAT and HFS: 2 s)."""

_VERSION = 1
Row = tuple[tuple[int, int, int, int, int], Digest]


class StatCache:
    """The remembered files of one directory. Threads may share it; the last process to save wins.

    Args:
        path: where it is kept.
        files: path in the tree → identity and digest.
    """

    def __init__(self, path: Path, files: dict[str, Row]) -> None:
        self.path = path
        self._old = files
        self._new: dict[str, Row] = {}

    @classmethod
    def open(cls, index: Path, root: Path) -> Self:
        """The cache of a directory below a store's `index/`; empty when there is none that can be read."""
        path = index / f"{Digest.of(os.fsencode(root.resolve())).hex}.json"
        return cls(path, _load(path))

    def get(self, path: str, found: os.stat_result) -> Digest | None:
        """The digest of a file, if it is the file that was hashed."""
        row = self._old.get(path)
        if row is None or row[0] != identity(found):
            return None
        self._new[path] = row
        return row[1]

    def note(self, path: str, found: os.stat_result, digest: Digest, started: int) -> None:
        """Remember a hashed file, unless it is racy.

        Args:
            path: in the tree.
            found: what it was before it was read; it was the same afterwards.
            digest: of its bytes.
            started: when reading began, in nanoseconds since 1970.
        """
        if max(found.st_mtime_ns, found.st_ctime_ns) < started - SETTLED:
            self._new[path] = (identity(found), digest)

    def save(self) -> None:
        """Replace the file by what was seen since it was opened. Not forced to the disk: it is derived.

        Raises:
            HarnessError: the disk refused.
        """
        files = {path: [*row, digest.hex] for path, (row, digest) in self._new.items()}
        data = json.dumps({"version": _VERSION, "files": files}, separators=(",", ":")).encode("utf-8", "surrogatepass")
        new = self.path.with_name(f"{self.path.name}.{os.getpid()}.{secrets.token_hex(4)}")
        with disk.faults("cannot keep the stat cache", self.path):
            self.path.parent.mkdir(exist_ok=True)
            try:
                new.write_bytes(data)
                new.replace(self.path)
            except OSError:
                new.unlink(missing_ok=True)
                raise


def _load(path: Path) -> dict[str, Row]:
    try:
        value = json.loads(path.read_bytes())
        if value["version"] != _VERSION:
            return {}
        rows = value["files"].items()
        return {name: ((int(a), int(b), int(c), int(d), int(e)), Digest(hexa)) for name, (a, b, c, d, e, hexa) in rows}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, InputError):  # absent or damaged: derived anyway
        return {}
