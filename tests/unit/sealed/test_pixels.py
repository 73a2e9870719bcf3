"""Pictures are decoded whole, padded with white, and never resized."""

from __future__ import annotations

import numpy as np
import pytest

from sealed.pixels import Layers, Shot, canvas, decode, dominant, whole, window_sums
from store.errors import InputError


def test_a_picture_survives_its_png(studio):
    picture = studio.photo(33, 17, 2)
    assert np.array_equal(decode(studio.png(picture)), picture)


@pytest.mark.parametrize("spoil", [lambda data: data[:-40], lambda data: data[:30], lambda _: b"GIF89a", lambda _: b""])
def test_what_is_no_whole_png_is_refused(studio, spoil):
    with pytest.raises(InputError):
        decode(spoil(studio.png(studio.photo(64, 64, 1))))


def test_broken_pixel_data_is_refused(studio):
    data = bytearray(studio.png(studio.photo(64, 64, 1)))
    middle = len(data) // 2
    data[middle : middle + 64] = bytes(64)
    with pytest.raises(InputError):
        decode(bytes(data))


def test_an_enormous_picture_is_refused_before_it_is_unpacked(studio):
    data = bytearray(studio.png(studio.photo(8, 8, 1)))
    data[16:24] = (60_000).to_bytes(4) * 2
    with pytest.raises(InputError, match="too large"):
        decode(bytes(data))


def test_a_smaller_picture_is_padded_with_white_and_a_larger_one_cut(studio):
    picture = studio.photo(50, 40, 1)
    padded = canvas(picture, 64, 64)
    assert np.array_equal(padded[:40, :50], picture)
    assert (padded[40:] == 255).all()
    assert (padded[:, 50:] == 255).all()
    assert np.array_equal(canvas(picture, 64, 20)[:40], picture[:, :20])


def test_lengths_are_rounded_up_to_whole_tiles():
    assert [whole(length) for length in (1, 64, 65, 960)] == [64, 64, 128, 960]


@pytest.mark.parametrize("step", [2, 4])
def test_window_sums_are_sums_of_eight_by_eight(step):
    values = np.arange(64 * 64, dtype=np.uint16).reshape(64, 64) % 251
    sums = window_sums(values, step)
    assert sums.shape == (64 // step, 64 // step)
    at = 16 // step
    assert sums[at, at] == values[14:22, 14:22].sum()


def test_layers_hold_the_luma_of_white_as_white():
    layers = Layers.of(np.full((64, 64, 3), 255, np.uint8))
    assert (layers.luma == 255).all()
    assert (layers.halves == 255 * 16).all()
    assert (layers.cells == 255).all()


def test_the_dominant_colour_is_the_most_frequent():
    picture = np.full((64, 64, 3), (10, 20, 30), np.uint8)
    picture[:20] = (200, 0, 0)
    assert tuple(dominant(picture)) == (10, 20, 30)


def test_pictures_of_one_capture_must_have_one_size(studio):
    small, large = studio.photo(64, 64, 1), studio.photo(64, 65, 1)
    with pytest.raises(InputError, match="differ in size"):
        Shot(large, small, small)
