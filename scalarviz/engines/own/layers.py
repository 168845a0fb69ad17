"""layer: a layer from a plain function of a number and its parameters."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any

from scalarviz.base.checks import answered, shorten
from scalarviz.base.checks import number as as_number
from scalarviz.core.formulas.layer_formulas import PARAMETRIC_FORMULAS, ParametricFormula
from scalarviz.core.formulas.losses import EVERYWHERE
from scalarviz.core.layers.elementwise_layers import Elementwise, counts_of
from scalarviz.core.layers.rowwise_layers import numbers_of
from scalarviz.engines.own.checks import check_plain, check_source, checked_name, digest
from scalarviz.engines.own.derivatives import function_of, on_numbers, recorded_derivative
from scalarviz.engines.own.frozen import frozen
from scalarviz.engines.own.losses import FAR, points
from scalarviz.errors import InputError

BUILT_IN = frozenset(PARAMETRIC_FORMULAS)
ASKED = "a layer gives a number everywhere for its first parameters: give these other defaults"
MOST = 7  # parameters that kernels have room for
HOW = "def snake(x, slope=1.0): ..."


@answered
def layer(
    function: Any,
    parameters: Mapping[str, Any] | None = None,
    shape: int | Sequence[int] | None = None,
    name: str = "",
) -> Elementwise:
    """Return a layer of your own: y = function(x, ...) for each number, with parameters to train.

    The function must be a plain def, since kernels are made from its source; its derivatives are
    found by recording it. Its first argument is the number, the others are parameters, whose
    defaults are what they are at first; without one that is 1. `sv.where(condition, a, b)` chooses.

    function    function of a float x and of 1 to 7 parameters, floats, that returns a float
    parameters  the shape of each parameter, by its name: (n,) or n for n numbers, which equal parts
                of the features share, () for one that all share; so are those that are left out
    shape       number of features, or the shape (channels, height, width) of a picture; None, the
                default: the largest n
    name        name of the formula; "", the default: that of the function

    A formula of the same name is replaced for all layers that are made afterwards. A file has the
    name and a digest of the function: call `sv.layer` before you load it. Raises InputError for a
    function that cannot be called like this, or recorded, or whose source cannot be read, and for
    parameters that it does not have.

    >>> def snake(x, slope=1.0):
    ...     return x + math.sin(slope * x) ** 2.0 / slope
    >>> layer(snake, {"slope": (2,)})([0.0, math.pi / 2.0]).round(4).tolist()
    [0.0, 2.5708]
    """
    check_plain(function)
    starts = starts_of(function)
    counts = {key: count_of(key, each) for key, each in given_shapes(parameters).items()}
    picture = max(counts.values(), default=1) if shape is None else shape
    if shape is None and picture == 1:
        raise InputError(
            "the layer has no number of features: pass shape=8, say, or a parameter with one for "
            "each, as in parameters={'" + starts[0][0] + "': (8,)}"
        )
    _, features = numbers_of(picture, "the numbers of a layer")
    row = row_of(frozen(function), starts, name)
    counts_of(row, features, counts)
    PARAMETRIC_FORMULAS[row.name] = row
    return Elementwise(picture, row.name, counts)


def starts_of(function: Any) -> tuple[tuple[str, float], ...]:
    """Return the parameters of a function, and what they are at first; raise InputError."""
    if not isinstance(function, FunctionType):
        raise InputError(f"a layer is a function, {HOW}, not {shorten(function)}")
    found = [*inspect.signature(function).parameters.values()][1:]
    if not 1 <= len(found) <= MOST:
        raise InputError(
            f"the function of a layer takes a number and 1 to {MOST} parameters, as in {HOW}, and "
            f"this one {len(found)}: for none, write sv.activation"
        )
    starts = [1.0 if each.default is each.empty else each.default for each in found]
    return tuple(
        [
            (each.name, as_number(start, f"the default of {each.name}"))
            for each, start in zip(found, starts, strict=True)
        ]
    )


def given_shapes(parameters: object) -> Mapping[str, Any]:
    """Return the shapes of parameters; raise InputError for anything else than a dict."""
    if parameters is None:
        return {}
    if not isinstance(parameters, Mapping):
        raise InputError(
            "parameters= gives each parameter a shape, as in {'slope': (8,)}, not "
            f"{shorten(parameters)}"
        )
    return parameters


def count_of(key: str, shape: Any) -> Any:
    """Return the number of numbers of a parameter with a shape of at most one side."""
    if not isinstance(shape, tuple | list):
        return shape
    if len(shape) > 1:
        raise InputError(
            f"the parameter {key} has the shape (n,) or (), not {shorten(shape)}: a layer of more "
            "sides is a class of your own"
        )
    return shape[0] if shape else 1


def row_of(function: Any, starts: tuple[tuple[str, float], ...], name: str) -> ParametricFormula:
    """Return the row of a function, with its derivatives; raise InputError."""
    name, taken = checked_name(name, function, "a layer", BUILT_IN), 1 + len(starts)
    slopes = [
        recorded_derivative(function, "the layer", taken=taken, by=i, remedy="")
        for i in range(taken)
    ]
    value, by_parameter = on_numbers(function), by_place(function, slopes[1:])
    row = ParametricFormula(name, value, slopes[0], by_parameter, starts, digest=digest(function))
    for each in (row.value, row.derivative, row.by_parameter):
        check_source(each)
    for x in [*(p for p, _ in points(*EVERYWHERE)), -FAR, FAR]:
        check_number(row, [x, *[start for _, start in starts]])
    return row


def check_number(row: ParametricFormula, given: list[float]) -> None:
    """Raise InputError unless a formula gives a number."""
    place = f"{row.name}({', '.join(f'{each:.6g}' for each in given)})"
    try:
        found = float(row.value(*given))
    except Exception as error:  # whatever a function of the user does
        raise InputError(f"{place} raises {type(error).__name__}: {error}; {ASKED}") from error
    if math.isnan(found):
        raise InputError(f"{place} is no number; {ASKED}")


def by_place(function: Any, slopes: list[Any]) -> Any:
    """Return a function of a place and all arguments that calls the derivative at this place."""
    name = f"{function.__name__}_by_parameter"
    given = [*inspect.signature(function).parameters]
    names = [slope.__name__ for slope in slopes]
    place, *called = (unlike(each, [*given, name]) for each in ["place", *names])
    arguments = ", ".join(given)
    lines = [f"def {name}({place}, {arguments}):"]
    for i, slope in enumerate(called[:-1]):
        lines += [f"    if {place} == {i}:", f"        return {slope}({arguments})"]
    lines.append(f"    return {called[-1]}({arguments})")
    known = dict(zip(called, slopes, strict=True))
    return function_of("\n".join([*lines, ""]), name, function.__module__, known)


def unlike(name: str, others: list[str]) -> str:
    """Return a name, with underscores behind it while it is one of others."""
    while name in others:
        name += "_"
    return name
