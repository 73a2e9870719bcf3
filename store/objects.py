"""The object store: immutable bytes, each in a file named by its SHA-256.

    objects/
      layout.json                  {"algorithm":"sha256","layout":"rbl/objects/v1"}
      sha256/2c/26b46b68…7ae       the object sha256:2c26b46b68…7ae
      tmp/  quarantine/  pins/  removing/  index/

Writing: a new temporary file (never through a link), hashed while it is copied; the source must be the same file
before and after; then `link()` into place, so that the first writer wins; then fsync of the bytes, the folder, the
name. Mode **0400** says *linked, perhaps not yet on the disk*, mode **0444** says *fsynced, bytes and name*: what a
crash left at 0400 is hashed again before anyone relies on it. Under durability `batch` the fsyncs wait for `flush`,
which must come before the record that names the objects; `each` pays at every put; `none` never (throw-away stores).
The time of an object's inode (ctime) is when the store last took it: putting it again renews the time, so that gc,
which goes by age, does not race a writer.

Reading hashes again. Bytes that do not match their name are moved to `quarantine/`, never deleted, and the read
fails. What refers to an object is not known here: see `store.fsck`. Removing is the business of `store.gc`.
"""
# Descriptors, links and modes by name, thousands a second: pathlib would show in the profile.
# ruff: noqa: PTH101, PTH102, PTH108, PTH120, PTH123, PTH208

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, Self

from store import canonical, disk, quarantine
from store.digest import Digest
from store.errors import Conflict, HarnessError, InputError, ObjectCorrupt, ObjectMissing, TreeError
from store.source import CHUNK, Hasher, open_source, shown, unchanged

__all__ = ["CHUNK", "Durability", "ObjectStore"]

Durability = Literal["batch", "each", "none"]

_LAYOUT = {"algorithm": "sha256", "layout": "rbl/objects/v1"}
_FOLDERS = ("sha256", "tmp", "quarantine", "pins")
_FRESH, _DURABLE = 0o400, 0o444
_LINK_TRIES = 8


class ObjectStore:
    """A folder of objects. May be used by many threads and many processes at once.

    Args:
        root: the folder that holds `layout.json`.
        durability: when bytes are forced to the disk; see the module's page.
    """

    def __init__(self, root: Path, durability: Durability = "batch") -> None:
        self.root = Path(root)
        self.durability: Durability = durability
        self._objects = os.fspath(self.root / "sha256")
        self._tmp = os.fspath(self.root / "tmp")
        self._layout = os.fspath(self.root / "layout.json")
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        self._pending: set[Digest] = set()
        self._failed = False

    def __repr__(self) -> str:
        return f"ObjectStore({str(self.root)!r}, {self.durability!r})"

    def __reduce__(self) -> tuple[type[Self], tuple[Path, Durability]]:
        return type(self), (self.root, self.durability)

    @classmethod
    def create(cls, root: Path, durability: Durability = "batch") -> Self:
        """Make an empty store.

        Raises:
            Conflict: there is one already.
            HarnessError: the folder cannot be written.
        """
        layout = root / "layout.json"
        with disk.faults("cannot create an object store", root):
            for folder in _FOLDERS:
                (root / folder).mkdir(parents=True, exist_ok=True)
            try:
                disk.write_new(layout, canonical.dumps(_LAYOUT) + b"\n", 0o644)
            except FileExistsError as error:
                raise Conflict("an object store is already there", where=str(root)) from error
        return cls(root, durability)

    @classmethod
    def open(cls, root: Path, durability: Durability = "batch") -> Self:
        """Open an existing store.

        Raises:
            InputError: there is none, or it has a layout that this version does not know.
        """
        layout = Path(root) / "layout.json"
        try:
            data = layout.read_bytes()
        except OSError as error:
            raise InputError("no object store", where=str(root), fix="create one, or name its folder") from error
        if data.strip() != canonical.dumps(_LAYOUT):
            raise InputError("unknown layout of an object store", where=str(layout), fix="use a newer version of rbl")
        return cls(root, durability)

    # ------------------------------------------------------------------------------------------------ writing

    def put_bytes(self, data: bytes) -> Digest:
        """Store these bytes.

        Raises:
            HarnessError: the disk refused.
        """
        digest = Digest.of(data)
        with disk.faults("cannot store an object", self.root):
            if not self._holds(digest, len(data)):
                with self._temporary() as (descriptor, name):
                    disk.write(descriptor, data)
                    self._settle(name, digest, len(data))
        self._written()
        return digest

    def put_stream(self, chunks: Iterable[bytes]) -> tuple[Digest, int]:
        """Store the bytes that the chunks make up; nothing is kept when the iterable raises.

        Returns:
            The digest and the number of bytes.

        Raises:
            HarnessError: the disk refused.
        """
        hasher = hashlib.sha256()
        size = 0
        with disk.faults("cannot store an object", self.root), self._temporary() as (descriptor, name):
            for chunk in chunks:
                hasher.update(chunk)
                disk.write(descriptor, chunk)
                size += len(chunk)
            digest = Digest(hasher.hexdigest())
            self._settle(name, digest, size)
        self._written()
        return digest, size

    def put_file(self, path: Path) -> Digest:
        """Store a copy of a regular file. The last component of the path is never followed as a link.

        Raises:
            InputError: it cannot be opened.
            TreeError: it is a link (`link`), not a regular file (`device`), or changed while it was read (`changed`).
            HarnessError: the disk refused.
        """
        descriptor = open_source(path)
        try:
            return self.put_descriptor(descriptor, str(path))[0]
        finally:
            os.close(descriptor)

    def put_descriptor(self, descriptor: int, where: str, also: Hasher | None = None) -> tuple[Digest, int]:
        """Store what an open file holds from its position on, shown to `also` too; the caller closes it.

        Raises:
            TreeError: it is not a regular file (`device`), or changed while it was read (`changed`).
            HarnessError: the disk refused.
        """
        with disk.faults("cannot read", where):
            before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            raise TreeError("not a regular file", rule="device", where=where)
        chunks = unchanged(descriptor, before, where)
        if also is not None:
            chunks = shown(chunks, also)
        if before.st_size > CHUNK:
            return self.put_stream(chunks)
        data = b"".join(chunks)
        return self.put_bytes(data), len(data)

    def relies(self, digest: Digest, size: int) -> bool:
        """Whether the object is here, durable or about to be, and of this size; its age for gc begins anew.

        Raises:
            HarnessError: the disk refused.
        """
        with disk.faults("cannot look at an object", self.root):
            return self.has(digest) and self._holds(digest, size)

    def flush(self) -> None:
        """Force every object put so far to the disk: bytes, folders, then the mode that says so.

        Call it before a record that names the objects is appended. Under `each` there is nothing left to do; under
        `none` nothing is done. After a failure the store refuses to write: open it anew when the disk is mended.

        Raises:
            HarnessError: an fsync failed; what is not on the disk has been moved to quarantine.
        """
        with self._flushing:
            self._refuse_after_failure()
            with self._lock:
                batch = sorted(self._pending)
            if self.durability == "none" or not batch:
                return
            paths = [self._path(digest) for digest in batch]
            try:
                disk.sync_all(paths)
                for path in paths:
                    os.chmod(path, _DURABLE)
            except OSError as error:
                self._failed = True
                for digest in batch:
                    if stat.S_IMODE(_mode(self._path(digest))) != _DURABLE:  # not flushed by another process either
                        self._quarantine(digest)
                raise disk.fault("objects are not on the disk", self.root, error) from error
            with self._lock:
                self._pending.difference_update(batch)

    # ------------------------------------------------------------------------------------------------ reading

    def get(self, digest: Digest) -> bytes:
        """The bytes of an object, hashed again.

        Raises:
            ObjectMissing: it is not here.
            ObjectCorrupt: its bytes are not those of its name; it is now in quarantine.
            HarnessError: the disk refused.
        """
        return b"".join(self.stream(digest, chunk=-1))

    def stream(self, digest: Digest, chunk: int = CHUNK) -> Iterator[bytes]:
        """The bytes of an object, piece by piece; only when the last piece was taken are they known to be right.

        Args:
            digest: the object.
            chunk: bytes a piece; -1 for one piece.

        Raises:
            ObjectMissing: it is not here.
            ObjectCorrupt: at the end, when the bytes were not those of its name; it is now in quarantine.
            HarnessError: the disk refused.
        """
        hasher = hashlib.sha256()
        path = self._path(digest)
        with disk.faults("cannot read an object", path):
            try:
                descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            except FileNotFoundError as error:
                raise self._missing(digest) from error
            with os.fdopen(descriptor, "rb", buffering=0) as file:
                while piece := file.read(chunk):
                    hasher.update(piece)
                    yield piece
        if hasher.hexdigest() != digest.hex:
            aside = quarantine.examine(self.root, Path(path), digest, by="read")
            fix = "restore it from a remote; see which records name it with a check of the store"
            what = "stored bytes do not hash to their name" + ("; moved to quarantine" if aside else "")
            raise ObjectCorrupt(what, where=str(digest), fix=fix)

    def has(self, digest: Digest) -> bool:
        """Whether there is a file of that name; its bytes are not looked at."""
        return stat.S_ISREG(_mode(self._path(digest)))

    def size(self, digest: Digest) -> int:
        """The size of the object in bytes, as the file system has it.

        Raises:
            ObjectMissing: it is not here.
        """
        path = self._path(digest)
        with disk.faults("cannot look at an object", path):
            try:
                return os.lstat(path).st_size
            except FileNotFoundError as error:
                raise self._missing(digest) from error

    def path(self, digest: Digest) -> Path:
        """Where the object is, or would be. What is read from there is not checked: prefer `get` and `stream`."""
        return Path(self._path(digest))

    def digests(self) -> Iterator[Digest]:
        """Every object by name, in order; files with other names are passed over (`store.fsck` reports them)."""
        for path in self.files():
            name = path.parent.name + path.name
            with suppress(InputError):
                yield Digest(name)

    def files(self) -> Iterator[Path]:
        """Every file below `sha256/`, in order, whatever its name."""
        with disk.faults("cannot list the objects", self.root):
            for shard in sorted(os.scandir(self._objects), key=lambda entry: entry.name):
                if shard.is_dir(follow_symlinks=False):
                    yield from (Path(shard.path, name) for name in sorted(os.listdir(shard.path)))
                else:
                    yield Path(shard.path)

    # ------------------------------------------------------------------------------------------------ inside

    def _path(self, digest: Digest) -> str:
        return f"{self._objects}/{digest.hex[:2]}/{digest.hex[2:]}"

    def _missing(self, digest: Digest) -> ObjectMissing:
        return ObjectMissing("no such object", where=str(digest), fix="pull it from a remote that holds it")

    def _refuse_after_failure(self) -> None:
        if self._failed:
            raise HarnessError(
                "an earlier fsync failed; nothing more is written", where=str(self.root), fix="check the disk"
            )

    @contextmanager
    def _temporary(self) -> Iterator[tuple[int, str]]:
        self._refuse_after_failure()
        name = f"{self._tmp}/{os.getpid()}.{secrets.token_hex(8)}"
        descriptor = disk.create(name, _FRESH)
        try:
            yield descriptor, name
        finally:
            os.close(descriptor)
            os.unlink(name)

    def _settle(self, temporary: str, digest: Digest, size: int) -> None:
        """Give a finished temporary file its name, unless another writer was first with the same bytes."""
        final = self._path(digest)
        for _ in range(_LINK_TRIES):
            try:
                os.link(temporary, final, follow_symlinks=False)
            except FileNotFoundError:
                with suppress(FileExistsError):
                    os.mkdir(os.path.dirname(final))
            except FileExistsError:
                if self._holds(digest, size):
                    return
            else:
                self._note(digest)
                return
        raise HarnessError("an object cannot be put in its place", where=str(digest))

    def _holds(self, digest: Digest, size: int) -> bool:
        """Whether the object is here and can be relied on; what cannot is moved out of the way."""
        path = self._path(digest)
        try:
            with disk.locked(self._layout):  # gc looks at the age and removes under the other side of this lock
                found = os.lstat(path)
                if stat.S_ISREG(found.st_mode):
                    os.utime(path, follow_symlinks=False)
        except FileNotFoundError:
            return False
        if stat.S_ISREG(found.st_mode) and found.st_size == size:
            if digest in self._pending or stat.S_IMODE(found.st_mode) == _DURABLE:
                return True
            with suppress(FileNotFoundError), open(path, "rb", buffering=0) as file:
                if hashlib.file_digest(file, "sha256").hexdigest() == digest.hex:
                    self._note(digest)
                    return True
        self._quarantine(digest)
        return False

    def _note(self, digest: Digest) -> None:
        with self._lock:
            self._pending.add(digest)

    def _written(self) -> None:
        if self.durability == "each":
            self.flush()

    def _quarantine(self, digest: Digest) -> None:
        with self._lock:
            self._pending.discard(digest)
        quarantine.move(self.root, self._path(digest), digest)


def _mode(path: Path | str) -> int:
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0
