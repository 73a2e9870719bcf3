"""Takes an object's bytes out of a store for good: the object, its links for DVC, what of it lies in quarantine.

    erase(store, digest)             # [sha256/7a/38bf…, dvc/files/md5/d1/31dd…], relative to the store
    copies(root, [digest], skip)     # other files below a folder with the same bytes

The links go first and the object last, so that a run that was cut short finds it again. Durable on return. Why it may
go, and saying so, is `ledger.erasure`'s.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from store import disk
from store.digest import Digest
from store.dvc import FOLDER, md5_path
from store.objects import ObjectStore

__all__ = ["copies", "erase"]


def erase(store: ObjectStore, digest: Digest) -> list[Path]:
    """Remove every file of a store that holds an object's bytes.

    Returns:
        What was removed, relative to the store; empty when nothing was there.

    Raises:
        HarnessError: the disk refused; running it again goes on.
    """
    path = store.path(digest)
    found = [*sorted((store.root / "quarantine").glob(f"{digest.hex}.*"))]
    with disk.faults("cannot erase an object", path):
        with suppress(FileNotFoundError), path.open("rb") as file:
            carried = store.root / FOLDER / md5_path(hashlib.file_digest(file, _md5).hexdigest())
            found = [*([carried] if os.path.lexists(carried) else []), *found, path]
        for item in found:
            item.unlink(missing_ok=True)
        for folder in {item.parent for item in found}:
            disk.sync_directory(folder)
    return [item.relative_to(store.root) for item in found]


def copies(root: Path, digests: Collection[Digest], skip: Path) -> Iterator[Path]:
    """The files below a folder whose bytes are those of some objects; links are not followed.

    Args:
        root: where to look.
        digests: of the objects.
        skip: a folder that is not looked into.

    Raises:
        HarnessError: a folder or file cannot be read.
    """
    with disk.faults("cannot look for copies", root):
        for place, folders, files in os.walk(root, onerror=_refuse):
            folders[:] = sorted(name for name in folders if Path(place, name) != skip)
            for name in sorted(files):
                path = Path(place, name)
                if path.is_file() and not path.is_symlink():
                    with path.open("rb") as file:
                        if Digest(hashlib.file_digest(file, "sha256").hexdigest()) in digests:
                            yield path


def _md5() -> Any:
    return hashlib.md5(usedforsecurity=False)


def _refuse(error: OSError) -> None:
    raise error
