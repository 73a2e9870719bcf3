"""What one (route, viewport, state) looked like: the tree that the render driver makes of a shot, as types.

    full.png    the page
    nt.png      the same with its text hidden
    bare.png    the same with text and rasters hidden
    page.json   {"ax":[{"ignored":false,"name":"Hello","node":3,"role":"heading","value":null}],
                 "console":[],"height":812,"images":{"decoded":1,"total":1},
                 "lines":[{"b":[128,341,1192,592],"t":"Hello"}],
                 "nodes":[{"attrs":{},"box":[0,0,20480,12992],"checked":null,"focused":false,"parent":-1,"tag":"html",
                           "text":"","value":null,"visible":true}],
                 "rasters":[],"requests":[],"resist":false,"schema":"rbl/capture/v1","steps":[],
                 "storage":{"local":{},"session":{}},"title":"Hello","unstable":[],
                 "url":"http://localhost/","width":1280}

Lengths in `b`, `box` and `rasters` are sixteenths of a CSS pixel, whole numbers, from the page's top left corner;
`.rect` and `raster_rects` divide them. `width` and `height` are the pictures' size in pixels. Nodes are elements in
document order, so a parent's index is below its children's. All of it came out of a container that ran Candidate code:
shapes and indices are checked here, the truth of it rests on the browser's sandbox. No picture is decoded here.
"""

from __future__ import annotations

import struct
from typing import Annotated, Final, NamedTuple, Self

from msgspec import Meta, field

from cases.contract import Part, read, without_schema, write
from store import canonical
from store.canonical import Json
from store.errors import InputError

__all__ = [
    "BARE",
    "FILES",
    "FULL",
    "PAGE",
    "SCHEMA",
    "SWEEP_SCHEMA",
    "TEXTLESS",
    "AxNode",
    "Capture",
    "ConsoleLine",
    "Images",
    "Line",
    "Node",
    "Rect",
    "Request",
    "StepResult",
    "Storage",
    "Sweep",
    "SweepWidth",
    "png_size",
]

SCHEMA: Final = "rbl/capture/v1"
SWEEP_SCHEMA: Final = "rbl/sweep/v1"

FULL: Final = "full.png"
TEXTLESS: Final = "nt.png"
BARE: Final = "bare.png"
PAGE: Final = "page.json"
FILES: Final = (FULL, TEXTLESS, BARE, PAGE)

UNIT: Final = 16
"""Lengths are written in sixteenths of a CSS pixel: Chromium lays out in 64ths, and integers are canonical."""

Box = tuple[int, int, int, int]
Text = Annotated[str, Meta(max_length=200_000)]
Count = Annotated[int, Meta(ge=0)]


class Rect(NamedTuple):
    """A rectangle on the page in CSS pixels."""

    x: float
    y: float
    width: float
    height: float


def _rect(box: Box) -> Rect:
    return Rect(*(edge / UNIT for edge in box))


class _Whole(Part, frozen=True, omit_defaults=False):
    """A part whose fields are all written, the empty ones too."""


class Line(_Whole, frozen=True):
    """A run of text on one line, with its box in sixteenths."""

    text: Text = field(name="t")
    box: Box = field(name="b")

    @property
    def rect(self) -> Rect:
        """Its place in CSS pixels."""
        return _rect(self.box)


class Node(_Whole, frozen=True):
    """An element.

    Attributes:
        tag: lower-case local name.
        attrs: attributes as written in the document.
        parent: index of its parent element; -1 for the root.
        text: its own text, children's left out, white space collapsed.
        box: bounding box in sixteenths; null when nothing is laid out.
        visible: laid out, not `visibility: hidden`, not `opacity: 0` in itself or above it, of some area.
        value: current value of a form control; null on other elements.
        checked: state of a checkbox, radio button or option; null on others.
        focused: it is the active element.
    """

    tag: str
    attrs: dict[str, Text]
    parent: Annotated[int, Meta(ge=-1)]
    text: Text
    box: Box | None
    visible: bool
    value: Text | None
    checked: bool | None
    focused: bool

    @property
    def rect(self) -> Rect | None:
        """Its place in CSS pixels; null when nothing is laid out."""
        return None if self.box is None else _rect(self.box)


class AxNode(_Whole, frozen=True):
    """A node of the accessibility tree. `node` is the index of its element, -1 when it has none of its own."""

    role: str
    name: Text
    value: Text | None
    node: Annotated[int, Meta(ge=-1)]
    ignored: bool


class ConsoleLine(_Whole, frozen=True):
    """A message of the page; an uncaught exception has type `exception`, a dismissed dialog `dialog`."""

    type: str
    text: Text


class Request(_Whole, frozen=True):
    """A request of the page, in the order they began. `blocked`: it went off the site's origin and was stopped."""

    url: Text
    kind: str
    method: str
    blocked: bool


class Storage(_Whole, frozen=True):
    """What the page's origin kept. Characters outside printable ASCII are percent-encoded in keys."""

    local: dict[str, Text]
    session: dict[str, Text]


class StepResult(_Whole, frozen=True):
    """How a step went. After a step that failed none is tried."""

    do: str
    ok: bool
    error: Text | None


class Images(_Whole, frozen=True):
    """How many images the document has, and how many of them were decoded: a lazy one left out shows here."""

    total: Count
    decoded: Count


class Capture(_Whole, frozen=True):
    """`page.json` as types.

    Attributes:
        url: address at the time of the pictures, its port left out.
        width, height: size of all three pictures in pixels.
        rasters: boxes of images, canvases, videos, background images and SVG images, in sixteenths.
        resist: a raster stayed visible when it was hidden.
        unstable: what moved while the page was looked at: codes, empty when nothing did.
    """

    url: Text
    title: Text
    width: Annotated[int, Meta(ge=1)]
    height: Annotated[int, Meta(ge=1)]
    lines: tuple[Line, ...]
    rasters: tuple[Box, ...]
    resist: bool
    nodes: tuple[Node, ...]
    ax: tuple[AxNode, ...]
    console: tuple[ConsoleLine, ...]
    requests: tuple[Request, ...]
    storage: Storage
    steps: tuple[StepResult, ...]
    images: Images
    unstable: tuple[str, ...]

    def __post_init__(self) -> None:
        for index, node in enumerate(self.nodes):
            if node.parent >= index:
                raise ValueError(f"node {index} stands before its parent {node.parent}")
        for index, ax in enumerate(self.ax):
            if ax.node >= len(self.nodes):
                raise ValueError(f"accessibility node {index} names element {ax.node}, which is not there")

    @property
    def raster_rects(self) -> tuple[Rect, ...]:
        """Places of the rasters in CSS pixels."""
        return tuple(_rect(box) for box in self.rasters)

    @classmethod
    def from_json(cls, value: Json) -> Self:
        """Read the JSON value of a page.

        Raises:
            SchemaError: it has another shape, or an index that refers to nothing.
        """
        return read(cls, without_schema(value, SCHEMA, "capture"), "capture")

    def to_json(self) -> Json:
        """Its JSON value."""
        return {"schema": SCHEMA, **write(self)}

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Read `page.json`.

        Raises:
            CanonicalError: not canonical JSON.
            SchemaError: it has another shape, or an index that refers to nothing.
        """
        return cls.from_json(canonical.loads(data))

    def format(self) -> bytes:
        """The one canonical form."""
        return canonical.dumps(self.to_json())


class SweepWidth(_Whole, frozen=True):
    """How wide a path's content was at a window of this width, in CSS pixels; null when it could not be measured."""

    path: str
    width: Annotated[int, Meta(ge=1)]
    scroll_width: Annotated[int, Meta(ge=0)] | None


class Sweep(_Whole, frozen=True):
    """`sweep.json`: horizontal overflow at the plan's widths."""

    widths: tuple[SweepWidth, ...]

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Read `sweep.json`.

        Raises:
            CanonicalError: not canonical JSON.
            SchemaError: it has another shape.
        """
        return read(cls, without_schema(canonical.loads(data), SWEEP_SCHEMA, "sweep"), "sweep")

    def format(self) -> bytes:
        """The one canonical form."""
        return canonical.dumps({"schema": SWEEP_SCHEMA, **write(self)})


def png_size(data: bytes) -> tuple[int, int]:
    """Width and height that a PNG's header claims (PNG, third edition, section 11.2.1).

    Only 8-bit RGB and RGBA without interlace pass, which is what a browser's picture is.

    Raises:
        InputError: it does not begin as such a picture.
    """
    header = struct.Struct(">8sI4sIIBBBBB")
    if len(data) < header.size:
        raise InputError("not a PNG: it is too short")
    magic, length, kind, width, height, depth, color, method, filters, interlace = header.unpack_from(data)
    if magic != b"\x89PNG\r\n\x1a\n" or length != 13 or kind != b"IHDR":  # noqa: PLR2004 - IHDR has 13 bytes
        raise InputError("not a PNG: the header is another")
    if depth != 8 or color not in {2, 6} or method or filters or interlace:  # noqa: PLR2004 - bits, RGB and RGBA
        raise InputError("not a picture of a browser: 8-bit RGB or RGBA without interlace is expected")
    if not width or not height:
        raise InputError("a picture without area")
    if b"IEND" not in data[-12:]:
        raise InputError("a PNG that is cut off")
    return width, height
