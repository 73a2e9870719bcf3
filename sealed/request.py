"""One request to the evaluator: read it, fetch what it names, judge.

    {"after":{"root":"sha256:…","size":41},"attempt":"a1","captures_leaf":"eyJ…","case_leaf":"eyJ…",
     "identity":"/…/evaluator.age","issued_at":"2026-11-30T23:05:01Z","key":"/…/evaluator.pem","objects":"/…/objects",
     "origin":"example.org/bench","outbox":"/…","protocol_weights":{"functional":2,"global_visual":1}}

Two leaves carry the records whole, so that their digests are what the verdict cites; `case` and `captures` may stand in
their place as plain bodies, for a case that is not published yet. With `"revealed":true` the kit is read in clear, as
the object that the case committed to, and the identity is not asked for. Objects are read and hashed again, never
written. The kit must be the one that the case committed to before any attempt, or nothing is judged.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec

from cases.age import unseal
from cases.capture import FILES, Sweep
from cases.kit import OpenedKit, commitment, open_kit
from ledger.records import kinds
from ledger.records.envelope import Envelope
from ledger.records.statement import Statement
from sealed.baselines import Baselines
from sealed.code import evaluator_digest
from sealed.examination import Examination, Files, Yardstick
from sealed.separation import Places
from sealed.verdict import Decision, decide
from store import canonical
from store.canonical import Json
from store.digest import Digest
from store.errors import CheckFailed, InputError, ObjectCorrupt, ObjectMissing, RuleBroken, Unavailable
from store.objects import ObjectStore
from store.tree import Tree

__all__ = ["Request", "judge"]

B = TypeVar("B", bound=kinds.Body)


class _Head(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    size: int
    root: str


class _Wire(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    origin: str
    after: _Head | None
    attempt: str
    case_leaf: str | None = None
    captures_leaf: str | None = None
    case: dict[str, Any] | None = None
    captures: dict[str, Any] | None = None
    protocol_weights: dict[str, int]
    objects: str
    identity: str
    key: str = ""
    outbox: str = ""
    issued_at: str
    revealed: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked.

    Attributes:
        origin, after, issued_at: what the verdict's record says about its ledger.
        attempt: id of the attempt.
        case, captures: the two bodies.
        case_digest, captures_digest: of their leaves; of their canonical bodies where there is no leaf.
        weights: the protocol's, by dimension.
        places: files and folders.
        revealed: the kit is in the store in clear.
    """

    origin: str
    after: kinds.Head | None
    issued_at: str
    attempt: str
    case: kinds.Case
    captures: kinds.Captures
    case_digest: Digest
    captures_digest: Digest
    weights: Mapping[str, int]
    places: Places
    revealed: bool = False

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Read a request.

        Raises:
            InputError: it has another shape.
            RecordRejected: a leaf is not a record.
        """
        try:
            wire = msgspec.json.decode(data, type=_Wire)
            after = None if wire.after is None else kinds.Head(size=wire.after.size, root=Digest.parse(wire.after.root))
        except (msgspec.DecodeError, InputError) as error:
            raise InputError(f"not a request: {error}", where="standard input") from error
        case, case_digest = _record(kinds.Case, wire.case_leaf, wire.case)
        captures, captures_digest = _record(kinds.Captures, wire.captures_leaf, wire.captures)
        return cls(
            origin=wire.origin,
            after=after,
            issued_at=wire.issued_at,
            attempt=wire.attempt,
            case=case,
            captures=captures,
            case_digest=case_digest,
            captures_digest=captures_digest,
            weights=wire.protocol_weights,
            places=Places(
                Path(wire.key), Path(wire.identity), Path(wire.objects), Path(wire.outbox) if wire.outbox else None
            ),
            revealed=wire.revealed,
        )


def judge(request: Request) -> Decision:
    """Judge the captures of a request by its case's kit. Pure but for what it reads, and a cache.

    Raises:
        RuleBroken: the records do not belong together (`inputs`), or the kit is not the committed one (`commitment`).
        CheckFailed: an object of the captures is missing or damaged.
        Unavailable, InputError: the kit cannot be opened, or cannot be judged with.
        HarnessError: neither a page nor its reference stood still.
    """
    _check(request)
    objects = _Objects(ObjectStore.open(request.places.objects))
    opened, baselines = _open(request, objects)
    captures = request.captures
    exam = Examination(
        Yardstick(opened, baselines), dict(_shots(captures, objects)), _sweep(objects.read(captures.sweep))
    )
    return decide(
        exam,
        dimensions=request.case.dimensions,
        weights=request.weights,
        commitment=request.case.sealed.commitment,
        inputs=[captures.plan, captures.sweep, *(shot.tree for shot in captures.shots if shot.tree is not None)],
    )


def _record(body: type[B], leaf: str | None, plain: Json) -> tuple[B, Digest]:
    """A body and its digest, from the leaf that carries it or from itself."""
    name = kinds.kind_of(body)
    if (leaf is None) == (plain is None):
        raise InputError(f"a request has either the {name}'s leaf or its body", where="standard input")
    if leaf is None:
        found, digest = kinds.from_json(name, plain), Digest.of(canonical.dumps(plain))
    else:
        try:
            envelope = Envelope.parse(base64.b64decode(leaf, validate=True), where=name)
        except binascii.Error as error:
            raise InputError(f"the {name}'s leaf is not base64", where="standard input") from error
        found, digest = Statement.parse(envelope.payload, where=name).body, envelope.digest
    if not isinstance(found, body):
        raise InputError(f"not a {name} record", where=str(digest))
    return found, digest


def _check(request: Request) -> None:
    case, captures = request.case, request.captures
    for holds, what in (
        (captures.chain.attempt == request.attempt, "the captures are of another attempt"),
        (captures.plan == case.plan, "the captures followed another plan than the case's"),
        (captures.ledger == case.ledger == request.origin, "the records are of another ledger"),
    ):
        if not holds:
            raise RuleBroken("inputs", what, where=request.attempt, fix="ask again with the attempt's own records")


def _open(request: Request, objects: _Objects) -> tuple[OpenedKit, Baselines | None]:
    sealed = request.case.sealed
    if request.revealed:  # without an identity there is no key for a cache either
        return _checked(request, objects.read(sealed.commitment)), None
    try:
        identity = request.places.identity.read_text("ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise Unavailable(
            "the evaluator's identity cannot be read", where=str(request.places.identity), fix="create it"
        ) from error
    try:
        data = unseal(objects.read(sealed.kit), identity)
    except CheckFailed as error:
        raise Unavailable("the sealed kit is missing or damaged", where=str(sealed.kit), fix=error.fix) from error
    if commitment(data) != sealed.commitment:
        raise RuleBroken(
            "commitment",
            "the kit is not the one that the case committed to",
            where=str(sealed.kit),
            fix="restore the kit that was sealed when the case was frozen",
        )
    return _checked(request, data), Baselines.of(identity, sealed.commitment, evaluator_digest())


def _checked(request: Request, data: bytes) -> OpenedKit:
    opened = open_kit(data)
    if (opened.kit.case, opened.kit.version) != (request.case.id, request.case.version):
        raise RuleBroken("commitment", "the kit is another case's", where=f"{opened.kit.case} v{opened.kit.version}")
    return opened


def _shots(captures: kinds.Captures, objects: _Objects) -> Iterator[tuple[str, Files | str]]:
    for shot in captures.shots:
        if shot.tree is None:
            yield shot.id, shot.error or "not captured"
            continue
        tree = Tree.parse(objects.read(shot.tree))
        entries = {name: tree.get(name) for name in FILES}
        yield (
            shot.id,
            {name: objects.read(entry.digest) for name, entry in entries.items() if entry is not None and entry.digest},
        )


def _sweep(data: bytes) -> Sweep:
    """The candidate's sweep; an empty one, which overflows everywhere, where the page spoilt it."""
    try:
        return Sweep.parse(data)
    except InputError:
        return Sweep(())


@dataclass(frozen=True, slots=True)
class _Objects:
    """The store, read only: what a reader may not write cannot be quarantined here either."""

    store: ObjectStore

    def read(self, digest: Digest) -> bytes:
        """The bytes of an object, hashed again.

        Raises:
            ObjectMissing: it is not there.
            ObjectCorrupt: it is another.
        """
        try:
            data = self.store.path(digest).read_bytes()
        except OSError as error:
            raise ObjectMissing("an object cannot be read", where=str(digest), fix="fetch it again") from error
        if Digest.of(data) != digest:
            raise ObjectCorrupt("an object is not what its name says", where=str(digest), fix="run `rbl ledger verify`")
        return data
