"""The picture of a network that reads a sequence: lines, columns of places, shares, bars, names.

Cubes and balls are drawn as in all scenes. One place is chosen; all others are columns of squares,
of which a head takes a share. A line's hue is the sign of what it carries, its width the size.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import rounded, short, typeset
from scalarviz.base.texts.sums import share_words, sum_words
from scalarviz.scene.annotations import bracket
from scalarviz.scene.layout.camera import Box
from scalarviz.scene.layout.sequence_places import (
    BOTTOM,
    KEY,
    MARGIN,
    PITCH,
    QUERY,
    SMALL,
    TOP,
    VALUE,
    WALL,
    SequencePlan,
    share_of,
    veil,
)
from scalarviz.scene.overlay import draw_cubes
from scalarviz.scene.sequence_blame import (
    cell_of,
    draw_card_of_uses,
    draw_reason,
    draw_way_back,
    draw_weight_of,
    place_of,
)
from scalarviz.scene.sequence_head import draw_card_of_head
from scalarviz.scene.sequence_lines import draw_lit_ways
from scalarviz.scene.sequence_neuron import draw_card_of_neuron, speaks_of
from scalarviz.scene.sequence_sheet import (
    LEAST_LETTER,
    LETTERS,
    ROOMY,
    SIDE,
    Plane,
    Sheet,
    goes_back,
    heat_words,
    places_of_chips,
)
from scalarviz.story.facts import NONE

if TYPE_CHECKING:
    from scalarviz.base.checks import FloatArray
    from scalarviz.scene.canvas.canvas2d import Canvas2D
    from scalarviz.scene.canvas.palette import Theme
    from scalarviz.scene.frame_data import FrameData
    from scalarviz.scene.layout.division import Projection

ROW_CUBE = 20.0  # largest cubes of the row of the hovered weight
SMALL_CHIP, OUT_CHIP, FEW = 18.0, 32.0, 5  # sides of chips, and most columns with chips
SPEAKS = 1.6  # number with the strongest color
FULL_BAR, BAR = 82.0, 11.0  # length of a share of 1, and height
WHY_ROW = 42.0  # height of a part of a score on the card of a letter
WRITTEN = 3  # bars with numbers


def draw_sequence_marks(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme
) -> list[Box]:
    """Draw columns of places, shares, lit ways, bars and all texts; return the boxes of texts."""
    if frame_data.layout.sequence is None:
        return []
    sheet = Sheet(canvas, see, frame_data, theme)
    known = sheet.known
    if sheet.plan.closed:
        draw_closed(sheet)
    is_covered = known.choice.head != NONE
    uses = None if is_covered or frame_data.told is None else frame_data.told.uses
    if uses is not None and sheet.plan.closed_rows[0] <= uses.row < sheet.plan.closed_rows[1]:
        uses = None
    if uses is None or len(uses.links) == 0:  # their place is above the walls
        write_walls(sheet)
    if known.place == NONE:
        return sheet.taken
    head, goal = known.choice.head, goal_of(sheet, frame_data.buffers.target)
    if head != NONE and known.has("qkv"):
        draw_chips(sheet, goal)
        draw_card_of_head(sheet, head)
        return sheet.taken
    opened = known.choice.neuron if known.has("n") else NONE
    if known.has("qkv") and (opened == NONE or not speaks_of(known, opened)):
        draw_columns(sheet)
        if not goes_back(frame_data):
            draw_triangles(sheet)
    for neuron, value in enumerate(known.numbers("z", known.place)):
        if value > 0.0:  # silent ones are small
            fill = theme.map(min(1.0, value / SPEAKS))
            sheet.disc(sheet.plan.x("z"), sheet.plan.neuron_y(neuron), SMALL, fill)
    is_back = goes_back(frame_data)
    if uses is not None or is_back:
        if is_back and goal != NONE and known.chances:
            draw_way_back(sheet, goal, frame_data.buffers.flows, uses)
        elif uses is not None:
            draw_weight_of(sheet, uses.row)
        draw_chips(sheet, goal)
        if not is_back:
            draw_bars(sheet, goal)
        if uses is not None:
            draw_card_of_uses(sheet, uses)
            if len(uses.links) > 0:
                draw_reason(sheet, uses)
        return sheet.taken
    parts = known.parts(known.letter) if known.letter != NONE else []
    if opened != NONE:
        draw_card_of_neuron(sheet, opened)
    elif parts:
        draw_lit_ways(sheet, parts)
        if known.choice.letter == NONE:
            write_sum(sheet, parts)
        else:
            draw_card_of_letter(sheet, parts)
    draw_chips(sheet, goal)
    if opened == NONE:
        draw_rows_chosen(sheet)
    draw_bars(sheet, goal)
    return sheet.taken


def write_sum(sheet: Sheet, parts: Sequence[float]) -> None:
    """Write the parts of the score of the letter, and their sum."""
    stays, back, neurons, score = sum_words(parts)
    said = text(
        "sequence.sum",
        letter=sheet.plan.signs[sheet.known.letter],
        stays=stays, back=back, neurons=neurons, score=score,
    )  # fmt: skip
    right, said = sheet.plan.wide - 16.0, typeset(said) + heat_words(sheet.known)
    sheet.label(right, BOTTOM + 21.0, said, sheet.theme.ink, anchor="right")


def draw_closed(sheet: Sheet) -> None:
    """Draw the closed blocks as a box with their number."""
    plan, theme, (left, right) = sheet.plan, sheet.theme, sheet.plan.closed_x
    sheet.card(left, TOP, right, BOTTOM)
    middle = 0.5 * (left + right)
    for row, said in enumerate(("×", f"{plan.closed}")):
        sheet.label(middle, 0.5 * (TOP + BOTTOM) + 18.0 * (row - 0.5), said, theme.ink, bold=True)
    if sheet.known.choice.neuron == NONE:
        said = text("sequence.closed", count=plan.closed)
        sheet.label(middle, BOTTOM + 21.0, said, theme.quiet)


def draw_card_of_letter(sheet: Sheet, parts: Sequence[float]) -> None:
    """Draw the parts of the score of the chosen letter, and its share."""
    plan, known, theme = sheet.plan, sheet.known, sheet.theme
    left, right = plan.x("qkv") - 14.0, plan.x("own") + 30.0
    sheet.card(left, TOP - 4.0, right, TOP + 4.0 * WHY_ROW + 146.0)
    sign, x, y = plan.signs[known.letter], left + 12.0, TOP + 18.0
    title = text("sequence.why.title", letter=sign)
    sheet.label(x, y, title, theme.ink, anchor="left", bold=True, large=16.0)
    if sheet.zoom > ROOMY:
        sheet.label(x, y + 22.0, text("sequence.why.sum"), theme.quiet, anchor="left")
    reached = [sum(parts[:each]) for each in range(len(parts) + 1)]
    low, high = min(reached), max(reached)
    unit = (right - x - max(56.0, 48.0 / sheet.zoom)) / max(1e-9, high - low)
    names = [text("sequence.why.stays"), text("sequence.why.back"), text("sequence.why.neurons")]
    zero, wide = x - unit * low, max(0.8, sheet.zoom)
    words, starts = sum_words(parts), [*reached[: len(parts)], 0.0]
    for row, name in enumerate([*names, text("sequence.why.score", letter=sign)]):
        y, is_sum = TOP + 68.0 + WHY_ROW * row, row == len(parts)
        value = sum(parts) if is_sum else parts[row]
        sheet.label(x, y, name, theme.ink, anchor="left", bold=is_sum)
        start = x + unit * (min(starts[row], starts[row] + value) - low)
        sheet.canvas.line(
            [sheet.at(zero, y + 8.0), sheet.at(zero, y + 25.0)], theme.quiet, width=wide
        )
        end, fill = start + unit * abs(value), sheet.hue(value)
        sheet.box(start, y + 11.0, end, y + 22.0, fill, least=1.2)
        sheet.label(right - 10.0, y + 16.5, words[row], theme.ink, anchor="right", bold=is_sum)
    scores = [each / known.choice.heat for each in known.numbers("scores", known.place)]
    score, part, total, share = share_words(scores, known.letter)
    y = TOP + 68.0 + WHY_ROW * (len(parts) + 1.0)
    is_small, said = sheet.zoom <= ROOMY, text("sequence.why.share")
    said = (said.partition(" (")[0] if is_small else said) + heat_words(known)
    sheet.label(x, y, said, theme.ink, anchor="left", within=right - x - 10.0)
    all_of = text("sequence.head.all", count=plan.letters)
    lines = [] if is_small else [f"e^{score} = {part}", f"÷ {total} ({all_of})"]
    for row, said in enumerate(lines):
        sheet.label(x, y + 20.0 * (row + 1.0), said, theme.quiet, anchor="left")
    y += 22.0 if is_small else 62.0
    sheet.label(x, y, f"= {share}", theme.ink, anchor="left", bold=True)


def draw_triangles(sheet: Sheet) -> None:
    """Draw for each head which place looks at which, with the row of the chosen place framed."""
    here, left = sheet.known.place, sheet.plan.x("heads")
    side, line = min(6.4, 30.0 / (here + 1)), max(0.8, sheet.zoom)
    for head in range(sheet.plan.heads):
        top = sheet.plan.head_y(head, QUERY, 0) - 4.2
        sheet.triangle(head, left, top, side)
        low, right = top + side * here - 1.4, left + side * (here + 1) + 0.6
        box = sheet.plane.box(left - 1.4, low, right, low + side + 2.0)
        sheet.canvas.box(
            box.x, box.y, box.width, box.height, None, outline=sheet.theme.lit, line=line
        )
        if sheet.zoom > ROOMY:
            sheet.label(left - 8.0, low + side + 12.0, text("sequence.head.name", head=head + 1),
                        sheet.theme.quiet, anchor="left", within=42.0)  # fmt: skip
    if sheet.known.choice.letter == NONE:  # its card covers them
        sheet.name_rows(0)


def write_walls(sheet: Sheet) -> None:
    """Write the name of each wall and the number of its weights, and what the road does."""
    plan, theme, known = sheet.plan, sheet.theme, sheet.known
    size, high, low = plan.size, TOP - 38.0, TOP - 14.0
    has_head, has_neuron = known.choice.head != NONE, known.choice.neuron != NONE
    is_opened = has_head or has_neuron  # the card covers the rest
    for name, x, y, count in (
        ("letters", plan.x("letters"), low, plan.letters * size),
        ("places", plan.x("letters"), plan.place_y(0) - 13.0, plan.places * size),
        ("qkv", plan.x("qkv"), high, 3 * size * size),
        ("join", plan.x("join"), high, size * size),
        ("wide", plan.x("wide"), high, size * plan.hidden),
        ("narrow", plan.x("narrow"), low, size * plan.hidden),
        ("scores", plan.x("scores"), high, size * plan.letters),
    ):
        if is_opened and (x > plan.x("own") if has_head else x < plan.x("wide")):
            continue
        said = text(f"sequence.wall.{name}", count=plan.hidden)
        wide = sheet.label(x, y, said, theme.ink, anchor="left")
        if sheet.zoom > ROOMY and not is_opened:
            sheet.label(x + wide + 7.0, y, f"{count:,}", theme.quiet, anchor="left")
    if not is_opened or has_head:
        left = plan.x("column") - (110.0 if sheet.zoom > ROOMY else 82.0)
        sheet.label(left, high, text("sequence.looks"), theme.ink, anchor="left")
    below = BOTTOM + 21.0
    if sheet.zoom <= ROOMY or is_opened:
        return
    sheet.label(plan.x("join") - 16.0, high, text("sequence.looks.who"), theme.quiet,
                anchor="right")  # fmt: skip
    for name, part in (("e", "x"), ("h", "h")):
        numbers = known.numbers(name, known.place) if known.place != NONE else []
        if numbers and (name == "h" or not plan.closed):
            usual = math.sqrt(sum([each * each for each in numbers]) / len(numbers))
            said = text("sequence.norm" if name == "e" else "sequence.norm.short",
                        usual=typeset(rounded(usual, 3)))  # fmt: skip
            x, anchor = (MARGIN, "left") if name == "e" else (plan.x(part) + 24.0, "right")
            sheet.label(x, below, said, theme.quiet, anchor=anchor)
    middle = 0.5 * (plan.x("x") + plan.x("h"))
    sheet.label(middle, below, text("sequence.stays"), theme.quiet)


def draw_columns(sheet: Sheet) -> None:
    """Draw the keys and the values of all places, and the query of the chosen one."""
    plan, known, theme = sheet.plan, sheet.known, sheet.theme
    here, side = known.place, plan.square(known.place)
    rim = veil(theme.ink, 0.13)
    for head in range(plan.heads):
        for place in range(here + 1):
            x = plan.column_x(place, here)
            for kind in (QUERY, KEY, VALUE) if place == here else (KEY, VALUE):
                for number in range(plan.each):
                    value = known.of_head(head, kind, number, place)
                    y = plan.head_y(head, kind, number)
                    sheet.square(x, y, side, theme.tray, rim)
                    sheet.square(x, y, side, sheet.shade(value, SPEAKS), rim)


def draw_rows_chosen(sheet: Sheet) -> None:
    """Write the names of all letters, and frame the rows of the chosen letter and place."""
    plan, known, theme = sheet.plan, sheet.known, sheet.theme
    letter, x = known.read[known.place], plan.x("letters") - 9.0
    for each, sign in enumerate(plan.signs):
        color = theme.ink if each == letter else theme.ghost
        bold = each == letter
        sheet.label(x, plan.letter_y(each), sign, color, bold=bold, least=LEAST_LETTER)
    y = plan.place_y(known.place)
    sheet.label(x, y, f"{known.place}", theme.ink, bold=True, least=LEAST_LETTER)
    left, right = plan.x("letters") - 2.0, plan.end_x("letters") + 2.0
    for y in (plan.letter_y(letter), plan.place_y(known.place)):
        sheet.frame(left, y - 6.0, right, y + 6.0)


def goal_of(sheet: Sheet, target: FloatArray | None) -> int:
    """Return the letter that comes next in the sample; NONE if unknown."""
    if target is None:
        return NONE
    places, here = sheet.plan.places, sheet.known.place
    found = [
        each for each in range(sheet.plan.letters) if float(target[each * places + here]) > 0.0
    ]
    return found[0] if found else NONE


def draw_chips(sheet: Sheet, goal: int) -> None:
    """Draw the name, the letters over the columns, what comes out, and what should."""
    plan, known, theme = sheet.plan, sheet.known, sheet.theme
    here = known.place
    for place, (x, y, side) in enumerate(places_of_chips(known)):
        look = "chosen" if place == here else "read" if place < here else "later"
        sign = plan.signs[known.read[place]]
        if side < SIDE and place != here:  # a long name: plain letters
            color = theme.ink if place < here else theme.ghost
            sheet.label(x + 0.5 * side, y + 0.5 * side, sign, color, least=LEAST_LETTER)
        else:
            sheet.chip(x, y, side, sign, look)
    has_columns = known.choice.neuron == NONE
    for place in range(here + 1 if has_columns else 0):
        sign, x = plan.signs[known.read[place]], plan.column_x(place, here)
        is_own = place == here
        if here < FEW:
            look = "chosen" if is_own else "read"
            sheet.chip(x - 0.5 * SMALL_CHIP, TOP - 27.0, SMALL_CHIP, sign, look)
        else:
            color = theme.lit if is_own else theme.ink
            sheet.label(x, TOP - 18.0, sign, color, bold=is_own, least=LEAST_LETTER)
    for letter, look, more in ((known.best, "out", 0.0), (goal, "goal", 45.0)):
        if letter != NONE:
            side, y, x = OUT_CHIP, 16.0, plan.x("bars") - 5.0 + more
            said = text("picture.out") if look == "out" else text("telling.goal")
            is_out = look == "out"
            edge, anchor = (x + side, "right") if is_out else (x, "left")
            sheet.label(
                edge, y - 9.0, said, theme.ink, anchor=anchor, bold=is_out, least=LEAST_LETTER
            )
            sheet.chip(x, y, side, plan.signs[letter], look)


def draw_bars(sheet: Sheet, goal: int) -> None:
    """Draw how likely each letter is to come next: a bar as long as its share, and the goal."""
    plan, known, theme = sheet.plan, sheet.known, sheet.theme
    chances, best = known.chances, known.best
    order = sorted(range(len(chances)), key=lambda each: -chances[each])
    x = plan.x("bars")
    for letter, sign in enumerate(plan.signs):
        y = plan.score_y(letter)
        is_told = letter == known.letter
        color = theme.ink if is_told or letter == goal else theme.quiet
        sheet.label(plan.x("signs"), y, sign, color, bold=is_told, least=LEAST_LETTER)
        if letter == goal:
            left, top = sheet.at(plan.x("signs") - 7.0, y - 8.0)
            wide = 14.0 * sheet.zoom
            sheet.canvas.box(
                left, top, wide, 16.0 * sheet.zoom, None, radius=0.25 * wide,
                outline=theme.ink, line=max(1.0, 1.2 * sheet.zoom),
            )  # fmt: skip
        if not chances:
            continue
        share = chances[letter]
        left, top = sheet.at(x, y - 0.5 * BAR)
        wide = max(1.2, FULL_BAR * share * sheet.zoom)
        part = 1.0 if letter == best else 0.55 + 0.3 * share / chances[best]
        fill = veil(theme.signs[1], part)
        sheet.canvas.box(left, top, wide, BAR * sheet.zoom, fill, radius=1.5 * sheet.zoom)
        if is_told or (letter in order[:WRITTEN] and short(share) != ".00"):
            is_long = share > 0.65
            words, end = typeset(short(share)), x + wide / sheet.zoom
            color = theme.ink if is_told or letter == best else theme.quiet
            place = (end - 5.0, "right") if is_long else (end + 5.0, "left")
            sheet.label(place[0], y, words, color, bold=letter == best, anchor=place[1])


# What is over the picture, and the legend.


def draw_sequence_row(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme
) -> list[tuple[Box, int]]:
    """Draw the row of the hovered weight large; return the boxes and bank indices of its cubes.

    A click or a drag on one of them is meant for that weight.
    """
    plan, card = frame_data.layout.sequence, frame_data.hover
    if plan is None or card is None or card.row == NONE:
        return []
    indices, x, y = row_with(plan, card.row)
    plane, side = Plane(see), ROW_CUBE * canvas.scale
    wide, pad = side * len(indices), 6.0 * canvas.scale
    left, below = plane.at(x, y + 0.5 * PITCH + 2.0)
    left = min(left, see.box.right - wide - pad)
    is_low = below + side + 2.0 * pad > see.box.bottom
    top = plane.at(x, y - 0.5 * PITCH - 2.0)[1] - side - pad if is_low else below + pad
    canvas.box(
        left - pad, top - pad, wide + 2.0 * pad, side + 2.0 * pad, theme.panel[:7],
        radius=6.0 * canvas.scale, outline=theme.rim,
    )  # fmt: skip
    cubes: list[tuple[float, float, float, float]] = []
    found: list[tuple[Box, int]] = []
    around = Box(left, top, side, side)
    for column, index in enumerate(indices):
        share = share_of(float(frame_data.weights[index]))
        start = left + side * column
        cubes.append((start + 0.45 * side, top + 0.95 * side, 0.8 * side, share))
        found.append((Box(start, top, side, side), index))
        if index == card.row:
            around = Box(start, top, side, side)
    draw_cubes(canvas, cubes, theme)
    bracket(canvas, around.inside(4.0 * canvas.scale), theme.lit)
    return found


def row_with(plan: SequencePlan, index: int) -> tuple[list[int], float, float]:
    """Return the bank indices of the row of a weight, the left end and the height of the row."""
    name, row, column = cell_of(plan, index)
    first = plan.rows[name]
    if name == "places":
        indices = [first + each * plan.places + row for each in range(plan.size)]
        return indices, plan.x("letters"), plan.place_y(row)
    start = index - column % (WALL if name == "narrow" else plan.size)
    count = plan.line_of(start - first) if name == "narrow" else plan.size
    height = place_of(plan, name, row, column)[1]
    return [start + each for each in range(count)], plan.x(name), height


def draw_sequence_legend(
    canvas: Canvas2D, frame_data: FrameData, legend: Box | None, left: float, theme: Theme
) -> None:
    """Draw what a square is, left of the legend of cubes and right of x = `left`, if it fits."""
    if frame_data.layout.sequence is None or legend is None or legend.width <= legend.height:
        return
    said, scale = text("sequence.other"), canvas.scale
    size, side = LETTERS * scale, 12.0 * scale
    x, y = legend.x - canvas.measure(said, size=size) - 24.0 * scale, legend.y + 31.0 * scale
    if x - 1.6 * side > left:
        fill, rim = theme.wire, veil(theme.ink, 0.2)
        canvas.box(
            x - 1.6 * side, y - 0.5 * side, side, side, fill, radius=2.0 * scale, outline=rim
        )
        canvas.text(x, y + 0.36 * size, said, size=size, color=theme.quiet)
