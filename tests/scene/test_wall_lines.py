"""Lines of walls: they begin at neurons, end at columns, and lead through their cubes."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose

import scalarviz as sv
from scalarviz.base.checks import FloatArray
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.layout.division import Projection
from scalarviz.scene.layout.threads import thread_of
from scalarviz.scene.layout.wall_ways import HAIRS, SeenWall, hairlines, lit_way, over
from scalarviz.scene.picture import draw_walls
from scalarviz.stage.stage import Stage

WALL = SeenWall([(10.0, 100.0 + 5 * i, 2.0) for i in range(40)],
                [(80.0 + 2 * i, 50.0 + i) for i in range(40)], 1.0)  # fmt: skip


def stage_of(*sizes: int) -> Stage:
    data = np.ones((8, sizes[0])), np.zeros((8, sizes[-1]))
    session = sv.Session(sv.Network(list(sizes), "tanh", seed=0), data, seed=0, engine="python")
    stage = Stage(session, reduced_motion=True)
    stage.take(every_weight=True)
    stage.frame_data()
    return stage


def seen(stage: Stage, data: FrameData) -> Projection:
    box = data.division(1280.0, 800.0).inner
    return Projection(stage.eyes.whole(stage.plan.views["perspective"]), box, 1280.0, 800.0, 1e4)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Callable[[Stage], FloatArray]:
    """What returns the ends of all segments of lines of a stage, (n, 2)."""

    def lines_of(stage: Stage) -> FloatArray:
        found: list[FloatArray] = [np.zeros((0, 2))]

        monkeypatch.setattr(
            Canvas2D,
            "segments",
            lambda canvas, starts, ends, *_, **__: found.extend([starts, ends]),
        )
        data = stage.frame_data()
        draw_walls(Canvas2D(1280.0, 800.0, 1.0, 1.0), seen(stage, data), data, THEMES["dark"])
        return np.concatenate(found)

    return lines_of


@pytest.mark.parametrize("column", [0, 7, 39])
def test_a_line_goes_from_its_neuron_over_the_wall_into_its_column(column: int) -> None:
    path = np.array(over(WALL, column))
    assert_allclose(path[0], (12.0, 100.0 + 5 * column))
    assert_allclose(path[-1], WALL.gates[column])
    assert path[:, 1].min() < min(y for _, y in WALL.gates[: column + 1])
    lanes = [np.array(over(WALL, each))[:, 0] for each in range(40)]
    upright = [float(np.median(each[(each > 12.5) & (each < 79.0)])) for each in lanes]
    assert upright == sorted(upright)


def test_the_strongest_have_hairlines_in_the_hue_of_what_they_say() -> None:
    values = [float(i - 20) for i in range(40)]
    found = hairlines(WALL, values)
    assert HAIRS <= len(found) <= HAIRS + 1
    assert {each.column for each in found} >= {0, 1, 39, 38}
    assert all(each.value == values[each.column] for each in found)
    assert not hairlines(WALL, [0.0] * 40)


def test_a_lit_way_changes_hue_in_its_cube_alone() -> None:
    way = lit_way(WALL, 3, 2.0, -0.5, (90.0, 120.0), (170.0, 150.0))
    assert [each.value for each in way] == [2.0, 2.0, -1.0]
    assert [each.points[0] for each in way[1:]] == [each.points[-1] for each in way[:-1]]
    assert way[-1].points == [(90.0, 120.0), (170.0, 150.0)]
    bias = lit_way(WALL, 40, 1.0, -0.5, (90.0, 120.0), (170.0, 150.0))
    assert [(len(each.points), each.value) for each in bias] == [(2, -0.5)]


def test_from_row_to_row_of_walls_lines_cross_nothing() -> None:
    behind = SeenWall([(500.0, 100.0, 2.0)], [(80.0, 50.0)], 1.0)
    assert np.array(over(behind, 0))[:, 0].tolist() == [80.0, 80.0]


def test_the_way_at_rest_is_the_one_that_carries_most() -> None:
    data = stage_of(24, 30, 26, 2).frame_data()
    layout, known = data.layout, data.buffers.values
    thread = thread_of(layout, data.weights, known)
    assert [number for number, *_ in thread] == [2, 1, 0]
    assert [unit for _, unit, _ in thread[1:]] == [column for *_, column in thread[:-1]]
    reads = [known[layout.neurons[fan.before].values] for fan in layout.fans]
    terms = [
        np.abs(data.weights[fan.all_rows[:, : fan.inputs]] * read)
        for fan, read in zip(layout.fans, reads, strict=True)
    ]
    assert terms[2][thread[0][1:]] == terms[2].max()
    for number, unit, column in thread[1:]:
        assert terms[number][unit, column] == terms[number][unit].max()
    assert thread_of(layout, data.weights, {"inputs": reads[0]}) == ()


def test_the_way_leads_through_the_group_of_its_channel() -> None:
    layers = [sv.Conv2d((4, 6, 6), 4, 3, groups=2), sv.Conv2d((4, 4, 4), 4, 3, groups=2)]
    network = sv.Network([*layers, sv.Dense(16, 2)], seed=0)
    inputs = np.random.default_rng(0).uniform(0.1, 1.0, (4, 144))
    stage = Stage(sv.Session(network, (inputs, np.zeros((4, 2))), engine="python"))
    stage.take(every_weight=True)
    data = stage.frame_data()
    layout = data.layout
    for column in range(4):  # from each channel
        data.weights[layout.fans[-1].all_rows] = 0.0
        data.weights[layout.fans[-1].all_rows[0, 4 * column]] = 9.0
        thread = thread_of(layout, data.weights, data.buffers.values)
        assert [step[0] for step in thread] == [4, 2 + column // 2, column // 2]
        assert [step[1] for step in thread][:2] == [0, column % 2]


def test_what_is_pinned_is_lit_from_neuron_to_neuron(
    drawn: Callable[[Stage], FloatArray],
) -> None:
    stage = stage_of(24, 30, 2)
    stage.pin(24 * 7 + 5)
    data = stage.frame_data()
    see, fan = seen(stage, data), data.layout.fans[0]
    lines = drawn(stage)
    spot = fan.rows[7] + fan.columns[5] + fan.top * np.array([1.0, 0.0, 0.0])
    for place in (spot, fan.ends[7], fan.columns[5] + fan.rows[0] + fan.top):
        assert np.abs(lines - see(place).xy[0]).max(axis=1).min() < 0.5


def test_trays_have_no_lines_of_walls(drawn: Callable[[Stage], FloatArray]) -> None:
    assert not len(drawn(stage_of(3, 8, 3)))
