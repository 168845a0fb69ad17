"""Numbers and formulas in captions, with few digits that still agree with a calculator."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

from scalarviz.base.texts.decimals import MOST as MOST_POWER
from scalarviz.base.texts.decimals import rounded

Made = TypeVar("Made")

FEW, MOST = 2, 6  # digits of numbers; more only if differences would vanish
FINEST = 9
MOST_ALIKE = 5  # maximum digits for writing a number alike in a whole caption
TRIES = 6
NAME = re.compile(r"\b[A-Za-z_]\w*\b\^?", re.ASCII)
# A product without a sign, as in 2 (p - t).
BESIDE = re.compile(r"(\d|\)|\b[aptz]) (?=\(|[aptz]\b)", re.ASCII)
SQUARE = re.compile(r"\^2(?![\d.])", re.ASCII)
EXPONENT = re.compile(r"\^(-[\d.]+(?:e-?\d+)?)", re.ASCII)


@dataclass
class CaptionDigits:
    """The digits of the numbers in one caption.

    Attributes:
        least: minimum number of digits of each number, by the key that `key_of` returns
        writings: texts of each number so far, with their digits
    """

    least: dict[str, int] = field(default_factory=dict)
    writings: dict[str, dict[str, int]] = field(default_factory=dict)


DIGITS: ContextVar[CaptionDigits | None] = ContextVar("digits", default=None)


def written_alike(make: Callable[[], Made]) -> Made:
    """Return the result of `make`, in which each number has the same digits everywhere.

    If an equation needs more digits of a number than the title, the title also uses them.
    """
    digits = CaptionDigits()
    token = DIGITS.set(digits)
    try:
        for _ in range(TRIES):
            digits.writings.clear()
            made = make()
            more = {
                key: min(MOST_ALIKE, max(writings.values()))
                for key, writings in digits.writings.items()
                if len(writings) > 1
            }
            if all(digits.least.get(key, 0) >= least for key, least in more.items()):
                break
            digits.least.update(more)
    finally:
        DIGITS.reset(token)
    return made


def written_apart(make: Callable[[], Made]) -> Made:
    """Return the result of `make`, in which digits do not depend on the rest of the caption."""
    token = DIGITS.set(None)
    try:
        return make()
    finally:
        DIGITS.reset(token)


def key_of(value: float) -> str:
    """Return a key for a number; numbers that differ only by rounding or sign share it."""
    return f"{abs(value):.6g}"


def digits_of(value: float, digits: int) -> int:
    """Return how many digits to write a number with: `digits` or more."""
    known = DIGITS.get()
    return digits if known is None else max(digits, known.least.get(key_of(value), 0))


def keep(value: float, writing: str, digits: int) -> None:
    """Record how a number has been written."""
    known = DIGITS.get()
    if known is not None:
        known.writings.setdefault(key_of(value), {})[writing.lstrip("-")] = digits


def said(value: float, digits: int = FEW) -> str:
    """Return a number as text; within a caption, it has the same digits everywhere."""
    digits = digits_of(value, digits)
    writing = rounded(value, digits)
    keep(value, writing, digits)
    return writing


def figures(writing: str) -> int:
    """Return the number of digits of a written number."""
    return len(writing.partition("e")[0].lstrip("-0.").replace(".", ""))


def last_place(value: float, digits: int) -> float:
    """Return the place value of the last digit of `rounded(value, digits)`."""
    if value == 0.0:
        return 10.0**-MOST
    if not math.isfinite(value):
        return math.nan
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])
    is_whole = 0 <= exponent < MOST_POWER
    return 10.0 ** min(exponent - digits + 1, 0 if is_whole else exponent)


def both(old: float, new: float) -> tuple[str, str]:
    """Return two numbers as strings, with enough digits to distinguish them."""
    digits = digits_of(new, digits_of(old, digits_between(old, new)))
    return said(old, digits), said(new, digits)


def digits_between(old: float, new: float) -> int:
    """Return the number of digits that distinguishes two numbers."""
    digits = FEW
    while old != new and digits < FINEST and rounded(old, digits) == rounded(new, digits):
        digits += 1
    return digits


def agreeing(
    values: Sequence[float],
    compute: Callable[[Sequence[float]], float],
    result: float,
    least: int = FEW,
    exact: Sequence[bool] = (),
) -> tuple[list[str], str, bool]:
    """Return numbers and their result as text, with the fewest digits that agree.

    Args:
        values: the numbers
        compute: function that computes the result from the numbers
        result: the value as computed by the engine
        least: minimum number of digits; by default 2
        exact: for each number, whether it is not rounded; by default all are rounded

    Returns:
        The numbers and the result as strings, and whether they agree: not always in half precision.
    """
    is_number = math.isfinite(result)
    for wanted in dict.fromkeys((digits_of(result, least), least)):
        for digits in range(least, FINEST + 1 if is_number else least):
            shown = written(values, digits, exact)
            found = value_of(compute, shown)
            for fewer in range(max(digits, wanted), wanted - 1, -1):
                ending = rounded(result, fewer)
                if abs(found - float(ending)) < 0.4999 * last_place(result, fewer):
                    keep_all(values, shown, digits, exact)
                    keep(result, ending, fewer)
                    return shown, ending, True
    digits = least + is_number
    shown = written(values, digits, exact)
    keep_all(values, shown, digits, exact)
    return shown, said(result, digits), not is_number


def written(values: Sequence[float], digits: int, exact: Sequence[bool]) -> list[str]:
    """Format numbers with `digits` digits; numbers marked in `exact` get more."""
    pairs = zip(values, exact or [False] * len(values), strict=True)
    return [
        rounded(value, max(digits, MOST) if is_exact else digits_of(value, digits))
        for value, is_exact in pairs
    ]


def keep_all(
    values: Sequence[float], shown: Sequence[str], digits: int, exact: Sequence[bool]
) -> None:
    """Record how the rounded numbers have been written."""
    for value, writing, is_exact in zip(values, shown, exact or [False] * len(shown), strict=True):
        if not is_exact:
            keep(value, writing, digits_of(value, digits))


def value_of(compute: Callable[[Sequence[float]], float], shown: Sequence[str]) -> float:
    """Return the result of a computation from numbers as written."""
    try:
        return compute([float(each) for each in shown])
    except (ArithmeticError, ValueError):  # such as the log of 0
        return math.nan


def exact_sum(values: Iterable[float]) -> float:
    """Return the Neumaier compensated sum; not finite on overflow or for infinities.

    It is exact to the last digit or two.
    """
    total, lost = 0.0, 0.0
    for value in values:
        added = total + value
        is_larger = abs(total) >= abs(value)
        lost += (total - added) + value if is_larger else (value - added) + total
        total = added
    return total + lost if math.isfinite(total) else total


def pretty(formula: str) -> str:
    """Return a Python formula in mathematical notation: × for *, and ² for a square."""
    formula = BESIDE.sub(r"\1 × ", formula.replace("**", "^").replace("*", "×"))
    return SQUARE.sub("²", formula).replace("- -", "+ ")


def fill(formula: str, numbers: Mapping[str, str]) -> str:
    """Return a formula in which written numbers replace known names."""

    def number(found: re.Match[str]) -> str:
        name = found[0].rstrip("^")
        if name not in numbers:
            return found[0]
        written, is_power = numbers[name], found[0] != name
        is_minus = found.string[: found.start()].endswith("-")
        if written.startswith("-") and (is_power or is_minus):
            written = f"({written})"
        return written + "^" * is_power

    return pretty(EXPONENT.sub(r"^(\1)", NAME.sub(number, BESIDE.sub(r"\1 * ", formula))))
