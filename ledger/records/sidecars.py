"""The kinds that are said once attempts are made: about them, beside them, and never inside them.

    Withdrawal   the standing of an attempt, case or release changes; its bytes stay
    Reveal       a retired case's kit, in clear: anyone may grade again
    Erasure      bytes go, their digests stay; whoever misses them reads why
    Preferences  what people saw: a batch of blind ballots
    Calibration  how well the scores agree with ballots

No score rests on any of them. Their rules of admission are in `ledger.records.admitted` and `ledger.records.later`.
"""

from __future__ import annotations

from typing import Literal

from ledger.records.body import Body
from ledger.records.parts import Agreement, Ballot, CaseRef, Target
from store.digest import Digest

__all__ = ["Calibration", "Erasure", "Preferences", "Reveal", "Withdrawal"]


class Withdrawal(Body, frozen=True, kw_only=True):
    """A sidecar: the bytes stay, the standing changes. `reinstates` names the withdrawal that this one lifts."""

    target: Target
    reason: str
    detail: str
    author: str
    expected: Digest | None
    observed: Digest | None
    reinstates: Digest | None


class Reveal(Body, frozen=True, kw_only=True):
    """The kit of a retired case, in clear. `kit` is the plaintext tar, an object; its digest is the case's commitment.

    The tar begins with the salt that kept the commitment hiding.
    """

    case: CaseRef
    kit: Digest
    detail: str
    author: str


class Erasure(Body, frozen=True, kw_only=True):
    """Objects whose bytes are gone for a reason. `record` is the record that reaches them, itself or by a tree."""

    objects: list[Digest]
    record: Digest
    reason: Literal["leaked-secret", "takedown", "personal-data", "other"]
    detail: str
    author: str


class Preferences(Body, frozen=True, kw_only=True):
    """A batch of blind ballots. `rater` is who saw the pictures, a name or a pseudonym."""

    rater: str
    ballots: list[Ballot]


class Calibration(Body, frozen=True, kw_only=True):
    """How well an evaluator's scores agree with people.

    `preferences` are the records whose ballots were fitted, `ballots` how many those are together; `agreement` is by
    dimension, or `total`. `report` is the object with the fit.
    """

    name: str
    evaluator: Digest
    preferences: list[Digest]
    ballots: int
    method: Literal["bradley-terry/v1"]
    agreement: dict[str, Agreement]
    report: Digest
