"""What lies beyond a page: the paper that fills its last tiles, which has no weight.

    paper = Paper(78, 1440, background)          # a header of 78 × 1440 px on tiles of 64 px: 128 × 1472
    picture = paper.under(picture)               # the reference, its paper of the page's own background
    carried, counted = paper.settle(carried, motion, (81, 1440))     # a candidate, on the same paper

Tiles are whole, pages are not. White paper beside a dark page would be its strongest edge, so that beyond a reference
the paper has the reference's own background. Blocks wholly beyond it count only where a candidate drew: what is too
much is seen, what is nobody's is not. A page whose sides are multiples of 64 px has no paper at all. Where a candidate
falls short **inside** the reference it is white, which this module leaves as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sealed.motion import Motion
from sealed.pixels import BLOCK, TILE, Picture, canvas, whole

__all__ = ["Blocks", "Paper"]

Blocks = NDArray[np.bool_]
"""(h/4, w/4): which blocks count."""


@dataclass(frozen=True, slots=True)
class Paper:
    """The paper of one reference.

    Attributes:
        height, width: of the reference itself, px.
        colour: its background, sRGB.
    """

    height: int
    width: int
    colour: NDArray[np.uint8]

    @property
    def size(self) -> tuple[int, int]:
        """Height and width with the paper, px."""
        return whole(self.height), whole(self.width)

    def narrowed(self, columns: int) -> Paper:
        """The paper of the same page with so many columns left out."""
        return replace(self, width=self.width - columns)

    def under(self, picture: Picture) -> Picture:
        """A picture of the reference on its paper."""
        if picture.shape[:2] == self.size:
            return picture
        laid = canvas(picture, *self.size).copy()
        laid[self.height :] = self.colour
        laid[:, self.width :] = self.colour
        return laid

    def own(self) -> Blocks:
        """The blocks in which the reference has at least one pixel."""
        tall, wide = self.size
        blocks = np.zeros((tall // BLOCK, wide // BLOCK), np.bool_)
        blocks[: -(-self.height // BLOCK), : -(-self.width // BLOCK)] = True
        return blocks

    def settle(self, carried: Picture, motion: Motion, drawn: tuple[int, int]) -> tuple[Picture, Blocks]:
        """A candidate's carried tiles on this paper, and the blocks that count.

        Args:
            carried: of the size of the paper.
            motion: where each tile came from.
            drawn: height and width of the candidate itself, px.
        """
        tall, wide = self.size
        counted = self.own()
        if (tall, wide) == (self.height, self.width):
            return carried, counted
        settled = carried.copy()
        side = TILE // BLOCK
        for row, column in np.ndindex(*motion.down.shape):
            top, left = row * TILE, column * TILE
            if top + TILE <= self.height and left + TILE <= self.width:
                continue
            y, x = np.arange(top, top + TILE), np.arange(left, left + TILE)
            beyond = (y >= self.height)[:, None] | (x >= self.width)
            from_y, from_x = y + motion.down[row, column], x + motion.right[row, column]
            seen = ((from_y >= 0) & (from_y < drawn[0]))[:, None] & ((from_x >= 0) & (from_x < drawn[1]))
            settled[top : top + TILE, left : left + TILE][beyond & ~seen] = self.colour
            reached = (beyond & seen).reshape(side, BLOCK, side, BLOCK).any((1, 3))
            counted[row * side : (row + 1) * side, column * side : (column + 1) * side] |= reached
        return settled, counted
