"""Metrics of a session: measured at every some steps, kept with the branch, replayed by nobody."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.core.formulas.metrics import METRICS
from scalarviz.errors import FileError, InputError, OrderError, UnknownNameError
from scalarviz.files.checked_safetensors import read, write
from tests.sessions import advanced, reloaded
from tests.wording import refused

RNG = np.random.default_rng(5)
X = RNG.random((30, 2))
LABELS = (X[:, 0] > X[:, 1]).astype(int) + (X[:, 0] + X[:, 1] > 1.0)
CALLS: list[int] = []


def mean_confidence(predictions: Any, targets: Any) -> float:
    CALLS.append(len(predictions))
    return float(predictions.max(axis=1).mean())


def session(engine: str = "python", **options: Any) -> sv.Session:
    CALLS.clear()
    net = sv.Network([2, 4, 3], "tanh", seed=0)
    table = data.Arrays(X, LABELS, share=0.8)
    given: dict[str, Any] = {"metrics": ["accuracy", mean_confidence], "every": 10, **options}
    return sv.Session(
        net, table, "softmax_cross_entropy", sv.Adam(0.05), batch=8, engine=engine, **given
    )


def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return list(a) == list(b) and all(
        np.array_equal(one, other)
        for name in a
        for one, other in zip(a[name], b[name], strict=True)
    )


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_metrics_are_those_of_the_weights_at_each_tenth_step(engine: str) -> None:
    s = advanced(session(engine), 35)
    names = ["accuracy", "mean_confidence", "held_out_loss", "held_out_accuracy"]
    assert list(s.metrics) == [*names, "held_out_mean_confidence"]
    expected: dict[str, list[float]] = {name: [] for name in names}
    other = session(engine, metrics=())
    for step in (10, 20, 30):
        other.seek(step)
        held_out = other.data.held_out
        assert held_out is not None
        batch = other.trainer.batches.at(step)
        for prefix, (x, t) in {"": batch, "held_out_": held_out}.items():
            z = other.network(x)
            expected[prefix + "accuracy"].append(METRICS["accuracy"].value(z, t))
        expected["held_out_loss"].append(other.trainer.loss(z, t))
        shares = np.exp(z) / np.exp(z).sum(axis=1)[:, np.newaxis]
        at = s.metrics["held_out_mean_confidence"][0].tolist().index(step)
        assert s.metrics["held_out_mean_confidence"][1][at] == pytest.approx(
            shares.max(axis=1).mean(), rel=1e-6
        )
    for name in ("accuracy", "held_out_loss", "held_out_accuracy"):
        assert s.metrics[name][0].tolist() == [10, 20, 30]
        assert s.metrics[name][1].tolist() == expected[name]


def test_a_session_refused_for_its_metrics_leaves_the_network_as_it_is() -> None:
    net = sv.Network([3, 4, 2], seed=0)
    pairs = np.ones((4, 3)), np.ones((4, 2))
    first = advanced(sv.Session(net, pairs, engine="python"), 2, "operation")
    with pytest.raises(UnknownNameError, match="'acc'"):
        sv.Session(net, pairs, engine="cpu", precision="mixed", metrics=["acc"])
    assert net.engine == "python"
    first.advance(1)
    assert first.step_index == 1


def test_going_back_and_on_calls_nothing_again() -> None:
    s = advanced(session(), 40)
    first, calls = s.metrics, len(CALLS)
    assert calls == 8
    s.seek(15)
    assert s.metrics["accuracy"][0].tolist() == [10]
    s.seek(40)
    s.numbers("affine 0")
    s.advance(3, "operation")
    s.back(3)
    s.seek(40)
    assert len(CALLS) == calls
    assert same(s.metrics, first)


def test_an_error_of_a_function_stops_between_two_steps() -> None:
    def wrong(predictions: Any, targets: Any) -> float:
        raise ZeroDivisionError("mine")

    s = session(metrics=[wrong])
    with pytest.raises(ZeroDivisionError, match="mine") as found:
        s.advance(15)
    assert found.value.__notes__ == ["(in the metric wrong)"]
    assert s.step_index == 10
    s.advance(3)
    other = advanced(session(metrics=()), 13)
    np.testing.assert_array_equal(s.losses, other.losses)


def test_a_function_gets_arrays_that_it_cannot_change_and_no_session() -> None:
    def writes(predictions: Any, targets: Any) -> float:
        targets[0] = 7.0
        return 0.0

    s = session(metrics=[writes])
    with pytest.raises(ValueError, match="read-only"):
        s.advance(10)

    def moves(predictions: Any, targets: Any) -> float:
        s.advance(1)
        return 0.0

    s = session(metrics=[moves])
    with refused(OrderError):
        s.advance(10)
    assert s.step_index == 10


def test_no_number_is_an_error_that_names_the_metric() -> None:
    def nothing(predictions: Any, targets: Any) -> Any:
        return None

    with refused(InputError, "nothing", "None"):
        session(metrics=[nothing]).advance(10)


def test_an_expression_has_metrics_too() -> None:
    slope = sv.Value(0.0)
    line = sv.compile(lambda x: slope * x, inputs=1)
    s = advanced(sv.Session(line, (X[:, :1], X[:, 0] * 2), metrics=["r2"], every=5), 5)
    assert list(s.metrics) == ["r2"]


# Held-out samples.


def test_held_out_samples_are_a_pair_of_arrays_or_the_last_ones() -> None:
    for table in (
        data.Arrays(X[:20], LABELS[:20], held_out=(X[20:], LABELS[20:])),
        data.Arrays(X, LABELS, held_out=10),
    ):
        assert table.held_out is not None
        np.testing.assert_array_equal(table.training[0], X[:20])
        np.testing.assert_array_equal(table.held_out[0], X[20:])
        np.testing.assert_array_equal(table.held_out[1][:, 0], LABELS[20:])
        made = data.remake("arrays", table.settings())
        assert made.held_out is not None
        np.testing.assert_array_equal(made.held_out[0], X[20:])


def test_unsuitable_held_out_samples_are_refused() -> None:
    with refused(InputError, "share=0.5"):
        data.Arrays(X, LABELS, share=0.5, held_out=3)
    with refused(InputError, "3 -> 1"):
        data.Arrays(X, LABELS, held_out=(np.zeros((2, 3)), [1, 2]))
    with refused(InputError, "3 arrays"):
        data.Arrays(X, LABELS, held_out=(X, LABELS, X))
    with refused(InputError, "30"):
        data.Arrays(X, LABELS, held_out=30)


# Files.


def test_a_run_keeps_its_metrics(tmp_path: Path) -> None:
    s = advanced(session(metrics=["accuracy"]), 30)
    s.seek(20)
    s.learning_rate = 1.0
    s.advance(15)
    again = reloaded(s, tmp_path)
    assert same(s.metrics, again.metrics)
    s.advance(10)
    again.advance(10)
    assert same(s.metrics, again.metrics)
    again.switch(0)
    assert again.metrics["accuracy"][0].tolist() == [10, 20, 30]


def test_a_loaded_run_says_which_functions_it_lacks(tmp_path: Path) -> None:
    s = advanced(session(), 20)
    s.save(tmp_path / "run.safetensors")
    with pytest.warns(UserWarning, match="mean_confidence"):
        again = sv.Session.load(tmp_path / "run.safetensors")
    assert same(s.metrics, again.metrics)
    again.advance(10)
    assert again.metrics["accuracy"][0].tolist() == [10, 20, 30]
    assert again.metrics["mean_confidence"][0].tolist() == [10, 20]
    whole = advanced(sv.Session.load(tmp_path / "run.safetensors", metrics=[mean_confidence]), 10)
    assert whole.metrics["mean_confidence"][0].tolist() == [10, 20, 30]


def test_damaged_metrics_of_a_run_are_refused(tmp_path: Path) -> None:
    s = advanced(session(metrics=["accuracy"]), 30)
    s.save(tmp_path / "run.safetensors")
    description, arrays = read(tmp_path / "run.safetensors", "run")
    steps = arrays["metric-steps accuracy 0"]
    for wrong in (steps[::-1], steps + 1000, steps[:2], steps - 10, steps.astype(float)):
        changed = {**arrays, "metric-steps accuracy 0": wrong}
        write(tmp_path / "wrong.safetensors", "run", description, changed)
        with refused(FileError, "accuracy"):
            sv.Session.load(tmp_path / "wrong.safetensors")
    for metrics in (7, {"names": 3, "every": 1}, {"names": ["a b"], "every": 1}, {"names": []}):
        write(tmp_path / "wrong.safetensors", "run", {**description, "metrics": metrics}, arrays)
        with pytest.raises(FileError):
            sv.Session.load(tmp_path / "wrong.safetensors")
