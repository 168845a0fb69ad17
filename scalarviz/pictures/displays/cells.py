"""Numbers as cells in the colors of the view, color scales, and matrices as PNG."""

from __future__ import annotations

import math
import struct
import zlib
from dataclasses import dataclass

import numpy as np

from scalarviz.base.checks.numbers import FloatArray
from scalarviz.pictures.displays.page import number_text
from scalarviz.pictures.displays.svg import LOOK, NORMAL, SvgDrawing, width_of
from scalarviz.pictures.draw2d.colors import contrast, rgb, spread, to_bytes

MOST_EXACT = 200  # up to so many numbers, the scale ends at the largest
MOST_PIXELS = 150_000
WHITE, BLACK = "#ffffff", "#000000"  # one of them has a contrast of at least 4.5 on any color


@dataclass(frozen=True)
class Scale:
    """A color scale: the number with the strongest color."""

    end: float

    @staticmethod
    def of(values: FloatArray) -> Scale:
        """Return the scale for an array."""
        return Scale(spread(values, 100.0 if values.size <= MOST_EXACT else 98.0))

    def color(self, value: float) -> str:
        """Return the color of a number."""
        return "#" + to_bytes(LOOK.map(value, self.end)).tobytes().hex()


def ink_on(color: str) -> str:
    """Return white or black, whichever has more contrast with a color."""
    white, black = contrast(rgb((color,)), rgb((WHITE, BLACK)))
    return WHITE if white > black else BLACK


def cell(
    drawing: SvgDrawing,
    box: tuple[float, float, float, float],
    value: float,
    scale: Scale,
    size: float = NORMAL,
    radius: float = 4.0,
) -> None:
    """Draw a number in a cell of its color; `box` is x, y, width and height."""
    x, y, width, height = box
    color = scale.color(value)
    drawing.rect(x, y, width, height, color, radius=radius, kind="cell")
    texts = [number_text(value, digits) for digits in (3, 2, 1)]
    text = next((text for text in texts if width_of(text, size) <= width - 4), texts[-1])
    middle = y + height / 2 + 0.36 * size
    drawing.text(x + width / 2, middle, text, size, color=ink_on(color), anchor="middle")


def pixels(values: FloatArray, scale: Scale, side: int) -> bytes:
    """Return a matrix as PNG, `side` pixels per number; a huge matrix is averaged in blocks."""
    apart = math.ceil(math.sqrt(values.size / MOST_PIXELS))
    if apart > 1:
        for axis, length in enumerate(values.shape):
            starts = np.arange(0, length, apart)
            widths = np.diff([*starts, length]).reshape(-1, *[1] * (1 - axis))
            values = np.add.reduceat(values, starts, axis) / widths
    colors = to_bytes(LOOK.map(values, scale.end))
    return png(colors.repeat(side, axis=0).repeat(side, axis=1))


def png(colors: np.typing.NDArray[np.uint8]) -> bytes:
    """Return colors (row, column, 3) as a PNG file."""
    height, width, _ = colors.shape
    lines = np.zeros((height, 1 + 3 * width), np.uint8)  # filter type 0 at the start of each line
    lines[:, 1:] = colors.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
