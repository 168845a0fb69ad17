"""The graph of a compiled function on the stage: behind what it takes, nothing over another."""

import random
from collections.abc import Callable

import numpy as np
import pytest

import scalarviz as sv
from docs.guide.microgpt import Gpt
from scalarviz import nn
from scalarviz.core.bank_arrays import row_numbers
from scalarviz.core.trace_program import TraceProgram
from scalarviz.scene.layout.graph_layout import block
from scalarviz.scene.layout.plates import Layout
from scalarviz.stage.network_layout import layout_of
from scalarviz.training.session.value_session import session_of


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
