"""Exhibit: base class of the panels that show what a network has learned."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
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
from scalarviz.view.exhibits.on_card import NetworkOnCard
from scalarviz.view.scene.frame import Box

# Characters of increasing ink, for a terminal without colors.
INK = " .:-=+*#%@"

STAGE = 1280.0, 600.0  # pixels of the stage for which widths of exhibits are stated
LEAST, MOST = 0.72, 0.34  # smallest part of such a width, and largest share of the stage
LETTERS, SMALL_LETTERS = 13.0, 12.0  # sizes of text in pixels
SMALL = 1000.0, 560.0  # width and height in pixels below which a picture is small


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
    """What a network has learned: a picture at the right end of the stage, a panel in a terminal.

    A subclass implements `block` and `paint`; it overrides the other methods for another size, for
    a summary in words, or to mark the sample in use.

    title  stands above it in a terminal
    wide   whether it takes the full width of a terminal, above the loss
    """

    title: str
    wide: ClassVar[bool] = False

    @abstractmethod
    def block(self, look: BlockStyle, width: int, height: int) -> Block:
        """Return the lines to print, `width` columns by `height` lines."""

    @abstractmethod
    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw it into a box of a canvas, on the background of the picture."""

    def words(self) -> list[str]:
        """Return a summary in plain text."""
        return []

    def verdict(self) -> str:
        """Return how many of the samples are right, in words; "" if that has no meaning."""
        return ""

    def score(self) -> tuple[int, int] | None:
        """Return how many of the samples are right, and of how many; None without a meaning."""
        return None

    def lines(self, width: int, room: int) -> int:
        """Return the wanted number of lines, of `room` available."""
        return min(room * 2 // 3, 16)

    def columns(self, width: int, height: int) -> int:
        """Return the wanted number of columns, of `width`, in a panel of this inner height."""
        return width * 11 // 20

    def wanted(self, width: float, height: float) -> float:
        """Return the wanted width in a stage of this size, in logical pixels."""
        return part_of_stage(320.0, width, height)

    def marked(self, inputs: FloatArray, outputs: FloatArray, targets: FloatArray) -> Exhibit:
        """Return the exhibit with a mark at the sample in use; without one by default."""
        return self

    def on_card(self, card: NetworkOnCard) -> Exhibit:
        """Return the exhibit with maps that a graphics card draws; without any by default."""
        return self

    def inputs_at(self, x: float, y: float) -> Mapping[int, float]:
        """Return the inputs that a pixel stands for, by their places, where it was painted last.

        Empty outside; everywhere by default.
        """
        return {}


def part_of_stage(wanted: float, width: float, height: float) -> float:
    """Return a width for a stage of this size, in proportion to one of 1280 x 600 pixels."""
    scale = min(width / STAGE[0], height / STAGE[1])
    return min(wanted * max(scale, LEAST), MOST * width)


def stage_scale(width: float, height: float) -> float:
    """Return how much larger than one of 1280 x 600 pixels a stage is, at least 1."""
    return max(1.0, min(width / STAGE[0], height / STAGE[1]))


def letter_size(canvas: Canvas2D) -> float:
    """Return the size of text in pixels: smaller in a small picture, larger in a large one."""
    small = canvas.width < SMALL[0] or canvas.height < SMALL[1]
    return (SMALL_LETTERS if small else LETTERS) * canvas.scale


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
