"""Geometry of the scene: plates of cubes, lines of neurons, wires and labels.

A plate is a grid of cubes, one per number of the bank, each in the center of a cell. A plate may be
divided into equal tiles with empty cells between them: for a convolution, one tile per kernel and
input channel. Between plates are lines of neurons, and fans: a fan contains the lines into the
cubes of a layer and from the cubes to its neurons.

Pages run this module as JavaScript, see docs/TRANSLATOR.md; methods over arrays are in
web/layout.js.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import Places, Shape
from scalarviz.scene.layout.camera import Camera
from scalarviz.scene.layout.points import row3, vector
from scalarviz.scene.layout.projection import Found
from scalarviz.story.facts import NONE, Neuron
from scalarviz.story.panel_words import FormulaStep

if TYPE_CHECKING:
    from scalarviz.scene.layout.crossbar_layout import Crossbar
    from scalarviz.scene.layout.sequence_places import SequencePlan

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
PIXEL = 0.03125  # cells of a pixel in the layout of a followed model
FRAME_TITLE = 24.0  # height of the title of a frame in this layout, in pixels
FILLED = -2.0  # in place of a seat: cubes fill their cells
THINNEST = 0.047  # half the minimum height of a bar, so that it keeps a face
FULL, FLUSH = 0.9, 1.05  # maximum fraction of a cell for a cube; seat by half a cube


@dataclass(frozen=True, slots=True)
class Tiles:
    """Division of a plate into tiles; each pair gives the values downwards and to the right.

    Attributes:
        size: rows and columns of cubes in a tile
        pitch: cells from the start of one tile to the next
        stride: bank indices from one tile to the next
    """

    size: tuple[int, int]
    pitch: tuple[int, int]
    stride: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Plate:
    """A grid of cubes.

    Attributes:
        first: bank index of the first cube
        rows: number of rows of cells
        columns: number of columns of cells
        stride: bank indices between rows of the plate, or of a tile
        origin: outer corner of the first cell, in space
        along: vector from one column to the next
        across: vector from one row to the next
        toward: unit vector to the viewer, orthogonal to both
        role: role of its numbers: weight, bias, gain, shift or value
        operation: index of the operation in the program, or NONE
        layer: index of the layer in the network, or NONE
        tiles: division into tiles; None for an undivided plate
        seat: distance from the center of a cell to the base of its cube, both forwards and
            downwards; a cube with half side h is shifted by seat - h in both directions; 0
            (default) centers each cube in its cell
        is_full: whether cubes fill their cells, so that no gaps between small cells flicker
        wide, deep: half the width and half the depth of bars; 0 (default) for cubes. Positive
            numbers have a bar above the middle of their cell, negative ones below it
        rise: components of the way up along the columns and along the rows, for bars
        free: distance from the middles of the cells up to the neurons above bars, or negative, down
            to those below; 0 without neurons there
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
    is_full: bool = False
    wide: float = 0.0
    deep: float = 0.0
    rise: tuple[float, float] = (0.0, 0.0)
    free: float = 0.0

    @cached_property
    def _corners(self) -> dict[float, FloatArray]:
        return {}

    @cached_property
    def cell(self) -> tuple[float, float]:
        """Width and height of a cell in space."""
        return math.hypot(*self.along), math.hypot(*self.across)

    @property
    def axes(self) -> FloatArray:
        """Unit vectors of the plate, one per row: along, across, and towards the viewer."""
        width, height = self.cell
        return np.stack([self.along / width, self.across / height, self.toward])

    @property
    def unit(self) -> float:
        """Size factor of the cubes: 1, or less if cells or seat are small."""
        if self.seat:
            return min(self.seat / FLUSH, 0.5 * FULL * min(self.cell)) / HALF
        if self.is_full:
            return 0.49999 * min(self.cell) / HALF / MOST
        return (FIELD if self.tiles else 1.0) * min(1.0, *self.cell)

    @cached_property
    def half(self) -> float:
        """Half the side of the largest cube, or half the height of its bar, in space."""
        if self.wide:
            return 0.5 * self.cell[0 if self.rise[0] else 1]
        return HALF * self.unit

    @cached_property
    def box(self) -> tuple[float, float, float]:
        """Half the size of bars along columns, along rows, and in depth; 0 for their heights."""
        return (0.0, self.wide, self.deep) if self.rise[0] else (self.wide, 0.0, self.deep)

    def sides(self, half: float, margin: float = 0.0) -> list[float]:
        """Return half the sides of the cube or bar with this half side, plus a margin."""
        if not self.wide:
            return [half + margin] * 3
        return [(each or abs(half)) + margin for each in self.box]

    @property
    def in_row(self) -> bool:
        """Whether the cubes stand next to each other in a row, or the plate is a single cube."""
        if self.wide:
            return False
        return (self.seat > 0.0 or self.size == 1) and self.tiles is None

    @property
    def is_numbered(self) -> bool:
        """Whether cubes may show numbers without being selected."""
        return self.in_row or self.role in ("gain", "shift")

    @property
    def has_outlines(self) -> bool:
        """Whether cubes may have outlines of their size at the start."""
        return self.in_row or self.wide > 0.0

    @property
    def gap(self) -> float:
        """Space for numbers between the rows of the plate, relative to the cube size."""
        return self.cell[1] / self.unit - 1.0 if self.is_numbered else 0.0

    @property
    def least(self) -> float:
        """Side of the smallest cube relative to the largest."""
        if self.tiles is not None:
            return MOST if self.is_full else 1.0
        return LEAST if self.seat else LEAST_ON_WALL

    @property
    def standing_at(self) -> float:
        """`seat` for shaders, or a negative number if all cubes have the same size."""
        return self.seat if self.tiles is None else FILLED if self.is_full else -1.0

    def halves(self, sizes: FloatArray, top: float) -> FloatArray:
        """Return half the side of the cube of each number; NaN gets the largest cube.

        For bars, it is half the height, which is negative for bars that hang.

        Args:
            top: the number that has the largest cube
        """
        if self.wide:
            parts = self.half * np.asarray(sizes, np.float64) / top
            most = np.minimum(np.maximum(np.abs(parts), THINNEST), MOST * self.half)
            return np.asarray(np.where(np.isnan(parts), self.half, np.copysign(most, parts)))
        parts = np.cbrt(np.abs(np.asarray(sizes, np.float64)) / top)
        parts = np.minimum(np.maximum(parts, self.least), MOST)
        return np.asarray(self.half * np.where(np.isnan(parts), 1.0, parts))

    @cached_property
    def grid(self) -> Tiles:
        """The tiles of the plate; an undivided plate is a single tile."""
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
        """Slice of bank indices from the first to the last cube."""
        return slice(self.first, self.index_of(self.rows - 1, self.columns - 1) + 1)

    def cells(self) -> tuple[Places, Places, Places]:
        """Return row, column and bank index of each cube."""
        grid, (down, right) = self.grid, self.count
        i, j, k, m = np.ogrid[:down, : grid.size[0], :right, : grid.size[1]]
        shown = self.first + i * grid.stride[0] + k * grid.stride[1] + j * self.stride + m
        row, column, shown = np.broadcast_arrays(
            i * grid.pitch[0] + j, k * grid.pitch[1] + m, shown
        )
        return row.ravel(), column.ravel(), shown.ravel()

    @cached_property
    def face(self) -> FloatArray:
        """Corners of the plane through the centers of the cells, in order, (4, 3)."""
        columns, rows = self.columns, self.rows
        return self.point(np.array([0, columns, columns, 0]), np.array([0, 0, rows, rows]))

    @cached_property
    def shadows(self) -> tuple[FloatArray, Places]:
        """Centers of all cells in space, and the bank index of the cube in each cell."""
        row, column, indices = self.cells()
        return self.point(column + 0.5, row + 0.5), indices

    @cached_property
    def feet(self) -> tuple[FloatArray, Places]:
        """Positions of the centers of all cells, to the right and upwards; and bank indices."""
        row, column, indices = self.cells()
        return np.round(self.point(column + 0.5, row + 0.5)[:, :2], 6), indices

    def point(self, column: Any, row: Any, height: Any = 0.0) -> FloatArray:
        """Return the points in space of positions on the plate, in cells from its first corner."""
        places = np.stack(np.broadcast_arrays(column, row, height), axis=-1).astype(np.float64)
        return np.asarray(self.origin + places @ np.stack([self.along, self.across, self.toward]))

    def middle(self, row: Any, column: Any, half: Any = None) -> FloatArray:
        """Return the centers of cubes in space; `half` is half the side, default: the largest."""
        return self.point(*self.standing(row, column, self.half if half is None else half))

    def standing(self, row: Any, column: Any, half: Any) -> list[Any]:
        """Return the column, row and height of a cube's center on the plate."""
        if self.wide:
            right, down = (way / side for way, side in zip(self.rise, self.cell, strict=True))
            return [column + 0.5 + right * half, row + 0.5 + down * half, 0.0 * half - self.deep]
        low = self.lowered(half)
        return [column + 0.5, row + 0.5 + low / self.cell[1], low]

    def lowered(self, half: Any) -> Any:
        """Return how far a cube is shifted from the center of its cell, forwards and downwards."""
        return self.seat - half if self.seat else 0.0 * half

    def place_of(self, index: int) -> tuple[int, int] | None:
        """Return row and column of the cube of a bank index; None if it is not on the plate."""
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
        """Return the corners in space of a cube with this half side plus a margin, (8, 3)."""
        signs = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        sides = np.array(self.sides(half, margin))
        return np.asarray(self.middle(row, column, half) + (sides * signs) @ self.axes)

    def corners(self, height: float = 0.5) -> FloatArray:
        """Return the eight corners of the box around the cubes, (8, 3), read-only."""
        if height not in self._corners:
            c, r, h = np.array(np.meshgrid([0, self.columns], [0, self.rows], [-height, height]))
            found = self.point(c.ravel(), r.ravel(), h.ravel() + self.lowered(self.half))
            found.flags.writeable = False
            self._corners[height] = found
        return self._corners[height]


@dataclass(frozen=True, slots=True)
class Neurons:
    """A line of neurons, which show their weighted sums until their outputs are computed.

    Attributes:
        points: centers of the neurons, (n, 3)
        sums: name of the buffer with the weighted sums, or ""
        values: name of the buffer with the outputs
        names: name of each neuron; may be empty
        layer: index of the layer in the network; NONE for the inputs
        shape: (channels, height, width) if the neurons are pixels of images, one image per channel
        side: cells between pixels
        also: names of further buffers with the same numbers as `values`
        way: points of the skip connection that ends here, (n, 3), or None
        radius: radius of the neurons
        tied: center of the color that these neurons represent, to which lines are drawn; or None
        square: whether neurons are squares that show their functions; `radius` is half the side
        along: unit vector along the rows of images
        told: whether the number of each neuron is written below it
        scores: whether each neuron is drawn as a bar with its number instead of a sphere
        bends: points of the activation's curve around 0; empty for a straight line
        curve: name of the activation or normalization
        aside: cells before the neurons for their names; 0 if these are below
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
    aside: float = 0.0

    @property
    def is_color(self) -> bool:
        """Whether the neurons are the channels of a color."""
        return (*self.names,) == RGB

    @property
    def buffer(self) -> str:
        """Name of the buffer that identifies the neurons."""
        return self.values or self.sums

    @property
    def buffers(self) -> tuple[str, ...]:
        """Names of all buffers shown by this line of neurons."""
        return tuple(name for name in (self.sums, self.values, *self.also) if name)

    @property
    def count(self) -> int:
        """Number of neurons."""
        return int(self.points.shape[0])

    @property
    def stops(self) -> list[int]:
        """Indices of the neurons that the keyboard selects; for an image, its center."""
        if not self.shape:
            return [*range(self.count)]
        channels, height, width = self.shape
        middle = height // 2 * width + width // 2
        return [channel * height * width + middle for channel in range(channels)]

    def corners(self) -> FloatArray:
        """Return upper left, upper right and lower left corner of each image, (channels, 3, 3)."""
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
    """Straight wires from `start` to `end`, (n, 3) each, between lines of neurons without trays.

    Attributes:
        operation: index of the operation in the program
        neurons: index of the line of neurons in the layout
        outgoing: whether the wires begin at these neurons
    """

    start: FloatArray
    end: FloatArray
    operation: int
    neurons: int
    outgoing: bool


@dataclass(frozen=True)
class Fan:
    """The lines into the cubes of a layer or group, and from the cubes to its neurons.

    Attributes:
        weights: bank index of the first weight
        inputs: number of weights of each unit
        biases: bank index of the first bias; NONE if there are no biases
        starts: positions of the input units, (n, 3)
        columns: positions of the columns of cubes, (n, 3), the column of the biases last
        ends: positions of the output units, (m, 3)
        rows: positions of the rows, (m, 3); a cube is at rows[i] + columns[j]
        operation: index of the operation in the program
        before, after: indices of the lines of neurons in the layout, or NONE
        begin: offset from the first column to the start of the trays
        foot: offset from the center of a cell to the start of its cube's lines
        reads: indices of the numbers that are read from the line before
        radius: radius of the output units
        top: for a wall, offset from the center of a cell of the first row to a point above the
            wall; None for trays
        stride: bank indices from the weights of one unit to the next, including a bias stored
            between them
        is_direct: whether the lines connect neurons directly, without cubes
        form: "nested" (wires come from above, the first unit to the last column), "long" (the input
            units are repeated above their columns), "upright" (a single row, whose cubes are next
            to the input units), "strip" (small cells without wires) or ""
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
        """Number of output units."""
        return int(self.ends.shape[0])

    @cached_property
    def inputs_count(self) -> int:
        """Number of input units."""
        return int(self.columns.shape[0]) - (self.biases != NONE)

    @cached_property
    def pixels(self) -> int:
        """Number of weights between an input unit and an output unit; more than 1 for a kernel."""
        return max(1, self.inputs // max(1, self.inputs_count))

    @property
    def is_wired(self) -> bool:
        """Whether each input unit has its own wire to all rows."""
        count = self.inputs_count
        is_few = count == 1 or (count <= WIRED and count == self.inputs)
        return is_few and self.form != "strip"

    @property
    def is_tiled(self) -> bool:
        """Whether each input unit is read by a tile of weights, a kernel."""
        return self.inputs > self.inputs_count

    def is_apart(self, index: int) -> bool:
        """Whether a bank index is a bias of this layer stored after all weights."""
        is_any = self.biases != NONE and self.stride == self.inputs
        return is_any and self.biases <= index < self.biases + self.units

    def bias_of(self, unit: int) -> int:
        """Return the bank index of a unit's bias."""
        return self.biases + unit * (1 if self.stride == self.inputs else self.stride)

    @cached_property
    def all_rows(self) -> Places:
        """Bank indices of the weights and bias of each unit, one unit per row, the bias last."""
        units = np.arange(self.units)[:, np.newaxis]
        rows = self.weights + units * self.stride + np.arange(self.inputs)
        if self.biases == NONE:
            return rows
        return np.column_stack([rows, [self.bias_of(i) for i in range(len(rows))]])

    @cached_property
    def first_rows(self) -> Places:
        """Bank index of each cube by unit and column; for a kernel, its first weight."""
        rows = self.all_rows
        return np.column_stack([rows[:, : self.inputs : self.pixels], rows[:, self.inputs :]])

    def ends_of(self, index: int, unit: int) -> list[list[float]]:
        """Return the positions of the units that a weight connects; for a bias, of one unit."""
        column = self.unit_before(index)
        before = [row3(self.starts, column)] if column < self.inputs_count else []
        return [*before, row3(self.ends, unit)]

    def row_of(self, unit: int, column: int) -> int:
        """Return the bank index of a cube; for a kernel, of its first weight."""
        if column >= self.inputs_count:
            return self.bias_of(unit)
        return self.weights + unit * self.stride + column * self.pixels

    def unit_of(self, index: int) -> int | None:
        """Return the unit whose sum contains a bank index; None if it is not in this layer."""
        if self.weights <= index < self.weights + self.units * self.stride:
            return (index - self.weights) // self.stride
        return index - self.biases if self.is_apart(index) else None

    def unit_before(self, index: int) -> int:
        """Return the input unit that a weight multiplies; for a bias, the number of input units."""
        if self.is_apart(index):
            return self.inputs_count
        return (index - self.weights) % self.stride // self.pixels

    def rows_of(self, unit: int) -> range:
        """Return the bank indices of the weights of a unit."""
        first = self.weights + unit * self.stride
        return range(first, first + self.inputs)


@dataclass(frozen=True, slots=True)
class Label:
    """A label next to a plate: the name of its layer, and a description.

    Attributes:
        place: position of the label, above its layer
        rows: bank indices of the layer's parameters
    """

    name: str
    about: str
    place: FloatArray
    rows: slice


@dataclass(frozen=True, slots=True)
class WrittenWords:
    """Text in space, centered at `middle`, with letters that fill the width between its ends.

    Attributes:
        half: vector from the center to the right end
        least: minimum font size in logical pixels; 0 for none
    """

    words: str
    middle: FloatArray
    half: FloatArray
    least: float = 0.0

    @property
    def ends(self) -> list[FloatArray]:
        """The left and right end of the text."""
        return [self.middle - self.half, self.middle + self.half]


@dataclass(frozen=True, slots=True)
class Sign:
    """The labels of a graph node: its operation above it, its name below it.

    Attributes:
        middle, radius: center and radius of the node, in space
        apart: distance between nodes of a column
        buffer: name of the buffer that the node shows; "" for a cube
        row: bank index of the cube; NONE for other nodes
    """

    above: str
    below: str
    middle: FloatArray
    radius: float
    apart: float
    buffer: str = ""
    row: int = NONE

    def room(self) -> FloatArray:
        """Return three points that bound the node and its labels, shape (3, 3)."""
        ends = np.stack([1.4 * DOWN, 0.8 * UP, 0.8 * RIGHT])
        return np.asarray(self.middle + ends + self.radius * np.sign(ends))


@dataclass(frozen=True, slots=True)
class DiagramMark:
    """A box, a line, a text or a map of a probe between the walls of a followed model.

    Attributes:
        kind: "box", "line", "text", "map", or "room" (corners of the picture at full zoom)
        look: name of its colors, see `diagram`; of a map, its part of the probe
        points: opposite corners of a box, points of a line, or the anchor of a text, in space
        words: the text; of a map, the path of its module
        size: radius of corners, or font size, in units of PIXEL; of a map, its number
        anchor: position of the anchor in the text: "left", "center" or "right"
        key: key of the frame that a click on the box opens or closes; "" for others
    """

    kind: str
    look: str
    points: Sequence[tuple[float, ...]]
    words: str = ""
    size: float = 0.0
    anchor: str = "center"
    key: str = ""


@dataclass(frozen=True, eq=False)
class Layout:
    """All items of the scene with their positions.

    Attributes:
        views: camera presets of this layout, by name
        fans: the lines into and out of the cubes of each layer
        written: texts between the cubes
        steps: for each result of a formula its buffer, its operation, and its operands: buffers,
            bank indices such as "#0", or constants such as "=2.0"
        signs: labels of graph nodes
        thread: for squares, the path with the largest contribution, starting at the last layer
        heads: texts above columns
        marks: frames, lines and texts between the walls of a followed model
        sequence: the network that reads a sequence, whose lines `sequence_picture` draws; or None
        crossbar: lines and lanes of a crossbar, which `crossbar_marks` draws; or None
    """

    plates: Sequence[Plate]
    neurons: Sequence[Neurons]
    wires: Sequence[Wires]
    labels: Sequence[Label]
    views: Mapping[str, Camera] = field(default_factory=dict)
    fans: Sequence[Fan] = ()
    written: Sequence[WrittenWords] = ()
    steps: Sequence[FormulaStep] = ()
    signs: Sequence[Sign] = ()
    thread: tuple[Step, ...] = ()
    heads: Sequence[WrittenWords] = ()
    marks: Sequence[DiagramMark] = ()
    sequence: SequencePlan | None = None
    crossbar: Crossbar | None = None

    @cached_property
    def _known(self) -> dict[object, Any]:
        return {}

    @cached_property
    def extent(self) -> FloatArray:
        """Points in space that the camera should include."""
        if self.crossbar is not None:
            return np.array(self.crossbar.corners)
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
                *(line.points - line.aside * RIGHT for line in self.neurons if line.aside),
                *(line.points + SCORED * RIGHT for line in self.neurons if line.scores),
                *(label.place[np.newaxis] for label in self.labels),
                *(end for each in self.written for end in each.ends),
                *(each.room() for each in self.signs),
                *(np.array(each.points) for each in self.marks if each.kind != "text"),
                *([] if self.sequence is None else [PIXEL * np.array(self.sequence.corners)]),
            ]
        )

    def fan_of(self, index: int) -> tuple[Fan, int] | None:
        """Return the fan and unit of the sum that contains a bank index, or None."""
        units = ((fan, fan.unit_of(index)) for fan in self.fans)
        return next(((fan, unit) for fan, unit in units if unit is not None), None)

    def line_of(self, neuron: Neuron) -> tuple[Neurons, int] | None:
        """Return the line that contains a neuron (buffer, index), and its index there; or None."""
        name, place = neuron
        found = [line for line in self.neurons if name in line.buffers and place < line.count]
        return (found[0], place) if found else None

    def fan_into(self, neuron: Neuron) -> tuple[Fan, int] | None:
        """Return the fan whose lines end at a neuron (buffer, index), and the unit; or None."""
        return self._fan_at(neuron, lambda fan: fan.ends)

    def fan_from(self, neuron: Neuron) -> tuple[Fan, int] | None:
        """Return the fan whose lines start at a neuron (buffer, index), and the column; or None."""
        return self._fan_at(neuron, lambda fan: fan.starts)

    def _fan_at(
        self, neuron: Neuron, places: Callable[[Fan], FloatArray]
    ) -> tuple[Fan, int] | None:
        """Return the first fan with a point at a neuron's position, and the point's index."""
        found = self.line_of(neuron)
        if found is not None:
            at = found[0].points[found[1]]
            for fan in self.fans:
                near = np.flatnonzero((np.abs(places(fan) - at) < 1e-9).all(axis=1))
                if len(near):
                    return fan, int(near[0])
        return None

    def once(self, key: object, make: Callable[[Layout], Found]) -> Found:
        """Return `make(self)`, cached by a key."""
        if key not in self._known:
            self._known[key] = make(self)
        found: Found = self._known[key]
        return found

    def plate_number(self, index: int) -> int:
        """Return the index of the plate that contains a bank index."""
        return self.once(
            ("number", index),
            lambda _: next(
                i for i, each in enumerate(self.plates) if each.place_of(index) is not None
            ),
        )

    def plate_of(self, index: int) -> tuple[Plate, int, int] | None:
        """Return plate, row and column of a bank index; None if it is on no plate."""
        for plate in self.plates:
            place = plate.place_of(index)
            if place is not None:
                return (plate, *place)
        return None
