"""Plates: where the cubes of a network stand, as arrays; `layout` places them.

A plate is a grid of cubes, one a number of the bank, `columns` to a row. A cell has the side 1, and
its cube stands in its middle. Between the plates are lines of neurons, and wires from one to the
other: a weight's cube sits where its input's wire crosses its output's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scalarviz.checks import FloatArray
from scalarviz.operations import NONE

RIGHT, UP, NEAR = np.eye(3)
DOWN = -UP


@dataclass(frozen=True, slots=True)
class Plate:
    """A grid of cubes.

    first      the row of the bank that the first cube shows
    stride     rows of the bank from one row of the plate to the next
    origin     the outer corner of the first cell, in space
    along      where columns go on, `across` where rows go on, and `toward` to where it is looked
               at from: of length 1, at right angles
    role       what its numbers are: weight, bias, gain, shift or value
    operation  of the program that they belong to, and `layer` of the network; NONE for no such
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

    @property
    def size(self) -> int:
        return self.rows * self.columns

    @property
    def indices(self) -> slice:
        """The rows of the bank between its first and its last cube."""
        return slice(self.first, self.index_of(self.rows - 1, self.columns - 1) + 1)

    def point(self, column: Any, row: Any, height: Any = 0.0) -> FloatArray:
        """Points in space, from places on the plate; (.5, .5) is the middle of the first cube."""
        places = np.stack(np.broadcast_arrays(column, row, height), axis=-1).astype(np.float64)
        points: FloatArray = self.origin + places @ np.stack([self.along, self.across, self.toward])
        return points

    def place_of(self, index: int) -> tuple[int, int] | None:
        """The row and the column of a row of the bank, if it is on this plate."""
        row, column = divmod(index - self.first, self.stride)
        inside = index >= self.first and row < self.rows and column < self.columns
        return (row, column) if inside else None

    def index_of(self, row: int, column: int) -> int:
        """The row of the bank that a cube shows."""
        return self.first + row * self.stride + column

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
    """

    points: FloatArray
    sums: str
    values: str
    names: Sequence[str] = ()
    layer: int = NONE


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
