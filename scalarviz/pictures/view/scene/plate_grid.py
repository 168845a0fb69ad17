"""PlateGrid: geometry of the weights of one operation, outputs by inputs.

Weights that belong to pixels, of a kernel or of an input image, form one tile for each output and
channel, upright like the image.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scalarviz.base.checks.numbers import FloatArray
from scalarviz.core.model.operations import Operation, Shape
from scalarviz.pictures.view.scene.layout_builder import (
    ALONE,
    BETWEEN,
    WIRED,
    LayoutBuilder,
    Row,
    is_up,
    pitch_of,
)
from scalarviz.pictures.view.scene.plates import DOWN, NEAR, RIGHT, Plate, Tiles


@dataclass(frozen=True)
class PlateGrid:
    """The grid of an operation's weights.

    size    rows and columns of a tile; (1, 1) where each weight stands alone
    pitch   cells from one output to the next, and from one input to the next
    corner  corner of the plate; inputs go `along`, outputs `across`
    """

    operation: Operation
    place: int
    outputs: int
    inputs: int
    size: tuple[int, int]
    pitch: tuple[int, int]
    corner: FloatArray
    along: FloatArray
    across: FloatArray

    @property
    def is_upright(self) -> bool:
        """Whether the plate is made of tiles."""
        return self.pitch != (1, 1)

    def taken(self, axis: FloatArray) -> int:
        """Return the cells that one tile takes in a direction."""
        return self.size[0] if is_up(axis) else self.size[1]

    @property
    def length(self) -> int:
        """Cells from its first to its last input."""
        return (self.inputs - 1) * self.pitch[1] + self.taken(self.along)

    @property
    def depth(self) -> int:
        """Cells from its first to its last output."""
        return (self.outputs - 1) * self.pitch[0] + self.taken(self.across)

    @property
    def corners(self) -> FloatArray:
        """Its four corners, (4, 3)."""
        along, across = self.along * self.length, self.across * self.depth
        return np.array([self.corner + i * along + j * across for i in (0, 1) for j in (0, 1)])

    def places(self, axis: FloatArray, count: int, pitch: int) -> FloatArray:
        """Return the centers of the rows or columns of tiles, measured from the corner."""
        steps = np.arange(count) * pitch + self.taken(axis) / 2
        against = self.is_upright and (axis @ DOWN < -0.5)  # rows of upright tiles count downwards
        far: FloatArray = (steps[::-1] if against else steps)[:, np.newaxis] * axis
        return self.corner + far

    @property
    def entries(self) -> FloatArray:
        """Where the wires of the inputs arrive, one per input."""
        return self.places(self.along, self.inputs, self.pitch[1])

    @property
    def rows(self) -> FloatArray:
        """Where the rows begin, one per output."""
        return self.places(self.across, self.outputs, self.pitch[0])

    def weights(self) -> Plate:
        operation, size = self.operation, self.size
        about = "weight", self.place, operation.layer
        if not self.is_upright:
            columns = self.inputs
            shape = operation.weights, self.outputs, columns, columns
            return Plate(*shape, self.corner, self.along, self.across, NEAR, *about)
        origin = np.array([self.corners[:, 0].min(), self.corners[:, 1].max(), 0.0])
        pixels, turned = size[0] * size[1], is_up(self.along)
        down, right = (self.outputs, self.pitch[0]), (self.inputs, self.pitch[1])
        by_row, by_column = self.inputs * pixels, pixels
        if turned:
            down, right, by_row, by_column = right, down, by_column, by_row
        rows, columns = ((n - 1) * each for n, each in (down, right))
        tiles = Tiles(size, (down[1], right[1]), (by_row, by_column))
        shape = operation.weights, rows + size[0], columns + size[1], size[1]
        return Plate(*shape, origin, RIGHT, DOWN, NEAR, *about, tiles, turned)

    def biases(self, behind: float) -> Plate:
        """Return the plate of biases, `behind` cells from the first input."""
        pitch, rows = self.pitch[0], self.rows
        axis = rows[-1] - rows[0] if len(rows) > 1 else self.across
        axis = np.sign(axis)
        origin = rows[0] - 0.5 * axis + behind * self.along
        return cubes_at(
            *(self.operation.biases, self.outputs, pitch, origin, self.along, axis),
            *("bias", self.place, self.operation.layer),
        )


def cubes_at(
    first: int,
    count: int,
    pitch: int,
    origin: FloatArray,
    along: FloatArray,
    across: FloatArray,
    role: str,
    place: int,
    layer: int,
) -> Plate:
    """Return a plate of single cubes in one column, `pitch` cells apart."""
    tiles = Tiles((1, 1), (pitch, 1), (1, 0)) if pitch > 1 else None
    rows = (count - 1) * pitch + 1
    return Plate(first, rows, 1, 1, origin, along, across, NEAR, role, place, layer, tiles)


def grid_of(drawing: LayoutBuilder, place: int, along: FloatArray, across: FloatArray) -> PlateGrid:
    """Return the grid of an operation's weights; its corner is set later."""
    operation, row = drawing.program.operations[place], drawing.row
    shape = operation.shape
    if len(shape) == 2 and row.shape and is_better_by_pixels(shape, row.shape):
        shape = shape[0], *row.shape
    size, pitch = (1, 1), (1, 1)
    if len(shape) > 2:
        size = shape[2], shape[3]
        pitch = apart_of(drawing, place, shape)
    return PlateGrid(operation, place, shape[0], shape[1], size, pitch, np.zeros(3), along, across)


def apart_of(drawing: LayoutBuilder, place: int, shape: Shape) -> tuple[int, int]:
    """Return the cells between outputs and between inputs, matched to the images beside them."""
    row, written = drawing.row, drawing.shape_of(place)
    inwards = outwards = max(shape[2:]) + 1
    if len(row.middles) == shape[1] > 1 and row.pitch >= inwards:
        inwards = int(row.pitch)
    if written[:1] == shape[:1]:
        outwards = pitch_of(drawing.program, place, written)
    return outwards, inwards


def is_better_by_pixels(shape: Shape, picture: Shape) -> bool:
    """Return whether a matrix that reads images is smaller if drawn as one tile per channel."""
    outputs, inputs = shape
    channels, height, width = picture
    longest = max(outputs * (max(height, width) + 1), channels * (max(height, width) + 1))
    return inputs > WIRED and longest < max(inputs, outputs)


def row_behind(drawing: LayoutBuilder, grid: PlateGrid) -> Row:
    """Return the row of an operation's outputs, aligned with the grid's rows."""
    rows, shape = grid.rows, drawing.shape_of(grid.place)
    groups = shape[0] if shape else grid.outputs
    each = grid.outputs // groups
    if grid.outputs % groups:  # a convolution whose outputs are read as other images
        places = np.linspace(0.0, len(rows) - 1.0, groups)
        middles = np.stack([np.interp(places, np.arange(len(rows)), axis) for axis in rows.T], 1)
        pitch = grid.pitch[0] * max(1, len(rows) - 1) / max(1, groups - 1)
    else:
        middles = rows.reshape(groups, each, 3).mean(axis=1)
        pitch = float(each * grid.pitch[0])
    axis = np.sign(middles[-1] - middles[0]) if groups > 1 else grid.across
    if groups == 1 and is_up(axis):
        axis = DOWN
    side = 1.0
    if shape:
        side = min(max(pitch - BETWEEN, 0.5 * pitch), ALONE[1]) / max(shape[1:])
    return Row(middles, axis, pitch, shape, side)


def joints(grid: PlateGrid, row: Row) -> tuple[FloatArray, FloatArray]:
    """Return where wires leave a row, and where they arrive at a plate.

    An image whose pixels have a column each is joined by two wires, at its edges.
    """
    ahead = row.half(grid.across) * grid.across if row.shape else 0.0 * grid.across
    if len(row.middles) == grid.inputs:
        return row.middles + ahead, grid.entries
    each = grid.inputs // len(row.middles)
    rim = row.half(grid.along) * grid.along
    starts = np.concatenate([row.middles - rim, row.middles + rim]) + ahead
    first = np.arange(len(row.middles)) * each
    return starts, grid.corner + np.append(first, first + each)[:, np.newaxis] * grid.along


def wires_into(drawing: LayoutBuilder, grid: PlateGrid, row: Row) -> None:
    """Append the wires from a row down the columns of a plate."""
    starts, ends = joints(grid, row)
    far = grid.depth * grid.across
    is_straight = len(starts) == grid.inputs and np.allclose((ends - starts) @ grid.along, 0.0)
    if is_straight:
        drawing.wire(row.middles, grid.entries + far, grid.place, outgoing=True)
    else:
        drawing.wire(starts, ends, grid.place, outgoing=True)
        drawing.wire(grid.entries, grid.entries + far, grid.place, outgoing=True)


def wires_out(
    drawing: LayoutBuilder,
    grid: PlateGrid,
    behind: Row,
    leaving: FloatArray,
    near: float,
    far: float,
) -> None:
    """Append the wires along the rows of a plate, from `near`, to the row behind it."""
    rows = grid.rows
    if len(rows) == len(behind.middles):
        drawing.wire(rows + near * leaving, behind.middles, grid.place, outgoing=False)
        return
    drawing.wire(rows + near * leaving, rows + far * leaving, grid.place, outgoing=False)
    if grid.outputs % len(behind.middles):
        return
    each = grid.outputs // len(behind.middles)
    ends = np.concatenate(
        [rows[::each] - 0.5 * grid.across, rows[each - 1 :: each] + 0.5 * grid.across]
    )
    rim = behind.half(grid.across) * grid.across
    starts = np.concatenate([behind.middles - rim, behind.middles + rim])
    starts = starts - behind.half(leaving) * leaving
    drawing.wire(ends + far * leaving, starts, grid.place, outgoing=False)
