"""What a case is judged by when its author declares nothing: regions and assertions read off the reference's captures.

    regions(capture)               → Region("footer", …, Locator(css="footer"))
    functional(capture, starter)   → Assertion("heading-books-bound-by-hand", …, expect="visible")
    workflow(before, after, …)     → Assertion("home-mobile-menu-link-visit", …): what the steps brought

Everything here is a *proposal*. Whether a proposal holds on the reference, and does not hold on the starter, is for the
evaluator to say; what it refuses is dropped by the one who freezes. Proposals are a function of the captures alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from cases.capture import AxNode, Capture, Node, Rect
from cases.contract import Locator
from cases.kit import Assertion, Judged, Region

__all__ = ["css_of", "functional", "regions", "slug", "workflow"]

MOST_REGIONS: Final = 6
MOST_FUNCTIONAL: Final = 10
MOST_OF_A_STATE: Final = 5

_LANDMARKS: Final = frozenset({"header", "nav", "footer", "aside"})
_ROLES: Final = ("heading", "link", "button", "textbox", "combobox", "checkbox")
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_SMALLEST: Final = 4000
"""Square pixels: what is smaller is a control, not a part of a page."""
_WHOLE: Final = 0.7
"""Share of the page from which an element is the page."""
_OVERLAP: Final = 0.5
"""Share of the smaller of two rectangles from which they are one part."""
_LONGEST_NAME: Final = 80


def regions(capture: Capture, shot: str) -> tuple[Region, ...]:
    """The largest visible parts of a page that do not lie in one another, at most six, from the top down.

    A part has text or a raster in it: one that is only a surface cannot be told from doing nothing.
    """
    page = capture.width * capture.height
    content = [*(line.rect for line in capture.lines if line.text.strip()), *capture.raster_rects]
    found: list[tuple[int, int, Rect]] = []
    for index, node in enumerate(capture.nodes):
        rect = _inside(node.rect, capture) if node.visible and _is_part(capture, node) else None
        if rect is None or not _SMALLEST <= _area(rect) <= _WHOLE * page:
            continue
        if any(_area(item) and _shared(item, rect) >= _OVERLAP for item in content):
            found.append((int(_area(rect)), index, rect))
    chosen: list[tuple[int, Rect]] = []
    for _, index, rect in sorted(found, key=lambda item: (-item[0], item[1])):
        if len(chosen) < MOST_REGIONS and all(_shared(rect, other) < _OVERLAP for _, other in chosen):
            chosen.append((index, rect))
    chosen.sort()
    made = []
    names: Counter[str] = Counter()
    for index, rect in chosen:
        node = capture.nodes[index]
        name = slug(_plain(node.attrs.get("id", "")) or node.tag)
        names[name] += 1
        made.append(
            Region(
                name=name if names[name] == 1 else f"{name}-{names[name]}",
                shot=shot,
                rect=(round(rect.x), round(rect.y), round(rect.width), round(rect.height)),
                locator=Locator(css=css_of(capture, index)),
                weight=1,
            )
        )
    return tuple(made)


def functional(reference: Capture, starter: Capture | None, shot: str) -> tuple[Assertion, ...]:
    """Named headings, links and controls that stand once on the reference and not on the starter; at most ten."""
    known = set() if starter is None else {(ax.role, ax.name) for _, ax in _named(starter)}
    chosen = [item for item in _unique(reference) if item not in known][:MOST_FUNCTIONAL]
    return _visible(chosen, shot, "functional", "")


def workflow(before: Capture, after: Capture, shot: str) -> tuple[Assertion, ...]:
    """What stands once in a state that steps lead to, and not in the initial one; at most five."""
    known = {(ax.role, ax.name) for _, ax in _named(before)}
    chosen = [item for item in _unique(after) if item not in known][:MOST_OF_A_STATE]
    return _visible(chosen, shot, "workflow", shot)


def slug(text: str) -> str:
    """Text as a name that a kit allows: lower-case letters, digits and hyphens, at most 64."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:64].rstrip("-") or "part"


def _visible(chosen: list[tuple[str, str]], shot: str, dimension: Judged, prefix: str) -> tuple[Assertion, ...]:
    made: dict[str, Assertion] = {}
    for role, name in chosen:
        key = slug(f"{prefix} {role} {name}")
        while key in made:
            key = f"{key[:60].rstrip('-')}-{len(made) + 1}"
        made[key] = Assertion(key, shot, dimension, Locator(role=role, name=name), "visible")
    return tuple(made.values())


def css_of(capture: Capture, index: int) -> str:
    """A selector that finds this element alone: by id, by a landmark's tag, or by its place among its siblings."""
    node = capture.nodes[index]
    name = node.attrs.get("id", "")
    if _plain(name) and sum(other.attrs.get("id") == name for other in capture.nodes) == 1:
        return f"#{name}"
    if node.tag in _LANDMARKS and sum(other.tag == node.tag for other in capture.nodes) == 1:
        return node.tag
    if node.parent < 0 or node.tag == "body":
        return node.tag
    nth = sum(other.tag == node.tag and other.parent == node.parent for other in capture.nodes[: index + 1])
    return f"{css_of(capture, node.parent)} > {node.tag}:nth-of-type({nth})"


def _is_part(capture: Capture, node: Node) -> bool:
    if node.tag in {"html", "body", "main"}:
        return False
    if node.tag in _LANDMARKS or node.tag in {"section", "article", "form"}:
        return True
    parent = capture.nodes[node.parent].tag if node.parent >= 0 else ""
    return bool(_plain(node.attrs.get("id", ""))) or parent == "main"


def _plain(name: str) -> str:
    return name if _IDENTIFIER.fullmatch(name) else ""


def _inside(rect: Rect | None, capture: Capture) -> Rect | None:
    """The part of a rectangle that lies on the page, in whole pixels; null when there is none."""
    if rect is None:
        return None
    left, top = max(round(rect.x), 0), max(round(rect.y), 0)
    right = min(round(rect.x + rect.width), capture.width)
    bottom = min(round(rect.y + rect.height), capture.height)
    return Rect(left, top, right - left, bottom - top) if right > left and bottom > top else None


def _area(rect: Rect) -> float:
    return rect.width * rect.height


def _shared(one: Rect, two: Rect) -> float:
    """Shared area over the smaller one's."""
    width = min(one.x + one.width, two.x + two.width) - max(one.x, two.x)
    height = min(one.y + one.height, two.y + two.height) - max(one.y, two.y)
    return max(width, 0) * max(height, 0) / min(_area(one), _area(two))


def _named(capture: Capture) -> Iterator[tuple[int, AxNode]]:
    for index, ax in enumerate(capture.ax):
        visible = ax.node < 0 or capture.nodes[ax.node].visible
        if not ax.ignored and visible and ax.role in _ROLES and 0 < len(ax.name.strip()) <= _LONGEST_NAME:
            yield index, ax


def _unique(capture: Capture) -> list[tuple[str, str]]:
    """Role and name of what stands once, headings first, then in the order of the page."""
    count = Counter((ax.role, ax.name) for _, ax in _named(capture))
    order = [(_ROLES.index(ax.role), index, ax) for index, ax in _named(capture)]
    return [(ax.role, ax.name) for _, _, ax in sorted(order, key=lambda item: item[:2]) if count[ax.role, ax.name] == 1]
