"""Says something in the ledger: stamps a body, signs it with a role's key, appends it, and gives the record back.

    announce(folder, "curator", lambda stamp: kinds.Split(ledger=stamp.ledger, after=stamp.after, …))

The record stands in a signed checkpoint when this returns. Saying the same payload twice gives the same record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self

from ledger.folder import Folder
from ledger.log.authority import read_checkpoint
from ledger.records import kinds
from ledger.records.envelope import Envelope
from ledger.records.record import Record
from ledger.records.statement import sign_statement
from ledger.sequencer import Sequencer

__all__ = ["Stamp", "announce", "append"]


@dataclass(frozen=True, slots=True)
class Stamp:
    """What every record says of itself: which ledger, after which head, and when (RFC 3339, UTC, informative)."""

    ledger: str
    after: kinds.Head
    issued_at: str

    @classmethod
    def now(cls, folder: Folder) -> Self:
        """A stamp after the folder's present head."""
        return cls(folder.config.origin, read_checkpoint(folder).head, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))


def announce(folder: Folder, role: kinds.Role, make: Callable[[Stamp], kinds.B]) -> Record[kinds.B]:
    """Make, sign and append one record.

    Args:
        folder: the benchmark folder.
        role: whose key signs.
        make: the body for a stamp.

    Raises:
        Unavailable: the role's key is not at hand.
        RecordRejected: a rule of admission is broken.
    """
    body = make(Stamp.now(folder))
    return append(folder, sign_statement(body, [folder.keys.signer(role)]))


def append(folder: Folder, envelope: Envelope) -> Record:
    """Append a record that somebody signed.

    Raises:
        RecordRejected: a rule of admission is broken.
    """
    with Sequencer.open(folder) as sequencer:
        return sequencer.append_records([envelope])[0]
