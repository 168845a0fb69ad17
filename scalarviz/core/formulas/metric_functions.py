"""Metrics: measures of prediction quality that are reported but not used for training.

A row of `METRIC_ROWS` works on arrays of shape (samples, outputs). The file is translated for
pages; docs/TRANSLATOR.md lists the allowed Python.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scalarviz.base.checks import FloatArray
from scalarviz.core.formulas.losses import Weights
from scalarviz.core.formulas.metric_arrays import areas, centered, largest_of, mean, totals


@dataclass(frozen=True, slots=True)
class MetricRow:
    """A metric, public as `sv.metrics.NAME`, or a user-defined one.

    Attributes:
        value: function of predictions, targets and optional sample weights; user-defined metrics
            take no weights
        rises: whether larger is better; by default False
        labels: whether a target of one number is a class label, also for more than two classes; by
            default False
        is_own: whether it is user-defined, and so cannot be stored in files; by default False
    """

    name: str
    value: Callable[..., float]
    rises: bool = False
    labels: bool = False
    is_own: bool = False


def accuracy(p: FloatArray, t: FloatArray, w: Weights = None) -> float:
    """Share of samples with the right class, by largest output, or by threshold for one output."""
    if len(p[0]) == 1:
        return binary_accuracy(p, t, w)
    return mean(p.argmax(1) == t.argmax(1), w)


def binary_accuracy(p: FloatArray, t: FloatArray, w: Weights = None) -> float:
    """Share of outputs on the right side of the threshold between two classes."""
    return mean((p > cut(t)) == there_in(t), w)


def subset_accuracy(p: FloatArray, t: FloatArray, w: Weights = None) -> float:
    """Share of samples whose outputs are all on the right side of the threshold."""
    right: FloatArray = (p > cut(t)) == there_in(t)
    return mean(right.sum(1) == len(p[0]), w)


def cut(t: FloatArray) -> float:
    """Return the threshold between two classes: 0 for targets -1 and 1, otherwise 0.5."""
    return 0.0 if (t < 0.0).any() else 0.5


def there_in(t: FloatArray) -> FloatArray:
    """Return a mask of the true classes of each sample: the targets above `cut`.

    If each row has one number above `cut`, or one above half of its largest number, the class is
    the largest number, since one-hot rows may be weighted and smoothed.
    """
    there: FloatArray = t > cut(t)
    top: FloatArray = t.max(1)
    near: FloatArray = t.transpose() > 0.5 * top * (top > 0.0)
    is_one: FloatArray = (there.sum(1) == 1) + (near.sum(0) == 1)  # of each row
    return largest_of(t) if len(t[0]) > 1 and is_one.all() else there


def counted(p: FloatArray, t: FloatArray, w: Weights) -> Sequence[tuple[float, float, float]]:
    """Return how often each class is predicted, is true, and is both.

    Classes that are neither predicted nor true are left out. Each output above `cut` predicts its
    class; if every sample has one class, the largest output predicts it.
    """
    there: FloatArray = there_in(t)
    is_one = len(p[0]) > 1 and (there.sum(1) == 1).all()
    said: FloatArray = largest_of(p) if is_one else p > cut(t)
    counts = zip(totals(said, w), totals(there, w), totals(said * there, w), strict=True)
    return [row for row in counts if row[0] != 0.0 or row[1] != 0.0]


def shares(parts: Sequence[tuple[float, float]]) -> float:
    """Return the mean of part / whole over the classes; 0 / 0 counts as 0."""
    return mean([part / (whole or 1.0) for part, whole in parts]) if parts else 0.0


def precision(p: FloatArray, t: FloatArray, w: Weights = None) -> float:
    """Share of predictions of class 1 that are right; for several outputs, the class mean."""
    return shares([(both, said) for said, _, both in counted(p, t, w)])


def recall(p: FloatArray, t: FloatArray, w: Weights = None) -> float:
    """Share of samples of class 1 that are predicted; for several outputs, the class mean."""
    return shares([(both, there) for _, there, both in counted(p, t, w)])


def f1(p: FloatArray, t: FloatArray, w: Weights = None) -> float:
    """Harmonic mean of precision and recall; for several outputs, the class mean."""
    return shares([(2.0 * both, said + there) for said, there, both in counted(p, t, w)])


def auc(p: FloatArray, t: FloatArray, w: Weights = None) -> float:
    """Area under the ROC curve, averaged over classes; NaN if all samples have the same classes."""
    found = areas(p, there_in(t), w)
    return mean(found) if found else math.nan


def mae(p: FloatArray, t: FloatArray, w: Weights = None) -> float:
    """Mean absolute error."""
    return mean(abs(p - t), w)


def mse(p: FloatArray, t: FloatArray, w: Weights = None) -> float:
    """Mean squared error."""
    return mean((p - t) ** 2, w)


def rmse(p: FloatArray, t: FloatArray, w: Weights = None) -> float:
    """Root mean squared error."""
    return math.sqrt(mse(p, t, w))


def max_error(p: FloatArray, t: FloatArray, w: Weights = None) -> float:
    """Largest absolute error; weights are ignored."""
    return float(abs(p - t).max())


def r2(p: FloatArray, t: FloatArray, w: Weights = None) -> float:
    """Coefficient of determination, averaged over outputs; NaN if the targets are constant."""
    left, spread = totals((p - t) ** 2, w), totals(centered(t, w) ** 2, w)
    return mean([1.0 - a / b if b else math.nan for a, b in zip(left, spread, strict=True)])


METRIC_ROWS = [
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
