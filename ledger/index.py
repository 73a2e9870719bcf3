"""A SQLite index of the log, outside the benchmark folder: where records stand, never what they say.

    <state>/index/stamp                  {"file":"41-9f3a….sqlite3","format":1,"identity":[…],"root":"sha256:…",…}
    <state>/index/41-9f3a….sqlite3       the first 41 records, by digest, kind, attempt, entry, case and time

    index = Index.believed(directory, log)       # or None: absent, damaged, or of another log
    index.numbers(Query(kind="evaluation"))        # log indices, ascending

It finds log indices and nothing else: whoever uses one reads the record from the authenticated log and compares. It is
believed only when

- its stamp's root is the one that the verified log had at the stamp's size: then it is of a prefix of this log;
- its file is the one that was stamped: the same inode, times and length, or else the same SHA-256 over all of it.

So a row that was edited, added or **left out** is noticed before an answer is given, and the index is made again
(`ledger.indexing`); a row left out could not be noticed from the records alone. It is made beside and renamed, never
changed in place, so readers need no lock. Whoever can rewrite the stamp too can also rewrite the pinned trust root
beside it; even then no record is shown that is not in the log (docs/decisions/index-finds-indices.md).
"""

from __future__ import annotations

import hashlib
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import quote

from ledger.log.log import LogReader
from ledger.records import kinds
from store import canonical, disk
from store.digest import Digest
from store.errors import InputError, LogInvalid

__all__ = ["CODES", "Index", "Query", "Stamp", "identity_of", "key_of", "sha256_of"]

_FORMAT: Final = 1
_KINDS: Final = tuple(kinds.KINDS)
CODES: Final = {kind: code for code, kind in enumerate(_KINDS)}
"""The number of each kind in the tables."""

_KEY: Final = 16  # hexadecimal digits of a digest that the index keeps

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
class Stamp:
    """What the file of an index must be, and which log it is of."""

    file: str
    sha256: str
    identity: list[int]
    size: int
    root: Digest

    def format(self) -> bytes:
        """The stamp as its file holds it."""
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
        stamp = Stamp.read(directory)
        if stamp is None or not 0 <= stamp.size <= log.size or log.root_at(stamp.size) != stamp.root:
            return None
        path = directory / Path(stamp.file).name
        with disk.faults("cannot read the index", path):
            try:
                if identity_of(path) != stamp.identity and sha256_of(path) != stamp.sha256:
                    return None
            except FileNotFoundError:
                return None
        return cls(path, stamp.size)

    def numbers(self, query: Query) -> list[int]:
        """Where the records stand that a query wants."""
        kind = None if query.kind is None else CODES[query.kind]
        number = query.since if isinstance(query.since, int) else None
        time = query.since if isinstance(query.since, str) else None
        text = _ANY if query.attempt is None else _OF_ATTEMPT
        codes = (CODES["entry"], CODES["case"])
        return self._column(text, kind, query.attempt, query.entry, query.case, number, time, *codes)

    def declared(self, kind: str) -> list[tuple[int, str]]:
        """Index and name of each record of a kind that belongs to no attempt."""
        return self._rows("SELECT number, name FROM declared WHERE kind = ? ORDER BY number", CODES[kind])

    def beginning(self, digits: str) -> list[int]:
        """Where records may stand whose digests begin with these hexadecimal digits, of which it looks at 16."""
        some = digits[:_KEY]
        low, high = key_of(bytes.fromhex(some.ljust(_KEY, "0"))), key_of(bytes.fromhex(some.ljust(_KEY, "f")))
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


def key_of(first: bytes) -> int:
    """8 bytes as a signed integer in the order of unsigned ones."""
    return int.from_bytes(first, "big") - (1 << 63)


def identity_of(path: Path) -> list[int]:
    """What changes when a file is written or replaced: device, inode, bytes, and the times of change in nanoseconds."""
    found = path.lstat()
    return [found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def sha256_of(path: Path) -> str:
    """The hexadecimal SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
