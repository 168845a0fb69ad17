"""The public metrics, of any predictions; `net.predict_proba`, whose results they take."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import numpy as np
import pytest
from sklearn import metrics as known

import scalarviz as sv
from scalarviz.core.formulas.metrics import METRICS
from scalarviz.errors import InputError, NotFiniteError, ShapeError
from scalarviz.training.network.model_queries import check_loss
from tests.wording import refused

RNG = np.random.default_rng(4)
X = RNG.random((60, 2))
KINDS = np.digitize(X.sum(axis=1), [0.8, 1.2])
ROWS = np.eye(3)[KINDS]


def test_each_metric_is_public() -> None:
    assert {*METRICS} | {"confusion", "Confusion"} == {*sv.metrics.__all__}
    for name in METRICS:
        assert getattr(sv.metrics, name).__name__ == name and getattr(sv.metrics, name).__doc__


@pytest.mark.parametrize("name", METRICS)
def test_rows_lists_and_labels_are_taken_alike(name: str) -> None:
    p, value = RNG.random((60, 3)), getattr(sv.metrics, name)
    expected = METRICS[name].value(p, ROWS)
    assert value(p, ROWS) == value(p.tolist(), ROWS.tolist()) == expected
    if name in sv.metrics.CLASSES:
        assert value(p, KINDS) == expected
        if name != "auc":  # which looks at more than the largest number
            assert value(p.argmax(axis=1), KINDS) == pytest.approx(expected, rel=1e-12)
    one = p[:, 0]
    assert value(one, ROWS[:, 0]) == METRICS[name].value(one[:, None], ROWS[:, :1])


def test_metrics_of_two_numbers_are_known_by_heart() -> None:
    p, t = [1.0, 4.0], [1.0, 2.0]
    assert sv.metrics.mse(p, t) == 2.0 and sv.metrics.rmse(p, t) == pytest.approx(2.0**0.5)
    assert sv.metrics.max_error(p, t) == 2.0 and sv.metrics.r2(p, t) == -7.0
    assert sv.metrics.binary_accuracy([0.2, 0.7, 0.9], [0, 1, 0]) == pytest.approx(2 / 3)
    assert sv.metrics.precision([0.2, 0.7, 0.9], [0, 1, 0]) == 0.5


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
]


@pytest.mark.parametrize(("call", "error", "value"), WRONG)
def test_what_does_not_fit_is_one_sentence(
    call: Callable[[], object], error: type[Exception], value: str
) -> None:
    with refused(error, value):
        call()


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
    with refused(InputError, "epochs= alone"):
        s.advance(2, epochs=3)
    with refused(InputError, "'two'"):
        s.advance(epochs="two")  # type: ignore[arg-type]  # on purpose
    assert s.step_index == 27
