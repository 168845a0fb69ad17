"""The chart of all weights over time, below the large loss curve.

The window and pages share this file; docs/TRANSLATOR.md lists the supported Python. Functions of
arrays are in scene/past_images.py.
"""

from __future__ import annotations

from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import rounded
from scalarviz.core.past_numbers import OverTime
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import Theme
from scalarviz.scene.frame_data import PastWeights
from scalarviz.scene.layout.camera import Box
from scalarviz.scene.loss_chart import (
    LETTERS,
    ChartScales,
    Curve,
    draw_moments,
    draw_step,
)
from scalarviz.scene.past_images import draw_tiles

StatusWords = tuple[str, str]  # words and their color


def status_of_weights(past: PastWeights, theme: Theme) -> list[StatusWords]:
    """Return status texts about the weights over time, with their colors."""
    scale = text("past.scale", most=rounded(past.scale, 3))
    return [(past.says, theme.ink) if past.says else (scale, theme.quiet)]


def draw_strip_of_weights(
    canvas: Canvas2D, plot: Box, past: PastWeights, curve: Curve, theme: Theme, scale: float
) -> None:
    """Draw the weights over time: a row for each tile, with numbers as colors."""
    seen: OverTime = past.over_time
    draw_tiles(canvas, ChartScales(plot, *curve.span), past, curve.at, theme)
    high = plot.height / len(seen.starts)
    for name, group in zip(past.names, seen.groups, strict=True):
        _, begin, count = group
        y, rest = plot.y + begin * high, count * high
        if begin:
            canvas.segments([(plot.x, y)], [(plot.right, y)], theme.panel[:7], width=2.0 * scale)
        if rest >= LETTERS * scale:
            canvas.text(
                plot.x - 6.0 * scale,
                y + rest / 2.0 + 0.36 * LETTERS * scale,
                name,
                size=LETTERS * scale,
                color=theme.quiet,
                anchor="right",
                room=plot.x - 12.0 * scale,
            )
    marked = [(tile, theme.accent) for tile in past.pinned]
    if past.tile is not None:
        marked.append((past.tile, theme.ink))
    for tile, color in marked:
        y, least = plot.y + (tile + 0.5) * high, max(high, 3.0 * scale)
        canvas.box(plot.x, y - least / 2.0, plot.width, least, None, outline=color, line=1.0)


def draw_past(
    canvas: Canvas2D, plot: Box, past: PastWeights, curve: Curve, theme: Theme, scale: float
) -> None:
    """Draw weights over time, with the steps that the loss chart marks."""
    draw_strip_of_weights(canvas, plot, past, curve, theme, scale)
    scales = ChartScales(plot, *curve.span)
    for step in past.compared or ():
        if scales.first <= step <= scales.last:
            draw_step(canvas, scales, float(step), theme.accent)
    draw_moments(canvas, scales, curve, theme)
