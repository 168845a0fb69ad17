"""The layout of rows: the weights of each neuron form a row in front of its sphere.

Data flows from left to right, and each line of neurons is vertical. In front of each neuron is its
tray, a row with one cube per input and the bias last; the columns are shared by all rows of the
layer. The row ends at the gate and the sphere of the neuron, so the rows of a layer are the rows of
its weight matrix. Images of a convolution are squares, and its kernels are tiles of cubes on the
trays. The camera sees the scene nearly from the front.

Pages run it as JavaScript, see docs/TRANSLATOR.md; only points.py uses numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import plural, text
from scalarviz.core.program import Buffer, Operation, Program, Shape, Windows
from scalarviz.core.trace_program import Chain
from scalarviz.scene.layout.camera import FRONT, Camera
from scalarviz.scene.layout.plates import (
    DOWN,
    HALF,
    NEAR,
    RIGHT,
    SCORED,
    UP,
    Fan,
    Label,
    Layout,
    Neurons,
    Plate,
    Tiles,
    Wires,
    WrittenWords,
)
from scalarviz.scene.layout.points import points3, vector
from scalarviz.scene.layout.ways import GATE, HEAD, HEADS, REACH, SMALLER
from scalarviz.story.facts import NONE

CAMERA = Camera(azimuth=FRONT[0], elevation=FRONT[1], fov=0.0)  # nearly from the front
HIGH, SEEN = 10.0, 1.03  # cells of the height of all rows, and their height including cubes
PITCH = 2.95  # maximum distance between rows
ROOM, LARGEST = 1.46, 1.14  # row distance by the largest cube; its maximum in cells
CROWDED = 0.5  # cells between cubes below which other items shrink, down to these fractions:
NARROW, NARROW_SCALE, NARROW_IMAGE = 0.38, 0.56, 0.84  # squares, gains and shifts, images
CLOSE, LONG = 1.25, 20  # as ROOM in strips and long rows: more than ALONE cubes, and up to LONG
# Rows of these forms are strips in networks of more cubes than the first number if their columns
# have fewer cells than the second. The others are the cells above strips, for an opened one, and
# before inputs, for their names. Both for wide stages, and for narrow ones, whose cells are small.
NOT_UPRIGHT = "", "nested"
STRIPS = (
    (NOT_UPRIGHT, 110, 0.5, 3.25, 1.0),
    ((*NOT_UPRIGHT, "upright"), 40, 0.75, 4.25, 1.5),
)
SLOT, WIDE = 1.267, 1.36  # minimum, maximum cube distance in a row, by the largest cube
LOOSE = 1.42  # the same in long rows, one of which has its numbers
SEAT = 1.05  # from the center of a cell to the front edge of its tray, in halves of a cube
BALL, SQUARE = 0.3, 0.56  # radius of a ball, and half the side of the largest square
UNDER, LEAST_SQUARE = 0.34, 0.24  # room for a number below a square, and minimum size of that
ANSWER, FEW = 0.36, 3  # radius of the balls of answers, and maximum number of such balls
SCORES = 5  # minimum number of answers that are bars
GRAIN, APART = 0.62, 0.5  # cell of a kernel on walls, and room between two images there
IMAGE, MOST_IMAGE, POOLED = 0.84, 1.9, 0.76  # by its pitch, side of an image, its maximum, and
# side of a smaller one
TILE = 0.96  # maximum fraction of its row for a kernel
LANE, BEFORE, ALONE = 0.1, 0.3, 12  # lanes before rows of at most ALONE inputs; their room
UPRIGHT = 5  # maximum inputs of a last neuron with a horizontal row
RUN, RUNS = 0.21, 0.3  # cells between runs of wires above rows, and around them
AFTER = 0.1  # room for a gate
NEXT, BESIDE = 0.36, 0.96  # between lines without cubes, and room for a gain or a shift
LOOSER = 2.2  # maximum stretch of rooms to fill a stage
TIED = 1.1  # cells from the first neurons to the color they represent
OPENED, MOST_OPEN = 2.9, 128  # cells above rows of kernels for an opened one; its maximum weights
SAID = 0.25  # cells below rows, for words
HEADED_SCALE, LINE, BELOW_ROWS = 0.66, 0.29, 0.75  # cells up to heads of gains and to a line above
# them, and down to words
RAISED, HEADED, SHORT = 3.55, 0.3, 3.0  # cells that the only image at the start is raised, up to
# headings, and of rows of which one is opened
BESIDE_IN = 0.2  # beside that image, whose words are wide
# Cells that long rows take beyond others, for numbers and bars of an upright one, and before it for
# what comes in, by whether it is long.
REST, BARS, SAYS = 0.4, 2.93, (0.96, 0.8)
BEADS, STRUNG = (0.06, 0.12), 0.12  # radius before and after a normalization; gap
BENDS = 8  # points of the curve of an activation to each side
PASSING = 1.0  # from the rows to a skip connection
NARROW_STAGE = 1.4  # maximum aspect of a stage whose cells are small

Layered = Program | Chain
Names = Mapping[str, Sequence[str]]
About = Callable[[str], tuple[str, str]]
AboutPlate = tuple[str, int, int]  # role, operation and layer of a plate


@dataclass(frozen=True)
class Units:
    """The number and type of the units of a line: neurons or images."""

    count: int
    images: bool = False


@dataclass(eq=False)
class Station:
    """An item along the flow: a line of neurons, the rows of a layer, or gains and shifts.

    Attributes:
        kind: "line", "rows" or "scale"
        place: index of its operation in the program; NONE for the inputs
        units: units of the line, or of the line that follows the rows
        before: units of the line that precedes the rows
        shape: shape of the images of a line
        tile: rows and columns of cubes per unit; () if each weight is separate
        neurons: the neurons of a line, without positions
        joins: index of the station where a skip connection to this one begins, or NONE
        wired: whether wires come from above, as from neurons that are not inputs
        first: index of the unit connected to the first unit of the line before
        drop: for an upright row, distance between its cubes; otherwise 0
        pitch: vertical distance between rows or units
        step: distance between columns of rows
        edge: side of the largest cubes
        gap: minimum gap between two images
        share: fraction of the available space used by an image or square
        deep: whether the rows run in depth, as on walls
        inputs: number of weights per row
        named: cells kept free above the rows
        strip: whether the rows are strips of small cells without wires
        x, lift, aside: position of its center along the flow, upwards, and in depth
    """

    kind: str
    place: int
    units: Units
    before: Units
    shape: Shape = ()
    tile: Shape = ()
    neurons: Neurons = Neurons(points3([]), "", "")  # noqa: RUF009  # frozen
    joins: int = NONE
    wired: bool = False
    first: int = 0
    drop: float = 0.0
    pitch: float = 1.0
    step: float = 1.0
    edge: float = 2.0 * HALF
    gap: float = 0.0
    share: float = 1.0
    deep: bool = False
    x: float = 0.0
    lift: float = 0.0
    ball: float = BALL
    aside: float = 0.0
    inputs: int = 0
    named: float = 0.0
    strip: bool = False

    @property
    def half(self) -> float:
        """Half the size of a unit of the line."""
        if self.shape:
            return 0.5 * self.share * min(IMAGE * self.pitch, self.pitch - self.gap)
        if not self.neurons.square:
            return self.ball
        half, room = min(SQUARE * self.share, 0.46 * self.pitch), 0.5 * (self.pitch - UNDER)
        return min(half, room) if room >= LEAST_SQUARE else half

    @property
    def grain(self) -> float:
        """Side of a cell of the kernels."""
        return min(self.step, self.pitch) / (max(self.tile) + 1.0)

    @property
    def length(self) -> float:
        """Length of the rows."""
        if self.form == "upright":
            return self.edge
        return self.step * (self.before.count + self.bias)

    @property
    def bias(self) -> float:
        """Distance from the last weight of a row to the bias, in columns."""
        return 1.5 if self.deep else 0.75 if self.tile else 1.0

    @property
    def form(self) -> str:
        """Form of the wires to the cubes, see `Fan`."""
        count = self.before.count
        if self.opens or self.strip:
            return "open" if self.opens else "strip"
        if self.tile or self.deep or self.before.images or count > LONG:
            return ""
        if self.units.count == 1 and (count > ALONE or (self.wired and count > UPRIGHT)):
            return "upright"
        if count <= ALONE:
            return "nested" if self.wired else ""
        return "long"

    @property
    def opens(self) -> bool:
        """Whether a long row of kernels can be enlarged: each must read all input images."""
        is_whole = self.inputs == self.before.count * prod(self.tile)
        return bool(self.tile) and is_whole and not self.deep and LONG < self.inputs <= MOST_OPEN


def along_of(station: Station) -> FloatArray:
    """Return the unit vector along the rows of a station."""
    return NEAR if station.deep else RIGHT


def toward_of(station: Station) -> FloatArray:
    """Return the unit vector from the rows of a station to the viewer."""
    return -1.0 * RIGHT if station.deep else NEAR


def origin_of(station: Station) -> FloatArray:
    """Return the center of a station."""
    return station.x * RIGHT + station.lift * UP + station.aside * NEAR


def row_at(station: Station, unit: float) -> FloatArray:
    """Return the position of a unit from the center of its station; a fraction is in between."""
    return (unit - (station.units.count - 1) / 2.0) * station.pitch * DOWN


def rows_at(station: Station, units: Sequence[int]) -> FloatArray:
    """Return the positions of units, (n, 3), from the center of their station."""
    return points3([row_at(station, each) for each in units])


def column_at(station: Station, column: int) -> FloatArray:
    """Return the position of a column from the center; the one after the last is the bias."""
    count, bias = station.before.count, station.bias
    if station.form == "upright":
        return (column - (count - 1) / 2.0) * station.drop * DOWN
    place = column + (bias - 1.0) * (column == count)
    if station.form == "nested" and column < count:
        place = count - 1.0 - column
    return (place - (count + bias - 1.0) / 2.0) * station.step * along_of(station)


def columns_at(station: Station, columns: Sequence[int]) -> FloatArray:
    """Return the positions of columns, (n, 3), from the center of their station."""
    return points3([column_at(station, each) for each in columns])


# Items along the flow.


def stations_of(program: Layered, names: Names, squares: Sequence[str] = ()) -> list[Station]:
    """Return the items along the flow of a program, not yet placed.

    Args:
        squares: names of the buffers whose neurons are squares
    """
    inputs = program.inputs
    units = Units(inputs.shape[0] if inputs.shape else inputs.size, bool(inputs.shape))
    found = [line_of(program, NONE, units, inputs, names)]
    forks: dict[str, int] = {}
    for place, operation in enumerate(program.operations):
        last = found[-1]
        shown, source = last.neurons.buffers, operation.source
        if len(operation.sources) == 1 and source.name not in shown:  # a second branch begins
            forks.update(dict.fromkeys(shown, len(found) - 1))
            begin = found[forks[source.name]]
            units = begin.units
            neurons = replace(begin.neurons, sums="", values=source.name, also=())
            last = Station("line", NONE, units, units, begin.shape, neurons=neurons)
            last.joins = forks[source.name]
            found.append(last)
            shown = neurons.buffers
        if len(operation.shape) > 1:
            before, after = units, units_of(program, place)
            count, images = operation.shape[0], len(operation.shape) > 2
            units = after if after.count == count else Units(count, images)
            tile = tile_of(operation, last.shape)
            wired, count_in = len(found) > 1, prod(operation.shape[1:])
            rows = Station("rows", place, units, before, tile=tile, wired=wired, inputs=count_in)
            found.append(rows)
            found.append(line_of(program, place, units, operation.target, names))
            if units != after:  # the next layer reads them as the pixels of other images
                units = after
                found.append(line_of(program, place, units, operation.target, names))
        elif operation.kind == "activation" and is_open(last):
            target = operation.target.name
            seen = names.get(target, last.neurons.names)
            last.neurons = replace(
                with_curve(last.neurons, operation),
                sums=last.neurons.values,
                values=target,
                names=seen,
                also=(),
            )
        elif operation.kind == "branch":
            last.neurons = replace(last.neurons, also=(*last.neurons.also, operation.target.name))
            forks.update(dict.fromkeys(last.neurons.buffers, len(found) - 1))
        else:
            before, units = units, units_of(program, place)
            if operation.parameters:
                found.append(Station("scale", place, before, before))
            line = line_of(program, place, units, operation.target, names)
            if len(operation.sources) > 1:
                names_read = [each.name for each in operation.sources[::-1]]
                skipped = next((name for name in names_read if name not in shown), names_read[0])
                line.joins = forks.get(skipped, NONE)
                if operation.kind == "concatenation" and source.name not in shown:
                    line.first = units.count - before.count
            found.append(line)
    for each in found:
        square = not each.shape and any(name in squares for name in each.neurons.buffers)
        each.neurons = replace(each.neurons, square=square, told=square)
    for line, behind in pairwise(found):
        evened = is_evened(program, line)
        if is_evened(program, behind) or (behind.kind == "scale" and evened):
            curve = program.operations[line.place].formula if evened else line.neurons.curve
            line.neurons = replace(line.neurons, square=False, told=evened, curve=curve)
            line.ball = BEADS[evened]
    return found


def is_evened(program: Layered, line: Station) -> bool:
    """Return whether a line of neurons is the output of a normalization."""
    place = NONE if line.shape or line.kind != "line" else line.place
    return place != NONE and program.operations[place].formula.endswith("norm")


def with_curve(line: Neurons, operation: Operation) -> Neurons:
    """Return the neurons with the curve of their activation around 0."""
    places = [REACH * each / BENDS for each in range(-BENDS, BENDS + 1)]
    bends = tuple([float(operation.curve(each)) for each in places])
    return replace(line, bends=bends, curve=operation.formula)


def line_of(program: Layered, place: int, units: Units, buffer: Buffer, names: Names) -> Station:
    layer = program.operations[place].layer if place != NONE else NONE
    shape: Shape = ()
    if units.images:
        shape = shape_at(program, place) if place != NONE else buffer.shape
        if shape[:1] != (units.count,):  # as its own operation writes them
            windows = program.operations[place].windows
            shape = units.count, windows.out_height, windows.out_width
    neurons = Neurons(points3([]), "", buffer.name, names.get(buffer.name, ()), layer, shape)
    if program.is_chain and place != NONE and program.operations[place].formula:
        neurons = with_curve(neurons, program.operations[place])
    return Station("line", place, units, units, shape=shape, neurons=neurons)


def parts_of(program: Layered, station: Station) -> list[tuple[range, range]]:
    """Return the output units of each group of a layer, and the input units that it reads."""
    operation = program.operations[station.place]
    windows: Windows | None = operation.windows if operation.kind == "convolution" else None
    groups = 1 if windows is None else windows.groups
    rows, columns = station.units.count // groups, station.before.count // groups
    return [
        (range(i * rows, (i + 1) * rows), range(i * columns, (i + 1) * columns))
        for i in range(groups)
    ]


def is_open(last: Station) -> bool:
    """Return whether the last line shows only sums, so that it can include an activation."""
    return not last.neurons.sums and last.neurons.layer != NONE


def shape_at(program: Layered, place: int) -> Shape:
    """Return the shape of an operation's outputs, or of the activation drawn in the same line."""
    operations = program.operations
    shape = operations[place].target.shape
    if not shape and place + 1 < len(operations) and operations[place + 1].kind == "activation":
        shape = operations[place + 1].target.shape
    return shape


def units_of(program: Layered, place: int) -> Units:
    """Return the units of an operation's output."""
    shape, size = shape_at(program, place), program.operations[place].target.size
    return Units(shape[0] if shape else size, bool(shape))


def tile_of(operation: Operation, images: Shape) -> Shape:
    """Return the rows and columns of cubes per unit; () if each weight is separate."""
    shape = operation.shape
    if len(shape) > 2:
        return shape[2:]
    return images[1:] if images and prod(images) == shape[1] else ()


# Positions.


def place_all(stations: list[Station], aspect: float, before: float = 0.0) -> None:
    """Place stations so that they fill a stage of this aspect ratio.

    Args:
        before: cells reserved in front of the inputs; default 0
    """
    size(stations)
    rows: list[Station] = [each for each in stations if each.kind == "rows"]
    high = SEEN * HIGH + REST * any(each.form == "long" for each in rows)
    free = aspect * high - before - stations[0].neurons.aside
    for each in rows:  # if there is room, all cubes as large as their rows are high
        wide = CLOSE if each.strip else LOOSE if each.form == "long" else WIDE
        each.step = TILE * each.pitch if each.tile else wide * each.edge
        if each.opens:
            each.step = min(each.step, SHORT / each.before.count)
    others: list[Station] = [each for each in stations if each.kind == "scale"]
    rows = [each for each in rows if each.form != "upright"]
    lines: list[Station] = [each for each in stations if each.kind == "line"]
    if along(stations, 1.0) > free and rows:
        most = max(each.length for each in rows)
        for _ in range(240):  # the longest rows shrink first
            if along(stations, 1.0) <= free:
                break
            most *= 0.98
            for each in rows:
                root = 1.0 if each.tile else 0.3  # the few kernels of an image are large
                each.step = min(each.step, most / (each.before.count + 1.0) ** root)
                each.edge = min(each.edge, each.step / SLOT)
            if min(each.step for each in rows) < CROWDED:
                for each in lines:
                    least = min(each.share, NARROW_IMAGE) if each.shape else NARROW
                    each.share = max(least, 0.9 * each.share)
                for each in others:
                    each.step = max(NARROW_SCALE, 0.9 * each.step)
    if collapse(stations, *STRIPS[aspect < NARROW_STAGE]):
        place_all(stations, aspect, before)
        return
    least, fixed = along(stations, 1.0), along(stations, 0.0)
    loose = (free - fixed) / max(1e-9, least - fixed)
    along(stations, min(LOOSER, max(1.0, loose)))


def collapse(
    stations: list[Station], forms: Sequence[str], few: int, least: float, over: float, aside: float
) -> bool:
    """Make strips of the rows of small cubes in a network of many; return whether any are new.

    Args:
        forms: forms of the rows that become strips
        few: most cubes of a network without strips
        least: minimum cells of a column of other rows
        over: cells above strips
        aside: cells before the inputs
    """
    rows: list[Station] = [each for each in stations if each.kind == "rows"]
    sizes = [each.units.count * (each.before.count + 1) for each in rows]
    other = [each for each in rows if each.before.count > ALONE and each.form != "upright"]
    other += [each for each in stations if each.kind == "scale" or each.joins != NONE]
    other += [each for each in rows if each.tile or each.before.images]
    small = [each for each in rows if each.form in forms and each.step < least]
    if other or sum(sizes) <= few:
        return False
    for each in small:
        each.strip, each.named = True, over
        stations[0].neurons = replace(stations[0].neurons, aside=aside)
    return len(small) > 0


def size(stations: list[Station]) -> None:
    """Set the distance between units in all lines, and the size of the largest cubes."""
    lines: list[Station] = [each for each in stations if each.kind == "line"]
    for line in lines:
        most = MOST_IMAGE / IMAGE if line.shape else PITCH
        line.pitch, line.share, line.lift = min(HIGH / line.units.count, most), 1.0, 0.0
    if lines[0].shape and lines[0].units.count == 1 and len(stations) > 1 and stations[1].tile:
        lines[0].lift = RAISED
    has_foot = any(station.form == "upright" for station in stations if station.kind == "rows")
    for station, behind in pairwise(stations):
        station.ball = min(station.ball, 0.42 * station.pitch)
        if station.kind == "rows":
            station.edge = min(LARGEST, (station.drop or behind.pitch) / ROOM)
            if station.form in ("nested", "long", "strip") and not behind.shape:
                make_room(station, behind, has_foot)
            elif station.opens:
                room = OPENED + SAID
                behind.pitch = min(behind.pitch, (HIGH - room) / behind.units.count)
                behind.lift = 0.5 * (SAID - OPENED)
                station.lift = behind.lift
            station.pitch = behind.pitch
        elif behind.form == "upright":
            behind.drop, behind.lift = station.pitch, station.lift
        elif behind.kind != "rows" and station.units == behind.units:
            behind.pitch, behind.lift = station.pitch, station.lift  # at the same heights
        if (
            station.kind == "line"
            and behind.shape
            and station.shape
            and prod(behind.shape) < prod(station.shape)
        ):
            behind.share = POOLED
    if len(stations) > 1 and stations[1].strip:  # beside them
        lines[0].lift = stations[1].lift
        lines[0].pitch = min(lines[0].pitch, (HIGH - stations[1].named) / lines[0].units.count)
    end = lines[-1]
    end.ball = min(ANSWER if end.units.count <= FEW else BALL, 0.42 * end.pitch)
    if any(each.form == "long" for each in stations if each.kind == "rows"):
        end.ball = min(end.ball, BALL)
    scores = end.units.count >= SCORES and not end.shape
    end.neurons = replace(end.neurons, scores=scores)


def make_room(station: Station, behind: Station, has_foot: bool) -> None:
    """Make space above the rows of a station for wires or column headings.

    Args:
        has_foot: whether a bias is below the rows
    """
    is_long, rows = station.form == "long", behind.units.count - 1
    runs = RUN * station.before.count + RUNS + 0.75 * station.edge
    runs = HEADS if is_long else station.named or runs
    if rows:
        behind.pitch = min(
            behind.pitch, (HIGH + REST * is_long - runs - station.edge) / (rows + has_foot)
        )
        room = CLOSE if is_long or station.strip else ROOM
        station.edge = min(station.edge, behind.pitch / room)
    below = 0.5 * (HIGH - rows * behind.pitch) - runs
    behind.lift = 0.5 * (has_foot * behind.pitch - runs) if station.strip else min(0.0, below)
    station.lift = behind.lift


def along(stations: list[Station], looser: float) -> float:
    """Place stations along the flow; return the total width.

    Args:
        looser: factor for the space around wires
    """
    x, last = 0.0, stations[0]
    others: list[Station] = stations[1:]
    for station in others:
        if station.kind == "rows":
            alone = station.before.count if station.form == "nested" else 1
            says = SAYS[station.before.count > ALONE]
            lanes = 2.0 * LANE if station.strip else BEFORE + LANE * alone
            room = says if station.form == "upright" else lanes * looser
            x += last.half + room + BESIDE_IN * (last.lift > 0.0)
            station.x = x + 0.5 * station.length
            gate = 0.0 if station.tile else min(GATE, SMALLER * station.step)
            gate = BARS if station.form == "upright" else gate
            x += station.length + AFTER * looser + gate
        elif station.kind == "scale":
            gap = 1.8 * STRUNG if last.ball in BEADS else 0.5 * NEXT
            station.x = x + last.half + gap * looser + BESIDE * station.step
            x = station.x + (BESIDE + 0.1) * station.step
        else:
            gap = (STRUNG if station.ball in BEADS else NEXT) * looser
            x += station.half + (last.half + gap if x == last.x else 0.0)
            station.x = x
            last = station
    ends = stations[0].half + stations[-1].half
    return x + ends + SCORED * stations[-1].neurons.scores


# Plates: the rows of a layer, its biases, and gains and shifts.


def rows(program: Layered, station: Station) -> list[Plate]:
    """Return the plates of a layer's rows: the weights of each group, and the biases."""
    operation, found = program.operations[station.place], []
    parts = parts_of(program, station)
    inputs = len(parts[0][1]) * prod(station.tile)
    about = "weight", station.place, operation.layer
    sign = -1.0 if station.form == "nested" else 1.0
    along, across = sign * station.step * along_of(station), station.pitch * DOWN
    seat = 0.0 if station.strip else 0.5 * SEAT * station.edge
    stride = stride_of(program, operation, inputs)
    toward = toward_of(station)
    for units, read in parts:
        first = operation.weights + units[0] * stride
        begin = corner(station, units[0], read[0])
        if station.tile:
            found.append(kernels(station, first, units, read, begin, about))
            continue
        shape = len(units), len(read), stride
        if station.form == "upright":
            shape, across = (len(read), 1, 1), station.drop * DOWN
        origin = begin - 0.5 * (along + across)
        found.append(Plate(first, *shape, origin, along, across, toward, *about, None, seat))
    if operation.biases != NONE:
        begin = corner(station, 0, station.before.count)
        along = (station.grain if station.tile else station.step) * along_of(station)
        bias = "bias", station.place, operation.layer
        count = station.units.count
        own = column(station, operation.biases, count, begin, along, across, bias)
        own = replace(own, stride=stride if stride != inputs else 1)
        found.append(own if station.tile else replace(own, seat=seat))
    return found


def stride_of(program: Layered, operation: Operation, inputs: int) -> int:
    """Return the bank indices from the weights of one neuron to the next."""
    return inputs + (program.is_chain and operation.biases != NONE)


def corner(station: Station, row: int, column: int) -> FloatArray:
    """Return the center of a cell of the rows."""
    return origin_of(station) + row_at(station, row) + column_at(station, column)


def column(
    station: Station,
    first: int,
    count: int,
    begin: FloatArray,
    along: FloatArray,
    across: FloatArray,
    about: AboutPlate,
) -> Plate:
    """Return a plate with one cube per row, the first one centered at `begin`."""
    origin = begin - 0.5 * (along + across)
    return Plate(first, count, 1, 1, origin, along, across, toward_of(station), *about)


def kernels(
    station: Station, first: int, units: range, read: range, begin: FloatArray, about: AboutPlate
) -> Plate:
    """Return a plate of kernels, vertical like the images that they read."""
    height, width = station.tile
    pixels = height * width
    down, right = (max(1, round(each / station.grain)) for each in (station.pitch, station.step))
    along, across = station.step / right * along_of(station), station.pitch / down * DOWN
    tiles = Tiles((height, width), (down, right), (len(read) * pixels, pixels))
    origin = begin - 0.5 * (width * along + height * across)
    shape = (len(units) - 1) * down + height, (len(read) - 1) * right + width, width
    return Plate(first, *shape, origin, along, across, toward_of(station), *about, tiles)


def scale(program: Layered, station: Station) -> list[Plate]:
    """Return the plates of gains and shifts, with a cube for each unit at the unit's height."""
    units, operation, found = station.units, program.operations[station.place], []
    parts = [("gain", operation.weights), ("shift", operation.biases)]
    parts = [(role, first) for role, first in parts if first != NONE]
    count = operation.shape[0]
    for (role, first), side in zip(parts, sides_of(station, len(parts)), strict=True):
        at = origin_of(station) + side * RIGHT
        about = role, station.place, operation.layer
        if units.images and count != units.count and count % units.count == 0:
            found.append(by_pixel(program, station, first, at, about))
            continue
        each = 1 if count == units.count else max(1, units.count // count)  # several share one
        middle = row_at(station, 0.5 * (each - 1)) + at
        along, across = station.step * along_of(station), each * station.pitch * DOWN
        found.append(column(station, first, count, middle, along, across, about))
    return found


def by_pixel(
    program: Layered, station: Station, first: int, at: FloatArray, about: AboutPlate
) -> Plate:
    """Return a plate with one cell per pixel, arranged like the images of a line."""
    count, (_, height, width) = station.units.count, program.operations[station.place].source.shape
    rows = max(height, width) + 1
    cell = station.pitch / rows
    tiles = Tiles((height, width), (rows, rows), (height * width, 0))
    along, across = cell * along_of(station), cell * DOWN
    origin = row_at(station, 0) + at - 0.5 * (width * along + height * across)
    shape = (count - 1) * rows + height, width, width
    return Plate(first, *shape, origin, along, across, toward_of(station), *about, tiles)


# The sums of the rows, and wires from line to line.


def fans_of(
    program: Layered, stations: list[Station], number: int, lines: tuple[int, int]
) -> list[Fan]:
    """Return the fans of a layer's rows, one per group.

    Args:
        lines: indices in the layout of the lines of neurons before and after the rows
    """
    station, line, behind = stations[number], stations[number - 1], stations[number + 1]
    operation, found = program.operations[station.place], []
    biased = operation.biases != NONE
    starts = rows_at(line, range(station.before.count)) + origin_of(line)
    pixels = prod(line.shape[1:])
    foot = (
        0.5 * station.grain * (station.tile[0] * DOWN - station.tile[1] * along_of(station))
        if station.tile
        else 0.5 * SEAT * station.edge * (toward_of(station) + DOWN)
    )
    for units, read in parts_of(program, station):
        inputs = len(read) * max(1, prod(station.tile))
        columns = columns_at(station, [*read, *[station.before.count] * biased])
        found.append(
            Fan(
                operation.weights + units[0] * inputs,
                inputs,
                operation.biases + units[0] * biased,
                starts[read[0] : read[-1] + 1],
                columns + origin_of(station),
                rows_at(behind, units) + origin_of(behind),
                rows_at(station, units),
                station.place,
                lines[0],
                lines[1],
                0.55 * station.step * along_of(station),
                foot,
                slice(read[0] * pixels, (read[-1] + 1) * pixels),
                behind.half,
                stride_of(program, operation, inputs),
                form=station.form,
            )
        )
    return found


def straight(stations: list[Station], number: int, line: int) -> list[Wires]:
    """Return wires from the line before to the same units; empty if there are rows between."""
    station, before = stations[number], stations[number - 1]
    if before.kind == "scale":
        before = stations[number - 2]
    count, is_part = before.units.count, station.joins != NONE
    if before.kind == "rows" or (count != station.units.count and not is_part):
        return []
    starts = rows_at(before, range(count)) + origin_of(before)
    ends = rows_at(station, range(station.units.count)) + origin_of(station)
    ends = ends[station.first : station.first + count]
    return [Wires(starts, ends, station.place, line - 1, True)] if len(ends) == count else []


def way_of(stations: list[Station], number: int) -> FloatArray | None:
    """Return the line of a skip connection that ends at this station, above all items it passes."""
    station = stations[number]
    if station.joins == NONE:
        return None
    between = stations[station.joins : number + 1]
    tops = [0.5 * each.pitch * each.units.count + each.lift for each in between]
    (x, far), top = (between[0].x, between[-1].x), max(tops) + PASSING
    corners = (x, tops[0]), (x, top), (far, top), (far, tops[-1])
    return points3([vector(right, up, 0.0) for right, up in corners])


# The layout.


def trays_layout(
    program: Layered,
    about: About,
    names: Names | None = None,
    aspect: float = 1.75,
    *,
    tied: bool = False,
    squares: Sequence[str] = (),
) -> Layout:
    """Lay out a program as rows of cubes in front of the spheres of their neurons.

    Args:
        about: function that returns the name and a description of a layer
        names: names of the neurons of each buffer
        aspect: aspect ratio of the available stage
        tied: whether the inputs represent a color, which is drawn in front of them
        squares: names of the buffers whose neurons are squares
    """
    stations = stations_of(program, names or {}, squares)
    place_all(stations, aspect, TIED + 0.3 if tied else 0.0)
    return layout_at(program, about, stations, CAMERA, tied=tied)


def layout_at(
    program: Layered, about: About, stations: list[Station], view: Camera, *, tied: bool = False
) -> Layout:
    """Return the layout of placed stations, for a camera view."""
    plates: list[Plate] = []
    wires: list[Wires] = []
    labels: list[Label] = []
    fans: list[Fan] = []
    neurons: list[Neurons] = []
    heads: list[WrittenWords] = []
    for number, station in enumerate(stations):
        if station.kind == "line":
            neurons.append(line_at(stations, number))
            if station.place != NONE and number:
                wires += straight(stations, number, len(neurons) - 1)
            continue
        own = (rows if station.kind == "rows" else scale)(program, station)
        plates += own
        words = about(program.operations[station.place].label)
        labels.append(label_of(words, own, station.named))
        if station.kind == "rows":
            lines = len(neurons) - 1, len(neurons)
            if station.form == "long":
                neurons.append(heads_of(station, neurons[-1]))
                lines = lines[0], len(neurons)
            fans += fans_of(program, stations, number, lines)
        elif not station.units.images:
            heads += heads_of_scale(program, stations, number)
    if tied:
        middle = origin_of(stations[0]) - TIED * RIGHT
        neurons[0] = replace(neurons[0], tied=middle)
    views = {
        "perspective": view,
        "orthographic": replace(view, fov=0.0),
        "flat": replace(view, elevation=0.0, fov=0.0),
    }
    return Layout(plates, neurons, wires, labels, views, fans, headings(stations), heads=heads)


def headings(stations: Sequence[Station]) -> list[WrittenWords]:
    """Return the headings of the first kernels and of the images that follow them."""
    found: list[WrittenWords] = []
    for before, station in pairwise(stations):
        if station.opens or not (station.tile or station.shape) or station.deep:
            break
        words = text("plates.finds")
        if station.kind == "rows":
            words = plural("plates.filters", station.units.count)
        elif before.kind == "line" and station.shape[1:] < before.shape[1:]:
            words = text("plates.smaller")
        elif before.kind != "rows":
            continue
        up = station.lift + 0.5 * station.units.count * station.pitch + HEADED
        x = bool(station.tile) * column_at(station, 0) + station.x * RIGHT
        found.append(WrittenWords(words, x + up * UP, 0.1 * RIGHT, 12.0))
    return found


def line_at(stations: list[Station], number: int) -> Neurons:
    """Return the neurons of a line with their positions."""
    station = stations[number]
    points = rows_at(station, range(station.units.count)) + origin_of(station)
    pixel, along = 1.0, along_of(station)
    if station.shape:
        _, height, width = station.shape
        pixel = 2.0 * station.half / max(height, width)
        line = points3([pixel * (x - (width - 1) / 2) * along for x in range(width)])
        inside = points3([line + pixel * (y - (height - 1) / 2) * DOWN for y in range(height)])
        points = points3([inside + each for each in points])
    way = way_of(stations, number)
    radius = station.half if not station.shape else 0.5 * pixel
    ways = tuple([float(each) for each in along])
    return replace(station.neurons, points=points, side=pixel, way=way, radius=radius, along=ways)


def heads_of_scale(program: Layered, stations: list[Station], number: int) -> list[WrittenWords]:
    """Return the signs above gains and shifts, and a heading for the line before them."""
    station, line = stations[number], stations[number - 1]
    top = row_at(station, 0) + min(0.72 * station.pitch, HEADED_SCALE) * UP
    operation = program.operations[station.place]
    signs = [("×", operation.weights), ("+", operation.biases)]
    words = [sign for sign, first in signs if first != NONE]
    places = [origin_of(station) + top + side * RIGHT for side in sides_of(station, len(words))]
    if is_evened(program, line):
        low = row_at(station, station.units.count - 1) - BELOW_ROWS * UP
        long = text("plates.norm.evened", count=station.units.count)
        short = text("plates.norm.evened.short")
        above = station.lift < 0.0  # where no call-outs are
        words = [*words, short if above else long]
        places.append(origin_of(line) + top + LINE * UP if above else origin_of(station) + low)
    half = 0.1 * station.step * RIGHT
    return [WrittenWords(said, at, half, 12.0) for said, at in zip(words, places, strict=True)]


def sides_of(station: Station, count: int) -> list[float]:
    """Return the horizontal offsets of the plates of gains and shifts from the station's center."""
    return [BESIDE * station.step * (i - (count - 1) / 2.0) for i in range(count)]


def heads_of(station: Station, line: Neurons) -> Neurons:
    """Return copies of a line's neurons, placed above the columns of the rows that read them."""
    up = HEADS * UP + 0.5 * SEAT * station.edge * (toward_of(station) + DOWN)
    points = columns_at(station, range(station.before.count)) + origin_of(station)
    points = points + row_at(station, 0) + up
    return replace(line, points=points, names=(), radius=HEAD * station.step, way=None)


def label_of(words: tuple[str, str], plates: Sequence[Plate], above: float = 0.0) -> Label:
    """Return the label of a layer, centered above its plates.

    Args:
        above: cells between plates and label; default 0
    """
    corners = [
        each.origin
        + column * each.along
        + row * each.across
        + each.lowered(each.half) * each.toward
        for each in plates
        for column in (0, each.columns)
        for row in (0, each.rows)
    ]
    x, y, z = ([float(each[axis]) for each in corners] for axis in range(3))
    place = vector(sum(x) / len(x), max(y) + above, 0.5 * (min(z) + max(z)))
    stops = [each.index_of(each.rows - 1, each.columns - 1) + 1 for each in plates]
    return Label(*words, place, slice(min(each.first for each in plates), max(stops)))
