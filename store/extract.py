"""Takes an untrusted tar apart into a new folder: regular files only, all of them or nothing.

    found = extract(stream, Path("copy"), Caps(entries=100_000, total_bytes=8 << 30, file_bytes=1 << 30, path_bytes=99))
    found[0]     TreeEntry("first/bag-info.txt", "100644", sha256:2c26…, 312): hashed on its way to the disk

Why it is safe: every path is checked as a tree's is (absolute, `..`, NUL, backslash, names that differ only by case or
Unicode form); links, hard links, devices and sparse files are refused, not followed; sizes are counted before a byte
is written; extended headers are short; nothing may stand behind the end mark. Files go into a folder of a fresh name
beside the target, opened so that nothing is written through a link or over a file, which gets its name only when the
last member was good. Modes, owners and times of the archive are not used. Errors are `TreeError`s that name the entry,
with the rules of `store.archive`, and `sparse`. Directories are allowed and say nothing: they appear with their files.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from store import disk, tar
from store.archive import Caps
from store.digest import Digest
from store.errors import Conflict, TreeError
from store.tree import Tree, TreeEntry, check_path

__all__ = ["extract"]

_EXTENSION: Final = 8192  # bytes of an extended header: twice the longest path
_RECORD: Final = 1 << 20  # NULs behind the end mark: GNU tar fills records of 10 KiB, others of up to 1 MiB
_FILE, _FOLDER = 0o644, 0o755


def extract(stream: BinaryIO, target: Path, caps: Caps) -> tuple[TreeEntry, ...]:
    """Write the files of a tar to a folder that does not exist yet.

    Args:
        stream: read to its end.
        target: the new folder.
        caps: checked before anything is written.

    Returns:
        The files, sorted by path.

    Raises:
        TreeError: a member, or the tar, is refused; nothing is left behind.
        Conflict: the target exists.
        HarnessError: stream or disk failed; nothing is left behind.
    """
    with _fresh(target) as place:
        taken = _Taken(place, caps)
        reader = tar.Reader(stream, extension=_EXTENSION)
        last = "the beginning"
        try:
            for member in reader.members():
                last = ascii(member.name[:200])
                taken.take(member, reader)
            last = "the end mark"
            reader.finish(_RECORD)
        except TreeError as error:
            if error.where:
                raise
            raise TreeError(error.what, rule=error.rule, where=f"after {last}", fix=error.fix) from error
        # what no file system may be asked to hold: names that are one where case or Unicode form does not count
        return tuple(entry for entry in Tree.of(taken.files.values()) if entry.is_file)


@contextmanager
def _fresh(target: Path) -> Iterator[Path]:
    """A folder beside the target that becomes the target when the block ends well, and goes when it does not."""
    if os.path.lexists(target):
        raise Conflict("there is something of that name", where=str(target), fix="choose a new name")
    with disk.faults("cannot make a folder", target.parent):
        place = Path(tempfile.mkdtemp(prefix=f".{target.name[:40]}.", dir=target.parent))
    try:
        yield place
        with disk.faults("cannot put the folder in its place", target):
            place.chmod(_FOLDER)
            try:
                target.mkdir()  # rename(2) replaces an empty directory, and this one is ours
            except FileExistsError as error:
                raise Conflict("there is something of that name", where=str(target)) from error
            place.rename(target)
    except BaseException:
        shutil.rmtree(place)
        raise


class _Taken:
    """What was written so far, and the caps upon it."""

    def __init__(self, place: Path, caps: Caps) -> None:
        self.files: dict[str, TreeEntry] = {}
        self._place = place
        self._caps = caps
        self._folders = {""}
        self._members = 0
        self._total = 0

    def take(self, member: tar.Member, reader: tar.Reader) -> None:
        """Write the next member, or refuse it (`TreeError`)."""
        self._members += 1
        path = self._path(member)
        if self._members > self._caps.entries:
            raise TreeError(f"more than {self._caps.entries} members", rule="limit-entries", where=ascii(path))
        if member.kind in {"link", "hardlink"}:
            raise TreeError("a link where only files belong", rule="link", where=ascii(path))
        if member.kind == "other":
            raise TreeError("a device, fifo, or unknown kind of member", rule="device", where=ascii(path))
        if member.kind == "directory":
            self._folder(path, path)
            return
        if member.sparse:
            raise TreeError("a sparse file, which readers may take for another", rule="sparse", where=ascii(path))
        if path in self.files or path in self._folders:
            raise TreeError("a path stands twice", rule="duplicate", where=ascii(path))
        self._count(member.size, path)
        self._folder(path.rpartition("/")[0], path)
        self.files[path] = TreeEntry.file(path, self._write(path, reader), member.size)

    def _path(self, member: tar.Member) -> str:
        path = member.name.removesuffix("/") if member.kind == "directory" else member.name
        check_path(path)
        if len(path.encode()) > self._caps.path_bytes:
            raise TreeError(f"a path longer than {self._caps.path_bytes} bytes", where=ascii(path[:200]))
        return path

    def _count(self, size: int, path: str) -> None:
        if size > self._caps.file_bytes:
            what = f"a file of {size} bytes; {self._caps.file_bytes} are allowed"
            raise TreeError(what, rule="limit-file", where=ascii(path))
        self._total += size
        if self._total > self._caps.total_bytes:
            raise TreeError(f"more than {self._caps.total_bytes} bytes in all", rule="limit-bytes", where=ascii(path))

    def _folder(self, path: str, member: str) -> None:
        """Make a folder and those above it, for a member."""
        parts = path.split("/") if path else []
        for depth in range(1, len(parts) + 1):
            folder = "/".join(parts[:depth])
            if folder in self.files:
                raise TreeError("a file has entries below it", where=ascii(member))
            if folder not in self._folders:
                self._folders.add(folder)
                with disk.faults("cannot make a folder", self._place / folder):
                    try:
                        (self._place / folder).mkdir(mode=_FOLDER)
                    except FileExistsError as error:  # on a file system where case does not count
                        raise TreeError("a name stands twice", rule="duplicate", where=ascii(folder)) from error

    def _write(self, path: str, reader: tar.Reader) -> Digest:
        hasher = hashlib.sha256()
        place = self._place / path
        with disk.faults("cannot write a file", place):
            try:
                descriptor = disk.create(place, _FILE)
            except FileExistsError as error:
                raise TreeError("a name stands twice", rule="duplicate", where=ascii(path)) from error
        try:
            for piece in reader.data():
                hasher.update(piece)
                with disk.faults("cannot write a file", place):
                    disk.write(descriptor, piece)
        finally:
            os.close(descriptor)
        return Digest(hasher.hexdigest())
