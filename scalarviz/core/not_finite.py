"""Numbers of a bank that are not finite: finding them, and the errors that they cause."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.program import NONE
from scalarviz.errors import GradientError, UpdateError

if TYPE_CHECKING:
    from scalarviz.core.bank import Bank, Rows


def first_not_finite(arrays: Sequence[FloatArray]) -> tuple[int, int] | None:
    """Return (array, index) of the first number that is not finite, or None.

    At equal index a later array (slot) goes before the first (values), which follows from it.
    """
    bad = [np.flatnonzero(~np.isfinite(array)) for array in arrays]
    places = [(int(found[0]), i == 0, i) for i, found in enumerate(bad) if len(found)]
    if not places:
        return None
    place, _, array = min(places)
    return array, place


def written_error(bank: Bank) -> GradientError | None:
    """Return the error that no step can be taken, if a weight is not finite before the step.

    No step makes it so: somebody has written into the array.
    """
    found = first_not_finite([bank.value])
    if found is None:
        return None
    row = found[1]
    return GradientError(
        f"{bank.name_of(row)} is {bank.value[row]}, so no step can be taken; no step makes it so, "
        "something has written it into the array: write a finite number there, such as "
        f"net.bank.value[{row}] = 0.0"
    )


def find_bad(bank: Bank, optimizer: Optimizer, rows: Rows = slice(None)) -> int:
    """Return the first non-frozen row of `rows` whose gradient `optimizer` refuses, or NONE."""
    if optimizer.not_finite != "error":
        return NONE
    bad = ~np.isfinite(bank.grad[rows]) & ~bank.frozen[rows]
    return int(np.arange(len(bank))[rows][bad][0]) if bad.any() else NONE


def bad_gradient(bank: Bank, row: int) -> GradientError:
    """Return the error for a gradient on a `row` that is not finite, with a remedy."""
    return written_error(bank) or GradientError(
        f"the gradient of {bank.name_of(row)} is {bank.grad[row]}, so nothing was changed: "
        "lower the learning rate, clip with clip_norm=, or count such gradients as 0 with "
        'not_finite="zero"'
    )


def bad_update(bank: Bank, optimizer: Optimizer, step: int) -> UpdateError:
    """Return the error for a `step`, counted from 0, that left weights or slots not finite.

    `optimizer` is the one that took the step.
    """
    arrays = bank.value, *bank.slot_block(optimizer.row.slots)
    found = first_not_finite([np.where(bank.frozen, 0, array) for array in arrays])
    assert found is not None, "only a step that overflowed is asked about"
    array, row = found
    return not_taken(bank, array, row, arrays[array][row], optimizer, step)


def not_taken(
    bank: Bank, array: int, row: int, number: float, optimizer: Optimizer, step: int
) -> UpdateError:
    """Return the error that names the number which a step would have made infinite."""
    what = ("", *[f"{name} of " for name in optimizer.row.slots])[array]
    return UpdateError(
        step,
        f"{what}{bank.name_of(row)} {number}, so it was not taken: lower the learning "
        f"rate (it is {optimizer.rate_of(row, step):g}), l1 or l2, clip with clip_norm=, or "
        "scale the data down",
    )
