"""The strip of all weights over time, and the norms of layers, below the large loss curve."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import rounded
from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.class_colors import class_colors
from scalarviz.pictures.draw2d.colors import to_bytes
from scalarviz.pictures.draw2d.loss_scale import LossScale, shown
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.view.charts import Scales, draw_ticks
from scalarviz.pictures.view.frame_data import Curve, Past
from scalarviz.pictures.view.scene.frame import Box

SIZE = 12.0  # of letters
APART = 14.0  # pixels between two tabs, and twice that between kinds and orders
NEAR_END = 0.02  # of the steps shown: so near the last one, the last moment goes on to it
Tab = tuple[Box, str]  # what it chooses
Told = tuple[str, str]  # words and their color


def draw_tabs(
    canvas: Canvas2D,
    box: Box,
    groups: Sequence[Sequence[str]],
    chosen: Sequence[str],
    told: Sequence[Told],
    theme: Theme,
    scale: float,
) -> list[Tab]:
    """Draw tabs in groups, the chosen ones marked, and at the right what is told; return the tabs.

    What has no room there stands below the row.
    """
    size, x, tabs = SIZE * scale, box.x, []
    base = box.bottom - 6.0 * scale
    for names in groups:
        for name in names:
            words = text(f"past.tab.{name}")
            color = theme.ink if name in chosen else theme.quiet
            wide = canvas.text(x, base, words, size=size, color=color)
            if name in chosen:
                y = base + 4.0 * scale
                canvas.segments([(x, y)], [(x + wide, y)], theme.accent, width=2.0 * scale)
            tabs.append((Box(x - APART * scale / 2, box.y, wide + APART * scale, box.height), name))
            x += wide + APART * scale
        x += APART * scale
    right = box.right
    for words, color in reversed(told):
        if (wide := canvas.measure(words, size=size)) < right - x:
            canvas.text(right, base, words, size=size, color=color, anchor="right")
            right -= wide + APART * scale
        elif color == theme.ink:
            tell_below(canvas, box, words, theme, size)
    return tabs


def told_of(past: Past, theme: Theme) -> list[Told]:
    """Return what is told of the weights over time, with its colors."""
    if past.order == "norms":
        return list(zip(past.names, line_colors(len(past.names), theme), strict=True))
    if past.says:
        return [(past.says, theme.ink)]
    return [(text("past.scale", most=rounded(past.scale, 3)), theme.quiet)]


def tell_below(canvas: Canvas2D, row: Box, words: str, theme: Theme, size: float) -> None:
    """Write words over what stands below a row of tabs."""
    words = canvas.fit(words, row.width - size, size=size)
    wide = canvas.measure(words, size=size) + size
    box = row.right - wide, row.bottom, wide, 1.6 * size
    canvas.box(*box, theme.panel[:7], outline=theme.rim)
    base, x = row.bottom + 1.15 * size, row.right - size / 2.0
    canvas.text(x, base, words, size=size, color=theme.ink, anchor="right")


def draw_strip_of_weights(
    canvas: Canvas2D, plot: Box, past: Past, curve: Curve, theme: Theme, scale: float
) -> None:
    """Draw a row for each tile: its numbers over the steps, as colors."""
    seen, scales = past.over_time, Scales(plot, *curve.span)
    places = np.linspace(scales.first, scales.last, max(2, int(plot.width)))
    end = max(seen.steps[-1], curve.at)
    if end > scales.last - NEAR_END * (scales.last - scales.first):
        end = scales.last  # the last moment has a width, too
    known = (places >= seen.steps[0]) & (places <= end)
    if not known.any():
        return
    if theme.name not in past.images:
        past.images[theme.name] = to_bytes(theme.map(seen.tiles, past.scale))
    at = np.searchsorted(seen.steps, places[known], side="right") - 1
    left = scales.x(float(places[known][0]))
    wide = max(1.0, scales.x(float(places[known][-1])) - left)
    canvas.image(left, plot.y, wide, plot.height, past.images[theme.name][:, at])
    high = plot.height / len(seen.tiles)
    for name, (_, first, count) in zip(past.names, seen.groups, strict=True):
        y, rest = plot.y + first * high, count * high
        if first:
            canvas.segments([(plot.x, y)], [(plot.right, y)], theme.panel[:7], width=2.0 * scale)
        if rest >= SIZE * scale:
            base = y + rest / 2.0 + 0.36 * SIZE * scale
            words = canvas.fit(name, plot.x - 12.0 * scale, size=SIZE * scale)
            x = plot.x - 6.0 * scale
            canvas.text(x, base, words, size=SIZE * scale, color=theme.quiet, anchor="right")
    marked = [(tile, theme.accent) for tile in past.pinned]
    if past.tile is not None:
        marked.append((past.tile, theme.ink))
    for tile, color in marked:
        y, least = plot.y + (tile + 0.5) * high, max(high, 3.0 * scale)
        canvas.box(plot.x, y - least / 2.0, plot.width, least, None, outline=color, line=1.0)


def draw_norms(
    canvas: Canvas2D, plot: Box, past: Past, curve: Curve, theme: Theme, scale: float
) -> None:
    """Draw the norm of each layer as a line, its name in its color, on a logarithmic scale."""
    seen, found = past.over_time, shown(past.over_time.norms.ravel())
    if not len(found):
        return
    scales = Scales(plot, *curve.span, LossScale.of(found))
    draw_ticks(canvas, scales, theme, scale)
    colors = line_colors(len(seen.norms), theme)
    with canvas.clip(plot.x, plot.y - 4.0, plot.width + 4.0, plot.height + 8.0):
        for norms, color in zip(seen.norms, colors, strict=True):
            canvas.line(scales.points(seen.steps, norms), color, width=1.5 * scale)


def line_colors(count: int, theme: Theme) -> Sequence[str]:
    """Return a color for each of some lines."""
    return [
        f"#{bytes(row).hex()}" for row in to_bytes(class_colors(np.arange(count), theme.ground))
    ]


def draw_past(
    canvas: Canvas2D, plot: Box, past: Past, curve: Curve, theme: Theme, scale: float
) -> None:
    """Draw the strip or the norms below the chart, with the steps that the chart marks."""
    draw = draw_norms if past.order == "norms" else draw_strip_of_weights
    draw(canvas, plot, past, curve, theme, scale)
    scales = Scales(plot, *curve.span)
    marked = [(float(step), theme.accent) for step in past.compared or ()]
    marked.append((curve.at, theme.ink + "60"))
    if curve.pointed is not None:
        marked.append((curve.pointed, theme.accent))
    for step, color in marked:
        if scales.first <= step <= scales.last:
            x = scales.x(step)
            canvas.segments([(x, plot.y)], [(x, plot.bottom)], color, width=1.0)
