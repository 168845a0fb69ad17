"""Formulas as expression trees (nested lists), read from the source of functions.

Captions, optimizer steps, JavaScript and ONNX are generated from these trees.

A tree is a number, a name, or [operation, *trees], such as ["-", 1.0, ["*", "y", "y"]]. Special
forms:

    ["let", name, tree, rest]           binds a name in `rest`; several names form a tuple
    ["if", test, tree, tree]
    ["compare", signs, *trees]
    ["call", function, *trees]          with an argument for each parameter
    ["constant", name, number]          a number defined outside the function
    ["default", name, number]           default of a parameter left out in a call
    ["tuple", *trees]
    ["unwritable"]                      anything other than an expression of numbers

For JavaScript and ONNX a tree contains only operations, "let", "if" and "call", with functions as
{"names": parameters, "result": tree}.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache, reduce
from types import CodeType, FunctionType, MappingProxyType, ModuleType
from typing import Any

import numpy as np

from scalarviz.core.formulas import elementary

Tree = Any  # a number, a name, or a list

SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.And: "and",
    ast.Or: "or",
    ast.USub: "neg",
    ast.Not: "not",
}
OPERATORS: dict[str, Any] = {sign: operator for operator, sign in SIGNS.items()}
WORDS = "tanh", "erfc", "exp", "expm1", "log", "log1p", "sqrt", "sin", "cos"
ELEMENTARY: dict[Any, str] = {
    **{getattr(home, name): name for home in (math, elementary) for name in WORDS},
    **{getattr(np, name): name for name in WORDS if name != "erfc"},
    elementary.divide: "divide",
    **dict.fromkeys([elementary.power, math.pow, pow, np.power], "power"),
    **dict.fromkeys([abs, math.fabs, np.absolute], "abs"),
    **dict.fromkeys([min, np.minimum], "min"),
    **dict.fromkeys([max, np.maximum], "max"),
    np.sign: "sign",
    np.where: "if",
    float: "float",
}
UNWRITABLE = ["unwritable"]


class UnwritableError(Exception):
    """A function cannot be written as a formula."""


class ExpressionFunction:
    """A function of the arguments `names`, given by a Python expression that calls `functions`."""

    def __init__(self, code: str, names: Sequence[str], functions: Mapping[str, Any]) -> None:
        self.code, self.names, self.functions = code, names, functions

    @cached_property
    def _compiled(self) -> CodeType:
        return compile(self.code, "<formula>", "eval")

    def __call__(self, *numbers: float) -> float:
        known = dict(zip(self.names, map(np.float64, numbers), strict=True))
        with np.errstate(all="ignore"):  # as kernels, which do not raise
            return float(eval(self._compiled, {"__builtins__": {}, **self.functions}, known))


# ---- reading -------------------------------------------------------------------------------------


def read(
    function: Callable[..., Any], names: Mapping[str, str] = MappingProxyType({})
) -> tuple[list[str], Tree]:
    """Return the parameters of a function written with def, and the tree of its result.

    Args:
        names: names in the tree for variables of the function; other variables keep their names

    Raises:
        UnwritableError: if the function has no source, or a name is already used.
    """
    if not isinstance(function, FunctionType):
        raise UnwritableError
    syntax, code = syntax_of(function), function.__code__
    local = {name: names.get(name, name) for name in (*code.co_varnames, *code.co_cellvars)}
    if len({*local.values()}) < len(local):
        raise UnwritableError
    tree = Reader(local, variables(function)).body(syntax.body, UNWRITABLE)
    return [local[name] for name in inspect.signature(function).parameters], tree


def read_expression(code: str, names: Sequence[str], functions: Mapping[str, Any]) -> Tree:
    """Return the tree of a Python expression that calls `functions`."""
    return Reader({name: name for name in names}, functions).tree(ast.parse(code, mode="eval").body)


class Reader:
    """Convert Python syntax to trees.

    Args:
        local: names in the tree for the variables of a function
        outer: values of names from outside the function
    """

    def __init__(self, local: Mapping[str, str], outer: Mapping[str, Any]) -> None:
        self.local, self.outer = local, outer

    def body(self, statements: Sequence[ast.stmt], rest: Tree) -> Tree:
        """Return the result tree of statements, given the tree `rest` that follows them."""
        for statement in reversed(statements):
            match statement:
                case ast.Pass():
                    pass
                case ast.Return(value=ast.expr() as value):
                    rest = self.tree(value)
                case ast.If(test=test, body=yes, orelse=no):
                    rest = ["if", self.tree(test), self.body(yes, rest), self.body(no, rest)]
                case (
                    ast.Assign(targets=[target], value=value)
                    | ast.AnnAssign(target=target, value=ast.expr() as value)
                ):
                    rest = ["let", self.target(target), self.tree(value), rest]
                case ast.AugAssign(target=target, op=op, value=value):
                    value = ast.BinOp(target, op, value)
                    rest = ["let", self.target(target), self.tree(value), rest]
                case _:
                    rest = UNWRITABLE
        return rest

    def target(self, node: ast.expr) -> Any:
        """Return the name of an assigned variable, or a tuple of names."""
        match node:
            case ast.Name(id=name):
                return self.local.get(name)
            case ast.Tuple(elts=targets):
                return tuple(map(self.target, targets))

    def tree(self, node: ast.expr) -> Tree:
        """Return the tree of an expression."""
        try:
            return self.expression(node)
        except UnwritableError:
            return UNWRITABLE

    def expression(self, node: ast.expr) -> Tree:
        match node:
            case ast.Constant(value=int() | float() as constant):
                return constant
            case ast.Name(id=name) if name in self.local:
                return self.local[name]
            case ast.Name(id=name) | ast.Attribute(attr=name):
                return ["constant", name, called(node, self.outer)]
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.expression(operand)
            case ast.UnaryOp(op=op, operand=operand):
                return [sign_of(op), self.tree(operand)]
            case ast.BinOp(left=left, op=op, right=right):
                return [sign_of(op), self.tree(left), self.tree(right)]
            case ast.BoolOp(op=op, values=values):
                return [sign_of(op), *map(self.tree, values)]
            case ast.Compare(left=left, ops=ops, comparators=others):
                return ["compare", [*map(sign_of, ops)], *map(self.tree, [left, *others])]
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return ["if", *map(self.tree, [test, body, orelse])]
            case ast.Tuple(elts=parts):
                return ["tuple", *map(self.tree, parts)]
            case ast.Call(func=func):
                function = called(func, self.outer)
                return ["call", function, *self.arguments(node, function)]
        raise UnwritableError

    def arguments(self, call: ast.Call, function: Callable[..., Any]) -> list[Tree]:
        """Return the argument for each parameter in a call, including defaults."""
        named = {str(each.arg): each.value for each in call.keywords}
        is_function = isinstance(function, FunctionType)
        if any(isinstance(x, ast.Starred) for x in call.args) or (named and not is_function):
            raise UnwritableError
        if not is_function:
            return [*map(self.tree, call.args)]
        try:
            bound = inspect.signature(function).bind(*call.args, **named)
        except TypeError as error:
            raise UnwritableError from error
        bound.apply_defaults()
        return [
            self.tree(x) if isinstance(x, ast.expr) else ["default", name, x]
            for name, x in bound.arguments.items()
        ]


@lru_cache(maxsize=256)
def syntax_of(function: Callable[..., Any]) -> ast.FunctionDef:
    """Return the syntax tree of a function written with def; raise UnwritableError for others."""
    try:
        (syntax,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    except (OSError, TypeError, ValueError, SyntaxError) as error:
        raise UnwritableError from error
    if not isinstance(syntax, ast.FunctionDef) or syntax.decorator_list:
        raise UnwritableError
    if ast.get_docstring(syntax) is not None:
        syntax.body = syntax.body[1:]
    return syntax


def variables(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Return the variables that a function reads from outside: globals and closure variables."""
    assert isinstance(function, FunctionType)
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    inner = {}
    for name, cell in cells:
        with suppress(ValueError):  # not yet assigned
            inner[name] = cell.cell_contents
    return {**vars(builtins), **function.__globals__, **inner}


def called(syntax: ast.expr, outer: Mapping[str, Any]) -> Any:
    """Return the object referred to by a name, or by an attribute of a module."""
    if isinstance(syntax, ast.Name) and syntax.id in outer:
        return outer[syntax.id]
    if isinstance(syntax, ast.Attribute):
        module = called(syntax.value, outer)
        if isinstance(module, ModuleType) and hasattr(module, syntax.attr):
            return getattr(module, syntax.attr)
    raise UnwritableError


def sign_of(operator: ast.AST) -> str:
    """Return the sign that represents a Python operator in trees."""
    if type(operator) not in SIGNS:
        raise UnwritableError
    return SIGNS[type(operator)]


# ---- trees for JavaScript and ONNX ---------------------------------------------------------------


def function_tree(function: Callable[..., Any], place: int = 0) -> Tree:
    """Return the tree of a function; None if it is not a plain function of numbers.

    Args:
        place: index of the result, if the function returns several numbers; by default the first,
            such as the new weight in an update
    """
    try:
        return closed(function, place)
    except (UnwritableError, RecursionError, SyntaxError):
        return None


def closed(function: Callable[..., Any], place: int | None) -> Tree:
    """Return the tree of a function; unlike `function_tree`, raise UnwritableError on failure."""
    if isinstance(function, ExpressionFunction):
        names = [*function.names]
        tree = read_expression(function.code, names, function.functions)
    elif function in ELEMENTARY:
        names = ["x", "y"][: len(inspect.signature(function).parameters)]
        tree = ["call", function, *names]
    else:
        names, tree = read(function)
    return {"names": names, "result": closed_tree(tree, {*names}, place)}


def closed_tree(tree: Tree, known: set[str], place: int | None = None) -> Tree:
    """Return a tree in which called functions are replaced by their trees.

    Args:
        known: names bound to numbers
        place: index of the result among several returned numbers; None for a single result
    """

    def of(part: Tree) -> Tree:
        return closed_tree(part, known)

    match tree:
        case str() if tree in known:
            return tree
        case int() | float():
            return number(tree)
        case ["constant" | "default", _, value]:
            return number(value)
        case ["tuple", *parts] if place is not None:
            return of(parts[place])
        case ["let", str(name), given, rest]:
            return ["let", name, of(given), closed_tree(rest, known | {name}, place)]
        case ["if", test, *cases]:
            return ["if", of(test), *[closed_tree(each, known, place) for each in cases]]
        case ["call", function, *given] if function in ELEMENTARY:
            return [ELEMENTARY[function], *map(of, given)]
        case ["call", function, *given]:
            return ["call", closed(function, place), *map(of, given)]
        case ["compare", [sign], *parts]:
            return [sign, *map(of, parts)]
        case ["compare", [sign, *signs], first, second, *others]:
            return ["and", [sign, of(first), of(second)], of(["compare", signs, second, *others])]
        case ["and" | "or" as word, *parts]:
            return reduce(lambda a, b: [word, a, b], map(of, parts))
        case [word, *parts] if word in OPERATORS:
            return [word, *map(of, parts)]
    raise UnwritableError


def number(value: object) -> Tree:
    """Return a number as a tree, with operations for infinity and NaN, which JSON lacks."""
    if not isinstance(value, (int, float)):
        raise UnwritableError
    if math.isfinite(value):
        return float(value)
    return ["nan"] if value != value else ["inf"] if value > 0 else ["neg", ["inf"]]
