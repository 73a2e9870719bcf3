"""Which objects the records name: what a store must hold, what gc may never touch, what an audit bag carries.

    reachable(ledger, store)
    # {sha256:3f9a…: "record 12 (case) package", sha256:77b2…: "record 12 (case) package: brief.md", …}

An object is named by a digest in a body, or by an entry of a tree that is named so. Digests of other things are not
objects: of records, of the render environment, of a kit's or a detail's plaintext. A tree that is missing or corrupt is
named and not looked into; saying so is `store.fsck`'s. Reading here moves and mends nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from ledger.reader import Ledger
from ledger.records import kinds
from ledger.records.record import Record
from store import disk
from store.digest import Digest
from store.errors import InputError
from store.objects import ObjectStore
from store.tree import Tree

__all__ = ["named", "reachable", "reaching"]

_TREE = "application/vnd.rbl.tree.v1+json"

Named = tuple[str, Digest | None, bool]
"""Place in the body, the object's digest if there is one, and whether it is a tree."""


def reachable(ledger: Ledger, store: ObjectStore) -> dict[Digest, str]:
    """Every object that the records reach, with the first record and place that names it.

    Args:
        ledger: the verified records.
        store: where trees are looked into.

    Raises:
        HarnessError: the disk refused.
    """
    found: dict[Digest, str] = {}
    for digest, record, place in reaching(ledger, store):
        found.setdefault(digest, f"record {record.index} ({record.kind}) {place}")
    return found


def reaching(ledger: Ledger, store: ObjectStore) -> Iterator[tuple[Digest, Record, str]]:
    """Objects, each with a record and the place in it that reaches it, in the order of the log; some more than once.

    Arguments and errors as `reachable`.
    """
    looked: set[Digest] = set()
    for record in ledger.records:
        for place, digest, is_tree in named(record.body):
            if digest is None:
                continue
            yield digest, record, place
            if is_tree and digest not in looked:
                looked.add(digest)
                for path, entry in _entries(store, digest):
                    yield entry, record, f"{place}: {path}"


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
        case kinds.Reveal():
            found = [("kit, in clear", body.kit, False)]
        case kinds.Calibration():
            found = [("report", body.report, False)]
    return found


def _entries(store: ObjectStore, digest: Digest) -> Iterator[tuple[str, Digest]]:
    if not store.has(digest):
        return
    path = store.path(digest)
    with disk.faults("cannot read a tree", path):
        data = path.read_bytes()
    if Digest.of(data) != digest:
        return
    try:
        tree = Tree.parse(data)
    except InputError:
        return
    for entry in tree.entries:
        if entry.digest is not None:
            yield entry.path, entry.digest
