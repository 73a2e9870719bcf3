"""Tiles are found where they went, and stay where nothing is better."""

from __future__ import annotations

import numpy as np
import pytest

from sealed.motion import FLOOR, carry, pay, search
from sealed.pixels import Layers


def noise(height, width):
    y, x = np.mgrid[0:height, 0:width].astype(np.int64)
    value = (x * x * 31 + y * y * 17 + x * y * 7) % 253
    return np.stack([value, (value * 3) % 256, (value * 5) % 256], -1).astype(np.uint8)


def smooth(height, width):
    """A picture that differs from itself at every shift, and the more the further."""
    y, x = np.mgrid[0:height, 0:width] / 9
    wave = 127 + 60 * np.sin(y + 0.3 * x) + 60 * np.cos(1.7 * x - 0.4 * y)
    return np.stack([wave, 255 - wave, wave], -1).astype(np.uint8)


def plain(height, width):
    """A picture with something different in every tile."""
    picture = np.full((height, width, 3), 240, np.uint8)
    for row in range(0, height - 40, 64):
        for column in range(0, width - 40, 64):
            shade = (row * 7 + column * 3) % 200
            picture[row + 12 : row + 40 + column % 13, column + 10 : column + 44 + row % 11] = (shade, 200 - shade, 90)
    return picture


def test_an_equal_picture_does_not_move():
    picture = Layers.of(plain(256, 320))
    found = search(picture, picture)
    assert not found.down.any()
    assert not found.right.any()


@pytest.mark.parametrize(("down", "right"), [(1, 0), (7, 0), (0, 5), (16, -3), (-9, 2)])
def test_a_shift_is_found_to_the_pixel(down, right):
    picture = smooth(320, 320)
    moved = np.roll(picture, (down, right), (0, 1))
    found = search(Layers.of(picture), Layers.of(moved))
    inner = np.s_[1:-1, 1:-1]
    assert (found.down[inner] == down).all()
    assert (found.right[inner] == right).all()


def test_a_block_far_away_is_found():
    picture = np.full((640, 640, 3), 250, np.uint8)
    picture[128:256, 128:384] = noise(128, 256)
    moved = np.full((640, 640, 3), 250, np.uint8)
    moved[448:576, 256:512] = noise(128, 256)
    found = search(Layers.of(picture), Layers.of(moved))
    assert (found.down[2:4, 2:6] == 320).all()
    assert (found.right[2:4, 2:6] == 128).all()


def test_carrying_undoes_the_move():
    picture = plain(320, 320)
    found = search(Layers.of(picture), Layers.of(np.roll(picture, (6, 0), (0, 1))))
    carried = carry(np.roll(picture, (6, 0), (0, 1)), found)
    assert np.array_equal(carried[64:256, 64:256], picture[64:256, 64:256])


@pytest.mark.parametrize("height", [64, 128, 640])
@pytest.mark.parametrize("width", [64, 256])
def test_candidates_and_references_of_any_height_are_no_trouble(height, width):
    for reference in (plain(256, width), plain(64, width)):
        found = search(Layers.of(reference), Layers.of(plain(height, width)))
        assert found.down.shape == (len(reference) // 64, width // 64)
        assert carry(plain(height, width), found).shape == reference.shape


def test_pay_is_full_in_place_and_never_below_its_floor():
    assert pay(0.0) == 1.0
    assert FLOOR < pay(10_000.0) + 1e-12 < FLOOR + 1e-6
    assert pay(5.0) > pay(50.0)
