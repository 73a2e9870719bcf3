"""What lies beyond a page has no weight: text on a flat dark ground is scored by its words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sealed.paper import Paper
from sealed.pictures import Sought, compare
from sealed.regional import RegionReference
from sealed.visual import FULL, Reference

DARK = (24, 32, 72)
WHITE = (255, 255, 255)


@pytest.fixture
def page(studio):
    """A white page with a dark header, a headline on a tint and a dark footer, none of them whole tiles."""
    return studio.Page(
        650,
        910,
        WHITE,
        boxes=(((0, 0, 650, 78), DARK), ((0, 78, 650, 130), (222, 236, 255)), ((0, 862, 650, 48), (40, 44, 52))),
        lines=(
            studio.Line(24, 28, "lantern market", 20, WHITE),
            studio.Line(420, 28, "north river table", 16, WHITE),
            studio.Line(40, 120, "honest garden window", 32, (60, 20, 110)),
            studio.Line(40, 300, "paper light thread", 16),
            studio.Line(24, 878, "copper thread seven", 14, (230, 230, 230)),
        ),
    )


REGIONS = {"header": (0, 0, 650, 78), "headline": (0, 80, 650, 126), "footer": (0, 862, 650, 48)}


@pytest.fixture(params=sorted(REGIONS))
def region(request, page, studio):
    rect = REGIONS[request.param]
    starter = studio.Page(650, 910, WHITE).shoot()
    return rect, RegionReference(page.shoot(), rect, [(starter, None)]), starter


def score(region, page):
    rect, reference, _ = region
    return reference.score(page.shoot(), rect, 1.0)[0]


def test_text_on_a_flat_ground_scores_full_against_itself_and_nothing_for_the_starter(region, page):
    rect, reference, starter = region
    assert score(region, page).value == FULL
    assert score(region, page).pictures is None
    assert reference.score(starter, rect, 1.0)[0].value == 0
    assert reference.score(starter, None, 1.0)[0].value == 0


def test_wrong_text_colour_and_a_missing_word_cost_something_and_not_all(region, page):
    red = replace(page, lines=tuple(replace(line, colour=(200, 30, 30)) for line in page.lines))
    fewer = replace(page, lines=tuple(replace(line, text=line.text.rsplit(" ", 1)[0]) for line in page.lines))
    assert 0 < score(region, red).value < FULL
    assert 0 < score(region, fewer).value < FULL


def test_a_wrong_ground_under_the_right_words_costs_something(region, page):
    other = replace(page, boxes=tuple((box, (90, 0, 40)) for box, _ in page.boxes))
    assert 0 < score(region, other).value < 900_000


def test_a_photo_under_the_right_words_costs_most(region, page):
    rect, _, _ = region
    assert score(region, replace(page, photos=((rect, 3),))).value < 500_000


def test_a_whole_page_of_text_on_a_dark_ground_is_scored_by_words(page, studio):
    dark = replace(page, height=910, background=DARK, boxes=(), lines=page.lines[:2])
    reference = Reference(dark.shoot(), [studio.Page(650, 600, WHITE).shoot()])
    assert reference.score(dark.shoot()).value == FULL
    assert reference.score(dark.shoot()).pictures is None
    assert reference.score(studio.Page(650, 600, WHITE).shoot()).value == 0


@pytest.mark.parametrize("tall", [910, 930, 960, 1100])
def test_doing_nothing_is_nothing_at_any_height_on_a_dark_page(page, studio, tall):
    dark = replace(page, background=DARK, photos=(((100, 400, 300, 300), 3),))
    reference = Reference(dark.shoot())
    for colour in (WHITE, DARK):
        assert reference.score(studio.Page(650, tall, colour).shoot()).value <= 20_000


def test_what_a_taller_candidate_draws_below_still_counts(page):
    sought = Sought.of(page.shoot().textless)
    longer = replace(page, height=950)
    plain, drawn = longer, replace(longer, boxes=(*longer.boxes, ((0, 912, 650, 36), (200, 40, 90))))
    assert compare(sought, plain.shoot().textless).value > 0.999
    assert compare(sought, drawn.shoot().textless).value < 0.99


def test_a_page_of_whole_tiles_has_no_paper():
    paper = Paper(128, 192, np.array(DARK, np.uint8))
    picture = np.zeros((128, 192, 3), np.uint8)
    assert paper.under(picture) is picture
    assert paper.own().all()
    assert not Paper(78, 192, np.array(DARK, np.uint8)).own()[20:].any()
    assert Paper(78, 192, np.array(DARK, np.uint8)).own()[:20].all()
