"""Geometry of the scene: plates of cubes, rows of neurons, wires and labels.

A plate is a grid of cubes, one for each number of the bank, `columns` to a row, each in the center
of a cell. A plate may be divided into tiles of one size with empty cells between them: for a
convolution, one for each kernel and input channel. Between plates are rows of neurons and fans: the
lines into the cubes of a layer, and from them to its neurons.

Pages run it as JavaScript, see docs/TRANSLATOR.md; methods over arrays are in web/layout.js.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import Places, Shape
from scalarviz.scene.layout.camera import Camera
from scalarviz.scene.layout.points import row3, vector
from scalarviz.scene.layout.projection import Found
from scalarviz.story.facts import NONE, Neuron

RIGHT, UP, NEAR = vector(1.0, 0.0, 0.0), vector(0.0, 1.0, 0.0), vector(0.0, 0.0, 1.0)
DOWN = -1.0 * UP
Step = tuple[int, int, int]  # of a thread: fan, unit after it, and column
SIDE = 1.1  # side of an input color, in cells
RGB = "R", "G", "B"  # names of the channels of a color
WIRED = 12  # maximum units before rows with individual wires; more have a ribbon
SCORED = 2.35  # cells from a neuron to the end of its bar
MOST = 1.06  # size of a cube beyond the scale, relative to the largest
HALF = 0.42  # half the side of the largest cube, in space
LEAST, LEAST_ON_WALL = 0.3, 0.58  # side of the smallest cube relative to the largest, see `seat`
FIELD = 1.12  # scale of the cubes of kernels, which are flat fields of one size
FULL, FLUSH = 0.9, 1.05  # maximum fraction of a cell for a cube; seat by half a cube


@dataclass(frozen=True, slots=True)
class Tiles:
    """Division of a plate into tiles; pairs are (downwards, to the right).

    Attributes:
        size: rows and columns of cubes of a tile
        pitch: cells between tiles
        stride: bank indices between tiles
    """

    size: tuple[int, int]
    pitch: tuple[int, int]
    stride: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Plate:
    """A grid of cubes.

    Attributes:
        first: bank index of the first cube
        rows: number of rows of cells; `columns` likewise
        stride: bank indices between rows of the plate, or of a tile
        origin: outer corner of the first cell, in space
        along: the vector between columns, `across` between rows, and `toward` the unit vector to
            the viewer: orthogonal
        role: role of its numbers: weight, bias, gain, shift or value
        operation: index in the program, and `layer` in the network; NONE without one
        tiles: its division; None for an undivided plate
        seat: from the center of a cell to the base of cubes, forwards and downwards: a cube of half
            side h has its center seat - h away from it, in both directions; at most half a cell
            downwards; 0, the default, for cubes in the center of their cells
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
    seat: float = 0.0

    @cached_property
    def _corners(self) -> dict[float, FloatArray]:
        return {}

    @cached_property
    def cell(self) -> tuple[float, float]:
        """Width and height of a cell in space."""
        return math.hypot(*self.along), math.hypot(*self.across)

    @property
    def axes(self) -> FloatArray:
        """Its unit vectors, one per row: along, across, and to the viewer."""
        width, height = self.cell
        return np.stack([self.along / width, self.across / height, self.toward])

    @property
    def unit(self) -> float:
        """Size of its cubes: 1, or less in small cells; with a seat, by seat and cells."""
        if self.seat:
            return min(self.seat / FLUSH, 0.5 * FULL * min(self.cell)) / HALF
        return (FIELD if self.tiles else 1.0) * min(1.0, *self.cell)

    @cached_property
    def half(self) -> float:
        """Half the side of its largest cube, in space."""
        return HALF * self.unit

    @property
    def in_row(self) -> bool:
        """Whether its cubes are side by side in rows, each at its position, or it is one cube."""
        return (self.seat > 0.0 or self.size == 1) and self.tiles is None

    @property
    def is_numbered(self) -> bool:
        """Whether its cubes may be numbered at rest."""
        return self.in_row or self.role in ("gain", "shift")

    @property
    def gap(self) -> float:
        """Room for numbers between its rows, in cube sizes."""
        return self.cell[1] / self.unit - 1.0 if self.is_numbered else 0.0

    @property
    def least(self) -> float:
        """Side of its smallest cube relative to the largest."""
        if self.tiles is not None:
            return 1.0
        return LEAST if self.seat else LEAST_ON_WALL

    @property
    def standing_at(self) -> float:
        """Its seat; negative if its cubes are of one size, as shaders read it."""
        return self.seat if self.tiles is None else -1.0

    def halves(self, sizes: FloatArray, top: float) -> FloatArray:
        """Return half the side of the cube of each number; NaN is drawn largest.

        Args:
            top: the number of the largest cube
        """
        parts = np.cbrt(np.abs(np.asarray(sizes, np.float64)) / top)
        parts = np.minimum(np.maximum(parts, self.least), MOST)
        return np.asarray(self.half * np.where(np.isnan(parts), 1.0, parts))

    @cached_property
    def grid(self) -> Tiles:
        """Its tiles; an undivided plate is one tile."""
        whole = self.rows, self.columns
        return Tiles(whole, whole) if self.tiles is None else self.tiles

    @cached_property
    def count(self) -> tuple[int, int]:
        """Number of tiles, downwards and to the right."""
        (rows, columns), (down, right) = self.grid.size, self.grid.pitch
        return (self.rows - rows) // down + 1, (self.columns - columns) // right + 1

    @cached_property
    def size(self) -> int:
        """Number of cubes."""
        (rows, columns), (down, right) = self.grid.size, self.count
        return rows * columns * down * right

    @cached_property
    def indices(self) -> slice:
        """Bank indices from its first to its last cube."""
        return slice(self.first, self.index_of(self.rows - 1, self.columns - 1) + 1)

    def cells(self) -> tuple[Places, Places, Places]:
        """Return row and column of the cell of each cube, and its bank index."""
        grid, (down, right) = self.grid, self.count
        i, j, k, m = np.ogrid[:down, : grid.size[0], :right, : grid.size[1]]
        shown = self.first + i * grid.stride[0] + k * grid.stride[1] + j * self.stride + m
        row, column, shown = np.broadcast_arrays(
            i * grid.pitch[0] + j, k * grid.pitch[1] + m, shown
        )
        return row.ravel(), column.ravel(), shown.ravel()

    @cached_property
    def face(self) -> FloatArray:
        """Corners of the central plane of its cubes, in order, (4, 3)."""
        columns, rows = self.columns, self.rows
        return self.point(np.array([0, columns, columns, 0]), np.array([0, 0, rows, rows]))

    @cached_property
    def shadows(self) -> tuple[FloatArray, Places]:
        """Centers of the cells in space, and the bank index of the cube in each."""
        row, column, indices = self.cells()
        return self.point(column + 0.5, row + 0.5), indices

    def point(self, column: Any, row: Any, height: Any = 0.0) -> FloatArray:
        """Return points in space for positions on the plate; (.5, .5) is the first center."""
        places = np.stack(np.broadcast_arrays(column, row, height), axis=-1).astype(np.float64)
        return np.asarray(self.origin + places @ np.stack([self.along, self.across, self.toward]))

    def middle(self, row: Any, column: Any, half: Any = None) -> FloatArray:
        """Return centers of cubes in space; `half` are their half sides, by default the largest."""
        return self.point(*self.standing(row, column, self.half if half is None else half))

    def standing(self, row: Any, column: Any, half: Any) -> list[Any]:
        """Return the position on the plate of a cube's center, and its height."""
        low = self.lowered(half)
        return [column + 0.5, row + 0.5 + low / self.cell[1], low]

    def lowered(self, half: Any) -> Any:
        """Return the distance between a cube's and its cell's centers, forwards and downwards."""
        return self.seat - half if self.seat else 0.0 * half

    def place_of(self, index: int) -> tuple[int, int] | None:
        """Return row and column of the cell of a bank index, or None."""
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
        """Return the bank index of the cube in a cell; NONE for an empty cell."""
        grid = self.grid
        i, down = divmod(row, grid.pitch[0])
        k, right = divmod(column, grid.pitch[1])
        if down >= grid.size[0] or right >= grid.size[1]:
            return NONE
        return self.first + i * grid.stride[0] + k * grid.stride[1] + down * self.stride + right

    def corners_of(self, row: int, column: int, half: float, margin: float = 0.0) -> FloatArray:
        """Return the corners of a cube with this half side, and a margin, in space, (8, 3)."""
        signs = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        return np.asarray(self.middle(row, column, half) + (half + margin) * signs @ self.axes)

    def corners(self, height: float = 0.5) -> FloatArray:
        """Return the eight corners of the box around its cubes, (8, 3), read-only."""
        if height not in self._corners:
            c, r, h = np.array(np.meshgrid([0, self.columns], [0, self.rows], [-height, height]))
            found = self.point(c.ravel(), r.ravel(), h.ravel() + self.lowered(self.half))
            found.flags.writeable = False
            self._corners[height] = found
        return self._corners[height]


@dataclass(frozen=True, slots=True)
class Neurons:
    """A row of neurons, which show their weighted sums until their outputs are computed.

    Attributes:
        points: (n, 3), centers
        sums: the buffer of the weighted sums, or ""
        values: the buffer of the outputs
        names: name of each neuron; may be empty
        layer: index in the network; NONE for the inputs
        shape: (channels, height, width) if the neurons are the pixels of images, one per channel
        side: cells between pixels
        also: further buffers with the same numbers as `values`
        way: (n, 3), the line of a skip connection that is added here; or None
        radius: of the neurons
        tied: center of the color represented by these neurons, to which lines lead; or None
        square: whether they are squares that show their functions, with `radius` half the side
        along: unit vector along the rows of images
        told: whether the number of each is below it
        scores: whether each has its number as a bar beside it, and no ball
        bends: heights of the curve of their activation around 0; a straight line without
        curve: name of the activation, or of what evens them out
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
    radius: float = 0.36
    tied: FloatArray | None = None
    square: bool = False
    told: bool = False
    scores: bool = False
    bends: Sequence[float] = (-1.0, 1.0)
    curve: str = ""
    along: Sequence[float] = (1.0, 0.0, 0.0)

    @property
    def is_color(self) -> bool:
        """Whether its neurons are the channels of a color."""
        return (*self.names,) == RGB

    @property
    def buffer(self) -> str:
        """The buffer that names its neurons."""
        return self.values or self.sums

    @property
    def buffers(self) -> tuple[str, ...]:
        """All buffers that are drawn here."""
        return tuple(name for name in (self.sums, self.values, *self.also) if name)

    @property
    def count(self) -> int:
        """Number of its neurons."""
        return int(self.points.shape[0])

    @property
    def stops(self) -> list[int]:
        """The indices of keyboard selection: for an image, its center."""
        if not self.shape:
            return [*range(self.count)]
        channels, height, width = self.shape
        middle = height // 2 * width + width // 2
        return [channel * height * width + middle for channel in range(channels)]

    def corners(self) -> FloatArray:
        """Return (channels, 3, 3): upper left, upper right and lower left corner of each image."""
        grid = self.points.reshape(*self.shape, 3)
        right, down = 0.5 * self.side * np.array(self.along), 0.5 * self.side * DOWN
        ends = (
            grid[:, 0, 0] - right - down,
            grid[:, 0, -1] + right - down,
            grid[:, -1, 0] - right + down,
        )
        return np.stack(ends, axis=1)


@dataclass(frozen=True, slots=True)
class Wires:
    """Straight wires from `start` to `end`, (n, 3) each, between lines without trays.

    Attributes:
        operation: index in the program
        neurons: index of the row of neurons in the layout
        outgoing: whether the wires begin at the neurons
    """

    start: FloatArray
    end: FloatArray
    operation: int
    neurons: int
    outgoing: bool


@dataclass(frozen=True)
class Fan:
    """The lines of the sums of a layer, or of one of its groups, with their ends.

    Attributes:
        weights, inputs: first bank index of the weights, and their number for each unit after them
        biases: first bank index of the biases; NONE without
        starts: (n, 3), the units before it
        columns: (n, 3), their columns, and last the one of the biases
        ends, rows: (m, 3), the units after it, and their rows: a cube is at rows[i] + columns[j]
        operation: index in the program
        before, after: indices of the lines of neurons in the layout; NONE without
        begin: from its first column to the beginning of its trays
        foot: from the center of a cell to the origin of its cube's lines
        reads: indices of the numbers read from the line before it
        radius: of the units after it
        top: for a wall, from the center of a cell of the first row to above and before it; None for
            trays
        stride: bank indices between the weights of units: with a bias between them, or their number
            of inputs
        is_direct: whether its lines connect neurons directly, without cubes
        form: "nested": wires come from above, the first unit to the last column; "long": the units
            are repeated above their columns; "upright": a single row, whose cubes are next to the
            units; else ""
    """

    weights: int
    inputs: int
    biases: int
    starts: FloatArray
    columns: FloatArray
    ends: FloatArray
    rows: FloatArray
    operation: int
    before: int
    after: int
    begin: FloatArray
    foot: FloatArray
    reads: slice
    radius: float = 0.5
    stride: int = 0
    is_direct: bool = False
    top: FloatArray | None = None
    form: str = ""

    @cached_property
    def units(self) -> int:
        """Number of units after it."""
        return int(self.ends.shape[0])

    @cached_property
    def inputs_count(self) -> int:
        """Number of units before it."""
        return int(self.columns.shape[0]) - (self.biases != NONE)

    @cached_property
    def pixels(self) -> int:
        """Number of weights between two units: more than 1 in a kernel."""
        return max(1, self.inputs // max(1, self.inputs_count))

    @property
    def is_wired(self) -> bool:
        """Whether each unit before it has a separate wire to all rows."""
        count = self.inputs_count
        return count == 1 or (count <= WIRED and count == self.inputs)

    @property
    def is_tiled(self) -> bool:
        """Whether each unit before it is read by a tile of weights."""
        return self.inputs > self.inputs_count

    def is_apart(self, index: int) -> bool:
        """Whether a bank index is a bias stored separately in the bank."""
        is_any = self.biases != NONE and self.stride == self.inputs
        return is_any and self.biases <= index < self.biases + self.units

    def bias_of(self, unit: int) -> int:
        """Return the bank index of a bias."""
        return self.biases + unit * (1 if self.stride == self.inputs else self.stride)

    @cached_property
    def all_rows(self) -> Places:
        """Bank indices by unit after it: its weights, and its bias last if there is one."""
        units = np.arange(self.units)[:, np.newaxis]
        rows = self.weights + units * self.stride + np.arange(self.inputs)
        if self.biases == NONE:
            return rows
        return np.column_stack([rows, [self.bias_of(i) for i in range(len(rows))]])

    @cached_property
    def first_rows(self) -> Places:
        """Bank indices of its cubes by unit after it and column, for kernels the first ones."""
        rows = self.all_rows
        return np.column_stack([rows[:, : self.inputs : self.pixels], rows[:, self.inputs :]])

    def ends_of(self, index: int, unit: int) -> list[list[float]]:
        """Return the positions of the units joined by a bank index; for a bias, of its sum."""
        column = self.unit_before(index)
        before = [row3(self.starts, column)] if column < self.inputs_count else []
        return [*before, row3(self.ends, unit)]

    def row_of(self, unit: int, column: int) -> int:
        """Return the bank index of a cube, for a kernel the first one."""
        if column >= self.inputs_count:
            return self.bias_of(unit)
        return self.weights + unit * self.stride + column * self.pixels

    def unit_of(self, index: int) -> int | None:
        """Return the unit to whose sum a bank index belongs; None if it is not of this layer."""
        if self.weights <= index < self.weights + self.units * self.stride:
            return (index - self.weights) // self.stride
        return index - self.biases if self.is_apart(index) else None

    def unit_before(self, index: int) -> int:
        """Return the unit multiplied by a bank index; for a bias, the number of units."""
        if self.is_apart(index):
            return self.inputs_count
        return (index - self.weights) % self.stride // self.pixels

    def rows_of(self, unit: int) -> range:
        """Return the bank indices of the weights of a sum."""
        first = self.weights + unit * self.stride
        return range(first, first + self.inputs)


@dataclass(frozen=True, slots=True)
class Label:
    """A label beside a plate: the name of its layer, and a description.

    Attributes:
        place: position above its subject
        rows: bank indices of the layer's parameters
    """

    name: str
    about: str
    place: FloatArray
    rows: slice


@dataclass(frozen=True, slots=True)
class WrittenWords:
    """Words in space, centered on a part of a line, at most as wide as that.

    Attributes:
        half: from the center to the right end
        least: minimum letter size in logical pixels
    """

    words: str
    middle: FloatArray
    half: FloatArray
    least: float = 0.0

    @property
    def ends(self) -> list[FloatArray]:
        """The left and the right end of their part of the line."""
        return [self.middle - self.half, self.middle + self.half]


@dataclass(frozen=True, slots=True)
class Sign:
    """The labels of a graph node: its operation above it, its name below it.

    Attributes:
        middle, radius: of the node, in space
        apart: distance between nodes of a column
        buffer: the buffer of the program that it shows; "" for a cube
        row: bank index of the cube; NONE without
    """

    above: str
    below: str
    middle: FloatArray
    radius: float
    apart: float
    buffer: str = ""
    row: int = NONE

    def room(self) -> FloatArray:
        """Return the ends of its area, including the words above and below, (3, 3)."""
        ends = np.stack([1.4 * DOWN, 0.8 * UP, 0.8 * RIGHT])
        return np.asarray(self.middle + ends + self.radius * np.sign(ends))


@dataclass(frozen=True, eq=False)
class Layout:
    """All items placed in the scene.

    Attributes:
        views: specific camera presets, by name
        fans: the sums of each layer
        written: the words between cubes
        signs: the labels of graph nodes
        thread: for squares, the path with the largest contribution, the last layer first
        heads: words above columns
    """

    plates: Sequence[Plate]
    neurons: Sequence[Neurons]
    wires: Sequence[Wires]
    labels: Sequence[Label]
    views: Mapping[str, Camera] = field(default_factory=dict)
    fans: Sequence[Fan] = ()
    written: Sequence[WrittenWords] = ()
    signs: Sequence[Sign] = ()
    thread: tuple[Step, ...] = ()
    heads: Sequence[WrittenWords] = ()

    @cached_property
    def _known(self) -> dict[object, Any]:
        return {}

    @cached_property
    def extent(self) -> FloatArray:
        """Points in space that a complete picture should include."""
        return np.vstack(
            [
                np.zeros((0, 3)),
                *(plate.corners() for plate in self.plates),
                *(
                    points + side * radius * way
                    for line in self.neurons
                    for points, radius in (
                        (line.points, line.radius),
                        (line.tied, 0.5),
                    )
                    if points is not None
                    for side in (-1.2, 1.2)
                    for way in (RIGHT, UP, NEAR)
                ),
                *(line.way for line in self.neurons if line.way is not None),
                *(line.points + SCORED * RIGHT for line in self.neurons if line.scores),
                *(label.place[np.newaxis] for label in self.labels),
                *(end for each in self.written for end in each.ends),
                *(each.room() for each in self.signs),
            ]
        )

    def fan_of(self, index: int) -> tuple[Fan, int] | None:
        """Return the fan of a bank index and the unit of its sum, or None."""
        units = ((fan, fan.unit_of(index)) for fan in self.fans)
        return next(((fan, unit) for fan, unit in units if unit is not None), None)

    def line_of(self, neuron: Neuron) -> tuple[Neurons, int] | None:
        """Return the line of a neuron (buffer, index), and its position there; or None."""
        name, place = neuron
        found = [line for line in self.neurons if name in line.buffers and place < line.count]
        return (found[0], place) if found else None

    def fan_into(self, neuron: Neuron) -> tuple[Fan, int] | None:
        """Return the fan of lines that end at a neuron (buffer, index), and its unit there."""
        return self._fan_at(neuron, lambda fan: fan.ends)

    def fan_from(self, neuron: Neuron) -> tuple[Fan, int] | None:
        """Return the fan of lines that begin at a neuron (buffer, index), and its column there."""
        return self._fan_at(neuron, lambda fan: fan.starts)

    def _fan_at(
        self, neuron: Neuron, places: Callable[[Fan], FloatArray]
    ) -> tuple[Fan, int] | None:
        """Return the first fan with a point at a neuron, and the index of the point."""
        found = self.line_of(neuron)
        if found is not None:
            at = found[0].points[found[1]]
            for fan in self.fans:
                near = np.flatnonzero((np.abs(places(fan) - at) < 1e-9).all(axis=1))
                if len(near):
                    return fan, int(near[0])
        return None

    def once(self, key: object, make: Callable[[Layout], Found]) -> Found:
        """Return a value that depends only on the layout and a key, cached."""
        if key not in self._known:
            self._known[key] = make(self)
        found: Found = self._known[key]
        return found

    def plate_number(self, index: int) -> int:
        """Return the index of the plate of a bank index."""
        return self.once(
            ("number", index),
            lambda _: next(
                i for i, each in enumerate(self.plates) if each.place_of(index) is not None
            ),
        )

    def plate_of(self, index: int) -> tuple[Plate, int, int] | None:
        """Return the plate, row and column of a bank index; None if it is on no plate."""
        for plate in self.plates:
            place = plate.place_of(index)
            if place is not None:
                return (plate, *place)
        return None
