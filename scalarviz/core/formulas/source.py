"""The source of functions, as syntax trees: their statements, what they call and assign."""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import FunctionType, ModuleType
from typing import Any


class UnwritableError(Exception):
    """A function has no formula."""


@lru_cache(maxsize=256)
def syntax_of(function: Callable[..., Any]) -> ast.FunctionDef:
    """Return the syntax tree of a function written with def; raise UnwritableError without one."""
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
    """Return the names that a function finds outside: of modules, and of functions around it."""
    assert isinstance(function, FunctionType)
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    inner = {}
    for name, cell in cells:
        try:
            inner[name] = cell.cell_contents
        except ValueError:  # not yet assigned
            continue
    return {**vars(builtins), **function.__globals__, **inner}


def arguments_of(call: ast.Call, function: Callable[..., Any]) -> dict[str, ast.expr | float]:
    """Return what a call gives each parameter of a function: expressions, and defaults."""
    if any(isinstance(each, ast.Starred) for each in call.args):
        raise UnwritableError
    try:
        bound = inspect.signature(function).bind(
            *call.args, **{str(each.arg): each.value for each in call.keywords}
        )
    except (TypeError, ValueError) as error:
        raise UnwritableError from error
    bound.apply_defaults()
    return dict(bound.arguments)


def called(syntax: ast.expr, outer: Mapping[str, Any]) -> Any:
    """Return the object that a name, or an attribute of a module, stands for."""
    if isinstance(syntax, ast.Name) and syntax.id in outer:
        return outer[syntax.id]
    if isinstance(syntax, ast.Attribute):
        module = called(syntax.value, outer)
        if isinstance(module, ModuleType) and hasattr(module, syntax.attr):
            return getattr(module, syntax.attr)
    raise UnwritableError


def assignment(statement: ast.stmt) -> tuple[str, ast.expr]:
    """Return the name and the new value of an assignment; raise UnwritableError for others."""
    target: ast.expr | None = None
    value: ast.expr | None = None
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, value = statement.targets[0], statement.value
    elif isinstance(statement, ast.AnnAssign):
        target, value = statement.target, statement.value
    elif isinstance(statement, ast.AugAssign):
        target = statement.target
        value = ast.BinOp(ast.Name(ast.unparse(target), ast.Load()), statement.op, statement.value)
    if not isinstance(target, ast.Name) or value is None:
        raise UnwritableError
    return target.id, value
