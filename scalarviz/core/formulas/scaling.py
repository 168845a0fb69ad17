"""The loss scale of mixed precision: how a dynamic one changes.

It stays between two powers of 2. A scale of 0 or infinity would make every gradient NaN.
"""

from __future__ import annotations

SMALLEST_SCALE = 2.0**-14  # the smallest normal half: a gradient of 1 still has all its digits
LARGEST_SCALE = 2.0**40  # a gradient above 6e-8, the smallest half number, overflows


def lowered_scale(scale: float) -> float:
    """Return the scale after a skipped step: half, but not below the smallest."""
    return 0.5 * scale if 0.5 * scale >= SMALLEST_SCALE else scale


def raised_scale(scale: float) -> float:
    """Return the scale after enough good steps: twice, but not above the largest."""
    return 2.0 * scale if 2.0 * scale <= LARGEST_SCALE else scale
