"""The folder of a release, `releases/<name>/`: what an auditor is handed beside the log and the objects.

    release.json   {"attempts":12,"cutoff":{…},"digest":"sha256:…","index":97,"ledger":"example.org/bench",…}
    results.json   the result artifact
    leaves.json    the leaves under the release digest
    record.dsse    the release record, byte for byte as the log has it
    proofs.json    {"consistency":["…"],"cutoff":{…},"head":{…},"inclusion":["…"],"index":97,"record":"sha256:…",…}
    checkpoint     the signed head that the proofs lead to

All but the checkpoint's signatures is a function of the log and the record, so a verifier writes it again and compares
bytes. Hashes of proofs are hexadecimal, in the order of RFC 9162 (sections 2.1.3.1 and 2.1.4.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from ledger.records import kinds
from ledger.records.record import Record
from store import canonical
from store.canonical import Json
from store.digest import Digest
from store.errors import InputError, SchemaError

__all__ = ["FILES", "Package", "Proofs", "format_summary"]

FILES: Final = ("release.json", "results.json", "leaves.json", "record.dsse", "proofs.json", "checkpoint")
"""Every file that a release folder must have."""


@dataclass(frozen=True, slots=True)
class Proofs:
    """That the release record is in a signed head, and that the cutoff is an earlier state of the same log.

    Attributes:
        record: leaf digest of the release record.
        index: its log index.
        head: the signed head that both proofs lead to.
        cutoff: the head that the release was cut at.
        inclusion: audit path of the record, 32-byte hashes.
        consistency: from the cutoff to the head.
    """

    record: Digest
    index: int
    head: kinds.Head
    cutoff: kinds.Head
    inclusion: tuple[bytes, ...]
    consistency: tuple[bytes, ...]

    def format(self) -> bytes:
        """The bytes of `proofs.json`."""
        return canonical.dumps(
            {
                "schema": "rbl/release-proofs/v1",
                "record": str(self.record),
                "index": self.index,
                "head": _head(self.head),
                "cutoff": _head(self.cutoff),
                "inclusion": [digest.hex() for digest in self.inclusion],
                "consistency": [digest.hex() for digest in self.consistency],
            }
        )

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Read `proofs.json`.

        Raises:
            InputError: it is not what `format` writes.
        """
        document: Any = canonical.loads(data)
        try:
            proofs = cls(
                record=Digest.parse(document["record"]),
                index=document["index"],
                head=kinds.part(kinds.Head, document["head"]),
                cutoff=kinds.part(kinds.Head, document["cutoff"]),
                inclusion=tuple(Digest(text).raw for text in document["inclusion"]),
                consistency=tuple(Digest(text).raw for text in document["consistency"]),
            )
        except (KeyError, TypeError, AttributeError, SchemaError) as error:
            raise InputError(f"not the proofs of a release: {error}", where="proofs.json") from error
        if not isinstance(proofs.index, int) or proofs.format() != data:
            raise InputError("not the proofs of a release", where="proofs.json")
        return proofs


@dataclass(frozen=True, slots=True)
class Package:
    """The files of a release folder, by name."""

    files: dict[str, bytes]

    @classmethod
    def read(cls, place: Path) -> Self:
        """Read a release folder; what else lies in it (receipts, the browser's verifier) is not looked at.

        Raises:
            InputError: a file is missing or cannot be read.
        """
        found = {}
        for name in FILES:
            try:
                found[name] = (place / name).read_bytes()
            except OSError as error:
                raise InputError(
                    f"no {name}: {error.strerror}", where=str(place), fix="fetch the whole release folder"
                ) from error
        return cls(found)


def format_summary(record: Record[kinds.Release], head: kinds.Head) -> bytes:
    """The bytes of `release.json`.

    Args:
        record: the release record.
        head: the signed head that the proofs lead to.
    """
    body = record.body
    document: dict[str, Json] = {
        "schema": "rbl/release/v1",
        "ledger": body.ledger,
        "name": body.name,
        "digest": str(body.root),
        "record": str(record.digest),
        "index": record.index,
        "head": _head(head),
        "cutoff": _head(body.cutoff),
        "split": str(body.split),
        "protocol": str(body.protocol),
        "schedule": str(body.schedule),
        "attempts": body.attempts,
        "results": str(body.results),
        "leaves": str(body.leaves),
    }
    return canonical.dumps(document)


def _head(head: kinds.Head) -> dict[str, Json]:
    return {"size": head.size, "root": str(head.root)}
