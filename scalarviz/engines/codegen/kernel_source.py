"""Formulas as source for a compiler: every number in one working type, every name its own.

A formula says `exp` and 0.5. In a kernel of float32 a Python float would turn all that it touches
into float64, and `exp` is a function of `fast_math`. So the source of a formula is taken and
written again: without docstring and annotations, its constants as numbers of the working type, the
functions that it calls under names that no other formula has.
"""

from __future__ import annotations

import ast
import inspect
import math
import textwrap
from collections.abc import Callable, Mapping
from functools import cache
from types import CodeType, ModuleType
from typing import Any

from scalarviz.errors import InputError

AnyFunction = Callable[..., Any]


class KernelWriter:
    """Writes formulas, and every function that they call, each of them once.

    number      how the file makes a number of the working type
    functions   what the elementary functions are replaced by
    mark        the decorator of a formula; `marks`, of what comes from certain modules
    prefix      keeps the names apart from those of another writer for the same file
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
        """What a function is called in the file; it is written there if it is not yet."""
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
        """A name that nothing else has: that of the file and that of the function."""
        file = function.__module__.rpartition(".")[2].strip("_")
        stem = f"{self.prefix}{file}_{function.__name__}{ending}"
        taken = set(self.names.values())
        names = (stem if i == 1 else f"{stem}_{i}" for i in range(1, len(taken) + 2))
        return next(name for name in names if name not in taken)

    def add(self, syntax: ast.FunctionDef, function: AnyFunction) -> None:
        """Write a function, after all that it calls."""
        mark = self.marks.get(function.__module__, self.mark)
        syntax.decorator_list = [expression(mark)]
        self.sources.append(self.translate(syntax, variables(function)))

    def translate(self, syntax: ast.FunctionDef, known: Mapping[str, Any]) -> str:
        """The text of a function in the working type; `known` are the names from outside."""
        translated = KernelTranslation(self, known, syntax).visit(syntax)
        return ast.unparse(ast.fix_missing_locations(translated))

    def constant(self, value: float) -> str:
        """The name of a number of the working type."""
        digits = repr(value).translate(str.maketrans(".-+", "_mp"))
        name = f"{self.prefix}_{digits}"
        text = repr(value) if math.isfinite(value) else f'"{value!r}"'
        self.constants[name] = f"{name} = {self.number}({text})"
        return name


def parse(function: AnyFunction) -> ast.FunctionDef:
    """The syntax of a function that was written with def: no docstring, no annotations."""
    (syntax,) = ast.parse(_plain_text(function)).body
    assert isinstance(syntax, ast.FunctionDef)
    return syntax


@cache
def _plain_text(function: AnyFunction) -> str:
    try:
        (syntax,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
        found = isinstance(syntax, ast.FunctionDef) and is_source(syntax, function)
    except (OSError, TypeError, ValueError, SyntaxError):
        found = False
    if not found:
        raise InputError(
            f"the source of the formula {getattr(function, '__name__', function)!r} cannot be had, "
            "and kernels are made from it: write it with a plain def, in a file that has not "
            "changed since or in a cell of a notebook"
        )
    assert isinstance(syntax, ast.FunctionDef)
    if ast.get_docstring(syntax) is not None:
        syntax.body = syntax.body[1:] or [ast.Pass()]
    syntax.returns = None
    for argument in ast.walk(syntax.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    return ast.unparse(syntax)


def is_source(syntax: ast.FunctionDef, function: AnyFunction) -> bool:
    """Whether a function was made of this; its file may have been edited after it was loaded."""
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
    """Every function in the text of a file, by its name and its first line."""
    found = {}
    left = [compile(text, "", "exec", dont_inherit=True)]
    while left:
        code = left.pop()
        found[code.co_name, code.co_firstlineno] = code
        left += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return found


def expression(text: str) -> ast.expr:
    """The syntax of an expression."""
    return ast.parse(text, mode="eval").body


def variables(function: AnyFunction) -> dict[str, Any]:
    """What the names from outside stand for in a function."""
    found = inspect.getclosurevars(function)
    return {**found.globals, **found.nonlocals}


def assigned_names(syntax: ast.AST) -> set[str]:
    """The names that are assigned to somewhere in here."""
    names = [node for node in ast.walk(syntax) if isinstance(node, ast.Name)]
    return {node.id for node in names if isinstance(node.ctx, ast.Store)}


# What only whole numbers do. Where none of it is done, the 2 of 2 * x may as well be a 2.0.
COUNTING = (
    ast.For, ast.While, ast.Subscript,
    ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor,
)  # fmt: skip


class KernelTranslation(ast.NodeTransformer):
    """Replaces, in one function, the numbers and the names from outside."""

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
        # x**2 is a multiplication as long as the 2 is an integer.
        power = isinstance(node.op, ast.Pow) and isinstance(node.right, ast.Constant)
        node.left = self.visit(node.left)
        node.right = node.right if power else self.visit(node.right)
        return node

    def visit_Constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, float) or (type(node.value) is int and not self.counts):
            return expression(self.writer.constant(float(node.value)))
        return node

    def visit_Name(self, node: ast.Name) -> Any:
        # What is neither the function's own nor known is something else in the file of kernels.
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
        """What a name from outside is in the file of kernels."""
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
