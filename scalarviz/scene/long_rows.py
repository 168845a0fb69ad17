"""Long rows: the bars of an upright row, and rows enlarged with their numbers."""

from __future__ import annotations

from functools import partial

import numpy as np

from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import Theme
from scalarviz.scene.focus import chosen_unit
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.layout.division import Box, Projection
from scalarviz.scene.layout.threads import thread_of
from scalarviz.scene.layout.ways import (
    OpenRow,
    SeenFan,
    draw_heads,
    draw_open,
    draw_upright,
)
from scalarviz.scene.lines import carried, known_fans, seen_fans
from scalarviz.scene.opened_rows import draw_opened_row, draw_opened_rows
from scalarviz.scene.overlay import draw_cubes


def draw_long_rows(canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme) -> None:
    """Draw the bars, headings and enlarged rows of all layers with long or upright rows."""
    for number, known in enumerate(known_fans(see, frame_data.layout, canvas.scale)):
        if known is not None and frame_data.layout.fans[number].form in ("long", "upright"):
            is_front = see.camera.is_front
            draw_beside(canvas, theme, number, known.seen, frame_data, opens=is_front)


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


def draw_beside(
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
    layout, signs = frame_data.layout, (theme.map.negative, theme.map.positive)
    fan = layout.fans[number]
    numbers = carried(fan, frame_data)
    if fan.form == "upright":
        row = open_row(number, 0, frame_data) if numbers.summed else None
        draw_upright(canvas, theme, seen, row, signs, written=opens)
        return
    draw_heads(canvas, theme, seen)
    unit = open_unit(number, frame_data) if numbers.summed and opens else None
    if unit is not None:
        row = open_row(number, unit, frame_data)
        draw_open(canvas, theme, seen, row, signs, partial(draw_cubes, canvas, theme=theme))


def open_row(number: int, unit: int, frame_data: FrameData) -> OpenRow:
    """Return the row of a unit with its numbers."""
    layout = frame_data.layout
    fan = layout.fans[number]
    numbers = carried(fan, frame_data)
    weights = frame_data.weights[fan.first_rows[unit]]
    top = float(frame_data.cubes.size_scales[layout.plate_number(fan.weights)]) or 1.0
    comes = [*numbers.values[: fan.inputs_count], *[1.0] * (len(weights) - fan.inputs_count)]
    shares = np.clip(np.nan_to_num(weights / top), -1.0, 1.0).tolist()
    after, terms = layout.neurons[fan.after], numbers.terms[unit]
    says = frame_data.buffers.values.get(after.values, [sum(terms)] * (unit + 1))[unit]
    own = weights.tolist(), shares, terms, sum(terms), float(np.abs(numbers.terms).max())
    return OpenRow(unit, fan.inputs_count, comes, *own, float(says), after.curve, after.bends)


def draw_row_sheet(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme
) -> list[Box]:
    """Draw a row of small cubes with its numbers, see `draw_opened_row`; return its box."""
    layout = frame_data.layout

    def row_of(number: int, unit: int) -> OpenRow | None:
        is_known = carried(layout.fans[number], frame_data).summed
        return open_row(number, unit, frame_data) if is_known else None

    fans, signs = seen_fans(see, layout, canvas.scale), (theme.map.negative, theme.map.positive)
    cubes = partial(draw_cubes, canvas, theme=theme)
    return draw_opened_row(canvas, theme, see, frame_data, fans, row_of, signs, cubes)


def open_unit(number: int, frame_data: FrameData) -> int | None:
    """Return the unit whose row is enlarged: the chosen one, or the one on the main path."""
    chosen = chosen_unit(frame_data.layout.fans[number], frame_data)
    thread = thread_of(frame_data.layout, frame_data.weights, frame_data.buffers.values)
    units = [chosen, *[unit for place, unit, _ in thread if place == number]]
    return next((unit for unit in units if unit is not None), None)
