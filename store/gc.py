"""Removes objects that nothing needs while others write: by age, then by what is kept, then by age again.

    ages = taken(store)                          # {digest: Taken(at=1764547200000000000, size=4711)}
    ...                                          # what must stay is read now, after the list was made
    set_aside(store, unneeded, before)           # renamed into removing/, each looked at again under the lock
    ...                                          # what must stay is read once more
    put_back(store, kept)                        # what is kept by now goes back to its place
    remove(store, kept)                          # the rest is gone

Why no writer loses an object: whoever puts an object, new or there already, renews its change time under the shared
side of the lock of `layout.json`; it is moved under the other side, and only if it is still old. So what was put since
`before` stays whatever was read of the records, and a record that is appended soon after its objects were put finds
them. What was set aside and is reached by a record of the meantime goes back. A gc that was killed leaves objects in
`removing/`, each whole, which the next one puts back or removes.

What must stay is the caller's to know. Neither quarantine nor pins are touched here.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Container, Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from store import disk, dvc
from store.digest import Digest
from store.errors import InputError
from store.objects import ObjectStore

__all__ = ["FOLDER", "Taken", "put_back", "remove", "set_aside", "sweep", "taken", "waiting"]

FOLDER: Final = "removing"
"""The folder of a store that holds what is about to be removed."""

_SLICE: Final = 256  # objects moved under one hold of the lock, which writers wait for


@dataclass(frozen=True, slots=True)
class Taken:
    """When the store last took an object (nanoseconds since 1970, the file system's clock), and its size in bytes."""

    at: int
    size: int


def taken(store: ObjectStore) -> dict[Digest, Taken]:
    """Every object, when it was last put, and its size.

    Raises:
        HarnessError: the disk refused.
    """
    found: dict[Digest, Taken] = {}
    for digest in store.digests():
        path = store.path(digest)
        with disk.faults("cannot look at an object", path), suppress(FileNotFoundError):
            status = path.lstat()
            if stat.S_ISREG(status.st_mode):
                found[digest] = Taken(status.st_ctime_ns, status.st_size)
    return found


def set_aside(store: ObjectStore, digests: Iterable[Digest], before: int) -> list[Digest]:
    """Move objects into `removing/`, but for those that were put again since.

    Args:
        store: the store.
        digests: what nothing needs.
        before: nanoseconds since 1970; what was taken then or later stays.

    Returns:
        Those that were moved.

    Raises:
        HarnessError: the disk refused.
    """
    aside = store.root / FOLDER
    moved: list[Digest] = []
    rest = iter(digests)
    with disk.faults("cannot set an object aside", aside):
        aside.mkdir(exist_ok=True)
        while batch := list(islice(rest, _SLICE)):
            with disk.locked(store.root / "layout.json", alone=True):
                moved += [digest for digest in batch if _move(store.path(digest), aside / digest.hex, before)]
    return moved


def waiting(store: ObjectStore) -> dict[Digest, Path]:
    """What is set aside, and where.

    Raises:
        HarnessError: the disk refused.
    """
    found: dict[Digest, Path] = {}
    folder = store.root / FOLDER
    with disk.faults("cannot list what is set aside", folder):
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            with suppress(InputError):  # not of ours, and left alone
                found[Digest(path.name)] = path
    return found


def put_back(store: ObjectStore, keep: Container[Digest]) -> list[Digest]:
    """Put what is set aside and kept into its place again; those that were put back.

    Raises:
        HarnessError: the disk refused.
    """
    back = [(digest, path) for digest, path in waiting(store).items() if digest in keep]
    for digest, path in back:
        place = store.path(digest)
        with disk.faults("cannot put an object back", path), suppress(FileNotFoundError):  # another was first
            with suppress(FileExistsError):  # a writer has put it again: the same bytes
                os.link(path, place, follow_symlinks=False)
            disk.sync_directory(place.parent)
            path.unlink()
    return [digest for digest, _ in back]


def remove(store: ObjectStore, keep: Container[Digest]) -> dict[Digest, int]:
    """Remove what is set aside and not kept, with the names that DVC has for it; their sizes in bytes.

    Args:
        store: the store.
        keep: what must stay, read after the last object was set aside.

    Raises:
        HarnessError: the disk refused.
    """
    gone: dict[Digest, int] = {}
    going = {digest: path for digest, path in waiting(store).items() if digest not in keep}
    with disk.faults("cannot remove an object", store.root / FOLDER):
        linked = [found for path in going.values() if (found := path.lstat()).st_nlink > 1]
        dvc.retract(store, {(found.st_dev, found.st_ino) for found in linked}, listings=True)
        for digest, path in going.items():
            gone[digest] = path.lstat().st_size
            path.unlink()
    return gone


def sweep(store: ObjectStore, before: int, *, remove: bool) -> list[Path]:
    """The temporary files that writers who died before a time left behind; removed if asked.

    Raises:
        HarnessError: the disk refused.
    """
    found: list[Path] = []
    folder = store.root / "tmp"
    with disk.faults("cannot sweep temporary files", folder):
        for path in sorted(folder.iterdir()):
            with suppress(FileNotFoundError):  # its writer has ended this moment
                status = path.lstat()
                if stat.S_ISREG(status.st_mode) and status.st_ctime_ns < before:
                    if remove:
                        path.unlink()
                    found.append(path)
    return found


def _move(path: Path, aside: Path, before: int) -> bool:
    try:
        if path.lstat().st_ctime_ns >= before:
            return False
        path.rename(aside)
    except FileNotFoundError:
        return False
    return True
