"""Layout of the parameters of an expression: single values side by side or in a block."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import ceil

import numpy as np

from scalarviz.base.checks.numbers import FloatArray
from scalarviz.base.texts import text
from scalarviz.pictures.view.scene.plates import DOWN, NEAR, RIGHT, Label, Layout, Plate, Written

FEW = 12  # most values with a name each
APART, WIDEST, BELOW = 1.6, 3.6, 1.65  # cells from one to the next, least and most, and downwards
ABOVE = 0.85  # share of the height of the stage that is above the legend
NAME, LEAST = 0.7, 12.0  # cells from a value to its name, and pixels of the letters of that
FILLED = 0.62  # share of the stage, in its emptier direction, below which another grid is better


def of_values(rows: Sequence[int], names: Sequence[str], aspect: float = 1.6) -> Layout:
    """Lay out values by their bank indices: a few in a grid with their names, else a block.

    aspect  width of the free stage divided by its height
    """
    if len(rows) <= FEW:
        columns, apart = grid_of(len(rows), aspect / ABOVE)
        places = [(i % columns * apart, -(i // columns) * BELOW, 0.0) for i in range(len(rows))]
        plates = [one_value(row, np.array(at)) for row, at in zip(rows, places, strict=True)]
        middles = [plate.point(0.5, 0.5) for plate in plates]
        written = [name_below(*each) for each in zip(names, middles, strict=True)]
        return Layout(plates, (), (), (), follows_shape=True, written=written)
    columns = round(np.sqrt(aspect * len(rows)))
    plates = [
        one_value(row, np.array([float(i % columns), -float(i // columns), 0.0]))
        for i, row in enumerate(rows)
    ]
    if all(b - a == 1 for a, b in pairwise(rows)):
        whole, rest = divmod(len(rows), columns)
        plates = [block_of_values(rows[0], whole, columns, 0)]
        plates += [block_of_values(rows[whole * columns], 1, rest, whole)] if rest else []
    start = np.array([0.0, -len(rows) / columns - 0.85, 0.0])
    name, about = text("plates.values"), text("plates.parameters", count=len(rows))
    labels = [Label(name, about, start, start + columns * RIGHT)]
    return Layout(plates, (), (), labels, follows_shape=True)


def grid_of(count: int, aspect: float) -> tuple[int, float]:
    """Return the columns and their distance in a grid that fills a stage with large cubes."""
    found = []
    for columns in range(1, count + 1):
        rows, across = ceil(count / columns), max(1, columns - 1)
        size = min(aspect / ((columns - 1) * APART + 1.0), 1.0 / ((rows - 1) * BELOW + 1.0 + NAME))
        apart = min(WIDEST, max(APART, (aspect / size - 1.0) / across))
        wide, high = ((columns - 1) * apart + 1.0) / aspect, (rows - 1) * BELOW + 1.0
        found.append((size * min(1.0, size * min(wide, high) / FILLED), -columns, apart))
    _, columns, apart = max(found, default=(0.0, -1, APART))
    return -columns, apart


def name_below(name: str, middle: FloatArray) -> Written:
    """Return the name of a value, below its cube, no wider than a cell unless letters are small."""
    return Written(name, middle + NAME * DOWN, 0.045 * min(len(name), 10) * RIGHT, LEAST)


def one_value(row: int, corner: FloatArray) -> Plate:
    return Plate(int(row), 1, 1, 1, corner, RIGHT, DOWN, NEAR, "value")


def block_of_values(first: int, rows: int, columns: int, below: int) -> Plate:
    corner = np.array([0.0, -float(below), 0.0])
    return Plate(int(first), rows, columns, columns, corner, RIGHT, DOWN, NEAR, "value")
