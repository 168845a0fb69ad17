"""Tables of a sweep: one row a setting, or one row a run; as text, HTML, CSV, parquet or pandas."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, final

from scalarviz.base.checks import shorten
from scalarviz.base.messages import visible
from scalarviz.base.shell_commands import needed
from scalarviz.errors import InputError
from scalarviz.files.atomic import as_path, replace_file, save_text
from scalarviz.training.session.measurements import csv_of, data_frame

CSV, PARQUET = ".csv", ".parquet"
SHOWN = 60  # rows in a prompt
LONGEST_CELL = 24
LONGEST_ERROR = 160
ERROR = "error"  # a column of sentences


@final
class SweepTable:
    """Named columns of equal length. A prompt shows it as text, a notebook as HTML.

    columns  lists of cells by name: numbers, texts, True and False; None is an empty cell
    notes    sentences below it
    """

    def __init__(self, columns: dict[str, list[Any]], notes: Sequence[str] = ()) -> None:
        self.columns = columns
        self.notes = list(notes)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), []))

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows, each a mapping from column to cell."""
        cells = zip(*self.columns.values(), strict=True)
        return [dict(zip(self.columns, row, strict=True)) for row in cells]

    def sorted_by(self, column: str, falling: bool = False) -> SweepTable:
        """Return the table with its rows ordered by a column; empty cells come last."""
        if column not in self.columns:
            raise InputError(f"the table has the columns {', '.join(self.columns)}, not {column!r}")
        cells = self.columns[column]
        filled = [i for i, cell in enumerate(cells) if not is_empty(cell)]
        order = sorted(filled, key=lambda i: as_key(cells[i]), reverse=falling)
        order += [i for i, cell in enumerate(cells) if is_empty(cell)]
        columns = {name: [column[i] for i in order] for name, column in self.columns.items()}
        return SweepTable(columns, self.notes)

    def csv(self) -> str:
        """Return the table as CSV; None and NaN are empty cells."""
        return csv_of(
            {
                name: ["" if is_empty(cell) else cell for cell in cells]
                for name, cells in self.columns.items()
            }
        )

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame; raise InputError without pandas."""
        return data_frame(self.columns, "save a .csv file")

    def save(self, path: object) -> None:
        """Write a file: `.csv`, or `.parquet`, which needs pandas and pyarrow."""
        found = as_path(path)
        if found.suffix == CSV:
            save_text(self.csv(), found)
        elif found.suffix == PARQUET:
            replace_file(found, self._parquet())
        else:
            raise InputError(
                f"a table of a sweep is saved as .csv or .parquet, not as {shorten(found.suffix)}"
            )

    def _parquet(self) -> bytes:
        needed("pyarrow", "parquet is written by pyarrow", "cluster", ", or save a .csv file")
        file = io.BytesIO()
        self.to_pandas().to_parquet(file, engine="pyarrow", index=False)
        return file.getvalue()

    def __repr__(self) -> str:
        lines = text_lines([[*map(visible, self.columns)], *self._shown()])
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


def text_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of cells as lines with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]


def is_empty(cell: object) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def as_key(cell: Any) -> tuple[int, Any]:
    """Return a sort key: numbers by size, then texts."""
    return (0, cell) if isinstance(cell, (int, float)) else (1, str(cell))


def in_words(cell: object, most: int = LONGEST_CELL) -> str:
    """Return a cell as it is shown: few digits, at most so many letters, "" if empty."""
    if is_empty(cell):
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        return f"{cell:.4g}"
    if isinstance(cell, int):
        return f"{cell:,}"
    return visible(str(cell), most)
