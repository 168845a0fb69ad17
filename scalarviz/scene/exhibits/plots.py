"""Plots of a network over its inputs: maps of a plane, and graphs of a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import near_border
from scalarviz.scene.annotations import ON_MAP, Border, draw_to_shown, way_on_map
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import Theme, class_colors, faded, rgb
from scalarviz.scene.exhibits.classified import readable_on
from scalarviz.scene.exhibits.exhibit import (
    HEAD,
    LETTERS,
    LINE_PITCH,
    RIGHT_YET,
    RIM,
    VERDICT,
    WHITE,
    Axes,
    Exhibit,
    Key,
    Places,
    letter_size,
    mean_error,
    paint_crosses,
    paint_key,
    paint_shown,
    short,
)
from scalarviz.scene.layout.division import Box

Mark = tuple[int | str, str]  # entry of the key: a side, a class or a kind of mark, and its name

FAINT, LIGHT = 0.72, 0.76  # color strength of a map of classes; lightness of a sample
QUESTIONS, ROW = 4, 2.8  # maximum samples shown as a table, and height of its rows in letters
# In fractions of the width of a table, the centers of its columns, and half the width of a number.
COLUMNS, CHIP = (0.05, 0.15, 0.36, 0.63, 0.9), 0.09
LEAST_TABLE = 14.0  # in letters, minimum width of a table and height of a map above it
FEW_SAMPLES = 8  # maximum samples that are drawn large
LARGE, SMALL = 7.0, 4.5  # radius of a sample in pixels, next to text of 12 pixels
SHOWN, INNER = 1.6, 0.8  # radius of the current sample and of its mark, relative to others
MOST_ROWS = 4  # maximum lines of the key
WIDEST_LETTER, KEY_GAP = 0.62, 2.3  # in letters: width of a letter of the key, and a mark with gaps
CORNER_PART = 0.7, 0.1  # maximum fraction of a map's sides for words in its corner
BESIDE_NETWORK = 0.5  # fraction of a picture's width, right of which a map is beside the network
INSIDE = 1.0  # from words in a corner of the map to its edge, in text sizes


@final
@dataclass(frozen=True)
class Plane(Exhibit):
    """A map of a network's output; values below `middle` are blue, values above are orange.

    With `classes`, the values are class indices, each with its own color.

    Attributes:
        values: outputs at the cell centers, shape (rows, columns); the first row is the top
        reach: distance from the middle to the values with the strongest colors
        points: samples, one per row; (0, 0) is the lower left corner, (1, 1) the upper right one
        targets: targets of the samples
        names: names of the two axes
        axes: indices of the inputs on the axes; empty if the inputs are features, see `inputs_of`
        low: coordinates of the lower left corner
        high: coordinates of the upper right corner
        outputs: outputs for the samples
        sorts: whether the samples belong to classes, so that each is right or wrong
        sides: names of the classes below and above the middle; if empty, the targets are written
        focus: the marked current sample, as in `points`
        classes: names of the classes; empty if the outputs are not classes
        inputs_of: function that returns the inputs of points given in axis units, or None
        tests: held-out samples, as in `points`
        test_targets: targets of the held-out samples
        show_tests: whether held-out samples are also drawn, as hollow marks
        discrete: whether the map has only the two strongest colors
        corner: a corner of the map without samples, as (is right, is upper), or None
    """

    values: FloatArray
    middle: float
    reach: float
    points: FloatArray
    targets: FloatArray
    names: tuple[str, str] = ("x", "y")
    axes: tuple[int, ...] = (0, 1)
    low: tuple[float, float] = (0.0, 0.0)
    high: tuple[float, float] = (1.0, 1.0)
    outputs: FloatArray = field(default_factory=partial(np.zeros, 0))
    sorts: bool = False
    sides: Sequence[str] = ()
    focus: FloatArray | None = None
    classes: Sequence[str] = ()
    inputs_of: Callable[[FloatArray], FloatArray] | None = None
    tests: FloatArray = field(default_factory=partial(np.zeros, (0, 2)))
    test_targets: FloatArray = field(default_factory=partial(np.zeros, 0))
    show_tests: bool = False
    discrete: bool = False
    corner: tuple[bool, bool] | None = None
    wide = 264.0
    small = 0.46

    def _parts(self, values: FloatArray) -> FloatArray:
        """Return outputs as fractions of the strongest colors; -1 or 1 if the map is discrete."""
        with np.errstate(over="ignore", invalid="ignore"):  # targets may be beyond float32
            parts = (values - self.middle) / self.reach
        if self.discrete:
            parts = np.where(np.isnan(parts), parts, np.where(parts > 0.0, 1.0, -1.0))
        return parts

    def _dots(self, targets: FloatArray, theme: Theme) -> FloatArray:
        """Return the colors of samples, distinguishable on a map of the same colors."""
        if not self.classes:
            return np.asarray(rgb(theme.sides)[(targets > self.middle).astype(int)])
        return faded(class_colors(targets, theme.map.background), LIGHT, rgb((theme.ink,)))

    # On a canvas.

    @cached_property
    def wrong(self) -> npt.NDArray[np.bool_]:
        """Mask of misclassified samples: the wrong class, the wrong side of the middle, or NaN."""
        if not self.sorts:
            return np.zeros(len(self.targets), np.bool_)
        if self.classes:
            return np.asarray(self.outputs != self.targets)
        with np.errstate(over="ignore"):
            positive = self.outputs > self.middle
        beyond: npt.NDArray[np.bool_] = positive != (self.targets > self.middle)
        return beyond | np.isnan(self.outputs)

    def marked(
        self,
        inputs: FloatArray,
        outputs: FloatArray | None = None,
        target: FloatArray | None = None,
    ) -> Plane:
        """Return a copy with a mark at the current sample.

        For features, the mark is at the sample or map cell whose features are closest.
        """
        low, high = np.array(self.low), np.array(self.high)
        if self.axes or self.inputs_of is None:
            return replace(self, focus=(inputs[list(self.axes)] - low) / (high - low))
        places = np.concatenate([self.points, cells(len(self.values))])
        apart = self.inputs_of(low + places * (high - low)) - inputs
        return replace(self, focus=places[np.argmin((apart**2).sum(axis=1))])

    @property
    def heads(self) -> list[str]:
        words = text("exhibits.plane.head", x=self.names[0], y=self.names[1])
        return [
            *([] if self.is_table else [f"{words}{text('exhibits.plane.dots')}"]),
            words,
            *super().heads,
        ]

    def headed(self) -> Plane:
        return replace(self, says=False)

    def plot(self, box: Box, scale: float) -> Box:
        """Return the box of the map, slightly smaller if samples are at its edge."""
        out = self.places(box, scale).out
        at_edge = np.abs(self.points - 0.5) > 0.46
        return out.inside(2.0 * self.radius(out, LETTERS * scale) if at_edge.any() else 0.0)

    def doors(self, box: Box, scale: float) -> list[tuple[float, float]]:
        if self.focus is None:
            return super().doors(box, scale)
        plot = self.plot(box, scale)
        return way_on_map(plot, *self.focus.tolist())[:1]

    def places(self, box: Box, scale: float) -> Places:
        size = LETTERS * scale
        more = len(self._rows(box.width, size)) * 2.0 * size
        if self.is_table:
            high = (len(self.points) + 1.2) * ROW * size
            if box.width < LEAST_TABLE * size or box.height < high + LEAST_TABLE * size:
                high = 0.0
            side = max(1.0, min(box.width, box.height - high - HEAD * size))
            left = box.x + 0.5 * (box.width - side)
            out = Box(left, box.y + HEAD * size, side, side)
            return Places(out, out, Box(box.x, out.bottom, box.width, high))
        return self.pair(box, scale, count=1, more=more)

    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw the map, the samples in the colors of their targets, and the accuracy."""
        size = letter_size(canvas)
        places, rows = self.places(box, canvas.scale), self._rows(box.width, size)
        radius, plot = self.radius(places.out, size), self.plot(box, canvas.scale)
        at_edge = np.abs(self.points - 0.5) > 0.46
        self._boxes[:] = [plot]
        self.paint_heads(canvas, places, theme)
        self.paint_answer(canvas, plot, theme)
        self.paint_samples(canvas, plot, radius, theme)
        self._paint_guess(canvas, plot, theme)
        look: dict[str, Any] = {"size": size, "color": theme.ink, "outline": theme.ground}
        axes = (
            (short(self.low[0]), 0.0, 0.0),
            (self.names[0], 0.5, 0.0),
            (short(self.high[0]), 1.0, 0.0),
            (self.names[1], 0.0, 0.5),
            (short(self.high[1]), 0.0, 1.0),
        )
        wide = canvas.widest([words for words, *_ in axes], size=size)
        for words, across, up in (
            axes if at_edge.all() and wide < min(3.0 * size, 0.25 * plot.width) else ()
        ):
            x = plot.x + (1.3 + across * (plot.width / size - 2.6)) * size
            y = plot.bottom - (0.9 + up * (plot.height / size - 2.6)) * size
            canvas.text(x, y, words, anchor="center", **look)
        if self.is_table:
            self._paint_table(canvas, places.foot, theme)
            return
        foot, high = places.foot, 2.0 * size * len(rows)
        says = VERDICT * size if self.says and self.verdict() else 0.0
        if foot.height < says + high - 0.5:
            rows, high = [], 0.0
        self.paint_foot(canvas, places, theme, high)
        y = foot.y + says + 0.5 * size
        for marks in rows:
            room = Box(box.x, y, box.width, 2.0 * size)
            paint_key(canvas, room, [self._mark(mark, theme) for mark in marks], theme)
            y += 2.0 * size

    @property
    def is_table(self) -> bool:
        """Whether the samples are few enough to be shown in a table."""
        return self.sorts and not self.classes and len(self.points) <= QUESTIONS

    def _paint_table(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw a table of inputs, the predictions at the start and now, and targets."""
        size, first = letter_size(canvas), self.first
        if not box.height or (COLUMNS[1] - COLUMNS[0]) * box.width < 1.7 * size:
            return
        begun = first.outputs if isinstance(first, Plane) else np.full(len(self.points), np.nan)
        x = [box.x + part * box.width for part in COLUMNS]
        heads = *self.names, self.since, text("headline.now"), text("telling.goal")
        y = box.y + 1.6 * size
        for i, (middle, words) in enumerate(zip(x, heads, strict=True)):
            look: dict[str, Any] = {"size": size, "anchor": "center"}
            room = (0.105 if i < 2 else 0.3) * box.width
            canvas.text(middle, y, words, color=theme.quiet, room=room, **look)
        inputs = np.array(self.low) + self.points * np.subtract(self.high, self.low)
        goals = self.targets > self.middle
        for i, (own, target) in enumerate(zip(inputs.tolist(), self.targets.tolist(), strict=True)):
            y = box.y + (0.9 + i + 0.5) * ROW * size
            if self.focus is not None and np.abs(self.points[i] - self.focus).max() < 1e-9:
                place = box.x, y - 0.46 * ROW * size, box.width, 0.92 * ROW * size
                canvas.box(*place, None, radius=0.7 * size, outline=theme.ink, line=1.4)
            for middle, number in zip(x[:2], own, strict=True):
                look = {"size": size, "bold": True, "anchor": "center"}
                canvas.text(middle, y + 0.36 * size, short(number), color=theme.ink, **look)
            for column, number in ((2, float(begun[i])), (3, float(self.outputs[i])), (4, target)):
                chip = CHIP * box.width
                place = x[column] - chip, y - 0.95 * size, 2.0 * chip, 1.9 * size
                known = np.isfinite(number)
                color = theme.answers(self._parts(np.array([number])))[0] if known else None
                canvas.box(*place, color, radius=0.5 * size, outline=None if known else theme.faint)
                words = "?"
                if known:
                    words = near_border(number, self.middle) if column < 4 else short(number)
                ink = theme.quiet if color is None else readable_on(color[np.newaxis])[0]
                look = {"size": RIGHT_YET / LETTERS * size, "bold": True, "anchor": "center"}
                canvas.text(x[column], y + 0.4 * size, words, color=ink, **look)
                if column < 4 and known:
                    is_right = (number > self.middle) == goals[i]
                    paint_tick(
                        canvas, x[column] + chip + 1.1 * size, y, size, theme, right=is_right
                    )

    def paint_answer(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        values = enlarged(self.values) if self.discrete and not self.classes else self.values
        colors = theme.answers(self._parts(values))
        if self.classes:
            full = class_colors(values, theme.map.background)
            colors = faded(full, FAINT, rgb((theme.ground,))[0])
        canvas.image(*box.place, colors, smooth=True)
        canvas.box(*box.place, None, outline=theme.faint)

    def _paint_guess(self, canvas: Canvas2D, plot: Box, theme: Theme) -> None:
        """Label a corner of the map far from all samples as a guess, if there is space."""
        size, words = letter_size(canvas), text("exhibits.guesses")
        wide, edge = canvas.measure(words, size=size), INSIDE * size
        if self.corner is None or wide + edge > CORNER_PART[0] * plot.width:
            return
        right, up = self.corner
        x = plot.right - edge - wide if right else plot.x + edge
        y = plot.y + edge + 0.8 * size if up else plot.bottom - edge
        canvas.text(x, y, words, size=size, color=theme.ink, outline=theme.ground)

    def _inputs_in(self, box: Box, x: float, y: float) -> Mapping[int, float]:
        part = np.array([(x - box.x) / box.width, (box.bottom - y) / box.height])
        numbers = np.array(self.low) + part * np.subtract(self.high, self.low)
        if self.inputs_of is not None and not self.axes:
            return dict(enumerate(self.inputs_of(numbers[np.newaxis])[0].tolist()))
        return dict(zip(self.axes, numbers.tolist(), strict=True))

    def radius(self, box: Box, size: float) -> float:
        """Return the radius of a sample in pixels."""
        wanted, part = (LARGE, 0.04) if len(self.points) <= FEW_SAMPLES else (SMALL, 0.0136)
        return min(wanted * size / LETTERS, part * box.width)

    def paint_samples(self, canvas: Canvas2D, plot: Box, radius: float, theme: Theme) -> None:
        """Draw the samples on a map that fills `plot`, with a frame around the current sample."""

        def place(points: FloatArray) -> FloatArray:
            inside = np.clip(np.stack([points[:, 0], 1.0 - points[:, 1]], axis=1), 0.0, 1.0)
            return np.asarray(np.array([plot.x, plot.y]) + inside * [plot.width, plot.height])

        spots, colors, wrong = place(self.points), self._dots(self.targets, theme), self.wrong
        is_beside = plot.x > BESIDE_NETWORK * canvas.width
        has_way = self.focus is not None and not self.classes and not self.awaits
        if self.focus is not None and has_way and is_beside:  # below the samples
            draw_to_shown(canvas, way_on_map(plot, *self.focus.tolist()), RIM, WHITE, ON_MAP)
        if self.show_tests:
            holes, hollow = place(self.tests), self._dots(self.test_targets, theme)
            canvas.discs(holes, 1.2 * radius, RIM)
            canvas.discs(holes, radius, theme.ground, outline=hollow, line=0.4 * radius)
        canvas.discs(spots[~wrong], radius, colors[~wrong], outline=RIM, line=0.3 * radius)
        paint_crosses(canvas, spots[wrong], radius, colors[wrong])
        if self.focus is not None:
            x, y = place(self.focus[np.newaxis])[0].tolist()
            paint_shown(canvas, x, y, SHOWN * radius)
            own = np.flatnonzero(np.abs(self.points - self.focus).max(axis=1) < 1e-9)[:1]
            paint_crosses(canvas, spots[own][wrong[own]], INNER * radius, colors[own][wrong[own]])
            canvas.discs(spots[own][~wrong[own]], INNER * radius, colors[own][~wrong[own]])

    def score(self) -> tuple[int, int] | None:
        count = len(self.outputs)
        return (count - int(self.wrong.sum()), count) if self.sorts else None

    def off(self) -> float | None:
        """Return the mean absolute error of the samples on the map."""
        return mean_error(self.outputs, self.targets) if len(self.outputs) else None

    def _rows(self, width: float, size: float) -> list[list[Mark]]:
        """Return the key of the marks on the map, in lines of at most this width.

        The mark of wrong samples is always included, so that the size of the map does not change.
        """
        names = self.sides or [text("exhibits.plane.target", target=each) for each in self.answers]
        marks: list[Mark] = [*zip((1, 0), reversed(names), strict=True)]
        if self.classes:
            marks = list(enumerate(self.classes))
        if self.show_tests and len(self.tests):
            marks.append(("ring", text("exhibits.plane.held_out")))
        if self.sorts:
            marks.append(("cross", text("exhibits.wrong")))
        rows: list[list[Mark]] = []
        right = width
        for kind, name in marks:
            wide = (WIDEST_LETTER * len(name) + KEY_GAP) * size
            if right + wide - size > width:
                rows.append([])
                right = 0.0
            rows[-1].append((kind, name))
            right += wide
        return rows[:MOST_ROWS]

    @property
    def answers(self) -> list[str]:
        """The names of the answers below and above the middle, or numbers if they have no names."""
        ends = self.middle - self.reach, self.middle + self.reach
        return [*self.sides] or [short(each) for each in ends]

    @property
    def border(self) -> Border | None:
        if not self.sorts or self.classes:
            return None
        return Border(self.middle, self.reach, self.answers)

    def _mark(self, mark: Mark, theme: Theme) -> Key:
        """Return an entry of the key with its color."""
        kind, name = mark
        if isinstance(kind, str):
            return kind, theme.quiet, name
        target = float(kind) if self.classes else self.middle + (kind - 0.5) * self.reach
        return "dot", self._dots(np.array([target]), theme)[0], name


def paint_tick(
    canvas: Canvas2D, x: float, y: float, size: float, theme: Theme, *, right: bool
) -> None:
    """Draw a check mark for a right answer, or a cross for a wrong one."""
    half = 0.34 * size
    if right:
        points = [(x - half, y), (x - 0.3 * half, y + 0.8 * half), (x + half, y - 0.9 * half)]
        canvas.line(points, theme.ink, width=0.16 * size)
        return
    for side in (-1.0, 1.0):
        ends = [(x - half, y - side * half), (x + half, y + side * half)]
        canvas.line(ends, theme.worse, width=0.18 * size)


def cells(side: int) -> FloatArray:
    """Return the cell centers of a map, (side * side, 2), row by row from the top left.

    They are fractions of the map's size; (0, 0) is the lower left corner.
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

DOT, SMALL_DOT = 0.17, 0.013  # maximum radius of a sample: relative to the text, to the map


@final
@dataclass(frozen=True)
class NeuronMap(Exhibit):
    """The output of a neuron over the input plane, with the samples.

    Attributes:
        values: outputs of the neuron, shape (side, side); the first row is the top
        parts: outputs as fractions of the strongest colors, from -1 to 1
        plane: the map of the network's output, whose axes and samples are also drawn
    """

    values: FloatArray
    parts: FloatArray
    plane: Plane

    def words(self) -> list[str]:
        known = self.values[np.isfinite(self.values)]
        ends = (float(known.min()), float(known.max())) if known.size else (np.nan, np.nan)
        return [text("exhibits.neuron_map.range", low=short(ends[0]), high=short(ends[1]))]

    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw the map with its axes and the samples, and its minimum and maximum below."""
        size, plane = letter_size(canvas), replace(self.plane, sorts=False)
        line = LINE_PITCH * size
        axes = Axes(plane.names, plane.low, plane.high)
        high = box.height - line
        left = axes.plot(canvas, Box(box.x, box.y, box.width, high)).x - box.x
        side = min(box.width - left, high - line)
        if side < 2.0 * line:
            return
        whole = Box(box.x + 0.5 * (box.width - left - side), box.y, left + side, side + line)
        plot = axes.plot(canvas, whole)
        colors = theme.map(self.parts.ravel()).reshape((*self.parts.shape, 3))
        canvas.image(*plot.place, faded(colors, FAINT, rgb((theme.ground,))[0]), smooth=True)
        axes.paint(canvas, whole, plot, theme)
        with canvas.clip(*plot.place):
            plane.paint_samples(canvas, plot, min(DOT * size, SMALL_DOT * plot.width), theme)
        words = canvas.fit(self.words()[0], box.width, size=size)
        wide = 0.5 * canvas.measure(words, size=size)
        x = max(box.x + wide, min(plot.x + 0.5 * plot.width, box.right - wide))
        canvas.text(x, whole.bottom + size, words, size=size, color=theme.quiet, anchor="center")


# A network with one input and one output.

PLOT_SHAPE = 1.41  # aspect ratio
MISSED, BARS = 2.0, 24  # error in dot radii from which on it is drawn as a bar; maximum bars


@final
@dataclass(frozen=True)
class FunctionPlot(Exhibit):
    """The outputs for evenly spaced inputs from `low` to `high`, and samples (x, y), one per row.

    Attributes:
        names: names of the input and the output
        axis: index of the input
        focus: input, output and target of the current sample, which is marked
    """

    outputs: FloatArray
    low: float
    high: float
    points: FloatArray
    names: tuple[str, str] = ("x", "y")
    axis: int = 0
    focus: tuple[float, float, float] | None = None
    small = 1.0

    @property
    def heads(self) -> list[str]:
        return [f"{text('picture.out')} {text('headline.now')}", *super().heads]

    def headline(self, things: str) -> tuple[str, str, str, bool] | None:
        return super().headline(text("things.dots"))

    def range(self) -> tuple[float, float]:
        """Return the limits of the y axis: the range of the targets, with a margin."""
        values = self.points[:, 1]
        low, high = float(values.min()), float(values.max())
        room = 0.15 * (high - low) or 1.0
        return low - room, high + room

    def marked(
        self,
        inputs: FloatArray,
        outputs: FloatArray | None = None,
        target: FloatArray | None = None,
    ) -> FunctionPlot:
        """Return a copy with a mark at the current sample."""
        x = float(inputs[self.axis])
        goal = np.nan if target is None else float(target[0])
        return replace(self, focus=(x, float(self.at(x)), goal))

    def at(self, x: Any) -> Any:
        """Return the interpolated outputs at the inputs `x`."""
        return np.interp(x, np.linspace(self.low, self.high, len(self.outputs)), self.outputs)

    def off(self) -> float:
        """Return the mean absolute error of the samples, with interpolated outputs."""
        return mean_error(self.at(self.points[:, 0]), self.points[:, 1])

    def _inputs_in(self, box: Box, x: float, y: float) -> Mapping[int, float]:
        return {self.axis: self.low + (x - box.x) / box.width * (self.high - self.low)}

    def places(self, box: Box, scale: float) -> Places:
        more = (LINE_PITCH + 2.0) * LETTERS * scale
        return self.pair(box, scale, aspect=PLOT_SHAPE, count=1, more=more)

    def doors(self, box: Box, scale: float) -> list[tuple[float, float]]:
        if self.focus is None or not np.isfinite(self.focus[1]):
            return super().doors(box, scale)
        places, (bottom, top) = self.places(box, scale), self.range()
        below = self._below(places, scale)
        high = places.out.height + below - LINE_PITCH * LETTERS * scale
        part = min(1.0, max(0.0, (top - self.focus[1]) / (top - bottom)))
        return [(places.out.x, places.out.y + part * high)]

    def _below(self, places: Places, scale: float) -> float:
        """Return the height of the axis names below the plot, or 0 if they do not fit there."""
        line = LINE_PITCH * LETTERS * scale
        return line if places.foot.height > VERDICT * LETTERS * scale + line else 0.0

    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw the curve over the samples, the axes, and a key below them."""
        size = letter_size(canvas)
        places = self.places(box, canvas.scale)
        bottom, top = self.range()
        axes = Axes(self.names, (self.low, bottom), (self.high, top))
        below = self._below(places, canvas.scale)
        whole = replace(places.out, height=places.out.height + below)
        plot = axes.plot(canvas, whole)
        self._boxes[:] = [plot]
        places = places._replace(out=plot, goal=plot)
        self.paint_heads(canvas, places, theme)
        axes.paint(canvas, whole, plot, theme)
        is_known = self.focus is not None and np.isfinite(self.focus[1])
        if is_known and not self.awaits:  # the line from OUT continues
            ((x, y),) = self.doors(box, canvas.scale)
            assert self.focus is not None
            dot = plot.x + (self.focus[0] - self.low) / (self.high - self.low) * plot.width
            canvas.line([(x, y), (dot, y)], theme.quiet, width=1.4 * canvas.scale)
        self.paint_answer(canvas, plot, theme)
        if not below:
            return
        foot = replace(places.foot, y=whole.bottom, height=places.foot.height - below)
        self.paint_foot(canvas, places._replace(foot=foot), theme, 2.0 * size)
        marks = [
            ("dot", theme.quiet, text("exhibits.swatches.target")),
            ("line", theme.no_yes[0], text("picture.out")),
            ("line", theme.loss, text("exhibits.off")),
        ]
        y = foot.y + (VERDICT + 0.3) * size
        paint_key(canvas, Box(plot.x, y, plot.width, 2.0 * size), marks, theme)

    def paint_answer(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        unit, (bottom, top) = letter_size(canvas) / LETTERS, self.range()

        def place(x: FloatArray, y: FloatArray) -> FloatArray:
            across = box.x + (x - self.low) / (self.high - self.low) * box.width
            up = box.bottom - (y - bottom) / (top - bottom) * box.height
            return np.stack([across, up], axis=1)

        with canvas.clip(*box.place):
            good = np.isfinite(self.points).all(axis=1)
            radius = min(3.0 * unit, 0.02 * box.width)
            x, y = self.points[good].T
            zero = place(np.array([self.low, self.high]), np.zeros(2))
            canvas.line(zero, theme.faint, width=unit)
            spots, own = place(x, y), place(x, self.at(x))
            missed = np.flatnonzero(np.abs(spots - own)[:, 1] > MISSED * radius)
            missed = missed[:: max(1, len(x) // BARS)]
            canvas.segments(spots[missed], own[missed], theme.loss, width=1.6 * unit)
            canvas.discs(spots, radius, theme.quiet)
            at = np.linspace(self.low, self.high, len(self.outputs))
            canvas.line(place(at, self.outputs), theme.no_yes[0], width=0.8 * radius)
            if self.focus is not None:
                x, out, goal = np.array([self.focus]).T
                out = goal if self.awaits else out
                ends = place(np.tile(x, 2), np.append(out, goal))
                if np.isfinite(ends).all():
                    canvas.line(ends, theme.loss, width=1.2 * radius)
                    canvas.discs(ends[1], 1.6 * radius, theme.quiet, outline=RIM, line=0.4 * radius)
                paint_shown(canvas, float(ends[0, 0]), float(ends[0, 1]), 2.0 * radius)
