"""Which objects the records name: what a store must hold, what gc may never touch, what an audit bag carries.

    reachable(ledger, store)
    # {sha256:3f9a…: "record 12 (case) package", sha256:77b2…: "record 12 (case) package: brief.md", …}

An object is named by a digest in a body, or by an entry of a tree that is named so. Digests of other things are not
objects: of records, of the render environment, of a kit's or a detail's plaintext. A tree that is missing or corrupt is
named and not looked into; saying so is `store.fsck`'s. Reading here moves and mends nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from ledger.reader import Ledger
from ledger.records import kinds
from ledger.records.record import Record
from store import disk
from store.digest import Digest
from store.errors import InputError
from store.objects import ObjectStore
from store.tree import Tree

__all__ = ["Reached", "Root", "follow", "named", "reachable", "reaching", "roots", "roots_of"]

_TREE = "application/vnd.rbl.tree.v1+json"

Named = tuple[str, Digest | None, bool]
"""Place in the body, the object's digest if there is one, and whether it is a tree."""


@dataclass(frozen=True, slots=True)
class Root:
    """An object that something other than a tree names.

    Attributes:
        digest: its name.
        by: what names it, for people: `record 12 (case) package`.
        tree: whether it is a tree, whose entries are then named too.
    """

    digest: Digest
    by: str
    tree: bool


@dataclass(frozen=True, slots=True)
class Reached:
    """What some roots reach.

    Attributes:
        objects: each object, and the first that names it.
        unread: the trees that are missing or are no trees, and what names them: their entries are not known.
    """

    objects: dict[Digest, str]
    unread: dict[Digest, str]


def reachable(ledger: Ledger, store: ObjectStore) -> dict[Digest, str]:
    """Every object that the records reach, with the first record and place that names it.

    Args:
        ledger: the verified records.
        store: where trees are looked into.

    Raises:
        HarnessError: the disk refused.
    """
    return follow(store, roots(ledger.records)).objects


def roots(records: Iterable[Record[kinds.Body]]) -> Iterator[Root]:
    """The objects that records name themselves."""
    for record in records:
        yield from roots_of(f"record {record.index} ({record.kind})", record.body)


def roots_of(who: str, body: kinds.Body) -> Iterator[Root]:
    """The objects that a body names itself; `who` says it, for people."""
    for place, digest, tree in named(body):
        if digest is not None:
            yield Root(digest, f"{who} {place}", tree)


def follow(store: ObjectStore, found: Iterable[Root]) -> Reached:
    """What roots reach, themselves included.

    Args:
        store: where trees are looked into.
        found: the roots, in the order in which they are to be named.

    Raises:
        HarnessError: the disk refused.
    """
    reached = Reached({}, {})
    looked: set[Digest] = set()
    for root in found:
        reached.objects.setdefault(root.digest, root.by)
        if root.tree and root.digest not in looked:
            looked.add(root.digest)
            tree = _tree(store, root.digest)
            if tree is None:
                reached.unread[root.digest] = root.by
                continue
            for entry in tree:
                if entry.digest is not None:
                    reached.objects.setdefault(entry.digest, f"{root.by}: {entry.path}")
    return reached


def reaching(store: ObjectStore, found: Iterable[Root], wanted: Collection[Digest]) -> dict[Digest, list[str]]:
    """Everything that names each of some objects, where `follow` gives the first.

    Args:
        store: where trees are looked into.
        found: the roots.
        wanted: the objects asked for; one that nothing names is left out.

    Raises:
        HarnessError: the disk refused.
    """
    names: dict[Digest, list[str]] = {}
    inside: dict[Digest, list[tuple[str, Digest]]] = {}
    for root in found:
        if root.digest in wanted:
            names.setdefault(root.digest, []).append(root.by)
        if root.tree:
            if root.digest not in inside:
                tree = _tree(store, root.digest) or ()
                inside[root.digest] = [(e.path, e.digest) for e in tree if e.digest is not None and e.digest in wanted]
            for path, digest in inside[root.digest]:
                names.setdefault(digest, []).append(f"{root.by}: {path}")
    return names


def named(body: kinds.Body) -> list[Named]:
    """The objects that a body names itself."""
    found: list[Named] = []
    match body:
        case kinds.Source():
            found = [("artifact", body.artifact, True)]
        case kinds.Case():
            trees: list[Named] = [(name, getattr(body, name), True) for name in ("package", "evidence", "starter")]
            found = [*trees, ("contract", body.contract, False), ("plan", body.plan, False)]
            found.append(("kit", body.sealed.kit, False))
        case kinds.Entry():
            found = [("agent", body.agent.files, True), ("skills", body.skills, True)]
        case kinds.Artifacts():
            found = [("workspace", body.workspace, True), ("build", body.build, True)]
            found += [(f"{item.class_}/{item.name}", item.digest, item.media_type == _TREE) for item in body.items]
        case kinds.Captures():
            found = [("build", body.build, True), ("plan", body.plan, False), ("sweep", body.sweep, False)]
            found += [(shot.id, shot.tree, True) for shot in body.shots]
        case kinds.Evaluation():
            found = [("detail", body.detail, False)]
        case kinds.AttemptClosed():
            found = [("events", body.events, False)]
        case kinds.Release():
            found = [("results", body.results, False), ("leaves", body.leaves, False)]
    return found


def _tree(store: ObjectStore, digest: Digest) -> Tree | None:
    if not store.has(digest):
        return None
    path = store.path(digest)
    with disk.faults("cannot read a tree", path):
        try:
            data = path.read_bytes()
        except FileNotFoundError:  # gc or a check moved it this moment
            return None
    try:
        return Tree.parse(data) if Digest.of(data) == digest else None
    except InputError:
        return None
