"""How an operation is explained in the picture: its sum, its curve, the reason of a gradient."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from scalarviz.base.texts import text
from scalarviz.scene.annotations import Ball
from scalarviz.scene.blame import SeenLayer, draw_blame
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import Theme
from scalarviz.scene.focus import blame_in
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.labels import Obstacles
from scalarviz.scene.layout.division import Box, Projection
from scalarviz.scene.layout.plates import Fan, Layout
from scalarviz.scene.lines import carried, known_fans, tops_of
from scalarviz.scene.marks import box_of, box_of_neuron, cube_boxes
from scalarviz.scene.overlay import draw_cubes
from scalarviz.scene.pace import BACK
from scalarviz.scene.telling import (
    BESIDE,
    COME,
    FEW_OUTPUTS,
    ROWED,
    WISH,
    WISH_WIDE,
    Miss,
    ToldRow,
    card_place,
    card_size,
    draw_bars,
    draw_card,
    draw_curve,
    draw_misses,
    draw_sum,
    draw_wish,
    error_box,
    kept_clear,
    moved_words,
    panel_of,
    told_about,
    wish_of,
    wish_words,
    wished,
)
from scalarviz.story.caption import Caption, Summand, head_of
from scalarviz.story.facts import NONE, Neuron


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
    if blame_in(frame_data) is not None:
        return draw_blamed(canvas, see, frame_data, taken, theme)
    if caption is not None and caption.chain:
        boxes = draw_wished(canvas, see, frame_data, caption, taken, theme)
    elif caption is not None and caption.outcome is not None:
        boxes = draw_moved(canvas, see, frame_data, caption, taken, theme)
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
    into = frame_data.layout.fan_into(subject) if frame_data.is_upright else None
    row = None if into is None else told_row(see, frame_data, into, scale)
    panel = None if row is None else panel_of(row, see_box, scale)
    if row is not None and panel is not None:
        draw_sum(canvas, theme, row, panel, caption.title, signs, part)
        taken.panel = panel
        return [panel]
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
    elif bent is not None:
        draw_curve(canvas, theme, bent, box, signs, part)
    return [box]


def spheres_of(taken: Obstacles, scale: float) -> list[Box]:
    """Return what cards keep clear of: words, and neurons with their names."""
    return [
        *taken.boxes,
        *[kept_clear(x, y, radius, scale) for x, y, radius in taken.spheres.tolist()],
    ]


def draw_blamed(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, taken: Obstacles, theme: Theme
) -> list[Box]:
    """Write what blame asks of a weight; return the boxes of the words."""
    caption, blame, layout = frame_data.told, blame_in(frame_data), frame_data.layout
    ball = None if caption is None else ball_of(see, layout, caption.neurons[0])
    if caption is None or blame is None or ball is None:
        return []
    layers = layers_of(see, frame_data, canvas.scale)
    others = spheres_of(taken, canvas.scale)
    words, part = head_of(caption), frame_data.part
    boxes, taken.panel = draw_blame(
        canvas, theme, blame, words, layers, ball, see.box, others, part
    )
    return boxes


def draw_wished(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    caption: Caption,
    taken: Obstacles,
    theme: Theme,
) -> list[Box]:
    """Draw what a weight is to become, and why; return the box of the panel."""
    row, pushes = caption.chain[0].row, frame_data.cubes.pushes
    box = weight_place(canvas, see, frame_data, row, taken)
    if box is None or pushes is None or not np.isfinite(pushes[row]):
        return []
    share = float(frame_data.weights[row]) / scale_at(frame_data, row)
    push = float(pushes[row]) / (float(np.nanmax(np.abs(pushes))) or 1.0)
    words, cube = wish_words(caption, share, push), (share, wished(share, push))
    draw_wish(canvas, theme, box, cube, words, partial(draw_cubes, canvas, theme=theme))
    return [box]


def draw_moved(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    caption: Caption,
    taken: Obstacles,
    theme: Theme,
) -> list[Box]:
    """Draw how a weight has moved, with all others; return the box of the panel."""
    row, cubes = caption.rows[0] if caption.rows else NONE, frame_data.cubes
    box = weight_place(canvas, see, frame_data, row, taken)
    if box is None or cubes.before is None or not caption.wish:
        return []
    words, top = (
        moved_words(caption, len(cubes.moved[0]), cubes.moved[1]),
        scale_at(frame_data, row),
    )
    cube = float(cubes.sizes[row]) / top, float(cubes.before[row]) / top
    draw_wish(canvas, theme, box, cube, words, partial(draw_cubes, canvas, theme=theme))
    return [box]


def scale_at(frame_data: FrameData, row: int) -> float:
    """Return the number of the largest cube of a plate."""
    return float(frame_data.cubes.size_scales[frame_data.layout.plate_number(row)]) or 1.0


def weight_place(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, row: int, taken: Obstacles
) -> Box | None:
    """Return where the panel of a weight stands: below or above its row, else beside its cube.

    It meets no cube, gate or ball. It is None without room.
    """
    near = box_of(see, frame_data, row, None) if row != NONE else None
    if near is None:
        return None
    scale, found = canvas.scale, frame_data.layout.fan_of(row)
    solid = [each for layer in layers_of(see, frame_data, scale) for each in layer.boxes]
    others = [*spheres_of(taken, scale), *solid]
    told = None if found is None else told_row(see, frame_data, found, scale)
    box = None if told is None else wish_of(told, see.box, scale, others)
    if box is None:
        size = WISH_WIDE * scale, WISH * scale
        box = card_place(*size, near.inside(-BESIDE * scale), see.box, [*others, near])
    return box


def layers_of(see: Projection, frame_data: FrameData, scale: float) -> list[SeenLayer]:
    """Return the layers whose rows are seen."""
    found, layout = [], frame_data.layout
    for fan, known in zip(layout.fans, known_fans(see, layout, scale), strict=True):
        if known is not None and not fan.is_direct:
            found.append(SeenLayer(fan, known.seen, carried(fan, frame_data).halves))
    return found


def draw_error(canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme) -> list[Box]:
    """Draw how wrong the answer is, in the place of the last layer."""
    layout, buffers, caption = frame_data.layout, frame_data.buffers, frame_data.words.caption
    fans = known_fans(see, layout, canvas.scale)
    known = [None if each is None else each.seen for each in fans]
    box, outs, goals = error_box(known, see.box, canvas.scale), buffers.answers, buffers.target
    if box is None or outs is None or goals is None or len(outs) > FEW_OUTPUTS:
        return []
    line = layout.neurons[-1]
    names = [*line.names, *[text("picture.out")] * len(outs)]
    colors = theme.channels if line.is_color else [theme.ink] * len(outs)
    misses = [
        Miss(names[i], colors[i], float(out), float(goal))
        for i, (out, goal) in enumerate(zip(outs, goals, strict=True))
    ]
    words = "" if caption is None else caption.title
    draw_misses(canvas, theme, misses, box, words, squared=buffers.squared)
    return [box]


def told_row(
    see: Projection, frame_data: FrameData, found: tuple[Fan, int], scale: float
) -> ToldRow | None:
    """Return the row of a unit as it is seen; None if its layer has no rows that are told."""
    fan, unit = found
    layout = frame_data.layout
    known = known_fans(see, layout, scale)[layout.fans.index(fan)]
    if known is None or fan.is_direct or fan.is_tiled or len(known.seen.feet[unit]) > ROWED:
        return None
    feet, numbers, rows = known.seen.feet[unit], carried(fan, frame_data), known.rows[unit]
    result = sum(numbers.terms[unit])
    return ToldRow(
        feet,
        tops_of(known, unit, numbers.halves[unit]),
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
