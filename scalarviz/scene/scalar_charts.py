"""The scalars of a followed run, a chart for each below the large loss curve.

The window and pages share this file; docs/TRANSLATOR.md lists the supported Python.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from scalarviz.base.checks import FloatArray
from scalarviz.base.scales import even_ends
from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import typeset
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import Theme
from scalarviz.scene.curve_points import count_up_to, finite_between
from scalarviz.scene.frame_data import ScalarCharts
from scalarviz.scene.layout.camera import Box
from scalarviz.scene.loss_chart import (
    LETTERS,
    ChartScales,
    Curve,
    LossScale,
    draw_curve,
    draw_ends,
    draw_moments,
    is_logarithmic,
    loss_scale,
)

TITLE = 1.5  # height of a title, in letters
LEAST = 40.0  # pixels of a chart with its title
SHARE = 0.7  # most of the width for the name of a scalar, left of the values


def drawn_scalars(height: float, scalars: ScalarCharts, scale: float) -> int:
    """Return how many of the scalars are drawn in a height; the others do not fit."""
    return min(len(scalars.names), max(1, int(height / (LEAST * scale))))


def words_of_scalars(height: float, scalars: ScalarCharts, scale: float) -> str:
    """Return the status text: scalars that are not drawn, or that none was recorded; or ""."""
    left_out = scalars.names[drawn_scalars(height, scalars, scale) :]
    if left_out:
        return text("past.left_out", names=", ".join(left_out))
    return "" if scalars.names else text("past.no_scalars")


def draw_scalars(
    canvas: Canvas2D, box: Box, scalars: ScalarCharts, curve: Curve, theme: Theme, scale: float
) -> None:
    """Draw a chart for each scalar, over the steps of the loss curve."""
    count, size = drawn_scalars(box.height, scalars, scale), LETTERS * scale
    for i in range(count):
        high = box.height / count
        y = box.y + i * high + TITLE * size
        plot = Box(box.x, y, box.width, high - (TITLE + 0.3) * size)
        draw_scalar(canvas, plot, scalars.names[i], scalars.curves[i], curve, theme, scale)


def draw_scalar(
    canvas: Canvas2D,
    plot: Box,
    name: str,
    line: Curve,
    curve: Curve,
    theme: Theme,
    scale: float,
) -> None:
    """Draw a scalar, with the last value up to the step at the pointer."""
    step: float = curve.at if curve.pointed is None else curve.pointed
    (first, last), size, base = curve.span, LETTERS * scale, plot.y - 0.4 * LETTERS * scale
    found: FloatArray = finite_between(first, last, [(line.steps, line.losses)])
    scales = ChartScales(plot, first, last, scalar_scale(found, curve.settings))
    canvas.segments([(plot.x, plot.bottom)], [(plot.right, plot.bottom)], theme.faint)
    if len(found):
        draw_ends(canvas, scales, theme, scale)
    with canvas.clip(plot.x - 4.0, plot.y - 4.0, plot.width + 8.0, plot.height + 8.0):
        draw_curve(canvas, scales, line, theme.metric, scale)
        draw_moments(canvas, scales, curve, theme)
    title = name if scales.losses.is_linear else f"{name} ({text('past.tab.log')})"
    look: dict[str, Any] = {"size": size, "room": SHARE * plot.width}
    x = plot.x + canvas.text(plot.x, base, title, color=theme.ink, bold=True, **look) + size
    known: int = count_up_to(line.steps, step)
    value = float(line.losses[known - 1]) if known else math.nan
    if known and first <= line.steps[known - 1] <= last:
        spot = scales.x(line.steps[known - 1]), scales.y(value)
        canvas.discs(spot, 3.5 * scale, theme.metric, outline=theme.ground)
    said = typeset(f"{value:.3g}") if known else "-"
    look["room"] = plot.right - x
    canvas.text(x, base, said, color=theme.quiet, **look)


def scalar_scale(numbers: FloatArray, settings: Sequence[str]) -> LossScale:
    """Return the scale of a scalar: from its least to its largest number, with round ends."""
    if not len(numbers):
        return LossScale(0.0, 1.0)
    least, most = float(numbers.min()), float(numbers.max())
    if least > 0.0 and is_logarithmic(numbers, settings):
        return loss_scale(numbers)
    low, high = even_ends(least, most)
    return LossScale(low, high, even=True)
