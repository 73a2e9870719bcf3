"""Freezing, the pure part: contract, brief, starter, evidence and the proposed kit."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from cases.bundled import bundled
from cases.capture import Images, Request, StepResult
from cases.contract import BuildRecipe, Contract, Locator, State, Step
from cases.plan import derive
from cases.reconstruct import freeze
from cases.reconstruct.author import AssertionRow, AuthorKit, RegionRow
from ledger.records import kinds
from store.digest import Digest
from store.errors import CheckFailed, InputError

MAIN = "home.desktop.initial"
SWEEP = b'{"schema":"rbl/sweep/v1","widths":[]}'


def drawn(**pages):
    files = {"full.png": b"full", "nt.png": b"nt", "bare.png": b"bare"}
    return freeze.Drawn({shot: {**files, "page.json": page.format()} for shot, page in pages.items()}, SWEEP)


def both(page, draw):
    reference = drawn(**{MAIN: page, "home.mobile.initial": page})
    blank = draw(page.nodes[:2])
    return reference, drawn(**{MAIN: blank, "home.mobile.initial": blank})


def test_the_default_contract_is_one_page_at_two_sizes():
    assert [shot.id for shot in derive(freeze.default_contract()).shots] == [MAIN, "home.mobile.initial"]


def test_a_contract_of_an_author_may_be_laid_out_freely():
    data = freeze.default_contract().format().replace(b",", b" ,\n  ")
    assert freeze.read_contract(data, "c") == freeze.default_contract()


@pytest.mark.parametrize("data", [b"{", b"[]", b'{"schema":"rbl/contract/v1"}', b"\xff"])
def test_what_is_no_contract_is_refused_with_its_file(data):
    with pytest.raises(InputError) as caught:
        freeze.read_contract(data, "mine.json")
    assert caught.value.where == "mine.json"


def test_the_brief_says_sizes_states_pictures_and_rules():
    contract = Contract.parse(bundled().contract.read_bytes())
    text = freeze.brief("A page", contract)
    for said in (
        "# A page",
        "1440 × 900",
        "390 × 844",
        "320, 768, 1024, 1440",
        "click the button “Classes”",
        "fill the textbox “Your name” Ada",
        "`python3 build.py`",
        "Never query the source site",
        "anything off its own origin (a web font",
    ):
        assert said in text
    for shot in derive(contract).shots:
        assert f"evidence/{shot.id}.png" in text


def test_the_starter_is_an_empty_page_whose_title_is_text():
    files = freeze.starter_files("A <b> & c")
    assert b"<title>A &lt;b&gt; &amp; c</title>" in files["index.html"]
    assert b"<body>\n</body>" in files["index.html"]
    assert b'href="style.css"' in files["index.html"]
    assert files["style.css"] == b""


def test_evidence_is_the_full_picture_of_every_shot(page):
    assert freeze.evidence(drawn(**{MAIN: page})) == {f"{MAIN}.png": b"full"}


def test_a_kit_is_proposed_for_an_author_who_declares_nothing(page, draw):
    reference, starter = both(page, draw)
    proposal = freeze.propose(("bindery", 1), freeze.default_contract(), reference, starter, AuthorKit())
    kit = proposal.kit
    assert (kit.case, kit.version, kit.main) == ("bindery", 1, MAIN)
    assert kit.responsive == (MAIN, "home.mobile.initial")
    assert kit.viewports == {"desktop": 1, "mobile": 1}
    assert proposal.automatic == {
        *(f"regions/{region.name}" for region in kit.regions),
        *(f"assertions/{item.name}" for item in kit.assertions),
    }
    assert freeze.dimensions_of(kit, freeze.default_contract()) == (
        "global_visual",
        "regional_visual",
        "functional",
        "responsive",
        "policy",
    )
    kit.pack(bytes(32), reference.shots, starter.shots, SWEEP)


def test_what_is_refused_is_left_out_and_its_dimension_with_it(page, draw):
    reference, starter = both(page, draw)
    proposal = freeze.propose(("bindery", 1), freeze.default_contract(), reference, starter, AuthorKit())
    kit = proposal.without(frozenset(key for key in proposal.automatic if key.startswith("regions/")))
    assert kit.regions == ()
    assert kit.assertions == proposal.kit.assertions
    assert "regional_visual" not in freeze.dimensions_of(kit, freeze.default_contract())


def test_an_empty_list_of_an_author_stays_empty(page, draw):
    reference, starter = both(page, draw)
    author = AuthorKit(regions=(), functional=(), workflow=())
    proposal = freeze.propose(("bindery", 1), freeze.default_contract(), reference, starter, author)
    assert (proposal.kit.regions, proposal.kit.assertions, proposal.automatic) == ((), (), frozenset())


def test_a_page_may_ask_for_what_its_source_asks_for_unless_the_author_says_otherwise(page, draw):
    asked = [
        Request("http://localhost/", "document", "GET", blocked=False),
        Request("https://fonts.example/a.css", "stylesheet", "GET", blocked=True),
        Request("https://fonts.example/b.css", "stylesheet", "GET", blocked=True),
        Request("http://cdn.example:8080/x.js", "script", "GET", blocked=True),
        Request("wss://live.example/", "websocket", "GET", blocked=True),
    ]
    reference, starter = both(msgspec.structs.replace(page, requests=asked), draw)
    kit = freeze.propose(("bindery", 1), freeze.default_contract(), reference, starter, AuthorKit()).kit
    assert kit.origins == ("http://localhost", "http://cdn.example:8080", "https://fonts.example")
    strict = AuthorKit(origins=("http://localhost",))
    kit = freeze.propose(("bindery", 1), freeze.default_contract(), reference, starter, strict).kit
    assert kit.origins == ("http://localhost",)


def test_what_an_author_declares_stands_in_the_kit_as_declared(page, draw):
    reference, starter = both(page, draw)
    author = AuthorKit(
        regions=(
            RegionRow("hero", MAIN, Locator(css="#Hero"), weight=3),
            RegionRow("corner", MAIN, rect=(0, 0, 50, 50)),
        ),
        functional=(AssertionRow("shop", MAIN, "visible", Locator(role="link", name="Shop")),),
        workflow=(AssertionRow("url", MAIN, "url", value="/"),),
        viewports={"mobile": 5},
    )
    proposal = freeze.propose(("bindery", 1), freeze.default_contract(), reference, starter, author)
    assert [(item.rect, item.weight) for item in proposal.kit.regions] == [((0, 80, 1000, 400), 3), ((0, 0, 50, 50), 1)]
    assert [(item.name, item.dimension) for item in proposal.kit.assertions] == [
        ("shop", "functional"),
        ("url", "workflow"),
    ]
    assert proposal.kit.viewports == {"desktop": 1, "mobile": 5}
    assert proposal.automatic == frozenset()


def test_states_that_steps_lead_to_are_judged_by_what_they_brought(page, draw):
    contract = freeze.default_contract()
    menu = State("menu", "home", (Step("click", Locator(role="button", name="Menu")),), ("mobile",))
    contract = Contract(
        contract.routes, contract.viewports, (*contract.states, menu), contract.main, (), BuildRecipe((), ".")
    )
    opened = draw(page.nodes, ax=[("link", "Shop", 3), ("link", "Shoes", 6)])
    reference, starter = both(page, draw)
    reference = replace(reference, shots={**reference.shots, **drawn(**{"home.mobile.menu": opened}).shots})
    kit = freeze.propose(("bindery", 1), contract, reference, starter, AuthorKit()).kit
    assert [(item.name, item.shot) for item in kit.assertions if item.dimension == "workflow"] == [
        ("home-mobile-menu-link-shoes", "home.mobile.menu")
    ]
    assert "home.mobile.menu" not in kit.responsive
    assert "workflow" in freeze.dimensions_of(kit, contract)


@pytest.mark.parametrize(
    ("author", "said"),
    [
        (AuthorKit(functional=(AssertionRow("a", "home.desktop.other", "visible"),)), "home.desktop.other"),
        (AuthorKit(regions=(RegionRow("a", "home.x.initial", rect=(0, 0, 9, 9)),)), "home.x.initial"),
        (AuthorKit(regions=(RegionRow("gone", MAIN, Locator(css="nav")),)), "gone"),
        (AuthorKit(viewports={"watch": 1}), "watch"),
    ],
)
def test_a_declaration_that_refers_to_nothing_is_named(page, draw, author, said):
    reference, starter = both(page, draw)
    with pytest.raises(InputError, match=said):
        freeze.propose(("bindery", 1), freeze.default_contract(), reference, starter, author)


def shot(tree=None, error=None):
    return kinds.Shot(id=MAIN, tree=tree, error=error)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"unstable": ("pixels",)}, "pixels"),
        ({"images": Images(3, 2)}, "2 of 3 images"),
        ({"steps": (StepResult("click", False, "no such button"),)}, "no such button"),
    ],
)
def test_a_reference_on_which_nobody_could_be_judged_is_refused(page, draw, changes, said):
    bad = draw(page.nodes, **changes)
    with pytest.raises(CheckFailed, match=said) as caught:
        freeze.check_reference([shot(Digest.of(b""))], drawn(**{MAIN: bad}))
    assert caught.value.where == MAIN


def test_a_shot_that_failed_is_refused():
    with pytest.raises(CheckFailed, match="crashed"):
        freeze.check_reference([shot(error="crashed")], drawn())


def test_a_good_reference_passes(page):
    freeze.check_reference([shot(Digest.of(b""))], drawn(**{MAIN: page}))
