"""A region is found by its locator or near its place, and scored by itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sealed.regional import RegionReference, crop, find
from sealed.visual import FULL
from store.errors import InputError

PHOTO = (320, 96, 288, 192)
CARDS = (0, 310, 640, 200)


@pytest.fixture(scope="module")
def cards(shot):
    return RegionReference(shot, CARDS)


def test_the_reference_s_own_region_scores_exactly_full(shot, cards):
    assert cards.score(shot, None, 1.0)[0].value == FULL
    assert RegionReference(shot, PHOTO).score(shot, PHOTO, 1.0)[0].value == FULL


@pytest.mark.parametrize("down", [1, 9, 70, 300])
def test_a_moved_region_is_found_to_the_pixel(page, shot, down):
    assert find(shot.textless, page.moved(0, down).shoot().textless, PHOTO) == (320, 96 + down, 288, 192)


def test_distance_costs_a_little(page, cards):
    near, far = (cards.score(page.moved(0, down).shoot(), None, 1.0)[0].value for down in (5, 70))
    assert FULL > near > far > 900_000


def test_a_missing_region_scores_nothing(page, cards):
    assert cards.score(page.above(300).shoot(), None, 1.0)[0].value <= 20_000


def test_the_locator_decides_where_it_resolves(page, shot, cards):
    score, place = cards.score(shot, (0, 510, 640, 200), 1.0)
    assert place.located
    assert place.rect == (0, 510, 640, 200)
    assert score.value < FULL


def test_a_place_outside_the_page_scores_nothing(shot, cards):
    assert cards.score(shot, (0, 5000, 640, 200), 1.0)[0].value == 0


def test_the_page_s_gate_multiplies(shot, cards):
    assert cards.score(shot, None, 0.5)[0].value == FULL // 2
    assert cards.score(shot, None, 0.0)[0].value == 0


def test_a_photo_in_a_screenshot_is_no_region(reference, page, shot, studio):
    cheat = studio.variants(page)["screenshot"].shoot()
    gate = reference.score(cheat).gate
    assert RegionReference(shot, PHOTO).score(cheat, None, gate)[0].value == 0


@pytest.mark.parametrize("located", [None, (0, 300, 640, 210)])
def test_a_starter_s_region_scores_exactly_nothing(page, shot, located):
    starter = replace(page.moved(0, 6), lines=page.lines[:12]).shoot()
    region = RegionReference(shot, CARDS, [(starter, located)])
    assert region.score(starter, located, 1.0)[0].value == 0
    assert region.score(shot, None, 1.0)[0].value == FULL


def test_a_flat_region_is_refused(shot):
    with pytest.raises(InputError, match="doing nothing"):
        RegionReference(shot, (100, 66, 64, 28))


def test_a_region_outside_the_reference_is_refused(shot):
    with pytest.raises(InputError, match="outside"):
        RegionReference(shot, (0, 2000, 10, 10))


def test_a_crop_takes_the_lines_whose_middle_lies_in_it(shot):
    part = crop(shot, CARDS)
    assert part.full.shape == (200, 640, 3)
    assert part.lines
    assert all(0 <= line.box[1] + line.box[3] / 2 <= 200 for line in part.lines)
    assert crop(shot, PHOTO).rasters == ((0.0, 0.0, 288.0, 192.0),)
