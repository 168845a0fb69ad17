"""Layouts of graphs, formulas and walls of parameters: in reading order, nothing over another."""

import random
from collections.abc import Callable
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scalarviz as sv
from docs.guide.microgpt import Gpt
from scalarviz import nn
from scalarviz.base.texts import text
from scalarviz.core.bank_arrays import Wall, row_numbers
from scalarviz.core.trace_program import TraceProgram, formula_of
from scalarviz.scene.labels import place_written
from scalarviz.scene.layout.division import Box
from scalarviz.scene.layout.formula_layout import RAISED, of_formula, of_walls
from scalarviz.scene.layout.graph_layout import block
from scalarviz.scene.layout.layered import NODE_GAP, GraphLayout, lay_out
from scalarviz.scene.layout.plates import Layout
from scalarviz.scene.picture import write_ends
from scalarviz.scene.silhouettes import balls_of
from scalarviz.stage.network_layout import layout_of
from scalarviz.story.facts import NONE
from scalarviz.training.session.value_session import session_of
from tests.scene.measures import DARK, Words, projection, stage_of, trained


def formula() -> sv.Session:
    a, b = sv.Value(2.0, label="a"), sv.Value(-3.0, label="b")
    return session_of((a * b + a**2).relu() * b)


def neurons() -> sv.Session:
    random.seed(0)
    return session_of(nn.MLP(2, [16, 16, 1])([1.0, 2.0]))


def decayed() -> sv.Session:
    """The loss of micrograd's demo: of samples, and of the squares of all parameters."""
    random.seed(0)
    network = nn.MLP(2, [16, 16, 1])
    pairs = np.random.default_rng(0).normal(size=(10, 2)).tolist()
    losses = [(1.0 - network(pair) * pair[0]).relu() for pair in pairs]
    squares = [p * p for p in network.parameters()]
    return session_of(sum(losses[1:], losses[0]) + sum(squares[1:], squares[0]) * 1e-4)


def gpt() -> sv.Session:
    model = Gpt(sv.Value)
    loss = sv.compile(lambda _: model.loss("ova"), 1, parameters=vars(model), engine="python")
    return sv.Session(loss, ([[0.0]], [[0.0]]), engine="python")


def laid_out(session: sv.Session, shape: float = 1.75) -> tuple[TraceProgram, Layout]:
    program = session.network.program
    assert isinstance(program, TraceProgram)
    return program, layout_of(session, shape, walks=True)


def passed_on() -> sv.Session:
    """A function whose results are an input, a parameter, a constant and a product."""
    a = sv.Value(2.0, label="a")
    f = sv.compile(lambda x, y: [x, a, sv.Value(3.0) * 1.0, a * y], 2, engine="python")
    return sv.Session(f, ([[1.0, 2.0]], [[0.0] * 4]), engine="python")


MADE = {made.__name__: made for made in (formula, neurons, decayed, gpt, passed_on)}
each_graph = pytest.mark.parametrize(
    "made",
    [pytest.param(each, marks=pytest.mark.slow if each is gpt else ()) for each in MADE.values()],
    ids=MADE,
)


@each_graph
def test_every_node_stands_behind_what_it_takes(made: Callable[[], sv.Session]) -> None:
    program, layout = laid_out(made())
    places = {line.values: line.points[0] for line in layout.neurons}
    for operation in program.operations:
        for source in operation.sources:
            if source.name in places and source != operation.target:
                assert places[source.name][0] < places[operation.target.name][0] - 1.0


@pytest.mark.some(3)
@each_graph
@pytest.mark.parametrize("shape", [0.6, 1.75])
def test_nothing_stands_over_another(made: Callable[[], sv.Session], shape: float) -> None:
    _, layout = laid_out(made(), shape)
    boxes = [
        (line.points[0] - line.radius, line.points[0] + line.radius) for line in layout.neurons
    ]
    for plate in layout.plates:
        end = plate.origin + plate.columns * plate.along + plate.rows * plate.across
        boxes.append((np.minimum(plate.origin, end), np.maximum(plate.origin, end)))
    lows, highs = (np.array(side)[:, :2] for side in zip(*boxes, strict=True))
    for i in range(len(boxes)):
        over = (lows[i] < highs - 1e-9) & (lows < highs[i] - 1e-9)
        assert over.all(axis=1).sum() == 1, f"{i} of {len(boxes)}"


@each_graph
def test_every_parameter_has_one_cube(made: Callable[[], sv.Session]) -> None:
    session = made()
    _, layout = laid_out(session)
    rows = [
        plate.first + row * plate.stride + column
        for plate in layout.plates
        for row in range(plate.rows)
        for column in range(plate.columns)
    ]
    assert sorted(rows) == list(row_numbers(session.network))


def test_the_squares_of_all_parameters_have_a_word_in_place_of_edges() -> None:
    program, layout = laid_out(decayed())
    (last,) = [sign for sign in layout.signs if sign.buffer == program.operations[-1].target.name]
    assert last.below == "337 weights"
    ends = [bundle for bundle in layout.wires if bundle.operation == len(program.operations) - 1]
    assert sum(len(bundle.start) for bundle in ends) < 20


@pytest.mark.slow
def test_blocks_have_the_names_of_arrays() -> None:
    _, layout = laid_out(gpt())
    below = {sign.below for sign in layout.signs}
    assert {"query", "key", "value", "mix", "wide", "narrow", "scores"} <= below


def test_a_block_has_the_lines_of_its_array() -> None:
    names = [f"w[{i}, {j}]" for i in range(16) for j in range(16)]
    cubes, wide, high = block(range(256), names, np.zeros(3), (3.0, 5.0))
    assert (len(cubes), cubes[0].columns) == (16, 16) and wide == pytest.approx(high)
    others, wide, high = block(range(256), ["p"] * 256, np.zeros(3), (3.0, 5.0))
    assert all(plate.columns == others[0].columns for plate in others)
    assert wide <= 3.0 + 1e-9 and high <= 5.0 + 1e-9


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
    assert not crossed(lay_out(inputs, [40.0] * 5), inputs[:4])


def test_a_leaf_stands_just_before_its_first_use() -> None:
    #  0 -> 1 -> 2 -> 4, and 3 -> 4
    assert lay_out([[], [0], [1], [], [2, 3]], [40.0] * 5).columns == [0, 1, 2, 2, 3]


def test_a_passing_edge_is_straight_where_nothing_is_in_its_way() -> None:
    heights = [y for _, y in lay_out([[], [0], [1], [2], [3, 0]], [40.0] * 5).ways[-1]]
    assert len(heights) == 3 and max(heights) - min(heights) < 1.0


def test_a_node_without_edges_stands_beside_the_others() -> None:
    layout = lay_out([[], [], [], [0], [3], [4, 1]], [40.0] * 6)
    ys = [y for i, y in enumerate(layout.heights) if i != 2]
    assert min(ys) - 60.0 <= layout.heights[2] <= max(ys) + 60.0


NAMES = {"height", "growth", "speed", "phase"}


def pieces_on_screen(size: tuple[int, int]) -> tuple[list[tuple[str, Box]], Box]:
    stage = stage_of(trained("expression"), size)
    see, layout, canvas = projection(stage), stage.frame_data().layout, Words(*size)
    taken = write_ends(canvas, see, stage.frame_data(), DARK)
    place_written(canvas, DARK, see, layout, taken)
    taken.write(canvas, DARK, [])
    found = list(canvas.found)
    for plate in layout.plates:
        xy = see(plate.corners_of(0, 0, plate.half)).xy
        (left, top), (right, bottom) = xy.min(axis=0).tolist(), xy.max(axis=0).tolist()
        found.append(("cube", Box(left, top, right - left, bottom - top)))
    for line in layout.neurons:
        (ball,) = balls_of(see, line.points, line.radius)
        side = 2.0 * ball.radius
        found.append(("ball", Box(ball.x - ball.radius, ball.y - ball.radius, side, side)))
    return found, see.box


def level_lines(size: tuple[int, int]) -> list[list[tuple[str, float, float]]]:
    """The words of each line of the formula, and where they are seen."""
    stage = stage_of(trained("expression"), size)
    see, lines = projection(stage), dict[float, list[tuple[str, float, float]]]()
    for each in stage.frame_data().layout.written:
        if each.least == 0.0:
            x, y = see(each.middle[np.newaxis]).xy[0].tolist()
            lines.setdefault(float(each.middle[1]), []).append((each.words, x, y))
    return [*lines.values()]


@pytest.mark.parametrize("size", [(1280, 800), (800, 500), (1920, 1080), (600, 900)], ids=str)
def test_words_and_cubes_are_read_in_order_and_none_covers_another(size: tuple[int, int]) -> None:
    found, box = pieces_on_screen(size)
    pieces = {words for line in level_lines(size) for words, _, _ in line}
    assert {words for words, _ in found} >= NAMES | pieces
    lines = [sorted(y for _, _, y in line) for line in level_lines(size)]
    assert len(lines) == 2 and all(line[-1] - line[0] < 1.0 for line in lines)  # one is raised
    for words, each in found:
        assert box.x - 1.0 <= each.x and each.right <= box.right + 1.0, words
        assert box.y - 1.0 <= each.y and each.bottom <= box.bottom + 8.0, words
    for (first, one), (second, other) in combinations(found, 2):
        wide = min(one.right, other.right) - max(one.x, other.x)
        high = min(one.bottom, other.bottom) - max(one.y, other.y)
        assert min(wide, high) <= 3.0, (first, second)  # the corner of a cube at a bracket


A, B = sv.Value(2.0, label="a"), sv.Value(3.0, label="b")


def written(function: Callable[[sv.Value], sv.Value]) -> tuple[Any, Layout | None]:
    """The program of a function of x, and its formula."""
    program = sv.compile(function, 1, engine="python").program
    nodes = {at: (name, program.node_at.get(at, NONE)) for name, at in program.place_of.items()}
    names = [value.label for value in program.trace.parameters]
    pieces = formula_of(program.trace)
    return program, of_formula(pieces, range(len(names)), names, 1.5, nodes)


def test_pieces_follow_each_other_and_cubes_and_balls_stand_for_letters() -> None:
    _, layout = written(lambda x: A * (-B * x).exp() + A)
    assert layout is not None and [plate.first for plate in layout.plates] == [1, 0]  # a, b
    words = [(each.words, *each.middle[:2]) for each in layout.written if each.least == 0.0]
    assert [each for each, _, _ in words] == ["OUT =", "×", "e", "−", "×", "+", "a"]
    steps = [each.words for each in layout.written if each.words not in ("a", "b", "x")]
    assert steps[6:11] == ["−b", "× x", text("formula.power"), "a ×", "+ a"]
    for i, ((_, x, y), (_, after, below)) in enumerate(pairwise(words)):
        assert x < after and below - y == pytest.approx([0.0, 0.0, RAISED, 0.0, -RAISED, 0.0][i])
    assert layout.neurons[0].points[0, 1] == pytest.approx(RAISED)


def test_each_result_hangs_below_the_part_of_the_formula_that_it_is_of() -> None:
    program, layout = written(lambda x: A * (-B * x).exp() + (x * A).sin())
    assert layout is not None
    ends = {
        program.operations[each.operation].name: (each.start[1, 0], each.end[1, 0])
        for each in layout.wires
    }
    (b,) = [plate.origin[0] for plate in layout.plates if plate.first == 0]  # it is taken first
    first, last = (float(layout.neurons[i].points[0, 0]) for i in (0, 1))  # both x
    left, right = ends["negate 0"]
    assert left < b < right < first
    assert all(start < b < first < end < last for start, end in [ends["exp 2"], ends["multiply 1"]])
    assert first < ends["sin 5"][0] < last < ends["sin 5"][1] == ends["add 6"][1]
    for each in layout.wires:
        (x, y), line = layout.neurons[each.neurons].points[0, :2], each.start[1, 1]
        assert each.start[1, 0] < x < each.end[1, 0] and y < line  # below its bracket
        inner = program.operations[each.operation].sources
        below = [
            one.points[0, 1] for one in layout.neurons if one.values in {i.name for i in inner}
        ]
        assert all(y < other for other in below)


def test_a_formula_that_is_too_long_for_a_line_is_a_graph() -> None:
    assert written(lambda x: sum([A * x + B] * 9, x))[1] is None


GPT = [(27, 16), (16, 16), (16, 16), (16, 16), (16, 16), (16, 16), (64, 16), (16, 64), (27, 16)]
MLP = [(16, 3), (16, 17), (1, 17)]
MIXED = [(), (3,), (2, 5), (), (40,), (9, 1)]
ASPECTS = [0.5, 1.0, 1.75, 3.0]


def laid(shapes: list[tuple[int, ...]], aspect: float) -> tuple[list[np.ndarray], float]:
    walls, first = {}, 0
    for number, shape in enumerate(shapes):
        walls[f"wall {number}"] = Wall(first, shape)
        first += int(np.prod(shape))
    layout = of_walls(walls, aspect)
    assert sorted(i for plate in layout.plates for i in plate.cells()[2]) == [*range(first)]
    assert [label.name for label in layout.labels] == [*walls]
    boxes = [
        np.stack([ends.min(axis=0), ends.max(axis=0)])[:, :2]
        for ends in (plate.corners() for plate in layout.plates)
    ]
    wide, tall = np.max(boxes, axis=(0, 1)) - np.min(boxes, axis=(0, 1))
    area = sum(np.prod(high - low) for low, high in boxes)
    return boxes, area / (max(wide, aspect * tall) ** 2 / aspect)


@pytest.mark.parametrize("shapes", [GPT, MLP, MIXED, [(1000, 3)]], ids=len)
@pytest.mark.parametrize("aspect", ASPECTS)
def test_no_wall_lies_over_another(shapes: list[tuple[int, ...]], aspect: float) -> None:
    boxes, _ = laid(shapes, aspect)
    for (low, high), (other_low, other_high) in combinations(boxes, 2):
        assert (high <= other_low - 1.0).any() or (other_high <= low - 1.0).any()


@pytest.mark.parametrize("aspect", [1.0, 1.75])
@pytest.mark.parametrize("shapes", [GPT, MLP], ids=len)
def test_walls_fill_three_tenths_of_the_stage(shapes: list[tuple[int, ...]], aspect: float) -> None:
    assert laid(shapes, aspect)[1] > 0.3
