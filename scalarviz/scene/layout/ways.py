"""Ways: the lines of rows, as they run in the picture.

What a neuron says goes to all rows of the next layer along one wire: it leaves its ball, rises in a
lane of its own, runs above the rows, and comes down its column, where an arm leads into the cube of
each row. The wires of a layer nest: none crosses another. Inputs, which stand beside their rows,
have a wire from the first row to the last. Products leave the foot of their cubes, run below the
tray, and come together in the gate before the ball. In a row of many the strongest have strands of
their own, the rest has a grey one; rows that are too long for wires have a ribbon. Hue is the sign
of what a line carries, width its size.

Of plain numbers: pages have it in JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scalarviz.scene.canvas.canvas2d import Canvas2D
    from scalarviz.scene.canvas.palette import Theme

Point = tuple[float, float]
Ring = tuple[float, float, float]  # middle and radius

FEW, ALONE = 5, 3  # products of a row that all have strands; of more this number has
CORNER, ROUND = 4, 7.0  # parts of a round corner, and its radius in pixels
# What the points of a round corner have of its beginning, and of its end.
BENDS = [((1.0 - part) ** 2, part**2) for part in [n / CORNER for n in range(CORNER + 1)]]
CURVE = 14  # parts of a curve
PARTS = [part / CURVE for part in range(CURVE + 1)]
EASE = [(part, part * part * (3.0 - 2.0 * part)) for part in PARTS]  # along it, and down
ASIDE, LANES, RUNS = 9.0, 5.5, 11.0  # pixels: rim to lanes, lane to lane, and run to run, which
RUN = 0.21  # takes at most this part of a cell
COLUMN, ARM = 0.47, 10.0  # from a foot to its wire, in slots, and up to its arm, in pixels
BELOW, STRANDS, INTO = 5.0, 4.0, 20.0  # foot to strands, strand to strand, and before a gate
RIBBON = 3.0  # width of a ribbon
FAINT, SMALL = 0.05, 0.06  # of the largest that comes in, and product, of what has no hue or strand
THIN, THICK = 1.2, 2.2  # pixels of the least line, and how much wider the largest is
GATE, CURVED = 0.42, 1.8  # side of a gate in cells, and pixels of the curve in it

MOST, MOST_DIRECT = 4096, 131_072  # weights of a layer whose lines are drawn
PICKED = 12  # of a layer whose cubes stand nowhere
LIT = 1.6  # how much wider lines are that are pointed at or spoken of
TUBE = 3.4  # least width of a tube
CLEAR = 16  # lines of a caption that are drawn at full width
NEARER = 1e-4  # so much nearer than squares are the lines above them
BEHIND = (0.9999, 0.9999)  # the depth of lines: behind all cubes
LED = {"input gradient", "weight gradient"}  # operations whose light is led through cubes


@dataclass
class SeenFan:
    """The rows of a layer as they are seen, in logical pixels.

    starts  middle and radius of the units before them, without the bias
    ends    the same of the units behind them
    feet    by unit behind: below each of its cubes, the last of which is the bias if it has one
    left    where the trays begin
    top     above the cubes of the first row, as large as they may be
    slot    from one cube of a row to the next
    cell    pixels of a cell
    scale   size of letters and lines
    square  whether the units behind are squares
    tubes   whether channels of a colour come in
    nested  whether wires come from above, the first unit to the last column
    wired   whether each unit before them has a wire
    tiled   whether a unit before them is read by a tile of cubes
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
    nested: bool
    wired: bool
    tiled: bool

    @cached_property
    def count(self) -> int:
        """Number of units before it."""
        return len(self.starts)

    @cached_property
    def first(self) -> float:
        """The x of the first lane."""
        return max([x + radius for x, _, radius in self.starts]) + ASIDE * self.scale

    @cached_property
    def apart(self) -> float:
        """Pixels from lane to lane."""
        room = self.left - self.first
        return max(0.5, min(LANES * self.scale, room / (self.count + 1)))

    @cached_property
    def runs(self) -> float:
        """Pixels from run to run."""
        return min(RUNS * self.scale, RUN * self.cell)

    @cached_property
    def arm(self) -> float:
        """How far above the feet what comes in enters the cubes."""
        return min(ARM * self.scale, 0.2 * self.slot)

    @cached_property
    def half_gate(self) -> float:
        return 0.5 * GATE * self.cell

    @cached_property
    def gates(self) -> list[Point]:
        """Middles of the gates of all rows."""
        return [(x - radius - 1.3 * self.half_gate, y) for x, y, radius in self.ends]

    def column(self, column: int) -> float:
        """Return the x of the wire of a column."""
        return self.feet[0][column][0] - COLUMN * self.slot


@dataclass
class Stroke:
    """A line, and how it is drawn; what is not strong is mixed with the ground.

    kind      "in", "arm", "product", "rest", "ribbon" or "sum"
    points    where it runs
    unit      behind the cubes; -1 for lines of a whole layer
    column    of its cube; -1 for lines of a whole tray
    value     what it carries, of which it has the hue
    width     in logical pixels
    casing    dark, on each side of it
    strength  share of its colour, the rest is the ground
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
    """Return a path with round corners."""
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
    """Return a curve that is level at both ends."""
    x, y = start
    right, below = end
    return [(x + (right - x) * part, y + (below - y) * level) for part, level in EASE]


def part_of(points: list[Point], first: float, last: float) -> list[Point]:
    """Return a part of a path, from 0 to 1 of its length."""
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
    """Return the corners of the wire of a unit, from its rim to the top of its column."""
    x, y, radius = fan.starts[column]
    down = fan.column(column)
    if not fan.nested:
        return [(x + radius, y), (down, y)]
    lane = fan.first + fan.apart * column
    highest = min(fan.starts[0][1], fan.top - fan.runs * fan.count)
    run = highest + fan.runs * column
    return [(x + radius, y), (lane, y), (lane, run), (down, run)]


def wires(fan: SeenFan, column: int) -> list[list[Point]]:
    """Return the lines of a unit before all rows."""
    down, path = fan.column(column), wire(fan, column)
    first, last = [feet[column][1] - fan.arm for feet in (fan.feet[0], fan.feet[-1])]
    radius = ROUND * fan.scale
    if fan.nested:
        return [rounded([*path, (down, last)], radius)]
    y = path[-1][1]
    if first < y < last:
        return [[(down, first), (down, last)], path]
    ends = (first, last) if y <= first else (last, first)
    return [rounded([*path, (down, ends[1])], radius)]


def way_in(fan: SeenFan, unit: int, column: int, half: float) -> list[Point]:
    """Return the line of what comes in, from the neuron to its cube, half a side of which is given.

    Of a bias, which nothing comes into, it is empty.
    """
    if column >= fan.count:
        return []
    x, y = fan.feet[unit][column]
    down, level = fan.column(column), y - fan.arm
    path = [*wire(fan, column), (down, level), (x - half * fan.cell, level)]
    return rounded(path, ROUND * fan.scale)


def way_out(fan: SeenFan, unit: int, column: int, track: int = 0) -> list[Point]:
    """Return the line of a product, from the foot of its cube to the gate of its row.

    track  number of the strand below the tray
    """
    x, y = fan.feet[unit][column]
    right, level = fan.gates[unit]
    scale, edge = fan.scale, right - fan.half_gate
    low = y + (BELOW + STRANDS * track) * scale
    into = max(x + 2.0, edge - INTO * scale)
    path = rounded([(x, y + scale), (x, low), (into, low)], 0.6 * ROUND * scale)
    return [*path, *curve((into, low), (edge, level + (track - 1) * 2.0 * scale))[1:]]


def lit_parts(
    fan: SeenFan, unit: int, column: int, half: float, back: bool, part: float, count: int
) -> list[tuple[list[Point], float, bool]]:
    """Return what is lit before and behind a cube: path, width, and whether it leads back.

    half   half the side of the cube
    back   whether light leads back before the cube, too; else it meets there what comes in
    part   of an operation that is done: light leaves a trail
    count  cubes that the operation is about
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
    """Return the lines of a layer, those that lie below others first.

    values  what the units before it say
    terms   by unit behind, what each cube adds to its sum
    halves  half the side of each cube, in cells
    summed  whether the sums are there: else there are no products
    """
    return [
        *(wires_in(fan, values, halves) if fan.wired else ribbons(fan)),
        *(products(fan, terms) if summed else []),
    ]


def wires_in(fan: SeenFan, values: list[float], halves: list[list[float]]) -> list[Stroke]:
    """Return the wires of all units before the rows, and their arms."""
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
    """Return the ribbon that brings all to each of the rows."""
    scale, x = fan.scale, fan.first
    levels = [feet[0][1] - fan.arm for feet in fan.feet]
    heights = [*[ring[1] for ring in fan.starts], *levels]
    paths = [[(x, min(heights)), (x, max(heights))]]
    paths += [[(x, level), (fan.left, level)] for level in levels]
    return [Stroke("ribbon", path, -1, -1, 0.0, RIBBON * scale, scale, 0.7) for path in paths]


def products(fan: SeenFan, terms: list[list[float]]) -> list[Stroke]:
    """Return the strands of the products, and what goes on from each gate."""
    scale = fan.scale
    sizes = [[abs(term) for term in row] for row in terms]
    top = max([1e-12, *[max(row) for row in sizes]])
    totals = [sum(row) for row in terms]
    most = max([1e-12, *[abs(total) for total in totals]])
    quiet: list[Stroke] = []
    found: list[Stroke] = []
    for unit, row in enumerate(terms):
        row = [] if fan.tiled else row  # kernels go on as one line
        own, feet = sizes[unit], fan.feet[unit]
        least = SMALL * top
        if len(row) > FEW:
            least = max(least, sorted(own)[len(own) - ALONE - 1])
        alone = [column for column in range(len(row)) if own[column] > least]
        rest = [column for column in range(len(row)) if column not in alone]
        if len(row) > FEW and len(rest) > 0:
            places = [feet[column][0] for column in rest]
            path = way_out(fan, unit, rest[places.index(min(places))], len(alone))
            quiet += [Stroke("rest", path, unit, -1, 0.0, 1.4 * scale, scale, 0.7)]
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


# The column of the biases: half its width in slots, and pixels from its top to the letter above it.
BAND, LETTER, BELOW_BAND = 0.46, 9.0, 14.0
DIM = 0.12  # of the ink that it is tinted with


def draw_bias(canvas: Canvas2D, theme: Theme, fan: SeenFan) -> None:
    """Draw a band through the biases of all rows, with their letter above it."""
    if fan.tiled or len(fan.feet[0]) == fan.count:
        return
    x, low = fan.feet[-1][fan.count]
    scale, half = fan.scale, BAND * min(fan.slot, fan.cell)
    top = fan.top - 4.0 * scale
    wide, high = 2.0 * half, low + BELOW_BAND * scale - top
    canvas.box(x - half, top, wide, high, theme.shelf, radius=6.0 * scale, depth=1.0)
    size = 12.0 * scale
    canvas.text(
        x, top - LETTER * scale + 3.0, "b", size=size, color=theme.quiet, bold=True, anchor="center"
    )


def draw_gates(
    canvas: Canvas2D, theme: Theme, fan: SeenFan, bends: Sequence[float], depth: float
) -> None:
    """Draw a gate before each ball: the curve through which all that was added up goes.

    bends  the curve, from left to right, between -1 and 1; without, sums are what neurons say
    """
    half, scale, last = fan.half_gate, fan.scale, max(1, len(bends) - 1)
    gates = [] if fan.tiled else fan.gates
    fill, edge, side, line = theme.panel[:7], theme.wire, 2.0 * half, 1.2 * scale
    for x, y in gates:
        left, rim = x - half, 0.46 * half
        canvas.box(
            left, y - half, side, side, fill, radius=rim, outline=edge, line=line, depth=depth
        )
    points = [
        [
            (x + 0.72 * half * (2.0 * i / last - 1.0), y - 0.55 * half * bend)
            for i, bend in enumerate(bends)
        ]
        for x, y in gates
    ]
    starts = [path[i] for path in points for i in range(len(path) - 1)]
    ends = [path[i + 1] for path in points for i in range(len(path) - 1)]
    if len(starts) > 0:
        canvas.segments(starts, ends, theme.ink, width=CURVED * scale)


def direct_strokes(fan: SeenFan, picked: list[tuple[int, int, float]]) -> list[Stroke]:
    """Return lines from neuron to neuron, where no cubes stand, for the strongest products.

    picked  unit behind, column and product of each, the strongest last
    """
    found: list[Stroke] = []
    for unit, column, product in picked:
        x, y, radius = fan.starts[column]
        end, below, reach = fan.ends[unit]
        share = abs(product) / max(1e-12, abs(picked[-1][2]))
        width = fan.scale * (0.8 + 1.2 * share)
        path = curve((x + radius, y), (end - reach, below))
        found += [Stroke("product", path, unit, column, product, width, fan.scale, 0.42)]
    return found


def thread_strokes(
    fan: SeenFan, unit: int, column: int, value: float, product: float
) -> list[Stroke]:
    """Return the line of a weight of the way that carries most, to its cube and on from it."""
    x, y, radius = fan.starts[column]
    end, below, reach = fan.ends[unit]
    left = max([ring[0] + ring[2] for ring in fan.starts])
    right = min([ring[0] - ring[2] for ring in fan.ends])
    start, far = x + radius, end - reach
    part = (0.5 * (left + right) - start) / max(1e-9, far - start)
    path, scale = curve((start, y), (far, below)), fan.scale
    found: list[Stroke] = []
    for kind, number, first, last in (("in", value, 0.0, part), ("product", product, part, 1.0)):
        own = part_of(path, first, last)
        found += [Stroke(kind, own, unit, column, number, 3.4 * scale, 2.3 * scale, 0.95)]
    return found
