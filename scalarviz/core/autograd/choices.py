"""Functions that choose between Values: where, maximum, minimum."""

from __future__ import annotations

from scalarviz.base.checks.numbers import answered
from scalarviz.core.autograd.value import Operand, Value


@answered
def where(condition: Operand, x: Operand, y: Operand) -> Value:
    """Return `x` where `condition` is not 0, else `y`; the gradient goes to the chosen one."""
    return Value.where(condition, x, y)


@answered
def maximum(x: Operand, y: Operand) -> Value:
    """Return the larger of `x` and `y`; if equal, each gets half of the gradient."""
    return Value.maximum(x, y)


@answered
def minimum(x: Operand, y: Operand) -> Value:
    """Return the smaller of `x` and `y`; if equal, each gets half of the gradient."""
    return Value.minimum(x, y)
