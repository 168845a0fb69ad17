"""Exhibit: base class of the panels that show what a network has learned, and the axes of plots."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, final

from scalarviz.base.checks import FloatArray
from scalarviz.scene.canvas.canvas2d import Canvas2D, Color
from scalarviz.scene.canvas.palette import Theme
from scalarviz.scene.layout.division import Box

STAGE = 1280.0, 600.0  # pixels of the stage for which widths of exhibits are stated
LEAST, MOST = 0.72, 0.34  # smallest part of such a width, and largest share of the stage
LETTERS, SMALL_LETTERS = 13.0, 12.0  # sizes of text in pixels
SMALL = 1000.0, 560.0  # width and height in pixels below which a picture is small


class Exhibit(ABC):
    """What a network has learned: a picture beside the network, and some words for a terminal.

    A subclass implements `paint`; it overrides the other methods for another size, for a summary
    in words, or to mark the sample in use. Where the mouse finds inputs, it keeps the boxes that
    it has painted as `_boxes`, and `_inputs_in` says what a pixel of them stands for.

    title  stands above the words
    wide   wanted width in a stage of 1280 x 600 pixels
    """

    title: str
    wide: ClassVar[float] = 320.0
    _boxes: Sequence[Box] = ()

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
        return part_of_stage(self.wide, width, height)

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
        box = next((each for each in self._boxes if each.has(x, y)), None)
        return {} if box is None else self._inputs_in(box, x, y)

    def _inputs_in(self, box: Box, x: float, y: float) -> Mapping[int, float]:
        """Return the inputs at a pixel of one of the boxes that were painted last."""
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


# Axes: names and numbers around a plot, and the key below it.

LINE_PITCH = 1.5  # pitch of lines of text, relative to its size
MOST_LEFT = 0.2  # largest share of the width for the numbers at the left

Key = tuple[str, Color, str]  # "dot", "ring", "frame" or "line", its color, and its meaning


@final
@dataclass(frozen=True)
class Axes:
    """The names of the axes x and y, and the numbers at their ends.

    margin  pixels around the plot that are free for marks on its edge
    """

    names: tuple[str, str]
    low: tuple[float, float]
    high: tuple[float, float]
    margin: float = 0.0

    def plot(self, canvas: Canvas2D, box: Box) -> Box:
        """Return the part of a box that is left for the plot."""
        size = letter_size(canvas)
        words = (self.names[1], short(self.low[1]), short(self.high[1]))
        left = max(canvas.measure(each, size=size) for each in words) + 0.5 * size
        left = left if left <= MOST_LEFT * box.width else 0.0
        wide, high = box.width - left, box.height - LINE_PITCH * size
        return Box(box.x + left, box.y, wide, high).inside(self.margin)

    def paint(self, canvas: Canvas2D, box: Box, plot: Box, theme: Theme) -> None:
        """Draw the frame of the plot, and the names and numbers in the rest of the box."""
        size, quiet = letter_size(canvas), theme.quiet
        canvas.box(plot.x, plot.y, plot.width, plot.height, None, outline=theme.faint)
        right = plot.x - self.margin - 0.5 * size
        if right > box.x:
            middle = plot.y + 0.5 * plot.height + 0.36 * size
            for words, y, color in (
                (short(self.high[1]), plot.y + 0.8 * size, quiet),
                (self.names[1], middle, theme.ink),
                (short(self.low[1]), plot.bottom, quiet),
            ):
                canvas.text(right, y, words, size=size, color=color, anchor="right")
        base = plot.bottom + self.margin + 1.2 * size
        ends = [short(end) for end in (self.low[0], self.high[0])]
        wide = [canvas.measure(each, size=size) for each in (*ends, self.names[0])]
        if plot.width < wide[0] + wide[1] + size:
            return
        canvas.text(plot.x, base, ends[0], size=size, color=quiet)
        canvas.text(plot.right, base, ends[1], size=size, color=quiet, anchor="right")
        if plot.width > wide[2] + 2.0 * max(wide[:2]) + 2.0 * size:
            middle = plot.x + 0.5 * plot.width
            canvas.text(middle, base, self.names[0], size=size, color=theme.ink, anchor="center")


def short(value: float) -> str:
    """Return a number with three digits, in full below a million: "1320", as pages have it."""
    return f"{float(f'{value:.3g}'):g}"


def paint_key(canvas: Canvas2D, box: Box, marks: Sequence[Key], theme: Theme) -> None:
    """Draw what each mark stands for in one line, as many as fit, in the upper part of a box."""
    size = letter_size(canvas)
    x, middle = box.x, box.y + 0.6 * size
    for kind, color, words in marks:
        if x + 1.1 * size + canvas.measure(words, size=size) > box.right:
            break
        if kind == "frame":
            paint_frame(canvas, x + 0.36 * size, middle, 0.36 * size, color)
        elif kind == "line":
            canvas.segments([(x, middle)], [(x + 0.7 * size, middle)], color, width=0.16 * size)
        else:
            fill, outline = (None, color) if kind == "ring" else (color, None)
            radius = 0.36 * size
            line = 0.16 * size
            canvas.discs((x + radius, middle), radius, fill, outline=outline, line=line)
        x += 1.1 * size
        x += canvas.text(x, box.y + size, words, size=size, color=theme.quiet) + 1.2 * size


def key_rows(canvas: Canvas2D, marks: Sequence[Key], width: float) -> list[list[Key]]:
    """Return the marks in lines of at most this width, of which each mark can be one."""
    size = letter_size(canvas)
    rows: list[list[Key]] = []
    right = width
    for kind, color, words in marks:
        fitted = canvas.fit(words, width - 1.2 * size, size=size)
        wide = 1.1 * size + canvas.measure(fitted, size=size)
        if right + wide > width:
            rows.append([])
            right = 0.0
        rows[-1].append((kind, color, fitted))
        right += wide + 1.2 * size
    return rows


def paint_frame(canvas: Canvas2D, x: float, y: float, half: float, color: Color) -> None:
    """Draw the frame of the sample in use, a square around a point."""
    side, line = 2.0 * half, max(1.5, 0.2 * half)
    corner = 0.3 * half
    canvas.box(x - half, y - half, side, side, None, radius=corner, outline=color, line=line)
