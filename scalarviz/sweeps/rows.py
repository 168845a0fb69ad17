"""The two tables of a sweep: one row a setting, and one row a run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from scalarviz.base.checks import FloatArray, shorten
from scalarviz.base.messages import visible
from scalarviz.errors import OrderError
from scalarviz.sweeps.outcome import NEVER, Outcome
from scalarviz.sweeps.statistics import Interval, interquartile_mean, mean_with_interval, rate
from scalarviz.sweeps.table import ERROR, SweepTable, in_words

if TYPE_CHECKING:
    from scalarviz.sweeps.sweep import Sweep


def table_of_settings(sweep: Sweep) -> SweepTable:
    """Return a table with a row for each setting."""
    rows = [row_of_setting(sweep, number) for number in range(len(sweep.settings))]
    names = list(dict.fromkeys(name for row in rows for name in row if name != ERROR))
    names += [ERROR] * any(ERROR in row for row in rows)
    columns = {name: [row.get(name) for row in rows] for name in names}
    notes = [f"success: {sweep.success}"] if sweep.success else []
    return SweepTable(columns, notes)


def row_of_setting(sweep: Sweep, number: int) -> dict[str, Any]:
    """Return the cells of a setting by column."""
    row: dict[str, Any] = {name: plain(value) for name, value in sweep.settings[number].items()}
    if number in sweep.errors:
        error = sweep.errors[number]
        return {**row, "runs": 0, ERROR: f"{type(error).__name__}: {error}"}
    try:
        outcome = sweep.outcome(number)
    except OrderError:
        return {**row, "runs": 0}
    return row | cells_of(outcome, judged=bool(sweep.success), sure=True)


def cells_of(outcome: Outcome, *, judged: bool = True, sure: bool = False) -> dict[str, Any]:
    """Return the cells of a setting's results by column.

    judged  whether the sweep has successes; `sure` whether the loss has its interval
    """
    row: dict[str, Any] = {"runs": len(outcome.seeds)}
    if judged:
        steps = outcome.succeeded[outcome.succeeded != NEVER]
        row |= spread("success", rate_of(outcome))
        row["steps to success"] = float(np.median(steps)) if len(steps) else None
    losses = outcome.final_losses
    row["loss"] = float(interquartile_mean(losses))
    if sure:
        row |= spread("loss", mean_with_interval(losses))
    row["failed"] = int((outcome.failed != NEVER).sum())
    row |= {name: mean_of(table[:, -1:]) for name, table in outcome.metrics.items()}
    row["seconds"] = outcome.seconds
    return row


def value_of(setting: Mapping[str, Any], outcome: Outcome | None, column: str) -> Any:
    """Return the cell of a setting in a column of `table_of_settings`, None if there is none.

    `outcome` has its results, if there are any.
    """
    if column in setting:
        return plain(setting[column])
    return None if outcome is None else cells_of(outcome).get(column)


def rate_of(outcome: Outcome) -> Interval:
    """Return the share of networks that succeeded, with its interval."""
    return rate(int((outcome.succeeded != NEVER).sum()), len(outcome.seeds))


def mean_of(last: FloatArray) -> float:
    """Return the mean of the last values of a metric."""
    known = last[np.isfinite(last)]
    return float(known.mean()) if known.size else math.nan


def table_of_runs(sweep: Sweep) -> SweepTable:
    """Return a table with a row for each run."""
    columns: dict[str, list[Any]] = {}
    for number, setting in enumerate(sweep.settings):
        if number in sweep.errors or not sweep.knows(number):
            continue
        outcome = sweep.outcome(number)
        for i, seed in enumerate(outcome.seeds.view(np.uint64).tolist()):
            row: dict[str, Any] = {
                "setting": number,
                **{n: plain(v) for n, v in setting.items()},
            }
            row |= {"seed": seed, "steps": int(outcome.lasted[i])}
            row["loss"] = float(outcome.final_losses[i])
            if sweep.success:
                at = int(outcome.succeeded[i])
                row |= {"success": at != NEVER, "steps to success": None if at == NEVER else at}
            row["failed"] = bool(outcome.failed[i] != NEVER)
            for name, table in outcome.metrics.items():
                row[name] = float(table[i, -1]) if table.shape[1] else math.nan
            row["digest"] = outcome.digests[i]
            for name, cell in row.items():
                columns.setdefault(name, []).append(cell)
    return SweepTable(columns)


def spread(name: str, interval: Interval) -> dict[str, float]:
    """Return the three cells of an interval."""
    return {name: interval.value, f"{name} low": interval.low, f"{name} high": interval.high}


def words_of(setting: Mapping[str, Any]) -> str:
    """Return a setting in words, such as "hidden 4, lr 1"."""
    named = [f"{visible(name)} {in_words(plain(value))}" for name, value in setting.items()]
    return ", ".join(named)


def plain(value: object) -> object:
    """Return a value of the grid as a cell: numbers and texts as they are, others as text.

    Whole numbers in a row, such as the sizes of layers, become "3-8-3", a function its name.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isnan(value):
        return "nan"  # a value like others, and no empty cell
    if isinstance(value, (list, tuple)) and len(value) > 1 and all(type(n) is int for n in value):
        return "-".join(map(str, value))
    if isinstance(value, (type, FunctionType)):
        return value.__name__
    return value if isinstance(value, (int, float, str, bool, type(None))) else shorten(value)
