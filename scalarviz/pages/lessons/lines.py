"""One line that a learner fills in: an expression, read and never run as code."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from itertools import pairwise

from scalarviz.base.checks.numbers import shorten
from scalarviz.errors import InputError

LONGEST = 200  # characters
SIGNS = str.maketrans({"−": "-", "·": "*", "×": "*", "÷": "/", "²": "**2", "³": "**3", "^": "**"})
DIGITS = "0123456789."
PART = re.compile(r"\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?|[A-Za-z_]\w*|\*\*|\S")
OPERATIONS: dict[type, Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
FUNCTIONS: dict[str, Callable[..., float]] = {
    "exp": math.exp,
    "log": math.log,
    "tanh": math.tanh,
    "sqrt": math.sqrt,
    "abs": abs,
    "relu": lambda x: max(x, 0.0),
    "max": lambda a, b: max(a, b),
    "min": lambda a, b: min(a, b),
}


def value_of(line: str, names: Mapping[str, float]) -> float:
    """Return the value of an expression; raise InputError if it is none, or has another name."""
    if len(line) > LONGEST:
        raise InputError(f"a line has at most {LONGEST} characters, not {len(line)}: shorten it")
    try:
        return float(walked(ast.parse(signed(line, names), mode="eval").body, names))
    except (SyntaxError, RecursionError, MemoryError, TypeError) as error:
        raise InputError(
            f"{shorten(line)} is no expression here: write one of {', '.join(names)} and numbers, "
            "such as 2 * (a - b)"
        ) from error
    except InputError:
        raise
    except (ArithmeticError, ValueError):
        return math.nan  # a division by 0, a root of -1: a wrong number


def signed(line: str, names: Mapping[str, float]) -> str:
    """Return a line with the signs of Python, also where a product has none: 2(y - t)y."""
    parts = PART.findall(line.translate(SIGNS))
    written = parts[:1]
    for left, right in pairwise(parts):
        ends = left == ")" or left in names or left[0] in DIGITS
        begins = right == "(" or right[0].isalpha()
        written += ["*", right] if ends and begins else [right]
    return " ".join(written)


def walked(node: ast.AST, names: Mapping[str, float]) -> float:
    """Return the value of a part of an expression; raise InputError for an unknown name."""
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.Name(id=name):
            raise InputError(f"{name} has no value here: use {', '.join(names)}")
        case ast.UnaryOp(op=sign, operand=part):
            return OPERATIONS[type(sign)](walked(part, names))
        case ast.BinOp(left=left, op=sign, right=right):
            return OPERATIONS[type(sign)](walked(left, names), walked(right, names))
        case ast.Call(func=ast.Name(id=name), args=parts, keywords=[]) if name in FUNCTIONS:
            return FUNCTIONS[name](*(walked(part, names) for part in parts))
    raise TypeError(type(node).__name__)
