"""Sums as text, whose printed terms add up to the printed result.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from scalarviz.base.texts.decimals import typeset

DIGITS = 2, 3  # decimal places of a sum: the first with which its terms add up


def largest(numbers: Sequence[float]) -> int:
    """Return the index of the largest magnitude."""
    return top_of([abs(each) for each in numbers], 1.0)


def top_of(numbers: Sequence[float], sign: float) -> int:
    """Return the index of the largest number, or of the smallest one if sign < 0."""
    return max(range(len(numbers)), key=lambda each: sign * numbers[each])


def adds_up(terms: Sequence[float], digits: int) -> bool:
    """Return whether terms add up to their sum with a number of decimal places."""
    power: float = 10.0**digits
    return sum([round(power * each) for each in terms]) == round(power * sum(terms))


def sum_words(terms: Sequence[float], digits: Sequence[int] = DIGITS) -> list[str]:
    """Return terms and their sum as text, with the first decimal places with which they add up.

    Otherwise the term that is closest to it is rounded the other way.
    """
    fit = [each for each in digits if adds_up(terms, each)]
    few = [*fit, digits[len(digits) - 1]][0]
    power: float = 10.0**few
    whole = [round(power * each) for each in terms]
    total = round(power * sum(terms))
    while sum(whole) != total:
        way = 1 if total > sum(whole) else -1
        rest = [way * (power * each - own) for each, own in zip(terms, whole, strict=True)]
        closest = top_of(rest, 1.0)
        whole[closest] += way
    numbers = [(each + 0) / power for each in [*whole, total]]
    return [typeset(f"{each:.{few}f}") for each in numbers]
