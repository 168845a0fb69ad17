"""Formulas in the notation of captions, from the source of functions.

The notation is defined by `LossRow.error` in losses.py: `2 * (p - t)`, `(p - t)^2`, `|p|`, `e^p`,
`(1 if p > t, else 0)`. Sums and conditional expressions have brackets, since captions multiply
them. Constants have at most six digits.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice, product
from typing import Any

import numpy as np

from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.arithmetic import COMPARISONS
from scalarviz.core.formulas.formula_trees import (
    ExpressionFunction,
    Tree,
    UnwritableError,
    read,
    read_expression,
)

LONGEST = 60  # characters of a formula
MOST_CODE = 2000  # characters of its code, which assignments can double
DEEPEST = 8  # nested functions
MOST_CASES = 32
POINTS = -1.3, -0.2, 0.0, 0.4, 0.9, 2.7  # points where a formula must equal its function
MOST_POINTS = 256
# Precedence of the parts of a formula; JOINED are conditions with "and" or "or".
JOINED, CONDITION, SUM, PRODUCT, POWER, ATOM = range(6)
LIBRARIES = "math", "builtins", "numpy", "elementary", "arithmetic"
GENERATED = "<scalarviz "  # first part of the file name of generated sources


def sign(x: float) -> float:
    return 1.0 if x > 0.0 else (-1.0 if x < 0.0 else 0.0)


# Functions of operations on Values, as called in formulas, and their numbers of arguments there.
OF_ARITHMETIC: dict[str, tuple[str, Callable[..., float], int | None]] = {
    "maximum": ("max", max, 2),
    "minimum": ("min", min, 2),
    "absolute_derivative": ("sign", sign, 1),
}


@dataclass(frozen=True)
class Term:
    """A part of a formula, in the notation of captions and as Python.

    Attributes:
        rank: precedence of the operation
        head: the factors of a product before the last one
        base: the last factor without its exponent; "" if it cannot be joined to another factor
        exponent: exponent of the last factor
        number: value of a constant, or None
        cases: condition and both branches of a conditional expression, or None
    """

    text: str
    code: str
    rank: int = ATOM
    head: str = ""
    base: str = ""
    exponent: int = 1
    number: float | None = None
    cases: tuple[Term, Term, Term] | None = None

    def within(self, rank: int) -> str:
        """Return the text, in brackets if its precedence is below `rank`."""
        return self.text if self.rank >= rank else f"({self.text})"

    @property
    def last(self) -> tuple[str, str, int]:
        """The factors before the last one, the last factor, and its exponent."""
        if self.rank in (PRODUCT, POWER):
            return self.head, self.base, self.exponent
        return "", self.within(ATOM), 1


@dataclass(frozen=True)
class WrittenFormula:
    """The text of a formula with named arguments.

    Attributes:
        text: the formula as a factor, with brackets around a sum
        alone: the formula without these brackets
        compute: function that evaluates the text, given the arguments
    """

    text: str
    alone: str
    compute: Callable[..., float]


def written(function: Callable[..., float], names: Sequence[str] = ()) -> str:
    """Return the formula of a function; "" if it does not fit on a line.

    Args:
        function: a plain function of numbers with one result
        names: names of the arguments in the formula; by default as in the function
    """
    found = formula_of(function, tuple(names))
    return "" if found is None else found.text


@lru_cache(maxsize=256)
def formula_of(
    function: Callable[..., float], names: tuple[str, ...] = ()
) -> WrittenFormula | None:
    """Return the formula of a function; None if it does not fit on a line.

    Args:
        function: a plain function of numbers with one result
        names: names of the arguments in the formula; by default as in the function
    """
    names = names or tuple(inspect.signature(function).parameters)
    for inline in (True, False):  # without inlining the functions that it calls
        try:
            writer = FormulaWriter(names, inline=inline)
            part = writer.inlined(function, [Term(name, name, ATOM) for name in names])
            compute = writer.code_function(part.code)
            found = WrittenFormula(part.within(PRODUCT), part.text, compute)
        except (UnwritableError, RecursionError, ArithmeticError, ValueError):
            continue
        if len(found.text) <= LONGEST and agrees(found.compute, function, names):
            return found
    return None


def in_words(formula: str, names: Iterable[str], calls: Mapping[str, Any]) -> str:
    """Return a Python expression in the notation of captions; "" if impossible.

    Args:
        formula: the expression
        names: names of its variables
        calls: functions called in it, by name
    """
    try:
        known = {name: Term(name, name) for name in names}
        tree = read_expression(formula, [*known], calls)
        return FormulaWriter((), literal=True).part(tree, known).text
    except (UnwritableError, SyntaxError):
        return ""


def agrees(
    compute: Callable[..., float], function: Callable[..., float], names: Sequence[str]
) -> bool:
    """Return whether a formula agrees numerically with its function, whose source may be newer."""
    points = islice(product(POINTS, repeat=len(names)), MOST_POINTS)
    pairs = [(value_at(compute, *point), value_at(function, *point)) for point in points]
    return all(same(*pair) for pair in pairs) and any(a == a for a, _ in pairs)


def same(a: float, b: float) -> bool:
    """Return whether two numbers agree approximately, or neither is finite."""
    if not math.isfinite(a) or not math.isfinite(b):
        return not math.isfinite(a) and not math.isfinite(b)
    return math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-6)


def value_at(function: Callable[..., float], *numbers: float) -> float:
    """Return the value of a custom function, or NaN instead of an error, as in kernels."""
    try:
        with np.errstate(all="ignore"):
            return float(function(*map(np.float64, numbers)))
    except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError):
        return math.nan


def number_text(value: float) -> str:
    """Return a constant of a formula, with at most six digits."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise UnwritableError
    return f"{value:.6g}"


class FormulaWriter:
    """Converts functions to formulas with named arguments.

    Args:
        names: names of the arguments
        inline: whether calls are replaced by the formulas of their functions
        literal: whether brackets, products and function names are kept as in the source
    """

    def __init__(
        self,
        names: Sequence[str],
        *,
        inline: bool = False,
        literal: bool = False,
    ) -> None:
        self.names, self.inline, self.literal = names, inline, literal
        self.functions: dict[str, Any] = {}
        self.depth = 0
        self.folds = False  # whether constants are folded and conditions come first

    def code_function(self, code: str) -> ExpressionFunction:
        """Return the function that evaluates the expression `code` for given arguments."""
        return ExpressionFunction(code, self.names, self.functions)

    def inlined(self, function: Callable[..., Any], arguments: Sequence[Term]) -> Term:
        """Return the formula of a function with `arguments` in place of its parameters."""
        names, tree = read(function)
        if len(names) != len(arguments) or self.depth > DEEPEST:
            raise UnwritableError
        self.depth += 1
        self.folds = self.folds or function.__code__.co_filename.startswith(GENERATED)
        found = self.part(tree, dict(zip(names, arguments, strict=True)))
        self.depth -= 1
        return found

    def chosen(self, test: Term, yes: Callable[[], Term], no: Callable[[], Term]) -> Term:
        """Return a conditional expression."""
        first, second = yes(), no()
        ending = second.text.removeprefix("(").removesuffix(")")
        is_chain = second.rank == ATOM and " if " in second.text and "(" not in ending
        ending = ending if is_chain else second.text
        code = f"({first.code} if {test.code} else {second.code})"
        text = f"({first.text} if {test.text}, else {ending})"
        return Term(text, code, cases=(test, first, second))

    def part(self, tree: Tree, known: Mapping[str, Term]) -> Term:
        """Return a tree as a part of a formula; `known` maps names to formulas."""

        def of(each: Tree) -> Term:
            return self.part(each, known)

        match tree:
            case str() if tree in known:
                found = known[tree]
            case int() | float() as value:
                found = constant(value)
            case ["constant" | "default", _, value]:
                found = constant(value)
            case ["let", str(name), given, rest]:
                found = self.part(rest, {**known, name: of(given)})
            case ["if", test, yes, no]:
                found = self.chosen(of(test), partial(of, yes), partial(of, no))
            case ["call", function, *given]:
                found = self.call(function, [*map(of, given)])
            case ["neg", inner]:
                found = self.negative(of(inner))
            case ["+" | "-" | "*" | "/" | "**" as sign, a, b]:
                found = self.joined(sign, of(a), of(b))
            case ["compare", signs, first, *others]:
                found = compared(of(first), *zip(signs, map(of, others), strict=True))
            case ["not", inner]:
                term = of(inner)
                found = Term(f"not ({term.text})", f"(not {term.code})", CONDITION)
            case ["and" | "or" as word, *parts]:
                found = both(word, [of(each) for each in parts])
            case _:
                raise UnwritableError
        if len(found.code) > MOST_CODE:
            raise UnwritableError
        return found

    def joined(self, sign: str, a: Term, b: Term) -> Term:
        """Return two parts joined by an arithmetic sign."""
        if self.folds:
            found = self.folded(sign, a, b)
            if found is not None:
                return found
        code = f"({a.code} {sign} {b.code})"
        if sign == "*":
            (head, base, exponent), (before, other, more) = a.last, b.last
            is_power = base and base == other and not before and not base[0].isdigit()
            if is_power and not self.literal:
                exponent += more
                rank = PRODUCT if head else POWER
                return Term(f"{head}{base}^{exponent}", code, rank, head, base, exponent)
            start = f"{a.within(PRODUCT)} * "
            text = start + b.within(POWER if self.literal else PRODUCT)
            return Term(text, code, PRODUCT, start + before, other, more)
        if sign == "/":
            return Term(f"{a.within(PRODUCT)} / {b.within(POWER)}", code, PRODUCT)
        if sign == "**":
            base, power = a.within(ATOM), b.within(ATOM)
            known = (base, int(power)) if power.isdigit() else ("", 1)
            return Term(f"{base}^{power}", code, POWER, "", *known)
        right = b.within(SUM if sign == "+" else PRODUCT)
        if right.startswith("-") and b.rank >= PRODUCT:
            sign, right = "-" if sign == "+" else "+", right[1:]
        return Term(f"{a.within(SUM)} {sign} {right}", code, SUM)

    def negative(self, part: Term) -> Term:
        """Return -part."""
        return self.joined("*", constant(-1.0), part) if self.folds else negative(part)

    def folded(self, sign: str, a: Term, b: Term) -> Term | None:
        """Return two parts joined by a sign and simplified, or None if that is impossible.

        Constants are computed; an operation on a conditional expression is applied to each case.
        """
        if a.number is not None and b.number is not None and sign != "**":
            return constant(eval(f"{a.number!r} {sign} {b.number!r}"))
        if sign == "*" and b.number is not None:
            a, b = b, a
        if a.number == 0.0 and sign in "*/":
            return a
        if a.number == 0.0 and sign in "+-":
            return b if sign == "+" else self.negative(b)
        if (b.number == 0.0 and sign in "+-") or (b.number == 1.0 and sign == "/"):
            return a
        if a.number in (1.0, -1.0) and sign == "*" and b.cases is None:
            return b if a.number == 1.0 else negative(b)
        test = (a.cases or b.cases or (None,))[0]
        if test is None:
            return None
        ends = []
        for i in (1, 2):
            left, right = (x.cases[i] if x.cases and x.cases[0] == test else x for x in (a, b))
            ends.append(self.joined(sign, left, right))
        return self.chosen(test, lambda: ends[0], lambda: ends[1])

    def call(self, function: Callable[..., Any], parts: Sequence[Term]) -> Term:
        """Return a call, written as an operator, as an inlined formula, or by function name."""
        own_name = str(getattr(function, "__name__", ""))
        name = next((r.name for r in ACTIVATIONS.values() if r.value is function), "")
        library = (getattr(function, "__module__", None) or "numpy").rpartition(".")[2]
        is_inline = self.inline and not name
        if library in LIBRARIES:
            name = own_name
            found = self.of_library(name, parts)
            if found is not None:
                return found
            if library == "arithmetic":
                name, function, count = OF_ARITHMETIC.get(name, ("", function, None))
                parts = parts[:count]
            is_inline = not name
        if is_inline:
            depth = self.depth
            try:
                return self.inlined(function, parts)
            except UnwritableError:
                self.depth = depth
        name = own_name if self.literal or not name else name
        taken = self.functions.setdefault(name, function)
        if taken is not function or name in self.names or not name.isidentifier():
            raise UnwritableError
        given_text = ", ".join(part.text for part in parts)
        code = ", ".join(part.code for part in parts)
        return Term(f"{name}({given_text})", f"{name}({code})")

    def of_library(self, name: str, parts: Sequence[Term]) -> Term | None:
        """Return a call of a function that formulas write with signs, such as abs, or None."""
        match name, parts:
            case "where", [test, yes, no]:
                if test.rank > CONDITION:
                    test = compared(test, ("!=", constant(0.0)))
                return self.chosen(test, lambda: yes, lambda: no)
            case _, [a, b] if name in COMPARISONS:
                return compared(a, (COMPARISONS[name].symbol, b))
            case "power_by_x", [a, Term(number=float(exponent)) as b, *_]:
                less = constant(exponent - 1.0)
                return self.joined("*", b, self.joined("**", a, less) if exponent != 2.0 else a)
            case (("abs" | "fabs" | "absolute"), [a]):
                self.functions["abs"] = abs
                text = f"abs({a.text})" if "|" in a.text else f"|{a.text}|"
                return Term(text, f"abs({a.code})")
            case (("pow" | "power"), [a, b]):
                return self.joined("**", a, b)
            case "divide", [a, b]:
                return self.joined("/", a, b)
            case "exp", [a, *_] if a.text in self.names and "e" not in self.names:
                self.functions["exp"] = math.exp
                return Term(f"e^{a.text}", f"exp({a.code})", POWER)
            case "log1p", [a, *_]:
                self.functions[name] = math.log1p
                return Term(f"log({self.joined('+', constant(1.0), a).text})", f"log1p({a.code})")
            case "expm1", [a, *_]:
                self.functions[name] = math.expm1
                inner = self.of_library("exp", parts) or Term(f"exp({a.text})", "")
                return Term(f"{inner.text} - 1", f"expm1({a.code})", SUM)
        return None


def constant(value: Any) -> Term:
    """Return a number as a part of a formula."""
    text = number_text(value)
    number = float(text)
    return Term(text, f"({number!r})", ATOM if value >= 0.0 else PRODUCT, number=number)


def negative(part: Term) -> Term:
    """Return -part."""
    text, code = part.within(PRODUCT), f"(-{part.code})"
    if text.startswith("-"):
        return Term(text[1:], code, PRODUCT)
    head, base, exponent = part.last
    return Term(f"-{text}", code, PRODUCT, f"-{head}", base, exponent)


def both(word: str, parts: Sequence[Term]) -> Term:
    """Return conditions joined by "and" or "or"."""
    text = f" {word} ".join(part.within(CONDITION) for part in parts)
    return Term(text, f"({f' {word} '.join(part.code for part in parts)})", JOINED)


def compared(first: Term, *others: tuple[str, Term]) -> Term:
    """Return a comparison of `first` with others, each with its sign."""
    text, code = first.within(SUM), first.code
    for sign, other in others:
        text += f" {sign} {other.within(SUM)}"
        code += f" {sign} {other.code}"
    return Term(text, f"({code})", CONDITION)


# ---- the cases of a function ---------------------------------------------------------------------


class Choices:
    """Outcomes of the conditions in a function: first the given outcomes, then always True.

    Attributes:
        taken: the outcomes returned so far
    """

    def __init__(self, given: Sequence[bool]) -> None:
        self.given = given
        self.taken: list[bool] = []

    def next(self) -> bool:
        """Return the outcome of the next condition."""
        self.taken.append(next(iter(self.given[len(self.taken) :]), True))
        return self.taken[-1]


def all_choices() -> Iterator[Choices]:
    """Yield choices for each case of a function; each must be used before the next is requested."""
    waiting: list[list[bool]] = [[]]
    for _ in range(MOST_CASES):
        if not waiting:
            return
        choices = Choices(waiting.pop())
        yield choices
        taken = choices.taken
        waiting += [[*taken[:i], False] for i in range(len(choices.given), len(taken))]


class CaseWriter(FormulaWriter):
    """Converts one case of a function with conditions to a formula.

    Attributes:
        tests: the conditions evaluated so far, as Python
    """

    def __init__(self, names: Sequence[str], choices: Choices, *, inline: bool) -> None:
        super().__init__(names, inline=inline)
        self.choices = choices
        self.tests: list[str] = []

    def chosen(self, test: Term, yes: Callable[[], Term], no: Callable[[], Term]) -> Term:
        self.tests.append(test.code)
        return yes() if self.choices.next() else no()


def written_cases(
    function: Callable[..., float], names: Sequence[str], *, inline: bool
) -> Iterator[tuple[CaseWriter, Term]]:
    """Yield, for each case of a function, a writer set up with the choices, and the formula."""
    for choices in all_choices():
        writer = CaseWriter(names, choices, inline=inline)
        try:
            yield writer, writer.inlined(function, [Term(name, name) for name in names])
        except (UnwritableError, RecursionError):
            return
