"""A confusion table as HTML."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from scalarviz.base.texts import text
from scalarviz.pictures.displays.page import CELL, never_raises
from scalarviz.pictures.displays.svg import escaped

RIGHT, WRONG = "64, 132, 244", "236, 130, 40"  # blue and orange, as values are
FAINTEST = 0.12  # opacity of a cell with a single case


@never_raises
def confusion_html(table: tuple[npt.NDArray[np.int64], Sequence[str]]) -> str:
    """Return counts, a row a true class, and names of classes: blue is right, orange is wrong."""
    counts, names = table
    head = "".join(f'<th style="{CELL}">{escaped(name)}</th>' for name in names)
    rows = [
        f'<tr><th style="{CELL}">{escaped(name)}</th>{"".join(cells_of(counts[i], i))}</tr>'
        for i, name in enumerate(names)
    ]
    caption = f"<caption>{escaped(text('exhibits.confusion.axes'))}</caption>"
    return f'<table>{caption}<tr><th style="{CELL}"></th>{head}</tr>{"".join(rows)}</table>'


def cells_of(row: npt.NDArray[np.int64], true: int) -> list[str]:
    """Return the cells of a true class."""
    found = []
    for said, count in enumerate(row.tolist()):
        share = count / max(1, int(row.sum()))
        strength = (FAINTEST + (0.75 - FAINTEST) * share) * (count > 0)
        color = RIGHT if said == true else WRONG
        found.append(f'<td style="{CELL}; background: rgba({color}, {strength:.2f})">{count}</td>')
    return found
