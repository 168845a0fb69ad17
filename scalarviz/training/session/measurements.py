"""Metrics of a session: measure them at regular steps, record them, and export them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Any, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray, require
from scalarviz.base.shell_commands import needed
from scalarviz.core.formulas.metric_formulas import (
    HELD_OUT,
    LOSS,
    MetricRow,
    check_of_one_class,
    measured,
    predictions_of,
    rows_of_metrics,
)
from scalarviz.data import DataSet
from scalarviz.data.data_set import TableSet
from scalarviz.errors import InputError
from scalarviz.training.session.branches import Branch, MetricPoints, Series
from scalarviz.training.session.trainer import Settings, Trainer


@final
class Metrics:
    """The metrics that a session measures.

    Args:
        rows: metrics by name
        every: number of steps between measurements
    """

    def __init__(self, rows: Mapping[str, MetricRow], every: int) -> None:
        self.rows = dict(rows)
        self.every = every

    def measure(self, trainer: Trainer, step: int) -> dict[str, float]:
        """Return all metrics for the current weights, on a step's batch and on held-out samples.

        The network is evaluated without dropout, as when it is called.
        """
        data, batches, loss = trainer.settings.data, trainer.batches, trainer.loss
        found: dict[str, float] = {}
        for prefix, pair, weights in (
            ("", batches.at(step), batches.weights_at(step)),
            (HELD_OUT, data.held_out, data.held_out_weights),
        ):
            if pair is None or (not prefix and not self.rows):
                continue
            inputs, targets = pair
            outputs = trainer.network(inputs)
            if prefix:
                found[prefix + LOSS] = loss(outputs, targets, weights)
            predictions = predictions_of(loss, outputs)
            wanted = np.array(targets, np.float64)[:, : loss.targets(trainer.network.outputs)]
            predictions.flags.writeable = wanted.flags.writeable = False
            for row in self.rows.values():
                found[prefix + row.name] = measured(row, predictions, wanted, weights)
        return found


def measured_names(metrics: Metrics | None, data: DataSet) -> list[str]:
    """Return the keys of `Session.metrics` for a session with these metrics and data."""
    if metrics is None:
        return []
    held_out = [] if data.held_out is None else [HELD_OUT + LOSS]
    return [*metrics.rows, *held_out, *(HELD_OUT + name for name in metrics.rows if held_out)]


def metrics_of(metrics: object, every: int, settings: Settings) -> Metrics | None:
    """Return the Metrics for an argument of Session, or None; raise InputError if invalid."""
    rows, data = rows_of_metrics(metrics), settings.data
    check_compared([name for name, row in rows.items() if not row.is_own], settings)
    if not rows and metrics and data.held_out is None:
        raise InputError(
            "the metric 'loss' is the held-out loss, and this data has no held-out samples: "
            "write sv.data.Arrays(inputs, targets, share=0.8), for example"
        )
    if isinstance(data, TableSet):
        for name in rows:
            check_of_one_class(name, data.training[1])
    return Metrics(rows, every) if metrics else None


def check_compared(names: Iterable[str], settings: Settings) -> None:
    """Raise InputError if metrics compare outputs with targets but some outputs lack a target."""
    outputs = settings.data.outputs
    for name in names:
        require(
            settings.loss.targets(outputs) == outputs,
            f"{name!r} compares each output with a target, but the loss {settings.loss.name} "
            "takes fewer targets: pass a custom function, f(predictions, targets)",
        )


def record(branch: Branch, step: int, values: Mapping[str, float]) -> None:
    """Record the metrics of a step that a branch has just reached for the first time."""
    for name, value in values.items():
        branch.metrics.setdefault(name, MetricPoints()).add(step, value)


def series(branch: Branch, now: int) -> dict[str, Series]:
    """Return the steps and values of each metric on a branch, ancestors included, up to `now`."""
    found: dict[str, list[Series]] = {}
    for each, last in reversed([*branch.way(now)]):
        for name, points in each.metrics.copy().items():
            found.setdefault(name, []).append(points.until(last))
    whole = {
        name: (np.concatenate([steps for steps, _ in each]), np.concatenate([v for _, v in each]))
        for name, each in found.items()
    }
    return {name: series for name, series in whole.items() if len(series[0])}


def history_columns(
    losses: FloatArray, metrics: Mapping[str, Series], lacking: object, dtype: type
) -> dict[str, npt.NDArray[Any]]:
    """Return a column for the loss and each metric; row k belongs to the weights after k steps.

    Args:
        losses: loss of each step, before the update
        metrics: steps and values of each metric, by name
        lacking: value for cells without a measurement
        dtype: dtype of the columns
    """
    table = {LOSS: (np.arange(len(losses)), losses), **metrics}
    rows = max([len(losses), *[int(steps[-1]) + 1 for steps, _ in metrics.values() if len(steps)]])
    found: dict[str, npt.NDArray[Any]] = {name: np.full(rows, lacking, dtype) for name in table}
    for name, (steps, values) in table.items():
        found[name][steps] = values
    return found


# Named columns as CSV text, and as a pandas DataFrame.


def csv_of(columns: Mapping[str, Iterable[object]]) -> str:
    """Return a table as CSV, with a header."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return file.getvalue()


def data_frame(columns: Mapping[str, Any], otherwise: str, rows: int | None = None) -> Any:
    """Return a pandas DataFrame; raise InputError if pandas is not installed.

    Args:
        otherwise: short description of an alternative that does not need pandas
        rows: length of an index named "step"; None (default) adds no such index
    """
    pandas = needed("pandas", "a DataFrame is made by pandas", "pandas", f", or {otherwise}")
    return pandas.DataFrame(
        columns, index=None if rows is None else pandas.RangeIndex(rows, name="step")
    )
