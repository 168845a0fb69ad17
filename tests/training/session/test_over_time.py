"""The numbers of all weights over time are those that a training had at each moment."""

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.training.session.over_time import (
    FilledPast,
    Now,
    OverTime,
    WeightsOverTime,
    layers_of,
)

INPUTS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
TARGETS = np.array([[0.0], [1.0], [1.0], [0.0]])


def made(memory: int = 2**28, hidden: int = 4) -> sv.Session:
    network = sv.Network([2, hidden, 1], activation="tanh", output="sigmoid", seed=3)
    rate = sv.Momentum(0.1)
    return sv.Session(network, (INPUTS, TARGETS), optimizer=rate, engine="cpu", memory=memory)


def read(session: sv.Session, steps: list[int], filled: object = None, **how: object) -> OverTime:
    bank, here = session.network.bank, session.timeline.here
    reader = WeightsOverTime(session.network.program, len(bank))
    now = Now(here.clock.step, bank.value.copy(), bank.grad.copy())
    known = filled.moments if isinstance(filled, FilledPast) else {}
    return reader.read(here.branch, now, steps=steps, filled=known, **how)  # type: ignore[arg-type]


def trail(steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Values and gradients on arrival at each step, (steps + 1, weights), by another session."""
    session = made()
    values, gradients = [], []
    for _ in range(steps + 1):
        values.append(session.network.bank.value.astype(np.float64))
        gradients.append(session.network.bank.grad.astype(np.float64))
        session.advance(1)
    return np.array(values), np.array(gradients)


def filled(session: sv.Session, steps: list[int]) -> FilledPast:
    past = FilledPast(session)
    past.want(session.timeline.branch, steps)
    past.wait()
    return past


def test_a_row_a_weight_has_its_numbers_at_each_step() -> None:
    session, steps = made(), list(range(31))
    session.advance(30)
    values, gradients = trail(30)
    past = filled(session, steps[:-1])
    seen = read(session, steps, past)
    assert seen.steps.tolist() == steps and seen.rows.tolist() == list(range(17))
    assert np.array_equal(seen.tiles, values.T)
    assert np.array_equal(read(session, steps, past, kind="gradient").tiles, gradients.T)
    change = read(session, steps, past, kind="change").tiles
    assert np.array_equal(change, (values - values[0]).T)
    assert seen.groups == [("0", 0, 12), ("1", 12, 5)]


def test_keyframes_alone_give_fewer_moments_but_the_same_numbers() -> None:
    session, steps = made(), list(range(31))
    session.advance(30)
    values, _ = trail(30)
    seen = read(session, steps)
    assert 2 <= len(seen.steps) <= 31
    assert np.array_equal(seen.tiles, values[seen.steps.astype(int)].T)


def test_slow_steps_are_all_kept() -> None:
    session = made()
    session.advance(2000)  # the pace is of many steps now
    for _ in range(5):
        session.timeline._kept_at -= 1.0  # as if a second had passed
        session.advance(1)
    kept = {frame.step for frame in session.timeline.branch.frames}
    assert {2001, 2002, 2003, 2004, 2005} <= kept


def test_those_that_went_farthest_stand_first() -> None:
    session = made()
    session.advance(40)
    values, _ = trail(40)
    seen = read(session, [0, 40], order="distance")
    distance = np.abs(values[40] - values[0])
    assert np.all(np.diff(distance[seen.rows]) <= 0.0)
    assert np.array_equal(seen.tiles[:, -1], values[40][seen.rows])
    assert seen.moved_most(0, 40, 2) == [
        (0, values[40][seen.rows[0]] - values[0][seen.rows[0]]),
        (1, values[40][seen.rows[1]] - values[0][seen.rows[1]]),
    ]


def test_the_order_by_distance_stays_while_it_is_kept() -> None:
    session = made()
    session.advance(3)
    bank, here = session.network.bank, session.timeline.here
    reader = WeightsOverTime(session.network.program, len(bank))
    now = Now(3, bank.value.copy(), bank.grad)
    first = reader.read(here.branch, now, "value", "distance", steps=[0, 3])
    session.advance(300)
    now = Now(303, bank.value.copy(), bank.grad)
    here = session.timeline.here
    kept = reader.read(here.branch, now, "value", "distance", steps=[0, 303], keeps_order=True)
    again = reader.read(here.branch, now, "value", "distance", steps=[0, 303])
    assert kept.rows is first.rows
    assert again.rows.tolist() != first.rows.tolist()
    assert np.array_equal(again.tiles[:, -1], now.value[again.rows])


def test_a_tile_is_the_mean_of_its_weights() -> None:
    session = made(hidden=40)
    session.advance(10)
    seen = read(session, [0, 10], most=12)
    value = session.network.bank.value.astype(np.float64)
    parts = [value[seen.rows_of(tile)] for tile in range(len(seen.tiles))]
    assert len(parts) <= 13 and sum(map(len, parts)) == len(value)
    assert seen.tiles[:, -1] == pytest.approx([part.mean() for part in parts], rel=1e-12)
    sizes = {name: count for name, _, count in seen.groups}
    assert sizes == {"0": 9, "1": 3}  # 120 weights, and 41


def test_norms_of_layers_are_euclidean_and_those_of_changes_are_for_one_step() -> None:
    session, steps = made(), [0, 10, 30]
    session.advance(30)
    past = filled(session, steps[:-1])
    values, gradients = trail(30)
    rows = [slice(0, 12), slice(12, 17)]
    seen = read(session, steps, past, order="norms")
    assert seen.norms == pytest.approx(
        np.array([[np.linalg.norm(values[k, part]) for k in steps] for part in rows]), rel=1e-12
    )
    seen = read(session, steps, past, order="norms", kind="gradient")
    assert seen.norms[1, 2] == pytest.approx(np.linalg.norm(gradients[30, 12:]), rel=1e-12)
    seen = read(session, steps, past, order="norms", kind="change")
    assert np.isnan(seen.norms[:, 0]).all()
    moved = np.linalg.norm(values[30, :12] - values[10, :12]) / 20
    assert seen.norms[0, 2] == pytest.approx(moved, rel=1e-12)


def test_a_branch_has_the_moments_of_its_parent_and_its_own() -> None:
    session = made()
    session.advance(20)
    session.seek(10)
    session.edit(session.network.layers[0].perceptrons[0].weights[0], 5.0)
    session.advance(10)
    steps = list(range(21))
    seen = read(session, steps, filled(session, steps[:-1]))
    assert seen.steps.tolist() == steps
    assert abs(seen.tiles[0, 10]) < 5.0 <= seen.tiles[0, 11] + 0.5
    values, _ = trail(10)
    assert np.array_equal(seen.tiles[:, :11], values[:11].T)
    assert np.array_equal(seen.tiles[:, 20], session.network.bank.value)


def test_filling_leaves_the_session_where_it_is() -> None:
    session = made()
    session.advance(25)
    before = session.network.bank.value.copy(), session.timeline.here
    filled(session, [3, 7, 11])
    assert np.array_equal(session.network.bank.value, before[0])
    assert session.timeline.here is before[1]


def test_a_past_that_takes_too_long_or_too_much_memory_is_not_filled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = made()
    session.advance(2000)
    monkeypatch.setattr("scalarviz.training.session.over_time.LONGEST", 0.0)
    assert filled(session, [100, 200]).moments == {}
    monkeypatch.setattr("scalarviz.training.session.over_time.LONGEST", 10.0)
    monkeypatch.setattr("scalarviz.training.session.over_time.ROOM", 16 * 17 * 5)
    past = FilledPast(session)
    assert past.steps(session.timeline.branch, 0, 2000) == [0, 500, 1000, 1500, 2000]
    past.wait()
    assert [now.step for now in past.moments[session.timeline.branch]] == [0, 500, 1000, 1500, 2000]


def test_shared_weights_belong_to_one_layer_and_a_function_has_one_group() -> None:
    network = sv.Network([2, 3, 1], seed=0)
    layers = layers_of(network.program, len(network.bank))
    assert sorted(np.concatenate([rows for _, rows in layers]).tolist()) == list(range(13))
    weight = sv.Value(2.0)
    f = sv.compile(lambda x: weight * x, inputs=1)
    (only,) = layers_of(f.program, len(f.bank))
    assert only[0] == "" and only[1].tolist() == [0]


@pytest.mark.slow
def test_a_million_steps_take_no_more_memory_than_the_keyframes_may() -> None:
    session = made(memory=2**20)
    session.advance(1_000_000)
    assert session.timeline.keyframes.used <= 2**20
    steps = sorted({*np.linspace(0, 1_000_000, 400).astype(int).tolist()})
    seen = read(session, steps, filled(session, steps[:-1]))
    assert seen.tiles.shape[0] == 17 and len(seen.steps) <= 400
    twin = made()
    twin.advance(int(seen.steps[200]))
    assert np.array_equal(seen.tiles[:, 200], twin.network.bank.value)


def test_the_tile_of_a_weight_is_known() -> None:
    session = made(hidden=40)
    session.advance(10)
    for order in ("layer", "distance"):
        seen = read(session, [0, 10], most=12, order=order)
        for row in (0, 57, 160):
            (tile,) = seen.tiles_with(row)
            assert row in seen.rows_of(tile)
    assert read(session, [0, 10], order="norms").tiles_with(0) == []
