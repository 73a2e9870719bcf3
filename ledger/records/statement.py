"""The payload of a record: an in-toto Statement v1 (github.com/in-toto/attestation, spec/v1/statement.md).

    {"_type":"https://in-toto.io/Statement/v1",
     "predicate":{"after":{…},"cases":[…],"issued_at":"2026-11-30T23:05:01Z","ledger":"example.org/bench","name":"dev"},
     "predicateType":"urn:rbl:split:v1",
     "subject":[{"digest":{"sha256":"9f1c…"},"name":"split"}]}

as canonical JSON of at most 45,000 bytes. Subjects are the objects that the body announces, worked out from the body
(`subjects_of`) and never chosen: a statement whose subjects are others is refused. A body that announces no object is
its own subject, the SHA-256 of its canonical JSON. Signatures and rules of admission are not looked at here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, Self

import msgspec

from ledger.records import kinds, written
from ledger.records.envelope import Envelope, sign
from ledger.records.keys import Signer
from schemas.registry import check
from store import canonical
from store.canonical import Json
from store.digest import Digest
from store.errors import CanonicalError, InputError, RecordRejected, SchemaError

__all__ = ["PAYLOAD_LIMIT", "Statement", "Subject", "predicate_of", "sign_statement", "subjects_of"]

PAYLOAD_LIMIT: Final = 45_000
"""Bytes of the longest payload: with base64 and signatures it stays below the limit of a leaf."""

_TYPE: Final = "https://in-toto.io/Statement/v1"
_BEGIN: Final = b'{"_type":"%b","predicate":' % _TYPE.encode()
_MIDDLE: Final = b',"predicateType":"urn:rbl:'
_encode: Final = msgspec.json.Encoder().encode
_PREFIX: Final = "sha256:"
_PREDICATE: Final = re.compile(r"urn:rbl:([a-z][a-z-]{0,62}):v1")


@dataclass(frozen=True, slots=True)
class Subject:
    """An artifact that a statement announces; matched by digest only, the name is for people."""

    name: str
    digest: Digest


@dataclass(frozen=True, slots=True)
class Statement:
    """A body as it is signed.

    Attributes:
        kind: of the body.
        subjects: what it announces; never empty.
        body: what it says.
    """

    kind: str
    subjects: tuple[Subject, ...]
    body: kinds.Body

    @classmethod
    def of(cls, body: kinds.Body) -> Self:
        """The statement that says this."""
        return cls(kinds.kind_of(type(body)), subjects_of(body), body)

    def format(self) -> bytes:
        """The payload.

        Raises:
            SchemaError: the body does not match its kind's schema.
            CanonicalError: a text in it has no canonical form.
            InputError: it is longer than 45,000 bytes.
        """
        predicate = kinds.to_json(self.body)
        check(self.kind, predicate)
        payload = canonical.dumps(
            {
                "_type": _TYPE,
                "predicate": predicate,
                "predicateType": f"urn:rbl:{self.kind}:v1",
                "subject": [{"digest": {"sha256": item.digest.hex}, "name": item.name} for item in self.subjects],
            }
        )
        if len(payload) > PAYLOAD_LIMIT:
            raise InputError(
                f"a {self.kind} record of {len(payload)} bytes",
                fix=f"at most {PAYLOAD_LIMIT}: put long lists into the store and cite their digest",
            )
        return payload

    @classmethod
    def parse(cls, payload: bytes, *, where: str = "") -> Self:
        """Read a payload.

        Raises:
            RecordRejected: too long (`size`), not canonical (`canonical`), not a statement or another shape than its
                schema's (`schema`), of an unknown kind (`kind`), or with other subjects than its body's (`subject`).
        """
        if len(payload) > PAYLOAD_LIMIT:
            raise RecordRejected("size", f"a payload of {len(payload)} bytes, above {PAYLOAD_LIMIT}", where=where)
        found = cls.read(payload)
        return cls._explained(payload, where) if found is None else found

    @classmethod
    def read(cls, payload: bytes) -> Self | None:
        """The statement whose `format` gives these bytes, or None: a quick `parse` that does not say what is wrong."""
        found = _read(payload)
        if found is None:
            return None
        kind, predicate, named = found
        return cls(kind, _subjects(named), written.restore(kind, predicate))

    @classmethod
    def _explained(cls, payload: bytes, where: str) -> Self:
        """As `parse`, rule by rule."""
        try:
            value = canonical.loads(payload)
        except CanonicalError as error:
            raise RecordRejected("canonical", str(error), where=where) from error
        kind, predicate, subjects = _fields(value, where)
        if kind not in kinds.KINDS:
            raise RecordRejected("kind", f"unknown kind of record: {kind!r}", where=where)
        try:
            check(kind, predicate)
            body = kinds.from_json(kind, predicate)
        except SchemaError as error:
            raise RecordRejected("schema", str(error), where=where) from error
        statement = cls.of(body)
        if subjects != [{"digest": {"sha256": item.digest.hex}, "name": item.name} for item in statement.subjects]:
            raise RecordRejected("subject", f"the subjects are not those of this {kind} body", where=where)
        return statement


def predicate_of(payload: bytes) -> tuple[str, bytes] | None:
    """Kind and predicate of a payload that `Statement.parse` reads; None where it would refuse."""
    found = _read(payload)
    return None if found is None else found[:2]


def sign_statement(body: kinds.Body, signers: Sequence[Signer]) -> Envelope:
    """The signed record that says this.

    Raises:
        SchemaError: the body does not match its kind's schema.
        InputError: it is too long, or a text in it has no canonical form.
    """
    return sign(Statement.of(body).format(), signers)


def subjects_of(body: kinds.Body) -> tuple[Subject, ...]:
    """The objects that a body announces, in its own order; itself where it announces none.

    Raises:
        CanonicalError: it announces none, and has no canonical form.
    """
    kind, values = kinds.kind_of(type(body)), kinds.to_json(body)
    named = _announced(kind, values)
    if not named:
        return (Subject(kind, Digest.of(canonical.dumps(values))),)
    return _subjects(named)


def _read(payload: bytes) -> tuple[str, bytes, list[tuple[str, str]]] | None:
    """Kind, predicate, and names and digests of the subjects; None where anything is wrong.

    Why nothing else passes: the payload is written again, around the predicate that it holds, and compared whole.
    """
    start, end = len(_BEGIN), payload.rfind(_MIDDLE)
    kind = payload[end + len(_MIDDLE) : payload.find(b":", end + len(_MIDDLE))].decode("ascii", "replace")
    if end < start or len(payload) > PAYLOAD_LIMIT or kind not in kinds.KINDS:
        return None
    predicate = payload[start:end]
    values = written.values(kind, predicate)
    if values is None:
        return None
    named = _announced(kind, values) or [(kind, f"{_PREFIX}{sha256(predicate).hexdigest()}")]
    listed = ",".join(
        f'{{"digest":{{"sha256":"{text[len(_PREFIX) :]}"}},"name":{_json(name)}}}' for name, text in named
    )
    whole = b'%b%b%b%b:v1","subject":[%b]}' % (_BEGIN, predicate, _MIDDLE, kind.encode(), listed.encode())
    return (kind, predicate, named) if whole == payload else None


def _subjects(named: Sequence[tuple[str, str]]) -> tuple[Subject, ...]:
    return tuple(Subject(name, Digest.parse(text)) for name, text in named)


def _announced(kind: str, body: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names and digests, as text, of the objects that a body's JSON form announces."""
    found: list[tuple[str, str | None]] = []
    match kind:
        case "source":
            found = [("artifact", body["artifact"])]
        case "case":
            names = ("package", "evidence", "starter", "contract", "plan")
            found = [*((name, body[name]) for name in names), ("kit", body["sealed"]["kit"])]
        case "entry":
            found = [("agent", body["agent"]["files"]), ("skills", body["skills"])]
        case "artifacts":
            found = [(f"{item['class']}/{item['name']}", item["digest"]) for item in body["items"]]
        case "captures":
            found = [*((shot["id"], shot["tree"]) for shot in body["shots"]), ("sweep", body["sweep"])]
        case "evaluation":
            found = [("detail", body["detail"])]
        case "attempt-closed":
            found = [("events", body["events"])]
        case "release":
            found = [("results", body["results"]), ("leaves", body["leaves"])]
        case "reveal":
            found = [("kit", body["kit"])]
        case "calibration":
            found = [("report", body["report"])]
    return [(name, text) for name, text in found if text is not None]


def _json(text: str) -> str:
    return _encode(text).decode()


def _fields(value: Json, where: str) -> tuple[str, Json, Json]:
    if not isinstance(value, dict) or set(value) != {"_type", "predicate", "predicateType", "subject"}:
        raise RecordRejected("schema", "not an in-toto Statement with exactly its four fields", where=where)
    if value["_type"] != _TYPE:
        raise RecordRejected("schema", f"the statement's type is not {_TYPE}", where=where)
    named = value["predicateType"]
    match = _PREDICATE.fullmatch(named) if isinstance(named, str) else None
    if match is None:
        raise RecordRejected("kind", f"unknown type of predicate: {str(named)[:80]!r}", where=where)
    return match[1], value["predicate"], value["subject"]
