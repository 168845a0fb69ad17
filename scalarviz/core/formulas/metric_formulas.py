"""The table of metrics, user-defined metrics, and the arrays they are computed from.

With a loss on logits, predictions are probabilities: `predictions_of` applies sigmoid or softmax.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from scalarviz.base.checks import FloatArray, check_signature, number, require, shorten
from scalarviz.core.formulas.formula import pick, table
from scalarviz.core.formulas.losses import Loss, Weights
from scalarviz.core.formulas.metric_functions import METRIC_ROWS
from scalarviz.core.formulas.metric_functions import MetricRow as MetricRow

HELD_OUT = "held_out_"  # prefix of metrics of held-out samples
LOSS = "loss"
METRICS = table(METRIC_ROWS)


def is_one_hot(targets: FloatArray) -> bool:
    """Return whether each row has two or more numbers, which are 1 at one class and otherwise 0."""
    is_binary = bool(((targets == 0.0) | (targets == 1.0)).all())
    return targets.shape[1] > 1 and is_binary and bool((targets.sum(axis=1) == 1.0).all())


def rows_of_metrics(metrics: object) -> dict[str, MetricRow]:
    """Return a dict of metrics by name, given a list of names and functions; raise InputError.

    "loss" has no row: it is the held-out loss, which is always measured.
    """
    given: Any = [metrics] if isinstance(metrics, str) or callable(metrics) else metrics
    require(
        isinstance(given, (list, tuple)),
        f"metrics are a list of names and functions, such as ['accuracy'], not {shorten(given)}",
    )
    found: dict[str, MetricRow] = {}
    for each in given:
        if each == LOSS:
            continue
        row = own_metric(each) if callable(each) else pick(METRICS, each, "metric")
        require(
            row.name not in found,
            f"two metrics are named {row.name!r}: rename one",
        )
        found[row.name] = row
    return found


def own_metric(function: Callable[[FloatArray, FloatArray], float]) -> MetricRow:
    """Return the row of a user-defined metric; raise InputError if it is invalid."""
    name = str(getattr(function, "__name__", type(function).__name__))
    require(
        name.isidentifier()
        and name not in (LOSS, "step", *METRICS)
        and not name.startswith(HELD_OUT),
        f"a custom metric cannot be named {shorten(name)}: write it as a function with a "
        "different name, def share_above(predictions, targets): ...",
    )
    arguments = ["predictions", "targets"]
    check_signature(function, arguments, f"the metric {name}", f"def {name}(predictions, targets)")
    return MetricRow(name, function, is_own=True)


def check_of_one_class(name: str, t: FloatArray) -> None:
    """Raise InputError for accuracy if a target has several classes, or no class."""
    several = ((t == 0.0) | (t == 1.0)).all() and (t.sum(axis=1) != 1.0).any()
    require(
        name != "accuracy" or t.shape[1] == 1 or not several,
        "accuracy is of targets of one class each, and some targets here have several classes or "
        "none: use binary_accuracy, which counts each output, or subset_accuracy, which counts "
        "samples with all outputs right",
    )


def measured(row: MetricRow, p: FloatArray, t: FloatArray, w: Weights = None) -> float:
    """Return a metric of predictions and targets; raise InputError unless it is a number.

    Args:
        w: weights of the samples, not passed to user-defined metrics

    An error in a user-defined metric gets a note with its name.
    """
    if not row.is_own:  # also of a diverging network
        with np.errstate(over="ignore", invalid="ignore"):
            return row.value(p, t, w)
    try:
        value = row.value(p, t)
    except BaseException as error:  # raised again, with a note
        error.add_note(f"(in the metric {row.name})")
        raise
    return number(value, f"what the metric {row.name} returns", finite=False)


def predictions_of(loss: Loss, outputs: FloatArray) -> FloatArray:
    """Return the predictions of a network: its outputs, or probabilities if they are logits."""
    p = np.asarray(outputs, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        if loss.row.logits == "sigmoid":
            p = 0.5 + 0.5 * np.tanh(0.5 * p)
        if loss.row.logits == "softmax":
            p = np.exp(p - p.max(axis=1, keepdims=True))
            p /= p.sum(axis=1, keepdims=True)
    return p
