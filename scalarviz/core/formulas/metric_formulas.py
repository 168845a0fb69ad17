"""The metrics: numbers that say how good predictions are, for people rather than for gradients.

A row of `METRICS` works on arrays of shape (samples, outputs). Predictions of a loss on logits are
probabilities: `predictions_of` applies sigmoid or softmax first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from scalarviz.base.checks import FloatArray, check_signature, number, require, shorten
from scalarviz.core.formulas.formula import pick, table
from scalarviz.core.formulas.losses import Loss, Weights
from scalarviz.errors import InputError

HELD_OUT = "held_out_"  # before the name of a metric of held-out samples
LOSS = "loss"


@dataclass(frozen=True, slots=True)
class MetricRow:
    """A row of `METRICS`, which is public as `sv.metrics.NAME`, or a function of the user.

    value   function of predictions, targets and perhaps weights of samples; one of the user takes
            no weights
    rises   whether larger is better; by default False
    labels  whether one number a sample is a class label, also of several classes; by default False
    is_own  whether it is a function of the user, which no file can hold; by default False
    """

    name: str
    value: Callable[..., float]
    rises: bool = False
    labels: bool = False
    is_own: bool = False


def mean(each: FloatArray, w: Weights) -> float:
    """Return the mean of one number a sample, or of several, by the weights of samples."""
    if w is None:
        return float(np.mean(each))
    return float(np.average(each.reshape(len(w), -1).mean(axis=1), weights=w))


def accuracy(p: FloatArray, t: FloatArray, w: Weights = None) -> float:
    """Share of samples of the right class: that of the largest output, or above `cut` for one."""
    if p.shape[1] == 1:
        return binary_accuracy(p, t, w)
    return mean(p.argmax(axis=1) == t.argmax(axis=1), w)


def binary_accuracy(p: FloatArray, t: FloatArray, w: Weights = None) -> float:
    """Share of outputs on the right side of `cut`, each by itself."""
    return mean((p > cut(t)) == there_in(t), w)


def subset_accuracy(p: FloatArray, t: FloatArray, w: Weights = None) -> float:
    """Share of samples of which each output is on the right side of `cut`."""
    return mean(((p > cut(t)) == there_in(t)).all(axis=1), w)


def cut(t: FloatArray) -> float:
    """The number between the two classes: 0 for targets -1 and 1, else 0.5."""
    return 0.0 if (t < 0.0).any() else 0.5


def there_in(t: FloatArray) -> Any:
    """Return which classes targets say are there: those of numbers above `cut`.

    Rows that are of one class each say that of their largest number, which is the only one above
    `cut`, or above half of itself: one-hot rows may have weights, and be smoothed.
    """
    there, half = t > cut(t), np.maximum(t.max(axis=1, keepdims=True), 0.0) / 2.0
    is_one = (there.sum(axis=1) == 1) | ((t > half).sum(axis=1) == 1)
    return largest_of(t) if t.shape[1] > 1 and is_one.all() else there


def is_one_hot(targets: FloatArray) -> bool:
    """Return whether each row has a 1 at its class, and else zeros, of two or more numbers."""
    is_binary = bool(((targets == 0.0) | (targets == 1.0)).all())
    return targets.shape[1] > 1 and is_binary and bool((targets.sum(axis=1) == 1.0).all())


def largest_of(rows: FloatArray) -> Any:
    """Return where the largest number of each row is."""
    return np.arange(rows.shape[1]) == rows.argmax(axis=1)[:, np.newaxis]


def counted(p: FloatArray, t: FloatArray, w: Weights) -> FloatArray:
    """Return three rows: how often each class was said, how often it is there, and how often both.

    A class that is neither said nor there is left out. Each output above `cut` says its class; if
    every sample is of one class, it is the largest output.
    """
    there = there_in(t)
    is_one = p.shape[1] > 1 and (there.sum(axis=1) == 1).all()
    said = largest_of(p) if is_one else p > cut(t)
    each = np.stack([said, there, said & there])
    found: FloatArray = (each * (1.0 if w is None else w[:, np.newaxis])).sum(axis=1)
    return found[:, found.any(axis=0)]


def shares(parts: FloatArray, wholes: FloatArray) -> float:
    """Return the mean of the shares of classes; 0 where the whole is nothing."""
    return float(np.mean(parts / np.where(wholes, wholes, 1.0))) if parts.size else 0.0


def precision(p: FloatArray, t: FloatArray, w: Weights = None) -> float:
    """Share of samples that are of the class that is said.

    It is that of class 1 for one output, and the mean over the classes for several.
    """
    said, _, both = counted(p, t, w)
    return shares(both, said)


def recall(p: FloatArray, t: FloatArray, w: Weights = None) -> float:
    """Share of the samples of a class of which it is said.

    It is that of class 1 for one output, and the mean over the classes for several.
    """
    _, there, both = counted(p, t, w)
    return shares(both, there)


def f1(p: FloatArray, t: FloatArray, w: Weights = None) -> float:
    """Harmonic mean of precision and recall of a class.

    It is that of class 1 for one output, and the mean over the classes for several.
    """
    said, there, both = counted(p, t, w)
    return shares(2.0 * both, said + there)


def auc(p: FloatArray, t: FloatArray, w: Weights = None) -> float:
    """Chance that a sample of a class gets a larger number than another one; mean of the classes.

    It is the area under the ROC curve; NaN if no class divides the samples.
    """
    areas, weights = [], np.ones(len(p)) if w is None else w
    for scores, own in zip(p.T, there_in(t).T, strict=True):
        if weights[own].any() and weights[~own].any():
            order = np.argsort(scores[~own])
            others, mine = scores[~own][order], scores[own]
            sums = np.append(0.0, np.cumsum(weights[~own][order]))
            below = [sums[np.searchsorted(others, mine, side)] for side in ("left", "right")]
            areas.append(np.average(np.mean(below, axis=0), weights=weights[own]) / sums[-1])
    return float(np.mean(areas)) if areas else np.nan


def mae(p: FloatArray, t: FloatArray, w: Weights = None) -> float:
    return mean(np.abs(p - t), w)


def mse(p: FloatArray, t: FloatArray, w: Weights = None) -> float:
    return mean((p - t) ** 2, w)


def rmse(p: FloatArray, t: FloatArray, w: Weights = None) -> float:
    return float(np.sqrt(mse(p, t, w)))


def max_error(p: FloatArray, t: FloatArray, w: Weights = None) -> float:
    return float(np.max(np.abs(p - t)))


def r2(p: FloatArray, t: FloatArray, w: Weights = None) -> float:
    """Mean of the coefficients of determination of the outputs; NaN if targets do not vary."""
    each = 1.0 if w is None else w[:, np.newaxis]
    spread = np.sum(each * (t - np.average(t, axis=0, weights=w)) ** 2, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.sum(each * (p - t) ** 2, axis=0) / np.where(spread, spread, np.nan)
        return float(np.mean(1.0 - left))


METRICS = table(
    [
        MetricRow("accuracy", accuracy, rises=True, labels=True),
        MetricRow("binary_accuracy", binary_accuracy, rises=True),
        MetricRow("subset_accuracy", subset_accuracy, rises=True),
        MetricRow("precision", precision, rises=True, labels=True),
        MetricRow("recall", recall, rises=True, labels=True),
        MetricRow("f1", f1, rises=True, labels=True),
        MetricRow("auc", auc, rises=True, labels=True),
        MetricRow("mae", mae),
        MetricRow("mse", mse),
        MetricRow("rmse", rmse),
        MetricRow("max_error", max_error),
        MetricRow("r2", r2, rises=True),
    ]
)


def rows_of_metrics(metrics: object) -> dict[str, MetricRow]:
    """Return the rows of some metrics, names or functions, by name; raise InputError.

    "loss" has no row: it is that of held-out samples, which is always measured.
    """
    given: Any = [metrics] if isinstance(metrics, str) or callable(metrics) else metrics
    if not isinstance(given, (list, tuple)):
        raise InputError(
            f"metrics are a list of names and functions, such as ['accuracy'], not {shorten(given)}"
        )
    found: dict[str, MetricRow] = {}
    for each in given:
        if each == LOSS:
            continue
        row = own_metric(each) if callable(each) else pick(METRICS, each, "metric")
        require(
            row.name not in found,
            f"two metrics are called {row.name!r}: give one another name",
        )
        found[row.name] = row
    return found


def own_metric(function: Callable[[FloatArray, FloatArray], float]) -> MetricRow:
    """Return the row of a function of the user; raise InputError if it cannot be one."""
    name = str(getattr(function, "__name__", type(function).__name__))
    require(
        name.isidentifier()
        and name not in (LOSS, "step", *METRICS)
        and not name.startswith(HELD_OUT),
        f"a metric of your own cannot be called {shorten(name)}: write it as a function with a "
        "name of its own, def share_above(predictions, targets): ...",
    )
    arguments = ["predictions", "targets"]
    check_signature(function, arguments, f"the metric {name}", f"def {name}(predictions, targets)")
    return MetricRow(name, function, is_own=True)


def check_of_one_class(name: str, t: FloatArray) -> None:
    """Raise InputError for the accuracy of targets that have several classes at once, or none."""
    several = ((t == 0.0) | (t == 1.0)).all() and (t.sum(axis=1) != 1.0).any()
    if name == "accuracy" and t.shape[1] > 1 and several:
        raise InputError(
            "accuracy is of targets of one class each, and some of these have several or none: "
            "binary_accuracy counts each output, subset_accuracy samples that are all right"
        )


def measured(row: MetricRow, p: FloatArray, t: FloatArray, w: Weights = None) -> float:
    """Return a metric of predictions and targets; raise InputError if it is no number.

    w  weights of the samples, which a function of the user does not get

    An error of a function of the user gets a note with its name.
    """
    if not row.is_own:  # of a network that diverges, too
        with np.errstate(over="ignore", invalid="ignore"):
            return row.value(p, t, w)
    try:
        value = row.value(p, t)
    except BaseException as error:  # raised again, with a note
        error.add_note(f"(in the metric {row.name})")
        raise
    return number(value, f"what the metric {row.name} returns", finite=False)


def predictions_of(loss: Loss, outputs: FloatArray) -> FloatArray:
    """Return the predictions of a network: its outputs, or probabilities if these are logits."""
    p = np.asarray(outputs, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        if loss.row.logits == "sigmoid":
            p = 0.5 + 0.5 * np.tanh(0.5 * p)
        if loss.row.logits == "softmax":
            p = np.exp(p - p.max(axis=1, keepdims=True))
            p /= p.sum(axis=1, keepdims=True)
    return p
