"""Which heads of a log were kept, whether the log continues all of them, and how far a policy is satisfied.

    heads = gather(folder)                       # before the newest checkpoint is read: see below
    found = judge(heads, folder, roots, head, log.root_at, policy)
    found.size, found.names                      # 38, ("W1", "W3"): the largest head that satisfies the policy
    found.faults                                 # [Fault("fork", "log/cosigned/20", "…")]

Looked at are `log/checkpoint` and every head in `log/cosigned/`. Each must be signed by the log and be a beginning of
the log as it is shown: a cosigned head that is not shows what was cut off or replaced, with a witness. A policy is
satisfied by one head alone, never by cosignatures of several, and vouches for the records below that head and for no
others. Heads are gathered before the newest one is read, so that one cosigned meanwhile does not look like a rollback.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from ledger.folder import Folder
from ledger.log.authority import log_keys, read_note
from ledger.log.checkpoint import Checkpoint, open_checkpoint
from ledger.log.cosigned import KeptHead, kept
from ledger.log.note import Note
from ledger.log.policy import Policy
from ledger.log.writer import CHECKPOINT
from ledger.records.kinds import Head, TrustRoot
from store.digest import Digest
from store.errors import LogInvalid

__all__ = ["Fault", "Witnessed", "gather", "judge"]

_NEWEST: Final = f"log/{CHECKPOINT}"


@dataclass(frozen=True, slots=True)
class Fault:
    """A head that the log contradicts, or that is none.

    Attributes:
        rule: what is broken.
        where: the file.
        what: in words.
    """

    rule: str
    where: str
    what: str


@dataclass(frozen=True, slots=True)
class Witnessed:
    """How far a log is vouched for.

    Attributes:
        size: records below the largest head that satisfies the policy; 0 where none does, or where there is none.
        names: of the witnesses that cosigned it, as the policy has them.
        missing: what the newest head lacks; empty where it lacks nothing.
        faults: heads that the log contradicts.
    """

    size: int
    names: tuple[str, ...]
    missing: str
    faults: tuple[Fault, ...]


def gather(folder: Folder) -> list[KeptHead]:
    """The cosigned heads that are kept, the largest first; nothing of them is verified.

    Raises:
        HarnessError: one cannot be read.
    """
    return list(kept(folder.log))


def judge(
    heads: Sequence[KeptHead],
    folder: Folder,
    roots: Sequence[TrustRoot],
    head: Head,
    root_at: Callable[[int], Digest],
    policy: Policy | None,
) -> Witnessed:
    """Compare the heads with the log, and hold them against a policy.

    Args:
        heads: what `gather` gave.
        folder: the benchmark folder.
        roots: the chain of trust roots, verified.
        head: of the log, verified.
        root_at: the log's root at a smaller size.
        policy: what the reader demands; null demands nothing.

    Raises:
        InputError: the checkpoint is gone.
    """
    origin = folder.config.origin
    size, missing = 0, ""
    names: tuple[str, ...] = ()
    faults = []
    newest = KeptHead(head.size, read_note(folder), _NEWEST)
    for one in (newest, *heads):
        try:
            note = Note.parse(one.data, where=one.where)
            checkpoint = _opened(one, origin, roots)
            if one is not newest:
                _check_begins(checkpoint, head, root_at, one.where)
            elif checkpoint.head != head:
                missing = "the log grew meanwhile"
                continue
            if policy is None:
                continue
            found = policy.judge(note, origin, where=one.where)
        except LogInvalid as error:
            faults.append(Fault(error.rule, one.where, error.what))
            missing = error.what if one is newest else missing
            continue
        if one is newest:
            missing = found.missing
        if found.ok and checkpoint.size > size:
            size, names = checkpoint.size, found.cosigned
    return Witnessed(size, names, missing, tuple(faults))


def _opened(one: KeptHead, origin: str, roots: Sequence[TrustRoot]) -> Checkpoint:
    """The head, signed by a key that may sign one of its size."""
    size = open_checkpoint(one.data, origin, log_keys(origin, roots, 0), where=one.where).size
    checkpoint = open_checkpoint(one.data, origin, log_keys(origin, roots, size), where=one.where)
    if checkpoint.size != one.size and one.where != _NEWEST:
        raise LogInvalid("checkpoint", f"a head of {checkpoint.size} records, not of {one.size}", where=one.where)
    return checkpoint


def _check_begins(checkpoint: Checkpoint, head: Head, root_at: Callable[[int], Digest], where: str) -> None:
    if checkpoint.size > head.size:
        what = f"{head.size} records are shown, and a head of {checkpoint.size} was signed and cosigned"
        raise LogInvalid("rollback", what, where=where)
    if root_at(checkpoint.size) != checkpoint.root:
        what = (
            f"another history: the head of {checkpoint.size} records that was cosigned has the root {checkpoint.root}"
        )
        raise LogInvalid("fork", what, where=where)
