"""Images and colors of neurons: feature maps, maps over the plane on spheres, and gradients."""

from __future__ import annotations

import math

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts.decimals import short
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import HALO, NUMBER, Theme, faded, rgb
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.layout.division import ProjectedPoints, Projection
from scalarviz.scene.layout.plates import Neurons

# Feature maps: one image per channel, between the plates of a network.

NUMBERED = 11.0  # least pixels between two images for channel numbers
WRITTEN, MOST_WRITTEN = 34.0, 600  # screen pixels per number for writing it, most numbers
CROSSED = 5.0  # screen pixels per number for crossing out dropped ones
FAINT_MAP = 0.05  # of the strongest map of a line: weaker ones are not made to look like it
HIGHEST_TEXTURE = 4096  # rows of one texture image


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
    return theme.map((maps / tops_of(maps)[:, np.newaxis]).ravel(), 1.0)


def tops_of(maps: FloatArray) -> FloatArray:
    """Return the number of each map, (maps, pixels), that has the strongest color."""
    tops = np.abs(np.where(np.isfinite(maps), maps, 0.0)).max(axis=1, initial=0.0)
    tops = np.maximum(tops, FAINT_MAP * tops.max(initial=0.0))
    return np.where(tops > 0.0, tops, 1.0)


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
    most = max(1, HIGHEST_TEXTURE // height)  # images are stacked, then placed in further columns
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


# Maps on spheres: what each neuron answers over the plane in which the data lie.

MAP_PART = 0.86  # radius of the map, relative to the sphere; around it the sphere keeps its color
LEAST_SPHERE = 6.0  # least radius of a sphere in pixels for a map
MAP_STRENGTH = 0.8  # color strength of the map


def shown_map(line: Neurons, frame_data: FrameData) -> str:
    """Return the buffer whose maps stand on the spheres of a line; "" for none."""
    maps, values = frame_data.maps, frame_data.buffers.values
    name = line.values if line.values in values else line.sums
    known = maps is not None and name in values and name in maps.values
    return name if known and not line.shape else ""


def draw_maps(
    canvas: Canvas2D,
    xy: FloatArray,
    radius: FloatArray,
    depth: FloatArray,
    good: FloatArray,
    bright: FloatArray,
    line: Neurons,
    frame_data: FrameData,
    theme: Theme,
) -> bool:
    """Draw the map of each neuron as a disc on its sphere; return whether there is one.

    xy, radius, depth  of the spheres that are seen, those where `good`
    bright             brightness of each, (n, 1)
    """
    name, maps = shown_map(line, frame_data), frame_data.maps
    if not name or maps is None or radius.min() < LEAST_SPHERE:
        return False
    parts, count = maps.parts(name), len(frame_data.buffers.values[name])
    if count < len(good) and line.sums in frame_data.buffers.values:  # these have no outputs yet
        parts = np.append(parts[:count], maps.parts(line.sums)[count:], axis=0)
        count = len(frame_data.buffers.values[line.sums])
    seen = good[:count]
    parts = parts[:count][seen]
    xy, radius, depth, bright = (each[: len(parts)] for each in (xy, radius, depth, bright))
    if not len(parts):
        return False
    ground = rgb((theme.ground,))[0]
    colors = theme.map(MAP_STRENGTH * parts.ravel()).reshape(*parts.shape, 3)
    image, places = tiled(faded(colors, bright[..., np.newaxis, np.newaxis], ground))
    reach = MAP_PART * radius[:, np.newaxis]
    corners = [xy + reach * way for way in ((-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0))]
    canvas.images(
        np.stack(corners, axis=1), image, places, depth=depth, radius=reach[:, 0], smooth=True
    )
    return True


def tiled(images: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return images, (n, rows, columns, 3), as one image, and the places that they have in it.

    A place is left, top, right and bottom from 0 to 1. It leaves out half a pixel at each edge, so
    that nothing of its neighbours is mixed in.
    """
    count, rows, columns, _ = images.shape
    wide = math.ceil(math.sqrt(count))
    high = -(-count // wide)
    filled = np.zeros((high * wide, rows, columns, 3))
    filled[:count] = images
    whole = filled.reshape(high, wide, rows, columns, 3).swapaxes(1, 2)
    down, across = np.divmod(np.arange(count), wide)
    left, top = across * columns + 0.5, down * rows + 0.5
    places = np.stack([left, top, left + columns - 1.0, top + rows - 1.0], axis=1)
    size = [wide * columns, high * rows] * 2
    return whole.reshape(high * rows, wide * columns, 3), places / size


# Colors of neurons, their gradients, and which of them are left out.


def painted(
    buffer: str, values: FloatArray | None, frame_data: FrameData, theme: Theme
) -> FloatArray:
    """Return the color of each neuron: its true color if it stands for one, else by its number."""
    if buffer in frame_data.buffers.tints and values is not None:
        return frame_data.buffers.tints[buffer]
    numbers = np.zeros(0) if values is None else values
    if behind := frame_data.buffers.raw.get(buffer):
        known = frame_data.buffers.values.get(behind, np.zeros(0))
        numbers = np.append(known, np.zeros(len(numbers)))[: len(numbers)]
    return theme.map(numbers, frame_data.buffers.scale)


def held(line: Neurons, frame_data: FrameData) -> FloatArray:
    """Return the numbers that a line shows: its outputs, and sums where these are not there yet.

    Numbers of its last neurons are left out if nothing is known of them.
    """
    values, nothing = frame_data.buffers.values, np.zeros(0)
    outputs, sums = values.get(line.values, nothing), values.get(line.sums, nothing)
    return outputs if len(outputs) >= len(sums) else np.append(outputs, sums[len(outputs) :])


def painted_line(line: Neurons, frame_data: FrameData, theme: Theme) -> FloatArray:
    """Return the color of each neuron of a line, by what it shows; that of a tray without."""
    values, count = frame_data.buffers.values, len(line.points)
    found = np.tile(rgb((theme.tray,)), (count, 1))
    is_whole = len(values.get(line.values, ())) == count
    for name in (line.values,) if is_whole else (line.sums, line.values):
        if name in values:
            own = painted(name, values[name], frame_data, theme)
            found[: len(own)] = own
    return found


def flow_parts(line: Neurons, frame_data: FrameData) -> tuple[FloatArray, FloatArray] | None:
    """Return the gradients of a row of neurons and their magnitudes, 0.25 to 1; None if unknown."""
    flows = frame_data.buffers.flows
    known = [flows[name] for name in line.buffers if name in flows]
    if not known:
        return None
    flow = np.append(known[0], known[-1][len(known[0]) :])  # of those that one has not come to
    top = max((float(np.abs(each).max()) for each in flows.values() if each.size), default=0.0)
    if not np.isfinite(top) or top == 0.0:
        return None
    with np.errstate(divide="ignore"):
        return flow, np.clip(1.0 + np.log10(np.abs(flow) / top) / 3.0, 0.25, 1.0)


def left_out(line: Neurons, frame_data: FrameData) -> FloatArray:
    """Return a mask of the neurons that dropout drops."""
    names = [name for name in line.buffers if name in frame_data.buffers.left_out]
    if names and line.values in frame_data.buffers.values:
        return frame_data.buffers.left_out[names[0]] > 0.0
    return np.zeros(len(line.points), np.bool_)


def crosses(
    canvas: Canvas2D,
    xy: FloatArray,
    reach: FloatArray,
    depth: FloatArray,
    chosen: FloatArray,
    theme: Theme,
) -> None:
    """Cross out dropped neurons; hue is reserved for the sign of numbers."""
    if not chosen.any():
        return
    xy, reach, depth = xy[chosen], 0.707 * reach[chosen][:, np.newaxis], depth[chosen]
    width = np.clip(0.25 * reach[:, 0], 1.2, 3.0)
    for way in ((1.0, 1.0), (1.0, -1.0)):
        ends = xy - reach * way, xy + reach * way
        canvas.segments(*ends, theme.ground, width=width + 2.0, depth=depth)
        canvas.segments(*ends, theme.quiet, width=width, depth=depth)
