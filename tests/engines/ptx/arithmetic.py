"""What translated instructions compute with.

Numbers of registers are Python's: whole numbers from 0 on, masked to their width, and floats, of
which those of 32 bits are rounded after each operation.
"""

from __future__ import annotations

import math
import struct

_single = memoryview(bytearray(4)).cast("f")
SPLIT = 2.0**27 + 1  # cuts a float64 into two halves


def single(x: float) -> float:
    """Return x rounded to float32; beyond its range infinity."""
    _single[0] = x
    return _single[0]


def single_down(x: float) -> float:
    """Return x rounded to float32 towards minus infinity."""
    found = single(x)
    if found <= x:
        return found
    bits = bits_of_single(found)
    return single_of_bits(bits - 1 if found > 0 else bits + 1)


def single_to_zero(x: float) -> float:
    """Return x rounded to float32 towards 0."""
    return single_down(x) if x > 0 else -single_down(-x)


def fma_double(a: float, b: float, c: float) -> float:
    """Return a b + c, rounded once, but for overflows and for numbers near 0."""
    product = a * b
    if not (math.isfinite(product) and math.isfinite(c) and max(abs(a), abs(b)) < 2.0**990):
        return product + c
    high, wide = a * SPLIT, b * SPLIT
    a_high, b_high = high - (high - a), wide - (wide - b)
    a_low, b_low = a - a_high, b - b_high
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return math.fsum((product, error, c))


def divided(a: float, b: float) -> float:
    if b != 0.0:
        return a / b
    if a == 0.0 or a != a:
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def root(x: float) -> float:
    return math.sqrt(x) if x >= 0.0 else math.nan


def power_of_two(x: float) -> float:
    return math.inf if x >= 1024 else 2.0**x


def logarithm(x: float) -> float:
    """Return the logarithm of base 2."""
    if x > 0.0:
        return math.log2(x)
    return -math.inf if x == 0.0 else math.nan


def quotient(a: int, b: int) -> int:
    """Return a // b towards 0; -1 for a division by 0, as GPUs do."""
    if b == 0:
        return -1
    found = abs(a) // abs(b)
    return found if (a < 0) == (b < 0) else -found


def remainder(a: int, b: int) -> int:
    return a - quotient(a, b) * b if b else a


def whole(x: float, low: int, high: int) -> int:
    """Return x without its digits after the point, within a range."""
    if x != x:
        return 0
    return low if x <= low else high if x >= high else int(x)


def smaller(a: float, b: float) -> float:
    return b if a != a or b < a else a


def larger(a: float, b: float) -> float:
    return b if a != a or b > a else a


def bits_of_single(x: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", x))[0])


def single_of_bits(x: int) -> float:
    return float(struct.unpack("<f", struct.pack("<I", x))[0])


def bits_of_double(x: float) -> int:
    return int(struct.unpack("<Q", struct.pack("<d", x))[0])


def double_of_bits(x: int) -> float:
    return float(struct.unpack("<d", struct.pack("<Q", x))[0])


def truncated(x: float) -> float:
    return float(math.trunc(x)) if math.isfinite(x) else x


def literal(x: float) -> str:
    """Return a number as it is written in a program."""
    return repr(x) if math.isfinite(x) else f'float("{x}")'
