"""The loss over a plane: exact at each point, the path of the present branch, along two weights."""

import time
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.checks import FloatArray
from scalarviz.data.batches import GeneratedBatches
from scalarviz.errors import InputError, OwnershipError
from scalarviz.training.session import landscape, timeline
from scalarviz.training.session.landscape import (
    MOST_SAMPLES,
    Landscape,
    LossPlane,
    LossPlanes,
    Past,
    coarse_to_fine,
    kept_past,
    plane_of,
    samples_of,
)
from tests.sessions import advanced, bits, both_engines
from tests.training.session.test_stops import T, X, session
from tests.wording import refused

RNG = np.random.default_rng(5)


def mean_square(
    s: sv.Session, values: FloatArray, inputs: FloatArray, targets: FloatArray
) -> float:
    """The loss by a copy of the network and by numpy."""
    net = s.network.copy()
    net.bank.value[:] = values
    return float(((net.forward(inputs).astype(np.float64) - targets) ** 2).mean())


def check_points(s: sv.Session, plane: LossPlane, inputs: FloatArray, targets: FloatArray) -> None:
    """Ten points of the grid by another way."""
    for row, column in RNG.integers(0, [len(plane.ys), len(plane.xs)], (10, 2)):
        expected = mean_square(s, plane.values_at(plane.xs[column], plane.ys[row]), inputs, targets)
        assert plane.losses[row, column] == pytest.approx(expected, rel=1e-6)


def walked(s: sv.Session, steps: list[int]) -> list[FloatArray]:
    """The weights on arrival at some steps, by a copy of the session that goes there."""
    twin, found = s.copy(), []
    for step in steps:
        twin.seek(step)
        found.append(twin.network.bank.value.astype(np.float64))
    return found


@both_engines
@pytest.mark.parametrize("weights", [None, (2, 9)])
def test_each_loss_is_that_of_all_samples_at_the_point(engine: str, weights: Any) -> None:
    s = advanced(session(engine), 40)
    before = bits(s)
    plane = s.landscape(weights, size=9)
    assert bits(s) == before and not s.current_branch.journal
    assert plane.losses.shape == (9, 9) and np.isfinite(plane.losses).all()
    check_points(s, plane, s.trainer.batches.inputs, s.trainer.batches.targets)


@both_engines
def test_at_the_present_point_it_is_the_loss_of_the_session(engine: str) -> None:
    s = advanced(session(engine, batch=None), 30)
    found = Landscape(s.timeline, [], 2).loss_at(s.network.bank.value)
    s.advance(1)
    assert found == pytest.approx(s.loss, rel=1e-6)


@pytest.mark.parametrize("precision", ["full", "mixed"])
@pytest.mark.parametrize("loss", ["softmax_cross_entropy", sv.Loss("huber", factor=3.0)])
@pytest.mark.parametrize("weights", [None, RNG.random(700)], ids=["alike", "by weights"])
def test_kernels_compute_the_loss_as_the_loss_itself_does(
    loss: Any, precision: str, weights: Any
) -> None:
    net = sv.Network([3, 40, 4], "tanh", seed=0)
    inputs, targets = RNG.normal(size=(700, 3)), np.eye(4)[RNG.integers(0, 4, 700)]
    s = sv.Session(net, (inputs, targets), loss, engine="cpu", precision=precision)
    found = s.network.loss_on(inputs, targets, weights, s.loss_function)
    for _ in range(2):
        assert found() == pytest.approx(s.loss_function(net(inputs), targets, weights), rel=1e-6)
        net.bank.value[:] = RNG.normal(size=len(net.bank))


@both_engines
def test_dropout_is_off_and_norms_have_their_running_statistics(engine: str) -> None:
    layers = [
        sv.Dense(2, 6, activation="tanh"),
        sv.BatchNorm(6),
        sv.Dropout(6, 0.5),
        sv.Dense(6, 1),
    ]
    s = advanced(sv.Session(sv.Network(layers, seed=0), (X, T), batch=8, engine=engine), 20)
    state, plane = s.network.bank.state.copy(), s.landscape(size=3)
    assert np.array_equal(state, s.network.bank.state)
    net = s.network.copy()
    net.bank.value[:] = plane.values_at(plane.xs[0], plane.ys[2])
    assert plane.losses[2, 0] == pytest.approx(float(((net(X) - T) ** 2).mean()), rel=1e-6)


@both_engines
def test_the_path_has_the_weights_of_its_steps_and_ends_at_the_present(engine: str) -> None:
    s = advanced(session(engine), 60)
    plane = s.landscape(size=2)
    steps = plane.steps.tolist()
    assert steps[0] == 0 and steps[-1] == 60 and len(plane.path) == len(steps) > 50
    assert plane.path[-1].tolist() == [0.0, 0.0]
    assert np.array_equal(plane.center, s.network.bank.value)
    assert np.array_equal(plane.path, [plane.place_of(values) for values in walked(s, steps)])
    left, right, bottom, top = plane.span
    (low_x, low_y), (high_x, high_y) = plane.path.min(axis=0), plane.path.max(axis=0)
    assert left == pytest.approx(low_x - 0.25 * (high_x - low_x))
    assert right == pytest.approx(high_x + 0.25 * (high_x - low_x))
    assert bottom < low_y <= high_y < top
    assert (plane.xs[0], plane.xs[-1], plane.ys[0], plane.ys[-1]) == plane.span


def test_main_directions_are_those_of_a_singular_value_decomposition() -> None:
    s = advanced(session("python", optimizer=sv.Adam(0.05)), 50)
    plane = s.landscape(size=2)
    moves = np.array(walked(s, plane.steps.tolist()))
    moves -= moves.mean(axis=0)
    _, lengths, components = np.linalg.svd(moves, full_matrices=False)
    for direction, expected in zip((plane.across, plane.up), components, strict=False):
        assert abs(direction @ expected) == pytest.approx(1.0, abs=1e-9)
        assert (moves[-1] - moves[0]) @ direction > 0.0
    assert plane.shares == pytest.approx(lengths[:2] ** 2 / (lengths**2).sum())
    basis = np.array([plane.across, plane.up])
    assert basis @ basis.T == pytest.approx(np.eye(2), abs=1e-12)
    x, y = 0.3, -0.7
    assert plane.place_of(plane.values_at(x, y)) == pytest.approx((x, y))


def past(values: list[FloatArray]) -> Past:
    rows = np.arange(len(values[0]))
    return Past(values[-1], np.arange(len(values)), values, rows, np.zeros(len(rows), np.float32))


def test_a_straight_path_lies_on_the_first_axis() -> None:
    start, way = RNG.normal(size=(2, 30))
    values = [(start + t * way).astype(np.float32) for t in (0.0, 0.25, 1.0)]
    plane = plane_of(past(values), points=5)
    assert plane.path[0] == pytest.approx([-np.linalg.norm(way), 0.0], abs=1e-5)
    assert plane.shares == pytest.approx((1.0, 0.0), abs=1e-9)
    assert plane.across == pytest.approx(way / np.linalg.norm(way), abs=1e-6)
    left, right, bottom, top = plane.span
    assert top - bottom == pytest.approx(0.2 * (right - left))
    again = plane_of(past(values), points=5)
    assert np.array_equal(plane.up, again.up) and abs(plane.up @ plane.across) < 1e-12


def test_before_the_first_step_directions_are_fixed() -> None:
    plane = session().landscape(size=3)
    assert plane.path.tolist() == [[0.0, 0.0]] and plane.shares == (0.0, 0.0)
    assert plane.span == (-0.75, 0.75, -0.75, 0.75)
    assert np.linalg.norm(plane.across) == pytest.approx(1.0)
    assert np.isfinite(plane.losses).all() and "0.0%" in repr(plane)
    other = session("cpu").landscape(size=2)
    assert np.array_equal(other.across, plane.across) and np.array_equal(other.up, plane.up)


def test_after_one_step_the_second_direction_is_none_of_the_first() -> None:
    plane = advanced(session(), 1).landscape(size=3)
    assert len(plane.path) == 2 and plane.path[0, 0] < 0.0
    assert np.isfinite(plane.losses).all() and abs(plane.across @ plane.up) < 1e-12


def test_the_gradient_completes_a_path_of_one_direction() -> None:
    s = session()
    s.edit(3, 2.0)
    s.advance(s.operations.index("step"), "operation")
    plane = s.landscape(size=2)
    gradient = s.network.bank.grad.astype(np.float64)
    gradient[3] = 0.0
    assert abs(plane.across[3]) == pytest.approx(1.0)
    assert abs(plane.up @ gradient) == pytest.approx(np.linalg.norm(gradient))


def test_two_weights_are_the_axes() -> None:
    s = advanced(session(), 20)
    first, second = s.network.weight(2), s.network.weight(9)
    plane = s.landscape([first, second], size=4)
    assert plane.names == (s.network.name_of(2), s.network.name_of(9))
    assert np.isnan(plane.shares).all() and plane.names[0] in repr(plane)
    values = plane.values_at(0.5, -1.0) - plane.center
    assert np.flatnonzero(values).tolist() == [2, 9] and values[[2, 9]].tolist() == [0.5, -1.0]
    s.seek(0)
    start = s.network.bank.value.astype(np.float64)
    assert plane.path[0] == pytest.approx((start - plane.center)[[2, 9]])


def test_frozen_weights_do_not_move() -> None:
    s = advanced(session(), 10)
    s.freeze([0, 4, 5])
    s.advance(10)
    plane = s.landscape(size=2)
    moved = plane.values_at(1.0, 1.0) - plane.center
    assert not moved[[0, 4, 5]].any() and moved[[1, 2, 3]].all()
    refused(InputError, "frozen").by(s.landscape, (1, 4))


@pytest.mark.parametrize("portion", [0.005, 0.0])  # few keyframes, or one at each step
def test_the_path_is_that_of_the_present_branch(
    portion: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline, "PORTION", portion)
    monkeypatch.setattr(timeline, "LONGEST", portion)
    s = advanced(session("python"), 30)
    s.back(18)
    s.edit(2, 3.0)
    assert s.landscape(size=2).steps[-2:].tolist() == [12, 12]
    s.advance(5)
    plane = s.landscape(size=2)
    assert plane.steps.tolist() == list(range(18))
    assert np.array_equal(plane.path, [plane.place_of(v) for v in walked(s, [*range(18)])])
    s.switch(0)
    s.seek(20)
    plane = s.landscape(size=2)
    assert plane.steps.tolist() == list(range(31))  # up to the end of the branch
    assert plane.path[20].tolist() == [0.0, 0.0]
    assert np.array_equal(plane.path, [plane.place_of(v) for v in walked(s, [*range(31)])])


def test_many_keyframes_are_thinned_and_few_stay_if_a_replay_takes_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(timeline, "PORTION", 0.0)  # a keyframe at each step
        patch.setattr(timeline, "LONGEST", 0.0)
        s = advanced(session(), 450)
    kept = kept_past(s.timeline)
    assert len(kept.steps) == 200 and kept.steps[0] == 0 and kept.steps[-1] == 450
    assert set(np.diff(kept.steps)) == {2, 3}
    monkeypatch.setattr(landscape, "REPLAY", 0.0)
    fast = advanced(session("cpu"), 20_000)
    few = fast.landscape(size=2).steps
    assert few.tolist() == kept_past(fast.timeline).steps.tolist()
    monkeypatch.setattr(landscape, "REPLAY", 1e9)
    many = fast.landscape(size=2)
    assert len(many.steps) >= 200 > len(few) and np.diff(many.steps).max() < 200
    for i in (1, 77, 150):
        fast.seek(int(many.steps[i]))
        assert many.place_of(fast.network.bank.value) == tuple(many.path[i])


def test_a_large_table_is_sampled_and_new_samples_are_those_of_the_first_step() -> None:
    inputs = np.arange(10_000.0)[:, np.newaxis]
    table = data.Arrays(inputs, -inputs, sample_weight=inputs[:, 0])
    chosen, targets, weights = samples_of(table.batches(None, 0))
    assert np.array_equal(weights, chosen[:, 0])
    assert len(chosen) == MOST_SAMPLES and np.array_equal(targets, -chosen)
    assert set(np.diff(chosen[:, 0])) == {2.0, 3.0}
    made = GeneratedBatches(lambda step: (np.full((1, 1), step + 1.0), np.ones((1, 1))), (1, 1), 1)
    assert samples_of(made)[0].tolist() == [[1.0]]


def test_a_coarse_grid_comes_first() -> None:
    places = [list(each) for each in coarse_to_fine(17)]
    assert sorted(places) == [[row, column] for row in range(17) for column in range(17)]
    assert places[:9] == [[row, column] for row in (0, 8, 16) for column in (0, 8, 16)]
    assert all(row % 4 == column % 4 == 0 for row, column in places[:25])


def test_compiled_functions_have_a_landscape() -> None:
    w, b = sv.Value(0.5, label="w"), sv.Value(0.1, label="b")
    straight: Any = sv.compile(lambda x: w * x + b, inputs=1)
    s = advanced(sv.Session(straight, ([[1.0], [2.0]], [[2.0], [3.0]])), 8)
    plane = s.landscape((0, 1), size=3)
    assert plane.names == ("w", "b") and len(plane.path) >= 9
    x, y = np.array([[1.0], [2.0]]), np.array([[2.0], [3.0]])
    slope, shift = plane.values_at(plane.xs[2], plane.ys[0])
    assert plane.losses[0, 2] == pytest.approx(((slope * x + shift - y) ** 2).mean())


def state_of(planes: LossPlanes) -> tuple[bool, float, bool]:
    return planes.now is not None, planes.done, planes.background.busy


@both_engines
def test_in_the_background_it_is_the_same(engine: str) -> None:
    s = advanced(session(engine), 30)
    planes = LossPlanes(s)
    assert state_of(planes) == (False, 0.0, False)
    planes.start(points=9)
    planes.background.complete()
    found, expected = planes.now, s.landscape(size=9)
    assert state_of(planes) == (True, 1.0, False)
    assert found is not None
    assert np.array_equal(found.losses, expected.losses)
    assert np.array_equal(found.path, expected.path)
    planes.start((2, 9), points=3)
    planes.background.complete()
    assert planes.now is not None and planes.now.names == s.landscape((2, 9), size=2).names


def test_it_can_be_stopped_and_the_session_goes_on_meanwhile() -> None:
    s = sv.Session(sv.Network([2, 30, 1], "tanh", seed=0), (X, T), batch=4, engine="python")
    s.advance(3)
    planes = LossPlanes(s)
    planes.start(points=201)
    while planes.done == 0.0:
        time.sleep(1e-3)
    s.advance(2)
    now = planes.now
    assert now is not None and 0 < np.isfinite(now.losses).sum() < 201**2
    assert now.steps[-1] == 3 and s.step_index == 5
    planes.background.stop()
    planes.background.complete()
    assert 0.0 < planes.done < 1.0 and not planes.background.busy
    planes.start(points=3)
    planes.background.complete()
    assert planes.now is not None and planes.now.steps[-1] == 5 and planes.done == 1.0


def test_an_error_in_the_background_is_raised_by_wait() -> None:
    def fails(step: int, batch: int, seed: int) -> Any:
        raise InputError("no samples today")

    made = data.Generated(fails, inputs=2, outputs=1)
    planes = LossPlanes(sv.Session(sv.Network([2, 1]), made, batch=2, engine="python"))
    planes.start()
    refused(InputError, "no samples today").by(planes.background.complete)
    assert planes.now is None and not planes.background.busy


def test_unsuitable_arguments_are_refused() -> None:
    s = session()
    for size in (1, 202, 2.5):
        refused(InputError, str(size)).by(s.landscape, size=size)
    for weights in (3, [3], (1, 2, 3), "ab"):
        refused(InputError, "two weights").by(s.landscape, weights)
    refused(InputError, "different").by(s.landscape, (3, s.network.weight(3)))
    refused(InputError, "rows 0 to").by(s.landscape, (3, 99))
    refused(OwnershipError, "another network").by(s.landscape, (3, sv.Network([2, 1]).weight(0)))
    refused(InputError, "progress").by(s.landscape, progress="no")
    s.freeze(s.network)
    s.freeze(3, on=False)
    refused(InputError, "has 1").by(s.landscape)
    refused(InputError, "500").by(LossPlanes(s).start, points=500)


def test_a_hundred_thousand_weights_are_planned_in_a_second() -> None:
    values = [each.astype(np.float32) for each in RNG.normal(size=(60, 100_000))]
    seconds = []
    while len(seconds) < 5 and min(seconds, default=1.0) >= 1.0:  # others may keep the cores busy
        start = time.thread_time()
        plane = plane_of(past(values))
        seconds.append(time.thread_time() - start)
    assert min(seconds) < 1.0
    assert plane.across @ plane.across == pytest.approx(1.0)
    assert sum(plane.shares) == pytest.approx(2 / 59, rel=0.1)
