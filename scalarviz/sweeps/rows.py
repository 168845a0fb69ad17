"""The two tables of a sweep: one row a setting, and one row a run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from scalarviz.checks.numbers import shorten
from scalarviz.errors import OrderError
from scalarviz.sweeps.outcome import NEVER
from scalarviz.sweeps.statistics import Interval, mean_with_interval, rate
from scalarviz.sweeps.table import SweepTable

if TYPE_CHECKING:
    from scalarviz.sweeps.sweep import Sweep


def table_of_settings(sweep: Sweep) -> SweepTable:
    """Return a table with a row for each setting."""
    rows = [row_of_setting(sweep, number) for number in range(len(sweep.settings))]
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: [row.get(name) for row in rows] for name in names}
    notes = [f"success: {sweep.success}"] if sweep.success else []
    return SweepTable(columns, notes)


def row_of_setting(sweep: Sweep, number: int) -> dict[str, Any]:
    """Return the cells of a setting by column."""
    row: dict[str, Any] = {name: plain(value) for name, value in sweep.settings[number].items()}
    if number in sweep.errors:
        error = sweep.errors[number]
        return {**row, "runs": 0, "error": f"{type(error).__name__}: {error}"}
    try:
        outcome = sweep.outcome(number)
    except OrderError:
        return {**row, "runs": 0}
    row["runs"] = len(outcome.seeds)
    if sweep.success:
        good = outcome.succeeded[outcome.succeeded != NEVER]
        row |= spread("success", rate(len(good), len(outcome.seeds)))
        row["steps to success"] = float(np.median(good)) if len(good) else None
    row |= spread("loss", mean_with_interval(outcome.final_losses))
    row["failed"] = int((outcome.failed != NEVER).sum())
    for name, table in outcome.metrics.items():
        last = table[:, -1:]
        known = last[np.isfinite(last)]
        row[name] = float(known.mean()) if known.size else math.nan
    row["seconds"] = outcome.seconds
    return row


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


def plain(value: object) -> object:
    """Return a value of the grid as a cell: numbers and texts as they are, others as text."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, (int, float, str, bool, type(None))) else shorten(value)
