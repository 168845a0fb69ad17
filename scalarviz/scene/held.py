"""Drawing of a dragged item with everything it changes, and of the call-outs on the first row.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from scalarviz.scene.first_row import calls_out, draw_first_row, draw_sum
from scalarviz.scene.hands import MOST_GIVEN, draw_gives, lines_held
from scalarviz.scene.lines import carried, seen_fans
from scalarviz.scene.long_rows import open_row
from scalarviz.scene.marks import cube_boxes, draw_held_cube, draw_rings

if TYPE_CHECKING:
    from scalarviz.scene.canvas.canvas2d import Canvas2D
    from scalarviz.scene.canvas.palette import Theme
    from scalarviz.scene.frame_data import FrameData
    from scalarviz.scene.layout.division import Box, Projection
    from scalarviz.scene.layout.plates import Fan, Layout
    from scalarviz.scene.layout.ways import Point, SeenFan


HOVERED = 36.0  # pixels from the feet of a hovered neuron's cubes to its sum
# Pixels from a cube of a crossbar to the middle of its product, and up to it: of a cube that stands
# it is below the line, and of one that hangs above, since the weight is on the other side.
BESIDE, BELOW_LINE, ABOVE_LINE = 58.0, 19.0, 38.0


def draw_held(canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme) -> None:
    """Mark a dragged weight or input and everything it changes, with previous values."""
    held = frame_data.held
    layout: Layout = frame_data.layout
    if held is None:
        return
    draw_held_cube(canvas, see, frame_data, theme)
    own = layout.fan_of(held.row)
    reached: list[tuple[int, list[int]]] = [] if own is None else [(own[0].after, [own[1]])]
    fans = seen_fans(see, layout, canvas.scale)
    for number, units in lines_held(layout, held.row, held.neuron):
        fan: Fan = layout.fans[number]
        seen = fans[number]
        reached.append((fan.after, [*range(fan.units)]))
        if fan.is_direct or len(units) > 1 or fan.units > MOST_GIVEN:
            continue
        if fan.form == "crossbar":
            rows = [fan.row_of(unit, units[0]) for unit in range(fan.units)]
            feet = feet_beside(see, frame_data, rows, canvas.scale)
        else:
            feet = [] if seen is None else [each[units[0]] for each in seen.feet]
        if len(feet) < fan.units:
            continue
        old, new = carried(fan, frame_data, held).terms, carried(fan, frame_data).terms
        for unit in range(fan.units):
            products = old[unit][units[0]], new[unit][units[0]]
            draw_gives(canvas, theme, feet[unit], products, theme.signs)
    draw_rings(canvas, see, frame_data, theme, reached)


def feet_beside(
    see: Projection, frame_data: FrameData, rows: Sequence[int], scale: float
) -> list[Point]:
    """Return where the feet of cubes would be whose products are beside the cubes of a crossbar."""
    found: list[Point] = []
    for row, box in zip(rows, cube_boxes(see, frame_data, rows, None), strict=False):
        stands = float(frame_data.weights[row]) >= 0.0
        y = box.bottom - BELOW_LINE * scale if stands else box.y - ABOVE_LINE * scale
        found.append((box.right + BESIDE * scale, y))
    return found


def draw_call_outs(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    theme: Theme,
    taken: Sequence[Box],
) -> list[Box]:
    """Draw any call-outs on the first row; return the boxes of their texts.

    Args:
        taken: boxes of other texts, which call-outs do not overlap
    """
    layout: Layout = frame_data.layout
    known: list[tuple[int, SeenFan]] = [
        (number, each)
        for number, each in enumerate(seen_fans(see, layout, canvas.scale))
        if each is not None and not layout.fans[number].is_direct
    ]
    if not known:
        return []
    neuron = frame_data.hover_neuron
    if neuron is not None and frame_data.moment is None and frame_data.named < math.inf:
        for number, seen in known:  # its sum, below its row
            found = layout.fan_into(neuron)
            if found is not None and found[0] is layout.fans[number]:
                row = open_row(number, found[1], frame_data)
                return draw_sum(canvas, theme, seen, row, see.box, [], HOVERED)
        return []
    first: SeenFan = known[0][1]
    number = known[0][0]
    if not calls_out(first, canvas.scale, see.camera, frame_data):
        return []
    tops = first.tops(0, carried(layout.fans[number], frame_data).halves[0])
    rows = [
        open_row(i, layout.fans[i].units - 1 if i > number else 0, frame_data) for i, _ in known
    ]
    fans = [each for _, each in known]
    return draw_first_row(canvas, theme, fans, rows, tops, theme.signs, see.box, taken)
