"""Neurons: discs with a ring, with names, numbers and gradients."""

from __future__ import annotations

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.draw2d.canvas import Canvas2D
from scalarviz.draw2d.colors import rgb
from scalarviz.draw2d.theme import Theme
from scalarviz.view.feature_maps import draw_pictures
from scalarviz.view.frame_data import FrameData
from scalarviz.view.neuron_colors import (
    crosses,
    faded,
    flow_parts,
    left_out,
    painted,
    readable,
    short,
)
from scalarviz.view.scene.frame import Projection
from scalarviz.view.scene.plates import Neurons

RADIUS = 0.36  # of a neuron, in cells
NAMES, NUMBERS = 11.0, 17.0  # least pixels per cell at which each is drawn


def draw_neurons(
    canvas: Canvas2D,
    see: Projection,
    line: Neurons,
    bright: float,
    frame_data: FrameData,
    theme: Theme,
) -> None:
    """Draw discs, the output inside and the weighted sum as a ring around it; or feature maps."""
    draw_way(canvas, see, line, bright, theme)
    if line.shape:
        draw_pictures(canvas, see, line, bright, frame_data, theme)
        return
    seen = see(line.points)
    good = np.asarray(np.isfinite(seen.xy).all(axis=1))
    if not good.any():
        return
    xy, radius, depth = seen.xy[good], RADIUS * seen.unit[good], seen.depth[good]
    buffers = frame_data.buffers
    ground = rgb((theme.ground,))[0]
    inside = buffers.values.get(line.values)
    fill = faded(painted(line.values, inside, frame_data, theme), bright, ground)
    around = buffers.values.get(line.sums) if line.sums else None
    rim = faded(np.tile(rgb((theme.quiet,)), (len(line.points), 1)), bright, ground)
    width = np.maximum(1.0, 0.06 * radius)
    if around is not None:
        rim = faded(painted(line.sums, around, frame_data, theme), bright, ground)
        width = np.maximum(1.5, 0.24 * radius)
    hatch = buffers.saturated.get(line.values, np.zeros(len(line.points)))
    # A gap in the background color separates ring and disc.
    canvas.discs(xy, radius, rim[good], depth=depth)
    canvas.discs(xy, radius - width, ground, depth=depth)
    if inside is not None:
        inner = (radius - width) * (0.86 if around is not None else 1.0)
        canvas.discs(xy, inner, fill[good], depth=depth, hatch=0.75 * hatch[good])
    crosses(canvas, xy, 0.8 * radius, depth, left_out(line, frame_data)[good], theme)
    write_on_neurons(canvas, xy, radius, depth, line, inside, good, fill, theme)
    draw_flows(canvas, xy, radius, good, line, frame_data, theme)


def write_on_neurons(
    canvas: Canvas2D,
    xy: FloatArray,
    radius: FloatArray,
    depth: FloatArray,
    line: Neurons,
    inside: FloatArray | None,
    good: FloatArray,
    fill: FloatArray,
    theme: Theme,
) -> None:
    """Write names and numbers on discs that are large enough."""
    unit = float(np.median(radius)) / RADIUS
    if unit < NAMES:
        return
    for i, place in enumerate(np.flatnonzero(good).tolist()):
        x, y = xy[i].tolist()
        words = line.names[place] if place < len(line.names) else ""
        known = inside is not None and place < len(inside)
        if words:
            size = float(round(min(15.0, max(9.0, 0.30 * unit))))
            if known and unit > 2.0 * NUMBERS:
                above = y - radius[i] - 4.0
                canvas.text(
                    x, above, words, size=size, color=theme.quiet, anchor="center", bold=True
                )
                words = ""
        if known and not words and unit > 2.0 * NUMBERS and inside is not None:
            words = short(float(inside[place]))
            # As large as fits into the inner disc.
            fits = 1.15 * float(radius[i]) / max(canvas.measure(words, size=10.0), 1.0) * 10.0
            size = float(int(min(14.0, fits)))
            if size < 7.0:
                continue
        if words:
            ink = readable(fill[place]) if known else theme.quiet
            middle = y + 0.36 * size
            canvas.text(
                x,
                middle,
                words,
                size=size,
                color=ink,
                anchor="center",
                depth=float(depth[i]) - 1e-4,
            )


def draw_flows(
    canvas: Canvas2D,
    xy: FloatArray,
    radius: FloatArray,
    good: FloatArray,
    line: Neurons,
    frame_data: FrameData,
    theme: Theme,
) -> None:
    """Draw the gradient of each neuron as a dot on its rim, larger for a larger gradient."""
    found = flow_parts(line, frame_data)
    if found is None or radius[0] < 4.0:
        return
    flow, part = (each[good] for each in found)
    # On the side without wires.
    places = xy + radius[:, np.newaxis] * [0.75, 0.75]
    canvas.discs(places, 0.42 * radius * part + 1.6, theme.ground)
    canvas.discs(places, 0.42 * radius * part, theme.map(np.sign(flow) * 0.85))


def draw_way(canvas: Canvas2D, see: Projection, line: Neurons, bright: float, theme: Theme) -> None:
    """Draw the line of a skip connection, which ends in an arrow."""
    if line.way is None:
        return
    seen = see(line.way)
    if np.isfinite(seen.xy).all():
        ground = rgb((theme.ground,))[0]
        color = faded(rgb((theme.quiet,)), bright, ground)[0]
        width = min(3.0, max(1.4, 0.12 * float(np.median(seen.unit))))
        canvas.line(seen.xy, color, width=width, depth=seen.depth)
        start, end = seen.xy[-2:].tolist()
        canvas.arrow(start, end, color, width=width, head=5.0 * width, depth=float(seen.depth[-1]))


def draw_errors(canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme) -> None:
    """Draw the error of each output beside it, as a bar and a number."""
    target, lines = frame_data.buffers.target, frame_data.layout.neurons
    if target is None or not lines:
        return
    line = lines[-1]
    values = frame_data.buffers.values.get(line.values)
    seen = see(line.points)
    is_close = seen.unit[0] >= 2.0 * NAMES and not line.shape
    if values is None or len(values) != len(target) or not is_close:
        return
    errors = values - target
    top = max(float(np.abs(errors).max()), 1e-12)
    colors = theme.map(np.sign(errors) * 0.8)
    apart = seen.xy[-1] - seen.xy[0]
    in_a_row = abs(apart[0]) >= abs(apart[1])
    for i, error in enumerate(errors.tolist()):
        x, y = seen.xy[i].tolist()
        reach = 1.1 * seen.unit[i] * abs(error) / top + 2.0
        low = RADIUS * seen.unit[i] + 6.0
        wide = 0.3 * seen.unit[i]
        words = f"{short(values[i])} - {short(target[i])}"
        size = float(round(min(12.0, 0.24 * seen.unit[i])))
        if in_a_row:
            canvas.box(x - wide / 2, y + low, wide, reach, colors[i], radius=2.0)
            below = y + low + reach + size + 2.0
            canvas.text(x, below, short(error), size=size, color=theme.ink, anchor="center")
        else:
            canvas.box(x + low, y - wide / 2, reach, wide, colors[i], radius=2.0)
            words = f"{words} = {short(error)}"
            canvas.text(x + low + reach + 5.0, y + 0.35 * size, words, size=size, color=theme.ink)
