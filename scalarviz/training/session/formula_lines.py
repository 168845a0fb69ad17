"""The arithmetic of an optimizer for one weight, as lines: the statements of its update.

An update is followed with the numbers of the weight, so that a condition is no line: only the
statements that these numbers reach are lines.
"""

from __future__ import annotations

import ast
import copy
import inspect
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import Any

import numpy as np

from scalarviz.core.formulas.arithmetic import where
from scalarviz.core.formulas.formula_words import (
    DEEPEST,
    UnwritableError,
    arguments_of,
    assignment,
    called,
    syntax_of,
    variables,
)
from scalarviz.core.formulas.optimizers import OptimizerRow

NAME = re.compile(r"\b[A-Za-z_]\w*\b")


@dataclass(frozen=True, slots=True)
class FormulaLine:
    """One line of arithmetic: the name of a quantity, its formula with numbers, and its value.

    pattern  the formula with names in place of all numbers; "" if it is a sentence
    known    the numbers of these names
    calls    the functions that it calls, by their names in it
    is_same  whether it is the same for all weights, as the learning rate is
    is_own_rate  whether it is the learning rate that only some weights have
    """

    name: str
    formula: str
    value: float
    pattern: str = field(default="", compare=False, repr=False)
    known: Mapping[str, float] = field(default_factory=dict, compare=False, repr=False)
    calls: Mapping[str, Callable[..., float]] = field(
        default_factory=dict, compare=False, repr=False
    )
    is_same: bool = field(default=False, compare=False, repr=False)
    is_own_rate: bool = field(default=False, compare=False, repr=False)

    def __str__(self) -> str:
        value = f"{self.value:.6g}"
        return " = ".join([self.name, *([] if self.formula == value else [self.formula]), value])


def constant_lines(row: OptimizerRow, known: dict[str, float]) -> list[FormulaLine]:
    """Return the constants of a step, such as Adam's bias corrections; add them to `known`."""
    settings = [known[name] for name, _ in row.settings]
    values = row.constants(known["step"], *settings)
    names = list(inspect.signature(row.update).parameters)[-len(values) :] if values else []
    formulas = returned(row.constants, len(values))
    before = dict(known)
    known |= dict(zip(names, values, strict=True))
    return [
        FormulaLine(name, formula or f"{value:.6g}", value, formula, before, is_same=True)
        for name, formula, value in zip(names, formulas, values, strict=True)
    ]


def returned(function: Callable[..., Any], count: int) -> list[str]:
    """Return the source of each element of the tuple that a function returns; "": unknown."""
    try:
        (last,) = syntax_of(function).body
    except (UnwritableError, ValueError):
        return [""] * count
    value = last.value if isinstance(last, ast.Return) else None
    found = [ast.unparse(each) for each in value.elts] if isinstance(value, ast.Tuple) else []
    return found if len(found) == count else [""] * count


def update_lines(row: OptimizerRow, known: Mapping[str, float]) -> list[FormulaLine]:
    """Return the lines of an optimizer's update with the numbers of one weight.

    There is a line for each assignment that these numbers reach, and for what is returned; that of
    the weight is the last. Of an update that cannot be followed, such as one with a loop, there is
    a line for each slot and one for the weight, with their new values only.
    """
    names = list(inspect.signature(row.update).parameters)
    own = ["w", "g", *row.slots, "lr", *(name for name, _ in row.settings)]
    own += names[len(own) :]  # the constants

    def new(*numbers: float) -> list[float]:
        with np.errstate(all="ignore"):  # as kernels, which do not raise
            found = row.update(*map(np.float64, numbers))
        return [float(each) for each in (found if isinstance(found, tuple) else (found,))]

    try:
        values = new(*(known[name] for name in own))
    except ArithmeticError:
        values = [math.nan] * (len(row.slots) + 1)
    try:
        lines = Followed().update(row, dict(zip(own, names, strict=True)), known)
        if lines[-1].value == values[0] or values[0] != values[0]:
            return lines
    except (UnwritableError, ArithmeticError, TypeError, ValueError, RecursionError):
        pass
    found = [
        FormulaLine(slot, f"{value:.6g}", value, "", known)
        for slot, value in zip(row.slots, values[1:], strict=False)
    ]
    pattern, calls = f"{row.name}({', '.join(own)})", {row.name: lambda *each: new(*each)[0]}
    return [*found, FormulaLine("w", pattern, values[0], pattern, dict(known), calls)]


@dataclass(frozen=True)
class Returned:
    """What a function returns: expressions of names with values, and of names outside."""

    elements: list[ast.expr]
    values: Mapping[str, float]
    outer: Mapping[str, Any]


class Followed:
    """The statements of an update that numbers reach, with a line for each assignment."""

    def __init__(self) -> None:
        self.lines: list[FormulaLine] = []
        self.depth = 0

    def update(
        self, row: OptimizerRow, names: Mapping[str, str], known: Mapping[str, float]
    ) -> list[FormulaLine]:
        """Return the lines of an update, that of the weight last.

        row    the optimizer
        names  the names of the update's parameters, by what captions call them
        known  numbers, by what captions call them
        """
        found = self.function(row.update, {name: known[own] for own, name in names.items()})
        lines, last = self.lines, None
        for target, element in zip(("w", *row.slots), found.elements, strict=True):
            given = element.id if isinstance(element, ast.Name) else ""
            line = next((line for line in reversed(lines) if line.name == given), None)
            if target == "w":
                last = line or line_of(target, element, found.values, found.outer)
                lines = [each for each in lines if each is not line]
            elif line is None and given != names[target]:
                lines.append(line_of(target, element, found.values, found.outer))
        assert last is not None
        new_names = {name: own for own, name in names.items() if own != name}
        lines = [renamed(line, new_names) for line in (*lines, replace(last, name="w"))]
        return [replace(line, known={**known, **line.known}) for line in lines]

    def function(self, function: Callable[..., Any], values: dict[str, float]) -> Returned:
        """Follow the statements of a function; return what it returns."""
        self.depth += 1
        if self.depth > DEEPEST or not isinstance(function, FunctionType):
            raise UnwritableError
        outer, statements = variables(function), list(syntax_of(function).body)
        while statements:
            statement = statements.pop(0)
            if isinstance(statement, ast.If):
                test = line_of("", statement.test, values, outer).value
                statements[:0] = statement.body if test else statement.orelse
            elif isinstance(statement, ast.Return) and statement.value is not None:
                return self.ending(statement.value, values, outer)
            elif not isinstance(statement, ast.Pass):
                values |= self.assigned(statement, values, outer)
        raise UnwritableError

    def assigned(
        self, statement: ast.stmt, values: Mapping[str, float], outer: Mapping[str, Any]
    ) -> dict[str, float]:
        """Follow one assignment, or several such as `m, v = v, m`; return the new values."""
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        pairs = [] if isinstance(target, ast.Tuple) else [assignment(statement)]
        if isinstance(target, ast.Tuple) and isinstance(statement, ast.Assign):
            each = statement.value
            if not isinstance(each, ast.Tuple) or len(each.elts) != len(target.elts):
                raise UnwritableError
            pairs = [*zip(map(ast.unparse, target.elts), each.elts, strict=True)]
        new = [line_of(name, value, values, outer) for name, value in pairs]
        self.lines += new
        return {line.name: line.value for line in new}

    def ending(
        self, value: ast.expr, values: Mapping[str, float], outer: Mapping[str, Any]
    ) -> Returned:
        """Return what a return returns; an update that it calls is followed, too."""
        if isinstance(value, ast.Tuple) and len(value.elts) == 1:  # a number in a tuple
            return self.ending(value.elts[0], values, outer)
        if isinstance(value, ast.Tuple):
            return Returned(value.elts, values, outer)
        if isinstance(value, ast.IfExp):
            test = line_of("", value.test, values, outer).value
            return self.ending(value.body if test else value.orelse, values, outer)
        function = called(value.func, outer) if isinstance(value, ast.Call) else None
        if not isinstance(value, ast.Call) or not isinstance(function, FunctionType):
            return Returned([value], values, outer)
        lines = self.lines.copy()
        try:
            return self.called(value, function, values, outer)
        except UnwritableError:
            self.lines = lines
            return Returned([value], values, outer)

    def called(
        self,
        call: ast.Call,
        function: Callable[..., Any],
        values: Mapping[str, float],
        outer: Mapping[str, Any],
    ) -> Returned:
        """Follow the function that a call calls; return what it returns."""
        given: dict[str, float] = {}
        for name, each in arguments_of(call, function).items():
            if not isinstance(each, ast.expr):
                given[name] = float(each)
                continue
            line = line_of(name, each, values, outer)
            given[name] = line.value
            if not isinstance(each, ast.Name):
                self.lines.append(line)
        return self.function(function, given)


class Resolved(ast.NodeTransformer):
    """An expression with conditions decided by numbers, and functions called by their own names.

    known  the numbers of all names in it
    calls  the functions that it calls, by their names in it
    """

    def __init__(self, values: Mapping[str, float], outer: Mapping[str, Any]) -> None:
        self.known: dict[str, float] = dict(values)
        self.outer = outer
        self.calls: dict[str, Callable[..., float]] = {}

    def value(self, syntax: ast.expr) -> Any:
        code = compile(ast.fix_missing_locations(ast.Expression(syntax)), "<formula>", "eval")
        known = {name: np.float64(value) for name, value in self.known.items()}
        with np.errstate(all="ignore"):  # as kernels, which do not raise
            return eval(code, {"__builtins__": {}, **self.calls}, known)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        test = self.visit(copy.deepcopy(node.test))
        found: ast.expr = self.visit(node.body if self.value(test) else node.orelse)
        return found

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return node if node.id in self.known else self.outside(node, node.id)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return self.outside(node, node.attr)

    def outside(self, node: ast.expr, name: str) -> ast.expr:
        """Return the name of a number that is defined outside."""
        value = called(node, self.outer)
        if not isinstance(value, (int, float)) or self.known.setdefault(name, value) != value:
            raise UnwritableError
        return ast.Name(name, ast.Load())

    def visit_Call(self, node: ast.Call) -> ast.expr:
        function = called(node.func, self.outer)
        arguments: list[Any] = node.args
        if function is where and len(arguments) == 3:
            return self.visit_IfExp(ast.IfExp(*arguments))
        if isinstance(function, FunctionType):
            arguments = [
                each if isinstance(each, ast.expr) else ast.Constant(each)
                for each in arguments_of(node, function).values()
            ]
        elif node.keywords:
            raise UnwritableError
        name = str(getattr(function, "__name__", ""))
        if self.calls.setdefault(name, function) is not function or name in self.known:
            raise UnwritableError
        return ast.Call(ast.Name(name, ast.Load()), [self.visit(each) for each in arguments], [])


def line_of(
    name: str, syntax: ast.expr, values: Mapping[str, float], outer: Mapping[str, Any]
) -> FormulaLine:
    """Return a line of one expression with its numbers."""
    resolved = Resolved(values, outer)
    found = resolved.visit(copy.deepcopy(syntax))
    formula, value = ast.unparse(found), float(resolved.value(found))
    return FormulaLine(name, formula, value, formula, resolved.known, resolved.calls)


def renamed(line: FormulaLine, names: Mapping[str, str]) -> FormulaLine:
    """Return a line with other names; raise UnwritableError if one of them is taken."""
    own = {old: new for old, new in names.items() if old in line.known}
    if any(new in line.known and new not in own for new in own.values()):
        raise UnwritableError
    pattern = NAME.sub(lambda found: own.get(found[0], found[0]), line.pattern)
    known = {own.get(name, name): value for name, value in line.known.items()}
    name = names.get(line.name, line.name)
    return replace(line, name=name, formula=pattern, pattern=pattern, known=known)
