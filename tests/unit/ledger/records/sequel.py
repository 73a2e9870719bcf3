"""Bodies that are said once attempts are made: each would pass, and takes what a test wants to change.

world.say(lambda base: reveal(base, story.cases["c"]))
"""

from __future__ import annotations

from typing import Any

import msgspec

from ledger.records import kinds
from ledger.records.record import Record
from store.digest import Digest
from tests.unit.ledger.release.story import COMMITMENT, EVALUATOR

REPORT = b'{"strengths":{}}'


def reveal(base: dict[str, Any], case: Record[kinds.Case], **fields: Any) -> kinds.Reveal:
    """The kit of a case of a story: all of them are committed to the same one."""
    ref = kinds.CaseRef(id=case.body.id, version=case.body.version, record=case.digest)
    body = kinds.Reveal(**base, case=ref, kit=COMMITMENT, detail="the split is retired", author="an operator")
    return msgspec.structs.replace(body, **fields)


def erasure(base: dict[str, Any], record: Record, *objects: Digest, **fields: Any) -> kinds.Erasure:
    body = kinds.Erasure(
        **base,
        objects=list(objects),
        record=record.digest,
        reason="leaked-secret",
        detail="a key, revoked since",
        author="an operator",
    )
    return msgspec.structs.replace(body, **fields)


def ballot(left: Record[kinds.Captures], right: Record[kinds.Captures], shot: str = "home.desktop.initial"):
    return kinds.Ballot(left=left.digest, right=right.digest, shot=shot, choice="left")


def preferences(base: dict[str, Any], *ballots: kinds.Ballot) -> kinds.Preferences:
    return kinds.Preferences(**base, rater="r07", ballots=list(ballots))


def calibration(base: dict[str, Any], cited: Record[kinds.Preferences], **fields: Any) -> kinds.Calibration:
    body = kinds.Calibration(
        **base,
        name="people",
        evaluator=EVALUATOR,
        preferences=[cited.digest],
        ballots=len(cited.body.ballots),
        method="bradley-terry/v1",
        agreement={"total": kinds.Agreement(pairs=1, agreed=1, low=206_543, high=1_000_000, tau=-1)},
        report=Digest.of(REPORT),
    )
    return msgspec.structs.replace(body, **fields)
