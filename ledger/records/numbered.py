"""Digests in the order they came, and the number of each: 44 bytes apiece, where a dict takes 300.

    numbers = Numbered()
    numbers.add(digest.raw)          # 0, then 1, …
    numbers.find(digest.raw)         # its number, or None

A hash table with open addressing (Knuth, volume 3, section 6.4, algorithm L) of which at least half is empty. Places
are told by Python's hash of the bytes, which is keyed anew in every process: digests cannot be made to collide in it.
What a number stands for is kept by the owner. Nothing is removed.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Final

__all__ = ["Numbered"]

_SIZE: Final = 32
_LEAST: Final = 1024


class Numbered:
    """A growing list of different digests that can be looked up."""

    __slots__ = ("_digests", "_mask", "_table")

    def __init__(self) -> None:
        self._digests = bytearray()
        self._table = array("I", bytes(4 * _LEAST))  # number + 1 at the place of each; 0 is free
        self._mask = _LEAST - 1

    def __len__(self) -> int:
        return len(self._digests) // _SIZE

    def __iter__(self) -> Iterator[bytes]:
        """The digests, in the order they came."""
        for start in range(0, len(self._digests), _SIZE):
            yield bytes(self._digests[start : start + _SIZE])

    def find(self, digest: bytes) -> int | None:
        """The number of a digest; None where it was not added."""
        place = self._place(digest)
        return self._table[place] - 1 if self._table[place] else None

    def add(self, digest: bytes) -> int:
        """Add 32 bytes that are not there, and return their number."""
        number = len(self)
        self._digests += digest
        if 2 * number > self._mask:
            self._grow()
        else:
            self._table[self._place(digest)] = number + 1
        return number

    def _place(self, digest: bytes) -> int:
        """Where the digest stands in the table, or may be put."""
        table, digests, mask = self._table, self._digests, self._mask
        place = hash(digest) & mask
        while number := table[place]:
            if digests[(number - 1) * _SIZE : number * _SIZE] == digest:
                break
            place = (place + 1) & mask
        return place

    def _grow(self) -> None:
        mask = 2 * self._mask + 1
        table = array("I", bytes(4 * (mask + 1)))
        digests = bytes(self._digests)
        for number in range(len(digests) // _SIZE):
            place = hash(digests[number * _SIZE : (number + 1) * _SIZE]) & mask
            while table[place]:
                place = (place + 1) & mask
            table[place] = number + 1
        self._table, self._mask = table, mask
