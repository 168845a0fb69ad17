"""Optimizers: clipping and penalties before the step, and errors."""

import math

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core.formulas.optimizers import OPTIMIZERS, clip, regularize
from scalarviz.core.optimizer import NAMED, Optimizer
from scalarviz.errors import GradientError, InputError, UnknownNameError
from tests.wording import refused

ALL = [getattr(sv, kind.__name__) for kind in NAMED.values()]
every_optimizer = pytest.mark.parametrize("make", ALL)


def bank_with(grads: list[float], values: list[float] | None = None) -> sv.Bank:
    bank = sv.Bank(len(grads), "float64")
    bank.value[:] = values or [1.0] * len(grads)
    bank.grad[:] = grads
    return bank


def step(
    optimizer: Optimizer, grads: list[float], values: list[float] | None = None
) -> list[float]:
    bank = bank_with(grads, values)
    before = bank.value.copy()
    bank.step(optimizer, slice(None))
    return (before - bank.value).tolist()


def test_every_row_has_its_class() -> None:
    assert set(NAMED) == set(OPTIMIZERS), "each has a class in core/optimizer.py, in NAMED"


@every_optimizer
def test_steps_in_float32_follow_those_in_float64(make: type[Optimizer]) -> None:
    banks = [sv.Bank(50, dtype) for dtype in ("float32", "float64")]
    rng = np.random.default_rng(0)
    for _ in range(20):
        grads = rng.normal(size=50).astype(np.float32)
        for bank in banks:
            bank.grad[:] = grads
            bank.step(make(0.01), slice(None))
    single, double = [bank.value for bank in banks]
    assert single == pytest.approx(double, rel=1e-5, abs=1e-6)


def test_clip_norm_looks_at_moving_weights_only() -> None:
    bank = bank_with([3.0, 1000.0])
    bank.frozen[1] = True
    bank.step(sv.SGD(1.0, clip_norm=3.0), slice(None))
    assert bank.value.tolist() == pytest.approx([-2.0, 1.0], rel=1e-5)


@pytest.mark.parametrize("w", [-2.0, 0.5])
def test_regularization_is_the_gradient_of_its_penalty(w: float) -> None:
    def penalty(w: float) -> float:
        return 0.3 * abs(w) + 0.7 / 2 * w * w

    h = 1e-6
    slope = (penalty(w + h) - penalty(w - h)) / (2 * h)
    assert regularize(0.0, w, 0.3, 0.7) == pytest.approx(slope)
    assert regularize(0.0, 0.0, 0.3, 0.7) == 0.0


def test_regularization_comes_after_clipping() -> None:
    optimizer = sv.SGD(1.0, clip_value=0.5, l1=0.1, l2=2.0)
    assert step(optimizer, [9.0], [3.0]) == pytest.approx([clip(9.0, 1.0, 0.5) + 0.1 + 6.0])


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_bad_gradient_is_refused_by_name_before_anything_changes(bad: float) -> None:
    net = sv.Network([2, 3, 1], seed=1)
    net.train_step([0.5, 0.5], [1.0], "mse", sv.Adam(0.1))
    net.bank.grad[7] = bad
    before = net.bank.value.copy(), net.bank.slots["m"].copy(), net.bank.step_count
    with refused(GradientError, "layer 0, perceptron 1, bias"):
        net.step(sv.Adam(0.1))
    assert (net.bank.value == before[0]).all()
    assert (net.bank.slots["m"] == before[1]).all()
    assert net.bank.step_count == before[2]


def test_a_bad_gradient_counts_as_0_on_request() -> None:
    moved = step(sv.SGD(1.0, not_finite="zero"), [math.nan, math.inf, 0.25])
    assert moved == [0.0, 0.0, 0.25]


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ({"lr": -1.0}, "-1.0"),
        ({"lr": "fast"}, "'fast'"),
        ({"lr": math.nan}, "nan"),
        ({"beta2": 1.0}, "beta2"),
        ({"eps": 0.0}, "eps"),
        ({"clip_norm": 0.0}, "0.0"),
        ({"l2": -0.1}, "-0.1"),
    ],
)
def test_a_bad_setting_is_refused(arguments: dict[str, object], value: str) -> None:
    with refused(InputError, value):
        sv.Adam(**arguments)  # type: ignore[arg-type]  # on purpose


def test_an_unknown_option_is_refused() -> None:
    with refused(UnknownNameError, "'clip_nrm'"):
        sv.SGD(0.1, clip_nrm=1.0)  # type: ignore[call-arg]  # on purpose
    with refused(UnknownNameError, "'skip'"):
        sv.SGD(0.1, not_finite="skip")  # type: ignore[arg-type]  # on purpose


def test_an_optimizer_prints_what_was_chosen() -> None:
    assert repr(sv.Momentum(0.1, l2=1e-4)) == "Momentum(lr=0.1, momentum=0.9, l2=0.0001)"


@pytest.mark.parametrize("bad", ["cosine", 3, sv.Schedule])
def test_a_schedule_must_be_one(bad: object) -> None:
    with refused(InputError, bad):
        sv.SGD(0.1, schedule=bad)  # type: ignore[arg-type]  # on purpose
    optimizer = sv.SGD(0.1)
    with refused(InputError, bad):
        optimizer.schedule = bad  # type: ignore[assignment]  # on purpose
    assert optimizer.schedule.name == "constant"


def test_a_table_without_rows_says_so() -> None:
    with refused(UnknownNameError, "'steps'"):
        sv.Schedule("constant", steps=5)
