"""Appends what somebody else signed: files that are named, or what waits in the spool.

    append_files(folder, [Path("verdict.dsse")])     # [41]; all of them or none
    drain(folder)                                    # ([42, 43], {"….dsse": "closed-twice: that attempt is closed"})

Whether a record is admitted is decided by the sequencer's gate, as for our own.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ledger.folder import Folder
from ledger.records.envelope import Envelope
from ledger.sequencer import Sequencer
from store.errors import InputError

__all__ = ["append_files", "drain"]


def append_files(folder: Folder, files: Sequence[Path]) -> list[int]:
    """Append the envelopes in these files, in this order, all or none.

    Returns:
        The index of each.

    Raises:
        InputError: a file cannot be read.
        RecordRejected: a rule of admission is broken.
    """
    envelopes = []
    for file in files:
        try:
            envelopes.append(Envelope.parse(file.read_bytes(), where=str(file)))
        except OSError as error:
            raise InputError(f"cannot read the record: {error.strerror}", where=str(file)) from error
    with Sequencer.open(folder) as sequencer:
        return sequencer.append(envelopes)


def drain(folder: Folder) -> tuple[list[int], dict[str, str]]:
    """Append what waits in the folder's spool.

    Returns:
        The indices of what was taken, and the reason of each file that was refused, by its name.
    """
    aside = folder.spool / "rejected"
    before = set(aside.glob("*.reason"))
    with Sequencer.open(folder) as sequencer:
        taken = sequencer.drain()
    refused = sorted(set(aside.glob("*.reason")) - before)
    return taken, {path.name.removesuffix(".reason"): path.read_text("utf-8").strip() for path in refused}
