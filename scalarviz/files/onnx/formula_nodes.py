"""FormulaNodes: formulas written as nodes of plain operators, from their source."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, final

import numpy as np

from scalarviz.core.formulas.formula_trees import Tree, function_tree
from scalarviz.core.formulas.formula_words import UnwritableError

OPERATORS = {
    "+": "Add", "-": "Sub", "*": "Mul", "/": "Div", "divide": "Div", "**": "Pow", "power": "Pow",
    "<": "Less", "<=": "LessOrEqual", ">": "Greater", ">=": "GreaterOrEqual", "==": "Equal",
    "neg": "Neg", "not": "Not", "and": "And", "or": "Or", "abs": "Abs", "min": "Min", "max": "Max",
    "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "sin": "Sin", "cos": "Cos", "tanh": "Tanh",
    "sign": "Sign", "if": "Where",
}  # fmt: skip
TRUTHS = {"<", "<=", ">", ">=", "==", "not", "and", "or"}
CONSTANTS = {"inf": np.inf, "nan": np.nan}


def is_writable(function: Callable[..., Any], *given: str) -> bool:
    """Return whether a formula can be written, of arguments of these names."""
    try:
        Trial().formula(function, *given)
    except UnwritableError:
        return False
    return True


class FormulaNodes(ABC):
    """What nodes are appended to, which formulas can be written as."""

    def __init__(self) -> None:
        self._truths: set[str] = set()  # names of what is true or false

    @abstractmethod
    def put(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Append a node, and return the name of its result."""

    @abstractmethod
    def number(self, value: float) -> str:
        """Return the name of a constant."""

    @final
    def formula(self, function: Callable[..., Any], *given: str | float, place: int = 0) -> str:
        """Write a formula; raise UnwritableError if it is no plain function of numbers.

        given  its arguments: names of values, or numbers
        place  which number of those that it returns
        """
        tree = function_tree(function, place)
        if tree is None:
            raise UnwritableError
        return self.value(self._called(tree, given))

    @final
    def value(self, found: str | float) -> str:
        """Return the name of a value, or of a number."""
        return found if isinstance(found, str) else self.number(found)

    def _called(self, function: Tree, given: tuple[str | float, ...]) -> str | float:
        return self._made(function["result"], dict(zip(function["names"], given, strict=True)))

    def _made(self, tree: Tree, known: Mapping[str, str | float]) -> str | float:
        if isinstance(tree, str):
            return known[tree]
        if not isinstance(tree, list):
            return float(tree)
        word, *parts = tree
        if word == "let":
            name, given, rest = parts
            return self._made(rest, {**known, name: self._made(given, known)})
        if word == "call":
            return self._called(parts[0], tuple([self._made(part, known) for part in parts[1:]]))
        found = [self._made(part, known) for part in parts]
        if word == "==" and not any(isinstance(each, str) for each in found):
            return float(found[0] == found[1])
        if word == "if" and not isinstance(found[0], str):
            return found[1] if found[0] else found[2]
        return self._word(word, [self.value(each) for each in found])

    def _word(self, word: str, parts: list[str]) -> str | float:
        """Write one operation of a tree."""
        if word in CONSTANTS:
            return CONSTANTS[word]
        if word == "float":
            return parts[0]
        if word in ("!=", "==") and parts[0] in self._truths:  # compared with 0
            return parts[0] if word == "!=" else self._truth("Not", *parts[:1])
        if word == "!=":
            return self._truth("Not", self._truth("Equal", *parts))
        one = self.number(1.0)
        if word == "erfc":
            return self.put("Sub", one, self.put("Erf", *parts))
        if word == "expm1":
            return self.put("Sub", self.put("Exp", *parts), one)
        if word == "log1p":
            return self.put("Log", self.put("Add", *parts, one))
        if word not in OPERATORS:
            raise UnwritableError
        write = self._truth if word in TRUTHS else self.put
        return write(OPERATORS[word], *parts)

    def _truth(self, operator: str, *parts: str) -> str:
        """Append a node whose result is true or false."""
        found = self.put(operator, *parts)
        self._truths.add(found)
        return found


@final
class Trial(FormulaNodes):
    """Nodes that nobody keeps."""

    def put(self, operator: str, *inputs: str, **attributes: Any) -> str:
        return operator

    def number(self, value: float) -> str:
        return str(value)
