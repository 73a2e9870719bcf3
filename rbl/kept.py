"""What the store of a benchmark folder has to keep, and what says so.

    kept(folder).reached.objects
    # {sha256:3f9a…: "record 12 (case) package", sha256:91c4…: "case bindery@2, frozen, source: index.html",
    #  sha256:0b7d…: "pinned: source of the next case", sha256:c2d0…: "waiting record 00…5a.dsse (artifacts) workspace"}

The records of the log, whatever was withdrawn later; those that wait in the spool or stand in the journal; cases that
are frozen and not published; pins. They are read in the order in which an object is handed on (pin, frozen case, spool,
journal, log), so that what moves on meanwhile is seen at one place or the other. Whatever cannot be read is an error:
not knowing what is kept, nobody may remove anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cases.reconstruct.frozen import FROZEN_FILE, FrozenCase
from ledger.erasure import erased
from ledger.folder import Folder
from ledger.log.journal import parse_journal
from ledger.log.lock import Lock
from ledger.log.spool import read_spooled, spooled
from ledger.reach import Reached, Root, follow, roots, roots_of
from ledger.reader import Ledger
from ledger.records import kinds
from ledger.records.envelope import Envelope
from ledger.records.statement import Statement
from store import disk, pins
from store.digest import Digest
from store.errors import CheckFailed, InputError, RblError

__all__ = ["Kept", "Standing", "kept", "standing"]

_TREES: Final = ("package", "evidence", "starter", "source")
_FILES: Final = ("contract", "plan", "kit")
_WAIT: Final = 60.0


@dataclass(frozen=True, slots=True)
class Kept:
    """What must stay.

    Attributes:
        reached: the objects, and the trees that could not be looked into; erased trees among neither.
        open: attempts that were opened and not closed, and when they say they were (RFC 3339).
    """

    reached: Reached
    open: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Standing:
    """What must be here.

    Attributes:
        roots: what names objects.
        erased: why some of the objects need not be here (`ledger.erasure`).
    """

    roots: Sequence[Root]
    erased: Mapping[Digest, str]


def kept(folder: Folder) -> Kept:
    """Everything that must stay.

    Raises:
        RblError: the log does not verify, or a pin, a frozen case or a waiting record cannot be read.
    """
    before = [*_pinned(folder), *_frozen(folder)]
    waiting = list(_waiting(folder))
    ledger = Ledger.open(folder)
    found = [*roots(ledger.records), *before, *(root for who, body in waiting for root in roots_of(who, body))]
    opened = {body.chain.attempt: body.issued_at for _, body in waiting if isinstance(body, kinds.AttemptOpened)}
    opened |= {item.id: item.opened.body.issued_at for item in ledger.attempts()}
    for item in ledger.attempts():
        if item.closed is not None:
            del opened[item.id]
    reached = follow(folder.store, found)
    gone = erased(ledger.of(kinds.Erasure))
    return Kept(Reached(reached.objects, {d: by for d, by in reached.unread.items() if d not in gone}), opened)


def standing(folder: Folder) -> Standing:
    """What must be here and whole: as `kept`, without what only waits to become a record.

    Raises:
        RblError: as `kept`.
    """
    before = [*_pinned(folder), *_frozen(folder)]
    ledger = Ledger.open(folder)
    return Standing([*roots(ledger.records), *before], erased(ledger.of(kinds.Erasure)))


def _pinned(folder: Folder) -> Iterator[Root]:
    for pin in pins.pins(folder.store):
        yield Root(pin.digest, f"pinned: {pin.reason}", pin.tree)


def _frozen(folder: Folder) -> Iterator[Root]:
    for path in sorted(folder.cases.glob(f"[!.]*/{FROZEN_FILE}")):
        with disk.faults("cannot read a frozen case", path):
            data = path.read_bytes()
        try:
            case = FrozenCase.parse(data)
        except InputError as error:
            raise InputError(f"not a frozen case: {error.what}", where=str(path), fix="restore it") from error
        who = f"case {case.id}@{case.version}, frozen,"
        yield from (Root(getattr(case, name), f"{who} {name}", tree=True) for name in _TREES)
        yield from (Root(getattr(case, name), f"{who} {name}", tree=False) for name in _FILES)


def _waiting(folder: Folder) -> Iterator[tuple[str, kinds.Body]]:
    """The records of the spool and of the journal; no record moves from one to the other meanwhile."""
    with Lock(folder.journal / "lock", wait=_WAIT):
        leaves = [(path.name, read_spooled(path)) for path in spooled(folder.spool)]
        place = folder.journal / "batches"
        with disk.faults("cannot read the journal", place):
            data = place.read_bytes() if place.exists() else b""
    for batch in parse_journal(data, where=str(place))[0]:
        leaves += [(f"{index} in the journal", leaf) for index, leaf in enumerate(batch.entries, batch.first)]
    for name, leaf in leaves:
        try:
            statement = Statement.parse(Envelope.parse(leaf).payload)
        except RblError as error:
            fix = "take it in or refuse it: rbl ledger append"
            raise CheckFailed(f"a waiting record cannot be read: {error.what}", where=name, fix=fix) from error
        yield f"waiting record {name} ({statement.kind})", statement.body
