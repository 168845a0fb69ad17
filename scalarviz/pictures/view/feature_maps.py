"""Feature maps: neurons drawn as images, one per channel, between the plates of a network."""

from __future__ import annotations

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts.decimals import short
from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.colors import HALO, NUMBER, rgb
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.view.frame_data import FrameData
from scalarviz.pictures.view.neuron_colors import (
    crosses,
    faded,
    flow_parts,
    left_out,
    painted,
)
from scalarviz.pictures.view.scene.frame import ProjectedPoints, Projection
from scalarviz.pictures.view.scene.plates import Neurons

NUMBERED = 11.0  # least pixels between two images for channel numbers
WRITTEN, MOST_WRITTEN = 34.0, 600  # screen pixels per number for writing it, most numbers
CROSSED = 5.0  # screen pixels per number for crossing out dropped ones
FAINT = 0.05  # of the strongest map of a line: weaker ones are not made to look like it
HIGHEST = 4096  # rows of one texture image


def draw_pictures(
    canvas: Canvas2D,
    see: Projection,
    line: Neurons,
    bright: float,
    frame_data: FrameData,
    theme: Theme,
) -> None:
    """Draw an image per channel: the outputs, or the weighted sums while there are no outputs."""
    corners = line.corners()
    seen = see(corners.reshape(-1, 3))
    xy = seen.xy.reshape(-1, 3, 2)
    good = np.asarray(np.isfinite(xy).all(axis=(1, 2)))
    if not good.any():
        return
    ground, values = rgb((theme.ground,))[0], frame_data.buffers.values
    name = next((name for name in (line.values, line.sums) if name in values), "")
    depth = depths(seen)[good]
    if name:
        colors = faded(painted_maps(name, line, frame_data, theme), bright, ground)
        colors[left_out(line, frame_data)] = ground
        paste(canvas, xy[good], colors, line.shape, good, depth)
    frame(canvas, xy[good], faded(rgb((theme.quiet,)), 0.7 * bright, ground)[0], depth)
    numbers_of_channels(canvas, xy, seen, line, theme)
    write_on_pictures(canvas, see, line, name, frame_data, theme)
    draw_gradients(canvas, xy[good], line, frame_data, good, depth, theme)


def painted_maps(buffer: str, line: Neurons, frame_data: FrameData, theme: Theme) -> FloatArray:
    """Return the color of each pixel: its true color, else by its number on the map's own scale."""
    values = frame_data.buffers.values[buffer]
    if buffer in frame_data.buffers.tints:
        return painted(buffer, values, frame_data, theme)
    maps = values.reshape(line.shape[0], -1)
    tops = np.abs(np.where(np.isfinite(maps), maps, 0.0)).max(axis=1, initial=0.0)
    tops = np.maximum(tops, FAINT * tops.max(initial=0.0))
    shown = maps / np.where(tops > 0.0, tops, 1.0)[:, np.newaxis]
    return theme.map(shown.ravel(), 1.0)


def depths(seen: ProjectedPoints) -> FloatArray:
    """Return the depths of the left and the right side of each image, (n, 2)."""
    upper_left, right, lower_left = seen.depth.reshape(-1, 3).T
    half = 0.5 * (lower_left - upper_left)
    return np.stack([upper_left + half, right + half], axis=1)


def paste(
    canvas: Canvas2D,
    xy: FloatArray,
    colors: FloatArray,
    shape: tuple[int, ...],
    good: FloatArray,
    depth: FloatArray | float,
) -> None:
    """Draw all images of a row as parts of one texture image."""
    channels, height, width = shape
    most = max(1, HIGHEST // height)  # images are stacked, then placed in further columns
    high, wide = min(channels, most), -(-channels // most)
    all_of_them = np.zeros((wide * high, height, width, 3))
    all_of_them[:channels] = colors.reshape(channels, height, width, 3)
    columns = all_of_them.reshape(wide, high, height, width, 3).transpose(1, 2, 0, 3, 4)
    image = columns.reshape(high * height, wide * width, 3)
    column, row = np.divmod(np.arange(channels), most)
    parts = np.stack([column / wide, row / high, (column + 1) / wide, (row + 1) / high], axis=1)
    canvas.images(xy, image, parts[good], depth=depth)


def frame(canvas: Canvas2D, xy: FloatArray, color: FloatArray, depth: FloatArray) -> None:
    """Draw a thin frame around each image."""
    first, right, down = xy[:, 0], xy[:, 1], xy[:, 2]
    last = right + down - first
    left, end = depth.T
    for start, stop, near, far in (
        (first, right, left, end),
        (right, last, end, end),
        (last, down, end, left),
        (down, first, left, left),
    ):
        canvas.segments(start, stop, color, width=1.0, depth=np.stack([near, far], axis=1))


def numbers_of_channels(
    canvas: Canvas2D, xy: FloatArray, seen: ProjectedPoints, line: Neurons, theme: Theme
) -> None:
    """Write the number of each channel below its image, if there is room."""
    if len(xy) < 2 or not np.isfinite(xy[:2]).all():
        return
    first, right, down = xy[0]
    wide, high = np.ptp([first, right, down, right + down - first], axis=0)
    aside, below = (xy[1:, 0] - xy[0, 0]).T
    under = (np.abs(aside) < wide) & (below > 0.0)
    apart = float(np.hypot(aside[0], below[0])) - max(wide, high)
    if min(apart, below[under].min(initial=np.inf) - high) < NUMBERED:
        return
    for channel, (left, _, down) in enumerate(xy.tolist()):
        if np.isfinite(left + down).all():
            place = down[0], down[1] + 9.0
            depth = float(seen.depth[3 * channel])
            canvas.text(*place, str(channel), size=9, color=theme.quiet, depth=depth)


def write_on_pictures(
    canvas: Canvas2D, see: Projection, line: Neurons, name: str, frame_data: FrameData, theme: Theme
) -> None:
    """Cross out dropped neurons, and write the numbers if a pixel is large enough."""
    chosen = left_out(line, frame_data)
    seen = see(line.points) if name or chosen.any() else None
    if seen is None or not np.isfinite(seen.unit).any():
        return
    pixel = float(np.nanmedian(seen.unit)) * line.side
    if pixel >= CROSSED:
        crosses(canvas, seen.xy, np.full(len(seen.xy), 0.4 * pixel), seen.depth, chosen, theme)
    inside = np.isfinite(seen.xy).all(axis=1) & (seen.xy > 0.0).all(axis=1)
    inside &= (seen.xy < [see.width, see.height]).all(axis=1) & ~chosen
    if not name or pixel < WRITTEN or inside.sum() > MOST_WRITTEN:
        return
    values = frame_data.buffers.values[name]
    size = min(13.0, 0.3 * pixel)
    for i in np.flatnonzero(inside).tolist():
        (x, y), depth = seen.xy[i].tolist(), float(seen.depth[i]) - 1e-4
        words = short(float(values[i]))
        canvas.text(
            x,
            y + 0.36 * size,
            words,
            size=size,
            color=NUMBER,
            anchor="center",
            depth=depth,
            outline=HALO,
        )


def draw_gradients(
    canvas: Canvas2D,
    xy: FloatArray,
    line: Neurons,
    frame_data: FrameData,
    good: FloatArray,
    depth: FloatArray,
    theme: Theme,
) -> None:
    """Draw the gradients as smaller images over the lower right corners."""
    found = flow_parts(line, frame_data)
    size = np.linalg.norm(xy[0, 1] - xy[0, 0])
    if found is None or size < 8.0:
        return
    flow, part = found
    right, down = 0.5 * (xy[:, 1] - xy[:, 0]), 0.5 * (xy[:, 2] - xy[:, 0])
    corner = xy[:, 0] + 1.1 * (right + down)
    small = np.stack([corner, corner + right, corner + down], axis=1)
    near = depth - 1e-4
    colors = theme.map(np.where(flow == 0.0, 0.0, np.sign(flow) * part))
    paste(canvas, small, colors, line.shape, good, near)
    frame(canvas, small, rgb((theme.ground,))[0], near)
