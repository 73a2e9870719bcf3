"""What is proposed when an author declares nothing."""

from __future__ import annotations

from cases.contract import Locator
from cases.reconstruct.automatic import css_of, functional, regions, slug, workflow
from cases.reconstruct.find import rect_of

SHOT = "home.desktop.initial"


def test_regions_are_the_parts_with_something_in_them_from_the_top_down(page):
    found = regions(page, SHOT)
    assert [(region.name, region.rect) for region in found] == [
        ("header", (0, 0, 1000, 80)),
        ("hero", (0, 80, 1000, 400)),
        ("section", (0, 780, 1000, 120)),
        ("footer", (0, 900, 1000, 100)),
    ]


def test_every_proposed_locator_finds_its_own_region(page):
    for region in regions(page, SHOT):
        assert rect_of(page, region.locator) == region.rect


def test_regions_do_not_lie_in_one_another_and_are_at_most_six(draw, page):
    nodes = list(page.nodes[:5])
    template = page.nodes[7]
    nodes += [
        type(template)("section", {"id": f"s{n}"}, 4, "", (0, n * 1600, 16000, 1600), True, None, None, False)
        for n in range(9)
    ]
    nodes.append(type(template)("div", {"id": "inner"}, 5, "", (160, 160, 8000, 1200), True, None, None, False))
    lines = [("words", (10, n * 100 + 20, 300, 30)) for n in range(9)]
    found = regions(draw(nodes, lines=lines), SHOT)
    assert len(found) == 6
    assert "inner" not in [region.name for region in found]


def test_a_part_that_reaches_over_the_page_is_cut_at_its_edge(draw, page):
    nodes = [*page.nodes[:2], page.nodes[10]]
    far = type(nodes[2])("footer", {}, 1, "", (-160, 14400, 32000, 3200), True, None, None, False)
    (region,) = regions(draw([*nodes[:2], far], lines=[("foot", (10, 910, 80, 20))]), SHOT)
    assert region.rect == (0, 900, 1000, 100)


def test_an_element_without_id_is_found_by_its_place(page):
    assert css_of(page, 5) == "#Hero"
    assert css_of(page, 10) == "footer"
    assert css_of(page, 8) == "body > main:nth-of-type(1) > section:nth-of-type(3)"


def test_assertions_name_what_stands_once_headings_first(page):
    found = functional(page, None, SHOT)
    assert [(item.name, item.target, item.expect) for item in found] == [
        ("heading-welcome", Locator(role="heading", name="Welcome"), "visible"),
        ("link-shop", Locator(role="link", name="Shop"), "visible"),
    ]
    assert {item.dimension for item in found} == {"functional"}


def test_what_the_starter_has_already_is_not_proposed(page, draw):
    starter = draw(page.nodes, ax=[("heading", "Welcome", 6)])
    assert [item.name for item in functional(page, starter, SHOT)] == ["link-shop"]


def test_what_is_not_visible_is_not_proposed(draw, page):
    hidden = type(page.nodes[6])("h1", {}, 5, "", page.nodes[6].box, False, None, None, False)
    nodes = [*page.nodes[:6], hidden, *page.nodes[7:]]
    assert functional(draw(nodes, ax=[("heading", "Welcome", 6)]), None, SHOT) == ()


def test_a_state_is_known_by_what_it_brought(draw, page):
    after = draw(page.nodes, ax=[("link", "Shop", 3), ("link", "Shoes", 6)])
    (item,) = workflow(page, after, "home.mobile.menu")
    assert (item.name, item.dimension) == ("home-mobile-menu-link-shoes", "workflow")
    assert item.target == Locator(role="link", name="Shoes")


def test_names_stay_apart_when_their_slugs_meet(draw, page):
    found = functional(draw(page.nodes, ax=[("link", "A b", 3), ("link", "A-b", 3)]), None, SHOT)
    assert [item.name for item in found] == ["link-a-b", "link-a-b-2"]


def test_a_slug_is_a_name_that_a_kit_allows():
    assert slug("link  Über uns!") == "link-ber-uns"
    assert slug("…") == "part"
    assert len(slug("x" * 200)) == 64
