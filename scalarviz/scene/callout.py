"""Call-outs in the network: a sum, the error of an answer, and the reason for a gradient.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from scalarviz.scene.blame import SeenLayer, draw_blame
from scalarviz.scene.focus import blame_in, rows_of_sum
from scalarviz.scene.layout.points import row3
from scalarviz.scene.lines import carried, seen_fans
from scalarviz.scene.marks import cube_boxes
from scalarviz.scene.overlay import draw_cubes
from scalarviz.scene.side_panel import draw_side
from scalarviz.scene.silhouettes import balls_of
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
from scalarviz.story.facts import NONE

if TYPE_CHECKING:
    from scalarviz.scene.annotations import Ball
    from scalarviz.scene.canvas.canvas2d import Canvas2D, Color
    from scalarviz.scene.canvas.palette import Theme
    from scalarviz.scene.frame_data import FrameData
    from scalarviz.scene.labels import Obstacles
    from scalarviz.scene.layout.division import Box, Projection
    from scalarviz.scene.layout.plates import Fan, Layout
    from scalarviz.scene.layout.ways import SeenFan
    from scalarviz.scene.side_panel import Side
    from scalarviz.story.caption import Caption
    from scalarviz.story.facts import Neuron

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
    if frame_data.moment is not None and frame_data.moment.kind == "weight gradient":
        boxes = draw_weight(canvas, see, frame_data, caption, taken, theme)
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
    words = caption.title
    return draw_row(canvas, theme, row, rows, see.box, words, theme.signs, frame_data.part)


def spheres_of(taken: Obstacles, scale: float) -> list[Box]:
    """Return the boxes that cards must avoid: labels, and neurons with their names."""
    return [
        *taken.boxes,
        *[
            kept_clear(float(each[0]), float(each[1]), float(each[2]), scale)
            for each in taken.spheres
        ],
    ]


def draw_blamed(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, taken: Obstacles, theme: Theme
) -> list[Box]:
    """Write the weight change that an error signal requests; return the boxes of the labels."""
    caption, blame = frame_data.told, blame_in(frame_data)
    ball = None if caption is None else ball_of(see, frame_data.layout, caption.neurons[0])
    if caption is None or blame is None or ball is None:
        return []
    layers = layers_of(see, frame_data, canvas.scale)
    others = spheres_of(taken, canvas.scale)
    layout: Layout = frame_data.layout
    if layout.crossbar is not None:
        for fan in layout.fans:
            rows = [row for unit in range(fan.units) for row in rows_of_sum(fan, unit)]
            others += cube_boxes(see, frame_data, rows, None)
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
    if box is None or pushes is None or not math.isfinite(float(pushes[row])):
        return []
    top = float(cubes.size_scales[frame_data.layout.plate_number(row)]) or 1.0
    share = float(frame_data.weights[row]) / top
    push = float(pushes[row]) / (cubes.longest_push or 1.0)
    words, cube = wish_words(caption, share, push), (share, wished(share, push))
    draw_wish(canvas, theme, box, cube, words, lambda found: draw_cubes(canvas, found, theme))
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
    found: list[SeenLayer] = []
    fans = seen_fans(see, frame_data.layout, scale)
    for fan, seen in zip(frame_data.layout.fans, fans, strict=True):
        if seen is not None and not fan.is_direct:
            found.append(SeenLayer(fan, seen, carried(fan, frame_data).halves))
    return found


def draw_error(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, caption: Caption, theme: Theme
) -> list[Box]:
    """Draw the error of the answer in place of the last layer."""
    layout, moment = frame_data.layout, frame_data.moment
    box = error_box(seen_fans(see, layout, canvas.scale), see.box, canvas.scale)
    is_loss = moment is not None and moment.kind == "loss"
    if box is None or not is_loss or len(caption.misses) > FEW_OUTPUTS:
        return []
    squared, colors = frame_data.buffers.squared, colors_of(layout, theme)
    draw_misses(canvas, theme, caption, colors, box, squared=squared)
    return [box]


def colors_of(layout: Layout, theme: Theme) -> list[Color]:
    """Return the colors of the outputs."""
    line = layout.neurons[-1]
    return [*theme.channels] if line.is_color else [theme.ink for _ in range(line.count)]


def told_row(
    see: Projection, frame_data: FrameData, found: tuple[Fan, int], scale: float
) -> ToldRow | None:
    """Return the row of a unit in the picture; None if its layer does not show rows."""
    fan: Fan = found[0]
    unit, fans = found[1], frame_data.layout.fans
    seen: SeenFan | None = seen_fans(see, frame_data.layout, scale)[fans.index(fan)]
    if seen is None or fan.is_direct or fan.is_tiled or len(seen.feet[unit]) > ROWED:
        return None
    feet, numbers = seen.feet[unit], carried(fan, frame_data)
    along = [x for x, _ in feet]
    if max(along) - min(along) < LEAST_ROW * scale and seen.form != "upright":
        return None
    rows = [fan.row_of(unit, column) for column in range(len(feet))]
    return ToldRow(
        feet,
        seen.tops(unit, numbers.halves[unit]),
        seen.gates[unit],
        seen.left,
        numbers.values,
        [float(frame_data.weights[row]) for row in rows],
        sum(numbers.terms[unit]),
    )


def tops_in(see: Projection, frame_data: FrameData, fan: Fan, scale: float) -> list[float]:
    """Return the top of each row of a layer in the picture."""
    layout = frame_data.layout
    seen: SeenFan | None = seen_fans(see, layout, scale)[layout.fans.index(fan)]
    if seen is None:
        return []
    halves = carried(fan, frame_data).halves
    tops = [seen.tops(unit, halves[unit]) for unit in range(len(seen.feet))]
    return [min(each) - LIDS * scale for each in tops]


def ball_of(see: Projection, layout: Layout, neuron: Neuron) -> Ball | None:
    """Return the sphere of a neuron in the picture; None if it is not visible."""
    found = layout.line_of(neuron)
    if found is None or found[1] >= found[0].count:
        return None
    line, place = found
    radius = 0.5 * line.side if len(line.shape) > 0 else line.radius
    ball = balls_of(see, [row3(line.points, place)], radius)[0]
    return ball if math.isfinite(ball.x + ball.y) else None


def draw_beside(canvas: Canvas2D, frame_data: FrameData, box: Box, side: Side, theme: Theme) -> Box:
    """Draw the side panel; return its box."""
    layout, told = frame_data.layout, frame_data.told
    line, colors = layout.neurons[-1], colors_of(layout, theme)
    subject = None if told is None else told.subject
    is_output = line.is_color and subject is not None and subject[0] == line.values
    tint = colors[subject[1]] if is_output and subject is not None else None
    return draw_side(canvas, theme, box, side, colors, tint, theme.signs, frame_data.part)
