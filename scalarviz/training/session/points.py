"""Points: the values of a metric at some steps of a branch."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import TypeAlias, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray

Series: TypeAlias = tuple[npt.NDArray[np.int64], FloatArray]  # steps and values


@final
class Points:
    """Values at steps, in their order; other threads may read them at any moment."""

    def __init__(self, steps: Sequence[int] = (), values: Sequence[float] = ()) -> None:
        self._steps, self._values = array("q", steps), array("d", values)

    def add(self, step: int, value: float) -> None:
        """Append the value of a later step."""
        self._steps.append(step)
        self._values.append(value)

    def until(self, last: float = math.inf) -> Series:
        """Return steps and values up to a step; by default all."""
        count = len(self._values)  # which get theirs after the steps
        steps = np.array(self._steps[:count], np.int64)
        end = int(np.searchsorted(steps, last, "right"))
        return steps[:end], np.array(self._values[:end], np.float64)
