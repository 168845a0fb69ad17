"""Columns by name as CSV text, and as a DataFrame of pandas."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Any

from scalarviz.base.shell_commands import needed


def csv_of(columns: Mapping[str, Iterable[object]]) -> str:
    """Return a table as CSV, the names first."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return file.getvalue()


def data_frame(columns: Mapping[str, Any], otherwise: str, rows: int | None = None) -> Any:
    """Return a DataFrame; raise InputError without pandas.

    otherwise  what can be done without it, in a few words
    rows       number of rows of an index with the name "step"; None, the default: no such index
    """
    pandas = needed("pandas", "a DataFrame is made by pandas", "pandas", f", or {otherwise}")
    return pandas.DataFrame(
        columns, index=None if rows is None else pandas.RangeIndex(rows, name="step")
    )
