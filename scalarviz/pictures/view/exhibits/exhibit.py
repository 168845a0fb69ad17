"""Exhibit: base class of the panels that show what a network has learned."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from scalarviz.base.checks import FloatArray
from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.view.scene.frame import Box

STAGE = 1280.0, 600.0  # pixels of the stage for which widths of exhibits are stated
LEAST, MOST = 0.72, 0.34  # smallest part of such a width, and largest share of the stage
LETTERS, SMALL_LETTERS = 13.0, 12.0  # sizes of text in pixels
SMALL = 1000.0, 560.0  # width and height in pixels below which a picture is small


class Exhibit(ABC):
    """What a network has learned: a picture beside the network, and some words for a terminal.

    A subclass implements `paint`; it overrides the other methods for another size, for a summary
    in words, or to mark the sample in use.

    title  stands above the words
    """

    title: str

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

    def wanted(self, width: float, height: float) -> float:
        """Return the wanted width in a stage of this size, in logical pixels."""
        return part_of_stage(320.0, width, height)

    def marked(self, inputs: FloatArray) -> Exhibit:
        """Return the exhibit with a mark at the sample in use; without one by default."""
        return self

    def spot(self) -> tuple[float, float] | None:
        """Return the pixel of the sample in use, where it was painted last; None by default."""
        return None

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
