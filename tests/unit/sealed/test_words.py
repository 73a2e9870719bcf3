"""Words count when they can be seen, and for what they look like."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sealed.pixels import TextLine
from sealed.words import pair, words


def seen(page):
    shot = page.shoot()
    return words(shot.lines, shot.full, shot.textless)


def test_a_page_stands_for_itself(page):
    assert pair(seen(page), seen(page)) == pytest.approx(1.0, abs=1e-12)


def test_a_reference_without_words_asks_for_none(page):
    assert pair([], seen(page)) is None


def test_no_words_get_nothing(page):
    assert pair(seen(page), []) == 0.0


def test_text_that_leaves_no_ink_is_not_there(page):
    hidden = replace(
        page, lines=tuple(replace(line, colour=page.background) for line in page.lines), boxes=(), photos=()
    )
    assert seen(hidden) == []


def test_colour_is_read_from_pixels_and_costs_a_quarter_at_most(page):
    red = replace(page, lines=tuple(replace(line, colour=(255, 0, 0)) for line in page.lines))
    assert seen(red)[0].colour == (255.0, 0.0, 0.0)
    assert 0.7 < pair(seen(page), seen(red)) < 0.85


def test_extra_words_cost(page, studio):
    more = replace(page, lines=(*page.lines, *(studio.Line(40, 250 + 20 * n, "spam spam spam") for n in range(3))))
    assert 0.5 < pair(seen(page), seen(more)) < 0.97


def test_repeated_words_are_paired_by_place(studio):
    page = studio.Page(640, 320, lines=(studio.Line(20, 20, "seven"), studio.Line(20, 220, "seven")))
    swapped = replace(page, lines=tuple(reversed(page.lines)))
    assert pair(seen(page), seen(swapped)) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "keys"),
    [("Straße ＡＢＣ", ["strasse", "abc"]), ("日本語 text", ["日", "本", "語", "text"]), ("a\u00a0b", ["a", "b"])],
)
def test_words_are_split_and_folded(text, keys):
    full = np.zeros((40, 200, 3), np.uint8)
    textless = np.full((40, 200, 3), 255, np.uint8)
    assert [word.key for word in words([TextLine(text, (0.0, 0.0, 200.0, 40.0))], full, textless)] == keys


def test_lines_outside_the_picture_are_not_seen(page):
    shot = page.shoot()
    assert words([TextLine("far", (5000.0, 5000.0, 40.0, 20.0))], shot.full, shot.textless) == []
