"""Marks on a formula: the direction in which each part or parameter reduces the loss.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from scalarviz.scene.marks import cube_boxes
from scalarviz.scene.pace import WAYS_BACK
from scalarviz.scene.silhouettes import balls_of

if TYPE_CHECKING:
    from scalarviz.base.checks import FloatArray
    from scalarviz.scene.canvas.canvas2d import Canvas2D
    from scalarviz.scene.canvas.palette import Theme
    from scalarviz.scene.frame_data import FrameData
    from scalarviz.scene.layout.division import Projection
    from scalarviz.scene.layout.plates import Layout

LONG, TIP, BESIDE = 9.0, 5.0, 10.0  # pixels: half an arrow, its head, and distance from a part
THIN, WIDER = 1.5, 2.0  # pixels of a bracket, and its growth for maximum blame


def blame_of_parts(layout: Layout, kind: str, flows: Mapping[str, FloatArray]) -> dict[int, float]:
    """Return the error signals that have reached parts of a formula, by index in `layout.neurons`.

    They are relative to the largest one. A part with a positive signal should increase.

    Args:
        kind: kind of the current operation, or ""
        flows: gradients already computed in this step, by buffer name
    """
    found: dict[int, float] = {}
    if len(layout.written) == 0 or (kind != "loss" and kind not in WAYS_BACK):
        return found
    for bundle in layout.wires:
        flow = flows.get(layout.neurons[bundle.neurons].values)
        if flow is not None:
            found[bundle.neurons] = -float(flow[0])
    most: float = max([0.0, *[abs(each) for each in found.values()]])
    if not (0.0 < most < math.inf):
        return {}
    return {place: each / most for place, each in found.items()}


def bracket_width(blame: float) -> float:
    """Return the line width in pixels of a bracket, given a relative error signal."""
    return THIN * (1.0 + WIDER * abs(blame))


def draw_ways(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    theme: Theme,
    blame: Mapping[int, float],
) -> None:
    """Draw an arrow at each part and cube that an error signal has reached.

    Args:
        blame: error signals of parts, see `blame_of_parts`
    """
    layout: Layout = frame_data.layout
    for place, share in blame.items():
        line = layout.neurons[place]
        ball = balls_of(see, line.points, line.radius)[0]
        draw_way(canvas, theme, ball.x - ball.radius - BESIDE * canvas.scale, ball.y, share)
    pushes = frame_data.cubes.pushes
    if len(blame) == 0 or pushes is None:
        return
    for plate in layout.plates:
        push = float(pushes[plate.first])
        for box in cube_boxes(see, frame_data, [plate.first], None) if abs(push) > 0.0 else []:
            y = box.y - (LONG + TIP) * canvas.scale
            draw_way(canvas, theme, box.x + 0.5 * box.width, y, -push)


def draw_way(canvas: Canvas2D, theme: Theme, x: float, y: float, way: float) -> None:
    """Draw an arrow at a number: up if it should increase, otherwise down."""
    scale, up = canvas.scale, -1.0 if way > 0.0 else 1.0
    end, tip = y + up * LONG * scale, y + up * (LONG - TIP) * scale
    hook = [(x - TIP * scale, tip), (x, end), (x + TIP * scale, tip)]
    for color, more in ((theme.ground, 2.6), (theme.push, 0.0)):
        canvas.line([(x, y - up * LONG * scale), (x, end)], color, width=(3.0 + more) * scale)
        canvas.line(hook, color, width=(2.6 + more) * scale)
