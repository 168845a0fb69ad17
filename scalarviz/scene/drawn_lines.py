"""Drawing of the lines of all rows: their hue and strength, and what an operation highlights.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from scalarviz.scene.annotations import is_free
from scalarviz.scene.blame import head_on, lit_by_blame
from scalarviz.scene.cube_numbers import numbers_on_cubes
from scalarviz.scene.first_row import calls_out
from scalarviz.scene.focus import blame_in, pointed_rows, told_rows
from scalarviz.scene.layout.threads import said_to
from scalarviz.scene.layout.ways import (
    BACKWARD,
    BEHIND,
    CHANNEL,
    GLOW,
    HUELESS,
    LIT,
    NEARER,
    NEGATIVE,
    POSITIVE,
    TIP,
    Stroke,
    draw_bias,
    draw_gates,
    draw_joined,
    frame_thread,
    lit_parts,
    strokes_of,
    thread_strokes,
    thread_words,
)
from scalarviz.scene.lines import Depths, LinePaint, carried, depths_at, seen_fans
from scalarviz.scene.pace import WAYS_BACK
from scalarviz.story.facts import NONE

if TYPE_CHECKING:
    from scalarviz.base.checks import FloatArray
    from scalarviz.scene.annotations import Number
    from scalarviz.scene.canvas.canvas2d import Canvas2D
    from scalarviz.scene.canvas.palette import Theme
    from scalarviz.scene.frame_data import FrameData
    from scalarviz.scene.layout.division import Projection
    from scalarviz.scene.layout.plates import Fan, Layout
    from scalarviz.scene.layout.ways import Point, SeenFan
    from scalarviz.scene.lights import Lights
    from scalarviz.scene.lines import Carried


def draw_lines(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, lit: Lights, theme: Theme
) -> LinePaint:
    """Draw the lines of all rows; return the lines to draw later, in front of squares."""
    layout: Layout = frame_data.layout
    scale = canvas.scale
    paint, above = LinePaint(canvas, theme), LinePaint(canvas, theme)
    told = told_rows(frame_data)
    written = [*numbers_on_cubes(canvas, see, frame_data).values()] if told else []
    fans = seen_fans(see, layout, scale)
    for number, fan in enumerate(layout.fans):
        seen = fans[number]
        if seen is None:
            continue
        numbers = carried(fan, frame_data)
        if fan.is_direct:
            draw_joined(canvas, theme, seen)
        else:
            named = number != 0 or not calls_out(seen, scale, see.camera, frame_data)
            draw_bias(canvas, theme, seen, named=named)
            add_strokes(paint, fan, seen, numbers, frame_data, lit)
        found: list[list[tuple[Stroke, int, Depths, bool]]] = [[], []]
        for step in [each for each in layout.thread if each[0] == number]:
            _, unit, column = step
            level = depths_at(see, layout, step, scale)[1] - NEARER
            two = numbers.values[column], numbers.terms[unit][column]
            for stroke in thread_strokes(seen, unit, column, *two):
                hue = (
                    HUELESS
                    if stroke.kind == "rest"
                    else POSITIVE
                    if stroke.value > 0.0
                    else NEGATIVE
                )
                is_over = seen.square or stroke.kind == "in"
                found[1 if is_over else 0] += [(stroke, hue, (level, level), False)]
        paint.put(found[0])
        above.put(found[1])
        if frame_data.moment is not None and told and not fan.is_direct:
            explain(paint, see, number, seen, numbers.halves, told, frame_data, written)
    paint.draw()
    for number, fan in enumerate(layout.fans):
        seen = fans[number]
        if seen is not None and not fan.is_direct:
            numbers = carried(fan, frame_data)
            sums = [sum(each) for each in numbers.terms] if numbers.summed else []
            far = depths_at(see, layout, (number, 0, 0), scale)[1]
            draw_gates(canvas, theme, seen, layout.neurons[fan.after].bends, sums, far)
    return above


def add_strokes(
    paint: LinePaint,
    fan: Fan,
    seen: SeenFan,
    numbers: Carried,
    frame_data: FrameData,
    lit: Lights,
) -> None:
    """Add the lines of a layer, dimmed if they are out of focus."""
    pointed = pointed_rows(frame_data)
    focus = None if lit.focus is None else lit.focus.rows
    found: list[tuple[Stroke, int, Depths, bool]] = []
    is_plain = focus is None and len(pointed) == 0  # all lines are lit alike
    for stroke in strokes_of(
        seen, numbers.values, numbers.terms, numbers.halves, summed=numbers.summed
    ):
        unit, column = stroke.unit, stroke.column
        row = NONE if is_plain or unit < 0 or column < 0 else fan.row_of(unit, column)
        rows = [row]
        if focus is not None and stroke.kind == "in" and row == NONE:  # a wire to a whole column
            rows = [fan.row_of(i, column) for i in range(fan.units)]
        is_lit = focus is None or any(each in focus for each in rows)
        hue = HUELESS if stroke.value == 0.0 else POSITIVE if stroke.value > 0.0 else NEGATIVE
        is_tube = seen.tubes and stroke.kind in ("in", "arm")
        if row in pointed:
            stroke.width, stroke.strength = LIT * stroke.width, 0.95
        elif not is_lit:
            stroke.strength = lit.level * stroke.strength
        found += [(stroke, CHANNEL + column % 3 if is_tube else hue, BEHIND, is_tube)]
    paint.put(found)


def explain(
    paint: LinePaint,
    see: Projection,
    number: int,
    seen: SeenFan,
    halves: list[list[float]],
    told: set[int],
    frame_data: FrameData,
    written: Sequence[Number],
) -> None:
    """Highlight the lines of the cubes that a caption about gradients mentions."""
    layout: Layout = frame_data.layout
    fan, blame, scale = layout.fans[number], blame_in(frame_data), paint.canvas.scale
    kind = "" if frame_data.moment is None else frame_data.moment.kind
    linked: set[int] = set()
    if blame is not None:
        for path, width in lit_by_blame(fan, seen, halves, blame, frame_data.part):
            paint.light(path, BACKWARD, width, BEHIND)
            add_head(paint, head_on(path), BEHIND[0], written)
    elif frame_data.told is not None:
        linked = {*frame_data.told.linked}
    for row in sorted({*told, *linked}):
        unit = fan.unit_of(row)
        if unit is None:
            continue
        column = fan.unit_before(row)
        is_back = kind in WAYS_BACK or kind == "delta" or row not in told
        part = frame_data.part if row in told else 1.0
        parts = lit_parts(seen, unit, column, halves[unit][column], is_back, part, len(told))
        for i, (path, width, back) in enumerate(parts if blame is None else parts[:1]):
            depths = depths_at(see, layout, (number, unit, column), scale) if i > 0 else BEHIND
            paint.light(path, BACKWARD if back else GLOW, width, depths)
            end = 3 * len(path) // 4
            if back and 0 < end < len(path):
                add_head(paint, [path[end], path[end - 1]], depths[1], written)


def add_head(
    paint: LinePaint, path: Sequence[Point], depth: float, written: Sequence[Number]
) -> None:
    """Add an arrow head on a short path, unless it would cover a number."""
    if len(path) > 1 and is_free(written, *path[0], TIP * paint.canvas.scale):
        paint.head(path[0], path[1], BACKWARD, depth)


def draw_above(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme, above: LinePaint
) -> None:
    """Draw the lines in front of squares, and frames around the squares of the main path."""
    above.canvas = canvas
    above.draw()
    layout: Layout = frame_data.layout
    known = frame_data.buffers.values
    thread = layout.thread if see.camera.is_front else []  # rotated, it has no numbers
    said = [float(said_to(layout.fans[step[0]], layout, known)[step[2]]) for step in thread]
    added = sum_of_thread(frame_data) if said else ""
    frame_thread(canvas, theme, seen_fans(see, layout, canvas.scale), layout.thread, said, added)


def sum_of_thread(frame_data: FrameData) -> str:
    """Return the sum at the end of the main path, for the first color, as text; "" if unknown."""
    layout: Layout = frame_data.layout
    known: Mapping[str, FloatArray] = frame_data.buffers.values
    line = layout.neurons[-1]
    is_color = line.is_color and line.curve == "sigmoid" and line.values in known
    if not is_color or len(layout.thread) == 0:
        return ""
    number, unit, column = layout.thread[0]
    fan = layout.fans[number]
    weight = float(frame_data.weights[fan.row_of(unit, column)])
    numbers = carried(fan, frame_data)
    ends = float(known[line.sums][unit]), float(known[line.values][unit])
    return thread_words(weight, column, numbers.values[column], numbers.terms[unit], *ends)
