"""A trust root on its way from signer to signer: one file, which says in the clear what its payload says in bytes.

    {
      "schema": "rbl/trust-proposal/v1",
      "follows": {"version": 1, "record": "sha256:2c26…"},       the newest trust root when it was proposed
      "root": {"version": 2, "keys": […], "roles": {…}, …},      what is proposed, to be read
      "payload": "eyJf…",                                        base64 of the very bytes that are signed
      "signatures": [{"keyid": "3f9a…", "sig": "u1Y…"}]          those collected so far
    }

    proposal = Proposal.parse(path.read_bytes())
    proposal = proposal.with_signature(signer)
    proposal.missing(root)        # () when the thresholds of both roots are met

`root` is compared with the payload whenever a file is read, so that nobody signs other than what is shown. Nothing in
it is believed: who may sign is asked of the chain, and the gate judges the record when it is published.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, replace
from typing import Any, Final, Self

import msgspec

from ledger.records import kinds
from ledger.records.amend import SHOWN
from ledger.records.envelope import PAYLOAD_TYPE, Envelope, Signature, sign
from ledger.records.keys import Signer
from ledger.records.statement import Statement
from ledger.records.trust import public_keys, signers_of
from store.canonical import Json
from store.digest import Digest
from store.errors import InputError, RecordRejected

__all__ = ["SCHEMA", "Missing", "Proposal"]

SCHEMA: Final = "rbl/trust-proposal/v1"


class _Follows(msgspec.Struct, forbid_unknown_fields=True):
    version: int
    record: str


class _Signature(msgspec.Struct, forbid_unknown_fields=True):
    keyid: str
    sig: str


class _File(msgspec.Struct, forbid_unknown_fields=True):
    schema: str
    follows: _Follows
    root: Any
    payload: str
    signatures: list[_Signature]


@dataclass(frozen=True, slots=True)
class Missing:
    """What a trust root still asks for.

    Attributes:
        version: of the trust root.
        number: how many more signatures.
        keyids: of the keys that may give them.
    """

    version: int
    number: int
    keyids: tuple[str, ...]

    def __str__(self) -> str:
        among = ", ".join(keyid[:SHOWN] for keyid in self.keyids)
        return f"{self.number} more of the root keys of version {self.version} ({among})"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A trust root that is proposed.

    Attributes:
        version: of the trust root that it follows.
        record: the digest of that one's record.
        root: what is proposed.
        envelope: its payload, with the signatures so far.
    """

    version: int
    record: Digest
    root: kinds.TrustRoot
    envelope: Envelope

    @classmethod
    def of(cls, root: kinds.TrustRoot, record: Digest) -> Self:
        """The proposal of a trust root that follows the one of this record, signed by nobody yet."""
        return cls(root.version - 1, record, root, Envelope(Statement.of(root).format(), PAYLOAD_TYPE, ()))

    @classmethod
    def parse(cls, data: bytes, *, where: str = "") -> Self:
        """Read a proposal.

        Raises:
            InputError: it is none, or shows another trust root than the one in its payload.
        """
        try:
            found = msgspec.json.decode(data, type=_File)
            payload = base64.b64decode(found.payload, validate=True)
            signatures = tuple(
                Signature(item.keyid, base64.b64decode(item.sig, validate=True)) for item in found.signatures
            )
            record = Digest.parse(found.follows.record)
            shown = kinds.from_json("trust-root", found.root)
            body = Statement.parse(payload).body
        except (msgspec.MsgspecError, ValueError, RecursionError, InputError, RecordRejected) as error:
            raise InputError(f"not a proposal: {error}", where=where, fix="make one: rbl trust propose") from error
        if found.schema != SCHEMA:
            raise InputError(f"a document of {found.schema[:80]!r}, not {SCHEMA}", where=where)
        if not isinstance(body, kinds.TrustRoot):
            raise InputError("its payload is no trust root", where=where, fix="do not sign it")
        if shown != body:
            raise InputError("it shows another trust root than the one to be signed", where=where, fix="do not sign it")
        if body.version != found.follows.version + 1:
            raise InputError(f"version {body.version} cannot follow version {found.follows.version}", where=where)
        return cls(found.follows.version, record, body, Envelope(payload, PAYLOAD_TYPE, signatures))

    def format(self) -> bytes:
        """The file."""
        signatures: list[Json] = [
            {"keyid": item.keyid, "sig": base64.b64encode(item.sig).decode()} for item in self.envelope.signatures
        ]
        document: dict[str, Json] = {
            "schema": SCHEMA,
            "follows": {"version": self.version, "record": str(self.record)},
            "root": kinds.to_json(self.root),
            "payload": base64.b64encode(self.envelope.payload).decode(),
            "signatures": signatures,
        }
        return json.dumps(document, indent=2).encode() + b"\n"

    def with_signature(self, signer: Signer) -> Self:
        """The same, signed by this key too; unchanged where it has signed already."""
        if signer.keyid in {item.keyid for item in self.envelope.signatures}:
            return self
        [added] = sign(self.envelope.payload, [signer]).signatures
        return replace(self, envelope=replace(self.envelope, signatures=(*self.envelope.signatures, added)))

    def signers(self, before: kinds.TrustRoot) -> list[str]:
        """The ids of the keys that signed, each signature verified.

        Args:
            before: the trust root that it follows.

        Raises:
            RecordRejected: `signature`, `unknown-key`, `duplicate-key`, or `role` where a key is no root key of either.
        """
        found = signers_of(self.envelope, {**public_keys(before), **public_keys(self.root)})
        for keyid in found:
            if keyid not in self.root_keys(before):
                what = (
                    f"signed by {keyid[:SHOWN]}, which is a root key neither of version {self.version} nor of the next"
                )
                raise RecordRejected("role", what, fix="take that signature out of the file")
        return found

    def root_keys(self, before: kinds.TrustRoot) -> frozenset[str]:
        """The ids of the keys whose signature counts: root keys of the trust root that it follows, or of its own."""
        return frozenset(before.roles["root"].keys) | frozenset(self.root.roles["root"].keys)

    def missing(self, before: kinds.TrustRoot) -> tuple[Missing, ...]:
        """What is missing until both thresholds are met; nothing when it can be published.

        Args:
            before: the trust root that it follows.

        Raises:
            RecordRejected: as `signers`.
        """
        signed = set(self.signers(before))
        assert self.root.after is not None  # its version is 2 or more, and the schema of the chain's rules asks for it
        found = []
        for root in (before, self.root):
            void = {key.keyid for key in root.keys if _void(key, self.root.after.size)}
            able = [keyid for keyid in root.roles["root"].keys if keyid not in void]
            lacking = root.roles["root"].threshold - len(signed & set(able))
            if lacking > 0:
                found.append(Missing(root.version, lacking, tuple(keyid for keyid in able if keyid not in signed)))
        return tuple(found)


def _void(key: kinds.PublicKey, index: int) -> bool:
    return key.distrusted_from is not None and key.distrusted_from <= index
