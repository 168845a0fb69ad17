"""Formulas as trees of lists, for JavaScript and ONNX: their tables stay the only source.

A tree is a number, a name, or [operation, *trees], such as ["-", 1.0, ["*", "y", "y"]];
["let", name, tree, rest] names a number. A function is {"names": arguments, "result": tree}, and
["call", function, *trees] calls one.
"""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from scalarviz.core.formulas import elementary
from scalarviz.core.formulas.formula_words import (
    ExpressionFunction,
    FormulaWriter,
    Term,
    UnwritableError,
    arguments_of,
    assignment,
    called,
    syntax_of,
    variables,
)

Tree = Any  # a number, a name, or a list
MOST_CASES = 32

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


def function_tree(function: Callable[..., Any], place: int = 0) -> Tree:
    """Return a function as a tree; None if it is no plain function of numbers.

    place  which number of those that it returns; by default the first, as the weight of an update
    """
    try:
        return made(function, place)
    except (UnwritableError, RecursionError, SyntaxError):
        return None


def made(function: Callable[..., Any], place: int = 0) -> Tree:
    """Return what `function_tree` does; raise UnwritableError if that is impossible."""
    if isinstance(function, ExpressionFunction):
        part, names = ast.parse(function.code, mode="eval").body, [*function.names]
        return {"names": names, "result": tree_of(part, function.functions, {*names})}
    if function in ELEMENTARY:
        names = ["x", "y"][: len(inspect.signature(function).parameters)]
        return {"names": names, "result": [ELEMENTARY[function], *names]}
    if not isinstance(function, FunctionType):
        raise UnwritableError
    syntax = syntax_of(function)
    names = [each.arg for each in syntax.args.args]
    result = body_tree(syntax.body, variables(function), set(names), place)
    return {"names": names, "result": result}


def body_tree(
    body: list[ast.stmt], outer: Mapping[str, Any], known: set[str], place: int = 0
) -> Tree:
    """Return what the statements of a function return at a place; `known` are the names so far."""
    match body:
        case [ast.If(test=test, body=inside, orelse=other), *rest]:
            parts = [body_tree([*each, *rest], outer, known, place) for each in (inside, other)]
            return ["if", tree_of(test, outer, known), *parts]
        case [ast.Return(value=ast.Tuple(elts=numbers)), *_]:
            return tree_of(numbers[place], outer, known)
        case [ast.Return(value=ast.expr() as value), *_]:
            return tree_of(value, outer, known, place)
        case [statement, *rest]:
            name, given = assignment(statement)
            return [
                "let",
                name,
                tree_of(given, outer, known),
                body_tree(rest, outer, known | {name}, place),
            ]
    raise UnwritableError


def tree_of(node: ast.expr, outer: Mapping[str, Any], known: set[str], place: int = 0) -> Tree:
    """Return an expression as a tree.

    outer  what names outside of the function stand for
    known  its own names
    place  of a call of a function that returns several numbers: which one
    """

    def of(part: ast.expr) -> Tree:
        return tree_of(part, outer, known)

    match node:
        case ast.Constant(value=constant):
            return number(constant)
        case ast.Name(id=name) if name in known:
            return name
        case ast.Name() | ast.Attribute():
            return number(called(node, outer))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in SIGNS:
            return [SIGNS[type(op)], of(left), of(right)]
        case ast.UnaryOp(op=op, operand=operand) if type(op) in SIGNS:
            return [SIGNS[type(op)], of(operand)]
        case ast.BoolOp(op=op, values=[first, *others]):
            found = of(first)
            for other in others:
                found = [SIGNS[type(op)], found, of(other)]
            return found
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in SIGNS:
            return [SIGNS[type(op)], of(left), of(right)]
        case ast.Compare(left=left, ops=[op, *ops], comparators=[right, *others]):
            first = ast.Compare(left, [op], [right])
            return ["and", of(first), of(ast.Compare(right, ops, others))]
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return ["if", of(test), of(body), of(orelse)]
        case ast.Call(func=function):
            meant = called(function, outer)
            if meant in ELEMENTARY and not node.keywords:
                return [ELEMENTARY[meant], *map(of, node.args)]
            given = arguments_of(node, meant).values()
            each = [of(part) if isinstance(part, ast.expr) else number(part) for part in given]
            return ["call", made(meant, place), *each]
    raise UnwritableError


def number(value: object) -> Tree:
    """Return a number as a tree; JSON has no infinity and no NaN."""
    if not isinstance(value, (int, float)):
        raise UnwritableError
    if math.isfinite(value):
        return float(value)
    return ["nan"] if value != value else ["inf"] if value > 0 else ["neg", ["inf"]]


class Choices:
    """Which conditions of a function hold: some that are given, then all others, as they are met.

    taken  what was chosen so far
    """

    def __init__(self, given: Sequence[bool]) -> None:
        self.given = given
        self.taken: list[bool] = []

    def next(self) -> bool:
        """Return whether the next condition holds."""
        self.taken.append(next(iter(self.given[len(self.taken) :]), True))
        return self.taken[-1]


def all_choices() -> Iterator[Choices]:
    """Yield choices for each case of a function, which is to be followed before the next one."""
    waiting: list[list[bool]] = [[]]
    for _ in range(MOST_CASES):
        if not waiting:
            return
        choices = Choices(waiting.pop())
        yield choices
        taken = choices.taken
        waiting += [[*taken[:i], False] for i in range(len(choices.given), len(taken))]


class CaseWriter(FormulaWriter):
    """Writes one of the cases that the conditions of a formula have.

    tests  the conditions that were met, as Python
    """

    def __init__(self, names: Sequence[str], choices: Choices, *, inline: bool) -> None:
        super().__init__(names, inline=inline)
        self.choices = choices
        self.tests: list[str] = []

    def chosen(self, test: Term, yes: Callable[[], Term], no: Callable[[], Term]) -> Term:
        self.tests.append(test.code)
        return yes() if self.choices.next() else no()


def written_cases(
    function: Callable[..., float], names: Sequence[str], *, inline: bool
) -> Iterator[tuple[CaseWriter, Term]]:
    """Yield a writer for each case of a function, with what was chosen, and what it has written."""
    for choices in all_choices():
        writer = CaseWriter(names, choices, inline=inline)
        try:
            yield writer, writer.inlined(function, [Term(name, name) for name in names])
        except (UnwritableError, RecursionError):
            return
