"""Plots of a network over its inputs: maps of a plane, and the graph of a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import ColorMap, Theme, class_colors, faded, rgb
from scalarviz.scene.exhibits.exhibit import (
    LETTERS,
    LINE_PITCH,
    Axes,
    Exhibit,
    Key,
    key_rows,
    letter_size,
    paint_frame,
    paint_key,
    short,
)
from scalarviz.scene.layout.division import Box

FAINT = 0.55  # color strength of the map; samples have full strength
STRONG = 0.8  # color strength of samples, on a canvas
FEW_SAMPLES = 8  # samples that are drawn large
LARGE, SMALL = 8.0, 4.0  # radius of a sample in pixels, next to text of 13 pixels
MOST_ROWS = 4  # lines of the key


@final
@dataclass(frozen=True)
class Plane(Exhibit):
    """A map of a network's output; below `middle` is blue, above is orange.

    With `classes`, the numbers are those of classes, each of which has a color of its own.

    values   (rows, columns), the outputs at cell centers; the first row is the top
    reach    distance from the middle to the strongest colors
    points   samples, one per row; (0, 0) is the lower left corner, (1, 1) the upper right
    targets  targets of the samples
    answers  one line of text per sample, if they are few
    names    of the two axes
    axes     the two inputs that they are; empty if the inputs are features, see `inputs_of`
    low      the lower left corner, `high` the upper right one
    outputs  outputs of the samples, if these are two classes; else empty
    focus    the sample in use, which is marked, as in `points`
    classes  names of the classes; empty if the outputs are not classes
    inputs_of  returns the inputs of points of the plane, in the numbers of the axes, or None
    tests    held-out samples, as in `points`; `test_targets` are their targets
    show_tests  whether these are drawn, hollow, too
    discrete  whether the map has the two strongest colors only
    """

    values: FloatArray
    middle: float
    reach: float
    points: FloatArray
    targets: FloatArray
    answers: Sequence[str] = ()
    title: str = ""
    names: tuple[str, str] = ("x", "y")
    axes: tuple[int, ...] = (0, 1)
    low: tuple[float, float] = (0.0, 0.0)
    high: tuple[float, float] = (1.0, 1.0)
    outputs: FloatArray = field(default_factory=lambda: np.zeros(0))
    focus: FloatArray | None = None
    classes: Sequence[str] = ()
    inputs_of: Callable[[FloatArray], FloatArray] | None = None
    tests: FloatArray = field(default_factory=lambda: np.zeros((0, 2)))
    test_targets: FloatArray = field(default_factory=lambda: np.zeros(0))
    show_tests: bool = False
    discrete: bool = False
    wide = 330.0
    _boxes: list[Box] = field(default_factory=list, repr=False, compare=False)

    def _fills(self, values: FloatArray, colors: ColorMap) -> FloatArray:
        """Return the colors of outputs, at full strength."""
        if self.classes:
            return class_colors(values, colors.background)
        return colors(self._parts(values))

    def _parts(self, values: FloatArray) -> FloatArray:
        """Return outputs as shares of the strongest colors; -1 or 1 if they are discrete."""
        with np.errstate(over="ignore", invalid="ignore"):  # targets may be beyond float32
            parts = (values - self.middle) / self.reach
        if self.discrete:
            parts = np.where(np.isnan(parts), parts, np.where(parts > 0.0, 1.0, -1.0))
        return parts

    def _strong(self, targets: FloatArray, colors: ColorMap) -> FloatArray:
        """Return the colors of samples."""
        if self.classes:
            return class_colors(targets, colors.background)
        return colors(np.where(targets > self.middle, STRONG, -STRONG))

    # On a canvas.

    @property
    def wrong(self) -> npt.NDArray[np.bool_]:
        """Which samples have NaN, another class, or an output beyond the middle from theirs."""
        if not len(self.outputs):
            return np.zeros(len(self.targets), np.bool_)
        if self.classes:
            return np.asarray(self.outputs != self.targets)
        with np.errstate(over="ignore"):
            positive = self.outputs > self.middle
        beyond: npt.NDArray[np.bool_] = positive != (self.targets > self.middle)
        return beyond | np.isnan(self.outputs)

    def marked(self, inputs: FloatArray) -> Plane:
        """Return the map with a mark at the sample in use.

        Of features, it is the sample or the cell of the map whose features are the nearest.
        """
        low, high = np.array(self.low), np.array(self.high)
        if self.axes or self.inputs_of is None:
            return replace(self, focus=(inputs[list(self.axes)] - low) / (high - low))
        places = np.concatenate([self.points, cells(len(self.values))])
        apart = self.inputs_of(low + places * (high - low)) - inputs
        return replace(self, focus=places[np.argmin((apart**2).sum(axis=1))])

    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw the map, the samples in the colors of their targets, and how many are right."""
        size = letter_size(canvas)
        line, radius = LINE_PITCH * size, self.radius(box, size)
        at_edge = bool((np.abs(self.points - 0.5) > 0.46).any())
        margin = 2.0 * radius if at_edge else 0.0
        axes = Axes(self.names, self.low, self.high, margin)
        left = axes.plot(canvas, box).x - box.x - margin
        rows = self._key_rows(canvas, box.width - left, theme)
        below = line * (2.7 if len(self.outputs) else 1.5) + line * max(0, len(rows) - 1)
        below = below if box.height - below > 5.0 * line else 0.0
        plot = axes.plot(canvas, Box(box.x, box.y, box.width, box.height - below))
        spare = max(0.0, plot.height - plot.width)
        answers = line * (len(self.answers) + 0.5) if self.answers else 0.0
        answers = answers if below and answers <= spare else 0.0
        left = plot.x - box.x - margin
        least = min(plot.width, plot.height)
        side = least + 2.0 * margin
        whole = Box(
            box.x + 0.5 * (box.width - side - left),
            box.y + 0.5 * (spare - answers),
            side + left,
            side + line,
        )
        plot = Box(whole.x + left + margin, whole.y + margin, least, least)
        self._boxes[:] = [plot]
        self._paint_map(canvas, plot, theme)
        axes.paint(canvas, whole, plot, theme)
        self.paint_samples(canvas, plot, radius, theme)
        if below:
            x, y = plot.x - margin, whole.bottom + 0.5 * line
            x = min(x, box.x + left) if len(rows) > 1 else x
            foot = Box(x, y, box.right - x, below + answers - 0.5 * line)
            self._paint_foot(canvas, foot, theme, rows, answers=answers > 0.0)

    def _paint_map(self, canvas: Canvas2D, plot: Box, theme: Theme) -> None:
        ground = rgb((theme.ground,))[0]
        values = enlarged(self.values) if self.discrete and not self.classes else self.values
        colors = faded(self._fills(values, theme.map), FAINT, ground)
        canvas.image(plot.x, plot.y, plot.width, plot.height, colors, smooth=True)

    def spot(self) -> tuple[float, float] | None:
        """Return the pixel of the sample in use."""
        if self.focus is None or not self._boxes:
            return None
        (right, up), plot = np.clip(self.focus, 0.0, 1.0).tolist(), self._boxes[0]
        return plot.x + right * plot.width, plot.bottom - up * plot.height

    def _inputs_in(self, box: Box, x: float, y: float) -> Mapping[int, float]:
        part = np.array([(x - box.x) / box.width, (box.bottom - y) / box.height])
        numbers = np.array(self.low) + part * np.subtract(self.high, self.low)
        if self.inputs_of is not None and not self.axes:
            return dict(enumerate(self.inputs_of(numbers[np.newaxis])[0].tolist()))
        return dict(zip(self.axes, numbers.tolist(), strict=True))

    def radius(self, box: Box, size: float) -> float:
        """Return the radius of a sample in pixels."""
        wanted = LARGE if len(self.points) <= FEW_SAMPLES else SMALL
        return min(wanted * size / LETTERS, 0.04 * box.width)

    def paint_samples(self, canvas: Canvas2D, plot: Box, radius: float, theme: Theme) -> None:
        """Draw the samples on a map that fills `plot`, and a frame around the one in use."""

        def place(points: FloatArray) -> FloatArray:
            inside = np.clip(np.stack([points[:, 0], 1.0 - points[:, 1]], axis=1), 0.0, 1.0)
            return np.asarray(np.array([plot.x, plot.y]) + inside * [plot.width, plot.height])

        spots = place(self.points)
        strong = self._strong(self.targets, theme.map)
        if self.show_tests:
            holes, hollow = place(self.tests), self._strong(self.test_targets, theme.map)
            canvas.discs(holes, 1.2 * radius, theme.ground)
            canvas.discs(holes, radius, theme.ground, outline=hollow, line=0.4 * radius)
        canvas.discs(spots, radius, strong, outline=theme.ground, line=0.2 * radius)
        wrong = self.wrong
        ring = 1.35 * radius
        canvas.discs(spots[wrong], ring, theme.ground, outline=theme.ink, line=0.28 * radius)
        canvas.discs(spots[wrong], 0.8 * radius, strong[wrong])
        if self.focus is not None:
            x, y = place(self.focus[np.newaxis])[0].tolist()
            paint_frame(canvas, x, y, 1.9 * radius, theme.ink)

    def verdict(self) -> str:
        score = self.score()
        return text("exhibits.right", right=score[0], count=score[1]) if score else ""

    def score(self) -> tuple[int, int] | None:
        count = len(self.outputs)
        return (count - int(self.wrong.sum()), count) if count else None

    def _paint_foot(
        self,
        canvas: Canvas2D,
        box: Box,
        theme: Theme,
        rows: Sequence[Sequence[Key]],
        *,
        answers: bool,
    ) -> None:
        """Draw the key, how many samples are right, and the answers."""
        size = letter_size(canvas)
        line = LINE_PITCH * size
        y = box.y
        for marks in rows or [self._key(theme)]:
            paint_key(canvas, Box(box.x, y, box.width, line), marks, theme)
            y += line
        if len(self.outputs):
            y += 1.2 * line
            words, high = self._verdict_in(canvas, box.width, size)
            base = y - 0.2 * line
            canvas.text(box.x, base, words, size=high, color=theme.ink, bold=True)
        for i, answer in enumerate(self.answers if answers else ()):
            words = canvas.fit(answer, box.width, size=size)
            canvas.text(box.x, y + line * (i + 1), words, size=size, color=theme.quiet)

    def _key_rows(self, canvas: Canvas2D, width: float, theme: Theme) -> list[list[Key]]:
        """Return the key in lines: of classes, or of what one line has no room for.

        That what is wrong has a mark is said in these lines even if nothing is: the map keeps its
        size.
        """
        marks = self._key(theme)
        if self.classes:
            return key_rows(canvas, marks, width)[:MOST_ROWS]
        wrong: list[Key] = [("ring", theme.ink, text("exhibits.wrong"))] if self.score() else []
        rows = key_rows(canvas, [*marks[:2], *wrong], width)
        return rows if len(rows) > 1 else []

    def _verdict_in(self, canvas: Canvas2D, width: float, size: float) -> tuple[str, float]:
        """Return the verdict and its size: smaller or shorter where there is little room."""
        right, count = self.score() or (0, 0)
        said = text("exhibits.right.short", right=right, count=count)
        for words, high in ((self.verdict(), 1.2 * size), (self.verdict(), size)):
            if canvas.measure(words, size=high, bold=True) <= width:
                return words, high
        return canvas.fit(said, width, size=size, bold=True), size

    def _key(self, theme: Theme) -> list[Key]:
        """Return what the colors of the samples stand for."""
        low, high = self.middle - self.reach, self.middle + self.reach
        marks: list[Key] = [
            ("dot", theme.map([sign])[0], text("exhibits.plane.target", target=short(value)))
            for sign, value in ((-STRONG, low), (STRONG, high))
        ]
        if self.classes:
            colors = class_colors(np.arange(len(self.classes)), theme.ground)
            marks = [("dot", *each) for each in zip(colors, self.classes, strict=True)]
        if self.show_tests and len(self.tests):
            marks.append(("ring", theme.quiet, text("exhibits.plane.held_out")))
        if self.wrong.any():
            marks.append(("ring", theme.ink, text("exhibits.wrong")))
        if self.focus is not None:
            marks.append(("frame", theme.ink, text("exhibits.in_use")))
        return marks

    def words(self) -> list[str]:
        return list(self.answers)


def cells(side: int) -> FloatArray:
    """Return the cell centers of a map, (side * side, 2), row by row from the top left.

    They are shares of the map; (0, 0) is its lower left corner.
    """
    part = (np.arange(side) + 0.5) / side
    return np.stack(np.meshgrid(part, 1.0 - part), axis=-1).reshape(-1, 2)


def enlarged(values: FloatArray, times: int = 4) -> FloatArray:
    """Return a map with `times` as many rows and columns, interpolated between cell centers."""
    for axis in (0, 1):
        count = values.shape[axis]
        place = np.clip((np.arange(times * count) + 0.5) / times - 0.5, 0.0, count - 1.0)
        first = np.minimum(place.astype(int), count - 2)
        part = (place - first).reshape((-1, 1) if axis == 0 else (1, -1))
        low, high = np.take(values, first, axis), np.take(values, first + 1, axis)
        values = low + part * (high - low)
    return values


# The map of one neuron, for its card.

DOT, SMALL_DOT = 0.17, 0.013  # radius of a sample: relative to the text, to the map at most


@final
@dataclass(frozen=True)
class NeuronMap(Exhibit):
    """What a neuron answers over the plane, with the samples and the one in use.

    values  its numbers, (side, side); the first row is the top
    parts   the same as shares of the strongest colors, from -1 to 1
    plane   the map of the network's output, which has the axes and the samples
    """

    values: FloatArray
    parts: FloatArray
    plane: Plane
    title: str = ""

    def words(self) -> list[str]:
        known = self.values[np.isfinite(self.values)]
        ends = (float(known.min()), float(known.max())) if known.size else (np.nan, np.nan)
        return [text("exhibits.neuron_map.range", low=short(ends[0]), high=short(ends[1]))]

    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw the map with its axes and the samples, and its least and largest number below."""
        size, plane = letter_size(canvas), replace(self.plane, outputs=np.zeros(0))
        line = LINE_PITCH * size
        axes = Axes(plane.names, plane.low, plane.high)
        high = box.height - line
        left = axes.plot(canvas, Box(box.x, box.y, box.width, high)).x - box.x
        side = min(box.width - left, high - line)
        if side < 2.0 * line:
            return
        whole = Box(box.x + 0.5 * (box.width - left - side), box.y, left + side, side + line)
        plot = axes.plot(canvas, whole)
        ground = rgb((theme.ground,))[0]
        shape = (*self.parts.shape, 3)
        colors = theme.map(self.parts.ravel()).reshape(shape)
        place = plot.x, plot.y, plot.width, plot.height
        canvas.image(*place, faded(colors, FAINT, ground), smooth=True)
        axes.paint(canvas, whole, plot, theme)
        with canvas.clip(*place):
            radius = min(DOT * size, SMALL_DOT * plot.width)
            plane.paint_samples(canvas, plot, radius, theme)
        words = canvas.fit(self.words()[0], box.width, size=size)
        middle = plot.x + 0.5 * plot.width
        wide = 0.5 * canvas.measure(words, size=size)
        x = max(box.x + wide, min(middle, box.right - wide))
        canvas.text(x, whole.bottom + size, words, size=size, color=theme.quiet, anchor="center")


# A network with one input and one output.


@final
@dataclass(frozen=True)
class FunctionPlot(Exhibit):
    """The outputs at evenly spaced inputs from `low` to `high`, and samples (x, y), one per row.

    names  of the input and the output
    axis   number of the input
    focus  input and output of the sample in use, which is marked
    """

    outputs: FloatArray
    low: float
    high: float
    points: FloatArray
    title: str = ""
    names: tuple[str, str] = ("x", "y")
    axis: int = 0
    focus: tuple[float, float] | None = None
    _boxes: list[Box] = field(default_factory=list, repr=False, compare=False)

    def range(self) -> tuple[float, float]:
        """Return the ends of the y axis: the range of the samples' targets, and a margin."""
        values = self.points[:, 1]
        low, high = float(values.min()), float(values.max())
        room = 0.15 * (high - low) or 1.0
        return low - room, high + room

    def marked(self, inputs: FloatArray) -> FunctionPlot:
        """Return the plot with a mark at the sample in use."""
        x, known = float(inputs[self.axis]), np.linspace(self.low, self.high, len(self.outputs))
        return replace(self, focus=(x, float(np.interp(x, known, self.outputs))))

    def _inputs_in(self, box: Box, x: float, y: float) -> Mapping[int, float]:
        part = (x - box.x) / box.width
        return {self.axis: self.low + part * (self.high - self.low)}

    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw the curve over the samples, the axes, and a key below them."""
        size = letter_size(canvas)
        bottom, top = self.range()
        axes = Axes(self.names, (self.low, bottom), (self.high, top))
        below = 2.0 * LINE_PITCH * size
        below = below if below < 0.3 * box.height else 0.0
        high = min(box.height - below, 1.1 * box.width)
        whole = Box(box.x, box.y + 0.5 * (box.height - high - below), box.width, high)
        plot = axes.plot(canvas, whole)
        self._boxes[:] = [plot]

        def place(x: FloatArray, y: FloatArray) -> FloatArray:
            across = plot.x + (x - self.low) / (self.high - self.low) * plot.width
            up = plot.bottom - (y - bottom) / (top - bottom) * plot.height
            return np.stack([across, up], axis=1)

        axes.paint(canvas, whole, plot, theme)
        unit = size / LETTERS
        with canvas.clip(plot.x, plot.y, plot.width, plot.height):
            good = np.isfinite(self.points).all(axis=1)
            canvas.discs(place(*self.points[good].T), 3.0 * unit, theme.quiet)
            at = np.linspace(self.low, self.high, len(self.outputs))
            canvas.line(place(at, self.outputs), theme.accent, width=2.5 * unit)
            if self.focus is not None:
                x, y = place(*np.array([self.focus]).T)[0].tolist()
                paint_frame(canvas, x, y, 7.0 * unit, theme.ink)
        if below:
            foot = Box(
                plot.x, whole.bottom + 0.5 * LINE_PITCH * size, plot.width, LINE_PITCH * size
            )
            marks = [
                ("line", theme.accent, text("exhibits.output")),
                ("dot", theme.quiet, text("exhibits.samples")),
            ]
            if self.focus is not None:
                marks.append(("frame", theme.ink, text("exhibits.in_use")))
            paint_key(canvas, foot, marks, theme)
