"""The verdict: a pure function of captures and kit. The same bytes in give the same bytes out.

    found = decide(exam, dimensions=("global_visual", "functional", "policy"), weights={…}, inputs=[…])
    found.verdict.total     # gate × Σ weight · score / Σ weight over all dimensions but policy, millionths
    found.detail            # canonical JSON: every checkpoint's value, and the kit's salt

    {"commitment":"sha256:…","dimensions":{"functional":{"checkpoints":[{"name":"total","seen":{"found":1},
     "shot":"home.desktop.yearly","value":1000000,"weight":3}],"passed":1,"score":1000000,"share":[1,1],"total":1}},"salt":"…","schema":"rbl/detail/v1"}

`policy` is a gate: 0 or 1,000,000, multiplied with the rest. A dimension that a case does not use is absent, not full.
The detail names single checkpoints and is encrypted before it leaves the process; its digest is in the verdict,
and the salt keeps that digest from being guessed. Nothing is read, written, or asked of a clock here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ledger.records.kinds import FULL, Verdict
from sealed.dimensions import DIMENSIONS, Marks, half_even
from sealed.examination import Examination
from store import canonical
from store.canonical import Json
from store.digest import Digest
from store.errors import InputError

__all__ = ["GATE", "Decision", "decide"]

SCHEMA: Final = "rbl/detail/v1"
GATE: Final = "policy"
"""The dimension that multiplies instead of counting."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict, the plaintext of its detail, and the marks that both were made from."""

    verdict: Verdict
    detail: bytes
    marks: Mapping[str, Marks]


def decide(
    exam: Examination,
    *,
    dimensions: Sequence[str],
    weights: Mapping[str, int],
    commitment: Digest,
    inputs: Iterable[Digest],
) -> Decision:
    """Judge one candidate.

    Args:
        exam: its captures beside the kit.
        dimensions: what the case uses.
        weights: the protocol's public weights.
        commitment: digest of the kit's plaintext.
        inputs: digests of everything else that goes in.

    Raises:
        InputError: a dimension without checkpoints or without weight, or a kit that cannot be judged with.
        HarnessError: neither a page nor its reference stood still.
    """
    used = sorted(set(dimensions))
    counted = {name: _weight(weights, name) for name in used if name != GATE}
    if sum(counted.values()) <= 0:
        raise InputError("no dimension counts", fix="give a dimension of the case a weight in the protocol")
    marks = {name: _marks(exam, name) for name in used}
    tallies = {name: found.tally for name, found in marks.items()}
    gate = tallies[GATE].score if GATE in tallies else FULL
    weighted = sum(weight * tallies[name].score for name, weight in counted.items())
    detail = canonical.dumps(
        {
            "schema": SCHEMA,
            "commitment": str(commitment),
            "salt": exam.yardstick.opened.salt.hex(),
            "dimensions": {name: _document(found) for name, found in marks.items()},
        }
    )
    verdict = Verdict(
        dimensions=tallies,
        weights=counted,
        gate=gate,
        total=half_even(gate * weighted, FULL * sum(counted.values())),
        inputs=sorted({commitment, *inputs}),
        detail=Digest.of(detail),
    )
    return Decision(verdict, detail, marks)


def _weight(weights: Mapping[str, int], name: str) -> int:
    try:
        return weights[name]
    except KeyError as error:
        raise InputError(f"the protocol gives no weight to {name}", fix="add it to the protocol's weights") from error


def _marks(exam: Examination, name: str) -> Marks:
    if name not in DIMENSIONS:
        raise InputError(f"unknown dimension {name!r}", fix=f"use one of {', '.join(DIMENSIONS)}")
    marks = DIMENSIONS[name](exam)
    if not marks.checkpoints:
        raise InputError(
            f"the kit has nothing for {name}", fix="leave the dimension out of the case, or add to the kit"
        )
    return marks


def _document(marks: Marks) -> Json:
    tally = marks.tally
    return {
        "score": tally.score,
        "passed": tally.passed,
        "total": tally.total,
        "share": list(marks.share),
        "checkpoints": [
            {"name": item.name, "shot": item.shot, "weight": item.weight, "value": item.value, "seen": dict(item.seen)}
            for item in marks.checkpoints
        ],
    }
