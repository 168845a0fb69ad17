"""A small layered layout: a graph from left to right, in columns, with nothing on top of another.

Every node stands in a column to the right of all that it is made of. An edge that passes columns is
led through a gap in each, shared by all edges from the same node. The order in a column is found by
going back and forth and moving each node to the middle of its neighbours, and the heights by moving
each as near to them as its place between the others lets it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

SWEEPS = 12
GAP = 18.0  # between two in a column
PASSAGE = 6.0  # height of a gap for an edge
STRAIGHT = 100.0  # how much more an edge wants to be straight than a node to be in the middle


@dataclass(eq=False)
class Spot:
    """A place in a column: of a node, or of an edge that passes.

    `chain` are all places where the same edge passes; that of a node is empty.
    """

    column: int
    height: float
    chain: list[Spot]
    before: list[Spot] = field(default_factory=list)
    after: list[Spot] = field(default_factory=list)
    place: float = 0.0  # among those of its column
    y: float = 0.0  # of its middle


@dataclass(frozen=True)
class GraphLayout:
    """Where everything is.

    columns  the column of each node
    heights  the y of the middle of each node
    ways     for each edge, the (column, y) that it passes between its two ends
    """

    columns: list[int]
    heights: list[float]
    ways: list[list[tuple[int, float]]]


def lay_out(inputs: Sequence[Sequence[int]], heights: Sequence[float]) -> GraphLayout:
    """Places for nodes of these heights; `inputs` are those of each, which come before it."""
    columns = columns_of(inputs)
    spots = [Spot(column, height, []) for column, height in zip(columns, heights, strict=True)]
    everything = list(spots)
    chains: list[list[Spot]] = [[] for _ in inputs]  # the places where edges from each node pass
    ways: list[list[Spot]] = []
    for target, sources in enumerate(inputs):
        for source in sources:
            chain, between = chains[source], columns[target] - columns[source] - 1
            while len(chain) < between:
                last = chain[-1] if chain else spots[source]
                passing = Spot(last.column + 1, PASSAGE, chain)
                connect(last, passing)
                chain.append(passing)
                everything.append(passing)
            ways.append(chain[:between])
            connect(chain[between - 1] if between else spots[source], spots[target])
    rows: list[list[Spot]] = [[] for _ in range(max(columns) + 1)]
    for spot in everything:
        rows[spot.column].append(spot)
    rows = ordered(rows)
    set_heights(rows)
    top = min(spot.y - spot.height / 2 for spot in everything)
    return GraphLayout(
        columns,
        [spot.y - top for spot in spots],
        [[(spot.column, spot.y - top) for spot in way] for way in ways],
    )


def columns_of(inputs: Sequence[Sequence[int]]) -> list[int]:
    """The column of each node: right of its inputs, and a leaf just left of its first use."""
    columns: list[int] = []
    for sources in inputs:
        columns.append(1 + max((columns[source] for source in sources), default=-1))
    first_use: dict[int, int] = {}
    for target, sources in enumerate(inputs):
        for source in sources:
            first_use[source] = min(first_use.get(source, columns[target]), columns[target])
    return [
        column if sources else max(0, first_use.get(i, 1) - 1)
        for i, (column, sources) in enumerate(zip(columns, inputs, strict=True))
    ]


def connect(source: Spot, target: Spot) -> None:
    source.after.append(target)
    target.before.append(source)


def ordered(rows: list[list[Spot]]) -> list[list[Spot]]:
    """The spots of each column in an order with few crossings."""
    number(rows)
    best, fewest = [list(row) for row in rows], crossings(rows)
    for sweep in range(SWEEPS):
        forward = sweep % 2 == 0
        for row in rows if forward else rows[::-1]:
            for spot in row:
                beside = spot.before if forward else spot.after
                if beside:
                    spot.place = sum(each.place for each in beside) / len(beside)
            row.sort(key=lambda spot: spot.place)
            number([row])
        count = crossings(rows)
        if count < fewest:
            best, fewest = [list(row) for row in rows], count
    number(best)
    return best


def number(rows: list[list[Spot]]) -> None:
    """Count the spots of each column, evenly over its height, so that columns compare."""
    for row in rows:
        for i, spot in enumerate(row):
            spot.place = (i + 0.5) / len(row)


def crossings(rows: list[list[Spot]]) -> int:
    """How many pairs of edges cross."""
    total = 0
    for row in rows:
        ends = [(spot.place, after.place) for spot in row for after in spot.after]
        total += sum(
            (a - c) * (b - d) < 0 for i, (a, b) in enumerate(ends) for c, d in ends[i + 1 :]
        )
    return total


def set_heights(rows: list[list[Spot]]) -> None:
    """Give every spot its y, in the order of its column."""
    for row in rows:
        stack(row, [(0.0, 1.0)] * len(row))
    for sweep in range(4 * SWEEPS):
        forward = sweep % 2 == 0
        for row in rows if forward else rows[::-1]:
            stack(row, [wish(spot, forward, settled=sweep >= SWEEPS) for spot in row])


def wish(spot: Spot, forward: bool, settled: bool) -> tuple[float, float]:
    """Where a spot wants to be, and how much: between its neighbours, on one side or on both.

    An edge that passes several columns wants to be straight, and more than anything.
    """
    beside = [*spot.before, *spot.after]
    if settled and spot.chain:
        beside = spot.chain
    elif not settled:
        beside = (spot.before if forward else spot.after) or beside
    y = sum(each.y for each in beside) / len(beside) if beside else spot.y
    return y, STRAIGHT if spot.chain else 1.0


def stack(row: list[Spot], wishes: Sequence[tuple[float, float]]) -> None:
    """Put a column's spots as near as possible to where they want to be, and none on another.

    Those that would meet move together, to the mean of what they want.
    """
    offsets = [0.0]
    for above, below in pairwise(row):
        offsets.append(offsets[-1] + (above.height + below.height) / 2 + GAP)
    groups: list[tuple[float, float, int]] = []  # the mean of its wishes, their weight, its size
    for (y, weight), offset in zip(wishes, offsets, strict=True):
        groups.append((y - offset, weight, 1))
        while len(groups) > 1 and groups[-2][0] > groups[-1][0]:
            (a, m, i), (b, n, j) = groups[-2:]
            groups[-2:] = [((a * m + b * n) / (m + n), m + n, i + j)]
    places = [y for y, _, size in groups for _ in range(size)]
    for spot, place, offset in zip(row, places, offsets, strict=True):
        spot.y = place + offset
