"""Has a proposed kit confirmed: what it says must hold on the reference and fail on the starter.

    court = Court(folder, judge)
    kit = confirm(proposal, lambda kit: court.ask(seal(kit), reference), lambda kit: court.ask(seal(kit), starter))
    court.ask(frozen, captures).verdict.total       # 1000000

What an author declared and the evaluator does not confirm is an error that names it; what was proposed automatically is
left out. Nothing is judged here: the evaluator's process is asked with a draft of the `case` record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from cases.kit import Kit
from cases.reconstruct.freeze import Proposal
from cases.reconstruct.frozen import FrozenCase
from ledger.folder import Folder
from ledger.records import kinds
from runners.drawing import NO_TIME, NOWHERE
from runners.judge import Checkpoint, Judge, Judgement
from store.errors import CheckFailed, InputError

__all__ = ["Ask", "Court", "check_score", "confirm"]

Ask = Callable[[Kit], Judgement]
"""Judges one side, reference or starter, by a kit."""

_SHOWN: Final = 5
"""Checkpoints that an error names."""

_TABLES: Final[Mapping[str, str]] = {
    "regional_visual": "regions",
    "functional": "assertions",
    "workflow": "assertions",
    "preservation": "assertions",
}


@dataclass(frozen=True, slots=True)
class Court:
    """Asks a judge with drafts of records."""

    folder: Folder
    judge: Judge

    def ask(self, frozen: FrozenCase, captures: kinds.Captures) -> Judgement:
        """Judge captures by a frozen case's kit; every dimension but the gate has weight one.

        Raises:
            RblError: there is no judgement.
        """
        checks = [kinds.Check(agent="oracle", run=1, score=kinds.FULL), kinds.Check(agent="noop", run=1, score=0)]
        draft = frozen.body(
            ledger=self.folder.config.origin, after=NOWHERE, issued_at=NO_TIME, checks=checks, source=frozen.source
        )
        return self.judge(draft, captures, {name: 1 for name in frozen.dimensions if name != "policy"})


def confirm(proposal: Proposal, reference: Ask, starter: Ask) -> Kit:
    """The kit, less what was proposed automatically and is not confirmed.

    Args:
        proposal: what is declared and proposed.
        reference: judges the reference by a kit.
        starter: judges the starter by a kit.

    Raises:
        InputError: something that the author declared is not confirmed.
    """
    return proposal.without(refused_by(proposal, reference(proposal.kit), starter(proposal.kit)))


def refused_by(proposal: Proposal, reference: Judgement, starter: Judgement) -> frozenset[str]:
    """What was proposed automatically and is not confirmed, named as in `Proposal.automatic`.

    Raises:
        InputError: something that the author declared is not.
    """
    broken: dict[str, str] = {}
    for key, point in _judged(reference):
        if point.score != kinds.FULL:
            broken[key] = f"{point.name} does not hold on the reference, shot {point.shot} {point.note}".rstrip()
    for key, point in _judged(starter):
        if point.score != 0:
            what = f"{point.name} holds on the starter already, shot {point.shot} {point.note}".rstrip()
            broken.setdefault(key, what)
    _refuse_declared(proposal, broken)
    return frozenset(broken)


def check_score(judgement: Judgement, agent: str, run: int, expected: int) -> None:
    """Refuse a score that is not exactly the expected one.

    Raises:
        CheckFailed: it is another; the checkpoints that differ are named.
    """
    if judgement.verdict.total == expected:
        return
    points = judgement.failed() if expected else judgement.scored()
    named = ", ".join(f"{point.dimension}/{point.name} on {point.shot}: {point.score}" for point in points[:_SHOWN])
    dimensions = ", ".join(f"{name} {tally.score}" for name, tally in judgement.verdict.dimensions.items())
    raise CheckFailed(
        f"the {agent} scored {judgement.verdict.total} and not {expected} in run {run}: {named or dimensions}",
        where=f"gate {judgement.verdict.gate}, {dimensions}",
        fix="leave out what does not hold still, or mend the kit, and freeze the case again",
    )


def _refuse_declared(proposal: Proposal, broken: Mapping[str, str]) -> None:
    wrong = [what for key, what in sorted(broken.items()) if key not in proposal.automatic]
    if wrong:
        more = f" (and {len(wrong) - _SHOWN} more)" if len(wrong) > _SHOWN else ""
        raise InputError("; ".join(wrong[:_SHOWN]) + more, where=f"kit of {proposal.kit.case}", fix="mend the kit")


def _judged(judgement: Judgement) -> list[tuple[str, Checkpoint]]:
    return [
        (f"{_TABLES[point.dimension]}/{point.name}", point)
        for point in judgement.checkpoints
        if point.dimension in _TABLES
    ]
