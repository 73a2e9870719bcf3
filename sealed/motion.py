"""Where each 64 px tile of the reference is found in the candidate.

    found = search(reference, candidate)       # two Layers → Motion(down, right), px per tile
    carried = carry(candidate.picture, found)  # the candidate with every tile taken from where it was found

Three steps, each cheaper than a search at full size: 128 px tiles anywhere on 16 px cells; then 64 px tiles within
16 px of their own place and of the coarse one, on half-size luma sums; then the last pixel on luma. Staying is always
preferred to an equally good move. What a move costs in score is `pay`. Costs are sums of integers, the same in any
order. A tile is left alone as soon as no other place can be cheaper, which changes the time and not the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from sealed.pixels import BLOCK, TILE, WHITE, Ints, Layers, Picture

__all__ = ["Motion", "carry", "pay", "search"]

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

FLOOR: Final = 0.8
"""What a tile far from its place still counts."""
REACH: Final = 150.0
"""Distance over which the rest fades, px."""

HALF: Final = 2
"""Side of a half block, px: the step of the middle search."""
SIDE: Final = TILE // BLOCK
"""Side of a tile, blocks."""
COARSE: Final = 8
"""Side of a coarse tile, cells of 16 px."""
RADIUS: Final = 8
"""Reach of the middle search around a start, half blocks."""
MARGIN: Final = RADIUS + 1
STEP_COST: Final = 200
"""Cost of one half block away from a start; the unit is that of the sums of squares compared with it."""
START_COST: Final = 300
"""Cost of one half block between a start and the tile's own place."""
CELL_COST: Final = 40
"""Cost of one cell in the coarse search."""
FLAT_CELL: Final = 2
FLAT_LUMA: Final = 4
"""A tile that varies by no more than this has nothing to be found by."""
PAPER: Final = WHITE * 16
"""A half block of white paper."""
CHUNK: Final = 64
"""Tiles compared at once: bounds memory, changes nothing."""

_AROUND: Final = ((0, 0), (0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (1, -1), (-1, 1), (-1, -1))
"""The nine places of the last step. The first of equals wins, so staying comes first."""


@dataclass(frozen=True, slots=True)
class Motion:
    """Displacement of each tile, px: positive is down, and right. Both (tiles down, tiles across)."""

    down: Indices
    right: Indices

    @classmethod
    def none(cls, height: int, width: int) -> Self:
        """The tiles of a picture of this size, px, in their places."""
        still = np.zeros((height // TILE, width // TILE), np.int64)
        return cls(still, still)

    @property
    def distance(self) -> Floats:
        """How far each tile moved, px."""
        return np.hypot(self.down, self.right)


def pay(distance: Floats | float) -> Floats:
    """What a displaced thing still counts: 1 in its place, `FLOOR` far away. Distance in px."""
    paid: Floats = FLOOR + (1 - FLOOR) * np.exp(-np.asarray(distance) / REACH)
    return paid


def search(reference: Layers, candidate: Layers) -> Motion:
    """The best place of every tile of the reference in the candidate, to the pixel."""
    height, width = reference.luma.shape
    down, across = height // TILE, width // TILE
    coarse_down, coarse_right = (_per_tile(moves, down, across) for moves in _coarse(reference.cells, candidate.cells))
    rows, columns = np.divmod(np.arange(down * across), across)
    samples = reference.halves[::HALF, ::HALF].astype(np.int32)
    tiles = samples.reshape(down, SIDE, across, SIDE).transpose(0, 2, 1, 3).reshape(-1, SIDE, SIDE)
    paper = np.pad(candidate.halves, MARGIN, constant_values=PAPER)

    moved_down, moved_right, best = _middle(tiles, paper, rows, columns, np.zeros_like(rows), np.zeros_like(rows))
    far = np.flatnonzero(((coarse_down != 0) | (coarse_right != 0)) & (best > 0))
    if far.size:
        again = _middle(tiles[far], paper, rows[far], columns[far], coarse_down[far], coarse_right[far])
        better = again[2] < best[far]
        moved_down[far[better]], moved_right[far[better]] = again[0][better], again[1][better]
    moved_down, moved_right = moved_down * HALF, moved_right * HALF
    _last_pixel(reference.luma, candidate.luma, moved_down, moved_right)
    return Motion(moved_down.reshape(down, across), moved_right.reshape(down, across))


def carry(picture: Picture, motion: Motion) -> Picture:
    """The candidate's picture, of the reference's size, with every tile taken from where it was found.

    What lies outside the candidate is white.
    """
    height, width = motion.down.shape[0] * TILE, motion.down.shape[1] * TILE
    moved = np.argwhere((motion.down != 0) | (motion.right != 0))
    if not len(moved) and picture.shape[0] >= height:
        return picture[:height]
    carried = np.full((height, width, 3), WHITE, np.uint8)
    kept = min(height, picture.shape[0])
    carried[:kept] = picture[:kept]
    for row, column in moved:
        top, left = int(row * TILE + motion.down[row, column]), int(column * TILE + motion.right[row, column])
        part = picture[max(top, 0) : max(top + TILE, 0), max(left, 0) : max(left + TILE, 0)]
        spot = carried[row * TILE : (row + 1) * TILE, column * TILE : (column + 1) * TILE]
        spot[:] = WHITE
        y, x = max(-top, 0), max(-left, 0)
        spot[y : y + part.shape[0], x : x + part.shape[1]] = part
    return carried


def _coarse(reference: Ints, candidate: Ints) -> tuple[Indices, Indices]:
    """For every 128 px tile the best place anywhere in the candidate, in cells, down and right."""
    down, across = reference.shape[0] // COARSE, reference.shape[1] // COARSE
    moved = np.zeros(down * across, np.int64), np.zeros(down * across, np.int64)
    if not down * across or min(candidate.shape[:2]) < COARSE:
        return moved[0].reshape(down, across), moved[1].reshape(down, across)
    windows = np.lib.stride_tricks.sliding_window_view(candidate.astype(np.float32), (COARSE, COARSE), (0, 1))
    places_down, places_across = windows.shape[:2]
    places = np.ascontiguousarray(windows).reshape(places_down * places_across, -1)
    tiles = reference[: down * COARSE, : across * COARSE].astype(np.float32)
    tiles = tiles.reshape(down, COARSE, across, COARSE, 3).transpose(0, 2, 4, 1, 3).reshape(down * across, -1)
    varied = np.ptp(tiles.reshape(down * across, 3, COARSE * COARSE), axis=2).max(1) > FLAT_CELL
    rows, columns = np.divmod(np.arange(down * across), across)
    rows, columns = rows * COARSE, columns * COARSE
    wanted = np.flatnonzero(varied & ~_in_place(tiles, places, rows, columns, (places_down, places_across)))
    squares = (places * places).sum(1)
    place_rows, place_columns = (
        index.astype(np.float32) for index in np.divmod(np.arange(places_down * places_across), places_across)
    )
    for start in range(0, len(wanted), CHUNK):
        some = wanted[start : start + CHUNK]
        # whole numbers of at most 255² · 192 + 10⁶ < 2²⁴: single precision is exact, and BLAS may add in any order
        costs = tiles[some] @ places.T
        costs *= -2
        costs += squares
        for place, own in ((place_rows, rows), (place_columns, columns)):
            away = place - own[some, None].astype(np.float32)
            np.abs(away, out=away)
            away *= CELL_COST
            costs += away
        chosen_down, chosen_right = np.divmod(costs.argmin(1), places_across)
        moved[0][some] = chosen_down - rows[some]
        moved[1][some] = chosen_right - columns[some]
    return moved[0].reshape(down, across), moved[1].reshape(down, across)


def _in_place(
    tiles: Singles, places: Singles, rows: Indices, columns: Indices, shape: tuple[int, int]
) -> NDArray[np.bool_]:
    """Tiles so equal to what lies in their own place that no other place can cost less."""
    inside = (rows < shape[0]) & (columns < shape[1])
    own = np.where(inside, rows * shape[1] + columns, 0)
    difference = tiles - places[own]
    same: NDArray[np.bool_] = inside & ((difference * difference).sum(1) < CELL_COST)
    return same


def _per_tile(moves: Indices, down: int, across: int) -> Indices:
    """Coarse moves in cells → one for each 64 px tile, in half blocks, flat; an odd last row or column copies."""
    if not moves.size:
        return np.zeros(down * across, np.int64)
    spread = moves.repeat(2, 0).repeat(2, 1)
    missing = (0, max(0, down - spread.shape[0])), (0, max(0, across - spread.shape[1]))
    return np.pad(spread, missing, mode="edge")[:down, :across].ravel() * COARSE


def _middle(
    tiles: Ints, paper: NDArray[np.int16], rows: Indices, columns: Indices, start_down: Indices, start_right: Indices
) -> tuple[Indices, Indices, Indices]:
    """The best place of tiles within `RADIUS` of a start: moves from the own place in half blocks, and the cost."""
    moves_down, moves_right = start_down.copy(), start_right.copy()
    best = np.empty(len(tiles), np.int64)
    away = np.hypot(start_down, start_right).astype(np.int64) * START_COST
    tops = np.clip(rows * 2 * SIDE + start_down, -(10**6), paper.shape[0])
    lefts = columns * 2 * SIDE + start_right
    own = _windows(paper, tops + MARGIN, lefts + MARGIN, np.arange(0, 2 * SIDE, 2))
    best[:] = _distance(tiles, own) + away
    # a place that is a step away costs a step more: what costs no more than that stays
    loose = np.flatnonzero(best - away > STEP_COST)
    for start in range(0, len(loose), CHUNK):
        some = loose[start : start + CHUNK]
        windows = _windows(paper, tops[some], lefts[some], np.arange(2 * SIDE + 2 * MARGIN))
        # in a window of one value no step costs less
        varied = np.flatnonzero(windows.max((1, 2)) != windows.min((1, 2)))
        if varied.size:
            some = some[varied]
            best[some], step = _near(tiles[some], windows[varied], away[some])
            moves_down[some] += step[:, 0]
            moves_right[some] += step[:, 1]
    return moves_down, moves_right, best


def _windows(paper: NDArray[np.int16], tops: Indices, lefts: Indices, reach: Indices) -> Ints:
    """What lies at these distances from the top left of each place; white outside the paper."""
    rows, columns = tops[:, None] + reach, lefts[:, None] + reach
    height, width = paper.shape
    found = paper[np.clip(rows, 0, height - 1)[:, :, None], np.clip(columns, 0, width - 1)[:, None, :]]
    inside = ((rows >= 0) & (rows < height))[:, :, None] & ((columns >= 0) & (columns < width))[:, None, :]
    return np.where(inside, found, PAPER).astype(np.int32)


def _near(tiles: Ints, windows: Ints, away: Indices) -> tuple[Indices, Indices]:
    """Cost and step, in half blocks, of the best place in each window: every second one, then all around it."""
    found = np.full(len(tiles), np.iinfo(np.int64).max)
    step = np.zeros((len(tiles), 2), np.int64)
    even = np.ascontiguousarray(windows[:, 1::2, 1::2])
    for y in range(-RADIUS, RADIUS + 1, 2):
        for x in range(-RADIUS, RADIUS + 1, 2):
            top, left = (RADIUS + y) // 2, (RADIUS + x) // 2
            here = _distance(tiles, even[:, top : top + SIDE, left : left + SIDE])
            _keep(found, step, here + away + (abs(y) + abs(x)) * STEP_COST, np.array([y, x]))
    middle, which, grid = step.copy(), np.arange(len(tiles))[:, None, None], np.arange(0, 2 * SIDE, 2)
    for y, x in ((y, x) for y in (-1, 0, 1) for x in (-1, 0, 1) if y or x):
        place = middle + np.array([y, x])
        rows, columns = MARGIN + place[:, 0, None] + grid, MARGIN + place[:, 1, None] + grid
        here = _distance(tiles, windows[which, rows[:, :, None], columns[:, None, :]])
        _keep(found, step, here + away + np.abs(place).sum(1) * STEP_COST, place)
    return found, step


def _distance(tiles: Ints, places: Ints) -> Indices:
    """Sixteenths of squared differences, summed over each tile; at most 2.7e8, which 32 bits hold."""
    difference = tiles - places
    difference *= difference
    difference >>= 4
    total: Ints = difference.reshape(-1, SIDE * SIDE).sum(1, dtype=np.int32)
    return total.astype(np.int64)


def _keep(found: Indices, step: Indices, cost: Indices, place: Indices) -> None:
    better = cost < found
    found[better] = cost[better]
    step[better] = place if place.ndim == 1 else place[better]


def _last_pixel(reference: NDArray[np.int16], candidate: NDArray[np.int16], down: Indices, right: Indices) -> None:
    """Move each tile that has something to be found by to the best of the nine pixels around; changes both arrays."""
    rows, across = reference.shape[0] // TILE, reference.shape[1] // TILE
    tiles = reference.reshape(rows, TILE, across, TILE).transpose(0, 2, 1, 3).reshape(rows * across, TILE, TILE)
    busy = np.flatnonzero(tiles.max((1, 2)) - tiles.min((1, 2)) > FLAT_LUMA)
    reach = np.arange(-1, TILE + 1)
    for start in range(0, len(busy), CHUNK):
        some = busy[start : start + CHUNK]
        y = np.clip((some // across * TILE + down[some])[:, None] + reach, 0, candidate.shape[0] - 1)
        x = np.clip((some % across * TILE + right[some])[:, None] + reach, 0, candidate.shape[1] - 1)
        places = candidate[y[:, :, None], x[:, None, :]]
        # where all is one value, or already equal, no step costs less
        varied = places.max((1, 2)) != places.min((1, 2))
        inexact = np.flatnonzero(varied & (places[:, 1:-1, 1:-1] != tiles[some]).any((1, 2)))
        some, places = some[inexact], places[inexact]
        costs = np.stack([_squares(tiles[some], places, dy, dx) for dy, dx in _AROUND])
        step = np.array(_AROUND)[costs.argmin(0)]
        down[some] += step[:, 0]
        right[some] += step[:, 1]


def _squares(tiles: NDArray[np.int16], places: NDArray[np.int16], down: int, right: int) -> Ints:
    """Squared differences of luma, summed over each tile; at most 2.7e8."""
    difference = tiles - places[:, 1 + down : 1 + down + TILE, 1 + right : 1 + right + TILE]
    wide = difference.astype(np.int32)
    wide *= wide
    total: Ints = wide.reshape(-1, TILE * TILE).sum(1, dtype=np.int32)
    return total
