"""Derivatives of losses, found by recording: a plain function, from whose source kernels are made.

The function is called once with recorded Values, as by `sv.compile`. Its operations are written
down as source, one assignment each, with the chain rule after them; the partial derivatives are
those of the rows of `OPERATIONS`.
"""

from __future__ import annotations

import inspect
import linecache
import math
import re
from collections.abc import Callable, Mapping
from itertools import count
from types import CellType, FunctionType, ModuleType
from typing import Any, final

import numpy as np

from scalarviz.autograd import value as values
from scalarviz.autograd.value import ON_VALUES
from scalarviz.checks.numbers import shorten
from scalarviz.errors import InputError
from scalarviz.formulas import arithmetic, elementary
from scalarviz.formulas.retarget import Target
from scalarviz.formulas.table import Formula
from scalarviz.model.operations import NONE
from scalarviz.model.trace import Trace, record_function, recorded_inputs

Function = Callable[..., Any]

# The functions that choose between Values, and the same for plain numbers.
CHOICES: Mapping[Function, Function] = {
    values.where: arithmetic.where,
    values.maximum: arithmetic.maximum,
    values.minimum: arithmetic.minimum,
}
IN_LIBRARIES = "exp expm1 log log1p sin cos sqrt tanh erfc".split()
SYMBOLS = {"add": "+", "subtract": "-", "multiply": "*"}

_numbers = count(1)


@final
class UserTarget(Target):
    """A target for functions of the user, with closures, and functions called as `module.name`.

    stands_for  functions, and those that replace them
    every       whether functions are copied that use none of these, too
    """

    def __init__(self, stands_for: Mapping[Function, Function], every: bool) -> None:
        super().__init__({}, formulas=stands_for)
        self._stands_for = stands_for
        self._every = every

    def needs(self, function: Any, seen: set[int] | None = None) -> bool:
        """Return whether a function uses one that is replaced, itself or by another."""
        seen = set() if seen is None else seen
        if not isinstance(function, FunctionType) or id(function) in seen:
            return False
        seen.add(id(function))
        used = used_values(function)
        return any(
            isinstance(value, Callable) and (value in self._stands_for or self.needs(value, seen))  # type: ignore[arg-type]  # a class for isinstance
            for value in used
        )

    def _copy(self, function: FunctionType) -> FunctionType:
        known = {
            name: self._translate(function.__globals__[name])
            for name in function.__code__.co_names
            if name in function.__globals__
        }
        cells = [CellType(self._translate(x.cell_contents)) for x in function.__closure__ or ()]
        made = FunctionType(
            function.__code__,
            function.__globals__ | known,
            function.__name__,
            function.__defaults__,
            tuple(cells),
        )
        made.__module__ = function.__module__
        return made

    def _translate(self, value: Any) -> Any:
        if isinstance(value, ModuleType):
            return self._module(value)
        if not isinstance(value, Callable):  # type: ignore[arg-type]  # a class for isinstance
            return value
        if value in self._copies:
            return self._copies[value]
        copied = isinstance(value, FunctionType) and (self._every or self.needs(value))
        return self.retarget(value) if copied else value

    def _module(self, module: ModuleType) -> ModuleType:
        """Return a module with the functions of this target, if it has some that are replaced."""
        known = vars(module)
        changed = {
            function.__name__: other
            for function, other in self._stands_for.items()
            if getattr(function, "__module__", "").startswith(module.__name__)
            or known.get(getattr(function, "__name__", "")) is function
        }
        if not changed:
            return module
        made = ModuleType(module.__name__)
        vars(made).update(known | changed)
        return made


def used_values(function: FunctionType) -> list[Any]:
    """Return the outer values of a function, and the functions of modules that it may call."""
    names = function.__code__.co_names
    found = [function.__globals__[name] for name in names if name in function.__globals__]
    found += [cell.cell_contents for cell in function.__closure__ or ()]
    modules = [value for value in found if isinstance(value, ModuleType)]
    # A lazy module such as scalarviz gives a name only when it is asked for it.
    return found + [
        getattr(module, name)
        for module in modules
        for name in names
        if name in vars(module) or (name in CHOICE_NAMES and hasattr(module, name))
    ]


CHOICE_NAMES = {function.__name__ for function in CHOICES}
ON_NUMBERS = UserTarget(CHOICES, every=False)


def on_recorded() -> Target:
    """Return the target that runs a function on recorded Values."""
    call = {row.value: ON_VALUES.retarget(row.value) for row in arithmetic.OPERATIONS.values()}
    for name in IN_LIBRARIES:
        ours = call[getattr(elementary, name)]
        for library in (math, np):
            if hasattr(library, name):
                call[getattr(library, name)] = ours
    call |= {math.pow: call[elementary.power], math.fabs: call[arithmetic.absolute]}
    call |= {np.abs: call[arithmetic.absolute], np.maximum: values.maximum}
    return UserTarget(call | {np.minimum: values.minimum, np.where: values.where}, every=True)


def on_numbers(function: Function) -> Function:
    """Return a function that computes with floats where the user's computes with Values.

    That is the same function, unless it uses `sv.where`, `sv.maximum` or `sv.minimum`.
    """
    return ON_NUMBERS.retarget(function) if ON_NUMBERS.needs(function) else function


def recorded_derivative(function: Function, what: str) -> Function:
    """Return the derivative of f(p, t) with respect to p, called as derivative(p, t).

    Raises InputError for a function that cannot be recorded, such as one that compares p.
    """
    given = recorded_inputs(2)
    name = getattr(function, "__name__", what)
    try:
        trace = record_function(on_recorded().retarget(function), given)
        if trace.parameters or len(trace.outputs) != 1:
            raise InputError("it uses a Value from outside, or returns several")
    except Exception as error:  # whatever a function of the user does with a Value
        compares = isinstance(error, InputError) and "has no number" in str(error)
        why = "it compares or converts a number" if compares else f"{shorten(str(error))}"
        raise InputError(
            f"the derivative of {what} {name!r} is not found by itself, since {why}: pass the "
            "derivative, or choose with sv.where(condition, a, b)"
        ) from error
    arguments = list(inspect.signature(function).parameters)[:2]
    return SourceWriter(trace, arguments).function(f"{name}_derivative", function.__module__)


@final
class SourceWriter:
    """Writes the derivative of a Trace of two inputs as a function."""

    def __init__(self, trace: Trace, arguments: list[str]) -> None:
        self.trace = trace
        self.arguments = arguments
        self.functions: dict[str, Function] = {}
        self.lines: dict[str, str] = {}  # names of expressions
        first = trace.first_made
        constants = [float(x) for x in trace.constants]
        self.names = [*arguments, *map(number_text, constants)]
        self.constants = dict(enumerate(constants, trace.inputs))
        self.depends = [True, False] + [False] * (first - 2)
        for formula, operands in zip(trace.formulas, trace.operands, strict=True):
            taken = [place for place in operands if place != NONE]
            moves = formula.name not in arithmetic.COMPARISONS
            self.depends.append(moves and any(self.depends[place] for place in taken))
            texts = [self.names[place] for place in taken]
            self.names.append(self.assign("v", self.applied(formula, texts)))

    def assign(self, letter: str, expression: str) -> str:
        """Write an assignment, unless the expression is a name or has one; return its name."""
        if re.fullmatch(r"[\w.]+|-1.0", expression):
            return expression
        if expression not in self.lines:
            taken = {*self.arguments, *self.lines.values()}
            names = (f"{letter}{i}" for i in count(1))
            self.lines[expression] = next(name for name in names if name not in taken)
        return self.lines[expression]

    def applied(self, formula: Formula, texts: list[str]) -> str:
        """Return the expression of an operation."""
        if formula.name in SYMBOLS:
            return f"{texts[0]} {SYMBOLS[formula.name]} {texts[1]}"
        if formula.name == "negate":
            return f"-{texts[0]}"
        return self.call(formula.value, *texts)

    def call(self, function: Function, *texts: str) -> str:
        """Return a call of a formula, by a name that it alone has in this source."""
        name = next(
            name
            for name in (function.__name__ + "_" * i for i in count())
            if name not in self.arguments and self.functions.get(name, function) is function
        )
        self.functions[name] = function
        return f"{name}({', '.join(texts)})"

    def chain_rule(self) -> str:
        """Write the gradients of all operations, last to first; return that of the first input."""
        trace, first, names = self.trace, self.trace.first_made, self.names
        gradients: dict[str, str] = {names[trace.outputs[0]]: "1.0"}
        for place in reversed(range(first, len(names))):
            known = names[place] in gradients and names[place] not in names[:place]
            if not known or not self.depends[place]:
                continue
            upstream = self.assign("d", gradients[names[place]])
            taken = [int(each) for each in trace.operands[place - first] if each != NONE]
            for each in {names[i]: i for i in taken if self.depends[i]}.values():
                more = self.share(trace.formulas[place - first], taken, each, upstream, place)
                before = gradients.get(names[each])
                gradients[names[each]] = f"{before} + {bracketed(more)}" if before else more
        return gradients.get(names[0], "0.0")

    def share(
        self, formula: Formula, taken: list[int], each: int, upstream: str, place: int
    ) -> str:
        """Return what an operation adds to the gradient of one of its inputs."""
        texts, name = [self.names[i] for i in taken], self.names[each]
        places = [i for i, text in enumerate(texts) if text == name]
        if formula.name == "where":
            parts = [upstream if i in places else "0.0" for i in (1, 2)]
            return self.call(formula.value, texts[0], *parts)
        if formula.name in ("add", "subtract", "negate"):
            signs = {"add": (1.0, 1.0), "subtract": (1.0, -1.0), "negate": (-1.0,)}[formula.name]
            return product(upstream, repr(sum(signs[i] for i in places)))
        if formula.name == "multiply":
            twice = f"2.0 * {name}" if len(places) == 2 else texts[1 - places[0]]
            return product(upstream, twice)
        exponent = self.constants.get(taken[-1])
        if formula.name == "power" and exponent in (2.0, 3.0):
            return product(upstream, " * ".join([f"{exponent}", *[name] * int(exponent - 1)]))
        parts = [self.call(formula.partials[i], *texts, self.names[place]) for i in places]
        return product(upstream, parts[0] if len(parts) == 1 else f"({' + '.join(parts)})")

    def function(self, name: str, module: str) -> Function:
        """Return the function, whose source `inspect` finds."""
        result = self.chain_rule()
        result = next((text for text, known in self.lines.items() if known == result), result)
        used, kept = names_in(result), []
        for expression, target in reversed(self.lines.items()):
            if target in used:
                used |= names_in(expression)
                kept.append(f"    {target} = {expression}")
        head = f"def {name}({', '.join(self.arguments)}):"
        text = "\n".join([head, *reversed(kept), f"    return {result}", ""])
        return function_of(text, name, module, self.functions)


def function_of(text: str, name: str, module: str, known: Mapping[str, Any]) -> Function:
    """Return a function from its source, which `inspect.getsource` then finds."""
    file = f"<scalarviz {name} {next(_numbers)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = {**known, "__name__": module}
    exec(compile(text, file, "exec", dont_inherit=True), space)
    made: Function = space[name]
    return made


def product(x: str, y: str) -> str:
    """Return the text of a product, without a factor of 1."""
    if x in ("1.0", "-1.0"):
        x, y = y, x
    if y in ("1.0", "-1.0"):
        return x if y == "1.0" else f"-{x}"
    return f"{x} * {y}"


def bracketed(text: str) -> str:
    """Return a term of a sum; one that begins with a minus in brackets."""
    return f"({text})" if text.startswith("-") else text


def number_text(number: float) -> str:
    """Return a constant in a formula; `x * -2.0` needs brackets as in x ** (-2.0)."""
    return repr(number) if number >= 0.0 else f"({number!r})"


def names_in(expression: str) -> set[str]:
    """Return the names in an expression."""
    return set(re.findall(r"[A-Za-z_]\w*", expression))
