"""Pages drawn by arithmetic alone: no font file and no browser, so that their scores are the same on every machine.

A `Page` is a list of boxes, photos and lines of text; `Page.shoot` draws it as the three pictures of a capture, with the
text lines and raster rectangles that a browser would report. A glyph is a pattern of bars taken from a hash.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from sealed.pixels import Shot, TextLine

Colour = tuple[int, int, int]
Box = tuple[int, int, int, int]


@dataclass(frozen=True)
class Line:
    x: int
    y: int
    text: str
    size: int = 16
    colour: Colour = (20, 20, 30)

    @property
    def box(self) -> Box:
        return self.x, self.y, len(self.text) * self.advance, self.size

    @property
    def advance(self) -> int:
        return max(2, self.size * 5 // 8)


@dataclass(frozen=True)
class Page:
    width: int = 640
    height: int = 960
    background: Colour = (250, 250, 252)
    boxes: tuple[tuple[Box, Colour], ...] = ()
    photos: tuple[tuple[Box, int], ...] = ()
    lines: tuple[Line, ...] = ()
    pasted: tuple[tuple[Box, np.ndarray], ...] = field(default=())
    resist: bool = False

    def shoot(self) -> Shot:
        bare = np.full((self.height, self.width, 3), self.background, np.uint8)
        for (x, y, w, h), colour in self.boxes:
            bare[y : y + h, x : x + w] = colour
        untexted = bare.copy()
        for (x, y, w, h), seed in self.photos:
            untexted[y : y + h, x : x + w] = photo(w, h, seed)[: max(0, self.height - y), : max(0, self.width - x)]
        for (x, y, w, h), picture in self.pasted:
            untexted[y : y + h, x : x + w] = picture[: max(0, self.height - y), : max(0, self.width - x)]
        full = untexted.copy()
        for line in self.lines:
            draw(full, line)
        rasters = tuple(tuple(float(v) for v in box) for box, _ in (*self.photos, *self.pasted))
        texts = tuple(TextLine(line.text, tuple(float(v) for v in line.box)) for line in self.lines)
        return Shot(full, untexted, bare, texts, rasters, self.resist)

    def moved(self, dx: int, dy: int) -> Page:
        """Everything shifted; the background stays."""
        return replace(
            self,
            height=self.height + dy,
            boxes=tuple(((x + dx, y + dy, w, h), c) for (x, y, w, h), c in self.boxes),
            photos=tuple(((x + dx, y + dy, w, h), s) for (x, y, w, h), s in self.photos),
            lines=tuple(replace(line, x=line.x + dx, y=line.y + dy) for line in self.lines),
        )

    def above(self, limit: int) -> Page:
        """What begins above a line of the page; the rest is missing."""
        return replace(
            self,
            boxes=tuple(item for item in self.boxes if item[0][1] < limit),
            photos=tuple(item for item in self.photos if item[0][1] < limit),
            lines=tuple(line for line in self.lines if line.y < limit),
        )


def photo(width: int, height: int, seed: int) -> np.ndarray:
    """A smooth picture with structure, in integers only."""
    y, x = np.mgrid[0:height, 0:width].astype(np.int64)
    red = (x * (3 + seed) + y * 2) % 256
    green = ((x - width // 2) ** 2 + (y - height // 2) ** 2) // (8 + seed) % 256
    blue = (x * y // 64 + 40 * seed) % 256
    return np.stack([red, green, blue], -1).astype(np.uint8)


def glyph(letter: str) -> np.ndarray:
    """Eight by five cells that are inked or not."""
    bits = np.unpackbits(np.frombuffer(hashlib.sha256(letter.encode()).digest()[:5], np.uint8))
    return bits.reshape(8, 5).astype(bool)


def draw(picture: np.ndarray, line: Line) -> None:
    height, width = picture.shape[:2]
    rows = np.arange(line.size) * 8 // line.size
    columns = np.arange(line.advance - 1) * 5 // max(1, line.advance - 1)
    for index, letter in enumerate(line.text):
        if letter == " ":
            continue
        inked = glyph(letter)[rows][:, columns]
        left = line.x + index * line.advance
        spot = picture[max(line.y, 0) : line.y + line.size, max(left, 0) : left + line.advance - 1]
        spot[inked[: spot.shape[0], : spot.shape[1]]] = line.colour
        if line.y >= height or left >= width:
            break


WORDS = "north river table seven paper light honest garden window market silver thread copper lantern".split()


def sentence(start: int, count: int) -> str:
    return " ".join(WORDS[(start * 5 + index * 3) % len(WORDS)] for index in range(count))


def landing(width: int = 640, height: int = 960) -> Page:
    """A page with a dark head, a photo beside text, three cards and a foot."""
    third = (width - 80) // 3
    boxes: list[tuple[Box, Colour]] = [((0, 0, width, 64), (24, 32, 72))]
    photos: list[tuple[Box, int]] = [((width // 2, 96, width // 2 - 32, 192), 3)]
    lines = [Line(24, 24, "lantern market", 20, (255, 255, 255)), Line(32, 110, "north river table", 26)]
    lines += [Line(32, 150 + 26 * row, sentence(row, 4), 14) for row in range(5)]
    tints: tuple[Colour, ...] = ((222, 236, 255), (255, 232, 214), (220, 246, 224))
    top, row = 320, 0
    while top + 200 < height:
        for column, tint in enumerate(tints):
            left = 20 + column * (third + 20)
            boxes.append(((left, top, third, 176), tint))
            boxes.append(((left + 16, top + 136, 88, 28), (200 - 60 * column, 40 + 50 * column, 90)))
            lines.append(Line(left + 16, top + 16, sentence(7 + column + row, 2), 16, (60, 20, 110)))
            lines += [Line(left + 16, top + 44 + 20 * n, sentence(n + column + row, 2), 12) for n in range(3)]
        top, row = top + 200, row + 1
    boxes.append(((0, height - 48, width, 48), (40, 44, 52)))
    lines.append(Line(24, height - 34, "copper thread seven", 14, (230, 230, 230)))
    return Page(width, height, boxes=tuple(boxes), photos=tuple(photos), lines=tuple(lines))


@pytest.fixture(scope="session")
def page() -> Page:
    return landing()
