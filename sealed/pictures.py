"""Likeness of two pictures, block by block: how much each block says, and how alike it is.

    field = Field.of(lab_of(picture))
    weight = content(field, background)        # (h, w) of 4 px blocks, 0 … 1
    alike = likeness(reference, candidate)     # (h, w), 0 … 1: SSIM of lightness × agreement of colour

SSIM: Wang, Bovik, Sheikh, Simoncelli, "Image quality assessment: from error visibility to structural similarity" (IEEE
Trans. Image Processing 13(4), 2004), here in a 5×5 window of blocks with whole-number sums. The picture score of a page
is the mean of likeness, weighted by the square of content, each tile paid for its distance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from sealed.colour import UNIT, lab_of
from sealed.motion import Motion, carry, pay, search
from sealed.pixels import BLOCK, TILE, Ints, Layers, Picture

__all__ = ["Comparison", "Field", "compare", "content", "likeness"]

Floats = NDArray[np.float64]

COLOUR_CAP: Final = 0.2
"""Colour distance that counts as all wrong, OKLab units."""
LIGHTNESS: Final = 0.5
OPPONENT: Final = 1.5
"""Weights of lightness and of the two opponent colours in that distance."""
CONTRAST: Final = 0.06
"""Local contrast, or distance to the background, that counts in full."""
FLAT_SHARE: Final = 0.4
"""What flat colour counts beside detail."""
MEAN_CONSTANT: Final = 1e-4
SPREAD_CONSTANT: Final = 0.02**2
"""The two constants of SSIM, for lightness 0 … 1."""
WINDOW: Final = 5
CELLS: Final = WINDOW * WINDOW
LEAST: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Field:
    """A picture as OKLab blocks, with the window sums of its lightness.

    Attributes:
        lab: (h, w, 3), in 4096ths.
        sums: lightness summed over each 5×5 window.
        spread: 25 × the sum of squares − the square of the sum: 625 × the variance.
    """

    lab: Ints
    sums: Ints
    spread: NDArray[np.int64]

    @classmethod
    def of(cls, lab: Ints) -> Self:
        """The field of OKLab blocks."""
        lightness = lab[..., 0]
        sums = box_sums(lightness)
        wide = sums.astype(np.int64)
        return cls(lab, sums, box_sums(lightness * lightness) * np.int64(CELLS) - wide * wide)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A candidate's picture against a reference's.

    Attributes:
        value: weighted mean of likeness and pay, 0 … 1.
        motion: where the tiles were found.
        field: the candidate, its tiles carried to the reference's places.
        alike: likeness of each block.
    """

    value: float
    motion: Motion
    field: Field
    alike: Floats


def box_sums(values: Ints) -> Ints:
    """Sums over 5×5 windows; edges repeat. Values up to 4096² fit."""
    reach = WINDOW // 2
    height, width = values.shape
    padded = np.pad(values, reach, mode="edge")
    rows = sum((padded[offset : offset + height] for offset in range(1, WINDOW)), start=padded[:height].copy())
    return sum((rows[:, offset : offset + width] for offset in range(1, WINDOW)), start=rows[:, :width].copy())


def content(field: Field, background: Ints) -> Floats:
    """How far each block is from being plain page: local contrast or colour, 0 … 1."""
    variance = np.maximum(field.spread, 0) / (CELLS * CELLS * float(UNIT) ** 2)
    away = (field.lab - background).astype(np.int64)
    distance = np.sqrt((away * away).sum(-1)) / UNIT
    weight: Floats = np.maximum(
        np.minimum(np.sqrt(variance) / CONTRAST, 1), FLAT_SHARE * np.minimum(distance / CONTRAST, 1)
    )
    return weight


def likeness(one: Field, other: Field) -> Floats:
    """Local similarity of two pictures of one size, 0 … 1. Exactly 1 where they are equal."""
    x, y = one.lab[..., 0], other.lab[..., 0]
    shared = box_sums(x * y) * np.int64(CELLS) - one.sums.astype(np.int64) * other.sums
    scale = 1.0 / (CELLS * CELLS * float(UNIT) ** 2)
    mean_x, mean_y = one.sums / (CELLS * UNIT), other.sums / (CELLS * UNIT)
    alike = (2 * mean_x * mean_y + MEAN_CONSTANT) * (2 * shared * scale + SPREAD_CONSTANT)
    spread = (one.spread + other.spread) * scale
    alike /= (mean_x * mean_x + mean_y * mean_y + MEAN_CONSTANT) * (spread + SPREAD_CONSTANT)
    off = (one.lab - other.lab).astype(np.int64)
    off *= off
    distance = np.sqrt(LIGHTNESS**2 * off[..., 0] + OPPONENT**2 * (off[..., 1] + off[..., 2])) / UNIT
    both: Floats = np.clip(alike, 0, 1) * (1 - np.minimum(distance, COLOUR_CAP) / COLOUR_CAP)
    return both


def compare(reference: Layers, field: Field, weight: Floats, candidate: Picture, background: Ints) -> Comparison:
    """Look for the reference in a candidate's padded picture.

    Args:
        reference: its layers.
        field: its field.
        weight: its `content`.
        candidate: (h, w, 3), padded; any height, the reference's width.
        background: the reference's background, OKLab.
    """
    layers = Layers.of(candidate)
    motion = search(reference, layers)
    carried = Field.of(lab_of(carry(layers.picture, motion)))
    weights = np.maximum(weight, content(carried, background)) ** 2
    alike = likeness(field, carried)
    paid = _tiles(weights * alike) * pay(motion.distance)
    value = float(paid.sum() / max(float(_tiles(weights).sum()), LEAST))
    return Comparison(value, motion, carried, alike)


def _tiles(values: Floats) -> Floats:
    height, width = values.shape
    side = TILE // BLOCK
    tiles: Floats = values.reshape(height // side, side, width // side, side).sum((1, 3))
    return tiles
