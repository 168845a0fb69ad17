"""How an operation is explained in the picture: its sum, its curve, the reason of a gradient."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.scene.annotations import Ball
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import Theme
from scalarviz.scene.frame_data import FrameData, NeuronMaps
from scalarviz.scene.labels import Obstacles
from scalarviz.scene.layout.division import Box, Projection
from scalarviz.scene.layout.plates import Layout
from scalarviz.scene.marks import box_of, box_of_neuron, cube_boxes
from scalarviz.scene.neuron_images import heat_of, shaded, tiled
from scalarviz.scene.overlay import draw_cubes
from scalarviz.scene.pace import BACK
from scalarviz.scene.telling import (
    BEFORE,
    COME,
    PLACE,
    Lane,
    card_place,
    card_size,
    chain_places,
    draw_bars,
    draw_card,
    draw_chain,
    draw_changes,
    draw_curve,
    draw_upright,
    kept_clear,
    stood,
    told_about,
)
from scalarviz.story.caption import Caption, Summand, Summed
from scalarviz.story.facts import Neuron


def draw_told(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    taken: Obstacles,
    theme: Theme,
) -> list[Box]:
    """Draw how an operation comes to its number; return the boxes that it covers.

    A sum stands forward on an upright tray, and as bars; an activation has its curve; why a weight
    is to change is a chain.
    """
    caption, see_box = frame_data.told, see.box
    if caption is not None and caption.chain:
        things = [box_of(see, frame_data, each.row, each.neuron) for each in caption.chain]
        places = chain_places(canvas, caption.chain, things, see_box)
        draw_chain(canvas, theme, caption.chain, things, places, frame_data.part)
        return places
    subject = None if caption is None else caption.subject
    ball = None if subject is None else ball_of(see, frame_data.layout, subject)
    if caption is None or subject is None or ball is None:
        return []
    scale, part = canvas.scale, frame_data.part
    back = frame_data.moment is not None and frame_data.moment.kind in BACK
    signs: Any = theme.map.negative, theme.map.positive
    boxes, summed, bent = [], caption.summed, caption.bent
    lanes = [] if summed is None else lanes_of(see, frame_data, summed, theme)
    into = frame_data.layout.fan_into(subject) if frame_data.is_upright else None
    has_card = into is not None and into[0].is_direct  # see tray_card.py
    is_told = frame_data.is_upright and not has_card
    squares = squares_of(canvas, frame_data, caption, theme) if is_told else None
    place = PLACE if squares is None else BEFORE
    tray = stood(lanes, ball, see_box, scale, part, place) if is_told else None
    if tray is not None:
        boxes.append(tray.box)
        draw = partial(draw_cubes, canvas, theme=theme)
        draw_upright(canvas, theme, lanes, ball, tray, signs, part, draw, squares)
        if squares is not None:
            left, wide = tray.box.right, ball.x - ball.radius - tray.box.right
            return [*boxes, Box(left, tray.box.y, wide, tray.box.height)]
    wide, high = card_size(caption, scale)
    if has_card or part < COME or wide > see_box.width or high > see_box.height:
        return boxes
    around = told_about(ball, scale)
    spheres = [kept_clear(x, y, r, scale) for x, y, r in taken.spheres.tolist()]
    rows = frame_data.cubes.moved[0] if summed is None else [each.row for each in summed.largest]
    cubes = cube_boxes(see, frame_data, rows, None)
    own = [box_of_neuron(see, frame_data.layout, subject) or around]
    others = [*taken.boxes, *boxes, around.inside(1.0), *own, *spheres, *cubes]
    box = card_place(wide, high, around, see_box, others)
    if box is None:
        return boxes
    draw_card(canvas, theme, box, around, back=back)
    if summed is not None:
        chips = [None if each.ball is None else each.color for each in lanes]
        draw_bars(canvas, theme, summed, chips, box, signs, part, back=back)
    elif caption.changes:
        neurons = [each.neuron for each in caption.changes]
        colors = [channel_of(frame_data.layout, each, theme) or theme.ink for each in neurons]
        draw_changes(canvas, theme, caption.changes, colors, box, part)
    elif bent is not None:
        draw_curve(canvas, theme, bent, box, signs, part)
    return [*boxes, box]


def squares_of(
    canvas: Canvas2D, frame_data: FrameData, caption: Caption, theme: Theme
) -> Callable[[list[Box]], None] | None:
    """Return what draws the products of a sum over all places, and their sums so far.

    None where inputs or the neuron have no squares, and for more products than are shown.
    """
    maps, summed = frame_data.maps, caption.summed
    line = frame_data.layout.line_of(caption.neurons[0])
    if maps is None or maps.is_curve or summed is None or line is None or not line[0].square:
        return None
    one = np.ones(maps.values[line[0].values].shape[1:]) if line[0].values in maps.values else None
    squares = [map_in(maps, each, one) for each in summed.largest]
    if one is None or summed.others is not None or any(each is None for each in squares):
        return None
    weights = np.array([each.weight for each in summed.largest])
    products = weights[:, np.newaxis, np.newaxis] * np.array(squares)
    every = np.concatenate([products, np.cumsum(products, axis=0)])
    parts = every / max(1e-9, float(np.abs(every).max()))
    image, places = tiled(shaded(parts, heat_of(theme.name)))

    def draw(boxes: list[Box]) -> None:
        half = len(boxes) // 2
        shown = [*range(half), *range(len(products), len(products) + half)]
        corners = [[(b.x, b.y), (b.right, b.y), (b.x, b.bottom)] for b in boxes]
        if boxes:
            canvas.images(np.array(corners), image, places[shown], smooth=True, radius=4.0)

    return draw


def map_in(maps: NeuronMaps, summand: Summand, one: FloatArray | None) -> FloatArray | None:
    """Return what a summand has over all places: that of its neuron, or `one` of a bias."""
    name, place = summand.neuron
    found = maps.values.get(name, ())
    return found[place] if place < len(found) else one if place == len(found) else None


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
        hue = theme.map.negative if each.number < 0.0 else theme.map.positive
        channel = channel_of(frame_data.layout, each.neuron, theme)
        about = each.number, each.weight, each.weight / (top or 1.0)
        lanes.append(Lane(ball, channel or hue, channel is not None, *about))
    return lanes


def channel_of(layout: Layout, neuron: Neuron | None, theme: Theme) -> str | None:
    """Return the color of a channel; None for all else."""
    found = None if neuron is None else layout.line_of(neuron)
    return theme.channels[found[1] % 3] if found and found[0].is_color else None
