"""The visual score keeps its order, its bounds and its very numbers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sealed.visual import FULL, Reference, millionths
from store.errors import InputError

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "visual" / "v5.json").read_text())["variants"]
NOTHING = ["white", "dominant"]
CHEATS = [row["name"] for row in VECTORS if row["name"].startswith("screenshot")] + ["resisting"]
ORDER = [
    ("down-1", "hue"),
    ("down-5", "first-90"),
    ("down-5", "first-50"),
    ("down-20", "upside-down"),
    ("first-90", "first-50"),
    ("first-50", "first-25"),
    ("first-25", "white"),
    ("text-size", "no-text"),
    ("text-colour", "no-text"),
    ("other-photo", "screenshot"),
    ("no-text", "screenshot-under-text"),
    ("upside-down", "dominant"),
]


@pytest.fixture(scope="module")
def scores(reference, page, studio):
    return {name: reference.score(variant.shoot()) for name, variant in studio.variants(page).items()}


@pytest.mark.parametrize("row", VECTORS, ids=lambda row: row["name"])
def test_scores_are_the_study_s_to_the_last_millionth(scores, row):
    score = scores[row["name"]]
    assert {
        "score": score.value,
        "pictures": millionths(score.pictures),
        "words": millionths(score.words),
        "gate": millionths(score.gate),
        "baked": millionths(score.baked),
    } == row["expect"]


@pytest.mark.parametrize(("better", "worse"), ORDER)
def test_pages_are_ordered_as_people_would(scores, better, worse):
    assert scores[better].value > scores[worse].value


@pytest.mark.parametrize("name", NOTHING)
def test_doing_nothing_scores_next_to_nothing(scores, name):
    assert scores[name].value <= 20_000


@pytest.mark.parametrize("name", CHEATS)
def test_a_picture_of_the_page_is_not_the_page(scores, name):
    assert scores[name].value <= 100_000
    assert scores["first-50"].value > scores[name].value


def test_the_reference_scores_exactly_full(scores):
    assert scores["same"].value == FULL


def test_wrong_text_colour_is_seen_in_the_words_alone(scores):
    assert scores["text-colour"].words == pytest.approx(0.75)
    assert scores["text-colour"].pictures == 1.0


def test_pages_of_another_size_are_padded_and_never_resized(scores, reference, studio):
    assert scores["wide"].value == FULL
    assert reference.score(studio.Page(1, 1).shoot()).value == 0
    assert reference.score(studio.landing(320, 480).shoot()).value < 500_000


def test_a_reference_without_words_is_scored_on_pictures(page):
    wordless = replace(page, lines=())
    score = Reference(wordless.shoot()).score(page.above(480).shoot())
    assert score.words is None
    assert score.value == millionths(score.pictures)


def test_a_reference_without_pictures_is_scored_on_words(page, studio):
    text = studio.Page(
        640, 640, lines=tuple(line for line in page.lines if line.y < 300 and line.x < 300 and line.y > 70)
    )
    reference = Reference(text.shoot())
    score = reference.score(replace(text, lines=text.lines[:3]).shoot())
    assert score.pictures is None
    assert 0 < score.value < FULL
    assert reference.score(text.shoot()).value == FULL


@pytest.mark.parametrize("share", [0, 30, 60, 95])
def test_a_starter_scores_exactly_nothing_and_the_reference_everything(page, share):
    starter = page.above(page.height * share // 100).shoot()
    reference = Reference(page.shoot(), [starter])
    assert reference.score(starter).value == 0
    assert reference.score(page.shoot()).value == FULL


def test_a_starter_of_another_height_scores_exactly_nothing(page, studio):
    starter = studio.Page(640, 300, (90, 90, 90), lines=page.lines[:3]).shoot()
    assert Reference(page.shoot(), [starter]).score(starter).value == 0


def test_a_blank_reference_is_refused(studio):
    with pytest.raises(InputError, match="doing nothing"):
        Reference(studio.Page(640, 480).shoot())


def test_a_raster_that_resists_where_the_reference_s_does_too_is_no_offence(page):
    stubborn = replace(page, resist=True).shoot()
    assert Reference(stubborn).score(stubborn).value == FULL


def test_scoring_does_not_change_what_it_is_given(reference, page):
    shot = page.moved(0, 9).shoot()
    before = [picture.copy() for picture in (shot.full, shot.textless, shot.bare)]
    reference.score(shot)
    for one, other in zip(before, (shot.full, shot.textless, shot.bare), strict=True):
        assert np.array_equal(one, other)
