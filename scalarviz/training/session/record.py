"""Record: the losses and metrics of a branch as one table, a row for each step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.tables import csv_of, data_frame
from scalarviz.core.formulas.metrics import LOSS
from scalarviz.training.session.points import Series


@final
class Record:
    """Losses and metrics; a row belongs to the weights after so many steps.

    losses   of the steps that are done, each before its update
    metrics  steps and values by name
    """

    def __init__(self, losses: FloatArray, metrics: Mapping[str, Series]) -> None:
        ends = [int(steps[-1]) + 1 for steps, _ in metrics.values() if len(steps)]
        self.rows = max([len(losses), *ends])
        self.series = {LOSS: (np.arange(len(losses)), losses), **metrics}

    def columns(self) -> dict[str, FloatArray]:
        """Return a column for the loss and each metric; NaN where nothing was measured."""
        found = {}
        for name, (steps, values) in self.series.items():
            found[name] = np.full(self.rows, np.nan)
            found[name][steps] = values
        return found

    def csv(self) -> str:
        """Return the table as CSV; cells where nothing was measured are empty."""
        cells: dict[str, list[Any]] = {"step": list(range(self.rows))}
        for name, (steps, values) in self.series.items():
            cells[name] = [""] * self.rows
            for step, value in zip(steps.tolist(), values.tolist(), strict=True):
                cells[name][step] = value
        return csv_of(cells)

    def pandas(self) -> Any:
        """Return a DataFrame; raise InputError without pandas."""
        return data_frame(self.columns(), "write a file by s.to_csv(path)", self.rows)
