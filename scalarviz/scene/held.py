"""Drawing of a dragged item with everything it changes, and of the call-outs on the first row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import Theme
from scalarviz.scene.first_row import draw_first_row, is_called
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.hands import MOST_GIVEN, draw_gives, lines_held
from scalarviz.scene.layout.division import Box, Projection
from scalarviz.scene.lines import carried, known_fans, tops_of
from scalarviz.scene.long_rows import open_row
from scalarviz.scene.marks import draw_held_cube, draw_rings


def draw_held(canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme) -> None:
    """Mark a dragged weight or input and everything it changes, with previous values."""
    held, layout = frame_data.held, frame_data.layout
    if held is None:
        return
    draw_held_cube(canvas, see, frame_data, theme)
    own = layout.fan_of(held.row)
    reached = [] if own is None else [(own[0].after, [own[1]])]
    before = frame_data.with_numbers(
        weights=held.weights, buffers=replace(frame_data.buffers, values=held.values)
    )
    fans = known_fans(see, layout, canvas.scale)
    signs: Any = theme.map.negative, theme.map.positive
    for number, units in lines_held(layout, held.row, held.neuron):
        fan, known = layout.fans[number], fans[number]
        reached.append((fan.after, list(range(fan.units))))
        if known is None or fan.is_direct or len(units) > 1 or fan.units > MOST_GIVEN:
            continue
        old, new = carried(fan, before).terms, carried(fan, frame_data).terms
        for unit in range(fan.units):
            products = old[unit][units[0]], new[unit][units[0]]
            draw_gives(canvas, theme, known.seen.feet[unit][units[0]], products, signs)
    exhibit = frame_data.exhibit
    answers = exhibit is not None and exhibit.border is not None
    draw_rings(canvas, see, frame_data, theme, reached, answers)


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
    layout, scale = frame_data.layout, canvas.scale
    fans = known_fans(see, layout, scale)
    known = [
        (number, fan, each)
        for number, (fan, each) in enumerate(zip(layout.fans, fans, strict=True))
        if each is not None and not fan.is_direct
    ]
    if not (known and frame_data.names_row):
        return []
    number, fan, first = known[0]
    if not is_called(first.seen, scale, see.camera, asked=frame_data.marks):
        return []
    tops = tops_of(first, 0, carried(fan, frame_data).halves[0])
    rows = [open_row(i, fan.units - 1 if i > number else 0, frame_data) for i, fan, _ in known]
    seen, signs = [each.seen for _, _, each in known], (theme.map.negative, theme.map.positive)
    return draw_first_row(canvas, theme, seen, rows, tops, signs, see.box, taken)
