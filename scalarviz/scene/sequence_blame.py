"""Backward through a network that reads a sequence: from OUT and goal back to one weight.

The way of the forward pass is drawn in violet. A card shows the slope of the weight as the sum of
what each place adds, and its step.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import short, typeset
from scalarviz.base.texts.sums import largest
from scalarviz.scene.blame import head_on
from scalarviz.scene.layout.sequence_places import (
    BALL,
    BOTTOM,
    COMES,
    QUERY,
    ROAD,
    SMALL,
    TOP,
    VALUE,
    WALL,
    share_of,
    veil,
)
from scalarviz.scene.layout.ways import Point
from scalarviz.scene.overlay import draw_cubes
from scalarviz.scene.sequence_lines import LOOK, draw_lit_cubes, fan_of, look_paths
from scalarviz.scene.sequence_sheet import (
    LEAST_LETTER,
    LEAST_NAME,
    LETTERS,
    NAME_WIDE,
    SMALLER,
    Sheet,
)
from scalarviz.story.facts import NONE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scalarviz.base.checks import FloatArray
    from scalarviz.scene.layout.sequence_places import SequencePlan
    from scalarviz.scene.sequence_ways import SequenceNumbers
    from scalarviz.story.caption import Uses

WAY, CASING = 3.6, 3.0  # width of the way, and of the ground around it
ERROR, THICK = 82.0, 10.0  # length of an error of 1, and height of its bar
CARD, HIGH = 262.0, 25.0  # width of the card, and height of a row
SMALL_ZOOM, ROWS, REACH = 0.8, 205.0, 64.0  # zoom of small pictures; height of rows; largest part
# Height of a link of the reason, length of the arrow to the next, and least room for OUT.
LINK, LINK_GAP, LEAST_LINK = 20.0, 16.0, 30.0
NOTHING = 0.01  # part of the largest slope up to which a slope is dim
# Deepest result whose slope is known, and the wall that adds it up.
KNOWN = (("e", "letters"), ("qkv", "qkv"), ("a", "join"), ("u", "wide"), ("o", "narrow"))


class WayBack:
    """The way from OUT and goal back to a weight.

    Attributes:
        cubes: position and weight of the cubes on it
        balls: the balls on it: center and radius
    """

    def __init__(self, sheet: Sheet, goal: int) -> None:
        self.sheet: Sheet = sheet
        self.plan: SequencePlan = sheet.plan
        self.known: SequenceNumbers = sheet.known
        self.goal: int = goal
        self.cubes: list[tuple[float, float, float]] = []

    def add_part(self, points: Sequence[Point], radius: float = 6.0, width: float = WAY) -> None:
        """Draw a part of the way, with an arrowhead if it is long."""
        sheet, theme = self.sheet, self.sheet.theme
        path = sheet.path(points, radius)
        sheet.canvas.line(path, theme.ground, width=(width + CASING) * sheet.zoom)
        sheet.canvas.line(path, theme.accent, width=max(1.0, width * sheet.zoom))
        ends = head_on(path)
        if len(ends) > 1:
            x, y = ends[0]
            right, low = ends[1]
            far = math.hypot(right - x, low - y) or 1.0
            side, along = 5.0 * sheet.zoom, ((right - x) / far, (low - y) / far)
            wings = [
                (x - side * (along[0] - way * along[1]), y - side * (along[1] + way * along[0]))
                for way in (-1.0, 1.0)
            ]
            sheet.canvas.line([wings[0], (x, y), wings[1]], theme.ink, width=max(1.0, sheet.zoom))

    def through(self, wall: str, row: int, column: int, weight: float) -> None:
        """Draw the way from the end of a row to a cube of it."""
        plan = self.plan
        x, y = place_of(plan, wall, row, column)
        end, far = plan.row_y(wall, row), plan.result_x(wall)
        self.add_part([(far, end), (far - 6.0, end), (far - 9.0, y + 4.0), (x + 4.0, y + 4.0)], 2.0)
        self.cubes.append((x, y, weight))

    def pass_over(self, wall: str, row: int, column: int) -> None:
        """Draw the way from a cube up its column and over the wall to the ball before it."""
        way = self.plan.way_over(column, wall)
        cube = self.plan.cube_x(wall, column), self.plan.row_y(wall, row) - 5.0
        self.add_part([cube, *reversed(way)], 5.0)

    def to_goal(self) -> None:
        """Draw the way from the seam of OUT and goal to the row of the goal."""
        plan, x = self.plan, self.plan.x("bars")
        y, far = plan.score_y(self.goal), min(plan.wide - 6.0, x + ERROR + 6.0)
        end = x + ERROR * (1.0 - self.known.chances[self.goal])
        self.add_part([(x + 33.5, 14.0), (x + 33.5, 54.0), (far, 54.0), (far, y), (end + 2.0, y)])

    def to_road(self, number: int) -> None:
        """Draw the way through the scores to a ball of y."""
        row, size = self.goal, self.plan.size
        self.through("scores", row, number, self.known.weight("scores", row, number, size))
        self.pass_over("scores", row, number)
        self.mark_ball("y", self.plan.ball_y(number), BALL)

    def along(self, number: int, part: str) -> None:
        """Draw the way along the road, from y back to another line of balls."""
        x, far, y = self.plan.x("y"), self.plan.x(part), self.plan.ball_y(number)
        self.add_part([(x, y + BALL), (x, ROAD), (far, ROAD), (far, y + BALL)], 10.0)
        self.mark_ball(part, y, BALL)

    def mark_ball(self, part: str, y: float, radius: float) -> None:
        x = self.plan.x(part)
        self.sheet.frame(x - radius - 2.0, y - radius - 2.0, x + radius + 2.0, y + radius + 2.0)

    def to_mix(self, number: int, mixed: int) -> None:
        """Draw the way through a cube of join to a number of the mix."""
        weight = self.known.weight("join", number, mixed, self.plan.size)
        self.through("join", number, mixed, weight)
        self.pass_over("join", number, mixed)
        self.mark_ball("mix", self.plan.mix_y(mixed), SMALL)

    def to_places(self, mixed: int, kind: int) -> None:
        """Draw the way from a number of the mix to the places that it is taken from.

        The way to a query or a key continues along the lines that look at the keys of places.
        """
        plan, known, here = self.plan, self.known, self.known.place
        head, is_value = mixed // plan.each, kind == VALUE
        low, x = plan.head_y(head, VALUE, plan.each - 1) + 6.0, plan.x("mix") - 9.0
        y, taken = plan.mix_y(mixed), low + 3.0
        for place in range(here, -1, -1):
            width = LOOK * known.shares[head][here][place]
            level, far = taken + 0.5 * width, plan.column_x(place, here)
            points = [(x + 4.0, y), (x, y), (x, level), (far, level), (far, low - 2.0)]
            self.add_part(points, 4.0, max(1.0, 0.8 * width) if is_value else 1.0)
            taken += width
        for path, share in [] if is_value else look_paths(plan, head, known.shares[head][here]):
            self.add_part([*reversed(path)], 4.0, max(1.0, 0.8 * LOOK * share))

    def to_row(self, channel: int, column: int) -> None:
        """Draw the way from the column of the place to a cube of query, key and value."""
        plan, y = self.plan, self.plan.channel_y(channel)
        x = plan.column_x(0, self.known.place) - 6.0
        self.add_part([(plan.x("column"), y - 6.0), (x, y - 6.0), (plan.x("own") + 10.0, y - 6.0),
                   (plan.x("own"), y)], 3.0, 2.6)  # fmt: skip
        self.through("qkv", channel, column, self.known.weight("qkv", channel, column))

    def draw_input(self, wall: str, row: int, column: int) -> None:
        """Draw what came in to a weight, in its own hue."""
        value = self.known.number(COMES[wall][2], column, self.known.place)
        cube = self.plan.cube_x(wall, column), self.plan.row_y(wall, row) - 5.0
        path = self.sheet.path([*self.plan.way_over(column, wall), cube], 5.0)
        self.sheet.add_line(path, value, 2.2, 1.0, casing=1.5, above=True)
        self.sheet.flush()


def cell_of(plan: SequencePlan, row: int) -> tuple[str, int, int]:
    """Return the wall, the row and the column of a weight."""
    walls = ["letters", "places", "qkv", "join", "wide", "narrow", "scores"]
    wall = [each for each in walls if plan.rows[each] <= row][-1]
    length = {"places": plan.places, "narrow": plan.hidden}.get(wall, plan.size)
    unit, column = divmod(row - plan.rows[wall], length)
    return (wall, column, unit) if wall == "places" else (wall, unit, column)


def draw_way_back(
    sheet: Sheet, goal: int, flows: Mapping[str, FloatArray], uses: Uses | None
) -> None:
    """Draw the way back to a weight; without one, as far as slopes are known."""
    row, route = (NONE, ()) if uses is None else (uses.row, uses.route)
    plan, known, way = sheet.plan, sheet.known, WayBack(sheet, goal)
    found = [wall for name, wall in KNOWN if plan.buffers[name] in flows]
    wall, unit, column = cell_of(plan, row) if row != NONE else ([*found, "scores"][0], NONE, NONE)
    draw_errors(sheet, goal)
    if wall == "scores" and unit not in (goal, NONE):
        way.through("scores", unit, column, known.weight("scores", unit, column))
        way.draw_input("scores", unit, column)
        draw_lit_cubes(way.sheet, way.cubes)
        return
    way.to_goal()
    scores = known.row("scores", goal)
    number = largest(scores)
    if wall == "scores":
        number = column if column != NONE else number
        way.through("scores", goal, number, scores[number])
    elif wall in ("narrow", "wide"):
        way_to_neuron(way, wall, (unit, column), route)
    elif wall in ("letters", "places"):
        number = column if column != NONE else number
        way.to_road(number)
        way.along(number, "x")
        if column != NONE:
            way_to_row(way, wall, unit, column)
    else:
        way_to_look(way, wall, (unit, column), route)
    if column != NONE and wall in COMES:
        way.draw_input(wall, unit, column)
    draw_lit_cubes(way.sheet, way.cubes)


def way_to_neuron(way: WayBack, wall: str, at: tuple[int, int], route: Sequence[int]) -> None:
    """Draw the way back through the neurons, to a row and a column of a wall."""
    plan, known = way.plan, way.known
    unit, column = at
    scores = known.row("scores", way.goal)
    number, neuron = at if wall == "narrow" else ([*route, NONE][0], unit)
    if neuron == NONE and wall == "wide":
        active = known.numbers("z", known.place)
        neuron = largest(active) if max(active) > 0.0 else NONE
    if number == NONE:
        sent = [each * known.weight("narrow", i, max(0, neuron), plan.hidden)
                for i, each in enumerate(scores)]  # fmt: skip
        number = largest(sent if neuron != NONE else scores)
    way.to_road(number)
    if neuron == NONE:
        return
    way.through("narrow", number, neuron, known.weight("narrow", number, neuron, plan.hidden))
    if wall == "narrow":
        return
    x, y = plan.cube_x("narrow", neuron % WALL) - 4.0, plan.narrow_y(number, neuron)
    comb, high = plan.x("comb"), plan.neuron_y(neuron)
    way.add_part([(x, y), (comb, y), (comb, high), (plan.x("z") + SMALL, high)], 2.0)
    if column != NONE:
        way.through("wide", neuron, column, known.weight("wide", neuron, column))


def way_to_look(way: WayBack, wall: str, at: tuple[int, int], route: Sequence[int]) -> None:
    """Draw the way back through join, and through the places that are looked at."""
    plan, known = way.plan, way.known
    unit, column = at
    scores, each = known.row("scores", way.goal), plan.each
    head, rest = divmod(max(0, unit), 3 * each)
    mixed = list(range(plan.size))
    if wall == "qkv" and unit != NONE:
        first = head * each
        mixed = [first + rest % each] if rest >= 2 * each else mixed[first : first + each]
    if wall == "join" and column != NONE:
        mixed = [column]
    numbers = [unit] if wall == "join" and unit != NONE else list(range(plan.size))
    pairs = [(number, mix) for number in numbers for mix in mixed]
    sent = [scores[number] * known.weight("join", number, mix) for number, mix in pairs]
    number, mix = pairs[largest(sent)] if len(route) == 0 else (route[0], route[1])
    way.to_road(number)
    way.along(number, "h")
    if wall == "join" and column == NONE:
        return
    if wall == "join":
        way.through("join", number, mix, known.weight("join", number, mix))
        return
    way.to_mix(number, mix)
    way.to_places(mix, QUERY if unit == NONE else rest // each)
    if column != NONE:
        way.to_row(unit, column)


def way_to_row(way: WayBack, wall: str, row: int, column: int) -> None:
    """Draw the way from a ball of x to a cube of the row of a letter or of a place."""
    plan, known = way.plan, way.known
    is_letter = wall == "letters"
    y = plan.letter_y(row) if is_letter else plan.place_y(row)
    weight = known.weight(wall, row, column)
    if not is_letter:
        weight = known.weight("places", column, row, plan.places)
    x, end = plan.x("x") - BALL, plan.end_x("letters") + 2.0
    turn = end + 12.0, y + fan_of(plan, column)
    way.add_part([(x, plan.ball_y(column)), turn, (end, y)], 2.0, 2.6)
    way.cubes.append((plan.cube_x("letters", column), y, weight))


def draw_errors(sheet: Sheet, goal: int) -> None:
    """Draw what each share is off as a violet bar in place of the share."""
    plan, known, theme = sheet.plan, sheet.known, sheet.theme
    x = plan.x("bars")
    for letter, share in enumerate(known.chances):
        off = abs(share - 1.0) if letter == goal else share
        y, is_told = plan.score_y(letter), letter == goal
        color = theme.ink if is_told or letter == known.best else theme.ghost
        sheet.label(plan.x("signs"), y, plan.signs[letter], color, bold=is_told,
                    least=LEAST_LETTER)  # fmt: skip
        fill = veil(theme.accent, 1.0 if is_told else 0.6)
        sheet.box(x, y - 0.5 * THICK, x + max(1.0, ERROR * off), y + 0.5 * THICK, fill)
    said = typeset(short(known.chances[goal]))
    if sheet.zoom > SMALL_ZOOM:
        said = text("sequence.slope.little", share=said)
    low = plan.score_y(goal) + (15.0 if goal < plan.letters - 1 else -15.0)
    sheet.label(plan.wide - 10.0, low, said, theme.accent, anchor="right", halo=True)


def draw_weight_of(sheet: Sheet, row: int) -> None:
    """Draw a weight enlarged and framed."""
    x, y = place_of(sheet.plan, *cell_of(sheet.plan, row))
    draw_lit_cubes(sheet, [(x, y, float(sheet.known.weights[row]))])


def place_of(plan: SequencePlan, wall: str, row: int, column: int) -> Point:
    """Return the center of a cube of a wall."""
    if wall == "narrow":
        return plan.cube_x(wall, column % WALL), plan.narrow_y(row, column)
    return plan.cube_x("letters" if wall == "places" else wall, column), plan.row_y(wall, row)


def draw_reason(sheet: Sheet, uses: Uses) -> None:
    """Draw why another weight makes the goal likelier: a link above each wall on the way."""
    plan, theme, zoom = sheet.plan, sheet.theme, sheet.zoom
    wall, _, column = cell_of(plan, uses.row)
    parts = {"qkv": ["mix", "h"], "join": ["h"], "wide": ["z", "y"], "narrow": ["y"]}
    middles = [plan.cube_x(wall, column % WALL), *[plan.x(each) for each in parts.get(wall, [])]]
    middles.append(plan.cube_x("scores", uses.route[0]) + (0.0 if wall in parts else 40.0))
    size = max(min(LEAST_NAME, SMALLER * zoom), LETTERS * zoom)
    wide = [sheet.canvas.measure(each, size=size) / zoom + LINK for each in uses.links]
    lefts: list[float] = []
    end = plan.x("letters") + NAME_WIDE
    for middle, width in zip(middles, wide, strict=True):
        lefts.append(max(end + LINK_GAP, middle - 0.5 * width))
        end = lefts[-1] + width
    out = sheet.canvas.measure(text("picture.out"), size=LETTERS * zoom, bold=True) / zoom
    high, line = max(LINK, 1.35 * size / zoom), max(1.0, 1.2 * zoom)
    limit, y = plan.x("bars") + 20.0 - max(out, LEAST_LINK), TOP + 0.5 * (high - LINK) - 40.5
    for i in range(len(lefts) - 1, -1, -1):
        lefts[i] = min(lefts[i], limit - wide[i])
        limit = lefts[i] - LINK_GAP
    for i, (left, width, said) in enumerate(zip(lefts, wide, uses.links, strict=True)):
        if i > 0:
            x, ends = left - 1.0, [(lefts[i - 1] + wide[i - 1], y), (left - 1.0, y)]
            for points in (ends, [(x - 4.0, y - 4.0), (x, y), (x - 4.0, y + 4.0)]):
                sheet.canvas.line([sheet.at(*each) for each in points], theme.lit, width=line)
        sheet.box(left, y - 0.5 * high, left + width, y + 0.5 * high, theme.panel[:7],
                  radius=0.5 * high, outline=theme.lit, line=line)  # fmt: skip
        sheet.label(left + 0.5 * width, y, said, theme.ink)


def draw_card_of_uses(sheet: Sheet, uses: Uses) -> None:
    """Draw the slope of a weight at each place, their sum, and its step."""
    plan, known, theme, zoom = sheet.plan, sheet.known, sheet.theme, sheet.zoom
    wall = cell_of(plan, uses.row)[0]
    is_small = zoom < SMALL_ZOOM
    left = plan.x("qkv") + 6.0 if wall in ("wide", "narrow") else plan.x("wide") - 10.0
    right, low = left + CARD, BOTTOM - 2.0
    sheet.card(left, TOP + 6.0, right, low)
    x, y = left + 16.0, TOP + 30.0
    sheet.label(x, y, text("sequence.slope.title"), theme.ink, anchor="left", bold=True, large=16.0,
                within=CARD - 28.0)  # fmt: skip
    if not is_small:
        sheet.label(x, y + 24.0, uses.name, theme.quiet, anchor="left")
    value = uses.old if len(uses.beats) > 0 else float(known.weights[uses.row])
    place = sheet.at(x + 22.0, y + 72.0)
    draw_cubes(sheet.canvas, [(place[0], place[1], 30.0 * zoom, share_of(value))], theme)
    start = uses.way.partition(" → ")[0]
    said = start if len(uses.beats) > 0 else typeset(short(value, 4))
    sheet.label(x + 56.0, y + 58.0, said, theme.ink, anchor="left", bold=True, large=14.0)
    count = len(uses.parts)
    is_row = wall in ("letters", "places")
    used = [each for each in uses.parts if each != 0.0 or not is_row]
    words = text("sequence.slope.used", count=len(used))
    sheet.label(x, y + 98.0, words, theme.ink, anchor="left")
    if not is_small and not is_row:
        words = text("sequence.slope.factors")
        sheet.label(x, y + 117.0, words, theme.quiet, anchor="left")
    top, pitch = y + 130.0, min(HIGH, ROWS / count)
    draw_slopes(sheet, uses, (x, top, right - 16.0), pitch, 118.0)
    y = top + pitch * count + 6.0
    sheet.label(x, y + 16.0, text("sequence.slope.sum"), theme.ink, anchor="left", bold=True)
    end, total = x + (165.0 if is_small else 118.0), uses.said[count]
    sheet.label(end, y + 16.0, total, theme.ink, anchor="right", bold=True, large=14.0)
    more, less = text("sequence.slope.more"), text("sequence.slope.less")
    if not is_small:
        words = more if sum(uses.parts) > 0.0 else less
        sheet.label(x + 132.0, y + 16.0, words, theme.quiet, anchor="left")
    if len(uses.beats) > 0:
        beat = uses.beats[1]
        rate = f"− {beat}" if is_small else text("sequence.slope.rate", beat=beat)
        if is_small:
            y -= 16.0
        else:
            sheet.label(x, y + 42.0, text("sequence.slope.mean"), theme.ink, anchor="left",
                        within=CARD - 28.0)  # fmt: skip
        sheet.label(x, y + 60.0, uses.beats[0], theme.quiet, anchor="left")
        sheet.label(x, y + 78.0, rate, theme.quiet, anchor="left", within=CARD - 28.0)
        change, _, words = uses.way.partition(": ")
        sheet.label(x, y + 104.0, change, theme.ink, anchor="left", bold=True, large=14.0)
        sheet.label(x, y + 123.0, words, theme.quiet, anchor="left")
        head, _, share = uses.moved.partition(": ")
        for line, said in enumerate([head, share] if is_small else [uses.moved]):
            sheet.label(x, y + 147.0 + 18.0 * line, said, theme.ink, anchor="left")


def draw_slopes(
    sheet: Sheet, uses: Uses, corner: tuple[float, float, float], pitch: float, end: float
) -> None:
    """Draw the slope of a weight at each place with a bar, and a line below.

    Args:
        corner: left end, top and right end of the rows
        end: right end of the numbers, from the left end
    """
    plan, known, theme, zoom = sheet.plan, sheet.known, sheet.theme, sheet.zoom
    x, top, right = corner
    count = len(uses.parts)
    most: float = max([1e-12, *[abs(part) for part in uses.parts]])
    zero = right - REACH * (0.5 if min(uses.parts) < 0.0 < max(uses.parts) else 1.0)
    zero = right if max(uses.parts) <= 0.0 else zero
    unit = (REACH if zero != right - 0.5 * REACH else 0.5 * REACH) / most
    sheet.canvas.line(
        [sheet.at(zero, top), sheet.at(zero, top + pitch * count)],
        theme.quiet,
        width=max(0.8, zoom),
    )
    for own, part in enumerate(uses.parts):
        y, is_here = top + pitch * (own + 0.5), own == uses.place
        side = min(18.0, pitch - 2.0)
        look = "chosen" if is_here else "read"
        sheet.chip(x, y - 0.5 * side, side, plan.signs[known.read[own]], look)
        color = theme.accent if abs(part) > NOTHING * most else theme.ghost
        sheet.label(x + end, y, uses.said[own], color, anchor="right", bold=is_here,
                    least=LEAST_LETTER)  # fmt: skip
        start = zero + unit * min(0.0, part)
        end_x, fill = start + unit * abs(part), veil(theme.accent, 1.0 if is_here else 0.7)
        sheet.box(start, y - 0.2 * pitch, end_x, y + 0.2 * pitch, fill, least=1.0)
    y = top + pitch * count + 6.0
    sheet.canvas.line([sheet.at(x, y), sheet.at(x + end, y)], theme.quiet, width=max(0.8, zoom))
