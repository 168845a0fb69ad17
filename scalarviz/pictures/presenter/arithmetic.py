"""Tables and formulas of cards: a calculator agrees with every line."""

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
from scalarviz.pictures.presenter.captions.format import (
    FEW,
    MOST,
    agreeing,
    both,
    digits_between,
    fill,
    last_place,
    said,
    value_of,
)
from scalarviz.pictures.view.frame_data import Line, Table
from scalarviz.training.session.explanation import Explanation, FormulaLine

SMALLEST = -290  # power of ten of a first digit; that of the last one is a float, too
ROWS = 40  # rows of a table that are written out
LONGEST = 110  # letters of a formula that is written out
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
class Product:
    """A row of a table: its name, two factors, and their product."""

    name: str
    first: float
    second: float

    @property
    def value(self) -> float:
        return self.first * self.second


def product_table(
    head: Sequence[str],
    products: Sequence[Product],
    total: str,
    *,
    marked: int = NONE,
    least: int = FEW,
) -> Table:
    """Return products, one to a row, and their sum.

    head      names of the four columns
    products  all of them, in order
    total     name of the sum; "" for none
    marked    index of the row of the focus sample, or NONE
    least     digits of the sum, if it can have them; by default 2
    """
    shown = products[:ROWS]
    values = np.array([each.value for each in products])
    if not np.isfinite(values).all():
        rows = [(p.name, said(p.first), said(p.second), said(p.value)) for p in shown]
        return Table(head, rows, rests_of(values, "", len(shown)), marked=marked)
    for digits in (least, max(FEW, least - 1), *range(least + 1, MOST + 1)):
        column = Column.of(values, digits, has_total=bool(total))
        if column.agrees:
            break
    rows = []
    for i, each in enumerate(shown):
        first, second = factors(each, column.terms[i], column.place)
        rows.append((each.name, first, second, column.write(column.terms[i])))
    rests = rests_of(values, column, len(shown))
    sum_of = (total, "", "", column.write(column.total, column.total_place)) if total else ()
    return Table(head, rows, rests, sum_of, marked)


@dataclass(frozen=True)
class Column:
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
    def of(values: FloatArray, digits: int, *, has_total: bool) -> Column:
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
        terms, rests = rounded(values, place), rounded(np.append(rest, 0.0), place)
        written = float(rounded(np.array([total]), total_place)[0])
        shown = np.concatenate([[0.0], np.cumsum(terms[:ROWS])])
        sums = shown + rests[: len(shown)]
        agrees = bool((np.abs(sums - written) < 0.4999 * 10.0**total_place).all())
        return Column(terms, rests, written, place, total_place, top, agrees or not has_total)

    def write(self, value: float, place: int | None = None) -> str:
        """Return a number that ends at a decimal place."""
        return written(value, self.place if place is None else place, self.exponent)


def exponent_of(value: float) -> int:
    """Return the power of ten of the first digit."""
    return max(SMALLEST, math.floor(math.log10(abs(value)))) if value else decimals.LEAST


def rounded(values: FloatArray, place: int) -> FloatArray:
    found: FloatArray = np.round(values / 10.0**place) * 10.0**place
    return found


def written(value: float, place: int, exponent: int) -> str:
    """Return a number that ends at a decimal place, in a column whose largest has this exponent."""
    if value == 0.0:
        return "0"
    if decimals.LEAST <= exponent < decimals.MOST:
        return decimals.stripped(f"{value + 0.0:.{max(0, -place)}f}")
    mantissa = decimals.stripped(f"{value / 10.0**exponent:.{max(0, exponent - place)}f}")
    return f"{mantissa}e{exponent}"


def factors(product: Product, result: float, place: int) -> tuple[str, str]:
    """Return two factors with as few digits as make their product the written one."""
    for digits in range(FEW, MOST + 3):
        shown = said(product.first, digits), said(product.second, digits)
        if abs(float(shown[0]) * float(shown[1]) - result) < 0.4999 * 10.0**place:
            break
    return shown


def rests_of(values: FloatArray, column: Column | str, most: int) -> list[tuple[str, ...]]:
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
class Written:
    """Numbers as they are written elsewhere on the card: weight before and after, and gradient."""

    old: str
    new: str
    grad: str


def optimizer_rows(
    lines: Sequence[FormulaLine], slots: Sequence[str], found: Explanation, known: Written
) -> list[Line]:
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
        name = text("card.own_rate") if is_own else called(line.name, is_last)
        if line.name == "g" and not line.pattern:
            rows.append(Line(text("card.no_grad")))
        elif line.name == "w" and not line.pattern:
            rows.append(Line(text("card.refused")))
        elif not line.pattern and line.name in slots:
            rows.append(Line("{}: {} → {}".format(name, *both(line.known[name], line.value))))
        elif is_own and not line.pattern:
            rows.append(Line(f"{name} = {exactly(line.value)}"))
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


def called(name: str, is_last: bool) -> str:
    """Return what a line of the optimizer is called on a card."""
    if name == "w":
        return text("card.new_w") if is_last else text("card.decayed")
    if name == "g":
        return text("card.head.grad")
    return text("card.rate") if name == "lr" else name


def corrections(
    line: FormulaLine, powers: Mapping[str, str], changing: Collection[str]
) -> list[Line]:
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
) -> Line:
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
    if len(formula) > LONGEST:
        formula = "..."
    sign = "=" if agrees else "≈"
    return Line(f"{name} = {formula.replace('+ -', '- ')} {sign} {ending}")


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
