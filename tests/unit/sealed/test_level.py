"""The shortcuts of a comparison give what the whole way gives, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from sealed import pictures
from sealed.colour import lab_of
from sealed.level import Strip, level
from sealed.pictures import Sought, compare
from sealed.pixels import Layers, canvas, whole


def drawn(rng, height, width):
    picture = np.full((height, width, 3), rng.integers(180, 256, 3), np.uint8)
    for _ in range(int(rng.integers(1, 20))):
        y, x = rng.integers(0, height), rng.integers(0, width)
        picture[y : y + rng.integers(1, 200), x : x + rng.integers(1, 300)] = rng.integers(0, 256, 3)
    return picture


def flat_rows(rng, height, width):
    """One colour, or strips of several."""
    picture = np.full((height, width, 3), rng.integers(0, 256, 3), np.uint8)
    for _ in range(int(rng.integers(0, 4))):
        top = rng.integers(0, height)
        picture[top : top + rng.integers(1, 200)] = rng.integers(0, 256, 3)
    return picture


def same(one, other):
    assert one.value == other.value
    assert one.lost == other.lost
    assert np.array_equal(one.motion.down, other.motion.down)
    assert np.array_equal(one.motion.right, other.motion.right)
    assert np.array_equal(one.field.lab, other.field.lab)
    assert np.array_equal(one.field.spread, other.field.spread)


@pytest.mark.parametrize("seed", range(24))
def test_a_strip_stands_for_a_level_picture(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    height, width = int(rng.integers(40, 700)), int(rng.integers(200, 900))
    sought = Sought.of(drawn(rng, height, width))
    tall = height if seed % 3 else int(rng.integers(40, 900))
    wide = width if seed % 4 else int(rng.integers(200, 1000))
    candidate = flat_rows(rng, tall, wide)
    short = compare(sought, candidate)
    monkeypatch.setattr(pictures.Strip, "of", lambda *_: None)
    same(short, compare(sought, candidate))


@pytest.mark.parametrize("seed", range(8))
def test_the_layers_of_a_strip_are_those_of_the_picture(seed):
    rng = np.random.default_rng(seed)
    height, width = int(rng.integers(40, 500)), int(rng.integers(260, 900))
    page = canvas(flat_rows(rng, height, width), whole(height), whole(width))
    strip = Strip.of(page, width)
    one, other = strip.layers(page), Layers.of(page)
    for name in ("luma", "halves", "cells"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
    assert np.array_equal(strip.spread(lab_of(strip.picture), 4), lab_of(page))


@pytest.mark.parametrize("seed", range(8))
def test_an_equal_picture_needs_no_search(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    picture = drawn(rng, int(rng.integers(40, 500)), int(rng.integers(40, 500)))
    sought = Sought.of(picture)
    short = compare(sought, picture.copy())
    assert short.value == 1.0
    assert short.lost == 0.0
    monkeypatch.setattr(pictures.np, "array_equal", lambda *_: False)
    whole_way = compare(sought, picture)
    monkeypatch.undo()
    same(short, whole_way)


def test_a_picture_with_anything_in_it_is_not_level():
    picture = np.full((256, 512, 3), 200, np.uint8)
    assert level(picture)
    picture[77, 300] = 201
    assert not level(picture)
    assert Strip.of(picture, 512) is None
    assert Strip.of(picture, 300) is not None
    assert Strip.of(picture, 100) is None
