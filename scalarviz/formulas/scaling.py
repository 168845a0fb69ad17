"""The loss scale of mixed precision: how a dynamic one follows what becomes of the gradients.

It stays between two powers of 2. A scale that has become 0 or infinite makes every gradient NaN,
those of good data too.
"""

from __future__ import annotations

SMALLEST_SCALE = 2.0**-14  # the smallest half with all its digits: a gradient of 1 still has them
LARGEST_SCALE = 2.0**40  # a gradient above 6e-8 overflows, which is the smallest half there is


def lowered_scale(scale: float) -> float:
    """The scale after a step that was skipped: half of it, unless that is below the smallest."""
    return 0.5 * scale if 0.5 * scale >= SMALLEST_SCALE else scale


def raised_scale(scale: float) -> float:
    """The scale after enough good steps: twice it, unless that is above the largest."""
    return 2.0 * scale if 2.0 * scale <= LARGEST_SCALE else scale
