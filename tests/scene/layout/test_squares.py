"""The layout squares: blocks of squares, and lines from neuron to neuron."""

from itertools import pairwise

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.scene.layout.squares import squares_layout
from scalarviz.stage.network_layout import layout_of
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from tests.sessions import advanced


def textured() -> sv.Session:
    network = sv.Network(
        [
            sv.FrequencyEncoding(2, octaves=3),
            sv.Dense(12, 64, "leaky_relu"),
            sv.Dense(64, 40, "tanh"),
            sv.Dense(40, 3, "sigmoid"),
        ],
        seed=0,
    )
    return sv.Session(
        network, sv.data.Texture(size=16), "mse", sv.SGD(0.1), batch=8, engine="python"
    )


@pytest.mark.parametrize("shape", [0.8, 1.4, 2.5])
def test_no_two_squares_meet_and_blocks_follow_each_other(shape: float) -> None:
    layout = layout_of(textured(), shape)
    assert not layout.plates
    assert [each.words for each in layout.written] == [
        "64 neurons",
        "40 neurons",
        "what each adds to the colour",
        "a square: one neuron's output at every position; blue below 0, grey 0",
        "a position",
        "as 12 waves",
        "one of many paths to this red: through 3 of 3,555 cubes",
        "each cube × the square before it; all such products are added",
    ]
    assert [len(line.points) for line in layout.neurons] == [2, 12, 64, 40, 3]
    assert [line.square for line in layout.neurons] == [True] * 4 + [False]
    points = np.concatenate([line.points for line in layout.neurons])
    radius = np.concatenate([np.full(len(line.points), line.radius) for line in layout.neurons])
    apart = np.abs(points[:, np.newaxis] - points).max(axis=2)
    reach = radius[:, np.newaxis] + radius
    assert (apart[~np.eye(len(points), dtype=bool)] > reach[~np.eye(len(points), dtype=bool)]).all()
    ends = [(line.points[:, 0].min(), line.points[:, 0].max()) for line in layout.neurons]
    assert all(before[1] < after[0] for before, after in pairwise(ends))


def test_its_sums_have_the_rows_of_the_bank_and_no_cubes() -> None:
    session = textured()
    layout = layout_of(session)
    operations = [each for each in session.network.program.operations if len(each.shape) > 1]
    for fan, operation in zip(layout.fans, operations, strict=True):
        assert fan.is_direct and fan.rows_of(0).start == operation.weights
        assert fan.unit_of(operation.biases + 1) == 1
        assert fan.row_of(1, 2) == operation.weights + operation.shape[1] + 2
        assert layout.fan_of(operation.weights) == (fan, 0)
    assert layout_of(session, every=True).plates


def test_a_block_has_no_more_than_16_rows() -> None:
    program = sv.Network([2, 17, 100, 24, 1], seed=0).program
    for line in squares_layout(program, {}, 1.5, [each.name for each in program.buffers]).neurons:
        assert len(set(np.round(line.points[:, 1], 6).tolist())) <= 16


def test_the_cubes_are_those_that_add_most_to_red() -> None:
    session = advanced(textured(), 2)
    stage = Stage(Show.of(session))
    stage.resize(1280, 800)
    stage.frame_data()
    data = stage.frame_data()
    layout, known = data.layout, data.buffers.values
    assert [step[0] for step in layout.thread] == [2, 1, 0] and layout.thread[0][1] == 0
    unit = 0
    for number, behind, column in layout.thread:
        fan = layout.fans[number]
        values = known[layout.neurons[fan.before].values]
        terms = data.weights[list(fan.rows_of(unit))] * values
        assert behind == unit and column == int(terms.argmax())
        unit = column
    assert [plate.first for plate in layout.plates] == [
        layout.fans[number].row_of(behind, column) for number, behind, column in layout.thread
    ]
    for plate in layout.plates:  # a cube that is turned is a cube
        assert np.allclose(plate.axes @ plate.axes.T, np.eye(3))
