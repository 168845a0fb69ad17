"""The layout of a graph: columns from left to right, nothing on top of another, few crossings."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalarviz.scene.layout.layered import NODE_GAP, GraphLayout, lay_out

Graph = list[list[int]]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Nodes in an order in which each is made of earlier ones; all but the last are used."""
    count = draw(st.integers(1, 24))
    inputs: Graph = [
        draw(st.lists(st.integers(0, i - 1), max_size=3)) if i else [] for i in range(count)
    ]
    unused = set(range(count - 1)) - {source for sources in inputs for source in sources}
    inputs[-1] += sorted(unused)
    return inputs


@given(graphs())
def test_every_node_stands_to_the_right_of_its_inputs(inputs: Graph) -> None:
    columns = lay_out(inputs, [40.0] * len(inputs)).columns
    assert all(columns[x] < columns[i] for i, sources in enumerate(inputs) for x in sources)
    assert min(columns) == 0


@given(graphs(), st.randoms(use_true_random=False))
def test_nothing_lies_on_top_of_another(inputs: Graph, dice: random.Random) -> None:
    heights = [dice.uniform(20, 60) for _ in inputs]
    layout = lay_out(inputs, heights)
    for column in set(layout.columns):
        spans = [
            (y - height / 2, y + height / 2)
            for i, (y, height) in enumerate(zip(layout.heights, heights, strict=True))
            if layout.columns[i] == column
        ]
        # An edge that passes keeps away from every node of the column.
        spans += {(y, y) for way in layout.ways for c, y in way if c == column}
        spans.sort()
        for (_, bottom), (top, _) in pairwise(spans):
            assert top - bottom >= NODE_GAP - 1e-6


@given(graphs())
def test_an_edge_passes_every_column_between_its_ends(inputs: Graph) -> None:
    layout = lay_out(inputs, [40.0] * len(inputs))
    ways = iter(layout.ways)
    for target, sources in enumerate(inputs):
        for source in sources:
            passed = [column for column, _ in next(ways)]
            assert passed == list(range(layout.columns[source] + 1, layout.columns[target]))


def crossed(layout: GraphLayout, inputs: Graph) -> bool:
    (a, b), (c, d) = [(x[0], i) for i, x in enumerate(inputs) if x]
    y = layout.heights
    return (y[a] - y[c]) * (y[b] - y[d]) < 0


@pytest.mark.parametrize("inputs", [[[], [], [0], [1], [2, 3]], [[], [], [1], [0], [2, 3]]])
def test_edges_that_need_not_cross_do_not(inputs: Graph) -> None:
    layout = lay_out(inputs, [40.0] * 5)
    assert not crossed(layout, inputs[:4])


def test_a_leaf_stands_just_before_its_first_use() -> None:
    #  0 -> 1 -> 2 -> 4, and 3 -> 4
    assert lay_out([[], [0], [1], [], [2, 3]], [40.0] * 5).columns == [0, 1, 2, 2, 3]


def test_a_passing_edge_is_straight_where_nothing_is_in_its_way() -> None:
    layout = lay_out([[], [0], [1], [2], [3, 0]], [40.0] * 5)
    heights = [y for _, y in layout.ways[-1]]
    assert len(heights) == 3 and max(heights) - min(heights) < 1.0


def test_a_node_without_edges_stands_beside_the_others() -> None:
    layout = lay_out([[], [], [], [0], [3], [4, 1]], [40.0] * 6)
    ys = [y for i, y in enumerate(layout.heights) if i != 2]
    assert min(ys) - 60.0 <= layout.heights[2] <= max(ys) + 60.0
