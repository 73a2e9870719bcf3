"""Regions placed by a locator."""

from __future__ import annotations

import pytest

from cases.contract import Locator
from cases.reconstruct.find import rect_of
from store.errors import InputError


@pytest.mark.parametrize(
    ("locator", "rect"),
    [
        (Locator(css="#Hero"), (0, 80, 1000, 400)),
        (Locator(css="main > section:nth-of-type(2)"), (0, 480, 1000, 300)),
        (Locator(css="nav"), None),
        (Locator(role="heading"), (10, 100, 500, 60)),
        (Locator(role="link", name=" Shop "), (10, 10, 100, 30)),
        (Locator(role="link", name="Shoes"), None),
        (Locator(text="Welcome"), (10, 100, 500, 60)),
        (Locator(testid="none"), None),
    ],
)
def test_a_locator_gives_the_place_of_what_it_finds(page, locator, rect):
    assert rect_of(page, locator) == rect


def test_a_selector_that_is_none_is_refused(page):
    with pytest.raises(InputError, match="selector"):
        rect_of(page, Locator(css="main >"))


def test_a_label_places_no_region(page):
    with pytest.raises(InputError, match="label"):
        rect_of(page, Locator(label="Name"))
