"""The pieces that bodies are made of: heads, references, limits, verdicts; and the words they may use.

    Head(size=41, root=Digest(…))                       # frozen, every field typed
    part(Head, {"size": 41, "root": "sha256:2c26…"})    # from its JSON form

Which body holds which piece is in `ledger.records.kinds`, which also hands them all on. Sizes are bytes, times are
milliseconds, scores are millionths (0 to 1,000,000), CPUs are thousandths.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeVar, get_args

import msgspec

from store.canonical import Json
from store.digest import Digest
from store.errors import InputError, SchemaError

__all__ = [
    "DIMENSIONS",
    "FULL",
    "Agent",
    "Agreement",
    "Artifact",
    "ArtifactClass",
    "Backend",
    "Ballot",
    "CaseRef",
    "Chain",
    "Check",
    "Dimension",
    "Grant",
    "Head",
    "Limits",
    "Outcome",
    "Part",
    "PublicKey",
    "Purpose",
    "Ref",
    "RenderEnvironment",
    "Role",
    "Sealed",
    "Separation",
    "Shot",
    "Tally",
    "Target",
    "Track",
    "Verdict",
    "decode",
    "encode",
    "part",
]

P = TypeVar("P", bound="Part")
Role = Literal["root", "curator", "release-manager", "runner", "evaluator", "log", "witness", "rater"]
Outcome = Literal["scored", "ungradeable", "timeout", "harness-failure", "withdrawn"]
Purpose = Literal["formal", "diagnostic", "replay"]
Backend = Literal["docker", "native"]
Track = Literal[
    "frozen-evidence/reconstruct",
    "frozen-evidence/repair",
    "frozen-evidence/extend",
    "repository/pull-request",
]
Dimension = Literal[
    "global_visual", "regional_visual", "functional", "responsive", "workflow", "preservation", "policy"
]
ArtifactClass = Literal[
    "manifest", "workspace", "diff", "build-output", "log", "events", "transcript", "egress-log", "late"
]
Separation = Literal["process", "user", "host"]

DIMENSIONS: Final[tuple[Dimension, ...]] = get_args(Dimension)
"""The seven dimensions, in their printed order."""

FULL: Final = 1_000_000
"""The highest score, in millionths."""


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A piece of a body."""


class Head(Part, frozen=True, kw_only=True):
    """A head of the log: its size in records and its RFC 6962 root."""

    size: int
    root: Digest


class Ref(Part, frozen=True, kw_only=True):
    """A record named from another: its id, and the SHA-256 of its leaf bytes."""

    id: str
    record: Digest


class CaseRef(Part, frozen=True, kw_only=True):
    """A case version named from another record."""

    id: str
    version: int
    record: Digest


class Chain(Part, frozen=True, kw_only=True):
    """Place of a runner's record in its attempt: omission and duplication show.

    `seq` counts from 0; `prev` is the leaf digest of the record before it, null for the first.
    """

    attempt: str
    seq: int
    prev: Digest | None


class Grant(Part, frozen=True, kw_only=True):
    """What a role holds: key ids, how many of them must sign, and which kinds they may sign."""

    keys: list[str]
    threshold: int
    kinds: list[str]


class PublicKey(Part, frozen=True, kw_only=True):
    """An Ed25519 public key. `keyid` is the hexadecimal SHA-256 of its 32 raw bytes.

    `distrusted_from` is the log index from which its signatures no longer count; null while it is trusted.
    """

    keyid: str
    public: str
    distrusted_from: int | None


class Limits(Part, frozen=True, kw_only=True):
    """What an attempt may use. The case's own, capped by the protocol's."""

    seconds: int
    memory: int
    cpus: int
    pids: int
    workspace: int


class Sealed(Part, frozen=True, kw_only=True):
    """Commitment to a sealed kit: SHA-256 of the plaintext tar, and the age-encrypted object."""

    commitment: Digest
    kit: Digest


class Check(Part, frozen=True, kw_only=True):
    """One verification run of a case before it is published."""

    agent: str
    run: int
    score: int


class RenderEnvironment(Part, frozen=True, kw_only=True):
    """What draws pages: root filesystem, browser, fonts, driver and seccomp profile."""

    image: Digest
    browser: str
    fonts: Digest
    driver: Digest
    seccomp: Digest
    backend: Backend


class Agent(Part, frozen=True, kw_only=True):
    """What acts: adapter name, version, argument vector, and the tree of the files it brings (null if none)."""

    adapter: str
    version: str
    argv: list[str]
    files: Digest | None


class Artifact(Part, frozen=True, kw_only=True):
    """One object an attempt made. A tree's `size` is that of its listing."""

    name: str
    class_: ArtifactClass = msgspec.field(name="class")
    media_type: str
    digest: Digest
    size: int


class Shot(Part, frozen=True, kw_only=True):
    """One captured (route, viewport, state): the tree of its files, or the reason there is none."""

    id: str
    tree: Digest | None
    error: str | None


class Tally(Part, frozen=True, kw_only=True):
    """A dimension's score in millionths, and how many of its checkpoints passed."""

    score: int
    passed: int
    total: int


class Verdict(Part, frozen=True, kw_only=True):
    """The pure part of an evaluation: the same captures and kit give the same bytes.

    `detail` is the digest of the plaintext detail, which holds the kit's salt and is therefore hiding.
    """

    dimensions: dict[str, Tally]
    weights: dict[str, int]
    gate: int
    total: int
    inputs: list[Digest]
    detail: Digest


class Target(Part, frozen=True, kw_only=True):
    """What a withdrawal concerns."""

    kind: Literal["attempt", "case", "release"]
    id: str
    record: Digest


class Ballot(Part, frozen=True, kw_only=True):
    """One blind look at two pages of one case: records of their captures, the shot, and which looked more like it."""

    left: Digest
    right: Digest
    shot: str
    choice: Literal["left", "right", "same"]


class Agreement(Part, frozen=True, kw_only=True):
    """Of `pairs` with a choice, `agreed` are ordered so by the score; `low` and `high` bound that rate.

    `tau` is Kendall's, from -1,000,000 to 1,000,000; the rates are millionths too.
    """

    pairs: int
    agreed: int
    low: int
    high: int
    tau: int


def part(wanted: type[P], value: Json) -> P:
    """One piece of a body from its JSON form.

    Raises:
        SchemaError: it has another shape.
    """
    try:
        return msgspec.convert(value, wanted, dec_hook=decode)
    except (msgspec.ValidationError, InputError) as error:
        raise SchemaError(f"{wanted.__name__}: {error}") from error


def encode(value: Any) -> Json:
    """What msgspec does not know how to write: a digest, as text."""
    if isinstance(value, Digest):
        return str(value)
    raise TypeError(type(value).__name__)


def decode(wanted: type, value: Any) -> Any:
    """What msgspec does not know how to read: a digest, from text.

    Raises:
        SchemaError: it is none.
    """
    if wanted is Digest and isinstance(value, str):
        return Digest.parse(value)
    raise SchemaError(f"expected {wanted.__name__}, found {type(value).__name__}")
