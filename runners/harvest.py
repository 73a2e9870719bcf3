"""The workspace, taken out of its volume into the store, entry by entry, never extracted on the host.

    harvest = take(keeper.get(), store, caps(workspace=1 << 30))
    harvest.tree            # None when `refused` says why
    harvest.rejected        # (Rejected("run", "device"), Rejected("escape", "link"))

The engine writes the stream when every process of the Candidate is dead, so no byte of its form is the Candidate's;
names, kinds, links and sizes are. What a tree cannot hold is left out and noted, one entry at a time: devices and fifos
(`device`), links that are absolute or lead out (`link`), names that would collide elsewhere (`duplicate`), paths that
are no paths (`path`). A set-user-id bit is dropped and noted (`setuid`). Git's folders are passed over, and so are
links into `/deps`, which every build has again. Caps end the harvest: such a workspace is refused (`harvest-limit`).
"""

from __future__ import annotations

import io
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Final, cast

from runners.backend import BackendFailure
from store import tar
from store.archive import Caps
from store.errors import TreeError
from store.objects import CHUNK, ObjectStore
from store.tree import Tree, TreeEntry, check_path

__all__ = ["Caps", "Harvest", "Rejected", "caps", "is_git", "stream_of", "take"]

ENTRIES: Final = 50_000
"""Files, links and directories that a workspace may hold."""
FILE_BYTES: Final = 256 << 20
"""The largest single file."""
PATH_BYTES: Final = 1024
"""The longest path."""

_ROOT: Final = "workspace"
_DEPS: Final = "/deps"
_REPAIRS: Final = 64  # collisions and link knots that are taken out one by one before a workspace is refused


@dataclass(frozen=True, slots=True)
class Rejected:
    """An entry that was left out, and the rule that it broke."""

    path: str
    rule: str


@dataclass(frozen=True, slots=True)
class Harvest:
    """What was found.

    Attributes:
        tree: not yet stored as an object, its files are; null when refused.
        refused: `harvest-limit` or `no-output`.
        rejected: what was left out, in the order of its discovery.
        detail: why it was refused, for people.
    """

    tree: Tree | None
    refused: str | None
    rejected: tuple[Rejected, ...]
    detail: str = ""


def caps(workspace: int) -> Caps:
    """The caps that go with a workspace of at most so many bytes."""
    return Caps(entries=ENTRIES, total_bytes=workspace, file_bytes=min(FILE_BYTES, workspace), path_bytes=PATH_BYTES)


def take(chunks: Iterable[bytes], store: ObjectStore, limits: Caps) -> Harvest:
    """Store the files of the engine's tar of a workspace and list them.

    Raises:
        BackendFailure: the stream breaks off (`harvest-transport`).
        HarnessError: the disk refused.
    """
    intake = _Intake(store, limits)
    reader = tar.Reader(stream_of(chunks))
    try:
        for member in reader.members():
            intake.take(member, reader)
        tree = intake.tree()
    except TreeError as error:
        if error.rule == "truncated":
            raise BackendFailure("harvest-transport", f"the workspace cannot be read: {error}") from error
        return Harvest(None, "harvest-limit", tuple(intake.rejected), str(error))
    if not tree.entries:
        return Harvest(None, "no-output", tuple(intake.rejected), "the workspace is empty")
    return Harvest(tree, None, tuple(intake.rejected))


def is_git(path: str) -> bool:
    """Whether a path is a git folder or something in one."""
    return any(name.lower() == ".git" for name in path.split("/"))


@dataclass(slots=True)
class _Intake:
    store: ObjectStore
    limits: Caps
    entries: dict[str, TreeEntry] = field(default_factory=dict)
    rejected: list[Rejected] = field(default_factory=list)
    members: int = 0
    total: int = 0

    def take(self, member: tar.Member, reader: tar.Reader) -> None:
        """Keep one member, or note why not."""
        self.members += 1
        if self.members > self.limits.entries:
            raise TreeError(f"more than {self.limits.entries} entries", rule="limit-entries")
        name = member.name.removesuffix("/")
        root, _, path = name.partition("/")
        if root != _ROOT:
            raise TreeError("a member outside the workspace", rule="path", where=ascii(name[:200]))
        if not path or is_git(path):
            return
        try:
            entry = self._entry(member, path, reader)
        except _LeftOut as reason:
            self.rejected.append(Rejected(path, reason.rule))
            return
        if entry is not None:
            self.entries[path] = entry

    def _entry(self, member: tar.Member, path: str, reader: tar.Reader) -> TreeEntry | None:
        self._check_path(path)
        if member.kind == "directory":
            return TreeEntry.directory(path)
        if member.kind == "link":
            return _link(member.target, path)
        if member.kind == "hardlink":
            return self._hard_link(member, path)
        if member.kind != "file":
            raise _LeftOut("device")
        self._count(member.size, path)
        if member.mode & (stat.S_ISUID | stat.S_ISGID):
            self.rejected.append(Rejected(path, "setuid"))
        if member.size <= CHUNK:
            digest = self.store.put_bytes(b"".join(reader.data()))
        else:
            digest, _ = self.store.put_stream(reader.data())
        return TreeEntry.file(path, digest, member.size, executable=bool(member.mode & stat.S_IXUSR))

    def _check_path(self, path: str) -> None:
        try:
            check_path(path)
        except TreeError as error:
            raise _LeftOut("path") from error
        if len(path.encode()) > self.limits.path_bytes:
            raise _LeftOut("path")

    def _hard_link(self, member: tar.Member, path: str) -> TreeEntry:
        earlier = self.entries.get(member.target.partition("/")[2])
        if earlier is None or earlier.digest is None:
            raise _LeftOut("link")  # its file was passed over or left out
        self._count(earlier.size, path)
        return TreeEntry.file(path, earlier.digest, earlier.size, executable=earlier.mode == "100755")

    def _count(self, size: int, path: str) -> None:
        """Refuse by the size that the header tells, before a byte of a sparse file's holes is read."""
        if size > self.limits.file_bytes:
            raise TreeError(f"a file of {size} bytes", rule="limit-file", where=path)
        self.total += size
        if self.total > self.limits.total_bytes:
            raise TreeError(f"more than {self.limits.total_bytes} bytes in all", rule="limit-bytes", where=path)

    def tree(self) -> Tree:
        """The tree of what was kept, less what collides or leads out by way of other links."""
        for _ in range(_REPAIRS):
            try:
                return Tree.of(self.entries.values())
            except TreeError as error:
                gone = [path for path in self.entries if path == error.where or path.startswith(f"{error.where}/")]
                if not gone:
                    raise
                self.rejected.append(Rejected(error.where, error.rule))
                for path in gone:
                    del self.entries[path]
        return Tree.of(self.entries.values())


class _LeftOut(Exception):  # noqa: N818  says what happens, and does not leave this module
    def __init__(self, rule: str) -> None:
        super().__init__(rule)
        self.rule = rule


def _link(target: str, path: str) -> TreeEntry | None:
    if target == _DEPS or target.startswith(f"{_DEPS}/"):
        return None
    entry = TreeEntry.link(path, target)
    try:
        Tree.of([entry])
    except TreeError as error:
        raise _LeftOut("link") from error
    return entry


class _Chunks(io.RawIOBase):
    """Chunks as a stream."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks: Iterator[bytes] = iter(chunks)
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def stream_of(chunks: Iterable[bytes]) -> BinaryIO:
    """Chunks as a file to read from."""
    return cast("BinaryIO", io.BufferedReader(_Chunks(chunks), 1 << 16))
