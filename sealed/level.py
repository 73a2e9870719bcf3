"""Pictures whose rows are of one colour each: compared on a narrow strip of them, with the same result to the last bit.

    strip = Strip.of(canvas, limit=1440)       # None for a picture that is not level
    strip.picture                              # (1344, 192, 3) instead of (1344, 1472, 3)
    strip.spread(window_sums(luma, 2), 2)      # what the whole picture would have given

What can be drawn without looking (flat pages and strips) is such a picture, and so is an empty starter. Inside a row of
one colour every window of one place in the row sees the same; leaving out whole tiles there, and repeating the column
beside the cut, changes nothing. The edges of the picture, and the paper on the right, stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from sealed.pixels import BLOCK, CELL, TILE, Layers, Picture

__all__ = ["Strip", "level"]

LEAST: Final = 4 * TILE
"""Width from which a cut is worth while, px."""
EVERY: Final = 61
"""Of so many rows one is looked at before all are."""

N = TypeVar("N", bound=np.generic)


@dataclass(frozen=True, slots=True)
class Strip:
    """A level picture, shortened.

    Attributes:
        picture: what is left.
        left_out: how many columns are missing after the first tile, px; a multiple of 64.
    """

    picture: Picture
    left_out: int

    @classmethod
    def of(cls, picture: Picture, limit: int) -> Self | None:
        """The strip of a padded picture.

        Args:
            picture: (h, w, 3), padded.
            limit: columns from here on are not compared with the others: paper may be laid there.
        """
        limit = min(limit, picture.shape[1])
        if limit < LEAST or not level(picture[:, :limit]):
            return None
        left_out = limit // TILE * TILE - 2 * TILE
        return cls(np.concatenate([picture[:, :TILE], picture[:, TILE + left_out :]], axis=1), left_out)

    def spread(self, values: NDArray[N], scale: int) -> NDArray[N]:
        """Values of the strip, one for `scale` px, as the whole picture's."""
        edge, missing = TILE // scale, self.left_out // scale
        between = values[:, edge : edge + 1].repeat(missing, axis=1)
        return np.concatenate([values[:, :edge], between, values[:, edge:]], axis=1)

    def layers(self, whole: Picture) -> Layers:
        """The layers of the whole picture."""
        part = Layers.of(self.picture)
        luma, halves = self.spread(part.luma, 1), self.spread(part.halves, BLOCK // 2)
        return Layers(whole, luma, halves, self.spread(part.cells, CELL))


def level(picture: Picture) -> bool:
    """Whether each row of a picture is of one colour."""
    return not any((rows[:, 1:] != rows[:, :-1]).any() for rows in (picture[::EVERY], picture))
