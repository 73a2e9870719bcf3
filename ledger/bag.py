"""Opens an audit bag as the benchmark folder that it holds, for a verification or for good.

    with opened(Path("first.tar")) as folder: verify(folder, "first")     # a temporary copy, gone afterwards
    folder = install(Path("first.tar"), Path("audit"))                    # `audit/` is a benchmark folder, without keys
    releases(folder)                                                      # ["first"]

A bag that is whole is not yet true: nothing that it says of itself is believed, and whoever opens it verifies log and
release as in any folder. Its `rbl.toml` may name the ledger and nothing else, so that no path and no address of the
sender's takes effect here. What goes into a bag is decided by `ledger.release.export`.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ledger.folder import CONFIG, Config, Folder
from store import disk
from store.bagit import Bag
from store.errors import Conflict, InputError, RuleBroken

__all__ = ["install", "opened", "releases"]


@contextmanager
def opened(bag: Path) -> Iterator[Folder]:
    """The benchmark folder in a bag, as a temporary copy.

    Args:
        bag: the tar.

    Raises:
        InputError: it cannot be read, or the tar is refused (`TreeError`); names the member.
        RuleBroken: it is no bag, or not whole (`bag`); names the file.
    """
    with tempfile.TemporaryDirectory(prefix="rbl-bag-") as place:
        yield _unpack(bag, Path(place))


def install(bag: Path, target: Path) -> Folder:
    """Make a benchmark folder of a bag, whole or not at all. It has no keys: it can be read and verified.

    Args:
        bag: the tar.
        target: a folder that does not exist yet.

    Raises:
        Conflict: the target exists.
        InputError, RuleBroken: as `opened`.
    """
    if os.path.lexists(target):
        raise Conflict("there is something of that name", where=str(target), fix="choose a new name")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name[:40]}.", dir=target.parent.resolve()) as place:
        unpacked = _unpack(bag, Path(place))
        with disk.faults("cannot put the folder in its place", target):
            unpacked.root.rename(target)
    return Folder.open(target)


def releases(folder: Folder) -> list[str]:
    """The names of the release folders that are there."""
    if not folder.releases.is_dir():
        return []
    return sorted(place.name for place in folder.releases.iterdir() if (place / "release.json").is_file())


def _unpack(bag: Path, place: Path) -> Folder:
    try:
        stream = bag.open("rb")
    except OSError as error:
        raise InputError(f"cannot read the bag: {error.strerror}", where=str(bag)) from error
    with stream:
        data = Bag.open(stream, place / "bag").data
    folder = Folder(data)
    if not (data / CONFIG).is_file():
        raise RuleBroken("bag", "no benchmark folder is in this bag", where=f"data/{CONFIG}")
    if folder.config != Config(folder.config.origin):
        what = "it says more than the ledger's name, which is all that a bag may say"
        raise RuleBroken("bag", what, where=f"data/{CONFIG}")
    for name in ("tmp", "quarantine", "pins"):
        (folder.objects / name).mkdir(parents=True, exist_ok=True)
    return folder
