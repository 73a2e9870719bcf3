"""A record: a body that was admitted, with its place in the log and the keys that stand behind it.

    Record(index=12, digest=sha256:ab…, payload_digest=sha256:cd…, body=Split(…), kind="split", …)

Made by `ledger.records.gate` alone, after every rule of admission held. `digest` is the SHA-256 of the leaf: the name
by which other records cite it; it is not the leaf hash of the Merkle tree, which has a prefix byte.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

from ledger.records.kinds import Body
from store.digest import Digest

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    B_co = TypeVar("B_co", bound=Body, covariant=True, default=Any)
else:
    from typing import TypeVar

    B_co = TypeVar("B_co", covariant=True)

__all__ = ["Record"]


@dataclass(frozen=True, slots=True)
class Record(Generic[B_co]):
    """One admitted record.

    Attributes:
        index: its place in the log, from 0.
        digest: SHA-256 of its leaf bytes.
        payload_digest: SHA-256 of its payload; the same statement signed twice has it twice.
        body: what it says.
        kind: the kind of the body.
        keyids: of the keys whose signatures were counted, hexadecimal SHA-256 of each.
        role: under which it was admitted.
    """

    index: int
    digest: Digest
    payload_digest: Digest
    body: B_co
    kind: str
    keyids: tuple[str, ...]
    role: str = ""
