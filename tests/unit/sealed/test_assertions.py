"""Each word of the vocabulary passes where it should, and fails where it should."""

from __future__ import annotations

import pytest

from cases.capture import Capture
from cases.contract import Locator
from cases.kit import Assertion
from sealed.assertions import judge
from sealed.snapshot import Snapshot

CSS = lambda selector: Locator(css=selector)  # noqa: E731 - a short name for a table


@pytest.fixture(scope="module")
def snapshot(studio):
    node = studio.node
    nodes = [
        node("html"),
        node("p", 0, "Total € 120", attrs={"class": "total", "title": "sum"}),
        node("p", 0, "Hidden words", visible=False, attrs={"class": "gone", "hidden": ""}),
        node("li", 0, "one"),
        node("li", 0, "two"),
        node("li", 0, "three", visible=False),
        node("input", 0, attrs={"id": "mail"}, value="a@b", focused=True),
        node("input", 0, attrs={"id": "yes", "type": "checkbox"}, checked=True, value="on"),
        node("input", 0, attrs={"id": "no", "type": "checkbox"}, checked=False, value="on"),
        node("svg", 0, attrs={"viewBox": "0 0 9 9"}),
    ]
    ax = [{"role": "textbox", "name": "Your  mail", "value": "a@b", "node": 6, "ignored": False}]
    files = studio.files_of(
        studio.Page(64, 64),
        nodes=nodes,
        ax=ax,
        url="http://localhost/plans?by=year#total",
        storage={"local": {"billing": "yearly"}, "session": {"seen": "1"}},
    )
    return Snapshot(Capture.parse(files["page.json"]))


CASES = [
    ("visible", CSS(".total"), None, None, True),
    ("visible", CSS(".gone"), None, None, False),
    ("visible", CSS(".absent"), None, None, False),
    ("hidden", CSS(".gone"), None, None, True),
    ("hidden", CSS(".absent"), None, None, True),
    ("hidden", CSS(".total"), None, None, False),
    ("text", CSS(".total"), None, "Total  €120", True),
    ("text", CSS(".total"), None, "Total € 12", False),
    ("text", CSS(".gone"), None, "Hidden words", False),
    ("value", CSS("#mail"), None, "a@b", True),
    ("value", CSS("#mail"), None, "A@b", False),
    ("value", CSS(".total"), None, "", False),
    ("count", CSS("li"), None, 2, True),
    ("count", CSS("li"), None, 3, False),
    ("count", CSS(".absent"), None, 0, True),
    ("url", None, None, "/plans?by=year#total", True),
    ("url", None, None, "/plans", False),
    ("attribute", CSS(".total"), "title", "sum", True),
    ("attribute", CSS(".total"), "title", None, True),
    ("attribute", CSS("svg"), "viewBox", "0 0 9 9", True),
    ("attribute", CSS(".total"), "title", "other", False),
    ("attribute", CSS(".total"), "href", None, False),
    ("focused", CSS("#mail"), None, None, True),
    ("focused", CSS("#yes"), None, None, False),
    ("accessible-name", CSS("#mail"), None, "Your mail", True),
    ("accessible-name", CSS("#mail"), None, "Your", False),
    ("storage", None, "local:billing", "yearly", True),
    ("storage", None, "local:billing", None, True),
    ("storage", None, "session:seen", "1", True),
    ("storage", None, "session:billing", None, False),
    ("storage", None, "local:billing", "monthly", False),
    ("checked", CSS("#yes"), None, None, True),
    ("checked", CSS("#yes"), None, "false", False),
    ("checked", CSS("#no"), None, "false", True),
    ("checked", CSS("#no"), None, "true", False),
    ("checked", CSS(".total"), None, "false", False),
]


@pytest.mark.parametrize(("expect", "target", "attribute", "value", "holds"), CASES)
def test_assertions_hold_exactly_when_they_should(snapshot, expect, target, attribute, value, holds):
    assertion = Assertion("a", "home.desktop.initial", "functional", target, expect, attribute, value)
    assert judge(assertion, snapshot).holds is holds


def test_the_table_has_a_pass_and_a_failure_for_every_word():
    assert len({(row[0], row[-1]) for row in CASES}) == 22


def test_the_finding_says_how_many_were_found(snapshot):
    assert judge(Assertion("a", "home.desktop.initial", "functional", CSS("li"), "visible"), snapshot).found == 3
