"""Looks after a benchmark folder's store: moves aside what is damaged, and removes what nothing needs.

    check(folder)                               # Checked(…, corrupt=(Damaged(digest, ("record 12 (case) plan",), …),))
    collect(folder, before=time_ns() - grace)   # Collected(objects={digest: 4711}, …): what would go
    collect(folder, before=…, remove=True)      # what is gone

What is damaged is never deleted: it lies in `objects/quarantine/` with what was expected, found, and when. What names
each object is told, because that is what a reader of those records must know. How an object is removed beside writers
is in `store.gc`; what must stay is in `rbl.kept`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from ledger.folder import Folder
from ledger.log.lock import Lock
from ledger.reach import follow, reaching
from rbl.kept import Kept, kept, standing
from store import dvc, gc, quarantine
from store.digest import Digest
from store.errors import CheckFailed
from store.fsck import Fault, FsckReport, fsck
from store.objects import ObjectStore

__all__ = ["Checked", "Collected", "Damaged", "check", "collect"]

_CLOCKS: Final = 3600 * 10**9
"""Nanoseconds by which the clock of whoever opened an attempt may be ahead of this machine's."""


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
        erased: objects that are named and were removed for a reason, which a record says.
        quarantined: files in quarantine by now, evidence apart.
    """

    report: FsckReport
    missing: tuple[Damaged, ...]
    corrupt: tuple[Damaged, ...]
    erased: Mapping[Digest, str]
    quarantined: int


@dataclass(frozen=True, slots=True)
class Collected:
    """What a gc removed, or would remove.

    Attributes:
        objects: each object, with its size in bytes.
        put_back: objects that this gc, or one that was killed, had set aside, and that are kept.
        temporary: what dead writers left behind.
        kept: objects that something names.
        young: objects that nothing names and that are too young to go.
        before: nanoseconds since 1970: what the store took later than that stays.
        waits_for: the open attempt that sets this time; empty where the grace period does.
    """

    objects: Mapping[Digest, int]
    put_back: tuple[Digest, ...]
    temporary: tuple[Path, ...]
    kept: int
    young: int
    before: int
    waits_for: str


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
    now = standing(folder)
    roots = now.roots
    while move and gc.waiting(store) and gc.put_back(store, follow(store, roots).objects):
        """A killed gc had set aside what is needed by now: a tree first, then its files."""
    named = follow(store, roots).objects
    report = fsck(store, {digest: by for digest, by in named.items() if digest not in now.erased or store.has(digest)})
    # before anything moves: a damaged tree's entries are not known either way
    names = reaching(store, roots, {fault.digest for fault in (*report.missing, *report.corrupt)})
    aside = _quarantine(store, report.corrupt) if move else {}

    def told(faults: Iterable[Fault]) -> tuple[Damaged, ...]:
        return tuple(Damaged(f.digest, tuple(names.get(f.digest, ())), aside.get(f.digest)) for f in faults)

    gone = {d: why for d, why in sorted(now.erased.items()) if d in named and not store.has(d)}
    return Checked(report, told(report.missing), told(report.corrupt), gone, _in_quarantine(store))


def collect(folder: Folder, *, before: int, remove: bool = False) -> Collected:
    """Find the objects that nothing needs, and remove them if asked.

    Nothing goes that a record, waiting or not, a frozen case or a pin reaches; nothing that the store took at or after
    `before`; and while an attempt is open, nothing that the store took since it was opened.

    Args:
        folder: the benchmark folder.
        before: nanoseconds since 1970.
        remove: otherwise nothing goes; what a killed gc had set aside and is needed comes back all the same.

    Raises:
        Conflict: another gc runs.
        CheckFailed: a tree that is needed is not here or is damaged, so that nobody knows what it needs; or the log
            does not verify.
        InputError: a pin, or a frozen case, cannot be read.
        HarnessError: the disk refused.
    """
    store = folder.store
    with Lock(store.root / "gc.lock", wait=0, busy="removing objects"):
        back: list[Digest] = []
        ages = gc.taken(store)
        known = _settled(folder, back)
        limit, waits_for = _limit(before, known.open)
        needless = {digest: found for digest, found in ages.items() if digest not in known.reached.objects}
        old = {digest: found.size for digest, found in needless.items() if found.at < limit}
        if remove:
            gc.set_aside(store, old, limit)
            known = _settled(folder, back)
            gone = gc.remove(store, known.reached.objects)
        else:
            gone = old | {digest: path.lstat().st_size for digest, path in gc.waiting(store).items()}
        return Collected(
            objects=gone,
            put_back=tuple(back),
            temporary=tuple(gc.sweep(store, limit, remove=remove)),
            kept=len(known.reached.objects),
            young=len(needless) - len(old),
            before=limit,
            waits_for=waits_for,
        )


def _settled(folder: Folder, back: list[Digest]) -> Kept:
    """What must stay, once all of it that was set aside is in its place, which `back` is told."""
    while True:  # ends: what is put back stays there, and what a tree needs is known only when the tree is back
        known = kept(folder)
        moved = gc.put_back(folder.store, known.reached.objects)
        if not moved:
            return _whole(known)
        back += moved


def _whole(found: Kept) -> Kept:
    """The same, if every tree that is needed could be read."""
    for digest, by in found.reached.unread.items():
        more = f", as are {len(found.reached.unread) - 1} more" if len(found.reached.unread) > 1 else ""
        what = f"a needed tree is missing or damaged{more}: its files are not known, and nothing is removed"
        fix = "see all with rbl store fsck; bring them with rbl store fetch, source pages with --sources"
        raise CheckFailed(what, where=f"{digest}, {by}", fix=fix)
    return found


def _limit(before: int, opened: Mapping[str, str]) -> tuple[int, str]:
    """The time before which objects may go, and the open attempt that sets it."""
    times = {attempt: _opened(at) - _CLOCKS for attempt, at in opened.items()}
    first = min(times, key=lambda attempt: (times[attempt], attempt), default=None)
    return (before, "") if first is None or times[first] >= before else (times[first], first)


def _opened(at: str) -> int:
    """Nanoseconds since 1970 of an `issued_at`; 0, before everything, of 31 February, which the schema lets pass."""
    try:
        return int(datetime.fromisoformat(at).timestamp()) * 10**9
    except ValueError:
        return 0


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
