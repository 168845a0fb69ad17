"""OwnRates: learning rates of single rows of a bank, instead of that of the optimizer."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from scalarviz.checks.numbers import FloatArray


class Span(NamedTuple):
    """The rows from `first` to before `end`, and their learning rate; NaN: the optimizer's."""

    first: int
    end: int
    rate: float


@final
@dataclass(frozen=True, slots=True)
class OwnRates:
    """Learning rates of some rows of a bank; all other rows have that of the optimizer.

    spans  rows with a rate of their own, in order, none of them twice
    """

    spans: tuple[Span, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.spans)

    def __len__(self) -> int:
        """Number of rows with a rate of their own."""
        return sum(span.end - span.first for span in self.spans)

    def of(self, row: int) -> float | None:
        """Return the rate of a row, or None if it has none of its own."""
        at = bisect_right(self.spans, row, key=lambda span: span.first) - 1
        return self.spans[at].rate if at >= 0 and row < self.spans[at].end else None

    def of_all(self, rows: Any) -> float | None:
        """Return the rate of some rows; None: the optimizer's; NaN: they have several."""
        rates = self.array(int(np.max(rows)) + 1)[rows]
        if not np.array_equal(rates, np.full(len(rates), rates[0]), equal_nan=True):
            return math.nan
        return self.of(int(rows[0]))

    def array(self, count: int) -> FloatArray:
        """Return the rate of each of `count` rows, float64; NaN for the optimizer's."""
        rates = np.full(count, np.nan)
        for span in self.spans:
            rates[span.first : span.end] = span.rate
        return rates

    def changed(self, rows: Any, rate: float | None) -> OwnRates:
        """Return the rates with another one for some rows; None: that of the optimizer."""
        end = max(int(np.max(rows)) + 1, self.spans[-1].end if self.spans else 0)
        rates = self.array(end)
        rates[rows] = np.nan if rate is None else rate
        return OwnRates(tuple(span for span in spans_of(rates) if not math.isnan(span.rate)))

    def cover(self, count: int) -> list[Span]:
        """Return spans that cover all of `count` rows, in order."""
        return spans_of(self.array(count)) if self.spans else [Span(0, count, math.nan)]


def spans_of(rates: FloatArray) -> list[Span]:
    """Return runs of equal rates, NaN included, in order."""
    changes = np.flatnonzero(rates[1:].view("u8") != rates[:-1].view("u8")) + 1
    ends = [*changes.tolist(), len(rates)]
    firsts = [0, *ends[:-1]]
    return [Span(first, end, float(rates[first])) for first, end in zip(firsts, ends, strict=True)]


NO_OWN_RATES = OwnRates()
