"""The table of metrics, metrics of the user, and what they are measured of.

Predictions of a loss on logits are probabilities: `predictions_of` applies sigmoid or softmax.
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

HELD_OUT = "held_out_"  # before the name of a metric of held-out samples
LOSS = "loss"
METRICS = table(METRIC_ROWS)


def is_one_hot(targets: FloatArray) -> bool:
    """Return whether each row has a 1 at its class, and else zeros, of two or more numbers."""
    is_binary = bool(((targets == 0.0) | (targets == 1.0)).all())
    return targets.shape[1] > 1 and is_binary and bool((targets.sum(axis=1) == 1.0).all())


def rows_of_metrics(metrics: object) -> dict[str, MetricRow]:
    """Return the rows of some metrics, names or functions, by name; raise InputError.

    "loss" has no row: it is that of held-out samples, which is always measured.
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
    require(
        name != "accuracy" or t.shape[1] == 1 or not several,
        "accuracy is of targets of one class each, and some of these have several or none: "
        "binary_accuracy counts each output, subset_accuracy samples that are all right",
    )


def measured(row: MetricRow, p: FloatArray, t: FloatArray, w: Weights = None) -> float:
    """Return a metric of predictions and targets; raise InputError if it is no number.

    Args:
        w: weights of the samples, which a function of the user does not get

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
