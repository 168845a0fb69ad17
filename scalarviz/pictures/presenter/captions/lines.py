"""Lines of a caption: equations made of terms, each about a weight or a neuron."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from scalarviz.base.texts import text
from scalarviz.core.program import NONE
from scalarviz.pictures.presenter.captions.format import (
    FEW,
    agreeing,
    exact_sum,
    said,
    written_apart,
)
from scalarviz.pictures.view.pace import TERMS
from scalarviz.training.session.caption import Neuron, Piece, Summand, Summed

SHOWN = 3  # terms of a long sum
MOST_TERMS = 64  # terms of one that is shown as a whole

Line = tuple[Piece, ...]
Words = Callable[..., str]


@dataclass(frozen=True)
class Term:
    """A part of an equation with numbers in it.

    numbers  the numbers; a term of a sum is their product
    words    makes its text from the numbers as they are written
    row      bank index of the weight that it is about, or NONE
    neuron   the neuron that it is about, or None
    mark     makes the text on the weight's cube; None for none
    stays    whether it is shown however long the sum is
    exact    whether its numbers are not rounded
    opens    whether it stands for terms that are left out
    behind   the neuron whose delta is the second factor, or None
    """

    numbers: tuple[float, ...]
    words: Words = "{}".format
    row: int = NONE
    neuron: Neuron | None = None
    mark: Words | None = None
    stays: bool = False
    exact: bool = False
    opens: bool = False
    behind: Neuron | None = None

    @property
    def value(self) -> float:
        return math.prod(self.numbers)


PRODUCT = "{} × {}".format
SECOND_ON_CUBE = "{1}\n× {0}".format  # the second factor is the weight
FIRST_ON_CUBE = "{0}\n× {1}".format


def equation(
    parts: Sequence[Term | str],
    compute: Callable[[Sequence[float]], float],
    result: float,
    *,
    about: Neuron | None = None,
    least: int = FEW,
) -> Line:
    """Return a line of terms and words, and its result.

    parts    terms, and words between them
    compute  computes the result from the numbers of all terms
    result   what the engine has
    about    the neuron whose number the result is, or None
    least    fewest digits; by default 2
    """
    terms = [part for part in parts if isinstance(part, Term)]
    values = [number for term in terms for number in term.numbers]
    exact = [term.exact for term in terms for _ in term.numbers]
    shown, ending, agrees = agreeing(values, compute, result, least, exact)
    pieces, at = [], 0
    for part in parts:
        if isinstance(part, str):
            pieces.append(Piece(part))
            continue
        own = shown[at : at + len(part.numbers)]
        at += len(part.numbers)
        mark = "" if part.mark is None else part.mark(*own)
        words = part.words(*own)
        pieces.append(Piece(words, part.row, part.neuron, mark, part.opens, part.behind))
    sign = " = " if agrees else " ≈ "
    return *pieces, Piece(sign), Piece(ending, neuron=about)


def sums(terms: Sequence[Term]) -> Callable[[Sequence[float]], float]:
    """Return what computes a sum of products from the numbers of all terms."""
    counts = [len(term.numbers) for term in terms]

    def total(numbers: Sequence[float]) -> float:
        found, at = 0.0, 0
        for count in counts:
            found += math.prod(numbers[at : at + count])
            at += count
        return found

    return total


def between(parts: Sequence[Term], sign: str = " + ") -> list[Term | str]:
    """Return terms with a sign between them."""
    found: list[Term | str] = []
    for part in parts:
        found += [sign, part] if found else [part]
    return found


def signed(value: float) -> list[Term | str]:
    """Return a number that is subtracted, with its sign before it."""
    return [" + " if value < 0.0 else " - ", Term((abs(value),))]


def in_brackets(number: str) -> str:
    """Return a number that a sign or a power stands beside: a negative one in brackets."""
    return f"({number})" if number.startswith("-") else number


def sum_line(
    terms: Sequence[Term],
    result: float,
    *,
    keep: int = NONE,
    about: Neuron | None = None,
    start: str = "",
    most: int = SHOWN,
) -> Line:
    """Return a sum of products and its result, or a note if a weight was changed since.

    terms   all terms, in the order of the picture; those that stay are the last ones
    result  what the engine has
    keep    place of a term that is shown in any case
    about   the neuron whose number it is
    start   words before the sum
    most    terms that are shown of a long sum; the others are one term
    """
    if is_changed(terms, result):
        return (Piece(text("captions.changed", result=said(result, 3)), neuron=about),)
    found = shortened(terms, keep, most)
    pieces = [start, *between(found)] if start else between(found)
    return equation(pieces, sums(found), result, about=about)


def is_changed(terms: Sequence[Term], result: float) -> bool:
    """Return whether a sum is not the result, since a weight was changed after the engine added."""
    parts = np.array([term.value for term in terms])
    rough = 2e-3 * float(np.abs(parts).sum()) + 1e-6  # tolerance for parts in half precision
    return abs(float(parts.sum()) - result) > rough


def summed(
    terms: Sequence[Term], result: float, one: Neuron, *, back: bool = False
) -> Summed | None:
    """Return a sum whose largest terms travel; None if there is none to show.

    terms   all terms, in the order of the picture: the number of a neuron, and the weight
    result  what the engine has
    one     the neuron "1", from which the bias comes
    back    whether the weight is the first factor
    """
    if is_changed(terms, result) or not math.isfinite(result):
        return None
    order = sorted(range(len(terms)), key=lambda i: -abs(terms[i].value))
    largest, others = sorted(order[:TERMS]), order[TERMS:]
    found = []
    for term in (terms[i] for i in largest):
        number, weight = (1.0, *term.numbers)[-2:][:: -1 if back else 1]
        found.append(Summand(term.row, term.neuron or one, number, weight))
    rest = exact_sum(terms[i].value for i in others) if others else None
    return Summed(tuple(found), rest, result)


def whole_line(
    terms: Sequence[Term],
    result: float,
    *,
    keep: int = NONE,
    about: Neuron | None = None,
    start: str = "",
) -> Line:
    """Return a sum with all its terms; its digits are its own, since it may need many."""
    return written_apart(
        lambda: sum_line(terms, result, keep=keep, about=about, start=start, most=MOST_TERMS)
    )


def ending_on(line: Line, row: int) -> Line:
    """Return a line whose result stands on the cube of a weight, as its grad."""
    *start, last = line
    return *start, replace(last, row=row, mark=f"gradient\n{last.words}")


def shortened(terms: Sequence[Term], keep: int, most: int) -> list[Term]:
    """Return the largest terms of a long sum in their order, and one term for all others."""
    free = [i for i, term in enumerate(terms) if not term.stays]
    if len(free) <= most + 1:
        return list(terms)
    order = sorted(free, key=lambda i: (i != keep, -abs(terms[i].value)))
    shown, others = sorted(order[:most]), order[most:]
    rest = exact_sum(terms[i].value for i in others)
    words = text("captions.more", count=len(others), rest="{}")
    stays = [term for term in terms if term.stays]
    return [*(terms[i] for i in shown), Term((rest,), words.format, opens=True), *stays]


def is_long(terms: Sequence[Term]) -> bool:
    """Return whether a line leaves some terms out."""
    return sum(not term.stays for term in terms) > SHOWN + 1


def listed(values: Sequence[float], digits: int = 3) -> str:
    """Return some numbers, separated by commas."""
    shown = [said(float(value), digits) for value in values[:SHOWN]]
    left = len(values) - SHOWN
    return ", ".join([*shown, *([text("captions.others", count=left)] if left > 0 else [])])
