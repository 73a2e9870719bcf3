"""Captures written by hand: a page as a list of elements."""

from __future__ import annotations

import pytest

from cases.capture import AxNode, Capture, Images, Line, Node, Storage


def element(tag, parent, box=None, *, attrs=None, text="", visible=True):
    sixteenths = None if box is None else tuple(edge * 16 for edge in box)
    return Node(tag, attrs or {}, parent, text, sixteenths, visible and box is not None, None, None, False)


def make(nodes, ax=(), lines=(), **changes):
    fields = {
        "url": "http://localhost/",
        "title": "t",
        "width": 1000,
        "height": 1000,
        "lines": tuple(Line(text, tuple(edge * 16 for edge in box)) for text, box in lines),
        "rasters": (),
        "resist": False,
        "nodes": tuple(nodes),
        "ax": tuple(AxNode(role, name, None, node, False) for role, name, node in ax),
        "console": (),
        "requests": (),
        "storage": Storage({}, {}),
        "steps": (),
        "images": Images(0, 0),
        "unstable": (),
    }
    return Capture(**{**fields, **changes})


@pytest.fixture
def page():
    """A header, a main with two sections, a footer; some text in each but the last section."""
    nodes = [
        element("html", -1, (0, 0, 1000, 1000)),
        element("body", 0, (0, 0, 1000, 1000)),
        element("header", 1, (0, 0, 1000, 80)),
        element("a", 2, (10, 10, 100, 30), text="Shop"),
        element("main", 1, (0, 80, 1000, 820)),
        element("section", 4, (0, 80, 1000, 400), attrs={"id": "Hero"}),
        element("h1", 5, (10, 100, 500, 60), text="Welcome"),
        element("section", 4, (0, 480, 1000, 300)),
        element("section", 4, (0, 780, 1000, 120)),
        element("p", 8, (10, 790, 500, 30), text="words"),
        element("footer", 1, (0, 900, 1000, 100)),
    ]
    return make(
        nodes,
        ax=[("heading", "Welcome", 6), ("link", "Shop", 3), ("link", "Twice", 3), ("link", "Twice", 3)],
        lines=[
            ("Shop", (10, 10, 100, 30)),
            ("Welcome", (10, 100, 500, 60)),
            ("words", (10, 790, 500, 30)),
            ("foot", (10, 910, 80, 20)),
        ],
    )


@pytest.fixture
def draw():
    """Makes captures from elements."""
    return make
