"""Which objects travel to and from a remote: those that the records name, the source pages left out.

    push_reached(folder, pick(folder, "origin"))      # and what plain `dvc pull` reads
    fetch_reached(folder, pick(folder, "origin"))

The source page of a case is for curators alone: it travels only when it is asked for. What no record names, such as
what was drawn while a case was verified, stays; what was erased travels no more.
"""

from __future__ import annotations

from collections.abc import Iterator

from ledger.erasure import erased
from ledger.folder import Folder
from ledger.reach import named
from ledger.reader import Ledger
from ledger.records import kinds
from store.digest import Digest
from store.directory import load_tree
from store.errors import InputError
from store.objects import ObjectStore
from store.remote import JOBS, Fetched, Progress, Pushed, Remote, Wanted, fetch, push, push_dvc

__all__ = ["fetch_reached", "pick", "push_reached"]


def pick(folder: Folder, name: str | None) -> Remote:
    """The remote of that name in `rbl.toml`, the first there if null, or the one at an address.

    Raises:
        InputError: there is none of that name, or none at all.
        Unavailable: the library that it needs is not installed.
    """
    known = folder.config.remotes
    if name is None:
        if not known:
            fix = 'name one in rbl.toml, [remotes] origin = "s3://bucket/prefix", or give its address'
            raise InputError("this folder has no remote", where=str(folder.root / "rbl.toml"), fix=fix)
        name = next(iter(known))
    address = known.get(name, name if "/" in name else None)
    if address is None:
        fix = f"there are: {', '.join(known) or 'none'}; or give an address: s3://bucket/prefix, ./folder"
        raise InputError(f"no remote is called {name!r}", where=str(folder.root / "rbl.toml"), fix=fix)
    return Remote.open(name, address, folder.root)


def push_reached(
    folder: Folder, remote: Remote, *, sources: bool = False, progress: Progress | None = None, jobs: int = JOBS
) -> Pushed:
    """Send the objects that the records name, parts before their trees, then what DVC reads.

    Args:
        folder: the benchmark folder.
        remote: where to.
        sources: also the source pages.
        progress: told what travelled.
        jobs: objects at a time.

    Raises:
        InputError, ObjectCorrupt, HarnessError: as `store.remote.push`.
    """
    store, ledger = folder.store, Ledger.open(folder)
    gone = erased(ledger.of(kinds.Erasure)).keys()
    parts: dict[Digest, None] = {}
    trees: dict[Digest, None] = {}
    for digest, is_tree in _named(ledger, sources=sources):
        (trees if is_tree else parts)[digest] = None
    for tree in trees:
        if store.has(tree):
            parts |= dict.fromkeys(item.digest for item in _parts(store, tree))
    sent = push(
        store, remote, [digest for digest in parts if digest not in trees and digest not in gone], progress, jobs
    )
    listings = [digest for digest in trees if digest not in gone]
    return sent + push(store, remote, listings, progress, jobs) + push_dvc(store, remote, progress, jobs)


def fetch_reached(
    folder: Folder, remote: Remote, *, sources: bool = False, progress: Progress | None = None, jobs: int = JOBS
) -> Fetched:
    """Bring the objects that the records name and the store lacks, trees before their parts.

    The store is made where there is none. Arguments and errors as `push_reached`.
    """
    if not (folder.objects / "layout.json").exists():
        ObjectStore.create(folder.objects)
    store, ledger = folder.store, Ledger.open(folder)
    gone = erased(ledger.of(kinds.Erasure)).keys()
    found = [item for item in _named(ledger, sources=sources) if item[0] not in gone]
    first = fetch(store, remote, [Wanted(digest) for digest, _ in found], progress, jobs)
    trees = dict.fromkeys(digest for digest, is_tree in found if is_tree and store.has(digest))
    parts = {part.digest: part for tree in trees for part in _parts(store, tree) if part.digest not in gone}
    return first + fetch(store, remote, parts.values(), progress, jobs)


def _named(ledger: Ledger, *, sources: bool) -> Iterator[tuple[Digest, bool]]:
    for record in ledger.records:
        if sources or not isinstance(record.body, kinds.Source):
            yield from ((digest, is_tree) for _, digest, is_tree in named(record.body) if digest is not None)


def _parts(store: ObjectStore, tree: Digest) -> Iterator[Wanted]:
    for entry in load_tree(store, tree):
        if entry.digest is not None:
            yield Wanted(entry.digest, entry.size)
