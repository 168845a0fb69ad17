"""Ways: the lines of trays, as they run in the picture.

Before a cube a line carries what comes in: it leaves its neuron, goes up or down in a lane, along
the front edge of a tray, and into the foot of its cube. After the cube it carries the product, in
one curve to the neuron of the tray. A neuron says one thing to all, so that its lines before cubes
are all alike. In a row of many the strongest have lines of their own, the rest is one ribbon with a
tick under each cube. Hue is the sign of what a line carries, width its size.

Of plain numbers: pages have it in JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

Point = tuple[float, float]
Ring = tuple[float, float, float]  # middle and radius

FEW, ALONE = 4, 3  # inputs of a row whose lines all run alone; else this number does
BUSY = 100  # weights of a layer of which only the strongest have lines
MOST_STRONG = 8  # of a layer
QUIET = 0.9  # strength of a line that carries nothing
CORNER, ROUND = 4, 8.0  # parts of a round corner, and its radius in pixels
# What the points of a round corner have of its beginning, and of its end.
BENDS = [((1.0 - part) ** 2, part**2) for part in [n / CORNER for n in range(CORNER + 1)]]
CURVE = 14  # parts of the curve of a product
PARTS = [part / CURVE for part in range(CURVE + 1)]
EASE = [(part, part * part * (3.0 - 2.0 * part)) for part in PARTS]  # along it, and down
NEAR, ASIDE, LANES = 8.0, 9.0, (8.0, 5.0)  # pixels: cube to lanes, rim to lanes, lane to lane
UNDER, RIBBON, TRACKS = 3.2, 5.0, (6.2, 3.6, 0.8)  # pixels below the edge; from track to track
FAINT, SMALL = 0.05, 0.10  # of the largest that comes in, and product, of what has no hue or line
FOOT = 0.45  # of half a cube, from its tray up to where a line enters it
# Where on a product its head stands, of its length, at least, and pixels from there to the ball.
HEAD, LEAST_HEAD, BEFORE = 0.82, 0.35, 16.0
# Where it may stand on an upright piece, in halves of its length from the middle, and how far the
# number of a ball may reach, in radii.
PLACES, WIDE = (0.0, 2.0, -2.0, 4.0, -4.0), 2.6
UPRIGHT, TIP = 34.0, 12.0  # pixels of an upright piece with room for a head, and of a head
SPREAD = 1.1  # how far around the rim of a ball its products arrive, in radians

MOST, MOST_DIRECT = 4096, 131_072  # weights of a layer whose lines are drawn
PICKED = 12  # of a layer whose cubes stand nowhere
LIT = 1.6  # how much wider lines are that are pointed at or spoken of
TUBE = 3.4  # least width of a tube
LANE = 0.6  # of a lane, that light fills at most
CLEAR = 16  # lines of a caption that are drawn at full width
NEARER = 1e-4  # so much nearer than squares are the lines above them
BEHIND = (0.9999, 0.9999)  # the depth of lines before cubes: behind all cubes
LED = {"input gradient", "weight gradient"}  # operations whose light is led through cubes


@dataclass
class SeenFan:
    """A layer of trays as it is seen, in logical pixels.

    starts  middle and radius of the units before it, without the bias
    ends    the same of the units behind it
    edges   by unit behind: where the front edge of its tray begins, then below each of its cubes,
            the last of which is the bias if it has one
    right, up  one cell to the right and upwards
    scale   size of letters and lines
    square  whether the units behind are squares
    tubes   whether channels of a colour come in
    lines   the lines that are known, by unit, column and track
    """

    starts: list[Ring]
    ends: list[Ring]
    edges: list[list[Point]]
    right: Point
    up: Point
    scale: float
    square: bool
    tubes: bool
    lines: dict[int, list[Point]] = field(default_factory=dict)

    @cached_property
    def count(self) -> int:
        """Number of units before it."""
        return len(self.starts)

    @cached_property
    def is_busy(self) -> bool:
        """Whether only the strongest have separate lines."""
        return self.count * len(self.ends) > BUSY

    @cached_property
    def rim(self) -> list[Point]:
        """From the middle of a unit behind it to where products arrive, in radii, by column."""
        swings = [
            (column - 0.5 * self.count) / max(1, self.count) for column in range(self.count + 1)
        ]
        if self.square:
            return [(-1.0, 1.2 * swing) for swing in swings]
        return [(-math.cos(SPREAD * swing), math.sin(SPREAD * swing)) for swing in swings]

    @cached_property
    def first(self) -> float:
        """The x of the first lane."""
        return max([x + radius for x, _, radius in self.starts]) + ASIDE * self.scale

    @cached_property
    def apart(self) -> float:
        """Pixels from lane to lane."""
        most = LANES[self.count > FEW] * self.scale
        left: float = min([edge[0][0] for edge in self.edges])
        room = left - NEAR * self.scale - self.first
        return max(0.5, min(most, room / max(1, self.count)))


@dataclass
class Stroke:
    """A line, and how it is drawn; what is not strong is mixed with the ground.

    kind      "in", "product", "ribbon", "band", "stub", "tick" or "sum"
    points    where it runs
    unit      behind the cubes; -1 for lines of a whole layer
    column    of its cube; -1 for lines of a whole tray
    value     what it carries, of which it has the hue
    width     in logical pixels
    casing    dark, on each side of it
    strength  share of its colour, the rest is the ground
    strong    whether it is one of the strongest of its layer
    """

    kind: str
    points: list[Point]
    unit: int
    column: int
    value: float
    width: float
    casing: float
    strength: float
    strong: bool = False


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


def way_in(fan: SeenFan, unit: int, column: int, track: int, half: float) -> list[Point]:
    """Return the line of what comes in, from the neuron to the foot of its cube.

    track  number of the line below the edge of its tray
    half   half the side of the cube; all but the end of the line is worked out once for each view
    """
    edge, key = fan.edges[unit], (unit * fan.count + column) * (fan.count + 1) + track
    begin, foot = edge[0], edge[column + 1]
    if key not in fan.lines:
        x, y, radius = fan.starts[column]
        many = fan.count > FEW
        step = TRACKS[2] if fan.is_busy else TRACKS[0] if fan.tubes else TRACKS[1]
        under = UNDER + (1.5 * RIBBON if many and not fan.is_busy else 0.0) + step * track
        under *= fan.scale
        lane, low = fan.first + fan.apart * column, begin[1] + under
        path = [
            (x + radius, y),
            (lane, y),
            (lane, low),
            (begin[0], low),
            (foot[0], foot[1] + under),
        ]
        fan.lines[key] = rounded([*path, foot], ROUND * fan.scale)
    rise = FOOT * half
    return [*fan.lines[key], (foot[0] + rise * fan.up[0], foot[1] + rise * fan.up[1])]


def way_out(fan: SeenFan, unit: int, column: int, half: float) -> list[Point]:
    """Return the line of a product, from the right face of its cube to the neuron of the tray."""
    (left, low), (right, below) = fan.edges[unit][column + 1], fan.rim[column]
    x = left + half * (2.0 * fan.right[0] + fan.up[0])
    y = low + half * (2.0 * fan.right[1] + fan.up[1])
    end, middle, radius = fan.ends[unit]
    right, below = end + right * radius - x, middle + below * radius - y
    return [(x + right * part, y + below * level) for part, level in EASE]


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
    paths = [way_in(fan, unit, column, 0, half) if column < fan.count else []]
    paths += [way_out(fan, unit, column, half)]
    width = 2.0 * LIT * fan.scale * min(1.0, math.sqrt(CLEAR / count))
    widths = [min(width, LANE * fan.apart), width]
    found: list[tuple[list[Point], float, bool]] = []
    for path, (first, last), wide, way in zip(paths, spans, widths, (back, True), strict=True):
        found += [(part_of(path, first, last) if first < last else [], wide, way)]
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
    count, many, busy, scale = fan.count, fan.count > FEW, fan.is_busy, fan.scale
    wide = scale * (1.9 if busy else 2.6)
    said = [value if value > 0.0 else -value for value in values]
    sizes = sorted([term if term > 0.0 else -term for row in terms for term in row])
    top, came = max(sizes[-1], 1e-12), max([*said, 1e-12])
    bar = sizes[-min(MOST_STRONG, -(-len(sizes) // 8))] if summed else 2.0 * top
    below: list[Stroke] = []
    weak: list[Stroke] = []
    strong: list[Stroke] = []
    products: list[Stroke] = []
    largest: list[Stroke] = []
    for unit in range(len(terms)):
        row = [term if term > 0.0 else -term for term in terms[unit]]
        alone = list(range(count))
        if many:
            least = sorted(row[:count])[-ALONE]
            least = bar if busy and bar > least else least
            alone = [column for column in alone if row[column] >= least][:ALONE]
            below += [ribbon(fan, unit, alone)]
        track = 0
        for column in range(count):
            share, half = said[column] / came, halves[unit][column]
            value, lit = values[column], row[column] >= bar
            on = column in alone
            if on and (share > FAINT or not busy):
                value = value if share > FAINT else 0.0  # nothing comes in: a quiet line
                path = way_in(fan, unit, column, track, half)
                bright, width = 0.95 if lit else 0.5, 0.7 * scale + wide * share
                if not value:
                    bright, width = QUIET, 1.4 * scale
                if fan.tubes:
                    bright, width = 0.95 if lit else 0.72, scale * (2.8 + 2.6 * share)
                line = Stroke("in", path, unit, column, value, width, 1.3 * scale, bright, lit)
                if lit:
                    strong += [line]
                else:
                    weak += [line]
            elif share > FAINT:
                x, y = fan.edges[unit][column + 1]
                rise = FOOT * half
                path = [
                    (x, y + RIBBON * scale),
                    (x + rise * fan.up[0], y + rise * fan.up[1]),
                ]
                width = scale * (1.2 if busy else 2.2)
                tick = Stroke("tick", path, unit, column, value, width, 0.8 * scale, 0.75)
                below += [tick]
            track += 1 if on else 0
        for column in range(len(row) if summed else 0):
            share, lit = row[column] / top, row[column] >= bar
            if share > SMALL and (lit or not busy):
                path = way_out(fan, unit, column, halves[unit][column])
                width = 0.9 * scale + 1.25 * wide * share
                casing, bright = (3.0 * scale, 0.95) if lit else (1.5 * scale, 0.52)
                value = terms[unit][column]
                line = Stroke("product", path, unit, column, value, width, casing, bright, lit)
                if lit:
                    largest += [line]
                else:
                    products += [line]
    if many:
        below = [*bands(fan, values, came), *below]
    if busy and summed:
        below += sums(fan, terms, halves)
    return [*below, *weak, *strong, *products, *largest]


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


def sums(fan: SeenFan, terms: list[list[float]], halves: list[list[float]]) -> list[Stroke]:
    """Return one line a row for its sum, where only the strongest products have lines."""
    totals, last = [sum(row) for row in terms], len(terms[0]) - 1
    top = max([*totals, -min(totals), 1e-12])
    found: list[Stroke] = []
    for unit, total in enumerate(totals):
        start = way_out(fan, unit, last, halves[unit][last])[0]
        end, below, radius = fan.ends[unit]
        width = fan.scale * (1.0 + 2.4 * (total if total > 0.0 else -total) / top)
        path = curve(start, (end - radius, below))
        found += [Stroke("sum", path, unit, -1, total, width, 1.5 * fan.scale, 0.6)]
    return found


def head_of(fan: SeenFan, stroke: Stroke) -> list[Point]:
    """Return a short part of a strong line on which its head stands; none without room."""
    points = stroke.points
    if stroke.kind == "product":
        long = max(1e-9, points[CURVE][0] - points[0][0])
        first = min(HEAD, 1.0 - BEFORE * fan.scale / long)
        return part_of(points, first, first + 0.06) if first > LEAST_HEAD else []
    least, half = UPRIGHT * fan.scale, 0.5 * TIP * fan.scale
    for i in range(1, len(points)):
        x, y = points[i - 1]
        right, below = points[i]
        if -1e-6 < right - x < 1e-6 and not -least <= below - y <= least:
            taken = [ring[1] for ring in fan.starts if x - ring[0] < WIDE * ring[2] + half]
            ends = (-half, half) if below > y else (half, -half)
            for away in PLACES:
                middle = 0.5 * (y + below) + away * half
                apart = min([abs(middle - each) for each in taken], default=least)
                if apart >= 2.0 * half and abs(below - y) >= half * (2.0 + 2.0 * abs(away)):
                    return [(x, middle + end) for end in ends]
    return []


def ribbon(fan: SeenFan, unit: int, alone: list[int]) -> Stroke:
    """Return the ribbon of a tray, up to the last cube without a separate line."""
    edge, under, last = fan.edges[unit], RIBBON * fan.scale, fan.count - 1
    while last and last in alone:
        last -= 1
    x, y = edge[0]
    right, below = edge[last + 1]
    path = [(fan.first, y + under), (x, y + under), (right, below + under)]
    width = fan.scale * (2.5 if fan.is_busy else 4.6)
    return Stroke("ribbon", rounded(path, ROUND * fan.scale), unit, -1, 0.0, width, fan.scale, 0.7)


def bands(fan: SeenFan, values: list[float], came: float) -> list[Stroke]:
    """Return the upright band that ribbons come out of, and the stub of each neuron into it."""
    x, scale = fan.first, fan.scale
    heights = [ring[1] for ring in fan.starts]
    heights += [edge[0][1] + RIBBON * scale for edge in fan.edges]
    path = [(x, min(heights)), (x, max(heights))]
    width = scale * (2.5 if fan.is_busy else 4.6)
    found = [Stroke("band", path, -1, -1, 0.0, width, scale, 0.7)]
    for column in range(fan.count):
        left, y, radius = fan.starts[column]
        value = values[column]
        if not -FAINT * came <= value <= FAINT * came:
            path = [(left + radius, y), (x, y)]
            found += [Stroke("stub", path, -1, column, value, 1.6 * scale, 0.8 * scale, 0.6)]
    return found
