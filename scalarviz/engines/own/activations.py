"""activation: adds an activation of the user's own to the table."""

from __future__ import annotations

from typing import Any

from scalarviz.base.checks.numbers import answered, check_signature, shorten
from scalarviz.core.formulas.activations import ACTIVATIONS, ActivationFormula
from scalarviz.core.formulas.table import Formula
from scalarviz.engines.own.checks import check_source, checked_name, digest
from scalarviz.errors import InputError

BUILT_IN = frozenset(ACTIVATIONS)


@answered
def activation(value: Any, derivative: Any, name: str = "") -> Formula:
    """Add an activation of your own: y = value(x), with derivative(x, y).

    The name is valid wherever an activation is named. Both functions must be defined by a plain
    def, since kernels are made from their source. Adding one of the same name replaces it: make the
    networks anew that use it, since objects keep the old functions, and kernels have the new ones.

    value       function of a float x that returns a float
    derivative  function of x and y = value(x) that returns dy/dx
    name        name of the new activation; "", the default: that of the function

    Returns the row of `ACTIVATIONS`. Raises InputError for functions that cannot be called like
    this, or whose source cannot be read.

    >>> def bump(x):
    ...     return 1.0 / (1.0 + x * x)
    >>> def bump_derivative(x, y):
    ...     return -2.0 * x * y * y
    >>> activation(bump, bump_derivative).name
    'bump'
    >>> ACTIVATIONS.pop("bump").value(1.0)
    0.5
    """
    for function in (value, derivative):
        if not callable(function):
            raise InputError(
                "an activation is two functions, f(x) and its derivative(x, y), not "
                f"{shorten(function)}"
            )
    check_signature(value, ["x"], "an activation", "def value(x): ...")
    how = "def derivative(x, y): ..., y being value(x)"
    check_signature(derivative, ["x", "y"], "the derivative of an activation", how)
    name = checked_name(name, value, "an activation", BUILT_IN)
    for function in (value, derivative):
        check_source(function)
    made = ActivationFormula(name, value, (derivative,), digest=digest(value, derivative))
    ACTIVATIONS[name] = made
    return made
