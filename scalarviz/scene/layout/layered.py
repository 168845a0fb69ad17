"""A layered graph layout from left to right, without overlaps.

Every node is in a column to the right of its inputs. An edge that crosses columns passes through a
gap in each of them; all edges from the same node share that gap. Sweeps in both directions order
each column by the barycenters of its neighbors, then move nodes as close to their neighbors as the
order allows.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

SWEEPS = 12
NODE_GAP = 18.0  # between two nodes of a column
EDGE_GAP = 6.0  # height of a gap for an edge
STRAIGHT = 100.0  # weight of keeping an edge straight, relative to centering a node


@dataclass(eq=False)
class ColumnPlace:
    """A slot in a column, for a node or for an edge that crosses the column.

    `chain` contains all slots of the same edge; it is empty for a node.
    """

    column: int
    height: float
    chain: list[ColumnPlace]
    before: list[ColumnPlace] = field(default_factory=list)
    after: list[ColumnPlace] = field(default_factory=list)
    place: float = 0.0  # order within its column, 0 to 1
    y: float = 0.0  # of its center


@dataclass(frozen=True)
class GraphLayout:
    """The layout of a graph.

    Attributes:
        columns: the column of each node
        heights: the y coordinate of each node's center
        ways: for each edge, the (column, y) points between its ends
    """

    columns: list[int]
    heights: list[float]
    ways: list[list[tuple[int, float]]]


def lay_out(
    inputs: Sequence[Sequence[int]],
    heights: Sequence[float],
    gap: float = NODE_GAP,
    passage: float = EDGE_GAP,
) -> GraphLayout:
    """Lay out nodes of the given heights; `inputs` lists each node's inputs, which come earlier.

    Args:
        gap: minimum gap between two nodes of a column
        passage: height of the gap for an edge
    """
    columns = columns_of(inputs)
    spots = [
        ColumnPlace(column, height, []) for column, height in zip(columns, heights, strict=True)
    ]
    everything = list(spots)
    chains: list[list[ColumnPlace]] = [[] for _ in inputs]  # slots of the edges from each node
    ways: list[list[ColumnPlace]] = []
    for target, sources in enumerate(inputs):
        for source in sources:
            chain, between = chains[source], columns[target] - columns[source] - 1
            while len(chain) < between:
                last = chain[-1] if chain else spots[source]
                passing = ColumnPlace(last.column + 1, passage, chain)
                connect(last, passing)
                chain.append(passing)
                everything.append(passing)
            ways.append(chain[:between])
            connect(chain[between - 1] if between else spots[source], spots[target])
    rows: list[list[ColumnPlace]] = [[] for _ in range(max(columns) + 1)]
    for spot in everything:
        rows[spot.column].append(spot)
    rows = ordered(rows)
    set_heights(rows, gap)
    top = min(spot.y - spot.height / 2 for spot in everything)
    return GraphLayout(
        columns,
        [spot.y - top for spot in spots],
        [[(spot.column, spot.y - top) for spot in way] for way in ways],
    )


def columns_of(inputs: Sequence[Sequence[int]]) -> list[int]:
    """Return the column of each node: right of its inputs; a leaf is just left of its first use."""
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


def connect(source: ColumnPlace, target: ColumnPlace) -> None:
    source.after.append(target)
    target.before.append(source)


def ordered(rows: list[list[ColumnPlace]]) -> list[list[ColumnPlace]]:
    """Return the slots of each column in an order with few edge crossings."""
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


def number(rows: list[list[ColumnPlace]]) -> None:
    """Set `place` of each slot to its rank in the column, as a fraction from 0 to 1."""
    for row in rows:
        for i, spot in enumerate(row):
            spot.place = (i + 0.5) / len(row)


def crossings(rows: list[list[ColumnPlace]]) -> int:
    """Return the number of pairs of edges that cross."""
    total = 0
    for row in rows:
        seen: list[float] = []  # ends of edges that begin above, in order
        for _, end in sorted((spot.place, after.place) for spot in row for after in spot.after):
            total += len(seen) - bisect_right(seen, end)
            insort(seen, end)
    return total


def set_heights(rows: list[list[ColumnPlace]], gap: float) -> None:
    """Set the y coordinate of every slot without changing the order in its column."""
    for row in rows:
        stack(row, [(0.0, 1.0)] * len(row), gap)
    for sweep in range(4 * SWEEPS):
        forward = sweep % 2 == 0
        every = [spot.y for row in rows for spot in row if spot.before or spot.after]
        middle = sum(every) / len(every) if every else 0.0
        for row in rows if forward else rows[::-1]:
            stack(row, [wish(spot, forward, middle, settled=sweep >= SWEEPS) for spot in row], gap)


def wish(spot: ColumnPlace, forward: bool, middle: float, settled: bool) -> tuple[float, float]:
    """Return the preferred y of a slot, which is the mean of its neighbors, and its weight.

    Slots of a crossing edge get a larger weight, so that the edge is straight. A node without edges
    is placed at the mean of all others.
    """
    beside = [*spot.before, *spot.after]
    if settled and spot.chain:
        beside = spot.chain
    elif not settled:
        beside = (spot.before if forward else spot.after) or beside
    y = sum(each.y for each in beside) / len(beside) if beside else middle
    return y, STRAIGHT if spot.chain else 1.0


def stack(row: list[ColumnPlace], wishes: Sequence[tuple[float, float]], gap: float) -> None:
    """Place a column's slots as close as possible to their preferred y, without overlaps.

    Slots that would overlap move together to the weighted mean of their preferred positions.
    """
    offsets = [0.0]
    for above, below in pairwise(row):
        offsets.append(offsets[-1] + (above.height + below.height) / 2 + gap)
    groups: list[tuple[float, float, int]] = []  # mean of the preferences, weight, number of slots
    for (y, weight), offset in zip(wishes, offsets, strict=True):
        groups.append((y - offset, weight, 1))
        while len(groups) > 1 and groups[-2][0] > groups[-1][0]:
            (a, m, i), (b, n, j) = groups[-2:]
            groups[-2:] = [((a * m + b * n) / (m + n), m + n, i + j)]
    places = [y for y, _, size in groups for _ in range(size)]
    for spot, place, offset in zip(row, places, offsets, strict=True):
        spot.y = place + offset
