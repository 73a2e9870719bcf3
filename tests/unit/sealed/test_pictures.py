"""Likeness is SSIM times agreement of colour, and exactly 1 between equals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import uniform_filter

from sealed.colour import lab_of
from sealed.pictures import Field, box_sums, content, likeness
from sealed.pixels import canvas


@pytest.fixture
def fields(studio):
    one, other = (canvas(studio.photo(256, 256, seed), 256, 256) for seed in (3, 5))
    return Field.of(lab_of(one)), Field.of(lab_of(other))


def test_box_sums_are_those_of_a_uniform_filter():
    values = (np.arange(40 * 30).reshape(40, 30) * 37 % 4096).astype(np.int32)
    expected = uniform_filter(values.astype(float), 5, mode="nearest") * 25
    assert np.array_equal(box_sums(values), np.rint(expected).astype(int))


def test_likeness_is_ssim_of_lightness_times_colour(fields):
    one, other = fields
    x, y = one.lab[..., 0] / 4096, other.lab[..., 0] / 4096
    mean = lambda values: uniform_filter(values, 5, mode="nearest")  # noqa: E731 - short, and used at once
    c1, c2 = 1e-4, 0.02**2
    covariance = mean(x * y) - mean(x) * mean(y)
    spread = mean(x * x) - mean(x) ** 2 + mean(y * y) - mean(y) ** 2
    ssim = (2 * mean(x) * mean(y) + c1) * (2 * covariance + c2)
    ssim /= (mean(x) ** 2 + mean(y) ** 2 + c1) * (spread + c2)
    off = (one.lab - other.lab) / 4096
    distance = np.sqrt(0.25 * off[..., 0] ** 2 + 2.25 * (off[..., 1] ** 2 + off[..., 2] ** 2))
    expected = np.clip(ssim, 0, 1) * (1 - np.minimum(distance, 0.2) / 0.2)
    assert likeness(one, other) == pytest.approx(expected, abs=1e-9)


def test_equal_pictures_are_exactly_alike(fields):
    assert (likeness(fields[0], fields[0]) == 1.0).all()


def test_likeness_is_symmetric(fields):
    assert np.array_equal(likeness(*fields), likeness(*reversed(fields)))


def test_plain_background_has_no_content_and_detail_has_all(fields):
    flat = np.full((64, 64, 3), 255, np.uint8)
    lab = lab_of(flat)
    assert (content(Field.of(lab), lab[0, 0]) == 0).all()
    assert content(fields[0], lab[0, 0]).max() == 1.0
