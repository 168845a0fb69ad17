"""Charts below the large loss curve: weights over time, norms of layers, the loss landscape."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import rounded
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import Theme, class_colors, faded, rgb, to_bytes
from scalarviz.scene.curve_points import curve_pixels, shown
from scalarviz.scene.frame_data import Curve, PastWeights, Terrain
from scalarviz.scene.layout.division import Box
from scalarviz.scene.loss_chart import LETTERS, ChartScales, draw_ends, draw_step, loss_scale

APART = 14.0  # pixels between two tabs, and twice that between kinds and orders
NEAR_END = 0.02  # of the steps shown: so near the last one, the last moment goes on to it
Tab = tuple[Box, str]  # what it chooses
StatusWords = tuple[str, str]  # words and their color


def draw_tabs(
    canvas: Canvas2D,
    box: Box,
    groups: Sequence[Sequence[str]],
    chosen: Sequence[str],
    told: Sequence[StatusWords],
    theme: Theme,
    scale: float,
) -> list[Tab]:
    """Draw tabs in groups, the chosen ones marked, and at the right what is told; return the tabs.

    What has no room there stands below the row.
    """
    named = [(name, text(f"past.tab.{name}")) for names in groups for name in names]
    wide = canvas.measure("".join(words for _, words in named), size=LETTERS * scale)
    wide += APART * scale * (len(named) + len(groups))
    part = scale * min(1.0, 0.97 * box.width / wide)  # smaller if they have no room
    size, apart, x, tabs = LETTERS * part, APART * part, box.x, list[Tab]()
    base, last = box.bottom - 6.0 * scale, [names[-1] for names in groups]
    for name, words in named:
        color = theme.ink if name in chosen else theme.quiet
        wide = canvas.text(x, base, words, size=size, color=color)
        if name in chosen:
            ends = (x, base + 4.0 * scale), (x + wide, base + 4.0 * scale)
            canvas.segments([ends[0]], [ends[1]], theme.accent, width=2.0 * scale)
        tabs.append((Box(x - 0.5 * apart, box.y, wide + apart, box.height), name))
        x += wide + apart * (1.0 + (name in last))
    right = box.right
    for words, color in reversed(told):
        if (wide := canvas.measure(words, size=size)) < right - x:
            canvas.text(right, base, words, size=size, color=color, anchor="right")
            right -= wide + apart
        elif color == theme.ink:
            write_below_tabs(canvas, box, words, theme, size)
    return tabs


def status_of_weights(past: PastWeights, theme: Theme) -> list[StatusWords]:
    """Return what is told of the weights over time, with its colors."""
    if past.order == "norms":
        return list(zip(past.names, line_colors(range(len(past.names)), theme), strict=True))
    scale = text("past.scale", most=rounded(past.scale, 3))
    return [(past.says, theme.ink) if past.says else (scale, theme.quiet)]


def write_below_tabs(canvas: Canvas2D, row: Box, words: str, theme: Theme, size: float) -> None:
    """Write words over what stands below a row of tabs."""
    words = canvas.fit(words, row.width - size, size=size)
    wide = canvas.measure(words, size=size) + size
    canvas.box(row.right - wide, row.bottom, wide, 1.6 * size, theme.panel[:7], outline=theme.rim)
    place = row.right - size / 2.0, row.bottom + 1.15 * size
    canvas.text(*place, words, size=size, color=theme.ink, anchor="right")


def draw_strip_of_weights(
    canvas: Canvas2D, plot: Box, past: PastWeights, curve: Curve, theme: Theme, scale: float
) -> None:
    """Draw a row for each tile: its numbers over the steps, as colors."""
    seen, scales = past.over_time, ChartScales(plot, *curve.span)
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


def draw_norms(
    canvas: Canvas2D, plot: Box, past: PastWeights, curve: Curve, theme: Theme, scale: float
) -> None:
    """Draw the norm of each layer as a line, its name in its color, on a logarithmic scale."""
    seen, found = past.over_time, shown(past.over_time.norms.ravel())
    if not len(found):
        return
    scales = ChartScales(plot, *curve.span, loss_scale(found))
    draw_ends(canvas, scales, theme, scale)
    colors = line_colors(range(len(seen.norms)), theme)
    with canvas.clip(plot.x, plot.y - 4.0, plot.width + 4.0, plot.height + 8.0):
        for norms, color in zip(seen.norms, colors, strict=True):
            canvas.line(curve_pixels(scales, seen.steps, norms), color, width=1.5 * scale)


def line_colors(classes: Sequence[int], theme: Theme) -> Sequence[str]:
    """Return the colors of some classes, "#rrggbb", for lines and their names."""
    colors = class_colors(np.array(classes), theme.ground)
    return [f"#{bytes(color).hex()}" for color in to_bytes(colors)]


def draw_past(
    canvas: Canvas2D, plot: Box, past: PastWeights, curve: Curve, theme: Theme, scale: float
) -> None:
    """Draw the strip or the norms below the chart, with the steps that the chart marks."""
    draw = draw_norms if past.order == "norms" else draw_strip_of_weights
    draw(canvas, plot, past, curve, theme, scale)
    scales = ChartScales(plot, *curve.span)
    marked = [(float(step), theme.accent) for step in past.compared or ()]
    marked.append((curve.at, theme.ink + "60"))
    if curve.pointed is not None:
        marked.append((curve.pointed, theme.accent))
    for step, color in marked:
        if scales.first <= step <= scales.last:
            draw_step(canvas, scales, step, color)


# The loss over a plane through the weights, with the path of the training, as a map.

BANDS = 16  # heights that are told apart, on a logarithmic scale where all losses are above 0
GRID_PIXELS = 16  # pixels of the map between two points of the grid
HIGHEST = 0.62  # of the way from the ground to the ink, for the largest loss
DRAWN_EACH = 60  # losses after which the map is drawn again
RIDGE = 0.12  # and how much further the line between two bands is


def draw_terrain(
    canvas: Canvas2D, box: Box, terrain: Terrain, theme: Theme, scale: float
) -> tuple[float, float]:
    """Draw the map with the path and the ball of the present; return the pixel of the ball."""
    plane = terrain.plane
    if plane is None or not np.isfinite(plane.losses).any():
        canvas.text(
            box.x + box.width / 2.0,
            box.y + box.height / 2.0,
            terrain.says or text("past.waiting"),
            size=LETTERS * scale,
            color=theme.quiet,
            anchor="center",
            room=box.width,
        )
        return -1.0, -1.0
    key = theme.name, plane.span, int(np.isfinite(plane.losses).sum()) // DRAWN_EACH
    if key not in terrain.images:
        terrain.images.clear()
        terrain.images[key] = to_bytes(map_of(plane.losses, theme))
    canvas.image(*box.place, terrain.images[key], smooth=True)
    if terrain.done < 1.0:
        canvas.box(box.x, box.y, terrain.done * box.width, 3.0 * scale, theme.accent)
    left, right, bottom, top = plane.span

    def pixels(places: FloatArray) -> FloatArray:
        across = (places[..., 0] - left) / (right - left)
        up = (places[..., 1] - bottom) / (top - bottom)
        x, y = box.x + across * box.width, box.bottom - up * box.height
        return np.stack([x, y], axis=-1)

    draw_axes_of(canvas, box, terrain, theme, scale)
    path = pixels(terrain.path)
    with canvas.clip(*box.place):
        canvas.line(path, theme.ground, width=4.5 * scale)
        canvas.line(path, theme.accent, width=2.0 * scale)
        begin = float(path[0, 0]), float(path[0, 1])
        canvas.discs(begin, 5.0 * scale, theme.accent)
        canvas.discs(begin, 3.0 * scale, theme.ground)
    ball = pixels(np.array(terrain.at))
    x = min(max(float(ball[0]), box.x), box.right)
    y = min(max(float(ball[1]), box.y), box.bottom)
    canvas.discs((x, y), 8.0 * scale, theme.ground)
    canvas.discs((x, y), 6.5 * scale, theme.ink)
    return x, y


def status_of_terrain(terrain: Terrain, theme: Theme) -> list[StatusWords]:
    """Return what is told of the map: what the mouse reads, or how it lies and how high it is."""
    plane = terrain.plane
    if plane is None:
        return []
    if terrain.says:
        return [(terrain.says, theme.ink)]
    known = plane.losses[np.isfinite(plane.losses)]
    if not len(known):
        return []
    least, most = (rounded(float(each), 3) for each in (known.min(), known.max()))
    return [(text("past.range", least=least, most=most), theme.quiet)]


def draw_axes_of(canvas: Canvas2D, box: Box, terrain: Terrain, theme: Theme, scale: float) -> None:
    """Write what the directions are at the ends of both axes."""
    across, up = terrain.names
    size, margin = LETTERS * scale, 6.0 * scale
    for words, x, y, anchor in (
        (text("past.axis.across", name=across), box.right - margin, box.bottom - margin, "right"),
        (text("past.axis.up", name=up), box.x + margin, box.y + size + margin, "left"),
    ):
        canvas.text(
            x,
            y,
            words,
            size=size,
            color=theme.ink,
            anchor=anchor,
            outline=theme.ground,
            room=0.5 * box.width,
        )


def map_of(losses: FloatArray, theme: Theme) -> FloatArray:
    """Return the colors of a map, from the ground where the loss is least, top row first."""
    heights = heights_of(losses)
    rows, columns = (np.linspace(0, n - 1, GRID_PIXELS * (n - 1) + 1) for n in heights.shape)
    wide = np.array([np.interp(columns, np.arange(heights.shape[1]), row) for row in heights])
    fine = np.array([np.interp(rows, np.arange(heights.shape[0]), column) for column in wide.T]).T
    band = np.floor(np.clip(fine, 0.0, 1.0 - 1e-9) * BANDS)
    part = HIGHEST * band / (BANDS - 1)
    edge = np.zeros(band.shape, np.bool_)
    edge[:, 1:] |= band[:, 1:] != band[:, :-1]
    edge[1:] |= band[1:] != band[:-1]
    part = np.where(edge, part + RIDGE, part)[::-1, :, np.newaxis]
    ground, ink = rgb((theme.ground, theme.ink))
    return faded(ink, part, ground)


def heights_of(losses: FloatArray) -> FloatArray:
    """Return heights from 0 to 1 of the finest grid that is wholly known, else of the coarsest."""
    apart = 8
    while apart > 1 and np.isfinite(losses[:: apart // 2, :: apart // 2]).all():
        apart //= 2
    known = losses[::apart, ::apart]
    finite = known[np.isfinite(known)]
    if (finite > 0.0).all():
        with np.errstate(divide="ignore", invalid="ignore"):
            known, finite = np.log(known), np.log(finite)
    low, high = float(finite.min()), float(finite.max())
    heights: FloatArray = (known - low) / ((high - low) or 1.0)
    return np.where(np.isfinite(heights), heights, 1.0)
