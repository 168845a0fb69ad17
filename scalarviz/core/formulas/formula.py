"""Formula: a scalar function with its derivatives, as a row of a table.

It runs on Python floats, in numba kernels on CPUs and GPUs, and on `Value`s, for second
derivatives: a `Target` replaces its elementary functions and its constants.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import CodeType, FunctionType
from typing import Any, Protocol, TypeVar

from scalarviz.core.formulas import elementary
from scalarviz.errors import InputError, UnknownNameError

FloatFunction = Callable[..., float]


@dataclass(frozen=True, slots=True)
class Formula:
    """One operation on scalars: `value(*inputs)`, and one partial derivative for each input.

    A partial derivative is called as `partial(*inputs, result)`, so that the derivative of tanh can
    be `1 - y * y`.
    """

    name: str
    value: FloatFunction
    partials: tuple[FloatFunction, ...]
    symbol: str = ""

    @property
    def derivative(self) -> FloatFunction:
        """Derivative of a formula with one input, as a function of the input and the result."""
        (derivative,) = self.partials
        return derivative


class Named(Protocol):
    """An object that can be a row of a table."""

    @property
    def name(self) -> str: ...


RowT = TypeVar("RowT", bound=Named)
AnyT = TypeVar("AnyT")


def table(rows: Iterable[RowT]) -> dict[str, RowT]:
    """Return a dict of rows by name; assert that the names are unique."""
    found: dict[str, RowT] = {}
    for row in rows:
        assert row.name not in found, f"two rows are named {row.name}"
        found[row.name] = row
    return found


def pick(rows: Mapping[str, AnyT], name: object, kind: str) -> AnyT:
    """Return the row called `name`; raise UnknownNameError, which lists the names."""
    if isinstance(name, str) and name in rows:
        return rows[name]
    raise UnknownNameError(kind, name, rows)


# Objects rebuilt from their settings, which may come from a file.

MadeT = TypeVar("MadeT")

BY_KEYWORD = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def make(kind: Callable[..., MadeT], settings: Mapping[str, Any], what: str, **given: Any) -> MadeT:
    """Return `kind(**settings, **given)`; raise InputError for names that `kind` does not accept.

    `what` names the object in errors: "layer Dense". Values are checked by `kind`.
    """
    check_names(kind, settings, what, *given)
    return kind(**settings, **given)


@cache
def parameters_of(kind: Callable[..., object]) -> tuple[dict[str, inspect.Parameter], bool]:
    """Return the keyword parameters of a function, and whether it has **kwargs."""
    parameters = inspect.signature(kind).parameters.values()
    known = {row.name: row for row in parameters if row.kind in BY_KEYWORD}
    return known, any(row.kind == row.VAR_KEYWORD for row in parameters)


def given(**settings: float | None) -> dict[str, float]:
    """Return the settings that are not None."""
    return {key: value for key, value in settings.items() if value is not None}


def check_names(
    kind: Callable[..., object], settings: Mapping[str, Any], what: str, *given: str
) -> None:
    """Raise InputError if a function does not accept a setting, or if a setting is missing."""
    known, takes_more = parameters_of(kind)
    for key in settings:
        if key in given or not isinstance(key, str):
            others = [name for name in known if name not in given]
            raise UnknownNameError(f"setting of the {what}:", key, others)
        if not takes_more:
            pick(known, key, f"setting of the {what}:")
    missing = [
        name
        for name, row in known.items()
        if row.default is row.empty and name not in settings and name not in given
    ]
    if missing:
        raise InputError(f"the {what} cannot be made again: its setting {missing[0]!r} is missing")


# The same formula on another target, such as a numba kernel, or on `Value`s. A formula is Python
# source that contains `exp` and `0.5`. Each target has a different `exp` and a different type for
# 0.5: `retarget` copies the function with the elementary functions and constants of the target, and
# does the same to every formula that it calls.

# Functions that a target must provide.
ELEMENTARY = tuple("cos divide erfc exp expm1 log log1p power sin sqrt tanh".split())


def copy_of(
    function: Any, known: dict[str, Any], code: CodeType | None = None, cells: Any = None
) -> FunctionType:
    """Return a copy of a function with other globals and, if given, other code or closure cells."""
    code = code or function.__code__
    copy = FunctionType(code, known, function.__name__, function.__defaults__, cells)
    copy.__module__ = function.__module__
    return copy


class Target:
    """A target that formulas are translated to: elementary functions, number type and compiler.

    Args:
        functions: versions of the functions in `ELEMENTARY` for this target, by name
        number: function that converts a constant to the number type, such as `numpy.float32`
        compiler: decorator for every copied function, such as `numba.njit`
        formulas: versions of complete formulas for this target
    """

    def __init__(
        self,
        functions: Mapping[str, Callable[..., Any]],
        number: Callable[[float], Any] = float,
        compiler: Callable[[FunctionType], Any] = lambda function: function,
        formulas: Mapping[Callable[..., Any], Callable[..., Any]] | None = None,
    ) -> None:
        self.number = number
        self.compiler = compiler
        self._copies: dict[Any, Any] = {
            getattr(elementary, name): function for name, function in functions.items()
        }
        self._copies.update(formulas or {})

    def retarget(self, function: Callable[..., Any]) -> Any:
        """Return the copy of a formula for this target, which is made on the first call."""
        if function not in self._copies:
            if not isinstance(function, FunctionType):
                raise TypeError(f"{function!r} is not a plain Python function")
            self._copies[function] = self.compiler(self._copy(function))
        return self._copies[function]

    def _copy(self, function: FunctionType) -> FunctionType:
        code = function.__code__
        known = {
            name: self.translate(function.__globals__[name])
            for name in code.co_names
            if name in function.__globals__
        }
        constants = tuple(self._constant(constant) for constant in code.co_consts)
        return copy_of(function, known, code.replace(co_consts=constants))

    def translate(self, value: Any) -> Any:
        """Return the equivalent, on this target, of a global value that a formula uses."""
        if isinstance(value, float):
            return self.number(value)
        if value in self._copies or isinstance(value, FunctionType):
            return self.retarget(value)
        return value

    def _constant(self, constant: Any) -> Any:
        assert not isinstance(constant, CodeType), "a formula must not hold a function inside it"
        if isinstance(constant, tuple):  # Python folds (0.0, 0.0) into one constant
            return tuple([self._constant(item) for item in constant])
        return self.number(constant) if isinstance(constant, float) else constant
