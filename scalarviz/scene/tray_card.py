"""The card of a neuron that has no cubes: its largest weights with their inputs.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import short, typeset
from scalarviz.scene.annotations import bracket
from scalarviz.scene.focus import chosen_neurons, chosen_rows
from scalarviz.scene.layout.camera import Box
from scalarviz.scene.marks import box_of_neuron
from scalarviz.scene.neuron_images import draw_inputs
from scalarviz.scene.overlay import draw_cubes
from scalarviz.story.facts import NONE

if TYPE_CHECKING:
    from scalarviz.scene.canvas.canvas2d import Canvas2D
    from scalarviz.scene.canvas.palette import Theme
    from scalarviz.scene.frame_data import CubeValues, FrameData
    from scalarviz.scene.layout.division import Division, Projection
    from scalarviz.scene.layout.plates import Fan, Layout

PAIRS, COLUMNS, WRITTEN = 16, 4, 4  # pairs on the card, per row, and with numbers
WIDE, HIGH, SQUARE, CUBE = 68.0, 46.0, 32.0, 26.0  # pixels of a pair, of its square and its cube
PAD, TITLE, FOOT, LETTERS = 18.0, 44.0, 40.0, 12.0  # margins, rows of words, and letters
MARGIN = 8.0  # pixels from the card to the edge of the stage
LARGEST = 0.8  # maximum fraction of a stage for the card


def tray_box(frame_data: FrameData, division: Division) -> Box | None:
    """Return the box of the card for the hovered or pinned neuron, or None.

    It replaces the card of the pinned item, or is on the stage, so that the exhibit stays visible.
    """
    found, stage, card = tray_of(frame_data), division.scene, division.card
    if found is None:
        return None
    wide, high = size_of(found[0])
    scale = min(division.scale, LARGEST * stage.height / high, LARGEST * stage.width / wide)
    if card.width:
        scale = min(scale, card.width / wide, card.height / high)
        return Box(card.x, card.y, wide * scale, high * scale)
    inner, is_late = division.inner, 2 * found[0].after > len(frame_data.layout.neurons)
    left = inner.right - wide * scale
    left = 0.5 * (inner.x + left) if is_late else left  # right of IN
    return Box(left, stage.bottom - high * scale - MARGIN, wide * scale, high * scale)


def size_of(fan: Fan) -> tuple[float, float]:
    """Return the width and height of the card in pixels."""
    rows: int = -(-min(PAIRS, fan.inputs) // COLUMNS)
    return 2.0 * PAD + COLUMNS * WIDE, TITLE + rows * HIGH + FOOT


def draw_tray(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, box: Box, theme: Theme
) -> list[tuple[Box, int]]:
    """Draw the card of the hovered or pinned neuron; return boxes and bank indices of its cubes.

    The result is empty if there is no such neuron.
    """
    layout: Layout = frame_data.layout
    found = tray_of(frame_data)
    if found is None:
        return []
    fan: Fan = found[0]
    unit: int = found[1]
    scale: float = box.width / (2.0 * PAD + COLUMNS * WIDE)
    size: float = LETTERS * max(scale, 1.0)
    left: float = box.x + PAD * scale
    target = box_of_neuron(see, layout, (layout.neurons[fan.after].values, unit))
    if target is not None:
        start, end = target.shortest(box)
        canvas.segments([start], [end], theme.lit, width=1.3 * scale)
    canvas.box(
        box.x, box.y, box.width, box.height, theme.panel[:7],
        radius=10.0 * scale, outline=theme.rim,
    )  # fmt: skip
    title, ink = text("tray.title", count=fan.inputs), theme.ink
    room, base = box.right - left, box.y + 26.0 * scale
    canvas.text(left, base, title, size=size, color=ink, bold=True, room=room)
    weights = [float(frame_data.weights[row]) for row in fan.rows_of(unit)]
    known = [each if each == each else 0.0 for each in weights]
    order = sorted(range(fan.inputs), key=lambda column: -abs(known[column]))[:PAIRS]
    cubes: CubeValues = frame_data.cubes
    tops = [*[float(each) for each in cubes.size_scales], 0.0]
    top = max(tops) or abs(known[order[0]]) or 1.0
    drawn: list[tuple[float, float, float, float]] = []
    places: list[tuple[Box, int]] = []
    chosen = chosen_rows(frame_data)
    for number, column in enumerate(order):
        down, right = divmod(number, COLUMNS)
        x: float = left + right * WIDE * scale
        y: float = box.y + (TITLE + down * HIGH) * scale
        row = fan.row_of(unit, column)
        middle: float = x + 47.0 * scale
        share: float = min(1.0, max(-1.0, known[column] / top))
        drawn.append((middle, y + 30.0 * scale, CUBE * scale, share))
        own = Box(x, y, 0.95 * WIDE * scale, SQUARE * scale)
        places.append((own, row))
        if row in chosen:
            bracket(canvas, own, theme.lit)
        if number < WRITTEN or row in chosen:
            words, color = typeset(short(weights[column])), theme.map(share)
            foot = y + 43.0 * scale
            canvas.text(middle, foot, words, size=size, anchor="center", color=color, bold=True)
    corners = [(own.x, own.y) for own, _ in places]
    line = layout.neurons[fan.before]
    draw_inputs(canvas, line, order, corners, SQUARE * scale, frame_data, theme)
    draw_cubes(canvas, drawn, theme)
    rest = fan.inputs - len(order)
    words = text("tray.rest", count=rest) if rest else ""
    words += text("tray.bias") if fan.biases != NONE else ""
    canvas.text(left, box.bottom - 14.0 * scale, words, size=size, color=theme.quiet)
    return places


def tray_of(frame_data: FrameData) -> tuple[Fan, int] | None:
    """Return the layer without cubes and its unit that is hovered or pinned, or None."""
    layout: Layout = frame_data.layout
    found = [layout.fan_into(each) for each in chosen_neurons(frame_data)]
    found += [layout.fan_of(row) for row in chosen_rows(frame_data)]
    return next((each for each in found if each is not None and each[0].is_direct), None)
