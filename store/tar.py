r"""One member of a tar stream, as POSIX.1-2017 (pax interchange format), ustar and GNU tar write it.

    block 0    ././@PaxHeader  type x   "30 path=a/very/long/name…\n"
    block 2    a/very/lo…      type 0   mode 0000644  size 00000000003
    block 3    foo + 509 NULs
    …          two blocks of NULs

`header` writes; `Reader` reads a stream that is not trusted, once, from front to back, holding one header in memory.
It knows what a member *is*; whether a tree may hold it is decided by `store.archive`. Compression is not its
business. Where readers of tar are known to disagree (two extended headers of one sort for one member, data behind a
link, a global header that renames) the stream is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final, Literal

from store import disk, sparse
from store.errors import TreeError

__all__ = ["BLOCK", "END", "Kind", "Member", "Reader", "header", "padding"]

BLOCK: Final = 512
END: Final = bytes(2 * BLOCK)

Kind = Literal["file", "hardlink", "link", "directory", "other"]

_KINDS: Final[dict[bytes, Kind]] = {
    b"0": "file",
    b"\0": "file",
    b"7": "file",
    b"S": "file",
    b"1": "hardlink",
    b"2": "link",
    b"5": "directory",
}
_FIELD = 100  # bytes of a name in a header
_OCTAL = 8**11  # the first size that a header cannot hold
_EXTENSION_BYTES = 1 << 20
_EXTENSIONS = 8  # headers before one member
_PIECE = 1 << 20
_SINGLE = frozenset(("path", "linkpath", "size"))


@dataclass(frozen=True, slots=True)
class Member:
    """What one header, with its extensions, says.

    Attributes:
        name: the path as written.
        kind: what it is; `other` for devices, fifos and types that are not known.
        mode: the permission bits, set-user-id and set-group-id included.
        size: bytes of the file, holes included.
        target: of either sort of link, as written.
        sparse: whether the archive leaves the holes of the file out.
    """

    name: str
    kind: Kind
    mode: int
    size: int
    target: str
    sparse: bool = False


def header(
    name: str, typeflag: bytes, *, size: int, mode: int, owner: tuple[int, int], mtime: int, target: str
) -> bytes:
    """The blocks before a member's data: a pax header for what ustar has no room for, then a ustar header.

    Args:
        name: the path.
        typeflag: one byte.
        size: of the data, in bytes.
        mode: permission bits.
        owner: user and group id, each below 2^21.
        mtime: seconds since 1970.
        target: of a link, else empty.
    """
    records: dict[str, str] = {}
    block = _ustar(_fit(name, "path", records), typeflag, size, mode, owner, mtime, _fit(target, "linkpath", records))
    if size >= _OCTAL:
        records["size"] = str(size)
    if not records:
        return block
    data = b"".join(_record(key, records[key]) for key in sorted(records))
    extension = _ustar(b"././@PaxHeader", b"x", len(data), 0o644, (0, 0), 0, b"")
    return extension + data + padding(len(data)) + block


def padding(size: int) -> bytes:
    """The NULs that fill the last block of `size` bytes of data."""
    return bytes(-size % BLOCK)


class Reader:
    """Members of a stream, one after the other; what is not read of one member's data is passed over.

    Args:
        stream: its `read(n)` may give fewer bytes than asked for, and gives none only at the end.
        extension: bytes of the longest extended header that is read.
    """

    def __init__(self, stream: BinaryIO, *, extension: int = _EXTENSION_BYTES) -> None:
        self._stream = stream
        self._longest = extension
        self._left = 0  # bytes of the member's data that were not read yet
        self._pad = 0  # NULs behind them
        self._layout: sparse.Layout | None = None

    def members(self) -> Iterator[Member]:
        """Each member in turn, until the end mark.

        Raises:
            TreeError: the stream is cut off (`truncated`), no tar (`format`), or a name is not UTF-8 (`path`).
            HarnessError: the stream cannot be read.
        """
        while (member := self._next()) is not None:
            yield member

    def data(self) -> Iterator[bytes]:
        """The bytes of the member that `members` gave last, holes filled with NULs. Raises as `members` does."""
        return self._body(self._left) if self._layout is None else self._layout.expand(self._body)

    def finish(self, most: int) -> None:
        """After the last member: read the rest of the stream, which may only be the NULs of a last record.

        Args:
            most: bytes that are read.

        Raises:
            TreeError: something stands behind the end mark, or too much of nothing (`format`).
        """
        rest = self._read(most + 1)
        if len(rest) > most or any(rest):
            raise TreeError("something stands behind the end of the tar", rule="format")

    def _next(self) -> Member | None:
        for skipped in (self._body(self._left), self._raw(self._pad)):
            for _ in skipped:
                pass
        extensions = _Extensions()
        for _ in range(_EXTENSIONS + 1):
            block = self._block()
            if not any(block):
                self._end(extensions)
                return None
            _check_sum(block)
            typeflag = block[156:157]
            if typeflag not in _Extensions.TYPES:
                return self._member(block, extensions)
            extensions.add(typeflag, self._extension(block))
        raise TreeError("too many extended headers before one member", rule="format")

    def _member(self, block: bytes, extensions: _Extensions) -> Member:
        records, typeflag = extensions.records, block[156:157]
        kind = _KINDS.get(typeflag, "other")
        name = records.get("GNU.sparse.name") or records.get("path") or extensions.name or _name(block)
        target = records.get("linkpath") or extensions.target or _text(block[157:257])
        stored = sparse.decimal(records["size"]) if "size" in records else sparse.number(block[124:136])
        if kind == "file" and name.endswith("/"):
            kind = "directory"  # as before POSIX
        if kind not in {"file", "other"} and stored:
            raise TreeError("data behind a link or directory", rule="format", where=ascii(name[:200]))
        self._left, self._pad, self._layout = stored, -stored % BLOCK, None
        if typeflag == b"S":
            self._layout = sparse.from_blocks(block, self._block)
        elif kind == "file":
            self._layout = sparse.from_pax(records, extensions.pairs, self._data_block)
        if self._layout is not None:
            self._layout.check(self._left)
        size = self._left if self._layout is None else self._layout.size
        return Member(name, kind, sparse.number(block[100:108]) & 0o7777, size, target, self._layout is not None)

    def _end(self, extensions: _Extensions) -> None:
        if extensions.seen:
            raise TreeError("an extended header without a member", rule="truncated")
        if any(self._read(BLOCK)):
            raise TreeError("a block of NULs between members", rule="format")

    def _extension(self, block: bytes) -> bytes:
        size = sparse.number(block[124:136])
        if size > self._longest:
            raise TreeError(f"an extended header of {size} bytes", rule="format")
        return b"".join(self._raw(size + -size % BLOCK))[:size]

    def _block(self) -> bytes:
        return b"".join(self._raw(BLOCK))

    def _data_block(self) -> bytes:
        if self._left < BLOCK:
            raise TreeError("a sparse map longer than its member", rule="format")
        return b"".join(self._body(BLOCK))

    def _body(self, size: int) -> Iterator[bytes]:
        for piece in self._raw(size):
            self._left -= len(piece)
            yield piece

    def _raw(self, size: int) -> Iterator[bytes]:
        while size > 0:
            piece = self._read(min(size, _PIECE))
            if not piece:
                raise TreeError("a tar stream is cut off", rule="truncated", fix="have its sender send it again")
            size -= len(piece)
            yield piece

    def _read(self, size: int) -> bytes:
        """As many bytes as asked for, fewer only at the end of the stream."""
        with disk.faults("cannot read a tar stream", ""):
            pieces = []
            while size > 0 and (piece := self._stream.read(size)):
                pieces.append(piece)
                size -= len(piece)
        return b"".join(pieces) if len(pieces) != 1 else pieces[0]


class _Extensions:
    """The extended headers before one member: pax records (x, g) and GNU's long names (L, K)."""

    TYPES = frozenset((b"x", b"g", b"L", b"K"))

    def __init__(self) -> None:
        self.seen: set[bytes] = set()
        self.pairs: list[tuple[str, str]] = []
        self.records: dict[str, str] = {}
        self.name = ""
        self.target = ""

    def add(self, typeflag: bytes, data: bytes) -> None:
        if typeflag == b"g":
            if any(key in _SINGLE or key.startswith("GNU.sparse.") for key, _ in _records(data)):
                raise TreeError("a global header that speaks of single members", rule="format")
            return
        if typeflag in self.seen or (typeflag != b"x" and b"x" in self.seen):
            raise TreeError("two extended headers that may disagree", rule="format")
        self.seen.add(typeflag)
        if typeflag == b"L":
            self.name = _text(data)
        elif typeflag == b"K":
            self.target = _text(data)
        else:
            self._pax(data)

    def _pax(self, data: bytes) -> None:
        for key, value in _records(data):
            if key in _SINGLE and (key in self.records or not value):
                raise TreeError(f"a pax header with {key} twice or empty", rule="format")
            self.pairs.append((key, value))
            self.records[key] = value
        if self.seen != {b"x"}:
            raise TreeError("two extended headers that may disagree", rule="format")


def _records(data: bytes) -> Iterator[tuple[str, str]]:
    """The records of a pax header: `<length> <key>=<value>`, a newline, the length counting all of it."""
    at = 0
    while at < len(data):
        digits = data[at : at + 8].partition(b" ")[0]
        length = int(digits) if digits.isdigit() else 0
        record = data[at + len(digits) + 1 : at + length]
        key, equals, value = record.partition(b"=")
        if at + length > len(data) or not equals or not key or not value.endswith(b"\n"):
            raise TreeError("a pax header that is not made of records", rule="format")
        yield _text(key), value[:-1].decode() if _is_text(value) else _foreign(key)
        at += length


def _foreign(key: bytes) -> str:
    """Records such as extended attributes may be any bytes, and say nothing to a tree; names may not."""
    if key in {b"path", b"linkpath"} or key.startswith(b"GNU.sparse."):
        raise TreeError("a name that is not UTF-8", rule="path")
    return ""


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _text(field: bytes) -> str:
    try:
        return field.partition(b"\0")[0].decode()
    except UnicodeDecodeError as error:
        raise TreeError("a name that is not UTF-8", rule="path", where=ascii(field[:200])) from error


def _name(block: bytes) -> str:
    name = _text(block[:100])
    prefix = _text(block[345:500]) if block[257:263] == b"ustar\0" else ""
    return f"{prefix}/{name}" if prefix else name


def _check_sum(block: bytes) -> None:
    if sparse.number(block[148:156]) != sum(block) - sum(block[148:156]) + 8 * 32:
        raise TreeError("not a tar header", rule="format")


def _fit(text: str, key: str, records: dict[str, str]) -> bytes:
    data = text.encode()
    if len(data) <= _FIELD and text.isascii():
        return data
    records[key] = text
    return data[:_FIELD].decode("ascii", "replace").replace("\ufffd", "_").encode()


def _record(key: str, value: str) -> bytes:
    body = f" {key}={value}\n".encode()
    length = len(body)
    while length != len(body) + len(str(length)):
        length = len(body) + len(str(length))
    return str(length).encode() + body


def _ustar(
    name: bytes, typeflag: bytes, size: int, mode: int, owner: tuple[int, int], mtime: int, target: bytes
) -> bytes:
    numbers = (
        f"{mode:07o}",
        f"{owner[0]:07o}",
        f"{owner[1]:07o}",
        f"{size if size < _OCTAL else 0:011o}",
        f"{mtime:011o}",
    )
    front = name.ljust(_FIELD, b"\0") + b"".join(text.encode() + b"\0" for text in numbers)
    back = typeflag + target.ljust(_FIELD, b"\0") + b"ustar\0" + b"00" + bytes(64) + b"0000000\0" * 2
    checksum = sum(front) + sum(back) + 8 * 32
    return (front + f"{checksum:06o}".encode() + b"\0 " + back).ljust(BLOCK, b"\0")
