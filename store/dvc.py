"""What DVC carries: a tree as plain DVC knows it, written by us, byte for byte as `dvc add` would write it.

    objects/dvc/files/md5/d1/31dd…      a hard link to the object with these bytes: no byte is stored twice
    objects/dvc/files/md5/e2/5f88….dir  [{"md5": "d131dd…", "relpath": "home.png"}]
    evidence.dvc                        outs:
                                        - md5: e25f8501f1936656299f19902115f5a4.dir
                                          size: 13
                                          nfiles: 1
                                          hash: md5
                                          path: evidence

So `objects/dvc` is a remote as it stands, and whatever serves that folder serves `dvc pull`. DVC names bytes by MD5,
believes its remotes, and knows neither links, nor modes, nor empty directories. It is transport: what arrived is
believed once it has the tree's SHA-256 (`cases.published`). A link to a file stands in the listing as that file, as
`dvc add` has it; a link to a directory, or to nothing, does not. Two objects with one MD5 are refused. `dvc` itself is
not imported.
"""

from __future__ import annotations

import configparser
import hashlib
import json
import os
import re
import secrets
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from store import disk
from store.digest import Digest
from store.errors import Conflict, InputError
from store.objects import CHUNK, ObjectStore
from store.tree import Tree, TreeEntry

__all__ = ["FOLDER", "Output", "address_for_dvc", "begin", "configuration", "listing", "md5_path", "offer", "retract"]

FOLDER: Final = "dvc"
"""The folder of a store, or of a remote, that DVC reads."""

_LAYOUT: Final = "files/md5"
_IGNORED_BY_DVC: Final = {".dvc", ".git", ".hg", ".dvcignore"}
_IGNORE: Final = """# Add patterns of files dvc should ignore, which could improve
# the performance. Learn more at
# https://dvc.org/doc/user-guide/dvcignore
"""
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*://")


@dataclass(frozen=True, slots=True)
class Output:
    """A directory under DVC's control.

    Attributes:
        md5: of its `.dir` object, without the suffix.
        size: sum of the files' sizes in bytes, links to files included.
        files: how many the `.dir` object lists.
    """

    md5: str
    size: int
    files: int

    def format(self, path: str) -> bytes:
        """The `.dvc` file of this directory, which stands beside the file.

        Args:
            path: the directory's name, of letters, digits, `-` and `_`.
        """
        lines = ["outs:", f"- md5: {self.md5}.dir", f"  size: {self.size}", f"  nfiles: {self.files}"]
        return "\n".join([*lines, "  hash: md5", f"  path: {path}", ""]).encode()


def listing(tree: Tree, md5: Mapping[Digest, str]) -> bytes:
    """The `.dir` object of a tree: what DVC lists, as DVC writes it.

    Args:
        tree: the tree.
        md5: of every file of the tree, by digest, hexadecimal.

    Raises:
        InputError: the tree has a name that DVC never looks at.
    """
    rows = []
    for path, entry in _files(tree):
        assert entry.digest is not None
        rows.append({"md5": md5[entry.digest], "relpath": path})
    return json.dumps(rows).encode()


def offer(store: ObjectStore, tree: Tree, md5: Mapping[Digest, str]) -> Output:
    """Hard-link the files of a tree, and write its `.dir` object, where DVC looks for them.

    Args:
        store: holds the files, flushed.
        tree: the tree.
        md5: of files that were hashed before; the others are read from the store, and checked by it.

    Raises:
        InputError: the tree has a name that DVC never looks at.
        Conflict: two different objects have the same MD5.
        ObjectMissing, ObjectCorrupt: a file is not in the store.
        HarnessError: the disk refused.
    """
    known = {entry.digest: md5.get(entry.digest) or _md5(store, entry.digest) for entry in tree if entry.digest}
    data = listing(tree, known)
    _check_names(known)
    folders: set[Path] = set()
    for digest, name in known.items():
        folders.add(_link(store, digest, name))
    name = hashlib.md5(data, usedforsecurity=False).hexdigest()
    with disk.faults("cannot write for DVC", store.root):
        folders.add(_write(store, data, name + ".dir"))
        above = {parent for folder in folders for parent in list(folder.parents)[:3]}
        for place in sorted(folders | above):
            disk.sync_directory(place)
    carried = [entry for _, entry in _files(tree)]
    return Output(name, sum(entry.size for entry in carried), len(carried))


def retract(store: ObjectStore, inodes: Collection[tuple[int, int]], *, listings: bool = False) -> list[str]:
    """Take away DVC's names of files that are no objects any more; whoever offers them meanwhile is not disturbed.

    Args:
        store: whose `dvc/` is searched.
        inodes: device and inode of each file.
        listings: also take away the `.dir` objects that list such a name, which nobody can pull any more.

    Returns:
        The names that were taken away.

    Raises:
        HarnessError: the disk refused.
    """
    top = store.root / FOLDER / _LAYOUT
    if not inodes or not top.is_dir():
        return []
    gone: list[str] = []
    with disk.faults("cannot take a name from DVC", top):
        found = [path for path in top.glob("*/*") if _inode(path) in inodes]
        for path in found:
            with disk.locked(store.root / "layout.json", alone=True):
                if _inode(path) in inodes:
                    path.unlink()
                    gone.append(path.parent.name + path.name)
        for path in top.glob("*/*.dir") if listings and gone else ():
            names = {row["md5"] for row in json.loads(path.read_bytes())}.intersection(gone)
            with disk.locked(store.root / "layout.json", alone=True):  # a name that is there was offered again
                if any(not (store.root / FOLDER / md5_path(name)).exists() for name in names):
                    path.unlink()
                    gone.append(path.parent.name + path.name)
    return gone


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def md5_path(name: str) -> str:
    """Where DVC keeps an object, below `FOLDER`: `files/md5/d1/31dd…`."""
    return f"{_LAYOUT}/{name[:2]}/{name[2:]}"


def begin(root: Path, remotes: Mapping[str, str]) -> None:
    """Make a Git repository one of DVC too, as `dvc init` does, and add the remotes that it does not know yet.

    What is there is left as it is: remotes of the same name, and a default.

    Args:
        root: of the repository.
        remotes: name → address of a store's remote; the first becomes DVC's default.

    Raises:
        HarnessError: the disk refused.
    """
    config = root / ".dvc" / "config"
    with disk.faults("cannot write for DVC", config):
        config.parent.mkdir(exist_ok=True)
        for place, text in (
            (root / ".dvcignore", _IGNORE),
            (root / ".dvc" / ".gitignore", "/config.local\n/tmp\n/cache\n"),
        ):
            if not place.exists():
                place.write_text(text, "utf-8")
        before = config.read_text("utf-8") if config.exists() else ""
        after = configuration(before, remotes)
        if after != before or not config.exists():
            config.write_text(after, "utf-8")


def configuration(before: str, remotes: Mapping[str, str]) -> str:
    """The text of `.dvc/config` that also knows these remotes.

    Args:
        before: its text now; empty for none.
        remotes: name → address of a store's remote; the first becomes the default where nothing else is said.

    Raises:
        InputError: the text is no configuration.
    """
    known = configparser.RawConfigParser(strict=False)
    try:
        known.read_string(before)
    except configparser.Error as error:
        raise InputError(f"not a configuration of DVC: {error.message}", where=".dvc/config") from error
    added = [name for name in remotes if not known.has_section(f"'remote \"{name}\"'")]
    text = before
    if added and not known.has_section("core"):
        text = f"[core]\n    remote = {next(iter(remotes))}\n" + text
    for name in added:
        text += f"['remote \"{name}\"']\n    url = {address_for_dvc(remotes[name])}\n"
    return text


def address_for_dvc(address: str) -> str:
    """What `.dvc/config` says of a store's remote; a relative address is taken from the benchmark folder."""
    address = address.removeprefix("file://")
    if _SCHEME.match(address) or address.startswith("/"):
        return f"{address.rstrip('/')}/{FOLDER}"
    return str(PurePosixPath("..", address, FOLDER))  # DVC takes it from `.dvc/`


def _files(tree: Tree) -> Iterable[tuple[str, TreeEntry]]:
    """What DVC lists, in its order, which is that of code points: files, and links that lead to files."""
    for entry in tree:
        if refused := _IGNORED_BY_DVC.intersection(entry.path.split("/")):
            raise InputError(
                f"DVC does not carry what is called {min(refused)}", where=entry.path, fix="freeze without it"
            )
        found = tree.led_to(entry.path)
        if found is not None and found.is_file:
            yield entry.path, found


def _md5(store: ObjectStore, digest: Digest) -> str:
    hasher = hashlib.md5(usedforsecurity=False)
    for piece in store.stream(digest):
        hasher.update(piece)
    return hasher.hexdigest()


def _check_names(known: Mapping[Digest, str]) -> None:
    seen: dict[str, Digest] = {}
    for digest, name in known.items():
        other = seen.setdefault(name, digest)
        if other != digest:
            raise _collision(name, other, digest)


def _collision(name: str, one: Digest | str, other: Digest) -> Conflict:
    what = f"different bytes with the same MD5 {name}: DVC would give one for the other"
    return Conflict(what, where=f"{one}, {other}", fix="leave one of the two out")


def _link(store: ObjectStore, digest: Digest, name: str) -> Path:
    """Give an object its MD5 name too; the folder of that name."""
    place = store.root / FOLDER / md5_path(name)
    path = store.path(digest)
    with disk.faults("cannot link an object for DVC", place), disk.locked(store.root / "layout.json"):
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            place.hardlink_to(path)
        except FileNotFoundError:
            store.size(digest)  # says which object is missing
            raise
        except FileExistsError:
            if not place.samefile(path):
                _replace(place, path, digest, name)
    return place.parent


def _replace(place: Path, path: Path, digest: Digest, name: str) -> None:
    """The name is taken by another file: a copy of the object, other bytes with this MD5, or bytes that went bad."""
    sha256, md5 = hashlib.sha256(), hashlib.md5(usedforsecurity=False)
    with place.open("rb", buffering=0) as file:
        while piece := file.read(CHUNK):
            sha256.update(piece)
            md5.update(piece)
    found = sha256.hexdigest()
    if found != digest.hex and md5.hexdigest() == name:
        raise _collision(name, f"sha256:{found}", digest)
    beside = place.with_name(f".{secrets.token_hex(8)}")
    beside.hardlink_to(path)
    beside.replace(place)


def _write(store: ObjectStore, data: bytes, name: str) -> Path:
    """Write an object that only DVC needs; the folder it is in."""
    place = store.root / FOLDER / md5_path(name)
    place.parent.mkdir(parents=True, exist_ok=True)
    if not place.exists() or place.read_bytes() != data:
        beside = store.root / "tmp" / f"{os.getpid()}.{secrets.token_hex(8)}"
        descriptor = disk.create(beside, 0o444)
        try:
            disk.write(descriptor, data)
            os.fsync(descriptor)
            beside.replace(place)
        finally:
            os.close(descriptor)
            with suppress(FileNotFoundError):
                beside.unlink()
    return place.parent
