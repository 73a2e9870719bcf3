"""Pictures as arrays: decoding, padding to whole tiles, and the coarser layers that the search for moved parts reads.

    Shot(full, textless, bare, lines, rasters, resist)     what a capture gives to the visual score
    Layers.of(canvas(picture, 64 * 15, 64 * 10))           the picture, its luma, block sums and cells

Pictures are uint8 of shape (height, width, 3), sRGB. A picture of another size is padded with white or cut on the
right, **never resized**: a resize makes a 1×1 picture look like any other. All sums are of integers, so that no
order of summation can change them. Nothing is compared here.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from cases.capture import Capture, png_size
from store.errors import InputError

__all__ = [
    "BLOCK",
    "CELL",
    "TILE",
    "WHITE",
    "Ints",
    "Layers",
    "Picture",
    "Shot",
    "TextLine",
    "canvas",
    "decode",
    "dominant",
    "luma_of",
    "whole",
    "window_sums",
]

Picture = NDArray[np.uint8]
Ints = NDArray[np.int32]
Box = tuple[float, float, float, float]
"""x, y, width, height in px."""

BLOCK: Final = 4
"""Side of the block on which pictures are compared, px."""
TILE: Final = 64
"""Side of the tile that is looked for as a whole, px."""
CELL: Final = 16
"""Side of the cell of the coarsest layer, px."""
LARGEST: Final = 4096 * 32_000
"""Most pixels a picture may have: the widest window times the greatest height a plan may ask for."""
WHITE: Final = 255

_LUMA: Final = (77, 150, 29)
"""Weights of red, green and blue in 256ths (ITU-R BT.601, section 2.5.1, rounded)."""


@dataclass(frozen=True, slots=True)
class TextLine:
    """A run of text as the browser laid it out; `box` in px of the page."""

    text: str
    box: Box


@dataclass(frozen=True, slots=True)
class Shot:
    """One capture, as the visual score reads it.

    Attributes:
        full: the page.
        textless: the same with its text hidden.
        bare: with its text and its rasters hidden.
        lines: its text.
        rasters: rectangles of images, canvases, videos and background images.
        resist: a raster stayed visible when it was told to hide.
    """

    full: Picture
    textless: Picture
    bare: Picture
    lines: tuple[TextLine, ...] = ()
    rasters: tuple[Box, ...] = ()
    resist: bool = False

    def __post_init__(self) -> None:
        if not self.full.shape == self.textless.shape == self.bare.shape:
            raise InputError("the three pictures of a capture differ in size", fix="capture the page again")

    @classmethod
    def of(cls, page: Capture, full: bytes, textless: bytes, bare: bytes) -> Self:
        """From the files of a capture.

        Raises:
            InputError: a picture cannot be decoded, or they differ in size.
        """
        return cls(
            full=decode(full),
            textless=decode(textless),
            bare=decode(bare),
            lines=tuple(TextLine(line.text, line.rect) for line in page.lines),
            rasters=page.raster_rects,
            resist=page.resist,
        )


@dataclass(frozen=True, slots=True)
class Layers:
    """A padded picture at four resolutions.

    Attributes:
        picture: (h, w, 3) uint8; h and w are multiples of 64.
        luma: (h, w), 0 to 255.
        halves: (h/2, w/2), a quarter of the luma sum of the 8×8 px around every second pixel.
        cells: (h/16, w/16, 3), mean colour of 16 px cells, 0 to 255.
    """

    picture: Picture
    luma: NDArray[np.int16]
    halves: NDArray[np.int16]
    cells: Ints

    @classmethod
    def of(cls, picture: Picture) -> Self:
        """The layers of a padded picture."""
        height, width = picture.shape[:2]
        luma = luma_of(picture)
        columns = picture.reshape(height // CELL, CELL, width * 3).sum(1, dtype=np.uint16)
        cells = columns.reshape(height // CELL, width // CELL, CELL, 3).sum(2, dtype=np.int32) >> 8
        halves = window_sums(luma, 2) >> 2
        return cls(picture, luma.view(np.int16), halves.astype(np.int16), cells)


def luma_of(picture: Picture) -> NDArray[np.uint16]:
    """Luma of every pixel, 0 to 255."""
    luma = np.zeros(picture.shape[:2], np.uint16)
    for channel, weight in enumerate(_LUMA):
        luma += picture[..., channel] * np.uint16(weight)
    luma >>= 8
    return luma


def decode(png: bytes) -> Picture:
    """The pixels of a PNG, (height, width, 3).

    Raises:
        InputError: it is not an 8-bit RGB or RGBA picture, is cut off, or has more than `LARGEST` pixels.
    """
    width, height = png_size(png)
    if width * height > LARGEST:
        raise InputError(f"a picture of {width} × {height} px is too large to compare")
    try:
        with Image.open(io.BytesIO(png), formats=("PNG",)) as image:
            return np.asarray(image if image.mode == "RGB" else image.convert("RGB"))
    except (OSError, SyntaxError, UnidentifiedImageError, Image.DecompressionBombError) as error:
        raise InputError(f"a PNG that cannot be decoded: {error}") from error


def whole(length: int) -> int:
    """The next multiple of the tile side, px."""
    return -(-length // TILE) * TILE


def canvas(picture: Picture, height: int, width: int) -> Picture:
    """The picture on white paper of this size, top left; what does not fit is cut. Never resized."""
    if picture.shape == (height, width, 3):
        return picture
    paper = np.full((height, width, 3), WHITE, np.uint8)
    part = picture[:height, :width]
    paper[: part.shape[0], : part.shape[1]] = part
    return paper


def window_sums(values: NDArray[np.uint16], step: int) -> Ints:
    """Sums over the 8×8 values around every `step`-th position (2 or 4); edges repeat.

    Position i covers the values from step·i − 2 to step·i + 5, in whole pairs.
    """
    pairs = values[0::2].astype(np.int32) + values[1::2]
    pairs = pairs[:, 0::2] + pairs[:, 1::2]
    stride = step // 2
    for axis in (0, 1):
        count = pairs.shape[axis]
        first, last = pairs.take([0], axis), pairs.take([-1, -1], axis)
        padded = np.concatenate([first, pairs, last], axis)
        steps = [padded[_along(axis, slice(offset, offset + count, stride))] for offset in range(4)]
        pairs = steps[0] + steps[1] + steps[2] + steps[3]
    return pairs


def _along(axis: int, part: slice) -> tuple[slice, ...]:
    return (part,) if axis == 0 else (slice(None), part)


def dominant(picture: Picture) -> NDArray[np.uint8]:
    """The most frequent colour of every second pixel in both directions; the darkest code wins a tie."""
    sample = picture[::2, ::2].astype(np.uint32)
    codes = (sample[..., 0] << 16) | (sample[..., 1] << 8) | sample[..., 2]
    found, counts = np.unique(codes, return_counts=True)
    code = int(found[counts.argmax()])
    return np.array([code >> 16, (code >> 8) & 255, code & 255], np.uint8)
