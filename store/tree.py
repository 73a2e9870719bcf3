"""A tree: a directory as a canonical listing, itself an object (`application/vnd.rbl.tree.v1+json`).

    {"entries":[{"digest":"sha256:2c26…","mode":"100644","path":"src/a.css","size":3},
                {"mode":"120000","path":"src/latest","target":"a.css"},
                {"mode":"040000","path":"src/none"}],
     "mediaType":"application/vnd.rbl.tree.v1+json"}

(on one line). Entries are sorted by UTF-8 path. Modes are git's: 100644, 100755 (executable by its owner), 120000
(link) and 040000, which stands for *empty* directories only: one directory, one listing, one digest. Owners, times
and every other mode bit do not exist here.

A `Tree` that exists is safe to write out on any file system: no path is absolute or has `..`, a backslash or NUL; no
two names, directories included, are equal under Unicode normalisation or case folding; nothing stands below a file or
a link; every link stays inside, read by its text and followed through the other links as a kernel would. This module
does no I/O.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, Literal, Self, cast, get_args

from store import canonical
from store.digest import Digest
from store.errors import InputError, TreeError

__all__ = ["MEDIA_TYPE", "Mode", "Tree", "TreeEntry", "check_path"]

MEDIA_TYPE: Final = "application/vnd.rbl.tree.v1+json"

Mode = Literal["100644", "100755", "120000", "040000"]

_MODES = frozenset(get_args(Mode))
_FILES = frozenset(("100644", "100755"))
_NAME_BYTES = 255  # NAME_MAX
_PATH_BYTES = 4095  # PATH_MAX without its NUL
_LINK_HOPS = 40  # MAXSYMLINKS of Linux
_LINK_STEPS = 64  # a link, on average, so that tangled links cannot cost more than their listing
_KEYS = {
    "100644": {"path", "mode", "digest", "size"},
    "100755": {"path", "mode", "digest", "size"},
    "120000": {"path", "mode", "target"},
    "040000": {"path", "mode"},
}


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A file, a link or an empty directory.

    Attributes:
        path: relative, `/` between components.
        mode: git's mode.
        digest: the object that holds a file's bytes; None for links and directories.
        size: of a file, in bytes; 0 for links and directories.
        target: of a link, relative to the link's own directory; None otherwise.
    """

    path: str
    mode: Mode
    digest: Digest | None = None
    size: int = 0
    target: str | None = None

    @classmethod
    def file(cls, path: str, digest: Digest, size: int, *, executable: bool = False) -> Self:
        """A regular file of `size` bytes."""
        return cls(path, "100755" if executable else "100644", digest, size)

    @classmethod
    def link(cls, path: str, target: str) -> Self:
        """A symbolic link."""
        return cls(path, "120000", target=target)

    @classmethod
    def directory(cls, path: str) -> Self:
        """An empty directory."""
        return cls(path, "040000")

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file, executable or not."""
        return self.mode in _FILES


@dataclass(frozen=True)
class Tree:
    """A checked, sorted listing. Make one with `Tree.of`; the constructor takes only what is already in order.

    Raises:
        TreeError: the entries break a rule of the module's page; `rule` is `path`, `duplicate`, `link` or `format`.
    """

    entries: tuple[TreeEntry, ...]

    def __post_init__(self) -> None:
        for entry in self.entries:
            _check_entry(entry)
        _check_order(self.entries)
        _check_places(self.entries)
        _check_links({entry.path: entry.target for entry in self.entries if entry.target is not None})

    @classmethod
    def of(cls, entries: Iterable[TreeEntry]) -> Self:
        """Sort the entries, and leave out directories that are not empty.

        Raises:
            TreeError: as for the class.
        """
        ordered = sorted(entries, key=lambda entry: entry.path)
        parents = set(_parents(entry.path for entry in ordered))
        return cls(tuple(e for e in ordered if e.mode != "040000" or e.path not in parents))

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Read exactly what `format` writes.

        Raises:
            CanonicalError: the bytes are not canonical JSON.
            TreeError: they are, and not those of a tree.
        """
        value = canonical.loads(data)
        if not isinstance(value, dict) or value.keys() != {"entries", "mediaType"} or value["mediaType"] != MEDIA_TYPE:
            raise TreeError(f"not a {MEDIA_TYPE}", rule="format")
        if not isinstance(value["entries"], list):
            raise TreeError("entries are not a list", rule="format")
        return cls(tuple(_parse_entry(entry) for entry in value["entries"]))

    def format(self) -> bytes:
        """The canonical bytes, whose SHA-256 is the tree's digest."""
        return canonical.dumps({"entries": [_format_entry(e) for e in self.entries], "mediaType": MEDIA_TYPE})

    @cached_property
    def digest(self) -> Digest:
        """The name of the tree as an object."""
        return Digest.of(self.format())

    @property
    def size(self) -> int:
        """The sum of the files' sizes in bytes."""
        return sum(entry.size for entry in self.entries)

    def __iter__(self) -> Iterator[TreeEntry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    @cached_property
    def _index(self) -> dict[str, TreeEntry]:
        return {entry.path: entry for entry in self.entries}

    def get(self, path: str) -> TreeEntry | None:
        """The entry at exactly this path, or None; a directory with something in it has no entry."""
        return self._index.get(path)

    def led_to(self, path: str) -> TreeEntry | None:
        """The entry that a path leads to, through links; None for a directory with something in it, or nothing."""
        at: list[str] = []
        ahead = path.split("/")[::-1]
        while ahead:  # ends: a tree has no links in circles, and none that leads out of it
            name = ahead.pop()
            if name == "..":
                at.pop()
            elif name not in {"", "."}:
                at.append(name)
                entry = self.get("/".join(at))
                if entry is not None and entry.target is not None:
                    at.pop()
                    ahead.extend(entry.target.split("/")[::-1])
        return self.get("/".join(at))

    def subtree(self, prefix: str) -> Tree:
        """What is below a directory, as a tree of its own; an empty tree where nothing is.

        Raises:
            TreeError: the prefix is a file or a link, or a link below it points out of it.
        """
        if prefix in {"", "."}:
            return self
        check_path(prefix)
        entry = self.get(prefix)
        if entry is not None and entry.mode != "040000":
            raise TreeError("not a directory", where=prefix)
        start = prefix + "/"
        below = (entry for entry in self.entries if entry.path.startswith(start))
        return Tree(tuple(replace(entry, path=entry.path[len(start) :]) for entry in below))

    def under(self, prefix: str) -> Tree:
        """The same entries, each below a directory `prefix`.

        Raises:
            TreeError: the prefix is no path for a tree.
        """
        if prefix in {"", "."}:
            return self
        check_path(prefix)
        return Tree(tuple(replace(entry, path=f"{prefix}/{entry.path}") for entry in self.entries))

    def merge(self, other: Tree) -> Tree:
        """Both trees in one; the same entry may stand in both.

        Raises:
            TreeError: they disagree about a path (`duplicate`), or the union is no tree.
        """
        return Tree.of(dict.fromkeys((*self.entries, *other.entries)))


def check_path(path: str) -> None:
    """Refuse a path that no tree may hold.

    Raises:
        TreeError: with rule `path`.
    """
    fault = _path_fault(path)
    if fault:
        raise TreeError(fault, rule="path", where=ascii(path[:200]))


def _path_fault(path: str) -> str:
    if "\0" in path or "\\" in path:
        return "a path with a NUL or a backslash"
    try:
        encoded = path.encode()
    except UnicodeEncodeError:
        return "a path that is not UTF-8"
    if len(encoded) > _PATH_BYTES:
        return f"a path longer than {_PATH_BYTES} bytes"
    for name in encoded.split(b"/"):
        if name in {b"", b".", b".."}:
            return "a path that is absolute, or has an empty, `.` or `..` component"
        if len(name) > _NAME_BYTES:
            return f"a name longer than {_NAME_BYTES} bytes"
    return ""


def _check_entry(entry: TreeEntry) -> None:
    check_path(entry.path)
    if entry.mode not in _MODES:
        raise TreeError(f"mode {entry.mode!r} is not one of a tree", rule="format", where=entry.path)
    file, link = entry.mode in _FILES, entry.mode == "120000"
    if (entry.digest is not None) != file or (entry.target is not None) != link:
        raise TreeError("a file has a digest, a link a target, and neither the other", rule="format", where=entry.path)
    if not 0 <= entry.size < (canonical.INTEGER_LIMIT if file else 1):
        raise TreeError(f"a size of {entry.size} bytes", rule="format", where=entry.path)


def _parents(paths: Iterable[str]) -> Iterator[str]:
    """Each directory that the paths imply, once."""
    seen: set[str] = set()
    for path in paths:
        cut = path.rfind("/")
        while cut > 0:
            parent = path[:cut]
            if parent in seen:
                break
            seen.add(parent)
            yield parent
            cut = parent.rfind("/")


def _check_order(entries: tuple[TreeEntry, ...]) -> None:
    for before, after in pairwise(entries):
        if before.path == after.path:
            raise TreeError("a path stands twice", rule="duplicate", where=after.path)
        if before.path > after.path:  # code points sort as their UTF-8 does
            raise TreeError("entries are not sorted by path", rule="format", where=after.path)


def _check_places(entries: tuple[TreeEntry, ...]) -> None:
    parents = set(_parents(entry.path for entry in entries))
    for entry in entries:
        if entry.path in parents:
            _refuse_parent(entry)
    names: dict[str, str] = {}
    for path in (*parents, *(entry.path for entry in entries)):
        other = names.setdefault(_fold(path), path)
        if other != path:
            first, second = sorted((other, path))
            what = f"{first!a} and {second!a} are one name where case or Unicode form does not count"
            raise TreeError(what, rule="duplicate", where=second)


def _refuse_parent(entry: TreeEntry) -> None:
    if entry.mode == "040000":
        raise TreeError("a directory that is not empty has no entry", rule="format", where=entry.path)
    rule, kind = ("link", "a link") if entry.mode == "120000" else ("path", "a file")
    raise TreeError(f"{kind} has entries below it", rule=rule, where=entry.path)


def _fold(path: str) -> str:
    """Canonical caseless form (Unicode 15, section 3.13, D145)."""
    if path.isascii():
        return path.lower()
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", path).casefold())


def _check_links(links: dict[str, str]) -> None:
    steps = 4096 + _LINK_STEPS * len(links)
    for path, target in links.items():
        if not _is_target(target):
            raise TreeError(f"a link to {target[:200]!a}, which no tree may hold", rule="link", where=path)
        if _leaves(path, target):
            raise TreeError(f"a link that leads out of the tree: {target[:200]!a}", rule="link", where=path)
        steps = _follow(path, links, steps)


def _is_target(target: str) -> bool:
    try:
        encoded = target.encode()
    except UnicodeEncodeError:
        return False
    if not encoded or encoded.startswith(b"/") or b"\0" in encoded or b"\\" in encoded or len(encoded) > _PATH_BYTES:
        return False
    return all(len(name) <= _NAME_BYTES for name in encoded.split(b"/"))


def _leaves(path: str, target: str) -> bool:
    """Whether a reader that takes `..` by the text alone, as `normpath` does, would come out above the tree."""
    depth = path.count("/")
    for name in target.split("/"):
        depth += {"": 0, ".": 0, "..": -1}.get(name, 1)
        if depth < 0:
            return True
    return False


def _follow(path: str, links: dict[str, str], steps: int) -> int:
    """Walk from a link to where it leads, as path_resolution(7) says; returns the steps that are left."""
    at = path.split("/")[:-1]
    ahead = links[path].split("/")[::-1]
    hops = 0
    while ahead:
        steps -= 1
        name = ahead.pop()
        if name in {"", "."}:
            continue
        if name == "..":
            if not at:
                raise TreeError(f"a link that leads out of the tree: {links[path][:200]!a}", rule="link", where=path)
            at.pop()
            continue
        at.append(name)
        target = links.get("/".join(at))
        if target is not None:
            hops += 1
            at.pop()
            ahead.extend(target.split("/")[::-1])
        if hops > _LINK_HOPS or steps < 0:
            raise TreeError("links that lead round in circles", rule="link", where=path)
    return steps


def _format_entry(entry: TreeEntry) -> dict[str, canonical.Json]:
    value: dict[str, canonical.Json] = {"path": entry.path, "mode": entry.mode}
    if entry.digest is not None:
        value |= {"digest": str(entry.digest), "size": entry.size}
    if entry.target is not None:
        value["target"] = entry.target
    return value


def _parse_entry(value: Any) -> TreeEntry:
    mode = value.get("mode") if isinstance(value, dict) else None
    if not isinstance(mode, str) or mode not in _KEYS or value.keys() != _KEYS[mode]:
        raise TreeError("an entry without exactly the fields of its mode", rule="format")
    size = value.get("size", 0)
    if not all(isinstance(value.get(name, ""), str) for name in ("path", "digest", "target")) or type(size) is not int:
        raise TreeError("a field of an entry has the wrong type", rule="format")
    try:
        digest = Digest.parse(value["digest"]) if "digest" in value else None
    except InputError as error:
        raise TreeError("the digest of an entry is none", rule="format", where=ascii(value["path"][:200])) from error
    return TreeEntry(value["path"], cast("Mode", mode), digest, size, value.get("target"))
