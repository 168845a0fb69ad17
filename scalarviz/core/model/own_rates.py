"""OwnRates: learning rates of single rows of a bank, instead of that of the optimizer."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, final

import numpy as np

from scalarviz.base.checks import FloatArray


class Span(NamedTuple):
    """The rows from `first` to before `end`, and their learning rate; NaN: the optimizer's."""

    first: int
    end: int
    rate: float


@final
class OwnRates:
    """Learning rates of some rows of a bank; all other rows have that of the optimizer.

    firsts  where runs of rows with one rate begin, ascending; by default there is none
    rates   of these runs, float64; NaN for the optimizer's, which the last one has. Neighbours
            differ.
    """

    __slots__ = ("_firsts", "_rates")

    def __init__(self, firsts: Any = (), rates: Any = ()) -> None:
        self._firsts = np.asarray(firsts, np.int64)
        self._rates = np.asarray(rates, np.float64)

    def __bool__(self) -> bool:
        return len(self._firsts) > 0

    def __len__(self) -> int:
        """Number of rows with a rate of their own."""
        lengths = np.diff(self._firsts)[~np.isnan(self._rates[:-1])]
        return int(lengths.sum())

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, OwnRates):
            return self is other
        same = np.array_equal(self._firsts, other._firsts)
        return same and np.array_equal(self._rates, other._rates, equal_nan=True)

    def __hash__(self) -> int:
        return hash((self._firsts.tobytes(), self._rates.tobytes()))

    def __repr__(self) -> str:
        return f"OwnRates of {len(self)} rows"

    @property
    def spans(self) -> tuple[Span, ...]:
        """Rows with a rate of their own, in order, none of them twice."""
        end = int(self._firsts[-1]) if self else 0
        return tuple(span for span in self.cover(end) if not math.isnan(span.rate))

    def of(self, row: int) -> float | None:
        """Return the rate of a row, or None if it has none of its own."""
        rate = float(self._at(np.array([row]))[0])
        return None if math.isnan(rate) else rate

    def of_all(self, rows: Any) -> float | None:
        """Return the rate of some rows; None: the optimizer's; NaN: they have several."""
        rates = self._at(np.asarray(rows))
        if not np.array_equal(rates, np.full(len(rates), rates[0]), equal_nan=True):
            return math.nan
        return self.of(int(rows[0]))

    def array(self, count: int) -> FloatArray:
        """Return the rate of each of `count` rows, float64; NaN for the optimizer's."""
        bounds = [0, *np.minimum(self._firsts, count).tolist(), count]
        return np.repeat(np.concatenate([[np.nan], self._rates]), np.diff(bounds))

    def changed(self, rows: Any, rate: float | None) -> OwnRates:
        """Return the rates with another one for some rows; None: that of the optimizer.

        It takes time for the runs of rows there are and the rows that change, not for all others.
        """
        rows = np.unique(np.asarray(rows, np.int64))
        gaps = np.flatnonzero(np.diff(rows) > 1)
        starts, ends = rows[[0, *(gaps + 1)]], rows[[*gaps, -1]] + 1
        bounds = np.unique(np.concatenate([self._firsts, starts, ends]))
        rates = self._at(bounds)
        inside = np.searchsorted(starts, bounds, "right") > np.searchsorted(ends, bounds, "right")
        rates[inside] = np.nan if rate is None else rate
        before = np.concatenate([[np.nan], rates[:-1]])
        differs = rates.view("u8") != before.view("u8")
        return OwnRates(bounds[differs], rates[differs])

    def cover(self, count: int) -> list[Span]:
        """Return spans that cover all of `count` rows, in order."""
        inside = self._firsts < count
        firsts, rates = self._firsts[inside].tolist(), self._rates[inside].tolist()
        if firsts[:1] != [0]:
            firsts, rates = [0, *firsts], [math.nan, *rates]
        return [*map(Span, firsts, [*firsts[1:], count], rates)]

    def _at(self, rows: Any) -> FloatArray:
        """Return the rates of rows; NaN for the optimizer's."""
        known = np.concatenate([[np.nan], self._rates])
        rates: FloatArray = known[np.searchsorted(self._firsts, rows, "right")]
        return rates


NO_OWN_RATES = OwnRates()
