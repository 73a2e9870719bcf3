"""A verdict follows from captures and kit alone, in whole numbers, and nothing scores by failing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cases.capture import Request, Sweep, SweepWidth
from cases.contract import Locator
from cases.kit import Assertion, Kit, Region, open_kit
from sealed import dimensions
from sealed.dimensions import half_even
from sealed.examination import Examination, Yardstick
from sealed.verdict import decide
from sealed.visual import FULL
from store import canonical
from store.digest import Digest
from store.errors import HarnessError, InputError

DESKTOP, PHONE, MENU = "home.desktop.initial", "home.phone.initial", "home.phone.menu"
ALL = ("functional", "global_visual", "policy", "regional_visual", "responsive", "workflow")
WEIGHTS = {"functional": 3, "global_visual": 2, "regional_visual": 1, "responsive": 1, "workflow": 2}
COMMITMENT = Digest.of(b"kit")

KIT = Kit(
    case="drawn",
    version=1,
    regions=(
        Region("cards", DESKTOP, (0, 310, 640, 200), Locator(css="main"), 2),
        Region("photo", DESKTOP, (320, 96, 288, 192), None, 1),
    ),
    assertions=(
        Assertion("heading", DESKTOP, "functional", Locator(css="h1"), "text", value="lantern market", weight=2),
        Assertion("link", PHONE, "functional", Locator(role="link"), "visible"),
        Assertion("opened", MENU, "workflow", Locator(css="nav"), "visible"),
    ),
    viewports={"desktop": 2, "phone": 1},
    main=DESKTOP,
    responsive=(DESKTOP, PHONE),
)


def sweep(*wide):
    return Sweep(tuple(SweepWidth("/", width, scroll) for width, scroll in zip((320, 640), wide, strict=True)))


@pytest.fixture(scope="module")
def drawings(studio, page):
    node = studio.node
    nodes = [node("html"), node("h1", 0, "lantern market"), node("main", 0, box=[0, 4960, 10240, 3200]), node("nav", 0)]
    ax = [{"role": "link", "name": "seven", "value": None, "node": 1, "ignored": False}]
    small = studio.landing(320, 700)
    return {
        DESKTOP: lambda **fields: studio.files_of(fields.pop("page", page), **{"nodes": nodes, "ax": ax, **fields}),
        PHONE: lambda **fields: studio.files_of(small, **{"nodes": nodes, "ax": ax, **fields}),
        MENU: lambda **fields: studio.files_of(small.moved(0, 4), **{"nodes": nodes, "ax": ax, **fields}),
    }


@pytest.fixture(scope="module")
def good(drawings):
    return {shot: draw() for shot, draw in drawings.items()}


@pytest.fixture(scope="module")
def starter(studio):
    blank = {DESKTOP: (640, 640), PHONE: (320, 640)}
    drawn = {
        shot: studio.files_of(
            studio.Page(*size, (255, 255, 255), lines=(studio.Line(10, 10, "lantern"),)), nodes=[studio.node("html")]
        )
        for shot, size in blank.items()
    }
    return {**drawn, MENU: "step click failed"}


@pytest.fixture(scope="module")
def yardstick(good, starter):
    starters = {shot: files for shot, files in starter.items() if not isinstance(files, str)}
    return Yardstick(open_kit(KIT.pack(bytes(32), good, starters, sweep(320, 640).format())))


@pytest.fixture(scope="module")
def judged(yardstick):
    def judge(shots, wide=(320, 640), dimensions=ALL, weights=WEIGHTS):
        exam = Examination(yardstick, shots, sweep(*wide))
        return decide(exam, dimensions=dimensions, weights=weights, commitment=COMMITMENT, inputs=[Digest.of(b"in")])

    return judge


def scores(decision):
    return {name: tally.score for name, tally in decision.verdict.dimensions.items()}


def test_the_reference_scores_exactly_full_in_every_dimension(judged, good):
    decision = judged(good)
    assert scores(decision) == dict.fromkeys(ALL, FULL)
    assert decision.verdict.total == FULL
    assert decision.verdict.gate == FULL
    assert all(tally.passed == tally.total for tally in decision.verdict.dimensions.values())


def test_the_starter_scores_exactly_nothing(judged, starter):
    decision = judged(starter)
    assert decision.verdict.total == 0
    assert scores(decision) == {**dict.fromkeys(ALL, 0), "policy": FULL}


def test_no_capture_at_all_scores_nothing(judged):
    assert judged({}).verdict.total == 0
    assert judged(dict.fromkeys((DESKTOP, PHONE, MENU), "crashed")).verdict.total == 0


@pytest.mark.parametrize(
    "broken",
    [
        lambda draw: "timed out",
        lambda draw: draw(steps=[{"do": "click", "ok": False, "error": "not found"}]),
        lambda draw: draw(unstable=["pixels"]),
        lambda draw: {**draw(), "full.png": b"\x89PNG"},
        lambda draw: {name: data for name, data in draw().items() if name != "nt.png"},
    ],
)
def test_a_shot_with_a_fault_never_scores(judged, good, drawings, broken):
    found = scores(judged({**good, DESKTOP: broken(drawings[DESKTOP])}))
    assert found["global_visual"] == 0
    assert found["regional_visual"] == 0
    assert found["responsive"] == half_even(FULL, 3)


def test_a_page_that_cannot_be_read_fails_its_assertions(judged, good):
    found = scores(judged({**good, DESKTOP: {**good[DESKTOP], "page.json": b"{}"}}))
    assert found["functional"] == half_even(FULL, 3)
    assert found["global_visual"] == 0


def test_a_failed_step_fails_what_follows_it(judged, good, drawings):
    step = {"do": "click", "ok": False, "error": "no such button"}
    assert scores(judged({**good, MENU: drawings[MENU](steps=[step])}))["workflow"] == 0


def test_an_unstable_page_against_an_unstable_reference_is_the_case_s_fault(good, drawings, starter):
    moving = {**good, DESKTOP: drawings[DESKTOP](unstable=["pixels"])}
    yardstick = Yardstick(open_kit(KIT.pack(bytes(32), moving, {}, sweep(320, 640).format())))
    with pytest.raises(HarnessError, match="stood still"):
        Examination(yardstick, moving, sweep(320, 640)).score(DESKTOP)


@pytest.mark.parametrize(("wide", "share"), [((320, 640), 1), ((321, 640), 0.5), ((900, 900), 0), ((320, None), 0.5)])
def test_horizontal_overflow_multiplies(judged, good, wide, share):
    assert scores(judged(good, wide))["responsive"] == FULL * share


def test_a_width_that_was_not_swept_counts_as_overflow(yardstick, good):
    exam = Examination(yardstick, good, Sweep(()))
    decision = decide(exam, dimensions=["responsive"], weights=WEIGHTS, commitment=COMMITMENT, inputs=[])
    assert decision.verdict.total == 0


@pytest.mark.parametrize(
    ("url", "blocked", "gate"),
    [
        ("http://localhost/app.js", False, FULL),
        ("http://localhost:8000/app.js", False, FULL),
        ("ws://localhost/live", False, FULL),
        ("data:image/png;base64,AA", False, FULL),
        ("blob:http://localhost/1", False, FULL),
        ("https://fonts.example/a.woff", True, 0),
        ("https://fonts.example/a.woff", False, 0),
        ("http://localhost.evil.example/", False, 0),
        ("http://[broken/", False, 0),
        ("https://localhost/", False, 0),
    ],
)
def test_a_request_off_the_origin_closes_the_gate(judged, good, drawings, url, blocked, gate):
    request = {"url": url, "kind": "fetch", "method": "GET", "blocked": blocked}
    decision = judged({**good, MENU: drawings[MENU](requests=[request])})
    assert decision.verdict.gate == gate
    assert decision.verdict.total == gate


@pytest.mark.parametrize(
    ("url", "blocked", "off"),
    [
        ("https://fonts.example/a.woff", True, False),
        ("https://other.example/a.woff", True, True),
        ("http://localhost/app.js", True, True),
    ],
)
def test_what_the_source_asks_for_elsewhere_may_be_asked_for(url, blocked, off):
    request = Request(url, "font", "GET", blocked)
    assert dimensions._off_origin(request, ("http://localhost", "https://fonts.example")) == off


def test_a_screenshot_shipped_as_the_page_closes_the_gate(judged, good, drawings, page, studio):
    cheat = drawings[DESKTOP](page=studio.variants(page)["screenshot"])
    decision = judged({**good, DESKTOP: cheat})
    assert decision.verdict.gate == 0
    assert decision.verdict.total == 0


def test_an_honest_page_with_faults_keeps_the_gate_open(judged, good, drawings, page, studio):
    for name in ("first-50", "other-photo", "upside-down", "short", "no-text"):
        decision = judged({**good, DESKTOP: drawings[DESKTOP](page=studio.variants(page)[name])})
        assert decision.verdict.gate == FULL
        assert 0 < decision.verdict.total < FULL


def test_the_total_is_the_weighted_mean_rounded_once(judged, good, drawings, page):
    decision = judged({**good, DESKTOP: drawings[DESKTOP](page=page.above(480))})
    found = scores(decision)
    weighted = sum(WEIGHTS[name] * found[name] for name in WEIGHTS)
    assert decision.verdict.total == half_even(weighted, sum(WEIGHTS.values()))
    assert decision.verdict.weights == WEIGHTS


def test_a_dimension_that_is_not_used_is_absent(judged, good):
    decision = judged(good, dimensions=("global_visual",))
    assert set(decision.verdict.dimensions) == {"global_visual"}
    assert decision.verdict.gate == FULL


@pytest.mark.parametrize(
    ("dimensions", "weights"),
    [(("preservation",), {"preservation": 1}), (("functional",), {}), (("policy",), {}), (("speed",), {"speed": 1})],
)
def test_a_dimension_that_cannot_be_judged_is_refused(judged, good, dimensions, weights):
    with pytest.raises(InputError):
        judged(good, dimensions=dimensions, weights=weights)


def test_the_same_bytes_give_the_same_verdict_and_detail(judged, good):
    assert judged(good) == judged(good)


def test_the_detail_is_canonical_names_each_checkpoint_and_holds_the_salt(judged, good):
    decision = judged(good)
    detail = canonical.loads(decision.detail)
    assert decision.verdict.detail == Digest.of(decision.detail)
    assert detail["salt"] == "00" * 32
    names = [item["name"] for item in detail["dimensions"]["functional"]["checkpoints"]]
    assert names == ["heading", "link"]


def test_inputs_are_sorted_and_hold_the_commitment(judged, good):
    assert judged(good).verdict.inputs == sorted([COMMITMENT, Digest.of(b"in")])


def test_a_region_that_cannot_be_told_from_nothing_scores_nothing_and_says_so(good):
    flat = replace(KIT, regions=(Region("flat", DESKTOP, (100, 66, 64, 28), None, 1),))
    yardstick = Yardstick(open_kit(flat.pack(bytes(32), good, {}, sweep(320, 640).format())))
    exam = Examination(yardstick, good, sweep(320, 640))
    decision = decide(exam, dimensions=["regional_visual"], weights=WEIGHTS, commitment=COMMITMENT, inputs=[])
    (checkpoint,) = decision.marks["regional_visual"].checkpoints
    assert checkpoint.value == 0
    assert "doing nothing" in checkpoint.seen["fault"]


@pytest.mark.parametrize(
    ("numerator", "denominator", "quotient"),
    [(1, 2, 0), (3, 2, 2), (5, 2, 2), (7, 3, 2), (8, 3, 3), (0, 5, 0), (6, 3, 2)],
)
def test_halves_go_to_the_even_number(numerator, denominator, quotient):
    assert half_even(numerator, denominator) == quotient
