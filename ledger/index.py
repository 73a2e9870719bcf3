"""A SQLite index of the log, outside the benchmark folder: where records stand, never what they say.

    <state>/index/stamp                  {"file":"41-9f3a….sqlite3","format":1,"identity":[…],"root":"sha256:…",…}
    <state>/index/41-9f3a….sqlite3       the first 41 records, by digest, kind, attempt, entry, case and time

    index = Index.believed(directory, log)       # or None: absent, damaged, or of another log
    index = extend(directory, log, index)        # up to the log's head

It finds log indices and nothing else: whoever uses one reads the record from the authenticated log and compares. It is
believed only when

- its stamp's root is the one that the verified log had at the stamp's size: then it is of a prefix of this log;
- its file is the one that was stamped: the same inode, times and length, or else the same SHA-256 over all of it.

So a row that was edited, added or **left out** is noticed before an answer is given, and the index is made again; a
row left out could not be noticed from the records alone. It is made beside and renamed, never changed in place, so
readers need no lock. Whoever can rewrite the stamp too can also rewrite the pinned trust root beside it; even then no
record is shown that is not in the log (docs/decisions/index-finds-indices.md).
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
from typing import Any, Final, Self
from urllib.parse import quote

import msgspec

from ledger.log.log import LogReader
from ledger.log.writer import replace_file
from ledger.records import kinds
from store import canonical, disk
from store.digest import Digest
from store.errors import HarnessError, InputError, LogInvalid

__all__ = ["Index", "Query", "extend"]

_FORMAT: Final = 1
_KINDS: Final = tuple(kinds.KINDS)
_CODES: Final = {kind: code for code, kind in enumerate(_KINDS)}
_SOME: Final = 4096  # rows written at once
_KEY: Final = 16  # hexadecimal digits of a digest that the index keeps

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

_NARROWED: Final = """
    AND (?1 IS NULL OR kind = ?1)
    AND (?3 IS NULL OR attempt IN (SELECT number FROM attempts WHERE entry = ?3)
         OR number IN (SELECT number FROM declared WHERE kind = ?7 AND name = ?3))
    AND (?4 IS NULL OR attempt IN (SELECT number FROM attempts WHERE case_id = ?4)
         OR number IN (SELECT number FROM declared WHERE kind = ?8 AND name = ?4))
    AND (?5 IS NULL OR number >= ?5)
    AND (?6 IS NULL OR issued >= ?6)
    ORDER BY number"""
_ANY: Final = "SELECT number FROM records WHERE ?2 IS NULL" + _NARROWED  # noqa: S608 - constants
_OF_ATTEMPT: Final = (
    "SELECT number FROM records WHERE attempt = (SELECT number FROM attempts WHERE id = ?2)" + _NARROWED  # noqa: S608
)
"""With an attempt, whose few records have an index, and without; the parameters are a query's, null where not given."""


@dataclass(frozen=True, slots=True)
class Query:
    """Which records are wanted; each that is given narrows.

    Attributes:
        kind: of this kind.
        attempt: of this attempt, or about it; its whole id.
        entry, case: of its attempts, and its own declarations.
        since: from this index on, or issued at this time (RFC 3339, or its beginning) or later.
    """

    kind: str | None = None
    attempt: str | None = None
    entry: str | None = None
    case: str | None = None
    since: int | str | None = None


@dataclass(frozen=True, slots=True)
class _Stamp:
    """What the file of an index must be, and which log it is of."""

    file: str
    sha256: str
    identity: list[int]
    size: int
    root: Digest

    def format(self) -> bytes:
        return canonical.dumps(
            {
                "format": _FORMAT,
                "file": self.file,
                "sha256": self.sha256,
                "identity": [str(number) for number in self.identity],
                "size": self.size,
                "root": str(self.root),
            }
        )

    @classmethod
    def read(cls, directory: Path) -> Self | None:
        """The stamp, or None where there is none that `format` wrote."""
        with disk.faults("cannot read the index", directory):
            try:
                data = (directory / "stamp").read_bytes()
            except FileNotFoundError:
                return None
        try:
            value: Any = canonical.loads(data)
            numbers = [int(number) for number in value["identity"]]
            found = cls(str(value["file"]), str(value["sha256"]), numbers, value["size"], Digest.parse(value["root"]))
            return found if type(found.size) is int and found.format() == data else None
        except (InputError, KeyError, TypeError, ValueError):
            return None


class Index:
    """An index of the first `size` records. Use `believed`; what it gives are log indices, ascending."""

    def __init__(self, path: Path, size: int) -> None:
        self.path = path
        self.size = size
        self._database = sqlite3.connect(f"file:{quote(str(path))}?mode=ro&immutable=1", uri=True)

    @classmethod
    def believed(cls, directory: Path, log: LogReader) -> Self | None:
        """The index in a folder, when it may be used for this log.

        Args:
            directory: of the index.
            log: verified.

        Returns:
            None when there is none, when it is of another log, or when its file is not the one that was stamped.
        """
        stamp = _Stamp.read(directory)
        if stamp is None or not 0 <= stamp.size <= log.size or log.root_at(stamp.size) != stamp.root:
            return None
        path = directory / Path(stamp.file).name
        with disk.faults("cannot read the index", path):
            try:
                if _identity(path) != stamp.identity and _sha256(path) != stamp.sha256:
                    return None
            except FileNotFoundError:
                return None
        return cls(path, stamp.size)

    def numbers(self, query: Query) -> list[int]:
        """Where the records stand that a query wants."""
        kind = None if query.kind is None else _CODES[query.kind]
        number = query.since if isinstance(query.since, int) else None
        time = query.since if isinstance(query.since, str) else None
        text = _ANY if query.attempt is None else _OF_ATTEMPT
        codes = (_CODES["entry"], _CODES["case"])
        return self._column(text, kind, query.attempt, query.entry, query.case, number, time, *codes)

    def declared(self, kind: str) -> list[tuple[int, str]]:
        """Index and name of each record of a kind that belongs to no attempt."""
        return self._rows("SELECT number, name FROM declared WHERE kind = ? ORDER BY number", _CODES[kind])

    def beginning(self, digits: str) -> list[int]:
        """Where records may stand whose digests begin with these hexadecimal digits, of which it looks at 16."""
        some = digits[:_KEY]
        low, high = _key(bytes.fromhex(some.ljust(_KEY, "0"))), _key(bytes.fromhex(some.ljust(_KEY, "f")))
        return self._column("SELECT number FROM records WHERE key BETWEEN ? AND ? ORDER BY number", low, high)

    def counts(self) -> dict[str, int]:
        """How many records there are of each kind that there is."""
        return {_KINDS[code]: count for code, count in self._rows("SELECT kind, count(*) FROM records GROUP BY kind")}

    def open_attempts(self) -> list[str]:
        """The attempts that were not closed, in the order they were opened."""
        return self._column("SELECT id FROM attempts WHERE closed IS NULL ORDER BY number")

    def attempts(self, entry: str | None = None, case: str | None = None) -> list[str]:
        """The attempts of an entry, on a case, or all, in the order they were opened."""
        return self._column(
            "SELECT id FROM attempts WHERE (?1 IS NULL OR entry = ?1) AND (?2 IS NULL OR case_id = ?2) ORDER BY number",
            entry,
            case,
        )

    def called(self, name: str) -> list[str]:
        """The attempts whose id begins or ends so; only itself where it is one."""
        if self._column("SELECT id FROM attempts WHERE id = ?", name):
            return [name]
        return self._column(
            "SELECT id FROM attempts WHERE ?1 > 0 AND (substr(id, 1, ?1) = ?2 OR substr(id, -?1) = ?2) ORDER BY number",
            len(name),
            name,
        )

    def tries(self, attempt: str, before: str | None) -> list[str]:
        """The attempts that try this one again, and the one `before` that it tries again."""
        return self._column("SELECT id FROM attempts WHERE retry_of = ? OR id = ? ORDER BY number", attempt, before)

    def _column(self, text: str, *values: Any) -> list[Any]:
        return [row[0] for row in self._rows(text, *values)]

    def _rows(self, text: str, *values: Any) -> list[Any]:
        try:
            return self._database.execute(text, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise LogInvalid("index", str(error), where=str(self.path), fix="rbl ledger reindex") from error

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()


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
            digest = _sha256(place)
            place.rename(directory / name)
        except sqlite3.OperationalError as error:
            raise HarnessError(f"cannot write the index: {error}", where=str(place)) from error
        stamp = _Stamp(name, digest, _identity(directory / name), log.size, log.head.root)
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
        key = _key(hashlib.sha256(leaf).digest()[:8])
        return cls(number, _CODES[kind], key, body.issued_at, attempt, name, opening)


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
        closed = [(one.number, self.of(one.attempt)) for one in some if one.kind == _CODES["attempt-closed"]]
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


def _key(first: bytes) -> int:
    """8 bytes as a signed integer in the order of unsigned ones."""
    return int.from_bytes(first, "big") - (1 << 63)


def _identity(path: Path) -> list[int]:
    found = path.lstat()
    return [found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
