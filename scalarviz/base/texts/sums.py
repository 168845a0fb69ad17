"""Sums as text, whose printed terms add up to the printed result.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from scalarviz.base.texts.decimals import rounded, short, typeset

MANY = 2, 3, 4, 5, 6, 7, 8  # significant digits of a number, few enough to be followed
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


def share_words(scores: Sequence[float], at: int) -> list[str]:
    """Return a score, its power, the sum of all powers and its share, with digits that agree."""
    total: float = sum([math.exp(each) for each in scores])
    score, part = scores[at], rounded(math.exp(scores[at]), 3)
    share = likely(math.exp(score) / total)
    above, below = [rounded(score, each) for each in MANY], [rounded(total, each) for each in MANY]
    fits = [each for each in above if rounded(math.exp(float(each)), 3) == part]
    divides = [each for each in below if likely(float(part) / float(each)) == share]
    return [typeset(each) for each in [[*fits, above[3]][0], part, [*divides, below[3]][0], share]]


def likely(share: float) -> str:
    """Return a share with two decimal places, or two digits if it is smaller."""
    return short(share) if share >= 0.005 else rounded(share)
