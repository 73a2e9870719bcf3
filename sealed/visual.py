"""The visual score of one page against a reference: pictures, words and the gate, in millionths.

    reference = Reference(shot, [starter_shot])
    score = reference.score(candidate)         # Score(share=0.992…, pictures=0.988…, words=0.996…, gate=1.0, …)

    P  pictures without text: likeness where each tile is found; 0 = the best of doing nothing, 1 = the reference
    T  words: equal, visible words, with their place, size, ink and colour; 1 = the reference's
    G  gate: what the reference draws must not come out of a raster
    V = G · ((P^r + T^r) / 2)^(1/r), r = 0.7; a page without pictures: G · T; one without words: G · P
        and above what the starter reaches by words that it already has, so that handing it in is exactly 0

"Doing nothing" is a white page, the dominant colour, the mean colour with and without text, flat strips, the starter.
The number orders pages as people would; it is not a percentage of anything. A picture is never resized.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sealed.colour import lab_of
from sealed.gate import Evidence, baked, cover, openness, own_content
from sealed.level import level
from sealed.pictures import Field, Sought, compare
from sealed.pixels import BLOCK, TILE, WHITE, Picture, Shot, dominant
from sealed.words import pair, words
from store.errors import InputError

__all__ = ["FULL", "NOTHING", "Baseline", "Reference", "Score", "millionths"]

FULL: Final = 1_000_000
POWER: Final = 0.7
"""Exponent of the mean of pictures and words: below 1, so that neither can wholly stand for the other."""
LEAST_AREA: Final = 0.004
"""Share of content below which a reference is text only."""
MOST_BASE: Final = 1 - 1e-6
"""A baseline above this leaves nothing to score."""


@dataclass(frozen=True, slots=True)
class Score:
    """What a candidate got.

    Attributes:
        share: V, 0 … 1.
        pictures, words: P and T, 0 … 1; None where the reference has none.
        gate: G, 0 … 1.
        baked, excess: what the gate saw.
        base: the best picture value of doing nothing.
    """

    share: float
    pictures: float | None
    words: float | None
    gate: float
    baked: float
    excess: float
    base: float

    @property
    def value(self) -> int:
        """The score in millionths."""
        return millionths(self.share)

    def times(self, factor: float) -> Score:
        """The score of which only this share counts."""
        return replace(self, share=self.share * factor)


NOTHING: Final = Score(0.0, None, None, 0.0, 0.0, 0.0, 0.0)
"""The score of what was not captured."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """What doing nothing reaches against a reference: a pure function of the reference and its starters.

    Attributes:
        pictures: the best picture value, b.
        start: the most that handing in a starter reaches, before the gate.
    """

    pictures: float
    start: float


class Reference:
    """A reference capture, ready to score candidates.

    Args:
        shot: the reference.
        starters: captures of what the Candidate was given to start from; they score exactly 0.
        baseline: what an earlier `Reference` of the same had; the starters are not looked at then.

    Raises:
        InputError: the reference cannot be told from doing nothing, so that nothing can be scored against it.
    """

    def __init__(self, shot: Shot, starters: Sequence[Shot] = (), baseline: Baseline | None = None) -> None:
        self._sought = Sought.of(shot.textless)
        textless, paper = self._sought.field, self._sought.paper
        full, bare = (
            textless if np.array_equal(picture, shot.textless) else Field.of(lab_of(paper.under(picture)))
            for picture in (shot.full, shot.bare)
        )
        self._own = own_content(full, textless.lab, bare.lab, self._sought.background, paper.own())
        self._own_shares = baked(self._own, textless, bare)
        self._cover, self._resist = cover(shot), shot.resist
        self._words = words(shot.lines, shot.full, shot.textless)
        area = float(self._sought.weight.sum()) * BLOCK * BLOCK / (paper.height * paper.width)
        self._pictured = area >= LEAST_AREA or not self._words
        self.baseline = self._measured(shot, starters) if baseline is None else baseline
        if max(self.baseline.pictures, self.baseline.start) > MOST_BASE:
            raise InputError(
                "the reference cannot be told from doing nothing",
                fix="leave out this shot or region, or give another starter",
            )

    def score(self, shot: Shot) -> Score:
        """Score a candidate."""
        seen = compare(self._sought, shot.textless)
        unrastered = np.array_equal(shot.bare, shot.textless)
        bare = seen.field if unrastered else self._sought.settled(shot.bare, seen.motion)
        evidence = Evidence(
            baked=max(0.0, float((baked(self._own, seen.field, bare) - self._own_shares).max())),
            excess=cover(shot) - self._cover,
            resist=shot.resist and not self._resist,
        )
        gate = openness(evidence)
        pictures, told = self._parts(shot, seen.value, self.baseline.pictures)
        return Score(
            share=gate * _above(self._mean(pictures, told, seen.lost), self.baseline.start),
            pictures=pictures,
            words=told,
            gate=gate,
            baked=evidence.baked,
            excess=evidence.excess,
            base=self.baseline.pictures,
        )

    def _measured(self, shot: Shot, starters: Sequence[Shot]) -> Baseline:
        if self._pictured and not self._sought.weight.any():
            return Baseline(1.0, 0.0)  # one flat colour without words: doing nothing is all there is
        # by colour, flat pictures of the reference's size: white and dominant are often one, and so is the starter
        known: dict[bytes, tuple[float, float]] = {}

        def compared(picture: Picture) -> tuple[float, float]:
            colour = picture[0, 0].tobytes()
            flat = (picture[:, 0] == picture[0, 0]).all() and level(picture)
            if flat and picture.shape == shot.textless.shape and colour in known:
                return known[colour]
            seen = compare(self._sought, picture)
            found = seen.value, seen.lost
            if flat and picture.shape == shot.textless.shape:
                known[colour] = found
            return found

        blank = [compared(picture)[0] for picture in _nothing(shot)] if self._pictured else []
        given = [(starter, *compared(starter.textless)) for starter in starters]
        # a starter whose pictures are right already leaves no room above them: it counts in `start` alone
        best = max([*blank, *(value for _, value, _ in given if value <= MOST_BASE and self._pictured)], default=0.0)
        reached = (self._mean(*self._parts(starter, value, best), lost) for starter, value, lost in given)
        return Baseline(best, 0.0 if best > MOST_BASE else max(reached, default=0.0))

    def _parts(self, shot: Shot, value: float, base: float) -> tuple[float | None, float | None]:
        """P and T of a shot whose pictures compare with this value."""
        pictures = _above(value, base) if self._pictured else None
        return pictures, pair(self._words, words(shot.lines, shot.full, shot.textless))

    def _mean(self, pictures: float | None, told: float | None, lost: float) -> float:
        """V before the gate. Where a reference has no pictures, what a candidate draws there is taken off the words."""
        if pictures is None:
            return (told or 0.0) * max(0.0, 1 - lost)
        if told is None:
            return pictures
        return float(((pictures**POWER + told**POWER) / 2) ** (1 / POWER))


def millionths(value: float) -> int:
    """A share of 0 … 1 as a whole number of millionths, half up."""
    return int(np.floor(min(max(value, 0.0), 1.0) * FULL + 0.5))


def _above(value: float, base: float) -> float:
    """How far a value reaches from a baseline to 1."""
    return max(0.0, (value - base) / (1 - base))


def _nothing(shot: Shot) -> Iterator[Picture]:
    """What can be drawn without looking: flat pages, and a flat strip for each row of tiles."""
    textless = shot.textless
    colours = (np.full(3, WHITE, np.uint8), dominant(textless), _mean_colour(textless), _mean_colour(shot.full))
    for colour in colours:
        yield np.full(textless.shape, colour, np.uint8)
    strips = np.empty_like(textless)
    for top in range(0, len(textless), TILE):
        strips[top : top + TILE] = dominant(textless[top : top + TILE])
    yield strips


def _mean_colour(picture: Picture) -> NDArray[np.uint8]:
    pixels = picture.shape[0] * picture.shape[1]
    mean: NDArray[np.uint8] = (picture.sum((0, 1), dtype=np.int64) // pixels).astype(np.uint8)
    return mean
