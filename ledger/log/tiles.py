"""Tiles and entry bundles: how the tree lies in files (C2SP tlog-tiles).

    tile/0/x001/x234/067          the level-0 tile 1234067: 256 leaf hashes, 8,192 bytes
    tile/1/000.p/17               a partial tile: the roots of 17 full level-0 tiles
    tile/entries/000.p/3          a bundle: three times a big-endian uint16 length and that many bytes of entry

A tile of level L holds 256 consecutive nodes of tree level 8·L; a partial one, at the right edge only, holds
`floor(size / 256^L) mod 256` of them and is never hashed into the level above. All of it is immutable: a width that
changes is another file. Paths are parsed strictly; nothing here reads a file or believes a hash.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Self

from ledger.log.merkle import HASH_SIZE
from store.errors import InputError, LogInvalid

__all__ = [
    "ENTRY_LIMIT",
    "HEIGHT",
    "WIDTH",
    "Tile",
    "TilePath",
    "bundles_of",
    "format_bundle",
    "parse_bundle",
    "tiles_of",
]

HEIGHT: Final = 8
WIDTH: Final = 256
"""Hashes, or entries, of a full tile or bundle (tlog-tiles, Merkle Tree)."""

ENTRY_LIMIT: Final = 0xFFFF
"""Bytes of the longest entry (tlog-tiles, Log entries)."""

_DEEPEST: Final = 63
_PATH = re.compile(r"tile/(entries|0|[1-9][0-9]?)/((?:x[0-9]{3}/)*)([0-9]{3})(?:\.p/([1-9][0-9]{0,2}))?")


@dataclass(frozen=True, slots=True, order=True)
class TilePath:
    """The name of one tile or bundle.

    Attributes:
        level: 0 to 63; -1 for an entry bundle.
        index: its place within the level.
        width: hashes or entries, 256 when full.
    """

    level: int
    index: int
    width: int = WIDTH

    def __str__(self) -> str:
        digits = f"{self.index % 1000:03d}"
        rest = self.index // 1000
        while rest:
            digits = f"x{rest % 1000:03d}/{digits}"
            rest //= 1000
        level = "entries" if self.level < 0 else str(self.level)
        suffix = "" if self.width == WIDTH else f".p/{self.width}"
        return f"tile/{level}/{digits}{suffix}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a path.

        Raises:
            InputError: it is not one that would be written.
        """
        match = _PATH.fullmatch(text)
        if match is not None:
            level, upper, last, width = match.groups()
            index = int(upper.replace("x", "").replace("/", "") + last)
            path = cls(-1 if level == "entries" else int(level), index, int(width or WIDTH))
            if str(path) == text and path.level <= _DEEPEST:
                return path
        raise InputError(f"not the path of a tile: {text[:80]!r}")

    @property
    def full(self) -> Self:
        """The same place, full."""
        return type(self)(self.level, self.index)


class Tile:
    """The hashes of one tile, and the subtree above them.

    Args:
        hashes: 1 to 256 hashes.
    """

    __slots__ = ("_levels",)

    def __init__(self, hashes: Sequence[bytes]) -> None:
        self._levels: list[Sequence[bytes]] = [hashes]

    @classmethod
    def parse(cls, data: bytes, width: int, *, where: str = "") -> Self:
        """Read the bytes of a tile.

        Raises:
            LogInvalid: it is not that many hashes (`tile`).
        """
        if len(data) != width * HASH_SIZE:
            raise LogInvalid(
                "tile", f"a tile of {width} hashes has {width * HASH_SIZE} bytes, not {len(data)}", where=where
            )
        return cls([data[i : i + HASH_SIZE] for i in range(0, len(data), HASH_SIZE)])

    def format(self) -> bytes:
        """The bytes of the tile."""
        return b"".join(self._levels[0])

    @property
    def hashes(self) -> Sequence[bytes]:
        """The hashes it holds."""
        return self._levels[0]

    def node(self, level: int, index: int) -> bytes:
        """A node of the subtree: level 0 are the tile's own hashes, level 8 is the root of a full tile.

        Raises:
            IndexError: the tile is not wide enough.
        """
        while len(self._levels) <= level:
            below = self._levels[-1]
            self._levels.append(
                [sha256(b"\x01" + below[i] + below[i + 1]).digest() for i in range(0, len(below) - 1, 2)]
            )
        return self._levels[level][index]


def tiles_of(size: int) -> list[TilePath]:
    """The last tile of each level that a tree of this size has, partial or full, lowest level first.

    A level whose nodes fill whole tiles has no partial one, and is left out: its roots stand in the level above.
    """
    found = []
    level, nodes = 0, size
    while nodes:
        if nodes % WIDTH:
            found.append(TilePath(level, nodes // WIDTH, nodes % WIDTH))
        level, nodes = level + 1, nodes // WIDTH
    return found


def bundles_of(start: int, end: int) -> list[TilePath]:
    """The bundles that hold the entries `start … end - 1` of a tree of `end` entries."""
    return (
        [TilePath(-1, index, min(WIDTH, end - index * WIDTH)) for index in range(start // WIDTH, -(-end // WIDTH))]
        if start < end
        else []
    )


def format_bundle(entries: Sequence[bytes]) -> bytes:
    """The bytes of a bundle (tlog-tiles, Log entries).

    Raises:
        InputError: an entry is longer than 65,535 bytes.
    """
    out = bytearray()
    for entry in entries:
        if len(entry) > ENTRY_LIMIT:
            raise InputError(
                f"an entry of {len(entry)} bytes", fix=f"at most {ENTRY_LIMIT}: put what is long in the store"
            )
        out += len(entry).to_bytes(2, "big")
        out += entry
    return bytes(out)


def parse_bundle(data: bytes, width: int, *, where: str = "") -> list[bytes]:
    """Read the bytes of a bundle.

    Raises:
        LogInvalid: it is not exactly that many entries (`bundle`).
    """
    entries = []
    offset = 0
    for _ in range(width):
        start = offset + 2
        offset = start + int.from_bytes(data[start - 2 : start], "big")
        if start > len(data) or offset > len(data):
            raise LogInvalid("bundle", f"the bundle ends before its {width} entries", where=where)
        entries.append(data[start:offset])
    if offset != len(data):
        raise LogInvalid("bundle", f"the bundle goes on after its {width} entries", where=where)
    return entries
