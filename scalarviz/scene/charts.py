"""Charts on a canvas: the loss curve, and the history of a weight."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.scales import LARGEST_LOSS, loss_ends
from scalarviz.base.texts import plural, text
from scalarviz.base.texts.decimals import rounded, typeset
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import Theme
from scalarviz.scene.frame_data import Curve, History, Measured
from scalarviz.scene.layout.division import SMALL, Box

# How high a loss stands in a chart: on a logarithmic scale where all are above 0.


@dataclass(frozen=True)
class LossScale:
    """A scale from `low` to `high`: linear if it begins below 0, else logarithmic."""

    low: float = 0.1
    high: float = 1.0

    @staticmethod
    def of(losses: FloatArray, most: float | None = None) -> LossScale:
        """Return the scale, with plain numbers at its ends, of losses that `shown` has returned.

        most  the largest one, if not that of the losses
        """
        least, most = float(losses.min()), float(losses.max() if most is None else most)
        return LossScale(*loss_ends(least, most))

    @property
    def is_linear(self) -> bool:
        return self.low < 0.0

    def up(self, losses: FloatArray) -> FloatArray:
        """Return how high losses stand, from 0 at `low` to 1 at `high`; NaN where nothing does."""
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.is_linear:
                near = np.where(
                    np.isfinite(losses), np.clip(losses, -LARGEST_LOSS, LARGEST_LOSS), np.nan
                )
                found = (near - self.low) / (self.high - self.low)
            else:
                decades = math.log10(self.high / self.low)
                found = (np.log10(losses) - math.log10(self.low)) / decades
        return np.where(np.isfinite(found), found, np.nan)


def shown(losses: FloatArray) -> FloatArray:
    """Return the losses that a scale can show: finite ones, and of a logarithm no 0."""
    found: FloatArray = losses[np.isfinite(losses)]
    return found if (found < 0.0).any() else found[found > 0.0]


AXIS = 46.0  # pixels left of the curves of a large chart, or of several networks
BESIDE, EDGE = (162.0, 104.0), 8.0  # right of a curve, in small pictures; above and below it
PARTS, OF_PARTS = 34.0, 0.55  # height of the parts of a step above it, and their share of it
LETTERS, ROW = 12.0, 17.0  # letters, and height of a row right of a curve
MEANS = 200  # points of a smoothed curve
SHARES = 44.0  # right of a curve, where shares have a scale
LOW_CHART = 140.0  # height of a chart from which on shares have a scale
BALL = 14.0  # pixels from the ball of the present weights that still mean it
REACH = 6.0  # pixels from the line of a branch, or from a mark, that still mean it


@dataclass(frozen=True)
class Chart:
    """The chart of the losses as it was drawn.

    box     all of it
    title   where a click makes it large or small
    grip    where the mouse goes to a step: the curve and its axis of steps
    plot    the curve's box, from the step `first` to the step `last`
    end     the last step there is
    own     pixels of the curve, and of the lines of other branches by their numbers
    marks   pixels of the marks along the axis of steps, and their steps
    strip   the box of all weights over time, with how many `tiles`; or None
    tabs    boxes of what can be chosen for it, and their names
    terrain  the box of the loss over a plane, `span` its left, right, bottom and top end there, and
            `ball` the pixel of the present weights; or None
    """

    box: Box
    title: Box
    grip: Box
    plot: Box
    first: float
    last: float
    end: float
    own: FloatArray = field(default_factory=partial(np.zeros, (0, 2)))
    others: Sequence[tuple[int, FloatArray]] = ()
    marks: Sequence[tuple[float, int]] = ()
    strip: Box | None = None
    tiles: int = 0
    tabs: Sequence[tuple[Box, str]] = ()
    terrain: Box | None = None
    span: tuple[float, float, float, float] = (0.0, 1.0, 0.0, 1.0)
    ball: tuple[float, float] = (0.0, 0.0)

    def spot_at(self, x: float, y: float, *, held: bool = False) -> tuple[float, float] | None:
        """Return the point of the plane at a pixel; None elsewhere, but for a ball that is held."""
        box, (left, right, bottom, top) = self.terrain, self.span
        if box is None or not (held or box.has(x, y)):
            return None
        across = min(max((x - box.x) / box.width, 0.0), 1.0)
        up = min(max((box.bottom - y) / box.height, 0.0), 1.0)
        return left + across * (right - left), bottom + up * (top - bottom)

    def on_ball(self, x: float, y: float) -> bool:
        """Return whether a pixel is on the ball of the present weights."""
        near = math.hypot(x - self.ball[0], y - self.ball[1]) < BALL
        return self.terrain is not None and self.terrain.has(x, y) and near

    def tile_at(self, x: float, y: float) -> int | None:
        """Return the tile of the strip at a pixel, or None."""
        if self.strip is None or not self.strip.has(x, y) or not self.tiles:
            return None
        return min(int((y - self.strip.y) / self.strip.height * self.tiles), self.tiles - 1)

    def place_at(self, x: float) -> float:
        """Return the place on the axis of steps at a pixel's x, at an end of it if outside."""
        share = (x - self.plot.x) / self.plot.width
        return self.first + min(max(share, 0.0), 1.0) * (self.last - self.first)

    def step_at(self, x: float) -> int:
        """Return the step at a pixel's x, that of a mark if one is near, an end if outside."""
        near = [(abs(x - at), step) for at, step in self.marks if abs(x - at) <= REACH]
        return min(near)[1] if near else max(0, round(self.place_at(x)))

    def step_under(self, x: float, y: float) -> int | None:
        """Return the step at a pixel of the curve, its axis or the strip; None elsewhere."""
        on_strip = self.strip is not None and self.strip.has(x, y)
        return self.step_at(x) if on_strip or self.grip.has(x, y) else None

    def branch_at(self, x: float, y: float) -> int | None:
        """Return the number of the branch whose line is at a pixel, or None.

        Where the curve itself is as near, it is meant.
        """
        if not self.others or not self.plot.has(x, y):
            return None
        apart = [distance(points, x, y) for _, points in self.others]
        nearest = min(range(len(apart)), key=apart.__getitem__)
        if apart[nearest] > REACH or distance(self.own, x, y) <= apart[nearest]:
            return None
        return self.others[nearest][0]


@dataclass(frozen=True)
class ChartScales:
    """The scales of a plot: steps from `first` to `last`, and that of the losses."""

    plot: Box
    first: float
    last: float
    losses: LossScale = field(default_factory=LossScale)

    def x(self, step: Any) -> Any:
        """Return the pixel of a step, or those of some."""
        return self.plot.x + (step - self.first) / (self.last - self.first) * self.plot.width

    def y(self, value: float) -> float:
        """Return the pixel of a loss, at an end of the plot if outside; NaN where none is."""
        return float(self.all_points(np.zeros(1), np.array([value]))[0, 1])

    def within(self, steps: FloatArray, values: FloatArray) -> FloatArray:
        """Return the values at the steps from `first` to `last`."""
        return np.asarray(values[(steps >= self.first) & (steps <= self.last)])

    def losses_of(self, curve: Curve) -> FloatArray:
        """Return the losses of the steps shown, that where the clock stands included."""
        found = self.within(curve.steps, curve.losses)
        return np.append(found, curve.loss) if self.first <= curve.at <= self.last else found

    def points(self, steps: FloatArray, values: FloatArray, share: bool = False) -> FloatArray:
        """Return the pixels of a curve, (n, 2), as few as its columns need; a `share` is linear."""
        around = np.searchsorted(steps, [self.first, self.last])
        seen = slice(max(0, int(around[0]) - 1), int(around[1]) + 1)
        return thinned(self.all_points(steps[seen], values[seen], share), self.plot.width)

    def all_points(self, x: FloatArray, y: FloatArray, share: bool = False) -> FloatArray:
        """Return the pixels of all points, (n, 2)."""
        up = np.clip(
            np.where(np.isfinite(y), y, np.nan) if share else self.losses.up(y), -0.02, 1.02
        )
        return np.stack([self.x(x), self.plot.bottom - up * self.plot.height], axis=1)


def draw_loss(
    canvas: Canvas2D,
    box: Box,
    left: float,
    curve: Curve,
    theme: Theme,
    scale: float = 1.0,
    words_from: float = 0.0,
) -> Chart | None:
    """Draw the losses on their scale, the current step, other branches and metrics.

    Of several networks, each has a line in its color. The last loss stands at the right, below it
    the step; metrics over the curve, right of the parts of a step, which end at x = `words_from`;
    the ends of the scale at its left, at x = `left`.
    Returns None if there is no room.
    """
    beside = BESIDE[box.width < SMALL] * scale
    high = box.height >= LOW_CHART * scale
    of_shares = next((each for each in curve.metrics if each.share and high), None)
    right = box.right - beside - SHARES * scale * (of_shares is not None)
    above = PARTS * scale
    plot = Box(left, box.y + above, right - left, box.height - above - EDGE * scale)
    box = Box(box.x, plot.y - EDGE * scale, box.width, plot.height + 2.0 * EDGE * scale)
    if plot.height < 8.0 or plot.width < 40.0:
        return None
    title = draw_numbers_beside(canvas, box, box.right - beside, curve, theme, scale)
    if of_shares is not None:
        draw_shares(canvas, plot, color_of(of_shares, theme), scale)
    grip = Box(plot.x - 6.0, box.y, plot.width + 12.0, box.height)
    chart = Chart(box, title, grip, plot, *curve.span, curve.whole)
    steps = ChartScales(plot, *curve.span)
    drawn = curve.several or [(theme.loss, curve)]
    parts = [(each.steps, each.losses) for each in curve.others]
    parts += [(each.steps, each.values) for each in curve.metrics if not each.share]
    known = [steps.losses_of(each) for _, each in drawn]
    found = shown(np.concatenate(known + [steps.within(*each) for each in parts]))
    canvas.segments([(plot.x, plot.bottom)], [(plot.right, plot.bottom)], theme.faint)
    if not len(found):
        canvas.text(
            plot.x + 8.0,
            plot.y + plot.height / 2 + 4.0,
            text("chart.empty"),
            size=12.0 * scale,
            color=theme.quiet,
            room=plot.width - 8.0,
        )
        return chart
    scales = replace(steps, losses=LossScale.of(found))
    others = [(each.number, scales.all_points(each.steps, each.losses)) for each in curve.others]
    with canvas.clip(plot.x - 4.0, plot.y - 4.0, plot.width + 8.0, plot.height + 8.0):
        for _, points in others:
            draw_thin(canvas, points, theme.ghost, scale)
        owns = [draw_curve(canvas, scales, each, color, scale) for color, each in drawn]
        draw_lines(canvas, scales, curve, others, theme, scale)
        for color, each in drawn:
            draw_places(canvas, scales, each, color, theme, scale)
        if curve.pointed is not None:
            draw_step(canvas, scales, curve.pointed, theme.accent)
    write_scale(canvas, scales, curve, theme, scale, words_from, owns[-1])  # no line is over it
    marks = [
        (scales.x(step), step) for step, _ in curve.marks if scales.first <= step <= scales.last
    ]
    return replace(chart, own=owns[-1], others=others, marks=marks)


def write_scale(
    canvas: Canvas2D,
    scales: ChartScales,
    curve: Curve,
    theme: Theme,
    scale: float,
    words_from: float,
    own: FloatArray,
) -> None:
    """Write the ends of the scale and of the steps, and what the curve or the mouse is on.

    words_from  x of the end of the parts of a step: right of it are the words that fit
    own         pixels of the curve: words in the plot are above it where it is low
    """
    about, plot, size, losses = (
        about_curve(curve, theme),
        scales.plot,
        LETTERS * scale,
        scales.losses,
    )
    look: dict[str, Any] = {"size": size, "color": theme.quiet, "outline": theme.ground}
    draw_ends(canvas, scales, theme, scale)
    pad, gap = 8.0 * scale, 12.0 * scale

    def free(x: float) -> float:
        """Return the base of words from x on, at the end of the plot that the curve leaves free."""
        near = own[np.abs(own[:, 0] - x - 1.5 * size) < 2.5 * size, 1]
        is_low = bool(len(near)) and np.nanmean(near) > plot.y + 0.5 * plot.height
        return plot.y + size if is_low else plot.bottom - 6.0 * scale

    if not losses.is_linear and plot.width > 20.0 * size:
        canvas.text(plot.x + pad, free(plot.x + pad), text("chart.log"), **look)
    if plot.right - scales.x(curve.at) > 3.0 * size:  # else it is named beside the curve
        right, last = plot.right - pad, f"{scales.last:,.0f}"
        canvas.text(right, free(right - 3.0 * size), last, anchor="right", **look)
    left = max(plot.x + OF_PARTS * plot.width * (words_from > 0.0), words_from + gap)
    right, wide = plot.right, canvas.measure(about[0][0], size=size)
    is_over = len(about) == 1 and about[0][1] != theme.quiet and wide > right - left
    # What the mouse is on is read even on the curve.
    left, base = (plot.x, plot.y + size) if is_over else (left, plot.y - 16.0 * scale)
    for words, color in about:
        words = canvas.fit(words, right - left, size=size) if color == theme.accent else words
        if words.strip(". ") and canvas.measure(words, size=size) <= right - left:
            look |= {"color": color}
            right -= canvas.text(right, base, words, anchor="right", **look) + gap


def about_curve(curve: Curve, theme: Theme) -> Sequence[tuple[str, str]]:
    """Return what the mouse is on, else the steps, lines and metrics there are, else a hint.

    Of several networks, the mouse is on their losses, that of the last one first.
    """
    marked = next((why for step, why in curve.marks if step == curve.pointed), "")
    if marked:
        return [(marked, theme.accent)]
    if curve.meant is not None:
        return [(words_of_branch(curve), theme.ink)]
    if curve.several and curve.pointed is not None:
        return [(said_loss(each.reads) or "-", color) for color, each in reversed(curve.several)]
    step, (first, last) = curve.at if curve.pointed is None else curve.pointed, curve.span
    found = [(words_of(each, step), color_of(each, theme)) for each in curve.metrics]
    if (first, last) != (-curve.before, curve.whole):
        words = text("chart.zoomed", first=first, last=last, whole=curve.whole)
        found.insert(0, (words, theme.accent))
    elif curve.others:
        found.insert(0, (plural("chart.ghost", len(curve.others)), theme.quiet))
    return found or [(text("chart.hint"), theme.quiet)]


def draw_numbers_beside(
    canvas: Canvas2D, box: Box, right: float, curve: Curve, theme: Theme, scale: float
) -> Box:
    """Write loss and step right of a curve, those under the mouse if it is on the curve.

    Return the box of the loss.
    """
    size, row, x = LETTERS * scale, ROW * scale, right + 14.0 * scale
    is_read = curve.pointed is not None
    step = curve.at if curve.pointed is None else float(curve.pointed)
    said = said_loss(curve.reads if is_read else curve.loss)
    name = f"{text('chart.title')} {said}".strip()
    lines = [
        (name, theme.accent if is_read else theme.ink),
        (text("chart.step", step=step), theme.accent if is_read else theme.quiet),
    ]
    top, room = box.y + 0.5 * (box.height - row * len(lines)), box.right - x - 4.0 * scale
    for i, (words, color) in enumerate(lines):
        canvas.text(x, top + (i + 0.8) * row, words, size=size, color=color, bold=not i, room=room)
    title = Box(x - 4.0 * scale, top, room, row)
    if curve.on_title:  # a click makes it large
        ends = (x, title.bottom), (title.right, title.bottom)
        canvas.segments([ends[0]], [ends[1]], theme.accent, width=1.5 * scale)
    return title


def said_loss(loss: float) -> str:
    """Return a loss in words; "" if it is not known."""
    return "" if math.isnan(loss) else typeset(f"{loss:#.3g}")


def draw_ends(
    canvas: Canvas2D, scales: ChartScales, theme: Theme, scale: float, size: float = LETTERS
) -> None:
    """Write the ends of the scale of losses left of the plot, in letters of a size."""
    plot, losses, size = scales.plot, scales.losses, size * scale
    for value, y in ((losses.high, plot.y + 0.7 * size), (losses.low, plot.bottom)):
        x, words = plot.x - 6.0 * scale, typeset(f"{value:g}")
        canvas.text(x, y, words, size=size, color=theme.quiet, anchor="right")


def draw_shares(canvas: Canvas2D, plot: Box, color: str, scale: float) -> None:
    """Write the scale of shares at the right of a plot."""
    for share in (0.0, 0.5, 1.0):
        y, x = plot.bottom - share * plot.height, plot.right + 6.0 * scale
        canvas.text(x, y + 4.0 * scale, f"{share:.0%}", size=12.0 * scale, color=color)


def draw_lines(
    canvas: Canvas2D,
    scales: ChartScales,
    curve: Curve,
    others: Sequence[tuple[int, FloatArray]],
    theme: Theme,
    scale: float,
) -> None:
    """Draw the lines of metrics, and the line of a branch that is meant."""
    for metric in curve.metrics:
        points = scales.points(metric.steps, metric.values, metric.share)
        canvas.line(points, color_of(metric, theme), width=1.3 * scale)
    for number, points in others:
        if number == curve.meant:
            canvas.line(points, theme.quiet, width=2.0 * scale)


def draw_curve(
    canvas: Canvas2D, scales: ChartScales, curve: Curve, color: str, scale: float
) -> FloatArray:
    """Draw a curve; where its mean is known that, and the curve thinly; return its pixels."""
    own = scales.points(curve.steps, curve.losses)
    if len(curve.smoothed):
        draw_thin(canvas, own, color + "57", scale)
        some = np.linspace(0, len(curve.steps) - 1, min(len(curve.steps), MEANS)).astype(np.int64)
        mean = scales.points(curve.steps[some], curve.smoothed[some])
        canvas.line(mean, color, width=2.6 * scale)
    else:
        canvas.line(own, color, width=2.0 * scale)
    return own


def draw_thin(canvas: Canvas2D, points: FloatArray, color: str, scale: float) -> None:
    """Draw a line that is so thin that it needs no joins; NaN interrupts it."""
    known = np.asarray(np.isfinite(points).all(axis=1))
    drawn = known[:-1] & known[1:]
    canvas.segments(points[:-1][drawn], points[1:][drawn], color, width=1.0 * scale)


def draw_places(
    canvas: Canvas2D, scales: ChartScales, curve: Curve, color: str, theme: Theme, scale: float
) -> None:
    """Draw where the clock stands, and the marks."""
    x = draw_step(canvas, scales, curve.at, color + "96")
    y = scales.y(curve.loss)
    if math.isfinite(y):
        canvas.discs((x, y), 5.0 * scale, color, outline=theme.ground, line=1.5 * scale)
    for step, _ in curve.marks:
        x = draw_step(canvas, scales, step, theme.accent + "90")
        y = scales.y(np.interp(step, curve.steps, curve.losses)) if len(curve.steps) else math.nan
        canvas.discs((x, y if math.isfinite(y) else scales.plot.y), 3.5 * scale, theme.accent)


def draw_step(canvas: Canvas2D, scales: ChartScales, step: float, color: str) -> float:
    """Draw a line at a step, from the top of the plot to its bottom; return where it is."""
    x: float = scales.x(step)
    canvas.segments([(x, scales.plot.y)], [(x, scales.plot.bottom)], color, width=1.0)
    return x


def words_of_branch(curve: Curve) -> str:
    """Return the name of the branch under the mouse, and its loss at the step there."""
    if math.isnan(curve.there):
        return curve.name
    return text("chart.branch.loss", name=curve.name, loss=f"{curve.there:#.3g}")


def words_of(metric: Measured, step: float) -> str:
    """Return the name of a metric and its last value up to a step, with the step if earlier."""
    known = int(np.searchsorted(metric.steps, step, side="right"))
    if not known or math.isnan(value := float(metric.values[known - 1])):
        return metric.name
    words = f"{metric.name} {100.0 * value:.3g}%" if metric.share else f"{metric.name} {value:#.3g}"
    if (measured := metric.steps[known - 1]) == step:
        return words
    return text("chart.measured", said=words, step=measured)


def color_of(metric: Measured, theme: Theme) -> str:
    """Return the color of the curve of a metric."""
    return theme.metric if metric.share else theme.ink


def distance(points: FloatArray, x: float, y: float) -> float:
    """Return how far a pixel is from the line through some points, infinite without any."""
    if len(points) < 2:
        return float(np.hypot(*(points - [x, y]).T).min()) if len(points) else math.inf
    start, way = points[:-1] - [x, y], np.diff(points, axis=0)
    length = np.maximum((way * way).sum(axis=1), 1e-12)
    part = np.clip(-(start * way).sum(axis=1) / length, 0.0, 1.0)
    apart = np.hypot(*(start + part[:, np.newaxis] * way).T)
    known = apart[np.isfinite(apart)]
    return float(known.min()) if len(known) else math.inf


def thinned(points: FloatArray, width: float) -> FloatArray:
    """Reduce a curve to two points per pixel column: the lowest and the highest."""
    columns = max(2, int(width))
    if len(points) <= 2 * columns:
        return points
    starts = np.arange(columns) * len(points) // columns
    high = np.fmax.reduceat(points[:, 1], starts)
    low = np.fmin.reduceat(points[:, 1], starts)
    x = points[starts, 0]
    return np.stack([np.repeat(x, 2), np.stack([low, high], axis=1).ravel()], axis=1)


def draw_history(
    canvas: Canvas2D, box: Box, history: History, theme: Theme, scale: float = 1.0
) -> None:
    """Draw the values of a weight over the steps, thinly where they are not known.

    Its axes have the smallest and the largest value, and the first and the last step.
    """
    steps, values = history.steps, history.values
    good = np.isfinite(values)
    if good.sum() < 2:
        return
    size = 12.0 * scale
    low, high = float(values[good].min()), float(values[good].max())
    ends = [rounded(value, 3) for value in (low, high)]
    axis = max(canvas.measure(each, size=size) for each in ends) + 6.0 * scale
    plot = Box(box.x + axis, box.y + 4.0, box.width - axis - 4.0, box.height - 15.0 * scale - 6.0)
    room = (high - low) or max(abs(high), 1e-6)
    span = max(float(steps[-1] - steps[0]), 1.0)
    x = plot.x + (steps - steps[0]) / span * plot.width
    y = plot.bottom - 2.0 - (values - low) / room * (plot.height - 4.0)
    corner = (plot.x, plot.bottom)
    canvas.segments([(plot.x, plot.y), corner], [corner, (plot.right, plot.bottom)], theme.faint)
    for words, at in zip(ends, (plot.bottom, plot.y + 8.0 * scale), strict=True):
        canvas.text(box.x, at, words, size=size, color=theme.quiet)
    under = plot.bottom + 12.5 * scale
    first, last = f"{steps[0]:,.0f}", text("chart.step", step=steps[-1])
    canvas.text(plot.x, under, first, size=size, color=theme.quiet)
    canvas.text(plot.right, under, last, size=size, color=theme.quiet, anchor="right")
    points = np.stack([x, y], axis=1)
    draw_thin(canvas, points, theme.accent + "90", scale)
    for start, end in runs_of(history.known):
        canvas.line(thinned(points[start : end + 1], plot.width), theme.accent, width=1.5 * scale)
    canvas.discs((float(x[-1]), float(y[-1])), 2.5 * scale, theme.ink)


def runs_of(known: FloatArray) -> list[tuple[int, int]]:
    """Return the first and last point of each stretch between which all values are known."""
    edges = np.diff(np.concatenate([[0], np.asarray(known, np.int8), [0]]))
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    return list(zip(starts.tolist(), ends.tolist(), strict=True))
