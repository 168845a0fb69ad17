"""What an operation tells in the picture: its sum, and the names of what it speaks of."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.core.program import NONE
from scalarviz.scene.annotations import FARTHEST, SPOKEN_LETTERS, Ball, lead
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import Theme
from scalarviz.scene.cube_numbers import rows_spoken_of
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.labels import Obstacles
from scalarviz.scene.layout.division import Box, Projection
from scalarviz.scene.layout.plates import Layout, Neurons
from scalarviz.scene.lights import are_at
from scalarviz.scene.marks import (
    MOST_CUBES,
    box_of_neuron,
    box_of_sphere,
    cube_boxes,
    least_covering,
)
from scalarviz.scene.overlay import draw_cubes
from scalarviz.scene.pace import BACK
from scalarviz.scene.telling import (
    COME,
    CURVE,
    Lane,
    bars_size,
    chain_places,
    draw_bars,
    draw_card,
    draw_chain,
    draw_curve,
    draw_upright,
    stood,
)
from scalarviz.story.caption import Link, Summed, ends_of_bars
from scalarviz.story.facts import Neuron

PLACES = 32, 24  # places that are tried, across and down
SUBJECT = 1e8  # what a covered pixel of the subject costs, in pixels away,
COVERED, CUBE, DIMMED = 1e4, 1e3, 0.005  # another one, one of a cube, and of one out of focus
BESIDE = 12.0  # least pixels from a neuron to its card
RIGHTWARDS = 1e-3  # what it costs to be a pixel further right; down twice as much


def subject_of(frame_data: FrameData, see: Projection) -> Box | None:
    """Return the box around what the caption is about; None if that is not in the picture."""
    caption = frame_data.words.caption
    if caption is None:
        return None
    for box in cube_boxes(see, frame_data, caption.rows[:1], 0.42):
        return box
    for neuron in caption.neurons[:1]:
        found = frame_data.layout.line_of(neuron)
        if found is not None:
            return box_of_place(see, *found)
    return None


def box_of_place(see: Projection, line: Neurons, place: int) -> Box | None:
    """Return the box around a neuron; None if it is behind the eye."""
    return box_of_sphere(see, line.points[place], 0.5 * line.side if line.shape else line.radius)


def draw_told(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    taken: Obstacles,
    theme: Theme,
) -> list[Box]:
    """Draw how an operation comes to its number; return the boxes of what was drawn.

    A sum stands forward on an upright tray, and as bars; an activation has its curve; why a weight
    is to change is a chain.
    """
    caption, see_box = frame_data.told, see.box
    if caption is not None and caption.chain:
        things = [thing_of(see, frame_data, each) for each in caption.chain]
        places = chain_places(canvas, caption.chain, things, see_box)
        draw_chain(canvas, theme, caption.chain, things, places, frame_data.part)
        return places
    found = () if caption is None else caption.neurons[:1]
    ball = next(filter(None, (ball_of(see, frame_data.layout, each) for each in found)), None)
    if caption is None or ball is None:
        return []
    scale, part, kind = canvas.scale, frame_data.part, frame_data.moment and frame_data.moment.kind
    back = kind in BACK
    signs: Any = theme.map.negative, theme.map.positive
    boxes, summed, bent = [], caption.summed, caption.bent
    lanes = [] if summed is None else lanes_of(see, frame_data, summed, theme)
    into = frame_data.layout.fan_into(found[0]) if frame_data.is_upright else None
    has_card = into is not None and into[0].is_direct  # see tray_card.py
    tray = stood(lanes, ball, see_box, scale, part) if frame_data.is_upright else None
    tray = None if has_card else tray
    if tray is not None:
        boxes.append(tray.box)
        cubes = partial(draw_cubes, canvas, theme=theme)
        draw_upright(canvas, theme, lanes, ball, tray, signs, part, cubes)
    wide, high = CURVE[0] * scale, CURVE[1] * scale
    if summed is not None:
        wide, high = bars_size(len(ends_of_bars(summed)), scale)
    if part < COME or wide > see_box.width or high > see_box.height:
        return boxes
    around, reach = replace(taken, boxes=[*taken.boxes, *boxes]), ball.radius + BESIDE * scale
    subject = Box(ball.x - reach, ball.y - reach, 2.0 * reach, 2.0 * reach)
    box, _ = free_place(see, frame_data, around, subject, scale, wide, high, math.inf)
    draw_card(canvas, theme, box, subject, back=back)
    if summed is not None:
        chips = [None if each.ball is None else each.color for each in lanes]
        draw_bars(canvas, theme, summed, chips, box, signs, part, back=back)
    elif bent is not None:
        draw_curve(canvas, theme, bent, box, signs, part)
    return [*boxes, box]


def thing_of(see: Projection, frame_data: FrameData, link: Link) -> Box | None:
    """Return the box of what a link of a reason is about; None if it is not in the picture."""
    if link.neuron is not None:
        return box_of_neuron(see, frame_data.layout, link.neuron)
    return next(iter(cube_boxes(see, frame_data, [link.row], None)), None)


def ball_of(see: Projection, layout: Layout, neuron: Neuron) -> Ball | None:
    """Return a neuron as it is seen; None if it is not in the picture."""
    found = layout.line_of(neuron)
    if found is None or found[1] >= len(found[0].points):
        return None
    line, seen = found[0], see(found[0].points[found[1]])
    (x, y), unit = seen.xy[0].tolist(), float(seen.unit[0])
    radius = 0.5 * line.side if line.shape else line.radius
    return Ball(x, y, radius * unit, float(seen.depth[0]), unit) if math.isfinite(x + y) else None


def lanes_of(see: Projection, frame_data: FrameData, summed: Summed, theme: Theme) -> list[Lane]:
    """Return the products of a sum as they are seen."""
    top, lanes = float(frame_data.cubes.size_scales.max(initial=0.0)), []
    for each in summed.largest:
        ball = ball_of(see, frame_data.layout, each.neuron)
        found, share = frame_data.layout.line_of(each.neuron), each.weight / (top or 1.0)
        is_tube = found is not None and found[0].is_color
        color = theme.channels[each.neuron[1] % 3] if is_tube else None
        color = color or hue_of(theme, each.number)
        lanes.append(Lane(ball, color, is_tube, each.number, each.weight, share))
    return lanes


def free_place(
    see: Projection,
    frame_data: FrameData,
    taken: Obstacles,
    subject: Box,
    scale: float,
    wide: float,
    high: float,
    reach: float,
) -> tuple[Box, float]:
    """Return the box within reach of its subject that covers least, and what it costs.

    Of those that cover as little, it is the nearest one.
    """
    rows = len(frame_data.cubes.sizes)
    words = [subject, *taken.boxes, *name_boxes(see, frame_data, scale)]
    words += [Box(x - r, y - r, 2.0 * r, 2.0 * r) for x, y, r in taken.spheres.tolist()]
    chosen = range(rows) if rows <= MOST_CUBES else rows_spoken_of(frame_data)
    cubes = cube_boxes(see, frame_data, chosen, 0.42)
    boxes = [(each, SUBJECT if each is subject else COVERED) for each in words]
    boxes += [(each, CUBE if frame_data.told is None else DIMMED) for each in cubes]
    view = see.box
    first = max(view.x, subject.x - reach - wide), max(view.y, subject.y - reach - high)
    last = (
        min(view.right - wide, subject.right + reach),
        min(view.bottom - high, subject.bottom + reach),
    )
    lefts, tops = map(np.linspace, first, last, PLACES)
    rightwards = RIGHTWARDS * (lefts + 2.0 * tops[:, np.newaxis])
    return least_covering(
        lefts, tops, (wide, high), boxes, lambda away: away + (away > reach) * 1e9 + rightwards
    )


def name_boxes(see: Projection, frame_data: FrameData, scale: float) -> list[Box]:
    """Return the boxes of the names below spheres, and of the errors below those of a loss."""
    found, moment = [], frame_data.moment
    for line in frame_data.layout.neurons:
        seen = see(line.points)
        is_last = line is frame_data.layout.neurons[-1]
        high = 17.0 + 45.0 * (is_last and moment is not None and moment.kind == "loss")
        for (x, y), unit in zip(seen.xy.tolist(), seen.unit.tolist(), strict=True):
            if line.names and not line.shape and np.isfinite(x + y):
                below = y + line.radius * unit
                found.append(Box(x - 20.0 * scale, below, 40.0 * scale, high * scale))
    return found


def hue_of(theme: Theme, number: float) -> str:
    """Return the color of the sign of a number."""
    return theme.map.negative if number < 0.0 else theme.map.positive


# Names of the neurons that a sentence or a card names, beside their spheres.


def draw_spoken(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    taken: Obstacles,
    theme: Theme,
    scale: float,
) -> None:
    """Write names beside spheres, where they cover nothing.

    Lines with names of their own have none, nor a neuron whose name is in the picture already.
    """
    told, places = spoken_names(frame_data)
    written, size = " ".join(canvas.words).lower(), SPOKEN_LETTERS * scale
    for line in frame_data.layout.neurons if len(places) else ():
        is_told = () if line.names or line.shape else are_at(line, places)[: len(line.points)]
        for place in np.flatnonzero(is_told).tolist():
            for words in names_of(place):
                if words not in told or words in written:
                    continue
                subject, wide = box_of_place(see, line, place), canvas.measure(words, size=size)
                if subject is None:
                    continue
                reach = 2.0 * FARTHEST * scale
                about = see, frame_data, taken, subject, scale
                box, _ = free_place(*about, wide, 1.1 * size, reach)
                taken.boxes.append(box)
                lead(canvas, box, subject, theme.quiet)
                low, ink = box.y + 0.9 * size, theme.ink
                canvas.text(box.x, low, words, size=size, color=ink, outline=theme.ground)


def spoken_names(frame_data: FrameData) -> tuple[str, FloatArray]:
    """Return what caption and card say, and where the neurons stand that these are about."""
    layout, pinned, said = frame_data.layout, frame_data.pinned, frame_data.words.caption
    told, rows, neurons = "", [], []
    if said is not None and frame_data.moment is not None:
        told, rows, neurons = said.title, [*said.rows[:1]], [*said.neurons]
    if pinned is not None:
        told, rows = f"{told} {pinned.name}", [*rows, pinned.row]
    if frame_data.pinned_neuron is not None:
        neurons.append(frame_data.pinned_neuron)
    found = [layout.line_of(neuron) for neuron in neurons]
    places = [line.points[place] for line, place in filter(None, found)]
    for row in rows:
        wires = layout.fan_of(row) if row != NONE else None
        if wires is not None:
            places += wires[0].ends_of(row, wires[1])
    return told.lower(), np.array(places)


def names_of(place: int) -> tuple[str, ...]:
    """Return what a sentence may call the neuron at a place of its line."""
    return (
        text("captions.unit.neuron", number=place),
        text("captions.unit.wave", number=place),
        text("captions.end.output", name=place),
        text("captions.end.input", name=place),
    )
