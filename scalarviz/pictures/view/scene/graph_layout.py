"""Layout of the graph of a compiled function: operations from left to right, behind their operands.

Nodes stand in columns, each behind all that it takes. Within a column they are sorted by the middle
of their neighbours, so that few edges cross; an edge over several columns has a place in each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import final

import numpy as np

from scalarviz.base.visible_text import shortened
from scalarviz.core.model.formula_of import name_of, operands_of, written_above
from scalarviz.core.model.trace import Trace, TraceProgram
from scalarviz.pictures.view.scene.formula_layout import VIEWS
from scalarviz.pictures.view.scene.parameter_layout import one_value
from scalarviz.pictures.view.scene.plates import RIGHT, UP, Layout, Neurons, Sign, Wires

RADIUS, SIDE = 0.6, 0.42  # of an operation, and half of the largest cube
DOWNWARDS, HIGHEST = 2.3, 4.0  # cells from one node of a column to the next, least and most
LEAST = 2.4  # cells from one column to the next
ENDS = 0.8  # room at both ends, in such distances
LETTERS = 14  # of a name; a longer one loses its middle
SWEEPS = 12  # over all columns, to sort them

Node = int | tuple[int, int, int]  # a value of the trace, or a place of an edge in a column


@final
@dataclass
class Columns:
    """The nodes of a graph in columns, and the edges between neighbouring columns."""

    trace: Trace
    columns: list[list[Node]] = field(default_factory=list)
    before: dict[Node, list[Node]] = field(default_factory=dict)
    behind: dict[Node, list[Node]] = field(default_factory=dict)
    paths: dict[tuple[int, int], list[Node]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        depth = depths_of(self.trace)
        self.columns = [[] for _ in range(max(depth.values(), default=0) + 1)]
        for place in in_reading_order(self.trace):
            self._add(place, depth[place])
            for operand in taken_by(self.trace, place):
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
                found |= dict(zip(column, apart(wanted), strict=True))
        return found


def apart(wanted: Sequence[float]) -> list[float]:
    """Return falling numbers, 1 apart at least, near the wanted ones."""
    groups: list[list[float]] = []  # of numbers 1 apart: how many, and the first one's mean wish
    for number in wanted:
        groups.append([1.0, number])
        while len(groups) > 1 and groups[-2][1] - groups[-2][0] < groups[-1][1]:
            count, first = groups.pop()
            own, top = groups[-1]
            groups[-1] = [own + count, (own * top + count * (first + own)) / (own + count)]
    return [first - i for count, first in groups for i in range(int(count))]


def taken_by(trace: Trace, place: int) -> list[int]:
    """Return what a value is computed of, without constants, each once."""
    row, is_constant = place - trace.first_made, range(trace.inputs, trace.first_parameter)
    taken = operands_of(trace, row) if row >= 0 else []
    return [*dict.fromkeys(each for each in taken if each not in is_constant)]


def depths_of(trace: Trace) -> dict[int, int]:
    """Return the column of each value that is drawn: leaves stand just before what takes them."""
    depth: dict[int, int] = {}
    readers: dict[int, list[int]] = {}
    for place in range(trace.first_made, trace.first_made + len(trace.operations)):
        taken = taken_by(trace, place)
        depth[place] = 1 + max((depth.get(each, 0) for each in taken), default=0)
        for each in taken:
            readers.setdefault(each, []).append(depth[place])
    leaves = {each: min(found) - 1 for each, found in readers.items() if each < trace.first_made}
    unused = [i for i in range(trace.first_parameter, trace.first_made) if i not in leaves]
    return {**depth, **leaves, **dict.fromkeys(unused, 0)}


def in_reading_order(trace: Trace) -> list[int]:
    """Return all values that are drawn in the order in which the formula has them."""
    found, waiting = dict[int, None](), [*reversed(trace.outputs)]
    while waiting:
        place = waiting.pop()
        if place not in found:
            found[place] = None
            waiting += reversed(taken_by(trace, place))
    return [*dict.fromkeys([*found, *depths_of(trace)])]


def of_graph(program: TraceProgram, names: Mapping[int, str], aspect: float) -> Layout:
    """Lay out the graph of a compiled function.

    names   of the parameters, by their bank indices
    aspect  width of the free stage divided by its height
    """
    trace, found = program.trace, Columns(program.trace)
    heights = found.heights()
    rows = np.ptp([*heights.values(), 0.0]) + ENDS
    columns = len(found.columns) - 1 + ENDS
    right = max(LEAST, aspect * DOWNWARDS * rows / columns)
    down = min(HIGHEST, max(DOWNWARDS, LEAST * columns / (aspect * rows)))
    points = {
        node: right * i * RIGHT + down * heights[node] * UP
        for i, column in enumerate(found.columns)
        for node in column
    }
    plates, neurons, wires, signs = [], [], [], []
    for place, point in points.items():
        if not isinstance(place, int):
            continue
        number = place - trace.first_parameter
        if 0 <= number < len(trace.parameters):
            row = int(program.rows[number])
            plates.append(one_value(row, point + 0.5 * (UP - RIGHT)))
            signs.append(Sign("", shortened(names[row], LETTERS), point, SIDE, row=row))
            continue
        buffer, made = program.node(place).name, place - trace.first_made
        neurons.append(Neurons(point[np.newaxis], "", buffer, radius=RADIUS))
        above = written_above(trace, made) if made >= 0 else ""
        below = trace.label(made) if made >= 0 else name_of(trace, place)
        signs.append(Sign(above, shortened(below, LETTERS), point, RADIUS, buffer))
    lines = {line.values: i for i, line in enumerate(neurons)}
    for i, operation in enumerate(program.operations):
        place = trace.first_made + i
        ways = [found.paths[each, place] for each in taken_by(trace, place)]
        at = lines[operation.target.name]
        pieces = [[points[node] for node in way] for way in ways]
        firsts = [pair for way in pieces for pair in [*pairwise(way)][:-1]]
        lasts = [[*pairwise(way)][-1] for way in pieces]
        for outgoing, some in ((True, firsts), (False, lasts)):
            if some:
                start, end = np.array(some, np.float64).swapaxes(0, 1)
                wires.append(Wires(start, end, i, at, outgoing))
    return Layout(plates, neurons, wires, (), VIEWS, follows_shape=True, signs=signs)
