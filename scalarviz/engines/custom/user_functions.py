"""User-defined functions: names, sources and digests, and automatic derivatives.

The digest is a hash of the source of a formula and of all user-defined functions that it calls,
without docstrings, annotations and comments. Files store it, so that a run continues only with
the same formula.

A function is frozen by copying the current values of its outer variables. Otherwise, if a notebook
cell changed a constant later, the value of a loss would change but not its recorded derivative, and
a file would describe the registered formula instead of the one used in training.

For a derivative the function is called once with recorded Values, as in `sv.compile`. Its
operations are written as source code, one assignment each, followed by the chain rule with the
partial derivatives of `OPERATIONS`.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import keyword
import linecache
import math
import re
from collections.abc import Callable, Container, Hashable, Iterator, Mapping
from contextlib import suppress
from dis import get_instructions
from itertools import count
from types import CellType, FunctionType, ModuleType
from typing import Any, final

import numpy as np

from scalarviz.base.checks import require, shorten
from scalarviz.core import value_functions
from scalarviz.core.formulas import arithmetic, elementary
from scalarviz.core.formulas.arithmetic import COMPARISONS
from scalarviz.core.formulas.formula import Formula, Target, copy_of
from scalarviz.core.program import NONE
from scalarviz.core.trace import Trace, record_function, recorded_inputs
from scalarviz.core.value import ON_VALUES
from scalarviz.engines.codegen.fast_math import STANDARD
from scalarviz.engines.codegen.kernel_source import KernelWriter, parse, variables
from scalarviz.errors import InputError

Function = Callable[..., Any]

# Syntax not supported by numba, or that would change outer variables.
REFUSED = (ast.Global, ast.Nonlocal, ast.NamedExpr, ast.Delete)

LIBRARIES = ("builtins", "math", "numpy", "scalarviz")  # whose functions are identified by name


def checked_name(name: object, function: Function, kind: str, built_in: Container[str]) -> str:
    """Return the name of a formula, by default the function's name; raise InputError if invalid.

    `kind` is the kind of formula with its article, such as "an activation".
    """
    name = name or getattr(function, "__name__", "")
    if name in built_in:
        kinds = kind.partition(" ")[2].replace("loss", "losse") + "s"
        raise InputError(f"{name!r} is one of the built-in {kinds}: choose another name")
    if not (isinstance(name, str) and name.isidentifier()) or keyword.iskeyword(name):
        raise InputError(
            f"{shorten(name)} cannot be the name of {kind}: pass name= a plain word"
            if name
            else f"{kind} must be a function with a plain def, whose source is compiled to "
            f"kernels, not {shorten(function)}"
        )
    return name


def check_plain(function: Function) -> None:
    """Raise InputError for a function with unsupported syntax, such as *arguments or global.

    This is checked before the function is called; `check_source` checks all functions it calls.
    """
    if not isinstance(function, FunctionType):
        return
    name = function.__name__
    try:
        syntax = parse(function)
        found = [node for node in ast.walk(syntax) if isinstance(node, REFUSED)]
        text = ast.unparse(found[0]) if found else ast.unparse(syntax)
    except RecursionError as error:
        raise InputError(
            f"the formula {name} is nested too deep: assign parts of it to names, on separate lines"
        ) from error
    takes = syntax.args
    require(
        not (takes.vararg or takes.kwarg or takes.kwonlyargs),
        f"the formula {name} takes {ast.unparse(takes)}: name each argument, without * and **",
    )
    require(
        not found,
        f"the formula {name} has {shorten(text)}, which kernels do not support: use assignments "
        "of names and return",
    )


def check_source(*functions: Function) -> None:
    """Raise InputError for functions that kernels do not support, before any kernel fails."""
    writer = KernelWriter("np.float64", STANDARD, "formula")
    for function in functions:
        writer.name(function)
    for used in writer.names:
        check_plain(used)


def check_callable(function: Any, other: Any, what: str, how: str = "") -> None:
    """Raise InputError unless both arguments are functions; `other` may be None.

    Args:
        what: what was expected, for the message, such as "a loss is two functions, ..."
        how: advice at the end of the message
    """
    for each in (function, other):
        if not callable(each) and not (each is None and each is other):
            raise InputError(f"{what}, not {shorten(each)}{how}")


def digest(*functions: Function | None) -> str:
    """Return a hash of the source of functions and of all custom functions that they call."""
    return hashed([called(each, ()) for each in dict.fromkeys(functions) if each is not None])


def hashed(parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def called(value: Any, around: tuple[Function, ...]) -> str:
    """Represent an outer value of a formula as text: a number, or the hash of a function.

    `around` are the functions being hashed; a recursive call is represented by the name.
    """
    if not callable(value):
        return repr(value)
    home = library(value)
    if home or not isinstance(value, FunctionType):
        return f"{home}.{getattr(value, '__name__', type(value).__name__)}"
    if value in around:
        return f"def {value.__name__}"
    syntax = parse(value)
    used = sorted(outer_values(value, syntax))
    known = [[name, called(each, (*around, value))] for name, each in used]
    return hashed([ast.unparse(syntax), known])


def library(function: Function) -> str:
    """Return the name of the library that defines a function, or "" for a user-defined one."""
    home = getattr(function, "__module__", None) or "numpy"
    if isinstance(function, FunctionType):
        home = function.__globals__.get("__name__") or ""  # empty for one made by exec
    home = home.partition(".")[0]
    return home if home in LIBRARIES else ""


def outer_values(function: Function, syntax: ast.AST) -> Iterator[tuple[str, Any]]:
    """Yield the name and value of each outer value that a function uses, such as `math.exp`."""
    known = variables(function)
    inside = {id(node.value) for node in ast.walk(syntax) if isinstance(node, ast.Attribute)}
    found: dict[str, Any] = {}
    for node in ast.walk(syntax):
        if isinstance(node, ast.Attribute | ast.Name) and id(node) not in inside:
            first, *rest = ast.unparse(node).split(".")
            if first not in known:
                continue
            value = known[first]
            for part in rest:
                value = getattr(value, part, None)
            if not isinstance(value, ModuleType):
                found[ast.unparse(node)] = value
    yield from found.items()


# ---- copies -------------------------------------------------------------------------------------

# The functions that choose between Values, and their equivalents for plain numbers.
CHOICES: Mapping[Function, Function] = {
    value_functions.where: arithmetic.where,
    value_functions.maximum: arithmetic.maximum,
    value_functions.minimum: arithmetic.minimum,
}
# Functions of libraries and their counterparts in formulas, which never raise errors, and have fast
# versions in kernels.
COUNTERPARTS: Mapping[Function, Function] = {
    **{
        getattr(library, name): getattr(elementary, name)
        for library in (math, np)
        for name in "exp expm1 log log1p sin cos sqrt tanh erfc".split()
        if hasattr(library, name)
    },
    math.pow: elementary.power,
    math.fabs: arithmetic.absolute,
    np.abs: arithmetic.absolute,
    np.maximum: arithmetic.maximum,
    np.minimum: arithmetic.minimum,
    np.where: arithmetic.where,
}
SYMBOLS = {"add": "+", "subtract": "-", "multiply": "*"}
SYMBOLS |= {name: row.symbol for name, row in COMPARISONS.items()}

_numbers = count(1)


@final
class UserTarget(Target):
    """A target that copies user-defined functions, including closures and `module.name` calls.

    Args:
        stands_for: functions and their replacements
        copied: predicate for the functions to copy; by default functions that use a replaced one
    """

    def __init__(
        self,
        stands_for: Mapping[Function, Function],
        copied: Callable[[FunctionType], bool] | None = None,
    ) -> None:
        super().__init__({}, formulas=stands_for)
        self._stands_for = stands_for
        self._changed = {each for each, other in stands_for.items() if each is not other}
        self._replacements = {*stands_for.values()}
        self._copied = copied or self.needs

    def needs(self, function: Any, seen: set[int] | None = None) -> bool:
        """Return whether a function uses a replaced function, directly or indirectly."""
        seen = set() if seen is None else seen
        is_known = not isinstance(function, FunctionType) or id(function) in seen
        if is_known or function in self._replacements:
            return False
        seen.add(id(function))
        used = [value for value in used_values(function) if is_function(value)]
        return any(value in self._changed or self.needs(value, seen) for value in used)

    def _copy(self, function: FunctionType) -> FunctionType:
        known: dict[str, Any] = dict(function.__globals__)
        cells = tuple(CellType() for _ in function.__code__.co_freevars)
        copy = copy_of(function, known, cells=cells)
        copy.__kwdefaults__, copy.__qualname__ = function.__kwdefaults__, function.__qualname__
        self._copies[function] = copy  # for a recursive function
        for name in outer_names(function):
            known[name] = self.translate(known[name])
        for mine, cell in zip(cells, function.__closure__ or (), strict=True):
            with suppress(ValueError):  # not yet assigned
                mine.cell_contents = self.translate(cell.cell_contents)
        return copy

    def translate(self, value: Any) -> Any:
        """Return the value that replaces an outer value of a function on this target."""
        if isinstance(value, ModuleType):
            return self._module(value)
        if not is_function(value):
            return value
        if value in self._copies:
            return self._copies[value]
        copied = isinstance(value, FunctionType) and self._copied(value)
        return self.retarget(value) if copied else value

    def _module(self, module: ModuleType) -> ModuleType:
        """Return a module in which functions are replaced; the same module if nothing changes."""
        known = vars(module) | {name: getattr(module, name) for name in lazy_names(module)}
        changed = {
            name: self._stands_for[value]
            for name, value in known.items()
            if is_function(value) and value in self._stands_for
        }
        if not changed:
            return module
        made = ModuleType(module.__name__)
        vars(made).update(known | changed)
        return made


def is_function(value: Any) -> bool:
    """Return whether a value may be a function that has a replacement."""
    return callable(value) and isinstance(value, Hashable)


def used_values(function: FunctionType) -> list[Any]:
    """Return the outer values of a function, and the module functions that it may call."""
    names = function.__code__.co_names
    found = [function.__globals__[name] for name in outer_names(function)]
    found += [cell.cell_contents for cell in function.__closure__ or ()]
    return found + [
        getattr(module, name)
        for module in found
        if isinstance(module, ModuleType)
        for name in names
        if name in vars(module) or name in lazy_names(module)
    ]


def outer_names(function: FunctionType) -> list[str]:
    """Return the global names that a function uses; for math.sin(x) only `math`, not `sin`."""
    used = {each.argval for each in get_instructions(function) if each.opname == "LOAD_GLOBAL"}
    return [name for name in function.__code__.co_names if name in used & {*function.__globals__}]


def lazy_names(module: ModuleType) -> list[str]:
    """Return the choice functions, such as where, that a module loads lazily, as scalarviz does."""
    return [function.__name__ for function in CHOICES if module.__name__ == "scalarviz"]


ON_NUMBERS = UserTarget({**CHOICES, **COUNTERPARTS})


def freezing() -> Callable[[Any], Any]:
    """Return a function that copies user-defined functions with their current outer values.

    The returned function leaves other objects unchanged, and copies each function only once.
    """
    return UserTarget({}, lambda function: not library(function)).translate


def on_recorded() -> Target:
    """Return the target that runs functions on recorded Values."""
    call = {row.value: ON_VALUES.retarget(row.value) for row in arithmetic.OPERATIONS.values()}
    call |= {library: call[ours] for library, ours in COUNTERPARTS.items()}
    return UserTarget(call, lambda function: True)


def on_numbers(function: Function) -> Function:
    """Return an equivalent function on floats that supports choices and never raises errors.

    If the function uses none of `CHOICES` and `COUNTERPARTS`, it is returned unchanged.
    """
    return ON_NUMBERS.retarget(function) if ON_NUMBERS.needs(function) else function


# ---- derivatives --------------------------------------------------------------------------------


def recorded_derivative(
    function: Function,
    what: str,
    extra: str = "",
    *,
    taken: int = 2,
    by: int = 0,
    remedy: str = "pass the derivative, or ",
) -> Function:
    """Return the derivative of f(p, t) with respect to p, called as derivative(p, t).

    extra  name of a second, unused argument of the derivative, if f has a single argument
    taken  number of arguments of f; by default 2
    by     index of the argument with respect to which to differentiate; by default 0
    remedy alternative to `sv.where`, for error messages

    Raises:
        InputError: if the function cannot be recorded, for example because it compares p.
    """
    given = recorded_inputs(taken - bool(extra))
    name = getattr(function, "__name__", what)
    try:
        trace = record_function(on_recorded().retarget(function), given)
        require(
            not trace.parameters and len(trace.outputs) == 1,
            "it uses a Value from outside, or returns several",
        )
    except Exception as error:  # any error of a custom function with a Value
        compares = isinstance(error, InputError) and "has no number" in str(error)
        why = "it compares or converts a number" if compares else f"{shorten(str(error))}"
        raise InputError(
            f"the derivative of {what} {name!r} cannot be derived automatically, since {why}: "
            f"{remedy}choose with sv.where(condition, a, b)"
        ) from error
    arguments = list(inspect.signature(function).parameters)[: len(given)]
    others = [extra + "_" * (extra in arguments)] if extra else []
    writer = SourceWriter(trace, arguments, by)
    own = f"{name}_derivative" if by == 0 else f"{name}_by_{arguments[by]}"
    return writer.function(own, function.__module__, others)


@final
class SourceWriter:
    """Writer of the derivative of a Trace with respect to input number `by`, as a function.

    For each operation, one line computes the result and, if needed, another line the derivative by
    the chain rule. Constant factors are multiplied here, and equal lines are written once.
    """

    def __init__(self, trace: Trace, arguments: list[str], by: int) -> None:
        self.trace = trace
        self.arguments = arguments
        self.functions: dict[str, Function] = {}
        self.lines: dict[str, str] = {}  # names of expressions
        self.names = [*arguments, *[repr(float(x)) for x in trace.constants]]
        self.slopes = ["1.0" if i == by else "0.0" for i in range(len(self.names))]
        self.compared: set[str] = set()  # names of boolean values
        for formula, operands in zip(trace.formulas, trace.operands, strict=True):
            taken = [place for place in operands if place != NONE]
            texts, slopes = ([each[place] for place in taken] for each in (self.names, self.slopes))
            made = self.assign("v", self.applied(formula, texts))
            if formula.name in COMPARISONS:
                self.compared.add(made)
            self.names.append(made)
            self.slopes.append(self.assign("d", self.slope(formula, texts, slopes, made)))

    def assign(self, letter: str, expression: str) -> str:
        """Write an assignment, unless an equal one exists or none is needed; return its name."""
        if re.fullmatch(r"\w+", expression) or is_number(expression):
            return expression
        if expression not in self.lines:
            taken = {*self.arguments, *self.lines.values()}
            names = (f"{letter}{i}" for i in count(1))
            self.lines[expression] = next(name for name in names if name not in taken)
        return self.lines[expression]

    def applied(self, formula: Formula, texts: list[str]) -> str:
        """Return the source of an operation applied to its operands."""
        if formula.name in SYMBOLS:
            return f"{texts[0]} {SYMBOLS[formula.name]} {texts[1]}"
        if formula.name == "negate":
            return f"-{texts[0]}"
        return self.choice(*texts) if formula.name == "where" else self.call(formula.value, *texts)

    def choice(self, condition: str, x: str, y: str) -> str:
        """Return the source of a conditional expression."""
        if x == y:
            return x
        test = condition if condition in self.compared else f"{condition} != 0.0"
        return f"{x} if {test} else {y}"

    def call(self, function: Function, *texts: str) -> str:
        """Return the source of a call; the function gets a unique name in this source."""
        name = next(
            name
            for name in (function.__name__ + "_" * i for i in count())
            if name not in self.arguments and self.functions.get(name, function) is function
        )
        self.functions[name] = function
        return f"{name}({', '.join(texts)})"

    def slope(self, formula: Formula, texts: list[str], slopes: list[str], made: str) -> str:
        """Return the source of a result's derivative, from the derivatives of its operands."""
        if formula.name in COMPARISONS or {*slopes} == {"0.0"}:
            return "0.0"
        if formula.name == "where":
            return self.choice(texts[0], *slopes[1:])
        if formula.name == "multiply" and texts[0] == texts[1]:
            return product(f"2.0 * {texts[0]}", slopes[0])
        if formula.name == "power" and texts[1] in ("2.0", "3.0"):
            factors = [texts[1], *[texts[0]] * int(float(texts[1]) - 1.0)]
            return product(" * ".join(factors), slopes[0])
        known = {"add": ["1.0", "1.0"], "subtract": ["1.0", "-1.0"], "negate": ["-1.0"]}
        known |= {"multiply": texts[::-1]}
        terms = [
            product(known[formula.name][i], slope)
            if formula.name in known
            else product(self.call(formula.partials[i], *texts, made), slope)
            for i, slope in enumerate(slopes)
            if slope != "0.0"
        ]
        return " + ".join(terms).replace("+ -", "- ")

    def function(self, name: str, module: str, others: list[str]) -> Function:
        """Return the derivative as a function; `others` are additional, unused arguments."""
        result = self.slopes[self.trace.outputs[0]]
        result = next((text for text, known in self.lines.items() if known == result), result)
        used, kept = names_in(result), []
        for expression, target in reversed(self.lines.items()):
            if target in used:
                used |= names_in(expression)
                kept.append(f"    {target} = {expression}")
        head = f"def {name}({', '.join([*self.arguments, *others])}):"
        text = "\n".join([head, *reversed(kept), f"    return {result}", ""])
        return function_of(text, name, module, self.functions)


def function_of(text: str, name: str, module: str, known: Mapping[str, Any]) -> Function:
    """Compile a function from its source, which `inspect.getsource` can then find."""
    file = f"<scalarviz {name} {next(_numbers)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = {**known, "__name__": module}
    exec(compile(text, file, "exec", dont_inherit=True), space)
    made: Function = space[name]
    return made


def product(x: str, slope: str) -> str:
    """Return the source of x * slope, simplified if a factor is a number."""
    if slope in ("1.0", "-1.0"):
        return x if slope == "1.0" else negative(x)
    if is_number(x) and is_number(slope):
        return repr(float(x) * float(slope))
    if x in ("1.0", "-1.0"):
        return slope if x == "1.0" else negative(slope)
    return f"{slope} * {x}" if is_number(slope) else f"{x} * {slope}"


def negative(x: str) -> str:
    """Return the source of an expression with the opposite sign."""
    return x[1:] if x.startswith("-") else f"-{x}"


def is_number(text: str) -> bool:
    """Return whether a text is a number, which may be negative."""
    return re.fullmatch(r"-?(\d[\d.]*(e[-+]?\d+)?|inf|nan)", text) is not None


def names_in(expression: str) -> set[str]:
    """Return the names in an expression."""
    return set(re.findall(r"[A-Za-z_]\w*", expression))
