"""The samples that moved a weight most, by a replay: what each did to it, exactly for SGD."""

from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.errors import InputError, OrderError
from tests.sessions import advanced
from tests.training.session.test_stops import bits, every_engine, session
from tests.wording import refused

PAIR = [[1.0], [2.0]], [[1.0], [2.0]]


def by_explaining(s: sv.Session, row: int, first: int, rate: float) -> dict[int, list[float]]:
    """The parts of each sample in the steps up to now, by `explain` step by step."""
    found: dict[int, list[float]] = {}
    now = s.step_index
    for step in range(first, now):
        s.seek(step + 1)
        products = s.explain(row).products
        rows = s.trainer.batches.rows(step)  # type: ignore[attr-defined]  # of a table
        for i, part in zip(rows.tolist(), products.reshape(len(rows), -1).sum(axis=1), strict=True):
            found.setdefault(i, []).append(-rate * part)
    s.seek(now)
    return found


@every_engine
def test_with_sgd_it_is_what_each_sample_changed_the_weight_by(engine: str) -> None:
    s = advanced(session(engine), 40)
    s.advance(2, "operation")
    clock, numbers = s.clock, bits(s)
    found = s.samples_that_moved(4, steps=12, most=100)
    assert (s.clock, bits(s)) == (clock, numbers)
    s.seek(40)
    expected = by_explaining(s, 4, 28, 0.2)
    assert (found.unit, found.first, found.last, found.row) == ("change", 28, 39, 4)
    assert {each.sample for each in found.samples} == set(expected)
    for each in found.samples:
        parts = expected[each.sample]
        assert each.steps == len(parts)
        assert each.amount == pytest.approx(np.abs(parts).sum(), rel=1e-6, abs=1e-12)
        assert each.net == pytest.approx(np.sum(parts), rel=1e-6, abs=1e-12)
    amounts = [each.amount for each in found.samples]
    assert amounts == sorted(amounts, reverse=True)
    assert found.total == pytest.approx(sum(amounts))
    s.seek(28)
    before = float(s.network.bank.value[4])
    s.seek(40)
    change = float(s.network.bank.value[4]) - before
    assert sum(each.net for each in found.samples) == pytest.approx(change, rel=1e-4, abs=1e-7)
    few = s.samples_that_moved(s.network.weight(4), steps=12, most=2)
    assert few.samples == found.samples[:2] and few.total == found.total


def test_the_bias_of_a_kernel_sums_all_places_and_clipping_counts() -> None:
    net = sv.Network([sv.Conv2d((1, 4, 4), 2, activation="tanh"), sv.Dense(8, 1)], seed=0)
    pictures = np.random.default_rng(0).normal(size=(6, 16))
    targets = np.ones((6, 1))
    s = sv.Session(net, (pictures, targets), "mse", sv.SGD(0.5, clip_norm=0.1), engine="python")
    row = net.layers[0].perceptrons[1].bias.index
    before = net.bank.value[row]
    s.advance(5)
    found = s.samples_that_moved(row)
    assert (found.unit, found.first, found.last) == ("change", 0, 4)
    change = float(net.bank.value[row] - before)
    assert sum(each.net for each in found.samples) + 0.0 != 0.0
    whole = s.samples_that_moved(row, most=6)
    assert sum(each.net for each in whole.samples) == pytest.approx(change, rel=1e-3)


@pytest.mark.parametrize("options", [{"optimizer": sv.Adam(0.01)}, {"precision": "mixed"}])
def test_otherwise_it_is_the_part_of_the_gradient(options: dict[str, Any]) -> None:
    s = advanced(session("cpu", **options), 10)
    found = s.samples_that_moved(4, steps=1, most=100)
    assert found.unit == "gradient" and "gradients" in str(found)
    grad = float(s.network.bank.grad[4])
    assert sum(each.net for each in found.samples) == pytest.approx(grad, rel=1e-3, abs=1e-6)


def test_frozen_steps_and_those_of_another_data_set_do_not_count() -> None:
    s = advanced(session(), 10)
    s.data = data.Arrays([[1.0, 2.0], [0.5, 0.1]], [[0.1], [0.9]])
    s.advance(5)
    found = s.samples_that_moved(4)
    assert (found.first, found.last) == (10, 14)
    assert {each.sample for each in found.samples} <= {0, 1}
    s.freeze(4)
    s.advance(5)
    assert s.samples_that_moved(4, steps=5).total == 0.0
    assert "sample 0" in str(s.samples_that_moved(4, steps=6, most=2))


def test_what_has_no_samples_is_refused() -> None:
    s = session()
    with refused(OrderError, "no step"):
        s.samples_that_moved(4)
    made = sv.Session(
        sv.Network([1, 1]),
        data.Generated(
            lambda step, batch, seed: ([[1.0]] * batch, [[2.0]] * batch), inputs=1, outputs=1
        ),
        batch=2,
        engine="python",
    )
    made.advance(3)
    with refused(InputError, "anew"):
        made.samples_that_moved(0)
    slope = sv.Value(0.0)
    straight: Any = sv.compile(lambda x: slope * x, inputs=1)
    compiled = advanced(sv.Session(straight, ([[1.0]], [[2.0]]), engine="python"), 3)
    with refused(InputError, "compiled"):
        compiled.samples_that_moved(0)
