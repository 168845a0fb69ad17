"""Colors of neurons, their gradients, and which of them are left out."""

from __future__ import annotations

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.colors import rgb
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.view.frame_data import FrameData
from scalarviz.pictures.view.scene.plates import Neurons


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


def faded(colors: FloatArray, bright: FloatArray | float, ground: FloatArray) -> FloatArray:
    mixed: FloatArray = ground + bright * (colors - ground)
    return mixed


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
