"""The files of a log against its signed head: records rebuilt from the bundles, and every tile compared.

    rebuilt = rebuild(folder / "log", Head(size=300, root=…))
    rebuilt.entries[299]                 the leaf bytes of record 299
    rebuilt.findings                     [Finding("log", "log/tile/0/000", "…", "…")]

The tree is built from the records themselves and must give the signed root; then each file under `tile/` must hold
exactly the bytes that this tree gives it, old partial tiles too. Where the root is not reached, the level-0 tiles say
which bundle was changed. Files beyond the head belong to an append under way: they are counted and not believed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ledger.log import merkle
from ledger.log.tiles import HEIGHT, WIDTH, TilePath, bundles_of, format_bundle, parse_bundle
from ledger.records.kinds import Head
from ledger.release.finding import Finding
from store.digest import Digest
from store.errors import InputError, LogInvalid

__all__ = ["Levels", "Rebuilt", "rebuild"]

_HASH: Final = merkle.HASH_SIZE
_CONSEQUENCE: Final = "whoever reads the log from it reads another log"


class Levels:
    """Every complete subtree over a sequence of leaf hashes.

    Args:
        leaf_hashes: 32 bytes each.
    """

    __slots__ = ("_levels", "size")

    def __init__(self, leaf_hashes: Sequence[bytes]) -> None:
        self.size = len(leaf_hashes)
        self._levels: list[Sequence[bytes]] = [leaf_hashes]
        while len(self._levels[-1]) > 1:
            below = self._levels[-1]
            self._levels.append([merkle.node_hash(below[i], below[i + 1]) for i in range(0, len(below) - 1, 2)])

    def node(self, level: int, index: int) -> bytes:
        """The hash of a complete subtree, as `ledger.log.merkle` asks for it."""
        return self._levels[level][index]

    def root(self, size: int) -> Digest:
        """The root over the first `size` leaves."""
        return Digest.from_raw(merkle.root_at(self.node, size))

    def tile(self, path: TilePath) -> bytes | None:
        """The bytes of a tile; null when it goes beyond the tree."""
        level = path.level * HEIGHT
        start, end = path.index * WIDTH, path.index * WIDTH + path.width
        if level >= len(self._levels) or end > len(self._levels[level]):
            return None
        return b"".join(self._levels[level][start:end])


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A log as its files give it.

    Attributes:
        entries: leaf bytes of every record below the head; empty when they do not give the root.
        levels: the tree over them.
        files: tiles and bundles that were compared.
        beyond: files that reach beyond the head, not looked at.
        findings: what is wrong.
    """

    entries: tuple[bytes, ...]
    levels: Levels
    files: int
    beyond: int
    findings: tuple[Finding, ...]


def rebuild(log: Path, head: Head) -> Rebuilt:
    """Rebuild a log from its bundles and compare each of its files.

    Args:
        log: the folder with `checkpoint` and `tile/`.
        head: the signed head, verified.
    """
    found: list[Finding] = []
    entries: list[bytes] = []
    for path in bundles_of(0, head.size):
        try:
            entries += _bundle(log, path)
        except (InputError, LogInvalid) as error:
            found.append(Finding("log", f"log/{path}", error.what, "its records cannot be read"))
    if found:
        return Rebuilt((), Levels([]), 0, 0, tuple(found))
    levels = Levels([merkle.leaf_hash(entry) for entry in entries])
    if levels.root(head.size) != head.root:
        return Rebuilt((), Levels([]), 0, 0, tuple(_suspects(log, head, levels)))
    files, beyond = 0, 0
    places = sorted(place for place in (log / "tile").rglob("*") if not place.is_dir())
    for place in places:
        name = place.relative_to(log).as_posix()
        try:
            expected = _expected(TilePath.parse(name), entries, levels)
        except InputError:
            found.append(Finding("log", f"log/{name}", "no tile of this log has that name", _CONSEQUENCE))
            continue
        if expected is None:
            beyond += 1
            continue
        files += 1
        if place.read_bytes() != expected:
            found.append(
                Finding("log", f"log/{name}", "it does not hold what the signed head commits to", _CONSEQUENCE)
            )
    found += _missing(log, head.size)
    return Rebuilt(tuple(entries), levels, files, beyond, tuple(found))


def _expected(path: TilePath, entries: Sequence[bytes], levels: Levels) -> bytes | None:
    if path.level >= 0:
        return levels.tile(path)
    start, end = path.index * WIDTH, path.index * WIDTH + path.width
    return None if end > len(entries) else format_bundle(entries[start:end])


def _bundle(log: Path, path: TilePath) -> list[bytes]:
    """The entries of a bundle, from its own file or a wider one at the same place."""
    for width in range(path.width, WIDTH + 1):
        candidate = TilePath(path.level, path.index, width)
        place = log / str(candidate)
        if place.is_file():
            return parse_bundle(place.read_bytes(), width)[: path.width]
    raise InputError("the bundle is missing", where=f"log/{path}")


def _missing(log: Path, size: int) -> Iterator[Finding]:
    """Tiles that a reader needs and does not find; a wider one at the same place will do."""
    level, nodes = 0, size
    while nodes:
        for index in range(-(-nodes // WIDTH)):
            least = min(WIDTH, nodes - index * WIDTH)
            if not any((log / str(TilePath(level, index, width))).is_file() for width in range(least, WIDTH + 1)):
                path = TilePath(level, index, least)
                yield Finding("log", f"log/{path}", "the tile is missing", "no proof can be made from it")
        level, nodes = level + 1, nodes // WIDTH


def _suspects(log: Path, head: Head, levels: Levels) -> Iterator[Finding]:
    """Where bundles and level-0 tiles disagree, when the bundles do not give the root."""
    consequence = "the records are not those that the head was signed over"
    clean = True
    for bundle in bundles_of(0, head.size):
        tile = TilePath(0, bundle.index, bundle.width)
        place, ours = log / str(tile), levels.tile(tile) or b""
        theirs = place.read_bytes() if place.is_file() else b""
        for number in range(bundle.width):
            span = slice(number * _HASH, number * _HASH + _HASH)
            if ours[span] != theirs[span]:
                clean = False
                record = bundle.index * WIDTH + number
                what = f"record {record} in log/{bundle} does not hash to its place in log/{tile}"
                yield Finding("log", f"record {record}", what, consequence)
    if clean:
        what = f"the records give root {levels.root(head.size)}, the head says {head.root}"
        yield Finding("checkpoint", "log/checkpoint", what, consequence)
