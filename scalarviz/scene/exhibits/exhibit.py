"""Exhibit: base class of result plots; and the axes of plots."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, isfinite
from typing import ClassVar, NamedTuple, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import short as decimal
from scalarviz.scene.annotations import Border, draw_before
from scalarviz.scene.canvas.canvas2d import Canvas2D, Color
from scalarviz.scene.canvas.canvas2d import color as parts_of
from scalarviz.scene.canvas.palette import Theme, rgb
from scalarviz.scene.layout.division import Box

STAGE = 1280.0, 600.0  # reference size in pixels of the stage for widths of exhibits
LEAST = 0.72  # minimum fraction of such a width
LETTERS, RIGHT_YET = 12.0, 14.0  # text sizes in pixels
# Relative to the text size: a heading, the accuracy line, minimum height of the output at step 0,
# and the gaps above it and between OUT and target.
HEAD, VERDICT, LEAST_BEGUN, ABOVE, BESIDE = 1.6, 2.2, 0.4, 0.6, 0.67
DASHED = 2.0  # pixels around the output at step 0, for its dashes
LITTLE = 0.22  # side of the output at step 0, relative to OUT, if space is short
LEAST_PANEL = 230.0  # minimum width of a panel
HEADS_ROOM = 1.15  # maximum width of the word OUT, relative to OUT
FEW_RIGHT = 8  # maximum samples for a headline such as "3 of 4 right"
DOORS = 16.0 / LETTERS  # distance between lines that enter an exhibit
CORNER = 0.1  # corner radius of a square, relative to its side
RIM, WHITE = "#080b10", "#f0f4fa"  # around dots and marks, and the current one, in every theme


class Places(NamedTuple):
    """Positions of the parts of an exhibit: output, target, and the lines below them."""

    out: Box
    goal: Box
    foot: Box


@dataclass(frozen=True, eq=False)
class Exhibit(ABC):
    """A plot of a network's output next to its target, with accuracy and the output at step 0.

    Subclasses implement `paint`. They may override other methods to change the size, return a text
    summary, or mark the current sample. If inputs can be selected with the mouse, `paint` stores
    the painted boxes in `_boxes`, and `_inputs_in` returns the inputs at a pixel of a box.

    Attributes:
        first: the exhibit at step 0, or None
        by_hand: whether `first` is the exhibit before the user dragged something
        says: whether the exhibit writes the accuracy; otherwise a headline does
        awaits: whether the shown step has not computed the output yet
        wide: preferred width in a stage of 1280 x 600 pixels
        most: maximum fraction of the stage's width
        small: side of the output at step 0, as a fraction of the side of the output
        lines: number of lines that connect the outputs to the exhibit
    """

    first: Exhibit | None = field(default=None, kw_only=True)
    by_hand: bool = field(default=False, kw_only=True)
    says: bool = field(default=True, kw_only=True)
    awaits: bool = field(default=False, kw_only=True)
    _boxes: list[Box] = field(default_factory=list, repr=False, compare=False, kw_only=True)
    wide: ClassVar[float] = 320.0
    most: ClassVar[float] = 0.34
    small: ClassVar[float] = LITTLE
    lines: ClassVar[int] = 1

    @abstractmethod
    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw the exhibit into a box of a canvas, on the background of the picture."""

    def places(self, box: Box, scale: float) -> Places:
        """Return the positions of the exhibit's parts in a box; `scale` is the font size."""
        return self.pair(box, scale)

    def paint_answer(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw only the output, without samples; default: the whole exhibit."""
        self.paint(canvas, box, theme)

    def above(self, box: Box, scale: float, high: float) -> tuple[Exhibit, Box, Box | None]:
        """Make room for a panel below; return the exhibit, its box, and the panel's box or None.

        Args:
            high: height of the panel
        """
        rest = box.height - high - BESIDE * LETTERS * scale
        if high > rest or box.width < LEAST_PANEL * scale:
            return self, box, None
        upper = Box(box.x, box.y, box.width, rest)
        return self.after(None), upper, Box(box.x, box.bottom - high, box.width, high)

    def doors(self, box: Box, scale: float) -> list[tuple[float, float]]:
        """Return the points on the left edge of the output at which lines from the network end.

        Args:
            box: box of the exhibit
            scale: font size, as in `Division`
        """
        out = self.places(box, scale).out
        middle, apart = out.y + 0.5 * out.height, DOORS * LETTERS * scale
        apart = min(apart, out.height / (self.lines + 1))
        return [(out.x, middle + (i - 0.5 * (self.lines - 1)) * apart) for i in range(self.lines)]

    def words(self) -> list[str]:
        """Return a summary in plain text; default: the accuracy."""
        return [verdict] if (verdict := self.verdict()) else []

    def after(self, first: Exhibit | None) -> Exhibit:
        """Return a copy with another exhibit as the state at step 0."""
        return replace(self, first=first)

    @property
    def since(self) -> str:
        """Label of `first`: the start, or before the user's change."""
        return text("headline.before") if self.by_hand else text("headline.start")

    def details(self, box: Box, scale: float) -> Box | None:
        """Return the area in which a click opens details, or None."""
        return None

    def in_detail(self) -> Exhibit:
        """Return a copy that shows all details."""
        return self

    @property
    def border(self) -> Border | None:
        """The boundary between two answers such as yes and no; None for other outputs."""
        return None

    @property
    def heads(self) -> list[str]:
        """Candidate titles above the output; the first one that fits is drawn."""
        return [text("picture.out")]

    def headed(self) -> Exhibit:
        """Return a copy to draw below its headline; it may omit the accuracy."""
        return self

    def verdict(self) -> str:
        """Return the accuracy or error: "246 of 250 right", "off by .03"; "" if unknown."""
        score, off = self.score(), self.off()
        if score is not None:
            return text("exhibits.right", right=score[0], count=score[1])
        return "" if off is None or not isfinite(off) else text("outputs.off", error=decimal(off))

    def headline(self, things: str) -> tuple[str, str, str, bool] | None:
        """Return the metric, its values at the start and now, and whether it has improved.

        Args:
            things: name of the samples

        Returns None if the value at the start is unknown.
        """
        first, score = self.first, self.score()
        if first is None:
            return None
        begun = first.score()
        if score is not None and begun is not None:
            is_better = score[0] > begun[0] or (
                score[0] == begun[0] and (self.by_hand or self.off() == first.off())
            )
            if score[1] > FEW_RIGHT:
                said = text("headline.right", count=score[1], things=things)
                return said, str(begun[0]), str(score[0]), is_better
            before, after = (
                text("exhibits.right.short", right=right, count=count)
                for right, count in (begun, score)
            )
            return text("headline.answers"), before, after, is_better
        off, was = self.off(), first.off()
        if off is None or was is None or not isfinite(off + was):
            return None
        said = text("headline.off", things=things)
        return said, decimal(was), decimal(off), off <= was

    def aside(self) -> str:
        """Return an addition to the headline, such as the accuracy of known classes, or ""."""
        return ""

    def score(self) -> tuple[int, int] | None:
        """Return the number of right samples and of all samples; None if not applicable."""
        return None

    def off(self) -> float | None:
        """Return the mean absolute error of the predictions; None if unknown."""
        return None

    def wanted(self, width: float, height: float) -> float:
        """Return the preferred width in a stage of this size, in logical pixels."""
        scale = min(width / STAGE[0], height / STAGE[1])
        return min(self.wide * max(scale, LEAST), self.most * width)

    def marked(
        self,
        inputs: FloatArray,
        outputs: FloatArray | None = None,
        target: FloatArray | None = None,
    ) -> Exhibit:
        """Return a copy that marks the current sample, with prediction and target if known."""
        return self

    def inputs_at(self, x: float, y: float) -> Mapping[int, float]:
        """Return the inputs at a pixel of the last painted map, by input index.

        The result is empty outside the map, and always empty by default.
        """
        box = next((each for each in self._boxes if each.has(x, y)), None)
        return {} if box is None else self._inputs_in(box, x, y)

    def _inputs_in(self, box: Box, x: float, y: float) -> Mapping[int, float]:
        """Return the inputs at a pixel of a painted box, by input index."""
        return {}

    # OUT, target, and the lines below them.

    def pair(
        self,
        box: Box,
        scale: float,
        *,
        aspect: float = 1.0,
        most: float = inf,
        count: int = 2,
        more: float = 0.0,
        beside: float = BESIDE,
    ) -> Places:
        """Return the positions of output and target, side by side in the middle of a box.

        Args:
            aspect: aspect ratio of output and target
            most: maximum width of each
            count: 1 to leave out the target, otherwise 2
            more: height of other contents between output and accuracy
            beside: distance between output and target, relative to the text size

        If space is short, the output at step 0 is left out first, then `more`, then the accuracy.
        """
        size = LETTERS * scale
        head, gap = HEAD * size, beside * size * (count - 1)
        row = min(most, (box.width - gap) / count)
        widest = min(row, aspect * (box.height - head))
        wide, below = widest, 0.0
        lines = VERDICT * size if self.says and self.verdict() else 0.0
        line = (ABOVE + HEAD) * size * (self.first is not None)
        parts = self.small, min(self.small, LITTLE), 0.0
        begun = [(lines + more + line, part) for part in parts if self.first is not None]
        for rest, part in (*begun, (lines + more, 0.0), (lines, 0.0)):
            high = (box.height - head - rest) / (1.0 + part)
            if min(row, aspect * high) >= 0.5 * widest:
                wide = min(row, aspect * high)
                below = rest + part * wide / aspect
                break
        wide = max(1.0, wide)
        high = wide / aspect
        free = min(0.5 * (box.height - high), box.height - below - high) if count > 1 else 0.0
        top = box.y + max(head, free)
        left = box.x + 0.5 * (box.width - count * wide - gap)
        out, goal = (Box(left + i * (wide + gap), top, wide, high) for i in (0, count - 1))
        return Places(out, goal, Box(box.x, top + high, box.width, below))

    def paint_heads(self, canvas: Canvas2D, places: Places, theme: Theme) -> None:
        """Write titles above output and target; an output not computed yet has a dashed frame."""
        size, out = letter_size(canvas), places.out
        if self.awaits and places.goal != out:
            draw_before(canvas, theme, out.corners)
        room = places.out.width
        if places.goal != places.out:
            room = min(HEADS_ROOM * room, places.goal.x - places.out.x - 0.3 * size)
        own = canvas.first_fit(self.heads, room, size=size, bold=True)
        heads = [(places.out, own)]
        if places.goal != places.out:
            heads.append((places.goal, text("exhibits.swatches.target")))
        for place, words in heads:
            canvas.text(
                place.x + 0.5 * place.width,
                place.y - 0.5 * size,
                words,
                size=size,
                color=theme.ink,
                bold=True,
                anchor="center",
                room=room,
            )

    def paint_foot(self, canvas: Canvas2D, places: Places, theme: Theme, more: float = 0.0) -> None:
        """Write the accuracy, and draw the output at step 0 below it.

        Args:
            more: height of other contents below the accuracy
        """
        size, foot = letter_size(canvas), places.foot
        large, words = RIGHT_YET / LETTERS * size, self.verdict() if self.says else ""
        if words and foot.height < VERDICT * size:
            return
        middle = 0.5 * (places.out.x + places.goal.right)
        if words:
            canvas.text(
                middle,
                foot.y + 1.6 * size,
                words,
                size=large,
                color=theme.ink,
                bold=True,
                anchor="center",
                room=2.0 * min(middle - foot.x, foot.right - middle),
            )
        out, low = places.out, foot.y + VERDICT * size * bool(words) + more + (ABOVE + HEAD) * size
        edge = DASHED * canvas.scale
        part = max(0.0, min(self.small, (foot.bottom - low - edge) / out.height))
        wide = max(0.0, part * out.width - 2.0 * edge)
        box = Box(out.x + edge, low + edge, wide, wide * out.height / out.width)
        if self.first is not None and low <= foot.bottom + 0.5:
            self._paint_begun(canvas, self.first, box, theme, foot)

    def _paint_begun(
        self, canvas: Canvas2D, first: Exhibit, box: Box, theme: Theme, foot: Box
    ) -> None:
        """Draw the output at step 0 in a dashed frame, with a sentence on its accuracy.

        The sentence is to the right of the frame or above it, inside `foot`. A low box shows only
        text.
        """
        size, said = letter_size(canvas), first.verdict()
        left, right = box.right + 1.5 * size, foot.right
        lines = canvas.broken(said, right - left, 2, size=size, bold=True) if right > left else []
        wide = canvas.widest([*lines, ""], size=size, bold=True)
        words = text("exhibits.begun", since=self.since)
        if " ".join(lines) != said or wide > right - left or box.height < 3.0 * size:
            said, lines = f"{words}: {said}", []
            words = canvas.first_fit(
                [said, f"{self.since}: {first.verdict()}"], foot.width, size=size
            )
        x = max(foot.x, min(box.x, right - canvas.measure(words, size=size)))
        canvas.text(x, box.y - 0.6 * size, words, size=size, color=theme.quiet, room=right - x)
        if box.height < LEAST_BEGUN * size:
            return
        first.paint_answer(canvas, box, theme)
        draw_before(canvas, theme, box.corners)
        for i, line in enumerate(lines):
            y = box.y + 0.5 * box.height + (1.4 * (i - 0.5 * (len(lines) - 1)) + 0.36) * size
            canvas.text(left, y, line, size=size, color=theme.former, bold=True)


def mean_error(outputs: FloatArray, targets: FloatArray) -> float:
    """Return the mean absolute error over all samples and outputs."""
    with np.errstate(over="ignore", invalid="ignore"):  # targets may be beyond float32
        return float(np.abs(outputs - targets).mean())


def in_rows(count: int, *rows: FloatArray | None) -> FloatArray:
    """Stack rows of `count` numbers in an array, with NaN for rows that are None."""
    return np.stack([np.full(count, np.nan) if each is None else each for each in rows])


def letter_size(canvas: Canvas2D) -> float:
    """Return the text size in pixels."""
    return LETTERS * canvas.scale


# Axes: names and numbers around a plot, and the key below it.

LINE_PITCH = 1.5  # line spacing of text, relative to its size
MOST_LEFT = 0.2  # maximum fraction of the width for the numbers on the left

Key = tuple[str, Color, str]  # a kind of mark, as in `paint_key`, its color, and its meaning


@final
@dataclass(frozen=True)
class Axes:
    """The names of the x and y axes, and the numbers at their ends."""

    names: tuple[str, str]
    low: tuple[float, float]
    high: tuple[float, float]

    def plot(self, canvas: Canvas2D, box: Box) -> Box:
        """Return the part of a box inside the axes, available for the plot."""
        size = letter_size(canvas)
        words = (self.names[1], short(self.low[1]), short(self.high[1]))
        left = max(canvas.measure(each, size=size) for each in words) + 0.5 * size
        left = left if left <= MOST_LEFT * box.width else 0.0
        return Box(box.x + left, box.y, box.width - left, box.height - LINE_PITCH * size)

    def paint(self, canvas: Canvas2D, box: Box, plot: Box, theme: Theme) -> None:
        """Draw the frame of the plot, and the axis names and numbers around it."""
        size, quiet = letter_size(canvas), theme.quiet
        canvas.box(*plot.place, None, outline=theme.faint)
        right = plot.x - 0.5 * size
        if right > box.x:
            middle = plot.y + 0.5 * plot.height + 0.36 * size
            for words, y, color in (
                (short(self.high[1]), plot.y + 0.8 * size, quiet),
                (self.names[1], middle, theme.ink),
                (short(self.low[1]), plot.bottom, quiet),
            ):
                canvas.text(right, y, words, size=size, color=color, anchor="right")
        base = plot.bottom + 1.2 * size
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
    """Return a number with three significant digits, without exponent below a million: "1320"."""
    return f"{float(f'{value:.3g}'):g}"


def paint_key(canvas: Canvas2D, box: Box, marks: Sequence[Key], theme: Theme) -> None:
    """Draw the key of the plot in one line at the top of a box, with the entries that fit.

    Args:
        marks: entries as (kind, color, meaning), with kind "dot", "ring", "cross" or "line"
    """
    size = letter_size(canvas)
    wide = sum(canvas.measure(words, size=size) + 2.3 * size for _, _, words in marks) - 1.2 * size
    x, middle = box.x + max(0.0, 0.5 * (box.width - wide)), box.y + 0.6 * size
    for kind, color, words in marks:
        if x + 1.1 * size + canvas.measure(words, size=size) > box.right:
            break
        if kind == "cross":
            place = np.array([[x + 0.36 * size, middle]])
            paint_crosses(canvas, place, 0.28 * size, np.array([parts_of(color)[:3]]), theme.ground)
        elif kind == "line":
            canvas.segments([(x, middle)], [(x + 0.7 * size, middle)], color, width=0.16 * size)
        else:
            fill, outline, line = (None, color, 0.16) if kind == "ring" else (color, RIM, 0.09)
            radius = 0.36 * size
            canvas.discs((x + radius, middle), radius, fill, outline=outline, line=line * size)
        x += 1.1 * size
        x += canvas.text(x, box.y + size, words, size=size, color=theme.quiet) + 1.2 * size


def paint_crosses(
    canvas: Canvas2D, xy: FloatArray, half: float, colors: FloatArray, rim: str = RIM
) -> None:
    """Draw crosses with an outline around (n, 2) points, in order; `colors` is (n, 3)."""
    ways = half * np.array([(1.0, 1.0), (1.0, -1.0)] * 2)
    start, end = (np.repeat(xy, 4, axis=0) + side * np.tile(ways, (len(xy), 1)) for side in (-1, 1))
    paints = np.stack([np.tile(rgb((rim,)), (len(xy), 1)), colors], axis=1)
    wide = np.tile(half * np.array([0.9, 0.9, 0.5, 0.5]), len(xy))
    canvas.segments(start, end, np.repeat(paints.reshape(-1, 3), 2, axis=0), width=wide)


def paint_shown(canvas: Canvas2D, x: float, y: float, radius: float) -> None:
    """Draw the dot of the current sample."""
    canvas.discs((x, y), radius, WHITE, outline=RIM, line=0.25 * radius)
