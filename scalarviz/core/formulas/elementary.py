"""exp, log, sqrt, ...: the elementary functions of formulas, for Python floats.

Unlike the `math` module they never raise an exception. Where `math.exp(1000)` raises OverflowError
and `math.log(0.0)` raises ValueError, they return inf, -inf or NaN, as every processor does. So a
formula has the same limits in plain Python as in a compiled kernel.

Formulas import these functions; each target, such as a GPU, replaces them by its own versions (see
`formula.py`).
"""

from __future__ import annotations

import math

tanh = math.tanh
erfc = math.erfc
pi = math.pi


def exp(x: float) -> float:
    """e to the power x; inf on overflow."""
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def expm1(x: float) -> float:
    """exp(x) - 1, accurate for small x."""
    try:
        return math.expm1(x)
    except OverflowError:
        return math.inf


def log(x: float) -> float:
    """The natural logarithm; -inf at 0, NaN below 0."""
    if x > 0.0:
        return math.log(x)
    return -math.inf if x == 0.0 else math.nan


def log1p(x: float) -> float:
    """log(1 + x), accurate for small x."""
    if x > -1.0:
        return math.log1p(x)
    return -math.inf if x == -1.0 else math.nan


def sqrt(x: float) -> float:
    """The square root; NaN below 0."""
    return math.sqrt(x) if x >= 0.0 else math.nan


def sin(x: float) -> float:
    """The sine; NaN at infinity."""
    return math.sin(x) if math.isfinite(x) else math.nan


def cos(x: float) -> float:
    """The cosine; NaN at infinity."""
    return math.cos(x) if math.isfinite(x) else math.nan


def divide(x: float, y: float) -> float:
    """x / y; inf, -inf or NaN where y is 0."""
    if y != 0.0:
        return x / y
    if x == 0.0 or x != x:
        return math.nan
    return math.copysign(math.inf, x) * math.copysign(1.0, y)


def power(x: float, y: float) -> float:
    """x to the power y; inf on overflow, NaN where it is not a real number."""
    try:
        return math.pow(x, y)
    except OverflowError:
        odd = y % 2.0 == 1.0
        return -math.inf if x < 0.0 and odd else math.inf
    except ValueError:  # 0 to a negative power, or a fractional power of a negative number
        if x != 0.0:
            return math.nan
        odd = y % 2.0 == 1.0
        return math.copysign(math.inf, x) if odd else math.inf
