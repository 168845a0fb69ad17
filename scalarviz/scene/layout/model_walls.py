"""Walls of a followed model: how its arrays are arranged as grids of cells, in pixels.

A row is a unit and a column is an input; kernels are small tiles, and a bias is a column behind. If
a grid does not fit, its rows continue in further lines, or its units in further columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, log, prod, sqrt

from scalarviz.core.program import Shape
from scalarviz.scene.canvas.fonts import width_of
from scalarviz.scene.layout.model_tree import Item, Node
from scalarviz.scene.layout.plates import Tiles

WIDEST, HIGHEST = 200.0, 400.0  # pixels of a wall in a picture of 1280 x 800
MARGIN = 3.0  # pixels around the arrays of a wall
NATURAL = 0.5  # width of rows in the room up to which they are never folded
LARGEST_CELL, LARGEST_FEW, FEW = 12.0, 30.0, 1500  # pixels, also for a model of few weights
VECTOR, VECTORS = 0.25, (1.5, 6.0)  # height of a vector in the room, and pixels of its cells
WIDE_VECTOR = 60.0  # pixels of a vector in several columns
BESIDE, BEFORE_BIAS, BETWEEN = 5.0, 0.6, 2  # pixels between arrays; cells
MOST_LINES, MOST_COLUMNS = 16, 8  # of a row, and of the units
LETTERS, SMALL, LABEL = 12, 11, 14.0  # pixels of text, and of a line of small text
EMPTY, SLIP = 30.0, 3.0  # pixels of a closed frame without arrays, and between its arrays
TALL, REPEATED, TALLEST = 4.5, 0.5, 400.0  # height per width of closed frames; pixels
THIN = 10.0  # least pixels of a column of a closed frame
SLENDER, FLAT = 2.2, 0.5  # preferred height per width of a folded wall; wider ones are folded
GATES = {"LSTM": "ifgo", "LSTMCell": "ifgo", "GRU": "rzn", "GRUCell": "rzn"}
Arrays = Mapping[str, Shape]


@dataclass(frozen=True)
class Grid:
    """Cells of an array in a wall.

    Attributes:
        array: name of the array
        first: position in the array of the first number
        stride: numbers from one row of cells to the next, within a tile
        rows, columns: number of rows and columns of cells, with empty ones
        x, y: upper left corner in the wall, in pixels
        cell: width and height of a cell in pixels
    """

    array: str
    first: int
    stride: int
    rows: int
    columns: int
    tiles: Tiles
    x: float
    y: float
    cell: tuple[float, float]
    role: str = "weight"

    @property
    def right(self) -> float:
        return self.x + self.columns * self.cell[0]

    @property
    def bottom(self) -> float:
        return self.y + self.rows * self.cell[1]


@dataclass(frozen=True)
class Wall:
    """The arrays of a module as grids, with the size of the wall in pixels.

    Attributes:
        lines: lines of a row that does not fit in one
        labels: names of the arrays, if there are several, with their places in the wall
        parts: letters of the parts into which the units are divided, such as q, k and v
    """

    grids: Sequence[Grid]
    width: float
    height: float
    lines: int = 1
    parts: str = ""
    labels: Sequence[tuple[float, float, str]] = ()

    @property
    def cell(self) -> float:
        """Edge of the smallest cells in pixels."""
        return min((min(each.cell) for each in self.grids), default=1.0)


@lru_cache(maxsize=4096)
def text_width(words: str, letters: int = LETTERS, *, bold: bool = False) -> float:
    return width_of(words, letters, bold) if words else 0.0


def shapes_of(node: Node, kept: Arrays) -> dict[str, Shape]:
    """Return the drawn shapes of the arrays of a node, without leading dimensions of length 1.

    Args:
        kept: shapes of the recorded arrays, which are parts of the arrays of large models
    """
    found = {}
    for name, size in zip(node["arrays"], node["sizes"], strict=True):
        shape = tuple(kept.get(name, size))
        while len(shape) > 2 and shape[0] == 1:
            shape = shape[1:]
        found[name] = shape if len(size) > 1 else (prod(shape),)
    return {name: shape for name, shape in found.items() if prod(shape)}


def wall_of(
    node: Node,
    kept: Arrays,
    area: float,
    room: tuple[float, float] = (WIDEST, HIGHEST),
    largest: float = LARGEST_CELL,
) -> Wall:
    """Return the wall of a node.

    Args:
        area: area of all cells in square pixels
        room: maximum width and height in pixels
        largest: maximum edge of a cell in pixels
    """
    shapes = shapes_of(node, kept)
    left = {name: shape for name, shape in shapes.items() if len(shape) == 1}
    matrices = {name: shape for name, shape in shapes.items() if len(shape) > 1}
    total = sum(map(prod, matrices.values()))
    found: list[Grid] = []
    labels: list[tuple[float, float, str]] = []
    head = LABEL if len(matrices) > 1 else 0.0
    x, lines, parts = 0.0, 1, parts_of(node)
    for name, shape in matrices.items():
        rows = shape[1 if is_turned(node) else 0]
        bias = bias_of(name, rows, left)
        left.pop(bias, None)
        part = room[0] / min(2, len(matrices)), room[1] - head
        share = prod(shape) * min(area / total, largest**2)
        natural = part[0] * (NATURAL if largest == LARGEST_CELL else 1.0)
        grids, used = arranged(name, shape, bias, share, part, natural, is_turned=is_turned(node))
        parts = parts if len({each.x for each in grids if each.array == name}) == 1 else ""
        wide = max(each.right for each in grids)
        if head:
            labels.append((x, 0.5 * head - MARGIN, array_name(name, node["path"])))
            wide = max(wide, text_width(labels[-1][2], SMALL))
        found += [replace(each, x=each.x + x, y=each.y + head) for each in grids]
        x, lines = x + wide + BESIDE, max(lines, used)
    for name, shape in left.items():
        found += vector(name, shape[0], x, VECTOR * room[1])
        x = max(each.right for each in found) + 2.0
    width = max([x - BESIDE if matrices and not left else 0.0, *(each.right for each in found)])
    height = max((each.bottom for each in found), default=1.0)
    return Wall(found, max(1.0, width), height, lines, parts, labels)


def array_name(array: str, path: str) -> str:
    """Return the name of an array in its module, such as weight_ih_l0 or out_proj."""
    return array.removeprefix(f"{path}.").removesuffix(".weight").removesuffix("_weight")


def is_turned(node: Node) -> bool:
    """Return whether units are the second dimension of the weights."""
    return str(node["name"]).startswith("ConvTranspose")


def parts_of(node: Node) -> str:
    """Return letters for the parts of the units of a node: q, k and v, or the gates of a cell."""
    cuts = [shapes for name, *shapes in node["ways"] if name in ("split", "chunk")]
    if node["name"] == "MultiheadAttention" or (cuts and len(cuts[0]) == 3):
        return "qkv"
    return GATES.get(node["name"], "")


def bias_of(name: str, rows: int, vectors: Arrays) -> str:
    """Return the name of the vector that is the bias of a matrix, or ""."""
    module, _, last = name.rpartition(".")
    named = f"{module}.{last.replace('weight', 'bias')}".lstrip(".")
    fitting = [each for each, shape in vectors.items() if shape == (rows,)]
    return named if named in fitting else fitting[0] if fitting and "bias" in fitting[0] else ""


def arranged(
    name: str,
    shape: Shape,
    bias: str,
    area: float,
    room: tuple[float, float],
    natural: float,
    *,
    is_turned: bool = False,
) -> tuple[list[Grid], int]:
    """Return the grids of a matrix and its bias, and in how many lines its rows continue.

    Args:
        area: area of all cells in square pixels
        room: maximum width and height in pixels
        natural: width of rows in pixels up to which they are never folded
        is_turned: whether the units are the second dimension, as in transposed convolutions
    """
    units, inputs, *sides = (*shape[1::-1], *shape[2:]) if is_turned else shape
    pixels, edge = prod(sides), sqrt(area / prod(shape))
    behind, row = 1.0 + BEFORE_BIAS if bias else 0.0, inputs * pixels
    options: list[tuple[Tiles, int, int]] = []  # a tile for a unit or kernel; lines; columns
    for columns in range(1, min(MOST_COLUMNS, units) + 1) if pixels > 1 else ():
        size = prod(sides[:-1]), sides[-1]
        strides = (pixels, units * pixels) if is_turned else (row, pixels)
        options.append((Tiles(size, (size[0] + 1, size[1] + 1), strides), 1, columns))
    for lines in range(1, MOST_LINES + 1) if pixels == 1 or not is_turned else ():
        size = lines, row // lines
        tiles = Tiles(size, (lines + (lines > 1), size[1]), (row, 0))
        most = min(MOST_COLUMNS, units) if lines == 1 else 1
        options += [(tiles, lines, x) for x in range(1, most + 1) if row % lines == 0]
    sizes = []
    for tiles, _, columns in options:
        high, each = cells_in(tiles, ceil(units / columns), inputs)
        wide = columns * (each + behind + BETWEEN) - BETWEEN
        sizes.append((wide, high, min(edge, room[0] / wide, room[1] / high)))

    def worth(number: int) -> float:
        (_, lines, _), (wide, high, cell) = options[number], sizes[number]
        slender = max(0.01, 1.0 - 0.2 * abs(log(high / wide / SLENDER)))
        is_kept = number == 0 and (high >= FLAT * wide or wide * cell <= natural)
        return (2.0 if is_kept else 1.0) * cell * slender / (1.0 + 0.8 * lines / units)

    best = max(range(len(options)), key=worth)
    (tiles, lines, columns), edge = options[best], sizes[best][2]
    per = ceil(units / columns)
    found: list[Grid] = []
    x = 0.0
    for start in range(0, units, per):
        count = min(per, units - start)
        rows, wide = cells_in(tiles, count, inputs)
        whole = Tiles((rows, wide), (rows, wide)) if tiles.size == (1, row) else tiles
        first, stride = start * tiles.stride[0], tiles.size[1]
        found.append(Grid(name, first, stride, rows, wide, whole, x, 0.0, (edge, edge)))
        x += wide * edge
        if bias:
            column = Tiles((count, 1), (count, 1))
            cell, at = (edge, tiles.pitch[0] * edge), x + BEFORE_BIAS * edge
            found.append(Grid(bias, start, 1, count, 1, column, at, 0.0, cell, "bias"))
        x += (behind + BETWEEN) * edge
    return found, lines


def cells_in(tiles: Tiles, units: int, inputs: int) -> tuple[int, int]:
    """Return the rows and columns of cells of a number of units."""
    (high, wide), (down, right) = tiles.size, tiles.pitch
    across = (inputs - 1) * right + wide if tiles.stride[1] else wide
    return (units - 1) * down + high, across


def vector(name: str, count: int, x: float, high: float) -> list[Grid]:
    """Return the grids of a vector: a column of a maximum height, or several if it is long."""
    least, most = VECTORS
    edge = min(max(least, high / count), most, sqrt(high * WIDE_VECTOR / count))
    columns = ceil(count * edge / high)
    found = slip(name, count, x, 0.0, columns * edge, ceil(count / columns) * edge)
    return [replace(each, role="gain") for each in found]


# Closed frames.


def slip(name: str, count: int, x: float, y: float, width: float, height: float) -> list[Grid]:
    """Return an array as grids that fill a box with nearly square cells, whatever its rows are."""
    columns = min(count, max(1, round(sqrt(count * width / height))))
    rows, rest = divmod(count, columns)
    edge = min(width / columns, height / (rows + (rest > 0)))
    found = []
    for first, high, wide in (0, rows, columns), (rows * columns, 1, rest):
        tiles, top = Tiles((high, wide), (high, wide)), y + first // columns * edge
        found.append(Grid(name, first, wide, high, wide, tiles, x, top, (edge, edge)))
    return found[: 1 + (rest > 0)]


def closed_wall(item: Item, kept: Arrays, area: float, least: float = THIN) -> Wall:
    """Return the arrays of a closed frame, one upon another, with a column for each repetition.

    Args:
        area: area of all cells in square pixels
        least: least pixels of a column
    """
    grids: list[Grid] = []
    labels: list[tuple[float, float, str]] = []
    units = item.units or [item.children]
    names = rows_of(units[0], item.path, kept)
    high = min(sqrt(area * (REPEATED if item.units else TALL)), TALLEST)
    high = max(high, LABEL * len(names), EMPTY)
    wide = max(least, area / high / len(units))
    each = (high - SLIP * (len(names) - 1)) / max(1, sum(count for _, count in names.values()))
    for number, unit in enumerate(units):
        y = 0.0
        for name, (label, count) in rows_of(unit, item.path, kept).items():
            part = max(2.0, each * count)
            grids += slip(name, count, number * (wide + 2.0 * SLIP), y, wide, part)
            if not number:
                labels.append((0.0, y + 0.5 * part, label))
            y = max(y + part, grids[-1].bottom) + SLIP
    width = max((each.right for each in grids), default=EMPTY)
    return Wall(grids, width, max((x.bottom for x in grids), default=EMPTY), labels=labels)


def rows_of(unit: Sequence[Item], path: str, kept: Arrays) -> dict[str, tuple[str, int]]:
    """Return label and size of each matrix of some items, or of each vector without matrices."""
    found = {
        name: (array_name(name, path), prod(shape), len(shape) > 1)
        for each in unit
        for leaf in each.leaves(every=True)
        for name, shape in shapes_of(leaf.node or {}, kept).items()
    }
    has_matrices = any(is_matrix for *_, is_matrix in found.values())
    return {
        x: (a, count) for x, (a, count, is_matrix) in found.items() if is_matrix == has_matrices
    }
