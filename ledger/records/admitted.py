"""What was admitted so far, by leaf digest; and the rules on what a declaration may cite.

    admitted = Admitted()
    admitted.cited(digest, kinds.Protocol)     # Record[Protocol], or RecordRejected("unknown-reference")
    admitted.check(body)                       # what a case, split, schedule, withdrawal or release cites
    admitted.add(record)

A declaration stands for one content for ever: `redefined` refuses a second case version, split, protocol, entry or
schedule of a name. Attempts have a module of their own (`ledger.records.attempts`).
"""

from __future__ import annotations

from typing import cast

from ledger.records import kinds
from ledger.records.record import Record
from store.digest import Digest
from store.errors import RecordRejected

__all__ = ["Admitted"]


class Admitted:
    """The records of a log, found by the digests that other records cite."""

    def __init__(self) -> None:
        self._records: dict[Digest, Record] = {}
        self._names: dict[tuple[str, ...], Digest] = {}
        self._lifted: set[Digest] = set()

    def add(self, record: Record) -> None:
        """Take a record in."""
        self._records[record.digest] = record
        if (name := _name(record.body)) is not None:
            self._names[name] = record.digest
        if isinstance(record.body, kinds.Withdrawal) and record.body.reinstates is not None:
            self._lifted.add(record.body.reinstates)

    def record(self, digest: Digest) -> Record:
        """The record with this leaf digest.

        Raises:
            RecordRejected: there is none yet (`unknown-reference`).
        """
        found = self._records.get(digest)
        if found is None:
            raise RecordRejected("unknown-reference", f"no earlier record is {digest}", fix="append that one first")
        return found

    def cited(self, digest: Digest, wanted: type[kinds.B]) -> Record[kinds.B]:
        """The record with this leaf digest, of one kind.

        Raises:
            RecordRejected: there is none yet, or it is of another kind (`unknown-reference`).
        """
        found = self.record(digest)
        if not isinstance(found.body, wanted):
            what = f"{digest} is a {found.kind}, and a {kinds.kind_of(wanted)} is meant"
            raise RecordRejected("unknown-reference", what)
        return cast("Record[kinds.B]", found)

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
        name = _name(body)
        if name is not None and name in self._names:
            what = f"the {' '.join(name)} is recorded already, as {self._names[name]}"
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
        if _id(self.record(target.record).body, target.kind) != target.id:
            what = f"{target.record} is no record of the {target.kind} {target.id}"
            raise RecordRejected("unknown-reference", what)
        if body.reinstates is not None:
            lifted = self.cited(body.reinstates, kinds.Withdrawal).body
            if (lifted.target.kind, lifted.target.id) != (target.kind, target.id) or lifted.reinstates is not None:
                raise RecordRejected("reinstates", f"{body.reinstates} is no withdrawal of {target.kind} {target.id}")
            if body.reinstates in self._lifted:
                raise RecordRejected("reinstates", f"{body.reinstates} is lifted already")


def _id(body: kinds.Body, kind: str) -> str | None:
    """The id of the attempt, case or release that a record belongs to."""
    match kind, body:
        case "attempt", kinds.AttemptOpened() | kinds.Artifacts() | kinds.Captures() | kinds.AttemptClosed():
            return body.chain.attempt
        case "attempt", kinds.Evaluation() | kinds.EvaluationFailed():
            return body.attempt
        case "case", kinds.Case():
            return body.id
        case "release", kinds.Release():
            return body.name
        case _:
            return None


def _name(body: kinds.Body) -> tuple[str, ...] | None:
    match body:
        case kinds.Case():
            return ("case", f"{body.id}@{body.version}")
        case kinds.Split() | kinds.Protocol() | kinds.Schedule():
            return (kinds.kind_of(type(body)), body.name)
        case kinds.Entry():
            return ("entry", body.id)
        case _:
            return None


def _once(what: str, ids: list[str]) -> None:
    if len(set(ids)) != len(ids):
        twice = next(name for name in ids if ids.count(name) > 1)
        raise RecordRejected("duplicate-reference", f"the {what} {twice} stands twice")
