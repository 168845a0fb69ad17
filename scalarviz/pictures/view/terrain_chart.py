"""The loss over a plane through the weights, with the path of the training, as a map."""

from __future__ import annotations

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import rounded
from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.colors import rgb, to_bytes
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.view.frame_data import Terrain
from scalarviz.pictures.view.past_chart import SIZE, Told
from scalarviz.pictures.view.scene.frame import Box

BANDS = 16  # heights that are told apart, on a logarithmic scale where all losses are above 0
FINE = 16  # pixels of the map between two points of the grid
HIGHEST = 0.62  # of the way from the ground to the ink, for the largest loss
DRAWN_EACH = 60  # losses after which the map is drawn again
RIDGE = 0.12  # and how much further the line between two bands is


def draw_terrain(
    canvas: Canvas2D, box: Box, terrain: Terrain, theme: Theme, scale: float
) -> tuple[float, float]:
    """Draw the map with the path and the ball of the present; return the pixel of the ball."""
    plane = terrain.plane
    if plane is None or not np.isfinite(plane.losses).any():
        words = canvas.fit(terrain.says or text("past.waiting"), box.width, size=SIZE * scale)
        middle = box.x + box.width / 2.0, box.y + box.height / 2.0
        canvas.text(*middle, words, size=SIZE * scale, color=theme.quiet, anchor="center")
        return -1.0, -1.0
    count = int(np.isfinite(plane.losses).sum()) // DRAWN_EACH
    key = theme.name, plane.span, count
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


def told_of_terrain(terrain: Terrain, theme: Theme) -> list[Told]:
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
    size, margin = SIZE * scale, 6.0 * scale
    for words, x, y, anchor in (
        (text("past.axis.across", name=across), box.right - margin, box.bottom - margin, "right"),
        (text("past.axis.up", name=up), box.x + margin, box.y + size + margin, "left"),
    ):
        words = canvas.fit(words, 0.5 * box.width, size=size)
        canvas.text(x, y, words, size=size, color=theme.ink, anchor=anchor, outline=theme.ground)


def map_of(losses: FloatArray, theme: Theme) -> FloatArray:
    """Return the colors of a map, from the ground where the loss is least, top row first."""
    heights = heights_of(losses)
    rows, columns = (np.linspace(0, n - 1, FINE * (n - 1) + 1) for n in heights.shape)
    wide = np.array([np.interp(columns, np.arange(heights.shape[1]), row) for row in heights])
    fine = np.array([np.interp(rows, np.arange(heights.shape[0]), column) for column in wide.T]).T
    band = np.floor(np.clip(fine, 0.0, 1.0 - 1e-9) * BANDS)
    part = HIGHEST * band / (BANDS - 1)
    edge = np.zeros(band.shape, np.bool_)
    edge[:, 1:] |= band[:, 1:] != band[:, :-1]
    edge[1:] |= band[1:] != band[:-1]
    part = np.where(edge, part + RIDGE, part)[::-1, :, np.newaxis]
    ground, ink = rgb((theme.ground, theme.ink))
    found: FloatArray = ground + part * (ink - ground)
    return found


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
