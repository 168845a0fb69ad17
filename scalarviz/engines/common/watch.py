"""Watch: numbers of a bank that a run keeps of each of many steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from scalarviz.checks.numbers import FloatArray

LANES = 8  # sums that a sum is made of, so that no addition waits for the one before
STEPS, SQUARES, FINITE, FIRST = range(4)  # columns of a table; from FIRST on those of single rows


@final
@dataclass(frozen=True)
class Watch:
    """What is read after each step.

    values     rows of the bank whose values are read
    gradients  rows whose gradients are read
    squares    whether the gradients of all rows that are not frozen are squared and added up
    finite     whether all values and gradients are looked at

    The table has a line for each step: the number of steps that the network has taken, that sum,
    0 or NaN if a number is not finite, the values and the gradients.
    """

    values: tuple[int, ...] = ()
    gradients: tuple[int, ...] = ()
    squares: bool = False
    finite: bool = False

    @property
    def columns(self) -> int:
        return FIRST + len(self.values) + len(self.gradients)

    def value_of(self, row: int) -> int:
        """Return the column of the value of a row of the bank."""
        return FIRST + self.values.index(row)

    def gradient_of(self, row: int) -> int:
        """Return the column of the gradient of a row of the bank."""
        return FIRST + len(self.values) + self.gradients.index(row)


def sum_of_squares(numbers: FloatArray, left_out: FloatArray | None = None) -> float:
    """Return the sum of squares in float64, as kernels add it up: LANES sums, each in order.

    left_out  marks of the numbers that count as 0; by default none
    """
    rows = -(-len(numbers) // LANES)
    squares = np.zeros(rows * LANES)
    with np.errstate(over="ignore", invalid="ignore"):
        np.square(numbers, out=squares[: len(numbers)], dtype=np.float64)
        if left_out is not None:
            squares[: len(numbers)][left_out] = 0.0
        sums = np.add.accumulate(squares.reshape(rows, LANES))[-1:] if rows else squares
        return float(sum(sums.ravel().tolist()))
