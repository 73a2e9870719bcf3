"""What an auditor is handed of a release: the payload of its bag, and what is left out of it, with the reason.

    export = Export.of(folder, "first")
    export.files["log/checkpoint"]          Source(…)
    export.left_out                         {"the source page and what was drawn of it: private": 12, …}
    for piece in export.pack(): …           the bag's tar, by `store.bagit`

The payload is a benchmark folder of its own: `rbl.toml` with nothing but the origin, `trust/`, the whole log at its
head (every record; full tiles and the last partial ones; the cosigned heads), `releases/<name>/`, and the objects that
the release's own records reach (`ledger.release.evidence`). Kits and verdict details are among them as they stand in
the store, encrypted to the evaluator's key. Left out is every other object of the store: what only `source` records
hold (the page that a case was made of), what nothing in the log names, what other releases rest on. A file of the
source page that the release's own records reach as well, such as a picture in a case's public package, is public by
that and goes along.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Self

from ledger import reach
from ledger.erasure import erased
from ledger.folder import Config, Folder
from ledger.log.authority import read_note
from ledger.log.checkpoint import Checkpoint
from ledger.log.note import Note
from ledger.log.tiles import WIDTH, TilePath, bundles_of, tiles_of
from ledger.reader import Ledger
from ledger.records import kinds
from ledger.records.record import Record
from ledger.release import evidence
from ledger.release.cutoff import Scope
from ledger.release.draft import Draft
from ledger.release.package import FILES
from ledger.witnessed import gather
from store.bagit import Source, write
from store.digest import Digest
from store.errors import CheckFailed, Conflict, InputError
from store.objects import ObjectStore
from store.tree import Tree

__all__ = ["Export", "children", "tiles"]

_SOURCE: Final = "what `source` records hold, the page that a case was made of: private to the operator"
_UNNAMED: Final = "what no record names, such as drafts and what was drawn while a case was verified: private"
_ERASED: Final = "what was erased: the bytes are gone, and a record says who removed them and why"
_OTHER: Final = "what other records name: this release does not rest on it"


@dataclass(frozen=True, slots=True)
class Export:
    """One release, ready to be put into a bag.

    Attributes:
        record: the release record.
        files: path in the payload → bytes.
        left_out: reason → number of the store's objects.
    """

    record: Record[kinds.Release]
    files: Mapping[str, Source]
    left_out: Mapping[str, int]

    @classmethod
    def of(cls, folder: Folder, name: str) -> Self:
        """Gather a release.

        Args:
            folder: the benchmark folder.
            name: of the release.

        Raises:
            LogInvalid, RecordRejected: the log does not verify.
            ObjectMissing, ObjectCorrupt: an object that the release reaches is not here, or is another.
                InputError: no such release, or its folder is missing.
            Conflict: the log grew meanwhile.
        """
        heads = gather(folder)
        note = read_note(folder)
        ledger = Ledger.open(folder)
        if Checkpoint.parse(Note.parse(note).text).head != ledger.head:
            raise Conflict("the log grew meanwhile", where=str(folder.log), fix="run it again")
        record = ledger.release(name)
        store = folder.store
        draft = Draft.of(ledger.records, record.body.cutoff, record.body.schedule)
        needed = evidence.needed(draft.cut, draft.scope, record.body)
        gone = erased(ledger.of(kinds.Erasure))
        reached, lost = _reached(store, {**needed, **_revealed(ledger, draft.scope)}, gone)
        files = {
            "rbl.toml": Source.of(Config(folder.config.origin).format().encode()),
            "log/checkpoint": Source.of(note),
            "objects/layout.json": _file(folder.objects / "layout.json"),
        }
        for version in range(1, len(ledger.of(kinds.TrustRoot)) + 1):
            files[f"trust/{version}.root.json"] = _file(folder.trust / f"{version}.root.json")
        for one in heads:
            files[one.where] = Source.of(one.data)
        for tile in tiles(ledger.head.size):
            files[f"log/{tile}"] = Source.of(_tile(folder.log, tile))
        for file in FILES:
            files[f"releases/{name}/{file}"] = _file(folder.releases / name / file)
        for digest in reached:
            path = store.path(digest).relative_to(store.root).as_posix()
            files[f"objects/{path}"] = Source(store.size(digest), partial(store.stream, digest))
        left = _left_out(ledger, store, reached)
        return cls(record, files, {**left, _ERASED: lost} if lost else left)

    def pack(self) -> Iterator[bytes]:
        """The tar of the bag; the same log, release and objects give the same bytes."""
        body = self.record.body
        info = [
            ("Source-Organization", body.ledger),
            ("External-Identifier", str(body.root)),
            ("External-Description", f"release {body.name} of {body.ledger}, {body.attempts} attempts"),
            ("Bagging-Date", body.issued_at[:10]),
            ("Left-Out", _SOURCE),
            ("Left-Out", _UNNAMED),
            ("Left-Out", _OTHER),
            *([("Left-Out", _ERASED)] if _ERASED in self.left_out else []),
        ]
        return write(body.name, self.files, info)


def tiles(size: int) -> list[TilePath]:
    """Every tile and bundle that a reader of a log of this size needs, the full ones and the last of each level."""
    found = bundles_of(0, size)
    level, nodes = 0, size
    while nodes:
        found += [TilePath(level, index) for index in range(nodes // WIDTH)]
        level, nodes = level + 1, nodes // WIDTH
    return sorted({*found, *tiles_of(size)})


def children(data: bytes, digest: Digest) -> list[tuple[Digest, int]]:
    """The files of a tree, with their sizes.

    Raises:
        CheckFailed: the bytes are no tree.
    """
    try:
        entries = Tree.parse(data)
    except InputError as error:
        raise CheckFailed(
            f"a record says that this object is a tree, and it is not: {error.what}", where=str(digest)
        ) from error
    return [(entry.digest, entry.size) for entry in entries if entry.digest is not None]


def _reached(
    store: ObjectStore, named: Mapping[Digest, evidence.Named], erased: Mapping[Digest, str]
) -> tuple[list[Digest], int]:
    """Every object that must be there, those in trees too; each known to be there. And how many were erased."""
    found = set(named)
    for digest, name in named.items():
        if name.tree and digest not in erased:
            found.update(child for child, _ in children(store.get(digest), digest))
    kept = found - erased.keys()
    for digest in kept:
        store.size(digest)
    return sorted(kept), len(found) - len(kept)


def _revealed(ledger: Ledger, scope: Scope) -> dict[Digest, evidence.Named]:
    """The kits of the release's cases that are in clear: with them everybody can grade again."""
    committed = {case.body.sealed.commitment for case in scope.cases.values()}
    revealed = [record.body for record in ledger.of(kinds.Reveal) if record.body.kit in committed]
    return {body.kit: evidence.Named(f"case {body.case.id}: kit, in clear") for body in revealed}


def _left_out(ledger: Ledger, store: ObjectStore, reached: list[Digest]) -> dict[str, int]:
    """Why each of the store's other objects is not handed out, and how many there are."""
    private: set[Digest] = set()
    for record in ledger.of(kinds.Source):
        for _, digest, _ in reach.named(record.body):
            if digest is not None:
                private.add(digest)
                if store.has(digest):
                    private.update(child for child, _ in children(store.get(digest), digest))
    named, given = reach.reachable(ledger, store), set(reached)
    count: Counter[str] = Counter()
    for digest in store.digests():
        if digest not in given:
            count[_SOURCE if digest in private else _OTHER if digest in named else _UNNAMED] += 1
    return dict(sorted(count.items()))


def _tile(log: Path, path: TilePath) -> bytes:
    """The bytes of a tile or bundle."""
    try:
        return (log / str(path)).read_bytes()
    except FileNotFoundError as error:
        raise CheckFailed("a file of the log is missing", where=f"log/{path}", fix="rbl ledger verify") from error


def _file(path: Path) -> Source:
    if not path.is_file():
        raise InputError("the file is missing", where=str(path), fix="restore it, or have the release written again")
    return Source.file(path)
