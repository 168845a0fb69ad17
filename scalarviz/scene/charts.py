"""Charts of the window: the loss curve with its numbers, and the history of a weight."""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import rounded
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import Theme
from scalarviz.scene.curve_points import draw_thin, thinned
from scalarviz.scene.frame_data import Curve, History
from scalarviz.scene.layout.division import Box
from scalarviz.scene.loss_chart import (
    AXIS,
    BELOW,
    LETTERS,
    NARROW,
    Chart,
    draw_chart,
    words_beside,
)

BESIDE, EDGE = 162.0, 8.0  # pixels right of a curve; above and below it, and right of a narrow one
PARTS = 34.0  # height of the step strip above it
RISE, GAP = 16.0, 12.0  # from a curve up to the words above it, and from the strip to these
ROW = 17.0  # height of a row right of a curve


def draw_loss(
    canvas: Canvas2D,
    box: Box,
    left: float,
    curve: Curve,
    theme: Theme,
    scale: float = 1.0,
    words_from: float = 0.0,
) -> Chart | None:
    """Draw the loss curve with its scale, the current step, other branches and metrics.

    If there are several networks, each has a line in its own color. The last loss is on the right,
    with step below it. Metrics are above the curve, to the right of the step strip, which ends at
    `words_from`. The first loss and the lower end of the scale are on the left, starting at `left`.
    In a narrow chart, all these numbers are below the curve. Returns None if the chart does not
    fit.
    """
    narrow = box.width < NARROW * scale
    below = narrow and not curve.large  # beside a large one are the names of layers
    left += 0.0 if below else AXIS * scale
    right = box.right - (EDGE if narrow else BESIDE) * scale
    high = box.height - (PARTS + (BELOW if narrow else EDGE)) * scale
    plot = Box(left, box.y + PARTS * scale, right - left, high)
    box = Box(box.x, plot.y - EDGE * scale, box.width, plot.height + 2.0 * EDGE * scale)
    if plot.height < 8.0 or plot.width < 40.0:
        return None
    title = draw_numbers_beside(canvas, box, plot, curve, theme, scale, narrow=narrow)
    grip = Box(plot.x - 6.0, box.y, plot.width + 12.0, box.height)
    free = max(plot.x, words_from + GAP * scale)
    look = theme, scale, free, RISE
    return draw_chart(canvas, (box, title, grip, plot), curve, *look, narrow=below)


def draw_numbers_beside(
    canvas: Canvas2D,
    box: Box,
    plot: Box,
    curve: Curve,
    theme: Theme,
    scale: float,
    *,
    narrow: bool,
) -> Box:
    """Write loss and step, preferably at the pointer, to the right of a curve or below it.

    Returns:
        The box of the loss.
    """
    size, row, is_read = LETTERS * scale, ROW * scale, curve.pointed is not None
    loss, better, step = words_beside(curve)
    quiet = theme.accent if is_read else theme.quiet
    look: dict[str, Any] = {"size": size, "color": theme.accent if is_read else theme.ink}
    wide = canvas.measure(loss, size=size, bold=True)
    if narrow:
        x, y = plot.right, plot.bottom + 1.2 * size
        x -= canvas.text(x, y, step, size=size, color=quiet, anchor="right") + size
        room = x - plot.x - 6.0 * size  # the first loss is on its left
        canvas.text(x, y, loss, bold=True, anchor="right", room=room, **look)
        title = Box(x - wide, plot.bottom, wide, BELOW * scale)
    else:
        x, top = plot.right + 14.0 * scale, box.y + 0.5 * (box.height - 3.0 * row)
        room = box.right - x - 4.0 * scale
        for mark in (" → ", " ("):
            if wide > room and mark in loss:
                loss, better = loss.replace(mark, "\n" + mark[1:]).split("\n")
        canvas.text(x, top + 0.8 * row, loss, bold=True, room=room, **look)
        for i, (words, color) in enumerate([(better, theme.quiet), (step, quiet)]):
            canvas.text(x, top + (i + 1.8) * row, words, size=size, color=color, room=room)
        title = Box(x - 4.0 * scale, top, room, row)
    if curve.on_title:  # a click enlarges it
        ends = (title.x, title.bottom), (title.right, title.bottom)
        canvas.segments([ends[0]], [ends[1]], theme.accent, width=1.5 * scale)
    return title


def draw_history(
    canvas: Canvas2D, box: Box, history: History, theme: Theme, scale: float = 1.0
) -> None:
    """Draw the values of a weight over the steps, with thin lines where values are unknown.

    The axes show the smallest and largest value, and the first and last step.
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
    """Return the index of the first and last point of each run of known values."""
    edges = np.diff(np.concatenate([[0], np.asarray(known, np.int8), [0]]))
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    return list(zip(starts.tolist(), ends.tolist(), strict=True))
