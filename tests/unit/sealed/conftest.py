"""Pages drawn by arithmetic alone: no font file and no browser, so that their scores are the same on every machine.

A `Page` is a list of boxes, photos and lines of text; `Page.shoot` draws it as the three pictures of a capture, with
the text lines and raster rectangles that a browser would report. A glyph is a pattern of bars taken from a hash.
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sealed.pixels import Shot, TextLine
from sealed.visual import Reference
from store import canonical

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


WORDS = (
    "north",
    "river",
    "table",
    "seven",
    "paper",
    "light",
    "honest",
    "garden",
    "window",
    "market",
    "silver",
    "thread",
)
WORDS += ("copper", "lantern")


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


def variants(page: Page) -> dict[str, Page]:
    """What can go wrong with a page, and what a cheat would hand in."""
    width, height = page.width, page.height
    shot, sheet = page.shoot(), (0, 0, page.width, page.height)
    paper = Page(width, height, page.background)
    faint = tuple(replace(line, colour=page.background) for line in page.lines)
    found = {f"down-{step}": page.moved(0, step) for step in (1, 3, 5, 20, 70)}
    found |= {f"first-{share}": page.above(height * share // 100) for share in (90, 50, 25)}
    return found | {
        "same": page,
        "right-5": page.moved(5, 0),
        "white": Page(width, height, (255, 255, 255)),
        "dominant": paper,
        "tall": replace(page, height=2 * height),
        "short": replace(page, height=height // 2),
        "wide": replace(page, width=width + 200),
        "narrow": replace(page, width=width - 100),
        "no-text": replace(page, lines=()),
        "no-photo": replace(page, photos=()),
        "other-photo": replace(page, photos=tuple((box, seed + 9) for box, seed in page.photos)),
        "text-colour": replace(page, lines=tuple(replace(line, colour=(200, 30, 30)) for line in page.lines)),
        "text-size": replace(page, lines=tuple(replace(line, size=line.size + 4) for line in page.lines)),
        "hue": replace(page, boxes=tuple((box, (c[2], c[0], c[1])) for box, c in page.boxes)),
        "upside-down": replace(
            page,
            boxes=tuple(((x, height - y - h, w, h), c) for (x, y, w, h), c in page.boxes),
            lines=tuple(replace(line, y=height - line.y - line.size) for line in page.lines),
        ),
        "screenshot": replace(paper, pasted=((sheet, shot.full),)),
        "screenshot-under-text": replace(paper, pasted=((sheet, shot.textless),), lines=page.lines),
        "screenshot-under-hidden-text": replace(paper, pasted=((sheet, shot.full),), lines=faint),
        "screenshot-tiled": replace(
            paper,
            pasted=tuple(
                ((x, y, 160, 160), shot.full[y : y + 160, x : x + 160])
                for y in range(0, height, 160)
                for x in range(0, width, 160)
            ),
        ),
        "resisting": replace(page, resist=True),
    }


def png(picture: np.ndarray) -> bytes:
    out = io.BytesIO()
    Image.fromarray(picture).save(out, "PNG", compress_level=1)
    return out.getvalue()


def files_of(page: Page, **fields: Any) -> dict[str, bytes]:
    """A capture of a drawn page as the driver would leave it; `fields` replace fields of `page.json`."""
    shot = page.shoot()
    document = {
        "schema": "rbl/capture/v1",
        "url": "http://localhost/",
        "title": "drawn",
        "width": page.width,
        "height": page.height,
        "lines": [{"t": line.text, "b": [16 * edge for edge in line.box]} for line in page.lines],
        "rasters": [[int(16 * edge) for edge in box] for box in shot.rasters],
        "resist": page.resist,
        "nodes": [],
        "ax": [],
        "console": [],
        "requests": [],
        "storage": {"local": {}, "session": {}},
        "steps": [],
        "images": {"total": len(shot.rasters), "decoded": len(shot.rasters)},
        "unstable": [],
        **fields,
    }
    return {
        "full.png": png(shot.full),
        "nt.png": png(shot.textless),
        "bare.png": png(shot.bare),
        "page.json": canonical.dumps(document),
    }


def node(tag: str, parent: int = -1, text: str = "", **fields: Any) -> dict[str, Any]:
    """An element of a capture, 160 × 32 px at the top left unless said otherwise."""
    return {
        "tag": tag,
        "attrs": {},
        "parent": parent,
        "text": text,
        "box": [0, 0, 2560, 512],
        "visible": True,
        "value": None,
        "checked": None,
        "focused": False,
        **fields,
    }


@pytest.fixture(scope="session")
def studio() -> SimpleNamespace:
    """What tests draw with."""
    return SimpleNamespace(
        Page=Page, Line=Line, landing=landing, variants=variants, files_of=files_of, node=node, png=png, photo=photo
    )


@pytest.fixture(scope="session")
def page() -> Page:
    return landing()


@pytest.fixture(scope="session")
def shot(page: Page) -> Shot:
    return page.shoot()


@pytest.fixture(scope="session")
def reference(shot: Shot) -> Reference:
    return Reference(shot)
