"""Source of formulas for the compiler: constants in the working type, unique names.

A formula contains, for example, `exp` and 0.5. In a float32 kernel a Python float would turn every
result into float64, and `exp` should come from `fast_math`. So the source of a formula is
rewritten: docstring and annotations are removed, constants become numbers of the working type, and
called functions get unique names.
"""

from __future__ import annotations

import ast
import inspect
import math
import os
import platform
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from types import CodeType, ModuleType
from typing import Any

from scalarviz.base.kernel_files import assigned_names
from scalarviz.errors import InputError

AnyFunction = Callable[..., Any]


class KernelWriter:
    """Writer of formulas and of all functions that they call; each is written once.

    Args:
        number: name of the working type's constructor
        functions: replacements for the elementary functions
        mark: decorator of a formula
        marks: decorators of functions from other modules, by module name
        prefix: prefix of all names; each writer of the same file needs a different one
    """

    def __init__(
        self,
        number: str,
        functions: Mapping[AnyFunction, AnyFunction],
        mark: str,
        marks: Mapping[str, str] | None = None,
        prefix: str = "",
    ) -> None:
        self.number = number
        self.functions = functions
        self.mark = mark
        self.marks = marks or {}
        self.prefix = prefix
        self.constants: dict[str, str] = {}
        self.sources: list[str] = []
        self.names: dict[Any, str] = {}

    def name(self, function: AnyFunction) -> str:
        """Return the name of a function in the file, and write its source on first use."""
        function = self.functions.get(function, function)
        library = (getattr(function, "__module__", None) or "numpy").partition(".")[0]
        if library in ("math", "numpy"):
            return f"{'np' if library == 'numpy' else 'math'}.{function.__name__}"
        if function not in self.names:
            syntax = parse(function)
            syntax.name = self.names[function] = self.new_name(function)
            self.add(syntax, function)
        return self.names[function]

    def new_name(self, function: AnyFunction, ending: str = "") -> str:
        """Return a unique name, built from the names of the function and its module."""
        file = re.sub(r"\W", "", function.__module__.rpartition(".")[2]).strip("_")  # "<run_path>"
        stem = f"{self.prefix}{file}_{function.__name__}{ending}"
        taken = set(self.names.values())
        names = (stem if i == 1 else f"{stem}_{i}" for i in range(1, len(taken) + 2))
        return next(name for name in names if name not in taken)

    def add(self, syntax: ast.FunctionDef, function: AnyFunction) -> None:
        """Write the source of a function, preceded by the functions that it calls."""
        mark = self.marks.get(function.__module__, self.mark)
        syntax.decorator_list = [expression(mark)]
        self.sources.append(self.translate(syntax, variables(function)))

    def translate(self, syntax: ast.FunctionDef, known: Mapping[str, Any]) -> str:
        """Rewrite a function in the working type; `known` has the values of its outer variables."""
        translated = KernelTranslation(self, known, syntax).visit(syntax)
        return ast.unparse(ast.fix_missing_locations(translated))

    def constant(self, value: float) -> str:
        """Define a constant of the working type, and return its name."""
        digits = repr(value).translate(str.maketrans(".-+", "_mp"))
        name = f"{self.prefix}_{digits}"
        text = repr(value) if math.isfinite(value) else f'"{value!r}"'
        self.constants[name] = f"{name} = {self.number}({text})"
        return name


def parse(function: AnyFunction) -> ast.FunctionDef:
    """Return the syntax tree of a `def` function, without docstring and annotations.

    Default values of arguments are evaluated.
    """
    syntax = function_in(_plain_text(function))
    defaults = getattr(function, "__defaults__", None) or ()
    if all(isinstance(each, int | float) for each in defaults):
        syntax.args.defaults = [ast.Constant(each) for each in defaults]
    return syntax


def function_in(text: str) -> ast.FunctionDef:
    """Return the syntax tree of a source text that defines one function."""
    (syntax,) = ast.parse(text).body
    assert isinstance(syntax, ast.FunctionDef)
    return syntax


@cache
def _plain_text(function: AnyFunction) -> str:
    with suppress(OSError, TypeError, ValueError, SyntaxError):
        (syntax,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
        if isinstance(syntax, ast.FunctionDef) and is_source(syntax, function):
            return plain_text(syntax)
    raise InputError(
        f"the source of the formula {getattr(function, '__name__', function)!r} is not available, "
        "and kernels are made from it: write it with a plain def, in an unmodified file or in a "
        "notebook cell"
    )


def plain_text(syntax: ast.FunctionDef) -> str:
    """Remove docstring and annotations from a function's tree, and return its source."""
    if ast.get_docstring(syntax) is not None:
        syntax.body = syntax.body[1:] or [ast.Pass()]
    syntax.returns = None
    for argument in ast.walk(syntax.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    return ast.unparse(syntax)


def is_source(syntax: ast.FunctionDef, function: AnyFunction) -> bool:
    """Return whether a function was compiled from this source, which may have been edited."""
    code = function.__code__
    made = codes("".join(inspect.findsource(function)[0])).get((code.co_name, code.co_firstlineno))
    return (
        made is not None
        and not syntax.decorator_list
        and made.co_code == code.co_code
        and made.co_consts == code.co_consts
        and made.co_names == code.co_names
    )


@cache
def codes(text: str) -> dict[tuple[str, int], CodeType]:
    """Return the code object of every function in a source text, by name and first line."""
    found = {}
    left = [compile(text, "", "exec", dont_inherit=True)]
    while left:
        code = left.pop()
        found[code.co_name, code.co_firstlineno] = code
        left += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return found


def expression(text: str) -> ast.expr:
    """Return the syntax tree of an expression."""
    return ast.parse(text, mode="eval").body


def variables(function: AnyFunction) -> dict[str, Any]:
    """Return the values of a function's global and nonlocal variables."""
    found = inspect.getclosurevars(function)
    return {**found.globals, **found.nonlocals}


# Syntax that requires integers. In a function without it, the 2 in 2 * x is replaced by 2.0.
COUNTING = (
    ast.For, ast.While, ast.Subscript,
    ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor,
)  # fmt: skip


class KernelTranslation(ast.NodeTransformer):
    """Replaces the constants and the outer variables of one function."""

    def __init__(
        self, writer: KernelWriter, known: Mapping[str, Any], syntax: ast.FunctionDef
    ) -> None:
        self.writer = writer
        self.known = known
        self.function = syntax.name
        nodes = list(ast.walk(syntax))
        self.local = assigned_names(syntax) | {n.arg for n in nodes if isinstance(n, ast.arg)}
        self.counts = any(isinstance(node, COUNTING) for node in nodes)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        return self.visit(ast.Assign([node.target], node.value)) if node.value else None

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        # The compiler turns x**2 into a multiplication only if the 2 is an integer.
        power = isinstance(node.op, ast.Pow) and isinstance(node.right, ast.Constant)
        node.left = self.visit(node.left)
        node.right = node.right if power else self.visit(node.right)
        return node

    def visit_Constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, float) or (type(node.value) is int and not self.counts):
            return expression(self.writer.constant(float(node.value)))
        return node

    def visit_Name(self, node: ast.Name) -> Any:
        # A name that is neither local nor known is defined elsewhere in the file of kernels.
        if node.id in self.local or node.id not in self.known:
            return node
        return self._value(node.id, self.known[node.id])

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        first, *rest = ast.unparse(node).split(".")
        value = self.known.get(first)
        if not isinstance(value, ModuleType) or not all(part.isidentifier() for part in rest):
            return self.generic_visit(node)
        for part in rest:
            value = getattr(value, part)
        return self._value(ast.unparse(node), value)

    def _value(self, text: str, value: Any) -> ast.expr:
        """Return the expression that represents an outer variable's value in the kernel file."""
        if isinstance(value, float):
            return expression(self.writer.constant(float(value)))
        if isinstance(value, int | str | None):
            return ast.Constant(value)
        if isinstance(value, tuple) and all(isinstance(item, int | float) for item in value):
            return ast.Tuple([self._value(text, item) for item in value])
        if callable(value):
            return expression(self.writer.name(value))
        raise InputError(
            f"the formula {self.function} uses {text}, which is of the type "
            f"{type(value).__name__}: a formula may use numbers, tuples of numbers, and functions"
        )


def ingredients(functions: Iterable[AnyFunction]) -> list[Any]:
    """Return the code objects of functions, and the current values of their outer variables."""
    return [
        (
            getattr(function, "__code__", None),
            {k: dict(v) if isinstance(v, dict) else v for k, v in variables(function).items()},
        )
        for function in functions
    ]


@cache
def versions(*more: str) -> str:
    """Return the versions of Python and of the packages that compile kernels."""
    names = "numba", "numpy", "llvmlite", *more
    packages = [f"{name} {version_of(name) or 'of the system'}" for name in names]
    return ", ".join([f"Python {platform.python_version()}", *packages])


def version_of(package: str) -> str:
    """Return the version of an installed package, or "" if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:  # libraries may be installed on the system
        return ""


def is_simulated() -> bool:
    """Return whether numba simulates a GPU, in which case no kernel for it is compiled."""
    return os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")
