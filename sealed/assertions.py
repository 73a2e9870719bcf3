"""Whether an assertion of the kit holds of a captured state.

    judge(Assertion("total", "home.desktop.yearly", "functional", Locator(testid="total"), "text", value="€ 120"), page)
    → Finding(holds=True, found=1)

    visible           some element that is found is visible
    hidden            no element that is found is visible
    text              some visible one shows exactly this text, white space left out
    value             some one has this form value
    count             so many visible ones are found
    url               path, query and fragment of the page are these
    attribute         some one has the attribute, with this value where one is given
    focused           some one has the focus
    accessible-name   some one has this computed name, white space folded
    storage           the page's origin keeps the key, with this value where one is given
    checked           some one is checked (null or "true"), or not (`"false"`)

The words are Playwright's. Where it would refuse an ambiguous locator, one good element is enough here: a page may say
its prices twice. Only what the capture holds is looked at; no Candidate code runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from cases.kit import Assertion
from sealed.snapshot import Snapshot, compact, folded

__all__ = ["Finding", "judge"]

Found = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """The verdict on one assertion, and how many elements its target found."""

    holds: bool
    found: int


def judge(assertion: Assertion, page: Snapshot) -> Finding:
    """Judge one assertion on one captured state.

    Raises:
        InputError: the assertion's selector cannot be read.
    """
    found = () if assertion.target is None else page.find(assertion.target)
    return Finding(_JUDGES[assertion.expect](assertion, page, found), len(found))


def _seen(page: Snapshot, found: Found) -> list[int]:
    return [index for index in found if page.capture.nodes[index].visible]


def _text(assertion: Assertion, page: Snapshot, found: Found) -> bool:
    wanted = compact(str(assertion.value))
    return any(wanted in page.texts(index) for index in _seen(page, found))


def _value(assertion: Assertion, page: Snapshot, found: Found) -> bool:
    return any(page.capture.nodes[index].value == assertion.value for index in found)


def _attribute(assertion: Assertion, page: Snapshot, found: Found) -> bool:
    name = assertion.attribute or ""
    given = [page.capture.nodes[index].attrs.get(name) for index in found]
    return any(value is not None and assertion.value in {None, value} for value in given)


def _name(assertion: Assertion, page: Snapshot, found: Found) -> bool:
    return any(folded(str(assertion.value)) in page.accessible_names(index) for index in found)


def _checked(assertion: Assertion, page: Snapshot, found: Found) -> bool:
    return any(page.capture.nodes[index].checked is (assertion.value != "false") for index in found)


def _storage(assertion: Assertion, page: Snapshot, _found: Found) -> bool:
    area, _, key = (assertion.attribute or "").partition(":")
    kept = page.capture.storage.local if area == "local" else page.capture.storage.session
    return key in kept and assertion.value in {None, kept[key]}


def _address(url: str) -> str:
    parts = urlsplit(url)
    query = f"?{parts.query}" if parts.query else ""
    return (parts.path or "/") + query + (f"#{parts.fragment}" if parts.fragment else "")


_JUDGES: Final[dict[str, Callable[[Assertion, Snapshot, Found], bool]]] = {
    "visible": lambda _, page, found: bool(_seen(page, found)),
    "hidden": lambda _, page, found: not _seen(page, found),
    "text": _text,
    "value": _value,
    "count": lambda assertion, page, found: len(_seen(page, found)) == assertion.value,
    "url": lambda assertion, page, _: _address(page.capture.url) == assertion.value,
    "attribute": _attribute,
    "focused": lambda _, page, found: any(page.capture.nodes[index].focused for index in found),
    "accessible-name": _name,
    "storage": _storage,
    "checked": _checked,
}
