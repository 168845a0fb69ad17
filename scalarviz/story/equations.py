"""Equations and tables with numbers: a calculator agrees with every line."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import decimals, text
from scalarviz.core.formulas.formula_words import in_words
from scalarviz.core.program import NONE
from scalarviz.scene.pace import TERMS
from scalarviz.story.caption import CardLine, CardTable, Neuron, Piece, Summand, Summed
from scalarviz.story.formats import (
    FEW,
    MOST,
    agreeing,
    both,
    digits_between,
    exact_sum,
    fill,
    last_place,
    said,
    value_of,
    written_apart,
)
from scalarviz.training.session.explanation import Explanation, FormulaLine

SHOWN_TERMS = 3  # terms of a long sum
MOST_TERMS = 64  # terms of one that is shown as a whole

CaptionLine = tuple[Piece, ...]
Words = Callable[..., str]


@dataclass(frozen=True)
class EquationTerm:
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
    parts: Sequence[EquationTerm | str],
    compute: Callable[[Sequence[float]], float],
    result: float,
    *,
    about: Neuron | None = None,
    least: int = FEW,
) -> CaptionLine:
    """Return a line of terms and words, and its result.

    parts    terms, and words between them
    compute  computes the result from the numbers of all terms
    result   what the engine has
    about    the neuron whose number the result is, or None
    least    fewest digits; by default 2
    """
    terms = [part for part in parts if isinstance(part, EquationTerm)]
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


def sums(terms: Sequence[EquationTerm]) -> Callable[[Sequence[float]], float]:
    """Return what computes a sum of products from the numbers of all terms."""
    counts = [len(term.numbers) for term in terms]

    def total(numbers: Sequence[float]) -> float:
        found, at = 0.0, 0
        for count in counts:
            found += math.prod(numbers[at : at + count])
            at += count
        return found

    return total


def between(parts: Sequence[EquationTerm], sign: str = " + ") -> list[EquationTerm | str]:
    """Return terms with a sign between them."""
    found: list[EquationTerm | str] = []
    for part in parts:
        found += [sign, part] if found else [part]
    return found


def signed(value: float) -> list[EquationTerm | str]:
    """Return a number that is subtracted, with its sign before it."""
    return [" + " if value < 0.0 else " - ", EquationTerm((abs(value),))]


def in_brackets(number: str) -> str:
    """Return a number that a sign or a power stands beside: a negative one in brackets."""
    return f"({number})" if number.startswith("-") else number


def sum_line(
    terms: Sequence[EquationTerm],
    result: float,
    *,
    keep: int = NONE,
    about: Neuron | None = None,
    start: str = "",
    most: int = SHOWN_TERMS,
) -> CaptionLine:
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


def is_changed(terms: Sequence[EquationTerm], result: float) -> bool:
    """Return whether a sum is not the result, since a weight was changed after the engine added."""
    parts = np.array([term.value for term in terms])
    rough = 2e-3 * float(np.abs(parts).sum()) + 1e-6  # tolerance for parts in half precision
    return abs(float(parts.sum()) - result) > rough


def summed(
    terms: Sequence[EquationTerm], result: float, one: Neuron, *, back: bool = False
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
    terms: Sequence[EquationTerm],
    result: float,
    *,
    keep: int = NONE,
    about: Neuron | None = None,
    start: str = "",
) -> CaptionLine:
    """Return a sum with all its terms; its digits are its own, since it may need many."""
    return written_apart(
        lambda: sum_line(terms, result, keep=keep, about=about, start=start, most=MOST_TERMS)
    )


def ending_on(line: CaptionLine, row: int) -> CaptionLine:
    """Return a line whose result stands on the cube of a weight, as its grad."""
    *start, last = line
    return *start, replace(last, row=row, mark=f"gradient\n{last.words}")


def shortened(terms: Sequence[EquationTerm], keep: int, most: int) -> list[EquationTerm]:
    """Return the largest terms of a long sum in their order, and one term for all others."""
    free = [i for i, term in enumerate(terms) if not term.stays]
    if len(free) <= most + 1:
        return list(terms)
    order = sorted(free, key=lambda i: (i != keep, -abs(terms[i].value)))
    shown, others = sorted(order[:most]), order[most:]
    rest = exact_sum(terms[i].value for i in others)
    words = text("captions.more", count=len(others), rest="{}")
    stays = [term for term in terms if term.stays]
    return [*(terms[i] for i in shown), EquationTerm((rest,), words.format, opens=True), *stays]


def is_long(terms: Sequence[EquationTerm]) -> bool:
    """Return whether a line leaves some terms out."""
    return sum(not term.stays for term in terms) > SHOWN_TERMS + 1


def listed(values: Sequence[float], digits: int = 3) -> str:
    """Return some numbers, separated by commas."""
    shown = [said(float(value), digits) for value in values[:SHOWN_TERMS]]
    left = len(values) - SHOWN_TERMS
    return ", ".join([*shown, *([text("captions.others", count=left)] if left > 0 else [])])


# Tables of products, and the lines of an optimizer, on cards.

LEAST_EXPONENT = -290  # power of ten of a first digit; that of the last one is a float, too
MOST_ROWS = 40  # rows of a table that are written out
LONGEST_FORMULA = 110  # letters of a formula that is written out
SPREAD = 5  # digits of the largest number of a column
NAME = re.compile(r"\b[A-Za-z_]\w*\b")
CORRECTED = re.compile(r"\b(\w+) / (correction\d?)\b")
ALONE = re.compile(r"(?<!\w)\((\w+)\)")  # brackets around a name, not those of a function
CORRECTION = re.compile(r"1(?:\.0)? - power\((\w+), step\)")
FUNCTIONS: dict[str, Callable[..., float]] = {
    "sqrt": math.sqrt,
    "power": pow,
    "sign": lambda x: float(np.sign(x)),
    "clip": lambda x, limit: max(-limit, min(limit, x)),
}


@dataclass(frozen=True)
class ProductRow:
    """A row of a table: its name, two factors, and their product."""

    name: str
    first: float
    second: float

    @property
    def value(self) -> float:
        return self.first * self.second


def product_table(
    head: Sequence[str],
    products: Sequence[ProductRow],
    total: str,
    *,
    marked: int = NONE,
    least: int = FEW,
) -> CardTable:
    """Return products, one to a row, and their sum.

    head      names of the four columns
    products  all of them, in order
    total     name of the sum; "" for none
    marked    index of the row of the focus sample, or NONE
    least     digits of the sum, if it can have them; by default 2
    """
    shown = products[:MOST_ROWS]
    values = np.array([each.value for each in products])
    if not np.isfinite(values).all():
        rows = [(p.name, said(p.first), said(p.second), said(p.value)) for p in shown]
        return CardTable(head, rows, rests_of(values, "", len(shown)), marked=marked)
    for digits in (least, max(FEW, least - 1), *range(least + 1, MOST + 1)):
        column = NumberColumn.of(values, digits, has_total=bool(total))
        if column.agrees:
            break
    rows = []
    for i, each in enumerate(shown):
        first, second = factors(each, column.terms[i], column.place)
        rows.append((each.name, first, second, column.write(column.terms[i])))
    rests = rests_of(values, column, len(shown))
    sum_of = (total, "", "", column.write(column.total, column.total_place)) if total else ()
    return CardTable(head, rows, rests, sum_of, marked)


@dataclass(frozen=True)
class NumberColumn:
    """Numbers that end at the same decimal place, 10 ** place, and their sum at another one.

    terms   the numbers, rounded
    rests   the rounded sums of the numbers from each index on
    agrees  whether the numbers as they are written add up to the sum as it is written, with any
            number of them written and the others added up
    """

    terms: FloatArray
    rests: FloatArray
    total: float
    place: int
    total_place: int
    exponent: int
    agrees: bool

    @staticmethod
    def of(values: FloatArray, digits: int, *, has_total: bool) -> NumberColumn:
        """Round numbers, so that their sum has some digits."""
        total, largest = math.fsum(values), float(np.abs(values).max(initial=0.0))
        top = exponent_of(largest)
        finest = top - SPREAD
        total_place = max(exponent_of(total) - digits + 1, finest + 1)
        place = total_place - (len(values) > 1)
        if not has_total:
            total_place = place = max(top - digits, finest)
        if top < decimals.MOST:
            total_place, place = min(total_place, 0), min(place, 0)
        rest = np.cumsum(values[::-1])[::-1]
        terms, rests = rounded_to(values, place), rounded_to(np.append(rest, 0.0), place)
        written = float(rounded_to(np.array([total]), total_place)[0])
        shown = np.concatenate([[0.0], np.cumsum(terms[:MOST_ROWS])])
        sums = shown + rests[: len(shown)]
        agrees = bool((np.abs(sums - written) < 0.4999 * 10.0**total_place).all())
        return NumberColumn(terms, rests, written, place, total_place, top, agrees or not has_total)

    def write(self, value: float, place: int | None = None) -> str:
        """Return a number that ends at a decimal place."""
        return written_to(value, self.place if place is None else place, self.exponent)


def exponent_of(value: float) -> int:
    """Return the power of ten of the first digit."""
    return max(LEAST_EXPONENT, math.floor(math.log10(abs(value)))) if value else decimals.LEAST


def rounded_to(values: FloatArray, place: int) -> FloatArray:
    found: FloatArray = np.round(values / 10.0**place) * 10.0**place
    return found


def written_to(value: float, place: int, exponent: int) -> str:
    """Return a number that ends at a decimal place, in a column whose largest has this exponent."""
    if value == 0.0:
        return "0"
    if decimals.LEAST <= exponent < decimals.MOST:
        return decimals.stripped(f"{value + 0.0:.{max(0, -place)}f}")
    mantissa = decimals.stripped(f"{value / 10.0**exponent:.{max(0, exponent - place)}f}")
    return f"{mantissa}e{exponent}"


def factors(product: ProductRow, result: float, place: int) -> tuple[str, str]:
    """Return two factors with as few digits as make their product the written one."""
    for digits in range(FEW, MOST + 3):
        shown = said(product.first, digits), said(product.second, digits)
        if abs(float(shown[0]) * float(shown[1]) - result) < 0.4999 * 10.0**place:
            break
    return shown


def rests_of(values: FloatArray, column: NumberColumn | str, most: int) -> list[tuple[str, ...]]:
    """Return what stands for the rows that are left out, by the number of those shown."""
    found: list[tuple[str, ...]] = []
    for count in range(most + 1):
        left = len(values) - count
        rest = column if isinstance(column, str) else column.write(float(column.rests[count]))
        found.append((text("card.more", count=left), "", "", rest) if left else ())
    return found


def change_between(old: float, new: float) -> tuple[str, str, str]:
    """Return two numbers, and their difference, with as few digits as make them agree."""
    least = digits_between(old, new)
    if not math.isfinite(new - old):
        return said(old, least), said(new, least), said(new - old)
    for digits in range(least, max(least, MOST + 2) + 1):
        shown = said(old, digits), said(new, digits)
        by = said(new - old)
        if abs(float(shown[1]) - float(shown[0]) - float(by)) < 0.4999 * last_place(new - old, FEW):
            break
    return *shown, by


# The optimizer.


@dataclass(frozen=True)
class WrittenNumbers:
    """Numbers as they are written elsewhere on the card: weight before and after, and gradient."""

    old: str
    new: str
    grad: str


def optimizer_rows(
    lines: Sequence[FormulaLine], slots: Sequence[str], found: Explanation, known: WrittenNumbers
) -> list[CardLine]:
    """Return the lines of an optimizer with numbers in place of names.

    lines  of an Explanation
    slots  numbers that the optimizer keeps for each weight
    found  the Explanation
    known  numbers that are on the card
    """
    rows = []
    powers = {
        line.name: match[1]
        for line in lines
        if (match := CORRECTION.fullmatch(line.pattern)) is not None
    }
    changing = {"w", "g", "scale", *slots, *(f"{slot}_corrected" for slot in slots)}
    changing |= {line.name for line in lines if not is_exact(line)}
    for i, line in enumerate(lines):
        is_last = i == len(lines) - 1
        is_own = line.is_own_rate
        name = text("card.own_rate") if is_own else title_of_line(line.name, is_last)
        if line.name == "g" and not line.pattern:
            rows.append(CardLine(text("card.no_grad")))
        elif line.name == "w" and not line.pattern:
            rows.append(CardLine(text("card.refused")))
        elif not line.pattern and line.name in slots:
            rows.append(CardLine("{}: {} → {}".format(name, *both(line.known[name], line.value))))
        elif is_own and not line.pattern:
            rows.append(CardLine(f"{name} = {exactly(line.value)}"))
        elif line.pattern and (line.name == "lr" or not line.is_same):
            rows += corrections(line, powers, changing)
            own = {"g": known.grad} if line.known.get("g") == found.grad else {}
            own |= {"w": known.old} if line.known.get("w") == found.value else {}
            result = known.new if is_last else ""
            rows.append(equation_of(corrected(line), name, changing, own, result))
    return rows


def is_exact(line: FormulaLine) -> bool:
    """Return whether a number is written with all its digits: a rate, or a short constant."""
    return line.name == "lr" or (line.is_same and is_short(line.value))


def is_short(value: float) -> bool:
    """Return whether a number has at most two digits."""
    return math.isclose(float(f"{value:.1e}"), value, rel_tol=1e-12)


def title_of_line(name: str, is_last: bool) -> str:
    """Return what a line of the optimizer is called on a card."""
    if name == "w":
        return text("card.new_w") if is_last else text("card.decayed")
    if name == "g":
        return text("card.head.grad")
    return text("card.rate") if name == "lr" else name


def corrections(
    line: FormulaLine, powers: Mapping[str, str], changing: Collection[str]
) -> list[CardLine]:
    """Return a line for each number that is divided by a correction, such as Adam's m and v."""
    found = []
    for name, correction in CORRECTED.findall(line.pattern):
        pattern = f"{name} / (1 - {powers[correction]}^step)"
        value = line.known[name] / line.known[correction]
        own = FormulaLine("", "", value, pattern, line.known)
        found.append(equation_of(own, text("card.corrected", name=name), changing))
    return found


def corrected(line: FormulaLine) -> FormulaLine:
    """Return a line with the corrected numbers in the place of their quotients."""
    known = dict(line.known)
    for name, correction in CORRECTED.findall(line.pattern):
        known[f"{name}_corrected"] = known[name] / known[correction]
    pattern = ALONE.sub(r"\1", CORRECTED.sub(r"\1_corrected", line.pattern))
    return replace(line, pattern=pattern, known=known)


def equation_of(
    line: FormulaLine,
    name: str,
    changing: Collection[str],
    own: Mapping[str, str] | None = None,
    result: str = "",
) -> CardLine:
    """Return a formula with numbers: "new w = 0.54 - 0.5 × 0.036 = 0.52".

    line      the formula
    name      what its value is called
    changing  names of numbers that need not be exact; the others are settings
    own       some numbers as they are written elsewhere
    result    the value as it is written elsewhere; "": with as few digits as agree
    """
    names = [n for n in dict.fromkeys(NAME.findall(line.pattern)) if n in line.known]
    fixed = {n: exactly(line.known[n]) for n in names if n not in changing}
    code = compile(line.pattern.replace("^", "**"), "<formula>", "eval")
    functions = {**FUNCTIONS, **line.calls}
    words = in_words(line.pattern, names, functions) or line.pattern
    for given in (fixed | dict(own or {}), fixed):
        free = [n for n in names if n not in given]
        compute = partial(evaluated, code, functions, given, free)
        values = [line.known[n] for n in free]
        least = (
            digits_between(line.known["w"], line.value)
            if line.name == "w" and "w" in names
            else FEW
        )
        shown, ending, agrees = agreeing(values, compute, line.value, least)
        if result:
            shown, agrees = until(values, compute, result)
            ending = result
        if agrees:
            break
    formula = fill(words, {**given, **dict(zip(free, shown, strict=True))})
    if len(formula) > LONGEST_FORMULA:
        formula = "..."
    sign = "=" if agrees else "≈"
    return CardLine(f"{name} = {formula.replace('+ -', '- ')} {sign} {ending}")


def evaluated(
    code: Any,
    functions: Mapping[str, Callable[..., float]],
    given: Mapping[str, str],
    names: Sequence[str],
    numbers: Sequence[float],
) -> float:
    """Return what a compiled formula gives with some numbers as written, and others."""
    known = {name: float(number) for name, number in given.items()}
    known |= dict(zip(names, numbers, strict=True))
    return float(eval(code, {"__builtins__": {}, **functions}, known))


def until(
    values: Sequence[float], compute: Callable[[Sequence[float]], float], result: str
) -> tuple[list[str], bool]:
    """Return numbers with as few digits as give a result that is written already."""
    decimals = len(result.partition("e")[0].partition(".")[2])
    place = 10.0 ** (int(result.partition("e")[2] or 0) - decimals)
    for digits in range(FEW, MOST + 3):
        shown = [said(value, digits) for value in values]
        if abs(value_of(compute, shown) - float(result)) <= 0.5 * place:
            return shown, True
    return shown, False


def exactly(value: float) -> str:
    """Return a setting, such as a rate, with all of its digits."""
    shown = [said(value, digits) for digits in range(1, 9)]
    return next((each for each in shown if float(each) == value), shown[-1])
