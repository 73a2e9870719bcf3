"""The gate closes on pictures of pages, and stays open for honest pages with pictures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sealed.gate import Evidence, cover, openness


@pytest.mark.parametrize(
    ("baked", "excess", "gate"),
    [(0.0, 0.0, 1.0), (0.10, 0.20, 1.0), (0.20, 0.0, 0.5), (0.30, 0.0, 0.0), (0.0, 0.325, 0.5), (0.0, 0.9, 0.0)],
)
def test_the_gate_closes_between_its_bounds(baked, excess, gate):
    assert openness(Evidence(baked, excess, resist=False)) == pytest.approx(gate)


def test_a_resisting_raster_closes_it():
    assert openness(Evidence(0.0, 0.0, resist=True)) == 0.0


def test_cover_is_the_share_under_rasters(studio):
    page = studio.Page(400, 400, photos=(((0, 0, 200, 400), 1), ((100, 0, 100, 400), 2)))
    assert cover(page.shoot()) == pytest.approx(0.5, abs=0.01)


def test_the_reference_s_own_rasters_are_no_offence(reference, shot):
    score = reference.score(shot)
    assert (score.baked, score.excess, score.gate) == (0.0, 0.0, 1.0)


def test_half_a_screenshot_is_gated_too(reference, page, studio):
    shot = page.shoot()
    half = page.above(300)
    pasted = replace(half, pasted=(((0, 300, 640, 660), shot.full[300:]),))
    assert reference.score(pasted.shoot()).value < reference.score(half.shoot()).value


def test_a_text_free_screenshot_under_real_text_gets_nothing(reference, page, studio):
    assert reference.score(studio.variants(page)["screenshot-under-text"].shoot()).value == 0
