"""Long rows: the bars of an upright row, and rows enlarged with their numbers.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from scalarviz.scene.focus import chosen_unit
from scalarviz.scene.layout.threads import thread_of
from scalarviz.scene.layout.ways import OpenRow, draw_heads, draw_open, draw_upright
from scalarviz.scene.lines import carried, seen_fans
from scalarviz.scene.opened_rows import draw_opened_row, draw_opened_rows
from scalarviz.scene.overlay import draw_cubes

if TYPE_CHECKING:
    from scalarviz.base.checks import FloatArray
    from scalarviz.scene.canvas.canvas2d import Canvas2D
    from scalarviz.scene.canvas.palette import Theme
    from scalarviz.scene.frame_data import FrameData
    from scalarviz.scene.layout.division import Box, Projection
    from scalarviz.scene.layout.plates import Layout
    from scalarviz.scene.layout.ways import SeenFan


def draw_long_rows(canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme) -> None:
    """Draw the bars, headings and enlarged rows of all layers with long or upright rows."""
    for number, seen in enumerate(seen_fans(see, frame_data.layout, canvas.scale)):
        if seen is not None and frame_data.layout.fans[number].form in ("long", "upright"):
            draw_long_row(canvas, theme, number, seen, frame_data, opens=see.camera.is_front)


def draw_kernel_rows(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme
) -> list[Box]:
    """Draw the enlarged rows of kernels in front of the images; return their boxes."""
    if not see.camera.is_front:
        return []
    seen = seen_fans(see, frame_data.layout, canvas.scale)
    known = frame_data.buffers.values
    return draw_opened_rows(
        canvas, theme, frame_data, seen, lambda fan: carried(fan, frame_data), known
    )


def draw_long_row(
    canvas: Canvas2D,
    theme: Theme,
    number: int,
    seen: SeenFan,
    frame_data: FrameData,
    *,
    opens: bool,
) -> None:
    """Draw the bars of an upright row, or the headings of other rows.

    If `opens`, one row is also enlarged and drawn with its numbers in the plane of the screen.
    """
    fan = frame_data.layout.fans[number]
    numbers = carried(fan, frame_data)
    if fan.form == "upright":
        row = open_row(number, 0, frame_data) if numbers.summed else None
        draw_upright(canvas, theme, seen, row, theme.signs, written=opens)
        return
    draw_heads(canvas, theme, seen)
    unit = open_unit(number, frame_data) if numbers.summed and opens else None
    if unit is not None:
        row = open_row(number, unit, frame_data)
        draw_open(
            canvas, theme, seen, row, theme.signs, lambda found: draw_cubes(canvas, found, theme)
        )


def open_row(number: int, unit: int, frame_data: FrameData) -> OpenRow:
    """Return the row of a unit with its numbers."""
    layout: Layout = frame_data.layout
    fan = layout.fans[number]
    numbers = carried(fan, frame_data)
    terms: list[float] = numbers.terms[unit]
    rows = [fan.row_of(unit, column) for column in range(len(terms))]
    weights = [float(frame_data.weights[row]) for row in rows]
    top = float(frame_data.cubes.size_scales[layout.plate_number(fan.weights)]) or 1.0
    shares = [0.0 if math.isnan(each) else min(1.0, max(-1.0, each / top)) for each in weights]
    comes = [*numbers.values, *[1.0 for _ in range(len(weights) - fan.inputs_count)]]
    after, result = layout.neurons[fan.after], sum(terms)
    values: Mapping[str, FloatArray] = frame_data.buffers.values
    known = values.get(after.values)
    says = float(known[unit]) if known is not None and unit < len(known) else result
    own = weights, shares, terms, result, numbers.most
    return OpenRow(unit, fan.inputs_count, comes, *own, says, after.curve, after.bends)


def draw_row_sheet(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme
) -> list[Box]:
    """Draw a row of small cubes with its numbers, see `draw_opened_row`; return its box."""
    layout = frame_data.layout

    def row_of(number: int, unit: int) -> OpenRow | None:
        is_known = carried(layout.fans[number], frame_data).summed
        return open_row(number, unit, frame_data) if is_known else None

    fans = seen_fans(see, layout, canvas.scale)
    return draw_opened_row(
        *(canvas, theme, see, frame_data, fans, row_of, theme.signs),
        lambda found: draw_cubes(canvas, found, theme),
    )


def open_unit(number: int, frame_data: FrameData) -> int | None:
    """Return the unit whose row is enlarged: the chosen one, or the one on the main path."""
    layout: Layout = frame_data.layout
    chosen = chosen_unit(layout.fans[number], frame_data)
    if chosen is not None:
        return chosen
    thread = thread_of(layout, frame_data.weights, frame_data.buffers.values)
    return next((unit for place, unit, _ in thread if place == number), None)
