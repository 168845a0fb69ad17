"""The health of the modules of a followed model, drawn below the large loss curve.

The window and pages share this file; docs/TRANSLATOR.md lists the supported Python. The images of
the numbers are in scene/past_images.py.
"""

from __future__ import annotations

import math
from typing import Any

from scalarviz.base.texts import text
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import Theme
from scalarviz.scene.frame_data import HealthRows
from scalarviz.scene.layout.camera import Box
from scalarviz.scene.loss_chart import AXIS, LETTERS, ChartScales, Curve, draw_moments, draw_step
from scalarviz.scene.past_images import draw_shades
from scalarviz.scene.telling import lines_of

MEASURES = ("update", "gradient", "weight", "dead")
FAULT, WEIGHT = "#ff5f5f", "#c8b27e"  # on both backgrounds
TITLE = 1.6  # height of a title, in letters; and of the flags of faults
SAID = 1.45  # height of a line of a sentence, in letters
MOST_SAID = 0.3  # fraction of the height for sentences
LEAST = 9.0  # pixels of a row with a name
SPACE = 60.0  # pixels right of the rows that numbers need


def draw_health(
    canvas: Canvas2D, box: Box, health: HealthRows, curve: Curve, theme: Theme, scale: float
) -> None:
    """Draw four measures of each module over the steps of the loss curve, and the faults."""
    size, left = LETTERS * scale, box.x - (AXIS - 18.0) * scale
    top = TITLE * size if health.findings else 0.0
    lines: list[tuple[str, bool]] = []  # and whether a fault begins
    for found in health.findings:
        parts = lines_of(canvas, found[2], canvas.width - left - 2.5 * size, size, bold=False)
        lines += [(each, i == 0) for i, each in enumerate(parts)]
    most = max(1, int(MOST_SAID * box.height / (SAID * size)))
    if len(lines) > most:
        lines = [*lines[: most - 1], (f"{lines[most - 1][0]} ...", lines[most - 1][1])]
    foot = SAID * size * (len(lines) + 0.3)
    high = (box.height - top - foot) / len(MEASURES)
    hues = (theme.metric, theme.accent, WEIGHT, FAULT)
    for i, (measure, hue) in enumerate(zip(MEASURES, hues, strict=True)):
        y = box.y + top + i * high
        x, base = box.x, y + 1.15 * size
        x += canvas.text(x, base, text(f"health.{measure}"), size=size, color=theme.ink, bold=True)
        words = text(f"health.{measure}.about")
        if health.moments[i] and canvas.width - box.right >= SPACE * scale:
            words = f"{words}; {text('past.numbers', step=health.moments[i])}"
        canvas.text(x + size, base, words, size=size, color=theme.quiet, room=box.right - x - size)
        plot = Box(box.x, y + TITLE * size, box.width, high - (TITLE + 0.2) * size)
        draw_rows(canvas, ChartScales(plot, *curve.span), health, i, hue, theme, scale)
    bottom = box.bottom - foot
    scales = ChartScales(Box(box.x, box.y, box.width, bottom - box.y), *curve.span)
    draw_flags(canvas, scales, health, theme, scale)
    draw_moments(canvas, scales, curve, theme)
    for i, (words, begins) in enumerate(lines):
        y = bottom + (i + 0.9) * SAID * size
        canvas.text(left, y, words, size=size, color=theme.ink)
        if begins:
            canvas.discs((left - 0.8 * size, y - 0.35 * size), 0.35 * size, theme.worse)


def draw_rows(
    canvas: Canvas2D,
    scales: ChartScales,
    health: HealthRows,
    measure: int,
    hue: str,
    theme: Theme,
    scale: float,
) -> None:
    """Draw a row for each module, with names at the left and newest numbers at the right."""
    plot, count, size = scales.plot, len(health.names), LETTERS * scale
    draw_shades(canvas, scales, health, measure, hue, theme)
    high = plot.height / count
    if high >= 4.0 * scale:
        for i in range(1, count):
            y = plot.y + i * high
            canvas.segments([(plot.x, y)], [(plot.right, y)], theme.panel[:7], width=scale)
    size = min(size, 1.05 * high) if high >= LEAST * scale else size
    each = max(1, math.ceil(0.9 * size / high))  # rows between two names
    for i in range(0, count, each):
        color = theme.ink if health.causes[i] else theme.quiet
        look: dict[str, Any] = {"size": size, "bold": health.causes[i]}
        y, room = plot.y + (i + 0.5) * high + 0.36 * size, (AXIS - 8.0) * scale
        x = plot.x - 6.0 * scale
        canvas.text(x, y, health.names[i], color=color, anchor="right", room=room, **look)
        if canvas.width - plot.right >= SPACE * scale:
            color = theme.worse if health.faulty[i] else theme.quiet
            words = health.newest[measure][i]
            canvas.text(plot.right + 8.0 * scale, y, words, color=color, **look)


def draw_flags(
    canvas: Canvas2D, scales: ChartScales, health: HealthRows, theme: Theme, scale: float
) -> None:
    """Draw a line at the step of each fault, with its name if there is room."""
    size, plot, taken = LETTERS * scale, scales.plot, -math.inf
    for step, name, _ in health.findings:
        if not scales.first <= step <= scales.last:
            continue
        x = draw_step(canvas, scales, step, theme.worse)
        wide = canvas.measure(name, size=size, bold=True) + size
        left = min(x, plot.right - wide)
        if left > taken:
            canvas.box(left, plot.y, wide, 1.4 * size, FAULT, radius=0.3 * size)
            base = plot.y + 1.05 * size
            canvas.text(left + 0.5 * size, base, name, size=size, color="#14181f", bold=True)
            taken = left + wide
