"""The part of admission that needs no state: a leaf parsed, its body typed, its signatures verified.

    examine(leaf, {"d6f6…": public})      # Examined(digest, payload_digest, "split", Split(…), keyids=("d6f6…",))
    gate.admit_examined(examined, 41)     # the rest, in order

It is what takes time, and it can be done for many leaves at once in several processes. None is the answer for whatever
is not in order, or is a trust root: then the gate looks at the whole envelope, and says what is wrong. Whether the keys
may sign the record is not asked here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ledger.records import keys, kinds, written
from ledger.records.envelope import Envelope
from ledger.records.statement import Statement
from store.digest import Digest
from store.errors import RecordRejected

__all__ = ["Examined", "examine"]


@dataclass(frozen=True, slots=True)
class Examined:
    """A record whose bytes and signatures are in order.

    Attributes:
        digest: SHA-256 of the leaf.
        payload_digest: SHA-256 of the payload.
        kind: of the body.
        body: what it says.
        keyids: of the keys that its signatures were verified with, in the order of the signatures.
    """

    digest: Digest
    payload_digest: Digest
    kind: str
    body: kinds.Body
    keyids: tuple[str, ...]

    def __reduce__(self) -> tuple[Callable[..., Examined], tuple[bytes, bytes, str, bytes, tuple[str, ...]]]:
        """Between processes as bytes, which are quicker to send and to read than values."""
        return _restored, (self.digest.raw, self.payload_digest.raw, self.kind, written.write(self.body), self.keyids)


def _restored(digest: bytes, payload: bytes, kind: str, predicate: bytes, keyids: tuple[str, ...]) -> Examined:
    body = written.restore(kind, predicate)
    return Examined(Digest.from_raw(digest), Digest.from_raw(payload), kind, body, keyids)


def examine(leaf: bytes, public: Mapping[str, bytes]) -> Examined | None:
    """Parse a leaf and verify its signatures with the keys that its hints name.

    Args:
        leaf: the record's bytes.
        public: key id, which is the SHA-256 of the key, to 32 raw bytes.
    """
    try:
        envelope = Envelope.parse(leaf)
        statement = Statement.parse(envelope.payload)
    except RecordRejected:
        return None
    if statement.kind == "trust-root":
        return None
    message = envelope.signed
    for signature in envelope.signatures:
        key = public.get(signature.keyid)
        if key is None or not keys.verify(key, signature.sig, message):
            return None
    keyids = tuple(signature.keyid for signature in envelope.signatures)
    return Examined(envelope.digest, envelope.payload_digest, statement.kind, statement.body, keyids)
