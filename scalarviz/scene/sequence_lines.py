"""The lines of a network that reads a sequence: behind its cubes, and three lit ways above them.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from scalarviz.scene.layout.sequence_places import (
    BALL,
    COMES,
    GIVES,
    KEY,
    PITCH,
    QUERY,
    ROAD,
    SMALL,
    TOP,
    VALUE,
    WALL,
    SequencePlan,
    share_of,
    veil,
)
from scalarviz.scene.layout.ways import Point, curve
from scalarviz.scene.overlay import draw_cubes
from scalarviz.scene.sequence_sheet import ROUND, Sheet
from scalarviz.scene.sequence_ways import SequenceNumbers
from scalarviz.story.facts import NONE

if TYPE_CHECKING:
    from scalarviz.scene.canvas.canvas2d import Canvas2D
    from scalarviz.scene.canvas.palette import Theme
    from scalarviz.scene.frame_data import FrameData
    from scalarviz.scene.layout.division import Projection

FAINT = 0.05  # fraction of the largest number below which a number has no line
LOOK, LIT_SHARE = 12.0, 0.5  # width of all lines of a head, and share with full strength
TURNS = 3  # points of a line to the key of another place
WAY, LEAST_WAY, MOST_WAY = 4.2, 1.8, 3.4  # widths of the lit ways
BIG = 11.0  # side of a lit cube


def draw_sequence_lines(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme
) -> None:
    """Draw all lines behind the cubes: what comes in, runs along the road, and is added up."""
    if frame_data.layout.sequence is None:
        return
    sheet = Sheet(canvas, see, frame_data, theme)
    draw_road(sheet)
    if sheet.known.place == NONE:
        return
    draw_rows_in(sheet)
    for wall in COMES:
        draw_lanes(sheet, wall)
    draw_sums(sheet)
    sheet.flush()
    draw_comb(sheet)
    is_covered = sheet.known.choice.head != NONE
    for head in range(sheet.plan.heads if sheet.known.has("qkv") and not is_covered else 0):
        draw_head(sheet, head)


def draw_road(sheet: Sheet) -> None:
    """Draw the road: from the balls of x below the walls to h, and on to y."""
    plan, color = sheet.plan, veil(sheet.theme.wire, 0.9)
    first, last = plan.ball_y(0), plan.ball_y(plan.size - 1)
    for start, end in (("x", "h"), ("h", "y")):
        x, far = plan.x(start), plan.x(end)
        sheet.gray([(x, last), (x, ROAD), (far, ROAD), (far, last)], 5.0, color, 10.0)
    for part in ("x", "h", "y"):
        sheet.gray([(plan.x(part), first), (plan.x(part), last)], 2.2, color)


def draw_rows_in(sheet: Sheet) -> None:
    """Draw the lines from the row of the letter and the row of the place to the balls of x."""
    plan, known = sheet.plan, sheet.known
    letter, place = known.read[known.place], known.place
    rows = [(plan.letter_y(letter), known.row("letters", letter))]
    own = [known.weight("places", each, place, plan.places) for each in range(plan.size)]
    rows.append((plan.place_y(place), own))
    top: float = max([abs(each) for _, row in rows for each in row])
    start, end = (
        plan.end_x("letters") + 1.5,
        plan.closed_x[0] if plan.closed else plan.x("x") - BALL,
    )
    for each, value in enumerate(known.numbers("x", place) if plan.closed else []):
        points = [(plan.closed_x[1], plan.ball_y(each)), (plan.x("x") - BALL, plan.ball_y(each))]
        sheet.way(points, value, 1.5, 0.65)
    for y, row in rows:
        for each, value in enumerate(row):
            part = abs(value) / max(top, 1e-9)
            if part >= FAINT:
                begin = sheet.at(start, y + fan_of(plan, each))
                path = curve(begin, sheet.at(end, plan.ball_y(each)))
                sheet.add_line(path, value, 0.6 + 1.7 * part, 0.25 + 0.4 * part)


def fan_of(plan: SequencePlan, number: int) -> float:
    """Return how far below the middle of a row the line of a number begins."""
    return 0.35 * (number - 0.5 * (plan.size - 1))


def draw_lanes(sheet: Sheet, wall: str) -> None:
    """Draw the way of each number over a wall and down its column."""
    values = sheet.known.numbers(COMES[wall][2], sheet.known.place)
    top: float = max([1e-9, *[abs(each) for each in values]])
    for number, value in enumerate(values):
        size = abs(value) / top
        if size >= FAINT:
            way = sheet.plan.way_over(number, wall)
            strength = 0.55 * (0.45 + 0.55 * size)
            sheet.way([*way, (way[3][0], TOP - 3.0)], value, 0.7 + 1.3 * size, strength)


def draw_sums(sheet: Sheet) -> None:
    """Draw the line from each row to its ball, or to its bar."""
    plan, known = sheet.plan, sheet.known
    for wall, given in GIVES.items():
        values, width = known.numbers(given[2], known.place), given[3]
        top: float = max([1e-9, *[abs(each) for each in values]])
        for row, value in enumerate(values):
            size, y = abs(value) / top, plan.row_y(wall, row)
            if size > FAINT:
                points = [(plan.end_x(wall) + 1.0, y), (plan.result_x(wall), y)]
                sheet.way(points, value, 0.7 + width * size, 0.75)


def draw_comb(sheet: Sheet) -> None:
    """Draw what neurons say as one band before the trays that read all of them."""
    plan, known, theme = sheet.plan, sheet.known, sheet.theme
    active, x = known.numbers("z", known.place), plan.x("comb")
    color = veil(theme.wire, 0.9)
    sheet.gray([(x, plan.ball_y(0)), (x, plan.ball_y(plan.size - 1))], 3.2, color)
    for number in range(plan.size):
        y = plan.ball_y(number)
        sheet.gray([(x, y), (plan.x("narrow") - 4.0, y)], 2.4, color)
    top: float = max([1e-9, *active])
    for neuron, value in enumerate(active):
        if value > 0.0:
            y = plan.neuron_y(neuron)
            sheet.way([(plan.x("z") + SMALL, y), (x, y)], 1.0, 0.8 + 2.2 * value / top, 0.85)
    sheet.flush()


def draw_head(sheet: Sheet, head: int) -> None:
    """Draw what a head looks at and takes: lines from the query to keys, from values to the mix.

    Their widths are the shares, and add up to LOOK.
    """
    plan, known, theme = sheet.plan, sheet.known, sheet.theme
    here = known.place
    shares = known.shares[head][here]
    own, column = plan.x("own"), plan.x("column")
    color, edge = veil(theme.wire, 0.8), 0.5 * plan.square(here) + 1.0
    for kind in (QUERY, KEY, VALUE):
        first, last = plan.head_y(head, kind, 0), plan.head_y(head, kind, plan.each - 1)
        over = first - 0.5 * PITCH - (1.5 if kind == QUERY else 3.6)
        side, x = own + 6.5, column - 9.0
        sheet.gray([(side, first - 3.5), (side, last + 3.5)], 1.5, color, 1.0)
        points = [(side, first), (side + 5.0, first), (side + 5.0, over), (x, over), (x, first)]
        sheet.gray([*points, (column - edge, first)], 1.5, color, 2.0)
    low, mix = plan.head_y(head, VALUE, plan.each - 1) + edge + 1.0, plan.x("mix") - 9.0
    take = low + 3.0
    end = [(mix, plan.mix_y(head * plan.each + plan.each - 1))]
    for points, share in look_paths(plan, head, shares):
        strength = 0.3 + 0.7 * min(1.0, share / LIT_SHARE)
        path = sheet.path(points, 9.0 if len(points) == TURNS else 4.0)
        sheet.add_line(path, 1.0, max(0.8, LOOK * share), strength)
    sheet.flush()
    for place in range(here, -1, -1):
        share = shares[place]
        width, x = LOOK * share, plan.column_x(place, here)
        y = take + 0.5 * width
        ink = veil(theme.ghost, 0.35 + 0.55 * min(1.0, share / LIT_SHARE))
        sheet.gray([(x, low - 1.0), (x, y), (mix, y), *end], max(0.8, width), ink, 6.0)
        take += width
    first, last = plan.mix_y(head * plan.each), plan.mix_y((head + 1) * plan.each - 1)
    sheet.gray([(mix, first - 4.0), (mix, last + 4.0)], 2.0, theme.ghost, 1.0)
    for number in range(plan.each):
        y = plan.head_y(head, VALUE, number)
        values = known.numbers("mix", here)
        if values:
            points = [(mix, y), (plan.x("mix") - SMALL, y)]
            sheet.way(points, values[head * plan.each + number], 1.6, 0.8)
    sheet.flush()


def look_paths(
    plan: SequencePlan, head: int, shares: Sequence[float]
) -> list[tuple[list[Point], float]]:
    """Return the lines from the query of the chosen place to the keys, and their shares."""
    here, column = len(shares) - 1, plan.x("column")
    edge = 0.5 * plan.square(here) + 1.0
    middle = 0.5 * (plan.head_y(head, QUERY, 0) + plan.head_y(head, QUERY, plan.each - 1))
    look, top = middle - 0.5 * LOOK + 3.0, plan.head_y(head, KEY, 0) - edge - 0.5
    found: list[tuple[list[Point], float]] = []
    for place, share in enumerate(shares):
        x, y = plan.column_x(place, here), look + 0.5 * LOOK * share
        turn = [(x, y), (x, top)]
        if place == here:
            turn = [(column - 13.0, y), (column - 13.0, top - 2.0), (column - 2.0, top)]
        found.append(([(column - edge, y), *turn], share))
        look += LOOK * share
    return found


# The lit ways.


class LitWays:
    """The ways that add most to a score, above everything else.

    Attributes:
        cubes: position and weight of the cubes on them
    """

    def __init__(self, sheet: Sheet, letter: int) -> None:
        self.sheet: Sheet = sheet
        self.plan: SequencePlan = sheet.plan
        self.known: SequenceNumbers = sheet.known
        self.letter: int = letter
        self.width: float = LEAST_WAY
        self.strength: float = 1.0
        self.cubes: list[tuple[float, float, float]] = []

    def lit(self, points: Sequence[Point], value: float, radius: float = ROUND) -> None:
        """Add a part of a way, which carries a number."""
        path = self.sheet.path(points, radius)
        self.sheet.add_line(path, value, self.width, self.strength, casing=1.3, above=True)

    def through(self, wall: str, row: int, column: int) -> None:
        """Add the way of a number over a wall, through a cube, and to the end of its row."""
        value = self.known.number(COMES[wall][2], column, self.known.place)
        x, y = self.plan.cube_x(wall, column), self.plan.row_y(wall, row)
        self.lit([*self.plan.way_over(column, wall), (x, y - 5.0)], value)
        self.out(wall, (x, y), y, self.known.weight(wall, row, column, self.plan.size), value)

    def out(self, wall: str, cube: Point, end: float, weight: float, value: float) -> None:
        """Add the way from a cube to the end of its row, at the height `end`."""
        x, low, far = cube[0] + 4.0, cube[1] + 4.0, self.plan.result_x(wall)
        self.lit([(x, low), (far - 9.0, low), (far - 6.0, end), (far, end)], weight * value, 2.0)
        self.cubes.append((cube[0], cube[1], weight))

    def along(self, part: str, name: str, number: int, road: float, aside: float) -> None:
        """Add the way of a number of the road from a line of balls to y, and to the letter."""
        y, value = self.plan.ball_y(number), self.known.number(name, number, self.known.place)
        x, far = self.plan.x(part) + BALL, self.plan.x("y") - BALL
        near, last = x + aside, far - aside
        self.lit([(x, y), (near, y), (near, road), (last, road), (last, y), (far, y)], value, 7.0)
        self.strength = 1.0
        self.through("scores", self.letter, number)

    def staying(self, number: int) -> None:
        """Add the way from the row of the letter or of the place, below everything."""
        plan, known, sheet = self.plan, self.known, self.sheet
        letter, place = known.read[known.place], known.place
        value = known.number("x", number, place)
        own = known.weight("letters", letter, number, plan.size)
        other = known.weight("places", number, place, plan.places)
        is_letter = own * value >= other * value
        y = plan.letter_y(letter) if is_letter else plan.place_y(place)
        start = sheet.at(plan.end_x("letters") + 1.5, y + fan_of(plan, number))
        start = sheet.at(plan.closed_x[1], plan.ball_y(number)) if plan.closed else start
        path = curve(start, sheet.at(plan.x("x") - BALL, plan.ball_y(number)))
        self.strength = min(1.0, LEAST_WAY / self.width) ** 0.5  # not to outshine the others
        weight = value if plan.closed else own if is_letter else other
        sheet.add_line(path, weight, self.width, self.strength, casing=1.3, above=True)
        self.along("x", "x", number, ROAD, 3.0)

    def looking(self, number: int, mixed: int, place: int) -> None:
        """Add the way from a value of a place through the mix, join and the road."""
        plan, known = self.plan, self.known
        head, each = divmod(mixed, plan.each)
        low, mix = plan.head_y(head, VALUE, plan.each - 1) + 16.0, plan.x("mix") - 9.0
        x, y = plan.column_x(place, known.place), plan.mix_y(mixed)
        value = known.of_head(head, VALUE, each, place)
        self.lit([(x, y + 4.0), (x, low), (mix, low), (mix, y), (mix + 5.0, y)], value)
        half = 0.5 * plan.square(known.place) + 1.0
        self.sheet.frame(x - half, y - half, x + half, y + half)
        self.through("join", number, mixed)
        self.along("h", "a", number, ROAD - 5.0, 5.5)

    def speaking(self, number: int, neuron: int, column: int) -> None:
        """Add the way through a neuron: a cube of wide, the band, and a cube of narrow."""
        plan = self.plan
        self.through("wide", neuron, column)
        x, y, comb = (
            plan.cube_x("narrow", neuron % WALL),
            plan.narrow_y(number, neuron),
            plan.x("comb"),
        )
        height = plan.neuron_y(neuron)
        self.lit([(plan.x("z") + SMALL, height), (comb, height), (comb, y), (x - 4.0, y)], 1.0)
        weight = self.known.weight("narrow", number, neuron, plan.hidden)
        self.out("narrow", (x, y), plan.ball_y(number), weight, 1.0)
        self.through("scores", self.letter, number)


def draw_lit_cubes(sheet: Sheet, cubes: Sequence[tuple[float, float, float]]) -> None:
    """Draw the cubes on lit ways, at a position and of a weight, enlarged and framed."""
    side, half = BIG * sheet.zoom, 0.5 * BIG + 1.0
    drawn: list[tuple[float, float, float, float]] = []
    for x, y, weight in cubes:
        place = sheet.at(x, y)
        drawn.append((place[0], place[1] + 0.5 * side - sheet.zoom, side, share_of(weight)))
        sheet.frame(x - half, y - half - 1.0, x + half + 1.0, y + half - 1.0)
    if drawn:
        draw_cubes(sheet.canvas, drawn, sheet.theme)


def draw_lit_ways(sheet: Sheet, parts: Sequence[float]) -> None:
    """Draw for each part of a score the way that adds most to it."""
    known, ways = sheet.known, LitWays(sheet, sheet.known.letter)
    for number, part in enumerate(parts):
        ways.width = min(MOST_WAY, max(LEAST_WAY, WAY * math.sqrt(abs(part))))
        sign = 1.0 if part >= 0.0 else -1.0
        if number == 0:
            ways.staying(known.staying(known.letter, sign))
        elif number == 1:
            ways.looking(*known.looking(known.letter, sign))
        elif max(known.numbers("z", known.place)) > 0.0:
            ways.speaking(*known.speaking(known.letter, sign))
    sheet.flush()
    draw_lit_cubes(sheet, ways.cubes)
