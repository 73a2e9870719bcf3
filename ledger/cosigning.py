"""Has a ledger's newest head cosigned, and keeps the cosignature beside the log.

    done = cosign_here(folder, witness)          # by a witness of this machine, which reads the folder
    done.checkpoint.size, done.answer.signature, done.answer.refusal

The witness judges by what it remembers and by the keys that it trusts, not by the folder's trust roots. The log's lock
is not held meanwhile: a cosignature of a head that was replaced since is kept as well (`ledger.log.cosigned`).
"""

from __future__ import annotations

from dataclasses import dataclass

from ledger.folder import Folder
from ledger.log.authority import read_note
from ledger.log.checkpoint import Checkpoint
from ledger.log.cosigned import collect
from ledger.log.log import read_folder
from ledger.log.note import Note
from ledger.log.witness import Answer, Witness

__all__ = ["Cosigning", "cosign_here"]


@dataclass(frozen=True, slots=True)
class Cosigning:
    """What came of asking a witness.

    Attributes:
        checkpoint: the head that it was asked about.
        answer: what it said.
    """

    checkpoint: Checkpoint
    answer: Answer


def cosign_here(folder: Folder, witness: Witness) -> Cosigning:
    """Have a witness of this machine read a ledger and cosign its head.

    Args:
        folder: the benchmark folder.
        witness: must watch the log.

    Raises:
        LogInvalid: checkpoint or tiles do not verify.
        InputError: there is no log.
        Conflict: the log's lock is held for too long.
        HarnessError: the disk refused.
    """
    note = read_note(folder)
    answer = witness.cosign_log(note, read_folder(folder.log), folder.config.origin)
    if answer.signature is not None:
        collect(folder, note, [answer.signature])
    return Cosigning(Checkpoint.parse(Note.parse(note).text), answer)
