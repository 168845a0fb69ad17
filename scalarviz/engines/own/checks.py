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

from scalarviz.checks.numbers import shorten
from scalarviz.engines.codegen.fast_math import STANDARD
from scalarviz.engines.codegen.kernel_source import KernelWriter, parse, variables
from scalarviz.errors import InputError

Function = Callable[..., Any]

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


def check_source(function: Function) -> None:
    """Raise InputError for a function that kernels cannot contain: all kernels would fail."""
    KernelWriter("np.float64", STANDARD, "formula").name(function)


def digest(*functions: Function) -> str:
    """Return a hash of the source of functions, and of all functions of the user that they call."""
    texts: dict[Function, str] = {}
    waiting = [*functions]
    while waiting:
        function = waiting.pop()
        if function in texts:
            continue
        if not isinstance(function, FunctionType) or library(function):
            texts[function] = called(function)
            continue
        syntax = parse(function)
        used = sorted(outer_values(function, syntax))
        waiting += [value for _, value in used if callable(value)]
        known = [f"{name} = {called(value)}" for name, value in used]
        texts[function] = "\n".join([ast.unparse(syntax), *known])
    parts = [texts.pop(function) for function in dict.fromkeys(functions)]
    return hashlib.sha256(json.dumps([*parts, *sorted(texts.values())]).encode()).hexdigest()


def called(value: Any) -> str:
    """Return the text of an outer value of a formula: a number, or the name of a function."""
    if not callable(value):
        return repr(value)
    home = library(value)
    name = getattr(value, "__name__", type(value).__name__)
    return f"{home}.{name}" if home else f"def {name}"


def library(function: Function) -> str:
    """Return the library that a function is from, or "" for one of the user."""
    home = (getattr(function, "__module__", None) or "numpy").partition(".")[0]
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
