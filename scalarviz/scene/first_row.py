"""Call-outs on the first row: what comes in, a weight, the bias, the sum, a column and a row.

Of plain numbers: pages have it in JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scalarviz.base.texts import row_text, text
from scalarviz.base.texts.decimals import short, typeset
from scalarviz.scene.layout.camera import Box, Camera
from scalarviz.scene.layout.ways import FEW, Point, SeenFan, above_band, alone_in, wire

if TYPE_CHECKING:
    from scalarviz.scene.canvas.canvas2d import Canvas2D
    from scalarviz.scene.canvas.palette import Theme

LETTERS, DOT = 12.0, 2.2  # pixels of letters, and radius of the dot at the end of a line
APART, LINE = 14.0, 17.0  # pixels between two words side by side, and from a line to the next
OVER = 4.0  # pixels from the box of the network up to the highest words
LIFT = 1.0  # lines by which words are higher where squares have words also
LEAST = 45.0, 24.0  # pixels of a cell, and from cube to cube, from which on they come unasked
SUMS, GAP, MOST_ENDS = 52.0, 8.0, 5  # pixels from feet to the sum of a last neuron, and that it is
# right of that; most with a sum
PRODUCTS = 20.0  # pixels from the feet of cubes to where their products have run
HEADED = 26.0  # pixels from cube to cube, from which on columns have heads
FAINT = "99"  # alpha of a line


def is_called(fan: SeenFan, scale: float, camera: Camera, *, asked: bool) -> bool:
    """Return whether a first layer has call-outs.

    It has them if there is room and nobody has turned the picture, or if someone `asked` for them.
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
    curves: Sequence[str],
    terms: Sequence[Sequence[Sequence[float]]],
    heads: Sequence[Sequence[float]],
    top: float,
    view: Box,
) -> list[Box]:
    """Draw call-outs; return the boxes of their words.

    Args:
        fans: the layers in rows
        curves: names of the activations behind the first one and the last one
        terms: the products of their rows
        heads: what the columns of each layer carry
        tops: of the cubes of the first row
        top: of the box of the network
        view: where words may stand
    """
    first, scale, size = fans[0], canvas.scale, LETTERS * canvas.scale
    (gate, level), feet, last = first.gates[0], first.feet[0], len(first.feet[0]) - 1
    x, middle, radius = fans[1].starts[0] if len(fans) > 1 else first.ends[0]
    has_tile = first.square or radius > first.ends[0][2]
    y, apart = above_band(first) - (LIFT * LINE * scale if has_tile else 0.0), APART * scale
    y = max(y, top - OVER * scale)
    found: list[Box] = []
    has_bias = last == first.count
    shown = min(1, first.count - 1)
    bias, weight = text("first_row.bias"), text("first_row.weight")
    wide = canvas.measure(weight, size=size)
    right = feet[shown][0] + 0.5 * wide
    left = feet[last][0] - 0.5 * canvas.measure(bias, size=size)
    right = min(right, left - apart) if has_bias else right
    edge = view.x + 8.0 * scale
    right = max(right, edge + wide)
    found.append(
        call_out(canvas, theme, weight, (right - wide, y), (feet[shown][0], tops[shown])),
    )
    if has_bias:
        left = max(left, right + apart)
        found.append(call_out(canvas, theme, bias, (left, y), (feet[last][0], tops[last])))
        right = found[1].right
    place = max(gate - first.half_gate, right + apart), y
    end = gate, level - first.half_gate
    said = "; ".join(sum_words(terms[0][0], curves[0]))
    found.append(call_out(canvas, theme, said, place, end))
    said, down = text("first_row.comes"), first.column(0)
    left = max(edge, down - canvas.measure(said, size=size))
    place, end = (left, y + 1.3 * LINE * scale), (down, feet[0][1] - first.arm)
    found.append(call_out(canvas, theme, said, place, end))
    place = x + radius + 24.0 * scale, y + 1.2 * LINE * scale
    is_free = len(fans) < 2 or (fans[1].form != "long" and fans[1].top > place[1] + LINE * scale)
    if has_tile and is_free:
        end = x + radius, max(middle - 0.8 * radius, place[1] + 4.0 * scale)
        found.append(call_out(canvas, theme, text("first_row.tile"), place, end))
    for i in range(1, len(fans)):
        draw_heads(canvas, theme, fans[i], heads[i])
    last_fan = fans[len(fans) - 1]
    return found + draw_last(canvas, theme, last_fan, terms[1], curves[1], view)


def draw_heads(canvas: Canvas2D, theme: Theme, fan: SeenFan, values: Sequence[float]) -> None:
    """Write what each column carries where its wire comes down."""
    scale, size = canvas.scale, LETTERS * canvas.scale
    if fan.form != "nested" or not fan.wired or fan.slot < HEADED * scale:
        return
    for column in range(fan.count):
        x, _ = wire(fan, column)[3]
        said = typeset(short(values[column]))
        wide = canvas.measure(said, size=size)
        left, y = x - 0.5 * wide, fan.top - 0.5 * size
        canvas.box(left - 2.0 * scale, y - size, wide + 4.0 * scale, 1.3 * size, theme.panel[:7])
        canvas.text(left, y, said, size=size, color=theme.lit)


def sum_words(row: Sequence[float], curve: str) -> list[str]:
    """Return what the products of a row add up to, and what a curve makes of it."""
    bend = row_text(f"first_row.bend.{curve}", text("first_row.bend"))
    return [text("first_row.sum", sum=short(sum(row))), bend]


def draw_last(
    canvas: Canvas2D,
    theme: Theme,
    fan: SeenFan,
    terms: Sequence[Sequence[float]],
    curve: str,
    view: Box,
) -> list[Box]:
    """Draw what a column and a row of the last layer are; return the boxes of the words."""
    scale, size = canvas.scale, LETTERS * canvas.scale
    found: list[Box] = []
    if fan.form != "nested" or len(fan.ends) > MOST_ENDS:
        return found
    feet = fan.feet[0]
    if len(fan.ends) == 1:
        x, y = fan.gates[0]
        said = "\n".join(sum_words(terms[0], curve))
        right = fan.ends[0][0] + fan.ends[0][2] + GAP * scale
        place = right - canvas.measure(said, size=size), feet[0][1] + SUMS * scale
        if place[1] + LINE * scale < view.bottom:
            found.append(call_out(canvas, theme, said, place, (x, y + fan.half_gate)))
        return found
    sizes = [[abs(term) for term in row] for row in terms]
    alone = alone_in(sizes[0], max([max(row) for row in sizes]))
    rest = [i for i in range(len(feet)) if i not in alone]
    if len(feet) > FEW and len(rest) > 0:
        left, amount = min([feet[i][0] for i in rest]), sum([terms[0][i] for i in rest])
        said = text("first_row.rest", count=len(rest), sum=short(amount))
        place = left + 14.0 * scale, feet[0][1] + (PRODUCTS + LINE) * scale
        found.append(
            call_out(canvas, theme, said, place, (left + 6.0 * scale, place[1] - LINE * scale))
        )
    if fan.wired:
        x, run = wire(fan, 0)[3]
        y = above_band(fan) - 2.0 * LINE * scale
        said, place = text("first_row.column"), (x + 20.0 * scale, y + 0.36 * size)
        if place[0] + canvas.measure(said, size=size) <= view.right:
            end = x, max(y, run + 4.0 * scale)
            found.append(call_out(canvas, theme, said, place, end))
    middle = len(fan.ends) // 2
    x, y, radius = fan.ends[middle]
    said = f"{text('first_row.row')}; " + "\n".join(sum_words(terms[middle], curve))
    low = max(y + radius, fan.feet[middle][0][1] + PRODUCTS * scale)
    low += 2.0 * LINE * scale
    wide = canvas.measure(said, size=size)
    if low < view.bottom:
        place = x - 8.0 * scale - wide, low
        found.append(call_out(canvas, theme, said, place, (x, y + radius)))
    return found


def call_out(canvas: Canvas2D, theme: Theme, said: str, place: Point, end: Point) -> Box:
    """Write words, with a line to what they name; return their box.

    Args:
        place: where the first line of the words begins; `end`, where the line ends
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
