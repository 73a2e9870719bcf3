"""What a locator finds in a captured page: elements of the snapshot, never of a live page.

    page = Snapshot(capture)
    page.find(Locator(role="button", name="Menu"))      # (17,) indices of capture.nodes, in document order
    page.find(Locator(css="nav > a:first-child"))       # (4,)
    page.rectangle(Locator(testid="hero"))              # (0, 64, 1440, 520) px, or None unless exactly one is visible

The selectors are the case's secret and the page is the Candidate's: looking them up here keeps the one from the other.
Names that an XML tree cannot hold (`@click`, `x:tag`) are left out of the tree; no selector can ask for them. Nothing
is judged here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Final, cast

from cssselect import HTMLTranslator, SelectorError
from lxml import etree

from cases.capture import Capture, Node
from cases.contract import Locator
from sealed.regional import Rect
from store.errors import InputError

__all__ = ["Snapshot", "compact", "folded"]

_XML_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_UNSEEN: Final = frozenset({"head", "title", "script", "style", "noscript", "template", "meta", "link", "base"})
_LABELABLE: Final = frozenset({"button", "input", "meter", "output", "progress", "select", "textarea"})
"""HTML Living Standard, section 4.10.2, categories: labelable elements."""
_BUTTONS: Final = frozenset({"button", "submit", "reset"})
_ROLE_NAMES: Final = {"image": "img", "presentation": "none", "RootWebArea": "document"}
"""Names of the browser's accessibility tree that differ from WAI-ARIA's."""
_FOREIGN: Final = "unnamed"


Element = etree._Element  # noqa: SLF001 - lxml gives the type of its elements no public name


class Snapshot:
    """A captured page, ready to be asked."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture

    def find(self, locator: Locator) -> tuple[int, ...]:
        """Indices of the elements that a locator means, in document order.

        Raises:
            InputError: a CSS selector that cannot be read.
        """
        value = locator.value
        if locator.way == "role":
            return self._by_role(value, locator.name)
        if locator.way == "text":
            return self._by_text(folded(value))
        if locator.way == "label":
            return self._by_label(folded(value))
        if locator.way == "testid":
            return self._where(lambda node: node.attrs.get("data-testid") == value)
        return self._by_css(value)

    def rectangle(self, locator: Locator) -> Rect | None:
        """The rectangle of what a locator means, in whole px; None unless exactly one visible element is meant."""
        seen = [self.capture.nodes[index] for index in self.find(locator) if self.capture.nodes[index].visible]
        place = seen[0].rect if len(seen) == 1 else None
        if place is None:
            return None
        x, y, width, height = (round(edge) for edge in place)
        return (x, y, width, height) if width > 0 and height > 0 else None

    def texts(self, index: int) -> tuple[str, ...]:
        """The visible text of an element, white space left out, in each way that it can be read.

        First by the tree, an element's own text before its children's; then by the lines drawn inside its box, because
        the tree does not say where in an element's own text its children stand.
        """
        inside = [node for node in self._within(index) if self.capture.nodes[node].visible]
        own = "".join(compact(self.capture.nodes[node].text) for node in inside)
        box = self.capture.nodes[index].box
        if box is None:
            return (own,)
        x, y, width, height = box
        drawn = [
            compact(line.text)
            for line in self.capture.lines
            for left, top, across, down in (line.box,)
            if x <= left + across / 2 <= x + width and y <= top + down / 2 <= y + height
        ]
        return own, "".join(drawn)

    def accessible_names(self, index: int) -> tuple[str, ...]:
        """The computed names of an element, white space folded."""
        return tuple(folded(ax.name) for ax in self.capture.ax if ax.node == index and not ax.ignored)

    def _within(self, index: int) -> list[int]:
        """An element and its descendants, in document order."""
        inside = {index}
        for below in range(index + 1, len(self.capture.nodes)):
            if self.capture.nodes[below].parent in inside:
                inside.add(below)
        return sorted(inside)

    def _by_role(self, role: str, name: str | None) -> tuple[int, ...]:
        wanted = None if name is None else folded(name)
        found = {
            ax.node
            for ax in self.capture.ax
            if not ax.ignored and ax.node >= 0 and _ROLE_NAMES.get(ax.role, ax.role) == role
            if wanted is None or folded(ax.name) == wanted
        }
        return tuple(sorted(found))

    def _by_text(self, wanted: str) -> tuple[int, ...]:
        return self._where(lambda node: node.tag not in _UNSEEN and wanted in {folded(node.text), _caption(node)})

    def _by_label(self, wanted: str) -> tuple[int, ...]:
        nodes = self.capture.nodes
        found = {ax.node for ax in self.capture.ax if not ax.ignored and ax.node >= 0 and folded(ax.name) == wanted}
        found = {index for index in found if nodes[index].tag in _LABELABLE or "aria-label" in nodes[index].attrs}
        for index, node in enumerate(nodes):
            if node.tag != "label" or compact(wanted) not in self._label_texts(index):
                continue
            target = node.attrs.get("for")
            if target is None:
                meant = [below for below in self._within(index) if nodes[below].tag in _LABELABLE]
            else:
                meant = [other for other, at in enumerate(nodes) if at.attrs.get("id") == target]
            found.update(meant[:1])
        return tuple(sorted(found))

    def _label_texts(self, index: int) -> tuple[str, ...]:
        own = compact(self.capture.nodes[index].text)
        return own, "".join(compact(self.capture.nodes[node].text) for node in self._within(index))

    def _where(self, holds: Callable[[Node], bool]) -> tuple[int, ...]:
        return tuple(index for index, node in enumerate(self.capture.nodes) if holds(node))

    def _by_css(self, selector: str) -> tuple[int, ...]:
        path = _path(selector)
        roots, places = self._trees
        found = {places[element] for root in roots for element in cast("list[Element]", path(root))}
        return tuple(sorted(found))

    @cached_property
    def _trees(self) -> tuple[list[Element], dict[Element, int]]:
        """The elements as XML trees, one a root, and the index of each element."""
        elements: list[Element] = []
        roots: list[Element] = []
        for node in self.capture.nodes:
            tag = node.tag.lower() if _XML_NAME.fullmatch(node.tag) else _FOREIGN
            element = etree.Element(tag) if node.parent < 0 else etree.SubElement(elements[node.parent], tag)
            for name, value in node.attrs.items():
                if _XML_NAME.fullmatch(name):
                    element.set(name.lower(), _NOT_XML.sub("", value))
            element.text = _NOT_XML.sub("", node.text)
            elements.append(element)
            if node.parent < 0:
                roots.append(element)
        return roots, {element: index for index, element in enumerate(elements)}


@lru_cache(maxsize=1024)
def _path(selector: str) -> etree.XPath:
    try:
        return etree.XPath(HTMLTranslator().css_to_xpath(selector))
    except (SelectorError, etree.XPathError) as error:
        raise InputError(f"not a CSS selector: {selector!r}", fix=f"correct the locator ({error})") from error


def folded(text: str) -> str:
    """Text with its white space folded, in NFC."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def compact(text: str) -> str:
    """Text without its white space, in NFC."""
    return "".join(unicodedata.normalize("NFC", text).split())


def _caption(node: Node) -> str | None:
    """What a button made by `input` shows."""
    if node.tag == "input" and node.attrs.get("type", "").lower() in _BUTTONS:
        return folded(node.attrs.get("value", ""))
    return None
