"""The error signal that reaches a weight: converging paths of increasing width, with labels.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scalarviz.scene.annotations import fill_panel, lead
from scalarviz.scene.layout.camera import Box
from scalarviz.scene.layout.ways import ROUND, Point, part_of, rounded, way_out, wire

if TYPE_CHECKING:
    from scalarviz.scene.annotations import Ball
    from scalarviz.scene.canvas.canvas2d import Canvas2D
    from scalarviz.scene.canvas.palette import Theme
    from scalarviz.scene.layout.plates import Fan
    from scalarviz.scene.layout.ways import SeenFan
    from scalarviz.story.caption import Blame

# Pixels of a path without blame, and its growth for a blame of 1; minimum width of the widest, and
# its maximum as a fraction of the space between two wires.
THIN, WIDE, LEAST, MOST = 1.6, 100.0, 2.4, 0.9
# Fractions of an operation: until light reaches the cubes, along their column, to the weight.
TO_CUBES, ALONG, TO_WEIGHT = (0.0, 0.4), (0.3, 0.7), (0.65, 0.95)
LONG = 60.0  # minimum pixels of a path with an arrowhead
LETTERS, TALL, AROUND = 12.0, 22.0, 9.0  # pixels of a tag: its letters, height, and padding
# Candidate positions of a tag beside a column, those close to the column, and maximum tags.
BESIDE, TRIES, NEAR, TAGS = 10.0, 9, 6, 4
# Maximum tags of long rows, pixels of such a row, and from it to the score bars.
ROW_TAGS, ROW, BARE = 3, 10.0, 62.0
Lit = tuple[list[Point], float]  # a path and its width


@dataclass
class SeenLayer:
    """A layer, its rows in the picture, and half the side of each of its cubes, in cells."""

    fan: Fan
    seen: SeenFan
    halves: list[list[float]]

    @property
    def boxes(self) -> list[Box]:
        """Boxes of the cubes and gates of the layer."""
        return boxes_of(self.seen, self.halves)


def unit_width(fan: SeenFan, blame: Blame) -> float:
    """Return the number of pixels by which an error signal of 1 widens a path."""
    amounts: list[float] = [each.amount for each in blame.parts]
    most = max([1e-12, abs(blame.total), *[abs(each) for each in amounts]])
    widest = MOST * fan.runs / fan.scale - THIN
    return min(max(WIDE, LEAST / most), widest / most)


def so_far(path: list[Point], part: float, span: tuple[float, float]) -> list[Point]:
    """Return the lit part of a path along which light travels during `span`."""
    share = min(1.0, max(0.0, (part - span[0]) / (span[1] - span[0])))
    return part_of(path, 0.0, share) if share > 0.0 else []


def lit_by_blame(
    fan: Fan, seen: SeenFan, halves: list[list[float]], blame: Blame, part: float
) -> list[Lit]:
    """Return the lit paths of the error signal through a layer, starting at the outputs.

    Args:
        halves: half the side of each cube, in cells
        part: finished fraction of the operation, from 0 to 1
    """
    amounts, part = {each.row: each.amount for each in blame.parts}, 1.0 if blame.stays else part
    own = [row for row in [*amounts, *blame.earlier] if fan.unit_of(row) is not None]
    unit_of_weight, widen = fan.unit_of(blame.row), unit_width(seen, blame)
    found: list[Lit] = []
    if len(own) > 0:
        column = fan.unit_before(own[0])
        rows = [fan.row_of(i, column) for i in range(fan.units)]
        thin = THIN / widen
        sent = [amounts.get(row, thin if row in blame.earlier else 0.0) for row in rows]
        sides = [row[column] for row in halves]
        for path, width, span in column_ways(seen, column, sides, sent):
            found.append((so_far(path, part, span), seen.scale * (THIN + widen * width)))
    if unit_of_weight is not None:
        path = way_back(seen, unit_of_weight, fan.unit_before(blame.row))
        width = seen.scale * (THIN + 0.9 * widen * abs(blame.total))
        found.append((so_far(path, part, TO_WEIGHT), width))
    return [each for each in found if len(each[0]) > 1]


def head_on(path: list[Point]) -> list[Point]:
    """Return the base and tip of an arrowhead on a path; empty if the path is short."""
    x, y = path[0]
    right, below = path[len(path) - 1]
    far = abs(right - x) + abs(below - y)
    return part_of(path, 0.5, 0.52)[:2] if far > LONG else []


def way_back(fan: SeenFan, unit: int, column: int) -> list[Point]:
    """Return the path from a neuron through its gate to the bottom of a cube."""
    end, below, radius = fan.ends[unit]
    path = [*way_out(fan, unit, column), (end - radius, below)]
    return [*reversed(path)]


def column_ways(
    fan: SeenFan, column: int, halves: list[float], amounts: list[float]
) -> list[tuple[list[Point], float, tuple[float, float]]]:
    """Return the paths from a column's cubes to its neuron, each with error signal and time span.

    Between two cubes, the path carries the partial sum.
    """
    down, corners = fan.column(column), wire(fan, column)
    join = corners[len(corners) - 1][1]
    levels = [feet[column][1] - fan.arm for feet in fan.feet]
    found: list[tuple[list[Point], float, tuple[float, float]]] = []
    for unit, level in enumerate(levels):
        left = fan.feet[unit][column][0] - halves[unit] * fan.cell
        found.append((way_back(fan, unit, column), abs(amounts[unit]), TO_CUBES))
        found.append(([(left, level), (down, level)], abs(amounts[unit]), ALONG))
    below = sorted([i for i in range(len(levels)) if levels[i] >= join], key=lambda i: -levels[i])
    above = sorted([i for i in range(len(levels)) if levels[i] < join], key=lambda i: levels[i])
    for units in (below, above):
        total: float = 0.0
        for place, unit in enumerate(units):
            total += amounts[unit]
            end = levels[units[place + 1]] if place + 1 < len(units) else join
            found.append(([(down, levels[unit]), (down, end)], abs(total), ALONG))
    found.append((rounded([*reversed(corners)], ROUND * fan.scale), abs(sum(amounts)), ALONG))
    return found


def boxes_of(fan: SeenFan, halves: list[list[float]]) -> list[Box]:
    """Return the boxes of a layer's cubes and gates, and of the letter above its biases."""
    reach, scale = fan.half_gate, fan.scale
    found = [Box(x - reach, y - reach, 2.0 * reach, 2.0 * reach) for x, y in fan.gates]
    if len(fan.feet[0]) > fan.count:
        x = fan.feet[0][fan.count][0]
        found.append(Box(x - 8.0 * scale, fan.top - 26.0 * scale, 16.0 * scale, 22.0 * scale))
    for unit, feet in enumerate(fan.feet):
        for column, (x, y) in enumerate(feet):
            half = halves[unit][column] * fan.cell
            found.append(Box(x - half, y - 2.6 * half, 2.6 * half, 2.6 * half + 3.0 * scale))
    return found


def boxes_along(fan: SeenFan, column: int) -> list[Box]:
    """Return the boxes of the path from the rows along a column to its neuron."""
    half = 0.5 * MOST * fan.runs
    last = fan.feet[len(fan.feet) - 1][column][1] - fan.arm
    points = [*wire(fan, column), (fan.column(column), last)]
    found: list[Box] = []
    for place in range(len(points) - 1):
        x, y = points[place]
        right, low = points[place + 1]
        span = Box(min(x, right), min(y, low), abs(right - x), abs(low - y))
        found.append(
            Box(span.x - half, span.y - half, span.width + 2.0 * half, span.height + 2.0 * half)
        )
    return found


def tag_size(canvas: Canvas2D, words: str) -> tuple[float, float]:
    """Return the width and height of a label."""
    scale = canvas.scale
    wide = canvas.measure(words, size=LETTERS * scale, bold=True)
    return wide + 2.0 * AROUND * scale, TALL * scale


def joint_of(fan: SeenFan, unit: int, column: int, half: float) -> tuple[Point, float]:
    """Return the point of a column to which a label is connected, and the top of the cube."""
    y = fan.feet[unit][column][1]
    top = y - 2.6 * half * fan.cell
    return (fan.column(column), top if fan.form == "nested" else y - fan.arm), top


def tag_place(
    wide: float,
    high: float,
    joint: Point,
    top: float,
    view: Box,
    others: Sequence[Box],
    wires: Sequence[Box],
) -> Box | None:
    """Return the position of a label next to a column, near its joint; None if it does not fit.

    The label overlaps none of `others`, and as few of the wires as possible.
    """
    step, found, least = 0.5 * high, None, len(wires) + 1
    for number in range(TRIES):
        if number == NEAR and found is not None:
            break
        y = top - high - number * step
        for x in (joint[0] - BESIDE - wide, joint[0] + BESIDE):
            box = Box(x, y, wide, high)
            inside = x >= view.x and box.right <= view.right and y >= view.y - high
            inside = inside and box.bottom <= view.bottom
            if not inside or any(box.meets(each) for each in others):
                continue
            met = len([each for each in wires if box.meets(each)])
            if met < least:
                found, least = box, met
    return found


def draw_tag(canvas: Canvas2D, theme: Theme, box: Box, to: Box, words: str) -> None:
    """Draw a label at a joint of paths, with a line to the joint."""
    scale, size = canvas.scale, LETTERS * canvas.scale
    lead(canvas, box, to, theme.accent)
    fill_panel(canvas, theme, box, theme.accent, 7.0)
    first, colon, rest = words.partition(": ")
    x, low = box.x + AROUND * scale, box.y + 0.5 * box.height + 0.36 * size
    first += colon
    canvas.text(x, low, first, size=size, color=theme.accent)
    x += canvas.measure(first, size=size)
    canvas.text(x, low, rest, size=size, color=theme.ink, bold=True)


def draw_row_tags(
    canvas: Canvas2D, theme: Theme, blame: Blame, layers: Sequence[SeenLayer]
) -> list[Box]:
    """Label the largest error signals between long rows; return the boxes of the labels."""
    found: list[Box] = []
    for each in sorted(blame.parts, key=lambda each: -abs(each.amount))[:ROW_TAGS]:
        for layer in layers:
            unit, seen = layer.fan.unit_of(each.row), layer.seen
            if unit is None or len(seen.ends) < 2:
                continue
            words, left = each.words, seen.feet[unit][0][0] - BESIDE * canvas.scale
            wide, high = tag_size(canvas, words)
            if left + wide > seen.ends[unit][0] + BARE * canvas.scale:
                first, _, rest = words.partition(": ")
                words = f"{first.split(', ')[0]}: {rest}"
                wide, high = tag_size(canvas, words)
            pitch = seen.ends[1][1] - seen.ends[0][1]
            box = Box(left, seen.ends[unit][1] - 0.5 * (pitch + high), wide, high)
            if high < pitch - ROW * canvas.scale:
                draw_tag(canvas, theme, box, box, words)
                found.append(box)
    return found


def draw_blame(
    canvas: Canvas2D,
    theme: Theme,
    blame: Blame,
    layers: Sequence[SeenLayer],
    ball: Ball,
    view: Box,
    others: Sequence[Box],
    part: float,
) -> list[Box]:
    """Label a weight's error signal at the joints of its paths; return the boxes of the labels.

    Args:
        ball: the neuron that has the weight
        others: boxes that the labels must not overlap
        part: finished fraction of the operation, from 0 to 1
    """
    scale = canvas.scale
    part = 1.0 if blame.stays else part
    taken: list[Box] = [*others]
    found: list[Box] = []
    wires: list[Box] = []
    for layer in layers:
        taken += layer.boxes
        for column in range(layer.seen.count):
            wires += boxes_along(layer.seen, column)
    parts = sorted(blame.parts, key=lambda each: -abs(each.amount))[:TAGS]
    for layer in layers:
        column = layer.fan.unit_before(parts[0].row)
        if layer.fan.unit_of(parts[0].row) is None:
            continue
        taken += boxes_along(layer.seen, column)
        for each in parts if part >= TO_CUBES[1] else []:
            unit = each.neuron[1]
            joint, top = joint_of(layer.seen, unit, column, layer.halves[unit][column])
            wide, high = tag_size(canvas, each.words)
            box = tag_place(wide, high, joint, top, view, [*taken, *found], wires)
            if box is not None:
                draw_tag(canvas, theme, box, Box(joint[0], joint[1], 0.0, 0.0), each.words)
                found.append(box)
    if len(blame.parts) > 1 and part >= ALONG[1]:
        wide, high = tag_size(canvas, blame.words)
        reach, others = ball.radius + AROUND * scale, [*taken, *found]
        around = Box(ball.x - reach, ball.y - reach, 2.0 * reach, 2.0 * reach)
        below = (ball.x, around.bottom), around.bottom + 2.0 * high
        for joint, top in (below, ((ball.x, around.y), around.y)):
            box = tag_place(wide, high, joint, top, view, others, wires)
            if box is not None:
                draw_tag(canvas, theme, box, around, blame.words)
                found.append(box)
                break
    return found
