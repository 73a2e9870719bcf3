"""What this machine remembers of a log, outside its folder: the first trust root, and the last head it signed.

    <state>/trust-root   sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae
    <state>/head         {"root":"sha256:…","size":41}

A ledger's identity is its origin and the digest of its first trust root, which is that of leaf 0. The head stops a
folder that was restored from a backup, or checked out at an older commit, from being continued into a second history.
Both are written atomically. What they mean for a log is decided by its readers and by the sequencer.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from ledger.log.writer import replace_file
from ledger.records.kinds import Head
from store import canonical, disk
from store.digest import Digest
from store.errors import Conflict, InputError, LogInvalid

__all__ = ["Pin"]

_TEMPORARY: Final = ".tmp"


class Pin:
    """The remembered facts of one log.

    Args:
        directory: the state folder; made when something is first remembered.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @property
    def trust_root(self) -> Digest | None:
        """The digest of leaf 0, or None when nothing is pinned.

        Raises:
            LogInvalid: the file is damaged (`pin`).
        """
        data = self._read("trust-root")
        if data is None:
            return None
        try:
            return Digest.parse(data.decode("ascii").removesuffix("\n"))
        except (InputError, UnicodeDecodeError) as error:
            raise LogInvalid("pin", "not a pinned digest", where=str(self.directory / "trust-root")) from error

    @property
    def head(self) -> Head | None:
        """The last head that was signed here, or None.

        Raises:
            LogInvalid: the file is damaged (`pin`).
        """
        data = self._read("head")
        if data is None:
            return None
        try:
            return _parse_head(data)
        except InputError as error:
            raise LogInvalid("pin", "not a remembered head", where=str(self.directory / "head")) from error

    def pin(self, digest: Digest) -> None:
        """Remember the digest of leaf 0.

        Raises:
            Conflict: another is pinned, and a head under it was signed.
            HarnessError: the disk refused.
        """
        pinned = self.trust_root
        if pinned == digest:
            return
        if pinned is not None and self.head is not None:
            fix = "give the new ledger another origin"
            raise Conflict(f"this origin is pinned to {pinned}", where=str(self.directory), fix=fix)
        self._write("trust-root", f"{digest}\n".encode())

    def remember(self, head: Head) -> None:
        """Remember the last signed head.

        Raises:
            HarnessError: the disk refused.
        """
        temporary = self.directory / _TEMPORARY
        with disk.faults("cannot remember", temporary):
            for left in temporary.glob("*"):  # by a crash: whoever remembers a head holds the log's lock
                left.unlink()
        self._write("head", canonical.dumps({"size": head.size, "root": str(head.root)}))

    def _read(self, name: str) -> bytes | None:
        place = self.directory / name
        with disk.faults("cannot read what is remembered of the log", place):
            try:
                return place.read_bytes()
            except FileNotFoundError:
                return None

    def _write(self, name: str, data: bytes) -> None:
        temporary = self.directory / _TEMPORARY
        with disk.faults("cannot remember", self.directory):
            if not temporary.is_dir():
                temporary.mkdir(parents=True, exist_ok=True, mode=0o700)
                disk.sync_directory(self.directory.parent)
        replace_file(self.directory / name, data, temporary)


def _parse_head(data: bytes) -> Head:
    value: Any = canonical.loads(data)
    if not isinstance(value, dict) or value.keys() != {"root", "size"} or type(value["size"]) is not int:
        raise InputError("not a head")
    return Head(size=value["size"], root=Digest.parse(str(value["root"])))
