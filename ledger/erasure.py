"""Erases objects for a reason, and says of what is gone who removed it and why.

    erase(folder, [digest], reason="leaked-secret", detail="a key, revoked since", author="kim")
    erased(ledger.of(kinds.Erasure))          # {sha256:7a38…: "erased by record 41: leaked-secret", …}

The record comes first, in a signed checkpoint, then the bytes go: what a crash left is removed by running it again. An
erased object is not asked for any more: not by fsck, not by the verification of a release, not from a remote; each of
them says which record explains it. It stays so if the same bytes come back under a later record.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from ledger.announce import announce
from ledger.folder import Folder
from ledger.reach import Root, follow, roots_of
from ledger.reader import Ledger
from ledger.records import kinds
from ledger.records.admitted import attempt_of
from ledger.records.record import Record
from store.digest import Digest
from store.erase import copies
from store.erase import erase as remove
from store.errors import Conflict, InputError

__all__ = ["Erased", "Reason", "erase", "erased"]

Reason = Literal["leaked-secret", "takedown", "personal-data", "other"]

_MOST: Final = 256
"""Objects that one record names."""


@dataclass(frozen=True, slots=True)
class Erased:
    """What was done.

    Attributes:
        records: that say so, those from an earlier run among them.
        removed: files of the store, relative to it.
        elsewhere: files of the benchmark folder that hold the same bytes still.
    """

    records: tuple[Record[kinds.Erasure], ...]
    removed: tuple[Path, ...]
    elsewhere: tuple[Path, ...]


def erased(records: Iterable[Record[kinds.Erasure]]) -> dict[Digest, str]:
    """Why each erased object is not there."""
    return {
        digest: f"erased by record {record.index}: {record.body.reason}"
        for record in records
        for digest in record.body.objects
    }


def erase(folder: Folder, digests: Sequence[Digest], *, reason: Reason, detail: str, author: str) -> Erased:
    """Record an erasure, then remove the bytes. Objects that are erased already are removed again where they are back.

    Args:
        folder: the benchmark folder.
        digests: of the objects.
        reason, detail, author: what the record says.

    Raises:
        InputError: no record reaches an object.
        Conflict: it belongs to an open attempt.
        HarnessError: the disk refused; running it again goes on.
    """
    ledger = Ledger.open(folder)
    standing = {digest: record for record in ledger.of(kinds.Erasure) for digest in record.body.objects}
    records = {record.digest: record for digest, record in standing.items() if digest in digests}
    groups = _grouped(folder, ledger, [digest for digest in dict.fromkeys(digests) if digest not in standing])
    for cited, objects in groups.items():
        for start in range(0, len(objects), _MOST):
            some = objects[start : start + _MOST]
            said = announce(
                folder,
                "release-manager",
                lambda stamp, cited=cited, some=some: kinds.Erasure(  # type: ignore[misc]  # bound now, not later
                    ledger=stamp.ledger,
                    after=stamp.after,
                    issued_at=stamp.issued_at,
                    objects=some,
                    record=cited,
                    reason=reason,
                    detail=detail,
                    author=author,
                ),
            )
            records[said.digest] = said
    removed = [path for digest in digests for path in remove(folder.store, digest)]
    elsewhere = copies(folder.root, set(digests), folder.objects)
    return Erased(tuple(records.values()), tuple(removed), tuple(elsewhere))


def _grouped(folder: Folder, ledger: Ledger, digests: Sequence[Digest]) -> dict[Digest, list[Digest]]:
    """The objects by the first record that reaches them."""
    reached: dict[Digest, Record] = {}
    seen: set[Root] = set()
    for record in ledger.records:
        named = set(roots_of("", record.body)) - seen
        seen |= named
        for digest in follow(folder.store, named).objects:
            reached.setdefault(digest, record)
    groups: dict[Digest, list[Digest]] = {}
    for digest in digests:
        if digest not in reached:
            raise InputError(
                "no record reaches this object", where=str(digest), fix="remove the file: nothing rests on it"
            )
        attempt = attempt_of(reached[digest].body)
        if attempt is not None and ledger.attempt(attempt).closed is None:
            raise Conflict("its attempt is open", where=attempt, fix="let it end, or `rbl attempt recover`")
        groups.setdefault(reached[digest].digest, []).append(digest)
    return groups
