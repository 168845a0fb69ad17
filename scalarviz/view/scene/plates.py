"""Plates: where the cubes of a network stand, as arrays; `layout` places them.

A plate is a grid of cubes, one a number of the bank, `columns` to a row. A cell has the side 1, and
its cube stands in its middle. A plate may be made of small plates, all of one size, with empty
cells between them: of a convolution, one for each kernel and each channel that it reads. Between
the plates are lines of neurons, and wires from one to the other: a weight's cube sits where its
input's wire crosses its output's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.model.operations import NONE, Places, Shape

RIGHT, UP, NEAR = np.eye(3)
DOWN = -UP


@dataclass(frozen=True, slots=True)
class Tiles:
    """How a plate is made of small plates; pairs are (downwards, to the right).

    size    rows and columns of cubes of a small plate
    pitch   cells from one small plate to the next
    stride  rows of the bank from one small plate to the next
    """

    size: tuple[int, int]
    pitch: tuple[int, int]
    stride: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Plate:
    """A grid of cubes.

    first      the row of the bank that the first cube shows
    rows       of cells, as many as it takes; and `columns`
    stride     rows of the bank from one row of the plate, or of a small plate, to the next
    origin     the outer corner of the first cell, in space
    along      where columns go on, `across` where rows go on, and `toward` to where it is looked
               at from: of length 1, at right angles
    role       what its numbers are: weight, bias, gain, shift or value
    operation  of the program that they belong to, and `layer` of the network; NONE for no such
    tiles      the small plates that it is made of; None: it is one
    turned     whether what comes in comes along its rows, as on a plate of `tiles` that is never
               turned itself, so that pictures and kernels stay upright
    """

    first: int
    rows: int
    columns: int
    stride: int
    origin: FloatArray
    along: FloatArray
    across: FloatArray
    toward: FloatArray
    role: str = "weight"
    operation: int = NONE
    layer: int = NONE
    tiles: Tiles | None = None
    turned: bool = False

    @property
    def grid(self) -> Tiles:
        """Its small plates; a plate that is not made of such is one."""
        whole = self.rows, self.columns
        return self.tiles or Tiles(whole, whole)

    @property
    def count(self) -> tuple[int, int]:
        """How many small plates there are, downwards and to the right."""
        (rows, columns), (down, right) = self.grid.size, self.grid.pitch
        return (self.rows - rows) // down + 1, (self.columns - columns) // right + 1

    @property
    def size(self) -> int:
        """How many cubes there are."""
        (rows, columns), (down, right) = self.grid.size, self.count
        return rows * columns * down * right

    @property
    def indices(self) -> slice:
        """The rows of the bank between its first and its last cube."""
        return slice(self.first, self.index_of(self.rows - 1, self.columns - 1) + 1)

    def cells(self) -> tuple[Places, Places, Places]:
        """Of each cube the row and the column of its cell, and its row of the bank."""
        grid, (down, right) = self.grid, self.count
        i, j, k, m = np.ogrid[:down, : grid.size[0], :right, : grid.size[1]]
        shown = self.first + i * grid.stride[0] + k * grid.stride[1] + j * self.stride + m
        row, column, shown = np.broadcast_arrays(
            i * grid.pitch[0] + j, k * grid.pitch[1] + m, shown
        )
        return row.ravel(), column.ravel(), shown.ravel()

    def point(self, column: Any, row: Any, height: Any = 0.0) -> FloatArray:
        """Points in space, from places on the plate; (.5, .5) is the middle of the first cube."""
        places = np.stack(np.broadcast_arrays(column, row, height), axis=-1).astype(np.float64)
        points: FloatArray = self.origin + places @ np.stack([self.along, self.across, self.toward])
        return points

    def place_of(self, index: int) -> tuple[int, int] | None:
        """The row and the column of the cell of a row of the bank, if it is on this plate."""
        if index < self.first:
            return None
        grid, count, left, at = self.grid, self.count, index - self.first, [0, 0]
        for axis in sorted((0, 1), key=lambda axis: -grid.stride[axis]):
            if grid.stride[axis]:
                at[axis] = min(left // grid.stride[axis], count[axis] - 1)
                left -= at[axis] * grid.stride[axis]
        row, column = divmod(left, self.stride)
        if row >= grid.size[0] or column >= grid.size[1]:
            return None
        return at[0] * grid.pitch[0] + row, at[1] * grid.pitch[1] + column

    def index_of(self, row: int, column: int) -> int:
        """The row of the bank that the cube in a cell shows; NONE for an empty cell."""
        grid = self.grid
        i, row = divmod(row, grid.pitch[0])
        k, column = divmod(column, grid.pitch[1])
        if row >= grid.size[0] or column >= grid.size[1]:
            return NONE
        return self.first + i * grid.stride[0] + k * grid.stride[1] + row * self.stride + column

    def corners(self, height: float = 0.5) -> FloatArray:
        """The eight corners of the box around its cubes."""
        c, r, h = np.array(np.meshgrid([0, self.columns], [0, self.rows], [-height, height]))
        return self.point(c.ravel(), r.ravel(), h.ravel())


@dataclass(frozen=True, slots=True)
class Neurons:
    """A line of neurons: what they add up to is a ring, what becomes of that fills it.

    points  (n, 3), their middles
    sums    the buffer of the program that is shown as rings; "" for none
    values  the buffer that is shown inside
    names   of each, where they have some
    layer   of the network; NONE for the inputs
    shape   (channels, height, width) where they are a picture a channel, and stand as its pixels
    side    cells from one number of a picture to the next
    also    more buffers that hold the same numbers as `values`
    way     (n, 3), a line past the plates, from the neurons that are added to these; or nothing
    """

    points: FloatArray
    sums: str
    values: str
    names: Sequence[str] = ()
    layer: int = NONE
    shape: Shape = ()
    side: float = 1.0
    also: Sequence[str] = ()
    way: FloatArray | None = None

    @property
    def buffers(self) -> tuple[str, ...]:
        """All buffers that it shows."""
        return tuple(name for name in (self.sums, self.values, *self.also) if name)

    def corners(self) -> FloatArray:
        """The corners of its pictures: (channels, 3, 3), upper left, upper right, lower left."""
        grid = self.points.reshape(*self.shape, 3)
        right, down = 0.5 * self.side * RIGHT, 0.5 * self.side * DOWN
        ends = (
            grid[:, 0, 0] - right - down,
            grid[:, 0, -1] + right - down,
            grid[:, -1, 0] - right + down,
        )
        return np.stack(ends, axis=1)


@dataclass(frozen=True, slots=True)
class Wires:
    """Straight wires, (n, 3) each: from a line of neurons into a plate, or out of it.

    neurons  the place of the line in the layout, and `outgoing` says that they begin there
    """

    start: FloatArray
    end: FloatArray
    operation: int
    neurons: int
    outgoing: bool


@dataclass(frozen=True, slots=True)
class Label:
    """Words beside a plate: its name, and what it is.

    start, end  the edge of the plate that they stand at, from left to right
    below       whether they stand below it, or above
    leftward    whether they begin at its right end, if they are longer than it
    """

    name: str
    about: str
    start: FloatArray
    end: FloatArray
    below: bool = True
    leftward: bool = False


@dataclass(frozen=True)
class Layout:
    """Everything that stands in the scene."""

    plates: Sequence[Plate]
    neurons: Sequence[Neurons]
    wires: Sequence[Wires]
    labels: Sequence[Label]

    def points(self) -> FloatArray:
        """Points that a picture of the whole should have in it."""
        return np.concatenate(
            [
                *(plate.corners() for plate in self.plates),
                *(line.points + side for line in self.neurons for side in (-0.5, 0.5)),
                *(line.way for line in self.neurons if line.way is not None),
                *(label.start[np.newaxis] for label in self.labels),
            ]
        )

    def plate_of(self, index: int) -> tuple[Plate, int, int] | None:
        """The plate, the row and the column of a row of the bank."""
        for plate in self.plates:
            place = plate.place_of(index)
            if place is not None:
                return (plate, *place)
        return None
