"""What stands on and beside the cubes: marks and numbers of neurons, numbers of cubes, labels."""

from __future__ import annotations

import numpy as np

from scalarviz.draw2d.canvas import Canvas2D
from scalarviz.draw2d.theme import Theme
from scalarviz.model.operations import NONE
from scalarviz.view.frame_data import FrameData
from scalarviz.view.labels import draw_labels
from scalarviz.view.lights import BACK, Lights
from scalarviz.view.neurons import draw_neurons
from scalarviz.view.numbers import draw_numbers
from scalarviz.view.scene.frame import Projection

HEAD = 11.0  # pixels of an arrow head


def draw_scenery(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    lit: Lights,
    theme: Theme,
    scale: float = 1.0,
) -> None:
    """Draw what stands on and beside cubes and spheres, with depth, so that cubes hide it."""
    for line, bright in zip(frame_data.layout.neurons, lit.neurons.tolist(), strict=True):
        draw_neurons(canvas, see, line, bright, frame_data, theme, scale)
    draw_heads(canvas, see, frame_data, theme, scale)
    draw_numbers(canvas, see, frame_data, theme, scale)
    draw_labels(canvas, see, frame_data, theme, scale)


def draw_heads(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme, scale: float
) -> None:
    """Draw an arrow head where the wires of a sum arrive, if the layout has all wires.

    While numbers go back, the heads are where they arrive then.
    """
    size, moment = HEAD * scale, frame_data.moment
    back = moment is not None and moment.kind in BACK
    for fan in frame_data.layout.fans:
        if not fan.is_wired:
            continue
        if back:
            count = len(fan.columns) - (fan.biases != NONE)
            places, through = fan.starts[:count], fan.columns[:count] + fan.rows.mean(axis=0)
        else:
            places, through = fan.ends, fan.rows + fan.columns.mean(axis=0)
        ends, cubes = see(places), see(through)
        way = ends.xy - cubes.xy
        way = way / np.maximum(np.hypot(way[:, 0], way[:, 1]), 1e-9)[:, np.newaxis]
        tips = ends.xy - way * (fan.radius * ends.unit + scale)[:, np.newaxis]
        color = theme.accent if back else theme.quiet
        for tip, along, unit, depth in zip(tips, way, ends.unit, ends.depth, strict=True):
            if np.isfinite(tip).all() and fan.radius * unit > size:
                canvas.arrow(tip - size * along, tip, color, head=size, depth=float(depth))
