"""The DSSE envelope (github.com/secure-systems-lab/dsse, protocol and envelope v1.0.2): bytes with signatures beside.

    {"payload":"eyJ…","payloadType":"application/vnd.in-toto+json","signatures":[{"keyid":"d6f6…","sig":"u1Y…"}]}

What is signed is the pre-authentication encoding, lengths in bytes and in ASCII decimal:

    "DSSEv1" SP len(type) SP type SP len(payload) SP payload
    DSSEv1 28 application/vnd.in-toto+json 5 hello

The canonical JSON of an envelope is a leaf of the log, and its SHA-256 the name by which other records cite it. `keyid`
is a hint that nobody signed. Whether signatures verify, and who made them, is asked in `ledger.records.trust`.
"""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Protocol, Self

import msgspec

from store import canonical
from store.digest import Digest
from store.errors import CanonicalError, RecordRejected

__all__ = ["LEAF_LIMIT", "PAYLOAD_TYPE", "Envelope", "Signature", "pae", "sign", "single"]

PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
"""The one type of payload that records have (in-toto attestation, spec/v1/envelope.md)."""

LEAF_LIMIT: Final = 65_535
"""Bytes of the longest leaf (C2SP tlog-tiles, Log entries)."""

_MOST_SIGNATURES: Final = 16


class _Signing(Protocol):
    @property
    def keyid(self) -> str: ...

    def sign(self, message: bytes, /) -> bytes: ...


class _LeafSignature(msgspec.Struct, forbid_unknown_fields=True):
    keyid: str
    sig: bytes


class _Leaf(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    payload: bytes
    payload_type: str
    signatures: list[_LeafSignature]


_base64: Final = msgspec.json.Encoder().encode
"""The JSON of bytes is their base64 in quotes (msgspec, Supported Types)."""

_leaf: Final = msgspec.json.Decoder(_Leaf)

_OPEN: Final = b'{"payload":"'
_HINTED: Final = b'","payloadType":"%b","signatures":[{"keyid":"' % PAYLOAD_TYPE.encode()
_SIGNED: Final = b'","sig":"'
_CLOSE: Final = b'"}]}'
_KEYID: Final = 64
_SIG: Final = 88  # base64 of 64 bytes


@dataclass(frozen=True, slots=True)
class Signature:
    """One signature.

    Attributes:
        keyid: which key says it made it; a hint.
        sig: 64 bytes of Ed25519.
    """

    keyid: str
    sig: bytes


@dataclass(frozen=True)
class Envelope:
    """A payload and the signatures over it.

    Attributes:
        payload: the bytes that are signed.
        payload_type: their media type, signed with them.
        signatures: at least one.
    """

    payload: bytes
    payload_type: str
    signatures: tuple[Signature, ...]

    def format(self) -> bytes:
        """The leaf: canonical JSON of the envelope."""
        return self._leaf

    @cached_property
    def _leaf(self) -> bytes:
        # a template, because base64 needs no escapes: a test holds it to `store.canonical`
        signatures = b",".join(
            b'{"keyid":%b,"sig":%b}' % (_text(item.keyid), _base64(item.sig)) for item in self.signatures
        )
        kind = _text(self.payload_type)
        return b'{"payload":%b,"payloadType":%b,"signatures":[%b]}' % (_base64(self.payload), kind, signatures)

    @cached_property
    def digest(self) -> Digest:
        """The SHA-256 of the leaf: the record's name."""
        return Digest.of(self._leaf)

    @cached_property
    def payload_digest(self) -> Digest:
        """The SHA-256 of the payload: two envelopes around one payload are the same statement."""
        return Digest.of(self.payload)

    @property
    def signed(self) -> bytes:
        """The bytes that the signatures are over."""
        return pae(self.payload_type, self.payload)

    @classmethod
    def parse(cls, data: bytes, *, where: str = "") -> Self:
        """Read a leaf.

        Raises:
            RecordRejected: it is not what `format` writes for an in-toto payload (`envelope`).
        """
        if len(data) > LEAF_LIMIT:
            raise _bad(f"{len(data)} bytes; a leaf has at most {LEAF_LIMIT}", where)
        try:
            value = _leaf.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise _bad(f"not the JSON of an envelope: {error}", where) from error
        if value.payload_type != PAYLOAD_TYPE:
            raise _bad(f"the payload is {value.payload_type[:80]!r}, not {PAYLOAD_TYPE}", where)
        if not 1 <= len(value.signatures) <= _MOST_SIGNATURES:
            raise _bad(f"an envelope has 1 to {_MOST_SIGNATURES} signatures", where)
        try:
            signatures = tuple(Signature(item.keyid, item.sig) for item in value.signatures)
            envelope = cls(value.payload, PAYLOAD_TYPE, signatures)
            written = envelope.format()
        except CanonicalError as error:
            raise _bad(f"not canonical: {error}", where) from error
        # decoders let spaces, order, duplicate keys and stray bits of base64 pass; one comparison lets none
        if written != data:
            raise _bad("not the bytes that an envelope is written as", where)
        return envelope


def single(leaf: bytes) -> tuple[bytes, str, bytes] | None:
    """Payload, hint and signature of the usual leaf, which bears one signature of 64 bytes; None for any other.

    A quick `Envelope.parse` that does not say what is wrong. Why it is the same: everything around the two base64
    texts has its place counted from the ends, and those are written again and compared.
    """
    sig_end = len(leaf) - len(_CLOSE)
    sig_at = sig_end - _SIG
    keyid_end = sig_at - len(_SIGNED)
    keyid_at = keyid_end - _KEYID
    end = keyid_at - len(_HINTED)
    if (
        not len(_OPEN) <= end
        or len(leaf) > LEAF_LIMIT
        or not leaf.startswith(_OPEN)
        or leaf[end:keyid_at] != _HINTED
        or leaf[keyid_end:sig_at] != _SIGNED
        or not leaf.endswith(_CLOSE)
    ):
        return None
    keyid, text, sig_text = leaf[keyid_at:keyid_end], leaf[len(_OPEN) : end], leaf[sig_at:sig_end]
    try:
        payload, sig = a2b_base64(text), a2b_base64(sig_text)
    except ValueError:
        return None
    if b2a_base64(payload, newline=False) != text or b2a_base64(sig, newline=False) != sig_text or not keyid.isalnum():
        return None
    return payload, keyid.decode(), sig


def pae(payload_type: str, payload: bytes) -> bytes:
    """The pre-authentication encoding (DSSE protocol, Signature Definition)."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def sign(payload: bytes, signers: Sequence[_Signing], payload_type: str = PAYLOAD_TYPE) -> Envelope:
    """An envelope around the payload, signed by each of the signers. Same input, same bytes (Ed25519)."""
    message = pae(payload_type, payload)
    return Envelope(payload, payload_type, tuple(Signature(signer.keyid, signer.sign(message)) for signer in signers))


def _text(value: str) -> bytes:
    """The canonical JSON of a text."""
    if value.isascii() and value.isprintable() and '"' not in value and "\\" not in value:
        return b'"%b"' % value.encode()
    return canonical.dumps(value)


def _bad(what: str, where: str) -> RecordRejected:
    return RecordRejected("envelope", what, where=where, fix="write it with ledger.records.envelope.sign")
