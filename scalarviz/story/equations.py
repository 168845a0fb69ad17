"""Equations and tables whose printed numbers agree with a calculator on every line."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import LEAST as LEAST_POWER
from scalarviz.base.texts.decimals import MOST as MOST_POWER
from scalarviz.base.texts.decimals import short, stripped, typeset
from scalarviz.story.caption import Bar, Bars, CardLine, CardTable, Piece
from scalarviz.story.facts import NONE, Explained, NamedFormula, Neuron, UpdateLine
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
from scalarviz.story.panel_words import closing

SHOWN_TERMS = 3  # shown terms of a long sum
MOST_TERMS = 64  # maximum terms of a sum that is shown completely

CaptionLine = tuple[Piece, ...]
Words = Callable[..., str]


@dataclass(frozen=True)
class EquationTerm:
    """A term of an equation with numbers.

    Attributes:
        numbers: the numbers of the term; in a sum, the term is their product
        words: function that returns its text for the numbers as written
        row: bank index of its weight, or NONE
        neuron: its neuron, or None
        stays: whether it is always shown, however long the sum
        exact: whether its numbers are written without rounding
        opens: whether it represents omitted terms, which a click shows
    """

    numbers: tuple[float, ...]
    words: Words = "{}".format
    row: int = NONE
    neuron: Neuron | None = None
    stays: bool = False
    exact: bool = False
    opens: bool = False

    @property
    def value(self) -> float:
        return math.prod(self.numbers)


PRODUCT = "{} × {}".format


def equation(
    parts: Sequence[EquationTerm | str],
    compute: Callable[[Sequence[float]], float],
    result: float,
    *,
    about: Neuron | None = None,
    least: int = FEW,
) -> CaptionLine:
    """Return a line of terms, words and the result.

    Args:
        parts: terms, and words between them
        compute: function that computes the result from the numbers of all terms
        result: the value as computed by the engine
        about: neuron whose number is the result, or None
        least: minimum number of digits; by default 2
    """
    terms = [part for part in parts if not isinstance(part, str)]
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
        words = part.words(*own)
        pieces.append(Piece(words, part.row, part.neuron, part.opens))
    sign = " = " if agrees else " ≈ "
    return *pieces, Piece(sign), Piece(ending, neuron=about)


def sums(terms: Sequence[EquationTerm]) -> Callable[[Sequence[float]], float]:
    """Return a function that computes a sum of products from the numbers of all terms."""
    counts = [len(term.numbers) for term in terms]

    def total(numbers: Sequence[float]) -> float:
        found, at = 0.0, 0
        for count in counts:
            found += math.prod(numbers[at : at + count])
            at += count
        return found

    return total


def between(parts: Sequence[EquationTerm], sign: str = " + ") -> list[EquationTerm | str]:
    """Return terms separated by a sign."""
    found: list[EquationTerm | str] = []
    for part in parts:
        found += [sign, part] if found else [part]
    return found


def signed(value: float) -> list[EquationTerm | str]:
    """Return the parts that subtract a number: the sign, and a term with the magnitude."""
    return [" + " if value < 0.0 else " - ", EquationTerm((abs(value),))]


def in_brackets(number: str) -> str:
    """Return a number for use next to a sign or a power: negative numbers get brackets."""
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
    """Return a sum of products and its result, or a note if a weight has changed since.

    Args:
        terms: all terms in picture order; terms that are always shown come last
        result: the value as computed by the engine
        keep: index of a term that is always shown
        about: neuron whose number is the result
        start: words before the sum
        most: number of shown terms of a long sum; the others are combined
    """
    if is_changed(terms, result):
        return (Piece(text("captions.changed", result=said(result, 3)), neuron=about),)
    found = shortened(terms, keep, most)
    pieces = [start, *between(found)] if start else between(found)
    return equation(pieces, sums(found), result, about=about)


def is_changed(terms: Sequence[EquationTerm], result: float) -> bool:
    """Return whether a sum differs from the result because a weight has changed since."""
    parts = [term.value for term in terms]
    rough = 2e-3 * sum(map(abs, parts)) + 1e-6  # tolerance for parts in half precision
    return abs(sum(parts) - result) > rough


def bars_of(terms: Sequence[EquationTerm], result: float, most: int) -> Bars | None:
    """Return bars for the largest terms of a sum, and one bar for the rest; None if unknown.

    Args:
        terms: all terms in picture order
        result: the value as computed by the engine
        most: maximum number of separate terms
    """
    size = exact_sum([abs(each.value) for each in terms])
    if is_changed(terms, result) or not math.isfinite(result + 100.0 * size):
        return None
    order = sorted(range(len(terms)), key=lambda i: -abs(terms[i].value))
    shown = [terms[i] for i in sorted(order[:most])]
    pairs = [each.numbers if len(each.numbers) == 2 else (1.0, each.value) for each in shown]
    others = exact_sum([terms[i].value for i in order[most:]])
    pairs += [(1.0, others)] if len(order) > most else []
    lines = closing([each[0] for each in pairs], [each[1] for each in pairs], result)
    rows: list[Bar] = []
    for term, (x, w, product) in zip(shown, lines, strict=False):
        name = f"{x} × {w}"
        if len(term.numbers) != 2:
            name = " × ".join([typeset(short(each)) for each in term.numbers])
        name = name if len(term.numbers) > 1 else text("plates.bias")
        rows.append(Bar(name, term.value, term.row, said=product))
    if len(order) > most:
        name = text("bars.others", count=len(order) - most)
        rows.append(Bar(name, others, said=lines[len(shown)][2]))
    return Bars(tuple(rows), result, said=lines[len(lines) - 1][2])


def whole_line(
    terms: Sequence[EquationTerm],
    result: float,
    *,
    keep: int = NONE,
    about: Neuron | None = None,
    start: str = "",
) -> CaptionLine:
    """Return a line with all terms of a sum, whose digits do not depend on the short form."""
    return written_apart(
        lambda: sum_line(terms, result, keep=keep, about=about, start=start, most=MOST_TERMS)
    )


def shortened(terms: Sequence[EquationTerm], keep: int, most: int) -> list[EquationTerm]:
    """Return the largest terms of a long sum in their order, and one term for the rest."""
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
    """Return whether the line of a sum omits some terms, since it is too long."""
    return sum(not term.stays for term in terms) > SHOWN_TERMS + 1


def listed(values: Sequence[float], digits: int = 3) -> str:
    """Return numbers separated by commas."""
    shown = [said(float(value), digits) for value in values[:SHOWN_TERMS]]
    left = len(values) - SHOWN_TERMS
    return ", ".join([*shown, *([text("captions.others", count=left)] if left > 0 else [])])


# Tables of products, and the lines of an optimizer, on cards.

LEAST_EXPONENT = -290  # power of ten of a first digit, so that the last digit is also a float
MOST_ROWS = 40  # maximum rows of a table
LONGEST_FORMULA = 110  # maximum letters of a formula
SPREAD = 5  # digits of the largest number of a column


@dataclass(frozen=True)
class ProductRow:
    """A row of a table: a name, two factors, and their product."""

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
    """Return a table of products, one per row, and their sum.

    Args:
        head: names of the four columns
        products: all products, in order
        total: name of the sum; "" omits the sum
        marked: index of the row of the focus sample, or NONE
        least: minimum number of digits of the sum, if possible; by default 2
    """
    shown, values = products[:MOST_ROWS], [each.value for each in products]
    rests = [0.0]  # sums of the products from each index on
    for value in values[::-1]:
        rests.append(rests[-1] + value)
    rests = rests[::-1][: len(shown) + 1]
    if not all(map(math.isfinite, values)):
        rows = [(p.name, said(p.first), said(p.second), said(p.value)) for p in shown]
        return CardTable(head, rows, rests_of(len(values), [""] * len(rests)), marked=marked)
    largest, whole = max(map(abs, values), default=0.0), exact_sum(values)
    for digits in (least, max(FEW, least - 1), *range(least + 1, MOST + 1)):
        place, total_place = places_of(largest, whole, digits, len(values), total != "")
        column = column_of(values[: len(shown)], rests, place, exponent_of(largest))
        if not total or adds_up(column, rounded_to(whole, total_place), total_place):
            break
    rows = []
    for each, product in zip(shown, column.terms, strict=True):
        first, second = factors(each, product, place)
        rows.append((each.name, first, second, column.write(product)))
    sum_of: tuple[str, ...] = ()
    if total:
        ending = written_to(rounded_to(whole, total_place), total_place, column.exponent)
        sum_of = (total, "", "", ending)
    left = rests_of(len(values), [column.write(rest) for rest in column.rests])
    return CardTable(head, rows, left, sum_of, marked)


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers rounded at the same decimal place, 10 ** place.

    Attributes:
        terms: the numbers, rounded
        rests: for each index, the rounded sum of all numbers from there on
        exponent: power of ten of the largest number
    """

    terms: Sequence[float]
    rests: Sequence[float]
    place: int
    exponent: int

    def write(self, value: float) -> str:
        """Return a number of the column as text."""
        return written_to(value, self.place, self.exponent)


def column_of(
    values: Sequence[float], rests: Sequence[float], place: int, exponent: int
) -> NumberColumn:
    """Return a column of numbers rounded at a decimal place."""
    terms = [rounded_to(value, place) for value in values]
    return NumberColumn(terms, [rounded_to(rest, place) for rest in rests], place, exponent)


def places_of(
    largest: float, total: float, digits: int, count: int, has_total: bool
) -> tuple[int, int]:
    """Return the last decimal place of numbers, and of their sum with the given digits."""
    top = exponent_of(largest)
    finest = top - SPREAD
    total_place = max(exponent_of(total) - digits + 1, finest + 1)
    place = total_place - (1 if count > 1 else 0)
    if not has_total:
        place = max(top - digits, finest)
        total_place = place
    return (min(place, 0), min(total_place, 0)) if top < MOST_POWER else (place, total_place)


def adds_up(column: NumberColumn, total: float, total_place: int) -> bool:
    """Return whether numbers as written add up to their sum as written.

    This must hold for any number of written rows if the other rows are combined.
    """
    shown, sums = 0.0, [column.rests[0]]
    for term, rest in zip(column.terms, column.rests[1:], strict=True):
        shown += term
        sums.append(shown + rest)
    return all(abs(each - total) < 0.4999 * 10.0**total_place for each in sums)


def exponent_of(value: float) -> int:
    """Return the power of ten of the first digit of a number."""
    if value == 0.0:
        return LEAST_POWER
    return max(LEAST_EXPONENT, int(f"{value:.16e}".partition("e")[2]))


def rounded_to(value: float, place: int) -> float:
    """Return a number rounded at a decimal place; halves are rounded to the even digit."""
    return round(value / 10.0**place) * 10.0**place


def written_to(value: float, place: int, exponent: int) -> str:
    """Return a number as text, up to a decimal place; `exponent` is the column's largest."""
    if value == 0.0:
        return "0"
    if LEAST_POWER <= exponent < MOST_POWER:
        return stripped(f"{value:.{max(0, -place)}f}")
    mantissa = stripped(f"{value / 10.0**exponent:.{max(0, exponent - place)}f}")
    return f"{mantissa}e{exponent}"


def factors(product: ProductRow, result: float, place: int) -> tuple[str, str]:
    """Return two factors with the fewest digits whose product is the written product."""
    for digits in range(FEW, MOST + 3):
        shown = said(product.first, digits), said(product.second, digits)
        if abs(float(shown[0]) * float(shown[1]) - result) < 0.4999 * 10.0**place:
            break
    return shown


def rests_of(count: int, rests: Sequence[str]) -> list[tuple[str, ...]]:
    """Return, for each number of shown rows, the row that replaces the omitted rows.

    Args:
        count: number of all rows
        rests: sum of the omitted rows as written, for each number of shown rows
    """
    return [
        (text("card.more", count=count - i), "", "", rest) if i < count else ()
        for i, rest in enumerate(rests)
    ]


def largest_first(numbers: Sequence[float]) -> list[int]:
    """Return the indices of numbers sorted by descending magnitude, NaN last."""
    sizes = [-abs(each) if each == each else math.inf for each in numbers]
    return sorted(range(len(sizes)), key=lambda i: sizes[i])


def change_between(old: float, new: float) -> tuple[str, str, str]:
    """Return two numbers and their difference as strings, with the fewest digits that agree."""
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


def optimizer_rows(found: Explained, before: str, after: str, grad: str) -> list[CardLine]:
    """Return the lines of an optimizer with numbers in place of names.

    Args:
        before, after, grad: weight and gradient as written elsewhere on the card
    """
    rows, slots = [], [*found.kept]
    exact = [line.name for line in found.lines if is_exact(line)]
    changing = ["w", "g", "scale", *slots, *(f"{slot}_corrected" for slot in slots)]
    changing += [line.name for line in found.lines if line.name not in exact]
    for i, line in enumerate(found.lines):
        is_last = i == len(found.lines) - 1
        name = text("card.own_rate") if line.own_rate else title_of_line(line.name, is_last)
        if line.card is None and line.name == "g":
            rows.append(CardLine(text("card.no_grad")))
        elif line.card is None and line.name == "w":
            rows.append(CardLine(text("card.refused")))
        elif line.card is None and line.name in slots:
            old, new = both(line.known[line.name], line.value)
            rows.append(CardLine(f"{name}: {old} → {new}"))
        elif line.card is None and line.own_rate:
            rows.append(CardLine(f"{name} = {exactly(line.value)}"))
        elif line.card is not None and (line.name == "lr" or not line.same):
            rows += corrections(line, changing)
            own = {}
            if "g" in line.known and line.known["g"] == found.grad:
                own["g"] = grad
            if "w" in line.known and line.known["w"] == found.value:
                own["w"] = before
            result = after if is_last else ""
            rows.append(equation_of(corrected(line), line.card, name, changing, own, result))
    return rows


def is_exact(line: UpdateLine) -> bool:
    """Return whether the number of a line is written exactly: a rate, or a short constant."""
    return line.name == "lr" or (line.same and is_short(line.value))


def is_short(value: float) -> bool:
    """Return whether a number has at most two digits."""
    return abs(float(f"{value:.1e}") - value) <= 1e-12 * abs(value)


def title_of_line(name: str, is_last: bool) -> str:
    """Return the name of a line of the optimizer on a card."""
    if name == "w":
        return text("card.new_w") if is_last else text("card.decayed")
    if name == "g":
        return text("card.head.grad")
    return text("card.rate") if name == "lr" else name


def corrections(line: UpdateLine, changing: Collection[str]) -> list[CardLine]:
    """Return a line for each number that is divided by a correction, such as Adam's m and v."""
    found = []
    for each in line.corrections:
        value = line.known[each.name] / line.known[each.by]
        own = replace(line, name="", value=value)
        name = text("card.corrected", name=each.name)
        found.append(equation_of(own, each.card, name, changing))
    return found


def corrected(line: UpdateLine) -> UpdateLine:
    """Return a line with the corrected numbers added to the known numbers."""
    known = {**line.known}
    for each in line.corrections:
        known[f"{each.name}_corrected"] = known[each.name] / known[each.by]
    return replace(line, known=known)


def equation_of(
    line: UpdateLine,
    card: NamedFormula,
    name: str,
    changing: Collection[str],
    own: Mapping[str, str] | None = None,
    result: str = "",
) -> CardLine:
    """Return a formula with numbers, such as "new w = 0.54 - 0.5 × 0.036 = 0.52".

    Args:
        line: line of the optimizer, with the numbers and the result
        card: the formula
        name: name of the result
        changing: names of numbers that may be rounded; all others are settings
        own: numbers that are already written elsewhere, by name
        result: the result as written elsewhere; "" uses the fewest digits that agree
    """
    known, names = line.known, card.names
    fixed = {n: exactly(known[n]) for n in names if n not in changing}
    is_change = line.name == "w" and "w" in names
    least = digits_between(known["w"], line.value) if is_change else FEW
    for given in ({**fixed, **(own or {})}, fixed):
        free = [n for n in names if n not in given]
        compute = evaluating(card, given, free)
        values = [known[n] for n in free]
        shown, ending, agrees = agreeing(values, compute, line.value, least)
        if result:
            shown, agrees = until(values, compute, result)
            ending = result
        if agrees:
            break
    formula = fill(card.words, {**given, **dict(zip(free, shown, strict=True))})
    if len(formula) > LONGEST_FORMULA:
        formula = "..."
    sign = "=" if agrees else "≈"
    return CardLine(f"{name} = {formula.replace('+ -', '- ')} {sign} {ending}")


def evaluating(
    card: NamedFormula, given: Mapping[str, str], names: Sequence[str]
) -> Callable[[Sequence[float]], float]:
    """Return a formula as a function of the numbers `names`; other numbers are fixed as written."""
    known = {name: float(number) for name, number in given.items()}

    def compute(numbers: Sequence[float]) -> float:
        known.update(zip(names, numbers, strict=True))
        return card.compute(*[known[name] for name in card.names])

    return compute


def until(
    values: Sequence[float], compute: Callable[[Sequence[float]], float], result: str
) -> tuple[list[str], bool]:
    """Return numbers with the fewest digits that give the written result, and whether they do."""
    mantissa, _, power = result.partition("e")
    place = 10.0 ** (int(power or "0") - len(mantissa.partition(".")[2]))
    for digits in range(FEW, MOST + 3):
        shown = [said(value, digits) for value in values]
        if abs(value_of(compute, shown) - float(result)) <= 0.5 * place:
            return shown, True
    return shown, False


def exactly(value: float) -> str:
    """Return a setting, such as a rate, with all its digits."""
    shown = [said(value, digits) for digits in range(1, 9)]
    return next((each for each in shown if float(each) == value), shown[-1])
