"""Crossbar: where the lines, neurons and weights of a chain of dense layers are, in pixels.

What comes into a layer runs along lines, and each neuron sums along a line across them. A weight is
where the line of its input crosses the line of its neuron. Layers alternate: if the neurons of one
layer are columns, the next ones are rows, so the results of a layer are already the lines that
come into the next one, and no lines cross without a weight. Columns sum downwards, then upwards,
then downwards; rows always sum to the right. The bias is the last weight before the neuron.

Pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

BIAS = 0.9  # cells from the last weight of a neuron to its bias
# Sizes of the neurons that are tried, by the wanted one, from large to small.
ENDS = 1.5, 1.25, 1.0, 0.8, 0.6, 0.45, 0.35
LARGEST, SMALLEST, SECANTS = 130.0, 2.0, 3  # pixels of a cell; steps of the search
FLAT, TALL = 1.9, 1.3  # maximum width of a cell by its height, and height by its width
WIDE = 1.35  # width of a good cell by its height, since numbers are beside its cube
CROWDED, CROWDING = 0.62, 0.5  # cell by the size of neurons at least, and what others are worth
BETWEEN = 0.22  # between a neuron and the nearest line across, by the size of the neuron
APART, CURVE = 6.0, 32.0  # the same in pixels, in addition; and for the curve of an activation
CURVED, BETTER = 44.0, 1.2  # minimum cell with curves, and what they are worth
SMALL = 0.6  # exponent of the size of neurons in what cells are worth
NUMBER, SUM = 24.0, 40.0  # beside a bias in a row, for its number, or else for the sum
ENOUGH = 48.0  # size of cells from which on neurons rather grow


@dataclass(frozen=True)
class Board:
    """The lines of a layer.

    Attributes:
        across: whether inputs run from left to right and neurons are columns; else inputs run
            downwards and neurons are rows
        inputs: coordinates of the lines of the inputs across them, and last of the bias
        neurons: coordinates of the lines of the neurons
        start: coordinate, along them, at which the lines of the inputs begin
        ball: coordinate, along their lines, of the neurons
        way: 1 if neurons sum towards larger coordinates, -1 towards smaller ones
    """

    across: bool
    inputs: Sequence[float]
    neurons: Sequence[float]
    start: float
    ball: float
    way: int

    def weight(self, neuron: int, column: int) -> tuple[float, float]:
        """Return where the weight of an input is, or the bias if `column` is the last."""
        one, other = self.neurons[neuron], self.inputs[column]
        return (one, other) if self.across else (other, one)

    def neuron(self, place: int) -> tuple[float, float]:
        """Return the center of a neuron."""
        one = self.neurons[place]
        return (one, self.ball) if self.across else (self.ball, one)

    def source(self, column: int) -> tuple[float, float]:
        """Return where the line of an input begins."""
        one = self.inputs[column]
        return (self.start, one) if self.across else (one, self.start)

    def end(self, column: int) -> tuple[float, float]:
        """Return where the line of an input ends: at the farthest neuron."""
        one, last = self.inputs[column], farthest(self.neurons, self.start)
        return (last, one) if self.across else (one, last)

    def begin(self, place: int) -> tuple[float, float]:
        """Return where the line of a neuron begins: at its first input."""
        one, first = self.neurons[place], farthest(self.inputs, self.ball)
        return (one, first) if self.across else (first, one)


def farthest(numbers: Sequence[float], start: float) -> float:
    """Return the number that is farthest from another one."""
    low, high = min(numbers), max(numbers)
    return low if start - low > high - start else high


@dataclass(frozen=True)
class Cells:
    """The sizes of a crossbar in pixels.

    Attributes:
        wide, high: distance of neighboring lines to the right and downwards
        end: size of a neuron
        across: whether the inputs of the first layer run from left to right
        curved: whether the curve of its activation is before each neuron
    """

    wide: float
    high: float
    end: float
    across: bool
    curved: bool

    @property
    def size(self) -> float:
        """How good the cells are: their height, or their width if that is smaller."""
        return min(self.wide / WIDE, self.high)

    @property
    def least(self) -> float:
        """Distance of the closest lines."""
        return min(self.wide, self.high)

    @property
    def gap(self) -> float:
        """Room between a neuron and the nearest line across."""
        return BETWEEN * self.end + APART + CURVE * self.curved


Room = Mapping[tuple[int, int], float]  # (layer, neuron) -> pixels kept free beside its line


def boards_of(
    sizes: Sequence[int], cells: Cells, biased: Sequence[bool], room: Room
) -> list[Board]:
    """Return the lines of each layer.

    Args:
        sizes: number of inputs, then of the neurons of each layer
        biased: whether each layer has biases
        room: room kept free to the right of columns or below rows
    """
    found: list[Board] = []
    across, down, before = cells.across, True, 1
    lines: Sequence[float] = [(cells.high if across else cells.wide) * i for i in range(sizes[0])]
    start, reach = -(cells.gap + cells.end), cells.gap + 0.5 * cells.end
    for layer, outputs in enumerate(sizes[1:]):
        step, pitch = (cells.high, cells.wide) if across else (cells.wide, cells.high)
        way = 1 if not across or down else -1
        last = (max(lines) if way > 0 else min(lines)) + way * BIAS * step * biased[layer]
        own, at = [], 0.0
        for place in range(outputs):
            free = room.get((layer, place if before > 0 else outputs - 1 - place), 0.0)
            at += free if before < 0 else 0.0
            own.append(start + before * (reach + at + 0.5 * pitch))
            at += pitch + (free if before > 0 else 0.0)
        inputs = [*lines, *[last for _ in range(biased[layer])]]
        is_told = any(key[0] == layer for key in room)  # its sum is there
        number = NUMBER if cells.curved else SUM if is_told else 0.0
        to = reach if across else reach + number
        found.append(Board(across, inputs, sorted(own), start, last + way * to, way))
        start, lines, before = found[-1].ball, found[-1].neurons, way
        down = not down if across else down
        across = not across
    return found


def bounds_of(boards: Sequence[Board], room: Room) -> tuple[float, float, float, float]:
    """Return the smallest x and y, and the largest x and y, of lines, neurons and their room."""
    xs: list[float] = []
    ys: list[float] = []
    for layer, board in enumerate(boards):
        along, aside = (xs, ys) if board.across else (ys, xs)
        ends = [x + room.get((layer, i), 0.0) for i, x in enumerate(board.neurons)]
        along.extend([board.start, *board.neurons, *ends])
        aside.extend([*board.inputs, board.ball])
    return min(xs), min(ys), max(xs), max(ys)


def fit(
    sizes: Sequence[int],
    width: float,
    height: float,
    end: float,
    biased: Sequence[bool],
    room: Room,
    *,
    across: bool,
) -> tuple[Cells, float]:
    """Return the largest cells with which a chain fits, and how good they are.

    Args:
        width, height: available pixels for lines and neurons
        end: wanted size of a neuron
        across: whether the inputs of the first layer run from left to right
    """
    best, found = -1.0, Cells(SMALLEST, SMALLEST, end * ENDS[-1], across, curved=False)
    tried = [(each * end, curved) for each in ENDS for curved in (True, False)]
    for size, curved in tried:
        start = Cells(0.0, 40.0, size, across, curved)
        wide = largest(sizes, start, width, biased, room)
        high = largest(sizes, replace(start, wide=40.0, high=0.0), height, biased, room)
        cells = Cells(min(wide, FLAT * high), min(high, TALL * wide), size, across, curved)
        least = min(cells.wide, cells.high)
        if curved and least < CURVED:
            continue
        score = (
            min(cells.size, ENOUGH) * min(1.0, size / end) ** SMALL * (BETTER if curved else 1.0)
        )
        score *= 1.0 if CROWDED * size <= least else CROWDING
        if score > best + 1e-9:
            best, found = score, cells
    return found, best


def largest(
    sizes: Sequence[int], cells: Cells, most: float, biased: Sequence[bool], room: Room
) -> float:
    """Return the largest width or height of a cell, whichever is 0 in `cells`, within `most`."""
    is_wide = cells.wide == 0.0

    def excess(side: float) -> float:
        wide, tall = (side, cells.high) if is_wide else (cells.wide, side)
        tried = replace(cells, wide=wide, high=tall)
        left, top, right, bottom = bounds_of(boards_of(sizes, tried, biased, room), room)
        return (right - left if is_wide else bottom - top) + tried.end - most

    low, high = SMALLEST, LARGEST
    under, over = excess(low), excess(high)
    if over <= 0.0:
        return high
    for _ in range(SECANTS if under < 0.0 else 0):  # nearly linear, and convex
        low = low - under * (high - low) / (over - under)
        under = excess(low)
    return low
