"""Trees in and out of directories: the only place where a directory becomes objects and objects a directory.

    digest = put_tree(store, Path("site"))            # every file an object, then the listing, all on the disk
    check_out(store, digest, Path("elsewhere"))       # the same files, links, executable bits and empty directories

A directory is read through descriptors and never through a link, so that what is renamed meanwhile leads nowhere
else; a file that changes while it is read is an error. Set-user-id and every other bit but *executable by its owner*
are dropped. Fifos, devices and sockets are refused. Nothing of what is written out is believed until it was hashed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from store import disk
from store.digest import Digest
from store.errors import CanonicalError, Conflict, InputError, TreeError
from store.objects import ObjectStore
from store.source import CHUNK
from store.statcache import StatCache
from store.tree import Tree, TreeEntry, check_path

__all__ = ["check_out", "hash_tree", "load_tree", "put_tree", "read_tree", "save_tree", "write_out"]

_WORKERS = 4  # hashing, copying and waiting for the disk leave the interpreter's lock
_AHEAD = 64  # files open and waiting for a worker

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_REPLACED = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO}  # gone, or become a file, link or socket
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def put_tree(
    store: ObjectStore,
    root: Path,
    *,
    exclude: Callable[[str], bool] | None = None,
    md5: dict[Digest, str] | None = None,
    cache: StatCache | None = None,
) -> Digest:
    """Store a directory, its tree included, and flush.

    Args:
        store: where to.
        root: the directory; it may itself be reached through a link.
        exclude: told each path relative to `root`; what it says yes to is left out, a directory with all below it.
        md5: is given the MD5 of each file, taken in the same read, for tools that know no better (`store.dvc`).
        cache: tells which files need not be read again, and is saved once everything is on the disk; not with `md5`,
            which wants every file read.

    Raises:
        InputError: there is no such directory.
        TreeError: it holds what a tree may not hold, or changed while it was read; `rule` says which.
        HarnessError: the disk refused.
    """
    digest = save_tree(store, read_tree(store, root, exclude=exclude, md5=md5, cache=cache))
    if cache is not None:
        cache.save()
    return digest


def read_tree(
    store: ObjectStore,
    root: Path,
    *,
    exclude: Callable[[str], bool] | None = None,
    md5: dict[Digest, str] | None = None,
    cache: StatCache | None = None,
) -> Tree:
    """Store the files of a directory and give its listing, which is not stored. Raises as `put_tree` does."""
    assert md5 is None or cache is None

    def put(descriptor: int, path: str) -> tuple[Digest, int]:
        if cache is not None:
            return _put_unless_known(store, cache, descriptor, path)
        if md5 is None:
            return store.put_descriptor(descriptor, path)
        hasher = hashlib.md5(usedforsecurity=False)
        digest, size = store.put_descriptor(descriptor, path, hasher)
        md5[digest] = hasher.hexdigest()
        return digest, size

    return _listing(put, root, exclude)


def hash_tree(root: Path, *, exclude: Callable[[str], bool] | None = None) -> Tree:
    """The listing of a directory, each file hashed and nothing stored. Raises as `put_tree` does."""
    return _listing(_hash, root, exclude)


def save_tree(store: ObjectStore, tree: Tree) -> Digest:
    """Store a tree's listing after its parts are on the disk, and flush it too.

    Raises:
        HarnessError: the disk refused.
    """
    store.flush()
    digest = store.put_bytes(tree.format())
    store.flush()
    return digest


def load_tree(store: ObjectStore, digest: Digest) -> Tree:
    """Read a tree's listing.

    Raises:
        ObjectMissing, ObjectCorrupt: as `ObjectStore.get`.
        TreeError: the object is no tree.
    """
    data = store.get(digest)
    try:
        return Tree.parse(data)
    except CanonicalError as error:
        raise TreeError(f"not a tree: {error.what}", rule="format", where=str(digest)) from error
    except TreeError as error:
        place = f"{digest}, {error.where}" if error.where else str(digest)
        raise TreeError(error.what, rule=error.rule, where=place, fix=error.fix) from error


def check_out(store: ObjectStore, digest: Digest, target: Path) -> None:
    """Write a tree out into a directory that is empty or not there yet. Raises as `write_out` and `load_tree` do."""
    write_out(store, load_tree(store, digest), target)


def write_out(store: ObjectStore, tree: Tree, target: Path) -> None:
    """Write out a tree: files 0644 or 0755, directories 0755, links as they are. Nothing is fsynced.

    What an error leaves behind is incomplete, and not empty: a second call refuses it.

    Raises:
        Conflict: the target exists and is not an empty directory.
        ObjectMissing, ObjectCorrupt: as `ObjectStore.get`.
        TreeError: an object has another size than its entry says (`size`).
        HarnessError: the disk refused.
    """
    with disk.faults("cannot write a tree out", target):
        _empty(target)
        made = {""}
        for entry in tree:
            _make_parents(target, entry.path, made)
            if entry.mode == "040000":
                _make_directory(target / entry.path)
        with ThreadPoolExecutor(_WORKERS) as pool:
            for _ in pool.map(lambda entry: _write_file(store, entry, target), (e for e in tree if e.is_file)):
                pass
        for entry in tree:
            if entry.target is not None:
                (target / entry.path).symlink_to(entry.target)


_Open = tuple[int, str, bool]
_Take = Callable[[int, str], tuple[Digest, int]]


def _listing(take: _Take, root: Path, exclude: Callable[[str], bool] | None) -> Tree:
    """The tree of a directory, each file given open to `take`, on several threads."""
    try:
        top = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise InputError(f"cannot read the directory: {error.strerror}", where=str(root)) from error
    entries: list[TreeEntry] = []
    window: deque[Future[TreeEntry]] = deque()
    try:
        with ThreadPoolExecutor(_WORKERS) as pool:
            for found in _walk(top, exclude):
                if isinstance(found, TreeEntry):
                    entries.append(found)
                    continue
                window.append(pool.submit(_taken, take, *found))
                if len(window) > _AHEAD:
                    entries.append(window.popleft().result())
        entries.extend(job.result() for job in window)
    finally:
        os.close(top)
    return Tree.of(entries)


def _taken(take: _Take, descriptor: int, path: str, executable: bool) -> TreeEntry:
    try:
        digest, size = take(descriptor, path)
    finally:
        os.close(descriptor)
    return TreeEntry.file(path, digest, size, executable=executable)


def _hash(descriptor: int, path: str) -> tuple[Digest, int]:
    hasher = hashlib.sha256()
    size = 0
    with disk.faults("cannot read", path):
        while piece := os.read(descriptor, CHUNK):
            hasher.update(piece)
            size += len(piece)
    return Digest(hasher.hexdigest()), size


def _put_unless_known(store: ObjectStore, cache: StatCache, descriptor: int, path: str) -> tuple[Digest, int]:
    started = time.time_ns()
    with disk.faults("cannot read", path):
        found = os.fstat(descriptor)
    known = cache.get(path, found)
    if known is not None and store.relies(known, found.st_size):
        return known, found.st_size
    digest, size = store.put_descriptor(descriptor, path)
    cache.note(path, found, digest, started)
    return digest, size


def _walk(top: int, exclude: Callable[[str], bool] | None) -> Iterator[TreeEntry | _Open]:
    """What a directory holds: links and empty directories as entries, files opened for whoever takes them."""
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            descriptor = _descend(top, folder)
            try:
                names = sorted(os.listdir(descriptor))  # noqa: PTH208 — by descriptor, which pathlib cannot
                below = False
                for name in names:
                    path = f"{folder}/{name}" if folder else name
                    check_path(path)
                    if exclude is not None and exclude(path):
                        continue
                    below = True
                    found = _look(descriptor, name, path)
                    if found is None:
                        folders.append(path)
                    else:
                        yield found
            finally:
                os.close(descriptor)
        except OSError as error:
            if error.errno in _REPLACED:
                raise TreeError("a directory changed while it was read", rule="changed", where=folder) from error
            raise disk.fault("cannot read a directory", folder or ".", error) from error
        if folder and not below:
            yield TreeEntry.directory(folder)


def _descend(top: int, folder: str) -> int:
    """Open a directory by its components, none of which may be a link."""
    descriptor = os.dup(top)
    for name in folder.split("/") if folder else ():
        try:
            deeper = os.open(name, _DIRECTORY, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = deeper
    return descriptor


def _look(folder: int, name: str, path: str) -> TreeEntry | _Open | None:
    """A link's entry, an open file, or None for a directory."""
    kind = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    if stat.S_ISDIR(kind):
        return None
    if stat.S_ISLNK(kind):
        return TreeEntry.link(path, os.readlink(name, dir_fd=folder))
    if not stat.S_ISREG(kind):
        raise TreeError("a fifo, device or socket", rule="device", where=path)
    return os.open(name, _FILE, dir_fd=folder), path, bool(kind & stat.S_IXUSR)


def _empty(target: Path) -> None:
    try:
        target.mkdir(parents=True)
    except FileExistsError as error:
        if target.is_symlink() or not target.is_dir() or any(target.iterdir()):
            raise Conflict("the target is not an empty directory", where=str(target), fix="name another") from error


def _make_parents(target: Path, path: str, made: set[str]) -> None:
    parent = path.rpartition("/")[0]
    missing = []
    while parent not in made:
        missing.append(parent)
        parent = parent.rpartition("/")[0]
    for folder in reversed(missing):
        _make_directory(target / folder)
        made.add(folder)


def _make_directory(path: Path) -> None:
    path.mkdir()
    path.chmod(0o755)  # whatever the umask


def _write_file(store: ObjectStore, entry: TreeEntry, target: Path) -> None:
    assert entry.digest is not None
    path = target / entry.path
    size = 0
    with disk.faults("cannot write a file out", path):
        descriptor = disk.create(path)
        try:
            for piece in store.stream(entry.digest):
                disk.write(descriptor, piece)
                size += len(piece)
            os.fchmod(descriptor, 0o755 if entry.mode == "100755" else 0o644)
        finally:
            os.close(descriptor)
    if size != entry.size:
        what = f"a tree says {entry.size} bytes of an object that has {size}"
        raise TreeError(what, rule="size", where=f"{entry.path}, {entry.digest}")
