"""OKLab as its author defines it, in whole numbers."""

from __future__ import annotations

import numpy as np
import pytest

from sealed.colour import lab_of, lab_of_colour, to_linear

# Ottosson's published values for sRGB red, green, blue and white
PUBLISHED = [
    ((255, 255, 255), (1.0, 0.0, 0.0)),
    ((255, 0, 0), (0.62796, 0.22486, 0.12585)),
    ((0, 255, 0), (0.86644, -0.23389, 0.17950)),
    ((0, 0, 255), (0.45201, -0.03246, -0.31153)),
    ((0, 0, 0), (0.0, 0.0, 0.0)),
]


@pytest.mark.parametrize(("colour", "lab"), PUBLISHED)
def test_colours_have_their_published_values(colour, lab):
    assert lab_of_colour(np.array(colour, np.uint8)) / 4096 == pytest.approx(lab, abs=2e-4)


@pytest.mark.parametrize(("colour", "_lab"), PUBLISHED)
def test_a_flat_picture_is_its_colour_in_every_block(colour, _lab):
    picture = np.full((64, 128, 3), colour, np.uint8)
    assert lab_of(picture).shape == (16, 32, 3)
    assert (lab_of(picture) == lab_of_colour(np.array(colour, np.uint8))).all()


def test_linear_light_runs_from_nothing_to_full():
    light = to_linear(np.arange(256, dtype=np.uint8))
    assert light[0] == 0
    assert light[255] == 65535
    assert (np.diff(light.astype(int)) > 0).all()
