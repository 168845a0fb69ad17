"""The health of the modules of a followed model, drawn below the large loss curve.

The window and pages share this file; docs/TRANSLATOR.md lists the supported Python. The images of
the numbers are in scene/past_images.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
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
FIRST = (0, 1, 3, 2)  # of these, which are drawn if there is little room
FAULT, WEIGHT = "#ff5f5f", "#c8b27e"  # on both backgrounds
TITLE = 1.6  # height of a title, in letters; and of the flags of faults
SAID = 1.45  # height of a line of a sentence, in letters
MOST_SAID = 0.4  # fraction of the height for sentences
ROW, LEAST = 1.15, 3  # least height of a row with a name, in letters; rows of a measure
SPACE = 60.0  # pixels right of the rows that numbers need


def draw_health(
    canvas: Canvas2D, box: Box, health: HealthRows, curve: Curve, theme: Theme, scale: float
) -> None:
    """Draw the faults as sentences, and measures of modules over the steps of the loss curve.

    Without room for all modules, those with faults are drawn, and some of the others.
    """
    size, left, count = LETTERS * scale, box.x - (AXIS - 18.0) * scale, len(health.names)
    room = canvas.width - left - 2.5 * size
    lines: list[tuple[str, str]] = []  # and the color of the dot before it, or ""
    for found in health.findings:
        parts = lines_of(canvas, found[2], room, size, bold=False)
        lines += [(each, "" if i else theme.worse) for i, each in enumerate(parts)]
    most = max(1, int(MOST_SAID * box.height / (SAID * size)) - 1)
    if len(lines) > most:
        lines = [*lines[: most - 1], (f"{lines[most - 1][0]} ...", lines[most - 1][1])]
    said = len(lines)
    lines += [(each, "") for each in lines_of(canvas, health.head, room, size, bold=False)]
    for i, (words, dot) in enumerate(lines):
        y = box.y + (i + 1.0) * SAID * size
        canvas.text(left, y, words, size=size, color=theme.ink if i < said else theme.quiet)
        if dot:
            canvas.discs((left - 0.8 * size, y - 0.35 * size), 0.35 * size, dot)
    base = box.y + SAID * size * (len(lines) + 0.3)
    top = base + TITLE * size * (said > 0)
    measures = int((box.bottom - top) / ((TITLE + 0.2 + ROW * min(LEAST, count)) * size))
    measures = max(1, min(measures, len(MEASURES)))
    high = (box.bottom - top) / measures
    plot = Box(box.x, top, box.width, high - (TITLE + 0.2) * size)
    rows = rows_shown(health, max(1, int(plot.height / (ROW * size))))
    some = text("past.some_rows", shown=len(rows), count=count) if len(rows) < count else ""
    hues = (theme.metric, theme.accent, WEIGHT, FAULT)
    for i, measure in enumerate(sorted(FIRST[:measures])):
        y = top + i * high
        x, name = box.x, MEASURES[measure]
        look: dict[str, Any] = {"size": size, "color": theme.ink, "bold": True}
        x += canvas.text(x, y + 1.15 * size, text(f"health.{name}"), **look) + size
        look = {"size": size, "color": theme.quiet, "room": box.right - x}
        words = some + text(f"health.{name}.about")
        if health.moments[measure] and canvas.width - box.right >= SPACE * scale:
            words = f"{words}; {text('past.numbers', step=health.moments[measure])}"
        canvas.text(x, y + 1.15 * size, words, **look)
        some = ""
        scales = ChartScales(replace(plot, y=y + TITLE * size), *curve.span)
        draw_rows(canvas, scales, health, rows, measure, hues[measure], theme, scale)
    scales = ChartScales(Box(box.x, base, box.width, box.bottom - base), *curve.span)
    draw_flags(canvas, scales, health, theme, scale)
    draw_moments(canvas, scales, curve, theme)


def rows_shown(health: HealthRows, most: int) -> list[int]:
    """Return at most `most` rows: those with causes of faults, with faults, and some others."""
    ranks = [2 - each - cause for each, cause in zip(health.faulty, health.causes, strict=True)]
    found: list[int] = []
    for rank in range(3):
        rows = [i for i, each in enumerate(ranks) if each == rank]
        count = min(most - len(found), len(rows))
        found += [rows[i * len(rows) // count] for i in range(count)]
    return sorted(found)


def draw_rows(
    canvas: Canvas2D,
    scales: ChartScales,
    health: HealthRows,
    rows: Sequence[int],
    measure: int,
    hue: str,
    theme: Theme,
    scale: float,
) -> None:
    """Draw rows of modules, with names at the left and newest numbers at the right."""
    plot, size = scales.plot, LETTERS * scale
    draw_shades(canvas, scales, health, rows, measure, hue, theme)
    high = plot.height / len(rows)
    for number, i in enumerate(rows):
        top = plot.y + number * high
        if number:
            canvas.segments([(plot.x, top)], [(plot.right, top)], theme.panel[:7], width=scale)
        color = theme.ink if health.causes[i] else theme.quiet
        look: dict[str, Any] = {"size": size, "bold": health.causes[i]}
        y, room = top + 0.5 * high + 0.36 * size, (AXIS - 8.0) * scale
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
