"""The upright picture of a network that reads a sequence, as on a phone: one part of it is large.

The network is a map in the middle; above it are the name, what one head looks at, and who looks
where; below it is the part in the frame, row by row.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
from scalarviz.scene.sequence_blame import draw_slopes
from scalarviz.scene.sequence_neuron import draw_neuron
from scalarviz.scene.sequence_sheet import NAME_WIDE, Plane, Sheet, heat_words
from scalarviz.scene.sequence_ways import SequenceNumbers
from scalarviz.story.facts import NONE

if TYPE_CHECKING:
    from scalarviz.story.caption import Uses

SIDE, LONG = 26.0, 6  # side of a chip of a name, and most letters with large ones
CHIP, GAP, NAME = 118.0, 14.0, 760.0  # side of a chip, gap, and width of the name
LETTERS, UNIT = 42.0, 3.43  # letters of 12 pixels on a phone, and its pixels
LOOK = 42.0  # width of all lines of a head
# All that follows is in pixels of a phone: rows above and below the rows of cubes.
TITLE, INPUTS, FOOT = 16.0, 22.0, 18.0
PITCHES = 10.4, 14.1  # largest distances of cubes, and of rows
LEFT, AFTER, BAR = 40.0, 16.0, 92.0  # before rows, of lines after them, and of a share of 1
MOST_ROWS, APART = 32, 190.0  # most rows below each other, and distance of two columns of them
SMALL_TEXT = 11.0
DIM, LIT_SCORES = 0.5, 3  # veil over rows that are not used; bright rows of scores
NEURON, SLOPES = 0.74, 112.0  # factor of the columns of a card; right end of the slopes


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
    return plan.wide - 2.0 * MARGIN - (CHIP + 22.0) * (plan.heads - head), -ABOVE + CHIP + 58.0


def draw_upper(sheet: Sheet) -> None:
    """Draw what a head looks at, as arcs below the name, and the triangles of all heads."""
    plan, known, theme = sheet.plan, sheet.known, sheet.theme
    here, count = known.place, len(known.read)
    looks = [max([0.0, *known.shares[head][here][:here]]) for head in range(plan.heads)]
    head = top_of(looks, 1.0) if known.choice.head == NONE else known.choice.head
    x, y, side = chip_corner(here, count)
    low, start = y + side, x + 0.5 * side
    for place, share in enumerate(known.shares[head][here][:here]):
        end, down = chip_corner(place, count)[0] + 0.5 * side, 40.0 + 60.0 * (here - place) / here
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
    sheet.label(2.0 * MARGIN, -26.0, said, theme.quiet, anchor="left", large=LETTERS)
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


@dataclass(frozen=True)
class Rows:
    """Where the rows of a large part are, in pixels of the picture.

    Attributes:
        wide: cubes of a row
        down: height of a row
        high: rows of a column
        apart: distance of two columns of rows
    """

    x: float
    y: float
    across: float
    down: float
    wide: int
    high: int
    apart: float

    def corner(self, row: int) -> tuple[float, float]:
        """Return the upper left corner of a row."""
        column, place = divmod(row, self.high)
        return self.x + self.apart * column, self.y + self.down * place

    def end(self, row: int) -> float:
        """Return the right end of the cubes of a row."""
        return self.corner(row)[0] + self.across * self.wide

    def row_at(self, count: int, x: float, y: float) -> int:
        """Return which of `count` rows ends left of a pixel; NONE over cubes and beside rows."""
        place = math.floor((y - self.y) / self.down)
        column = 1 if self.high < count and x > self.x + self.apart else 0
        row = place + self.high * column
        return row if 0 <= place < self.high and row < count and x > self.end(row) else NONE


def place_of_rows(plane: Plane, plan: SequencePlan, rows: list[list[int]]) -> Rows:
    """Return where the rows of the large part are."""
    scale, count, wide = plane.zoom * UNIT, len(rows), len(rows[0])
    box = plane.box(2.0 * MARGIN, HIGH + 12.0, plan.wide - 2.0 * MARGIN, plan.high)
    y, columns = box.y + (TITLE + INPUTS) * scale, 1 if count <= MOST_ROWS else 2
    high = -(-count // columns)
    x = box.x + (LEFT if columns == 1 else 0.0) * scale
    across = min(PITCHES[0], (APART - 2.0 * AFTER - 4.0) / wide) if columns > 1 else PITCHES[0]
    down = min(PITCHES[1] * scale, (plane.bottom - FOOT * scale - y) / high)
    return Rows(x, y, across * scale, down, wide, high, APART * scale)


def draw_part(sheet: Sheet, uses: Uses | None, goal: int) -> list[tuple[Box, int]]:
    """Draw the chosen part large, or a card; return the boxes and bank indices of its cubes.

    Args:
        uses: the explained weight, whose slopes are shown
        goal: the letter whose share is too small while slopes go back, or NONE
    """
    plan, known, theme, canvas = sheet.plan, sheet.known, sheet.theme, sheet.canvas
    part, scale, left = chosen_part(known), sheet.zoom * UNIT, sheet.at(2.0 * MARGIN, 0.0)[0]
    (name, head), top = parts_of(plan)[part], sheet.at(0.0, HIGH + 12.0)[1]
    wide, high = sheet.zoom * (plan.wide - 4.0 * MARGIN), sheet.plane.bottom - top
    if uses is not None:
        sheet.plane.move_to(left, top, scale)
        draw_uses(sheet, uses, wide / scale, high / scale)
        return []
    if name == "wide" and known.choice.neuron != NONE and known.has("n"):
        sheet.plane.move_to(left, top, scale)
        draw_neuron(sheet, known.choice.neuron, (0.0, -8.0, wide / scale, high / scale), NEURON)
        return []
    rows, size = rows_of_part(known, part), 12.0 * scale
    fields = {"head": head + 1, "count": plan.hidden}
    said = text(f"sequence.wall.{name}" if head == NONE else "sequence.head", **fields)
    title = f"‹  {said}  {len(rows) * len(rows[0]):,}  ›"
    canvas.text(left, top + size, title, size=size, color=theme.ink)
    place = place_of_rows(sheet.plane, plan, rows)
    across, down, side = place.across, place.down, 0.82 * min(place.across, place.down)
    reads = {"qkv": "x", "join": "mix", "wide": "n", "scores": "y"}
    coming = known.numbers(reads[name], known.place) if name in reads else []
    for first in range(0, len(rows) if coming else 0, place.high):
        for column, value in enumerate(coming):
            x, radius = place.corner(first)[0] + across * (column + 0.5), 0.42 * across
            share = min(1.0, max(-1.0, value / 2.2))
            y = place.y - 12.0 * scale
            canvas.line([(x, y), (x, place.y)], sheet.hue(value), width=1.6 * abs(share) + 0.6)
            y -= radius
            canvas.box(x - radius, y, 2.0 * radius, 2.0 * radius, theme.map(share), radius=radius)
    cubes: list[tuple[float, float, float, float]] = []
    found: list[tuple[Box, int]] = []
    for line, indices in enumerate(rows):
        left, y = place.corner(line)
        base = y + 0.97 * down
        ends = [(left, base), (left + across * len(indices), base)]
        canvas.line(ends, theme.shelf, width=1.0)
        for column, index in enumerate(indices):
            x, weight = left + across * column, float(known.weights[index])
            cubes.append((x + 0.45 * across, y + 0.95 * down, side, share_of(weight)))
            found.append((Box(x, y, across, down), index))
    draw_cubes(canvas, cubes, theme)
    for line, is_bright in enumerate(lit_lines(known, part, len(rows))):
        if not is_bright:
            left, y = place.corner(line)
            wide = place.end(line) - left + 0.3 * across
            canvas.box(left, y, wide, down, veil(theme.ground, DIM))
    draw_ends(sheet, name, head, place, goal)
    return found


def draw_uses(sheet: Sheet, uses: Uses, wide: float, high: float) -> None:
    """Draw the slope of a weight at each place, their sum, and what its step does to it."""
    known, theme = sheet.known, sheet.theme
    sheet.label(0.0, 8.0, text("sequence.slope.title"), theme.ink, anchor="left", bold=True)
    sheet.label(0.0, 26.0, uses.name, theme.quiet, anchor="left")
    value = uses.old if len(uses.beats) > 0 else float(known.weights[uses.row])
    x, y = sheet.at(12.0, 62.0)
    draw_cubes(sheet.canvas, [(x, y, 22.0 * sheet.zoom, share_of(value))], theme)
    words = uses.way if len(uses.beats) > 0 else typeset(short(value, 4))
    sheet.label(32.0, 51.0, words, theme.ink, anchor="left", bold=True)
    words = text("sequence.slope.used", count=len([each for each in uses.parts if each != 0.0]))
    sheet.label(0.0, 78.0, words, theme.ink, anchor="left")
    sheet.label(wide, 78.0, text("sequence.slope.factors"), theme.quiet, anchor="right")
    pitch = min(18.0, (high - 114.0) / len(uses.parts))
    draw_slopes(sheet, uses, (0.0, 88.0, 2.0 * SLOPES), pitch, SLOPES)
    y = 88.0 + pitch * len(uses.parts) + 14.0
    sheet.label(0.0, y, text("sequence.slope.sum"), theme.ink, anchor="left", bold=True)
    sheet.label(SLOPES, y, uses.said[len(uses.parts)], theme.ink, anchor="right", bold=True)
    words = text("sequence.slope.more" if sum(uses.parts) > 0.0 else "sequence.slope.less")
    sheet.label(SLOPES + 14.0, y, words, theme.quiet, anchor="left")


def draw_ends(sheet: Sheet, name: str, head: int, place: Rows, goal: int) -> None:
    """Draw what each row of a part adds up to: a line, its name, and for scores a bar."""
    plan, known, theme, canvas = sheet.plan, sheet.known, sheet.theme, sheet.canvas
    down, scale = place.down, sheet.zoom * UNIT
    size = SMALL_TEXT * scale
    results = {"qkv": "qkv", "join": "a", "wide": "z", "narrow": "o", "scores": "scores"}
    numbers = known.numbers(results[name], known.place) if name in results else []
    if name == "qkv":
        numbers = numbers[3 * plan.each * head : 3 * plan.each * (head + 1)]
    lines = plan.lines if name == "narrow" else 1
    most: float = max([1e-9, *[abs(each) for each in numbers]])
    for row, value in enumerate(numbers):
        y = place.corner(row * lines)[1] + 0.5 * down * lines
        start, part = place.end(row * lines) + 3.0, abs(value) / most
        is_narrow = name == "narrow"
        if part > 0.02 and not is_narrow:
            ends = [(start, y), (start + AFTER * scale, y)]
            canvas.line(ends, sheet.hue(value), width=(0.8 + 2.2 * part) * scale)
        if name not in ("scores", "wide"):
            x, base = start + (0.0 if is_narrow else AFTER + 6.0) * scale, y + 0.36 * size
            color = sheet.hue(value) if is_narrow else theme.quiet
            canvas.text(x, base, typeset(short(value)), size=size, color=color)
    names = {"letters": [*plan.signs], "places": [f"{each}" for each in range(plan.places)]}
    kinds = [text(f"sequence.row.{kind}") for kind in ("query", "key", "value")]
    for row, sign in enumerate(names.get(name, kinds if name == "qkv" else [])):
        step = plan.each if name == "qkv" else 1
        y = place.y + down * step * (row + 0.5) + 0.36 * size
        canvas.text(place.x - 5.0, y, sign, size=size, color=theme.quiet, anchor="right")
    chances, x = known.chances, place.end(0) + (AFTER + 14.0) * scale
    for letter, sign in enumerate(plan.signs if name == "scores" else []):
        y, is_told = place.y + down * (letter + 0.5), letter in (known.letter, goal)
        color = theme.ink if is_told else theme.quiet
        look: dict[str, Any] = {"size": size, "bold": is_told, "anchor": "center"}
        canvas.text(x, y + 0.36 * size, sign, color=color, **look)
        if chances:
            off = abs(chances[letter] - (1.0 if letter == goal else 0.0))
            share, hue = (chances[letter], theme.signs[1]) if goal == NONE else (off, theme.accent)
            wide = max(1.2, BAR * scale * min(1.0, share))
            fill = veil(hue, 1.0 if is_told else 0.6)
            canvas.box(x + 10.0 * scale, y - 0.33 * down, wide, 0.66 * down, fill, radius=1.5)
            if is_told or share > 0.1:
                words, end = typeset(short(share)), x + 14.0 * scale + wide
                canvas.text(end, y + 0.36 * size, words, size=size, color=color)
    parts = known.parts(known.letter) if name == "scores" and chances and goal == NONE else []
    if parts:
        added = sum_words(parts)
        said = text(
            "sequence.sum.short", stays=added[0], back=added[1], neurons=added[2], score=added[3]
        )
        low, right = place.y + down * plan.letters + 14.0 * scale, sheet.at(plan.wide, 0.0)[0]
        right, said = right - 2.0 * MARGIN * sheet.zoom, said + heat_words(known)
        canvas.text(right, low, said, size=size, color=theme.ink, anchor="right")
