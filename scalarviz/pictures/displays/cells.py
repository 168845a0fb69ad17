"""Numbers as cells in the colors of the view, color scales, and matrices as PNG."""

from __future__ import annotations

import math

import numpy as np

from scalarviz.base.checks.numbers import FloatArray
from scalarviz.pictures.displays.page import number_text
from scalarviz.pictures.displays.svg import LOOK, NORMAL, SvgDrawing, width_of
from scalarviz.pictures.draw2d.colors import contrast, rgb, spread, to_bytes
from scalarviz.pictures.draw2d.png import png

MOST_EXACT = 200  # up to so many numbers, the scale ends at the largest
MOST_PIXELS = 150_000
WHITE, BLACK = "#ffffff", "#000000"  # one of them has a contrast of at least 4.5 on any color


def scale_of(values: FloatArray) -> float:
    """Return the number of an array that has the strongest color."""
    return spread(values, 100.0 if values.size <= MOST_EXACT else 98.0)


def color_of(value: float, scale: float) -> str:
    """Return the color of a number; that of `scale` is the strongest one."""
    return "#" + to_bytes(LOOK.map(value, scale)).tobytes().hex()


def ink_on(color: str) -> str:
    """Return white or black, whichever has more contrast with a color."""
    white, black = contrast(rgb((color,)), rgb((WHITE, BLACK)))
    return WHITE if white > black else BLACK


def cell(
    drawing: SvgDrawing,
    box: tuple[float, float, float, float],
    value: float,
    scale: float,
    size: float = NORMAL,
    radius: float = 4.0,
) -> None:
    """Draw a number in a cell of its color; `box` is x, y, width and height."""
    x, y, width, height = box
    color = color_of(value, scale)
    drawing.rect(x, y, width, height, color, radius=radius, kind="cell")
    texts = [number_text(value, digits) for digits in (3, 2, 1)]
    text = next((text for text in texts if width_of(text, size) <= width - 4), texts[-1])
    middle = y + height / 2 + 0.36 * size
    drawing.text(x + width / 2, middle, text, size, color=ink_on(color), anchor="middle")


def pixels(values: FloatArray, scale: float, side: int) -> bytes:
    """Return a matrix as PNG, `side` pixels per number; a huge matrix is averaged in blocks."""
    apart = math.ceil(math.sqrt(values.size / MOST_PIXELS))
    if apart > 1:
        for axis, length in enumerate(values.shape):
            starts = np.arange(0, length, apart)
            widths = np.diff([*starts, length]).reshape(-1, *[1] * (1 - axis))
            values = np.add.reduceat(values, starts, axis) / widths
    colors = to_bytes(LOOK.map(values, scale))
    return png(colors.repeat(side, axis=0).repeat(side, axis=1))
