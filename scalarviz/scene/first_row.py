"""Call-outs that explain the first row: an input, a weight, the bias, a column and the sums.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import short, typeset
from scalarviz.scene.layout.camera import Box, Camera
from scalarviz.scene.layout.ways import (
    FEW,
    REACH,
    OpenRow,
    Point,
    SeenFan,
    above_band,
    alone_in,
    wire,
)
from scalarviz.scene.side_panel import draw_curve
from scalarviz.story.caption import Bent
from scalarviz.story.panel_words import in_print

if TYPE_CHECKING:
    from scalarviz.scene.canvas.canvas2d import Canvas2D, Color
    from scalarviz.scene.canvas.palette import Theme
    from scalarviz.scene.frame_data import FrameData

LETTERS, DOT = 12.0, 2.2  # letter size, and radius of the dot at the end of a line, in pixels
APART, LINE = 14.0, 17.0  # pixels between two words side by side, and line spacing
OVER = 4.0  # pixels from the box of the network up to the highest words
LIFT = 1.0  # lines by which words are raised if squares also have words
LEAST = 45.0, 24.0  # minimum pixels of a cell, and between cubes, for automatic call-outs
PAD = 6.0  # pixels around the sum of a hovered row
SUMS, GAP, MOST_ENDS = 52.0, 8.0, 5  # pixels from feet to the sum of a row, and offset to the right
# of its neuron; maximum neurons of a layer with named columns
PRODUCTS = 20.0  # pixels from the feet of cubes to the ends of their products
HEADED = 26.0  # minimum pixels between cubes for column headings
AROUND = 16.0  # pixels around the network available for words
FAINT = "99"  # alpha of a line
S_SHAPED = "tanh", "sigmoid"
DIGITS, LAST = (2, 3, 4, 5), 0.01  # of factors; tolerated difference of the rest in print
HALF = 1e-6  # distance from a half, which may be rounded either way
GRAPH, ABOVE, HIGHEST = (164.0, 56.0), 22.0, 14.0  # pixels of the graph of a curve, from its top
# to the line of words, and at most up from the box of the network


def is_called(fan: SeenFan, scale: float, camera: Camera, *, asked: bool) -> bool:
    """Return whether call-outs are drawn for the first layer.

    They are drawn if they fit and the view is not rotated, or if the user `asked` for them.
    """
    if not (asked or camera.is_front):
        return False
    has_room = fan.cell >= LEAST[0] * scale and fan.slot >= LEAST[1] * scale
    return not fan.tiled and (asked or has_room)


def calls_out(fan: SeenFan, scale: float, camera: Camera, frame_data: FrameData) -> bool:
    """Return whether the first layer has call-outs at present."""
    asked = frame_data.marks or fan.cell >= frame_data.named * scale
    return frame_data.names_row and is_called(fan, scale, camera, asked=asked)


def draw_first_row(
    canvas: Canvas2D,
    theme: Theme,
    fans: Sequence[SeenFan],
    rows: Sequence[OpenRow],
    tops: Sequence[float],
    signs: tuple[Color, Color],
    box: Box,
    words: Sequence[Box],
) -> list[Box]:
    """Draw the call-outs; return the boxes of their texts.

    Args:
        fans: the layers that are drawn in rows
        rows: for each layer, the row whose sum is written: the first row of the first layer, the
            last row of others
        tops: upper edges of the cubes in the first row
        signs: colors of negative and positive numbers
        box: bounding box of the network
        words: boxes of other labels, which the sums do not overlap
    """
    first, scale, size = fans[0], canvas.scale, LETTERS * canvas.scale
    view = box.inside(-AROUND)
    is_table = len(fans) > 1 and fans[1].form == "upright"  # with its own words at the top
    limit = fans[1].first if is_table else view.right
    (gate, level), feet, last = first.gates[0], first.feet[0], len(first.feet[0]) - 1
    x, middle, radius = fans[1].starts[0] if len(fans) > 1 else first.ends[0]
    has_tile = first.square or radius > first.ends[0][2]
    y, apart = above_band(first) - (LIFT * LINE * scale if has_tile else 0.0), APART * scale
    y = max(y, box.y - OVER * scale)
    found: list[Box] = []
    has_bias = last == first.count
    shown = min(1, first.count - 1)
    bias, weight = text("first_row.bias"), text("first_row.weight")
    wide = canvas.measure(weight, size=size)
    right = feet[shown][0] + 0.5 * wide
    left = feet[last][0] - 0.5 * canvas.measure(bias, size=size)
    right = min(right, left - apart) if has_bias else right
    edge = box.x - 8.0 * scale
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
    between = ("; ", "\n") if has_tile else ("\n", "; ")
    shapes = [sign.join(each) for each in forms for sign in between]
    fits = [each for each in shapes if place[0] + canvas.measure(each, size=size) <= limit]
    low = y
    if not is_table or len(fits) > 0:
        said = [*fits, forms[len(forms) - 1][0]][0]  # the sum alone
        found.append(call_out(canvas, theme, said, place, (gate, level - first.half_gate)))
        low = found[len(found) - 1].bottom
    said, down = text("first_row.comes"), first.column(0)
    wide, high = canvas.measure(said, size=size), y + 1.3 * LINE * scale
    left = max(edge, down - wide)
    inputs = [Box(a - r, b - r, 2.0 * r, 2.0 * r) for a, b, r in first.starts]
    over = Box(left, high - size, wide, 2.0 * size)
    left = down + 0.5 * apart if any(over.meets(each) for each in inputs) else left
    found.append(call_out(canvas, theme, said, (left, high), (down, feet[0][1] - first.arm)))
    place = x + radius + 24.0 * scale, low + LINE * scale
    is_free = len(fans) < 2 or (fans[1].form != "long" and fans[1].top > place[1] + LINE * scale)
    if has_tile and is_free and not is_table:
        end = x + radius, max(middle - 0.8 * radius, place[1] + 4.0 * scale)
        found.append(call_out(canvas, theme, text("first_row.tile"), place, end))
    taken = [*words, *[box for fan in fans for box in boxes_of(fan)]]
    left, high = (
        max([each.right for each in found]),
        max(y - ABOVE * scale, box.y - HIGHEST * scale),
    )
    graph = Box(left + GAP * scale, high, GRAPH[0] * scale, GRAPH[1] * scale)
    is_free = graph.right < view.right and not any(graph.meets(each) for each in taken)
    if len(rows[0].bends) > 2 and is_free:
        draw_curve(canvas, theme, bent_in(rows[0]), graph, None, signs, 1.0)
        found.append(graph)
    for i in range(1, len(fans)):
        draw_heads(canvas, theme, fans[i], rows[i].comes)
        if fans[i].form == "nested" and not fans[i].tiled:
            own = draw_column(canvas, theme, fans[i], view) if i == len(fans) - 1 else []
            found += own + draw_sum(canvas, theme, fans[i], rows[i], view, [*taken, *found])
    return found


def bent_in(row: OpenRow) -> Bent:
    """Return the activation curve of a row with the point of its neuron added."""
    last = len(row.bends) - 1
    points = [(REACH * (2.0 * i / last - 1.0), height) for i, height in enumerate(row.bends)]
    points = sorted([*points, (row.result, row.says)], key=lambda point: point[0])
    return Bent(row.result, row.says, tuple(points))


def boxes_of(fan: SeenFan) -> list[Box]:
    """Return the boxes of a layer's rows and of the wires that enter them."""
    levels, rim = [y for feet in fan.feet for _, y in feet], 0.5 * GAP * fan.scale
    high = min([fan.top, fan.starts[0][1], *levels]) - rim
    right = max([x + radius for x, _, radius in fan.ends])
    low = max([start[1] for start in fan.starts]) + rim, max(levels) + PRODUCTS * fan.scale
    return [
        Box(fan.first, high, fan.left - fan.first, low[0] - high),
        Box(fan.left, high, right - fan.left, low[1] - high),
    ]


def draw_heads(canvas: Canvas2D, theme: Theme, fan: SeenFan, values: Sequence[float]) -> None:
    """Write the input of each column at the lower end of its wire."""
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

    These are the columns with separate lines; in a short row, all columns.
    """
    alone = alone_in([abs(term) for term in row.terms], row.largest)
    shown = range(len(row.terms)) if len(row.terms) <= FEW else alone
    return sorted(shown, key=lambda column: fan.feet[row.unit][column][0])


def closed_sum(row: OpenRow, shown: Sequence[int]) -> list[str]:
    """Return the written products of a row, then the sum of the rest ("" if nothing is left out).

    Factors are rounded to the fewest digits for which the printed sum is still correct; the result
    is empty if that is impossible. The rest is the difference from the printed sum, if it is close
    enough.
    """
    total, rest = short(row.result), row.result - sum([row.terms[i] for i in shown])
    is_whole = len(shown) == len(row.terms)
    for digits in DIGITS:
        factors = [(row.comes[i], row.weights[i]) for i in shown]
        found = sum(
            [in_print(comes, digits) * in_print(weight, digits) for comes, weight in factors]
        )
        missing = 0.0 if is_whole else in_print(in_print(row.result, 2) - found, 2)
        is_closed = short(found + missing - HALF) == total == short(found + missing + HALF)
        if is_closed and (is_whole or abs(missing - rest) < LAST):
            pairs = [(short(x, digits), short(w, digits)) for x, w in factors]
            named = zip(shown, pairs, strict=True)
            others = "" if is_whole else short(missing)
            products = [f"{a} × {b}" if i < row.inputs else f"{b} (b)" for i, (a, b) in named]
            return [*products, others]
    return []


def sum_forms(row: OpenRow, words: Sequence[str]) -> list[list[str]]:
    """Return alternative texts for a row's sum and activation, each as lines, the longest first.

    Args:
        words: result of `closed_sum`; if empty, only the sum is written
    """
    total, says, is_s = short(row.result), short(row.says), row.curve in S_SHAPED
    turns = text("first_row.turns.s" if is_s else "first_row.turns", sum=total, result=says)
    if row.curve == "sigmoid":
        turns = text("first_row.turns.sigmoid", sum=total, result=says)
    if says == total and (is_s or row.result > 0.0):
        turns = text("first_row.stays.s" if is_s else "first_row.stays", sum=total)
    elif row.says == 0.0:
        turns = text("first_row.zero") if round(row.result, 2) < 0.0 else text("first_row.stays.0")
    alone = [text("first_row.sum", sum=total)]
    if len(words) == 0:
        return [alone]
    products, bent = [*words[: len(words) - 1]], [turns] if len(row.bends) > 2 else []
    if words[len(products)] != "":
        count, others = len(row.terms) - len(products), words[len(products)]
        products.append(text("first_row.others", count=count, sum=others))
    half = (len(products) + 1) // 2
    begin = " + ".join(products[:half])
    end = " ".join([*[f"+ {each}" for each in products[half:]], f"= {total}"])
    return [[f"{begin} {end}", *bent], [begin, end, *bent], alone]


def draw_sum(
    canvas: Canvas2D,
    theme: Theme,
    fan: SeenFan,
    row: OpenRow,
    view: Box,
    taken: Sequence[Box],
    below: float = SUMS,
) -> list[Box]:
    """Write the sum below the last row of a layer; return the boxes of the texts.

    Args:
        taken: boxes that the texts must not overlap
        below: pixels from the feet of the cubes to the text
    """
    scale, size = canvas.scale, LETTERS * canvas.scale
    feet, (x, y), (rim, _, radius) = fan.feet[row.unit], fan.gates[row.unit], fan.ends[row.unit]
    shown, low = shown_in(fan, row), feet[0][1] + below * scale
    words, rest = closed_sum(row, shown), [feet[i][0] for i in range(len(feet)) if i not in shown]
    found: list[Box] = []
    if len(rest) > 0 and len(words) > 0:
        said = text("first_row.rest", count=len(rest), sum=words[len(shown)])
        place = min(rest) + 14.0 * scale, feet[0][1] + (PRODUCTS + LINE) * scale
        if place[0] + canvas.measure(said, size=size) < x:  # left of the line to the gate
            end = min(rest) + 6.0 * scale, place[1] - LINE * scale
            found.append(call_out(canvas, theme, said, place, end))
    named = f"{text('first_row.row')}; " if len(fan.ends) > 1 else ""
    left, right = min([foot[0] for foot in feet]) - 0.5 * fan.slot, rim + radius + GAP * scale
    for lines in sum_forms(row, words):
        said = "\n".join([*lines[: len(lines) - 1], f"{named}{lines[len(lines) - 1]}"])
        wide, high = canvas.measure(said, size=size), (len(lines) - 1) * LINE * scale + 1.2 * size
        for begin in (right - wide, left):
            box = Box(begin, low - 0.9 * size, wide, high)
            is_in = box.x >= view.x and box.right <= view.right and box.bottom < view.bottom
            if is_in and not any(box.meets(each) for each in [*taken, *found]):
                if below < SUMS:  # within the network
                    own, rim = box.inside(-PAD * scale), PAD * scale
                    canvas.box(own.x, own.y, own.width, own.height, theme.panel, radius=rim)
                return [*found, call_out(canvas, theme, said, (begin, low), (x, y + fan.half_gate))]
    return found


def draw_column(canvas: Canvas2D, theme: Theme, fan: SeenFan, view: Box) -> list[Box]:
    """Explain a column of a layer; return the box of the text."""
    scale, size, (x, run) = canvas.scale, LETTERS * canvas.scale, wire(fan, 0)[3]
    said, y = text("first_row.column"), above_band(fan) - 2.0 * LINE * scale
    place, end = (x + 20.0 * scale, y + 0.36 * size), (x, max(y, run + 4.0 * scale))
    is_in = place[0] + canvas.measure(said, size=size) <= view.right
    if not (is_in and fan.wired and 1 < len(fan.ends) <= MOST_ENDS):
        return []
    return [call_out(canvas, theme, said, place, end)]


def call_out(canvas: Canvas2D, theme: Theme, said: str, place: Point, end: Point) -> Box:
    """Write text with a line to its subject; return the box of the text.

    Args:
        place: start of the first line of text
        end: end of the line at the subject
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
    dot = DOT * scale
    canvas.box(end[0] - dot, end[1] - dot, 2.0 * dot, 2.0 * dot, theme.lit, radius=dot)
    return box
