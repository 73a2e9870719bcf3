"""Makes the index of a log, or carries a believed one on to the log's head: what `ledger.index` reads.

    index = extend(directory, log, before)       # before: a believed one, or None

Written beside and renamed when it is whole; what a crash leaves is never stamped, and is removed by the next. Of each
record no more is read than the index keeps.
"""

from __future__ import annotations

import hashlib
import secrets
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import msgspec

from ledger.index import CODES, Index, Stamp, identity_of, key_of, sha256_of
from ledger.log.log import LogReader
from ledger.log.writer import replace_file
from store import disk
from store.errors import HarnessError, LogInvalid

__all__ = ["extend"]

_SOME: Final = 4096  # rows written at once

_SCHEMA: Final = """
CREATE TABLE attempts (
    number INTEGER PRIMARY KEY, id TEXT UNIQUE, entry TEXT, case_id TEXT, retry_of TEXT, closed INTEGER
);
CREATE TABLE records (number INTEGER PRIMARY KEY, kind INTEGER, key INTEGER, issued TEXT, attempt INTEGER);
CREATE TABLE declared (number INTEGER PRIMARY KEY, kind INTEGER, name TEXT);
"""
_INDICES: Final = """
CREATE INDEX IF NOT EXISTS by_key ON records (key);
CREATE INDEX IF NOT EXISTS by_attempt ON records (attempt) WHERE attempt IS NOT NULL;
CREATE INDEX IF NOT EXISTS by_retry ON attempts (retry_of) WHERE retry_of IS NOT NULL;
CREATE INDEX IF NOT EXISTS by_open ON attempts (number) WHERE closed IS NULL;
"""


def extend(
    directory: Path,
    log: LogReader,
    before: Index | None,
    say: Callable[[int, int], None] = lambda _done, _total: None,
) -> Index:
    """Make the index of a whole log, from a believed one of its beginning where there is one.

    Args:
        directory: of the index; one at a time extends it.
        log: verified; its records were admitted by the caller.
        before: what is there already.
        say: told how many of how many records are in.

    Raises:
        LogInvalid: a bundle does not verify.
        HarnessError: the disk refused.
    """
    name = f"{log.size}-{secrets.token_hex(4)}.sqlite3"
    place = directory / f"{name}.partial"
    with disk.faults("cannot write the index", place):
        temporary = directory / "tmp"
        temporary.mkdir(parents=True, exist_ok=True, mode=0o700)
        for left in (*directory.glob("*.partial"), *temporary.iterdir()):  # by a crash
            left.unlink()
        if before is not None:
            shutil.copyfile(before.path, place)
        try:
            with closing(sqlite3.connect(place, isolation_level=None)) as database:
                _write(database, log, 0 if before is None else before.size, say)
            digest = sha256_of(place)
            place.rename(directory / name)
        except sqlite3.OperationalError as error:
            raise HarnessError(f"cannot write the index: {error}", where=str(place)) from error
        stamp = Stamp(name, digest, identity_of(directory / name), log.size, log.head.root)
        replace_file(directory / "stamp", stamp.format(), temporary)
        for old in directory.glob("*.sqlite3"):
            if old.name != name:
                old.unlink()
    return Index(directory / name, log.size)


def _write(database: sqlite3.Connection, log: LogReader, start: int, say: Callable[[int, int], None]) -> None:
    # what a crash leaves behind is never stamped: nothing has to be durable
    database.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-65536;")
    if not start:
        database.executescript(_SCHEMA)
    database.execute("BEGIN")
    places = _Places(database)
    for rows in _batches(log, start):
        some = [_Sketch.of(number, leaf) for number, leaf in rows]
        places.take(some)
        database.executemany(
            "INSERT INTO records VALUES (?, ?, ?, ?, ?)",
            [(one.number, one.kind, one.key, one.issued, places.of(one.attempt)) for one in some],
        )
        database.executemany(
            "INSERT INTO declared VALUES (?, ?, ?)",
            [(one.number, one.kind, one.name) for one in some if one.name is not None],
        )
        say(rows[-1][0] + 1, log.size)
    database.execute("COMMIT")
    database.executescript(_INDICES)


def _batches(log: LogReader, start: int) -> Iterator[list[tuple[int, bytes]]]:
    rows: list[tuple[int, bytes]] = []
    for row in enumerate(log.entries(start), start):
        rows.append(row)
        if len(rows) == _SOME:
            yield rows
            rows = []
    if rows:
        yield rows


class _Named(msgspec.Struct):
    id: str


class _Chain(msgspec.Struct):
    attempt: str


class _Target(msgspec.Struct):
    kind: str
    id: str


class _Predicate(msgspec.Struct):
    """What the index keeps of any body; everything else is passed over unread."""

    issued_at: str
    name: str | None = None
    id: str | None = None
    chain: _Chain | None = None
    attempt: str | None = None
    entry: _Named | None = None
    case: _Named | str | None = None
    target: _Target | None = None
    retry_of: str | None = None


class _Payload(msgspec.Struct):
    predicate: _Predicate
    predicate_type: str = msgspec.field(name="predicateType")


class _Leaf(msgspec.Struct):
    payload: bytes


_leaf = msgspec.json.Decoder(_Leaf).decode
_payload = msgspec.json.Decoder(_Payload).decode


@dataclass(frozen=True, slots=True)
class _Sketch:
    """The rows of one record.

    Attributes:
        number: its log index.
        kind: code of its kind.
        key: the first 8 bytes of its digest, as SQLite keeps integers.
        issued: when, as it says.
        attempt: which it is of or about.
        name: of a record of no attempt: name or id, or of what it is about.
        opening: entry, case and the attempt that is tried again, of an opening.
    """

    number: int
    kind: int
    key: int
    issued: str
    attempt: str | None
    name: str | None
    opening: tuple[str | None, str | None, str | None] | None

    @classmethod
    def of(cls, number: int, leaf: bytes) -> Self:
        """Read an admitted record no further than the index needs."""
        payload = _payload(_leaf(leaf).payload)
        body = payload.predicate
        kind = payload.predicate_type.split(":")[2]
        attempt, name = body.attempt, None
        if body.chain is not None:
            attempt = body.chain.attempt
        elif body.target is not None:
            attempt = body.target.id if body.target.kind == "attempt" else None
            name = body.target.id
        elif attempt is None:
            name = body.name or body.id or ""
        opening = None
        if kind == "attempt-opened":
            case = body.case.id if isinstance(body.case, _Named) else None
            opening = (None if body.entry is None else body.entry.id, case, body.retry_of)
        key = key_of(hashlib.sha256(leaf).digest()[:8])
        return cls(number, CODES[kind], key, body.issued_at, attempt, name, opening)


class _Places:
    """The numbers of attempts, those that this run has seen kept in memory."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._known: dict[str, int] = {}
        self._next: int = database.execute("SELECT coalesce(max(number), 0) + 1 FROM attempts").fetchone()[0]

    def take(self, some: Sequence[_Sketch]) -> None:
        """Note the attempts that are opened and closed in some records."""
        rows = []
        for one in some:
            if one.opening is not None and one.attempt is not None:
                self._known[one.attempt] = self._next
                rows.append((self._next, one.attempt, *one.opening))
                self._next += 1
        self._database.executemany("INSERT INTO attempts VALUES (?, ?, ?, ?, ?, NULL)", rows)
        closed = [(one.number, self.of(one.attempt)) for one in some if one.kind == CODES["attempt-closed"]]
        self._database.executemany("UPDATE attempts SET closed = ? WHERE number = ?", closed)

    def of(self, attempt: str | None) -> int | None:
        """The number of an attempt that was opened."""
        if attempt is None:
            return None
        found = self._known.get(attempt)
        if found is None:
            row = self._database.execute("SELECT number FROM attempts WHERE id = ?", (attempt,)).fetchone()
            if row is None:
                raise LogInvalid("index", f"records of {attempt}, which was never opened", where="the log")
            found = self._known[attempt] = row[0]
        return found
