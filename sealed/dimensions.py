"""The dimensions of a verdict: from checkpoints to one score each, in whole millionths.

    dimension        checkpoints
    global_visual    the main shot
    regional_visual  each region
    functional       each assertion of that dimension; likewise workflow and preservation
    responsive       each responsive shot, times the share of the sweep without horizontal overflow
    policy           each captured page asks for nothing off its origin, and the main page is no picture of itself

A score is Σ weight · value / Σ weight in integers, rounded half to even once. What depends on a shot with a fault is 0.
`policy` is 0 or 1,000,000: one breach closes it. Which dimensions a case uses is not decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from cases.capture import Request
from cases.kit import OWN_ORIGIN, viewport_of
from ledger.records.kinds import FULL, Tally
from sealed import gate
from sealed.assertions import judge
from sealed.examination import Examination
from sealed.visual import Score, millionths
from store.canonical import Json

__all__ = ["DIMENSIONS", "PASSED", "Checkpoint", "Marks", "half_even"]

PASSED: Final = 900_000
"""A picture passes its checkpoint from here; an assertion passes when it holds."""

_LOCAL: Final = frozenset({"data", "blob", "about"})
_SOCKETS: Final = {"ws": "http", "wss": "https"}
_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One thing that was judged.

    Attributes:
        name: what it is called in the kit.
        shot: the shot it was judged on.
        weight: its share.
        value: millionths.
        seen: what was found, for the detail.
    """

    name: str
    shot: str
    weight: int
    value: int
    seen: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Marks:
    """A dimension's checkpoints, and the share (numerator, denominator) by which they are multiplied."""

    checkpoints: tuple[Checkpoint, ...]
    share: tuple[int, int] = (1, 1)
    strict: bool = False

    @property
    def tally(self) -> Tally:
        """The score, and how many checkpoints passed of how many."""
        passed = sum(checkpoint.value >= PASSED for checkpoint in self.checkpoints)
        total = len(self.checkpoints)
        if self.strict:
            return Tally(score=FULL if passed == total else 0, passed=passed, total=total)
        kept, of = self.share
        weighted = sum(checkpoint.weight * checkpoint.value for checkpoint in self.checkpoints)
        weights = sum(checkpoint.weight for checkpoint in self.checkpoints)
        return Tally(score=half_even(weighted * kept, weights * of), passed=passed, total=total)


def half_even(numerator: int, denominator: int) -> int:
    """The quotient, rounded to the nearest whole number, a half to the even one."""
    quotient, rest = divmod(numerator, denominator)
    twice = 2 * rest
    return quotient + (twice > denominator or (twice == denominator and quotient % 2 == 1))


def _global_visual(exam: Examination) -> Marks:
    shot = exam.yardstick.kit.main
    return Marks((_pictured(exam, shot, 1),))


def _responsive(exam: Examination) -> Marks:
    kit = exam.yardstick.kit
    shots = tuple(_pictured(exam, shot, kit.viewports[viewport_of(shot)]) for shot in kit.responsive)
    return Marks(shots, _without_overflow(exam))


def _without_overflow(exam: Examination) -> tuple[int, int]:
    """At how many widths of how many the page is no wider than its window, or than the reference is there."""
    allowed = {(at.path, at.width): max(at.width, at.scroll_width or 0) for at in exam.yardstick.sweep.widths}
    wide = {(at.path, at.width): at.scroll_width for at in exam.sweep.widths}
    if not allowed:
        return 1, 1
    measured = ((wide.get(place), most) for place, most in allowed.items())
    return sum(width is not None and width <= most for width, most in measured), len(allowed)


def _regional_visual(exam: Examination) -> Marks:
    checkpoints = []
    for region in exam.yardstick.kit.regions:
        score, place = exam.region(region)
        seen: dict[str, Json] = {**_parts(score), "fault": exam.remark(region.name) or exam.fault(region.shot)}
        if place is not None:
            seen |= {"rect": list(place.rect), "located": place.located}
        checkpoints.append(Checkpoint(region.name, region.shot, region.weight, score.value, seen))
    return Marks(tuple(checkpoints))


def _pictured(exam: Examination, shot: str, weight: int) -> Checkpoint:
    score = exam.score(shot)
    return Checkpoint(
        shot, shot, weight, score.value, {**_parts(score), "fault": exam.remark(shot) or exam.fault(shot)}
    )


def _parts(score: Score) -> dict[str, Json]:
    parts = {
        "pictures": score.pictures,
        "words": score.words,
        "gate": score.gate,
        "baked": score.baked,
        "excess": score.excess,
        "base": score.base,
    }
    return {name: None if value is None else millionths(value) for name, value in parts.items()}


def _asserted(dimension: str) -> Callable[[Examination], Marks]:
    def marks(exam: Examination) -> Marks:
        checkpoints = []
        for assertion in exam.yardstick.kit.assertions:
            if assertion.dimension != dimension:
                continue
            page, seen = exam.page(assertion.shot), dict[str, Json]()
            if page is None:
                value, seen = 0, {"fault": exam.fault(assertion.shot)}
            else:
                finding = judge(assertion, page)
                value, seen = FULL if finding.holds else 0, {"found": finding.found}
            checkpoints.append(Checkpoint(assertion.name, assertion.shot, assertion.weight, value, seen))
        return Marks(tuple(checkpoints))

    return marks


def _policy(exam: Examination) -> Marks:
    kit = exam.yardstick.kit
    checkpoints = []
    for shot, page in exam.captured():
        strange = next((request for request in page.capture.requests if _off_origin(request, kit.origins)), None)
        seen = {} if strange is None else {"url": strange.url[:200]}
        checkpoints.append(Checkpoint("requests", shot, 1, FULL if strange is None else 0, seen))
    main = exam.score(kit.main)
    # both signs must be beyond doubt: a partial one is the visual gate's matter
    shown = main.baked >= gate.BAKED[1] and main.excess >= gate.EXCESS[1]
    checkpoints.append(Checkpoint("drawn", kit.main, 1, 0 if shown else FULL, {}))
    return Marks(tuple(checkpoints), strict=True)


def _off_origin(request: Request, origins: tuple[str, ...]) -> bool:
    try:
        local = urlsplit(request.url).scheme in _LOCAL
        allowed = [origin for origin in origins if _same_origin(request.url, origin)]
    except ValueError:  # an address that cannot be read is none of the allowed ones
        return True
    # what the source page asks for elsewhere may be asked for, and is always stopped; the page's own never is
    return not local and (not allowed or (request.blocked and OWN_ORIGIN in allowed))


def _same_origin(url: str, origin: str) -> bool:
    """Whether a request goes to an origin. One without port allows every port: the render server picks its own."""
    one, other = urlsplit(url), urlsplit(origin)
    scheme = _SOCKETS.get(one.scheme, one.scheme)
    if (scheme, one.hostname) != (other.scheme, other.hostname):
        return False
    return other.port is None or (one.port or _PORTS.get(scheme)) == other.port


DIMENSIONS: Final[dict[str, Callable[[Examination], Marks]]] = {
    "global_visual": _global_visual,
    "regional_visual": _regional_visual,
    "functional": _asserted("functional"),
    "responsive": _responsive,
    "workflow": _asserted("workflow"),
    "preservation": _asserted("preservation"),
    "policy": _policy,
}
"""What judges each dimension."""
