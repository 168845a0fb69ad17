"""activation: adds an activation of the user's own to the table."""

from __future__ import annotations

from typing import Any

from scalarviz.base.checks import answered, check_signature, shorten, true_or_false
from scalarviz.core.formulas.activations import ACTIVATIONS, ActivationFormula
from scalarviz.core.formulas.formula import Formula
from scalarviz.core.formulas.losses import EVERYWHERE
from scalarviz.engines.own.checks import check_source, checked_name, digest
from scalarviz.engines.own.derivatives import on_numbers, recorded_derivative
from scalarviz.engines.own.losses import STEP, compare, points
from scalarviz.errors import InputError

BUILT_IN = frozenset(ACTIVATIONS)
REMEDY = ": mend it, or pass check=False to keep it"


@answered
def activation(
    value: Any, derivative: Any = None, name: str = "", *, check: bool = True
) -> Formula:
    """Add an activation of your own: y = value(x), with derivative(x, y).

    The name is valid wherever an activation is named. The functions must be defined by a plain
    def, since kernels are made from their source. Adding one of the same name replaces it: make the
    networks anew that use it, since objects keep the old functions, and kernels have the new ones.

    value       function of a float x that returns a float; `sv.where(condition, a, b)` chooses
    derivative  function of x and y = value(x) that returns dy/dx. None, the default: it is found by
                recording `value` with Values, which cannot be done if that compares x otherwise
                than in `sv.where`
    name        name of the new activation; "", the default: that of the function
    check       True, the default: a derivative that finite differences contradict is refused;
                False: it is taken, as for a step whose slope is not its own

    Returns the row of `ACTIVATIONS`. Raises InputError for functions that cannot be called like
    this, or whose source cannot be read, and for a wrong derivative.

    >>> def bump(x):
    ...     return 1.0 / (1.0 + x * x)
    >>> def bump_derivative(x, y):
    ...     return -2.0 * x * y * y
    >>> activation(bump, bump_derivative).name
    'bump'
    >>> ACTIVATIONS.pop("bump").value(1.0)
    0.5
    """
    true_or_false(check, "check")
    for function in (value, derivative):
        if not callable(function) and not (function is None and function is derivative):
            raise InputError(
                "an activation is two functions, f(x) and its derivative(x, y), not "
                f"{shorten(function)}"
            )
    check_signature(value, ["x"], "an activation", "def value(x): ...")
    if derivative is not None:
        how = "def derivative(x, y): ..., y being value(x)"
        check_signature(derivative, ["x", "y"], "the derivative of an activation", how)
    name = checked_name(name, value, "an activation", BUILT_IN)
    hashed = digest(value, *([] if derivative is None else [derivative]))
    slope = derivative or recorded_derivative(value, "the activation", "y")
    made = ActivationFormula(name, on_numbers(value), (on_numbers(slope),), digest=hashed)
    for function in (made.value, *made.partials):
        check_source(function)
    if check and derivative is not None:
        check_slope(made)
    ACTIVATIONS[name] = made
    return made


def check_slope(row: ActivationFormula) -> None:
    """Raise InputError if a derivative is unlike finite differences, where there are numbers."""
    for x, _ in points(*EVERYWHERE):
        try:
            lower, middle, upper = (float(row.value(x + h)) for h in (-STEP, 0.0, STEP))
            given = float(row.derivative(x, middle))
        except (ArithmeticError, TypeError, ValueError):  # of a logarithm, for example
            continue
        compare(lower, middle, upper, given, f"the derivative of {row.name} at {x:.6g}", REMEDY)
