"""Charts on a canvas: the loss curve, and the sparkline of a weight's history."""

from __future__ import annotations

import math

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.draw2d.braille_curve import round_down, round_up
from scalarviz.draw2d.canvas import Canvas2D
from scalarviz.draw2d.theme import Theme
from scalarviz.texts import text
from scalarviz.view.frame_data import Curve
from scalarviz.view.scene.frame import Box

AXIS, TICKS = 42.0, 18.0  # pixels: left of a curve, below it


def panel(canvas: Canvas2D, box: Box, title: str, theme: Theme, right: str = "") -> Box:
    """Draw a panel with a title, and text at its right end; return the box inside it."""
    canvas.box(
        box.x,
        box.y,
        box.width,
        box.height,
        theme.panel,
        radius=8.0,
        outline=theme.rim,
    )
    room = box.width - 24.0
    taken = 0.0
    if right:
        right = canvas.fit(right, 0.6 * room, size=12)
        taken = canvas.measure(right, size=12) + 10.0
        canvas.text(
            box.right - 12.0, box.y + 19.0, right, size=12, color=theme.quiet, anchor="right"
        )
    title = canvas.fit(title, room - taken, size=12, bold=True)
    canvas.text(box.x + 12.0, box.y + 19.0, title, size=12, color=theme.ink, bold=True)
    return Box(box.x + 12.0, box.y + 28.0, max(0.0, room), max(0.0, box.height - 38.0))


def loss_panel(canvas: Canvas2D, box: Box, curve: Curve, theme: Theme) -> None:
    """Draw the losses on a logarithmic scale, the current step, and the other branch in grey."""
    loss = "" if math.isnan(curve.loss) else f"{curve.loss:#.3g}"
    inside = panel(canvas, box, text("chart.title"), theme, loss)
    losses = np.concatenate([curve.losses, curve.ghost_losses, [curve.loss]])
    losses = losses[np.isfinite(losses) & (losses > 0.0)]
    if inside.height < 30.0 or inside.width < 80.0:
        return
    if not len(losses):
        middle = inside.y + inside.height / 2
        canvas.text(inside.x, middle, text("chart.empty"), size=12, color=theme.quiet)
        return
    high = round_up(float(losses.max()))
    low = min(round_down(float(losses.min())), high / 10.0)
    plot = Box(inside.x + AXIS, inside.y + 4.0, inside.width - AXIS - 4.0, inside.height - TICKS)
    ends = [float(part[-1]) for part in (curve.steps, curve.ghost_steps) if len(part)]
    last = max(curve.at, 1.0, *ends)

    def place(x: FloatArray, y: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            up = (np.log10(y) - math.log10(low)) / math.log10(high / low)
        up = np.where(np.isfinite(up), np.clip(up, -0.02, 1.02), np.nan)
        return np.stack([plot.x + x / last * plot.width, plot.bottom - up * plot.height], axis=1)

    for value in ticks(low, high, plot.height):
        y = float(place(np.zeros(1), np.array([value]))[0, 1])
        canvas.segments([(plot.x, y)], [(plot.right, y)], theme.rim, width=1.0)
        canvas.text(plot.x - 6.0, y + 4.0, f"{value:g}", size=11, color=theme.quiet, anchor="right")
    with canvas.clip(plot.x - 4.0, plot.y - 4.0, plot.width + 8.0, plot.height + 8.0):
        if len(curve.ghost_steps):
            ghost = place(curve.ghost_steps, curve.ghost_losses)
            canvas.line(thinned(ghost, plot.width), theme.ghost, width=1.3)
        if len(curve.steps):
            canvas.line(
                thinned(place(curve.steps, curve.losses), plot.width), theme.accent, width=1.6
            )
        x = plot.x + curve.at / last * plot.width
        canvas.segments([(x, plot.y)], [(x, plot.bottom)], theme.ink + "60", width=1.0)
        if math.isfinite(curve.loss) and curve.loss > 0.0:
            x, y = place(np.array([curve.at]), np.array([curve.loss]))[0].tolist()
            canvas.disc(x, y, 3.5, theme.ink)
    canvas.text(plot.x, plot.bottom + 14.0, "0", size=11, color=theme.quiet)
    canvas.text(
        plot.right,
        plot.bottom + 14.0,
        text("chart.step", step=last),
        size=11,
        color=theme.quiet,
        anchor="right",
    )
    if len(curve.ghost_steps) and plot.width > 190.0:
        middle = plot.x + plot.width / 2
        canvas.text(
            middle,
            plot.bottom + 14.0,
            text("chart.ghost"),
            size=11,
            color=theme.ghost,
            anchor="center",
        )


def ticks(low: float, high: float, height: float) -> list[float]:
    """Return the powers of ten in a range, as many as fit; the ends of the range if below two."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    powers = [10.0**p for p in range(first, last + 1)]
    apart = max(1, math.ceil(len(powers) * 22.0 / max(height, 1.0)))
    return powers[::apart] if len(powers) > 1 else [low, high]


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


def sparkline(
    canvas: Canvas2D, box: Box, steps: FloatArray, values: FloatArray, theme: Theme
) -> None:
    """Draw the history of a weight, with its minimum and maximum."""
    good = np.isfinite(values)
    if good.sum() < 2:
        return
    low, high = float(values[good].min()), float(values[good].max())
    room = (high - low) or max(abs(high), 1e-6)
    span = max(float(steps[-1] - steps[0]), 1.0)
    x = box.x + (steps - steps[0]) / span * (box.width - 58.0)
    y = box.bottom - 3.0 - (values - low) / room * (box.height - 6.0)
    if low < 0.0 < high:
        zero = box.bottom - 3.0 + low / room * (box.height - 6.0)
        canvas.segments([(box.x, zero)], [(box.x + box.width - 58.0, zero)], theme.faint)
    canvas.line(thinned(np.stack([x, y], axis=1), box.width), theme.accent, width=1.5)
    canvas.disc(float(x[-1]), float(y[-1]), 2.5, theme.ink)
    for value, at in ((high, box.y + 9.0), (low, box.bottom - 1.0)):
        canvas.text(
            box.right,
            at,
            f"{value:.3g}",
            size=10,
            color=theme.quiet,
            anchor="right",
        )
