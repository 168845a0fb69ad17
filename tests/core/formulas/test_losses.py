"""Losses and metrics: derivatives, conventions, values by hand and from scikit-learn, errors."""

import math
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from sklearn import metrics as known

import scalarviz as sv
from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES, LossRow, RowLossRow
from scalarviz.core.formulas.metric_formulas import (
    METRICS,
    measured,
    predictions_of,
    rows_of_metrics,
)
from scalarviz.errors import InputError, NotFiniteError, OrderError, ShapeError, UnknownNameError
from tests.wording import refused

EVERY_NAME = [*LOSSES, *ROW_LOSSES]
POINTS = [(0.3, 0.9), (1.7, 0.2), (-2.5, 0.6), (0.05, -0.4), (4.0, 1.0)]


TARGETS = [0.0, 1.0, 0.0], [0.2, 0.3, 0.5], [2.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("row", "point"),
    [
        *product(LOSSES.values(), POINTS),
        *[(row, ([0.4, -1.2, 2.2], each)) for row in ROW_LOSSES.values() for each in TARGETS],
    ],
    ids=lambda each: each.name if isinstance(each, LossRow | RowLossRow) else "",
)
def test_the_derivative_agrees_with_finite_differences(
    row: LossRow | RowLossRow, point: tuple[Any, Any]
) -> None:
    assert sv.gradcheck(row, point).error < 1e-6


@pytest.mark.parametrize("name", EVERY_NAME)
@pytest.mark.parametrize("p", [-1000.0, 1000.0])
@pytest.mark.parametrize("t", [0.0, 1.0])
def test_at_1000_there_is_no_exception_and_no_nan(name: str, p: float, t: float) -> None:
    loss = sv.Loss(name)
    assert math.isfinite(loss.forward([p, 0.0], [t, 1.0 - t]))
    assert np.isfinite(loss.backward()).all()


@pytest.mark.parametrize("name", EVERY_NAME)
@pytest.mark.parametrize("mean", ["all", "samples", "none"])
def test_the_gradient_of_a_batch_is_that_of_its_loss(name: str, mean: str) -> None:
    p = np.array([[0.3, 1.7, -0.4], [0.8, 0.1, 2.2]])
    t = np.array([[0.1, 0.5, 0.4], [1.0, 0.0, 0.0]])
    loss = sv.Loss(name, factor=0.7, mean=mean)  # type: ignore[arg-type]  # one of the names
    loss.forward(p, t)
    gradient = loss.backward()
    h = 1e-6
    for index in np.ndindex(p.shape):
        if name in ("relative_l1", "relative_l2", "smape"):
            continue  # their weight is held, so that the loss itself moves otherwise
        high, low = p.copy(), p.copy()
        high[index] += h
        low[index] -= h
        assert gradient[index] == pytest.approx((loss(high, t) - loss(low, t)) / (2 * h), rel=1e-6)


def test_a_relative_loss_holds_its_denominator() -> None:
    row = LOSSES["relative_l2"]
    p, t = 2.0, 1.0
    assert row.derivative(p, t) * row.weight(p, t) == 2.0 * (p - t) / (p * p + 0.01)


def test_softmax_losses_have_one_error_a_sample() -> None:
    p, t = [[1.0, 2.0, 3.0]] * 4, [[0.0, 0.0, 1.0]] * 4
    one = sv.Loss("softmax_cross_entropy")(p[0], t[0])
    assert sv.Loss("softmax_cross_entropy")(p, t) == pytest.approx(one)
    assert sv.Loss("softmax_cross_entropy", mean="none")(p, t) == pytest.approx(4 * one)


@pytest.mark.parametrize("name", ["sigmoid_cross_entropy", "softmax_cross_entropy"])
def test_a_sigmoid_under_a_loss_on_logits_is_refused(name: str) -> None:
    net = sv.Network([2, 2], output="sigmoid")
    refused(InputError, "'sigmoid'").by(net.train_step, [0.1, 0.2], [1.0, 0.0], name)
    sv.Network([2, 2]).train_step([0.1, 0.2], [1.0, 0.0], name)


def test_a_softmax_under_a_loss_on_logits_is_refused() -> None:
    refused(InputError, "'softmax'").by(sv.Loss("softmax_cross_entropy").check_output, "softmax")


def test_what_does_not_fit_is_refused() -> None:
    loss = sv.Loss("mse")
    refused(ShapeError, "(1, 1)").by(loss.forward, [[1.0, 2.0]], [[1.0]])
    refused(ShapeError, "2 rows").by(loss.forward, [[1.0], [2.0]], [[1.0]])
    refused(NotFiniteError, "nan at row 0, column 1").by(
        loss.forward, [[1.0, 2.0]], [[1.0, math.nan]]
    )
    refused(OrderError).by(loss.backward)  # nothing of these forwards was kept
    refused(UnknownNameError, "'msee'").by(sv.Loss, "msee")
    refused(UnknownNameError, "'batch'").by(sv.Loss, "mse", mean="batch")
    refused(InputError, "0.0").by(sv.Loss, "mse", factor=0.0)


def test_a_last_layer_of_softmax_is_refused_by_the_loss_that_applies_it() -> None:
    net = sv.Network([sv.Dense(2, 3), sv.Softmax(3)], seed=0)
    refused(InputError, "softmax").by(sv.Session, net, ([[0.0, 1.0]], [2]), "softmax_cross_entropy")
    sv.Session(net, ([[0.0, 1.0]], [[0.0, 0.0, 1.0]]), "mse")


def test_a_network_without_operations_takes_any_loss() -> None:
    net = sv.Network([sv.Flatten((1, 1, 2))], seed=0)
    assert sv.Session(net, ([[0.0, 1.0]], [[0.0, 1.0]]), "mse", engine="python").loss != 0.0


RNG = np.random.default_rng(3)
P, T = RNG.normal(size=(50, 3)), RNG.normal(size=(50, 3))
CLASSES = np.eye(3)[RNG.integers(0, 3, 50)]

CLASSES_TOO = "precision", "recall", "f1"
WEIGHTS = RNG.integers(0, 4, 50) * 0.7


def of_classes(score: Any, p: Any, t: Any, w: Any, **how: Any) -> Any:
    return score(t.argmax(axis=1), p.argmax(axis=1), sample_weight=w, **how)


KNOWN: dict[str, Callable[..., Any]] = {
    "accuracy": partial(of_classes, known.accuracy_score),
    "binary_accuracy": lambda p, t, w: np.average(((p > 0.5) == (t > 0.5)).mean(axis=1), weights=w),
    "subset_accuracy": lambda p, t, w: known.accuracy_score(t > 0.5, p > 0.5, sample_weight=w),
    **{
        name: partial(of_classes, getattr(known, f"{name}_score"), average="macro")
        for name in CLASSES_TOO
    },
    "auc": lambda p, t, w: known.roc_auc_score(t, p, average="macro", sample_weight=w),
    "mae": lambda p, t, w: known.mean_absolute_error(t, p, sample_weight=w),
    "mse": lambda p, t, w: known.mean_squared_error(t, p, sample_weight=w),
    "rmse": lambda p, t, w: known.mean_squared_error(t, p, sample_weight=w) ** 0.5,
    "max_error": lambda p, t, w: known.max_error(t.ravel(), p.ravel()),
    "r2": lambda p, t, w: known.r2_score(t, p, sample_weight=w),
}


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["alike", "weights"])
@pytest.mark.parametrize("name", KNOWN)
def test_a_metric_is_that_of_scikit_learn(name: str, weights: Any) -> None:
    t = CLASSES if METRICS[name].labels or "accuracy" in name else T
    expected = KNOWN[name](P, t, weights)
    assert METRICS[name].value(P, t, weights) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", METRICS)
def test_a_sample_with_twice_the_weight_counts_twice(name: str) -> None:
    value, t = METRICS[name].value, CLASSES if METRICS[name].labels else T
    assert value(P, t, np.ones(50)) == pytest.approx(value(P, t), rel=1e-12)
    twice = np.repeat(np.arange(50), (WEIGHTS / 0.7).round().astype(int))  # samples as often
    expected = value(P, t) if name == "max_error" else value(P[twice], t[twice])
    assert value(P, t, WEIGHTS) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", CLASSES_TOO)
def test_classes_of_one_output_and_of_several_at_once(name: str) -> None:
    """One output says yes or no, and both count as classes; of several, each says its own."""
    score, value = getattr(known, f"{name}_score"), METRICS[name].value
    yes = RNG.random((40, 1)) > 0.5
    t, p = yes.astype(float), 0.7 * yes + 0.6 * RNG.random((40, 1))
    assert value(p, t) == pytest.approx(score(t > 0.5, p > 0.5), rel=1e-12)
    assert value(2 * p - 1, 2 * t - 1) == value(p, t)  # targets -1 and 1
    several, said = RNG.random((2, 40, 3)) > 0.4
    expected = score(several, said, average="macro")
    assert value(said.astype(float), several.astype(float)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", [*CLASSES_TOO, "auc", "accuracy"])
@pytest.mark.parametrize("smooth", [0.0, 0.2])
def test_one_hot_targets_may_have_weights_and_be_smoothed(name: str, smooth: float) -> None:
    weights = np.array([0.25, 0.5, 4.0])[CLASSES.argmax(axis=1)]
    softer = (1.0 - smooth) * CLASSES + smooth / 3.0
    value = METRICS[name].value
    assert value(P, softer * weights[:, np.newaxis]) == value(P, CLASSES)
    assert METRICS["binary_accuracy"].value(CLASSES, softer * weights[:, np.newaxis]) == 1.0


@pytest.mark.parametrize("name", [*CLASSES_TOO, "auc", "binary_accuracy"])
def test_several_classes_at_once_and_one_output_keep_their_cut(name: str) -> None:
    """One sample of two classes, or of none, tells that each output speaks for itself."""
    value = METRICS[name].value
    for row in ([1.0, 1.0, 0.0], [0.0, 0.0, 0.0]):
        t = np.vstack([CLASSES, row])
        p = 0.8 * t + 0.1
        assert value(p, 0.9 * t + 0.05) == value(p, t) == 1.0
        assert value(1.0 - p, t) == 0.0
    soft = np.array([[0.9], [0.4], [0.1], [0.7]])  # of one output, above the cut or not
    assert value(soft, soft) == 1.0 and value(1.0 - soft, soft) == 0.0


@pytest.mark.parametrize("name", CLASSES_TOO)
def test_a_class_that_is_nowhere_does_not_count(name: str) -> None:
    wide = np.eye(4)[[0, 1, 2, 1]]
    assert METRICS[name].value(wide, wide) == 1.0
    assert METRICS[name].value(np.zeros((3, 1)), np.zeros((3, 1))) == 0.0


def test_areas_count_ties_by_half_and_leave_out_classes_that_divide_nothing() -> None:
    auc = METRICS["auc"].value
    p, t = np.array([[0.1], [0.5], [0.5], [0.9]]), np.array([[0.0], [0.0], [1.0], [1.0]])
    assert auc(p, t) == known.roc_auc_score(t, p) == 0.875
    assert auc(p, 2.0 * t - 1.0) == 0.875
    assert auc(np.hstack([p, p]), np.hstack([t, np.ones_like(t)])) == 0.875
    assert np.isnan(auc(p, np.ones_like(t)))


def test_one_output_is_above_its_cut_or_not() -> None:
    p = np.array([[0.6], [0.4], [0.1], [-0.2]])
    accuracy = METRICS["accuracy"].value
    assert accuracy(p, np.array([[1.0], [0.0], [1.0], [1.0]])) == 0.5
    assert accuracy(p, np.array([[1.0], [1.0], [-1.0], [-1.0]])) == 0.75  # the cut is 0


def test_predictions_of_a_loss_on_logits_are_probabilities() -> None:
    logits = np.array([[0.0, 1000.0], [-1000.0, 0.0]])
    assert predictions_of(sv.Loss("mse"), logits) is not None
    np.testing.assert_array_equal(predictions_of(sv.Loss("mse"), logits), logits)
    np.testing.assert_array_equal(
        predictions_of(sv.Loss("sigmoid_cross_entropy"), logits), [[0.5, 1.0], [0.0, 0.5]]
    )
    np.testing.assert_array_equal(
        predictions_of(sv.Loss("softmax_cross_entropy"), logits), [[0.0, 1.0], [0.0, 1.0]]
    )
    z = RNG.normal(size=(4, 3))
    shares = predictions_of(sv.Loss("softmax_cross_entropy"), z)
    np.testing.assert_allclose(shares, np.exp(z) / np.exp(z).sum(axis=1)[:, None], rtol=1e-14)


def bias(predictions: object, targets: object) -> float:
    return float(np.mean(np.subtract(predictions, targets)))  # type: ignore[call-overload]  # arrays


def wordy(predictions: object, targets: object) -> str:
    return "good"


def test_metrics_are_names_and_functions() -> None:
    assert list(rows_of_metrics(["accuracy", bias, "loss"])) == ["accuracy", "bias"]
    assert list(rows_of_metrics("mae")) == ["mae"]
    assert list(rows_of_metrics(bias)) == ["bias"]
    assert measured(rows_of_metrics([bias])["bias"], P, P) == 0.0


def test_unsuitable_metrics_are_refused() -> None:
    refused(UnknownNameError, "'acuracy'", "accuracy").by(rows_of_metrics, ["acuracy"])
    refused(InputError, "7").by(rows_of_metrics, 7)
    refused(InputError, "'mae'").by(rows_of_metrics, ["mae", "mae"])
    refused(InputError, "lambda").by(rows_of_metrics, [lambda p, t: 0.0])
    with refused(InputError, "'accuracy'"):

        def accuracy(p: object, t: object) -> float:
            return 0.0

        rows_of_metrics([accuracy])
    with refused(InputError, "predictions, targets"):

        def short(predictions: object) -> float:
            return 0.0

        rows_of_metrics([short])
    refused(InputError, "'good'").by(measured, rows_of_metrics([wordy])["wordy"], P, T)
