r"""Sparse members of a tar: where the holes are, in each of the four ways that GNU tar has written it.

    old GNU   type S; (offset, length) pairs in the header's block, more in blocks after it
    pax 0.0   GNU.sparse.size, then GNU.sparse.offset and GNU.sparse.numbytes again and again
    pax 0.1   GNU.sparse.size, GNU.sparse.map=0,512,8192,512
    pax 1.0   GNU.sparse.realsize; "2\n0\n512\n8192\n512\n" in blocks before the data

All become a `Layout`: the file's size with its holes, and the pieces that are really there, in order, apart, and
inside. The format is GNU tar 1.35's manual, appendix "Sparse Formats". Nothing is read or written here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from store.errors import TreeError

__all__ = ["Layout", "decimal", "from_blocks", "from_pax", "number"]

_BLOCK = 512
_MOST = 1 << 16  # pieces; the map must fit into memory, whatever the stream says
_ZEROS = bytes(1 << 20)
_LARGEST = 1 << 53
_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the bytes of a sparse file go.

    Attributes:
        size: of the file, in bytes, holes included.
        pieces: (offset, length) of what is stored.
    """

    size: int
    pieces: tuple[tuple[int, int], ...]

    @property
    def stored(self) -> int:
        """Bytes that the archive holds."""
        return sum(length for _, length in self.pieces)

    def check(self, stored: int) -> None:
        """Refuse pieces that overlap, go backwards, leave the file, or do not make up `stored` bytes.

        Raises:
            TreeError: with rule `format`.
        """
        end = 0
        for offset, length in self.pieces:
            if offset < end:
                raise TreeError("a sparse map that goes backwards", rule="format")
            end = offset + length
        if end > self.size or self.stored != stored:
            raise TreeError("a sparse map that does not fit its file", rule="format")

    def expand(self, take: Callable[[int], Iterator[bytes]]) -> Iterator[bytes]:
        """The whole file; `take(n)` gives the next n stored bytes."""
        at = 0
        for offset, length in self.pieces:
            yield from _zeros(offset - at)
            yield from take(length)
            at = offset + length
        yield from _zeros(self.size - at)


def from_blocks(block: bytes, more: Callable[[], bytes]) -> Layout:
    """Read the old GNU form: the header's own block, and `more()` for each block after it.

    Raises:
        TreeError: with rule `format`.
    """
    pieces = _pairs(block[386:482])
    extended = block[482]
    while extended:
        extension = more()
        pieces += _pairs(extension[:504])
        extended = extension[504]
        _bound(pieces)
    return Layout(number(block[483:495]), tuple(pieces))


def from_pax(records: Mapping[str, str], pairs: Sequence[tuple[str, str]], more: Callable[[], bytes]) -> Layout | None:
    """Read what a pax header says, or None where it says nothing of holes.

    Args:
        records: the header's records, the last of each key.
        pairs: all of them, in order.
        more: the next block of the member's data, for version 1.0.

    Raises:
        TreeError: with rule `format`.
    """
    keys = {key for key in records if key.startswith("GNU.sparse.")}
    if not keys:
        return None
    version = records.get("GNU.sparse.major", "0"), records.get("GNU.sparse.minor", "0")
    if version == ("1", "0"):
        return Layout(decimal(records.get("GNU.sparse.realsize", "")), _pieces(_lines(more)))
    if version[0] != "0":
        raise TreeError("an unknown version of sparse member", rule="format")
    size = decimal(records.get("GNU.sparse.size", ""))
    if "GNU.sparse.map" in records:
        return Layout(size, _pieces(decimal(text) for text in records["GNU.sparse.map"].split(",")))
    wanted = ("GNU.sparse.offset", "GNU.sparse.numbytes")
    found = [(key, value) for key, value in pairs if key in wanted]
    if any(key != wanted[index % 2] for index, (key, _) in enumerate(found)):
        raise TreeError("a sparse map out of order", rule="format")
    return Layout(size, _pieces(decimal(value) for _, value in found))


def number(field: bytes) -> int:
    """A number of a tar header: octal digits between blanks and NULs, or GNU's base 256.

    Raises:
        TreeError: with rule `format`: neither, negative, or not below 2^53.
    """
    if field[:1] == b"\x80":
        value = int.from_bytes(field[1:], "big")
    else:
        text = field.partition(b"\0")[0].strip(b" ")
        if text.strip(b"01234567"):
            raise TreeError("a number in a tar header is none", rule="format")
        value = int(text or b"0", 8)
    if value >= _LARGEST:
        raise TreeError("a number in a tar header is too large", rule="format")
    return value


def decimal(text: str) -> int:
    """A number of a pax record: digits and nothing else.

    Raises:
        TreeError: with rule `format`.
    """
    if not text.isascii() or not text.isdigit() or len(text) > _DIGITS or int(text) >= _LARGEST:
        raise TreeError("a number in a pax header is none", rule="format")
    return int(text)


def _pairs(fields: bytes) -> list[tuple[int, int]]:
    pieces = []
    for at in range(0, len(fields) - 23, 24):
        if not fields[at]:
            break
        pieces.append((number(fields[at : at + 12]), number(fields[at + 12 : at + 24])))
    return pieces


def _lines(more: Callable[[], bytes]) -> Iterator[int]:
    """The numbers of a version 1.0 map, reading no block more than they need."""
    text = b""
    left: int | None = None
    while left is None or left > 0:
        line, newline, rest = text.partition(b"\n")
        if not newline:
            if len(text) > _BLOCK:
                raise TreeError("a sparse map without numbers", rule="format")
            text += more()
            continue
        text = rest
        value = decimal(line.decode("latin-1"))
        if left is None:
            left = 2 * value
            continue
        left -= 1
        yield value


def _pieces(numbers: Iterable[int]) -> tuple[tuple[int, int], ...]:
    pieces: list[tuple[int, int]] = []
    walk = iter(numbers)
    for offset in walk:
        length = next(walk, None)
        if length is None:
            raise TreeError("a sparse map with half a piece", rule="format")
        pieces.append((offset, length))
        _bound(pieces)
    return tuple(pieces)


def _bound(pieces: list[tuple[int, int]]) -> None:
    if len(pieces) > _MOST:
        raise TreeError(f"a sparse map of more than {_MOST} pieces", rule="format")


def _zeros(length: int) -> Iterator[bytes]:
    while length > 0:
        piece = _ZEROS[:length]
        yield piece
        length -= len(piece)
