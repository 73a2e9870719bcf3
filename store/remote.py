"""Remotes: a folder, or S3, that holds objects under the same names as a store; through fsspec.

    <address>/sha256/2c/26b46b68…7ae        the object sha256:2c26b46b68…7ae
    <address>/dvc/files/md5/d1/31dd…        what plain `dvc pull` reads (store.dvc)

    remote = Remote.open("origin", "s3://bucket/prefix")
    push(store, remote, parts), push(store, remote, trees)      # parts first: a tree never stands there without them
    fetch(store, remote, [Wanted(digest, size), …])

A remote is asked which objects it holds, at each push anew; no note of ours says what was pushed. What is read here to
be sent is hashed while it is read, and stands under its name in the remote only when it was whole. What arrives is
hashed before it takes its name in the store: a remote may be slow, partial or lying, and the store does not become
wrong. Whoever is killed on the way goes on by asking again. Credentials and endpoints are S3's own business
(`AWS_PROFILE`, `AWS_ENDPOINT_URL`, …); plain HTTP can be fetched from.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from store import dvc
from store.digest import Digest
from store.errors import HarnessError, InputError, ObjectCorrupt, ObjectMissing, RblError, Unavailable
from store.objects import CHUNK, ObjectStore

T = TypeVar("T")

__all__ = ["JOBS", "Fetched", "Pushed", "Remote", "Wanted", "fetch", "push", "push_dvc"]

JOBS: Final = 8
"""Objects that travel at a time."""

Progress = Callable[[int, int, int], None]
"""Told objects done, objects in all, and bytes that travelled."""

_SCHEME: Final = re.compile(r"([a-z][a-z0-9+.-]*)://")
_AT_ONCE: Final = 8 << 20  # up to this size an object is one request
_BLOCK: Final = 16 << 20  # of a multipart upload
_BATCH: Final = 256  # objects between two lines of progress, and two flushes
_DURABLE: Final = 0o444


@dataclass(frozen=True, slots=True)
class Wanted:
    """An object to fetch, and its size in bytes where that is known: no more than that is taken."""

    digest: Digest
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Pushed:
    """What a push did.

    Attributes:
        sent, size: objects that were sent, and their bytes.
        there: objects that the remote had.
        lacking: objects that are not in the store, and so were not sent.
    """

    sent: int
    size: int
    there: int
    lacking: tuple[Digest, ...] = ()

    def __add__(self, other: Pushed) -> Pushed:
        """Both together."""
        both = (self.sent + other.sent, self.size + other.size, self.there + other.there)
        return Pushed(*both, (*self.lacking, *other.lacking))


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a fetch did.

    Attributes:
        taken, size: objects that arrived whole, and their bytes.
        here: objects that the store had.
        lacking: objects that the remote does not have.
        wrong: objects under whose name the remote gave other bytes; none of those was kept.
    """

    taken: int
    size: int
    here: int
    lacking: tuple[Digest, ...] = ()
    wrong: tuple[Digest, ...] = ()

    def __add__(self, other: Fetched) -> Fetched:
        """Both together."""
        both = (self.taken + other.taken, self.size + other.size, self.here + other.here)
        return Fetched(*both, (*self.lacking, *other.lacking), (*self.wrong, *other.wrong))


class Remote:
    """A place that holds objects.

    Args:
        name: for messages.
        address: for messages.
        files: its fsspec file system.
        root: path in that file system.
        local: whether it is a folder, where a file must be finished before it takes its name.
    """

    def __init__(self, name: str, address: str, files: Any, root: str, *, local: bool) -> None:
        self.name = name
        self.address = address
        self._files = files
        self._root = root.rstrip("/")
        self._local = local

    def __str__(self) -> str:
        return f"{self.name} ({self.address})" if self.name != self.address else self.address

    @classmethod
    def open(cls, name: str, address: str, base: Path) -> Self:
        """The remote at an address; nothing is asked of it yet.

        Args:
            name: for messages.
            address: `s3://bucket/prefix`, `https://…`, or a folder.
            base: folder that a relative address is taken from.

        Raises:
            InputError: no remote has such an address.
            Unavailable: S3's library is not installed.
        """
        import fsspec  # noqa: PLC0415 (slow to import)

        found = _SCHEME.match(address)
        scheme = found[1] if found else "file"
        if scheme == "file":
            root = str(base / address.removeprefix("file://"))
            return cls(name, address, fsspec.filesystem("file", skip_instance_cache=True), root, local=True)
        if scheme not in {"s3", "http", "https"}:
            raise InputError(f"no remote has the scheme {scheme}", where=address, fix="use s3://, https:// or a folder")
        options = {} if scheme == "s3" else {"use_listings_cache": False}
        try:
            files = fsspec.filesystem(scheme, skip_instance_cache=True, **options)
        except ImportError as error:
            fix = "pip install 'reconbench-ledger[s3]'"
            raise Unavailable("the library for S3 is not installed", where=address, fix=fix) from error
        return cls(name, address, files, address.removeprefix("s3://"), local=False)

    @property
    def writable(self) -> bool:
        """Whether it can be pushed to."""
        return not self.address.startswith(("http://", "https://"))

    def sizes(self, folders: Iterable[str]) -> dict[str, int]:
        """Every file directly in some folders, by path below the remote's root, with its size in bytes."""
        found: dict[str, int] = {}
        with ThreadPoolExecutor(JOBS) as pool:
            for listed in pool.map(self._listed, sorted(set(folders))):
                found |= listed
        return found

    def write(self, path: str, chunks: Iterable[bytes], size: int) -> None:
        """Write a file, which has its name once it is whole; nothing is left when the iterable raises.

        Raises:
            HarnessError: the remote refused.
        """
        place = f"{self._root}/{path}"
        with self._refusals(path):
            if self._local:
                self._write_staged(place, chunks)
            elif size <= _AT_ONCE:
                self._files.pipe_file(place, b"".join(chunks))
            else:
                file = self._files.open(place, "wb", block_size=_BLOCK, autocommit=False)
                try:
                    for piece in chunks:
                        file.write(piece)
                    file.close()
                except BaseException:
                    file.discard()
                    file.closed = True  # or it would be sent once more when it is forgotten
                    raise
                file.commit()

    def read(self, path: str) -> Iterator[bytes]:
        """The bytes of a file, piece by piece; whatever the remote says they are.

        Raises:
            ObjectMissing: the remote has no such file.
            HarnessError: the remote refused.
        """
        with self._refusals(path):
            try:
                # a web server need not know ranges of bytes: with blocks of 0 bytes it is read as one stream
                how = {"cache_type": "readahead"} if self.writable else {"block_size": 0}
                file = self._files.open(f"{self._root}/{path}", "rb", **how)
            except FileNotFoundError as error:
                fix = "push it from where it is"
                raise ObjectMissing("the remote does not have it", where=f"{self}: {path}", fix=fix) from error
            with file:
                while piece := file.read(CHUNK):
                    yield piece

    def _listed(self, folder: str) -> dict[str, int]:
        with self._refusals(folder):
            try:
                rows = self._files.ls(f"{self._root}/{folder}", detail=True, refresh=True)
            except (FileNotFoundError, NotADirectoryError):
                return {}
            return {f"{folder}/{row['name'].rpartition('/')[2]}": row["size"] for row in rows if row["type"] == "file"}

    def _write_staged(self, place: str, chunks: Iterable[bytes]) -> None:
        staged = "/".join((self._root, "tmp", f"{os.getpid()}.{secrets.token_hex(8)}"))
        for path in (staged, place):
            self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
        try:
            with self._files.open(staged, "wb") as file:
                for piece in chunks:
                    file.write(piece)
                file.flush()
                os.fsync(file.fileno())
            Path(staged).chmod(_DURABLE)
            self._files.mv(staged, place)
        except BaseException:
            with suppress(FileNotFoundError):
                self._files.rm_file(staged)
            raise

    @contextmanager
    def _refusals(self, path: str) -> Iterator[None]:
        """Turn what a file system raises, each its own, into an error of this project."""
        where = f"{self}: {path}"
        try:
            yield
        except (RblError, GeneratorExit):
            raise
        except Exception as error:
            fix = "check address, network and credentials, and run it again: it goes on where it was"
            raise HarnessError(f"the remote refused: {type(error).__name__}: {error}", where=where, fix=fix) from error


def push(
    store: ObjectStore, remote: Remote, digests: Sequence[Digest], progress: Progress | None = None, jobs: int = JOBS
) -> Pushed:
    """Send the objects that the remote does not have, each hashed while it is read.

    Args:
        store: where from.
        remote: where to.
        digests: objects. A tree belongs into a later call than its parts.
        progress: told after each batch.
        jobs: objects at a time.

    Raises:
        ObjectCorrupt: an object of the store is not what its name says; it was not sent.
        InputError: the remote can only be read.
        HarnessError: the remote refused.
    """
    unique = list(dict.fromkeys(digests))
    lacking = tuple(digest for digest in unique if not store.has(digest))
    sizes = {_path(digest): (digest, store.size(digest)) for digest in unique if store.has(digest)}

    def send(path: str) -> int:
        digest, size = sizes[path]
        remote.write(path, store.stream(digest), size)
        return size

    done = _send(remote, {path: size for path, (_, size) in sizes.items()}, send, progress, jobs)
    return done + Pushed(0, 0, 0, lacking)


def push_dvc(store: ObjectStore, remote: Remote, progress: Progress | None = None, jobs: int = JOBS) -> Pushed:
    """Send what plain `dvc pull` reads: everything published so far, listings last. Raises as `push`."""
    top = store.root / dvc.FOLDER
    found = sorted(path for path in top.rglob("*") if path.is_file()) if top.is_dir() else []
    done = Pushed(0, 0, 0)
    for listings in (False, True):
        sizes = {
            f"{dvc.FOLDER}/{path.relative_to(top)}": path.stat().st_size
            for path in found
            if (path.suffix == ".dir") == listings
        }

        def send(path: str, sizes: dict[str, int] = sizes) -> int:
            remote.write(path, _checked_md5(store.root / path), sizes[path])
            return sizes[path]

        done += _send(remote, sizes, send, progress, jobs)
    return done


def fetch(
    store: ObjectStore, remote: Remote, wanted: Iterable[Wanted], progress: Progress | None = None, jobs: int = JOBS
) -> Fetched:
    """Bring the objects that the store does not have; each takes its name once its bytes were hashed. Flushes.

    Args:
        store: where to.
        remote: where from.
        wanted: objects, without their parts.
        progress: told after each batch.
        jobs: objects at a time.

    Raises:
        HarnessError: the remote, or the disk, refused.
    """
    unique = list({item.digest: item for item in wanted}.values())
    missing = [item for item in unique if not _relied(store, item.digest)]
    store.flush()
    taken = size = 0
    lacking: list[Digest] = []
    wrong: list[Digest] = []
    with ThreadPoolExecutor(jobs) as pool:
        for batch in _batches(missing):
            for item, outcome in zip(batch, pool.map(lambda item: _take(store, remote, item), batch), strict=True):
                if isinstance(outcome, ObjectMissing):
                    lacking.append(item.digest)
                elif isinstance(outcome, ObjectCorrupt):
                    wrong.append(item.digest)
                else:
                    taken, size = taken + 1, size + outcome
            store.flush()
            if progress is not None:
                progress(taken + len(lacking) + len(wrong), len(missing), size)
    return Fetched(taken, size, len(unique) - len(missing), tuple(lacking), tuple(wrong))


def _send(
    remote: Remote, sizes: dict[str, int], send: Callable[[str], int], progress: Progress | None, jobs: int
) -> Pushed:
    """Send those of some paths that the remote does not have in that size."""
    if not remote.writable:
        raise InputError("this remote can only be read", where=str(remote), fix="push to a folder or to S3")
    there = remote.sizes(path.rpartition("/")[0] for path in sizes)
    todo = [path for path, size in sizes.items() if there.get(path) != size]
    sent = 0
    with ThreadPoolExecutor(jobs) as pool:
        for number, batch in enumerate(_batches(todo)):
            sent += sum(pool.map(send, batch))
            if progress is not None:
                progress(number * _BATCH + len(batch), len(todo), sent)
    return Pushed(len(todo), sent, len(sizes) - len(todo))


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[start : start + _BATCH] for start in range(0, len(items), _BATCH))


def _take(store: ObjectStore, remote: Remote, item: Wanted) -> int | ObjectMissing | ObjectCorrupt:
    try:
        return store.put_stream(_arriving(remote, item))[1]
    except (ObjectMissing, ObjectCorrupt) as error:
        return error


def _arriving(remote: Remote, item: Wanted) -> Iterator[bytes]:
    """The bytes from a remote, raising at the end, or once there are too many, unless they are the object's."""
    hasher = hashlib.sha256()
    size = 0
    for piece in remote.read(_path(item.digest)):
        hasher.update(piece)
        size += len(piece)
        if item.size is not None and size > item.size:
            break
        yield piece
    if hasher.hexdigest() != item.digest.hex:
        what = "the remote gave other bytes than those of the name; nothing was kept"
        raise ObjectCorrupt(what, where=f"{remote}: {item.digest}", fix="tell its keeper; fetch from another")


def _relied(store: ObjectStore, digest: Digest) -> bool:
    """Whether the store has the object for certain; what a killed fetch left unflushed is hashed again."""
    path = store.path(digest)
    if not store.has(digest):
        return False
    if path.stat().st_mode & 0o777 == _DURABLE:
        return True
    return store.put_file(path) == digest


def _path(digest: Digest) -> str:
    return f"sha256/{digest.hex[:2]}/{digest.hex[2:]}"


def _checked_md5(path: Path) -> Iterator[bytes]:
    """The bytes of a file that is named by its MD5, raising at the end unless it is."""
    hasher = hashlib.md5(usedforsecurity=False)
    with path.open("rb", buffering=0) as file:
        while piece := file.read(CHUNK):
            hasher.update(piece)
            yield piece
    if hasher.hexdigest() != path.parent.name + path.name.removesuffix(".dir"):
        fix = "check the store: rbl store fsck; then publish the case again"
        raise ObjectCorrupt("bytes do not have the MD5 that names them for DVC", where=str(path), fix=fix)
