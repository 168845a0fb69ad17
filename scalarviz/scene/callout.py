"""Call-outs in the network: a sum, the error of an answer, and the reason for a gradient."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from scalarviz.scene.annotations import Ball
from scalarviz.scene.blame import SeenLayer, draw_blame
from scalarviz.scene.canvas.canvas2d import Canvas2D, Color
from scalarviz.scene.canvas.palette import Theme
from scalarviz.scene.focus import blame_in
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.labels import Obstacles
from scalarviz.scene.layout.division import Box, Projection
from scalarviz.scene.layout.plates import Fan, Layout
from scalarviz.scene.lines import carried, known_fans, tops_of
from scalarviz.scene.overlay import draw_cubes
from scalarviz.scene.telling import (
    FEW_OUTPUTS,
    LEAST_ROW,
    ROWED,
    ToldRow,
    draw_misses,
    draw_row,
    draw_wish,
    error_box,
    kept_clear,
    wish_of,
    wish_words,
    wished,
)
from scalarviz.story.caption import Caption
from scalarviz.story.facts import NONE, Neuron

LIDS = 8.0  # pixels above the fronts of a row that it needs


def draw_told(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    taken: Obstacles,
    theme: Theme,
) -> list[Box]:
    """Explain the result of an operation in the network; return the covered boxes.

    For a sum, its products are drawn as bars below the row. The error is a panel in place of the
    last layer. For a changing weight, a panel shows its cube and the reason for the change. An
    error signal is drawn as paths. side_panel.py draws everything else next to the network. The
    panel is stored in `taken`.
    """
    caption = frame_data.told
    if caption is None:
        return []
    if blame_in(frame_data) is not None:
        return draw_blamed(canvas, see, frame_data, taken, theme)
    fans = known_fans(see, frame_data.layout, canvas.scale)
    if frame_data.moment is not None and frame_data.moment.kind == "weight gradient":
        boxes = draw_weight(canvas, see, frame_data, caption, taken, theme)
    elif any(each is not None and each.seen.is_below for each in fans):
        return []  # a panel would cover rows of the other layer
    elif len(caption.misses) > 0:
        boxes = draw_error(canvas, see, frame_data, caption, theme)
    else:
        boxes = draw_added(canvas, see, frame_data, caption, theme)
    taken.panel = boxes[0] if boxes else None
    return boxes


def draw_added(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, caption: Caption, theme: Theme
) -> list[Box]:
    """Draw a sum below its row; return the box of its panel."""
    moment, subject = frame_data.moment, caption.subject
    is_sum = caption.bars is not None and moment is not None and moment.kind == "forward"
    into = frame_data.layout.fan_into(subject) if is_sum and subject is not None else None
    row = None if into is None else told_row(see, frame_data, into, canvas.scale)
    if into is None or row is None:
        return []
    rows = tops_in(see, frame_data, into[0], canvas.scale)
    signs: Any = theme.map.negative, theme.map.positive
    words, part = caption.title, frame_data.part
    return draw_row(canvas, theme, row, rows, see.box, words, signs, part)


def spheres_of(taken: Obstacles, scale: float) -> list[Box]:
    """Return the boxes that cards must avoid: labels, and neurons with their names."""
    return [
        *taken.boxes,
        *[kept_clear(x, y, radius, scale) for x, y, radius in taken.spheres.tolist()],
    ]


def draw_blamed(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, taken: Obstacles, theme: Theme
) -> list[Box]:
    """Write the weight change that an error signal requests; return the boxes of the labels."""
    caption, blame, layout = frame_data.told, blame_in(frame_data), frame_data.layout
    ball = None if caption is None else ball_of(see, layout, caption.neurons[0])
    if caption is None or blame is None or ball is None:
        return []
    layers = layers_of(see, frame_data, canvas.scale)
    others = spheres_of(taken, canvas.scale)
    return draw_blame(canvas, theme, blame, layers, ball, see.box, others, frame_data.part)


def draw_weight(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    caption: Caption,
    taken: Obstacles,
    theme: Theme,
) -> list[Box]:
    """Draw the requested change of a weight and the reason; return the panel's box."""
    row, cubes = caption.rows[0] if caption.rows else NONE, frame_data.cubes
    box, pushes = weight_place(canvas, see, frame_data, row, taken), cubes.pushes
    if box is None or pushes is None or not np.isfinite(pushes[row]):
        return []
    top = float(cubes.size_scales[frame_data.layout.plate_number(row)]) or 1.0
    share = float(frame_data.weights[row]) / top
    push = float(pushes[row]) / (float(np.nanmax(np.abs(pushes))) or 1.0)
    words, cube = wish_words(caption, share, push), (share, wished(share, push))
    draw_wish(canvas, theme, box, cube, words, partial(draw_cubes, canvas, theme=theme))
    return [box]


def weight_place(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, row: int, taken: Obstacles
) -> Box | None:
    """Return the position of a weight's panel, above or below its row; None if it does not fit.

    The panel overlaps no cube, gate or sphere.
    """
    scale, found = canvas.scale, frame_data.layout.fan_of(row)
    solid = [each for layer in layers_of(see, frame_data, scale) for each in layer.boxes]
    others = [*spheres_of(taken, scale), *solid]
    told = None if found is None else told_row(see, frame_data, found, scale)
    return None if told is None else wish_of(told, see.box, scale, others)


def layers_of(see: Projection, frame_data: FrameData, scale: float) -> list[SeenLayer]:
    """Return the layers whose rows are visible."""
    found, layout = [], frame_data.layout
    for fan, known in zip(layout.fans, known_fans(see, layout, scale), strict=True):
        if known is not None and not fan.is_direct:
            found.append(SeenLayer(fan, known.seen, carried(fan, frame_data).halves))
    return found


def draw_error(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, caption: Caption, theme: Theme
) -> list[Box]:
    """Draw the error of the answer in place of the last layer."""
    layout, moment = frame_data.layout, frame_data.moment
    fans = known_fans(see, layout, canvas.scale)
    known = [None if each is None else each.seen for each in fans]
    box = error_box(known, see.box, canvas.scale)
    is_loss = moment is not None and moment.kind == "loss"
    if box is None or not is_loss or len(caption.misses) > FEW_OUTPUTS:
        return []
    squared, colors = frame_data.buffers.squared, colors_of(layout, theme)
    draw_misses(canvas, theme, caption, colors, box, squared=squared)
    return [box]


def colors_of(layout: Layout, theme: Theme) -> list[Color]:
    """Return the colors of the outputs."""
    line = layout.neurons[-1]
    return [*theme.channels] if line.is_color else [theme.ink] * len(line.points)


def told_row(
    see: Projection, frame_data: FrameData, found: tuple[Fan, int], scale: float
) -> ToldRow | None:
    """Return the row of a unit in the picture; None if its layer does not show rows."""
    fan, unit = found
    layout = frame_data.layout
    known = known_fans(see, layout, scale)[layout.fans.index(fan)]
    if known is None or fan.is_direct or fan.is_tiled or len(known.seen.feet[unit]) > ROWED:
        return None
    feet, numbers, rows = known.seen.feet[unit], carried(fan, frame_data), known.rows[unit]
    along = [x for x, _ in feet]
    if max(along) - min(along) < LEAST_ROW * scale and known.seen.form != "upright":
        return None
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


def tops_in(see: Projection, frame_data: FrameData, fan: Fan, scale: float) -> list[float]:
    """Return the top of each row of a layer in the picture."""
    known = known_fans(see, frame_data.layout, scale)[frame_data.layout.fans.index(fan)]
    if known is None:
        return []
    halves = carried(fan, frame_data).halves
    tops = [tops_of(known, unit, halves[unit]) for unit in range(len(known.seen.feet))]
    return [min(each) - LIDS * scale for each in tops]


def ball_of(see: Projection, layout: Layout, neuron: Neuron) -> Ball | None:
    """Return the sphere of a neuron in the picture; None if it is not visible."""
    found = layout.line_of(neuron)
    if found is None or found[1] >= len(found[0].points):
        return None
    line, seen = found[0], see(found[0].points[found[1]])
    (x, y), unit = seen.xy[0].tolist(), float(seen.unit[0])
    radius = 0.5 * line.side if line.shape else line.radius
    return Ball(x, y, radius * unit, float(seen.depth[0]), unit) if math.isfinite(x + y) else None
