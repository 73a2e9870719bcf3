"""The kinds of record, as types: what each says, and which role may say it.

A body is the `predicate` of an in-toto Statement. Its JSON form is fixed by `schemas/v1/<kind>.json` and explained in
`schemas/v1/<kind>.md`; the classes here are the same shapes for Python, field by field, and a test holds the two
together. Sizes are bytes, times are milliseconds, scores are millionths (0 to 1,000,000), CPUs are thousandths.

    body = AttemptOpened(...)        # frozen, every field typed
    kind_of(type(body))              # "attempt-opened"
    to_json(body), from_json("attempt-opened", {...})

What is said once attempts are made is in `ledger.records.sidecars`, the pieces of bodies are in `ledger.records.parts`;
both are handed on from here. No rule of admission lives here: those are in `ledger.records.gate`.
"""

from __future__ import annotations

from typing import Final, Literal, TypeVar, cast

import msgspec

from ledger.records.body import Body
from ledger.records.parts import (
    DIMENSIONS,
    FULL,
    Agent,
    Agreement,
    Artifact,
    ArtifactClass,
    Backend,
    Ballot,
    CaseRef,
    Chain,
    Check,
    Dimension,
    Grant,
    Head,
    Limits,
    Outcome,
    Part,
    PublicKey,
    Purpose,
    Ref,
    RenderEnvironment,
    Role,
    Sealed,
    Separation,
    Shot,
    Tally,
    Target,
    Track,
    Verdict,
    decode,
    encode,
    part,
)
from ledger.records.sidecars import Calibration, Erasure, Preferences, Reveal, Withdrawal
from store.canonical import Json
from store.digest import Digest
from store.errors import InputError, SchemaError

__all__ = [
    "DIMENSIONS",
    "FULL",
    "KINDS",
    "ROLE_KINDS",
    "Agent",
    "Agreement",
    "Artifact",
    "ArtifactClass",
    "Artifacts",
    "AttemptClosed",
    "AttemptOpened",
    "B",
    "Backend",
    "Ballot",
    "Body",
    "Calibration",
    "Captures",
    "Case",
    "CaseRef",
    "Chain",
    "Check",
    "Dimension",
    "Entry",
    "Erasure",
    "Evaluation",
    "EvaluationFailed",
    "Grant",
    "Head",
    "Limits",
    "Outcome",
    "Part",
    "Preferences",
    "Protocol",
    "PublicKey",
    "Purpose",
    "Ref",
    "Release",
    "RenderEnvironment",
    "Reveal",
    "Role",
    "Schedule",
    "Sealed",
    "Separation",
    "Shot",
    "Source",
    "Split",
    "Tally",
    "Target",
    "Track",
    "TrustRoot",
    "Verdict",
    "Withdrawal",
    "from_json",
    "kind_of",
    "part",
    "to_json",
]

B = TypeVar("B", bound=Body)


class TrustRoot(Body, frozen=True, kw_only=True):
    """Which keys hold which role. Takes effect right after its own index."""

    version: int
    keys: list[PublicKey]
    roles: dict[str, Grant]


class Source(Body, frozen=True, kw_only=True):
    """The investigation behind a case. `artifact` is the tree of the authoritative material, curators' eyes only."""

    id: str
    lead: str
    origin: str
    artifact: Digest
    differences: list[str]
    permission: str


class Case(Body, frozen=True, kw_only=True):
    """A versioned public package and its sealed commitment.

    `package` is the tree a Candidate sees: `brief.md`, `contract.json`, `evidence/`, `starter/`. `starter` and
    `evidence` are the trees of those two folders. `plan` is the probe plan, an object.
    """

    id: str
    version: int
    track: Track
    title: str
    package: Digest
    evidence: Digest
    starter: Digest
    contract: Digest
    plan: Digest
    sealed: Sealed
    limits: Limits
    dimensions: list[Dimension]
    environment: RenderEnvironment
    checks: list[Check]
    source: Digest | None
    supersedes: Digest | None


class Split(Body, frozen=True, kw_only=True):
    """A frozen list of case versions."""

    name: str
    cases: list[CaseRef]


class Protocol(Body, frozen=True, kw_only=True):
    """The fixed rules. `evaluator` and `environment` are digests that every counted attempt must match."""

    name: str
    limits: Limits
    repeats: int
    max_tries: int
    environment: RenderEnvironment
    evaluator: Digest
    weights: dict[str, int]
    aggregation: Literal["mean-of-case-means/v1"]
    min_valid: int
    interval: Literal["t"]
    level: int


class Entry(Body, frozen=True, kw_only=True):
    """What is ranked."""

    id: str
    agent: Agent
    model: str | None
    reasoning_effort: str | None
    tool_profile: str
    skills: Digest | None
    runtime: str
    evidence_condition: str
    sandbox: str
    limits: Limits | None


class Schedule(Body, frozen=True, kw_only=True):
    """The attempts that will be made: every entry × every case of the split × repeats 1…n."""

    name: str
    split: Digest
    protocol: Digest
    entries: list[Ref]
    repeats: int


class AttemptOpened(Body, frozen=True, kw_only=True):
    """Recorded in a signed checkpoint before anything starts.

    `schedule` is null for a diagnostic attempt outside any schedule. `try_` counts from 1 within one repeat.
    """

    chain: Chain
    schedule: Digest | None
    entry: Ref
    case: CaseRef
    repeat: int
    try_: int = msgspec.field(name="try")
    retry_of: str | None
    purpose: Purpose
    backend: Backend
    limits: Limits
    environment: RenderEnvironment
    harness: str


class Artifacts(Body, frozen=True, kw_only=True):
    """What an attempt made before it was rendered. `build` is null when nothing could be built."""

    chain: Chain
    workspace: Digest | None
    build: Digest | None
    items: list[Artifact]


class Captures(Body, frozen=True, kw_only=True):
    """What the build looked like, recorded before grading starts. One subject a shot."""

    chain: Chain
    build: Digest
    plan: Digest
    environment: RenderEnvironment
    shots: list[Shot]
    sweep: Digest


class Evaluation(Body, frozen=True, kw_only=True):
    """The evaluator's verdict on an attempt. `detail` is the encrypted object; `captures` the record it judged."""

    attempt: str
    case: Digest
    captures: Digest
    evaluator: Digest
    commitment: Digest
    verdict: Verdict
    detail: Digest
    separation: Separation


class EvaluationFailed(Body, frozen=True, kw_only=True):
    """The evaluator could not judge, on its own evidence; permits a retry."""

    attempt: str
    case: Digest
    captures: Digest
    evaluator: Digest
    reason: str
    detail: str


class AttemptClosed(Body, frozen=True, kw_only=True):
    """The one closing of an attempt. `evaluation` is the record it rests on; `milliseconds` the wall time."""

    chain: Chain
    outcome: Outcome
    reason: str
    detail: str
    last_step: str
    notes: list[str]
    evaluation: Digest | None
    milliseconds: int
    events: Digest | None


class Release(Body, frozen=True, kw_only=True):
    """A frozen split and every attempt that belongs to it, under one root.

    `cutoff`: only records below it count. `results` is the result artifact, `leaves` the object that lists the leaves
    of `root`.
    """

    name: str
    split: Digest
    protocol: Digest
    schedule: Digest
    cutoff: Head
    attempts: int
    results: Digest
    leaves: Digest
    root: Digest


KINDS: Final[dict[str, type[Body]]] = {
    "trust-root": TrustRoot,
    "source": Source,
    "case": Case,
    "split": Split,
    "protocol": Protocol,
    "entry": Entry,
    "schedule": Schedule,
    "attempt-opened": AttemptOpened,
    "artifacts": Artifacts,
    "captures": Captures,
    "evaluation": Evaluation,
    "evaluation-failed": EvaluationFailed,
    "attempt-closed": AttemptClosed,
    "withdrawal": Withdrawal,
    "release": Release,
    "reveal": Reveal,
    "erasure": Erasure,
    "preferences": Preferences,
    "calibration": Calibration,
}
"""Every kind with its body class; new ones stand last, because an index of a log numbers them in this order."""

ROLE_KINDS: Final[dict[Role, tuple[str, ...]]] = {
    "root": ("trust-root",),
    "curator": ("source", "case", "split"),
    "release-manager": ("protocol", "entry", "schedule", "withdrawal", "release", "reveal", "erasure"),
    "runner": ("attempt-opened", "artifacts", "captures", "attempt-closed"),
    "evaluator": ("evaluation", "evaluation-failed", "calibration"),
    "log": (),
    "witness": (),
    "rater": ("preferences",),
}
"""Which kinds a role may sign: what the first trust root of a ledger grants."""

_NAMES: Final = {body: kind for kind, body in KINDS.items()}


def kind_of(body: type[Body]) -> str:
    """The kind whose body class this is."""
    return _NAMES[body]


def to_json(body: Body) -> dict[str, Json]:
    """The predicate of a body, digests as text."""
    return cast("dict[str, Json]", msgspec.to_builtins(body, enc_hook=encode))


def from_json(kind: str, predicate: Json) -> Body:
    """The body that a schema-checked predicate stands for.

    Raises:
        SchemaError: the kind is unknown or the predicate has another shape.
    """
    try:
        return msgspec.convert(predicate, KINDS[kind], dec_hook=decode)
    except KeyError as error:
        raise SchemaError(f"unknown kind of record: {kind!r}") from error
    except (msgspec.ValidationError, InputError) as error:
        raise SchemaError(f"{kind} record: {error}") from error
