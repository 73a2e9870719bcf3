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

from sealed.colour import lab_of, lab_of_colour
from sealed.gate import Evidence, baked, cover, openness, own_content
from sealed.motion import carry
from sealed.pictures import Comparison, Field, compare, content
from sealed.pixels import BLOCK, TILE, WHITE, Layers, Picture, Shot, canvas, dominant, whole
from sealed.words import pair, words
from store.errors import InputError

__all__ = ["FULL", "NOTHING", "Reference", "Score", "millionths"]

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


class Reference:
    """A reference capture, ready to score candidates.

    Args:
        shot: the reference.
        starters: captures of what the Candidate was given to start from; they score exactly 0.

    Raises:
        InputError: the reference cannot be told from doing nothing, so that nothing can be scored against it.
    """

    def __init__(self, shot: Shot, starters: Sequence[Shot] = ()) -> None:
        height, self._width = whole(shot.full.shape[0]), whole(shot.full.shape[1])
        full, textless, bare = (
            lab_of(canvas(picture, height, self._width)) for picture in (shot.full, shot.textless, shot.bare)
        )
        self._background = lab_of_colour(dominant(shot.textless))
        self._layers = Layers.of(canvas(shot.textless, height, self._width))
        self._field = Field.of(textless)
        self._weight = content(self._field, self._background)
        self._own = own_content(Field.of(full), textless, bare, self._background)
        self._own_shares = baked(self._own, self._field, Field.of(bare))
        self._cover, self._resist = cover(shot), shot.resist
        self._words = words(shot.lines, shot.full, shot.textless)
        area = float(self._weight.sum()) * BLOCK * BLOCK / (shot.full.shape[0] * shot.full.shape[1])
        self._pictured = area >= LEAST_AREA or not self._words
        blank = [self._compare(picture).value for picture in _nothing(shot)] if self._pictured else []
        given = [(starter, self._compare(starter.textless).value) for starter in starters]
        # a starter whose pictures are right already leaves no room above them: it counts in `_start` alone
        self._base = max([*blank, *(value for _, value in given if value <= MOST_BASE and self._pictured)], default=0.0)
        self._start = 0.0 if self._base > MOST_BASE else self._reached(given)
        if max(self._base, self._start) > MOST_BASE:
            raise InputError(
                "the reference cannot be told from doing nothing",
                fix="leave out this shot or region, or give another starter",
            )

    def score(self, shot: Shot) -> Score:
        """Score a candidate."""
        seen = self._compare(shot.textless)
        bare = Field.of(lab_of(carry(self._page(shot.bare), seen.motion)))
        evidence = Evidence(
            baked=max(0.0, float((baked(self._own, seen.field, bare) - self._own_shares).max())),
            excess=cover(shot) - self._cover,
            resist=shot.resist and not self._resist,
        )
        gate = openness(evidence)
        pictures, told = self._parts(shot, seen.value)
        return Score(
            share=gate * _above(self._mean(pictures, told), self._start),
            pictures=pictures,
            words=told,
            gate=gate,
            baked=evidence.baked,
            excess=evidence.excess,
            base=self._base,
        )

    def _parts(self, shot: Shot, value: float) -> tuple[float | None, float | None]:
        """P and T of a shot whose pictures compare with this value."""
        pictures = _above(value, self._base) if self._pictured else None
        return pictures, pair(self._words, words(shot.lines, shot.full, shot.textless))

    def _reached(self, given: Sequence[tuple[Shot, float]]) -> float:
        """The most that handing in a starter would get."""
        return max((self._mean(*self._parts(starter, value)) for starter, value in given), default=0.0)

    def _mean(self, pictures: float | None, told: float | None) -> float:
        if pictures is None or told is None:
            return told or pictures or 0.0
        return float(((pictures**POWER + told**POWER) / 2) ** (1 / POWER))

    def _compare(self, picture: Picture) -> Comparison:
        return compare(self._layers, self._field, self._weight, self._page(picture), self._background)

    def _page(self, picture: Picture) -> Picture:
        return canvas(picture, whole(picture.shape[0]), self._width)


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
        yield np.broadcast_to(colour, textless.shape)
    strips = np.empty_like(textless)
    for top in range(0, len(textless), TILE):
        strips[top : top + TILE] = dominant(textless[top : top + TILE])
    yield strips


def _mean_colour(picture: Picture) -> NDArray[np.uint8]:
    pixels = picture.shape[0] * picture.shape[1]
    mean: NDArray[np.uint8] = (picture.sum((0, 1), dtype=np.int64) // pixels).astype(np.uint8)
    return mean
