"""How an operation is explained in the picture: its sum, its curve, the reason of a gradient."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from scalarviz.base.texts import text
from scalarviz.scene.annotations import Ball
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import Theme
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.labels import Obstacles
from scalarviz.scene.layout.division import Box, Projection
from scalarviz.scene.layout.plates import Layout
from scalarviz.scene.lines import carried, known_fan
from scalarviz.scene.marks import box_of, box_of_neuron, cube_boxes
from scalarviz.scene.overlay import draw_cubes
from scalarviz.scene.pace import BACK
from scalarviz.scene.telling import (
    BESIDE,
    COME,
    FEW_OUTPUTS,
    LEAST_WIDE,
    ROWED,
    WISH,
    WISH_WIDE,
    Miss,
    ToldRow,
    card_place,
    card_size,
    draw_bars,
    draw_card,
    draw_changes,
    draw_curve,
    draw_misses,
    draw_sum,
    draw_wish,
    kept_clear,
    panel_of,
    told_about,
    wish_of,
    wish_words,
    wished,
)
from scalarviz.story.caption import Caption, Summand
from scalarviz.story.facts import Neuron


def draw_told(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    taken: Obstacles,
    theme: Theme,
) -> list[Box]:
    """Draw how an operation comes to its number; return the boxes that it covers.

    A sum has its products as bars below its row, an activation its curve, the loss a panel in the
    place of the last layer, and a weight that is to change a panel with its cube and the reason.
    The panel is noted in `taken`.
    """
    caption, see_box = frame_data.told, see.box
    boxes: list[Box] | None = None
    if caption is not None and caption.chain:
        boxes = draw_wished(canvas, see, frame_data, caption, taken, theme)
    elif frame_data.moment is not None and frame_data.moment.kind == "loss":
        boxes = draw_error(canvas, see, frame_data, theme)
    if boxes is not None:
        taken.panel = boxes[0] if boxes else None
        return boxes
    subject = None if caption is None else caption.subject
    ball = None if subject is None else ball_of(see, frame_data.layout, subject)
    if caption is None or subject is None or ball is None:
        return []
    scale, part = canvas.scale, frame_data.part
    back = frame_data.moment is not None and frame_data.moment.kind in BACK
    signs: Any = theme.map.negative, theme.map.positive
    summed, bent = caption.summed, caption.bent
    row = told_row(see, frame_data, subject, canvas.scale) if frame_data.is_upright else None
    panel = None if row is None else panel_of(row, see_box, scale)
    if row is not None and panel is not None:
        draw_sum(canvas, theme, row, panel, caption.title, signs, part)
        taken.panel = panel
        return [panel]
    into = frame_data.layout.fan_into(subject) if frame_data.is_upright else None
    has_card = into is not None and into[0].is_direct  # see tray_card.py
    wide, high = card_size(caption, scale)
    if has_card or part < COME or wide > see_box.width or high > see_box.height:
        return []
    around = told_about(ball, scale)
    rows = frame_data.cubes.moved[0] if summed is None else [each.row for each in summed.largest]
    cubes = cube_boxes(see, frame_data, rows, None)
    own = [box_of_neuron(see, frame_data.layout, subject) or around]
    others = [*spheres_of(taken, scale), around.inside(1.0), *own, *cubes]
    box = card_place(wide, high, around, see_box, others)
    if box is None:
        return []
    draw_card(canvas, theme, box, around, back=back)
    if summed is not None:
        chips = [chip_of(frame_data.layout, each, theme) for each in summed.largest]
        draw_bars(canvas, theme, summed, chips, box, signs, part, back=back)
    elif caption.changes:
        neurons = [each.neuron for each in caption.changes]
        colors = [channel_of(frame_data.layout, each, theme) or theme.ink for each in neurons]
        draw_changes(canvas, theme, caption.changes, colors, box, part)
    elif bent is not None:
        draw_curve(canvas, theme, bent, box, signs, part)
    return [box]


def spheres_of(taken: Obstacles, scale: float) -> list[Box]:
    """Return what cards keep clear of: words, and neurons with their names."""
    return [
        *taken.boxes,
        *[kept_clear(x, y, radius, scale) for x, y, radius in taken.spheres.tolist()],
    ]


def draw_wished(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    caption: Caption,
    taken: Obstacles,
    theme: Theme,
) -> list[Box]:
    """Draw what a weight is to become, and why; return the box of the panel.

    It stands below or above its row, else beside its cube.
    """
    row, scale, pushes = caption.chain[0].row, canvas.scale, frame_data.cubes.pushes
    near = box_of(see, frame_data, row, None)
    if near is None or pushes is None or not np.isfinite(pushes[row]):
        return []
    told = told_row(see, frame_data, caption.neurons[0], scale) if caption.neurons else None
    box = None if told is None else wish_of(told, see.box, scale)
    if box is None:
        size = WISH_WIDE * scale, WISH * scale
        around = near.inside(-BESIDE * scale)
        box = card_place(*size, around, see.box, [*spheres_of(taken, scale), near])
    if box is None:
        return []
    number = frame_data.layout.plate_number(row)
    top = float(frame_data.cubes.size_scales[number]) or 1.0
    share = float(frame_data.weights[row]) / top
    push = float(pushes[row]) / (float(np.nanmax(np.abs(pushes))) or 1.0)
    words, cube = wish_words(caption, share, push), (share, wished(share, push))
    draw_wish(canvas, theme, box, cube, words, partial(draw_cubes, canvas, theme=theme))
    return [box]


def draw_error(canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme) -> list[Box]:
    """Draw how wrong the answer is, in the place of the last layer."""
    layout, buffers, caption = frame_data.layout, frame_data.buffers, frame_data.words.caption
    fan = layout.fans[-1] if layout.fans else None
    known = None if fan is None else known_fan(fan, layout, see, canvas.scale)
    outs, goals = buffers.answers, buffers.target
    if known is None or outs is None or goals is None or len(outs) > FEW_OUTPUTS:
        return []
    line, seen, scale = layout.neurons[-1], known.seen, canvas.scale
    names = [*line.names, *[text("picture.out")] * len(outs)]
    colors = theme.channels if line.is_color else [theme.ink] * len(outs)
    misses = [
        Miss(names[i], colors[i], float(out), float(goal))
        for i, (out, goal) in enumerate(zip(outs, goals, strict=True))
    ]
    left, right = seen.left - 30.0 * scale, seen.gates[0][0] + seen.half_gate
    box = Box(left, see.box.y, right - left, see.box.height)
    if box.width < LEAST_WIDE * scale:
        return []
    words = "" if caption is None else caption.title
    draw_misses(canvas, theme, misses, box, words, squared=buffers.squared)
    return [box]


def told_row(
    see: Projection, frame_data: FrameData, neuron: Neuron, scale: float
) -> ToldRow | None:
    """Return the row of a neuron as it is seen; None if its layer has no rows that are told."""
    layout, found = frame_data.layout, frame_data.layout.fan_into(neuron)
    known = None if found is None else known_fan(found[0], layout, see, scale)
    if found is None or known is None or found[0].is_direct or found[0].is_tiled:
        return None
    (fan, unit), feet = found, known.seen.feet[found[1]]
    if len(feet) > ROWED:
        return None
    numbers, rows = carried(fan, frame_data), known.rows[unit]
    result = sum(numbers.terms[unit])
    edges = [2.1 * half * known.seen.cell for half in numbers.halves[unit]]
    return ToldRow(
        feet,
        [y - edge for (_, y), edge in zip(feet, edges, strict=True)],
        known.seen.gates[unit],
        known.seen.left,
        numbers.values,
        [float(frame_data.weights[row]) for row in rows],
        result,
    )


def ball_of(see: Projection, layout: Layout, neuron: Neuron) -> Ball | None:
    """Return a neuron as it is seen; None if it is not in the picture."""
    found = layout.line_of(neuron)
    if found is None or found[1] >= len(found[0].points):
        return None
    line, seen = found[0], see(found[0].points[found[1]])
    (x, y), unit = seen.xy[0].tolist(), float(seen.unit[0])
    radius = 0.5 * line.side if line.shape else line.radius
    return Ball(x, y, radius * unit, float(seen.depth[0]), unit) if math.isfinite(x + y) else None


def chip_of(layout: Layout, term: Summand, theme: Theme) -> str | None:
    """Return the color of what a term of a sum comes from; None of a bias."""
    if layout.line_of(term.neuron) is None:
        return None
    hue = theme.map.negative if term.number < 0.0 else theme.map.positive
    return channel_of(layout, term.neuron, theme) or hue


def channel_of(layout: Layout, neuron: Neuron | None, theme: Theme) -> str | None:
    """Return the color of a channel; None for all else."""
    found = None if neuron is None else layout.line_of(neuron)
    return theme.channels[found[1] % 3] if found and found[0].is_color else None
