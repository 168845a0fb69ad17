"""Half precision in software: float32 numbers rounded to the nearest float16."""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.engines.codegen.dispatch import Real, by_address, inner
from scalarviz.engines.cpu.arrays import Address, bank_of
from scalarviz.engines.cpu.memory import array_at
from scalarviz.engines.cpu.products import Index

# Bits of a float32: mask of all but the sign; the smallest normal half; the smallest number that
# rounds to infinity; and infinity.
MAGNITUDE, SMALLEST, TOO_LARGE, INFINITE = 0x7FFFFFFF, 0x38800000, 0x477FF000, 0x7F800000
FRACTION, LEADING_ONE = 0x7FFFFF, 0x800000
DROPPED = 13  # binary digits that a float32 has more than a normal half
UNIT = 2.0**-24  # the smallest half above 0


@inner
def half(x: Any) -> Any:
    """Round x to the nearest half, ties to even; beyond 65,504 to infinity."""
    bits: Any = np.int64(np.float32(x).view(np.int32))
    magnitude = bits & MAGNITUDE
    rounded: Any = magnitude + ((1 << (DROPPED - 1)) - 1) + ((magnitude >> DROPPED) & 1)
    rounded = (rounded >> DROPPED) << DROPPED
    rounded = INFINITE if magnitude >= TOO_LARGE else rounded
    rounded = magnitude if magnitude > INFINITE else rounded  # NaN
    normal = np.int32(rounded).view(np.float32)
    # Below the smallest normal half, halves are integer multiples of UNIT.
    exponent = magnitude >> 23
    digits = (magnitude & FRACTION) | LEADING_ONE
    shift: Any = max(min(126 - exponent, 30), 0)
    whole = digits >> shift
    left = digits - (whole << shift)
    middle = (1 << shift) >> 1
    whole += 1 if left > middle or (left == middle and whole & 1) else 0
    size = normal if magnitude >= SMALLEST else np.float32(whole) * np.float32(UNIT)
    return -size if bits < 0 else size


@by_address
def round_bank(job: Address) -> None:
    """Write the weights of a job's bank, rounded to half, to `halves`."""
    bank = bank_of(job, Real)
    for i in range(np.uint64(len(bank.value))):
        bank.halves[i] = half(bank.value[i])


@by_address
def round_rows(place: Address, rows: Index, n: Index, stride: Index) -> None:
    """Round n numbers of each of some rows to half, in place; `stride` numbers from row to row."""
    numbers = array_at(place, rows * stride, Real)
    for r in range(rows):
        for t in range(n):
            numbers[r * stride + t] = half(numbers[r * stride + t])
