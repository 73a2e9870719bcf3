"""Writes a log's files: bundles and tiles create-exclusive, the checkpoint replaced atomically.

    writer.integrate(entries)      # tile/entries/000.p/3, tile/0/000.p/3, fsynced, never overwritten
    writer.publish(note)           # checkpoint: temporary file, fsync, rename, fsync of the folder
    writer.prune()                 # partial tiles whose full tile is served by now (tlog-tiles, Partial Tiles)

A file appears under its name whole or not at all: it is written and fsynced beside, then linked. A name that is taken
must hold the same bytes, which is what makes a replay after a crash harmless, and a second history impossible
(FiloSottile/sunlight#13: a late write replaced a tile). The order of the calls, the lock and the journal are the
sequencer's business; what entries say is not known here.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from ledger.log import merkle
from ledger.log.log import LogReader
from ledger.log.tiles import HEIGHT, WIDTH, Tile, TilePath, format_bundle, tiles_of
from store import disk
from store.errors import LogInvalid

__all__ = ["CHECKPOINT", "LogWriter", "replace_file", "write_once"]

CHECKPOINT: Final = "checkpoint"
_MODE: Final = 0o644


class LogWriter:
    """The files of one log, from a verified head onwards. For the one holder of the lock.

    Args:
        directory: the `log/` folder.
        reader: the log at its present head; None while there is no checkpoint.
    """

    def __init__(self, directory: Path, reader: LogReader | None) -> None:
        self.directory = directory
        self.size = 0 if reader is None else reader.size
        self._entries = [] if reader is None else reader.tail()
        self._hashes: list[list[bytes]] = []
        if reader is not None:
            depth = -(-self.size.bit_length() // HEIGHT)
            self._hashes = [reader.tail_hashes(level) for level in range(depth)]
        self._filled: list[TilePath] = []
        self._temporary = directory / ".tmp"
        with disk.faults("cannot write the log", directory):
            self._temporary.mkdir(parents=True, exist_ok=True)
            for left in self._temporary.iterdir():
                left.unlink()

    def integrate(self, entries: Sequence[bytes]) -> None:
        """Write the bundles and tiles that the next entries complete or widen; all is on the disk on return.

        Raises:
            LogInvalid: a file of another content has the name (`fork`).
            HarnessError: the disk refused.
        """
        files = self._grow(entries)
        with disk.faults("cannot write the log", self.directory):
            folders: set[Path] = set()
            for path, data in files.items():
                self._put(path, data, folders)
            for folder in sorted(folders, reverse=True):
                disk.sync_directory(folder)

    def publish(self, note: bytes) -> None:
        """Replace the checkpoint; it is on the disk on return.

        Raises:
            HarnessError: the disk refused.
        """
        replace_file(self.directory / CHECKPOINT, note, self._temporary)

    def prune(self) -> None:
        """Remove the partial tiles that full ones have replaced. Call it after `publish`.

        Raises:
            HarnessError: the disk refused.
        """
        filled, self._filled = self._filled, []
        for path in filled:
            folder = self.directory / f"{path}.p"
            with disk.faults("cannot remove a partial tile", folder), suppress(FileNotFoundError):
                for partial in folder.iterdir():
                    partial.unlink()
                folder.rmdir()

    # ------------------------------------------------------------------------------------------------ inside

    def _grow(self, entries: Sequence[bytes]) -> dict[TilePath, bytes]:
        files: dict[TilePath, bytes] = {}
        bundle = self.size // WIDTH
        before = set(tiles_of(self.size))
        for entry in entries:
            self._entries.append(entry)
            if len(self._entries) == WIDTH:
                files[TilePath(-1, bundle)] = format_bundle(self._entries)
                self._entries = []
                bundle += 1
            self._push(0, self.size, merkle.leaf_hash(entry), files)
            self.size += 1
        self._filled += list(files)
        if entries and self._entries:
            files[TilePath(-1, bundle, len(self._entries))] = format_bundle(self._entries)
        for path in tiles_of(self.size):
            if path not in before:
                files[path] = b"".join(self._hashes[path.level])
        return files

    def _push(self, level: int, index: int, node: bytes, files: dict[TilePath, bytes]) -> None:
        if level == len(self._hashes):
            self._hashes.append([])
        hashes = self._hashes[level]
        hashes.append(node)
        if len(hashes) == WIDTH:
            files[TilePath(level, index // WIDTH)] = b"".join(hashes)
            self._hashes[level] = []
            self._push(level + 1, index // WIDTH, Tile(hashes).node(HEIGHT, 0), files)

    def _put(self, path: TilePath, data: bytes, folders: set[Path]) -> None:
        """Create the file, or find it there with the same bytes; notes the folders to fsync."""
        target = self.directory / str(path)
        parent = target.parent
        while parent not in folders and parent != self.directory.parent:
            folders.add(parent)
            parent = parent.parent
        target.parent.mkdir(parents=True, exist_ok=True)
        _link_once(target, data, self._temporary)


def write_once(target: Path, data: bytes, temporary: Path) -> None:
    """Create a file durably, or find it there with the same bytes.

    Args:
        target: what is made.
        data: its bytes.
        temporary: a folder on the same file system.

    Raises:
        LogInvalid: a file of another content has the name (`fork`).
        HarnessError: the disk refused.
    """
    with disk.faults("cannot write a file", target):
        _link_once(target, data, temporary)
        disk.sync_directory(target.parent)


def _link_once(target: Path, data: bytes, folder: Path) -> None:
    temporary = _write_beside(folder, data)
    try:
        os.link(temporary, target, follow_symlinks=False)
    except FileExistsError as error:
        if target.is_symlink() or target.read_bytes() != data:
            fix = "the log was written by somebody else: restore it, and keep this one as evidence"
            raise LogInvalid("fork", "a file is there with other bytes", where=str(target), fix=fix) from error
    finally:
        temporary.unlink()


def replace_file(target: Path, data: bytes, temporary: Path) -> None:
    """Replace a file atomically and durably.

    Args:
        target: what is replaced.
        data: its new bytes.
        temporary: a folder on the same file system.

    Raises:
        HarnessError: the disk refused.
    """
    with disk.faults("cannot replace a file", target):
        written = _write_beside(temporary, data)
        try:
            written.replace(target)
        except OSError:
            written.unlink()
            raise
        disk.sync_directory(target.parent)


def _write_beside(folder: Path, data: bytes) -> Path:
    path = folder / f"{os.getpid()}.{secrets.token_hex(8)}"
    descriptor = disk.create(path, _MODE)
    try:
        disk.write(descriptor, data)
        os.fsync(descriptor)
    except OSError:
        path.unlink()
        raise
    finally:
        os.close(descriptor)
    return path
