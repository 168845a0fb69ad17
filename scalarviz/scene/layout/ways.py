"""Ways: the lines to and from the rows of a layer in the picture.

The output of a neuron reaches all rows of the next layer on one wire. The wire leaves the sphere,
rises in its own lane, runs above the rows, and goes down its column; a short arm leads into the
cube of each row. The wires of a layer are nested, so that none crosses another. Inputs are next to
their rows and have a wire from the first row to the last. Products leave the bottom of their cubes,
run below the tray, and meet in the gate in front of the sphere. In a long row, the largest products
have separate lines and the rest share a gray one. Rows that are too long for wires have one ribbon;
for rows of up to twenty, it ends at copies of the input units above the columns. Rows of small
cubes are strips between a bar, where the lines of the inputs end, and the neurons. A single long
row is vertical, with each weight next to its unit and its product beside it as a bar. The hue of a
line is the sign of its value, the width is the magnitude.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import short, typeset
from scalarviz.scene.layout.camera import Box
from scalarviz.story.panel_words import adding_up, closing, digits_of_factors

if TYPE_CHECKING:
    from scalarviz.scene.canvas.canvas2d import Canvas2D, Color
    from scalarviz.scene.canvas.palette import Theme

Point = tuple[float, float]
Ring = tuple[float, float, float]  # center and radius
Step = tuple[int, int, int]  # of a thread: fan, unit after it, and column

FEW, ALONE = 5, 3  # maximum products of a row with separate strands; of more, this number
CORNER, ROUND = 4, 7.0  # parts of a round corner, and its radius in pixels
# Weights of the beginning and of the end in the points of a round corner.
BENDS = [((1.0 - part) ** 2, part**2) for part in [n / CORNER for n in range(CORNER + 1)]]
CURVE = 14  # parts of a curve
PARTS = [part / CURVE for part in range(CURVE + 1)]
EASE = [(part, part * part * (3.0 - 2.0 * part)) for part in PARTS]  # along it, and down
ASIDE, LANES, RUNS = 9.0, 5.5, 11.0  # pixels: rim to lanes, lane to lane, and run to run, which
RUN = 0.21  # takes at most this part of a cell
COLUMN, ARM = 0.47, 10.0  # from a foot to its wire, in slots, and up to its arm, in pixels
BELOW, STRANDS, INTO = 5.0, 4.0, 20.0  # foot to strands, strand to strand, and before a gate
RIBBON, STUB, TRUNK = 3.0, 1.4, 8.0  # width of a ribbon, of its ends, and pixels to it from heads
HEADS, HEAD = 2.75, 0.365  # from feet up to the heads of long rows in cells, half of one in slots
ZERO, ADDED, LONGEST = 0.82, 0.94, 0.1  # between an upright row and its gate: the line of zero,
# that of the sum, and the longest bar
HALF_CUBE = 0.38  # of its largest cube, in its slots
BAR, BRACKET = 12.0, 6.0  # pixels of the height of a bar, and of the ends of a bracket
NARROWEST, VEIL, FRAME = 1.28, "47", "aa"  # slots by largest cubes; alpha over rows, and of frames
FAINT, SMALL = 0.05, 0.06  # relative to the largest input and product: below without hue, strand
THIN, THICK = 1.2, 2.2  # pixels of the thinnest line, and additional width of the largest
GATE, SMALLER, CURVED = 0.4, 0.74, 1.8  # side of a gate in cells, its maximum in slots,
# and pixels of its curve
REACH = 3.0  # range of shown curves on each side of 0
DOTTED, DOT = 16.0, 6.0  # minimum pixels of a gate with a dot on its curve, and of the dot

MOST, MOST_DIRECT = 4096, 131_072  # weights of a layer whose lines are drawn
NEIGHBOUR, FAINT_WAY = 1.0, 0.7  # width and strength of lines beside the way that carries most
UNDER_SQUARES = 4.9  # halves of squares from their feet to words on a sum below other words
JOINED = "2a"  # alpha of what joins blocks of squares
LIT = 1.6  # how much wider lines are that are pointed at or spoken of
TUBE = 3.4  # least width of a tube
CLEAR = 16  # lines of a caption that are drawn at full width
NEARER = 1e-4  # so much nearer than squares are the lines above them
BEHIND = (0.9999, 0.9999)  # the depth of lines: behind all cubes
TIP = 12.0  # pixels of an arrowhead
# Indices of colors of lines: without hue, by sign, first channel, lit, and lit backward.
HUELESS, POSITIVE, NEGATIVE, CHANNEL, GLOW, BACKWARD = 0, 1, 2, 3, 6, 7
LED = {"input gradient", "weight gradient"}  # operations whose light passes through cubes


@dataclass
class SeenFan:
    """The rows of a layer in the picture, in logical pixels.

    Attributes:
        starts: center and radius of the input units, without the bias
        ends: center and radius of the output units
        feet: for each output unit, the point below each of its cubes, with the bias last if it has
            one
        left: left end of the rows
        top: y above the cubes of the first row, if they have maximum size
        slot: distance between the cubes of a row
        cell: size of a cell
        scale: size of letters and lines
        square: whether the output units are squares
        tubes: whether the inputs are channels of a color
        form: "nested", "long", "upright" or "strip", see `Fan`
        wired: whether each input unit has a wire
        tiled: whether a row continues as one line, as tiles of cubes and strips do
    """

    starts: list[Ring]
    ends: list[Ring]
    feet: list[list[Point]]
    left: float
    top: float
    slot: float
    cell: float
    scale: float
    square: bool
    tubes: bool
    form: str
    wired: bool
    tiled: bool

    @cached_property
    def count(self) -> int:
        """Number of input units."""
        return len(self.starts)

    @cached_property
    def first(self) -> float:
        """x coordinate of the first lane of wires."""
        return max([x + radius for x, _, radius in self.starts]) + ASIDE * self.scale

    @cached_property
    def apart(self) -> float:
        """Distance between the lanes of wires, in pixels."""
        room = self.left - self.first
        return max(0.5, min(LANES * self.scale, room / (self.count + 1)))

    @cached_property
    def runs(self) -> float:
        """Distance between the horizontal runs of wires, in pixels."""
        return min(RUNS * self.scale, RUN * self.cell)

    @cached_property
    def arm(self) -> float:
        """Height above the bottom of the cubes at which inputs enter."""
        return min(ARM * self.scale, 0.2 * self.slot)

    @cached_property
    def half_gate(self) -> float:
        return 0.5 * min(GATE * self.cell, SMALLER * self.slot)

    @cached_property
    def gates(self) -> list[Point]:
        """Centers of the gates of all rows."""
        return [(x - radius - 1.3 * self.half_gate, y) for x, y, radius in self.ends]

    @cached_property
    def bus(self) -> float:
        """y coordinate of the ribbon above the columns of a long row."""
        return self.feet[0][0][1] - HEADS * self.cell - HEAD * self.slot - TRUNK * self.scale

    @cached_property
    def bars(self) -> list[float]:
        """For an upright row: x of the zero line, x of the sum line, length of the longest bar."""
        x, _ = self.feet[0][0]
        left = x + HALF_CUBE * self.slot
        room = self.gates[0][0] - self.half_gate - left
        return [left + ZERO * room, left + ADDED * room, LONGEST * room]

    def column(self, column: int) -> float:
        """Return the x coordinate of the wire of a column."""
        return self.feet[0][column][0] - COLUMN * self.slot

    def tops(self, unit: int, halves: Sequence[float]) -> list[float]:
        """Return the y coordinates of the tops of a row's cubes, given half their sides."""
        feet = self.feet[unit]
        return [y - 2.1 * half * self.cell for (_, y), half in zip(feet, halves, strict=True)]


@dataclass
class Stroke:
    """A line and its drawing style; weak lines are blended with the background.

    Attributes:
        kind: "in", "arm", "product", "rest", "ribbon" or "sum"
        points: points of the path
        unit: output unit of its cube; -1 for lines of a whole layer
        column: column of its cube; -1 for lines of a whole row
        value: number that the line carries; its sign is the hue
        width: width in logical pixels
        casing: width of the dark edge on each side
        strength: weight of the line color when blended with the background
    """

    kind: str
    points: list[Point]
    unit: int
    column: int
    value: float
    width: float
    casing: float
    strength: float


def rounded(points: list[Point], radius: float) -> list[Point]:
    """Return a path with rounded corners."""
    found = [points[0]]
    for before, (x, y), after in zip(points, points[1:], points[2:], strict=False):
        ax, ay, bx, by = before[0] - x, before[1] - y, after[0] - x, after[1] - y
        far, on = (ax * ax + ay * ay) ** 0.5 + 1e-9, (bx * bx + by * by) ** 0.5 + 1e-9
        short = 0.5 * (far if far < on else on)
        reach = short if short < radius else radius
        ax, ay, bx, by = ax * reach / far, ay * reach / far, bx * reach / on, by * reach / on
        for begin, end in BENDS:
            found += [(x + begin * ax + end * bx, y + begin * ay + end * by)]
    found += [points[-1]]
    return found


def curve(start: Point, end: Point) -> list[Point]:
    """Return a curve that is horizontal at both ends."""
    x, y = start
    right, below = end
    return [(x + (right - x) * part, y + (below - y) * level) for part, level in EASE]


def part_of(points: list[Point], first: float, last: float) -> list[Point]:
    """Return the part of a path between two fractions of its length."""
    count = len(points)
    ends, far = [0.0], 0.0
    for i in range(1, count):
        x, y = points[i - 1]
        right, below = points[i]
        far += ((right - x) ** 2 + (below - y) ** 2) ** 0.5
        ends += [far]
    low, high = first * far, last * far
    found: list[Point] = []
    for i in range(1, count):
        long = ends[i] - ends[i - 1]
        if long <= 0.0 or ends[i] < low or ends[i - 1] > high:
            continue
        x, y = points[i - 1]
        right, below = points[i]
        begin = low if low > ends[i - 1] else ends[i - 1]
        end = high if high < ends[i] else ends[i]
        for at in [end] if len(found) else [begin, end]:
            part = (at - ends[i - 1]) / long
            found += [(x + (right - x) * part, y + (below - y) * part)]
    return found


def wire(fan: SeenFan, column: int) -> list[Point]:
    """Return the corners of the wire of an input unit, from its edge to the top of its column."""
    x, y, radius = fan.starts[column]
    down = fan.column(column)
    if fan.form == "long":
        down = fan.feet[0][column][0]
        return [(x + radius, y), (fan.first, y), (fan.first, fan.bus), (down, fan.bus)]
    if fan.form != "nested":
        return [(x + radius, y), (down, y)]
    lane = fan.first + fan.apart * column
    highest = min(fan.starts[0][1], fan.top - fan.runs * fan.count)
    run = highest + fan.runs * column
    return [(x + radius, y), (lane, y), (lane, run), (down, run)]


def wires(fan: SeenFan, column: int) -> list[list[Point]]:
    """Return the wires from an input unit to all rows."""
    down, path = fan.column(column), wire(fan, column)
    first, last = [feet[column][1] - fan.arm for feet in (fan.feet[0], fan.feet[-1])]
    radius = ROUND * fan.scale
    if fan.form == "nested":
        return [rounded([*path, (down, last)], radius)]
    y = path[-1][1]
    if first < y < last:
        return [[(down, first), (down, last)], path]
    ends = (first, last) if y <= first else (last, first)
    return [rounded([*path, (down, ends[1])], radius)]


def way_in(fan: SeenFan, unit: int, column: int, half: float) -> list[Point]:
    """Return the line from an input unit to its cube, which has half the side `half`.

    The line is empty for a bias, which has no input.
    """
    if column >= fan.count:
        return []
    x, y = fan.feet[unit][column]
    down, level = fan.column(column), y - fan.arm
    if fan.form == "upright":
        start, _, radius = fan.starts[column]
        return [(start + radius, level), (x - half * fan.cell, level)]
    if fan.form == "strip":
        start, at, radius = fan.starts[column]
        path = [(start + radius, at), (fan.left, at), (fan.left, level)]
        return [*path, (x - half * fan.cell, level)]
    if fan.form == "long":
        return rounded([*wire(fan, column), (x, y - 2.0 * half * fan.cell)], ROUND * fan.scale)
    path = [*wire(fan, column), (down, level), (x - half * fan.cell, level)]
    return rounded(path, ROUND * fan.scale)


def way_out(fan: SeenFan, unit: int, column: int, track: int = 0) -> list[Point]:
    """Return the line of a product, from the bottom of its cube to the gate of its row.

    Args:
        track: index of the line below the tray
    """
    x, y = fan.feet[unit][column]
    right, level = fan.gates[unit]
    scale, edge = fan.scale, right - fan.half_gate
    if fan.form == "upright":
        total, at = fan.bars[1], y - fan.arm
        return [(x, at), (total, at), (total, level), (edge, level)]
    low = y + (BELOW + STRANDS * track) * scale
    into = max(x + 2.0, edge - INTO * scale)
    path = rounded([(x, y + scale), (x, low), (into, low)], 0.6 * ROUND * scale)
    return [*path, *curve((into, low), (edge, level + (track - 1) * 2.0 * scale))[1:]]


def lit_parts(
    fan: SeenFan, unit: int, column: int, half: float, back: bool, part: float, count: int
) -> list[tuple[list[Point], float, bool]]:
    """Return the lit parts of the lines at a cube: path, width, and whether light goes backward.

    Args:
        half: half the side of the cube
        back: whether light also travels backward in the line before the cube; otherwise it travels
            forward
        part: finished fraction of the operation; the path behind the light stays lit
        count: number of cubes of the operation
    """
    early, late = min(1.0, part / 0.45), min(1.0, max(0.0, (part - 0.5) / 0.45))
    spans = [(1.0 - late, 1.0) if back else (0.0, early), (1.0 - early, 1.0)]
    end, below, radius = fan.ends[unit]
    behind = [*way_out(fan, unit, column), (end - radius, below)]
    width = 2.0 * LIT * fan.scale * min(1.0, math.sqrt(CLEAR / count))
    found: list[tuple[list[Point], float, bool]] = []
    for path, (first, last), way in zip(
        (way_in(fan, unit, column, half), behind), spans, (back, True), strict=True
    ):
        shown = part_of(path, first, last) if first < last and len(path) > 1 else []
        found += [(shown, width, way)]
    return found


def strokes_of(
    fan: SeenFan,
    values: list[float],
    terms: list[list[float]],
    halves: list[list[float]],
    *,
    summed: bool,
) -> list[Stroke]:
    """Return the lines of a layer in drawing order.

    Args:
        values: outputs of the input units
        terms: for each output unit, the contribution of each cube to its sum
        halves: half the side of each cube, in cells
        summed: whether the sums are computed; otherwise there are no lines of products
    """
    if fan.form == "upright":
        return upright(fan, values, terms[0] if summed else [], halves[0])
    if fan.form == "strip":
        return [*before_strips(fan, values), *(products(fan, terms) if summed else [])]
    return [
        *(wires_in(fan, values, halves) if fan.wired else ribbons(fan)),
        *(products(fan, terms) if summed else []),
    ]


def upright(
    fan: SeenFan, values: list[float], terms: list[float], halves: list[float]
) -> list[Stroke]:
    """Return the lines of an upright row: inputs, zero line, and the line of the sum."""
    came, scale = max([1e-12, *[abs(value) for value in values]]), fan.scale
    found: list[Stroke] = []
    for column in range(fan.count):
        share = abs(values[column]) / came
        value, path = (
            values[column] if share > FAINT else 0.0,
            way_in(fan, 0, column, halves[column]),
        )
        width, bright = scale * (THIN + THICK * share), 0.5 + 0.45 * share
        found += [Stroke("in", path, 0, column, value, width, 1.6 * scale, bright)]
    zero, added, _ = fan.bars
    level, (end, below, radius), total = fan.gates[0][1], fan.ends[0], sum(terms)
    top, low = fan.feet[0][0][1] - fan.slot, fan.feet[0][len(fan.feet[0]) - 1][1]
    tick = BRACKET * scale
    sums = [(added - tick, top), (added, top), (added, low), (added - tick, low)]
    for path in ([(zero, top), (zero, low)], sums):
        found += [Stroke("ribbon", path, -1, -1, 0.0, STUB * scale, scale, 0.9)]
    path = [(added, level), (end - radius, below)]
    width = scale * (THIN + THICK) if len(terms) > 0 else STUB * scale
    return [*found, Stroke("sum", path, 0, -1, total, width, 1.3 * scale, 0.8)]


def wires_in(fan: SeenFan, values: list[float], halves: list[list[float]]) -> list[Stroke]:
    """Return the wires of all input units, and their arms into the cubes."""
    came, scale = max([1e-12, *[abs(value) for value in values]]), fan.scale
    found: list[Stroke] = []
    arms: list[Stroke] = []
    for column in range(fan.count):
        share = abs(values[column]) / came
        value = values[column] if share > FAINT else 0.0
        width, bright = scale * (THIN + THICK * share), 0.5 + 0.45 * share
        width = scale * (2.8 + 2.6 * share) if fan.tubes else width
        casing = 1.6 * scale
        for path in wires(fan, column):
            found += [Stroke("in", path, -1, column, value, width, casing, bright)]
        down = fan.column(column)
        for unit, feet in enumerate(fan.feet):
            x, y = feet[column]
            level = y - fan.arm
            path = [(down, level), (x - 0.5 * halves[unit][column] * fan.cell, level)]
            narrow = 0.75 * width
            arms += [Stroke("arm", path, unit, column, value, narrow, 0.5 * scale, bright)]
    return [*found, *arms]


def ribbons(fan: SeenFan) -> list[Stroke]:
    """Return the ribbon that connects all inputs to each row."""
    scale, x = fan.scale, fan.first
    if fan.form == "long":
        stubs = [[(at + radius, y), (x, y)] for at, y, radius in fan.starts]
        lowest, right = max([ring[1] for ring in fan.starts]), fan.feet[0][fan.count - 1][0]
        trunk = rounded([(x, lowest), (x, fan.bus), (right, fan.bus)], ROUND * scale)
        ends = [*[(path, STUB) for path in stubs], (trunk, RIBBON)]
        return [
            Stroke("ribbon", path, -1, -1, 0.0, wide * scale, scale, 0.7) for path, wide in ends
        ]
    levels = [feet[0][1] - fan.arm for feet in fan.feet]
    heights = [*[ring[1] for ring in fan.starts], *levels]
    paths = [[(x, min(heights)), (x, max(heights))]]
    paths += [[(x, level), (fan.left, level)] for level in levels]
    return [Stroke("ribbon", path, -1, -1, 0.0, RIBBON * scale, scale, 0.7) for path in paths]


def before_strips(fan: SeenFan, values: list[float]) -> list[Stroke]:
    """Return the bar before strips, and the lines from the inputs to it except the weakest."""
    scale, x, most = fan.scale, fan.left, max([1e-12, *[abs(value) for value in values]])
    levels = [ring[1] for ring in [*fan.starts, *fan.ends]]
    bar = [(x, min(levels)), (x, max(levels))]
    found = [Stroke("ribbon", bar, -1, -1, 0.0, STUB * scale, scale, 0.7)]
    for i, (start, y, radius) in enumerate(fan.starts):
        path, share = [(start + radius, y), (x, y)], abs(values[i]) / most
        if share > FAINT:
            width, bright = scale * (THIN + share), 0.3 + 0.5 * share
            found.append(Stroke("in", path, -1, i, values[i], width, scale, bright))
    return found


def products(fan: SeenFan, terms: list[list[float]]) -> list[Stroke]:
    """Return the lines of the products, and the line after each gate."""
    scale = fan.scale
    totals = [sum(row) for row in terms]
    most = max([1e-12, *[abs(total) for total in totals]])
    if fan.form == "long":  # one line below each row
        found: list[Stroke] = []
        for unit, total in enumerate(totals):
            end, below, radius = fan.ends[unit]
            path, width = way_out(fan, unit, 0), scale * (THIN + THICK * abs(total) / most)
            path = [*path, (end - radius, below)]
            found += [Stroke("sum", path, unit, -1, total, width, scale, 0.7)]
        return found
    sizes = [[abs(term) for term in row] for row in terms]
    top = max([1e-12, *[max(row) for row in sizes]])
    quiet: list[Stroke] = []
    found = []
    for unit, row in enumerate(terms):
        row = [] if fan.tiled else row  # kernels continue as one line
        own, feet = sizes[unit], fan.feet[unit]
        alone = [] if fan.tiled else alone_in(own, top)
        rest = [column for column in range(len(row)) if column not in alone]
        if len(row) > FEW and len(rest) > 0:
            places = [feet[column][0] for column in rest]
            path = way_out(fan, unit, rest[places.index(min(places))], len(alone))
            quiet += [Stroke("rest", path, unit, -1, 0.0, STUB * scale, scale, 0.7)]
        for track, column in enumerate(sorted(alone, key=lambda column: -feet[column][0])):
            share = own[column] / top
            width, bright = scale * (THIN + THICK * share), 0.55 + 0.4 * share
            path = way_out(fan, unit, column, track)
            line = Stroke("product", path, unit, column, row[column], width, 1.3 * scale, bright)
            found += [line]
        x, y = fan.gates[unit]
        end, below, radius = fan.ends[unit]
        x = fan.feet[unit][-1][0] + 0.5 * fan.slot if fan.tiled else x + fan.half_gate
        width = scale * (THIN + THICK * abs(totals[unit]) / most)
        path = [(x, y), (end - radius, below)]
        found += [Stroke("sum", path, unit, -1, totals[unit], width, 1.3 * scale, 0.8)]
    return [*quiet, *found]


def alone_in(own: Sequence[float], top: float) -> list[int]:
    """Return the columns of a row whose products have separate lines.

    Args:
        own: magnitudes of the products of the row
        top: largest magnitude of all rows
    """
    least = SMALL * top
    if len(own) > FEW:
        least = max(least, sorted(own)[len(own) - ALONE - 1])
    return [column for column in range(len(own)) if own[column] > least]


# The column of the biases: half its width in slots, and pixels from its top to the letter above it.
BAND, LETTER, BELOW_BAND = 0.46, 6.0, 14.0


def above_band(fan: SeenFan) -> float:
    """Return the baseline of the letter above the band of the biases."""
    return fan.top - (LETTER + 4.0) * fan.scale + 3.0


def draw_bias(canvas: Canvas2D, theme: Theme, fan: SeenFan, *, named: bool) -> None:
    """Draw a band behind the biases of all rows, with the letter b above it if `named`."""
    if fan.form == "upright" and len(fan.feet[0]) > fan.count:
        x, y = fan.feet[0][fan.count]
        left, low, size = x - 0.6 * fan.slot, y - 0.2 * fan.slot, 12.0 * fan.scale
        canvas.text(left, low, "b", size=size, color=theme.quiet, bold=True, anchor="right")
        return
    if (fan.tiled and fan.form != "strip") or len(fan.feet[0]) == fan.count:
        return
    x, low = fan.feet[-1][fan.count]
    scale, half = fan.scale, BAND * min(fan.slot, fan.cell)
    letter = fan.bus + TRUNK * scale + HEAD * fan.slot + 4.0 * scale
    top = fan.top - 4.0 * scale
    wide, high = 2.0 * half, low + BELOW_BAND * scale - top
    canvas.box(x - half, top, wide, high, theme.shelf, radius=6.0 * scale, depth=1.0)
    size, y = 12.0 * scale, letter if fan.form == "long" else above_band(fan)
    if named:
        canvas.text(x, y, "b", size=size, color=theme.quiet, bold=True, anchor="center")


def on_curve(bends: Sequence[float], number: float) -> Point:
    """Return the point of a curve for a number: x from -1 to 1, and the height."""
    if not -REACH < number < REACH:
        return (-1.0, bends[0]) if number < 0.0 else (1.0, bends[len(bends) - 1])
    place = 0.5 * (number / REACH + 1.0) * (len(bends) - 1)
    i = int(place)
    return number / REACH, bends[i] + (place - i) * (bends[i + 1] - bends[i])


def draw_gates(
    canvas: Canvas2D,
    theme: Theme,
    fan: SeenFan,
    bends: Sequence[float],
    sums: Sequence[float],
    depth: float,
) -> None:
    """Draw a gate in front of each sphere: a box with the curve of the activation.

    Args:
        bends: heights of the curve, from left to right; two if the activation is linear
        sums: sums, each drawn as a dot on its curve; empty if unknown
    """
    half, scale, last = fan.half_gate, fan.scale, max(1, len(bends) - 1)
    low: float = min([0.0, *bends])
    up: float = 1.1 * half / ((max([0.0, *bends]) - low) or 1.0)
    gates = [] if fan.tiled or (fan.form == "upright" and len(bends) < 3) else fan.gates
    fill, edge, side, line = theme.panel[:7], theme.wire, 2.0 * half, 1.2 * scale
    for x, y in gates:
        left, rim = x - half, 0.46 * half
        canvas.box(
            left, y - half, side, side, fill, radius=rim, outline=edge, line=line, depth=depth
        )
    path = [
        (0.72 * half * (2.0 * i / last - 1.0), 0.55 * half - up * (bend - low))
        for i, bend in enumerate(bends)
    ]
    starts = [(x + right, y + down) for x, y in gates for right, down in path[:last]]
    ends = [(x + right, y + down) for x, y in gates for right, down in path[1:]]
    if len(starts) > 0:
        canvas.segments(starts, ends, theme.quiet, width=CURVED * scale)
    if len(sums) > 0 and len(gates) > 0 and len(bends) > 2 and side >= DOTTED:
        places = [on_curve(bends, each) for each in sums]
        dots = [
            (x + 0.72 * half * along, y + 0.55 * half - up * (height - low))
            for (x, y), (along, height) in zip(gates, places, strict=True)
        ]
        canvas.segments(dots, dots, theme.lit, width=DOT * scale)


def draw_joined(canvas: Canvas2D, theme: Theme, fan: SeenFan) -> None:
    """Draw the full connection between two lines of neurons that have no cubes in between."""
    ends = fan.starts, fan.ends
    left, right = (
        max([x + half for x, _, half in ends[0]]),
        min([x - half for x, _, half in ends[1]]),
    )
    top = max([min([y - half for _, y, half in rings]) for rings in ends])
    low = min([max([y + half for _, y, half in rings]) for rings in ends])
    if low > top and right > left:
        canvas.box(left, top, right - left, low - top, theme.wire + JOINED)


def frame_thread(
    canvas: Canvas2D,
    theme: Theme,
    fans: Sequence[SeenFan | None],
    thread: Sequence[Step],
    said: Sequence[float],
    added: str,
) -> None:
    """Draw frames around the squares of the path with the largest contribution, with numbers.

    Args:
        said: output of the input unit of each weight; if empty, no numbers are drawn
        added: text about the sum at the end of the path, written below all other texts
    """
    look, size = 1.8 * canvas.scale, LETTERS * canvas.scale
    for place, (number, unit, column) in enumerate(thread):
        fan = fans[number]
        if fan is None:
            continue
        for x, y, half in [fan.starts[column], *([fan.ends[unit]] if fan.square else [])]:
            side = 2.0 * half + 2.0
            corner = x - 0.5 * side, y - 0.5 * side
            canvas.box(
                corner[0], corner[1], side, side, None, radius=4.0, outline=theme.lit, line=look
            )
        if len(said) == 0:
            continue
        first = fans[thread[len(thread) - 1][0]]
        if place == 0 and first is not None:
            middle = 0.5 * (first.ends[0][0] + fan.starts[fan.count - 1][0])
            low = max([y + half for _, y, half in fan.starts]) + UNDER_SQUARES * fan.starts[0][2]
            canvas.text(middle, low, added, size=size, color=theme.lit, anchor="center")
        x, y, half = fan.starts[column]
        words = typeset(short(said[place], 2))
        canvas.text(
            x,
            y - half - 0.4 * size,
            words,
            size=size,
            color=theme.lit,
            bold=True,
            outline=theme.ground,
            anchor="center",
        )


def thread_words(
    weight: float, column: int, came: float, terms: Sequence[float], total: float, out: float
) -> str:
    """Return the sum at the end of the main path and the result of its activation, as text.

    Args:
        weight: the last weight of the path
        column: column of that weight
        came: input of that weight
        terms: all products of the sum, without the bias
    """
    hundreds = round(100.0 * terms[column])
    few, more = digits_of_factors(came, weight, hundreds) or (2, 2)
    rest = round(100.0 * total) - hundreds
    others = sum_words([*terms[:column], *terms[column + 1 :]], rest / 100.0, 2)
    added = typeset(f"{short(weight, more)} × {short(came, few)} + {others}").replace("+ −", "− ")
    return text("squares.sum", added=added, sum=short(total), out=short(out))


def thread_strokes(
    fan: SeenFan, unit: int, column: int, value: float, product: float
) -> list[Stroke]:
    """Return the line of a weight of the main path, before and after its cube.

    Gray lines represent the other inputs of the same unit, one for each row of input units.
    """
    x, y, radius = fan.starts[column]
    end, below, reach = fan.ends[unit]
    left = max([ring[0] + ring[2] for ring in fan.starts])
    right = min([ring[0] - ring[2] for ring in fan.ends])
    start, far = x + radius, end - reach
    part = (0.5 * (left + right) - start) / max(1e-9, far - start)
    path, scale = curve((start, y), (far, below)), fan.scale
    width = NEIGHBOUR * scale
    found = [
        Stroke("rest", [(left, level), (right, below)], unit, -1, 0.0, width, 0.0, FAINT_WAY)
        for level in sorted({round(ring[1], 1) for ring in fan.starts})
    ]
    for kind, number, first, last in (("in", value, 0.0, part), ("product", product, part, 1.0)):
        own = part_of(path, first, last)
        found += [Stroke(kind, own, unit, column, number, 4.2 * scale, 2.3 * scale, 0.95)]
    return found


# Beside long rows: the bars of an upright one, and one row with its numbers.

# Pixels of numbers, of slots and of a row with numbers; of a sheet with a row, its height, the most
# of a slot and of a cube, and room for the sum.
LETTERS, LEAST_SLOT, TALL = 12.0, 23.5, 94.0
SHEET, SHEET_SLOT, SHEET_CUBE, SUM = 124.0, 56.0, 40.0, 72.0
STRIP_SLOT, RIM = 44.0, 8.0  # most pixels of a slot of an opened strip; corners of a sheet
COMES, FEET = 40.0, 48.0  # pixels from the top of a sheet to its wires, and from their ends down
MOST_SHEET = 0.42  # of the height of the network, so that it is still seen
READABLE = 34.0  # pixels of slots, below which a highlighted row has a sheet
MINUS, WIDER = 3.6, 20.0  # pixels of a minus, and of an open row beyond its layer
APART_NUMBERS = 4.0  # pixels between two numbers of a row


@dataclass
class OpenRow:
    """A row with its numbers.

    Attributes:
        unit: index of its output unit
        inputs: number of inputs, without the bias
        comes: inputs of the cubes; 1 for the bias
        weights: weights and bias
        shares: weights and bias relative to the largest cube
        terms: products of inputs and weights
        result: sum of the products
        largest: largest magnitude of a product in all rows of the layer
        says: output of the neuron
        curve: name of the activation
        bends: points of the activation's curve
    """

    unit: int
    inputs: int
    comes: list[float]
    weights: list[float]
    shares: list[float]
    terms: list[float]
    result: float
    largest: float
    says: float
    curve: str
    bends: Sequence[float]


def draw_upright(
    canvas: Canvas2D,
    theme: Theme,
    fan: SeenFan,
    row: OpenRow | None,
    signs: tuple[Color, Color],
    *,
    written: bool,
) -> None:
    """Draw the products of an upright row as bars from the zero line.

    Args:
        row: the row, or None while its products are unknown
        written: whether to write the inputs, weights and products next to the bars
    """
    zero, added, longest = fan.bars
    scale, size, feet = canvas.scale, LETTERS * canvas.scale, fan.feet[0]
    up, pitch = feet[0][1] - fan.starts[0][1], feet[1][1] - feet[0][1]
    levels = [foot - up for _, foot in feet]
    bar = longest, min(BAR * scale, 0.6 * fan.slot)
    bars_from(canvas, zero, levels, [] if row is None else row.terms, bar, signs)
    y = feet[0][1] - fan.slot - 0.5 * size
    canvas.text(zero, y, "0", size=size, color=theme.quiet, bold=True, anchor="center")
    if row is None or not written:
        return
    lines = closing(row.comes, row.weights, row.result)
    said = text("long_rows.upright.sum", sum=lines[len(lines) - 1][2])
    low = feet[len(feet) - 1][1] + 1.7 * size
    canvas.text(added, low, said, size=size, color=theme.ink, bold=True, anchor="center")
    most, gap = max([abs(each) for each in row.shares]), APART_NUMBERS * scale
    half = HALF_CUBE * fan.slot * most ** (1.0 / 3.0)
    left, middle, right = feet[0][0] - half, feet[0][0] + half + gap, zero - longest - gap
    lines = lines[: len(lines) - 1]
    products = [f"= {each[2]}" for each in lines]
    start = right - canvas.widest(products, size=size)
    if pitch < 1.2 * size or middle > start:
        return
    weights, comes = [each[1] for each in lines], [f"{each[0]} ×" for each in lines]
    columns, comes = [("product", products, right)], comes[: row.inputs]
    rim = max([x + radius for x, _, radius in fan.starts])
    if left - rim > canvas.widest(comes, size=size):
        columns.append(("says", comes, left))
    if start - gap - middle > canvas.widest(weights, size=size):
        columns.append(("weight", weights, start - gap))
    for name, words, edge in columns:
        head = text(f"long_rows.head.{name}")
        canvas.text(edge, y, head, size=size, color=theme.soft, anchor="right")
        canvas.texts(
            [(edge, level + 0.36 * size) for level in levels[: len(words)]],
            words,
            size=size,
            color=theme.ink,
            anchor="right",
            depth=[-1.0] * len(words),
            outline=theme.ground,
        )


def bars_from(
    canvas: Canvas2D,
    zero: float,
    levels: list[float],
    numbers: list[float],
    size: tuple[float, float],
    signs: tuple[Color, Color],
) -> None:
    """Draw bars from a zero line at x = `zero`, negative ones to the left.

    Args:
        levels: y coordinates of the bars
        size: length of the longest bar, and height of all bars
    """
    longest, high = size
    most = max([1e-12, *[abs(number) for number in numbers]])
    for level, number in zip(levels, numbers, strict=False):
        long = longest * abs(number) / most
        left = zero if number > 0.0 else zero - long
        if long > 0.0:
            canvas.box(left, level - 0.5 * high, long, high, signs[1 if number > 0.0 else 0])


def sum_words(terms: Sequence[float], total: float, most: int) -> str:
    """Return a sum as text, with its largest terms and one for the rest, correct as printed."""
    sizes = sorted([each for each in terms if each != 0.0], key=lambda each: -abs(each))
    hundreds = [round(100.0 * each) for each in sizes[:most]]
    rest = round(100.0 * total) - sum(hundreds)
    numbers = [typeset(f"{each / 100.0:.2f}") for each in [*hundreds, rest]]
    largest, count = " + ".join(numbers[:-1]), len(terms) - most
    words = text("sums.others", largest=largest, count=count, others=numbers[-1])
    if len(sizes) <= most:
        words = text("sums.bias", largest=largest, others=numbers[-1]) if rest != 0 else largest
    return words.replace("+ −", "− ")


def draw_open(
    canvas: Canvas2D,
    theme: Theme,
    fan: SeenFan,
    row: OpenRow,
    signs: tuple[Color, Color],
    draw_cubes: Callable[[list[tuple[float, float, float, float]]], None],
) -> None:
    """Draw a row enlarged with its numbers above the layer's rows, and frame the original row.

    Args:
        signs: colors of negative and positive numbers
    """
    scale, size, slot = canvas.scale, LETTERS * canvas.scale, fan.slot
    own, feet = frame_of(fan, row.unit), fan.feet[row.unit]
    left, right, begin, stop = own.x, own.right, own.y, own.bottom
    top, low = fan.bus + TRUNK * scale + 2.0 * HEAD * slot + 4.0 * scale, fan.top + 4.0 * scale
    wide = right - left + WIDER * scale
    first, last = fan.feet[0][0][1], fan.feet[len(fan.feet) - 1][0][1]
    pitch = (last - first) / max(1, len(fan.feet) - 1)
    for start, until in ((first - pitch, begin), (stop, last + 0.3 * pitch)):
        canvas.box(left, start, right - left, max(0.0, until - start), theme.ground + VEIL)
    rim, frame, fill = 6.0 * scale, theme.lit + FRAME, theme.panel[:7]
    canvas.box(own.x, own.y, own.width, own.height, None, radius=rim, outline=frame)
    canvas.box(left, top, wide, low - top, fill, radius=rim, outline=frame)
    canvas.line([(right, low - rim), (right, begin + rim)], frame, width=scale)
    has_numbers = slot >= LEAST_SLOT * scale and low - top >= TALL * scale
    places = [x for x, _ in feet]
    box = Box(left, top, wide, low - top)
    if has_numbers:
        write_row(canvas, theme, row, box, places, slot / NARROWEST, signs, draw_cubes)
        return
    under, side = low - 0.5 * (low - top - slot), slot / NARROWEST
    draw_cubes([(x, under, side, share) for x, share in zip(places, row.shares, strict=True)])
    words = text("long_rows.open.most")
    if canvas.measure(words, size=size) < right - left - 2.0 * rim:
        canvas.text(left + rim, top + 1.4 * size, words, size=size, color=theme.lit)


def frame_of(fan: SeenFan, unit: int) -> Box:
    """Return the box around a row."""
    end, _, radius = fan.ends[unit]
    first, y, last = fan.feet[0][0][1], fan.feet[unit][0][1], fan.feet[len(fan.feet) - 1][0][1]
    pitch = (last - first) / max(1, len(fan.feet) - 1)
    left, right = fan.left - 5.0 * fan.scale, end + radius + 2.0 * fan.scale
    up = min(0.84 * pitch, first - fan.top)
    return Box(left, y - up, right - left, up + 0.2 * pitch)


def has_sheet(fan: SeenFan, scale: float) -> bool:
    """Return whether a highlighted row needs a sheet: its numbers do not fit on its cubes."""
    is_open = fan.form in ("long", "upright") and fan.slot >= LEAST_SLOT * scale  # at its cubes
    return fan.slot < READABLE * scale and not is_open and not fan.tiled


def sheet_of(view: Box, count: int, foot: float, scale: float) -> Box | None:
    """Return the box of a sheet with a row and its numbers; None if it does not fit.

    Args:
        count: number of cubes of the row
        foot: y coordinate of the bottom of its cubes
    """
    slot = min(SHEET_SLOT * scale, (view.width - (SUM + 16.0) * scale) / count)
    if slot < LEAST_SLOT * scale or SHEET * scale > MOST_SHEET * view.height:
        return None
    wide, high, edge = slot * count + SUM * scale, SHEET * scale, 6.0 * scale
    x, is_low = view.x + 0.5 * (view.width - wide), foot > view.y + 0.55 * view.height
    return Box(x, view.y + edge if is_low else view.bottom - high - edge, wide, high)


def slot_of(width: float, count: int, scale: float) -> float:
    """Return the distance between cubes on a sheet; a narrow one has no words beside them."""
    slot = (width - SUM * scale) / count
    return slot if slot >= LEAST_SLOT * scale else (width - RIM * scale) / count


def sheet_over(view: Box, fans: Sequence[SeenFan | None], number: int, scale: float) -> Box | None:
    """Return the box of a sheet above all strips, near its layer; None if it does not fit."""
    seen = [fan for fan in fans if fan is not None]
    own, rim, (end, _, radius) = seen[number], RIM * scale, seen[len(seen) - 1].ends[0]
    before = [fan.ends[0] for fan in seen[:number] if fan.form != "strip"]
    left = max([view.x, *[x + half + rim for x, _, half in before]])
    lanes = [fan.first for fan in seen[number:] if fan.form == "nested"]
    right = min([view.right, end - radius, *lanes]) - rim  # a line may rise from the answer
    tops = [above_band(fan) for fan in seen if fan.form == "strip"]
    first = seen[0].starts[:1] if seen[0].form == "strip" else []  # below IN
    low = min([*tops, *[y - radius - LETTERS * scale for _, y, radius in first]]) - LETTERS * scale
    count, high = len(own.feet[0]), min(SHEET * scale, low - view.y)
    wide = min(right - left, (STRIP_SLOT * count + SUM) * scale)
    if slot_of(wide, count, scale) < LEAST_SLOT * scale or high < TALL * scale:
        return None
    x = 0.5 * (own.left + own.ends[0][0] - wide)
    return Box(min(max(x, left), right - wide), low - high, wide, high)


def draw_sheet(
    canvas: Canvas2D,
    theme: Theme,
    fan: SeenFan,
    box: Box,
    row: OpenRow,
    signs: tuple[Color, Color],
    draw_cubes: Callable[[list[tuple[float, float, float, float]]], None],
) -> None:
    """Draw a row with small cubes enlarged on a sheet with numbers; frame the original row."""
    scale, count, rim = canvas.scale, len(row.weights), RIM * canvas.scale
    fill, outline, own = theme.panel[:7], theme.lit, frame_of(fan, row.unit)
    is_strip = fan.form == "strip"
    if is_strip or fan.slot < LEAST_SLOT * scale:  # else on numbers
        canvas.box(own.x, own.y, own.width, own.height, None, radius=rim, outline=outline + FRAME)
    canvas.box(box.x, box.y, box.width, box.height, fill, radius=rim, outline=outline, line=scale)
    slot = slot_of(box.width, count, scale)
    places = [box.x + (i + 0.5) * slot + 0.5 * rim for i in range(count)]
    if is_strip:
        x = min(max(own.x + rim, box.x + rim), box.right - rim)
        canvas.line([(x, box.bottom), (x, own.y)], outline + FRAME, width=scale)
        into = [(x, box.y + COMES * scale) for x in places[: row.inputs]]
        ends = [(x, box.bottom - FEET * scale) for x, _ in into]  # behind the cubes
        canvas.segments(into, ends, theme.wire, width=THIN * scale)
    side = min(slot / NARROWEST, SHEET_CUBE * scale)
    write_row(canvas, theme, row, box, places, side, signs, draw_cubes)


def write_row(
    canvas: Canvas2D,
    theme: Theme,
    row: OpenRow,
    box: Box,
    places: list[float],
    side: float,
    signs: tuple[Color, Color],
    draw_cubes: Callable[[list[tuple[float, float, float, float]]], None],
) -> None:
    """Draw the cubes of a row in a box, with their inputs, weights and products, and the sum.

    Args:
        places: x coordinate of each cube
        side: side of the largest cube
    """
    scale, size = canvas.scale, LETTERS * canvas.scale
    rim, top, low = 6.0 * scale, box.y, box.bottom - 0.55 * size
    under, room = low - 2.4 * size, box.width - 2.0 * rim
    draw_cubes([(x, under, side, share) for x, share in zip(places, row.shares, strict=True)])
    lines = adding_up(row.comes, row.weights, row.terms, row.result)
    shown = [  # a weight of nothing has one digit
        (x, w if product != 0.0 else short(row.weights[i], 1), product)
        for i, (x, w, product) in enumerate(lines)
    ]
    added = [each[2] for each in shown[: row.inputs]]
    sums = [sum_words(added, row.result, most) for most in (FEW, ALONE)]
    bends = len(row.bends) > 2
    heads = [
        text("long_rows.open", sum=each) if bends else text("long_rows.open.linear", sum=each)
        for each in [*[f"{each} = {short(row.result)}" for each in sums], short(row.result)]
    ]
    if 0.0 in row.comes and bends:
        heads = [f"{text('long_rows.off')} {heads[0]}", *heads]
    heads += [f"= {short(row.result)}"]
    heads = [each for each in heads if canvas.measure(each, size=size) < room]
    if len(heads) > 0:
        canvas.text(box.x + rim, top + 1.4 * size, heads[0], size=size, color=theme.lit)
    pitch = places[1] - places[0] if len(places) > 1 else side
    x, hues = places[len(places) - 1] + 0.6 * pitch, [theme.quiet, signs[1], signs[0]]
    columns = [
        (row.comes[: row.inputs], top + 2.9 * size, text("long_rows.comes")),
        (row.weights, low - 1.35 * size, text("long_rows.head.weight")),
        ([each[2] for each in shown], low, text("long_rows.head.product")),
    ]
    for line, (numbers, y, name) in enumerate(columns):
        said = [
            (x, w, f"{product:.2f}" if product != 0.0 else "0")[line] for x, w, product in shown
        ]
        for sign, color in enumerate(hues):
            own = [i for i, each in enumerate(numbers) if (each > 0.0) + 2 * (each < 0.0) == sign]
            draw_short(canvas, [(places[i], y) for i in own], [said[i] for i in own], color)
        if x + canvas.measure(name, size=size) < box.right - 0.4 * rim:
            canvas.text(x, y, name, size=size, color=theme.soft)


def draw_short(canvas: Canvas2D, places: list[Point], said: list[str], color: Color) -> None:
    """Write numbers centered at points, with a short minus sign."""
    size, minus = LETTERS * canvas.scale, MINUS * canvas.scale
    at: list[Point] = []
    starts: list[Point] = []
    for (x, y), words in zip(places, said, strict=True):
        if words[0] == "-":
            left = x + 0.5 * minus - 0.5 * canvas.measure(words[1:], size=size)
            starts += [(left - minus, y - 0.3 * size)]
        at += [(x + 0.5 * minus if words[0] == "-" else x, y)]
    if len(said) > 0:
        front, bare = [-1.0] * len(said), [each.replace("-", "") for each in said]
        canvas.texts(at, bare, size=size, color=color, anchor="center", depth=front)
    if len(starts) > 0:
        ends = [(x + 0.75 * minus, y) for x, y in starts]
        canvas.segments(starts, ends, color, width=1.2 * canvas.scale)


def draw_heads(canvas: Canvas2D, theme: Theme, fan: SeenFan) -> None:
    """Write a heading with the number of rows and columns above the ribbon of long rows."""
    rows, columns = len(fan.ends), fan.count
    words = text("long_rows.neurons", rows=rows, columns=columns)
    if fan.square:
        words = text("long_rows.pictures", rows=rows)
    size, left, right = LETTERS * canvas.scale, fan.feet[0][0][0], fan.feet[0][fan.count][0]
    has_room = fan.slot >= LEAST_SLOT * canvas.scale
    if has_room and canvas.measure(words, size=size) < right - left + fan.slot:
        y = fan.bus - 0.6 * size
        canvas.text(right, y, words, size=size, color=theme.soft, anchor="right")
