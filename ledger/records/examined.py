"""The part of admission that needs no state: a leaf parsed, its body typed, its signatures verified.

    examine(leaf, {"d6f6…": public})      # Examined(digest, payload_digest, "split", Split(…), keyids=("d6f6…",))
    gate.admit_examined(examined, 41)     # the rest, in order

It is what takes time, and it can be done for many leaves at once in several processes. None is the answer for whatever
is not in order, or is a trust root: then the gate looks at the whole envelope, and says what is wrong. Whether the keys
may sign the record is not asked here.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256

import msgspec

from ledger.records import keys, kinds, written
from ledger.records.envelope import PAYLOAD_TYPE, Envelope, pae, single
from ledger.records.statement import predicate_of
from store.errors import RecordRejected

__all__ = ["Examined", "examine"]


class Examined(msgspec.Struct, frozen=True, gc=False):
    """A record whose bytes and signatures are in order; quick to send from one process to another.

    Attributes:
        digest: SHA-256 of the leaf, 32 bytes.
        payload_digest: SHA-256 of the payload, 32 bytes.
        kind: of the body.
        predicate: the body, as it is written.
        keyids: of the keys that its signatures were verified with, in the order of the signatures.
    """

    digest: bytes
    payload_digest: bytes
    kind: str
    predicate: bytes
    keyids: tuple[str, ...]

    @property
    def body(self) -> kinds.Body:
        """What it says, made anew each time."""
        return written.restore(self.kind, self.predicate)


def examine(leaf: bytes, public: Mapping[str, bytes]) -> Examined | None:
    """Parse a leaf and verify its signatures with the keys that its hints name.

    Args:
        leaf: the record's bytes.
        public: key id, which is the SHA-256 of the key, to 32 raw bytes.
    """
    found = _taken_apart(leaf)
    said = None if found is None else predicate_of(found[0])
    if found is None or said is None or said[0] == "trust-root":
        return None
    payload, signatures = found
    message = pae(PAYLOAD_TYPE, payload)
    for keyid, sig in signatures:
        key = public.get(keyid)
        if key is None or not keys.verify(key, sig, message):
            return None
    return Examined(sha256(leaf).digest(), sha256(payload).digest(), *said, tuple(keyid for keyid, _ in signatures))


def _taken_apart(leaf: bytes) -> tuple[bytes, list[tuple[str, bytes]]] | None:
    """Payload and signatures of a leaf."""
    usual = single(leaf)
    if usual is not None:
        return usual[0], [usual[1:]]
    try:
        envelope = Envelope.parse(leaf)
    except RecordRejected:
        return None
    return envelope.payload, [(item.keyid, item.sig) for item in envelope.signatures]
