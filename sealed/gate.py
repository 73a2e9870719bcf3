"""What must not come out of a raster image: the gate that closes on screenshots shown as pages.

    baked       share of what the reference draws itself that the candidate shows only in its rasters
    excess      raster area above the reference's, as a share of the page
    openness(Evidence(baked, excess, resist))      1 open … 0 closed

Two rasters give it away: the picture with rasters is like the reference, the one without is not. A page that hides no
raster when told to (`resist`), where the reference does, gets nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sealed.paper import Blocks
from sealed.pictures import Field, content, likeness
from sealed.pixels import BLOCK, Ints, Shot

__all__ = ["Evidence", "Own", "baked", "cover", "openness", "own_content"]

Floats = NDArray[np.float64]

BAKED: Final = (0.10, 0.30)
"""The gate closes between these shares of baked content."""
EXCESS: Final = (0.20, 0.45)
"""The gate closes between these shares of raster area above the reference's."""
RASTER: Final = 24
"""Change by hiding rasters, in 4096ths of OKLab, from which a block is a raster's."""
TEXT: Final = 80
"""Change by hiding text from which a block is text's."""
LEAST_WEIGHT: Final = 0.002
LEAST_GAIN: Final = 0.01
"""Below this mean weight, or this gain over an empty page, there is too little to be baked."""


@dataclass(frozen=True, slots=True)
class Own:
    """What the reference draws without rasters, in two parts: text and the rest.

    Attributes:
        field: the full reference.
        weights: (2, h, w) weight of each block in each part; a part too small to count is 0.
        gains: (2,) what the full picture gains over an empty page, weighted.
    """

    field: Field
    weights: Floats
    gains: Floats


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the gate judges: shares above the reference's own, and whether a raster stayed where none should."""

    baked: float
    excess: float
    resist: bool


def own_content(full: Field, textless: Ints, bare: Ints, background: Ints, own: Blocks) -> Own:
    """What of a reference must not be baked.

    Args:
        full: the field of the full picture.
        textless: OKLab blocks of the picture without text.
        bare: OKLab blocks of the picture without text and rasters.
        background: the page's background, OKLab.
        own: the blocks of the reference: what lies beyond it weighs nothing.
    """
    drawn = np.abs(textless - bare).max(-1) < RASTER
    text = np.abs(full.lab - textless).max(-1) > TEXT
    empty = Field.of(np.ascontiguousarray(np.broadcast_to(background, full.lab.shape)))
    weight = content(full, background) * (drawn & own)
    most = 1 - likeness(full, empty)
    weights, gains = np.zeros((2, *weight.shape)), np.ones(2)
    for index, part in enumerate((text, ~text)):
        here = weight * part
        total, gain = float(here.sum()), float((here * most).sum())
        if total > LEAST_WEIGHT * weight.size and gain > LEAST_GAIN * total:
            weights[index], gains[index] = here, gain
    return Own(full, weights, gains)


def baked(own: Own, textless: Field, bare: Field) -> Floats:
    """Share of each of the two parts that comes out of rasters: 0 honest, 1 a screenshot. May be below 0.

    Args:
        own: the reference's own content.
        textless: the candidate without text, its tiles carried to the reference's places.
        bare: the same without rasters.
    """
    gain = likeness(own.field, textless) - likeness(own.field, bare)
    shares: Floats = (own.weights * gain).sum((1, 2)) / own.gains
    return shares


def cover(shot: Shot) -> float:
    """Share of the page under rasters, on 4 px blocks."""
    height, width = shot.full.shape[:2]
    covered = np.zeros((height // BLOCK + 1, width // BLOCK + 1), np.bool_)
    for x, y, across, down in shot.rasters:
        rows = slice(max(int(y) // BLOCK, 0), max(int(y + down) // BLOCK, 0))
        covered[rows, max(int(x) // BLOCK, 0) : max(int(x + across) // BLOCK, 0)] = True
    return float(covered.mean())


def openness(evidence: Evidence) -> float:
    """How far the gate is open: 1 for an honest page, 0 for a screenshot."""
    if evidence.resist:
        return 0.0
    return _ramp(evidence.baked, BAKED) * _ramp(evidence.excess, EXCESS)


def _ramp(value: float, between: Sequence[float]) -> float:
    low, high = between
    return float(min(max((high - value) / (high - low), 0.0), 1.0))
