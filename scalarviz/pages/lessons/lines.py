"""One line that a learner fills in: an expression, read and never run as code."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping

import numpy as np

from scalarviz.base.checks import shorten
from scalarviz.errors import InputError

LONGEST = 200  # characters
SIGNS = str.maketrans(
    {
        "−": "-",
        "–": "-",
        "·": "*",
        "×": "*",
        "÷": "/",
        "²": "**2",
        "³": "**3",
        "^": "**",
        "\u00a0": " ",
    }
)
# A number, a name or a sign; the pages read the same, see filled_line.js.
TOKEN = re.compile(
    r"\s*(?:(\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?)|([a-z_]\w*|\*\*|[-+*/(),]))",
    re.ASCII | re.IGNORECASE,
)
OPERATIONS: dict[type, Callable[..., float]] = {  # of numpy, which has no number as JavaScript does
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
    ast.USub: np.negative,
    ast.UAdd: np.positive,
}
FUNCTIONS: dict[str, Callable[..., float]] = {
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "sqrt": np.sqrt,
    "abs": np.absolute,
    "relu": lambda x: np.maximum(x, 0.0),
    "max": lambda a, b: np.maximum(a, b),
    "min": lambda a, b: np.minimum(a, b),
}


def value_of(line: str, names: Mapping[str, float]) -> float:
    """Return the value of an expression; raise InputError if it is none, or has another name.

    A division by 0 or a root of -1 is no error: it gives infinity or NaN, a wrong number.
    """
    if len(line) > LONGEST:
        raise InputError(f"a line has at most {LONGEST} characters, not {len(line)}: shorten it")
    try:
        with np.errstate(all="ignore"):
            return float(walked(ast.parse(plain(line, names), mode="eval").body, names))
    except (SyntaxError, RecursionError, MemoryError, TypeError, LookupError) as error:
        raise InputError(
            f"{shorten(line)} is no expression here: write one of {', '.join(names)} and numbers, "
            "such as 2 * (a - b)"
        ) from error


def plain(line: str, names: Mapping[str, float]) -> str:
    """Return a line as Python writes it, also where a product has no sign, as in 2(y - t)y.

    Raises SyntaxError for a sign that it must not have.
    """
    line, parts, at = line.translate(SIGNS).strip(), [""], 0
    while at < len(line):
        found = TOKEN.match(line, at)
        if found is None:
            raise SyntaxError(line)
        number = repr(float(found[1] or 0)).replace("inf", "1e999")  # as Python reads it
        last, sign = parts[-1], found[2] or ""
        is_factor = last == ")" or last in names or last[:1].isdigit()
        if is_factor and (sign == "(" or sign[:1].isidentifier()):
            parts.append("*")
        parts.append(number if found[1] else sign)
        at = found.end()
    return " ".join(parts).lstrip()


def walked(node: ast.AST, names: Mapping[str, float]) -> float:
    """Return the value of a part of an expression; raise InputError for an unknown name."""
    match node:
        case ast.Constant(value=float() as number):
            return np.float64(number)
        case ast.Name(id=name) if name in names:
            return np.float64(names[name])
        case ast.Name(id=name):
            raise InputError(f"{name} has no value here: use {', '.join(names)}")
        case ast.UnaryOp(op=sign, operand=part):
            return OPERATIONS[type(sign)](walked(part, names))
        case ast.BinOp(left=left, op=sign, right=right):
            return OPERATIONS[type(sign)](walked(left, names), walked(right, names))
        case ast.Call(func=ast.Name(id=name), args=parts, keywords=[]) if name in FUNCTIONS:
            return FUNCTIONS[name](*(walked(part, names) for part in parts))
    raise TypeError(type(node).__name__)
