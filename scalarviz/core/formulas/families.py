"""activation_row: rows of `ACTIVATIONS` by name, and those with settings: "leaky_relu(0.2)".

Such a row is made when it is first named: the functions of its family with other constants. From
then on it is in the table like any other, and everything follows from its functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from scalarviz.base.checks import shorten
from scalarviz.core.formulas.activations import (
    ACTIVATIONS,
    ALPHA,
    BETA,
    ActivationFormula,
    OnnxOperator,
)
from scalarviz.core.formulas.table import FloatFunction, pick, table
from scalarviz.errors import InputError

LEAST, MOST = 1e-30, 1e30  # of settings: float32 has them
MOST_ROWS = 1000  # of ACTIVATIONS, which a file with many names would fill
LONGEST = 100  # characters of a name
WITH_SETTINGS = re.compile(r"\s*(\w+)\s*\(([^()]*)\)\s*")


# The one of ACTIVATIONS is 0 and 1 at -3 and 3, whatever 1/6 is rounded to.
def hard_sigmoid(x: float) -> float:
    y = ALPHA * x + BETA
    return 0.0 if y <= 0.0 else (1.0 if y >= 1.0 else y)


def hard_sigmoid_derivative(x: float, y: float) -> float:
    return 0.0 if y <= 0.0 else (0.0 if y >= 1.0 else ALPHA)


@dataclass(frozen=True)
class Family:
    """Activations that differ by their settings.

    name       name of the row of `ACTIVATIONS` that has the usual ones
    settings   for each, the name of its constant in the functions, and its usual value
    allowed    which ones can be used, in words, and, for those up to MOST, as a function
    onnx       the operator of a row with these settings; None: that of the usual one, whose
               attributes they are
    functions  the function and its derivative; empty: those of the usual row
    """

    name: str
    settings: tuple[tuple[str, float], ...]
    allowed: tuple[str, Callable[..., bool]] = ("a number", lambda number: True)
    onnx: Callable[..., OnnxOperator] | None = None
    functions: tuple[FloatFunction, ...] = ()


ABOVE_0 = "a number above 0", lambda number: number >= LEAST
FAMILIES = table(
    [
        Family("leaky_relu", (("LEAK", 0.01),)),
        Family("elu", (("ALPHA", 1.0),)),
        Family("celu", (("ALPHA", 1.0),), ABOVE_0),
        Family(
            "softplus",
            (("BETA", 1.0),),
            ABOVE_0,
            lambda beta: OnnxOperator("Softplus", around=(("Mul", (beta,)), ("Div", (beta,)))),
        ),
        Family(
            "hard_sigmoid",
            (("ALPHA", 1.0 / 6.0), ("BETA", 0.5)),
            ("two numbers, the slope and the result at 0", lambda slope, result: True),
            functions=(hard_sigmoid, hard_sigmoid_derivative),
        ),
        Family(
            "hard_tanh",
            (("LOW", -1.0), ("HIGH", 1.0)),
            ("two numbers, the lower one first", lambda low, high: low < high),
            lambda low, high: OnnxOperator("Clip", inputs=(low, high)),
        ),
    ]
)


@dataclass(frozen=True, slots=True)
class WithSettings(ActivationFormula):
    """A row that is made when it is named; a pickle and a copy of it refer to it by its name."""

    def __reduce__(self) -> tuple[Any, ...]:
        return activation_row, (self.name,)


def activation_row(name: object) -> ActivationFormula:
    """Return the row of an activation, with settings or without.

    name  such as "relu" or "leaky_relu(0.2)"

    Raises UnknownNameError for an unknown name, and InputError for settings that cannot be used.
    """
    found = WITH_SETTINGS.fullmatch(name) if isinstance(name, str) and len(name) < LONGEST else None
    if found is None:
        return pick(ACTIVATIONS, name, "activation")
    family = pick(FAMILIES, found[1], "activation with settings")
    return with_settings(family, *numbers_in(family, found[2]))


def numbers_in(family: Family, text: str) -> list[float]:
    """Return the settings in a text; raise InputError if they cannot be used."""
    words, fits = family.allowed
    try:
        numbers = [float(each) + 0.0 for each in text.split(",")]  # -0.0 becomes 0.0
        found = len(numbers) == len(family.settings) and fits(*numbers)
    except ValueError:
        found = False
    if not found or not all(abs(number) <= MOST for number in numbers):  # also true for NaN
        usual = ", ".join(written(value) for _, value in family.settings)
        raise InputError(
            f"{family.name} cannot have the settings {shorten(text)}: it takes {words}, "
            f"such as {family.name}({usual})"
        )
    return numbers


def written(number: float) -> str:
    """Return the shortest text of a number."""
    return repr(number).removesuffix(".0").replace("e+", "e")


def with_settings(family: Family, *numbers: float) -> ActivationFormula:
    """Return the row of `ACTIVATIONS` with these settings; it is made if there is none."""
    usual = ACTIVATIONS[family.name]
    if numbers == tuple(value for _, value in family.settings):
        return usual
    name = f"{family.name}({','.join(map(written, numbers))})"
    if name not in ACTIVATIONS:
        if len(ACTIVATIONS) >= MOST_ROWS:
            raise InputError(f"there are {MOST_ROWS:,} activations already, too many for {name}")
        functions = family.functions or (usual.value, usual.derivative)
        constants = dict(zip(dict(family.settings), numbers, strict=True))
        value, derivative = (with_constants(each, constants) for each in functions)
        low, high = value(-1000.0), value(1000.0)
        limits = low, high, derivative(-1000.0, low), derivative(1000.0, high)
        onnx = family.onnx(*numbers) if family.onnx else with_attributes(usual.onnx, numbers)
        ACTIVATIONS[name] = WithSettings(name, value, (derivative,), limits=limits, onnx=onnx)
    return ACTIVATIONS[name]


def with_constants(function: Any, constants: dict[str, float]) -> FloatFunction:
    """Return a copy of a function in which some of its constants have other values."""
    known, code = function.__globals__ | constants, function.__code__
    used = {key: known[key] for key in ("__name__", *code.co_names) if key in known}
    made = FunctionType(code, used, function.__name__)
    made.__module__ = function.__module__
    return made


def with_attributes(usual: OnnxOperator | None, numbers: tuple[float, ...]) -> OnnxOperator:
    """Return an operator of ONNX with these values of its attributes."""
    assert usual is not None
    given = zip(usual.attributes.items(), numbers, strict=True)
    attributes = {key: (number, default) for (key, (_, default)), number in given}
    return OnnxOperator(usual.name, attributes)
