"""Functions on the bits of a float: powers of two, signs, exponents and fractions.

Each function has a version for float32 and one for float64. An integer n is passed as the float
`rounded` = n + ROUND, whose lowest bits are those of n.
"""

from __future__ import annotations

from typing import Any

import numpy as np

ROUND32 = 1.5 * 2.0**23
ROUND64 = 1.5 * 2.0**52

# The bits of sqrt(1/2), and the mask of a number's fraction.
SQRT_HALF32, FRACTION32 = 0x3F3504F3, 0x7FFFFF
SQRT_HALF64, FRACTION64 = 0x3FE6A09E667F3BCD, 0xFFFFFFFFFFFFF


def times_power_of_two32(x: Any, rounded: Any) -> Any:
    """Return x times 2**n, where rounded = n + ROUND."""
    bits = np.float32(x).view(np.int32) + (np.float32(rounded).view(np.int32) << 23)
    return np.int32(bits).view(np.float32)


def times_power_of_two64(x: Any, rounded: Any) -> Any:
    bits = np.float64(x).view(np.int64) + (np.float64(rounded).view(np.int64) << 52)
    return np.int64(bits).view(np.float64)


def negated_if_odd32(x: Any, rounded: Any) -> Any:
    """Return x if n is even, -x if it is odd, where rounded = n + ROUND."""
    bits = np.float32(x).view(np.int32) ^ (np.float32(rounded).view(np.int32) << 31)
    return np.int32(bits).view(np.float32)


def negated_if_odd64(x: Any, rounded: Any) -> Any:
    bits = np.float64(x).view(np.int64) ^ (np.float64(rounded).view(np.int64) << 63)
    return np.int64(bits).view(np.float64)


def exponent32(x: Any) -> Any:
    """Return the integer n for which x / 2**n is between sqrt(1/2) and sqrt(2)."""
    n = (np.float32(x).view(np.int32) - SQRT_HALF32) >> 23
    return np.int32(n + np.float32(ROUND32).view(np.int32)).view(np.float32) - ROUND32


def exponent64(x: Any) -> Any:
    n = (np.float64(x).view(np.int64) - SQRT_HALF64) >> 52
    return np.int64(n + np.float64(ROUND64).view(np.int64)).view(np.float64) - ROUND64


def fraction32(x: Any) -> Any:
    """Return x / 2**n for the n of `exponent32`."""
    bits = ((np.float32(x).view(np.int32) - SQRT_HALF32) & FRACTION32) + SQRT_HALF32
    return np.int32(bits).view(np.float32)


def fraction64(x: Any) -> Any:
    bits = ((np.float64(x).view(np.int64) - SQRT_HALF64) & FRACTION64) + SQRT_HALF64
    return np.int64(bits).view(np.float64)


def upper_half32(x: Any) -> Any:
    """Return x with the lower half of its digits set to 0, so that its square is exact."""
    return np.int32(np.float32(x).view(np.int32) & -0x1000).view(np.float32)


def upper_half64(x: Any) -> Any:
    return np.int64(np.float64(x).view(np.int64) & -0x8000000).view(np.float64)
