"""landscape: the built-in picture, a sunset behind mountains and a lake, drawn by code.

It has what is hard to learn: sharp edges, fine detail, and smooth colours.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from scalarviz.checks.numbers import FloatArray

SIZE = 256
FINER = 3  # each pixel is the average of 3 x 3 points
HORIZON = 0.64

Color = tuple[float, float, float]

SKY: list[tuple[float, Color]] = [
    (0.00, (0.05, 0.04, 0.20)),
    (0.20, (0.20, 0.08, 0.42)),
    (0.38, (0.58, 0.13, 0.52)),
    (0.52, (0.95, 0.33, 0.38)),
    (0.64, (1.00, 0.72, 0.34)),
]
SUN: list[tuple[float, Color]] = [(0.26, (1.00, 0.95, 0.55)), (0.62, (0.98, 0.25, 0.45))]
SUN_X, SUN_Y, SUN_RADIUS = 0.5, 0.42, 0.20

# Back to front: colour, height of the ridge above the horizon, waves, shift.
RIDGES: list[tuple[Color, float, float, float]] = [
    ((0.46, 0.16, 0.50), 0.10, 2.0, 0.31),
    ((0.25, 0.10, 0.40), 0.07, 3.0, 0.77),
    ((0.10, 0.06, 0.26), 0.035, 5.0, 0.12),
]

# In front: position, top and height of each fir.
TREES = [
    (0.035, 0.52, 0.50),
    (0.105, 0.66, 0.36),
    (0.175, 0.78, 0.26),
    (0.925, 0.60, 0.42),
    (0.985, 0.70, 0.34),
    (0.855, 0.80, 0.24),
]


@cache
def landscape() -> npt.NDArray[np.uint8]:
    """Return the picture as 8-bit sRGB, shape (256, 256, 3)."""
    places = (np.arange(SIZE * FINER) + 0.5) / (SIZE * FINER)
    x, y = np.meshgrid(places, places)
    depth = np.maximum(y - HORIZON, 0.0)
    ripple = 0.5 + 0.5 * np.sin(2.0 * np.pi * 3.0 / (depth + 0.035))
    sway = np.where(y > HORIZON, 0.02 * (ripple - 0.5) * (1.0 + 6.0 * depth), 0.0)
    mirrored = np.where(y > HORIZON, HORIZON - depth * 1.35, y)
    colors = scenery(x + sway, mirrored)
    water = (y > HORIZON)[:, :, np.newaxis]
    dark = 0.62 + 0.18 * ripple[:, :, np.newaxis]
    green = np.array([0.02, 0.42, 0.46]) * (1.6 * depth * (0.4 + 0.6 * ripple))[:, :, np.newaxis]
    colors = np.where(water, colors * dark + green, colors)
    for tree in TREES:
        colors = paint(colors, fir(x, y, *tree), (0.02, 0.16, 0.17))
    blocks = colors.reshape(SIZE, FINER, SIZE, FINER, 3).mean(axis=(1, 3))
    picture: npt.NDArray[np.uint8] = np.round(np.clip(blocks, 0.0, 1.0) * 255.0).astype(np.uint8)
    return picture


def scenery(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return the colours above the water: sky, stars, sun and mountains."""
    colors = gradient(y, SKY)
    colors = paint(colors, stars(x, y), (1.0, 0.97, 0.88))
    inside = (x - SUN_X) ** 2 + (y - SUN_Y) ** 2 < SUN_RADIUS**2
    down = (y - SUN_Y) / SUN_RADIUS  # from -1 at its top to 1
    gap = (down > -0.1) & ((down * 4.5) % 1.0 < 0.14 + 0.30 * down)
    colors = np.where((inside & ~gap)[:, :, np.newaxis], gradient(y, SUN), colors)
    for color, height, waves, shift in RIDGES:
        colors = paint(colors, y > HORIZON - ridge(x, height, waves, shift), color)
    return colors


def ridge(x: FloatArray, height: float, waves: float, shift: float) -> FloatArray:
    """Return the height of a mountain ridge: zigzags in octaves."""
    result = np.zeros_like(x)
    for octave in range(5):
        finer = 2.0**octave
        place = (x + shift) * waves * finer * (1.0 + 0.13 * octave)
        result += abs(place % 1.0 - 0.5) * 2.0 * height / finer**0.9
    return result


def stars(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return where the stars are: in some cells of a grid, fewer of them further down."""
    cells = 28.0
    column, row = np.floor(x * cells), np.floor(y * cells)
    luck = [np.sin(column * a + row * b) * 43758.5453 % 1.0 for a, b in STAR_LUCK]
    radius = 0.0016 + 0.0022 * luck[2] ** 3
    across = (column + 0.2 + 0.6 * luck[0]) / cells - x
    along = (row + 0.2 + 0.6 * luck[1]) / cells - y
    there = luck[3] < 0.42 - 0.9 * row / cells
    return there & (across**2 + along**2 < radius**2)


def fir(x: FloatArray, y: FloatArray, middle: float, top: float, height: float) -> FloatArray:
    """Return where a fir is: branches that widen downwards, in steps."""
    down = (y - top) / height  # from 0 at its top to 1
    step = down * 9.0
    width = height * 0.22 * (0.55 * down + 0.45 * down * (step % 1.0) + 0.004)
    trunk = abs(x - middle) < 0.012 * height
    return (y > top) & ((abs(x - middle) < width) & (down < 1.0) | trunk)


STAR_LUCK = [(12.9898, 78.233), (39.346, 11.135), (73.156, 52.235), (27.168, 9.151)]


def gradient(y: FloatArray, stops: list[tuple[float, Color]]) -> FloatArray:
    """Return the colour at each height, interpolated between stops."""
    heights = [stop[0] for stop in stops]
    channels = zip(*[stop[1] for stop in stops], strict=True)
    return np.stack([np.interp(y, heights, channel) for channel in channels], axis=-1)


def paint(colors: FloatArray, where: FloatArray, color: Color) -> FloatArray:
    """Return the colours with another colour in some places."""
    return np.where(where[:, :, np.newaxis], np.array(color), colors)
