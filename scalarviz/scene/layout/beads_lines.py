"""Lines of neurons and walls of weights of the layout "beads".

The lines stand alternately in depth and upright; each has units, which are neurons or images. A
wall has a row or a column for each unit of the lines on both sides, so its grid is the matrix of
weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, prod

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import NONE, Buffer, Operation, Program, Shape, Windows
from scalarviz.scene.layout.plates import DOWN, NEAR, RIGHT, Neurons, Plate, Tiles

FEW = 16  # units; a line of at most as many has room for numbers
STEPS = 2.0, 1.2  # from one neuron to the next in depth and upright, in a line of few
LEAST, LEAST_IMAGES = 12, 8  # neurons and images of a block
GRAIN = 0.62  # width and height of a cell in a wall of kernels
LARGE = 1.0  # the same for the kernels of a single image
BY_PIXELS, MOST = 0.16, 8  # cells that an image takes more for each pixel, and its most cells
IMAGE = 4.96  # least distance of images in a line; twice that of 3 x 3 kernels in their wall
APART = 0.5  # between two images
SINGLE = 0.7, 12.0  # for an image alone in its line: its size per pixel, and its largest size
BLOCK, MOST_BLOCKS = 4.2, 32  # largest height of a folded block, and most blocks
MORE = 1.4  # cells between two of them, and one more
CELLS = 1.3, 1.0  # width and height of a cell in a wall of few
CLOSE_STEPS, CLOSE_CELLS = (1.6, 1.2), (1.1, 1.0)  # the same of both in a close network
NO_NEURONS = Neurons(np.zeros((0, 3)), "", "")


@dataclass(eq=False)
class UnitRun:
    """Lines with the same units, one behind the other, joined by single wires.

    upright  whether the units stand above each other, else one behind the other
    count    number of units
    images   whether the units are images, else neurons
    step     from one unit to the next
    pitch    room that an image takes, its gap included
    lanes    rows of images, of which the next unit is always in the next one
    one      whether there is a sphere "1" for the biases of the next wall
    tiled    whether a wall before or after has tiles, in which columns go to the right as one sees
    block    units of a block; a long line is wrapped into blocks beside each other
    apart    from one block to the next
    side     room taken by the other side of the walls before and after, in one block
    """

    upright: bool
    count: int
    images: bool = False
    step: float = 0.0
    pitch: float = 1.0
    lanes: int = 1
    one: bool = False
    tiled: bool = False
    block: int = 0
    apart: float = 0.0
    side: float = 1.0

    @property
    def axis(self) -> FloatArray:
        """Direction from one unit to the next: downwards, or to the right as one sees."""
        return DOWN if self.upright else NEAR

    @property
    def is_reversed(self) -> bool:
        """Whether the first unit is the farthest: images and kernels are read from the left."""
        return not self.upright and (self.tiled or self.images)

    @property
    def aside(self) -> FloatArray:
        """Direction from one block to the next."""
        if not self.upright:
            return DOWN
        return NEAR

    @property
    def blocks(self) -> int:
        return max(1, ceil(self.count / max(1, self.block)))

    def all_at(self, units: object, cell: float = 0.0) -> FloatArray:
        """Return where units stand, (n, 3); the unit `count` is the 1.

        cell  from one row or column to the next, for their places in a wall; 0, the default, for
              their places in the line
        """
        numbers = np.asarray(units, np.intp)
        block = np.minimum(numbers // self.block, self.blocks - 1)
        within = numbers - block * self.block
        is_one = (numbers == self.count) & self.is_reversed
        block, within = np.where(is_one, 0, block), np.where(is_one, -1, within)
        first = -1.0 if self.one and self.is_reversed else 0.0
        last = self.block - 1.0 + (self.one and not self.is_reversed)
        along = (within - (first + last) / 2.0) * (cell or self.step)
        aside = (block - (self.blocks - 1) / 2.0) * self.apart
        if not cell and self.lanes > 1:
            lane = np.where(numbers < self.count, within % self.lanes, (self.lanes - 1) / 2.0)
            aside = aside + (lane - (self.lanes - 1) / 2.0) * self.pitch
        found: FloatArray = along[:, np.newaxis] * self.axis + aside[:, np.newaxis] * self.aside
        return found

    def at(self, unit: int, cell: float = 0.0) -> FloatArray:
        """Return where a unit stands; see `all_at`."""
        found: FloatArray = self.all_at([unit], cell)[0]
        return found

    def extent(self, cell: float = 0.0) -> float:
        """Return the length of a block, in the line or in a wall with such cells."""
        return (self.block + self.one) * (cell or self.step)

    def wrap(self, longest: float, cell: float) -> None:
        """Choose blocks at most so long, of a few units at least.

        cell  largest distance of its rows or columns in a wall
        """
        fits = max(
            LEAST_IMAGES if self.images else LEAST,
            int(min(longest, 1e9) / max(self.step, cell)),
        )
        count = ceil(self.count / fits)
        self.block = ceil(self.count / count)


@dataclass(eq=False)
class Station:
    """Something that takes a place along the flow: a line, a wall, or gains and shifts.

    kind     "line", "wall" or "scale"
    place    index of its operation in the program; NONE for the inputs
    run      its line; of a wall, the one behind it, and `before` the other
    shape    shape of the images of a line
    tile     rows and columns of a tile of a wall; () if each weight stands alone
    grain    width and height of the cells of a tile
    cells    from one row of a wall to the next, and from one column to the next
    fold     rows of tiles that each unit has in a wall of tiles
    lift     height of its middle over the middle of the flow
    aside    way of gains and shifts from there to the line that they are on
    neurons  what a line shows, without points
    joins    the station where a skip connection begins that ends here
    first    unit with the wire from the first one of the line before
    origin   where its middle stands
    again    whether it repeats the line at the end of the row before
    bars     room for bars beside its neurons
    """

    kind: str
    place: int
    run: UnitRun
    before: UnitRun
    shape: Shape = ()
    tile: Shape = ()
    grain: float = GRAIN
    cells: tuple[float, float] = (1.0, 1.0)
    fold: int = 1
    lift: float = 0.0
    aside: FloatArray = field(default_factory=lambda: np.zeros(3))
    neurons: Neurons = NO_NEURONS
    joins: int = NONE
    first: int = 0
    origin: FloatArray = field(default_factory=lambda: np.zeros(3))
    again: bool = False
    bars: float = 0.0

    @property
    def pixel(self) -> float:
        """Distance of the pixels of an image."""
        if not self.shape:
            return 1.0
        return max(self.run.pitch - APART, 0.5) / max(self.shape[1:])

    @property
    def radius(self) -> float:
        """Radius of the neurons."""
        step = self.run.step
        if self.run.images:
            return 0.8
        if self.run.count > FEW:
            return (0.42 if self.run.upright else 0.28) * step
        return 0.46 if step <= STEPS[0] else 0.3 * step

    def rows_at(self, units: object) -> FloatArray:
        """Return where the rows of a wall are, of the units behind it."""
        return self.run.all_at(units, self.cells[0])

    def columns_at(self, units: object) -> FloatArray:
        """Return where the columns of a wall are, of the units before it; the last is the 1."""
        before = self.before
        if self.fold == 1:
            return before.all_at(units, self.cells[1])
        numbers, each = np.asarray(units, np.intp), before.count // self.fold
        row, column = np.divmod(numbers, each)
        is_one = numbers == before.count
        column = np.where(is_one, -1 if before.is_reversed else each, column)
        row = np.where(is_one, (self.fold - 1) / 2.0, row)
        first = -1.0 if before.one and before.is_reversed else 0.0
        last = each - 1.0 + (before.one and not before.is_reversed)
        along = (column - (first + last) / 2.0) * self.cells[1]
        aside = (row - (self.fold - 1) / 2.0) * self.grain * (max(self.tile) + 1)
        found: FloatArray = along[:, np.newaxis] * before.axis
        return found + aside[:, np.newaxis] * self.run.axis


Names = Mapping[str, Sequence[str]]


def stations_of(program: Program, names: Names, *, upright: bool = False) -> list[Station]:
    """Return what stands along the flow of a program, without places.

    upright  whether the inputs stand above each other
    """
    inputs = program.inputs
    run = UnitRun(upright, inputs.shape[0] if inputs.shape else inputs.size, bool(inputs.shape))
    found = [line_of(program, NONE, run, inputs, names)]
    forks: dict[str, int] = {}
    for place, operation in enumerate(program.operations):
        last = found[-1]
        shown, source = last.neurons.buffers, operation.source
        if len(operation.sources) == 1 and source.name not in shown:  # a second branch begins
            forks.update(dict.fromkeys(shown, len(found) - 1))
            begin = found[forks[source.name]]
            run = UnitRun(run.upright, begin.run.count, begin.run.images)
            neurons = replace(begin.neurons, sums="", values=source.name, also=())
            last = Station("line", NONE, run, run, begin.shape, neurons=neurons)
            last.joins = forks[source.name]
            found.append(last)
            shown = neurons.buffers
        if len(operation.shape) > 1:
            before, after = run, unit_run(program, place, not run.upright)
            count = operation.shape[0]
            images = len(operation.shape) > 2
            run = after if after.count == count else UnitRun(after.upright, count, images)
            tile = tile_of(operation, last.shape)
            before.one = before.one or operation.biases != NONE
            found.append(Station("wall", place, run, before, tile=tile))
            found.append(line_of(program, place, run, operation.target, names))
            if run is not after:  # the next layer reads them as the pixels of other images
                run = after
                found.append(line_of(program, place, run, operation.target, names))
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
            after = unit_run(program, place, run.upright)
            same = (after.count, after.images) == (run.count, run.images)
            before, run = run, run if same else after
            if operation.parameters:
                found.append(Station("scale", place, before, before))
            line = line_of(program, place, run, operation.target, names)
            if len(operation.sources) > 1:
                names_read = [each.name for each in operation.sources[::-1]]
                skipped = next((name for name in names_read if name not in shown), names_read[0])
                line.joins = forks.get(skipped, NONE)
                if operation.kind == "concatenation" and source.name not in shown:
                    line.first = run.count - before.count
            found.append(line)
    return found


def line_of(program: Program, place: int, run: UnitRun, buffer: Buffer, names: Names) -> Station:
    layer = program.operations[place].layer if place != NONE else NONE
    shape: Shape = ()
    if run.images:
        shape = shape_at(program, place) if place != NONE else buffer.shape
        if shape[:1] != (run.count,):  # as its own operation writes them
            windows = Windows.of(program.operations[place])
            shape = run.count, windows.out_height, windows.out_width
    neurons = Neurons(np.zeros((0, 3)), "", buffer.name, names.get(buffer.name, ()), layer, shape)
    return Station("line", place, run, run, shape=shape, neurons=neurons)


def parts_of(program: Program, station: Station) -> list[tuple[range, range]]:
    """Return units behind a wall, and those before it that they read: all, or those of a group."""
    operation = program.operations[station.place]
    groups = Windows.of(operation).groups if operation.kind == "convolution" else 1
    rows, columns = station.run.count // groups, station.before.count // groups
    return [
        (range(i * rows, (i + 1) * rows), range(i * columns, (i + 1) * columns))
        for i in range(groups)
    ]


def is_open(last: Station) -> bool:
    """Return whether the last line has sums only, so that an activation goes into the same line."""
    return not last.neurons.sums and last.neurons.layer != NONE


def shape_at(program: Program, place: int) -> Shape:
    """Return the shape of an operation's outputs, or of the activation in the same line."""
    operations = program.operations
    shape = operations[place].target.shape
    if not shape and place + 1 < len(operations) and operations[place + 1].kind == "activation":
        shape = operations[place + 1].target.shape
    return shape


def unit_run(program: Program, place: int, upright: bool) -> UnitRun:
    """Return a line for what an operation writes."""
    shape, size = shape_at(program, place), program.operations[place].target.size
    return UnitRun(upright, shape[0] if shape else size, bool(shape))


def tile_of(operation: Operation, images: Shape) -> Shape:
    """Return rows and columns of a tile of a wall; () if each weight stands alone."""
    shape = operation.shape
    if len(shape) > 2:
        return shape[2:]
    return images[1:] if images and prod(images) == shape[1] else ()


def measure(
    stations: list[Station],
    longest: float,
    lanes: int = 1,
    fold: int = 1,
    *,
    hanging: bool = False,
    high: float = 0.0,
) -> None:
    """Choose steps and cells, and wrap lines into blocks at most `longest` long.

    lanes    rows in which the images of a line of many are staggered
    fold     rows of tiles of each unit behind a dense layer that reads images
    hanging  whether images in depth stand below the columns of their wall
    high     factor of the distances upright in a close network; 0, the default, in others
    """
    steps = (CLOSE_STEPS[0], high * CLOSE_STEPS[1]) if high else STEPS
    cells = (CLOSE_CELLS[0], high * CLOSE_CELLS[1]) if high else CELLS
    walls = [each for each in stations if each.kind == "wall"]
    lines: dict[UnitRun, list[Station]] = {}
    beside: dict[UnitRun, list[tuple[int, Station]]] = {each.run: [] for each in stations}
    for each in stations:
        lines.setdefault(each.run, [])
        if each.kind == "line":
            lines[each.run].append(each)
        if each.kind == "wall":
            beside[each.run].append((0, each))  # its rows
            beside[each.before].append((1, each))  # its columns
    for run, own in beside.items():
        run.tiled |= any(wall.tile for _, wall in own)
        run.lanes = lanes if run.images and run.count > LEAST_IMAGES else 1
        room = max((max(wall.tile) + 1 for _, wall in own if wall.tile), default=0)
        run.pitch = step_of(run, lines[run], room, steps)
        run.step = run.pitch / run.lanes
    for wall in walls:
        measure_wall(wall, fold, cells, hanging=hanging)
    for run, own in beside.items():
        run.wrap(longest, max((wall.cells[side] for side, wall in own), default=run.step))
    for wall in walls:
        rows, columns = wall.run.extent(wall.cells[0]), wall.before.extent(wall.cells[1])
        across = (wall.run, columns / wall.fold, wall.before), (wall.before, rows, wall.run)
        for run, wide, other in across[: 2 if wall.fold == 1 else 1]:
            run.side = max(run.side, wide)
            run.apart = max(run.apart, run.side, other.extent(), run.lanes * run.pitch)
    for run in beside:
        run.apart += max(3.0, 0.05 * run.apart)


def step_of(run: UnitRun, lines: list[Station], tile: int, steps: tuple[float, float]) -> float:
    """Return the distance from one unit to the next.

    tile   room of the largest kernel
    steps  in a line of few, in depth and upright
    """
    if run.images and run.count == 1:
        return max(min(SINGLE[0] * max(each.shape[1:]), SINGLE[1]) + APART for each in lines)
    if run.images:
        pixels = max(max(each.shape[1:]) for each in lines)
        return float(max(min(MOST, max(IMAGE, 2.0 + BY_PIXELS * pixels)), GRAIN * tile))
    return steps[run.upright] if run.count <= FEW else 1.0


def measure_wall(wall: Station, fold: int, sides: tuple[float, float], *, hanging: bool) -> None:
    """Choose the cells of a wall: small walls have room for numbers, in cells of these `sides`."""
    before, run = wall.before, wall.run
    if not wall.tile:
        few = max(run.count, before.count) <= FEW
        rows, columns = (
            sides[each.upright] if few and not each.tiled else 1.0 for each in (run, before)
        )
        wall.cells = rows, columns
        return
    room = max(wall.tile) + 1
    if before.count == 1 and run.images:  # as large as its images
        wall.grain = max(GRAIN, min(LARGE, run.step / (room + 1)))
        wall.cells = max(run.step // wall.grain, room) * wall.grain, room * wall.grain
        return
    if not run.images and run.count <= MOST_BLOCKS:
        wall.fold = max(each for each in range(1, fold + 1) if before.count % each == 0)
        wall.grain = min(GRAIN, BLOCK / (wall.fold * room + MORE))
    wide = room * wall.grain
    wall.cells = wide * wall.fold + (MORE * wall.grain if wall.fold > 1 else 0.0), wide
    if hanging and run.images and not run.upright:
        wall.cells = max(wide, (run.step + 1e-9) // wall.grain * wall.grain), wide
    if not run.images:
        run.step = max(1.0, wall.cells[0])


# Plates: the wall of a layer, its biases, and gains and shifts on wires.

About = tuple[str, int, int]  # role, operation and layer of a plate
BESIDE = 1.1  # from gains to shifts


def plates_of(program: Program, station: Station) -> list[Plate]:
    """Return the plates of a station that is no line."""
    return list((wall if station.kind == "wall" else scale)(program, station))


def blocks_of(run: UnitRun) -> Iterator[range]:
    """Iterate over the units of each block."""
    for first in range(0, run.count, run.block):
        yield range(first, min(first + run.block, run.count))


def lanes_of(run: UnitRun) -> Iterator[range]:
    """Iterate over the units of each row of images of each block."""
    for units in blocks_of(run):
        for lane in range(min(run.lanes, len(units))):
            yield units[lane :: run.lanes]


def wall(program: Program, station: Station) -> Iterator[Plate]:
    """Iterate over the plates of a wall: for each pair of blocks those of groups, and biases."""
    before, run, tile = station.before, station.run, station.tile
    operation, parts = program.operations[station.place], parts_of(program, station)
    pixels = prod(tile)
    inputs = len(parts[0][1]) * pixels
    about = "weight", station.place, operation.layer
    for rows in blocks_of(run):
        if station.fold > 1:  # a plate for each unit
            for unit in rows:
                first = operation.weights + unit * inputs
                ranges = range(unit, unit + 1), range(before.count)
                yield kernels(station, first, *ranges, inputs, about)
        for columns in blocks_of(before) if station.fold == 1 else ():
            for units, seen in parts:
                own, read = overlap(rows, units), overlap(columns, seen)
                if not own or not read:
                    continue
                first = operation.weights + own[0] * inputs + (read[0] - seen[0]) * pixels
                if tile:
                    yield kernels(station, first, own, read, inputs, about)
                    continue
                begin = corner(station, own, read)
                along, across = station.cells[1] * before.axis, station.cells[0] * run.axis
                shape = first, len(own), len(read), inputs, begin - 0.5 * (along + across)
                yield Plate(*shape, along, across, -RIGHT, *about)
        if operation.biases != NONE:
            begin = corner(station, rows, range(before.count, before.count + 1))
            along = (station.grain if tile else station.cells[1]) * before.axis
            axes = begin, along, station.cells[0] * run.axis
            bias = "bias", station.place, operation.layer
            yield column(operation.biases + rows[0], len(rows), *axes, bias)


def overlap(one: range, other: range) -> range:
    """Return what is in both ranges."""
    return range(max(one.start, other.start), min(one.stop, other.stop))


def corner(station: Station, rows: range, columns: range) -> FloatArray:
    """Return the place of the first row and the first column of a wall."""
    found: FloatArray = station.rows_at([rows[0]])[0] + station.columns_at([columns[0]])[0]
    return station.origin + found


def column(
    first: int,
    count: int,
    begin: FloatArray,
    along: FloatArray,
    across: FloatArray,
    about: About,
    stride: int = 1,
) -> Plate:
    """Return a plate with one cube in each row, the first around `begin`."""
    origin = begin - 0.5 * (along + across)
    return Plate(first, count, 1, stride, origin, along, across, -RIGHT, *about)


def kernels(
    station: Station, first: int, rows: range, columns: range, inputs: int, about: About
) -> Plate:
    """Return a plate of tiles, upright like the images they belong to.

    inputs  weights of a unit
    """
    run, (height, width) = station.run, station.tile
    grain, pixels = station.grain, height * width
    each = len(columns) // station.fold
    outwards = len(rows), round(station.cells[0] / grain), inputs
    if station.fold > 1:  # the tiles of one unit, in several rows
        outwards = station.fold, max(station.tile) + 1, each * pixels
    inwards = each, round(station.cells[1] / grain), pixels
    down, right = (outwards, inwards) if run.upright else (inwards, outwards)
    tiles = Tiles((height, width), (down[1], right[1]), (down[2], right[2]))
    along, across = grain * NEAR, grain * DOWN
    origin = corner(station, rows, columns) - 0.5 * (width * along + height * across)
    shape = (down[0] - 1) * down[1] + height, (right[0] - 1) * right[1] + width, width
    axes = origin, along, across, -RIGHT
    return Plate(first, *shape, *axes, *about, tiles)


def scale(program: Program, station: Station) -> Iterator[Plate]:
    """Iterate over the plates of gains and shifts: a cube for each unit on its wire."""
    run, operation = station.run, program.operations[station.place]
    parts = [("gain", operation.weights), ("shift", operation.biases)]
    parts = [(role, first) for role, first in parts if first != NONE]
    count, aside = operation.shape[0], NEAR if run.upright else DOWN
    for number, (role, first) in enumerate(parts):
        at = station.origin + station.aside + BESIDE * (number - (len(parts) - 1) / 2.0) * RIGHT
        about = role, station.place, operation.layer
        if count == run.count:
            for units in lanes_of(run):
                axes = run.at(units[0]) + at, aside, units.step * run.step * run.axis
                yield column(first + units[0], len(units), *axes, about, units.step)
        elif run.images and count % run.count == 0:
            for units in lanes_of(run):
                yield by_pixel(program, station, first, units, at, about)
        else:  # several units share one
            each = max(1, run.count // count)
            middle = run.all_at(np.arange(each)).mean(axis=0) + at
            yield column(first, count, middle, aside, each * run.step * run.axis, about)


def by_pixel(
    program: Program, station: Station, first: int, units: range, at: FloatArray, about: About
) -> Plate:
    """Return a plate shaped like some images of a line."""
    run, (_, height, width) = station.run, program.operations[station.place].source.shape
    pitch, pixels = max(height, width) + 1, height * width
    cell, count = run.pitch / pitch, len(units)
    down, right = (count, 1) if run.upright else (1, count)
    stride = pixels * units.step
    strides = (stride, 0) if run.upright else (0, stride)
    tiles = Tiles((height, width), (pitch, pitch), strides)
    origin = run.at(units[0]) + at - 0.5 * cell * (width * NEAR + height * DOWN)
    shape = (down - 1) * pitch + height, (right - 1) * pitch + width, width
    axes = origin, cell * NEAR, cell * DOWN, -RIGHT
    return Plate(first + units[0] * pixels, *shape, *axes, *about, tiles)
