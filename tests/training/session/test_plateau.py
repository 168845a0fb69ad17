"""EarlyStopping and ReduceOnPlateau, by the metric that they watch."""

from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import InputError, UnknownNameError
from tests.wording import refused

X = np.linspace(0.0, 1.0, 12).reshape(6, 2)
SCRIPT: list[float] = []  # what the metric `script` returns, one value a measurement


def script(predictions: Any, targets: Any) -> float:
    return SCRIPT.pop(0)


def session(values: list[float], engine: str = "python", every: int = 2) -> sv.Session:
    """A session whose metric `script` has these values at steps 2, 4, ..."""
    SCRIPT[:] = values + [0.0] * 100
    net = sv.Network([2, 1], seed=0)
    return sv.Session(
        net, (X, X[:, 0]), "mse", sv.SGD(0.1), engine=engine, metrics=[script], every=every
    )


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_it_stops_when_no_value_was_better_for_a_while(engine: str) -> None:
    s = session([5.0, 4.0, 3.0, 3.5, 3.0, 3.2, 1.0], engine)
    s.on_step(sv.EarlyStopping("script", patience=3, mode="min"))
    s.advance(100)
    assert s.step_index == 12
    assert "script was best at step 6, 3," in s.stopped


def test_a_metric_that_is_undefined_is_not_called_the_best() -> None:
    s = session([float("nan")] * 9)
    s.on_step(sv.EarlyStopping("script", patience=3, mode="max"))
    s.advance(100)
    assert "script is undefined (nan)" in s.stopped and "best" not in s.stopped


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_a_plateau_lowers_the_rate_and_then_waits_anew(engine: str) -> None:
    s = session([5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 4.0, 4.0], engine)
    s.on_step(sv.ReduceOnPlateau("script", factor=0.5, patience=2, mode="min"))
    rates = []
    for _ in range(8):
        s.advance(2)
        rates.append(s.learning_rate)
    assert rates == [0.1, 0.1, 0.05, 0.05, 0.025, 0.025, 0.025, 0.025]
    value = s.network.bank.value.copy()
    s.seek(0)
    s.seek(16)
    assert s.learning_rate == 0.025
    np.testing.assert_array_equal(s.network.bank.value, value)
    assert len(s.branches) == 1


def test_the_rate_does_not_fall_below_its_limit() -> None:
    s = session([5.0] * 20)
    limit = sv.ReduceOnPlateau("script", factor=0.1, patience=1, min_rate=0.02, mode="min")
    s.on_step(limit)
    s.advance(30)
    assert s.learning_rate == 0.02
    assert len(s.current_branch.journal) == 1


def worse_than_none(predictions: object, targets: object) -> float:
    return float("nan")


def test_the_best_step_is_that_of_the_best_value_on_this_branch() -> None:
    rng = np.random.default_rng(1)
    table = sv.data.Arrays(rng.random((40, 2)), rng.random((40, 1)), share=0.5)
    metrics = ["r2", worse_than_none]
    net = sv.Network([2, 8, 1], "tanh", seed=0)
    s = sv.Session(net, table, "mse", "adam", metrics=metrics, every=5)
    with refused(InputError, "no metric has been measured"):
        s.best_step()
    s.learning_rate = 0.05
    s.advance(60)
    for name, mode, sign in (("held_out_loss", "auto", 1), ("r2", "auto", -1), ("r2", "min", 1)):
        steps, values = s.metrics[name]
        expected = min(zip(sign * values, steps, strict=True))[1]
        assert s.best_step(name, mode=mode) == expected
    assert s.best_step() == s.best_step(metric="held_out_loss")
    assert s.best_step("worse_than_none", "max") == s.metrics["r2"][0][0]
    with refused(InputError, "'worse_than_none'"):
        s.best_step("worse_than_none")
    with refused(UnknownNameError, "'accuracy'"):
        s.best_step("accuracy")
    best = s.best_step()
    s.seek(best)
    assert s.step_index == best == s.best_step()


def test_known_metrics_know_their_direction() -> None:
    assert not sv.EarlyStopping().rises
    assert sv.EarlyStopping("held_out_accuracy").rises
    assert not sv.EarlyStopping("mae").rises
    assert sv.ReduceOnPlateau("held_out_r2").rises
    with refused(InputError, "'script'"):
        sv.EarlyStopping("script")


def test_it_is_called_when_its_metric_is_measured() -> None:
    s = session([1.0] * 50, every=7)
    assert s.on_step(sv.EarlyStopping("script", mode="min")).every == 7
    assert s.on_step(sv.EarlyStopping("script", mode="min"), every=1).every == 1
    assert s.on_step(lambda view: None).every == 1
    s.advance(6)  # before the first measurement, too


def test_a_metric_that_is_not_measured_is_refused() -> None:
    with refused(UnknownNameError, "'acuracy'"):
        session([]).on_step(sv.EarlyStopping("acuracy", mode="max"))
    plain = sv.Session(sv.Network([2, 1]), (X, X[:, 0]), engine="python")
    with refused(InputError, "held_out_loss"):
        plain.on_step(sv.EarlyStopping())


def test_unsuitable_arguments_are_refused() -> None:
    with refused(InputError, "patience", "0"):
        sv.EarlyStopping(patience=0)
    with refused(InputError, "min_delta", "-1"):
        sv.EarlyStopping(min_delta=-1.0)
    with refused(UnknownNameError, "'down'"):
        sv.EarlyStopping(mode="down")
    with refused(InputError, "factor", "1.0"):
        sv.ReduceOnPlateau(factor=1.0)
    with refused(InputError, "min_rate"):
        sv.ReduceOnPlateau(min_rate=-1.0)


@pytest.mark.parametrize("kind", [sv.EarlyStopping, sv.ReduceOnPlateau])
def test_held_out_metrics_want_held_out_samples(kind: Any) -> None:
    net = sv.Network([2, 3, 2], seed=0)
    pair = [[0.0, 1.0], [1.0, 0.0]], [0, 1]
    s = sv.Session(net, pair, "softmax_cross_entropy", metrics="accuracy", engine="python")
    with refused(InputError, "held-out samples"):
        s.on_step(kind(patience=2))
    s.on_step(kind("accuracy", patience=2))
