"""The layout of a compiled function's graph, from left to right: operands before operations.

Parameters used by a single node are a block to the left of that node; others have a column.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.messages import shortened
from scalarviz.base.texts import plural
from scalarviz.core.trace_program import TraceProgram, name_of, sign_of_node
from scalarviz.scene.layout.formula_layout import VIEWS, one_value
from scalarviz.scene.layout.layered import lay_out
from scalarviz.scene.layout.plates import DOWN, NEAR, RIGHT, UP, Layout, Neurons, Plate, Sign, Wires

RADIUS, SIDE = 0.6, 0.42  # radius of an operation, and half of the largest cube
DOWNWARDS, HIGHEST = 2.3, 4.0  # minimum and maximum cells between nodes of a column
PITCH, WIDEST = 0.8, 4.0  # pitch of cubes in a block, and width of the widest one
EVEN, OWN = 1.6, 2.4  # maximum shrinking of cubes to fill all lines, or an array's
GAP, BLOCK, HIGH = 0.15, 0.6, 0.72  # block to sphere; fractions of a cell in width and height
TALL, TALLEST = 0.25, 3.0  # cells of a block per root of its size; and of the largest one
ROOM = 4.5  # cells of a column with room for words below a block
LEAST = 2.4  # minimum cells between columns
ENDS, SIDES = 0.8, 2.6  # room above and below, in such distances; left and right, in cells
LETTERS = 14  # letters of a name; the middle of a longer one is removed
PASSAGE = 0.4  # cells between edges that pass a column


@final
class GraphScene:
    """Builds the layout of a graph.

    Attributes:
        right, down: distance between columns, and between nodes of a column
        points: positions, by index in the trace
        doors: end points of the edges to nodes that have a block in front of them
    """

    def __init__(self, program: TraceProgram, names: Mapping[int, str], aspect: float) -> None:
        self.program, self.names, self.graph = program, names, DrawnGraph(program)
        order, taken = self.graph.in_order(), self.graph.taken
        at = {place: i for i, place in enumerate(order)}
        sizes = [self.size_of(place) for place in order]
        self.found = lay_out([[at[x] for x in taken[each]] for each in order], sizes, 0.0, PASSAGE)
        tops = [y for way in self.found.ways for _, y in way] + self.found.heights
        rows, columns = np.ptp(tops) + ENDS, max(1, max(self.found.columns))
        least = LEAST + self.room_of_blocks(at)
        ends = SIDES + least - LEAST
        self.right = float(max(least, (aspect * DOWNWARDS * rows - ends) / columns))
        self.down = float(min(HIGHEST, max(DOWNWARDS, (least * columns + ends) / (aspect * rows))))
        self.points = {
            place: self.point(self.found.columns[i], self.found.heights[i])
            for place, i in at.items()
        }
        ways, edges = iter(self.found.ways), [(x, each) for each in order for x in taken[each]]
        self.ways = {edge: [self.point(*spot) for spot in next(ways)] for edge in edges}
        self.doors: dict[int, FloatArray] = {}
        self.plates: list[Plate] = []
        self.signs: list[Sign] = []

    def point(self, column: int, height: float) -> FloatArray:
        return np.asarray(self.right * column * RIGHT + self.down * height * DOWN)

    def size_of(self, place: int) -> float:
        """Return the height of a node or block, in cells."""
        if place not in self.graph.blocks or self.graph.is_node(place):
            return 1.0
        return min(TALLEST, max(1.0, TALL * math.sqrt(len(self.graph.blocks[place]))))

    def room_of_blocks(self, at: Mapping[int, int]) -> float:
        """Return the additional column width for blocks before nodes, except the first column."""
        blocks = self.graph.blocks.items()
        own = [(at[place], len(rows)) for place, rows in blocks if self.graph.is_node(place)]
        inner = [count for i, count in own if self.found.columns[i] > 0]
        others = any(len(rows) > 1 for _, rows in blocks)
        return min(WIDEST, PITCH * math.sqrt(max(inner))) if inner else 1.0 * others

    def put_leaf(self, place: int) -> None:
        """Place a parameter, or a block of several parameters."""
        rows, point = self.graph.blocks[place], self.points[place]
        names = [self.names[row] for row in rows]
        if len(rows) == 1:
            self.plates.append(one_value(rows[0], point + 0.5 * (UP - RIGHT)))
            name = shortened(names[0], LETTERS)
            self.signs.append(Sign("", name, point, SIDE, self.down, row=rows[0]))
            return
        room = BLOCK * self.right, HIGH * self.down * self.size_of(place)
        cubes, _, high = block(rows, names, point, room)
        self.plates += cubes
        words = name_of_block(names, self.right > ROOM)
        self.signs.append(Sign("", words, point, 0.5 * high, self.down))

    def put_before(self, place: int) -> None:
        """Place the parameters that are used only by this node in front of it."""
        rows, point = self.graph.blocks[place], self.points[place]
        names, room = (
            [self.names[row] for row in rows],
            (BLOCK * self.right - RADIUS, HIGH * self.down),
        )
        wide = block(rows, names, point, room)[1]
        self.plates += block(rows, names, point - (RADIUS + GAP + 0.5 * wide) * RIGHT, room)[0]
        self.doors[place] = point - (RADIUS + GAP + wide) * RIGHT

    def wires(self, lines: Mapping[str, int]) -> Iterator[Wires]:
        """Yield the wires of each node: the last sections of its edges, and all sections before."""
        for i, operation in enumerate(self.program.operations):
            place = operation.target.offset
            ways = [
                [self.points[x], *self.ways[x, place], self.doors.get(place, self.points[place])]
                for x in self.graph.taken[place]
            ]
            firsts = [pair for way in ways for pair in pairwise(way[:-1])]
            for outgoing, some in ((True, firsts), (False, [way[-2:] for way in ways])):
                if some:
                    start, end = np.array(some, np.float64).swapaxes(0, 1)
                    yield Wires(start, end, i, lines[operation.target.name], outgoing)


def of_graph(
    program: TraceProgram, names: Mapping[int, str], aspect: float, inputs: Sequence[str] = ()
) -> Layout:
    """Lay out the graph of a compiled function.

    Args:
        names: names of the parameters, by bank index
        aspect: aspect ratio of the available stage
        inputs: names of the inputs; may be empty
    """
    trace, made, neurons = program.trace, GraphScene(program, names, aspect), list[Neurons]()
    called = {i: name_of(trace, i) for i in range(trace.inputs)} | dict(enumerate(inputs))
    nodes = {trace.first_made + each.root: each for each in program.nodes}
    for place, point in made.points.items():
        if place in made.graph.blocks and place not in nodes:
            made.put_leaf(place)
            continue
        if place in made.graph.blocks:
            made.put_before(place)
        buffer = program.node(place).name
        neurons.append(Neurons(point[np.newaxis], "", buffer, radius=RADIUS))
        below = called.get(place, trace.label(place - trace.first_made))
        if place in made.graph.all and not below:
            below = plural("graph.weights", made.graph.all[place])
        above = sign_of_node(trace, nodes[place]) if place in nodes else ""
        name = "" if above.startswith(below) else shortened(below, LETTERS)
        above = shortened(above, LETTERS)
        made.signs.append(Sign(above, name, point, RADIUS, made.down, buffer))
    wires = [*made.wires({line.values: i for i, line in enumerate(neurons)})]
    return Layout(made.plates, neurons, wires, (), VIEWS, signs=made.signs)


def lines_of_array(names: Sequence[str]) -> int:
    """Return the number of rows of the array whose cells have these names; 1 for other names."""
    last = re.search(r", (\d+)\]$", names[-1])
    columns = len(names) if last is None else int(last[1]) + 1
    return max(1, len(names) // columns)


def name_of_block(names: Sequence[str], has_room: bool) -> str:
    """Return the common name of array cells, such as w for w[0] and w[1], or the number of names.

    A few short names are listed instead.
    """
    own = ", ".join(names)
    if len(own) <= LETTERS and not any(re.fullmatch(r"p\d+", each) for each in names):
        return own
    arrays = {name.partition("[")[0] for name in names}
    if len(arrays) == 1 and all("[" in name for name in names):
        return shortened(arrays.pop(), LETTERS)
    return plural("graph.weights", len(names)) if has_room else f"{len(names):,}"


def block(
    rows: Sequence[int], names: Sequence[str], middle: FloatArray, room: tuple[float, float]
) -> tuple[list[Plate], float, float]:
    """Return a block of cubes for parameters, with its width and height.

    Args:
        rows: bank indices of the parameters
        names: names of the parameters
        middle: center of the block
        room: maximum width and height of the block
    """
    count, (wide, high) = len(rows), room
    sizes = {n: min(wide / -(-count // n), high / n, PITCH) for n in range(1, count + 1)}
    worth = {lines_of_array(names): OWN}
    lines = max(sizes, key=lambda n: sizes[n] * worth.get(n, 1.0 if count % n else EVEN))
    pitch, columns = sizes[lines], -(-count // lines)
    corner = middle + 0.5 * pitch * (lines * UP - columns * RIGHT)
    found = []
    for line in range(lines):
        own = rows[line * columns : (line + 1) * columns]
        starts = [i for i in range(len(own)) if i == 0 or own[i] != own[i - 1] + 1]
        for start, end in pairwise([*starts, len(own)]):
            origin = corner + pitch * (start * RIGHT + line * DOWN)
            axes = pitch * RIGHT, pitch * DOWN, NEAR
            found.append(Plate(own[start], 1, end - start, end - start, origin, *axes, "value"))
    return found, pitch * columns, pitch * lines


# The drawn items of the graph: nodes, inputs, parameters, and edges.

MANY_PARAMETERS = 20  # maximum parameters of a node that are drawn with edges


@final
class DrawnGraph:
    """The items to draw for a function: inputs, parameters and nodes, by index in the trace.

    A node has the index of its result. Where nodes represent several operations, parameters used by
    only one node are placed in front of it, and parameters used by the same nodes form a block. A
    node that uses most parameters, such as a sum of squares, shows their number as text instead of
    edges.

    Attributes:
        taken: indices of the operands of each item
        blocks: bank indices of the parameters of each block, by the index of the block or its node
        all: number of parameters of each node that shows it as text
    """

    def __init__(self, program: TraceProgram) -> None:
        trace, self.program = program.trace, program
        self.taken: dict[int, list[int]] = {}
        self.blocks: dict[int, list[int]] = {}
        self.all: dict[int, int] = {}
        is_folded = any(len(node.members) > 1 for node in program.nodes)
        readers: dict[int, list[int]] = {}
        for operation in program.operations:
            sources = [each.offset for each in dict.fromkeys(operation.sources)]
            drawn = [each for each in sources if not trace.inputs <= each < trace.first_parameter]
            self.taken[operation.target.offset] = drawn
            for each in drawn:
                readers.setdefault(each, []).append(operation.target.offset)
        parameters = range(trace.first_parameter, trace.first_made)
        for reader, drawn in self.taken.items():
            count = sum(each in parameters for each in drawn)
            if (
                is_folded
                and len(self.taken) > 1
                and count > max(MANY_PARAMETERS, 0.5 * len(parameters))
            ):
                self.all[reader] = count
                self.taken[reader] = [each for each in drawn if each not in parameters]
        for each in parameters:
            others = [x for x in readers.get(each, []) if x not in self.all]
            readers[each] = others or readers.get(each, [])[:1]
        at: dict[tuple[int, ...], int] = {}  # indices of blocks, by the nodes that use them
        for each in parameters:
            row, own = int(program.rows[each - trace.first_parameter]), readers.get(each, [])
            place = each
            if is_folded:
                place = own[0] if len(own) == 1 else at.setdefault((*own,), each)
            self.blocks.setdefault(place, []).append(row)
            for reader in own:
                kept = [place if x == each else x for x in self.taken[reader]]
                self.taken[reader] = [x for x in dict.fromkeys(kept) if x != reader]
        for places in [*self.taken.values()]:
            self.taken |= {each: [] for each in places if each not in self.taken}
        alone = [*self.blocks, *(each for each in trace.outputs if each < trace.inputs)]
        self.taken |= {each: [] for each in alone if each not in self.taken}

    def is_node(self, place: int) -> bool:
        return place >= self.program.trace.first_made

    def in_order(self) -> list[int]:
        """Return all items in the order of the formula, each after its operands."""
        outputs = [self.program.node(each).offset for each in self.program.trace.outputs]
        found, begun = dict[int, None](), set[int]()
        waiting = [*self.taken, *(each for each in reversed(outputs) if each in self.taken)]
        while waiting:
            place = waiting[-1]
            if place in begun:
                waiting.pop()
                found[place] = None
            else:
                begun.add(place)
                waiting += reversed([each for each in self.taken[place] if each not in begun])
        return [*found]
