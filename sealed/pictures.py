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

from sealed.colour import UNIT, lab_of, lab_of_colour
from sealed.level import Strip
from sealed.motion import Motion, carry, pay, search
from sealed.paper import Paper
from sealed.pixels import BLOCK, TILE, Ints, Layers, Picture, canvas, dominant, whole

__all__ = ["Comparison", "Field", "Sought", "compare", "content", "likeness"]

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
        lost: weight times what likeness and pay lack of 1, for each block of the reference: 0 when nothing is.
    """

    value: float
    motion: Motion
    field: Field
    lost: float


@dataclass(frozen=True, slots=True)
class Sought:
    """A reference's picture without text, ready to be looked for.

    Attributes:
        layers: on white paper, as it is searched.
        paper: what lies beyond it.
        background: its dominant colour, OKLab.
        field: on its paper, as it is compared.
        weight: its `content`; 0 beyond it.
    """

    layers: Layers
    paper: Paper
    background: Ints
    field: Field
    weight: Floats

    @classmethod
    def of(cls, textless: Picture) -> Self:
        """From a picture without text."""
        paper = Paper(textless.shape[0], textless.shape[1], dominant(textless))
        background = lab_of_colour(paper.colour)
        field = Field.of(lab_of(paper.under(textless)))
        layers = Layers.of(canvas(textless, *paper.size))
        return cls(layers, paper, background, field, content(field, background) * paper.own())

    def page(self, picture: Picture) -> Picture:
        """A candidate's picture on white paper of this width."""
        return canvas(picture, whole(picture.shape[0]), self.paper.size[1])

    def settled(self, picture: Picture, motion: Motion) -> Field:
        """The field of a candidate's other picture, its tiles carried as those of the first were."""
        carried, _ = self.paper.settle(carry(self.page(picture), motion), motion, picture.shape[:2])
        return Field.of(lab_of(carried))


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


def compare(sought: Sought, candidate: Picture) -> Comparison:
    """Look for a reference in a candidate's picture, both without text; (h, w, 3) of any size."""
    page, paper = sought.page(candidate), sought.paper
    if candidate.shape[:2] == (paper.height, paper.width) and np.array_equal(page, sought.layers.picture):
        return _same(sought)
    strip = Strip.of(page, min(candidate.shape[1], paper.width))
    layers = Layers.of(page) if strip is None else strip.layers(page)
    motion = search(sought.layers, layers)
    if strip is None or motion.down.any() or motion.right.any():
        settled, counted = paper.settle(carry(page, motion), motion, candidate.shape[:2])
        lab = lab_of(settled)
    else:
        # nothing moved, so that the strip stands for the page once more
        still = Motion.none(paper.size[0], strip.picture.shape[1])
        drawn = candidate.shape[0], candidate.shape[1] - strip.left_out
        settled, some = paper.narrowed(strip.left_out).settle(carry(strip.picture, still), still, drawn)
        lab, counted = strip.spread(lab_of(settled), BLOCK), strip.spread(some, BLOCK)
    field = Field.of(lab)
    weights = (np.maximum(sought.weight, content(field, sought.background)) * counted) ** 2
    return _compared(sought, motion, field, weights, likeness(sought.field, field))


def _same(sought: Sought) -> Comparison:
    """What comparing a reference with itself gives: nothing moves, and every block is exactly alike."""
    still = Motion.none(*sought.paper.size)
    return _compared(sought, still, sought.field, sought.weight**2, np.ones_like(sought.weight))


def _compared(sought: Sought, motion: Motion, field: Field, weights: Floats, alike: Floats) -> Comparison:
    paid = float((_tiles(weights * alike) * pay(motion.distance)).sum())
    total = float(_tiles(weights).sum())
    blocks = sought.paper.height * sought.paper.width / (BLOCK * BLOCK)
    return Comparison(paid / max(total, LEAST), motion, field, max(0.0, total - paid) / blocks)


def _tiles(values: Floats) -> Floats:
    height, width = values.shape
    side = TILE // BLOCK
    tiles: Floats = values.reshape(height // side, side, width // side, side).sum((1, 3))
    return tiles
