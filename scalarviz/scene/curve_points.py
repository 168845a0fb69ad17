"""Points of curves as numpy arrays; pages have the same functions in web/curve_points.js.

`scales` are the scales of a plot, see `ChartScales` in scene/loss_chart.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.scales import LARGEST_LOSS

if TYPE_CHECKING:
    from scalarviz.scene.canvas.canvas2d import Canvas2D
    from scalarviz.scene.loss_chart import ChartScales, LossScale

Numbers = FloatArray | Sequence[float]
nothing = partial(np.zeros, 0)


def shown(losses: FloatArray) -> FloatArray:
    """Return the losses that a scale can show: finite, and positive unless some are negative."""
    found: FloatArray = losses[np.isfinite(losses)]
    return found if (found < 0.0).any() else found[found > 0.0]


def shown_between(
    first: float, last: float, curves: Sequence[tuple[Numbers, Numbers]]
) -> FloatArray:
    """Return the displayable values of several curves, each (steps, values), between two steps."""
    return shown(finite_between(first, last, curves))


def finite_between(
    first: float, last: float, curves: Sequence[tuple[Numbers, Numbers]]
) -> FloatArray:
    """Return the finite values of several curves, each (steps, values), between two steps."""
    steps, values = (np.concatenate(each) for each in zip(*curves, strict=True))
    found: FloatArray = values[(steps >= first) & (steps <= last) & np.isfinite(values)]
    return found


def heights(scale: LossScale, losses: FloatArray) -> FloatArray:
    """Return the heights of losses, from 0 at `low` to 1 at `high`; NaN if not displayable."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if scale.is_linear:
            near = np.where(
                np.isfinite(losses), np.clip(losses, -LARGEST_LOSS, LARGEST_LOSS), np.nan
            )
            found = (near - scale.low) / (scale.high - scale.low)
        else:
            decades = math.log10(scale.high / scale.low)
            found = (np.log10(losses) - math.log10(scale.low)) / decades
    return np.where(np.isfinite(found), found, np.nan)


def pixels(
    scales: ChartScales, steps: Numbers, values: Numbers, *, share: bool = False
) -> FloatArray:
    """Return the pixels of all points, (n, 2); with `share`, the scale is linear from 0 to 1."""
    y = np.asarray(values, np.float64)
    up = np.where(np.isfinite(y), y, np.nan) if share else heights(scales.losses, y)
    plot, x = scales.plot, np.asarray(steps, np.float64)
    across = plot.x + (x - scales.first) / (scales.last - scales.first) * plot.width
    return np.stack([across, plot.bottom - np.clip(up, -0.02, 1.02) * plot.height], axis=1)


def curve_pixels(
    scales: ChartScales, steps: FloatArray, values: FloatArray, *, share: bool = False
) -> FloatArray:
    """Return the pixels of the visible part of a curve, reduced to two points per pixel column."""
    around = np.searchsorted(steps, [scales.first, scales.last])
    seen = slice(max(0, int(around[0]) - 1), int(around[1]) + 1)
    return thinned(pixels(scales, steps[seen], values[seen], share=share), scales.plot.width)


def thinned(points: FloatArray, width: float) -> FloatArray:
    """Reduce a curve to its lowest and highest point in each pixel column."""
    columns = max(2, int(width))
    if len(points) <= 2 * columns:
        return points
    starts = np.arange(columns) * len(points) // columns
    high = np.fmax.reduceat(points[:, 1], starts)
    low = np.fmin.reduceat(points[:, 1], starts)
    x = points[starts, 0]
    return np.stack([np.repeat(x, 2), np.stack([low, high], axis=1).ravel()], axis=1)


def count_up_to(steps: FloatArray, step: float) -> int:
    """Return how many of the increasing `steps` are at or before `step`."""
    return int(np.searchsorted(steps, step, side="right"))


def value_at(steps: FloatArray, values: FloatArray, step: float) -> float:
    """Return the value of a curve at a step; NaN if the curve is empty."""
    return float(np.interp(step, steps, values)) if len(steps) else math.nan


def mean_height(points: FloatArray, x: float, reach: float) -> float:
    """Return the mean height of the curve's points within `reach` of x; NaN without points."""
    near = points[np.abs(points[:, 0] - x) < reach, 1] if len(points) else points
    return float(np.nanmean(near)) if len(near) else math.nan


def distance(points: FloatArray, x: float, y: float) -> float:
    """Return the distance from a pixel to the line through points; infinite without points."""
    if len(points) < 2:
        return float(np.hypot(*(points - [x, y]).T).min()) if len(points) else math.inf
    start, way = points[:-1] - [x, y], np.diff(points, axis=0)
    length = np.maximum((way * way).sum(axis=1), 1e-12)
    part = np.clip(-(start * way).sum(axis=1) / length, 0.0, 1.0)
    apart = np.hypot(*(start + part[:, np.newaxis] * way).T)
    known = apart[np.isfinite(apart)]
    return float(known.min()) if len(known) else math.inf


def draw_thin(canvas: Canvas2D, points: FloatArray, color: str, scale: float) -> None:
    """Draw a thin line without rounded joins; NaN interrupts it."""
    known = np.asarray(np.isfinite(points).all(axis=1))
    drawn = known[:-1] & known[1:]
    canvas.segments(points[:-1][drawn], points[1:][drawn], color, width=1.0 * scale)
