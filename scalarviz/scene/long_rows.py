"""Long rows: the bars of an upright row, and rows enlarged with their numbers."""

from __future__ import annotations

from functools import partial

import numpy as np

from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import Theme
from scalarviz.scene.focus import chosen_neurons, chosen_rows
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.layout.division import Box, Projection
from scalarviz.scene.layout.threads import thread_of
from scalarviz.scene.layout.ways import (
    OpenRow,
    SeenFan,
    draw_heads,
    draw_open,
    draw_sheet,
    draw_upright,
    has_sheet,
    sheet_of,
)
from scalarviz.scene.lines import carried, known_fans, seen_fans
from scalarviz.scene.marks import numbers_below
from scalarviz.scene.opened_rows import draw_opened_rows
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
    """Draw the chosen row with numbers on a sheet if its cubes are small; return the box."""
    layout, scale = frame_data.layout, canvas.scale
    fans = known_fans(see, layout, scale)
    if frame_data.moment is not None or frame_data.held is not None or frame_data.guess is not None:
        return []
    for number, known in enumerate(fans):
        fan = layout.fans[number]
        unit = None if known is None or fan.is_direct else chosen_unit(number, frame_data)
        if known is None or unit is None or not has_sheet(known.seen, scale):
            continue
        seen = known.seen
        box = sheet_of(see.box, len(seen.feet[unit]), seen.feet[unit][0][1], scale)
        if box is not None and carried(fan, frame_data).summed:
            row, signs = (
                open_row(number, unit, frame_data),
                (theme.map.negative, theme.map.positive),
            )
            for each in numbers_below(see, layout, scale):  # none is cut
                if each.meets(box):
                    canvas.box(*each.place, theme.ground)
            cubes = partial(draw_cubes, canvas, theme=theme)
            draw_sheet(canvas, theme, seen, box, row, signs, cubes)
            return [box]
    return []


def chosen_unit(number: int, frame_data: FrameData) -> int | None:
    """Return the unit of a layer whose row is hovered or pinned, or None."""
    layout = frame_data.layout
    fan = layout.fans[number]
    units = [fan.unit_of(row) for row in chosen_rows(frame_data)]
    into = [layout.fan_into(neuron) for neuron in chosen_neurons(frame_data)]
    units += [found[1] for found in into if found is not None and found[0] is fan]
    return next((unit for unit in units if unit is not None), None)


def open_unit(number: int, frame_data: FrameData) -> int | None:
    """Return the unit whose row is enlarged: the chosen one, or the one on the main path."""
    chosen = chosen_unit(number, frame_data)
    thread = thread_of(frame_data.layout, frame_data.weights, frame_data.buffers.values)
    units = [chosen, *[unit for place, unit, _ in thread if place == number]]
    return next((unit for unit in units if unit is not None), None)
