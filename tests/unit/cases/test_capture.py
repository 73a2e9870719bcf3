"""The reader of captures: sixteenths become pixels, and what does not fit together is refused."""

import copy
import struct
import zlib
from typing import Any

import pytest

from cases.capture import Capture, Rect, Sweep, SweepWidth, png_size
from schemas.registry import check
from store import canonical
from store.errors import InputError, SchemaError

NODE: dict[str, Any] = {
    "tag": "html",
    "attrs": {"lang": "en"},
    "parent": -1,
    "text": "",
    "box": [0, 0, 20480, 12800],
    "visible": True,
    "value": None,
    "checked": None,
    "focused": False,
}
VALUE: dict[str, Any] = {
    "schema": "rbl/capture/v1",
    "url": "http://localhost/",
    "title": "Hello",
    "width": 1280,
    "height": 800,
    "lines": [{"t": "Hello", "b": [128, 341, 1192, 592]}],
    "rasters": [[0, 8, 16, 24]],
    "resist": False,
    "nodes": [
        NODE,
        {**NODE, "tag": "input", "parent": 0, "box": None, "visible": False, "value": "a", "checked": True},
    ],
    "ax": [{"role": "heading", "name": "Hello", "value": None, "node": 1, "ignored": False}],
    "console": [{"type": "log", "text": "x"}],
    "requests": [{"url": "http://localhost/", "kind": "document", "method": "GET", "blocked": False}],
    "storage": {"local": {"a": "1"}, "session": {}},
    "steps": [{"do": "click", "ok": False, "error": "no such element"}],
    "images": {"total": 2, "decoded": 1},
    "unstable": ["layout-moved"],
}


def test_page_is_read_back_as_written_and_passes_its_schema() -> None:
    data = canonical.dumps(VALUE)
    page = Capture.parse(data)
    assert page.format() == data
    check("capture", page.to_json())


def test_lengths_are_read_in_pixels() -> None:
    page = Capture.from_json(VALUE)
    assert page.lines[0].text == "Hello"
    assert page.lines[0].rect == Rect(8.0, 21.3125, 74.5, 37.0)
    assert page.raster_rects == (Rect(0.0, 0.5, 1.0, 1.5),)
    assert page.nodes[0].rect == Rect(0.0, 0.0, 1280.0, 800.0)
    assert page.nodes[1].rect is None


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("nodes/0/parent", 0),
        ("nodes/1/parent", 1),
        ("nodes/1/parent", -2),
        ("nodes/0/box", [0, 0, 1]),
        ("nodes/0/attrs", {"a": 1}),
        ("nodes/0/visible", 1),
        ("ax/0/node", 2),
        ("ax/0/ignored", None),
        ("width", 0),
        ("images/total", -1),
        ("lines/0/b", [0, 0, 1, 1.5]),
        ("requests/0/status", 200),
        ("schema", "rbl/capture/v0"),
        ("title", None),
    ],
)
def test_page_that_does_not_fit_together_is_refused(path: str, value: Any) -> None:
    document = copy.deepcopy(VALUE)
    place: Any = document
    *above, last = [int(part) if part.isdigit() else part for part in path.split("/")]
    for part in above:
        place = place[part]
    place[last] = value
    with pytest.raises(SchemaError):
        Capture.from_json(document)


def test_sweep_is_read_back_as_written_and_passes_its_schema() -> None:
    sweep = Sweep((SweepWidth("/", 320, 500), SweepWidth("/", 700, None)))
    assert Sweep.parse(sweep.format()) == sweep
    check("sweep", canonical.loads(sweep.format()))
    with pytest.raises(SchemaError):
        Sweep.parse(b'{"schema":"rbl/sweep/v1","widths":[{"path":"/","scroll_width":-1,"width":1}]}')


def png(width: int, height: int, depth: int = 8, color: int = 2, interlace: int = 0) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlace))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", b"") + chunk(b"IEND", b"")


def test_size_of_a_picture_is_what_its_header_says() -> None:
    assert png_size(png(800, 600)) == (800, 600)
    assert png_size(png(1, 32000, color=6)) == (1, 32000)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GIF89a" + bytes(50),
        png(0, 5),
        png(5, 5, depth=16),
        png(5, 5, color=3),
        png(5, 5, interlace=1),
        png(800, 600)[:-12],
        png(800, 600)[:20],
    ],
    ids=["empty", "gif", "flat", "deep", "palette", "interlaced", "cut", "stub"],
)
def test_what_no_browser_draws_is_no_picture(data: bytes) -> None:
    with pytest.raises(InputError):
        png_size(data)
