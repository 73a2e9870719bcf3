"""The Merkle tree: hashes, roots, and the two proofs (RFC 9162, section 2.1; the hashes are those of RFC 6962).

    leaf   SHA-256(00 ‖ entry)
    node   SHA-256(01 ‖ left ‖ right)
    root   of no entries SHA-256("") = e3b0c442…; of one entry its leaf hash;
           of n entries node(root of the first k, root of the rest), k the largest power of two below n

A *node* (level, index) is the root over the entries `index·2^level … (index+1)·2^level - 1`, all of them present.
Every function that needs stored hashes takes a callable `node(level, index) -> bytes`; where they lie, and whether they
are to be believed, is not known here. Hashes are 32 raw bytes. Proofs are lists of hashes from the leaf upwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import Final

from store.errors import LogInvalid

__all__ = [
    "EMPTY_ROOT",
    "HASH_SIZE",
    "Frontier",
    "Node",
    "consistency_proof",
    "inclusion_proof",
    "leaf_hash",
    "node_hash",
    "peaks",
    "root",
    "root_at",
    "verify_consistency",
    "verify_inclusion",
]

Node = Callable[[int, int], bytes]
"""Gives the hash of the complete subtree (level, index)."""

HASH_SIZE: Final = 32
EMPTY_ROOT: Final = sha256(b"").digest()
"""The root over no entries (RFC 9162, section 2.1.1)."""


def leaf_hash(entry: bytes) -> bytes:
    """The hash of an entry (RFC 9162, section 2.1.1)."""
    return sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash over two subtrees (RFC 9162, section 2.1.1)."""
    return sha256(b"\x01" + left + right).digest()


def root(leaf_hashes: Sequence[bytes]) -> bytes:
    """The root over these leaf hashes (RFC 9162, section 2.1.1).

    Level by level: an odd last node moves up as it is, which gives the same tree as the recursive definition.
    """
    level = list(leaf_hashes)
    if not level:
        return EMPTY_ROOT
    while len(level) > 1:
        above = [sha256(b"\x01" + level[i] + level[i + 1]).digest() for i in range(0, len(level) - 1, 2)]
        if len(level) % 2:
            above.append(level[-1])
        level = above
    return level[0]


def peaks(start: int, end: int) -> list[tuple[int, int]]:
    """The complete subtrees, left to right, that `start … end - 1` falls into.

    Args:
        start: a multiple of the largest power of two that is not above `end - start`.
        end: one past the last entry.
    """
    found = []
    while start < end:
        level = (end - start).bit_length() - 1
        found.append((level, start >> level))
        start += 1 << level
    return found


def root_at(node: Node, size: int) -> bytes:
    """The root over the first `size` entries."""
    return _range(node, 0, size) if size else EMPTY_ROOT


class Frontier:
    """A growing tree of which only the right edge is kept: one hash for each bit set in its size.

    Args:
        size: entries so far.
        edge: the hashes of `peaks(0, size)`.
    """

    __slots__ = ("_edge", "size")

    def __init__(self, size: int = 0, edge: Iterable[bytes] = ()) -> None:
        self.size = size
        self._edge = list(edge)
        if len(self._edge) != size.bit_count():
            raise ValueError(f"a tree of {size} entries has {size.bit_count()} peaks, not {len(self._edge)}")

    def append(self, leaf: bytes) -> None:
        """Add the hash of the next entry."""
        size, edge = self.size, self._edge
        while size & 1:
            leaf = sha256(b"\x01" + edge.pop() + leaf).digest()
            size >>= 1
        edge.append(leaf)
        self.size += 1

    def extend(self, leaves: Iterable[bytes]) -> None:
        """Add the hashes of the next entries."""
        for leaf in leaves:
            self.append(leaf)

    def root(self) -> bytes:
        """The root over all entries so far."""
        return _fold(self._edge) if self._edge else EMPTY_ROOT

    def copy(self) -> Frontier:
        """The same tree, to grow by itself."""
        return Frontier(self.size, self._edge)


def inclusion_proof(node: Node, index: int, size: int) -> list[bytes]:
    """The path from an entry to the root of the tree of `size` entries (RFC 9162, section 2.1.3.1).

    Raises:
        LogInvalid: there is no such entry (`inclusion`).
    """
    if not 0 <= index < size:
        raise LogInvalid("inclusion", f"no entry {index} in a tree of {size}")
    path = []
    start, end = 0, size
    while end - start > 1:
        middle = start + _split(end - start)
        if index < middle:
            path.append(_range(node, middle, end))
            end = middle
        else:
            path.append(_range(node, start, middle))
            start = middle
    path.reverse()
    return path


def consistency_proof(node: Node, old: int, new: int) -> list[bytes]:
    """The hashes that show that the tree of `old` entries is a beginning of the tree of `new` (section 2.1.4.1).

    From size 0, and between equal sizes, nothing needs to be shown: the proof is empty.

    Raises:
        LogInvalid: the old tree is larger than the new (`consistency`).
    """
    if not 0 <= old <= new:
        raise LogInvalid("consistency", f"a tree of {new} entries holds no tree of {old}")
    if old in {0, new}:
        return []
    path = []
    start, end = 0, new
    while old != end:
        middle = start + _split(end - start)
        if old <= middle:
            path.append(_range(node, middle, end))
            end = middle
        else:
            path.append(_range(node, start, middle))
            start = middle
    if start:  # b is false: the old tree is not a subtree that the verifier knows the root of
        path.append(_range(node, start, end))
    path.reverse()
    return path


def verify_inclusion(leaf: bytes, index: int, size: int, path: Sequence[bytes], expected: bytes) -> None:
    """Check that the entry with this leaf hash is at `index` in the tree of that size and root (section 2.1.3.2).

    Size and root must come from a verified checkpoint, never from beside the proof.

    Raises:
        LogInvalid: it is not proven (`inclusion`).
    """
    _check_hashes("inclusion", [leaf, expected, *path])
    if not 0 <= index < size:
        raise LogInvalid("inclusion", f"no entry {index} in a tree of {size}")
    fn, sn, found = index, size - 1, leaf
    for step in path:
        if sn == 0:
            raise LogInvalid("inclusion", "the path is too long")
        if fn & 1 or fn == sn:
            found = node_hash(step, found)
            while not fn & 1 and fn:
                fn >>= 1
                sn >>= 1
        else:
            found = node_hash(found, step)
        fn >>= 1
        sn >>= 1
    if sn:
        raise LogInvalid("inclusion", "the path is too short")
    if found != expected:
        raise LogInvalid("inclusion", f"the path of entry {index} does not lead to the root of {size} entries")


def verify_consistency(old: int, new: int, old_root: bytes, new_root: bytes, path: Sequence[bytes]) -> None:
    """Check that the old tree is a beginning of the new one (section 2.1.4.2).

    Size 0 has a path of its own: its root is that of no entries, and the proof is empty.

    Raises:
        LogInvalid: it is not proven (`consistency`).
    """
    _check_hashes("consistency", [old_root, new_root, *path])
    if not 0 <= old <= new:
        raise LogInvalid("consistency", f"a tree of {new} entries holds no tree of {old}")
    if old in {0, new}:
        _verify_trivial(old, new, old_root, new_root, path)
        return
    steps = list(path)
    if old & (old - 1) == 0:  # an exact power of two is itself a node, and is not in the proof
        steps.insert(0, old_root)
    if not steps:
        raise LogInvalid("consistency", "the proof is empty")
    fn, sn = old - 1, new - 1
    while fn & 1:
        fn >>= 1
        sn >>= 1
    first = second = steps[0]
    for step in steps[1:]:
        if sn == 0:
            raise LogInvalid("consistency", "the proof is too long")
        if fn & 1 or fn == sn:
            first = node_hash(step, first)
            second = node_hash(step, second)
            while not fn & 1 and fn:
                fn >>= 1
                sn >>= 1
        else:
            second = node_hash(second, step)
        fn >>= 1
        sn >>= 1
    if sn:
        raise LogInvalid("consistency", "the proof is too short")
    if first != old_root or second != new_root:
        raise LogInvalid("consistency", f"the tree of {old} entries is not a beginning of the tree of {new}")


def _verify_trivial(old: int, new: int, old_root: bytes, new_root: bytes, path: Sequence[bytes]) -> None:
    if path:
        raise LogInvalid("consistency", "the proof must be empty here")
    if (old == 0 and old_root != EMPTY_ROOT) or (new == 0 and new_root != EMPTY_ROOT):
        raise LogInvalid("consistency", "the root over no entries is another")
    if old == new and old_root != new_root:
        raise LogInvalid("consistency", f"two roots for one size, {old}")


def _check_hashes(rule: str, hashes: Iterable[bytes]) -> None:
    if any(len(item) != HASH_SIZE for item in hashes):
        raise LogInvalid(rule, "a hash is not 32 bytes")


def _split(count: int) -> int:
    """The largest power of two below `count`, which is at least 2."""
    return 1 << (count - 1).bit_length() - 1


def _range(node: Node, start: int, end: int) -> bytes:
    return _fold([node(level, index) for level, index in peaks(start, end)])


def _fold(hashes: Sequence[bytes]) -> bytes:
    found = hashes[-1]
    for left in reversed(hashes[:-1]):
        found = node_hash(left, found)
    return found
