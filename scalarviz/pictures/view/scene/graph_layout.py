"""Layout of the graph of a compiled function: operations from left to right, behind their operands.

Nodes stand in columns, each behind all that it takes. Within a column they are sorted by the middle
of their neighbours, so that few edges cross; an edge over several columns has a place in each.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import final

import numpy as np

from scalarviz.base.checks.numbers import FloatArray
from scalarviz.base.texts import plural
from scalarviz.base.visible_text import shortened
from scalarviz.core.model.formula_of import name_of, sign_of_node
from scalarviz.core.model.trace_program import TraceProgram
from scalarviz.pictures.view.scene.formula_layout import VIEWS
from scalarviz.pictures.view.scene.parameter_layout import one_value
from scalarviz.pictures.view.scene.plates import (
    DOWN,
    NEAR,
    RIGHT,
    UP,
    Layout,
    Neurons,
    Plate,
    Sign,
    Wires,
)

RADIUS, SIDE = 0.6, 0.42  # of an operation, and half of the largest cube
DOWNWARDS, HIGHEST = 2.3, 4.0  # cells from one node of a column to the next, least and most
PITCH, WIDEST = 0.8, 4.0  # of cubes in a block, and the room of the widest one
EVEN, OWN = 1.6, 2.4  # how much smaller cubes may be so that all lines are full, or an array's
MANY = 20  # parameters that a node takes, of which it has edges
GAP, BLOCK, HIGH = 0.15, 0.6, 0.8  # block to sphere; shares of a cell in width and height
TALL, TALLEST = 0.25, 3.0  # cells of a block, by the root of its size; and of the largest one
ROOM = 4.5  # cells of a column with room for words below a block
LEAST = 2.4  # cells from one column to the next
ENDS, SIDES = 0.8, 2.6  # room above and below, in such distances; left and right, in cells
LETTERS = 14  # of a name; a longer one loses its middle
SWEEPS = 12  # over all columns, to sort them

Node = int | tuple[int, int, int]  # a value of the trace, or a place of an edge in a column


@final
class Graph:
    """What is drawn of a compiled function: inputs, parameters and nodes, by place in the trace.

    A node has the place of its result. Where nodes are several operations, parameters that only one
    of them takes stand before it, and others that the same nodes take are one block. A node that
    takes most parameters of all, as a sum of their squares, has a word for that and no edges.

    taken   what each takes, for all that is drawn
    blocks  bank indices of the parameters at each place: of a block, or before a node
    all     how many parameters such a node takes, by its place
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
            if is_folded and len(self.taken) > 1 and count > max(MANY, 0.5 * len(parameters)):
                self.all[reader] = count
                self.taken[reader] = [each for each in drawn if each not in parameters]
        for each in parameters:
            others = [x for x in readers.get(each, []) if x not in self.all]
            readers[each] = others or readers.get(each, [])[:1]
        at: dict[tuple[int, ...], int] = {}  # places of blocks, by what takes them
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
        self.taken |= {each: [] for each in self.blocks if each not in self.taken}

    def depths(self) -> dict[int, int]:
        """Return the column of each: leaves stand just before what takes them."""
        depth: dict[int, int] = {}
        readers: dict[int, list[int]] = {}
        for place, taken in self.taken.items():
            if self.is_node(place):
                depth[place] = 1 + max((depth.get(each, 0) for each in taken), default=0)
                for each in taken:
                    readers.setdefault(each, []).append(depth[place])
        leaves = [each for each in self.taken if not self.is_node(each)]
        depth |= {each: min(readers.get(each, [1])) - 1 for each in leaves}
        first = min(depth.values(), default=0)
        return {place: each - first for place, each in depth.items()}

    def size_of(self, node: Node) -> float:
        """Return the height of a node, a block or a place of an edge, in cells."""
        if not isinstance(node, int) or node not in self.blocks or self.is_node(node):
            return 1.0
        return min(TALLEST, max(1.0, TALL * math.sqrt(len(self.blocks[node]))))

    def is_node(self, place: int) -> bool:
        return place >= self.program.trace.first_made

    def in_reading_order(self) -> list[int]:
        """Return all that is drawn in the order in which the formula has it."""
        outputs = [self.program.node(each).offset for each in self.program.trace.outputs]
        found, waiting = dict[int, None](), [*reversed(outputs)]
        while waiting:
            place = waiting.pop()
            if place not in found:
                found[place] = None
                waiting += reversed(self.taken.get(place, []))
        return [*dict.fromkeys([*(each for each in found if each in self.taken), *self.taken])]


@final
@dataclass
class Columns:
    """The nodes of a graph in columns, and the edges between neighbouring columns."""

    graph: Graph
    columns: list[list[Node]] = field(default_factory=list)
    before: dict[Node, list[Node]] = field(default_factory=dict)
    behind: dict[Node, list[Node]] = field(default_factory=dict)
    paths: dict[tuple[int, int], list[Node]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        depth = self.graph.depths()
        self.columns = [[] for _ in range(max(depth.values(), default=0) + 1)]
        for place in self.graph.in_reading_order():
            self._add(place, depth[place])
            for operand in self.graph.taken[place]:
                steps = range(depth[operand] + 1, depth[place])
                way: list[Node] = [operand, *((operand, place, at) for at in steps), place]
                for node, at in zip(way[1:-1], steps, strict=True):
                    self._add(node, at)
                self.paths[operand, place] = way
                for first, second in pairwise(way):
                    self.behind.setdefault(first, []).append(second)
                    self.before.setdefault(second, []).append(first)
        self._sort()

    def _add(self, node: Node, depth: int) -> None:
        self.columns[depth].append(node)

    def _sort(self) -> None:
        """Sort each column by the middles of the neighbours before it, then behind it."""
        for sweep in range(SWEEPS):
            forward = sweep % 2 == 0
            near = self.before if forward else self.behind
            way = pairwise(self.columns if forward else self.columns[::-1])
            for fixed, free in way:
                at = {node: i for i, node in enumerate(fixed)}
                middles = {
                    node: float(np.mean([at[each] for each in near.get(node, ())] or [i]))
                    for i, node in enumerate(free)
                }
                free.sort(key=middles.__getitem__)

    def room_of_blocks(self) -> float:
        """Return how much wider columns are for blocks: those before nodes, but the first ones."""
        blocks, first = self.graph.blocks, self.columns[0]
        inner = [
            len(rows) for at, rows in blocks.items() if self.graph.is_node(at) and at not in first
        ]
        others = any(len(rows) > 1 for rows in blocks.values())
        return min(WIDEST, PITCH * max(inner) ** 0.5) if inner else 1.0 * others

    def heights(self) -> dict[Node, float]:
        """Return how high each node stands: near its neighbours, a cell at least from the next."""
        found: dict[Node, float] = {}
        for column in self.columns:
            found |= {node: 0.5 * (len(column) - 1) - i for i, node in enumerate(column)}
        for sweep in range(SWEEPS):
            for column in self.columns[:: 1 if sweep % 2 else -1]:
                wanted = [
                    float(np.mean([found[each] for each in near] or [found[node]]))
                    for node in column
                    for near in [[*self.before.get(node, ()), *self.behind.get(node, ())]]
                ]
                sizes = [self.graph.size_of(node) for node in column]
                found |= dict(zip(column, apart(wanted, sizes), strict=True))
        return found


def apart(wanted: Sequence[float], sizes: Sequence[float]) -> list[float]:
    """Return falling numbers near the wanted ones, as far apart as half of both sizes together."""
    downs = [0.0, *accumulate(0.5 * (one + other) for one, other in pairwise(sizes))]
    groups: list[tuple[int, float]] = []  # of numbers as near as may be: how many, and the mean
    for number, down in zip(wanted, downs, strict=True):
        groups.append((1, number + down))
        while len(groups) > 1 and groups[-2][1] < groups[-1][1]:
            (many, high), (few, low) = groups[-2:]
            groups[-2:] = [(many + few, (many * high + few * low) / (many + few))]
    means = [mean for count, mean in groups for _ in range(count)]
    return [mean - down for mean, down in zip(means, downs, strict=True)]


def of_graph(
    program: TraceProgram, names: Mapping[int, str], aspect: float, inputs: Sequence[str] = ()
) -> Layout:
    """Lay out the graph of a compiled function.

    names   of the parameters, by their bank indices
    aspect  width of the free stage divided by its height
    inputs  their names, if they have some
    """
    trace, graph = program.trace, Graph(program)
    found = Columns(graph)
    heights = found.heights()
    least = LEAST + found.room_of_blocks()
    rows, columns = np.ptp([*heights.values(), 0.0]) + ENDS, max(1, len(found.columns) - 1)
    ends = SIDES + least - LEAST
    right = max(least, (aspect * DOWNWARDS * rows - ends) / columns)
    down = min(HIGHEST, max(DOWNWARDS, (least * columns + ends) / (aspect * rows)))
    points = {
        node: right * i * RIGHT + down * heights[node] * UP
        for i, column in enumerate(found.columns)
        for node in column
    }
    plates, neurons, wires, signs = list[Plate](), [], [], []
    called = {i: name_of(trace, i) for i in range(trace.inputs)} | dict(enumerate(inputs))
    nodes = {trace.first_made + each.root: each for each in program.nodes}
    room = BLOCK * right - RADIUS, HIGH * down
    doors: dict[int, FloatArray] = {}  # where wires to a node with a block end
    for place, point in points.items():
        if not isinstance(place, int):
            continue
        own = graph.blocks.get(place, [])
        titles = [names[row] for row in own]
        if own and not graph.is_node(place):
            if len(own) > 1:
                wide, high = BLOCK * right, HIGH * down * graph.size_of(place)
                cubes, _, high = block(own, titles, point, (wide, high))
                plates += cubes
                words = name_of_block(titles, right > ROOM)
                signs.append(Sign("", words, point, 0.5 * high, down))
                continue
            plates.append(one_value(own[0], point + 0.5 * (UP - RIGHT)))
            signs.append(Sign("", shortened(names[own[0]], LETTERS), point, SIDE, down, row=own[0]))
            continue
        if own:
            _, wide, _ = block(own, titles, point, room)
            middle = point - (RADIUS + GAP + 0.5 * wide) * RIGHT
            plates += block(own, titles, middle, room)[0]
            doors[place] = point - (RADIUS + GAP + wide) * RIGHT
        buffer, made = program.node(place).name, place - trace.first_made
        neurons.append(Neurons(point[np.newaxis], "", buffer, radius=RADIUS))
        below = called.get(place, trace.label(made))
        if place in graph.all and not below:
            below = plural("graph.weights", graph.all[place])
        above = sign_of_node(trace, nodes[place]) if made >= 0 else ""
        signs.append(Sign(above, shortened(below, LETTERS), point, RADIUS, down, buffer))
    lines = {line.values: i for i, line in enumerate(neurons)}
    for i, operation in enumerate(program.operations):
        place = operation.target.offset
        ways = [found.paths[each, place] for each in graph.taken[place]]
        at = lines[operation.target.name]
        pieces = [[points[node] for node in way] for way in ways]
        firsts = [pair for way in pieces for pair in [*pairwise(way)][:-1]]
        lasts = [[way[-2], doors.get(place, way[-1])] for way in pieces]
        for outgoing, some in ((True, firsts), (False, lasts)):
            if some:
                start, end = np.array(some, np.float64).swapaxes(0, 1)
                wires.append(Wires(start, end, i, at, outgoing))
    return Layout(plates, neurons, wires, (), VIEWS, follows_shape=True, signs=signs)


def lines_of_array(names: Sequence[str]) -> int:
    """Return the number of lines of the array whose cells have these names; 1 if it is none."""
    last = re.search(r", (\d+)\]$", names[-1])
    columns = len(names) if last is None else int(last[1]) + 1
    return max(1, len(names) // columns)


def name_of_block(names: Sequence[str], has_room: bool) -> str:
    """Return the array that parameters are all of, such as w of w[0] and w[1], or their count."""
    arrays = {name.partition("[")[0] for name in names}
    if len(arrays) == 1 and all("[" in name for name in names):
        return shortened(arrays.pop(), LETTERS)
    return plural("graph.weights", len(names)) if has_room else f"{len(names):,}"


def block(
    rows: Sequence[int], names: Sequence[str], middle: FloatArray, room: tuple[float, float]
) -> tuple[list[Plate], float, float]:
    """Return parameters as a block of cubes that fits into a room, its width and its height.

    rows    their bank indices; `names`, what they are called
    middle  of the block; `room`, its largest width and height
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
