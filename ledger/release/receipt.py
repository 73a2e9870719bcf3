"""A receipt for one attempt: that a release counts it, or excludes it and why. Verifies without the rest.

    {"index":4,"leaf":{"id":"…","outcome":"timeout","reason":"wall-clock","type":"attempt",…},"path":["…"],
     "release":"sha256:…","schema":"rbl/release-receipt/v1","size":31}

`release` is the release digest, the RFC 6962 root over the release's leaves; `path` is the audit path of RFC 9162,
section 2.1.3.1. Whoever knows the release digest needs nothing else: no log, no object, no other attempt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from ledger.log import merkle
from ledger.release.logfiles import Levels
from store import canonical
from store.canonical import Json
from store.digest import Digest
from store.errors import InputError

__all__ = ["Receipt", "prove"]

_SCHEMA: Final = "rbl/release-receipt/v1"


@dataclass(frozen=True, slots=True)
class Receipt:
    """One leaf of a release with its audit path.

    Attributes:
        release: the release digest.
        size: how many leaves it has.
        index: of the leaf among them.
        leaf: canonical bytes.
        path: 32-byte hashes, from the leaf upwards.
    """

    release: Digest
    size: int
    index: int
    leaf: bytes
    path: tuple[bytes, ...]

    def format(self) -> bytes:
        """The bytes of a receipt."""
        return canonical.dumps(
            {
                "schema": _SCHEMA,
                "release": str(self.release),
                "size": self.size,
                "index": self.index,
                "leaf": canonical.loads(self.leaf),
                "path": [item.hex() for item in self.path],
            }
        )

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Read a receipt.

        Raises:
            InputError: it is not what `format` writes.
        """
        document: Any = canonical.loads(data)
        try:
            receipt = cls(
                release=Digest.parse(document["release"]),
                size=document["size"],
                index=document["index"],
                leaf=canonical.dumps(document["leaf"]),
                path=tuple(Digest(item).raw for item in document["path"]),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(f"not a receipt: {error}") from error
        if not isinstance(receipt.size, int) or not isinstance(receipt.index, int) or receipt.format() != data:
            raise InputError("not a receipt", fix=f"expected a document of schema {_SCHEMA}")
        return receipt

    def verify(self) -> None:
        """Check that the leaf is under the release digest.

        Raises:
            LogInvalid: it is not.
        """
        merkle.verify_inclusion(merkle.leaf_hash(self.leaf), self.index, self.size, self.path, self.release.raw)

    def sentence(self) -> str:
        """What it says: `counted as scored with 0.640000`, or `excluded because timeout: wall-clock`."""
        item: dict[str, Json] = canonical.loads(self.leaf)
        if item["outcome"] == "scored":
            return f"{item['id']} is counted as scored with {item['total']} millionths"
        return f"{item['id']} is excluded because {item['outcome']}: {item['reason']}"


def prove(items: Sequence[bytes], attempt: str) -> Receipt:
    """A receipt for one attempt.

    Args:
        items: the sorted leaves of the release.
        attempt: its id.

    Raises:
        InputError: the release does not know that attempt.
    """
    for index, item in enumerate(items):
        leaf: Any = canonical.loads(item)
        if leaf.get("type") == "attempt" and leaf.get("id") == attempt:
            levels = Levels([merkle.leaf_hash(other) for other in items])
            path = tuple(merkle.inclusion_proof(levels.node, index, len(items)))
            return Receipt(levels.root(len(items)), len(items), index, item, path)
    raise InputError("the release knows no such attempt", where=attempt, fix="see rbl release show NAME --json")
