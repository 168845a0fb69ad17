"""Record: the losses and metrics of a branch as one table, a row for each step."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any, final

import numpy as np

from scalarviz.base.checks.numbers import FloatArray
from scalarviz.core.formulas.metrics import LOSS
from scalarviz.errors import InputError
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
        cells: dict[str, list[str]] = {"step": [str(step) for step in range(self.rows)]}
        for name, (steps, values) in self.series.items():
            cells[name] = [""] * self.rows
            for step, value in zip(steps.tolist(), values.tolist(), strict=True):
                cells[name][step] = repr(value)
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(cells)
        writer.writerows(zip(*cells.values(), strict=True))
        return file.getvalue()

    def pandas(self) -> Any:
        """Return a DataFrame; raise InputError without pandas."""
        try:
            import pandas
        except ImportError as error:
            raise InputError(
                "a DataFrame is made by pandas, which is not installed: pip install "
                "'scalarviz[pandas]', or write a file by s.to_csv(path)"
            ) from error
        index = pandas.RangeIndex(self.rows, name="step")
        return pandas.DataFrame(self.columns(), index=index)
