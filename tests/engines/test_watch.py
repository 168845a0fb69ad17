"""Numbers that an engine keeps of each of many steps: those that are read after single steps."""

from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.engines.common.watch import FIRST, LANES, SQUARES, STEPS, Watch, sum_of_squares

WATCH = Watch((7, 0), (3,), squares=True, finite=True)
RNG = np.random.default_rng(1)


def session(**given: Any) -> sv.Session:
    dtype, kinds = given.pop("dtype", "float32"), given.pop("kinds", ("tanh", "sigmoid"))
    net = sv.Network([3, 8, 3], *kinds, seed=0, dtype=dtype)
    options = {"optimizer": sv.SGD(0.5), "batch": 8, "engine": "cpu", "seed": 0} | given
    return sv.Session(net, data.Rgb("invert", levels=4), "mse", **options)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"dtype": "float64", "batch": 64},
        {"optimizer": sv.Adam(0.01, schedule=sv.Schedule("cosine", steps=50))},
        {"precision": sv.Precision("mixed", dynamic=True)},
    ],
    ids=["plain", "float64", "adam", "mixed"],
)
def test_the_numbers_are_those_of_single_steps_to_the_bit(given: dict[str, Any]) -> None:
    many, single = session(**given), session(**given)
    for s in (many, single):
        s.freeze(s.network.layers[0].perceptrons[1])
    found = many.timeline.trainer.steps_watched(0, 40, WATCH)
    assert found is not None
    outcome, table = found
    bank, trainer = single.network.bank, single.timeline.trainer
    for k in range(40):
        assert trainer.steps(k, 1).losses[0] == outcome.losses[k]
        expected = [bank.step_count, sum_of_squares(bank.grad, bank.frozen), 0.0]
        assert table[k].tolist() == [*expected, bank.value[7], bank.value[0], bank.grad[3]]
    assert many.network.bank.value.tobytes() == bank.value.tobytes()
    assert many.network.bank.step_count == bank.step_count


@pytest.mark.parametrize("refused", ["error", "zero"])
def test_a_table_ends_with_the_last_step_that_was_taken(refused: str) -> None:
    given: Any = {"optimizer": sv.SGD(1e3, not_finite=refused), "kinds": ("linear", "linear")}
    many, single = session(**given), session(**given)
    found = many.timeline.trainer.steps_watched(0, 20, WATCH)
    expected = single.timeline.trainer.steps(0, 20)
    assert found is not None
    outcome, table = found
    assert outcome.losses.tobytes() == expected.losses.tobytes()
    assert outcome.bad == expected.bad and len(table) == len(outcome.losses)
    assert (outcome.overflow is None) == (expected.overflow is None)
    assert refused == "zero" or len(table) < 20
    assert table[:, STEPS].tolist() == list(range(1, len(table) + 1))


def test_an_engine_that_reads_after_single_steps_only_does_nothing() -> None:
    s = session(engine="python")
    before = s.network.bank.value.tobytes()
    assert s.timeline.trainer.steps_watched(0, 5, WATCH) is None
    assert s.network.bank.value.tobytes() == before


def test_a_sum_of_squares_is_made_of_eight_that_are_added_up_in_order() -> None:
    numbers = RNG.normal(size=1003).astype(np.float32)
    sums = [0.0] * LANES
    for i, number in enumerate(numbers.tolist()):
        sums[i % LANES] += number * number
    assert sum_of_squares(numbers) == sum(sums) and sum_of_squares(numbers[:0]) == 0.0
    left_out = np.arange(1003) % 3 == 0
    kept = np.where(left_out, np.float32(0.0), numbers)
    assert sum_of_squares(numbers, left_out) == sum_of_squares(kept) != sum(sums)
    assert sum_of_squares(np.full(3, 1e200)) == np.inf
    assert np.isnan(sum_of_squares(np.array([1.0, np.nan])))
    assert Watch().columns == FIRST and SQUARES < FIRST
