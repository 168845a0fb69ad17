"""The random numbers behind initial numbers; those of many small networks can be drawn together."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import final

import numpy as np
import numpy.typing as npt

from scalarviz.core.formulas.randomness import MASK, STREAM_INITIAL, philox, unit, unit_pairs

Pairs = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]


def initial_pairs(seed: int, first: int, count: int) -> Pairs:
    """Return `unit_pairs` of the initial numbers on `count` rows of a bank from `first` on."""
    together = _together.get()
    found = together.pairs(seed, first, count) if together is not None else None
    return found or unit_pairs(seed, STREAM_INITIAL, 0, first, count)


@final
class DrawnTogether:
    """Context manager in which `initial_pairs` of some seeds are drawn at once.

    numpy needs 0.1 ms for the pairs of a layer however few they are. Other threads are not
    affected.

    seeds  integers from 0 to 2**64 - 1
    rows   number of rows, from the first one on, that are drawn for each seed
    """

    def __init__(self, seeds: Sequence[int], rows: int) -> None:
        self._rows = rows
        self._places = {seed: place for place, seed in enumerate(seeds)}
        halves = np.array([(seed & MASK, seed >> 32) for seed in seeds], np.int64)
        index = np.arange(rows, dtype=np.int64)
        words = philox(index & MASK, index >> 32, 0, STREAM_INITIAL, halves[:, :1], halves[:, 1:])
        self._pairs: Pairs = unit(words[0]), unit(words[1])

    def __enter__(self) -> None:
        self._before = _together.set(self)

    def __exit__(self, *error: object) -> None:
        _together.reset(self._before)

    def pairs(self, seed: int, first: int, count: int) -> Pairs | None:
        """Return the pairs that were drawn for these rows, or None."""
        place = self._places.get(seed)
        if place is None or first + count > self._rows:
            return None
        rows = slice(first, first + count)
        u, v = self._pairs
        return u[place, rows], v[place, rows]


_together: ContextVar[DrawnTogether | None] = ContextVar("_together", default=None)
