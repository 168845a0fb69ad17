"""Results of a sweep: tables with one row per setting or per run, and statistics over seeds.

A table is shown as text or HTML, and exported as CSV or pandas. The statistics over the
seeds of a setting are success rates, means and confidence intervals.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from scalarviz.base.checks import FloatArray, shorten
from scalarviz.base.messages import visible
from scalarviz.core.program import columns
from scalarviz.errors import InputError, OrderError
from scalarviz.files.atomic import as_path, save_text
from scalarviz.sweeps.sweep_arguments import Ranking
from scalarviz.sweeps.tasks import NEVER
from scalarviz.training.session.measurements import csv_of, data_frame
from scalarviz.training.session.replicas import mean_of

if TYPE_CHECKING:
    from scalarviz.sweeps.sweep import Sweep


CSV = ".csv"
SHOWN = 60  # rows shown at a prompt
LONGEST_CELL = 24
LONGEST_ERROR = 160
ERROR = "error"  # a column of sentences


@final
class SweepTable:
    """A table of named columns, displayed as text at a prompt and as HTML in a notebook.

    Args:
        columns: mapping from column name to a list of cells, all lists of equal length; a cell is a
            number, a string or a bool, or None if empty
        notes: sentences displayed below the table
    """

    def __init__(self, columns: dict[str, list[Any]], notes: Sequence[str] = ()) -> None:
        self.columns = columns
        self.notes = list(notes)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), []))

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows, each a dict from column name to cell."""
        return [
            dict(zip(self.columns, row, strict=True))
            for row in zip(*self.columns.values(), strict=True)
        ]

    def sorted_by(self, column: str, falling: bool = False) -> SweepTable:
        """Return the table sorted by a column, with empty cells last."""
        if column not in self.columns:
            raise InputError(f"the table has the columns {', '.join(self.columns)}, not {column!r}")
        order = in_order(dict(enumerate(self.columns[column])), falling=falling)
        columns = {name: [column[i] for i in order] for name, column in self.columns.items()}
        return SweepTable(columns, self.notes)

    def csv(self) -> str:
        """Return the table as CSV text; None and NaN become empty cells."""
        return csv_of(
            {
                name: ["" if is_empty(cell) else cell for cell in cells]
                for name, cells in self.columns.items()
            }
        )

    def to_pandas(self) -> Any:
        """Return the table as a pandas DataFrame; raise InputError if pandas is not installed."""
        return data_frame(self.columns, "save a .csv file")

    def save(self, path: object) -> None:
        """Save the table as `.csv`."""
        found = as_path(path)
        if found.suffix != CSV:
            raise InputError(f"a table of a sweep is saved as .csv, not as {shorten(found.suffix)}")
        save_text(self.csv(), found)

    def __repr__(self) -> str:
        lines = columns([[*map(visible, self.columns)], *self._shown()], str.rjust)
        if len(self) > SHOWN:
            lines.append(f"... {len(self) - SHOWN:,} rows more")
        return "\n".join([*lines, *self.notes])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(visible(name))}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self._shown()
        )
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}"

    def _shown(self) -> list[list[str]]:
        cells: Iterable[tuple[Any, ...]] = zip(*self.columns.values(), strict=True)
        return [
            [
                in_words(cell, LONGEST_ERROR if name == ERROR else LONGEST_CELL)
                for name, cell in zip(self.columns, row, strict=True)
            ]
            for row, _ in zip(cells, range(SHOWN), strict=False)
        ]


def is_empty(cell: object) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def as_key(cell: Any) -> tuple[int, Any]:
    """Return a sort key that orders numbers by value and puts strings after them."""
    return (0, cell) if isinstance(cell, (int, float)) else (1, str(cell))


def in_order(cells: Mapping[int, Any], *, falling: bool) -> list[int]:
    """Return the keys of `cells`, sorted by the values of the cells; empty cells come last."""
    filled = [number for number in cells if not is_empty(cells[number])]
    filled.sort(key=lambda number: as_key(cells[number]), reverse=falling)
    return filled + [number for number in cells if is_empty(cells[number])]


def in_words(cell: object, most: int) -> str:
    """Format a cell as text of at most `most` characters, "" if empty; round floats to 4 digits."""
    if is_empty(cell):
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        return f"{cell:.4g}"
    return f"{cell:,}" if isinstance(cell, int) else visible(str(cell), most)


# The two tables of a sweep: one row per setting, and one row per run.


def table_of_settings(sweep: Sweep) -> SweepTable:
    """Return a table with one row per setting."""
    rows = [row_of_setting(sweep, number) for number in range(len(sweep.settings))]
    goal = sweep.ranking
    values = {number: row.get(goal.name) for number, row in enumerate(rows) if row["runs"]}
    for rank, number in enumerate(in_order(values, falling=goal.rises), start=1):
        rows[number]["rank"] = rank
    names = list(dict.fromkeys(name for row in rows for name in row if name != ERROR))
    names += [ERROR] * any(ERROR in row for row in rows)
    columns = {name: [row.get(name) for row in rows] for name in names}
    first = "largest" if goal.rises else "smallest"
    notes = [f"success: loss below {sweep.success:g}"] if sweep.success else []
    return SweepTable(columns, [*notes, f"rank: by {goal.name}, the {first} first"])


def row_of_setting(sweep: Sweep, number: int) -> dict[str, Any]:
    """Return the row of a setting as a mapping from column name to cell."""
    row: dict[str, Any] = {name: plain(value) for name, value in sweep.settings[number].items()}
    if number in sweep.errors:
        error = sweep.errors[number]
        return {**row, "runs": 0, "rank": None, ERROR: f"{type(error).__name__}: {error}"}
    try:
        outcome = sweep.outcome(number)
    except OrderError:
        return {**row, "runs": 0, "rank": None}
    row |= {"runs": len(outcome.seeds), "rank": None}
    if sweep.success:
        steps = outcome.succeeded[outcome.succeeded != NEVER]
        row |= spread("success", rate(len(steps), len(outcome.seeds)))
        row["steps to success"] = float(np.median(steps)) if len(steps) else None
    for each in dict.fromkeys([Ranking(), sweep.ranking]):
        values = outcome.scores(each) * (-1.0 if each.rises else 1.0)
        row |= spread(each.name, mean_with_interval(values))
    row["failed"] = int((outcome.failed != NEVER).sum())
    row |= {name: mean_of(outcome.last(name)) for name in outcome.metrics if name not in row}
    row["seconds"] = outcome.seconds
    return row


def table_of_runs(sweep: Sweep) -> SweepTable:
    """Return a table with one row per run."""
    columns: dict[str, list[Any]] = {}
    for number, setting in enumerate(sweep.settings):
        if number in sweep.errors or not sweep.knows(number):
            continue
        outcome = sweep.outcome(number)
        for i, seed in enumerate(outcome.seeds.view(np.uint64).tolist()):
            row: dict[str, Any] = {
                "setting": number,
                **{n: plain(v) for n, v in setting.items()},
                "seed": seed,
                "steps": int(outcome.lasted[i]),
                "loss": float(outcome.scores()[i]),
            }
            if sweep.success:
                at = int(outcome.succeeded[i])
                row |= {"success": at != NEVER, "steps to success": None if at == NEVER else at}
            row["failed"] = bool(outcome.failed[i] != NEVER)
            row |= {name: float(outcome.last(name)[i]) for name in outcome.metrics}
            row["digest"] = outcome.digests[i]
            for name, cell in row.items():
                columns.setdefault(name, []).append(cell)
    return SweepTable(columns)


def spread(name: str, interval: Interval) -> dict[str, float]:
    """Return the cells of an interval: its value, its lower end and its upper end."""
    return {name: interval.value, f"{name} low": interval.low, f"{name} high": interval.high}


def plain(value: object) -> object:
    """Convert a value of the grid to a cell: keep numbers and strings, convert others to text.

    A list of integers, such as layer sizes, becomes "3-8-3"; a function or class becomes its name.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isnan(value):
        return "nan"  # a value, not an empty cell
    if isinstance(value, (list, tuple)) and len(value) > 1 and all(type(n) is int for n in value):
        return "-".join(map(str, value))
    if isinstance(value, (type, FunctionType)):
        return value.__name__
    return value if isinstance(value, (int, float, str, bool, type(None))) else shorten(value)


# Statistics of runs that differ in their seed.

Z = 1.959963984540054  # quantile of the normal distribution for 95 %
RESAMPLES = 2000
SEED = 0  # seed of the bootstrap: the same runs always have the same interval
SIDE = 2.5  # percent outside of a 95 % interval on each side


class Interval(NamedTuple):
    """A number and its 95 % confidence interval."""

    value: float
    low: float
    high: float


def rate(successes: int, count: int) -> Interval:
    """Return the fraction `successes / count` with its Wilson score interval."""
    share = successes / count
    middle = share + Z**2 / (2 * count)
    half = Z * math.sqrt(share * (1 - share) / count + Z**2 / (4 * count**2))
    below = 1 + Z**2 / count
    low, high = (middle - half) / below, (middle + half) / below
    return Interval(
        share, max(low, 0.0) if successes else 0.0, min(high, 1.0) if successes < count else 1.0
    )


def interquartile_mean(values: FloatArray) -> FloatArray:
    """Return the mean of the middle half along the last axis.

    The mean is infinite if that half contains infinity. If the count is not a multiple of four, the
    values at the edges of the half get fractional weights.
    """
    ordered = np.sort(values, axis=-1)
    count = ordered.shape[-1]
    edges = np.clip(np.arange(count + 1) / count, 0.25, 0.75)
    weights = np.diff(edges) * 2
    with np.errstate(invalid="ignore"):
        terms = np.where(weights > 0, ordered * weights, 0.0)
    return np.asarray(terms.sum(axis=-1))


def mean_with_interval(values: FloatArray) -> Interval:
    """Return the interquartile mean with its bootstrap interval over resampled runs."""
    random, count = np.random.Generator(np.random.PCG64(SEED)), len(values)
    portion = max(1, 2**20 // count)  # resamples at a time, in bounded memory
    sizes = (min(portion, RESAMPLES - first) for first in range(0, RESAMPLES, portion))
    drawn = (values[random.integers(0, count, (some, count))] for some in sizes)
    means = np.concatenate([interquartile_mean(each) for each in drawn])
    low, high = np.percentile(means, [SIDE, 100 - SIDE], method="nearest")
    return Interval(float(interquartile_mean(values)), float(low), float(high))
