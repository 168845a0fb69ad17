"""The training that a cell of a notebook shows: only the cells are run that it needs."""

from __future__ import annotations

import ast
import contextlib
import io
import linecache
from collections.abc import Sequence
from typing import Any

PACKAGES = {"sv", "plt"}  # whose calls change nothing that a later cell needs
Statements = list[ast.stmt]


def shown_by(code: Sequence[str], cell: int) -> Any:
    """Run what a cell of our notebook needs; return what its last line, sv.watch, shows."""
    parsed = [ast.parse(source).body for source in code[: cell + 1]]
    call: Any = parsed[-1].pop()
    wanted = names_read([call])
    needed: list[tuple[str, Statements]] = []
    for source, cell_body in zip(reversed(code[: cell + 1]), reversed(parsed), strict=True):
        statements = [each for each in cell_body if not is_shown(each)]
        if names_changed(statements) & wanted:
            needed.insert(0, (source, statements))
            wanted |= names_read(statements)
    space: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()):
        for source, statements in needed:
            name = f"<lesson {hash(source)}>"  # kernels are made from the source of formulas in it
            linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
            exec(compile(ast.Module(statements, []), name, "exec"), space)
    return eval(compile(ast.Expression(call.value.args[0]), "<lesson>", "eval"), space)


def is_shown(statement: ast.stmt) -> bool:
    """Return whether a statement only shows something, as sv.watch(session) does."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
            return name in PACKAGES
    return False


def names_read(statements: Sequence[ast.AST]) -> set[str]:
    """Return the names that statements mention."""
    return {node.id for each in statements for node in ast.walk(each) if isinstance(node, ast.Name)}


def names_changed(statements: Statements) -> set[str]:
    """Return the names that statements bind, or of which they call a method or set a part."""
    found: set[str] = set()
    for statement in statements:
        for node in ast.walk(statement):
            match node:
                case ast.Name(id=name, ctx=ast.Store()):
                    found.add(name)
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    found.add(name)
                case ast.alias(name=name, asname=other):
                    found.add(other or name)
                case ast.Attribute(value=ast.Name(id=name), ctx=ast.Store()):
                    found.add(name)
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
                found.add(name)
            case ast.Assign(targets=[ast.Subscript() as target]):
                found |= names_read([target])
    return found
