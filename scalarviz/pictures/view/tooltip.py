"""The tooltip: numbers of the hovered cube or neuron, where it does not cover what one looks at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.view.frame_data import Card, FrameData
from scalarviz.pictures.view.highlights import corners_of
from scalarviz.pictures.view.legend import legend_box
from scalarviz.pictures.view.scene.frame import Box, Division, Projection
from scalarviz.pictures.view.scene.plates import Layout
from scalarviz.training.session.caption import Neuron

SIZE, ROW, PAD = 13.0, 18.0, 12.0  # letters, height of a line, and margins in pixels
STEP = 12.0  # pixels between two places that are tried
# What it costs to cover a pixel of each, and to be a pixel further away.
HOVERED, ENDS, PANEL, FAN, SPHERE, OTHER = 1e6, 100.0, 20.0, 2.0, 1.0, 0.3
FAR = 8.0
MOST = 200  # cubes that it keeps clear of


def draw_hover(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    theme: Theme,
    division: Division,
    messages: Sequence[Box] = (),
) -> None:
    """Draw the card of the hovered cube or neuron, inside the stage and beside `messages`."""
    card, scale = frame_data.hover, division.scale
    box = tooltip_box(canvas, see, frame_data, division, messages)
    if card is None or box is None:
        return
    size, pad = SIZE * scale, PAD * scale
    canvas.box(*box.place, theme.panel, radius=8.0, outline=theme.rim)
    x, y = box.x + pad, box.y
    canvas.text(x, y + 19.0 * scale, card.name, size=size, color=theme.ink, bold=True)
    names = width_of_names(canvas, card, scale)
    for i, (name, value) in enumerate(card.facts):
        base = y + 37.0 * scale + ROW * scale * i
        canvas.text(x, base, name, size=size, color=theme.quiet)
        canvas.text(x + names, base, value, size=size, color=theme.ink, bold=True)


def tooltip_box(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    division: Division,
    messages: Sequence[Box] = (),
) -> Box | None:
    """Return the box of the card of the hovered cube or neuron; None if there is none."""
    card, scale = frame_data.hover, division.scale
    if card is None:
        return None
    target = box_of_hovered(see, frame_data, card)
    if target is None:
        return None
    values = [canvas.measure(value, size=SIZE * scale, bold=True) for _, value in card.facts]
    title = canvas.measure(card.name, size=SIZE * scale, bold=True)
    wide = max(title, width_of_names(canvas, card, scale) + max(values, default=0.0))
    size = wide + 2.0 * PAD * scale, (30.0 + ROW * len(card.facts)) * scale
    covers: list[tuple[Box, float]]
    covers = [(division.card, PANEL), (division.exhibit, PANEL), *((box, ENDS) for box in messages)]
    covers += [(box, OTHER) for box in [legend_box(division)] if box is not None]
    covers += [(box.inside(-1.0), ENDS) for box in ends_of(see, frame_data.layout, card.row)]
    covers += [(box, FAN) for box in fan_of(see, frame_data, card.row)]
    covers += [(box, SPHERE) for box in spheres_of(see, frame_data.layout)]
    covers += [(box, OTHER) for box in cubes_of(see, frame_data)]
    return best_place(size, target, covers, division.scene.inside(4.0), PAD * scale)


def width_of_names(canvas: Canvas2D, card: Card, scale: float) -> float:
    names = [canvas.measure(name, size=SIZE * scale) for name, _ in card.facts]
    return max(names, default=0.0) + 0.8 * PAD * scale


def best_place(
    size: tuple[float, float],
    target: Box,
    covers: Sequence[tuple[Box, float]],
    stage: Box,
    gap: float,
) -> Box:
    """Return where a box covers the least, beside the target or elsewhere on the stage.

    size    its width and height
    target  what it is about, which it must not cover
    covers  other boxes, and what a covered pixel of each costs
    stage   the box in which it is
    gap     pixels between the box and the target
    """
    wide, high = size
    right, bottom = max(stage.x, stage.right - wide), max(stage.y, stage.bottom - high)
    beside = [target.right + gap, target.x - gap - wide, target.x + (target.width - wide) / 2.0]
    level = [target.y + (target.height - high) / 2.0, target.bottom + gap, target.y - gap - high]
    xs = np.clip([*beside, *np.arange(stage.x, right + 1.0, STEP)], stage.x, right)
    ys = np.clip([*level, *np.arange(stage.y, bottom + 1.0, STEP)], stage.y, bottom)
    x, y = (each.ravel() for each in np.meshgrid(xs, ys))
    apart = gaps_between(x, y, wide, high, target)
    cost = FAR * apart
    for box, price in [(target.inside(-0.5 * gap), HOVERED), *covers]:
        cost += price * overlap(x, y, wide, high, box)
    best = int(np.argmin(cost))
    return Box(float(x[best]), float(y[best]), wide, high)


def overlap(x: FloatArray, y: FloatArray, wide: float, high: float, box: Box) -> FloatArray:
    """Return how many pixels of a box are covered from each place."""
    across = np.minimum(x + wide, box.right) - np.maximum(x, box.x)
    down = np.minimum(y + high, box.bottom) - np.maximum(y, box.y)
    found: FloatArray = np.clip(across, 0.0, None) * np.clip(down, 0.0, None)
    return found


def gaps_between(x: FloatArray, y: FloatArray, wide: float, high: float, box: Box) -> FloatArray:
    """Return the pixels between a box and each place."""
    across = np.maximum(np.maximum(x - box.right, box.x - x - wide), 0.0)
    down = np.maximum(np.maximum(y - box.bottom, box.y - y - high), 0.0)
    found: FloatArray = np.hypot(across, down)
    return found


# What one looks at.


def box_of_hovered(see: Projection, frame_data: FrameData, card: Card) -> Box | None:
    """Return the box around the hovered cube or neuron; None if it is not in the picture."""
    if frame_data.hover_neuron is not None:
        return box_of_neuron(see, frame_data.layout, frame_data.hover_neuron)
    corners = corners_of(frame_data, card.row, 0.5)
    return box_around(see(corners).xy) if len(corners) else None


def box_around(xy: FloatArray) -> Box | None:
    """Return the box around points; None if they are not all in front of the eye."""
    if not len(xy) or not np.isfinite(xy).all():
        return None
    (left, top), (right, bottom) = xy.min(axis=0).tolist(), xy.max(axis=0).tolist()
    return Box(left, top, right - left, bottom - top)


def box_of_neuron(see: Projection, layout: Layout, neuron: Neuron) -> Box | None:
    """Return the box around a sphere, or around the image of a pixel."""
    name, place = neuron
    for line in layout.neurons:
        if name not in line.buffers:
            continue
        if line.shape:
            corner, right, below = line.corners()[place // (line.shape[1] * line.shape[2])]
            ends = [corner, right, below, right + below - corner]
            return box_around(see(np.array(ends)).xy)
        point = line.points[place] if place < len(line.points) else line.one
        return None if point is None else box_of_sphere(see, point, line.radius)
    return None


def box_of_sphere(see: Projection, point: FloatArray, radius: float) -> Box | None:
    seen = see(point)
    reach = radius * float(seen.unit[0])
    return box_around(np.concatenate([seen.xy - reach, seen.xy + reach]))


def ends_of(see: Projection, layout: Layout, row: int) -> list[Box]:
    """Return the boxes of the neurons that a weight joins."""
    found = layout.fan_of(row)
    if found is None:
        return []
    fan, unit = found
    points = [fan.starts[fan.unit_before(row)], fan.ends[unit]]
    boxes = [box_of_sphere(see, point, fan.radius) for point in points]
    return [box for box in boxes if box is not None]


def fan_of(see: Projection, frame_data: FrameData, row: int) -> list[Box]:
    """Return the boxes of the cubes of the sum that a weight belongs to, of not too many."""
    found = frame_data.layout.fan_of(row)
    if found is None or len(found[0].columns) > MOST:
        return []
    return boxes_of_cubes(see, frame_data, found[0].rows_of(found[1]))


def cubes_of(see: Projection, frame_data: FrameData) -> list[Box]:
    """Return the boxes of all cubes of a small network."""
    if len(frame_data.cubes.sizes) > MOST:
        return []
    return boxes_of_cubes(see, frame_data, range(len(frame_data.cubes.sizes)))


def boxes_of_cubes(see: Projection, frame_data: FrameData, rows: Iterable[int]) -> list[Box]:
    boxes = [box_around(see(corners_of(frame_data, row, 0.4)).xy) for row in rows]
    return [box for box in boxes if box is not None]


def spheres_of(see: Projection, layout: Layout) -> list[Box]:
    """Return the boxes of all spheres of a small network."""
    lines = [line for line in layout.neurons if not line.shape]
    if sum(len(line.points) for line in lines) > MOST:
        return []
    boxes = [
        box_of_sphere(see, point, line.radius)
        for line in lines
        for point in [*line.points, *([] if line.one is None else [line.one])]
    ]
    return [box for box in boxes if box is not None]
