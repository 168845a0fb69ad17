"""Colours of signed numbers and of classes: what can be read off them, for the colour-blind too."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from scalarviz.base.checks import FloatArray
from scalarviz.scene.canvas.palette import (
    CLASSES_ON_DARK,
    CLASSES_ON_LIGHT,
    MAPS,
    THEMES,
    ColorMap,
    Theme,
    class_colors,
    contrast,
    linear,
    rgb,
    to_bytes,
)

LMS_FROM_LINEAR = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
LAB_FROM_LMS = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
LINEAR_FROM_LMS = np.linalg.inv(LMS_FROM_LINEAR)
LMS_FROM_LAB = np.linalg.inv(LAB_FROM_LMS)


def oklab(colors: FloatArray) -> Any:
    """Convert sRGB to Oklab: lightness, green to red, blue to yellow."""
    return np.cbrt(linear(colors) @ LMS_FROM_LINEAR.T) @ LAB_FROM_LMS.T


def srgb(lab: FloatArray) -> FloatArray:
    """Convert Oklab to sRGB; channels outside of the gamut are clipped."""
    light = np.clip((lab @ LMS_FROM_LAB.T) ** 3 @ LINEAR_FROM_LMS.T, 0.0, 1.0)
    curved: FloatArray = 1.055 * light ** (1 / 2.4) - 0.055
    return np.where(light <= 0.0031308, light * 12.92, curved)


def cielab(colors: FloatArray) -> FloatArray:
    """Convert sRGB to CIELAB under D65."""
    light = linear(colors) @ np.array(
        [
            [0.4124564, 0.2126729, 0.0193339],
            [0.3575761, 0.7151522, 0.1191920],
            [0.1804375, 0.0721750, 0.9503041],
        ]
    )
    part = light / [0.95047, 1.0, 1.08883]
    f = np.where(part > 216 / 24389, np.cbrt(part), (24389 / 27 * part + 16) / 116)
    x, y, z = np.moveaxis(f, -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def difference(one: FloatArray, other: FloatArray) -> Any:
    """CIEDE2000 of pairs in CIELAB (Sharma, Wu, Dalal, 2005)."""
    (l1, a1, b1), (l2, a2, b2) = (
        np.moveaxis(np.asarray(one), -1, 0),
        np.moveaxis(np.asarray(other), -1, 0),
    )
    grey = 0.5 * (np.hypot(a1, b1) + np.hypot(a2, b2))
    more = 1.5 - 0.5 * np.sqrt(grey**7 / (grey**7 + 25.0**7))
    c1, c2 = np.hypot(more * a1, b1), np.hypot(more * a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, more * a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = np.where(c1 * c2 == 0, 0.0, (h2 - h1 + 180) % 360 - 180)
    h = np.where(c1 * c2 == 0, h1 + h2, h1 + 0.5 * turn)
    light, c = 0.5 * (l1 + l2), 0.5 * (c1 + c2)
    wave = sum(
        part * np.cos(np.radians(times * h + start))
        for part, times, start in ((-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.20, 4, -63))
    )
    sl = 1 + 0.015 * (light - 50) ** 2 / np.sqrt(20 + (light - 50) ** 2)
    dl, dc = (l2 - l1) / sl, (c2 - c1) / (1 + 0.045 * c)
    dh = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2)) / (1 + 0.015 * c * (1 + wave))
    around = np.exp(-((((h % 360) - 275) / 25) ** 2))
    mixed = -2 * np.sqrt(c**7 / (c**7 + 25.0**7)) * np.sin(np.radians(60 * around))
    return np.sqrt(dl**2 + dc**2 + dh**2 + mixed * dc * dh)


every_map = pytest.mark.parametrize("colors", MAPS.values(), ids=MAPS)
every_theme = pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
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


@every_theme
def test_blue_is_negative_and_orange_positive(theme: Theme) -> None:
    red, green, blue = np.moveaxis(theme.map(-SIZES[10:]), -1, 0)
    assert (blue > green).all() and (green > red).all()
    red, green, blue = np.moveaxis(theme.map(SIZES[10:]), -1, 0)
    assert (red > green).all() and (green > blue).all()


@every_theme
def test_teal_is_no_and_lime_is_yes(theme: Theme) -> None:
    for no in (theme.answers(-SIZES[20:]), rgb(theme.sides[:1])):
        red, green, blue = no.T
        assert (np.minimum(green, blue) > red).all()
    for yes in (theme.answers(SIZES[20:]), rgb(theme.sides[1:])):
        red, green, blue = yes.T
        assert (np.minimum(green, red) > blue).all()
    assert theme.answers.background == theme.ground


@every_map
def test_lightness_goes_one_way_from_zero_outward(colors: ColorMap) -> None:
    for sign in (-1.0, 1.0):
        steps = np.diff(oklab(colors(sign * SIZES))[:, 0])
        assert (steps > 0.0).all() or (steps < 0.0).all()


@every_theme
def test_every_value_stands_out_from_the_background_small_ones_too(theme: Theme) -> None:
    sizes = SIZES[SIZES >= 0.04]  # smaller ones have no sides
    halves = np.array([-0.5, 0.5])
    # Answers are areas: on light ground weak ones are pale, and what is strong is dark.
    for colors in (theme.map, theme.answers) if theme.is_dark else (theme.map,):
        ground = background(colors)
        assert contrast(colors(np.concatenate([-sizes, sizes])), ground).min() >= 2.2
        assert contrast(colors(halves), ground).min() >= 3.0
    ends, dots = theme.answers(2.0 * halves), rgb(theme.sides)
    assert contrast(ends, background(theme.answers)).min() >= 3.0
    # Samples have a dark rim: on a dark map they are bright, on a bright one they need the ground.
    assert contrast(dots, ends if not theme.is_dark else background(theme.answers)).min() >= 2.0


@every_theme
def test_words_can_be_read_on_all_that_is_below_them(theme: Theme) -> None:
    words = rgb((theme.ink, theme.soft, theme.quiet, theme.worse, theme.accent, theme.loss))
    for below in (theme.ground, theme.panel[:7], theme.chip, theme.tray):
        assert contrast(words, rgb((below,))[0]).min() >= 4.5
    former = contrast(rgb((theme.former,)), rgb((theme.ground, theme.panel[:7], theme.tray)))
    assert former.min() >= 4.5
    filled = rgb((theme.lit, theme.loss, theme.push))  # of the part of a step that runs
    assert contrast(filled, rgb((theme.ground,))[0]).min() >= 4.5
    ink, soft, quiet = contrast(rgb((theme.ink, theme.soft, theme.quiet)), rgb((theme.ground,))[0])
    assert ink > soft > quiet


@every_map
@pytest.mark.parametrize("kind", BLINDNESS)
def test_the_signs_differ_for_the_colour_blind(colors: ColorMap, kind: str) -> None:
    def seen(values: np.ndarray) -> np.ndarray:
        light = linear(colors(values)) @ np.array(BLINDNESS[kind]).T
        return oklab(np.clip(light, 0.0, 1.0) ** (1 / 2.2))

    sizes = SIZES[SIZES**colors.power >= 0.2**0.6]
    distance = np.linalg.norm(seen(sizes) - seen(-sizes), axis=-1)
    assert distance.min() > 0.08  # a difference of .02 can just be seen


def test_not_a_number_is_no_colour_of_the_map() -> None:
    assert MAPS["dark"]([np.nan]).tolist() == [[1.0, 0.0, 1.0]]
    assert to_bytes(np.full((1, 3), np.nan)).tolist() == [[255, 0, 255]]


def test_oklab_there_and_back_is_the_same_colour() -> None:
    cube = np.stack(np.meshgrid(*[np.linspace(0.0, 1.0, 6)] * 3), axis=-1)
    np.testing.assert_allclose(srgb(oklab(cube)), cube, atol=1e-6)


every_ground = pytest.mark.parametrize("ground", [row.background for row in MAPS.values()])


@every_ground
def test_each_stands_out_from_the_ground(ground: str) -> None:
    assert contrast(class_colors(np.arange(7), ground), rgb((ground,))[0]).min() >= 3.0


@every_ground
@pytest.mark.parametrize("kind", ["", *BLINDNESS])
def test_each_pair_differs_for_the_colour_blind(ground: str, kind: str) -> None:
    seen = linear(class_colors(np.arange(7), ground)) @ np.array(BLINDNESS.get(kind, np.eye(3))).T
    lab = oklab(np.clip(seen, 0.0, 1.0) ** (1 / 2.2))
    for i, j in combinations(range(7), 2):
        assert np.linalg.norm(lab[i] - lab[j]) > (0.1 if j < 3 else 0.06), (i, j)


@every_ground
def test_more_classes_than_colours_have_other_ones(ground: str) -> None:
    colors = class_colors(np.arange(3 * len(CLASSES_ON_DARK)), ground)
    assert len(CLASSES_ON_DARK) == len(CLASSES_ON_LIGHT) == 7
    assert len(np.unique(colors.round(2), axis=0)) == len(colors)
    assert colors.min() >= 0.0 and colors.max() <= 1.0


def test_no_number_is_magenta() -> None:
    assert class_colors([[np.nan, 0.0]], "#000000")[0, 0].tolist() == [1.0, 0.0, 1.0]
