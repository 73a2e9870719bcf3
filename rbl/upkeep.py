"""Looks after a benchmark folder's store: checks it against what names its objects, and moves aside what is damaged.

    check(folder)      # Checked(report=…, damaged=(Damaged(digest, ("record 12 (case) evidence: a.png",), aside=…),))

What is damaged is never deleted: it lies in `objects/quarantine/` with what was expected, found, and when. What names
each object is told, because that is what a reader of those records must know.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ledger.folder import Folder
from ledger.reach import follow, reaching
from rbl.kept import standing
from store import dvc, quarantine
from store.digest import Digest
from store.fsck import Fault, FsckReport, fsck
from store.objects import ObjectStore

__all__ = ["Checked", "Damaged", "check"]


@dataclass(frozen=True, slots=True)
class Damaged:
    """An object that is not as it should be.

    Attributes:
        digest: its name.
        named_by: everything that names it, records first; empty when nothing does.
        aside: where its bytes are now; null when it is missing, or was left where it is.
    """

    digest: Digest
    named_by: tuple[str, ...]
    aside: Path | None


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found and did.

    Attributes:
        report: what `store.fsck` found.
        missing: objects that are named and not here.
        corrupt: objects whose bytes were not those of their name.
        quarantined: files in quarantine by now, evidence apart.
    """

    report: FsckReport
    missing: tuple[Damaged, ...]
    corrupt: tuple[Damaged, ...]
    quarantined: int


def check(folder: Folder, *, move: bool = True) -> Checked:
    """Hash every object, look for what is named, and move aside what is damaged.

    Args:
        folder: the benchmark folder.
        move: whether damaged objects go to quarantine; otherwise nothing is written.

    Raises:
        RblError: as `rbl.kept.standing`.
        HarnessError: the disk refused.
    """
    store = folder.store
    roots = standing(folder)
    report = fsck(store, follow(store, roots).objects)
    # before anything moves: a damaged tree's entries are not known either way
    names = reaching(store, roots, {fault.digest for fault in (*report.missing, *report.corrupt)})
    aside = _quarantine(store, report.corrupt) if move else {}

    def told(faults: Iterable[Fault]) -> tuple[Damaged, ...]:
        return tuple(Damaged(f.digest, tuple(names.get(f.digest, ())), aside.get(f.digest)) for f in faults)

    return Checked(report, told(report.missing), told(report.corrupt), _in_quarantine(store))


def _quarantine(store: ObjectStore, faults: Iterable[Fault]) -> dict[Digest, Path]:
    """Move corrupt objects aside, and take away the names under which DVC would hand out the same bytes."""
    aside: dict[Digest, Path] = {}
    for fault in faults:
        moved = quarantine.examine(
            store.root, store.path(fault.digest), fault.digest, by="fsck", referrer=fault.referrer
        )
        if moved is not None:
            aside[fault.digest] = moved
    linked = [found for path in aside.values() if (found := path.lstat()).st_nlink > 1]
    dvc.retract(store, {(found.st_dev, found.st_ino) for found in linked})
    return aside


def _in_quarantine(store: ObjectStore) -> int:
    return sum(path.suffix != ".json" for path in (store.root / "quarantine").iterdir())
