"""LayoutBuilder: a layout while it is built, and the rows that its neurons stand in.

A row holds single neurons one cell apart, or images, one per channel, whose pixels are neurons.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil

import numpy as np

from scalarviz.base.checks.numbers import FloatArray
from scalarviz.core.model.operations import Buffer, Operation, Shape
from scalarviz.core.model.program import Program
from scalarviz.pictures.view.scene.plates import (
    DOWN,
    NEAR,
    RIGHT,
    UP,
    Label,
    Layout,
    Neurons,
    Plate,
    Wires,
)

WIRED = 128  # neurons; a longer row has no wires
BETWEEN = 0.8  # cells between two images
LEAST, MOST = 4, 8  # cells from one image to the next
BY_PIXELS = 0.16  # cells that an image takes more for each of its pixels
ALONE = 0.4, 12.0  # for an image alone in its row: cells per pixel, and its most cells
PASSING = 0.3  # cells between a plate and a skip connection; closer than the plate's name
RIM = 0.36  # radius of a neuron, in cells


@dataclass(frozen=True)
class Row:
    """A row of single neurons, or of images of this shape: (channels, height, width).

    middles  (n, 3), centers of the neurons or images, `pitch` cells apart
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
        """Centers of all neurons, pixels included, (n, 3)."""
        if not self.shape:
            return self.middles
        _, height, width = self.shape
        y, x = np.mgrid[:height, :width].reshape(2, -1, 1)
        pixels = (x - (width - 1) / 2) * RIGHT + (y - (height - 1) / 2) * DOWN
        points: FloatArray = self.middles[:, np.newaxis] + self.side * pixels
        return points.reshape(-1, 3)

    def half(self, direction: FloatArray) -> float:
        """Return the cells from the center of a neuron or image to its border."""
        if not self.shape:
            return RIM
        pixels = self.shape[2] if abs(direction[0]) > 0.5 else self.shape[1]
        return 0.5 * self.side * pixels

    def reach(self, direction: FloatArray) -> float:
        """Return how much further than a single neuron it extends from its center."""
        return self.half(direction) - RIM

    def moved(self, way: FloatArray) -> Row:
        return replace(self, middles=self.middles + way)


def row_of(
    count: int, axis: FloatArray, pitch: float = 1.0, shape: Shape = (), *, most: float = np.inf
) -> Row:
    """Return a row centered at the origin; an image takes at most `most` cells."""
    places = np.arange(count) - (count - 1) / 2.0
    side = min(pitch - BETWEEN, most) / max(shape[1:]) if shape else 1.0
    return Row(pitch * places[:, np.newaxis] * axis, axis, pitch, shape, side)


def row_alone(axis: FloatArray, pitch: float, shape: Shape) -> Row:
    """Return a row of a single image, which may be larger than images side by side."""
    pixel, most = ALONE
    size = max(pitch - BETWEEN, min(pixel * max(shape[1:]), most))
    return Row(np.zeros((1, 3)), axis, pitch, shape, size / max(shape[1:]))


def pitch_of(program: Program, place: int, shape: Shape) -> int:
    """Return the cells between the neurons or images that an operation writes (-1: the inputs).

    Images are spaced so that each stands beside its kernels on the plates before and after.
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
    """Start of a skip connection.

    line     index of the row of neurons where it begins
    plates   number of plates at that time
    leaving  the direction in which the row was left
    right    right end of everything placed when a row first left a plate to the right
    """

    line: int
    plates: int
    leaving: FloatArray
    right: float = np.nan


@dataclass
class LayoutBuilder:
    """A layout while it is built; `row` is the last row of neurons.

    leaving   the direction in which the next plate or row goes
    turn      number of plates turned so far
    branches  start of the skip connection for each buffer that a later sum adds
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
        """Append a row of neurons, which becomes the last row."""
        names = self.names.get(target.name, ())
        made = Neurons(row.points, "", target.name, names, layer, row.shape, row.side, (), way)
        self.neurons.append(made)
        self.row = row

    def fill(self, operation: Operation) -> None:
        """Show an activation in the last row, whose values so far become its sums."""
        last, target = self.neurons[-1], operation.target.name
        names = self.names.get(target, last.names)
        layer = operation.layer
        self.neurons[-1] = replace(
            last, sums=last.values, values=target, names=names, layer=layer, also=()
        )

    def repeat(self, operation: Operation) -> None:
        """Show another buffer with the same numbers in the last row."""
        last = self.neurons[-1]
        self.neurons[-1] = replace(last, also=(*last.also, operation.target.name))

    def leave_to_right(self) -> float:
        """Return the right end of everything placed, and note it for open skip connections."""
        ends = [box_of(line.points, line.side)[1, 0] for line in self.neurons]
        end = float(max([*ends, *[plate.corners()[:, 0].max() for plate in self.plates]]))
        for branch in self.branches.values():
            branch.right = end if np.isnan(branch.right) else branch.right
        return end

    def shape_of(self, place: int) -> Shape:
        """Return the shape of an operation's outputs, or of the activation in the same row."""
        operations = self.program.operations
        shape = operations[place].target.shape
        if not shape and place + 1 < len(operations) and operations[place + 1].kind == "activation":
            shape = operations[place + 1].target.shape
        return shape

    def wire(self, start: FloatArray, end: FloatArray, place: int, *, outgoing: bool) -> None:
        """Append wires into or out of the last row, a little behind the cubes."""
        if len(start) <= WIRED:
            behind = -0.41 * NEAR
            line = len(self.neurons) - 1
            self.wires.append(Wires(start + behind, end + behind, place, line, outgoing))

    def label(
        self, layer: str, corners: FloatArray, *, above: bool = False, leftward: bool = False
    ) -> None:
        """Append the label of a layer above or below these corners."""
        y = corners[:, 1].max() + 0.35 if above else corners[:, 1].min() - 0.35
        start, end = (np.array([x, y, 0.0]) for x in (corners[:, 0].min(), corners[:, 0].max()))
        self.labels.append(Label(*self.about(layer), start, end, not above, leftward))


def is_up(direction: FloatArray) -> bool:
    """Return whether a direction is vertical."""
    return bool(abs(direction[0]) < 0.5)


def straight_way(drawing: LayoutBuilder, branch: Fork, row: Row) -> FloatArray:
    """Return the line of a skip connection from its start to `row`, around all plates between."""
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
    if is_level and left[0] < high[0]:  # rows above each other, without a turned plate between
        way = [(high[0], middle[1]), (right, middle[1]), (right, last[1]), (far[0], last[1])]
        return np.array([(x, y, 0.0) for x, y in way])
    # Out of the upper or right end, above everything, and down to the end of the other row.
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
    """Return the lower left and upper right corner around a row of neurons."""
    half = 0.5 * side * (RIGHT + UP)
    return np.array([points.min(axis=0) - half, points.max(axis=0) + half])
