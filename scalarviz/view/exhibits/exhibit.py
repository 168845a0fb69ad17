"""What is learned, as something to look at: colours, a map of the plane, pictures, a curve."""

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

# How much of a character is ink, for a terminal without colours.
INK = " .:-=+*#%@"


@dataclass(frozen=True)
class BlockStyle:
    """The colours to use, or none: then signs, digits and letters say everything."""

    map: ColorMap = field(default=MAPS["dark"])
    color: bool = True

    @property
    def paper(self) -> FloatArray:
        """The colour behind everything."""
        background: FloatArray = rgb((self.map.background,))[0]
        return background


class Exhibit(ABC):
    """Something to look at beside the loss; `title` stands above it, `aside` to its right.

    A `wide` one takes all columns, with the loss below it. On a canvas the loss stands above it and
    takes at most `loss_share` of the height. A class needs `block` and `paint`; the other methods
    are for one that wants another size than these, or that letters can say.
    """

    title: str
    aside: str = ""
    wide: ClassVar[bool] = False
    loss_share: ClassVar[float] = 0.4

    @abstractmethod
    def block(self, look: BlockStyle, width: int, height: int) -> Block:
        """The lines to print."""

    @abstractmethod
    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw it on a canvas."""

    def words(self) -> list[str]:
        """The same in plain letters, as far as letters can say it."""
        return []

    def lines(self, width: int, room: int) -> int:
        """How many lines it would like to have, of so many."""
        return min(room * 2 // 3, 16)

    def columns(self, width: int, height: int) -> int:
        """How many columns it would like to have, of so many, in a panel so high inside."""
        return width * 11 // 20

    def height(self, width: float) -> float:
        """How many pixels high it would like to be on a canvas, so many pixels wide."""
        return 0.72 * width


def pixels(colors: FloatArray, look: BlockStyle) -> Block:
    """Small squares, (rows, columns, 3), two in every character, one above the other."""
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
    """Numbers from 0 to 1 as characters of more and more ink."""
    places = np.nan_to_num(np.clip(ink, 0.0, 1.0) * (len(INK) - 1)).round().astype(int)
    return [[Segment("".join(INK[place] for place in row))] for row in places.tolist()]


def codes_of(colors: FloatArray) -> npt.NDArray[np.int64]:
    """Colours as one integer each, to six bits a channel: fewer styles than colours."""
    parts = to_bytes(colors).astype(np.int64) & ~3
    codes: npt.NDArray[np.int64] = parts @ np.array([65536, 256, 1])
    return codes


@lru_cache(maxsize=2**15)
def two_colors(upper: int, lower: int) -> Style:
    """The style of a character whose upper half has one colour and its lower half another."""
    return Style(color=color_of(upper), bgcolor=color_of(lower))


def color_of(code: int) -> Color:
    return Color.from_triplet(ColorTriplet(code >> 16, code >> 8 & 255, code & 255))


def resized(picture: FloatArray, rows: int, columns: int) -> FloatArray:
    """A picture, (height, width, ...), with so many rows and columns.

    Smaller ones are averages, larger ones repeat the nearest pixel.
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
