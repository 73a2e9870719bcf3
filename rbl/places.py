"""Where a verification reads from: a benchmark folder or an audit bag.

    with open_place("first.tar", Path()) as folder: …     a bag: its name ends with .tar
    with open_place(None, Path("bench")) as folder: …     the folder of -C

Both give a benchmark folder, so that one verification serves both. Nothing but the auditor's path is imported.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ledger.folder import Folder
from ledger.log.policy import Policy
from store.digest import Digest
from store.errors import InputError

__all__ = ["is_elsewhere", "only_release", "open_place", "read_policy", "trusted_root"]


def is_elsewhere(text: str) -> bool:
    """Whether a word names a bag, and not something in the folder of -C."""
    return text.endswith(".tar")


@contextmanager
def open_place(where: str | None, directory: Path) -> Iterator[Folder]:
    """The benchmark folder to verify.

    Args:
        where: a bag; null for the folder at or above `directory`.
        directory: what -C says.

    Raises:
        InputError: there is none, or it is refused.
        CheckFailed: what was unpacked is not what it must be.
    """
    if where is None:
        yield Folder.find(directory)
    else:
        from ledger.bag import opened

        with opened(directory / where) as folder:
            yield folder


def only_release(folder: Folder, where: str) -> str:
    """The name of the one release that a bag holds.

    Raises:
        InputError: it holds none, or several.
    """
    from ledger.bag import releases

    names = releases(folder)
    if len(names) != 1:
        raise InputError(
            f"it holds {len(names)} releases: {', '.join(names)}", where=where, fix="name one behind the bag"
        )
    return names[0]


def trusted_root(folder: Folder, pin: str | None) -> tuple[Digest, str]:
    """The first trust root to believe, and where that belief comes from, for people.

    Args:
        folder: the opened place.
        pin: what was given on the command line.

    Raises:
        InputError: the pin is no digest; the folder has no trust root.
    """
    from ledger.log.pin import Pin

    if pin is not None:
        return Digest.parse(pin), "trust root 1 is the given one"
    remembered = Pin(folder.state).trust_root
    if remembered is not None:
        return remembered, "trust root 1 is the pinned one"
    own = folder.trust / "1.root.json"
    try:
        return Digest.of(own.read_bytes()), "trust root 1 is its own, not pinned"
    except OSError as error:
        raise InputError(f"no trust root: {error.strerror}", where="trust/1.root.json") from error


def read_policy(path: Path | None) -> Policy | None:
    """A policy file of C2SP tlog-policy; null where none is named.

    Raises:
        InputError: it cannot be read, or is no policy; names the line.
    """
    if path is None:
        return None
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read the policy: {error.strerror}", where=str(path)) from error
    return Policy.parse(data, where=str(path))
