"""Check a store against what the records reach: what is missing, what is corrupt, what is stray.

    report = fsck(store, {digest: "attempt-closed 3f2a…, tree entry src/a.css", …})
    report.missing    objects that something names and that are not here, each with what names it
    report.corrupt    objects whose bytes are not those of their name, each with what names it ("" when nothing does)
    report.stray      files that nothing names: unreached objects, wrong names, what a crash left behind

It reads and reports. Nothing is deleted, moved or mended here: whoever asked moves what is corrupt to quarantine
(`store.quarantine`), `store.gc` removes what is stray and old, a remote restores what is missing. What is in
`quarantine/` counts as not here.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from store import disk
from store.digest import Digest
from store.errors import InputError
from store.objects import ObjectStore

__all__ = ["Fault", "FsckReport", "fsck"]

_WORKERS = 4
_BATCH = 256  # objects between two looks at the clock


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One object that is not as it should be.

    Attributes:
        digest: its name.
        referrer: the record, and the place in it, that names the object; empty when nothing does.
    """

    digest: Digest
    referrer: str


@dataclass(frozen=True, slots=True)
class FsckReport:
    """What a check found.

    Attributes:
        missing: named and not here, sorted.
        corrupt: here under a wrong name, sorted.
        stray: files that nothing names, relative to the store, sorted.
        read: objects whose bytes were hashed.
        unread: objects that the time did not suffice for.
    """

    missing: tuple[Fault, ...]
    corrupt: tuple[Fault, ...]
    stray: tuple[Path, ...]
    read: int
    unread: int

    @property
    def ok(self) -> bool:
        """Whether every reached object is here and every object read is whole. Strays do no harm."""
        return not self.missing and not self.corrupt


def fsck(store: ObjectStore, reachable: Mapping[Digest, str], *, seconds: float | None = None) -> FsckReport:
    """Check every object of a store, the reached ones first.

    Args:
        store: what to check.
        reachable: each digest that must be here, and what names it (`ledger.reach`).
        seconds: stop hashing after this time; what is missing or stray is found regardless.

    Raises:
        HarnessError: the store cannot be read.
    """
    present, stray = _inventory(store)
    stray += [path for digest, path in present.items() if digest not in reachable]
    stray += _leftovers(store)
    todo = sorted(present, key=lambda digest: (digest not in reachable, digest))
    corrupt: list[Fault] = []
    read = 0
    deadline = None if seconds is None else time.monotonic() + seconds
    walk = iter(todo)
    with ThreadPoolExecutor(_WORKERS) as pool:
        while (deadline is None or time.monotonic() < deadline) and (batch := list(islice(walk, _BATCH))):
            wholes = pool.map(lambda digest: _is_whole(store.path(digest), digest), batch)
            corrupt += [Fault(d, reachable.get(d, "")) for d, whole in zip(batch, wholes, strict=True) if not whole]
            read += len(batch)
    missing = sorted(Fault(digest, referrer) for digest, referrer in reachable.items() if digest not in present)
    relative = sorted(path.relative_to(store.root) for path in stray)
    return FsckReport(tuple(missing), tuple(sorted(corrupt)), tuple(relative), read, len(todo) - read)


def _inventory(store: ObjectStore) -> tuple[dict[Digest, Path], list[Path]]:
    present: dict[Digest, Path] = {}
    stray: list[Path] = []
    for path in store.files():
        try:
            digest = Digest(path.parent.name + path.name)
        except InputError:
            stray.append(path)
            continue
        if store.path(digest) == path and store.has(digest):
            present[digest] = path
        else:
            stray.append(path)
    return present, stray


def _leftovers(store: ObjectStore) -> Iterator[Path]:
    with disk.faults("cannot list the store", store.root):
        yield from (store.root / "tmp").iterdir()
        aside = store.root / "removing"  # of a gc that was killed
        yield from aside.iterdir() if aside.is_dir() else ()


def _is_whole(path: Path, digest: Digest) -> bool:
    """Whether the bytes are those of the name; an object that went away meanwhile is no corrupt one."""
    with disk.faults("cannot read an object", path):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return True
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            return regular and hashlib.file_digest(file, "sha256").hexdigest() == digest.hex
