"""The operations in expressions of `Value`s: plus, times, log, ...

Each row has the value and one partial derivative for each input, which is called with the inputs
and the result. `symbol` is the printed operator. With the activations, these are all operations of
a `Value`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.elementary import (
    cos,
    divide,
    erfc,
    exp,
    expm1,
    log,
    log1p,
    pi,
    power,
    sin,
    sqrt,
)
from scalarviz.core.formulas.formula import Formula, table

INFINITY = exp(1000.0)
TWO_OVER_SQRT_PI = 2.0 / sqrt(pi)


def negate(x: float) -> float:
    return -x


def negate_derivative(x: float, y: float) -> float:
    return -1.0


def add(x: float, y: float) -> float:
    return x + y


def subtract(x: float, y: float) -> float:
    return x - y


def one(x: float, y: float, z: float) -> float:
    return 1.0


def minus_one(x: float, y: float, z: float) -> float:
    return -1.0


# Derivative with respect to a plain number, such as the 2 of x**2, which is never used.
def no_gradient(x: float, y: float, z: float) -> float:
    return 0.0


def multiply(x: float, y: float) -> float:
    return x * y


def multiply_by_x(x: float, y: float, z: float) -> float:
    return y


def multiply_by_y(x: float, y: float, z: float) -> float:
    return x


def divide_by_x(x: float, y: float, z: float) -> float:
    return divide(1.0, y)


def divide_by_y(x: float, y: float, z: float) -> float:
    return -divide(z, y)


# x**0 is 1 everywhere; but the derivative by y of this derivative is not 0, so y stays in it.
def power_by_x(x: float, y: float, z: float) -> float:
    rest = power(x, y - 1.0)
    return 0.0 if y == 0.0 and not abs(rest) < INFINITY else y * rest


def power_by_y(x: float, y: float, z: float) -> float:
    return 0.0 if x == 0.0 and y >= 0.0 else z * log(x)


# Equal inputs get half of the gradient each, as in PyTorch.
def maximum(x: float, y: float) -> float:
    return y if x < y else x


def minimum(x: float, y: float) -> float:
    return y if x > y else x


def maximum_by_x(x: float, y: float, z: float) -> float:
    return 0.5 if x == y else (1.0 if x > y else 0.0)


def maximum_by_y(x: float, y: float, z: float) -> float:
    return 0.5 if x == y else (1.0 if x < y else 0.0)


# The condition of a choice is true when it is not 0, and has no derivative.
def where(condition: float, x: float, y: float) -> float:
    return x if condition != 0.0 else y


def where_by_condition(condition: float, x: float, y: float, z: float) -> float:
    return 0.0


def where_by_x(condition: float, x: float, y: float, z: float) -> float:
    return 1.0 if condition != 0.0 else 0.0


def where_by_y(condition: float, x: float, y: float, z: float) -> float:
    return 0.0 if condition != 0.0 else 1.0


# A comparison gives 1 if true, else 0, and has derivative 0.
def less(x: float, y: float) -> float:
    return 1.0 if x < y else 0.0


def less_equal(x: float, y: float) -> float:
    return 1.0 if x <= y else 0.0


def greater(x: float, y: float) -> float:
    return 1.0 if x > y else 0.0


def greater_equal(x: float, y: float) -> float:
    return 1.0 if x >= y else 0.0


def equal(x: float, y: float) -> float:
    return 1.0 if x == y else 0.0


def not_equal(x: float, y: float) -> float:
    return 1.0 if x != y else 0.0


def flat(x: float, y: float, z: float) -> float:
    return 0.0


def absolute(x: float) -> float:
    return abs(x)


def absolute_derivative(x: float, y: float) -> float:
    return 1.0 if x > 0.0 else (-1.0 if x < 0.0 else 0.0)


def log_derivative(x: float, y: float) -> float:
    return divide(1.0, x)


def log1p_derivative(x: float, y: float) -> float:
    return divide(1.0, 1.0 + x)


def expm1_derivative(x: float, y: float) -> float:
    return exp(x)


def sqrt_derivative(x: float, y: float) -> float:
    return divide(0.5, y)


def cos_derivative(x: float, y: float) -> float:
    return -sin(x)


def erfc_derivative(x: float, y: float) -> float:
    return -TWO_OVER_SQRT_PI * exp(-x * x)


def by_some(formula: Formula, wanted: Sequence[bool]) -> Formula:
    """Return a formula that has derivatives only with respect to the `wanted` inputs."""
    if all(wanted):
        return formula
    partials = zip(formula.partials, wanted, strict=True)
    return replace(formula, partials=tuple([p if w else no_gradient for p, w in partials]))


OPERATIONS = table(
    [
        Formula("add", add, (one, one), "+"),
        Formula("subtract", subtract, (one, minus_one), "-"),
        Formula("multiply", multiply, (multiply_by_x, multiply_by_y), "*"),
        Formula("divide", divide, (divide_by_x, divide_by_y), "/"),
        Formula("power", power, (power_by_x, power_by_y), "**"),
        Formula("maximum", maximum, (maximum_by_x, maximum_by_y)),
        Formula("minimum", minimum, (maximum_by_y, maximum_by_x)),
        Formula("where", where, (where_by_condition, where_by_x, where_by_y)),
        Formula("negate", negate, (negate_derivative,), "-"),
        Formula("abs", absolute, (absolute_derivative,)),
        Formula("log", log, (log_derivative,)),
        Formula("log1p", log1p, (log1p_derivative,)),
        Formula("expm1", expm1, (expm1_derivative,)),
        Formula("sqrt", sqrt, (sqrt_derivative,)),
        Formula("cos", cos, (cos_derivative,)),
        Formula("erfc", erfc, (erfc_derivative,)),
        *ACTIVATIONS.values(),
    ]
)

# Operations only in an expression recorded by `sv.compile`; elsewhere a comparison of Values
# returns True or False.
COMPARISONS = table(
    [
        Formula("less", less, (flat, flat), "<"),
        Formula("less_equal", less_equal, (flat, flat), "<="),
        Formula("greater", greater, (flat, flat), ">"),
        Formula("greater_equal", greater_equal, (flat, flat), ">="),
        Formula("equal", equal, (flat, flat), "=="),
        Formula("not_equal", not_equal, (flat, flat), "!="),
    ]
)
