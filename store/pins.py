"""Pins: objects that stay although no record names them, or none yet; of a tree, its files too.

    pins/2c26b46b…7ae    {"reason":"source of the next case","tree":true,"when":"2026-11-30T23:05:01Z"}

A pin is a file; it is written whole before the object's age for gc is renewed, so that a gc that read the pins before
has not removed the object unnoticed. Reading pins mends nothing: a pin that cannot be read is an error, and gc stops.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Self

from store import canonical, disk
from store.digest import Digest
from store.errors import InputError, ObjectMissing
from store.objects import ObjectStore
from store.tree import Tree

__all__ = ["Pin", "pin", "pins", "unpin"]

_TREE_BEGINS: Final = b'{"entries":['
_LONGEST: Final = 500


@dataclass(frozen=True, slots=True, order=True)
class Pin:
    """An object that stays.

    Attributes:
        digest: the object.
        reason: why, one line.
        tree: whether it is a tree, whose files stay too.
        when: when it was pinned, RFC 3339 in UTC.
    """

    digest: Digest
    reason: str
    tree: bool
    when: str

    @classmethod
    def parse(cls, digest: Digest, data: bytes) -> Self:
        """Read what `format` wrote.

        Raises:
            InputError: it is something else.
        """
        value = canonical.loads(data)
        if not isinstance(value, dict) or value.keys() != {"reason", "tree", "when"}:
            raise InputError("not a pin")
        reason, tree, when = value["reason"], value["tree"], value["when"]
        if not isinstance(reason, str) or not isinstance(tree, bool) or not isinstance(when, str):
            raise InputError("not a pin")
        return cls(digest, reason, tree, when)

    def format(self) -> bytes:
        """The canonical bytes of its file."""
        return canonical.dumps({"reason": self.reason, "tree": self.tree, "when": self.when})


def pin(store: ObjectStore, digest: Digest, reason: str) -> Pin:
    """Pin an object; pinned before, it has the new reason.

    Raises:
        InputError: the reason is no line of text.
        ObjectMissing: the object, or a file of the tree that it is, is not here; it is then not pinned.
        HarnessError: the disk refused.
    """
    if not reason.strip() or not reason.isprintable() or len(reason) > _LONGEST:
        raise InputError("a pin needs a reason", fix=f"say why in one line of at most {_LONGEST} characters")
    tree = _as_tree(store, digest)
    made = Pin(digest, reason, tree is not None, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
    place = _place(store, digest)
    known = place.exists()
    beside = place.with_name(f".{secrets.token_hex(8)}")
    with disk.faults("cannot pin an object", place):
        disk.write_new(beside, made.format(), 0o644)
        beside.replace(place)
        disk.sync_directory(place.parent)
    try:
        for part in [digest, *(entry.digest for entry in tree or () if entry.digest is not None)]:
            store.relies(part, store.size(part))
    except ObjectMissing:
        if not known:
            place.unlink(missing_ok=True)
        raise
    return made


def unpin(store: ObjectStore, name: str) -> Pin:
    """Take away the pin that a text names: an object's digest, or the beginning of exactly one pinned object's.

    Raises:
        InputError: it fits no pin, or several.
        HarnessError: the disk refused.
    """
    start = name.removeprefix("sha256:")
    found = [known for known in pins(store) if known.digest.hex.startswith(start)]
    if len(found) != 1 or not start:
        raise InputError(f"{len(found)} pinned objects begin with {start!r}", fix="rbl store pins lists them")
    with disk.faults("cannot unpin an object", store.root):
        _place(store, found[0].digest).unlink(missing_ok=True)
        disk.sync_directory(store.root / "pins")
    return found[0]


def pins(store: ObjectStore) -> list[Pin]:
    """Every pin, by digest.

    Raises:
        InputError: a file in `pins/` is none.
        HarnessError: the disk refused.
    """
    return sorted(_read(store.root / "pins"))


def _read(folder: Path) -> Iterator[Pin]:
    with disk.faults("cannot read the pins", folder):
        paths = [path for path in folder.iterdir() if path.name[0] != "."]
        for path in paths:
            with suppress(FileNotFoundError):  # taken away this moment
                try:
                    yield Pin.parse(Digest(path.name), path.read_bytes())
                except InputError as error:
                    raise InputError(f"not a pin: {error.what}", where=str(path), fix="move it away") from error


def _place(store: ObjectStore, digest: Digest) -> Path:
    return store.root / "pins" / digest.hex


def _as_tree(store: ObjectStore, digest: Digest) -> Tree | None:
    """The tree that an object is; a file with a tree's bytes is none the worse for being taken for one."""
    store.size(digest)  # says that it is missing
    with disk.faults("cannot read an object", store.path(digest)), store.path(digest).open("rb") as file:
        if file.read(len(_TREE_BEGINS)) != _TREE_BEGINS:
            return None
    try:
        return Tree.parse(store.get(digest))
    except InputError:
        return None
