"""The layout "trays": the weights of a neuron stand in a row on a tray before its ball.

The lines of neurons are upright, along the flow from left to right. Before each neuron lies its
tray, in depth: what arrives comes in through the cubes on it, the bias is the last and nearest one,
and all runs together into the ball. A tray is lifted until its ball lies on the axis of its row, so
that the rows of a layer are its matrix. Images of a convolution are squares, its kernels tiles of
cubes on the trays. The scene is always seen from the same angle.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import prod
from weakref import WeakKeyDictionary

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import NONE, Buffer, Operation, Program, Shape, Windows
from scalarviz.core.trace_program import Chain
from scalarviz.scene.layout.camera import Camera
from scalarviz.scene.layout.plates import (
    DOWN,
    HALF,
    NEAR,
    RIGHT,
    SIDE,
    UP,
    Fan,
    Label,
    Layout,
    Neurons,
    Plate,
    Tiles,
    Wires,
)

ANGLE, ELEVATION, FOV = 48.0, 6.0, 6.0  # degrees off the flow, upwards, and of the view
CAMERA = Camera(azimuth=ANGLE - 90.0, elevation=ELEVATION, fov=FOV)
LONG, DEEP = CAMERA.seen(*RIGHT)[0], CAMERA.seen(*NEAR)[0]  # as seen across, of a cell of x and z
STEP, PITCH = 0.94, 1.06  # from one cube of a row to the next, and from one row to the next, least
SPREAD = 2.1  # the most from one row to the next
BIAS = 1.5  # steps from the last weight of a row to the bias
SEAT = 1.05 * HALF  # from the middle of a cell to the front edge of its tray
BALL, SQUARE = 0.29, 0.5  # radius of a ball, and half the side of the largest square
ANSWER, FEW = 0.04, 3  # radius of the balls of answers by the height of all lines, if they are few
GRAIN, APART = 0.62, 0.5  # cell of a kernel, and room between two images
LEAST_IMAGE, MOST_IMAGE = 2.2, 8.0  # cells of the side of an image
BEFORE, LANE, LANES, AFTER = 0.35, 0.14, 4, 0.8  # room for lines before a row, and behind it
NEXT, BESIDE = 0.9, 1.1  # from line to line without cubes, and room for a gain or a shift
WIDER, HIGHER, LONGER = 2.2, 1.8, 1.25  # most that rooms, pitches and steps grow to fill a stage
LEVEL, DROP = 0.85, 0.45  # how far trays are lifted to the axis of their ball; from their middle
TIED = 1.9  # cells from the first neurons to the color that they stand for
PASSING = 1.0  # from the rows to a skip connection
KEPT_LAYOUTS = 4  # layouts of a program

Layered = Program | Chain
Names = Mapping[str, Sequence[str]]
About = Callable[[str], tuple[str, str]]
AboutPlate = tuple[str, int, int]  # role, operation and layer of a plate


@dataclass(frozen=True)
class Units:
    """The units of a line: neurons or images."""

    count: int
    images: bool = False


@dataclass(eq=False)
class Station:
    """Something that takes a place along the flow: a line, the trays of a layer, gains and shifts.

    kind     "line", "trays" or "scale"
    place    index of its operation in the program; NONE for the inputs
    units    of the line, or of the line behind trays; `before` are those of the line before these
    shape    of the images of a line
    tile     rows and columns of cubes that stand for one unit; () if each weight stands alone
    neurons  what a line shows, without points
    joins    the station where a skip connection begins that ends here
    first    unit with the wire from the first one of the line before
    pitch    from one row or unit to the next, upright
    step     from one column of trays to the next
    x, lift, aside  its middle along the flow, upwards, and in depth
    """

    kind: str
    place: int
    units: Units
    before: Units
    shape: Shape = ()
    tile: Shape = ()
    neurons: Neurons = field(default_factory=lambda: Neurons(np.zeros((0, 3)), "", ""))
    joins: int = NONE
    first: int = 0
    pitch: float = 1.0
    step: float = 1.0
    x: float = 0.0
    lift: float = 0.0
    ball: float = BALL
    aside: float = 0.0

    @property
    def half(self) -> float:
        """Half of what a unit of a line takes."""
        if self.shape:
            return 0.5 * (self.pitch - APART)
        return min(SQUARE, 0.46 * self.pitch) if self.neurons.square else self.ball

    @property
    def wide(self) -> float:
        """Half of its width as seen."""
        return self.half * (DEEP if self.shape else 1.0)

    @property
    def length(self) -> float:
        """Length of its rows, in depth."""
        return self.step * (self.before.count + BIAS)

    def rows_at(self, units: Sequence[int] | range) -> FloatArray:
        """Return where units stand below each other, (n, 3), from the middle of the station."""
        down = (np.asarray(units, np.float64) - (self.units.count - 1) / 2.0) * self.pitch
        return np.asarray(down[:, np.newaxis] * DOWN)

    def columns_at(self, columns: Sequence[int] | range) -> FloatArray:
        """Return where columns stand, (n, 3); that after the last one is the bias."""
        count = self.before.count
        numbers = np.asarray(columns, np.float64)
        at = numbers + (BIAS - 1.0) * (numbers == count) - (count + BIAS - 1.0) / 2.0
        return np.asarray((at * self.step)[:, np.newaxis] * NEAR)

    @property
    def origin(self) -> FloatArray:
        """Where its middle stands."""
        return np.asarray(self.x * RIGHT + self.lift * UP + self.aside * NEAR)


# What stands along the flow.


def stations_of(program: Layered, names: Names, squares: Sequence[str] = ()) -> list[Station]:
    """Return what stands along the flow of a program, without places.

    squares  buffers whose neurons are squares
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
            found.append(Station("trays", place, units, before, tile=tile))
            found.append(line_of(program, place, units, operation.target, names))
            if units != after:  # the next layer reads them as the pixels of other images
                units = after
                found.append(line_of(program, place, units, operation.target, names))
        elif operation.kind == "activation" and is_open(last):
            target = operation.target.name
            seen = names.get(target, last.neurons.names)
            last.neurons = replace(
                last.neurons, sums=last.neurons.values, values=target, names=seen, also=()
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
        square = not each.shape and not {*squares}.isdisjoint(each.neurons.buffers)
        each.neurons = replace(each.neurons, square=square)
    return found


def line_of(program: Layered, place: int, units: Units, buffer: Buffer, names: Names) -> Station:
    layer = program.operations[place].layer if place != NONE else NONE
    shape: Shape = ()
    if units.images:
        shape = shape_at(program, place) if place != NONE else buffer.shape
        if shape[:1] != (units.count,):  # as its own operation writes them
            windows = Windows.of(program.operations[place])
            shape = units.count, windows.out_height, windows.out_width
    neurons = Neurons(np.zeros((0, 3)), "", buffer.name, names.get(buffer.name, ()), layer, shape)
    return Station("line", place, units, units, shape=shape, neurons=neurons)


def parts_of(program: Layered, station: Station) -> list[tuple[range, range]]:
    """Return units behind trays, and those before them that they read: all, or those of a group."""
    operation = program.operations[station.place]
    groups = Windows.of(operation).groups if operation.kind == "convolution" else 1
    rows, columns = station.units.count // groups, station.before.count // groups
    return [
        (range(i * rows, (i + 1) * rows), range(i * columns, (i + 1) * columns))
        for i in range(groups)
    ]


def is_open(last: Station) -> bool:
    """Return whether the last line has sums only, so that an activation goes into the same line."""
    return not last.neurons.sums and last.neurons.layer != NONE


def shape_at(program: Layered, place: int) -> Shape:
    """Return the shape of an operation's outputs, or of the activation in the same line."""
    operations = program.operations
    shape = operations[place].target.shape
    if not shape and place + 1 < len(operations) and operations[place + 1].kind == "activation":
        shape = operations[place + 1].target.shape
    return shape


def units_of(program: Layered, place: int) -> Units:
    """Return the units of what an operation writes."""
    shape, size = shape_at(program, place), program.operations[place].target.size
    return Units(shape[0] if shape else size, bool(shape))


def tile_of(operation: Operation, images: Shape) -> Shape:
    """Return rows and columns of cubes for one unit; () if each weight stands alone."""
    shape = operation.shape
    if len(shape) > 2:
        return shape[2:]
    return images[1:] if images and prod(images) == shape[1] else ()


# Where it stands.


def place_all(stations: list[Station], aspect: float, before: float = 0.0) -> None:
    """Place stations so that they fill a stage of this shape, width by height.

    What is too wide gets more room upright, what is too high more room along the flow.

    before  cells as seen that are taken before the inputs; by default none
    """
    wide, high = placed(stations, 1.0, 1.0)
    wide += before
    if wide > aspect * high:
        placed(stations, 1.0, min(HIGHER, wide / (aspect * high)))
    else:
        placed(stations, min(WIDER, aspect * high / wide), 1.0)


def placed(stations: list[Station], wider: float, higher: float) -> tuple[float, float]:
    """Place stations; return width and height as seen.

    wider, higher  factors of the rooms along the flow, and of the pitches
    """
    lines = [each for each in stations if each.kind == "line"]
    for line in lines:
        line.pitch = LEAST_IMAGE + APART if line.shape else PITCH
    for number, trays in enumerate(stations):
        if trays.kind == "trays":
            room = (max(trays.tile) + 1.0) * GRAIN if trays.tile else 0.0
            trays.step = room or STEP * min(LONGER, wider)
            behind = stations[number + 1]
            behind.pitch = max(behind.pitch, room)
    high = higher * max(each.units.count * each.pitch for each in lines)
    for line in lines:
        most = MOST_IMAGE + APART if line.shape else SPREAD
        line.pitch = max(line.pitch, min(high / line.units.count, most))
    end = lines[-1]  # an answer in a high network is large
    end.ball = max(BALL, min(ANSWER * high, 0.4 * end.pitch)) if end.units.count <= FEW else BALL
    x, last = 0.0, stations[0]
    for station in stations[1:]:
        if station.kind == "trays":
            alone = min(station.before.count, LANES)
            before = last.wide + (BEFORE + LANE * alone) * wider
            station.x = x + (before + 0.5 * DEEP * station.length) / LONG
            x += (before + DEEP * station.length + AFTER * wider) / LONG
        elif station.kind == "scale":
            station.x = x + (last.wide + 0.5 * NEXT * wider) / LONG + BESIDE
            x = station.x + BESIDE
        else:
            direct = x == last.x
            x += (station.wide + (last.wide + NEXT * wider if direct else 0.0)) / LONG
            station.x, last = x, station
    for station, behind in pairwise(stations):
        if station.kind != "line":
            station.pitch = behind.pitch
        if station.kind == "trays":
            station.lift = lift_of(behind.x - station.x)
    fall = CAMERA.seen(*NEAR)[1] * max(
        [each.length for each in stations if each.kind == "trays"] + [0.0]
    )
    return LONG * x + 2.0 * BALL, high - fall


def lift_of(far: float) -> float:
    """Return how far a tray is lifted so that the ball so far behind it is on the axis of its row.

    A row continues to the x of its ball, as seen: it comes that much nearer.
    """
    (right, up), (near, down) = CAMERA.seen(*RIGHT)[:2], CAMERA.seen(*NEAR)[:2]
    seen = far * (right / near * -down + up)
    return float(LEVEL * seen + DROP * SEAT)


# Plates: the trays of a layer, its biases, and gains and shifts.


def trays(program: Layered, station: Station) -> list[Plate]:
    """Return the plates of trays: the weights of each group, and the biases."""
    operation, found = program.operations[station.place], []
    parts = parts_of(program, station)
    inputs = len(parts[0][1]) * prod(station.tile)
    about = "weight", station.place, operation.layer
    along, across = station.step * NEAR, station.pitch * DOWN
    stride = stride_of(program, operation, inputs)
    for units, read in parts:
        first = operation.weights + units.start * stride
        begin = corner(station, units.start, read.start)
        if station.tile:
            found.append(kernels(station, first, units, read, begin, about))
            continue
        shape = first, len(units), len(read), stride, begin - 0.5 * (along + across)
        found.append(Plate(*shape, along, across, -RIGHT, *about, seat=SEAT))
    if operation.biases != NONE:
        begin = corner(station, 0, station.before.count)
        along = (GRAIN if station.tile else station.step) * NEAR
        bias = "bias", station.place, operation.layer
        own = column(operation.biases, station.units.count, begin, along, across, bias)
        own = replace(own, stride=stride if stride != inputs else 1)
        found.append(own if station.tile else replace(own, seat=SEAT))
    return found


def stride_of(program: Layered, operation: Operation, inputs: int) -> int:
    """Return the bank indices from the weights of a neuron to those of the next one."""
    return inputs + (isinstance(program, Chain) and operation.biases != NONE)


def corner(station: Station, row: int, column: int) -> FloatArray:
    """Return the middle of a cell of trays."""
    inside = station.rows_at([row])[0] + station.columns_at([column])[0]
    return np.asarray(station.origin + inside)


def column(
    first: int,
    count: int,
    begin: FloatArray,
    along: FloatArray,
    across: FloatArray,
    about: AboutPlate,
) -> Plate:
    """Return a plate with one cube in each row, the first around `begin`."""
    return Plate(first, count, 1, 1, begin - 0.5 * (along + across), along, across, -RIGHT, *about)


def kernels(
    station: Station, first: int, units: range, read: range, begin: FloatArray, about: AboutPlate
) -> Plate:
    """Return a plate of tiles, upright like the images they belong to."""
    height, width = station.tile
    pixels = height * width
    down, right = (max(1, round(each / GRAIN)) for each in (station.pitch, station.step))
    along, across = station.step / right * NEAR, station.pitch / down * DOWN
    tiles = Tiles((height, width), (down, right), (len(read) * pixels, pixels))
    origin = begin - 0.5 * (width * along + height * across)
    shape = (len(units) - 1) * down + height, (len(read) - 1) * right + width, width
    return Plate(first, *shape, origin, along, across, -RIGHT, *about, tiles)


def scale(program: Layered, station: Station) -> list[Plate]:
    """Return the plates of gains and shifts: a cube for each unit on its line."""
    units, operation, found = station.units, program.operations[station.place], []
    parts = [("gain", operation.weights), ("shift", operation.biases)]
    parts = [(role, first) for role, first in parts if first != NONE]
    count = operation.shape[0]
    for number, (role, first) in enumerate(parts):
        at = station.origin + BESIDE * (number - (len(parts) - 1) / 2.0) * RIGHT
        about = role, station.place, operation.layer
        if units.images and count != units.count and count % units.count == 0:
            found.append(by_pixel(program, station, first, at, about))
            continue
        each = 1 if count == units.count else max(1, units.count // count)  # several share one
        middle = station.rows_at(range(each)).mean(axis=0) + at
        found.append(column(first, count, middle, NEAR, each * station.pitch * DOWN, about))
    return found


def by_pixel(
    program: Layered, station: Station, first: int, at: FloatArray, about: AboutPlate
) -> Plate:
    """Return a plate shaped like the images of a line."""
    count, (_, height, width) = station.units.count, program.operations[station.place].source.shape
    rows = max(height, width) + 1
    cell = station.pitch / rows
    tiles = Tiles((height, width), (rows, rows), (height * width, 0))
    origin = station.rows_at([0])[0] + at - 0.5 * cell * (width * NEAR + height * DOWN)
    shape = (count - 1) * rows + height, width, width
    return Plate(first, *shape, origin, cell * NEAR, cell * DOWN, -RIGHT, *about, tiles)


# The sums of the trays, and wires from line to line.


def fans_of(program: Layered, stations: list[Station], number: int, line_before: int) -> list[Fan]:
    """Return where the sums of trays begin, pass them, and end, for each group.

    line_before  index of the line before them in the layout
    """
    station, line, behind = stations[number], stations[number - 1], stations[number + 1]
    operation, found = program.operations[station.place], []
    biased = operation.biases != NONE
    starts = line.rows_at(range(station.before.count)) + line.origin
    pixels = prod(line.shape[1:])
    foot = (
        0.5 * GRAIN * (station.tile[0] * DOWN - station.tile[1] * NEAR)
        if station.tile
        else SEAT * -(RIGHT + UP)
    )
    for units, read in parts_of(program, station):
        inputs = len(read) * max(1, prod(station.tile))
        found.append(
            Fan(
                operation.weights + units.start * inputs,
                inputs,
                operation.biases + units.start * biased,
                starts[read.start : read.stop],
                station.columns_at([*read, *[station.before.count] * biased]) + station.origin,
                behind.rows_at(units) + behind.origin,
                station.rows_at(units),
                station.place,
                line_before,
                line_before + 1,
                0.55 * station.step * NEAR,
                foot,
                slice(read.start * pixels, read.stop * pixels),
                behind.half,
                stride_of(program, operation, inputs),
            )
        )
    return found


def straight(stations: list[Station], number: int, line: int) -> list[Wires]:
    """Return the wires from the line before, unit by unit, if no trays are between."""
    station, before = stations[number], stations[number - 1]
    if before.kind == "scale":
        before = stations[number - 2]
    count, is_part = before.units.count, station.joins != NONE
    if before.kind == "trays" or (count != station.units.count and not is_part):
        return []
    starts = before.rows_at(range(count)) + before.origin
    ends = station.rows_at(range(station.units.count)) + station.origin
    ends = ends[station.first : station.first + count]
    return [Wires(starts, ends, station.place, line - 1, True)] if len(ends) == count else []


def way_of(stations: list[Station], number: int) -> FloatArray | None:
    """Return the line of a skip connection that ends at a line, above all that it passes."""
    station = stations[number]
    if station.joins == NONE:
        return None
    between = stations[station.joins : number + 1]
    tops = [0.5 * each.pitch * each.units.count + each.lift for each in between]
    (x, far), top = (between[0].x, between[-1].x), max(tops) + PASSING
    return np.array([(x, tops[0], 0), (x, top, 0), (far, top, 0), (far, tops[-1], 0)], np.float64)


# The layout.

KNOWN: WeakKeyDictionary[Layered, dict[object, Layout]] = WeakKeyDictionary()


def trays_layout(
    program: Layered,
    about: About,
    names: Names | None = None,
    aspect: float = 1.75,
    *,
    tied: bool = False,
    squares: Sequence[str] = (),
) -> Layout:
    """Lay out a program as trays before the balls of its neurons.

    about    returns the name and a description of a layer
    names    names of the neurons of a buffer
    aspect   width of the free stage divided by its height
    tied     whether the inputs stand for a color, for which there is room before them
    squares  buffers whose neurons are squares
    """
    own = {} if names is None else names
    known = KNOWN.setdefault(program, {})
    words = [about(operation.label) for operation in program.operations]
    seen = [(each, tuple(found)) for each, found in own.items()]
    key = len(words), *words, *seen, aspect, tied, tuple(squares)
    found = known.pop(key, None) or laid_out(program, about, own, aspect, tied, squares)
    known[key] = found
    for old in list(known)[:-KEPT_LAYOUTS]:
        known.pop(old)
    return found


def laid_out(
    program: Layered,
    about: About,
    names: Names,
    aspect: float,
    tied: bool,
    squares: Sequence[str],
) -> Layout:
    """Return the layout of a program for a stage of this shape."""
    stations = stations_of(program, names, squares)
    place_all(stations, aspect, TIED + 0.5 * SIDE if tied else 0.0)
    return layout_at(program, about, stations, CAMERA, tied=tied)


def layout_at(
    program: Layered, about: About, stations: list[Station], view: Camera, *, tied: bool = False
) -> Layout:
    """Return the layout of stations that have their places, seen from a side."""
    plates: list[Plate] = []
    wires: list[Wires] = []
    labels: list[Label] = []
    fans: list[Fan] = []
    neurons: list[Neurons] = []
    for number, station in enumerate(stations):
        if station.kind == "line":
            neurons.append(line_at(stations, number))
            if station.place != NONE and number:
                wires += straight(stations, number, len(neurons) - 1)
            continue
        own = (trays if station.kind == "trays" else scale)(program, station)
        plates += own
        labels.append(label_of(about(program.operations[station.place].label), own))
        if station.kind == "trays":
            fans += fans_of(program, stations, number, len(neurons) - 1)
    if tied:
        middle = neurons[0].points.mean(axis=0) - TIED / LONG * RIGHT
        neurons[0] = replace(neurons[0], tied=middle)
    views = {
        "perspective": view,
        "orthographic": replace(view, fov=0.0),
        "flat": replace(view, elevation=0.0, fov=0.0),
    }
    return Layout(plates, neurons, wires, labels, views, fans)


def line_at(stations: list[Station], number: int) -> Neurons:
    """Return the neurons of a line."""
    station = stations[number]
    points = station.rows_at(range(station.units.count)) + station.origin
    pixel = 1.0
    if station.shape:
        _, height, width = station.shape
        pixel = 2.0 * station.half / max(height, width)
        y, x = np.mgrid[:height, :width].reshape(2, -1, 1)
        inside = (x - (width - 1) / 2) * NEAR + (y - (height - 1) / 2) * DOWN
        points = (points[:, np.newaxis] + pixel * inside).reshape(-1, 3)
    way = way_of(stations, number)
    radius = station.half if not station.shape else 0.8
    return replace(station.neurons, points=points, side=pixel, way=way, radius=radius)


def label_of(words: tuple[str, str], plates: Sequence[Plate]) -> Label:
    """Return the label of a layer, above the middle of its plates, or where else there is room."""
    corners = np.concatenate([plate.corners(0.0) for plate in plates])
    low, high = corners.min(axis=0), corners.max(axis=0)
    place = np.array([corners[:, 0].mean(), high[1], (low[2] + high[2]) / 2.0])
    first = min(plate.indices.start for plate in plates)
    return Label(*words, place, slice(first, max(plate.indices.stop for plate in plates)))
