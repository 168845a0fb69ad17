"""Call-outs on the first row: what comes in, a weight, the bias, the sum, a column and a row.

Of plain numbers: pages have it in JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scalarviz.base.texts import text
from scalarviz.scene.layout.camera import Box, Camera
from scalarviz.scene.layout.ways import Point, SeenFan, above_band, wire

if TYPE_CHECKING:
    from scalarviz.scene.canvas.canvas2d import Canvas2D
    from scalarviz.scene.canvas.palette import Theme

LETTERS, DOT = 12.0, 2.2  # pixels of letters, and radius of the dot at the end of a line
APART, LINE = 14.0, 17.0  # pixels between two words side by side, and from a line to the next
LIFT = 1.0  # lines by which words are higher where squares have words also
LEAST = 45.0, 36.0  # pixels of a cell, and from cube to cube, from which on they come unasked
PRODUCTS = 20.0  # pixels from the feet of cubes to where their products have run
FAINT = "99"  # alpha of a line


def is_called(fan: SeenFan, scale: float, camera: Camera, *, asked: bool) -> bool:
    """Return whether a first layer has call-outs: where there is room, while nobody has turned the
    picture, and if someone has `asked` for them.
    """
    if not (asked or camera.is_front):
        return False
    has_room = fan.cell >= LEAST[0] * scale and fan.slot >= LEAST[1] * scale
    return not fan.tiled and (asked or has_room)


def draw_first_row(
    canvas: Canvas2D,
    theme: Theme,
    fans: Sequence[SeenFan],
    tops: Sequence[float],
    view: Box,
) -> list[Box]:
    """Draw call-outs; return the boxes of their words.

    fans   the layers in rows
    tops   of the cubes of the first row
    view   where words may stand
    """
    first, scale, size = fans[0], canvas.scale, LETTERS * canvas.scale
    (gate, level), feet, last = first.gates[0], first.feet[0], len(first.feet[0]) - 1
    y, apart = above_band(first) - (LIFT * LINE * scale if first.square else 0.0), APART * scale
    y = max(y, view.y + size)
    found: list[Box] = []
    has_bias = last == first.count
    shown = min(1, first.count - 1)
    bias, weight = text("first_row.bias"), text("first_row.weight")
    wide = canvas.measure(weight, size=size)
    right = feet[shown][0] + 0.5 * wide
    left = feet[last][0] - 0.5 * canvas.measure(bias, size=size)
    right = min(right, left - apart) if has_bias else right
    right = max(right, view.x + wide)
    found.append(
        call_out(canvas, theme, weight, (right - wide, y), (feet[shown][0], tops[shown])),
    )
    if has_bias:
        left = max(left, right + apart)
        found.append(call_out(canvas, theme, bias, (left, y), (feet[last][0], tops[last])))
        right = found[1].right
    place = max(gate - first.half_gate, right + apart), y
    end = gate, level - first.half_gate
    found.append(call_out(canvas, theme, text("first_row.sum"), place, end))
    said, x = text("first_row.comes"), first.column(0)
    left = max(view.x + 8.0 * scale, x - canvas.measure(said, size=size))
    found.append(
        call_out(canvas, theme, said, (left, y + 2.4 * LINE * scale), (x, feet[0][1] - first.arm))
    )
    x, middle, radius = first.ends[0]
    place = x + radius + 24.0 * scale, y + 1.6 * LINE * scale
    if first.square and (len(fans) < 2 or fans[1].top > place[1] + LINE * scale):
        end = x + radius, max(middle - 0.8 * radius, place[1] + 4.0 * scale)
        found.append(call_out(canvas, theme, text("first_row.tile"), place, end))
    return found + draw_last(canvas, theme, fans[len(fans) - 1], view)


def draw_last(canvas: Canvas2D, theme: Theme, fan: SeenFan, view: Box) -> list[Box]:
    """Draw what a column and a row of the last layer are; return the boxes of the words."""
    scale, size = canvas.scale, LETTERS * canvas.scale
    found: list[Box] = []
    if len(fan.ends) == 1:  # a single neuron is explained by what stands around it
        return found
    if fan.form == "nested" and fan.wired:
        x, run = wire(fan, 0)[3]
        y = above_band(fan) - 2.0 * LINE * scale
        said, place = text("first_row.column"), (x + 20.0 * scale, y + 0.36 * size)
        if place[0] + canvas.measure(said, size=size) <= view.right:
            end = x, max(y, run + 4.0 * scale)
            found.append(call_out(canvas, theme, said, place, end))
    middle = len(fan.ends) // 2
    x, y, radius = fan.ends[middle]
    said, low = text("first_row.row"), max(y + radius, fan.feet[middle][0][1] + PRODUCTS * scale)
    low += 2.0 * LINE * scale
    wide = canvas.measure(said, size=size)
    if low < view.bottom:
        place = x - 8.0 * scale - wide, low
        found.append(call_out(canvas, theme, said, place, (x, y + radius)))
    return found


def call_out(canvas: Canvas2D, theme: Theme, said: str, place: Point, end: Point) -> Box:
    """Write words, with a line to what they name; return their box.

    place  where the first line of the words begins; `end`, where the line ends
    """
    (x, y), size, scale = place, LETTERS * canvas.scale, canvas.scale
    lines = said.split("\n")
    wide = canvas.measure(said, size=size)
    low = y + LINE * scale * (len(lines) - 1)
    box = Box(x, y - 0.9 * size, wide, low - y + 1.2 * size)
    for i, line in enumerate(lines):
        canvas.text(x, y + i * LINE * scale, line, size=size, color=theme.lit, outline=theme.ground)
    start, _ = box.shortest(Box(end[0], end[1], 0.0, 0.0))
    dot = DOT * scale
    canvas.line([start, end], theme.lit + FAINT, width=1.1 * scale)
    canvas.box(end[0] - dot, end[1] - dot, 2.0 * dot, 2.0 * dot, theme.lit, radius=dot)
    return box
