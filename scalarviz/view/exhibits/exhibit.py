"""Exhibit: base class of the panels that show what a network has learned."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from rich.color import Color
from rich.color_triplet import ColorTriplet
from rich.segment import Segment
from rich.style import Style

from scalarviz.checks.numbers import FloatArray
from scalarviz.draw2d.canvas import Canvas2D
from scalarviz.draw2d.colors import MAPS, ColorMap, rgb, to_bytes
from scalarviz.draw2d.text_blocks import Block
from scalarviz.draw2d.theme import Theme
from scalarviz.view.scene.frame import Box

# Characters of increasing ink, for a terminal without colors.
INK = " .:-=+*#%@"


@dataclass(frozen=True)
class BlockStyle:
    """How to print an exhibit: a color map, or without color, in characters alone."""

    map: ColorMap = field(default=MAPS["dark"])
    color: bool = True

    @property
    def paper(self) -> FloatArray:
        """The background color."""
        background: FloatArray = rgb((self.map.background,))[0]
        return background


class Exhibit(ABC):
    """A panel beside the loss curve; `title` stands above it, `aside` at the right of the title.

    A subclass implements `block` and `paint`; it overrides the other methods for another size or
    for a summary in words.

    wide        whether it takes the full width of a terminal, above the loss
    loss_share  on a canvas, the largest share of the height that the loss curve above it takes
    """

    title: str
    aside: str = ""
    wide: ClassVar[bool] = False
    loss_share: ClassVar[float] = 0.4

    @abstractmethod
    def block(self, look: BlockStyle, width: int, height: int) -> Block:
        """Return the lines to print, `width` columns by `height` lines."""

    @abstractmethod
    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw it into a box of a canvas."""

    def words(self) -> list[str]:
        """Return a summary in plain text."""
        return []

    def lines(self, width: int, room: int) -> int:
        """Return the wanted number of lines, of `room` available."""
        return min(room * 2 // 3, 16)

    def columns(self, width: int, height: int) -> int:
        """Return the wanted number of columns, of `width`, in a panel of this inner height."""
        return width * 11 // 20

    def height(self, width: float) -> float:
        """Return the wanted height on a canvas for this width, both in logical pixels."""
        return 0.72 * width


def pixels(colors: FloatArray, look: BlockStyle) -> Block:
    """Return (rows, columns, 3) colors as characters of two pixels, one above the other."""
    colors = colors[: len(colors) // 2 * 2]
    if not look.color:
        light = colors.reshape(-1, 2, *colors.shape[1:]).mean(axis=(1, 3))
        return letters(light)
    codes = codes_of(colors)
    return [
        [Segment("▀", two_colors(*pair)) for pair in zip(upper, lower, strict=True)]
        for upper, lower in zip(codes[::2].tolist(), codes[1::2].tolist(), strict=True)
    ]


def letters(ink: FloatArray) -> Block:
    """Return numbers from 0 to 1 as characters of increasing ink."""
    places = np.nan_to_num(np.clip(ink, 0.0, 1.0) * (len(INK) - 1)).round().astype(int)
    return [[Segment("".join(INK[place] for place in row))] for row in places.tolist()]


def codes_of(colors: FloatArray) -> npt.NDArray[np.int64]:
    """Return colors as integers, with six bits a channel to keep the number of styles small."""
    parts = to_bytes(colors).astype(np.int64) & ~3
    codes: npt.NDArray[np.int64] = parts @ np.array([65536, 256, 1])
    return codes


@lru_cache(maxsize=2**15)
def two_colors(upper: int, lower: int) -> Style:
    """Return the style of a character with these colors in its upper and lower half."""
    return Style(color=color_of(upper), bgcolor=color_of(lower))


def color_of(code: int) -> Color:
    return Color.from_triplet(ColorTriplet(code >> 16, code >> 8 & 255, code & 255))


def resized(picture: FloatArray, rows: int, columns: int) -> FloatArray:
    """Resize a picture, (height, width, ...), to so many rows and columns.

    Shrinking averages pixels, enlarging repeats the nearest one.
    """
    for axis, count in enumerate((rows, columns)):
        size = picture.shape[axis]
        starts = np.arange(count) * size // count
        if count < size:
            shape = [-1 if i == axis else 1 for i in range(picture.ndim)]
            widths = np.diff(starts, append=size).reshape(shape)
            picture = np.add.reduceat(picture, starts, axis=axis) / widths
        else:
            picture = np.take(picture, starts, axis=axis)
    return picture
