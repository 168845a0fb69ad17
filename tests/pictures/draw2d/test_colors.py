"""The colours of signed numbers: what a person must be able to read off them."""

import numpy as np
import pytest

from scalarviz.scene.canvas.palette import MAPS, ColorMap, contrast, linear, rgb, spread, to_bytes
from tests.pictures.draw2d.perception import oklab, srgb

every_map = pytest.mark.parametrize("colors", MAPS.values(), ids=MAPS)
SIZES = np.linspace(0.0, 1.0, 101)

# What a colour becomes without one kind of cone, in linear sRGB (Machado and others, 2009).
BLINDNESS = {
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def background(colors: ColorMap) -> np.ndarray:
    return rgb((colors.background,))[0]


@every_map
def test_blue_is_negative_and_orange_positive(colors: ColorMap) -> None:
    red, green, blue = np.moveaxis(colors(-SIZES[10:]), -1, 0)
    assert (blue > green).all() and (green > red).all()
    red, green, blue = np.moveaxis(colors(SIZES[10:]), -1, 0)
    assert (red > green).all() and (green > blue).all()


@every_map
def test_lightness_goes_one_way_from_zero_outward(colors: ColorMap) -> None:
    for sign in (-1.0, 1.0):
        steps = np.diff(oklab(colors(sign * SIZES))[:, 0])
        assert (steps > 0.0).all() or (steps < 0.0).all()


@every_map
def test_every_value_stands_out_from_the_background_zero_too(colors: ColorMap) -> None:
    values = np.concatenate([-SIZES, SIZES])
    assert contrast(colors(values), background(colors)).min() >= 3.0


@every_map
@pytest.mark.parametrize("kind", BLINDNESS)
def test_the_signs_differ_for_the_colour_blind(colors: ColorMap, kind: str) -> None:
    def seen(values: np.ndarray) -> np.ndarray:
        light = linear(colors(values)) @ np.array(BLINDNESS[kind]).T
        return oklab(np.clip(light, 0.0, 1.0) ** (1 / 2.2))

    sizes = SIZES[20:]
    distance = np.linalg.norm(seen(sizes) - seen(-sizes), axis=-1)
    assert distance.min() > 0.08  # a difference of .02 can just be seen


def test_not_a_number_is_no_colour_of_the_map() -> None:
    assert MAPS["dark"]([np.nan]).tolist() == [[1.0, 0.0, 1.0]]
    assert to_bytes(np.full((1, 3), np.nan)).tolist() == [[255, 0, 255]]


def test_oklab_there_and_back_is_the_same_colour() -> None:
    cube = np.stack(np.meshgrid(*[np.linspace(0.0, 1.0, 6)] * 3), axis=-1)
    np.testing.assert_allclose(srgb(oklab(cube)), cube, atol=1e-6)


@pytest.mark.parametrize("values", [[], [0.0, 0.0], [np.nan, np.inf]])
def test_a_scale_is_never_zero(values: list[float]) -> None:
    assert spread(values) == 1.0
