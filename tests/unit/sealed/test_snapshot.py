"""Locators find elements of the captured page, and only there."""

from __future__ import annotations

import pytest

from cases.capture import Capture
from cases.contract import Locator
from sealed.snapshot import Snapshot
from store.errors import InputError


@pytest.fixture
def snapshot(studio):
    node = studio.node
    nodes = [
        node("html"),
        node("body", 0),
        node("nav", 1, attrs={"class": "top bar", "id": "menu", "@click": "x", "data-\u0001": "y"}),
        node("a", 2, "Pricing", attrs={"href": "/pricing"}),
        node("a", 2, "  About \n us ", attrs={"href": "/about"}),
        node("main", 1, attrs={"data-testid": "content"}),
        node("h1", 5, "Hello !", box=[160, 160, 1600, 320]),
        node("b", 6, "world", box=[800, 160, 480, 320]),
        node("label", 5, "Your mail", attrs={"for": "mail"}),
        node("input", 5, attrs={"id": "mail", "type": "email"}, value="a@b"),
        node("label", 5, "Agree"),
        node("input", 10, attrs={"type": "checkbox"}, checked=True),
        node("input", 5, attrs={"type": "submit", "value": "Send it"}, value="Send it"),
        node("script", 5, "Pricing", visible=False, box=None),
        node("x:y", 5, "odd", visible=False),
    ]
    ax = [
        {"role": "navigation", "name": "", "value": None, "node": 2, "ignored": False},
        {"role": "link", "name": "Pricing", "value": None, "node": 3, "ignored": False},
        {"role": "link", "name": "About us", "value": None, "node": 4, "ignored": False},
        {"role": "link", "name": "Pricing", "value": None, "node": 6, "ignored": True},
        {"role": "textbox", "name": "Your mail", "value": "a@b", "node": 9, "ignored": False},
        {"role": "image", "name": "Logo", "value": None, "node": 5, "ignored": False},
    ]
    lines = [
        {"t": "Hello ", "b": [160, 160, 600, 320]},
        {"t": "world", "b": [800, 160, 480, 320]},
        {"t": "!", "b": [1300, 160, 100, 320]},
    ]
    files = studio.files_of(studio.Page(64, 64), nodes=nodes, ax=ax, lines=lines)
    return Snapshot(Capture.parse(files["page.json"]))


@pytest.mark.parametrize(
    ("locator", "found"),
    [
        (Locator(role="link"), (3, 4)),
        (Locator(role="link", name="Pricing"), (3,)),
        (Locator(role="link", name="About  us"), (4,)),
        (Locator(role="link", name="pricing"), ()),
        (Locator(role="img"), (5,)),
        (Locator(text="Pricing"), (3,)),
        (Locator(text="About us"), (4,)),
        (Locator(text="Send it"), (12,)),
        (Locator(text="Pric"), ()),
        (Locator(label="Your mail"), (9,)),
        (Locator(label="Agree"), (11,)),
        (Locator(testid="content"), (5,)),
        (Locator(css="nav > a"), (3, 4)),
        (Locator(css="nav a:first-child"), (3,)),
        (Locator(css="#menu.bar"), (2,)),
        (Locator(css="input:checked, h1 b"), (7,)),
        (Locator(css="a[href^='/ab']"), (4,)),
        (Locator(css="NAV"), (2,)),
        (Locator(css=":root"), (0,)),
        (Locator(css="main > h1 + label"), (8,)),
        (Locator(css=".nothing"), ()),
    ],
)
def test_a_locator_finds_what_it_means(snapshot, locator, found):
    assert snapshot.find(locator) == found


def test_a_selector_that_cannot_be_read_is_refused(snapshot):
    with pytest.raises(InputError, match="selector"):
        snapshot.find(Locator(css="a[["))


def test_the_rectangle_is_in_pixels_and_of_one_visible_element_only(snapshot):
    assert snapshot.rectangle(Locator(css="h1")) == (10, 10, 100, 20)
    assert snapshot.rectangle(Locator(role="link")) is None
    assert snapshot.rectangle(Locator(css="script")) is None
    assert snapshot.rectangle(Locator(css=".nothing")) is None


def test_text_is_read_by_the_tree_and_by_its_lines(snapshot):
    assert snapshot.texts(6) == ("Hello!world", "Helloworld!")


def test_names_are_those_of_the_accessibility_tree(snapshot):
    assert snapshot.accessible_names(4) == ("About us",)
    assert snapshot.accessible_names(6) == ()


def test_an_empty_page_finds_nothing(studio):
    empty = Snapshot(Capture.parse(studio.files_of(studio.Page(64, 64))["page.json"]))
    assert empty.find(Locator(css="*")) == ()
    assert empty.find(Locator(role="link")) == ()


def test_a_very_deep_page_is_no_trouble(studio):
    nodes = [studio.node("div", index - 1, "deep" if index == 4999 else "") for index in range(5000)]
    page = Snapshot(Capture.parse(studio.files_of(studio.Page(64, 64), nodes=nodes)["page.json"]))
    assert page.find(Locator(css="div > div:only-child"))[-1] == 4999
    assert "deep" in page.texts(0)
