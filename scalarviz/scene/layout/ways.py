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

Point = tuple[float, float]
Ring = tuple[float, float, float]  # middle and radius

FEW, ALONE = 4, 3  # inputs of a row whose lines all run alone; else so many do
BUSY = 130  # weights of a layer of which only the strongest have lines
MOST_STRONG = 8  # of a layer
CORNER, ROUND = 4, 8.0  # parts of a round corner, and its radius in pixels
CURVE = 14  # parts of the curve of a product
NEAR, ASIDE, LANES = 8.0, 9.0, (8.0, 5.0)  # pixels: cube to lanes, rim to lanes, lane to lane
UNDER, RIBBON, TRACKS = 3.2, 5.0, (6.2, 3.6, 0.8)  # pixels below the edge; from track to track
FAINT, SMALL = 0.05, 0.10  # of the largest that comes in, and product, of what has no line
FOOT = 0.45  # of half a cube, from its tray up to where a line enters it
HEAD = 0.82, 0.88  # where on a product its head stands
UPRIGHT, TIP = 34.0, 12.0  # pixels of an upright piece with room for a head, and of a head
SIDE = 0.4  # cells from the foot of the last cube to the line of a sum, to the right and up
SPREAD = 1.1  # how far around the rim of a ball its products arrive, in radians


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
    lines   the lines that are known, by unit and column
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

    @property
    def is_busy(self) -> bool:
        """Whether only the strongest have lines of their own."""
        return len(self.starts) * len(self.ends) > BUSY

    @property
    def first(self) -> float:
        """The x of the first lane."""
        return max([x + radius for x, _, radius in self.starts]) + ASIDE * self.scale

    @property
    def apart(self) -> float:
        """Pixels from lane to lane."""
        most = LANES[len(self.starts) > FEW] * self.scale
        left: float = min([edge[0][0] for edge in self.edges])
        room = left - NEAR * self.scale - self.first
        return max(0.5, min(most, room / max(1, len(self.starts))))


@dataclass(frozen=True)
class Stroke:
    """A line.

    kind    "in", "product", "ribbon", "band", "stub", "tick" or "sum"
    points  where it runs
    unit    behind the cubes; -1 for lines of a whole layer
    column  of its cube; -1 for lines of a whole tray
    value   what it carries, of which it has the hue
    share   its size, from 0 to 1
    strong  whether it is one of the strongest of its layer
    """

    kind: str
    points: list[Point]
    unit: int
    column: int
    value: float
    share: float = 0.0
    strong: bool = False


def rounded(points: list[Point], radius: float) -> list[Point]:
    """Return a path with round corners."""
    found = [points[0]]
    for i in range(1, len(points) - 1):
        x, y = points[i]
        before, after = points[i - 1], points[i + 1]
        ax, ay, bx, by = before[0] - x, before[1] - y, after[0] - x, after[1] - y
        far, on = math.sqrt(ax * ax + ay * ay) + 1e-9, math.sqrt(bx * bx + by * by) + 1e-9
        reach = min(radius, 0.5 * far, 0.5 * on)
        ax, ay, bx, by = ax * reach / far, ay * reach / far, bx * reach / on, by * reach / on
        for n in range(CORNER + 1):
            part = n / CORNER
            begin, end = (1.0 - part) * (1.0 - part), part * part
            found.append((x + begin * ax + end * bx, y + begin * ay + end * by))
    found.append(points[-1])
    return found


def curve(start: Point, end: Point) -> list[Point]:
    """Return a curve that is level at both ends."""
    found: list[Point] = []
    x, y = start
    right, below = end
    for n in range(CURVE + 1):
        part = n / CURVE
        found.append((x + (right - x) * part, y + (below - y) * part * part * (3.0 - 2.0 * part)))
    return found


def part_of(points: list[Point], first: float, last: float) -> list[Point]:
    """Return a part of a path, from 0 to 1 of its length."""
    ends = [0.0]
    for i in range(1, len(points)):
        x, y = points[i - 1]
        right, below = points[i]
        ends.append(ends[-1] + math.sqrt((right - x) ** 2 + (below - y) ** 2))
    low, high = first * ends[-1], last * ends[-1]
    found: list[Point] = []
    for i in range(1, len(points)):
        long = ends[i] - ends[i - 1]
        if long <= 0.0 or ends[i] < low or ends[i - 1] > high:
            continue
        x, y = points[i - 1]
        right, below = points[i]
        for at in (max(low, ends[i - 1]), min(high, ends[i])):
            part = (at - ends[i - 1]) / long
            found.append((x + (right - x) * part, y + (below - y) * part))
    return found


def way_in(fan: SeenFan, unit: int, column: int, track: int) -> list[Point]:
    """Return the line of what comes in, from the neuron to the foot of its cube.

    track  number of the line below the edge of its tray
    """
    x, y, radius = fan.starts[column]
    edge = fan.edges[unit]
    many = len(fan.starts) > FEW
    step = TRACKS[2] if fan.is_busy else TRACKS[0] if fan.tubes else TRACKS[1]
    under = (UNDER + (1.5 * RIBBON if many and not fan.is_busy else 0.0) + step * track) * fan.scale
    lane = fan.first + fan.apart * column
    begin, foot = edge[0], edge[column + 1]
    low = begin[1] + under
    path = [(x + radius, y), (lane, y), (lane, low), (begin[0], low), (foot[0], foot[1] + under)]
    return rounded([*path, foot], ROUND * fan.scale)


def into(fan: SeenFan, unit: int, column: int, half: float) -> Point:
    """Return where a line enters a cube of this half side: the foot of its left face."""
    x, y = fan.edges[unit][column + 1]
    return x + FOOT * half * fan.up[0], y + FOOT * half * fan.up[1]


def way_out(fan: SeenFan, unit: int, column: int, half: float) -> list[Point]:
    """Return the line of a product, from the right face of its cube to the neuron of the tray."""
    x, y, radius = fan.ends[unit]
    left, low = fan.edges[unit][column + 1]
    start = (
        left + half * (2.0 * fan.right[0] + fan.up[0]),
        low + half * (2.0 * fan.right[1] + fan.up[1]),
    )
    count = len(fan.starts)
    swing = (column - 0.5 * count) / max(1, count)
    if fan.square:
        return curve(start, (x - radius, y + 1.2 * swing * radius))
    end = x - radius * math.cos(SPREAD * swing), y + radius * math.sin(SPREAD * swing)
    return curve(start, end)


def known_in(fan: SeenFan, unit: int, column: int, track: int, half: float) -> list[Point]:
    """Return the line of what comes in; all but its end is worked out once for each view."""
    key = (unit * len(fan.starts) + column) * (len(fan.starts) + 1) + track
    if key not in fan.lines:
        fan.lines[key] = way_in(fan, unit, column, track)
    return [*fan.lines[key], into(fan, unit, column, half)]


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
    count, many, busy = len(fan.starts), len(fan.starts) > FEW, fan.is_busy
    sizes = sorted([abs(term) for row in terms for term in row])
    top, came = max(sizes[-1], 1e-12), max([abs(value) for value in values] + [1e-12])
    bar = sizes[-min(MOST_STRONG, -(-len(sizes) // 8))]
    below, ways, products = [], [], []
    for unit in range(len(terms)):
        row = terms[unit]
        alone = list(range(count))
        if many:
            least = sorted([abs(term) for term in row[:count]])[-ALONE]
            least = max(least, bar) if busy else least
            alone = [column for column in range(count) if abs(row[column]) >= least][:ALONE]
            below.append(ribbon(fan, unit, alone))
        for column in range(count):
            share, strong = abs(values[column]) / came, summed and abs(row[column]) >= bar
            if share <= FAINT:
                continue
            if column in alone:
                path = known_in(fan, unit, column, alone.index(column), halves[unit][column])
                line = Stroke("in", path, unit, column, values[column], share, strong)
                ways.append(line)
            else:
                x, y = fan.edges[unit][column + 1]
                path = [(x, y + RIBBON * fan.scale), into(fan, unit, column, halves[unit][column])]
                below.append(Stroke("tick", path, unit, column, values[column], share))
        for column in range(len(row) if summed else 0):
            share, strong = abs(row[column]) / top, abs(row[column]) >= bar
            if share > SMALL and (strong or not busy):
                path = way_out(fan, unit, column, halves[unit][column])
                products.append(Stroke("product", path, unit, column, row[column], share, strong))
    if many:
        below = [*bands(fan, values, came), *below]
    if busy and summed:
        below += sums(fan, terms)
    return [*below, *weak_first(ways), *weak_first(products)]


def sums(fan: SeenFan, terms: list[list[float]]) -> list[Stroke]:
    """Return one line a row for its sum, where only the strongest products have lines."""
    totals = [sum(row) for row in terms]
    top, found = max([abs(total) for total in totals] + [1e-12]), []
    for unit in range(len(totals)):
        x, y = fan.edges[unit][-1]
        end, below, radius = fan.ends[unit]
        start = x + SIDE * fan.right[0] + SIDE * fan.up[0], y + SIDE * (fan.right[1] + fan.up[1])
        share = abs(totals[unit]) / top
        path = curve(start, (end - radius, below))
        found.append(Stroke("sum", path, unit, -1, totals[unit], share))
    return found


def head_of(fan: SeenFan, stroke: Stroke) -> list[Point]:
    """Return a short part of a strong line on which its head stands; none without room."""
    points = stroke.points
    if not stroke.strong:
        return []
    if stroke.kind == "product":
        return part_of(points, HEAD[0], HEAD[1])
    for i in range(1, len(points)):
        x, y = points[i - 1]
        right, below = points[i]
        if abs(right - x) < 1e-6 and abs(below - y) > UPRIGHT * fan.scale:
            part = 0.5 * TIP * fan.scale / (below - y)
            first, last = 0.5 - abs(part), 0.5 + abs(part)
            return [(x, y + first * (below - y)), (x, y + last * (below - y))]
    return []


def weak_first(strokes: list[Stroke]) -> list[Stroke]:
    """Return lines so that the strong ones lie above the others."""
    strong = [each for each in strokes if each.strong]
    return [*[each for each in strokes if not each.strong], *strong]


def ribbon(fan: SeenFan, unit: int, alone: list[int]) -> Stroke:
    """Return the ribbon of a tray, up to the last cube without a line of its own."""
    edge, under = fan.edges[unit], RIBBON * fan.scale
    last = max([column for column in range(len(fan.starts)) if column not in alone] + [0])
    x, y = edge[0]
    right, below = edge[last + 1]
    path = [(fan.first, y + under), (x, y + under), (right, below + under)]
    return Stroke("ribbon", rounded(path, ROUND * fan.scale), unit, -1, 0.0)


def bands(fan: SeenFan, values: list[float], came: float) -> list[Stroke]:
    """Return the upright band that ribbons come out of, and the stub of each neuron into it."""
    x = fan.first
    heights = [ring[1] for ring in fan.starts]
    heights += [edge[0][1] + RIBBON * fan.scale for edge in fan.edges]
    found = [Stroke("band", [(x, min(heights)), (x, max(heights))], -1, -1, 0.0)]
    for column in range(len(fan.starts)):
        left, y, radius = fan.starts[column]
        share = abs(values[column]) / came
        if share > FAINT:
            found.append(
                Stroke("stub", [(left + radius, y), (x, y)], -1, column, values[column], share)
            )
    return found


@dataclass(frozen=True)
class StrokeLook:
    """How a line is drawn: widths of it and of its dark casing on each side, and its strength."""

    width: float
    casing: float
    strength: float


def look_of(fan: SeenFan, stroke: Stroke) -> StrokeLook:
    """Return how a line is drawn; what is not strong is mixed with the ground."""
    wide = 1.9 if fan.is_busy else 2.6
    thin = 0.55 if fan.is_busy else 1.0
    looks = {
        "ribbon": StrokeLook(4.6 * thin, 1.0, 0.7),
        "band": StrokeLook(4.6 * thin, 1.0, 0.7),
        "stub": StrokeLook(1.6, 0.8, 0.6),
        "tick": StrokeLook(2.2 * thin, 0.8, 0.75),
        "sum": StrokeLook(1.0 + 2.4 * stroke.share, 1.5, 0.6),
    }
    if stroke.kind in looks:
        look = looks[stroke.kind]
    elif stroke.kind == "product":
        width = 0.9 + 1.25 * wide * stroke.share
        look = StrokeLook(width, 3.0, 0.95) if stroke.strong else StrokeLook(width, 1.5, 0.52)
    elif fan.tubes:
        look = StrokeLook(2.8 + 2.6 * stroke.share, 1.3, 0.95 if stroke.strong else 0.72)
    else:
        look = StrokeLook(0.7 + wide * stroke.share, 1.3, 0.95 if stroke.strong else 0.5)
    return StrokeLook(fan.scale * look.width, fan.scale * look.casing, look.strength)
