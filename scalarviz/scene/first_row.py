"""Call-outs on the first row: what comes in, a weight, the bias, a column; of each layer a sum.

Of plain numbers: pages have it in JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scalarviz.base.texts import row_text, text
from scalarviz.base.texts.decimals import short, typeset
from scalarviz.scene.layout.camera import Box, Camera
from scalarviz.scene.layout.ways import (
    CURVED,
    FEW,
    OpenRow,
    Point,
    SeenFan,
    above_band,
    alone_in,
    on_curve,
    wire,
)

if TYPE_CHECKING:
    from scalarviz.scene.canvas.canvas2d import Canvas2D
    from scalarviz.scene.canvas.palette import Theme

LETTERS, DOT = 12.0, 2.2  # pixels of letters, and radius of the dot at the end of a line
APART, LINE = 14.0, 17.0  # pixels between two words side by side, and from a line to the next
OVER = 4.0  # pixels from the box of the network up to the highest words
LIFT = 1.0  # lines by which words are higher where squares have words also
LEAST = 45.0, 24.0  # pixels of a cell, and from cube to cube, from which on they come unasked
SUMS, GAP, MOST_ENDS = 52.0, 8.0, 5  # pixels from feet to the sum of a row, and that it is right
# of its neuron; most neurons of a layer whose columns are named
PRODUCTS = 20.0  # pixels from the feet of cubes to where their products have run
HEADED = 26.0  # pixels from cube to cube, from which on columns have heads
FAINT = "99"  # alpha of a line
DIGITS, LAST = (2, 3, 4, 5), 0.01  # of factors; by how much the others may differ in print
HALF = 1e-6  # from a half, which may be rounded either way
GRAPH, BESIDE, ABOVE = (92.0, 40.0), 56.0, 16.0  # pixels of the graph of a curve, from words to it,
# and from its top to their line


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
    rows: Sequence[OpenRow],
    tops: Sequence[float],
    top: float,
    view: Box,
) -> list[Box]:
    """Draw call-outs; return the boxes of their words.

    Args:
        fans: the layers in rows
        rows: of each layer the one whose sum is written: the first one, behind it the last ones
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
    forms = sum_forms(rows[0], closed_sum(rows[0], shown_in(first, rows[0])))
    forms = [each for each in forms if len(each) < 3]
    signs = ("; ", "\n") if has_tile else ("\n", "; ")
    shapes = [sign.join(each) for each in forms for sign in signs]
    fits = [each for each in shapes if place[0] + canvas.measure(each, size=size) <= view.right]
    said = fits[0] if len(fits) > 0 else shapes[len(shapes) - 1]
    below = call_out(canvas, theme, said, place, (gate, level - first.half_gate))
    found.append(below)
    said, down = text("first_row.comes"), first.column(0)
    left = max(edge, down - canvas.measure(said, size=size))
    place, end = (left, y + 1.3 * LINE * scale), (down, feet[0][1] - first.arm)
    found.append(call_out(canvas, theme, said, place, end))
    place = x + radius + 24.0 * scale, below.bottom + LINE * scale
    is_free = len(fans) < 2 or (fans[1].form != "long" and fans[1].top > place[1] + LINE * scale)
    if has_tile and is_free:
        end = x + radius, max(middle - 0.8 * radius, place[1] + 4.0 * scale)
        found.append(call_out(canvas, theme, text("first_row.tile"), place, end))
    taken = [box for fan in fans for box in boxes_of(fan)]
    right = max([each.right for each in found]) + 1.0
    high = max(y - ABOVE * scale, view.y + 2.0)
    graph = Box(right + BESIDE * scale, high, GRAPH[0] * scale, GRAPH[1] * scale)
    around = Box(right, graph.y, graph.right - right, graph.height + 1.5 * size)
    is_free = around.right < view.right and not any(around.meets(each) for each in taken)
    if len(rows[0].bends) > 2 and is_free:
        draw_graph(canvas, theme, graph, rows[0])
        found.append(around)
    for i in range(1, len(fans)):
        draw_heads(canvas, theme, fans[i], rows[i].comes)
        if fans[i].form == "nested" and not fans[i].tiled:
            own = draw_column(canvas, theme, fans[i], view) if i == len(fans) - 1 else []
            found += own + draw_sum(canvas, theme, fans[i], rows[i], view, [*taken, *found])
    return found


def boxes_of(fan: SeenFan) -> list[Box]:
    """Return the boxes of the neurons behind a layer, of its rows, and of the wires to its rows."""
    rim, low = 0.5 * GAP * fan.scale, max([y for feet in fan.feet for _, y in feet])
    right = max([x + radius for x, _, radius in fan.ends])
    found = [Box(fan.left, fan.top, right - fan.left, low + PRODUCTS * fan.scale - fan.top)]
    for column in range(fan.count if fan.form == "nested" and fan.wired else 0):
        start, _, lane, down = wire(fan, column)
        high = lane[1] - rim
        found.append(Box(start[0], high, lane[0] + rim - start[0], start[1] + rim - high))
        found.append(Box(lane[0], high, down[0] - lane[0], 2.0 * rim))
    return found


def draw_graph(canvas: Canvas2D, theme: Theme, box: Box, row: OpenRow) -> None:
    """Draw a curve with its axes, on it the point of a neuron, and beside them its two numbers."""
    scale, size, last = canvas.scale, LETTERS * canvas.scale, len(row.bends) - 1
    axes = [(box.x, box.y), (box.x, box.bottom), (box.right, box.bottom)]
    canvas.line(axes, theme.quiet, width=scale)
    places = [(2.0 * i / last - 1.0, bend) for i, bend in enumerate(row.bends)]
    points = [
        (box.x + 0.5 * box.width * (1.0 + x), box.y + 0.5 * box.height * (1.0 - y))
        for x, y in [*places, on_curve(row.bends, row.result)]
    ]
    x, y = points[last + 1]
    canvas.line(points[: last + 1], theme.ink, width=CURVED * scale)
    canvas.line([(box.x, y), (x, y), (x, box.bottom)], theme.lit + FAINT, width=scale)
    draw_dot(canvas, theme, (x, y), 1.6 * DOT * scale)
    said, says = short(row.result), short(row.says)
    low, left = box.bottom + 1.2 * size, box.x - 5.0 * scale
    canvas.text(x, low, said, size=size, color=theme.lit, anchor="center")
    canvas.text(left, y + 0.36 * size, says, size=size, color=theme.lit, anchor="right")


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


def shown_in(fan: SeenFan, row: OpenRow) -> list[int]:
    """Return the columns of a row whose products are written, from left to right.

    They are those that have strands of their own; of a row of few all.
    """
    shown = list(range(len(row.terms)))
    if len(row.terms) > FEW:
        shown = alone_in([abs(term) for term in row.terms], row.largest)
    return sorted(shown, key=lambda column: fan.feet[row.unit][column][0])


def factor(value: float, digits: int) -> str:
    """Return a number with some digits, or with two, if the others are zeros."""
    words, few = short(value, digits), short(value)
    return few if number_of(words) == number_of(few) else words


def number_of(words: str) -> float:
    """Return the number that `short` wrote."""
    return float(words.replace(",", ""))


def closed_sum(row: OpenRow, shown: Sequence[int]) -> list[str]:
    """Return some products of a row as they are written, then all others added; "" for no others.

    They have as few digits as make them add up in print; if none do, there is nothing. The others
    are what is missing to the sum in print, if that is what they add up to but for the last digit.
    """
    rest, total = [i for i in range(len(row.terms)) if i not in shown], short(row.result)
    for digits in DIGITS:
        words: list[str] = []
        found, others = 0.0, ""
        for i in shown:
            comes, weight = factor(row.comes[i], digits), factor(row.weights[i], digits)
            words.append(f"{comes} × {weight}" if i < row.inputs else f"b {weight}")
            found += number_of(comes) * number_of(weight)
        if len(rest) > 0:
            others = short(number_of(total) - found)
            found += number_of(others)
            if abs(number_of(others) - sum([row.terms[i] for i in rest])) > LAST:
                continue
        if short(found - HALF) == total and short(found + HALF) == total:
            return [*words, others]
    return []


def sum_forms(row: OpenRow, words: Sequence[str]) -> list[list[str]]:
    """Return the lines that say what adds up in a row and what the curve makes of it.

    The longest ones come first, with products; those at the end have the sum alone.

    Args:
        words: of `closed_sum`
    """
    total, says = short(row.result), short(row.says)
    bend = row_text(f"first_row.bend.{row.curve}", text("first_row.bend"))
    is_s, turns = row.curve in ("tanh", "sigmoid"), bend
    if is_s or (row.says != 0.0 and says != total):
        turns = text("first_row.turns.s" if is_s else "first_row.turns", sum=total, result=says)
    elif row.result > 0.0:
        turns = text("first_row.stays", sum=total)
    is_bent, added = len(row.bends) > 2, text("first_row.sum", sum=total)
    forms = [[added, bend], [added]] if is_bent else [[added]]
    if len(words) == 0:
        return forms
    products, others = [*words[: len(words) - 1]], words[len(words) - 1]
    if others != "":
        count = len(row.terms) - len(products)
        products.append(text("first_row.others", count=count, sum=others))
    half = (len(products) + 1) // 2
    first, last = " + ".join(products[:half]), " + ".join(products[half:])
    ends = f"+ {last} = {total}" if last != "" else f"= {total}"
    bent = [turns] if is_bent else []
    return [[f"{first} {ends}", *bent], [first, ends, *bent], *forms]


def draw_sum(
    canvas: Canvas2D,
    theme: Theme,
    fan: SeenFan,
    row: OpenRow,
    view: Box,
    taken: Sequence[Box],
) -> list[Box]:
    """Write below the last row of a layer what adds up in it; return the boxes of the words.

    Args:
        taken: boxes of which the words keep clear
    """
    scale, size = canvas.scale, LETTERS * canvas.scale
    feet, (x, y), (rim, _, radius) = fan.feet[row.unit], fan.gates[row.unit], fan.ends[row.unit]
    shown, found = shown_in(fan, row), [*taken]
    words, rest = closed_sum(row, shown), [i for i in range(len(feet)) if i not in shown]
    begin, low = min([foot[0] for foot in feet]) - 0.5 * fan.slot, feet[0][1] + SUMS * scale
    if len(rest) > 0 and len(words) > 0:
        left = min([feet[i][0] for i in rest])
        said = text("first_row.rest", count=len(rest), sum=words[len(shown)])
        place = left + 14.0 * scale, feet[0][1] + (PRODUCTS + LINE) * scale
        if place[0] + canvas.measure(said, size=size) < x:  # left of the line to the gate
            end = left + 6.0 * scale, place[1] - LINE * scale
            found.append(call_out(canvas, theme, said, place, end))
    named = f"{text('first_row.row')}; " if len(fan.ends) > 1 else ""
    for lines in sum_forms(row, words):
        said = "\n".join([*lines[: len(lines) - 1], f"{named}{lines[len(lines) - 1]}"])
        wide, high = canvas.measure(said, size=size), (len(lines) - 1) * LINE * scale + 1.2 * size
        for left in (rim + radius + GAP * scale - wide, begin):
            box = Box(left, low - 0.9 * size, wide, high)
            is_in = box.x >= view.x and box.right <= view.right and box.bottom < view.bottom
            if is_in and not any(box.meets(each) for each in found):
                found.append(call_out(canvas, theme, said, (left, low), (x, y + fan.half_gate)))
                return found[len(taken) :]
    return found[len(taken) :]


def draw_column(canvas: Canvas2D, theme: Theme, fan: SeenFan, view: Box) -> list[Box]:
    """Draw what a column of a layer is; return the box of the words."""
    scale, size = canvas.scale, LETTERS * canvas.scale
    if not fan.wired or not 1 < len(fan.ends) <= MOST_ENDS:
        return []
    x, run = wire(fan, 0)[3]
    y = above_band(fan) - 2.0 * LINE * scale
    said, place = text("first_row.column"), (x + 20.0 * scale, y + 0.36 * size)
    if place[0] + canvas.measure(said, size=size) > view.right:
        return []
    return [call_out(canvas, theme, said, place, (x, max(y, run + 4.0 * scale)))]


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
    canvas.line([start, end], theme.lit + FAINT, width=1.1 * scale)
    draw_dot(canvas, theme, end, DOT * scale)
    return box


def draw_dot(canvas: Canvas2D, theme: Theme, place: Point, radius: float) -> None:
    """Draw a dot around a point."""
    x, y = place
    canvas.box(x - radius, y - radius, 2.0 * radius, 2.0 * radius, theme.lit, radius=radius)
