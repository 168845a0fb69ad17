"""A layout in the making: rows of neurons and of pictures, and what stands between them.

A row is what a line of neurons stands in: single neurons one cell apart, or pictures, one a
channel, each of whose pixels is a neuron.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.model.operations import Buffer, Operation, Shape
from scalarviz.model.program import Program
from scalarviz.view.scene.plates import DOWN, NEAR, RIGHT, UP, Label, Layout, Neurons, Plate, Wires

WIRED = 128  # neurons; a longer line has no wires
BETWEEN = 0.8  # cells between two pictures
LEAST, MOST = 4, 8  # cells from one picture to the next
BY_PIXELS = 0.16  # cells that a picture takes more for each of its pixels
ALONE = 0.4, 12.0  # cells a pixel where one picture is a whole row, and cells that it takes at most
PASSING = 0.3  # cells between a plate and a straight way past it: closer than the plate's name
RIM = 0.36  # of a cell: what a neuron takes to each side of its middle


@dataclass(frozen=True)
class Row:
    """Where single neurons stand, or pictures of this shape: (channels, height, width).

    middles  (n, 3), of the neurons or the pictures, `pitch` cells from one to the next
    axis     the direction in which they are numbered
    side     cells from one pixel to the next
    """

    middles: FloatArray
    axis: FloatArray
    pitch: float = 1.0
    shape: Shape = ()
    side: float = 1.0

    @property
    def points(self) -> FloatArray:
        """The middles of all numbers."""
        if not self.shape:
            return self.middles
        _, height, width = self.shape
        y, x = np.mgrid[:height, :width].reshape(2, -1, 1)
        pixels = (x - (width - 1) / 2) * RIGHT + (y - (height - 1) / 2) * DOWN
        points: FloatArray = self.middles[:, np.newaxis] + self.side * pixels
        return points.reshape(-1, 3)

    def half(self, direction: FloatArray) -> float:
        """Cells from the middle of one to its rim."""
        if not self.shape:
            return RIM
        pixels = self.shape[2] if abs(direction[0]) > 0.5 else self.shape[1]
        return 0.5 * self.side * pixels

    def reach(self, direction: FloatArray) -> float:
        """How much further than a neuron it reaches."""
        return self.half(direction) - RIM

    def moved(self, way: FloatArray) -> Row:
        return replace(self, middles=self.middles + way)


def row_of(
    count: int, axis: FloatArray, pitch: float = 1.0, shape: Shape = (), *, most: float = np.inf
) -> Row:
    """A row around the middle of everything; each picture takes at most so many cells."""
    places = np.arange(count) - (count - 1) / 2.0
    side = min(pitch - BETWEEN, most) / max(shape[1:]) if shape else 1.0
    return Row(pitch * places[:, np.newaxis] * axis, axis, pitch, shape, side)


def row_alone(axis: FloatArray, pitch: float, shape: Shape) -> Row:
    """A single picture, which may be larger than others."""
    pixel, most = ALONE
    size = max(pitch - BETWEEN, min(pixel * max(shape[1:]), most))
    return Row(np.zeros((1, 3)), axis, pitch, shape, size / max(shape[1:]))


def pitch_of(program: Program, place: int, shape: Shape) -> int:
    """Cells from one to the next of what an operation writes, or of the inputs, at place -1.

    Pictures stand so that each is beside its kernels, on the plate before them and the one after.
    """
    if not shape:
        return 1
    pitch = min(MOST, max(LEAST, ceil(2.0 + BY_PIXELS * max(shape[1:]))))
    for i, operation in enumerate(program.operations[max(place, 0) :], max(place, 0)):
        kernel = operation.shape[2:]
        pitch = max([pitch, *[side + 1 for side in kernel]])
        goes_on = i == place or not (len(operation.shape) > 1)
        if not goes_on or operation.target.shape[:1] != shape[:1]:
            break
    return pitch


@dataclass
class Fork:
    """Where a straight way begins: at a line of neurons, when there were so many plates.

    leaving  the direction in which the line goes on
    right    how far to the right anything stood when a line first left a plate to the right
    """

    line: int
    plates: int
    leaving: FloatArray
    right: float = np.nan


@dataclass
class LayoutBuilder:
    """A layout in the making, and the row where the last line of neurons stands.

    leaving   the direction in which the row's numbers go on
    turn      how many plates have been turned so far
    branches  for each buffer that is added to something later, where its straight way begins
    """

    program: Program
    about: Callable[[str], tuple[str, str]]
    names: Mapping[str, Sequence[str]]
    gap: float
    row: Row = field(default_factory=lambda: Row(np.zeros((0, 3)), RIGHT))
    leaving: FloatArray = field(default_factory=lambda: DOWN)
    turn: int = 0
    branches: dict[str, Fork] = field(default_factory=dict)
    plates: list[Plate] = field(default_factory=list)
    neurons: list[Neurons] = field(default_factory=list)
    wires: list[Wires] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)

    def finished(self) -> Layout:
        return Layout(self.plates, self.neurons, self.wires, self.labels)

    def line(self, row: Row, target: Buffer, layer: int, way: FloatArray | None = None) -> None:
        """A new line of neurons, which is the last one now."""
        names = self.names.get(target.name, ())
        made = Neurons(row.points, "", target.name, names, layer, row.shape, row.side, (), way)
        self.neurons.append(made)
        self.row = row

    def fill(self, operation: Operation) -> None:
        """The last line shows the result of an activation too: what it had so far are its sums."""
        last, target = self.neurons[-1], operation.target.name
        names = self.names.get(target, last.names)
        layer = operation.layer
        self.neurons[-1] = replace(
            last, sums=last.values, values=target, names=names, layer=layer, also=()
        )

    def repeat(self, operation: Operation) -> None:
        """The last line shows another buffer too, with the same numbers."""
        last = self.neurons[-1]
        self.neurons[-1] = replace(last, also=(*last.also, operation.target.name))

    def leave_to_right(self) -> float:
        """How far to the right there is something; straight ways know of it, too."""
        ends = [box_of(line.points, line.side)[1, 0] for line in self.neurons]
        end = float(max([*ends, *[plate.corners()[:, 0].max() for plate in self.plates]]))
        for branch in self.branches.values():
            branch.right = end if np.isnan(branch.right) else branch.right
        return end

    def shape_of(self, place: int) -> Shape:
        """What the line is seen as that an operation writes: with the activation that fills it."""
        operations = self.program.operations
        shape = operations[place].target.shape
        if not shape and place + 1 < len(operations) and operations[place + 1].kind == "activation":
            shape = operations[place + 1].target.shape
        return shape

    def wire(self, start: FloatArray, end: FloatArray, place: int, *, outgoing: bool) -> None:
        """Wires out of the last line of neurons, or into it; a little behind the cubes."""
        if len(start) <= WIRED:
            behind = -0.45 * NEAR
            line = len(self.neurons) - 1
            self.wires.append(Wires(start + behind, end + behind, place, line, outgoing))

    def label(
        self, layer: str, corners: FloatArray, *, above: bool = False, leftward: bool = False
    ) -> None:
        """The name of a layer, or a part of one, above or below these corners."""
        y = corners[:, 1].max() + 0.35 if above else corners[:, 1].min() - 0.35
        start, end = (np.array([x, y, 0.0]) for x in (corners[:, 0].min(), corners[:, 0].max()))
        self.labels.append(Label(*self.about(layer), start, end, not above, leftward))


def is_up(direction: FloatArray) -> bool:
    """Whether it goes up or down, and not to the right."""
    return bool(abs(direction[0]) < 0.5)


def straight_way(drawing: LayoutBuilder, branch: Fork, row: Row) -> FloatArray:
    """A line from a row past all plates since then, to another row, without crossing anything."""
    first, plates = branch.line, branch.plates
    beside = 0.6 * drawing.gap
    boxes = [plate.corners(0.0) for plate in drawing.plates[plates:]]
    boxes += [box_of(line.points, line.side) for line in drawing.neurons[first:]]
    begin, end = boxes[-len(drawing.neurons[first:])], box_of(row.points, row.side)
    around = np.concatenate([*boxes, end])
    top, right = around[:, 1].max() + PASSING, around[:, 0].max() + beside
    high, middle = begin.max(axis=0), begin.mean(axis=0)
    left, far, last = end.min(axis=0), end.max(axis=0), end.mean(axis=0)
    is_level = is_up(branch.leaving)
    if is_level and left[0] < high[0]:  # one row above the other, and no plate turned between
        way = [(high[0], middle[1]), (right, middle[1]), (right, last[1]), (far[0], last[1])]
        return np.array([(x, y, 0.0) for x, y in way])
    # Away at its upper or its right end, over everything, and down to the end of the other row.
    if is_level:
        out = branch.right + beside
        way = [(high[0], middle[1]), (out, middle[1]), (out, top)]
    else:
        way = [(middle[0], high[1]), (middle[0], top)]
    if is_up(drawing.leaving):
        way += [(right, top), (right, last[1]), (far[0], last[1])]
    else:
        way += [(last[0], top), (last[0], far[1])]
    return np.array([(x, y, 0.0) for x, y in way])


def box_of(points: FloatArray, side: float) -> FloatArray:
    """The lower left and the upper right corner around a line of neurons."""
    half = 0.5 * side * (RIGHT + UP)
    return np.array([points.min(axis=0) - half, points.max(axis=0) + half])
