"""Colour as people see it: OKLab of block means of linear light, in whole 4096ths.

    lab_of(picture)         (h, w, 3) uint8 → (h/4, w/4, 3) int32, lightness and two opponent colours × 4096
    lab_of_colour((255, 255, 255))   → [4096, 0, 0]

OKLab: Björn Ottosson, "A perceptual color space for image processing" (2020); the sRGB curve: IEC 61966-2-1. Each sum
is written out, because a matrix product by BLAS may differ between machines in its last bit; rounding to 1/4096 then
leaves the same integers everywhere. It says nothing about which difference matters.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from sealed.pixels import Ints, Picture, window_sums

__all__ = ["UNIT", "lab_of", "lab_of_colour", "oklab", "to_linear"]

UNIT: Final = 4096
"""Parts of OKLab's unit."""

FULL_LIGHT: Final = 65535
KNEE: Final = 0.04045
"""Where the sRGB curve stops being straight."""

Floats = NDArray[np.float64]

_CONE: Final = (
    (0.4122214708, 0.5363325363, 0.0514459929),
    (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
)
_OPPONENT: Final = (
    (0.2104542553, 0.7936177850, -0.0040720468),
    (1.9779984951, -2.4285922050, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.8086757660),
)


def _linear_table() -> NDArray[np.uint16]:
    code = np.arange(256) / 255.0
    light = np.where(code <= KNEE, code / 12.92, ((code + 0.055) / 1.055) ** 2.4)
    table: NDArray[np.uint16] = np.rint(light * FULL_LIGHT).astype(np.uint16)
    return table


_LINEAR: Final = _linear_table()


def to_linear(colours: NDArray[np.integer]) -> NDArray[np.uint16]:
    """Linear light of sRGB codes, 0 to 65535."""
    light: NDArray[np.uint16] = _LINEAR[colours]
    return light


def oklab(light: Floats) -> Floats:
    """OKLab of linear light; (…, 3), 0 to 1."""
    red, green, blue = light[..., 0], light[..., 1], light[..., 2]
    cones = [np.cbrt(row[0] * red + row[1] * green + row[2] * blue) for row in _CONE]
    return np.stack([row[0] * cones[0] + row[1] * cones[1] + row[2] * cones[2] for row in _OPPONENT], -1)


def lab_of(picture: Picture) -> Ints:
    """OKLab × 4096 of the 8×8 px around every 4 px block, (h/4, w/4, 3)."""
    sums = [window_sums(_LINEAR[picture[..., channel]], 4) for channel in range(3)]
    light = np.stack(sums, -1) / (64.0 * FULL_LIGHT)
    return np.rint(oklab(light) * UNIT).astype(np.int32)


def lab_of_colour(colour: NDArray[np.uint8]) -> Ints:
    """OKLab × 4096 of one colour, (3,)."""
    return np.rint(oklab(_LINEAR[colour] / float(FULL_LIGHT)) * UNIT).astype(np.int32)
