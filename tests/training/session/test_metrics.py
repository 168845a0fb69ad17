"""Losses and metrics of a training, and the public functions that compute them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import metrics as known

import scalarviz as sv
from scalarviz import data
from scalarviz.core.formulas.metric_formulas import METRICS
from scalarviz.errors import (
    FileError,
    InputError,
    NotFiniteError,
    OrderError,
    ShapeError,
    UnknownNameError,
)
from scalarviz.files.checked_safetensors import read, write
from scalarviz.training.network.model_queries import check_loss
from scalarviz.training.session import branches
from scalarviz.training.session.branches import Losses
from tests.sessions import advanced, reloaded, session_on
from tests.wording import refused

METRIC_RNG = np.random.default_rng(5)
METRIC_X = METRIC_RNG.random((30, 2))
LABELS = (METRIC_X[:, 0] > METRIC_X[:, 1]).astype(int) + (METRIC_X[:, 0] + METRIC_X[:, 1] > 1.0)
CALLS: list[int] = []


def mean_confidence(predictions: Any, targets: Any) -> float:
    CALLS.append(len(predictions))
    return float(predictions.max(axis=1).mean())


def session(engine: str = "python", **options: Any) -> sv.Session:
    CALLS.clear()
    net = sv.Network([2, 4, 3], "tanh", seed=0)
    table = data.Arrays(METRIC_X, LABELS, share=0.8)
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
        for prefix, (x, t) in {"": other.trainer.batches.at(step), "held_out_": held_out}.items():
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
    refused(UnknownNameError, "'acc'").by(
        sv.Session, net, pairs, engine="cpu", precision="mixed", metrics=["acc"]
    )
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
    np.testing.assert_array_equal(s.losses, advanced(session(metrics=()), 13).losses)


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
    refused(OrderError).by(s.advance, 10)
    assert s.step_index == 10


def test_no_number_is_an_error_that_names_the_metric() -> None:
    def nothing(predictions: Any, targets: Any) -> Any:
        return None

    refused(InputError, "nothing", "None").by(session(metrics=[nothing]).advance, 10)


def test_an_expression_has_metrics_too() -> None:
    slope = sv.Value(0.0)
    line = sv.compile(lambda x: slope * x, inputs=1)
    s = advanced(
        sv.Session(line, (METRIC_X[:, :1], METRIC_X[:, 0] * 2), metrics=["r2"], every=5), 5
    )
    assert list(s.metrics) == ["r2"]


# Held-out samples.


def test_held_out_samples_are_a_pair_of_arrays_or_the_last_ones() -> None:
    for table in (
        data.Arrays(METRIC_X[:20], LABELS[:20], held_out=(METRIC_X[20:], LABELS[20:])),
        data.Arrays(METRIC_X, LABELS, held_out=10),
    ):
        assert table.held_out is not None
        np.testing.assert_array_equal(table.training[0], METRIC_X[:20])
        np.testing.assert_array_equal(table.held_out[0], METRIC_X[20:])
        np.testing.assert_array_equal(table.held_out[1][:, 0], LABELS[20:])
        made = data.remake("arrays", table.settings())
        assert made.held_out is not None
        np.testing.assert_array_equal(made.held_out[0], METRIC_X[20:])


def test_unsuitable_held_out_samples_are_refused() -> None:
    refused(InputError, "share=0.5").by(data.Arrays, METRIC_X, LABELS, share=0.5, held_out=3)
    refused(InputError, "3 -> 1").by(
        data.Arrays, METRIC_X, LABELS, held_out=(np.zeros((2, 3)), [1, 2])
    )
    refused(InputError, "3 arrays").by(
        data.Arrays, METRIC_X, LABELS, held_out=(METRIC_X, LABELS, METRIC_X)
    )
    refused(InputError, "30").by(data.Arrays, METRIC_X, LABELS, held_out=30)


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
    advanced(session(metrics=["accuracy"]), 30).save(tmp_path / "run.safetensors")
    description, arrays = read(tmp_path / "run.safetensors", "run")
    steps = arrays["metric-steps accuracy 0"]
    for wrong in (steps[::-1], steps + 1000, steps[:2], steps - 10, steps.astype(float)):
        changed = {**arrays, "metric-steps accuracy 0": wrong}
        write(tmp_path / "wrong.safetensors", "run", description, changed)
        refused(FileError, "accuracy").by(sv.Session.load, tmp_path / "wrong.safetensors")
    for metrics in (7, {"names": 3, "every": 1}, {"names": ["a b"], "every": 1}, {"names": []}):
        write(tmp_path / "wrong.safetensors", "run", {**description, "metrics": metrics}, arrays)
        refused(FileError).by(sv.Session.load, tmp_path / "wrong.safetensors")


RNG = np.random.default_rng(4)
X = RNG.random((60, 2))
KINDS = np.digitize(X.sum(axis=1), [0.8, 1.2])
ROWS = np.eye(3)[KINDS]


def test_each_metric_is_public() -> None:
    assert {*METRICS} | {"confusion", "Confusion"} == {*sv.metrics.__all__}
    for name in METRICS:
        assert getattr(sv.metrics, name).__name__ == name and getattr(sv.metrics, name).__doc__


@pytest.mark.parametrize("name", METRICS)
def test_rows_lists_labels_and_weights_are_taken(name: str) -> None:
    p, value = RNG.random((60, 3)), getattr(sv.metrics, name)
    expected = METRICS[name].value(p, ROWS)
    assert value(p, ROWS) == value(p.tolist(), ROWS.tolist()) == expected
    if METRICS[name].labels:
        assert value(p, KINDS) == expected
        if name != "auc":  # which looks at more than the largest number
            assert value(p.argmax(axis=1), KINDS) == pytest.approx(expected, rel=1e-12)
    one, w = p[:, 0], np.arange(60.0)
    assert value(one, ROWS[:, 0]) == METRICS[name].value(one[:, None], ROWS[:, :1])
    assert value(p, ROWS, sample_weight=w.tolist()) == METRICS[name].value(p, ROWS, w)


def test_a_confusion_table_is_that_of_scikit_learn() -> None:
    p = RNG.random((60, 3))
    found = sv.metrics.confusion(p, KINDS, ["low", "middle", "high"])
    np.testing.assert_array_equal(found.counts, known.confusion_matrix(KINDS, p.argmax(axis=1)))
    assert repr(found).split()[:4] == ["low", "middle", "high", "low"]
    made = sv.metrics.Confusion(found.counts, names=("low", "middle", "high"))
    assert repr(made) == repr(found) and made.names == found.names
    yes = sv.metrics.confusion(p[:, 0], ROWS[:, 0])
    np.testing.assert_array_equal(
        yes.counts, known.confusion_matrix(ROWS[:, 0] > 0.5, p[:, 0] > 0.5)
    )
    signs = sv.metrics.confusion(2.0 * p[:, 0] - 1.0, 2.0 * ROWS[:, 0] - 1.0)
    np.testing.assert_array_equal(signs.counts, yes.counts)


def test_a_notebook_shows_it_as_a_table_that_runs_nothing() -> None:
    html = sv.metrics.confusion([0, 1, 1], [0, 1, 0], ["<script>", "b"])._repr_html_()
    assert html.count("<td") == 4 and html.count("<th") == 5
    assert "<script>" not in html and "&lt;script&gt;" in html
    # Blue where it was right, orange where not, nothing where nobody was.
    right, wrong = "64, 132, 244", "236, 130, 40"
    assert [html.count(each) for each in (right, wrong)] == [2, 2]
    assert "236, 130, 40, 0.00" in html and "64, 132, 244, 0.75" in html


P2 = RNG.random((60, 2))
WRONG: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: sv.metrics.f1(ROWS, KINDS[:3]), ShapeError, "(60, 3)"),
    (lambda: sv.metrics.f1([], []), ShapeError, "(0,)"),
    (lambda: sv.metrics.mae(ROWS, ROWS[:, :2]), ShapeError, "(60, 2)"),
    (lambda: sv.metrics.f1([0.2, np.nan], [0, 1]), NotFiniteError, "predictions"),
    (lambda: sv.metrics.f1([0.2, 0.3], [0, np.inf]), NotFiniteError, "targets"),
    (lambda: sv.metrics.confusion(ROWS, KINDS, ["low"]), InputError, "3 classes and 1 names"),
    (lambda: sv.metrics.confusion([0, 1e9], [0, 1]), InputError, "1e+09"),
    (lambda: sv.metrics.accuracy(ROWS, KINDS + 7), InputError, "from 0 to 2"),
    (lambda: sv.metrics.accuracy("often", KINDS), InputError, "'often'"),
    (lambda: sv.metrics.accuracy(ROWS, 1.0 - ROWS), InputError, "subset_accuracy"),
    (lambda: sv.metrics.mae(ROWS, ROWS, [1.0, 2.0]), InputError, "60 samples"),
    (lambda: sv.metrics.mae(ROWS, ROWS, np.zeros(60)), InputError, "zero for all"),
    (lambda: sv.metrics.mae(ROWS, ROWS, -np.ones(60)), InputError, "1e-30"),
    (
        lambda: sv.Session(sv.Network([2, 3]), (P2, 1.0 - ROWS), metrics="accuracy"),
        InputError,
        "binary_accuracy",
    ),
]


@pytest.mark.parametrize(("call", "error", "value"), WRONG)
def test_what_does_not_fit_is_one_sentence(
    call: Callable[[], object], error: type[Exception], value: str
) -> None:
    refused(error, value).by(call)


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_probabilities_are_softmax_and_sigmoid_of_logits(engine: str) -> None:
    many, one = (sv.Network([2, 4, n], "tanh", engine=engine, seed=1) for n in (3, 1))
    exponents = np.exp(np.asarray(many(X), np.float64))
    expected = exponents / exponents.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(many.predict_proba(X), expected, rtol=1e-5)
    assert many.predict_proba(X).dtype == many(X).dtype
    np.testing.assert_array_equal(many.predict_proba(X[0]), many.predict_proba(X[:1])[0])
    expected = 1.0 / (1.0 + np.exp(-np.asarray(one(X), np.float64)))
    np.testing.assert_allclose(one.predict_proba(X), expected, rtol=1e-5)
    for layers in ([sv.Dense(2, 3, "sigmoid")], [sv.Dense(2, 3), sv.Softmax(3)]):
        ends = sv.Network(layers, engine=engine, seed=1)
        np.testing.assert_array_equal(ends.predict_proba(X), ends(X))


@pytest.mark.parametrize(
    ("scale", "shift", "end", "sure"),
    [
        (-1.0, 1.0, "sigmoid", True),
        (-1.0, 0.5, "sigmoid", False),
        (-2.0, 1.0, "sigmoid", False),
        (-1.0, 1.0, "tanh", False),
    ],
)
def test_a_probability_and_its_rest_are_probabilities(
    scale: float, shift: float, end: str, sure: bool
) -> None:
    rest = sv.Concatenate(sv.Affine(1, scale, shift), sv.Activation(1, "linear"))
    net = sv.Network([sv.Dense(2, 1, end), rest], seed=1)  # as skl2onnx writes an MLPClassifier
    assert bool((net.predict_proba(X) == net(X)).all()) is sure
    with refused(InputError, "takes logits") if sure else nullcontext():  # as of a sigmoid alone
        check_loss(net, sv.Loss("softmax_cross_entropy"))
    np.testing.assert_allclose(net.predict_proba(X).sum(axis=1), 1.0, rtol=1e-6)


@pytest.mark.parametrize("name", ["sgd", "momentum", "nesterov", "rmsprop", "adam", "adamw"])
def test_an_optimizer_is_called_by_its_name(name: str) -> None:
    s = sv.Session(sv.Network([2, 3, 3], "tanh", seed=0), (X, ROWS), "mse", name)
    kind = next(each for each in sv.Optimizer.__subclasses__() if each.__name__.lower() == name)
    assert repr(s.optimizer) == repr(kind())  # type: ignore[call-arg]  # each has a rate of its own
    s.advance(2)
    s.optimizer = "adam"
    s.advance(1)
    assert s.optimizer.name == "adam"
    nets = [sv.Network([2, 3, 3], "tanh", seed=0) for _ in range(2)]
    for net, optimizer in zip(nets, (name, kind()), strict=True):  # type: ignore[call-arg]
        net.train(X, ROWS, "mse", optimizer, steps=3)
    assert (nets[0].bank.value == nets[1].bank.value).all()


def test_epochs_are_counted_by_name() -> None:
    s, other = (sv.Session(sv.Network([2, 3]), (X, ROWS), batch=7) for _ in range(2))
    s.advance(epochs=3)
    other.advance(3, "epoch")
    assert s.step_index == other.step_index == 27
    s.advance(epochs=0)
    refused(InputError, "only epochs=").by(s.advance, 2, epochs=3)
    refused(InputError, "'two'").by(s.advance, epochs="two")
    assert s.step_index == 27


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_a_callback_saves_the_moment_and_measures_its_norms(engine: str, tmp_path: Path) -> None:
    s, norms, path = session(engine, metrics=()), list[float](), tmp_path / "newest.safetensors"

    def keep(view: Any) -> None:
        if view.step == 20:
            s.network.bank.value[0] = 0.5  # writes by hand are in the file
        s.save(path, progress=False)
        norms.append(s.norms()["0"].value)

    s.on_step(keep, every=10)
    s.advance(25)
    again = sv.Session.load(path)
    assert again.step_index == 20 and again.network.bank.value[0] == 0.5
    again.seek(0)
    again.advance(25)
    assert np.array_equal(again.network.bank.value, s.network.bank.value)
    assert np.array_equal(again.losses, s.losses)
    s.seek(10)
    assert len(norms) == 2 and norms[0] == s.norms()["0"].value
    refused(OrderError, "is busy").by(changing(s).advance, 20)


def changing(s: sv.Session) -> sv.Session:
    s.on_step(lambda view: s.advance(1), every=10)
    return s


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few losses are kept, so that a short training is a long one."""
    monkeypatch.setattr(branches, "EXACT", 64)
    monkeypatch.setattr(branches, "BLOCK", 8)
    monkeypatch.setattr(branches, "MOST_BLOCKS", 16)


def training() -> sv.Session:
    return session_on(
        sv.data.Xor(), [2, 3, 1], "tanh", first=1, optimizer=sv.SGD(0.3), batch=1, engine="cpu"
    )


def test_two_million_losses_take_no_more_room_than_one() -> None:
    record, plain = Losses(5), np.random.default_rng(3).random(2**22 + 1000)
    for first in range(0, len(plain), 100_000):
        record.record(5 + first, plain[first : first + 100_000])
    assert len(record) == len(plain)
    assert sum(each.nbytes for each in record._kept[1:3]) < 17 * 2**20
    assert np.array_equal(record.between(0, len(record))[-(2**20) :], plain[-(2**20) :])
    old = record.between(0, len(record))[: 2**20].reshape(-1, 1024)
    true = plain[: 2**20].reshape(-1, 1024)
    assert np.array_equal(old.min(axis=1), true.min(axis=1))
    assert np.array_equal(old.max(axis=1), true.max(axis=1))


def test_a_long_training_goes_back_and_is_saved_as_a_short_one(
    small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    s = advanced(training(), 700, progress=False)
    kept = s.losses
    assert len(kept) == 700 and not s.current_branch.is_exact(100)
    loaded = reloaded(s, tmp_path)
    assert np.array_equal(loaded.losses, kept)
    monkeypatch.undo()
    plain = advanced(training(), 700, progress=False)
    assert np.array_equal(kept[-64:], plain.losses[-64:])
    for step in (650, 301, 40, 1):
        for session in (s, loaded, plain):
            session.seek(step)
        assert s.loss == loaded.loss == plain.loss == plain.losses[step - 1]
    for session in (s, plain):
        session.seek(700)
    middle = (plain.losses.min() + plain.losses.max()) / 2
    assert s.first(f"loss < {middle}") == plain.first(f"loss < {middle}")
    steps, means = s.current_branch.curve(100)
    assert np.array_equal(steps, plain.current_branch.curve(100)[0])
    assert plain.losses.min() <= means.min() and means.max() <= plain.losses.max()


def test_the_ends_of_a_long_stretch_are_few_and_those_of_its_steps() -> None:
    record = Losses(0)
    record.record(0, np.random.default_rng(3).random(2**22 + 1000))
    old = record._kept[0]
    for start, end in ((0, old), (70_000, 90_000), (old - 5000, old + 5000)):
        ends, steps = record.between(start, end, ends=True), record.between(start, end)
        assert (ends.min(), ends.max()) == (steps.min(), steps.max())
        assert len(ends) <= len(steps) / 100 or end > old
    assert not len(record.between(0, 0, ends=True))
    assert (record.between(old, len(record), ends=True) == record.between(old, len(record))).all()
