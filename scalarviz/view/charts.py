"""Charts on a canvas: the loss curve, and the history of a weight."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.draw2d.braille_curve import round_down, round_up
from scalarviz.draw2d.canvas import Canvas2D
from scalarviz.draw2d.theme import Theme
from scalarviz.texts import text
from scalarviz.view.frame_data import Curve, History, Measured
from scalarviz.view.scene.frame import Box

AXIS = 46.0  # pixels left of a curve
DOTS = 5.0  # pixels from one dot to the next


@dataclass(frozen=True)
class Chart:
    """The chart of the losses as it was drawn.

    grip  where the mouse goes to a step: the curve and its axis of steps
    plot  the curve's box; its right end is the step `last`
    """

    grip: Box
    plot: Box
    last: float

    def step_at(self, x: float) -> int:
        """Return the step at a pixel's x, the first or last one outside."""
        share = (x - self.plot.x) / self.plot.width
        return round(min(max(share, 0.0), 1.0) * self.last)


def draw_loss(
    canvas: Canvas2D, box: Box, curve: Curve, theme: Theme, clock: str = "", scale: float = 1.0
) -> Chart | None:
    """Draw the losses on a logarithmic scale with axes, the current step, and the other branch.

    The last loss stands above the curve at the left, beside it those of metrics, which have curves
    too; `clock` stands at the right. Returns None if there is no room.
    """
    axis, top, below = AXIS * scale, 22.0 * scale, 15.0 * scale
    plot = Box(box.x + axis, box.y + top, box.width - axis - 4.0, box.height - top - below)
    if plot.height < 8.0 or plot.width < 40.0:
        return None
    draw_last_numbers(canvas, plot, box.y + 16.0 * scale, curve, theme, clock, scale)
    last = draw_axes(canvas, plot, curve, theme, scale)
    grip = Box(plot.x - 6.0, plot.y - 4.0, plot.width + 12.0, box.bottom - plot.y + 4.0)
    chart = Chart(grip, plot, last)
    size = 12.0 * scale
    errors = [metric.values for metric in curve.metrics if not metric.share]
    losses = np.concatenate([curve.losses, curve.ghost_losses, [curve.loss], *errors])
    losses = losses[np.isfinite(losses) & (losses > 0.0)]
    if not len(losses):
        middle, said = plot.y + plot.height / 2 + 4.0, text("chart.empty")
        said = canvas.fit(said, plot.width - 8.0, size=size)
        canvas.text(plot.x + 8.0, middle, said, size=size, color=theme.quiet)
        return chart
    high = round_up(float(losses.max()))
    low = min(round_down(float(losses.min())), high / 10.0)

    def place(x: FloatArray, y: FloatArray, share: bool = False) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            up = y if share else (np.log10(y) - math.log10(low)) / math.log10(high / low)
        up = np.where(np.isfinite(up), np.clip(up, -0.02, 1.02), np.nan)
        return np.stack([plot.x + x / last * plot.width, plot.bottom - up * plot.height], axis=1)

    for value in ticks(low, high, plot.height / scale):
        y = float(place(np.zeros(1), np.array([value]))[0, 1])
        canvas.segments([(plot.x, y)], [(plot.right, y)], theme.rim, width=1.0)
        words, x = f"{value:g}", plot.x - 6.0 * scale
        canvas.text(x, y + 4.0 * scale, words, size=size, color=theme.quiet, anchor="right")
    with canvas.clip(plot.x - 4.0, plot.y - 4.0, plot.width + 8.0, plot.height + 8.0):
        if len(curve.ghost_steps):
            other = place(curve.ghost_steps, curve.ghost_losses)
            canvas.line(thinned(other, plot.width), theme.ghost, width=1.3 * scale)
        if len(curve.steps):
            own = place(curve.steps, curve.losses)
            canvas.line(thinned(own, plot.width), theme.accent, width=1.6 * scale)
        for metric in curve.metrics:
            points = place(metric.steps, metric.values, metric.share)
            canvas.line(thinned(points, plot.width), color_of(metric, theme), width=1.3 * scale)
        x = plot.x + curve.at / last * plot.width
        canvas.segments([(x, plot.y)], [(x, plot.bottom)], theme.ink + "60", width=1.0)
        if math.isfinite(curve.loss) and curve.loss > 0.0:
            x, y = place(np.array([curve.at]), np.array([curve.loss]))[0].tolist()
            canvas.disc(x, y, 3.5 * scale, theme.ink)
        if curve.pointed is not None:
            x = plot.x + curve.pointed / last * plot.width
            canvas.segments([(x, plot.y)], [(x, plot.bottom)], theme.accent, width=1.0)
    return chart


def draw_last_numbers(
    canvas: Canvas2D,
    plot: Box,
    base: float,
    curve: Curve,
    theme: Theme,
    clock: str,
    scale: float,
) -> None:
    """Write the last loss, the last value of each metric in the color of its curve, the clock.

    If the mouse points at a step, the numbers are those of this step, without the clock. What has
    no room there stands below the curve; without metrics the scale is named.
    """
    size, gap = 13.0 * scale, 12.0 * scale
    loss, number, at = text("chart.title"), curve.loss, curve.pointed
    if at is not None:
        number, clock = value_at(curve.steps, curve.losses, at), ""
    if not math.isnan(number):
        loss = f"{loss} {number:#.3g}"
    end = plot.x + canvas.text(plot.x, base, loss, size=size, color=theme.ink)
    right = plot.right
    if clock and canvas.measure(clock, size=size) + 8.0 < right - end:
        right -= canvas.text(right, base, clock, size=size, color=theme.quiet, anchor="right") + gap
    told = [(words_of(each, at), color_of(each, theme)) for each in curve.metrics]
    for words, color in told or [(text("chart.scale"), theme.quiet)]:
        if end + gap + canvas.measure(words, size=size) < right:
            end += gap + canvas.text(end + gap, base, words, size=size, color=color)
        elif told and at is None and not len(curve.ghost_steps):
            small, left = 12.0 * scale, plot.x + 2.0 * gap
            room = plot.right - canvas.measure(step_words(curve), size=small) - gap - left
            if canvas.measure(words, size=small) < room:
                middle, under = left + room / 2.0, plot.bottom + 12.5 * scale
                canvas.text(middle, under, words, size=small, color=color, anchor="center")


def value_at(steps: FloatArray, values: FloatArray, step: float) -> float:
    """Return the last value up to a step; NaN before the first one."""
    known = int(np.searchsorted(steps, step, side="right"))
    return float(values[known - 1]) if known else math.nan


def words_of(metric: Measured, step: float | None) -> str:
    """Return the name of a metric, with its value at a step, or the last one for None."""
    value = value_at(metric.steps, metric.values, math.inf if step is None else step)
    if math.isnan(value):
        return metric.name
    return f"{metric.name} {100.0 * value:.3g}%" if metric.share else f"{metric.name} {value:#.3g}"


def color_of(metric: Measured, theme: Theme) -> str:
    """Return the color of the curve of a metric."""
    return theme.metric if metric.share else theme.ink


def last_step(curve: Curve) -> float:
    """Return the last step of the chart."""
    ends = [float(part[-1]) for part in (curve.steps, curve.ghost_steps) if len(part)]
    return max(curve.at, 1.0, *ends)


def step_words(curve: Curve) -> str:
    """Return what stands at the right end of the axis of steps."""
    return text("chart.step", step=last_step(curve))


def draw_axes(canvas: Canvas2D, plot: Box, curve: Curve, theme: Theme, scale: float) -> float:
    """Draw the axes, with the first and the last step or that under the mouse; return the last."""
    size, under = 12.0 * scale, plot.bottom + 12.5 * scale
    corner = (plot.x, plot.bottom)
    canvas.segments([(plot.x, plot.y), corner], [corner, (plot.right, plot.bottom)], theme.faint)
    last, step = last_step(curve), step_words(curve)
    if curve.pointed is not None:
        words = text("chart.step", step=curve.pointed)
        wide = canvas.measure(words, size=size)
        x = plot.x + curve.pointed / last * plot.width - wide / 2.0
        x = min(max(x, plot.x), plot.right - wide)
        canvas.text(x, under, words, size=size, color=theme.accent)
        return last
    canvas.text(plot.x, under, "0", size=size, color=theme.quiet)
    canvas.text(plot.right, under, step, size=size, color=theme.quiet, anchor="right")
    ghost = text("chart.ghost")
    if len(curve.ghost_steps) and plot.width > canvas.measure(ghost + step, size=size) + 40.0:
        middle = plot.x + plot.width / 2
        canvas.text(middle, under, ghost, size=size, color=theme.ghost, anchor="center")
    return last


def ticks(low: float, high: float, height: float) -> list[float]:
    """Return the powers of ten in a range, as many as fit; the ends of the range if below two."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    powers = [10.0**p for p in range(first, last + 1)]
    apart = max(1, math.ceil(len(powers) * 22.0 / max(height, 1.0)))
    shown = powers[::apart]
    return shown if len(shown) > 1 else [low, high]


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
    """Draw the values of a weight over the steps, dotted where they are not known.

    Its axes have the smallest and the largest value, and the first and the last step.
    """
    steps, values = history.steps, history.values
    good = np.isfinite(values)
    if good.sum() < 2:
        return
    size = 12.0 * scale
    low, high = float(values[good].min()), float(values[good].max())
    ends = [f"{value:.3g}".replace("0.", ".", 1) for value in (low, high)]
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
    for start, end in runs_of(history.known):
        canvas.line(thinned(points[start : end + 1], plot.width), theme.accent, width=1.5 * scale)
    for i in np.flatnonzero(~np.asarray(history.known, np.bool_)).tolist():
        dotted(canvas, points[i], points[i + 1], theme.accent, scale)
    canvas.disc(float(x[-1]), float(y[-1]), 2.5 * scale, theme.ink)


def runs_of(known: FloatArray) -> list[tuple[int, int]]:
    """Return the first and last point of each stretch between which all values are known."""
    edges = np.diff(np.concatenate([[0], np.asarray(known, np.int8), [0]]))
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


def dotted(
    canvas: Canvas2D, start: FloatArray, end: FloatArray, color: str, scale: float = 1.0
) -> None:
    """Draw a straight line of dots."""
    count = max(2, int(np.hypot(*(end - start)) / (DOTS * scale)))
    if np.isfinite([start, end]).all():
        places = start + np.linspace(0.0, 1.0, count)[:, np.newaxis] * (end - start)
        canvas.discs(places, np.full(count, 0.9 * scale), color)
