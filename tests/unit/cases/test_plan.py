"""The probe plan: derived from the contract alone, read back as written."""

from typing import Any

import pytest

from cases.contract import BuildRecipe, Contract, Locator, MainShot, Route, State, Step, Viewport
from cases.plan import Plan, PlanShot, Settings, Size, SweepPath, derive
from schemas.registry import check
from store import canonical
from store.errors import SchemaError

CONTRACT = Contract(
    routes=(Route("home", "/"), Route("about", "/about/")),
    viewports=(Viewport("desktop", 1280, 800), Viewport("phone", 360, 740)),
    states=(
        State("initial", "home", ()),
        State("open", "home", (Step("click", Locator(text="Menu")),), ("phone",)),
        State("initial", "about", (), ("desktop",)),
    ),
    main=MainShot("home", "desktop", "initial"),
    sweep=(320, 768),
    build=BuildRecipe((), "."),
)


def test_plan_has_the_contract_s_matrix_and_sweeps_every_route() -> None:
    plan = derive(CONTRACT)
    assert plan.shots == (
        PlanShot("home.desktop.initial", "/", Size(1280, 800), ()),
        PlanShot("home.phone.initial", "/", Size(360, 740), ()),
        PlanShot("home.phone.open", "/", Size(360, 740), (Step("click", Locator(text="Menu")),)),
        PlanShot("about.desktop.initial", "/about/", Size(1280, 800), ()),
    )
    assert plan.sweep == (SweepPath("/", (320, 768)), SweepPath("/about/", (320, 768)))
    assert plan.settings == Settings()
    assert plan.shot("home.phone.open") is plan.shots[2]
    assert plan.shot("home.tablet.open") is None


def test_plan_is_read_back_as_written_and_passes_its_schema() -> None:
    plan = derive(CONTRACT, Settings(locale="de-DE", timezone="Europe/Berlin", color_scheme="dark", seed=7))
    assert Plan.parse(plan.format()) == plan
    check("plan", plan.to_json())
    assert derive(CONTRACT).format() == derive(Contract.parse(CONTRACT.format())).format()


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("locale", "EN"),
        ("timezone", "../etc"),
        ("color_scheme", "sepia"),
        ("clock", "2026-01-01"),
        ("clock", 1767225600),
        ("clock", "2026-02-30T00:00:00Z"),
        ("seed", 0),
        ("seed", 2**32),
        ("max_height", 0),
        ("shot_ms", 0),
        ("shot_ms", 1.5),
        ("other", 1),
    ],
)
def test_settings_that_no_page_can_be_drawn_with_are_refused(place: str, value: Any) -> None:
    document = derive(CONTRACT).to_json()
    document["settings"][place] = value
    with pytest.raises(SchemaError):
        Plan.from_json(document)


@pytest.mark.parametrize(
    "shots",
    [
        [],
        [{"id": "../x", "path": "/", "steps": [], "viewport": {"width": 800, "height": 600}}],
        [{"id": "a", "path": "x", "steps": [], "viewport": {"width": 800, "height": 600}}],
        [{"id": "a", "path": "/", "steps": [], "viewport": {"width": 8, "height": 600}}],
        [{"id": "a", "path": "/", "steps": [], "viewport": {"width": 800, "height": 600}}] * 2,
    ],
    ids=["none", "id", "path", "small", "twice"],
)
def test_shots_that_cannot_be_taken_are_refused(shots: list[Any]) -> None:
    with pytest.raises(SchemaError):
        Plan.from_json({**derive(CONTRACT).to_json(), "shots": shots})


def test_plan_without_its_settings_written_out_is_refused() -> None:
    document = derive(CONTRACT).to_json()
    del document["settings"]["seed"]
    with pytest.raises(SchemaError):
        Plan.parse(canonical.dumps(document))
