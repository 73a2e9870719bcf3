"""Where a declared region lies on the reference: a locator resolved on a capture, to a rectangle.

    rect_of(capture, Locator(css="main > section:nth-of-type(2)"))   → Rect(0.0, 512.0, 1440.0, 380.0)

It serves an author who names an element and leaves the rectangle out. Nothing is judged by it: whether the locator
finds that place in a Candidate's page is the evaluator's affair, which checks the reference first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cases.capture import Capture, Rect
from cases.contract import Locator
from store.errors import InputError

__all__ = ["rect_of"]


def rect_of(capture: Capture, locator: Locator) -> Rect | None:
    """Place of the first visible element that a locator finds; null when there is none.

    Raises:
        InputError: the locator is by label, or its selector is not one.
    """
    for index in _matches(capture, locator):
        node = capture.nodes[index]
        if node.visible and node.rect is not None and node.rect.width > 0 and node.rect.height > 0:
            return node.rect
    return None


def _matches(capture: Capture, locator: Locator) -> Iterator[int]:
    wanted = _collapsed(locator.value)
    if locator.role is not None:
        for ax in capture.ax:
            named = locator.name is None or _collapsed(ax.name) == _collapsed(locator.name)
            if not ax.ignored and ax.node >= 0 and ax.role == locator.role and named:
                yield ax.node
    elif locator.text is not None:
        yield from (index for index, node in enumerate(capture.nodes) if _collapsed(node.text) == wanted)
    elif locator.testid is not None:
        yield from (index for index, node in enumerate(capture.nodes) if node.attrs.get("data-testid") == wanted)
    elif locator.css is not None:
        yield from _selected(capture, locator.css)
    else:
        raise InputError(
            "a region cannot be placed by label", fix="give it a rect, or a locator by css, role or testid"
        )


def _selected(capture: Capture, css: str) -> list[int]:
    from cssselect import HTMLTranslator, SelectorError  # noqa: PLC0415 - only where an author used a selector
    from lxml import etree  # noqa: PLC0415

    elements: list[Any] = []
    for node in capture.nodes:
        element = etree.Element(node.tag) if node.parent < 0 else etree.SubElement(elements[node.parent], node.tag)
        for name, value in node.attrs.items():
            if name.isidentifier() or name.replace("-", "").isalnum():
                element.set(name, value)
        elements.append(element)
    try:
        path = HTMLTranslator().css_to_xpath(css)
    except SelectorError as error:
        raise InputError(f"not a selector: {css!r} ({error})", fix="use plain CSS") from error
    places = {element: index for index, element in enumerate(elements)}
    roots = [element for element in elements if element.getparent() is None]
    return sorted(places[found] for root in roots for found in root.xpath(path))


def _collapsed(text: str) -> str:
    return " ".join(text.split())
