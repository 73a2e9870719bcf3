"""Reads a log: entries, roots and proofs, every byte of it authenticated against a verified checkpoint.

    log = LogReader(read, checkpoint)         # `read` gives the bytes at a tile's path, from a folder or a bag
    log.entry(41)                             # hashed, and its hash found under the checkpoint's root
    log.prove_inclusion(41), log.prove_consistency(20)

Why it is safe: the partial tiles at the right edge together hold exactly the hashes that fold into the root, so one
comparison authenticates them all; a full tile must hash to the node that its parent tile holds, which is authenticated
in the same way; an entry must hash to its place in the level-0 tile. Nothing is used before it was checked (golang/go
#80744: a client used tiles that it had not authenticated). Size and root come from the checkpoint alone. Verifying the
checkpoint's signature is `ledger.log.checkpoint`'s; what an entry says is not known here.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from ledger.log import merkle
from ledger.log.checkpoint import Checkpoint
from ledger.log.merkle import HASH_SIZE
from ledger.log.proof import TlogProof
from ledger.log.tiles import HEIGHT, WIDTH, Tile, TilePath, parse_bundle, tiles_of
from ledger.records.kinds import Head
from store import disk
from store.digest import Digest
from store.errors import LogInvalid

__all__ = ["LogReader", "Read", "read_folder"]

Read = Callable[[TilePath], bytes | None]
"""Gives the bytes of a tile or bundle; None where there is no such file."""

_CACHED: Final = 512  # tiles kept, about 20 KB each


def read_folder(directory: Path) -> Read:
    """Reads tiles from a `log/` folder."""

    def read(path: TilePath) -> bytes | None:
        with disk.faults("cannot read the log", directory / str(path)):
            try:
                return (directory / str(path)).read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                return None

    return read


class LogReader:
    """A log at one verified head.

    Args:
        read: where tiles and bundles come from; believed in nothing.
        checkpoint: verified by the caller.

    Raises:
        LogInvalid: the right edge does not make up the root (`tile`), or is missing (`missing`).
    """

    def __init__(self, read: Read, checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint
        self._read = read
        self._cache: OrderedDict[tuple[int, int], Tile] = OrderedDict()
        self._edge = self._authenticate_edge()

    @property
    def size(self) -> int:
        """How many entries."""
        return self.checkpoint.size

    @property
    def head(self) -> Head:
        """Size and root."""
        return self.checkpoint.head

    def entry(self, index: int) -> bytes:
        """The bytes of one entry.

        Raises:
            LogInvalid: they do not verify, are missing, or there is no such entry.
        """
        self._check_index(index)
        entry = self._unchecked(index // WIDTH)[index % WIDTH]
        if merkle.leaf_hash(entry) != self.leaf_hash(index):
            raise LogInvalid("leaf", f"entry {index} is not the one in the tree", where=f"entry {index}")
        return entry

    def entries(self, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """Entries `start … end - 1`, in order; each bundle is authenticated before its first entry is given.

        Raises:
            LogInvalid: they do not verify, or are missing.
        """
        stop = self.size if end is None else min(end, self.size)
        while start < stop:
            index = start // WIDTH
            limit = min(stop - index * WIDTH, WIDTH)
            yield from self._bundle(index)[start % WIDTH : limit]
            start = index * WIDTH + limit

    def leaf_hash(self, index: int) -> bytes:
        """The hash of one entry, without reading the entry."""
        self._check_index(index)
        return self._tile(0, index // WIDTH).hashes[index % WIDTH]

    def leaf_hashes(self, start: int, end: int) -> list[bytes]:
        """The hashes of entries `start … end - 1`."""
        found: list[bytes] = []
        while start < end:
            index = start // WIDTH
            limit = min(end - index * WIDTH, WIDTH)
            found += self._tile(0, index).hashes[start % WIDTH : limit]
            start = index * WIDTH + limit
        return found

    def node(self, level: int, index: int) -> bytes:
        """The hash of a complete subtree (`ledger.log.merkle`)."""
        if not 0 <= index < self.size >> level:
            raise LogInvalid("tile", f"no subtree {index} of level {level} in a log of {self.size}")
        tile_level, inner = divmod(level, HEIGHT)
        tile = (index << inner) // WIDTH
        return self._tile(tile_level, tile).node(inner, index - (tile * WIDTH >> inner))

    def root_at(self, size: int) -> Digest:
        """The root that the log had at a smaller size.

        Raises:
            LogInvalid: the log never had that size (`size`).
        """
        if not 0 <= size <= self.size:
            raise LogInvalid("size", f"the log of {self.size} entries never had {size}")
        return Digest.from_raw(merkle.root_at(self.node, size))

    def edge(self) -> merkle.Frontier:
        """The tree's right edge, to go on from."""
        return merkle.Frontier(self.size, [self.node(*peak) for peak in merkle.peaks(0, self.size)])

    def prove_inclusion(self, index: int, size: int | None = None) -> list[bytes]:
        """The path of an entry to the root at `size`, by default the head's (RFC 9162, section 2.1.3.1)."""
        end = self.size if size is None else size
        self._check_index(index)
        if end > self.size:
            raise LogInvalid("size", f"the log of {self.size} entries has no root at {end}")
        return merkle.inclusion_proof(self.node, index, end)

    def prove_consistency(self, old: int, new: int | None = None) -> list[bytes]:
        """The proof from a smaller size to `new`, by default the head's (RFC 9162, section 2.1.4.1)."""
        end = self.size if new is None else new
        if end > self.size:
            raise LogInvalid("size", f"the log of {self.size} entries has no root at {end}")
        return merkle.consistency_proof(self.node, old, end)

    def receipt(self, index: int, note: bytes, extra: bytes | None = None) -> TlogProof:
        """A proof of one entry that verifies offline.

        Args:
            index: the entry.
            note: the signed bytes of this log's checkpoint.
            extra: opaque bytes to hand on, not authenticated.
        """
        return TlogProof(index, tuple(self.prove_inclusion(index)), note, extra)

    def tail(self) -> list[bytes]:
        """The entries of the last, partial bundle."""
        index, width = divmod(self.size, WIDTH)
        return self._bundle(index) if width else []

    def tail_hashes(self, level: int) -> list[bytes]:
        """The hashes of a level's last, partial tile."""
        index, width = divmod(self.size >> HEIGHT * level, WIDTH)
        return list(self._tile(level, index).hashes) if width else []

    # ------------------------------------------------------------------------------------------------ inside

    def _check_index(self, index: int) -> None:
        if not 0 <= index < self.size:
            raise LogInvalid("size", f"no entry {index} in a log of {self.size}")

    def _authenticate_edge(self) -> dict[tuple[int, int], Tile]:
        edge: dict[tuple[int, int], Tile] = {}
        hashes: list[bytes] = []
        for path in tiles_of(self.size):
            tile = Tile.parse(self._bytes(path, path.width * HASH_SIZE), path.width, where=str(path))
            edge[path.level, path.index] = tile
            here = [tile.node(level, index) for level, index in merkle.peaks(0, path.width)]
            hashes = here + hashes
        root = merkle.Frontier(self.size, hashes).root()
        if root != self.checkpoint.root.raw:
            raise LogInvalid("tile", f"the right edge does not make up the root of {self.size} entries", where="tile/")
        return edge

    def _tile(self, level: int, index: int) -> Tile:
        key = (level, index)
        found = self._edge.get(key) or self._cache.get(key)
        if found is None:
            path = TilePath(level, index)
            found = Tile.parse(self._bytes(path), WIDTH, where=str(path))
            # the parent is authenticated first, up to the edge, which the checkpoint's root authenticates
            parent = self._tile(level + 1, index // WIDTH)
            if found.node(HEIGHT, 0) != parent.hashes[index % WIDTH]:
                raise LogInvalid("tile", "the tile does not hash to its place in the tree", where=str(path))
            self._cache[key] = found
            if len(self._cache) > _CACHED:
                self._cache.popitem(last=False)
        return found

    def _bundle(self, index: int) -> list[bytes]:
        entries = self._unchecked(index)
        expected = self._tile(0, index).hashes
        for place, entry in enumerate(entries):
            if merkle.leaf_hash(entry) != expected[place]:
                number = index * WIDTH + place
                raise LogInvalid("leaf", f"entry {number} is not the one in the tree", where=f"entry {number}")
        return entries

    def _unchecked(self, index: int) -> list[bytes]:
        """The entries of a bundle, none of which has been compared with the tree."""
        width = min(WIDTH, self.size - index * WIDTH)
        path = TilePath(-1, index, width)
        data = self._read(path)
        if data is not None:
            return parse_bundle(data, width, where=str(path))
        data = self._read(path.full) if width < WIDTH else None
        if data is None:
            raise LogInvalid("missing", "a bundle of entries is missing", where=str(path))
        return parse_bundle(data, WIDTH, where=str(path.full))[:width]

    def _bytes(self, path: TilePath, length: int = WIDTH * HASH_SIZE) -> bytes:
        data = self._read(path)
        if data is None and path.width < WIDTH:
            # a partial tile may be gone once the full one is there (tlog-tiles, Partial Tiles)
            data = self._read(path.full)
            data = data if data is None else data[:length]
        if data is None:
            raise LogInvalid("missing", "a tile is missing", where=str(path))
        return data
