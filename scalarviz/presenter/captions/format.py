"""How a story is written: the words for each operation, and how numbers look in them."""

from __future__ import annotations

import re

import numpy as np

from scalarviz.checks.numbers import FloatArray

DIGITS = 3
SHOWN = 3  # terms of a long formula
NAME = re.compile(r"\b[A-Za-z_]\w*\b\^?")

# The error of one output, and its derivative.
LOSSES = {
    "mse": ("(p - t)^2", "2 (p - t)"),
    "mae": ("|p - t|", "sign(p - t)"),
    "huber": ("huber(p - t)", "clip(p - t, -1, 1)"),
    "relative_l1": ("|p - t| / (|p| + 0.01)", "sign(p - t) / (|p| + 0.01)"),
    "relative_l2": ("(p - t)^2 / (p^2 + 0.01)", "2 (p - t) / (p^2 + 0.01)"),
    "mape": ("|p - t| / (|t| + 0.01)", "sign(p - t) / (|t| + 0.01)"),
    "smape": (
        "|p - t| / ((|p| + |t|) / 2 + 0.01)",
        "sign(p - t) / ((|p| + |t|) / 2 + 0.01)",
    ),
    "sigmoid_cross_entropy": ("(log(1 + e^p) - t * p)", "(sigmoid(p) - t)"),
    "softmax_cross_entropy": ("(-sum of t * log softmax(p))", "(softmax(p) - t)"),
}
# What is added up where there are weights; {bias} is said where there are biases, too.
WEIGHTED = {
    "affine": ("Each perceptron adds up its weighted inputs.", "z = w {x} + ..."),
    "convolution": ("Each kernel adds up what it sees in every window.", "z = w {x} + ..."),
    "scale": ("Each number gets its gain{bias}.", "y = w x"),
}
ROWS = {
    "layer_norm": (
        "Each sample is brought to mean 0 and variance 1.",
        "y = (x - mean) / sqrt(variance + eps)",
    ),
    "rms_norm": ("Each sample is brought to mean square 1.", "y = x / sqrt(mean of x^2 + eps)"),
    "frequency_encoding": (
        "Each input becomes waves, from slow to fast.",
        "y = sin(pi x), cos(pi x), sin(2 pi x), ...",
    ),
    "max_pool": ("Of each window the largest number stays.", "y = largest x of the window"),
    "average_pool": ("Of each window the mean stays.", "y = sum of x / pixels of the window"),
    "softmax": ("The numbers become shares of a whole.", "y = exp(x) / sum of exp(x)"),
}


# How numbers are written.


def said(value: float, digits: int = DIGITS) -> str:
    """A number with three digits: 0.154, 1230, 1.4e-8, and never -0."""
    text = f"{float(f'{value:.{digits}g}') + 0.0:.12g}"
    return re.sub(r"e([+-])0*", lambda found: "e" + found[1].replace("+", ""), text)


def both(old: float, new: float) -> tuple[str, str]:
    """Two numbers, with as many digits as it takes to tell them apart."""
    digits = DIGITS
    while old != new and digits < 9 and said(old, digits) == said(new, digits):
        digits += 1
    return said(old, digits), said(new, digits)


def fill(formula: str, **numbers: float) -> str:
    """A formula with numbers in place of its names; what is unknown stays."""

    def number(found: re.Match[str]) -> str:
        name = found[0].rstrip("^")
        if name not in numbers:
            return found[0]
        text = said(numbers[name])
        is_power = found[0] != name
        return f"({text})^" if is_power and text.startswith("-") else text + "^" * is_power

    return NAME.sub(number, formula)


def chosen(count: int, keep: int = 0) -> list[int]:
    """Which terms of a long formula are shown: the first, and one that must be among them."""
    shown = list(range(min(count, SHOWN)))
    return shown if keep < SHOWN else [*shown[:-1], keep]


def more(count: int) -> list[str]:
    """What stands for the terms that are not shown."""
    return [f"... {count - SHOWN} more"] if count > SHOWN else []


def products(first: FloatArray, second: FloatArray, keep: int = 0) -> list[str]:
    """The terms of a sum of products."""
    shown = [f"{said(first[i])} * {said(second[i])}" for i in chosen(len(first), keep)]
    return [*shown, *more(len(first))]


def largest_products(first: FloatArray, second: FloatArray) -> list[str]:
    """Of a sum of very many the terms that matter most; many of the others are 0."""
    order = np.argsort(-np.abs(first * second), kind="stable")
    return products(first[order], second[order])


def listed(values: FloatArray) -> str:
    """Some numbers, one after the other."""
    return ", ".join([*(said(float(value)) for value in values[:SHOWN]), *more(len(values))])


def equation(terms: list[str], parts: FloatArray, result: float) -> str:
    """A sum and its result, unless a weight was changed since it was computed."""
    rough = 2e-3 * float(abs(parts).sum()) + 1e-6  # half precision rounds each part
    if abs(float(parts.sum()) - result) > rough:
        return f"{said(result)} (a weight was changed since)"
    return f"{' + '.join(terms).replace('+ -', '- ')} = {said(result)}"


def counted(count: int, name: str) -> str:
    return f"{count:,} {name}" + "s" * (count != 1)
