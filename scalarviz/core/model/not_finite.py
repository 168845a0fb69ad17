"""Numbers of a bank that are not finite: finding them, and the error if a weight is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from scalarviz.base.checks.numbers import FloatArray
from scalarviz.errors import GradientError

if TYPE_CHECKING:
    from scalarviz.core.model.bank import Bank


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
