"""Trees in and out of tar streams, never by way of a directory.

    for piece in pack(store, tree, prefix="workspace"): send(piece)       # the same tree, the same bytes, for ever
    tree = unpack(stream, store, Caps(entries=50_000, total_bytes=2 << 30, file_bytes=256 << 20, path_bytes=1024))

`pack` writes ustar with pax headers where names are long or not ASCII: directories before what they hold, one owner,
one time. `unpack` reads what a container that ran untrusted code sends: each file goes from the stream into the store,
and the first fault ends it with a `TreeError` whose `rule` is stable:

    path            absolute, `..`, backslash, NUL, not UTF-8, too long, below a file
    duplicate       a name twice, or names that differ only by case or Unicode form
    link            a link that leads out, a hard link to anything but an earlier file, an entry below a link
    device          devices, fifos, and kinds of member that are not known
    setuid          a file that would run as another user or group
    limit-entries   more members than the caps allow        limit-bytes   more bytes in all
    limit-file      a file larger than the caps allow       truncated     the stream ends early
    format          not a tar, or one that readers disagree about

Sparse files become whole, and count as such before a byte is written. What was stored before a fault stays, as
objects that nothing names.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from store import tar
from store.errors import TreeError
from store.objects import CHUNK, ObjectStore
from store.tree import Tree, TreeEntry, check_path

__all__ = ["Caps", "pack", "unpack", "unpack_plain"]


@dataclass(frozen=True, slots=True)
class Caps:
    """How much an archive may hold.

    Attributes:
        entries: members, directories included.
        total_bytes: bytes of all files together, holes included.
        file_bytes: bytes of one file, holes included.
        path_bytes: UTF-8 bytes of one path, and of one link's target.
    """

    entries: int
    total_bytes: int
    file_bytes: int
    path_bytes: int


def pack(
    store: ObjectStore, tree: Tree, *, prefix: str = "", uid: int = 10001, gid: int = 10001, mtime: int = 0
) -> Iterator[bytes]:
    """The tar of a tree, piece by piece; a function of its arguments alone.

    Args:
        store: holds the tree's files.
        tree: what to write.
        prefix: a directory to put it below; it gets a member itself, the directories above it do not.
        uid: owner of every member.
        gid: group of every member.
        mtime: seconds since 1970, of every member.

    Raises:
        ObjectMissing, ObjectCorrupt: as `ObjectStore.get`.
        TreeError: an object has another size than its entry says (`size`); `prefix` is no path.
    """
    owner = (uid, gid)

    def directory(path: str) -> bytes:
        return tar.header(path + "/", b"5", size=0, mode=0o755, owner=owner, mtime=mtime, target="")

    start = f"{prefix}/" if prefix else ""
    if prefix:
        check_path(prefix)
        yield directory(prefix)
    made = {""}
    for entry in tree:
        for parent in _new_parents(entry.path, made):
            yield directory(start + parent)
        name = start + entry.path
        if entry.mode == "040000":
            yield directory(name)
        elif entry.target is not None:
            yield tar.header(name, b"2", size=0, mode=0o777, owner=owner, mtime=mtime, target=entry.target)
        else:
            mode = 0o755 if entry.mode == "100755" else 0o644
            yield tar.header(name, b"0", size=entry.size, mode=mode, owner=owner, mtime=mtime, target="")
            yield from _exact(store, entry)
    yield tar.END


def unpack(stream: BinaryIO, store: ObjectStore, caps: Caps, *, exclude: Callable[[str], bool] | None = None) -> Tree:
    """Store the files of an untrusted tar and give the listing. Neither the listing is stored nor the store flushed.

    Args:
        stream: read to the end mark of the tar, and no further than the block after it.
        store: where files go.
        caps: checked before anything is kept.
        exclude: told each path; what it says yes to is read over, a directory with all below it, whatever it
            is. It counts as a member, not as bytes.

    Raises:
        TreeError: `rule` is one of the module's page.
        HarnessError: the stream or the disk failed.
    """
    intake = _Intake(store, caps, exclude)
    reader = tar.Reader(stream)
    for member in reader.members():
        intake.take(member, reader)
    return Tree.of(intake.entries.values())


def unpack_plain(stream: BinaryIO, store: ObjectStore, caps: Caps) -> Tree:
    """As `unpack`, and refuses links of both sorts (`link`): for archives whose writer makes none."""
    intake = _Intake(store, caps, None)
    reader = tar.Reader(stream)
    for member in reader.members():
        if member.kind in {"link", "hardlink"}:
            raise TreeError("a link where only files belong", rule="link", where=ascii(member.name[:200]))
        intake.take(member, reader)
    return Tree.of(intake.entries.values())


@dataclass(slots=True)
class _Intake:
    """What has been taken so far, and the caps upon it."""

    store: ObjectStore
    caps: Caps
    exclude: Callable[[str], bool] | None
    entries: dict[str, TreeEntry] = field(default_factory=dict)
    excluded: set[str] = field(default_factory=set)
    members: int = 0
    total: int = 0

    def take(self, member: tar.Member, reader: tar.Reader) -> None:
        """Take the next member in, or refuse it (`TreeError`)."""
        self.members += 1
        if self.members > self.caps.entries:
            raise TreeError(f"more than {self.caps.entries} members", rule="limit-entries")
        path = self._path(member.name)
        if not path:
            if member.kind != "directory":
                raise TreeError("the root of a tar is not a directory", rule="path")
            return
        if self._is_excluded(path):
            return
        self._check(member, path)
        if path in self.entries:
            raise TreeError("a path stands twice", rule="duplicate", where=path)
        self.entries[path] = self._entry(member, path, reader)

    def _path(self, name: str) -> str:
        """The path in a tree: without the `./` before it that tar writes, and the `/` behind a directory."""
        path = name
        while path.startswith("./"):
            path = path[2:]
        path = path.removesuffix("/") if path != "/" else path
        if path in {"", "."} and name:
            return ""
        check_path(path)
        if len(path.encode()) > self.caps.path_bytes:
            raise TreeError(f"a path longer than {self.caps.path_bytes} bytes", rule="path", where=ascii(path[:200]))
        return path

    def _check(self, member: tar.Member, path: str) -> None:
        if member.kind == "other":
            raise TreeError("a device, fifo, or unknown kind of member", rule="device", where=path)
        if member.kind != "directory" and member.mode & (stat.S_ISUID | stat.S_ISGID):
            raise TreeError("a file that would run as its owner or group", rule="setuid", where=path)
        if member.kind == "link" and len(member.target.encode()) > self.caps.path_bytes:
            raise TreeError("a link with an overlong target", rule="link", where=path)

    def _is_excluded(self, path: str) -> bool:
        if self.exclude is None:
            return False
        parent = path.rpartition("/")[0]
        return (bool(parent) and self._is_excluded(parent)) or self.exclude(path)

    def _entry(self, member: tar.Member, path: str, reader: tar.Reader) -> TreeEntry:
        if member.kind == "directory":
            return TreeEntry.directory(path)
        if member.kind == "link":
            return TreeEntry.link(path, member.target)
        if member.kind == "hardlink":
            return self._hard_link(member, path)
        self._count(member.size, path)
        if member.size <= CHUNK:
            digest = self.store.put_bytes(b"".join(reader.data()))
        else:
            digest, _ = self.store.put_stream(reader.data())
        return TreeEntry.file(path, digest, member.size, executable=bool(member.mode & stat.S_IXUSR))

    def _hard_link(self, member: tar.Member, path: str) -> TreeEntry:
        try:
            earlier = self.entries.get(self._path(member.target))
        except TreeError as error:
            raise TreeError("a hard link that leads out of the tar", rule="link", where=path) from error
        if earlier is None or not earlier.is_file:
            raise TreeError("a hard link to what is no earlier file", rule="link", where=path)
        self._count(earlier.size, path)
        return replace(earlier, path=path)

    def _count(self, size: int, path: str) -> None:
        if size > self.caps.file_bytes:
            raise TreeError(
                f"a file of {size} bytes; {self.caps.file_bytes} are allowed", rule="limit-file", where=path
            )
        self.total += size
        if self.total > self.caps.total_bytes:
            raise TreeError(f"more than {self.caps.total_bytes} bytes in all", rule="limit-bytes", where=path)


def _new_parents(path: str, made: set[str]) -> list[str]:
    missing = []
    parent = path.rpartition("/")[0]
    while parent not in made:
        missing.append(parent)
        made.add(parent)
        parent = parent.rpartition("/")[0]
    return missing[::-1]


def _exact(store: ObjectStore, entry: TreeEntry) -> Iterator[bytes]:
    """A file's data and padding, or an error where its size is not the one that the header has promised."""
    assert entry.digest is not None
    size = store.size(entry.digest)
    if size != entry.size:
        what = f"a tree says {entry.size} bytes of an object that has {size}"
        raise TreeError(what, rule="size", where=f"{entry.path}, {entry.digest}")
    yield from store.stream(entry.digest)
    yield tar.padding(size)
