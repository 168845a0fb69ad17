"""Metrics: measures of the quality of predictions, and confusion matrices.

Predictions and targets are arrays of shape (samples, outputs) or (samples,). If a metric compares
classes, one number per sample is a class label, counted from 0. For a network trained on logits,
pass `net.predict_proba(x)`; logits are sufficient if only the largest output matters. For one
output, and for labels 0 and 1, `precision`, `recall` and `f1` refer to class 1; otherwise they are
means over the classes.

>>> accuracy([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], [0, 1, 1])
0.6666666666666666
>>> confusion([0, 1, 0], [0, 1, 1]).counts
array([[1, 0],
       [1, 1]])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray, as_floats, as_weights, is_one_each, one_hot, require
from scalarviz.base.leaf_calls import confusion_html
from scalarviz.core.formulas.metric_formulas import METRICS, check_of_one_class
from scalarviz.core.formulas.metric_functions import cut
from scalarviz.core.program import columns
from scalarviz.errors import NotFiniteError, ShapeError

__all__ = ["Confusion", "confusion", *METRICS]  # names

MOST = 1000  # classes in a confusion matrix


def _rows_of(predictions: object, targets: object, labels: bool) -> tuple[FloatArray, FloatArray]:
    """Return predictions and targets as arrays of equal shape; raise ShapeError if they do not fit.

    Args:
        predictions, targets: one row or one number per sample
        labels: whether one number per sample is a class label, to be converted to a one-hot row
    """
    p, t = as_floats(predictions, "predictions"), as_floats(targets, "targets")
    count = len(t) if t.ndim else 0
    require(
        count and p.ndim and len(p) == count,
        f"predictions of shape {p.shape} do not fit targets of shape {t.shape}: pass one of "
        "each for every sample",
        ShapeError,
    )
    for each, what in ((p, "predictions"), (t, "targets")):
        require(
            np.isfinite(each).all(),
            f"the {what} have NaN or infinity: leave these samples out",
            NotFiniteError,
        )
    classes = max(each.shape[1] if each.ndim == 2 else 1 for each in (p, t))
    if classes == 1 and labels and not (np.concatenate([p.ravel(), t.ravel()]) % 1.0).any():
        highest = max(float(p.max()), float(t.max()))
        classes = int(min(highest, MOST)) + 1 if highest > 1.0 else 1
    found = [_wide(each, count, classes, labels) for each in (p, t)]
    require(
        found[0].shape == found[1].shape,
        f"predictions of shape {p.shape} do not fit targets of shape {t.shape}: pass rows of "
        "equal length",
        ShapeError,
    )
    return found[0], found[1]


def _wide(numbers: FloatArray, count: int, classes: int, labels: bool) -> FloatArray:
    """Convert one number per sample to rows of length 1, or labels to one-hot rows.

    Args:
        numbers: numbers of `count` samples
        classes: length of a one-hot row
        labels: whether the numbers are class labels
    """
    if not is_one_each(numbers, count):
        return numbers.reshape(count, -1)
    return one_hot(numbers, classes) if labels and classes > 1 else numbers.reshape(count, 1)


def _metric(name: str) -> Callable[..., float]:
    """Return the public function for the metric called `name` in `METRICS`."""
    row = METRICS[name]

    def value(predictions: object, targets: object, sample_weight: object = None) -> float:
        p, t = _rows_of(predictions, targets, row.labels)
        check_of_one_class(name, t)
        return row.value(p, t, None if sample_weight is None else as_weights(sample_weight, len(p)))

    value.__name__ = value.__qualname__ = name
    said = row.value.__doc__ or f"The {name} of predictions and targets."
    value.__doc__ = (
        f"{said}\n\n`predictions` and `targets` have shape (samples, outputs) or (samples,). "
        "`sample_weight` has non-negative weights of the samples; None, the default: equal weights."
    )
    return value


globals().update({name: _metric(name) for name in METRICS})


def __getattr__(name: str) -> Callable[..., float]:
    if name in METRICS:
        return _metric(name)  # of a row added since
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@final
@dataclass(frozen=True)
class Confusion:
    """A confusion matrix, with a row for each true class and a column for each predicted class.

    Attributes:
        counts: numbers of samples, int, shape (classes, classes)
        names: names of the classes

    Returned by `sv.metrics.confusion`; notebooks display it as a table.
    """

    counts: npt.NDArray[np.int64]
    names: tuple[str, ...]

    def __repr__(self) -> str:
        lines = [["", *self.names]]
        lines += [[name, *map(str, row)] for name, row in zip(self.names, self.counts, strict=True)]
        return "\n".join(columns(lines, str.rjust))

    def _repr_html_(self) -> str:
        return confusion_html((self.counts, self.names))


def confusion(
    predictions: object, targets: object, names: Sequence[str] | None = None
) -> Confusion:
    """Return the confusion matrix of predictions and targets.

    Args:
        predictions: class labels, or rows whose largest number is at the predicted class; for one
            output, a number above 0.5 (above 0 for targets -1 and 1) predicts the second class
        targets: one-hot rows, or class labels
        names: names of the classes; "0", "1" and so on by default

    Raises:
        InputError: if the number of names differs from the number of classes.
    """
    p, t = _rows_of(predictions, targets, True)
    if p.shape[1] == 1:
        said, true, classes = (p > cut(t)).ravel(), (t > cut(t)).ravel(), 2
    else:
        said, true, classes = p.argmax(axis=1), t.argmax(axis=1), p.shape[1]
    called = tuple(map(str, range(classes) if names is None else names))
    require(
        len(called) == classes,
        f"there are {classes} classes and {len(called)} names: pass one for each",
    )
    counts = np.zeros((classes, classes), np.int64)
    np.add.at(counts, (true.astype(np.int64), said.astype(np.int64)), 1)
    return Confusion(counts, called)
