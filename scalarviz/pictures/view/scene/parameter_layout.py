"""Layout of the parameters of an expression: single values side by side or in a block."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from scalarviz.base.checks.numbers import FloatArray
from scalarviz.base.texts import text
from scalarviz.pictures.view.scene.plates import DOWN, NEAR, RIGHT, Label, Layout, Plate

FEW, APART = 12, 1.6  # most values in one row, and cells from one to the next


def of_values(rows: Sequence[int], names: Sequence[str]) -> Layout:
    """Lay out values by their bank indices: a few in a row with their names, else a block."""
    if len(rows) <= FEW:
        plates = [one_value(row, np.array([i * APART, 0.0, 0.0])) for i, row in enumerate(rows)]
        labels = []
        for plate, name in zip(plates, names, strict=True):
            start = plate.origin + 1.25 * DOWN
            labels.append(Label(name, "", start, start + RIGHT))
        return Layout(plates, (), (), labels)
    columns = round(np.sqrt(1.6 * len(rows)))
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
    return Layout(plates, (), (), [Label(name, about, start, start + columns * RIGHT)])


def one_value(row: int, corner: FloatArray) -> Plate:
    return Plate(int(row), 1, 1, 1, corner, RIGHT, DOWN, NEAR, "value")


def block_of_values(first: int, rows: int, columns: int, below: int) -> Plate:
    corner = np.array([0.0, -float(below), 0.0])
    return Plate(int(first), rows, columns, columns, corner, RIGHT, DOWN, NEAR, "value")
