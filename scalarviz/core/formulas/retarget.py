"""Target: the same formula on another target, such as a numba kernel, or on `Value`s.

A formula is Python source that says `exp` and `0.5`. Each target has its own `exp`, and its own
type of 0.5: `retarget` makes a copy of the function in which the elementary functions and the
constants are those of the target, and does the same to every formula that it calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import CodeType, FunctionType
from typing import Any

from scalarviz.core.formulas import elementary

# Functions that a target needs for all formulas.
ELEMENTARY = tuple("cos divide erfc exp expm1 log log1p power sin sqrt tanh".split())


class Target:
    """A target for formulas: its elementary functions, its type of numbers, its compiler.

    functions   its versions of the functions in `ELEMENTARY`, by name
    number      converts a constant to the type of the target, such as `numpy.float32`
    compiler    is applied to every copied function, such as `numba.njit`
    formulas    its own versions of whole formulas
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
        """Return a copy of a formula for this target; the same copy at each call."""
        if function not in self._copies:
            if not isinstance(function, FunctionType):
                raise TypeError(f"{function!r} is not a plain Python function")
            self._copies[function] = self.compiler(self._copy(function))
        return self._copies[function]

    def _copy(self, function: FunctionType) -> FunctionType:
        code = function.__code__
        known = {
            name: self._translate(function.__globals__[name])
            for name in code.co_names
            if name in function.__globals__
        }
        constants = tuple(self._constant(constant) for constant in code.co_consts)
        copy = FunctionType(
            code.replace(co_consts=constants), known, function.__name__, function.__defaults__
        )
        copy.__module__ = function.__module__
        return copy

    def _translate(self, value: Any) -> Any:
        """Return the value of a global name of a formula on this target."""
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
