"""The layout of chains of dense layers as a crossbar, see `crossbar`.

Pages run it as JavaScript, see docs/TRANSLATOR.md; only points.py uses numpy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import Operation
from scalarviz.scene.layout.camera import FRONT, Camera
from scalarviz.scene.layout.crossbar import Board, Cells, Room, boards_of, bounds_of, fit
from scalarviz.scene.layout.plates import (
    NEAR,
    PIXEL,
    Fan,
    Label,
    Layout,
    Neurons,
    Plate,
)
from scalarviz.scene.layout.points import points3, vector
from scalarviz.scene.layout.trays import About, Layered, Names, Station, stations_of, stride_of
from scalarviz.story.facts import NONE

CAMERA = Camera(azimuth=FRONT[0], elevation=FRONT[1], fov=0.0)
MOST = 20  # neurons of a layer whose weights are bars
BALL, MAP = 34.0, 62.0  # pixels of neurons that are balls or pictures
LAST, SINGLE = 38.0, 42.0  # pixels of outputs, and of a single one
TOLD = 46.0  # minimum size of a picture with its number below, or of its row
NUMBER, NAME = 19.0, 16.0  # pixels of that number, and of the name of a color channel
SMALLER = 0.92  # of the cell for a neuron
# Width of a bar by the width of its cell and at most, in pixels; depth by width.
WIDE, WIDEST, DEEP = 0.5, 46.0, 0.3
# Pixels beside a column and below a row for its products and their sum; the last layer's numbers
# often have more digits.
LANE, LAST_LANE, LOW = 122.0, 146.0, 58.0
LEGIBLE = (
    44.0,
    33.0,
)  # minimum width of cells if a column and a row have lanes, and if a row has one
NARROWEST = 420.0  # minimum width of a stage with the lane of a column
WORTH = 0.7  # of the quality of cells without lanes is kept with them
LINE = 17.0  # minimum height of cells if only a column has one
# Inputs come from above if cells are larger then by this factor; if the stage is not wide, from the
# left.
PREFERRED, WIDE_STAGE = 1.25, 1.3
NARROW = 0.045  # at most this part of the width to each side
# On a smaller stage than such cells need, boards are made for a stage GROWTH times as large, or its
# powers, and are seen from farther away.
LEAST_CELL, GROWTH = 5.0, 1.25
AROUND = 38.0, 24.0  # pixels to the sides, and above and below, for names and results
COLOR = 78.0  # pixels from the first neurons to the color that they are the channels of


@dataclass(frozen=True)
class Lane:
    """A neuron whose products and sum are written beside its bars.

    Attributes:
        layer: index of the layer in the crossbar
        neuron: index of the neuron
    """

    layer: int
    neuron: int


@dataclass(frozen=True, eq=False)
class Crossbar:
    """The boards of a layout, in pixels from its upper left corner, and their lanes.

    Attributes:
        boards: the lines of each layer
        cells: their sizes
        lanes: neurons whose products are written
        free: room beside the lines of neurons, see `Room`
        sizes: size of the inputs, then of the neurons of each layer, in pixels
        numbered, named: whether they have numbers below, and names above
        corner: x and y, in pixels of the boards, of the origin of space
        room: width and height of the stage, whose middle is that origin
        enlarged: factor by which the boards' stage is larger than the stage
    """

    boards: Sequence[Board]
    cells: Cells
    lanes: Sequence[Lane]
    free: Room
    sizes: Sequence[float]
    numbered: Sequence[bool]
    named: Sequence[bool]
    corner: tuple[float, float]
    room: tuple[float, float]
    enlarged: float

    @property
    def corners(self) -> list[FloatArray]:
        """Two opposite corners of the boards' stage, in space."""
        half = 0.5 * self.enlarged * self.room[0], 0.5 * self.enlarged * self.room[1]
        x, y = self.corner
        return [point(self, x - half[0], y - half[1]), point(self, x + half[0], y + half[1])]

    @property
    def is_upward(self) -> bool:
        """Whether the last neurons are above their weights."""
        last = self.boards[len(self.boards) - 1]
        return last.across and last.way < 0

    def size_of(self, board: Board) -> float:
        """Return the size of the neurons of a board."""
        return self.sizes[self.boards.index(board) + 1]

    def below(self, board: Board) -> float:
        """Return the pixels below the neurons of a board that their numbers take."""
        return NUMBER * self.numbered[self.boards.index(board) + 1]

    def above(self, board: Board) -> float:
        """Return the pixels above the neurons of a board that their names take."""
        return NAME * self.named[self.boards.index(board) + 1]

    def free_of(self, board: Board, neuron: int) -> float:
        """Return the room beside the line of a neuron."""
        return self.free.get((self.boards.index(board), neuron), 0.0)


def chain_in(stations: Sequence[Station]) -> list[Station] | None:
    """Return the layers of a chain of small dense layers; None for other networks."""
    rows = [each for each in stations if each.kind == "rows"]
    lines = [each for each in stations if each.kind == "line"]
    if len(lines) != len(rows) + 1 or len(rows) + len(lines) != len(stations) or not rows:
        return None
    for number, each in enumerate(stations):
        is_small = each.units.count <= MOST and not each.units.images and not each.tile
        if not is_small or each.joins != NONE or (each.kind == "rows") != (number % 2 == 1):
            return None
    return rows


def crossbar_layout(
    program: Layered,
    about: About,
    names: Names,
    room: tuple[float, float],
    *,
    tied: bool = False,
    squares: Sequence[str] = (),
    followed: Mapping[int, int],
) -> Layout | None:
    """Lay out a chain of small dense layers; return None for other networks.

    Args:
        about: function that returns the name and a description of a layer
        names: names of the neurons of each buffer
        room: width and height of the stage in pixels, for text of 12 pixels
        tied: whether the inputs are the channels of a color, which is drawn in front of them
        squares: names of the buffers whose neurons are pictures of their outputs
        followed: by layer, the neurons that have lanes; default: the first neuron of the first
            layer and the last one of the last
    """
    stations = stations_of(program, names, squares)
    rows = chain_in(stations)
    if rows is None:
        return None
    sizes = [stations[0].units.count, *[each.units.count for each in rows]]
    operations = [program.operations[each.place] for each in rows]
    biased = [each.biases != NONE for each in operations]
    strides = [stride_of(program, each, each.shape[1]) for each in operations]
    has_maps = any(each.neurons.square for each in stations[1:-1])
    end = MAP if has_maps else BALL
    enlarged = 1.0
    cells, lanes, free = better_cells(sizes, room, end, biased, followed, tied=tied)
    while cells.least < LEAST_CELL:
        enlarged *= GROWTH
        stage = enlarged * room[0], enlarged * room[1]
        cells, lanes, free = better_cells(sizes, stage, end, biased, followed, tied=tied)
    boards = boards_of(sizes, cells, biased, free)
    left, top, right, bottom = bounds_of(boards, free)
    before = (COLOR * cells.across, COLOR * (not cells.across)) if tied else (0.0, 0.0)
    middle = 0.5 * (left - before[0] + right), 0.5 * (top - before[1] + bottom)
    drawn = [stations[0], *stations[2::2]]
    sizes_in = [size_in(cells, boards, each, i - 1) for i, each in enumerate(drawn)]
    told = [is_told(cells, boards, each, i - 1) for i, each in enumerate(drawn)]
    named = [each.neurons.is_color for each in drawn]
    placed = Crossbar(boards, cells, lanes, free, sizes_in, told, named, middle, room, enlarged)
    plates: list[Plate] = []
    labels: list[Label] = []
    fans: list[Fan] = []
    neurons = [line_of(placed, stations[0], NONE)]
    for layer, operation in enumerate(operations):
        own = plates_of(placed, layer, operation, rows[layer].place, strides[layer])
        words = about(operation.label)
        place = point(placed, *boards[layer].weight(0, 0))
        stops = [each.index_of(each.rows - 1, each.columns - 1) + 1 for each in own]
        first = min(each.first for each in own)
        labels.append(Label(words[0], words[1], place, slice(first, max(stops))))
        plates += own
        neurons.append(line_of(placed, stations[2 * layer + 2], layer))
        fans.append(fan_of(placed, layer, operation, rows[layer].place, strides[layer]))
    if tied:
        x, y = boards[0].source(0)
        far, low = boards[0].source(sizes[0] - 1)
        aside = (-COLOR, 0.0) if cells.across else (0.0, -COLOR)
        tint = point(placed, 0.5 * (x + far) + aside[0], 0.5 * (y + low) + aside[1])
        neurons[0] = replace(neurons[0], tied=tint)
    views = {
        "perspective": CAMERA,
        "orthographic": CAMERA,
        "flat": replace(CAMERA, azimuth=0.0, elevation=0.0),
    }
    return Layout(plates, neurons, (), labels, views, fans, crossbar=placed)


def better_cells(
    sizes: Sequence[int],
    room: tuple[float, float],
    end: float,
    biased: Sequence[bool],
    followed: Mapping[int, int],
    *,
    tied: bool,
) -> tuple[Cells, list[Lane], dict[tuple[int, int], float]]:
    """Return the cells, lanes and their room: with inputs from the left, or better from above."""
    fitted = [
        best_cells(sizes, room, end, biased, followed, across=each, tied=tied)
        for each in (True, False)
    ]
    preferred = PREFERRED if room[0] >= WIDE_STAGE * room[1] else 1.0 / PREFERRED
    is_above = fitted[1][3] > preferred * fitted[0][3]
    cells, lanes, free, _ = fitted[1 if is_above else 0]
    return cells, lanes, free


def best_cells(
    sizes: Sequence[int],
    room: tuple[float, float],
    end: float,
    biased: Sequence[bool],
    followed: Mapping[int, int],
    *,
    across: bool,
    tied: bool,
) -> tuple[Cells, list[Lane], dict[tuple[int, int], float], float]:
    """Return the cells, the lanes, the room of the lanes, and how good the cells are.

    Only legible lanes are kept.

    Args:
        room: width and height of the stage
        end, across: as for `fit`
        followed: neurons that have lanes, by layer
        tied: whether there is a color before the inputs
    """
    width = room[0] - 2.0 * aside_of(room) - COLOR * (tied and across)
    height = room[1] - 2.0 * AROUND[1] - COLOR * (tied and not across)
    last = len(sizes) - 2
    chosen = {**({0: 0} if last else {}), last: sizes[-1] - 1, **followed}
    lanes = [Lane(layer, chosen[layer]) for layer in sorted(chosen)]
    ends = [each for each in lanes if each.layer in (0, last)]
    asked = [each for each in lanes if each.layer in followed]
    plain, most = fit(sizes, width, height, end, biased, {}, across=across)
    for several in (lanes, asked, ends, lanes[-1:], lanes[:1]):
        rows = [each for each in several if across == (each.layer % 2 == 1)]
        if len(several) == 0 or (len(several) > len(rows) and room[0] < NARROWEST):
            continue
        free = {
            (each.layer, each.neuron): LOW if each in rows else LAST_LANE if each.layer else LANE
            for each in several
        }
        cells, good = fit(sizes, width, height, end, biased, free, across=across)
        if len(several) > 1:
            is_legible = cells.curved and cells.wide >= LEGIBLE[0]
        elif rows:
            is_legible = cells.wide >= LEGIBLE[1]
        else:
            is_legible = cells.high >= LINE and (cells.curved or several[0].layer == last)
        if is_legible and good >= WORTH * most:
            return cells, several, free, good
    return plain, [], {}, most


def aside_of(room: tuple[float, float]) -> float:
    """Return the pixels kept free at both sides of a stage, fewer on a narrow one."""
    return min(AROUND[0], NARROW * room[0])


def point(placed: Crossbar, x: float, y: float) -> FloatArray:
    """Return the point in space of a position in pixels."""
    return vector(PIXEL * (x - placed.corner[0]), PIXEL * (placed.corner[1] - y), 0.0)


def line_of(placed: Crossbar, station: Station, layer: int) -> Neurons:
    """Return the neurons of a line with their positions: of a layer, or the inputs if NONE."""
    board = placed.boards[max(layer, 0)]
    count = station.units.count
    places = [board.source(i) if layer == NONE else board.neuron(i) for i in range(count)]
    radius = 0.5 * PIXEL * placed.sizes[layer + 1]
    points = points3([point(placed, *each) for each in places])
    return replace(station.neurons, points=points, radius=radius, told=placed.numbered[layer + 1])


def is_told(cells: Cells, boards: Sequence[Board], station: Station, layer: int) -> bool:
    """Return whether the pictures of a layer have their numbers below them."""
    is_beside = boards[max(layer, 0)].across == (layer != NONE)
    room = size_in(cells, boards, station, layer) if is_beside else cells.high
    return station.neurons.square and room >= TOLD


def size_in(cells: Cells, boards: Sequence[Board], station: Station, layer: int) -> float:
    """Return the size of the neurons of a layer in pixels; of the inputs if `layer` is NONE."""
    is_beside = boards[max(layer, 0)].across == (layer != NONE)  # next to each other
    if layer == len(boards) - 1 and not station.neurons.square and station.units.count == 1:
        return SINGLE
    if layer == len(boards) - 1 and not station.neurons.square:
        return min(LAST, SMALLER * (cells.wide if is_beside else cells.high))
    if not station.neurons.square:
        return min(cells.end, BALL, SMALLER * (cells.wide if is_beside else cells.high))
    if is_beside:
        return min(cells.end, SMALLER * cells.wide)
    return min(cells.end, cells.high - NUMBER if cells.high >= TOLD else SMALLER * cells.high)


def plates_of(
    placed: Crossbar, layer: int, operation: Operation, place: int, stride: int
) -> list[Plate]:
    """Return the plates of a layer: weights in parts of equal distances, then biases.

    Args:
        place: index of the operation in the program
        stride: bank indices from the weights of one neuron to the next
    """
    board, count = placed.boards[layer], operation.shape[1]
    neurons, inputs = even_parts(board.neurons), even_parts(board.inputs[:count])
    about = "weight", place, operation.layer
    found = [
        plate_of(placed, layer, units, columns, operation.weights, stride, about)
        for units in neurons
        for columns in inputs
    ]
    if operation.biases != NONE:
        last, about = range(count, count + 1), ("bias", place, operation.layer)
        own = 1 if stride == count else stride
        first = operation.biases - count
        biases = [plate_of(placed, layer, units, last, first, own, about) for units in neurons]
        far = abs(board.ball - board.inputs[count]) - 0.5 * placed.size_of(board)
        free = -board.way * PIXEL * far if board.across else 0.0
        found += [replace(each, free=free) for each in biases]
    return found


def even_parts(places: Sequence[float]) -> list[range]:
    """Return the longest parts of a list whose neighbors are equally far apart."""
    if len(places) < 2:
        return [range(len(places))]
    steps = [round(b - a, 6) for a, b in pairwise(places)]
    common = max(steps, key=lambda step: sum(step == each for each in steps))
    found, first = [], 0
    for i, step in enumerate(steps):
        if step != common:
            found.append(range(first, i + 1))
            first = i + 1
    return [*found, range(first, len(places))]


def plate_of(
    placed: Crossbar,
    layer: int,
    units: range,
    columns: range,
    first: int,
    stride: int,
    about: tuple[str, int, int],
) -> Plate:
    """Return the plate of the weights of neurons and inputs that are equally far apart.

    Args:
        first: bank index of column 0 of the first neuron of the layer
        stride: bank indices from one neuron to the next
        about: role, operation and layer of the plate
    """
    board, cells = placed.boards[layer], placed.cells
    x, y = board.weight(units[0], columns[0])
    right, down = (vector(PIXEL, 0.0, 0.0), vector(0.0, -PIXEL, 0.0))
    of_neuron, of_input = step_of(board.neurons, units), step_of(board.inputs, columns)
    wide, high = (of_neuron, of_input) if board.across else (of_input, of_neuron)
    wide, high = wide or cells.wide, high or cells.high
    along, across = wide * right, high * down
    if board.across:
        along, across = across, along
    origin = point(placed, x, y) - 0.5 * (along + across)
    half = 0.5 * PIXEL * min(WIDEST, WIDE * cells.wide)
    bank = first + units[0] * stride + columns[0]
    made = Plate(bank, len(units), len(columns), stride, origin, along, across, NEAR, *about)
    rise = (-1.0, 0.0) if board.across else (0.0, -1.0)
    return replace(made, wide=half, deep=DEEP * half, rise=rise)


def step_of(places: Sequence[float], part: range) -> float:
    """Return the distance of neighbors in a part of a list; 0 for a single one."""
    return abs(places[part[0] + 1] - places[part[0]]) if len(part) > 1 else 0.0


def fan_of(placed: Crossbar, layer: int, operation: Operation, place: int, stride: int) -> Fan:
    """Return what belongs together in a layer: inputs, weights and neurons."""
    board = placed.boards[layer]
    count, units = operation.shape[1], operation.shape[0]
    biased = operation.biases != NONE
    first = board.weight(0, 0)
    columns = [board.weight(0, i) for i in range(count + biased)]
    rows = [board.weight(j, 0) for j in range(units)]
    base = point(placed, *first)
    return Fan(
        operation.weights,
        count,
        operation.biases,
        points3([point(placed, *board.source(i)) for i in range(count)]),
        points3([point(placed, *each) for each in columns]),
        points3([point(placed, *board.neuron(j)) for j in range(units)]),
        points3([point(placed, *each) - base for each in rows]),
        place,
        layer,
        layer + 1,
        vector(0.0, 0.0, 0.0),
        vector(0.0, 0.0, 0.0),
        slice(0, count),
        stride=stride,
        form="crossbar",
    )
