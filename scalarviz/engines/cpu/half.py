"""Half precision on a processor that has none: float32 numbers rounded to what fp16 can hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.engines.codegen.dispatch import inner, kernel
from scalarviz.engines.cpu.products import Index, Numbers

# Of the bits of a float32: all but the sign; the exponent and digits of the smallest normal half,
# of the first number too large for it, and of infinity.
MAGNITUDE, SMALLEST, TOO_LARGE, INFINITE = 0x7FFFFFFF, 0x38800000, 0x477FF000, 0x7F800000
FRACTION, LEADING_ONE = 0x7FFFFF, 0x800000
DROPPED = 13  # binary digits that a normal half has not
UNIT = 2.0**-24  # the smallest half above 0


@inner
def half(x: Any) -> Any:
    """x rounded to the nearest half, to the even one of two; beyond 65,504 it is infinite."""
    bits: Any = np.int64(np.float32(x).view(np.int32))
    magnitude = bits & MAGNITUDE
    rounded: Any = magnitude + ((1 << (DROPPED - 1)) - 1) + ((magnitude >> DROPPED) & 1)
    rounded = (rounded >> DROPPED) << DROPPED
    rounded = INFINITE if magnitude >= TOO_LARGE else rounded
    rounded = magnitude if magnitude > INFINITE else rounded  # NaN
    normal = np.int32(rounded).view(np.float32)
    # Below the smallest normal one, halves are whole multiples of a unit.
    exponent = magnitude >> 23
    digits = (magnitude & FRACTION) | LEADING_ONE
    shift: Any = max(min(126 - exponent, 30), 0)
    whole = digits >> shift
    left = digits - (whole << shift)
    middle = (1 << shift) >> 1
    whole += 1 if left > middle or (left == middle and whole & 1) else 0
    size = normal if magnitude >= SMALLEST else np.float32(whole) * np.float32(UNIT)
    return -size if bits < 0 else size


@kernel
def round_all(x: Numbers, out: Numbers) -> None:
    """out = x, rounded to half."""
    for i in range(np.uint64(len(x))):
        out[i] = half(x[i])


@inner
def round_rows(space: Numbers, start: Index, rows: Index, n: Index, stride: Index) -> None:
    """Every number of a buffer in a tile, rounded to half where it is."""
    for r in range(rows):
        a = (start + r) * stride
        for t in range(n):
            space[a + t] = half(space[a + t])
