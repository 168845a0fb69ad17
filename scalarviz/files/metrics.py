"""Metrics in a run file: their names, and the recorded values of each branch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from scalarviz.base.checks import shorten, size
from scalarviz.core.formulas.formula import pick
from scalarviz.core.formulas.metrics import METRICS, MetricRow
from scalarviz.errors import InputError
from scalarviz.files.checked_safetensors import Array, Description
from scalarviz.files.networks import field
from scalarviz.training.session.branches import Branch, MetricPoints
from scalarviz.training.session.callbacks import FirstArrivals
from scalarviz.training.session.measurements import Metrics

STEPS, VALUES = "metric-steps", "metric-values"  # arrays: "metric-steps NAME BRANCH"


def describe_metrics(visits: FirstArrivals) -> Description:
    """Return what a session measures, as an entry of the description of a run."""
    if visits.metrics is None:
        return {}
    return {"metrics": {"names": list(visits.metrics.rows), "every": visits.metrics.every}}


def metric_arrays(number: int, branch: Branch) -> dict[str, Array]:
    """Return the metrics of a branch as arrays."""
    arrays: dict[str, Array] = {}
    for name, points in branch.metrics.items():
        arrays[f"{STEPS} {name} {number}"], arrays[f"{VALUES} {name} {number}"] = points.until()
    return arrays


def read_metrics(arrays: Mapping[str, Array], names: object, number: int, branch: Branch) -> None:
    """Put the recorded metrics into a branch; raise InputError for those it cannot have."""
    for name in names_of(names):
        steps = pick(arrays, f"{STEPS} {name} {number}", "array")
        values = pick(arrays, f"{VALUES} {name} {number}", "array")
        fits = steps.dtype == np.int64 and values.dtype == np.float64 and steps.size > 0
        fits = fits and steps.ndim == 1 and steps.shape == values.shape
        fits = fits and bool((np.diff(steps, prepend=branch.fork.step) > 0).all())
        if not fits or steps[-1] > branch.end.step:
            raise InputError(f"branch {number} has values of {name} at steps that it does not have")
        branch.metrics[name] = MetricPoints(steps.tolist(), values.tolist())


def names_of(value: object) -> list[str]:
    """Return the names of metrics; raise InputError for anything else."""
    names: list[Any] = value if isinstance(value, list) else [value]
    if all(isinstance(name, str) and name.isidentifier() for name in names):
        return names
    raise InputError(f"its metrics {shorten(value)} are no names")


def restore_metrics(
    visits: FirstArrivals, description: Description, given: Mapping[str, MetricRow]
) -> list[str]:
    """Let a loaded session measure what it measured; return the functions that it lacks.

    `given` are the functions that the user passes.
    """
    if "metrics" not in description:
        visits.metrics = Metrics(given, 100) if given else None
        return []
    value: dict[str, Any] = field(description, "metrics", dict)
    names, known = names_of(field(value, "names", list)), METRICS | dict(given)
    rows = {name: known[name] for name in names if name in known}
    visits.metrics = Metrics(rows | dict(given), size(field(value, "every", int), "every"))
    return [name for name in names if name not in known]
