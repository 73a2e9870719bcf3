"""An auditor's pin file: what was verified of a log, so that the next verification reads only what is new.

    with PinFile.open(Path("auditor.pin"), origin, pinned) as kept:
        kept.head                          # the head that was verified, or None
        gate = Gate(origin, root_at, kept)
        …                                  # admit what is new
        kept.keep(head, gate, said)

It is a SQLite database that holds the head, the digest of the first trust root, and the state that the rules of
admission left behind (`ledger.records.kept`): the digests and kinds of all records, the declarations, and how far each
attempt came. It is as much to be trusted as any pinned head: whoever can write it can make its owner believe what they
like, and a verification without it does not look at it. That the log still has the kept root at the kept size is
checked by `ledger.verify`, before anything rests on it. Every change is one transaction, so a crash keeps the state
before it. A file of another version of the rules begins anew; one that is no pin file is refused and left alone.
"""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Final, Self

from ledger.records import kinds, written
from ledger.records.gate import Gate
from ledger.records.kept import Leaf
from ledger.records.record import Record
from store.digest import Digest
from store.errors import Conflict, HarnessError, InputError

__all__ = ["Doubt", "PinFile", "Said", "Signed", "Verdict"]

_MARK: Final = 0x72626C50  # "rblP", SQLite's application_id
_RULES: Final = 2
"""Raised whenever a rule of admission or the shape of the tables changes: a file of other rules begins anew."""

_TABLES: Final = """
create table meta (rules int, origin text, pinned text, size int, root text, trust_root blob, limits text);
create table payloads (digest blob primary key, number int) without rowid;
create table leaves (digest blob primary key, number int, kind text, attempt text) without rowid;
create table declarations
    (number integer primary key, digest blob, payload blob, kind text, predicate blob, keyids text, role text);
create table names (name text primary key, digest blob) without rowid;
create table lifted (digest blob primary key) without rowid;
create table attempts (id text primary key, slot blob, state blob) without rowid;
create index slots on attempts (slot) where slot is not null;
create table signers (first integer primary key, keyids text, which blob);
create table verdicts (key blob primary key, verdict blob, record int) without rowid;
create table doubts (rule text, record text, consequence text);
"""

_DECLARED: Final = "number, digest, payload, kind, predicate, keyids, role"
_SETTINGS: Final = "pragma cache_size = -65536"  # KiB
_WAIT: Final = 30.0

Verdict = tuple[bytes, bytes, int]
"""What was judged and the verdict, each hashed, and the record that said so."""

Doubt = tuple[str, str, str]
"""A finding that stays true of a log for ever: its rule, its record, and the consequence."""


class Signed:
    """Which keys signed each of some records that follow each other; 4 bytes a record.

    Attributes:
        first: the place of the first of them.
        keyids: the different sets of keys.
        which: of each record, which of these signed it.
    """

    def __init__(
        self, first: int, keyids: list[tuple[str, ...]] | None = None, which: array[int] | None = None
    ) -> None:
        self.first = first
        self.keyids = [] if keyids is None else keyids
        self.which = array("I") if which is None else which
        self._numbers = {found: number for number, found in enumerate(self.keyids)}

    def add(self, keyids: tuple[str, ...]) -> None:
        """Say who signed the next."""
        number = self._numbers.setdefault(keyids, len(self.keyids))
        if number == len(self.keyids):
            self.keyids.append(keyids)
        self.which.append(number)

    def by(self, distrusted: Mapping[str, int]) -> Iterator[tuple[int, str]]:
        """The records that a key signed from the index on from which it is distrusted, and that key."""
        among = {n: found for n, ids in enumerate(self.keyids) if (found := [k for k in ids if k in distrusted])}
        if not among:
            return
        for index, number in enumerate(self.which, self.first):
            for keyid in among.get(number, ()):
                if index >= distrusted[keyid]:
                    yield index, keyid


@dataclass(slots=True)
class Said:
    """What a verification found out beside the gate's state, of the records that were new to it.

    Attributes:
        signed: by which keys.
        verdicts: the first on each thing that was judged.
        doubts: what is wrong and stays so.
    """

    signed: Signed
    verdicts: Iterable[Verdict] = ()
    doubts: list[Doubt] = field(default_factory=list)


class PinFile:
    """The state after the records up to a head; a `ledger.records.kept.Kept`. Use `open`.

    Attributes:
        path: of the file; made by the first `keep`.
        head: up to which records were verified; None for none.
        trust_root: in force there.
        limits: every key that was distrusted up to there, and the index from which.
    """

    def __init__(self, path: Path, origin: str, pinned: Digest, database: sqlite3.Connection) -> None:
        self.path = path
        self._whose = (_RULES, origin, str(pinned))
        self._db = database
        self.head: kinds.Head | None = None
        self.trust_root: kinds.TrustRoot | None = None
        self.limits: Mapping[str, int] = MappingProxyType({})

    @classmethod
    def open(cls, path: Path, origin: str, pinned: Digest) -> Self:
        """The pin file at a path; one that is not there begins with nothing.

        Args:
            path: of the file, whose folder is there.
            origin: of the ledger.
            pinned: digest of its first trust root.

        Raises:
            InputError: it is no pin file, is damaged, or is of another ledger.
            HarnessError: the disk refused.
        """
        if not path.parent.is_dir():
            raise InputError("the folder is not there", where=str(path.parent), fix="make it, or name another place")
        with _refused(path):
            database = sqlite3.connect(path, timeout=_WAIT, isolation_level=None)
            try:
                found = cls(path, origin, pinned, database)
                found._begin()
            except BaseException:
                database.close()
                raise
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()

    @property
    def size(self) -> int:
        """How many records it stands for."""
        return 0 if self.head is None else self.head.size

    def keep(self, head: kinds.Head, gate: Gate, said: Said) -> None:
        """Keep what was admitted since, all of it or nothing.

        Args:
            head: after the last admitted record.
            gate: that rested on this.
            said: what else was found out about the records that were new.

        Raises:
            Conflict: another verification kept something since this was opened.
            HarnessError: the disk refused.
        """
        root = gate.trust.root
        trust_root = None if root is None else written.write(root)
        with _refused(self.path), self._writing():
            if self._read() != self.head:
                raise Conflict("another verification wrote to it meanwhile", where=str(self.path), fix="verify again")
            if self.head is None:
                self._clear()
            put = self._db.executemany
            put("insert into payloads values (?, ?)", gate.payloads())
            leaves = ((raw, x.number, x.kind, x.attempt) for raw, x in gate.admitted.leaves())
            put("insert into leaves values (?, ?, ?, ?)", leaves)
            for record, name in gate.admitted.declarations():
                self._declare(record, name)
            put("insert into lifted values (?)", ((digest.raw,) for digest in gate.admitted.lifted()))
            put("insert or replace into attempts values (?, ?, ?)", gate.attempts.packed())
            put("insert into verdicts values (?, ?, ?)", said.verdicts)
            put("insert into doubts values (?, ?, ?)", said.doubts)
            signed = said.signed
            row = (signed.first, json.dumps(signed.keyids), signed.which.tobytes())
            self._db.execute("insert or replace into signers values (?, ?, ?)", row)
            limits = json.dumps(dict(gate.trust.limits))
            self._db.execute("delete from meta")
            stamp = (*self._whose, head.size, str(head.root), trust_root, limits)
            self._db.execute("insert into meta values (?, ?, ?, ?, ?, ?, ?)", stamp)
        self.head, self.trust_root, self.limits = head, root, gate.trust.limits

    # ------------------------------------------------------------------------------------------------ as Kept

    def payload(self, digest: bytes) -> int | None:
        """The record with this payload digest (32 bytes), or None."""
        found: int | None = self._one("select number from payloads where digest = ?", digest)
        return found

    def leaf(self, digest: bytes) -> Leaf | None:
        """The record with this leaf digest (32 bytes), or None."""
        row = self._row("select number, kind, attempt from leaves where digest = ?", digest)
        return None if row is None else Leaf(*row)

    def declaration(self, number: int) -> Record:
        """The record at a place, which is a declaration's."""
        row = self._row(f"select {_DECLARED} from declarations where number = ?", number)  # noqa: S608 (a constant)
        if row is None:
            raise LookupError(f"no declaration is record {number}")
        return _record(row)

    def named(self, name: tuple[str, ...]) -> Digest | None:
        """The leaf digest of the declaration that has this name, or None."""
        raw = self._one("select digest from names where name = ?", " ".join(name))
        return None if raw is None else Digest.from_raw(raw)

    def lifted(self, withdrawal: Digest) -> bool:
        """Whether a withdrawal was lifted by a later one."""
        return self._row("select 1 from lifted where digest = ?", withdrawal.raw) is not None

    def attempt(self, attempt: str) -> bytes | None:
        """The state of an attempt, or None."""
        found: bytes | None = self._one("select state from attempts where id = ?", attempt)
        return found

    def attempts(self) -> Iterator[tuple[str, bytes]]:
        """Every attempt and its state; read only when a kit is revealed."""
        with _refused(self.path):
            yield from self._db.execute("select id, state from attempts")

    def slot(self, slot: bytes) -> str | None:
        """The attempt that used a place of a schedule, or None."""
        found: str | None = self._one("select id from attempts where slot = ?", slot)
        return found

    # ------------------------------------------------------------------------------------------- for verification

    def verdict(self, key: bytes) -> tuple[bytes, int] | None:
        """The first verdict on what was judged, hashed, and its record."""
        row: tuple[bytes, int] | None = self._row("select verdict, record from verdicts where key = ?", key)
        return row

    def trust_roots(self) -> list[Record[kinds.TrustRoot]]:
        """The trust roots among the records."""
        with _refused(self.path):
            found = self._db.execute(f"select {_DECLARED} from declarations where kind = 'trust-root'")  # noqa: S608
            return [_record(row) for row in found]

    def doubts(self) -> list[Doubt]:
        """What was found wrong, and stays so."""
        with _refused(self.path):
            return self._db.execute("select rule, record, consequence from doubts order by rowid").fetchall()

    def signed(self) -> Iterator[Signed]:
        """Which keys signed each record, in order; as large as the log, and read only when a key is distrusted."""
        with _refused(self.path):
            for first, keyids, which in self._db.execute("select first, keyids, which from signers order by first"):
                numbers = array("I")
                numbers.frombytes(which)
                yield Signed(first, [tuple(ids) for ids in json.loads(keyids)], numbers)

    # ------------------------------------------------------------------------------------------------ inside

    def _begin(self) -> None:
        if not self._row("select count(*) from sqlite_master")[0]:
            return  # new, and nothing to write before something is verified
        if self._row("pragma application_id")[0] != _MARK:
            raise InputError("not a pin file of rbl", where=str(self.path), fix="name another place")
        self.head = self._read()
        if self.head is None:
            return
        root, limits = self._row("select trust_root, limits from meta")
        body = None if root is None else written.restore("trust-root", root)
        assert body is None or isinstance(body, kinds.TrustRoot)
        self.trust_root, self.limits = body, MappingProxyType(json.loads(limits))

    def _read(self) -> kinds.Head | None:
        """The head that is kept; None where nothing is, or by another version."""
        if self._row("select 1 from sqlite_master where name = 'meta'") is None:
            return None
        row = self._row("select rules, origin, pinned, size, root from meta")
        if row is None or row[0] != _RULES:
            return None
        if row[1:3] != self._whose[1:]:
            what = f"it is of {row[1]} under the trust root {row[2]}, not of {self._whose[1]} under {self._whose[2]}"
            raise InputError(what, where=str(self.path), fix="use one pin file for each ledger")
        return kinds.Head(size=row[3], root=Digest.parse(row[4]))

    def _clear(self) -> None:
        """Begin with empty tables, whatever version made those that are there."""
        for (table,) in self._db.execute("select name from sqlite_master where type = 'table'").fetchall():
            self._db.execute(f"drop table {table}")
        self._db.execute(f"pragma application_id = {_MARK}")
        for statement in _TABLES.strip().split(";\n"):
            self._db.execute(statement)

    def _declare(self, record: Record, name: tuple[str, ...] | None) -> None:
        said = (record.index, record.digest.raw, record.payload_digest.raw, record.kind, written.write(record.body))
        row = (*said, json.dumps(record.keyids), record.role)
        self._db.execute(f"insert into declarations ({_DECLARED}) values (?, ?, ?, ?, ?, ?, ?)", row)  # noqa: S608
        if name is not None:
            self._db.execute("insert into names values (?, ?)", (" ".join(name), record.digest.raw))

    def _row(self, query: str, *values: object) -> Any:
        with _refused(self.path):
            return self._db.execute(query, values).fetchone()

    def _one(self, query: str, value: object) -> Any:
        row = self._row(query, value)
        return None if row is None else row[0]

    @contextmanager
    def _writing(self) -> Iterator[None]:
        self._db.execute(_SETTINGS)
        self._db.execute("begin immediate")
        try:
            yield
        except BaseException:
            self._db.execute("rollback")
            raise
        self._db.execute("commit")


def _record(row: tuple[Any, ...]) -> Record:
    number, digest, payload, kind, predicate, keyids, role = row
    raw, body = Digest.from_raw, written.restore(kind, predicate)
    return Record(number, raw(digest), raw(payload), body, kind, tuple(json.loads(keyids)), role)


@contextmanager
def _refused(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        raise HarnessError(f"the pin file cannot be used: {error}", where=str(path)) from error
    except sqlite3.DatabaseError as error:
        fix = "move it away and verify in full; it is no proof of anything"
        raise InputError(f"damaged, or not a pin file: {error}", where=str(path), fix=fix) from error
