"""Walls of a followed model: how its arrays are arranged as grids of cells, in pixels.

A row is a unit and a column is an input; kernels are small tiles, and a bias is a column behind. If
a grid does not fit, its rows continue in further lines, or its units in further columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, log, prod, sqrt

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
SLIP = 3.0  # pixels between the arrays of a closed frame
CARD, SPREAD = (30.0, 130.0), 0.3  # width of a closed frame in pixels; and per height
REPEATS, THIN = (130.0, 400.0), 10.0  # height of closed repetitions in pixels, and least width
SLENDER, FLAT = 2.2, 0.5  # preferred height per width of a folded wall; wider ones are folded
GATES = {"LSTM": "ifgo", "LSTMCell": "ifgo", "GRU": "rzn", "GRUCell": "rzn"}
Shape = tuple[int, ...]
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
        parts: letters of the parts into which the units are divided, such as q, k and v
    """

    grids: Sequence[Grid]
    width: float
    height: float
    lines: int = 1
    parts: str = ""

    @property
    def cell(self) -> float:
        """Edge of the smallest cells in pixels."""
        return min((min(each.cell) for each in self.grids), default=1.0)


def wall(grids: Sequence[Grid], lines: int = 1, parts: str = "") -> Wall:
    """Return the wall that contains these grids, from its corner (0, 0)."""
    width, height = max(x.right for x in grids), max(x.bottom for x in grids)
    return Wall(grids, width, height, lines, parts)


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
    is_turned = node["name"].startswith("ConvTranspose")
    found: list[Grid] = []
    x, lines, parts = 0.0, 1, parts_of(node)
    for name, shape in matrices.items():
        rows = shape[1 if is_turned else 0]
        bias = bias_of(name, rows, left)
        left.pop(bias, None)
        part = room[0] / min(2, len(matrices)), room[1]
        share = prod(shape) * min(area / total, largest**2)
        natural = part[0] * (NATURAL if largest == LARGEST_CELL else 1.0)
        grids, used = arranged(name, shape, bias, share, part, natural, is_turned=is_turned)
        parts = parts if len({each.x for each in grids if each.array == name}) == 1 else ""
        found += [replace(each, x=each.x + x) for each in grids]
        x, lines = max(each.right for each in found) + BESIDE, max(lines, used)
    for name, shape in left.items():
        found += [replace(each, x=each.x + x) for each in vector(name, shape[0], VECTOR * room[1])]
        x = max(each.right for each in found) + 2.0
    return wall(found, lines, parts) if found else Wall((), 1.0, 1.0)


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
    behind = 1.0 + BEFORE_BIAS if bias else 0.0
    options: list[tuple[Tiles, int]] = []  # a tile for each unit or kernel; lines of a row
    if pixels > 1:
        size = prod(sides[:-1]), sides[-1]
        strides = (pixels, units * pixels) if is_turned else (inputs * pixels, pixels)
        options.append((Tiles(size, (size[0] + 1, size[1] + 1), strides), 1))
    row = inputs * pixels
    for lines in range(1, MOST_LINES + 1) if pixels == 1 or not is_turned else ():
        if row % lines == 0:
            size = lines, row // lines
            options.append((Tiles(size, (lines + (lines > 1), size[1]), (row, 0)), lines))
    best: tuple[float, int, Tiles, int] = 0.0, 1, options[0][0], 1
    chosen = 0.0  # edge of the cells of the best option
    for tiles, lines in options:
        for columns in range(1, min(MOST_COLUMNS, units) + 1 if lines == 1 else 2):
            high, each = cells_in(tiles, ceil(units / columns), inputs)
            wide = columns * (each + behind + BETWEEN) - BETWEEN
            fitting = min(edge, room[0] / wide, room[1] / high)
            slender = 1.0 - 0.2 * abs(log(high / wide / SLENDER))
            worth = fitting * max(slender, 0.01) / (1.0 + 0.8 * lines / units)
            is_natural = (tiles, lines, columns) == (*options[0], 1)
            if is_natural and (high >= FLAT * wide or wide * fitting <= natural):
                worth *= 2.0
            if worth > best[0]:
                best = worth, columns, tiles, lines
                chosen = fitting
    edge, (_, columns, tiles, lines) = chosen, best
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


def vector(name: str, count: int, high: float) -> list[Grid]:
    """Return the grids of a vector: a column of a maximum height, or several if it is long."""
    least, most = VECTORS
    edge = min(max(least, high / count), most, sqrt(high * WIDE_VECTOR / count))
    per = ceil(count / ceil(count * edge / high))
    found = []
    for i, start in enumerate(range(0, count, per)):
        rows = min(per, count - start)
        tiles = Tiles((rows, 1), (rows, 1))
        found.append(Grid(name, start, 1, rows, 1, tiles, i * edge, 0.0, (edge, edge), "gain"))
    return found


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


def parts_in(children: Sequence[Item], kept: Arrays, length: float) -> list[tuple[str, int, float]]:
    """Return name, size and part of a length of each matrix of some items, or of each vector."""
    leaves = [leaf.node for each in children for leaf in each.all_leaves() if leaf.node]
    shapes = {n: s for node in leaves for n, s in shapes_of(node, kept).items()}
    matrices = {name: shape for name, shape in shapes.items() if len(shape) > 1}
    counts = {name: prod(shape) for name, shape in (matrices or shapes).items()}
    each = (length - SLIP * (len(counts) - 1)) / max(1, sum(counts.values()))
    return [(name, count, max(2.0, each * count)) for name, count in counts.items()]


def closed_wall(item: Item, kept: Arrays, area: float) -> Wall:
    """Return the arrays of a closed frame: side by side, or one column for each repetition.

    Args:
        area: area of all cells in square pixels
    """
    grids: list[Grid] = []
    if item.units:
        high = min(max(REPEATS[0], sqrt(0.5 * area)), REPEATS[1])
        wide = max(THIN, area / high / item.times)
        for number, unit in enumerate(item.units):
            x, y = number * (wide + 2.0 * SLIP), 0.0
            for name, count, part in parts_in(unit, kept, high):
                grids += slip(name, count, x, y, wide, part)
                y = max(y + part, grids[-1].bottom) + SLIP
    else:
        wide = min(max(CARD[0], sqrt(SPREAD * area)), CARD[1])
        high, x = max(1.2 * CARD[0], area / wide), 0.0
        for name, count, part in parts_in(item.children, kept, wide):
            grids += slip(name, count, x, 0.0, part, high)
            x += part + SLIP
    return wall(grids) if grids else Wall((), CARD[0], CARD[0])
