"""The tray of a neuron whose cubes stand nowhere: its strongest inputs and weights, on a card."""

from __future__ import annotations

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import short, typeset
from scalarviz.core.program import NONE, Places
from scalarviz.scene.annotations import bracket
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import Theme
from scalarviz.scene.focus import chosen_neurons, chosen_rows
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.layout.division import Box, Division, Projection
from scalarviz.scene.layout.plates import Fan
from scalarviz.scene.marks import box_of_neuron
from scalarviz.scene.neuron_images import image_of, map_of
from scalarviz.scene.overlay import Cube, draw_cubes

PAIRS, COLUMNS, WRITTEN = 16, 4, 4  # pairs on the card, in a row of it, and with numbers
PAIR, SQUARE, CUBE = (68.0, 46.0), 32.0, 26.0  # pixels of a pair, of its square and its cube
PAD, TITLE, FOOT, LETTERS = 18.0, 44.0, 40.0, 12.0  # margins, rows of words, and letters
MARGIN = 8.0  # pixels from the card to the edge of the stage
LARGEST = 0.8  # most of a stage that the card takes


def tray_box(frame_data: FrameData, division: Division) -> Box | None:
    """Return where the card of a hovered, pinned or explained tray stands; None without one.

    It stands in the place of the card of what is pinned, which makes room, else beside its neuron:
    the result is seen.
    """
    found, stage, card = tray_of(frame_data), division.scene, division.card
    if found is None:
        return None
    wide, high = 2.0 * PAD + COLUMNS * PAIR[0], TITLE + FOOT
    high += -(-min(PAIRS, found[0].inputs) // COLUMNS) * PAIR[1]
    scale = min(division.scale, LARGEST * stage.height / high, LARGEST * stage.width / wide)
    if card.width:
        scale = min(scale, card.width / wide, card.height / high)
        return Box(card.x, card.y, wide * scale, high * scale)
    inner, is_late = division.inner, 2 * found[0].after > len(frame_data.layout.neurons)
    left = inner.right - wide * scale
    left = 0.5 * (inner.x + left) if is_late else left  # right of IN
    return Box(left, stage.bottom - high * scale - MARGIN, wide * scale, high * scale)


def draw_tray(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, box: Box, theme: Theme
) -> list[tuple[Box, int]]:
    """Draw the tray of what is hovered, pinned or explained; return boxes of cubes, and rows.

    Without one there are none.
    """
    found = tray_of(frame_data)
    if found is None:
        return []
    (fan, unit), x, y = found, box.x, box.y
    scale = box.width / (2.0 * PAD + COLUMNS * PAIR[0])
    rows, size = fan.all_rows[unit, : fan.inputs], LETTERS * max(scale, 1.0)
    weights = frame_data.weights[rows]
    order = np.argsort(-np.abs(np.nan_to_num(weights)), kind="stable")[:PAIRS]
    line = frame_data.layout.neurons[fan.after]
    target = box_of_neuron(see, frame_data.layout, (line.values, unit))
    if target is not None:
        ends = target.shortest(box)
        canvas.segments(ends[:1], ends[1:], theme.lit, width=1.3 * scale)
    canvas.box(*box.place, theme.panel[:7], radius=10.0 * scale, outline=theme.rim)
    left, base = x + PAD * scale, y + 26.0 * scale
    canvas.text(
        left,
        base,
        text("tray.title", count=len(rows)),
        size=size,
        color=theme.ink,
        bold=True,
        room=box.right - left,
    )
    top = float(frame_data.cubes.size_scales.max(initial=0.0)) or float(np.abs(weights).max())
    cubes: list[Cube] = []
    places: list[tuple[Box, int]] = []
    corners = []
    chosen = chosen_rows(frame_data)
    for number, column in enumerate(order.tolist()):
        down, right = divmod(number, COLUMNS)
        u, v = left + right * PAIR[0] * scale, y + (TITLE + down * PAIR[1]) * scale
        corners.append([(u, v), (u + SQUARE * scale, v), (u, v + SQUARE * scale)])
        middle, row = u + 47.0 * scale, int(rows[column])
        share = float(np.clip(np.nan_to_num(weights[column] / top), -1.0, 1.0))
        cubes.append((middle, v + 30.0 * scale, CUBE * scale, share))
        own = Box(u, v, 0.95 * PAIR[0] * scale, SQUARE * scale)
        places.append((own, row))
        if row in chosen:
            bracket(canvas, own, theme.lit)
        if number < WRITTEN or row in chosen:
            words = typeset(short(float(weights[column])))
            place, color = (middle, v + 43.0 * scale), theme.map(np.array(share))
            canvas.text(*place, words, size=size, anchor="center", color=color, bold=True)
    draw_inputs(canvas, fan, order, np.array(corners), frame_data, theme)
    draw_cubes(canvas, cubes, theme)
    words = text("tray.rest", count=len(rows) - len(order)) if len(rows) > len(order) else ""
    words += text("tray.bias") if fan.biases != NONE else ""
    canvas.text(left, box.bottom - 14.0 * scale, words, size=size, color=theme.quiet)
    return places


def tray_of(frame_data: FrameData) -> tuple[Fan, int] | None:
    """Return sums and unit that are hovered, pinned or explained, whose cubes stand nowhere."""
    layout, told = frame_data.layout, frame_data.told if frame_data.is_upright else None
    neurons = *chosen_neurons(frame_data), *(told.neurons if told else ())
    found = [layout.fan_into(each) for each in neurons]
    found += [layout.fan_of(row) for row in chosen_rows(frame_data)]
    return next((each for each in found if each is not None and each[0].is_direct), None)


def draw_inputs(
    canvas: Canvas2D,
    fan: Fan,
    order: Places,
    corners: FloatArray,
    frame_data: FrameData,
    theme: Theme,
) -> None:
    """Draw the square of each input, or its number as a color where there are no maps."""
    line, maps = frame_data.layout.neurons[fan.before], frame_data.maps
    name = map_of(line, frame_data)
    if maps is not None and name and maps.values[name].shape[1] > 1:
        image, parts = image_of(name, maps, theme)
        canvas.images(corners, image, parts[order], smooth=True, radius=4.0)
        return
    values = frame_data.buffers.values.get(line.values, np.zeros(len(line.points)))
    fills = theme.map(np.clip(values[order] / (np.abs(values).max() or 1.0), -1.0, 1.0))
    canvas.boxes(corners[:, 0], corners[:, 1, :1] - corners[:, 0, :1], fills, radius=4.0)
