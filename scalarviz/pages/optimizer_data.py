"""What a page knows of an optimizer: its settings, and the lines of its update as trees."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from scalarviz.core.formulas.formula_trees import expression_tree, function_tree
from scalarviz.core.formulas.formula_words import in_words, variables
from scalarviz.core.formulas.optimizers import OptimizerRow
from scalarviz.core.optimizer import Optimizer
from scalarviz.story.captions import Numbered
from scalarviz.story.equations import CORRECTED, CORRECTION, FUNCTIONS, corrected
from scalarviz.training.session.explanation import FormulaLine, constant_lines, update_lines

Data = dict[str, Any]  # what JSON can hold

PROBES = 0.5, -2.0, 0.0  # numbers that take all ways of usual conditions


def optimizer_data(optimizer: Optimizer, *, mixed: bool) -> Data:
    """Return an optimizer: its settings, and the lines of its formulas.

    mixed  whether the network has mixed precision, where no step is refused

    `updates` are the lines that a weight can have, of which those hold whose result is that of
    `whole`, the update as a tree; there are none if they have more than arithmetic.
    """
    row, schedule = optimizer.row, optimizer.schedule
    constants, updates = lines_of(row, optimizer.settings)
    whole = function_tree(row.update)
    return {
        "name": row.name,
        "lr": optimizer.lr,
        "ownRates": [list(span) for span in optimizer.own_rates.spans],
        "settings": dict(optimizer.settings),
        "slots": list(row.slots),
        "l1": optimizer.l1,
        "l2": optimizer.l2,
        "clipValue": finite(optimizer.clip_value),
        "clipNorm": finite(optimizer.clip_norm),
        "refuses": optimizer.not_finite == "error" and not mixed,
        "schedule": schedule.name,
        "factor": function_tree(schedule.row.factor),
        "factorSettings": list(schedule.settings.values()),
        "constants": constants,
        "updates": updates if whole is not None else [],
        "whole": whole,
    }


def lines_of(row: OptimizerRow, settings: Mapping[str, float]) -> tuple[list[Data], list[Any]]:
    """Return the lines of the constants of an optimizer, and those of its update in all cases."""
    changing = ["w", "g", *row.slots]
    found: dict[tuple[str, ...], list[Data]] = {}
    constants: list[Data] = []
    for numbers in product(PROBES, repeat=len(changing)):
        known = dict(zip(changing, numbers, strict=True)) | {"lr": 0.5, **settings, "step": 1.0}
        lines = constant_lines(row, known)
        matches = [(each.name, CORRECTION.fullmatch(each.pattern)) for each in lines]
        powers = {name: match[1] for name, match in matches if match is not None}
        update = update_lines(row, known)
        key = tuple(f"{each.name} = {each.pattern}" for each in update)
        if key not in found:
            constants = [constant_data(each, row) for each in lines]
            found[key] = [line_data(each, powers) for each in update]
    every = [*constants, *(line for lines in found.values() for line in lines)]
    if any(line["tree"] is None for line in every):
        return [], []
    return constants, [*found.values()]


def constant_data(line: FormulaLine, row: OptimizerRow) -> Data:
    """Return a number that is the same for all weights, and how it is computed."""
    tree = expression_tree(line.pattern, line.known, variables(row.constants))
    return {"name": line.name, "same": True, "tree": tree}


def line_data(line: FormulaLine, powers: Mapping[str, str]) -> Data:
    """Return a line: as it is written and as a tree, once with and once without numbers.

    powers  settings whose powers make the corrections that numbers are divided by, by the names of
            these corrections

    `numbered` has _0_, _1_ ... in place of its numbers, `card` the formula as cards write it, and
    what they write before it.
    """
    functions = {**FUNCTIONS, **line.calls}
    short = corrected(line)
    divided = CORRECTED.findall(line.pattern)
    return {
        "name": line.name,
        "formula": line.formula,
        "tree": expression_tree(line.pattern, line.known, functions),
        "words": in_words(line.formula, line.known, line.calls) or line.formula,
        "numbered": numbered_data(line),
        "card": formula_data(short.pattern, short.known, functions),
        "corrections": [
            {
                "name": name,
                "by": by,
                "card": formula_data(f"{name} / (1 - {powers[by]}^step)", line.known, FUNCTIONS),
            }
            for name, by in divided
        ],
    }


def formula_data(formula: str, known: Mapping[str, float], functions: Mapping[str, Any]) -> Data:
    """Return a formula of a card: its text, its tree, and its names in their order."""
    code = formula.replace("^", "**")
    names = [node.id for node in nodes_of(code) if isinstance(node, ast.Name) and node.id in known]
    return {
        "words": in_words(formula, names, functions) or formula,
        "tree": expression_tree(code, known, functions),
        "names": list(dict.fromkeys(names)),
    }


def nodes_of(code: str) -> Sequence[ast.Name]:
    """Return the names in an expression, in the order of the text."""
    found = [node for node in ast.walk(ast.parse(code, mode="eval")) if isinstance(node, ast.Name)]
    return sorted(found, key=lambda node: node.col_offset)


def numbered_data(line: FormulaLine) -> Data:
    """Return a line with _0_, _1_ ... in place of its numbers, as text and as a tree."""
    numbered = Numbered(constants=line.formula != line.pattern)
    code = ast.unparse(numbered.visit(ast.parse(line.formula, mode="eval")))
    names = [f"_{i}_" for i in range(len(numbered.numbers))]
    functions = {**FUNCTIONS, **line.calls}
    return {
        "words": in_words(code, names, functions),
        "numbers": numbered.numbers,
        "tree": expression_tree(code, names, functions),
    }


def finite(value: float) -> float | None:
    """Return a limit; None for infinity, which JSON lacks."""
    return value if math.isfinite(value) else None
