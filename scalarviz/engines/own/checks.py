"""What activations, losses and optimizers of the user's own have in common: name, source, digest.

The digest is a hash of the source of a formula and of all functions of the user that it calls,
without docstrings, annotations and comments. Files store it, so that a run goes on only with the
formula that it was made with.
"""

from __future__ import annotations

import ast
import hashlib
import json
import keyword
from collections.abc import Callable, Container, Iterator
from types import FunctionType, ModuleType
from typing import Any

from scalarviz.base.checks import shorten
from scalarviz.engines.codegen.fast_math import STANDARD
from scalarviz.engines.codegen.kernel_source import KernelWriter, parse, variables
from scalarviz.errors import InputError

Function = Callable[..., Any]

# Syntax that numba has no machine code for, or that would change what stands outside.
REFUSED = (ast.Global, ast.Nonlocal, ast.NamedExpr, ast.Delete)

LIBRARIES = ("builtins", "math", "numpy", "scalarviz")  # whose functions are known by their names


def checked_name(name: object, function: Function, kind: str, built_in: Container[str]) -> str:
    """Return the name of a formula, by default that of its function; raise InputError.

    `kind` is what it names, with its article: "an activation".
    """
    name = name or getattr(function, "__name__", "")
    if name in built_in:
        kinds = kind.partition(" ")[2].replace("loss", "losse") + "s"
        raise InputError(f"{name!r} is one of scalarviz's own {kinds}: choose another name")
    if not (isinstance(name, str) and name.isidentifier()) or keyword.iskeyword(name):
        raise InputError(f"{shorten(name)} cannot be the name of {kind}: pass name= a plain word")
    return name


def check_plain(function: Function) -> None:
    """Raise InputError for a function with what no kernel can have: *arguments, global names ...

    It is checked before the function is called; `check_source` looks at all that it uses.
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
            f"the formula {name} is nested too deep: give parts of it names, on lines of their own"
        ) from error
    takes = syntax.args
    if takes.vararg or takes.kwarg or takes.kwonlyargs:
        raise InputError(
            f"the formula {name} takes {ast.unparse(takes)}: name each argument, without * and **"
        )
    if found:
        raise InputError(
            f"the formula {name} has {shorten(text)}, which kernels cannot have: use assignments "
            "of names and return"
        )


def check_source(function: Function) -> None:
    """Raise InputError for a function that kernels cannot contain: all kernels would fail."""
    writer = KernelWriter("np.float64", STANDARD, "formula")
    writer.name(function)
    for used in writer.names:
        check_plain(used)


def digest(*functions: Function) -> str:
    """Return a hash of the source of functions, and of all functions of the user that they call."""
    return hashed([called(function, ()) for function in dict.fromkeys(functions)])


def hashed(parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def called(value: Any, around: tuple[Function, ...]) -> str:
    """Return what stands for an outer value of a formula: a number, or the hash of a function.

    `around` are the functions that are being hashed: one that calls itself is known by its name.
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
    """Return the library that a function is from, or "" for one of the user."""
    home = getattr(function, "__module__", None) or "numpy"
    if isinstance(function, FunctionType):
        home = function.__globals__.get("__name__") or ""  # empty for one made by exec
    home = home.partition(".")[0]
    return home if home in LIBRARIES else ""


def outer_values(function: Function, syntax: ast.AST) -> Iterator[tuple[str, Any]]:
    """Iterate over names and values from outside that a function uses, `math.exp` among them."""
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
