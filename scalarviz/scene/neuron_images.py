"""Images and colors of neurons: feature maps, and squares that show functions of neurons."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import short
from scalarviz.scene.canvas.canvas2d import Canvas2D, sheet_of
from scalarviz.scene.canvas.palette import (
    HALO,
    NUMBER,
    Theme,
    faded,
    heat_of,
    rgb,
    shaded,
    to_bytes,
)
from scalarviz.scene.frame_data import FAINT, FrameData, NeuronMaps
from scalarviz.scene.layout.division import ProjectedPoints, Projection
from scalarviz.scene.layout.plates import Neurons

# Feature maps: one image per channel, between the plates of a network.

WRITTEN, MOST_WRITTEN = 34.0, 600  # minimum pixels for a written number, and maximum numbers
CROSSED = 5.0  # minimum pixels for crossing out dropped numbers


def draw_pictures(
    canvas: Canvas2D,
    see: Projection,
    line: Neurons,
    bright: float,
    frame_data: FrameData,
    theme: Theme,
) -> None:
    """Draw an image of each channel: its outputs, or its weighted sums while these are unknown."""
    xy, good, depth = see.once(("pictures", id(line)), line, lambda line: seen_pictures(see, line))
    if not len(depth):
        return
    ground, values = rgb((theme.ground,))[0], frame_data.buffers.values
    name = next((name for name in (line.values, line.sums) if name in values), "")
    dropped = left_out(line, frame_data)
    if name:
        colors = faded(painted_maps(name, line, frame_data, theme), bright, ground)
        colors[dropped] = ground
        image, parts = tiled(colors.reshape(*line.shape, 3), edge=0.0)
        canvas.images(xy[good], image, parts[good], depth=depth)
    frame(canvas, xy[good], faded(rgb((theme.quiet,)), 0.7 * bright, ground)[0], depth)
    write_on_pictures(canvas, see, line, name, dropped, frame_data, theme)


def seen_pictures(see: Projection, line: Neurons) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the corners of images in the picture, a mask of the visible ones, and their depths.

    The depths are those of the left and right side, (n, 2).
    """
    seen = see(line.corners().reshape(-1, 3))
    xy = seen.xy.reshape(-1, 3, 2)
    good = np.logical_and.reduce(np.isfinite(xy), (1, 2))
    upper_left, right, lower_left = seen.depth.reshape(-1, 3)[good].T
    half = 0.5 * (lower_left - upper_left)
    return xy, good, np.array([upper_left + half, right + half]).T


def painted_maps(buffer: str, line: Neurons, frame_data: FrameData, theme: Theme) -> FloatArray:
    """Return the color of each pixel: its true color, or a color for its number."""
    values = frame_data.buffers.values[buffer]
    if buffer in frame_data.buffers.tints:
        return painted(buffer, values, frame_data, theme)
    maps = values.reshape(line.shape[0], -1)
    parts = maps / tops_of(maps)[:, np.newaxis]
    parts[np.isnan(parts)] = 0.0
    return shaded(parts.ravel(), heat_of(theme.name))[:, :3] / 255.0


def tops_of(maps: FloatArray) -> FloatArray:
    """Return the number with the strongest color for each map; `maps` is (maps, pixels)."""
    sizes, finite = np.abs(maps), np.isfinite(maps)
    tops: FloatArray = np.maximum.reduce(sizes, 1, initial=0.0, where=finite)
    tops = np.maximum(tops, FAINT * np.maximum.reduce(tops, initial=0.0))
    tops[tops == 0.0] = 1.0
    return tops


def frame(canvas: Canvas2D, xy: FloatArray, color: FloatArray, depth: FloatArray) -> None:
    """Draw a thin frame around each image."""
    (first, right, down), (near, far), following = xy.transpose(1, 0, 2), depth.T, [1, 2, 3, 0]
    corners = np.stack([first, right, right + down - first, down], axis=1)
    deep = np.stack([near, far, far, near], axis=1)
    canvas.segments(
        corners.reshape(-1, 2),
        corners[:, following].reshape(-1, 2),
        color,
        width=1.0,
        depth=np.stack([deep, deep[:, following]], axis=2).reshape(-1, 2),
    )


def write_on_pictures(
    canvas: Canvas2D,
    see: Projection,
    line: Neurons,
    name: str,
    dropped: FloatArray,
    frame_data: FrameData,
    theme: Theme,
) -> None:
    """Cross out dropped neurons, and write the numbers of pixels that are large enough."""
    seen, least = see.of(line.points), CROSSED if dropped.any() else WRITTEN
    if not np.fmax.reduce(seen.unit) * line.side >= least:
        return
    pixel = float(np.nanmedian(seen.unit)) * line.side
    if pixel >= CROSSED:
        crosses(canvas, seen.xy, np.full(len(seen.xy), 0.4 * pixel), seen.depth, dropped, theme)
    inside = np.isfinite(seen.xy).all(axis=1) & (seen.xy > 0.0).all(axis=1)
    inside &= (seen.xy < [see.width, see.height]).all(axis=1) & ~dropped
    if not name or pixel < WRITTEN or inside.sum() > MOST_WRITTEN:
        return
    size = min(13.0, 0.3 * pixel)
    canvas.texts(
        seen.xy[inside] + [0.0, 0.36 * size],
        [*map(short, frame_data.buffers.values[name][inside].tolist())],
        size=size,
        color=NUMBER,
        anchor="center",
        depth=seen.depth[inside] - 1e-4,
        outline=HALO,
    )


# Squares: the function of each neuron over the inputs.

DARKER = 0.9  # brightness of a color that is fully subtracted
SQUARES: dict[str, Any] = {
    "hue": 0.85,  # fraction of the strongest number with the colors of signs
    "round": 0.16,  # corner radius, relative to half the side; at least 3 pixels
    "rim": 0.6,  # its opacity
    "dot": 0.12,  # radius of the shown sample, relative to half the side; at least `small` pixels
    "small": 3.0,
    "least": 6.0,  # minimum half side in pixels with a dot
    "dots": 32,  # maximum squares of a line with dots
    "letters": 12.0,
    "shown": "#f0f4fa",
    "dark": "#080b10",
    "curve": 1.8,  # width of a curve in logical pixels
    "plot": 0.9,  # fraction of half the side for a curve
}


@lru_cache(maxsize=4)
def hues_of(theme: str) -> FloatArray:
    """Return the colors of zero, positive and negative numbers, (3, 3)."""
    hue = SQUARES["hue"]
    return shaded(np.array([0.0, hue, -hue]), heat_of(theme))[:, :3] / 255.0


def image_of(name: str, maps: NeuronMaps, theme: Theme) -> tuple[npt.NDArray[np.uint8], FloatArray]:
    """Return the maps of a buffer tiled in one image, and the position of each neuron in it."""
    key = name, theme.name, maps.discrete
    if key not in maps.images:
        parts, paints = np.nan_to_num(maps.parts(name)), maps.paints.get(name)
        shades = shaded(parts, heat_of(theme.name))
        if paints is not None:
            shades[..., :3] = painted_parts(parts, paints, hues_of(theme.name)[0])
        maps.images[key] = tiled(shades)
    image, places = maps.images[key]
    return image, places


def painted_parts(
    parts: FloatArray, weights: FloatArray, zero: FloatArray
) -> npt.NDArray[np.uint8]:
    """Return the contributions of neurons to red, green and blue as colors, in bytes.

    Args:
        parts: maps of the neurons, (neurons, rows, columns)
        weights: weights of red, green and blue, (neurons, 3)
        zero: the color of 0
    """
    tops = np.abs(weights).max(axis=1, keepdims=True)
    tint = (weights / np.where(tops > 0.0, tops, 1.0))[:, np.newaxis, np.newaxis]
    added = np.clip(parts[..., np.newaxis] * tint, -1.0, 1.0)
    more = (1.0 - zero) * np.maximum(added, 0.0) ** 0.8
    return to_bytes(zero + more + DARKER * zero * np.minimum(added, 0.0))


def map_of(line: Neurons, frame_data: FrameData) -> str:
    """Return the buffer whose maps are drawn in the squares of a line of neurons, or ""."""
    maps, values = frame_data.maps, frame_data.buffers.values
    is_whole = len(values.get(line.values, ())) == len(line.points)
    name = line.values if is_whole or line.sums not in values else line.sums
    return name if maps is not None and name in maps.values and name in values else ""


def draw_inputs(
    canvas: Canvas2D,
    line: Neurons,
    order: Sequence[int],
    places: Sequence[tuple[float, float]],
    side: float,
    frame_data: FrameData,
    theme: Theme,
) -> None:
    """Draw squares of some neurons of a line, with their maps, or colored by number without maps.

    Args:
        order: indices of the neurons or images
        places: upper left corners of the squares
        side: side of the squares
    """
    maps, name, corners = frame_data.maps, map_of(line, frame_data), np.array(places)
    own = next((each for each in (line.values, line.sums) if each in frame_data.buffers.values), "")
    if line.shape and own:
        colors = painted_maps(own, line, frame_data, theme)
        image, parts = tiled(colors.reshape(*line.shape, 3), edge=0.0)
        ends = corners[:, np.newaxis] + side * np.array([[0, 0], [1, 0], [0, 1]])
        canvas.images(ends, image, parts[[*order]])
        return
    if maps is not None and name and not maps.is_curve:
        image, parts = image_of(name, maps, theme)
        ends = corners[:, np.newaxis] + side * np.array([[0, 0], [1, 0], [0, 1]])
        canvas.images(ends, image, parts[[*order]], smooth=True, radius=4.0)
        return
    values = frame_data.buffers.values.get(line.values, np.zeros(len(line.points)))
    fills = theme.map(np.clip(values[[*order]] / (np.abs(values).max() or 1.0), -1.0, 1.0))
    canvas.boxes(corners, np.full((len(corners), 1), side), fills, radius=4.0)


def draw_fields(
    canvas: Canvas2D,
    theme: Theme,
    shares: Sequence[float],
    places: Sequence[tuple[float, float]],
    cell: float,
    across: int,
) -> None:
    """Draw kernels as flat fields, one field per weight.

    Args:
        shares: weights relative to the strongest color, kernel by kernel
        places: upper left corners of the kernels
        cell: distance from one field to the next
        across: number of fields per row
    """
    kernel, at = np.divmod(np.arange(len(shares)), max(1, len(shares) // len(places)))
    down, right = np.divmod(at, across)
    corners = np.array(places)[kernel] + cell * np.stack([right, down], axis=1)
    canvas.boxes(
        corners, (0.94 * cell, 0.94 * cell), theme.map(np.array(shares)), radius=0.1 * cell
    )


def draw_squares(
    canvas: Canvas2D,
    seen: ProjectedPoints,
    line: Neurons,
    numbers: FloatArray,
    bright: FloatArray,
    frame_data: FrameData,
    theme: Theme,
) -> bool:
    """Draw the neurons of a line as squares with maps or curves; return whether they have any.

    If there are few neurons, the edge of each square shows the sign of its number, and a dot marks
    the current sample.

    Args:
        numbers: current numbers of the neurons
        bright: brightness of each neuron, (n, 1)
    """
    xy, depth, half = seen.xy, seen.depth, line.radius * seen.unit[:, np.newaxis]
    maps, name = frame_data.maps, map_of(line, frame_data)
    count = len(frame_data.buffers.values[name]) if name else 0
    hues, ground, scale = hues_of(theme.name), rgb((theme.ground,))[0], canvas.scale
    look = {"radius": bend_of(half), "depth": depth}
    if count < len(xy) or (maps and maps.is_curve):
        fills = painted_line(line, frame_data, theme)
        fills[:count] = hues[0]
        canvas.boxes(xy - half, 2.0 * half, fills, **look)
    own, dots = (xy[:count], half[:count], depth[:count]), None
    if maps is not None and count:
        dots = (draw_curves if maps.is_curve else paste_maps)(canvas, *own, name, maps, theme)
    rims, veil = np.empty((2, len(xy), 4))
    rims[:], veil[:, :3], veil[:, 3:] = (*ground, SQUARES["rim"]), ground, 1.0 - bright
    few = len(xy) <= SQUARES["dots"]
    rims[: len(numbers), :3] = hues[1 - 2 * (numbers < 0.0)] if few else hues[0]
    rims[:, :3] = faded(rims[:, :3], bright, ground)
    fill = None if np.minimum.reduce(bright, None) == 1.0 else veil
    canvas.boxes(xy - half, 2.0 * half, fill, outline=rims, line=scale, **look)
    has_room = few and dots is not None
    if has_room and np.minimum.reduce(half, None) > SQUARES["least"] * scale:
        size = np.maximum(SQUARES["small"] * scale, SQUARES["dot"] * own[1])
        far = own[1] - size
        dots = own[0] + np.minimum(np.maximum(dots - own[0], -far), far)
        lit, wide = faded(rgb((SQUARES["shown"],)), bright[:count], ground), size[:, 0]
        on = np.ones(count, np.bool_)
        on[silent_in(name, maps)] = False
        wide, rim = wide[on], 0.4 * wide[on]
        canvas.discs(dots[on], wide, lit[on], outline=SQUARES["dark"], line=rim, depth=own[2][on])
    write_silent(canvas, own, name, maps, theme)
    return count > 0


def silent_in(name: str, maps: NeuronMaps | None) -> list[int]:
    """Return the indices of the neurons of a buffer that are 0 for all inputs."""
    if maps is None or not name:
        return []
    if ("silent", name) not in maps.images:
        values = maps.values[name]
        found = np.flatnonzero(~values.reshape(len(values), -1).any(axis=1))
        maps.images["silent", name] = found.tolist()
    return list(maps.images["silent", name])


def write_silent(
    canvas: Canvas2D,
    own: tuple[FloatArray, FloatArray, FloatArray],
    name: str,
    maps: NeuronMaps | None,
    theme: Theme,
) -> None:
    """Write "off" in the squares of neurons that are 0 for all inputs."""
    (xy, half, depth), size = own, SQUARES["letters"] * canvas.scale
    few = len(xy) <= SQUARES["dots"]
    silent = [i for i in silent_in(name, maps) if few and half[i, 0] >= 0.72 * size]
    if silent:
        canvas.texts(
            xy[silent] + [0.0, 0.36 * size],
            [text("neurons.off")] * len(silent),
            size=size,
            color=theme.quiet,
            anchor="center",
            depth=depth[silent],
        )


def bend_of(half: FloatArray) -> FloatArray:
    """Return the corner radius of squares, given half their sides, (n, 1)."""
    return np.asarray(np.fmax(3.0, SQUARES["round"] * half[:, 0]))


def paste_maps(
    canvas: Canvas2D,
    xy: FloatArray,
    half: FloatArray,
    depth: FloatArray,
    name: str,
    maps: NeuronMaps,
    theme: Theme,
) -> FloatArray | None:
    """Draw the map of each neuron in its square; return the current sample's position in it."""
    image, places = image_of(name, maps, theme)
    corners = xy[:, np.newaxis] + half[:, np.newaxis] * [[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]]
    canvas.images(
        *(corners, image, places[: len(xy)]), radius=bend_of(half), depth=depth, smooth=True
    )
    return None if maps.dot is None else xy + half * (2.0 * maps.dot - 1.0) * [1.0, -1.0]


def draw_curves(
    canvas: Canvas2D,
    xy: FloatArray,
    half: FloatArray,
    depth: FloatArray,
    name: str,
    maps: NeuronMaps,
    theme: Theme,
) -> FloatArray | None:
    """Draw the curve of each neuron in its square; return the current sample's position in it."""
    parts, reach = maps.parts(name)[: len(xy), 0], SQUARES["plot"] * half
    along = np.linspace(-1.0, 1.0, parts.shape[1])
    canvas.segments(xy - reach * [1.0, 0.0], xy + reach * [1.0, 0.0], theme.faint, depth=depth)
    points = xy[:, np.newaxis] + reach[..., np.newaxis] * np.stack(
        np.broadcast_arrays(along, -parts), axis=2
    )
    starts, stops = points[:, :-1].reshape(-1, 2), points[:, 1:].reshape(-1, 2)
    hue = theme.map(np.sign(parts[:, :-1] + parts[:, 1:]).ravel())
    deep = np.repeat(depth, parts.shape[1] - 1)
    canvas.segments(starts, stops, hue, width=SQUARES["curve"] * canvas.scale, depth=deep)
    if maps.dot is None:
        return None
    place = 2.0 * float(maps.dot[0]) - 1.0
    return np.asarray(xy + reach * [(place, -np.interp(place, along, own)) for own in parts])


def tiled(images: npt.NDArray[Any], edge: float = 0.5) -> tuple[npt.NDArray[Any], FloatArray]:
    """Tile images, (n, rows, columns, channels), in one image; return it and their positions.

    A position is left, top, right and bottom from 0 to 1, reduced by `edge` pixels on each side.
    The default of half a pixel avoids interpolation with neighboring images.
    """
    count, rows, columns, _ = images.shape
    sheet = sheet_of(images, math.ceil(math.sqrt(count)))
    high, wide, _ = sheet.shape
    down, across = np.divmod(np.arange(count), wide // columns)
    left, top = across * columns + edge, down * rows + edge
    ends = [left, top, left + columns - 2.0 * edge, top + rows - 2.0 * edge]
    return sheet, np.stack(ends, axis=1) / ([wide, high] * 2)


# Colors of neurons, their gradients, and dropout.


def painted(
    buffer: str, values: FloatArray | None, frame_data: FrameData, theme: Theme
) -> FloatArray:
    """Return the color of each neuron: its true color if it has one, or a color for its number."""
    if buffer in frame_data.buffers.tints and values is not None:
        return frame_data.buffers.tints[buffer]
    numbers = np.zeros(0) if values is None else values
    if behind := frame_data.buffers.raw.get(buffer):
        known = frame_data.buffers.values.get(behind, np.zeros(0))
        numbers = np.append(known, np.zeros(len(numbers)))[: len(numbers)]
    return theme.map(numbers, frame_data.buffers.scale)


def held(line: Neurons, frame_data: FrameData) -> FloatArray:
    """Return the current numbers of a line of neurons: outputs, or sums while these are unknown.

    Unknown numbers at the end are left out.
    """
    values, nothing = frame_data.buffers.values, np.zeros(0)
    outputs, sums = values.get(line.values, nothing), values.get(line.sums, nothing)
    return outputs if len(outputs) >= len(sums) else np.append(outputs, sums[len(outputs) :])


def painted_line(line: Neurons, frame_data: FrameData, theme: Theme) -> FloatArray:
    """Return the color of each neuron of a line for its current value; empty if unknown."""
    values, count = frame_data.buffers.values, len(line.points)
    border, answers = frame_data.border, frame_data.buffers.answers
    if border is not None and answers is not None and line is frame_data.layout.neurons[-1]:
        return theme.answers((answers - border.middle) / border.reach)
    found: FloatArray = np.zeros((count, 1)) + rgb((theme.tray,))
    is_whole = len(values.get(line.values, ())) == count
    for name in (line.values,) if is_whole else (line.sums, line.values):
        if name in values:
            own = painted(name, values[name], frame_data, theme)
            found[: len(own)] = own
    return found


def left_out(line: Neurons, frame_data: FrameData) -> FloatArray:
    """Return a mask of the neurons that dropout drops."""
    dropped = frame_data.buffers.left_out
    names = [name for name in line.buffers if name in dropped] if dropped else []
    if names and line.values in frame_data.buffers.values:
        return dropped[names[0]] > 0.0
    return np.zeros(len(line.points), np.bool_)


def crosses(
    canvas: Canvas2D,
    xy: FloatArray,
    reach: FloatArray,
    depth: FloatArray,
    chosen: FloatArray,
    theme: Theme,
) -> None:
    """Cross out dropped neurons in gray, since hue is reserved for the sign of numbers."""
    if not chosen.any():
        return
    xy, reach, depth = xy[chosen], 0.707 * reach[chosen][:, np.newaxis], depth[chosen]
    width = np.clip(0.25 * reach[:, 0], 1.2, 3.0)
    for way in ((1.0, 1.0), (1.0, -1.0)):
        ends = xy - reach * way, xy + reach * way
        canvas.segments(*ends, theme.ground, width=width + 2.0, depth=depth)
        canvas.segments(*ends, theme.quiet, width=width, depth=depth)
