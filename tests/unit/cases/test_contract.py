"""The contract's format: what is written is read back, and nothing else is."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases.contract import BuildRecipe, Contract, Locator, MainShot, Route, State, Step, Viewport
from schemas.registry import check
from store import canonical
from store.errors import CanonicalError, SchemaError

VALUE: dict[str, Any] = {
    "schema": "rbl/contract/v1",
    "routes": [{"name": "home", "path": "/"}, {"name": "menu", "path": "/menu/?a=b#top"}],
    "viewports": [{"name": "desktop", "width": 1280, "height": 800}, {"name": "phone", "width": 360, "height": 740}],
    "states": [
        {"name": "initial", "route": "home", "steps": []},
        {"name": "initial", "route": "menu", "steps": []},
        {
            "name": "open",
            "route": "home",
            "steps": [
                {"do": "click", "target": {"role": "button", "name": "Menu"}},
                {"do": "press", "value": "Escape"},
                {"do": "resize", "value": "800x600"},
                {"do": "scroll", "value": "0"},
                {"do": "reload"},
            ],
            "viewports": ["phone"],
        },
    ],
    "main": {"route": "home", "viewport": "desktop", "state": "initial"},
    "sweep": [320, 1280],
    "build": {"argv": ["npm", "run", "build"], "output": "dist"},
}


def changed(path: str, value: Any) -> dict[str, Any]:
    """The value with one place of it changed; `...` takes it away."""
    document = copy.deepcopy(VALUE)
    place: Any = document
    *above, last = [int(part) if part.isdigit() else part for part in path.split("/")]
    for part in above:
        place = place[part]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return document


def test_contract_is_read_back_as_written() -> None:
    data = canonical.dumps(VALUE)
    contract = Contract.parse(data)
    assert contract.format() == data
    assert contract.states[2].steps[0] == Step("click", Locator(role="button", name="Menu"))
    check("contract", contract.to_json())


def test_matrix_has_every_viewport_unless_a_state_names_its_own() -> None:
    assert [shot.id for shot, _, _, _ in Contract.from_json(VALUE).matrix()] == [
        "home.desktop.initial",
        "home.phone.initial",
        "menu.desktop.initial",
        "menu.phone.initial",
        "home.phone.open",
    ]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("schema", "rbl/contract/v2"),
        ("extra", 1),
        ("routes", []),
        ("routes/0/path", "//example.com"),
        ("routes/0/path", "/../x"),
        ("routes/0/path", "http://example.com/"),
        ("routes/0/path", "/a\\b"),
        ("routes/0/name", "Home"),
        ("routes/0/name", "a.b"),
        ("routes/1/name", "home"),
        ("routes/1/path", "/"),
        ("viewports/0/width", 0),
        ("viewports/0/width", 99999),
        ("viewports/0/width", "1280"),
        ("viewports/1/name", "desktop"),
        ("states/0/route", "nowhere"),
        ("states/2/viewports", ["tablet"]),
        ("states/2/viewports", []),
        ("states/2/viewports", ["phone", "phone"]),
        ("states/1/route", "home"),
        ("states/0/steps", ...),
        ("main/state", "open"),
        ("main/viewport", "tablet"),
        ("sweep", [1280, 320]),
        ("sweep", [320, 320]),
        ("sweep", [1]),
        ("build/output", "../out"),
        ("build/output", "/etc"),
        ("build/output", ""),
        ("build/argv", [""]),
        ("build", ...),
    ],
)
def test_contract_that_promises_nothing_sensible_is_refused(path: str, value: Any) -> None:
    with pytest.raises(SchemaError):
        Contract.from_json(changed(path, value))


@pytest.mark.parametrize(
    "step",
    [
        {"do": "drag"},
        {"do": "click"},
        {"do": "click", "target": {"css": "a"}, "value": "x"},
        {"do": "fill", "target": {"css": "a"}},
        {"do": "press"},
        {"do": "reload", "value": "x"},
        {"do": "back", "target": {"css": "a"}},
        {"do": "resize", "value": "800"},
        {"do": "resize", "value": "9x9"},
        {"do": "resize", "value": "800x600", "target": {"css": "a"}},
        {"do": "scroll"},
        {"do": "scroll", "value": "-1"},
        {"do": "scroll", "value": "1", "target": {"css": "a"}},
        {"do": "click", "target": {}},
        {"do": "click", "target": {"css": ""}},
        {"do": "click", "target": {"css": "a", "text": "b"}},
        {"do": "click", "target": {"text": "b", "name": "c"}},
        {"do": "click", "target": {"xpath": "//a"}},
    ],
)
def test_step_that_cannot_be_taken_is_refused(step: dict[str, Any]) -> None:
    with pytest.raises(SchemaError):
        Contract.from_json(changed("states/0/steps", [step]))


@pytest.mark.parametrize("data", [b"{}", b"[]", b"", json.dumps(VALUE).encode()])
def test_bytes_that_are_not_canonical_or_no_contract_are_refused(data: bytes) -> None:
    with pytest.raises((CanonicalError, SchemaError)):
        Contract.parse(data)


def test_null_that_means_absence_is_not_written() -> None:
    document = changed("states/0/viewports", None)
    assert Contract.from_json(document).format() == canonical.dumps(VALUE)
    with pytest.raises(SchemaError):
        Contract.parse(canonical.dumps(document))


def test_locator_says_which_way_it_is() -> None:
    assert (Locator(role="link", name="A").way, Locator(role="link", name="A").value) == ("role", "link")
    assert (Locator(testid="t").way, Locator(testid="t").value) == ("testid", "t")
    assert Locator.from_json({"label": "Name"}).to_json() == {"label": "Name"}


NAMES = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,9}", fullmatch=True)
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)
LOCATORS = st.one_of(
    st.builds(Locator, role=WORDS, name=st.none() | WORDS),
    st.builds(Locator, text=WORDS),
    st.builds(Locator, css=WORDS),
)
STEPS = st.one_of(
    st.builds(Step, st.sampled_from(["click", "hover", "check"]), LOCATORS),
    st.builds(Step, st.sampled_from(["fill", "select"]), LOCATORS, WORDS),
    st.builds(Step, st.just("press"), st.none() | LOCATORS, WORDS),
    st.builds(Step, st.sampled_from(["reload", "back"])),
)


@given(
    names=st.lists(NAMES, min_size=2, max_size=2, unique=True),
    steps=st.lists(STEPS, max_size=4),
    sweep=st.lists(st.integers(100, 4096), unique=True, max_size=4),
    argv=st.lists(WORDS, max_size=3),
)
def test_any_contract_is_read_back_and_passes_its_schema(
    names: list[str], steps: list[Step], sweep: list[int], argv: list[str]
) -> None:
    route, state = names
    contract = Contract(
        routes=(Route(route, f"/{route}"),),
        viewports=(Viewport("wide", 1000, 700),),
        states=(State(state, route, tuple(steps)),),
        main=MainShot(route, "wide", state),
        sweep=tuple(sorted(sweep)),
        build=BuildRecipe(tuple(argv), "."),
    )
    assert Contract.parse(contract.format()) == contract
    check("contract", contract.to_json())
