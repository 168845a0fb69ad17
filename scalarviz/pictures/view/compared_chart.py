"""The loss curves of several networks, in one chart on the same axes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from scalarviz.base.texts import text
from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.loss_scale import LossScale, shown
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.view.charts import (
    AXIS,
    MEANS,
    Chart,
    Scales,
    draw_axes,
    draw_step,
    draw_thin,
    draw_ticks,
    write_empty,
)
from scalarviz.pictures.view.compared import Compared, ComparedRow
from scalarviz.pictures.view.frame_data import Curve
from scalarviz.pictures.view.scene.frame import Box


def draw_losses(
    canvas: Canvas2D, box: Box, compared: Compared, theme: Theme, scale: float
) -> Chart | None:
    """Draw the losses of all networks on one scale, each in its color.

    Returns None if there is no room.
    """
    axis, top, below = AXIS * scale, 22.0 * scale, 15.0 * scale
    plot = Box(box.x + axis, box.y + top, box.width - axis - 16.0 * scale, 0.0)
    plot = replace(plot, height=box.height - top - below - 4.0 * scale)
    if plot.height < 8.0 or plot.width < 40.0:
        return None
    view = compared.view
    end = draw_title(canvas, plot, box.y + 16.0 * scale, compared, theme, scale)
    draw_axes(canvas, plot, view, theme, scale)
    grip = Box(plot.x - 6.0, plot.y - 4.0, plot.width + 12.0, box.bottom - plot.y + 4.0)
    title = Box(plot.x - 6.0, box.y, end - plot.x + 12.0, grip.y - box.y)
    chart = Chart(box, title, grip, plot, *view.span, view.whole)
    scales = Scales(plot, *view.span)
    parts = [shown_in(row.curve, scales) for row in compared.rows]
    losses = shown(np.concatenate(parts))
    if not len(losses):
        write_empty(canvas, plot, theme, scale)
        return chart
    scales = replace(scales, losses=LossScale.of(losses))
    draw_ticks(canvas, scales, theme, scale)
    with canvas.clip(plot.x - 4.0, plot.y - 4.0, plot.width + 8.0, plot.height + 8.0):
        for at in {row.curve.at for row in compared.rows}:
            draw_step(canvas, scales, at, theme.ink + "60")
        order = [row for i, row in enumerate(compared.rows) if i != compared.chosen]
        order += [row for i, row in enumerate(compared.rows) if i == compared.chosen]
        for row in order:
            draw_curve(canvas, scales, row, theme, scale)
        for row in order:
            for step, _ in row.curve.marks:
                x = draw_step(canvas, scales, step, row.color + "90")
                canvas.discs((x, plot.y), 3.5 * scale, row.color)
        if view.pointed is not None:
            draw_step(canvas, scales, view.pointed, theme.accent)
    steps = {step for row in compared.rows for step, _ in row.curve.marks}
    marks = [(scales.x(each), each) for each in sorted(steps)]
    return replace(chart, marks=[(x, each) for x, each in marks if plot.x <= x <= plot.right])


def shown_in(curve: Curve, scales: Scales) -> np.ndarray:
    """Return the losses for the scale: those of the steps shown."""
    steps, losses = curve.steps, curve.losses
    found = losses[(steps >= scales.first) & (steps <= scales.last)]
    if scales.first <= curve.at <= scales.last:
        found = np.append(found, curve.loss)
    return found


def draw_title(
    canvas: Canvas2D, plot: Box, base: float, compared: Compared, theme: Theme, scale: float
) -> float:
    """Write what the curves are, or the losses of all at the step under the mouse."""
    size, gap, view = 13.0 * scale, 12.0 * scale, compared.view
    end = plot.x + canvas.text(plot.x, base, text("chart.title"), size=size, color=theme.ink)
    title = end
    if view.on_title:  # a click makes it large
        y = base + 3.0 * scale
        canvas.segments([(plot.x, y)], [(end, y)], theme.accent, width=1.5 * scale)
    if view.pointed is None:
        return title
    for row in compared.rows:
        marked = next((why for step, why in row.curve.marks if step == view.pointed), "")
        if marked:
            said = text("compared.of", name=row.name, words=marked)
            said = canvas.fit(said, plot.right - end - gap, size=size)
            canvas.text(end + gap, base, said, size=size, color=row.color)
            return title
    for row in compared.rows:
        words = "-" if math.isnan(row.curve.reads) else f"{row.curve.reads:#.3g}"
        if end + gap + canvas.measure(words, size=size) > plot.right:
            break
        end += gap + canvas.text(end + gap, base, words, size=size, color=row.color)
    return title


def draw_curve(
    canvas: Canvas2D, scales: Scales, row: ComparedRow, theme: Theme, scale: float
) -> None:
    """Draw the losses of a network, with their mean if it is known, and where its clock stands."""
    curve, own = row.curve, scales.points(row.curve.steps, row.curve.losses)
    if len(curve.smoothed):
        draw_thin(canvas, own, row.color + "50", scale)
        some = np.linspace(0, len(curve.steps) - 1, min(len(curve.steps), MEANS)).astype(np.int64)
        canvas.line(
            scales.points(curve.steps[some], curve.smoothed[some]), row.color, width=1.8 * scale
        )
    else:
        canvas.line(own, row.color, width=1.6 * scale)
    if math.isfinite(scales.y(curve.loss)):
        x, y = scales.x(curve.at), scales.y(curve.loss)
        canvas.discs((x, y), 3.5 * scale, row.color, outline=theme.ground)
