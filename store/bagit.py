"""A bag: files with their digests in one tar, by BagIt 1.0 (RFC 8493). The same contents give the same bytes.

    first/bag-info.txt               External-Identifier: sha256:c0ff…
                                     Payload-Oxum: 41882010.3120
    first/bagit.txt                  BagIt-Version: 1.0
                                     Tag-File-Character-Encoding: UTF-8
    first/data/…                     the payload
    first/manifest-sha256.txt        2c26b46b…7ae  data/log/checkpoint
    first/tagmanifest-sha256.txt     the same of the three other files

Members are regular files, sorted by path, mode 0644, owner 0, time 0. `check` takes exactly what `write` makes, whoever
laid it into a tar: four tag files, one algorithm, no `fetch.txt`, each payload file in the manifest once. A manifest
says that a bag is whole, never that it is true: what is in it must bring its own proof. What belongs in one is
`ledger.release.export`'s.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, Self

from store import disk, tar
from store.archive import Caps
from store.digest import Digest
from store.errors import CheckFailed, HarnessError, InputError, RuleBroken
from store.extract import extract
from store.tree import TreeEntry, check_path

__all__ = ["CAPS", "Bag", "Source", "write"]

CAPS: Final = Caps(entries=2_000_000, total_bytes=1 << 40, file_bytes=1 << 38, path_bytes=512)
"""How much a bag may hold: above all that was ever cut, below what fills a file system unasked."""

_DECLARATION: Final = b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
_INFO, _BAGIT, _MANIFEST, _TAGS = "bag-info.txt", "bagit.txt", "manifest-sha256.txt", "tagmanifest-sha256.txt"
_TAGGED: Final = (_INFO, _BAGIT, _MANIFEST)
_LINE = re.compile(r"([0-9a-f]{64})  ([^\n\r]+)")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_LABEL = re.compile(r"[A-Za-z][A-Za-z-]*")
_ENCODED: Final = frozenset("%\n\r")
"""RFC 8493, section 2.1.3, encodes these in manifests; readers disagree about `%`, so no path here has one."""
_CHUNK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Source:
    """Where a payload file's bytes come from.

    Attributes:
        size: in bytes.
        pieces: gives them from the beginning.
    """

    size: int
    pieces: Callable[[], Iterator[bytes]]

    @classmethod
    def of(cls, data: bytes) -> Self:
        """These bytes."""
        return cls(len(data), lambda: iter((data,)))

    @classmethod
    def file(cls, path: Path) -> Self:
        """What a file holds."""
        with disk.faults("cannot read", path):
            size = path.stat().st_size

        def pieces() -> Iterator[bytes]:
            with disk.faults("cannot read", path), path.open("rb") as file:
                while piece := file.read(_CHUNK):
                    yield piece

        return cls(size, pieces)


def write(name: str, payload: Mapping[str, Source], info: Sequence[tuple[str, str]]) -> Iterator[bytes]:
    """The tar of a bag, piece by piece; a function of its arguments alone.

    Args:
        name: of the folder at the top.
        payload: path below `data/` → bytes.
        info: label and value of each line of bag-info.txt; `Payload-Oxum` is added.

    Raises:
        InputError: a name, path or label that a bag cannot have.
        HarnessError: a file has another size than it had.
    """
    if _NAME.fullmatch(name) is None:
        raise InputError(f"not the name of a bag: {name[:80]!r}", fix="use letters, digits and . _ -")
    oxum = f"{sum(source.size for source in payload.values())}.{len(payload)}"
    tags = {_INFO: _format_info([*info, ("Payload-Oxum", oxum)]), _BAGIT: _DECLARATION}
    for tag in (_INFO, _BAGIT):
        yield from _member(f"{name}/{tag}", Source.of(tags[tag]), hashlib.sha256())
    digests: dict[str, Digest] = {}
    for path in sorted(payload):
        check_path(path)
        if _ENCODED.intersection(path):
            raise InputError("a path that manifests must encode, and readers disagree how", where=ascii(path[:200]))
        hasher = hashlib.sha256()
        yield from _member(f"{name}/data/{path}", payload[path], hasher)
        digests[f"data/{path}"] = Digest(hasher.hexdigest())
    tags[_MANIFEST] = _format_manifest(digests)
    tags[_TAGS] = _format_manifest({tag: Digest.of(tags[tag]) for tag in _TAGGED})
    for tag in (_MANIFEST, _TAGS):
        yield from _member(f"{name}/{tag}", Source.of(tags[tag]), hashlib.sha256())
    yield tar.END


@dataclass(frozen=True, slots=True)
class Bag:
    """A bag that was taken apart and found whole.

    Attributes:
        root: its folder; the payload is in `root / "data"`.
        info: the lines of bag-info.txt.
    """

    root: Path
    info: tuple[tuple[str, str], ...]

    @property
    def data(self) -> Path:
        """The payload's folder."""
        return self.root / "data"

    @classmethod
    def open(cls, stream: BinaryIO, target: Path, caps: Caps = CAPS) -> Self:
        """Take a bag apart into a new folder, and check it against its manifests.

        Args:
            stream: a tar that nobody vouches for.
            target: a folder that does not exist yet; left there when the bag is not whole.
            caps: how much is taken.

        Raises:
            TreeError: the tar is refused (`store.extract`).
            RuleBroken: it is no bag, or not whole (`bag`); names the file.
            HarnessError: stream or disk failed.
        """
        entries = extract(stream, target, caps)
        tops = {entry.path.partition("/")[0] for entry in entries}
        if len(tops) != 1 or not all("/" in entry.path for entry in entries):
            raise _fault("not one folder with a bag in it", ", ".join(sorted(tops))[:200])
        top = tops.pop()
        files = {entry.path.removeprefix(f"{top}/"): entry for entry in entries}
        return cls(target / top, _check(target / top, files))


def _check(root: Path, files: Mapping[str, TreeEntry]) -> tuple[tuple[str, str], ...]:
    """Compare files with manifests; gives what bag-info.txt says."""
    for tag in (*_TAGGED, _TAGS):
        if tag not in files:
            raise _fault("the file is missing", tag)
    strange = sorted(path for path in files if not path.startswith("data/") and path not in {*_TAGGED, _TAGS})
    if strange:
        raise _fault("a file that no bag of this sort has", strange[0])
    found = {path: entry.digest for path, entry in files.items() if entry.digest is not None}
    _compare(_parse_manifest(root, _TAGS), {tag: found[tag] for tag in _TAGGED}, _TAGS)
    if (root / _BAGIT).read_bytes() != _DECLARATION:
        raise _fault("not a bag of version 1.0 in UTF-8", _BAGIT)
    payload = {path: digest for path, digest in found.items() if path.startswith("data/")}
    _compare(_parse_manifest(root, _MANIFEST), payload, _MANIFEST)
    info = _parse_info(root)
    oxum = f"{sum(files[path].size for path in payload)}.{len(payload)}"
    if dict(info).get("Payload-Oxum") != oxum:
        raise _fault(f"its Payload-Oxum is not {oxum}", _INFO)
    return info


def _compare(said: Mapping[str, Digest], found: Mapping[str, Digest], manifest: str) -> None:
    for path in sorted({*said, *found}):
        if path not in found:
            raise _fault(f"{manifest} names it, and it is missing", path)
        if path not in said:
            raise _fault(f"it is not in {manifest}", path)
        if said[path] != found[path]:
            raise _fault(f"its bytes hash to {found[path]}, {manifest} says {said[path]}", path)


def _member(path: str, source: Source, hasher: hashlib._Hash) -> Iterator[bytes]:
    yield tar.header(path, b"0", size=source.size, mode=0o644, owner=(0, 0), mtime=0, target="")
    size = 0
    for piece in source.pieces():
        size += len(piece)
        hasher.update(piece)
        if size <= source.size:
            yield piece
    if size != source.size:
        raise HarnessError("the file changed while it was read", where=path, fix="run it again")
    yield tar.padding(size)


def _format_manifest(digests: Mapping[str, Digest]) -> bytes:
    return "".join(f"{digests[path].hex}  {path}\n" for path in sorted(digests)).encode()


def _parse_manifest(root: Path, name: str) -> dict[str, Digest]:
    found: dict[str, Digest] = {}
    for line in _lines(root, name):
        match = _LINE.fullmatch(line)
        if match is None:
            raise _fault(f"a line that is not a digest and a path: {line[:80]!a}", name)
        found[match[2]] = Digest(match[1])
    if _format_manifest(found) != (root / name).read_bytes():
        raise _fault("not sorted by path, or a path stands twice", name)
    return found


def _format_info(info: Iterable[tuple[str, str]]) -> bytes:
    lines = []
    for label, value in info:
        if _LABEL.fullmatch(label) is None or not value.isprintable() or value != value.strip() or not value:
            raise InputError(f"not a line of bag-info.txt: {label[:40]!r}: {value[:80]!r}")
        lines.append(f"{label}: {value}\n")
    return "".join(lines).encode()


def _parse_info(root: Path) -> tuple[tuple[str, str], ...]:
    pairs = [line.partition(": ")[::2] for line in _lines(root, _INFO)]
    try:
        same = _format_info(pairs) == (root / _INFO).read_bytes()
    except InputError as error:
        raise _fault(error.what, _INFO) from error
    if not same:
        raise _fault("not lines of label and value", _INFO)
    return tuple(pairs)


def _lines(root: Path, name: str) -> list[str]:
    try:
        text = (root / name).read_bytes().decode()
    except UnicodeDecodeError as error:
        raise _fault("not UTF-8", name) from error
    lines = text.split("\n")
    if lines.pop():
        raise _fault("its last line does not end", name)
    return lines


def _fault(what: str, where: str) -> CheckFailed:
    return RuleBroken("bag", what, where=where, fix="get the bag again from who made it")
