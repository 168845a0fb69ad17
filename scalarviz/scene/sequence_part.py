"""The upright picture of a network that reads a sequence, as on a phone: one part of it is large.

The network is a map in the middle; above it are the name, what one head looks at, and who looks
where; below it is the part in the frame, row by row.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

from typing import Any

from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import short, typeset
from scalarviz.base.texts.sums import sum_words, top_of
from scalarviz.scene.layout.camera import Box
from scalarviz.scene.layout.sequence_places import (
    ABOVE,
    BOTTOM,
    HIGH,
    MARGIN,
    NAMED,
    TOP,
    WALL,
    SequencePlan,
    share_of,
    veil,
)
from scalarviz.scene.overlay import draw_cubes
from scalarviz.scene.sequence_sheet import Sheet
from scalarviz.scene.sequence_ways import SequenceNumbers
from scalarviz.story.facts import NONE

SIDE, NAME_WIDE, LONG = (
    26.0,
    174.0,
    6,
)  # chips and width of a name, and most letters with large ones
CHIP, GAP, NAME = 118.0, 14.0, 760.0  # side of a chip, gap, and width of the name
LETTERS = 42.0  # letters of 12 pixels on a phone
LOOK = 42.0  # width of all lines of a head
TITLE, INPUTS, FOOT = 20.0, 26.0, 22.0  # pixels of rows above and below the rows of cubes
PITCHES = 10.4, 14.1  # largest pixels from cube to cube, and from row to row
LEFT, AFTER, BAR = 40.0, 16.0, 150.0  # pixels before rows, of lines after them, and of a share of 1
DIM, LIT_SCORES = 0.5, 3  # veil over rows that are not used; bright rows of scores


def chip_corner(number: int, count: int) -> tuple[float, float, float]:
    """Return the position and the side of the chip of a letter of the name."""
    pitch = min(CHIP + GAP, NAME / count)
    side = pitch - 0.1 * CHIP
    return 2.0 * MARGIN + pitch * number, -ABOVE + 8.0 + 0.5 * (CHIP - side), side


def places_of_chips(known: SequenceNumbers) -> list[tuple[float, float, float]]:
    """Return the position and the side of the chip of each letter of the name."""
    plan, count = known.plan, len(known.read)
    if plan.is_upright:
        return [chip_corner(each, count) for each in range(count)]
    pitch = min(SIDE + 3.0, NAME_WIDE / count) if count > LONG else SIDE + 3.0
    side = min(SIDE, pitch - 1.4)
    return [(plan.x("letters") + pitch * each, 17.0 - 0.5 * side, side) for each in range(count)]


def parts_of(plan: SequencePlan) -> list[tuple[str, int]]:
    """Return the wall of each part, and its head or NONE."""
    heads = [("qkv", head) for head in range(plan.heads)]
    others = [(name, NONE) for name in ("join", "wide", "narrow", "scores")]
    return [("letters", NONE), ("places", NONE), *heads, *others]


def chosen_part(known: SequenceNumbers) -> int:
    """Return the index of the part that is large."""
    last = len(parts_of(known.plan)) - 1
    return last if known.choice.part == NONE else known.choice.part


def edges_of(plan: SequencePlan, part: int) -> tuple[float, float, float, float]:
    """Return left, upper, right and lower edge of a part on the map."""
    name, head = parts_of(plan)[part]
    top, low = TOP - 4.0, BOTTOM + 4.0
    if name in ("letters", "places"):
        border = plan.place_y(0) - 16.0
        edges = (top, border) if name == "letters" else (border, low)
        return plan.x("letters") - 4.0, edges[0], plan.end_x("letters") + 4.0, edges[1]
    if head != NONE:
        next_top = plan.head_top(head + 1)
        return plan.x("qkv") - 4.0, plan.head_top(head) - 4.0, plan.x("mix") + 6.0, next_top - 8.0
    right = {"join": "h", "wide": "z", "narrow": "y"}
    end = plan.x(right[name]) + 10.0 if name in right else plan.wide - MARGIN
    return plan.x(name) - 4.0, top, end, low


def triangle_corner(plan: SequencePlan, head: int) -> tuple[float, float]:
    """Return the corner of the triangle of a head, which has the side of a chip."""
    return plan.wide - 2.0 * MARGIN - (CHIP + 22.0) * (plan.heads - head), -ABOVE + CHIP + 66.0


def draw_upper(sheet: Sheet) -> None:
    """Draw what a head looks at, as arcs below the name, and the triangles of all heads."""
    plan, known, theme = sheet.plan, sheet.known, sheet.theme
    here, count = known.place, len(known.read)
    looks = [max([0.0, *known.shares[head][here][:here]]) for head in range(plan.heads)]
    head = top_of(looks, 1.0) if known.choice.head == NONE else known.choice.head
    x, y, side = chip_corner(here, count)
    low, start = y + side, x + 0.5 * side
    for place, share in enumerate(known.shares[head][here][:here]):
        end, down = chip_corner(place, count)[0] + 0.5 * side, 40.0 + 90.0 * (here - place) / here
        path = [(start, low), (start, low + down), (end, low + down), (end, low)]
        sheet.add_line(
            sheet.path(path, 40.0), 1.0, max(4.0, LOOK * share), 0.4 + 0.6 * share, above=True
        )
    sheet.flush()
    for place, share in enumerate(known.shares[head][here][:here]):
        if here < NAMED:
            middle = chip_corner(place, count)[0] + 0.5 * side
            words = typeset(short(share))
            sheet.label(middle, low + 24.0, words, theme.ink, bold=True, large=LETTERS, halo=True)
    for each in range(plan.heads):
        left, top = triangle_corner(plan, each)
        sheet.triangle(each, left, top, CHIP / (here + 1))
        if each == head:
            sheet.frame(left - 8.0, top - 8.0, left + CHIP + 8.0, top + CHIP + 8.0)
    said = text("sequence.heads", count=plan.heads)
    right = plan.wide - 2.0 * MARGIN
    sheet.label(right, -36.0, said, theme.quiet, anchor="right", large=LETTERS)
    sheet.frame(*edges_of(plan, chosen_part(known)))


def rows_of_part(known: SequenceNumbers, part: int) -> list[list[int]]:
    """Return the bank indices of the cubes of each line of a part."""
    plan = known.plan
    name, head = parts_of(plan)[part]
    first, size, columns = plan.rows[name], plan.size, range(plan.size)
    if name == "places":
        return [
            [first + each * plan.places + row for each in columns] for row in range(plan.places)
        ]
    if name == "narrow":
        starts = [
            row * plan.hidden + WALL * line for row in range(size) for line in range(plan.lines)
        ]
        return [[first + start + each for each in range(plan.line_of(start))] for start in starts]
    counts = {"letters": plan.letters, "join": size, "wide": plan.hidden, "scores": plan.letters}
    count = counts.get(name, 3 * plan.each)
    first += max(0, head) * 3 * plan.each * size
    return [[first + row * size + each for each in columns] for row in range(count)]


def lit_lines(known: SequenceNumbers, part: int, count: int) -> list[bool]:
    """Return whether each line of a part is used for the chosen place."""
    name, _ = parts_of(known.plan)[part]
    place, chances = known.place, known.chances
    if name in ("letters", "places"):
        used = known.read[place] if name == "letters" else place
        return [row == used for row in range(count)]
    if name == "wide":
        return [value > 0.0 for value in known.numbers("z", place)]
    if name == "scores" and chances:
        order = sorted(range(count), key=lambda row: -chances[row])
        return [row in order[:LIT_SCORES] for row in range(count)]
    return [True] * count


def draw_part(sheet: Sheet) -> list[tuple[Box, int]]:
    """Draw the chosen part large; return the boxes and bank indices of its cubes."""
    plan, known, theme, canvas = sheet.plan, sheet.known, sheet.theme, sheet.canvas
    part, scale = chosen_part(known), sheet.canvas.scale
    name, head = parts_of(plan)[part]
    box = sheet.plane.box(2.0 * MARGIN, HIGH + 12.0, plan.wide - 2.0 * MARGIN, plan.high)
    rows, size = rows_of_part(known, part), 12.0 * scale
    said = text(f"sequence.wall.{name}") if head == NONE else text("sequence.head", head=head + 1)
    title = f"‹  {said}  {len(rows) * len(rows[0]):,}  ›"
    canvas.text(box.x, box.y + size, title, size=size, color=theme.ink)
    top = box.y + (TITLE + INPUTS) * scale
    across = min(PITCHES[0] * scale, 0.45 * box.width / len(rows[0]))
    down = min(PITCHES[1] * scale, (sheet.plane.bottom - FOOT * scale - top) / len(rows))
    side, left = 0.82 * min(across, down), box.x + LEFT * scale
    reads = {"qkv": "x", "join": "mix", "wide": "n", "scores": "y"}
    coming = known.numbers(reads[name], known.place) if name in reads else []
    for column, value in enumerate(coming):
        x, radius = left + across * (column + 0.5), 0.42 * across
        share = min(1.0, max(-1.0, value / 2.2))
        canvas.line(
            [(x, top - 18.0 * scale), (x, top)], sheet.hue(value), width=1.6 * abs(share) + 0.6
        )
        corner = top - 18.0 * scale - radius
        canvas.box(x - radius, corner, 2.0 * radius, 2.0 * radius, theme.map(share), radius=radius)
    cubes: list[tuple[float, float, float, float]] = []
    found: list[tuple[Box, int]] = []
    for line, indices in enumerate(rows):
        y = top + down * line
        canvas.line(
            [(left, y + 0.97 * down), (left + across * len(indices), y + 0.97 * down)],
            theme.shelf, width=1.0,
        )  # fmt: skip
        for column, index in enumerate(indices):
            x, weight = left + across * column, float(known.weights[index])
            share = share_of(weight)
            cubes.append((x + 0.45 * across, y + 0.95 * down, side, share))
            found.append((Box(x, y, across, down), index))
    draw_cubes(canvas, cubes, theme)
    bright, right = lit_lines(known, part, len(rows)), left + across * len(rows[0])
    for line in range(len(rows)):
        if not bright[line]:
            y = top + down * line
            canvas.box(left, y, right - left + 0.3 * across, down, veil(theme.ground, DIM))
    draw_ends(sheet, name, head, (right, top, down))
    return found


def draw_ends(sheet: Sheet, name: str, head: int, place: tuple[float, float, float]) -> None:
    """Draw what each row of a part adds up to: a line, its name, and for scores a bar."""
    plan, known, theme, canvas = sheet.plan, sheet.known, sheet.theme, sheet.canvas
    right, top, down = place
    scale, size = canvas.scale, min(12.0 * canvas.scale, 0.9 * down)
    results = {"qkv": "qkv", "join": "a", "wide": "z", "narrow": "o", "scores": "scores"}
    numbers = known.numbers(results[name], known.place) if name in results else []
    if name == "qkv":
        numbers = numbers[3 * plan.each * head : 3 * plan.each * (head + 1)]
    lines = plan.lines if name == "narrow" else 1
    most: float = max([1e-9, *[abs(each) for each in numbers]])
    for row, value in enumerate(numbers):
        y = top + down * lines * (row + 0.5)
        start, part = right + 3.0, abs(value) / most
        if part > 0.02:
            ends = [(start, y), (start + AFTER * scale, y)]
            canvas.line(ends, sheet.hue(value), width=(0.8 + 2.2 * part) * scale)
        if name not in ("scores", "wide"):
            x, base = start + (AFTER + 6.0) * scale, y + 0.36 * size
            canvas.text(x, base, typeset(short(value)), size=size, color=theme.quiet)
    names = {"letters": [*plan.signs], "places": [f"{each}" for each in range(plan.places)]}
    kinds = [text(f"sequence.row.{kind}") for kind in ("query", "key", "value")]
    for row, sign in enumerate(names.get(name, kinds if name == "qkv" else [])):
        step = plan.each if name == "qkv" else 1
        y = top + down * step * (row + 0.5) + 0.36 * size
        x = right - PITCHES[0] * scale * plan.size - 5.0
        canvas.text(x, y, sign, size=size, color=theme.quiet, anchor="right")
    chances, x = known.chances, right + (AFTER + 16.0) * scale
    for letter, sign in enumerate(plan.signs if name == "scores" else []):
        y, is_told = top + down * (letter + 0.5), letter == known.letter
        color = theme.ink if is_told else theme.quiet
        look: dict[str, Any] = {"size": size, "bold": is_told, "anchor": "center"}
        canvas.text(x, y + 0.36 * size, sign, color=color, **look)
        if chances:
            wide = max(1.2, BAR * scale * chances[letter])
            fill = veil(theme.signs[1], 1.0 if letter == known.best else 0.6)
            canvas.box(x + 12.0 * scale, y - 0.33 * down, wide, 0.66 * down, fill, radius=1.5)
            if letter == known.best or chances[letter] > 0.1:
                words, end = typeset(short(chances[letter])), x + 17.0 * scale + wide
                canvas.text(end, y + 0.36 * size, words, size=size, color=color)
    parts = known.parts(known.letter) if name == "scores" and chances else []
    if parts:
        added = sum_words(parts)
        said = text(
            "sequence.sum.short", stays=added[0], back=added[1], neurons=added[2], score=added[3]
        )
        low = top + down * plan.letters + 16.0 * scale
        canvas.text(
            canvas.width - 16.0 * scale, low, said, size=size, color=theme.ink, anchor="right"
        )


def part_at(sheet_box: Box, plan: SequencePlan, part: int, x: float) -> int:
    """Return the part before or after a part, after a click on the left or right of its title."""
    step = -1 if x < sheet_box.x + 0.5 * sheet_box.width else 1
    return (part + step) % len(parts_of(plan))
