"""Layouts: place plates, rows of neurons, wires and labels of a program in space.

Three layouts:

- beads     every weight is a cube on the wire between its two neurons; see `beads`
- crossbar  neurons enter a plate on one side and leave at a right angle, so each weight's cube
            sits where the wire of its input crosses the wire of its output. Each plate is turned
            against the one before: layers go right, down, right, up, right ...
- posters   plates beside each other, drawn as matrices with one row per perceptron

A convolution is a plate of tiles, one for each kernel and input channel; its inputs and outputs are
images, one per channel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from scalarviz.base.checks.numbers import FloatArray
from scalarviz.core.model.operations import NONE, Buffer, Operation, Shape
from scalarviz.core.model.program import Program
from scalarviz.pictures.view.scene.beads import beads
from scalarviz.pictures.view.scene.layout_builder import (
    BETWEEN,
    RIM,
    Fork,
    LayoutBuilder,
    Row,
    box_of,
    is_up,
    pitch_of,
    row_alone,
    row_of,
    straight_way,
)
from scalarviz.pictures.view.scene.plate_grid import (
    PlateGrid,
    cubes_at,
    grid_of,
    joints,
    row_behind,
    wires_into,
    wires_out,
)
from scalarviz.pictures.view.scene.plates import DOWN, NEAR, RIGHT, UP, Layout, Plate, Tiles

GAP = 1.3  # cells between a plate and a row of neurons
BIAS_GAP = 0.5  # cells between weights and biases
WIDER = 0.03  # least gap, as a share of the longest side of a plate
FAN = 0.12  # cells added to a gap for each cell that wires shift sideways


def crossbar(
    program: Program,
    about: Callable[[str], tuple[str, str]],
    names: Mapping[str, Sequence[str]] | None = None,
    aspect: float = 1.75,
) -> Layout:
    """Lay out a program with plates turned in alternation; see `lay_out`."""
    return lay_out(program, about, names, DOWN, cross)


def posters(
    program: Program,
    about: Callable[[str], tuple[str, str]],
    names: Mapping[str, Sequence[str]] | None = None,
    aspect: float = 1.75,
) -> Layout:
    """Lay out a program with upright plates beside each other, centered; see `lay_out`."""
    return lay_out(program, about, names, RIGHT, hang)


LAYOUTS = {"beads": beads, "crossbar": crossbar, "posters": posters}


def lay_out(
    program: Program,
    about: Callable[[str], tuple[str, str]],
    names: Mapping[str, Sequence[str]] | None,
    leaving: FloatArray,
    put: Callable[[LayoutBuilder, int, Operation], None],
) -> Layout:
    """Lay out a program from its inputs to its outputs.

    about    returns the name and a description of a layer
    names    names of the neurons of a buffer
    leaving  the direction from the inputs to the first plate
    put      places the plate of an operation, and the row of neurons behind it
    """
    longest = max((length(buffer.size, buffer.shape) for buffer in program.buffers), default=1)
    drawing = LayoutBuilder(program, about, names or {}, max(GAP, WIDER * longest), leaving=leaving)
    axis = RIGHT if is_up(leaving) else DOWN
    inputs = program.inputs
    drawing.line(first_row(program, inputs.shape, inputs.size, axis, NONE), inputs, NONE)
    for place, operation in enumerate(program.operations):
        if len(operation.sources) == 1 and operation.source.name not in drawing.neurons[-1].buffers:
            begin_again(drawing, place, operation)
        if len(operation.shape) > 1:
            put(drawing, place, operation)
        else:
            alone = join if len(operation.sources) > 1 else go_on
            usual = scale if operation.parameters else alone
            STEPS.get(operation.kind, usual)(drawing, place, operation)
    return drawing.finished()


def length(size: int, shape: Shape) -> int:
    """Return the approximate length of a row, in cells."""
    return 4 * shape[0] if shape else size


def first_row(program: Program, shape: Shape, size: int, axis: FloatArray, place: int) -> Row:
    """Return a row for what the operation at `place` writes, centered at the origin."""
    pitch = pitch_of(program, place, shape)
    if shape and shape[0] == 1:
        return row_alone(axis, pitch, shape)
    return row_of(shape[0] if shape else size, axis, pitch, shape)


# A plate, and the row behind it.


def cross(drawing: LayoutBuilder, place: int, operation: Operation) -> None:
    """Place a plate that the last row enters, and a row that leaves it at a right angle."""
    entering, row = drawing.leaving, drawing.row
    downward = drawing.turn % 4 == 1 or ends_in_sum(drawing.program, place)
    leaving = RIGHT if is_up(entering) else DOWN if downward else UP
    drawing.turn += 1
    along, has_bias = row.axis, operation.biases != NONE
    forward = bool(leaving @ along > 0.0)  # whether the biases stand behind the last input
    grid = grid_of(drawing, place, along, entering)
    middle = row.middles.mean(axis=0) - 0.5 * grid.length * along
    if is_up(entering) and drawing.plates:
        # A plate wider than its row extends to the right: there may be plates on its left.
        left = float(row.middles[:, 0].min()) - (row.half(RIGHT) if row.shape else 0.5)
        middle = middle + max(0.0, left - float(middle[0])) * RIGHT
    grid = replace(grid, corner=middle + room_before(drawing, grid, middle) * entering)
    # The wires cross on the plate.
    drawing.plates.append(grid.weights())
    if has_bias:
        drawing.plates.append(grid.biases(grid.length + BIAS_GAP if forward else -1.0 - BIAS_GAP))
    wires_into(drawing, grid, row)
    reach = grid.length * forward + has_bias * (1.0 + BIAS_GAP)
    # A row to the right goes beyond everything placed so far: plates after it may go up.
    edge = drawing.leave_to_right() if leaving is RIGHT else ends_of(row, leaving)
    beside = edge - float(grid.corner @ leaving)
    behind = row_behind(drawing, grid)
    behind = behind.moved((max(reach, beside) + drawing.gap + behind.reach(leaving)) * leaving)
    drawing.line(behind, operation.target, operation.layer)
    wires_out(drawing, grid, behind, leaving, -grid.length * (not forward), reach)
    above = bool(entering[1] > 0.5 or leaving[1] < -0.5)
    corners, leftward = grid.corners, bool(leaving[0] > 0.5)
    if behind.shape and leftward:  # below images there is room, too
        corners = np.concatenate([corners, box_of(behind.points, behind.side)])
    drawing.label(operation.label, corners, above=above, leftward=leftward)
    drawing.leaving = leaving


def ends_of(row: Row, direction: FloatArray) -> float:
    """Return how far a row extends in a direction."""
    return float((row.middles @ direction).max()) + row.half(direction)


def ends_in_sum(program: Program, place: int) -> bool:
    """Return whether a skip connection joins right behind this plate, so it cannot go up."""
    following = program.operations[place + 1 :]
    kinds = ["join" if len(each.sources) > 1 else len(each.shape) > 1 for each in following]
    return "join" in kinds and True not in kinds[: kinds.index("join")]


def room_before(drawing: LayoutBuilder, grid: PlateGrid, corner: FloatArray) -> float:
    """Return the cells between the last row and a plate whose inputs begin level with `corner`."""
    row, behind = drawing.row, row_behind(drawing, grid)
    steps = (behind.middles - grid.corner) @ grid.across
    over = max(0.0, behind.half(grid.across) - float(steps.min())) if grid.is_upright else 0.0
    ends = joints(replace(grid, corner=corner), row)
    aside = float(np.abs((ends[1] - ends[0]) @ grid.along).max())
    fan = 1.0 + FAN * aside if aside > 1e-6 else 0.0
    return drawing.gap + row.reach(grid.across) + over + fan


def hang(drawing: LayoutBuilder, place: int, operation: Operation) -> None:
    """Place an upright plate to the right of the last row, and a row to the right of it."""
    row = drawing.row
    left = float(row.middles[:, 0].max()) + row.reach(RIGHT) + 2.0 * drawing.gap
    grid = grid_of(drawing, place, RIGHT, DOWN)
    grid = replace(grid, corner=np.array([left, grid.depth / 2.0, 0.0]))
    drawing.plates.append(grid.weights())
    end = float(grid.length)
    if operation.biases != NONE:
        drawing.plates.append(grid.biases(end + BIAS_GAP))
        end += 1.0 + BIAS_GAP
    behind = row_behind(drawing, grid)
    behind = behind.moved((end + drawing.gap + behind.reach(RIGHT)) * RIGHT)
    drawing.line(behind, operation.target, operation.layer)
    drawing.label(operation.label, grid.corners)


# Operations without a plate of weights.


def go_on(drawing: LayoutBuilder, place: int, operation: Operation) -> None:
    """Place another row in the same direction."""
    following = row_after(drawing, place)
    if len(following.middles) == len(drawing.row.middles):
        drawing.wire(drawing.row.middles, following.middles, place, outgoing=True)
    drawing.line(following, operation.target, operation.layer)


def row_after(
    drawing: LayoutBuilder, place: int, room: float = 0.0, shown: Buffer | None = None
) -> Row:
    """Return the next row if no plate comes between, with `room` added to the gap.

    shown  the buffer that it shows, by default what the operation at `place` writes
    """
    row, leaving = drawing.row, drawing.leaving
    shape = drawing.shape_of(place) if shown is None else shown.shape
    neurons = (shown or drawing.program.operations[place].target).size
    count = shape[0] if shape else neurons
    if count == len(row.middles):
        size = row.side * max(row.shape[1:], default=1) * (1.0 if row.shape else 2.0 * RIM)
        side = size / max(shape[1:]) if shape else 1.0
        found = replace(row, shape=shape, side=side)
    else:
        found = first_row(drawing.program, shape, neurons, row.axis, place)
        found = found.moved(row.middles.mean(axis=0))
        if is_up(leaving) and drawing.plates:
            # A wider row extends to the right: there may be plates on its left.
            lefts = [each.middles[:, 0].min() - each.half(RIGHT) for each in (row, found)]
            found = found.moved(max(0.0, float(lefts[0] - lefts[1])) * RIGHT)
    apart = row.reach(leaving) + found.reach(leaving) + drawing.gap + room
    return found.moved(apart * leaving)


def activate(drawing: LayoutBuilder, place: int, operation: Operation) -> None:
    """Show an activation in the last row, whose values so far become its sums."""
    last = drawing.neurons[-1]
    if last.sums or last.layer == NONE:
        go_on(drawing, place, operation)
    else:
        drawing.fill(operation)


def branch(drawing: LayoutBuilder, place: int, operation: Operation) -> None:
    """Mark the last row as the start of a skip connection."""
    drawing.repeat(operation)
    fork(drawing)


def fork(drawing: LayoutBuilder) -> None:
    """Note the last row as one that a later row reads past the plates between."""
    begin = Fork(len(drawing.neurons) - 1, len(drawing.plates), drawing.leaving)
    drawing.branches.update(dict.fromkeys(drawing.neurons[-1].buffers, begin))


def begin_again(drawing: LayoutBuilder, place: int, operation: Operation) -> None:
    """Repeat the row that an operation reads, behind the branch before, as its second branch."""
    fork(drawing)
    following = row_after(drawing, place, drawing.gap, operation.source)
    way = straight_way(drawing, drawing.branches[operation.source.name], following)
    drawing.line(following, operation.source, operation.layer, way)


def join(drawing: LayoutBuilder, place: int, operation: Operation) -> None:
    """Place a row that reads a skip connection, and the line of that connection past the plates."""
    following, row = row_after(drawing, place), drawing.row
    way = None
    if begin := skipped(drawing, operation):
        way = straight_way(drawing, begin, following)
    parts = following.middles
    if operation.kind == "concatenation":  # which goes on from the last row, with one of its parts
        is_first = operation.source.name in drawing.neurons[-1].buffers
        parts = parts[: len(row.middles)] if is_first else parts[-len(row.middles) :]
    if len(parts) == len(row.middles):
        drawing.wire(row.middles, parts, place, outgoing=True)
    drawing.line(following, operation.target, operation.layer, way)


def skipped(drawing: LayoutBuilder, operation: Operation) -> Fork | None:
    """Return the row that an operation reads past the plates before it."""
    last = drawing.neurons[-1].buffers
    names = [source.name for source in operation.sources[::-1]]
    return drawing.branches.get(next((name for name in names if name not in last), names[0]))


def scale(drawing: LayoutBuilder, place: int, operation: Operation) -> None:
    """Place the gains, then the shifts, then the row of the outputs."""
    row, leaving = drawing.row, drawing.leaving
    parts = [("gain", operation.weights), ("shift", operation.biases)]
    parts = [(role, first) for role, first in parts if first != NONE]
    own, room, gap = [], 0.0, drawing.gap + row.reach(leaving)
    for role, first in parts:
        plate = one_each(drawing, place, first, role, (gap + room) * leaving)
        own.append(plate)
        room += float(np.ptp(plate.corners(0.0) @ leaving)) + BETWEEN * is_by_pixels(plate)
    following = row_after(drawing, place, room + drawing.gap)
    drawing.plates += own
    if len(following.middles) == len(row.middles):
        drawing.wire(row.middles, following.middles, place, outgoing=True)
    corners = np.concatenate([plate.corners(0.0) for plate in own])
    if row.shape:  # below images there is room, too
        corners = np.concatenate([corners, box_of(following.points, following.side)])
    above = not is_up(row.axis)
    drawing.label(operation.label, corners, above=above, leftward=bool(row.shape))
    drawing.line(following, operation.target, operation.layer)


def is_by_pixels(plate: Plate) -> bool:
    """Return whether a plate has tiles of more than one cube."""
    return plate.tiles is not None and plate.tiles.size != (1, 1)


def one_each(drawing: LayoutBuilder, place: int, first: int, role: str, way: FloatArray) -> Plate:
    """Return a plate with a parameter per neuron, image or pixel, `way` from the row."""
    row, operation = drawing.row, drawing.program.operations[place]
    count, axis, leaving = operation.shape[0], row.axis, drawing.leaving
    about = role, place, operation.layer
    if count != len(row.middles) and row.shape:
        return pixel_by_pixel(row, first, row.middles.mean(axis=0) + way, leaving, about)
    pitch, begin = int(row.pitch), row.middles[0]
    if count != len(row.middles):  # several neurons share one parameter
        pitch = len(row.middles) // count
        begin = begin + (pitch - 1) / 2 * axis
    origin = begin - 0.5 * axis + way
    return cubes_at(first, count, pitch, origin, leaving, axis, *about)


def pixel_by_pixel(
    row: Row, first: int, begin: FloatArray, leaving: FloatArray, about: tuple[str, int, int]
) -> Plate:
    """Return a plate shaped like the images of a row; `begin` is the middle of one of its sides."""
    channels, height, width = row.shape
    down = 0 if is_up(row.axis) else 1
    pitch, size = max(height, width) + 1, (height, width)
    long = (channels - 1) * pitch + size[down]
    rows, columns = (long, width) if down == 0 else (height, long)
    stride = (height * width, 0) if down == 0 else (0, height * width)
    tiles = Tiles(size, (pitch, pitch), stride)
    middle = begin + 0.5 * (columns if down == 0 else rows) * leaving
    origin = middle - 0.5 * columns * RIGHT - 0.5 * rows * DOWN
    return Plate(first, rows, columns, width, origin, RIGHT, DOWN, NEAR, *about, tiles, down == 0)


# Kinds that neither `go_on` nor `join` nor `scale` places.
STEPS: dict[str, Callable[[LayoutBuilder, int, Operation], None]] = {
    "activation": activate,
    "branch": branch,
}
