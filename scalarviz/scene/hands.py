"""Marks drawn while the user drags a weight or an input: previous values and products.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import short, typeset
from scalarviz.scene.annotations import Ball, draw_before
from scalarviz.story.facts import NONE

if TYPE_CHECKING:
    from scalarviz.scene.canvas.canvas2d import Canvas2D, Color
    from scalarviz.scene.canvas.palette import Theme
    from scalarviz.scene.layout.camera import Box
    from scalarviz.scene.layout.plates import Layout

LETTERS, LARGE = 12.0, 14.0  # pixels of letters
RING, NARROW, CORNERS = 9.0, 4.5, 24  # pixels from a ball to its ring, also below a name; corners
ABOVE, BELOW, UNDER = (
    8.0,
    16.0,
    34.0,
)  # pixels: over a cube, below a ring, and from feet to products
MOST_ROWS = 400  # maximum lit rows
MOST_MARKED, MOST_GIVEN = 8, 4  # neurons of a layer with rings, with products


def lines_held(layout: Layout, row: int, neuron: Any) -> list[tuple[int, list[int]]]:
    """Return the layers whose results change when a weight or an input is dragged.

    Each layer is given by its index, with the units before it whose outputs change.
    """
    line, units = NONE, [0]
    found = layout.fan_of(row)
    if found is not None:
        line, units = found[0].after, [found[1]]
    for number, each in enumerate(layout.neurons):
        if neuron is not None and neuron[0] in each.buffers:
            line, units = number, [neuron[1]]
    lines: list[tuple[int, list[int]]] = []
    for number, fan in enumerate(layout.fans):
        if fan.before == line:
            lines.append((number, units))
            line, units = fan.after, list(range(fan.units))
    return lines


def rows_held(layout: Layout, row: int, neuron: Any) -> list[int]:
    """Return the bank indices to highlight: the dragged weight and all that its change reaches."""
    rows = [] if row == NONE else [row]
    for number, units in lines_held(layout, row, neuron):
        fan = layout.fans[number]
        for unit in range(fan.units):
            rows += [fan.row_of(unit, column) for column in units]
    return rows[:MOST_ROWS]


def draw_change(canvas: Canvas2D, theme: Theme, box: Box, old: float, new: float) -> None:
    """Write a number before and after a change, above the box of its cube."""
    before, middle = f"{typeset(short(old))} → ", box.x + 0.5 * box.width
    y, colors = box.y - ABOVE * canvas.scale, (theme.former, theme.ink, theme.ground)
    write_both(canvas, (middle, y), before, new, LARGE, colors)


def write_both(
    canvas: Canvas2D,
    place: tuple[float, float],
    before: str,
    new: float,
    letters: float,
    colors: tuple[Color, Color, Color],
) -> None:
    """Write the words before a change and the number after it, centered.

    Args:
        colors: colors of both and of their halo
    """
    size, now = letters * canvas.scale, typeset(short(new))
    wide = canvas.measure(before, size=size), canvas.measure(now, size=size, bold=True)
    x, y = place[0] - 0.5 * (wide[0] + wide[1]), place[1]
    canvas.text(x, y, before, size=size, color=colors[0], outline=colors[2])
    canvas.text(x + wide[0], y, now, size=size, color=colors[1], bold=True, outline=colors[2])


def draw_ring(
    canvas: Canvas2D,
    theme: Theme,
    ball: Ball,
    was: float,
    *,
    square: bool,
    named: bool,
    below: int,
    aside: bool,
) -> None:
    """Draw a dashed ring around a neuron that changes, and its previous value below.

    Args:
        named: whether the name of the neuron is directly above it
        below: lines of other words below it
        aside: whether the value is rather to the right, since another neuron is closely below
    """
    reach = ball.radius + (NARROW if square or named else RING) * canvas.scale
    turns = [2.0 * math.pi * i / CORNERS for i in range(CORNERS)]
    points = [(ball.x + reach * math.cos(a), ball.y + reach * math.sin(a)) for a in turns]
    if square:
        points = [(ball.x + i * reach, ball.y + j * reach) for i in (-1, 1) for j in (-1, 1)]
    draw_before(canvas, theme, points)
    size, low = LETTERS * canvas.scale, ball.y + reach + BELOW * canvas.scale
    low += 1.35 * below * size
    said, halo = text("held.was", number=typeset(short(was))), theme.ground
    if aside:
        x, low = ball.x + reach, ball.y + reach
        canvas.text(x, low, said, size=size, color=theme.soft, outline=halo)
    else:
        canvas.text(ball.x, low, said, size=size, color=theme.soft, anchor="center", outline=halo)


def draw_gives(
    canvas: Canvas2D,
    theme: Theme,
    foot: tuple[float, float],
    products: tuple[float, float],
    signs: Sequence[Color],
) -> None:
    """Write the product of a weight before and after a change, below its cube."""
    before = f"{text('held.gives')} {typeset(short(products[0]))} → "
    place, hue = (foot[0], foot[1] + UNDER * canvas.scale), signs[0 if products[1] < 0.0 else 1]
    write_both(canvas, place, before, products[1], LETTERS, (theme.soft, hue, theme.ground))
