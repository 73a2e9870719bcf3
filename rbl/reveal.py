"""Puts the kit of a retired case into the store in clear, and into the ledger that it is: anyone may grade again.

    found = Retired.of(folder, "pricing@1")     # its kit, opened with the evaluator's identity, and checked
    found.waiting                               # attempts that a schedule promised and nobody made
    reveal(folder, found, detail="the split of 2026 is retired", author="kim")

After that, `rbl attempt regrade` needs no identity, in this folder, a copy or a bag. The rules, above all that no
formal attempt may follow, are `ledger.records.later`'s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from cases.age import unseal
from cases.kit import commitment
from ledger.announce import announce
from ledger.folder import Folder
from ledger.naming import case_version
from ledger.reader import Ledger
from ledger.records import kinds
from ledger.records.record import Record
from runners.pool import Selection, missing
from store import disk
from store.digest import Digest
from store.errors import Conflict, RuleBroken, Unavailable

__all__ = ["Retired", "reveal"]


@dataclass(frozen=True, slots=True)
class Retired:
    """A case whose kit can be revealed.

    Attributes:
        case: its record.
        kit: the plaintext tar.
        waiting: attempts on it that schedules promise, and that can never be made once it is revealed.
    """

    case: Record[kinds.Case]
    kit: bytes
    waiting: int

    @classmethod
    def of(cls, folder: Folder, name: str) -> Self:
        """Find a case and open its kit.

        Args:
            folder: the benchmark folder.
            name: id of the case, the newest version, or `id@version`.

        Raises:
            InputError: no such case.
            Conflict: its kit is revealed already, or an attempt on it is open.
            Unavailable: the evaluator's identity is not at hand, or does not open the kit.
            RuleBroken: the kit is not the committed one (`commitment`).
        """
        ledger = Ledger.open(folder)
        case = ledger.case(*case_version(name))
        for record in ledger.of(kinds.Reveal):
            if record.body.kit == case.body.sealed.commitment:
                raise Conflict(f"the kit of {name} is in clear already", where=f"record {record.index}")
        _check_closed(ledger, case.body.sealed.commitment)
        kit = _opened(folder, case.body)
        return cls(case, kit, _waiting(ledger, case))


def reveal(folder: Folder, found: Retired, *, detail: str, author: str) -> Record[kinds.Reveal]:
    """Store the kit in clear and append the record that says so.

    Args:
        folder: the benchmark folder.
        found: what is revealed.
        detail: why.
        author: who says so.

    Raises:
        RecordRejected: an attempt on the kit is open (`revealed`).
        Unavailable: the release manager's key is not at hand.
    """
    store, case = folder.store, found.case
    folder.keys.signer("release-manager")  # before anything is written in clear
    kit = store.put_bytes(found.kit)
    store.flush()
    return announce(
        folder,
        "release-manager",
        lambda stamp: kinds.Reveal(
            ledger=stamp.ledger,
            after=stamp.after,
            issued_at=stamp.issued_at,
            case=kinds.CaseRef(id=case.body.id, version=case.body.version, record=case.digest),
            kit=kit,
            detail=detail,
            author=author,
        ),
    )


def _check_closed(ledger: Ledger, commitment: Digest) -> None:
    """The gate refuses it too; but then the kit would be in the store already."""
    for attempt in ledger.attempts():
        if attempt.closed is None:
            case = ledger.get_as(attempt.opened.body.case.record, kinds.Case)
            if case.body.sealed.commitment == commitment:
                fix = "let it end, or close what a dead harness left with `rbl attempt recover`"
                raise Conflict("an attempt on this kit is open", where=attempt.id, fix=fix)


def _opened(folder: Folder, case: kinds.Case) -> bytes:
    path = folder.keys.identity_path
    if not path.is_file():
        fix = "run on the evaluator's machine, or copy it there with mode 600"
        raise Unavailable("the identity that opens sealed kits is not at hand", where=str(path), fix=fix)
    with disk.faults("cannot read the evaluator's identity", path):
        identity = path.read_text("ascii")
    kit = unseal(folder.store.get(case.sealed.kit), identity)
    if commitment(kit) != case.sealed.commitment:
        what = f"the kit is not the one that {case.id}@{case.version} committed to"
        raise RuleBroken("commitment", what, where=str(case.sealed.kit), fix="restore the kit that was sealed")
    return kit


def _waiting(ledger: Ledger, case: Record[kinds.Case]) -> int:
    ref = kinds.CaseRef(id=case.body.id, version=case.body.version, record=case.digest)
    schedules = [
        schedule.body.name
        for schedule in ledger.of(kinds.Schedule)
        if ref in ledger.get_as(schedule.body.split, kinds.Split).body.cases
    ]
    return sum(len(missing(ledger, Selection(name, None, ref.id))) for name in schedules)
