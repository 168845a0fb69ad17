"""Formatting of numbers, sums and formulas in captions."""

from __future__ import annotations

import re

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.texts import text

DIGITS = 3
SHOWN = 3  # terms of a long formula
NAME = re.compile(r"\b[A-Za-z_]\w*\b\^?")


def said(value: float, digits: int = DIGITS) -> str:
    """Return a number with three digits: 0.154, 1230, 1.4e-8, and never -0."""
    written = f"{float(f'{value:.{digits}g}') + 0.0:.12g}"
    return re.sub(r"e([+-])0*", lambda found: "e" + found[1].replace("+", ""), written)


def both(old: float, new: float) -> tuple[str, str]:
    """Return two numbers with as many digits as distinguish them."""
    digits = DIGITS
    while old != new and digits < 9 and said(old, digits) == said(new, digits):
        digits += 1
    return said(old, digits), said(new, digits)


def fill(formula: str, **numbers: float) -> str:
    """Return a formula with numbers in place of known names."""

    def number(found: re.Match[str]) -> str:
        name = found[0].rstrip("^")
        if name not in numbers:
            return found[0]
        written = said(numbers[name])
        is_power = found[0] != name
        return f"({written})^" if is_power and written.startswith("-") else written + "^" * is_power

    return NAME.sub(number, formula)


def chosen(count: int, keep: int = 0) -> list[int]:
    """Return the indices of the terms that are shown: the first ones, and `keep`."""
    shown = list(range(min(count, SHOWN)))
    return shown if keep < SHOWN else [*shown[:-1], keep]


def more(count: int) -> list[str]:
    """Return the text for the terms that are not shown."""
    return [text("captions.more", count=count - SHOWN)] if count > SHOWN else []


def products(first: FloatArray, second: FloatArray, keep: int = 0) -> list[str]:
    """Return the terms of a sum of products."""
    shown = [f"{said(first[i])} * {said(second[i])}" for i in chosen(len(first), keep)]
    return [*shown, *more(len(first))]


def largest_products(first: FloatArray, second: FloatArray) -> list[str]:
    """Return the largest terms of a long sum, most of which may be 0."""
    order = np.argsort(-np.abs(first * second), kind="stable")
    return products(first[order], second[order])


def listed(values: FloatArray) -> str:
    """Return some numbers, separated by commas."""
    return ", ".join([*(said(float(value)) for value in values[:SHOWN]), *more(len(values))])


def equation(terms: list[str], parts: FloatArray, result: float) -> str:
    """Return a sum and its result, or a note if a weight was changed since."""
    rough = 2e-3 * float(abs(parts).sum()) + 1e-6  # tolerance for parts in half precision
    if abs(float(parts.sum()) - result) > rough:
        return text("captions.changed", result=said(result))
    return f"{' + '.join(terms).replace('+ -', '- ')} = {said(result)}"
