"""Marks on cubes and neurons: selection, frozen weights and gradients.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from scalarviz.scene.annotations import Ball, bracket, draw_before, draw_push
from scalarviz.scene.cube_numbers import numbers_on_cubes
from scalarviz.scene.focus import (
    chosen_neurons,
    chosen_rows,
    rows_of_sum,
    rows_walked,
)
from scalarviz.scene.hands import MOST_MARKED, draw_change, draw_ring
from scalarviz.scene.layout.camera import Box
from scalarviz.scene.layout.plates import SCORED
from scalarviz.scene.layout.points import row3
from scalarviz.scene.silhouettes import balls_of, cubes_seen
from scalarviz.story.facts import NONE, Neuron
from scalarviz.story.panel_words import blame_words

if TYPE_CHECKING:
    from scalarviz.scene.canvas.canvas2d import Canvas2D
    from scalarviz.scene.canvas.palette import Theme
    from scalarviz.scene.frame_data import CubeValues, FrameData, Held
    from scalarviz.scene.layout.division import Projection
    from scalarviz.scene.layout.plates import Layout, Neurons, Plate
    from scalarviz.story.caption import Caption

LEAST_FROZEN = 8.0  # minimum pixels of a frozen cube with a mark
SPOKEN = 3  # neurons and cubes of a caption with marks
MOST_FROZEN = 1500  # frozen cubes with marks


def draw_chosen(canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme) -> None:
    """Draw brackets around explained, hovered and pinned items, and the item of a hovered term."""
    caption = frame_data.words.caption
    pointed = frame_data.pointed
    held = NONE if frame_data.held is None else frame_data.held.row  # see `draw_held`
    rows = [row for row in [*frame_data.beside, *chosen_rows(frame_data)] if row != held]
    neurons: list[Neuron | None] = [*chosen_neurons(frame_data)]
    if frame_data.moment is not None and caption is not None and caption.uses is None:
        rows, neurons = [*rows, *caption.rows[:SPOKEN]], [*neurons, *caption.neurons[:SPOKEN]]
    if pointed is not None:
        rows, neurons = [*rows, pointed.row], [*neurons, pointed.neuron]
    named = [each for each in dict.fromkeys(neurons) if each is not None]
    boxes = [box_of_neuron(see, frame_data.layout, each) for each in named]
    if frame_data.told is not None:
        boxes.append(box_read(see, frame_data, frame_data.told))
    chosen = [row for row in dict.fromkeys(rows) if row != NONE]
    written = numbers_on_cubes(canvas, see, frame_data) if chosen else {}
    for row in chosen:
        number = written[row].box if row in written else None
        boxes += [box.around(number) for box in cube_boxes(see, frame_data, [row], None)]
    for box in boxes:
        if box is not None:
            bracket(canvas, box, theme.lit)


def box_read(see: Projection, frame_data: FrameData, caption: Caption) -> Box | None:
    """Return the box around the input pixels that a filter reads for one output pixel, or None."""
    line = frame_data.layout.neurons[0]
    named = [each.neuron for each in caption.pieces if each.neuron is not None]
    places = [place for name, place in named if name in line.buffers]
    if not line.shape or frame_data.moment is None or frame_data.moment.kind != "forward":
        return None
    return box_around(balls_of(see, [row3(line.points, i) for i in places], 0.5 * line.side))


def box_around(balls: Sequence[Ball]) -> Box | None:
    """Return the box around points or spheres; None unless all are in front of the eye."""
    if not balls or not all(math.isfinite(each.x + each.y) for each in balls):
        return None
    left, top = min([b.x - b.radius for b in balls]), min([b.y - b.radius for b in balls])
    right, bottom = max([b.x + b.radius for b in balls]), max([b.y + b.radius for b in balls])
    return Box(left, top, right - left, bottom - top)


def box_of_neuron(see: Projection, layout: Layout, neuron: Neuron) -> Box | None:
    """Return the box around a sphere, pixel or bar of an output; None if it is not visible."""
    found = layout.line_of(neuron)
    if found is None:
        return None
    line, place = found
    radius = 0.5 * line.side if line.shape else line.radius
    balls = balls_of(see, [row3(line.points, place)], radius)
    box = box_around(balls)
    if box is None or not line.scores:
        return box
    return Box(box.x, box.y, 0.5 * box.width + SCORED * balls[0].unit, box.height)


def hold(canvas: Canvas2D, see: Projection, frame_data: FrameData, row: int, theme: Theme) -> None:
    """Draw a bar along the left and right side of a frozen cube."""
    for balls in cubes_seen(see, frame_data, [row], None, 0.05):
        draw_bars(canvas, balls, theme)


def hold_arrays(canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme) -> None:
    """Draw a bar along the left and right side of each frozen array of a followed model."""
    frozen = frame_data.cubes.frozen
    for plate in frame_data.layout.plates:
        if frozen is not None and frozen[plate.first] > 0:
            last = plate.corners_of(plate.rows - 1, plate.columns - 1, plate.half)
            balls = balls_of(see, list(plate.corners_of(0, 0, plate.half)), 0.0)
            draw_bars(canvas, [*balls, *balls_of(see, list(last), 0.0)], theme)


def draw_bars(canvas: Canvas2D, balls: Sequence[Ball], theme: Theme) -> None:
    """Draw a bar along the left and right side of the corners of something frozen."""
    box = box_around(balls)
    if box is not None and box.height > LEAST_FROZEN:
        depth = max(min([each.depth for each in balls]) - 1e-4, -1.0)
        rest = 0.22 * box.height
        for x in (box.x + 0.5, box.right - 0.5):
            ends = [(x, box.y + rest)], [(x, box.bottom - rest)]
            canvas.segments(ends[0], ends[1], theme.ink, width=1.6, depth=depth)


def cube_boxes(
    see: Projection, frame_data: FrameData, rows: Iterable[int], half: float | None
) -> list[Box]:
    """Return the boxes around visible cubes, with half the side `half` or, if None, their own."""
    boxes = [box_around(each) for each in cubes_seen(see, frame_data, rows, half, 0.0)]
    return [box for box in boxes if box is not None]


def box_of(
    see: Projection,
    frame_data: FrameData,
    row: int,
    neuron: Neuron | None,
    half: float | None = None,
) -> Box | None:
    """Return the box around a neuron, or around a cube if `neuron` is None; None if not visible.

    `half` has the same meaning as for `cube_boxes`.
    """
    if neuron is not None:
        return box_of_neuron(see, frame_data.layout, neuron)
    boxes = cube_boxes(see, frame_data, [row], half)
    return boxes[0] if boxes else None


# Numbers below squares and beads: pixels of letters, of a line and of half the minimum width,
# neurons of a line with numbers, and letters between neurons, as in `write_names`.
LETTERS, UNDER, HALF_NUMBER, MOST_TOLD, ROOM_BELOW = 12.0, 18.0, 15.0, 32, 1.45


def numbers_below(see: Projection, layout: Layout, scale: float) -> list[Box]:
    """Return the boxes of the numbers below neurons."""
    found: list[Box] = []
    for line in layout.neurons:
        balls = balls_of(see, line.points, line.radius) if line.told else []
        if len(balls) < 2 or len(balls) > MOST_TOLD:
            continue
        first, size = balls[0], LETTERS * scale
        half = max(first.radius, HALF_NUMBER * scale)
        if balls[1].y - first.y > 2.0 * first.radius + ROOM_BELOW * size:
            low = UNDER * scale
            found += [Box(each.x - half, each.y + each.radius, 2.0 * half, low) for each in balls]
    return found


# Dragged items.


def draw_held_cube(canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme) -> None:
    """Mark the dragged cube with its previous size, and write both numbers."""
    held: Held | None = frame_data.held
    layout: Layout = frame_data.layout
    found = None if held is None else layout.plate_of(held.row)
    if held is None or found is None:
        return
    plate: Plate = found[0]
    top = float(frame_data.cubes.size_scales[layout.plate_number(held.row)])
    half = float(plate.halves(held.weights[held.row], top))
    seen = balls_of(see, list(plate.corners_of(found[1], found[2], half)), 0.0)
    before = box_around(seen)
    for box in cube_boxes(see, frame_data, [held.row], None):
        both = box if before is None else box.around(before)
        draw_before(canvas, theme, [(each.x, each.y) for each in seen])
        bracket(canvas, both, theme.lit)
        draw_change(
            canvas, theme, both, held.weights[held.row], float(frame_data.weights[held.row])
        )


def draw_rings(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    theme: Theme,
    reached: list[tuple[int, list[int]]],
) -> None:
    """Draw rings around the neurons that a drag changes, with their previous values."""
    held: Held | None = frame_data.held
    for line, units in reached:
        shown: Neurons = frame_data.layout.neurons[line]
        was: Any = [] if held is None else held.values.get(shown.values, [])
        if len(units) > MOST_MARKED or shown.shape:
            continue
        for unit in units:
            if unit >= len(was):
                continue
            ball = balls_of(see, [row3(shown.points, unit)], shown.radius)[0]
            is_last = line == len(frame_data.layout.neurons) - 1
            below = 2 if is_last and frame_data.border is not None else 0  # its answer
            aside = is_last and frame_data.layout.crossbar is not None and below == 0
            number, tiled, named = float(was[unit]), shown.square, shown.is_color
            draw_ring(
                canvas,
                theme,
                ball,
                number,
                square=tiled,
                named=named,
                below=below,
                aside=aside,
            )


# Changes of cubes: the request of each gradient, and the old size beside the new one at the step.

MOST_PUSHED, LEAST_PUSHED = 64, 20.0  # maximum cubes of a row with marks; minimum pixels
NO_GRADIENT = 1e-5  # relative to the scale of the cubes: smaller gradients have no mark
FULL_GRADIENT = 10.0  # multiple of that for a mark of full length
LEAST_GHOST = 2.0  # minimum pixels of growth or shrinking in a step for an outline
MOST_GHOSTS = 400  # maximum outlines


def draw_pushes(canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme) -> bool:
    """Draw the requested changes of the explained row's cubes; return whether there are any."""
    cubes: CubeValues = frame_data.cubes
    layout: Layout = frame_data.layout
    caption, top = frame_data.words.caption, cubes.longest_push
    if top is None or cubes.pushes is None or caption is None:
        return False
    drawn: list[tuple[Box, float, str]] = []
    for row in pushed_rows(frame_data):
        push, scale = float(cubes.pushes[row]), float(cubes.size_scales[layout.plate_number(row)])
        share = share_of(push, top, scale)
        for box in cube_boxes(see, frame_data, [row], None) if share else []:
            if box.width >= LEAST_PUSHED * canvas.scale or row in caption.rows:
                words = "" if layout.fan_of(row) is None else blame_words(push)
                drawn.append((box, -share, words))
    middles = sorted([each[0].x + 0.5 * each[0].width for each in drawn])
    room: float = min([math.inf, *[middles[i + 1] - x for i, x in enumerate(middles[:-1])]])
    has_room = canvas.widest([*[each[2] for each in drawn], ""], size=LETTERS * canvas.scale) < room
    for box, share, words in drawn:
        upright = layout.crossbar is not None
        draw_push(canvas, theme, box, share, words if has_room else "", upright=upright)
    return len(drawn) > 0


def pushed_rows(frame_data: FrameData) -> list[int]:
    """Return the bank indices of the row whose weight gradients are explained."""
    moment, caption = frame_data.moment, frame_data.words.caption
    layout: Layout = frame_data.layout
    is_back = moment is not None and moment.kind == "weight gradient"
    if caption is None or not is_back or caption.uses is not None:
        return []
    pieces = [piece.row for piece in caption.pieces]
    told = [*rows_walked(frame_data), *caption.rows, *pieces]
    first = next((row for row in told if layout.plate_of(row) is not None), NONE)
    fan = layout.fan_of(first)
    rows = [first] if fan is None else rows_of_sum(*fan)
    return [row for row in rows[:MOST_PUSHED] if layout.plate_of(row) is not None]


def share_of(push: float, top: float, scale: float) -> float:
    """Return a gradient relative to the longest arrow, from -1 to 1; 0 for no arrow.

    Args:
        top: the largest gradient
        scale: scale of the cubes; gradients that are small compared with it have no arrow
    """
    none = NO_GRADIENT * scale
    is_seen = math.isfinite(push) and abs(push) > none
    return push / max(top, FULL_GRADIENT * none) if is_seen else 0.0


def draw_ghosts(canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme) -> None:
    """Draw dashed outlines of cubes, as they were before the step or at the start."""
    cubes: CubeValues = frame_data.cubes
    layout: Layout = frame_data.layout
    before = frame_data.begun if cubes.before is None else cubes.before
    rows = frame_data.begun_rows if cubes.before is None else cubes.moved[0]
    caption = frame_data.words.caption
    is_all = cubes.before is None or caption is None or layout.written
    always = rows if is_all or caption is None else caption.rows
    has_numbers = cubes.before is not None and len(rows) > 0
    written = numbers_on_cubes(canvas, see, frame_data, at_rest=True) if has_numbers else {}
    for row in rows[:MOST_GHOSTS]:
        found = layout.plate_of(row)
        if found is None or before is None:
            continue
        plate: Plate = found[0]
        top = float(cubes.size_scales[layout.plate_number(row)])
        old = float(plate.halves(before[row], top))
        new = float(plate.halves(cubes.sizes[row], top))
        seen = balls_of(see, list(plate.corners_of(found[1], found[2], old)), 0.0)
        if row in always or 2.0 * abs(new - old) * seen[0].unit >= LEAST_GHOST:
            number = written[row].box if row in written else None
            draw_before(canvas, theme, [(each.x, each.y) for each in seen], clear=number)
