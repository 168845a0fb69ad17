"""Layout: a program becomes plates, lines of neurons, wires and labels in space.

Two ways to lay a network out:

- crossbar  the neurons enter a plate on one side and leave it at a right angle, so each weight's
            cube sits where the wire of its input crosses that of its output. The next plate is
            turned: layers go right, down, right, up, right ...
- posters   plates beside each other, one row a perceptron, as matrices are written
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from scalarviz.checks import FloatArray
from scalarviz.operations import NONE, Buffer, Operation
from scalarviz.program import Program
from scalarviz.view.plates import DOWN, NEAR, RIGHT, UP, Label, Layout, Neurons, Plate, Wires

GAP = 1.3  # cells between a plate and a line of neurons
BIAS_GAP = 0.5  # between weights and biases
WIDER = 0.03  # of the longest side of a plate, that gaps are at least
FEW, APART = 12, 1.6  # single values that stand in one row, and cells from one to the next
WIRED = 128  # neurons; a longer line has no wires


@dataclass
class Drawing:
    """A layout in the making, and where the last line of neurons stands.

    points  of that line, `leaving` the direction in which its numbers go on
    turn    how many plates have been turned so far
    """

    program: Program
    about: Callable[[int], tuple[str, str]]
    names: Mapping[str, Sequence[str]]
    gap: float
    points: FloatArray = field(default_factory=lambda: np.zeros((0, 3)))
    leaving: FloatArray = field(default_factory=lambda: DOWN)
    turn: int = 0
    plates: list[Plate] = field(default_factory=list)
    neurons: list[Neurons] = field(default_factory=list)
    wires: list[Wires] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)

    def finished(self) -> Layout:
        return Layout(self.plates, self.neurons, self.wires, self.labels)

    def line(self, points: FloatArray, target: Buffer, layer: int, sums: str = "") -> None:
        """A new line of neurons, which is the last one now."""
        names = self.names.get(target.name, ())
        self.neurons.append(Neurons(points, sums, target.name, names, layer))
        self.points = points

    def fill(self, operation: Operation) -> None:
        """The last line shows the result of an activation too: what it had so far are its sums."""
        last = self.neurons.pop()
        names = self.names.get(operation.target.name, last.names)
        self.neurons.append(
            Neurons(last.points, last.values, operation.target.name, names, operation.layer)
        )


def crossbar(
    program: Program,
    about: Callable[[int], tuple[str, str]],
    names: Mapping[str, Sequence[str]] | None = None,
) -> Layout:
    """Plates that are turned in turn; `about` gives the name and a description of each layer."""
    drawing = begin(program, about, names)
    drawing.line(spread(program.inputs.size, RIGHT), program.inputs, NONE)
    for place, operation in enumerate(program.operations):
        if operation.kind == "affine":
            cross(drawing, place, operation)
        else:
            go_on(drawing, place, operation)
    return drawing.finished()


def posters(
    program: Program,
    about: Callable[[int], tuple[str, str]],
    names: Mapping[str, Sequence[str]] | None = None,
) -> Layout:
    """Plates beside each other, all upright; their middles are level."""
    drawing = begin(program, about, names)
    drawing.leaving = RIGHT
    drawing.line(spread(program.inputs.size, DOWN), program.inputs, NONE)
    for place, operation in enumerate(program.operations):
        if operation.kind == "affine":
            hang(drawing, place, operation)
        else:
            go_on(drawing, place, operation)
    return drawing.finished()


LAYOUTS = {"crossbar": crossbar, "posters": posters}


def begin(
    program: Program,
    about: Callable[[int], tuple[str, str]],
    names: Mapping[str, Sequence[str]] | None,
) -> Drawing:
    longest = max((buffer.size for buffer in program.buffers), default=1)
    return Drawing(program, about, names or {}, max(GAP, WIDER * longest))


def spread(count: int, axis: FloatArray, middle: FloatArray | None = None) -> FloatArray:
    """Neurons in a line, one a cell, around a middle."""
    places = np.arange(count) - (count - 1) / 2.0
    around = np.zeros(3) if middle is None else middle
    points: FloatArray = around + places[:, np.newaxis] * axis
    return points


def cross(drawing: Drawing, place: int, operation: Operation) -> None:
    """A plate that the last line enters, and a line that leaves it at a right angle."""
    entering = drawing.leaving
    along = numbered(drawing)
    if abs(entering[0]) > 0.5:
        leaving = DOWN if drawing.turn % 4 == 1 else UP
    else:
        leaving = RIGHT
    drawing.turn += 1
    inputs, outputs = drawing.points, operation.target.size
    forward = float(np.dot(leaving, along))  # whether the biases stand behind the last input
    # Wires cross over from the inputs to the outputs.
    corner = inputs[0] + entering * drawing.gap - 0.5 * along
    add_plate(drawing, place, operation, corner, along, entering)
    count = len(inputs)
    has_bias = operation.biases != NONE
    behind = count + BIAS_GAP if forward > 0.0 else -1.0 - BIAS_GAP
    if has_bias:
        add_biases(drawing, place, operation, corner + behind * along, along, entering)
    reach = (count if forward > 0.0 else 0.0) + has_bias * (1.0 + BIAS_GAP) * forward
    first = corner + (reach + forward * drawing.gap) * along + 0.5 * entering
    points = first + np.arange(outputs)[:, np.newaxis] * entering
    end = entering * (drawing.gap + outputs)
    add_wires(drawing, inputs, inputs + end, place, True)
    drawing.line(points, operation.target, operation.layer)
    back = leaving * (drawing.gap + count + has_bias * (1.0 + BIAS_GAP))
    add_wires(drawing, points - back, points, place, False)
    label(drawing, operation, corner, along * count, entering * outputs, leaving)
    drawing.leaving = leaving


def numbered(drawing: Drawing) -> FloatArray:
    """The direction in which the last line of neurons is numbered."""
    if abs(drawing.leaving[0]) < 0.5:
        return RIGHT
    points = drawing.points
    return UP if len(points) > 1 and points[1, 1] > points[0, 1] else DOWN


def label(
    drawing: Drawing,
    operation: Operation,
    corner: FloatArray,
    along: FloatArray,
    across: FloatArray,
    leaving: FloatArray,
) -> None:
    """The name of a layer, on that side of its plate where nothing comes in or goes out."""
    corners = np.array([corner, corner + along, corner + across, corner + along + across])
    entering = across / np.linalg.norm(across)
    above = bool(entering[1] > 0.5 or leaving[1] < -0.5)
    y = corners[:, 1].max() + 0.35 if above else corners[:, 1].min() - 0.35
    start, end = (np.array([x, y, 0.0]) for x in (corners[:, 0].min(), corners[:, 0].max()))
    leftward = bool(leaving[0] > 0.5)
    drawing.labels.append(Label(*drawing.about(operation.layer), start, end, not above, leftward))


def hang(drawing: Drawing, place: int, operation: Operation) -> None:
    """A plate to the right of the last line, upright, and a line to the right of it."""
    left = drawing.points[:, 0].max() + 2.0 * drawing.gap
    rows, columns = operation.target.size, operation.source.size
    corner = np.array([left, rows / 2.0, 0.0])
    add_plate(drawing, place, operation, corner, RIGHT, DOWN)
    end = left + columns
    if operation.biases != NONE:
        biases = corner + (columns + BIAS_GAP) * RIGHT
        add_biases(drawing, place, operation, biases, RIGHT, DOWN)
        end += 1.0 + BIAS_GAP
    points = spread(rows, DOWN, np.array([end + drawing.gap, 0.0, 0.0]))
    drawing.line(points, operation.target, operation.layer)
    start = np.array([left, -rows / 2.0 - 0.35, 0.0])
    drawing.labels.append(Label(*drawing.about(operation.layer), start, start + columns * RIGHT))


def go_on(drawing: Drawing, place: int, operation: Operation) -> None:
    """What is done to each line of neurons without crossing it."""
    if operation.kind == "activation":
        drawing.fill(operation)
        return
    leaving = drawing.leaving
    axis = numbered(drawing)
    middle = drawing.points.mean(axis=0)
    if operation.kind == "scale":
        start = drawing.points[0] + leaving * drawing.gap - 0.5 * axis
        parts = [("gain", operation.weights), ("shift", operation.biases)]
        parts = [(role, first) for role, first in parts if first != NONE]
        for i, (role, first) in enumerate(parts):
            origin = start + i * leaving
            drawing.plates.append(
                Plate(
                    *(first, operation.source.size, 1, 1, origin, leaving, axis, NEAR),
                    *(role, place, operation.layer),
                )
            )
        middle = middle + leaving * (len(parts) + drawing.gap)
        far = start + len(parts) * leaving + operation.source.size * axis
        left, right = sorted((float(start[0]), float(far[0])))
        below = axis is not RIGHT
        y = min(start[1], far[1]) - 0.35 if below else max(start[1], far[1]) + 0.35
        ends = np.array([left, y, 0.0]), np.array([right, y, 0.0])
        drawing.labels.append(Label(*drawing.about(operation.layer), *ends, below))
    points = spread(operation.target.size, axis, middle + leaving * drawing.gap)
    if axis is RIGHT and drawing.plates:
        # A wider line goes on to the right: on its left there may be plates.
        points = points + max(0.0, drawing.points[0, 0] - points[0, 0]) * RIGHT
    if len(points) == len(drawing.points):
        add_wires(drawing, drawing.points, points, place, True)
    drawing.line(points, operation.target, operation.layer)


def add_plate(
    drawing: Drawing,
    place: int,
    operation: Operation,
    corner: FloatArray,
    along: FloatArray,
    across: FloatArray,
) -> None:
    rows, columns = operation.target.size, operation.source.size
    drawing.plates.append(
        Plate(
            *(operation.weights, rows, columns, columns, corner, along, across, NEAR),
            *("weight", place, operation.layer),
        )
    )


def add_biases(
    drawing: Drawing,
    place: int,
    operation: Operation,
    corner: FloatArray,
    along: FloatArray,
    across: FloatArray,
) -> None:
    drawing.plates.append(
        Plate(
            *(operation.biases, operation.target.size, 1, 1, corner, along, across, NEAR),
            *("bias", place, operation.layer),
        )
    )


def add_wires(
    drawing: Drawing, start: FloatArray, end: FloatArray, place: int, outgoing: bool
) -> None:
    """Wires out of the last line of neurons, or into it; a little behind the cubes."""
    if len(start) <= WIRED:
        behind = -0.45 * NEAR
        drawing.wires.append(
            Wires(start + behind, end + behind, place, len(drawing.neurons) - 1, outgoing)
        )


def of_values(rows: Sequence[int], names: Sequence[str]) -> Layout:
    """Single values, by their rows of the bank: a few in a row with their names, or a block."""
    if len(rows) <= FEW:
        plates = [one_value(row, np.array([i * APART, 0.0, 0.0])) for i, row in enumerate(rows)]
        labels = []
        for plate, name in zip(plates, names, strict=True):
            start = plate.origin + 1.25 * DOWN
            labels.append(Label(name, "", start, start + RIGHT))
        return Layout(plates, (), (), labels)
    columns = round(np.sqrt(1.6 * len(rows)))
    plates = [
        one_value(row, np.array([float(i % columns), -float(i // columns), 0.0]))
        for i, row in enumerate(rows)
    ]
    if all(b - a == 1 for a, b in pairwise(rows)):
        whole, rest = divmod(len(rows), columns)
        plates = [block_of_values(rows[0], whole, columns, 0)]
        plates += [block_of_values(rows[whole * columns], 1, rest, whole)] if rest else []
    start = np.array([0.0, -len(rows) / columns - 0.85, 0.0])
    about = f"{len(rows)} parameters"
    return Layout(plates, (), (), [Label("values", about, start, start + columns * RIGHT)])


def one_value(row: int, corner: FloatArray) -> Plate:
    return Plate(int(row), 1, 1, 1, corner, RIGHT, DOWN, NEAR, "value")


def block_of_values(first: int, rows: int, columns: int, below: int) -> Plate:
    corner = np.array([0.0, -float(below), 0.0])
    return Plate(int(first), rows, columns, columns, corner, RIGHT, DOWN, NEAR, "value")
