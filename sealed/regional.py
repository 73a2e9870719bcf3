"""The score of one region of a page: found in the candidate, then scored as a page of its own.

    region = RegionReference(shot, (0, 0, 1440, 64), [starter])
    score, place = region.score(candidate, located=(0, 3, 1440, 64), page_gate=1.0)

Where the sealed locator gives a rectangle in the candidate, that is the place. Otherwise the region is looked for on
cells of 8 px within a bound, staying preferred, then to the pixel. The crop is scored with baselines of its own, paid
for its distance, and multiplied by the gate of the whole page: a photo in its place inside a screenshot is no region. A
search among equal cards finds the nearest one, not the one that is meant: such regions need locators.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sealed.motion import pay
from sealed.pixels import Picture, Shot, TextLine, canvas, luma_of, whole
from sealed.visual import NOTHING, Baseline, Reference, Score
from store.errors import InputError

__all__ = ["Place", "Rect", "RegionReference", "crop", "find"]

Rect = tuple[int, int, int, int]
"""x, y, width, height in whole px of the page."""

CELL: Final = 8
"""Side of a cell of the search, px."""
BOUND_DOWN: Final = 1200
BOUND_ACROSS: Final = 256
"""How far a region is looked for, px."""
NEAR: Final = 8
"""Reach of the last step, px."""
LEAST_CELLS: Final = 2


@dataclass(frozen=True, slots=True)
class Place:
    """Where a region was found, and whether by its locator or by search."""

    rect: Rect
    located: bool


class RegionReference:
    """A region of a reference, ready to score candidates.

    Args:
        shot: the reference page.
        rect: the region in it.
        starters: pages of what the Candidate was given, each with what the region's locator gives in it.
        baseline: what an earlier reference of the same had; the starters are not looked at then.

    Raises:
        InputError: the region lies outside the page, or cannot be told from doing nothing.
    """

    def __init__(
        self,
        shot: Shot,
        rect: Rect,
        starters: Sequence[tuple[Shot, Rect | None]] = (),
        baseline: Baseline | None = None,
    ) -> None:
        self._textless, self._rect = shot.textless, rect
        part = crop(shot, rect)
        if not part.full.size:
            raise InputError("the region lies outside the reference", where=str(rect), fix="give another rectangle")
        given = [] if baseline else [found for starter in starters for found in self._given(*starter)]
        self._reference = Reference(part, given, baseline)

    @property
    def baseline(self) -> Baseline:
        """What doing nothing reaches here."""
        return self._reference.baseline

    def score(self, shot: Shot, located: Rect | None, page_gate: float) -> tuple[Score, Place]:
        """Score a candidate.

        Args:
            shot: the candidate page.
            located: what the region's locator gives in it; None where it gives nothing.
            page_gate: the gate of the whole page, 0 … 1.
        """
        place = self._place(shot, located)
        part = crop(shot, place.rect)
        if not part.full.size:
            return NOTHING, place
        away = np.hypot(place.rect[0] - self._rect[0], place.rect[1] - self._rect[1])
        return self._reference.score(part).times(float(pay(away)) * page_gate), place

    def _place(self, shot: Shot, located: Rect | None) -> Place:
        if located is not None:
            return Place(located, located=True)
        return Place(find(self._textless, shot.textless, self._rect), located=False)

    def _given(self, starter: Shot, located: Rect | None) -> Iterator[Shot]:
        """What of a starter a Candidate could hand in for the region: its own place, and where it would be found."""
        for rect in {self._rect, self._place(starter, located).rect}:
            part = crop(starter, rect)
            if part.full.size:
                yield part


def crop(shot: Shot, rect: Rect) -> Shot:
    """The part of a page in a rectangle: a line belongs where its middle is, a raster wherever it reaches in."""
    x, y, width, height = rect
    rows, columns = slice(max(y, 0), max(y + height, 0)), slice(max(x, 0), max(x + width, 0))
    lines = tuple(
        TextLine(line.text, (left - x, top - y, across, down))
        for line in shot.lines
        for left, top, across, down in (line.box,)
        if x <= left + across / 2 <= x + width and y <= top + down / 2 <= y + height
    )
    rasters = tuple(
        (left - x, top - y, across, down)
        for left, top, across, down in shot.rasters
        if left < x + width and left + across > x and top < y + height and top + down > y
    )
    full, textless, bare = (picture[rows, columns] for picture in (shot.full, shot.textless, shot.bare))
    return Shot(full, textless, bare, lines, rasters, shot.resist)


def find(reference: Picture, candidate: Picture, rect: Rect) -> Rect:
    """The place in the candidate that is most like a region of the reference, both without text."""
    x, y, width, height = rect
    tall, wide = (whole(max(reference.shape[axis], candidate.shape[axis])) for axis in (0, 1))
    one, other = (luma_of(canvas(picture, tall, wide)) for picture in (reference, candidate))
    wanted, there = one[y : y + height, x : x + width], other[y : y + height, x : x + width]
    inside = 0 <= x <= wide - width and 0 <= y <= tall - height
    if np.array_equal(wanted, there) or (inside and other.min() == other.max()):
        return rect  # on one colour no other place costs less
    down, right = _on_cells(_cells(one), _cells(other), rect)
    # every second pixel both ways, by the parity of its place; sums of squares of whole numbers stay far below 2⁵³:
    # exact in double precision, in any order
    points = np.ascontiguousarray(wanted[::2, ::2], np.float64)
    fourths = {(p, q): np.ascontiguousarray(other[p::2, q::2], np.float64) for p in (0, 1) for q in (0, 1)}
    least, best = None, (0, 0)
    for dy in range(down - NEAR, down + NEAR + 1):
        for dx in range(right - NEAR, right + NEAR + 1):
            top, left = max(y + dy, 0), max(x + dx, 0)
            bottom, right_edge = min(max(y + dy + height, 0), tall), min(max(x + dx + width, 0), wide)
            if (bottom - top, right_edge - left) == wanted.shape:
                part = fourths[top % 2, left % 2][top // 2 :, left // 2 :][: points.shape[0], : points.shape[1]]
                difference = (points - part).ravel()
                cost = int(difference @ difference) + abs(dy) + abs(dx)
                if least is None or cost < least:
                    least, best = cost, (dy, dx)
    return x + best[1], y + best[0], width, height


def _cells(luma: NDArray[np.uint16]) -> NDArray[np.int64]:
    height, width = luma.shape
    sums = luma.astype(np.int64).reshape(height // CELL, CELL, width // CELL, CELL).sum((1, 3))
    cells: NDArray[np.int64] = sums // (CELL * CELL)
    return cells


def _on_cells(reference: NDArray[np.int64], candidate: NDArray[np.int64], rect: Rect) -> tuple[int, int]:
    """Displacement of the best place on the grid of cells, px down and right. The first of equals wins."""
    x, y, width, height = (edge // CELL for edge in rect)
    wanted = reference[y : y + max(LEAST_CELLS, height), x : x + max(LEAST_CELLS, width)]
    tall, wide = wanted.shape
    top, left = max(0, y - BOUND_DOWN // CELL), max(0, x - BOUND_ACROSS // CELL)
    ground = candidate[top : y + BOUND_DOWN // CELL + tall, left : x + BOUND_ACROSS // CELL + wide]
    shared = _correlation(ground, wanted)
    squares = _window_sums(ground * ground, tall, wide)
    cost = (wanted * wanted).sum() - 2 * shared + squares
    downs, rights = np.arange(cost.shape[0]) + top - y, np.arange(cost.shape[1]) + left - x
    cost = cost + (np.abs(downs)[:, None] + np.abs(rights)) * wanted.size
    row, column = divmod(int(cost.argmin()), cost.shape[1])
    return int(downs[row]) * CELL, int(rights[column]) * CELL


def _correlation(ground: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sums of products at every place where `wanted` lies whole on `ground`.

    By Fourier transforms. Sums of whole numbers stay below 1e10 and their errors below 1e-4: rounding makes them exact.
    """
    tall, wide = ground.shape
    spectrum = np.fft.rfft2(ground) * np.fft.rfft2(wanted, ground.shape).conj()
    products = np.fft.irfft2(spectrum, ground.shape)
    exact: NDArray[np.int64] = np.rint(products).astype(np.int64)
    return exact[: tall - wanted.shape[0] + 1, : wide - wanted.shape[1] + 1]


def _window_sums(values: NDArray[np.int64], tall: int, wide: int) -> NDArray[np.int64]:
    total = np.pad(values, ((1, 0), (1, 0))).cumsum(0).cumsum(1)
    sums: NDArray[np.int64] = total[tall:, wide:] - total[:-tall, wide:] - total[tall:, :-wide] + total[:-tall, :-wide]
    return sums
