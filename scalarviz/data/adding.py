"""Samples that are added to a table: their checks, and tables that grow without copies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np

from scalarviz.base.checks import Shape, as_batch, as_floats, one_hot, shorten
from scalarviz.data.batches import Pair
from scalarviz.errors import InputError, ShapeError

MOST_ADDED = 10_000  # samples added to one data set
SPARE = 64  # fewest rows that a copied table has room for


@final
@dataclass(frozen=True)
class Room:
    """A table with spare rows, which the data sets share that grow from one another.

    claimed  for each count of rows, the one growth that may write after them
    """

    inputs: np.ndarray
    targets: np.ndarray
    claimed: dict[int, object] = field(default_factory=dict)

    @staticmethod
    def of(table: Pair, more: int) -> Room:
        """Return a copy of a table with room for `more` rows, and for some others."""
        count = len(table[0])
        rows = count + max(more, SPARE, count // 8)
        x, y = [np.empty((rows, each.shape[1]), each.dtype) for each in table]
        room = Room(x, y)
        room.inputs[:count], room.targets[:count] = table
        return room

    def appended(self, count: int, added: Pair) -> Pair | None:
        """Return the first `count` rows and the added ones; None if others are written there."""
        end, token = count + len(added[0]), object()
        if end > len(self.inputs) or self.claimed.setdefault(count, token) is not token:
            return None
        self.inputs[count:end], self.targets[count:end] = added
        return self.inputs[:end], self.targets[:end]


def as_samples(
    inputs: object,
    targets: object,
    widths: tuple[int, int],
    *,
    labels: bool,
    picture: Shape = (),
) -> Pair:
    """Return one or several samples as float64 arrays, one row a sample.

    widths   numbers of a sample, and of its target
    labels   whether a target may be a class label, for a row that is 1 at its class
    picture  shape of inputs that are pictures; by default none

    Raises InputError, ShapeError or NotFiniteError.
    """
    x, is_single = as_batch(inputs, widths[0], "a sample to add", picture=picture)
    y = as_floats(targets, "the target of a sample to add")
    count = len(x)
    if labels and y.size == count and widths[1] > 1:
        y = one_hot(y.reshape(-1, 1), widths[1])
    elif y.size == count * widths[1] and (is_single or len(y) == count):
        y = y.reshape(count, widths[1])
    else:
        raise ShapeError(
            f"a sample to add has a target of {widths[1]} numbers, one row for each of "
            f"{count:,} samples, not {shorten(targets)}"
        )
    as_batch(y, widths[1], "the target of a sample to add")
    if not count:
        raise InputError("there is no sample to add: pass at least one")
    return x, y


def check_within(table: np.ndarray, low: float, high: float, what: str) -> None:
    """Raise InputError unless all numbers lie between two bounds, themselves included."""
    wrong = table[(table < low) | (table > high)]
    if wrong.size:
        raise InputError(
            f"{what} are numbers from {low:g} to {high:g}, and one is {wrong.flat[0]:g}: scale it"
        )
