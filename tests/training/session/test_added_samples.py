"""Samples that a user adds to a training: `s.add_samples`."""

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.errors import InputError, NotFiniteError, ShapeError
from tests.sessions import advanced
from tests.tables import training_of
from tests.wording import refused

UNITS: tuple[Literal["step"], Literal["operation"]] = "step", "operation"


def colours(engine: str = "cpu", batch: int | None = 8) -> sv.Session:
    net = sv.Network([3, 6, 3], "tanh", output="sigmoid", seed=0)
    return sv.Session(net, data.Rgb(levels=3), "mse", sv.Adam(0.02), batch=batch, engine=engine)


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_an_added_sample_is_one_of_those_of_a_step(engine: str) -> None:
    s = advanced(colours(engine, batch=None), 2)
    s.add_samples([0.1, 0.2, 0.3], [0.9, 0.8, 0.7])
    s.add_samples([[0.0, 0.2, 0.3]] * 2, [[0.9, 0.8, 0.7]] * 2)
    s.advance()
    assert s.data.samples == 30
    np.testing.assert_array_equal(s.data.palette[1][-3], [0.9, 0.8, 0.7])
    assert len(s.data.palette[0]) == 8
    assert "30 samples, 3 of them added" in repr(s.data)
    np.testing.assert_array_equal(s.data.training[0][27], [0.1, 0.2, 0.3])
    x, t = [np.asarray(table) for table in s.data.training]
    again = advanced(sv.Session(s.network.copy(), (x, t), "mse", engine=engine))
    s.advance()
    assert s.losses[-1] == pytest.approx(again.losses[0], rel=1e-6)
    s.back(3)
    assert s.data.samples == 27


def test_a_label_stands_for_its_row() -> None:
    net = sv.Network([64, 10], seed=0)
    s = sv.Session(net, data.Digits(), "softmax_cross_entropy", batch=16, engine="python")
    count = s.data.samples
    drawn = np.zeros(64)
    drawn[:9] = 1.0
    s.add_samples(drawn, 3)
    s.add_samples([drawn, drawn], [4, 5])
    assert s.data.training[1][count:].argmax(axis=1).tolist() == [3, 4, 5]
    with refused(InputError, "nothing drawn"):
        s.add_samples(np.zeros(64), 3)
    with refused(InputError, "10"):
        s.add_samples(drawn, 10)


def test_what_the_data_could_not_have_is_refused_and_changes_nothing() -> None:
    s = colours()
    for inputs, targets, kind, wrong in [
        ([0.1, 0.2, 1.5], [0, 0, 0], InputError, "1.5"),
        ([0.1, 0.2], [0, 0, 0], ShapeError, "2"),
        ([0.1, 0.2, 0.3], [0, 0], ShapeError, "[0, 0]"),
        ([0.1, 0.2, float("nan")], [0, 0, 0], NotFiniteError, "nan"),
        ([0.1, 0.2, "red"], [0, 0, 0], InputError, "red"),
        (np.zeros((10_001, 3)), np.zeros((10_001, 3)), InputError, "10,001"),
    ]:
        with refused(kind, wrong):
            s.add_samples(inputs, targets)
    assert s.data.samples == 27
    assert not s.current_branch.journal
    circle = sv.Session(sv.Network([2, 1]), data.Circle(), engine="python")
    with refused(InputError, "0.5"):
        circle.add_samples([0.1, 0.2], 0.5)
    circle.add_samples([0.1, 0.2], 1)
    made = data.Generated(
        lambda step, batch, seed: (np.ones((4, 2)), np.ones((4, 1))), inputs=2, outputs=1
    )
    generated = sv.Session(sv.Network([2, 1]), made, batch=4, engine="python")
    with refused(InputError, "Generated"):
        generated.add_samples([0.1, 0.2], 1)


def test_growths_of_one_set_do_not_write_into_each_other() -> None:
    base = data.Arrays([[0.0], [1.0]], [[0.0], [1.0]])
    one = base.with_added(np.array([[2.0]]), np.array([[2.0]]))
    two = one.with_added(np.array([[3.0]]), np.array([[3.0]]))
    other = one.with_added(np.array([[4.0]]), np.array([[4.0]]))
    assert [each.training[0][-1, 0] for each in (one, two, other)] == [2.0, 3.0, 4.0]
    assert np.shares_memory(one.training[0], two.training[0])


@pytest.mark.parametrize("seed", range(6))
def test_random_sequences_give_the_bits_of_a_straight_run(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    s = colours(["cpu", "python"][seed % 2], [None, 4, 8][seed % 3])
    for _ in range(14):
        choice: Any = rng.integers(7)
        if choice == 0:
            count = int(rng.integers(1, 4))
            s.add_samples(rng.random((count, 3)), rng.random((count, 3)))
        elif choice == 1:
            s.set_rate(rng.integers(0, 45, 5), float(rng.random()) / 10)
        elif choice == 2:
            s.set_rate(s.network.layers[0], None)
        elif choice == 3:
            s.back(int(rng.integers(1, 4)), UNITS[int(rng.integers(2))])
        elif choice == 4:
            s.edit(int(rng.integers(45)), float(rng.random()))
        elif choice == 5:
            s.freeze([int(rng.integers(45))], bool(rng.random() < 0.7))
        s.advance(int(rng.integers(1, 5)), UNITS[int(rng.integers(2))])
    s.advance(1)
    end, clock = s.network.bank.value.tobytes(), s.step_index
    path = tmp_path / "run.safetensors"
    s.save(path)
    loaded = sv.Session.load(path)
    for each in (s, loaded):
        assert each.network.bank.value.tobytes() == end
        operation = each.clock.operation
        each.seek(0)
        each.seek(clock)
        each.advance(operation, "operation")
        assert each.network.bank.value.tobytes() == end
        assert each.data.samples == s.data.samples


def test_samples_are_checked_against_data_that_waits_for_the_next_step() -> None:
    net = sv.Network([2, 3, 1], "tanh", seed=0)
    pair = ([[0.0, 1.0], [1.0, 0.0]], [[0.3], [0.4]])
    s = advanced(sv.Session(net, pair, "mse", sv.SGD(0.1), engine="python"), 2, "operation")
    s.data = sv.data.Xor()
    with refused(InputError, "0 or 1"):
        s.add_samples([[0.6, 0.9]], [[0.8]])
    s.add_samples([[0.6, 0.9]], [[1.0]])
    rows = np.zeros((6000, 2))
    s.add_samples(rows, rows[:, :1])
    with refused(InputError, "at most 10,000"):
        s.add_samples(rows, rows[:, :1])
    s.advance(2)  # what was asked for within a step takes effect when the next one begins
    assert s.data.samples == 4 + 1 + 6000


def test_tables_that_grow_share_their_memory() -> None:
    rows = np.random.default_rng(0).random((500, 2))
    net = sv.Network([2, 1], seed=0)
    s = sv.Session(net, (rows, rows[:, :1]), "mse", sv.SGD(0.1), engine="python")
    s.add_samples([[0.5, 0.5]], [[0.5]])
    s.advance(1)
    first = training_of(s)[0].base
    for _ in range(20):
        s.add_samples([[0.5, 0.5]], [[0.5]])
        s.advance(1)
    table = training_of(s)[0]
    assert len(table) == 521 and table.base is first
