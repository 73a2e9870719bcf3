"""What was admitted so far, by leaf digest; and the rules on what a declaration may cite.

    admitted = Admitted()
    admitted.cited(digest, kinds.Protocol)     # Record[Protocol], or RecordRejected("unknown-reference")
    admitted.expect(digest, kinds.Captures)    # only that it is there, and of that kind
    admitted.check(body)                       # what a case, split, schedule, withdrawal or release cites
    admitted.add(record)

A declaration stands for one content for ever: `redefined` refuses a second case version, split, protocol, entry,
schedule or calibration of a name, and a second reveal of a kit. Attempts have a module of their own
(`ledger.records.attempts`). Of their records, which are nearly all of a log, the kind and the attempt are kept and
nothing else: no rule asks for more, and memory stays small.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Final, cast

from ledger.records import kinds
from ledger.records.kept import Kept, Leaf, Nothing
from ledger.records.numbered import Numbered
from ledger.records.record import Record
from store.digest import Digest
from store.errors import RecordRejected

__all__ = ["Admitted", "attempt_of"]

_KINDS: Final = tuple(kinds.KINDS)
_CODES: Final = {kind: code for code, kind in enumerate(_KINDS)}
_OF_ATTEMPTS: Final = frozenset(
    {
        kinds.AttemptOpened,
        kinds.Artifacts,
        kinds.Captures,
        kinds.AttemptClosed,
        kinds.Evaluation,
        kinds.EvaluationFailed,
    }
)


class Admitted:
    """The records of a log, found by the digests that other records cite.

    Args:
        kept: the state of the records before the first that is added here.
    """

    def __init__(self, kept: Kept | None = None) -> None:
        self._kept: Kept = kept or Nothing()
        self._numbers = Numbered()
        self._kinds = bytearray()
        self._owners = array("I")  # which of `_ids` each record belongs to
        self._ids: list[str | None] = [None]
        self._places: dict[str, int] = {}
        self._records: dict[int, Record] = {}
        self._names: dict[tuple[str, ...], Digest] = {}
        self._lifted: set[Digest] = set()

    def add(self, record: Record) -> None:
        """Take a record in."""
        number = self._kept.size + self._numbers.add(record.digest.raw)
        self._kinds.append(_CODES[record.kind])
        attempt = attempt_of(record.body)
        self._owners.append(0 if attempt is None else self._place(attempt))
        if attempt is not None:
            return
        self._records[number] = record
        if (name := _name(record.body)) is not None:
            self._names[name] = record.digest
        if isinstance(record.body, kinds.Withdrawal) and record.body.reinstates is not None:
            self._lifted.add(record.body.reinstates)

    def _place(self, attempt: str) -> int:
        found = self._places.get(attempt)
        if found is None:
            found = self._places[attempt] = len(self._ids)
            self._ids.append(attempt)
        return found

    def leaves(self) -> Iterator[tuple[bytes, Leaf]]:
        """The records that were added here, each beside its leaf digest, in the order of these."""
        for digest, place in self._numbers.ascending():
            yield digest, self._leaf(place)

    def declarations(self) -> Iterator[tuple[Record, tuple[str, ...] | None]]:
        """The declarations that were added here, each beside the name that it took."""
        for record in self._records.values():
            yield record, _name(record.body)

    def lifted(self) -> frozenset[Digest]:
        """The withdrawals that were lifted by what was added here."""
        return frozenset(self._lifted)

    def _leaf(self, place: int) -> Leaf:
        return Leaf(self._kept.size + place, _KINDS[self._kinds[place]], self._ids[self._owners[place]])

    def _find(self, digest: Digest) -> Leaf:
        place = self._numbers.find(digest.raw)
        found = self._kept.leaf(digest.raw) if place is None else self._leaf(place)
        if found is None:
            raise RecordRejected("unknown-reference", f"no earlier record is {digest}", fix="append that one first")
        return found

    def _declaration(self, number: int) -> Record:
        return self._kept.declaration(number) if number < self._kept.size else self._records[number]

    def expect(self, digest: Digest, wanted: type[kinds.Body]) -> int:
        """The number of the record with this leaf digest, which is of one kind.

        Raises:
            RecordRejected: there is none yet, or it is of another kind (`unknown-reference`).
        """
        found, meant = self._find(digest), kinds.kind_of(wanted)
        if found.kind != meant:
            raise RecordRejected("unknown-reference", f"{digest} is a {found.kind}, and a {meant} is meant")
        return found.number

    def cited(self, digest: Digest, wanted: type[kinds.B]) -> Record[kinds.B]:
        """The declaration with this leaf digest, of one kind; not for records of attempts.

        Raises:
            RecordRejected: there is none yet, or it is of another kind (`unknown-reference`).
        """
        return cast("Record[kinds.B]", self._declaration(self.expect(digest, wanted)))

    def attempt(self, digest: Digest, wanted: type[kinds.Body]) -> str:
        """The attempt of the record with this leaf digest, which is of one kind that belongs to attempts.

        Raises:
            RecordRejected: there is none yet, or it is of another kind (`unknown-reference`).
        """
        self.expect(digest, wanted)
        attempt = self._find(digest).attempt
        assert attempt is not None
        return attempt

    def known(self, digest: Digest) -> None:
        """Check that a record with this leaf digest is there, whatever it is.

        Raises:
            RecordRejected: there is none yet (`unknown-reference`).
        """
        self._find(digest)

    def revealed(self, kit: Digest) -> int | None:
        """The number of the record that revealed a kit, or None."""
        digest = self._named(_revealed(kit))
        return None if digest is None else self._find(digest).number

    def _named(self, name: tuple[str, ...]) -> Digest | None:
        return self._names.get(name) or self._kept.named(name)

    def entry(self, ref: kinds.Ref) -> Record[kinds.Entry]:
        """The entry that is named.

        Raises:
            RecordRejected: it is not there, or has another id (`unknown-reference`).
        """
        found = self.cited(ref.record, kinds.Entry)
        if found.body.id != ref.id:
            raise RecordRejected("unknown-reference", f"{ref.record} is the entry {found.body.id}, not {ref.id}")
        return found

    def case(self, ref: kinds.CaseRef) -> Record[kinds.Case]:
        """The case version that is named.

        Raises:
            RecordRejected: it is not there, or is another (`unknown-reference`).
        """
        found = self.cited(ref.record, kinds.Case)
        if (found.body.id, found.body.version) != (ref.id, ref.version):
            what = f"{ref.record} is {found.body.id}@{found.body.version}, not {ref.id}@{ref.version}"
            raise RecordRejected("unknown-reference", what)
        return found

    def check(self, body: kinds.Body) -> None:
        """Check what a declaration cites.

        Raises:
            RecordRejected: `unknown-reference`, `duplicate-reference`, `redefined` or `reinstates`.
        """
        if type(body) in _OF_ATTEMPTS:
            return
        name = _name(body)
        before = None if name is None else self._named(name)
        if name is not None and before is not None:
            what = f"the {' '.join(name)} is recorded already, as {before}"
            raise RecordRejected("redefined", what, fix="choose another name or version")
        match body:
            case kinds.Case():
                self._check_case(body)
            case kinds.Split():
                _once("case", [self.case(ref).body.id for ref in body.cases])
            case kinds.Schedule():
                self._check_schedule(body)
            case kinds.Withdrawal():
                self._check_withdrawal(body)
            case kinds.Release():
                schedule = self.cited(body.schedule, kinds.Schedule).body
                if (schedule.split, schedule.protocol) != (body.split, body.protocol):
                    raise RecordRejected("unknown-reference", "split and protocol are not those of the schedule")

    def _check_case(self, body: kinds.Case) -> None:
        if body.source is not None:
            self.cited(body.source, kinds.Source)
        if body.supersedes is not None:
            before = self.cited(body.supersedes, kinds.Case).body
            if before.id != body.id or before.version >= body.version:
                what = f"{body.id}@{body.version} cannot supersede {before.id}@{before.version}"
                raise RecordRejected("unknown-reference", what)

    def _check_schedule(self, body: kinds.Schedule) -> None:
        self.cited(body.split, kinds.Split)
        protocol = self.cited(body.protocol, kinds.Protocol).body
        _once("entry", [self.entry(ref).body.id for ref in body.entries])
        if body.repeats > protocol.repeats:
            what = f"{body.repeats} repeats, and the protocol {protocol.name} has {protocol.repeats}"
            raise RecordRejected("not-scheduled", what)

    def _check_withdrawal(self, body: kinds.Withdrawal) -> None:
        target = body.target
        if self._id(self._find(target.record), target.kind) != target.id:
            what = f"{target.record} is no record of the {target.kind} {target.id}"
            raise RecordRejected("unknown-reference", what)
        if body.reinstates is not None:
            lifted = self.cited(body.reinstates, kinds.Withdrawal).body
            if (lifted.target.kind, lifted.target.id) != (target.kind, target.id) or lifted.reinstates is not None:
                raise RecordRejected("reinstates", f"{body.reinstates} is no withdrawal of {target.kind} {target.id}")
            if body.reinstates in self._lifted or self._kept.lifted(body.reinstates):
                raise RecordRejected("reinstates", f"{body.reinstates} is lifted already")

    def _id(self, found: Leaf, kind: str) -> str | None:
        """The id of the attempt, case or release that a record belongs to."""
        if kind == "attempt":
            return found.attempt
        if kind != found.kind:
            return None
        body = self._declaration(found.number).body
        assert isinstance(body, kinds.Case | kinds.Release)
        return body.id if isinstance(body, kinds.Case) else body.name


def attempt_of(body: kinds.Body) -> str | None:
    """The attempt that a record is a part of; None for declarations, and for what is said about attempts."""
    if type(body) not in _OF_ATTEMPTS:
        return None
    if isinstance(body, kinds.AttemptOpened | kinds.Artifacts | kinds.Captures | kinds.AttemptClosed):
        return body.chain.attempt
    assert isinstance(body, kinds.Evaluation | kinds.EvaluationFailed)
    return body.attempt


def _revealed(kit: Digest) -> tuple[str, ...]:
    return ("revealed kit", str(kit))


def _name(body: kinds.Body) -> tuple[str, ...] | None:
    match body:
        case kinds.Case():
            return ("case", f"{body.id}@{body.version}")
        case kinds.Split() | kinds.Protocol() | kinds.Schedule() | kinds.Calibration():
            return (kinds.kind_of(type(body)), body.name)
        case kinds.Entry():
            return ("entry", body.id)
        case kinds.Reveal():
            return _revealed(body.kit)
        case _:
            return None


def _once(what: str, ids: list[str]) -> None:
    if len(set(ids)) != len(ids):
        twice = next(name for name in ids if ids.count(name) > 1)
        raise RecordRejected("duplicate-reference", f"the {what} {twice} stands twice")
