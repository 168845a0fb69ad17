"""Random expressions, with values and derivatives to fifty digits.

The formulas are written here once more, as they stand in a book of mathematics. How far rounding
may take a float from the exact number is found by doing the sum again with every intermediate
result changed in its 25th digit: what the result changes by, scaled up to the 16th, is the limit.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mpmath import mp, mpf

import scalarviz as sv

mp.dps = 50

NEAR = mpf(10) ** -9
LEAK = mpf("0.01")
NOISE = mpf(10) ** -25
CORNER = mpf(10) ** -6  # slopes on both sides that differ by so much are those of a corner
SUMS = ("add", "subtract", "negate", "linear")  # a kernel draws these together
CORNERS = ("abs", "relu", "relu_right", "leaky_relu", "elu")
LARGEST, SMALLEST = 1e6, 1e-100  # of what an operation may make
Number = Any  # mpmath has no types


def sigmoid(x: Number) -> Number:
    return 1 / (1 + mp.exp(-x))


def cdf(x: Number) -> Number:
    """Of the standard normal distribution."""
    return mp.erfc(-x / mp.sqrt(2)) / 2


def density(x: Number) -> Number:
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def sign(x: Number) -> int:
    return (x > 0) - (x < 0)


def step(x: Number, at_zero: Number = 0, below: Number = 0) -> Number:
    """The slope of what has a corner at 0."""
    return 1 if x > 0 else (at_zero if x == 0 else below)


def share(larger: bool, equal: bool) -> Number:
    """Of a gradient that goes to one of two."""
    return mpf("0.5") if equal else mpf(larger)


@dataclass(frozen=True)
class Row:
    """An operation: its value, and its derivatives by each operand.

    Attributes:
        defined: where it is finite and has derivatives
        slack: how large the numbers are that a derivative is the difference of: (x, y) -> size
    """

    value: Callable[..., Number]
    partials: tuple[Callable[..., Number], ...]
    defined: Callable[..., bool] = lambda *x: True
    slack: Callable[..., Number] = lambda *x: 0


def powers(x: Number, y: Number) -> Number:
    """By how much more than one digit a power may be wrong."""
    return 1 + abs(y * mp.log(abs(x))) if x else 1


ROWS: dict[str, Row] = {
    "add": Row(operator.add, (lambda x, y: 1, lambda x, y: 1)),
    "subtract": Row(operator.sub, (lambda x, y: 1, lambda x, y: -1)),
    "multiply": Row(operator.mul, (lambda x, y: y, lambda x, y: x)),
    "divide": Row(
        operator.truediv, (lambda x, y: 1 / y, lambda x, y: -x / y**2), lambda x, y: y != 0
    ),
    "power": Row(
        lambda x, y: x**y,
        (
            lambda x, y: y * x ** (y - 1) if y else mpf(0),
            lambda x, y: x**y * mp.log(x) if x > 0 else mpf(0),
        ),
        lambda x, y: x > 0 or (y == int(y) and y >= 1),
    ),
    "maximum": Row(max, (lambda x, y: share(x > y, x == y), lambda x, y: share(x < y, x == y))),
    "minimum": Row(min, (lambda x, y: share(x < y, x == y), lambda x, y: share(x > y, x == y))),
    "where": Row(
        lambda c, x, y: x if c else y,
        (lambda c, x, y: 0, lambda c, x, y: int(c != 0), lambda c, x, y: int(c == 0)),
    ),
    "negate": Row(operator.neg, (lambda x: -1,)),
    "abs": Row(abs, (sign,)),
    "log": Row(mp.log, (lambda x: 1 / x,), lambda x: x > 0),
    "log1p": Row(mp.log1p, (lambda x: 1 / (1 + x),), lambda x: x > NEAR - 1),
    "expm1": Row(mp.expm1, (mp.exp,)),
    "sqrt": Row(mp.sqrt, (lambda x: 1 / (2 * mp.sqrt(x)),), lambda x: x > 0),
    "cos": Row(mp.cos, (lambda x: -mp.sin(x),)),
    "erfc": Row(
        mp.erfc,
        (lambda x: -2 / mp.sqrt(mp.pi) * mp.exp(-x * x),),
        slack=lambda x: x * x * mp.exp(-x * x),
    ),
    "linear": Row(lambda x: x, (lambda x: 1,)),
    "relu": Row(lambda x: max(x, mpf(0)), (step,)),
    "relu_right": Row(lambda x: max(x, mpf(0)), (lambda x: step(x, 1),)),
    "leaky_relu": Row(lambda x: x if x > 0 else LEAK * x, (lambda x: step(x, LEAK, LEAK),)),
    "elu": Row(
        lambda x: x if x > 0 else mp.expm1(x), (lambda x: 1 if x > 0 else mp.exp(x),)
    ),
    "sigmoid": Row(sigmoid, (lambda x: sigmoid(x) * sigmoid(-x),), slack=sigmoid),
    "tanh": Row(mp.tanh, (lambda x: mp.sech(x) ** 2,), slack=lambda x: 1),
    "softplus": Row(lambda x: mp.log1p(mp.exp(x)), (sigmoid,)),
    "swish": Row(
        lambda x: x * sigmoid(x),
        (lambda x: sigmoid(x) * (1 + x * sigmoid(-x)),),
        slack=lambda x: sigmoid(x) * (1 + abs(x)),
    ),
    "gelu": Row(
        lambda x: x * cdf(x),
        (lambda x: cdf(x) + x * density(x),),
        slack=lambda x: (1 + x * x) * (cdf(x) + abs(x) * density(x)),
    ),
    "exp": Row(mp.exp, (mp.exp,)),
    "sin": Row(mp.sin, (mp.cos,)),
}  # fmt: skip
COMPARISONS: dict[str, Callable[[Number, Number], Any]] = {
    "less": operator.lt, "less_equal": operator.le, "greater": operator.gt,
    "greater_equal": operator.ge, "equal": operator.eq, "not_equal": operator.ne,
}  # fmt: skip
BY_NAME: dict[str, Callable[..., Any]] = {
    "maximum": sv.maximum, "minimum": sv.minimum, "where": sv.where,
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul,
    "divide": operator.truediv, "power": operator.pow, "negate": operator.neg,
} | COMPARISONS  # fmt: skip


def spread(name: str, operands: Sequence[Number]) -> Number:
    """By how many units of the last digit the float formula may be wrong, apart from a few."""
    if name == "power":
        return powers(*operands)
    return 1 + operands[0] ** 2 if name == "gelu" else 1


@dataclass(frozen=True)
class Expression:
    """Some leaves, and operations on them, on plain numbers and on what came before.

    Each operation has a name and operands; an operand is a plain number, or the place of a leaf or
    an earlier operation as a tuple of one int.
    """

    leaves: list[float]
    operations: list[tuple[str, tuple[Any, ...]]]

    def build(self, leaves: Sequence[Any]) -> Any:
        """The expression of these leaves, as a user writes it."""
        made = list(leaves)
        for name, operands in self.operations:
            numbers = [made[x[0]] if isinstance(x, tuple) else x for x in operands]
            if name in BY_NAME:
                made.append(BY_NAME[name](*numbers))
            else:
                made.append(getattr(numbers[0], name)())
        return made[-1]

    def exact(
        self, leaves: Sequence[Number], noise: random.Random | None = None, reordered: bool = False
    ) -> tuple[Number, list[Number]]:
        """The value and the derivatives by the leaves; with `reordered` sums in any order."""

        def off(size: Number) -> Number:
            return (
                0
                if noise is None
                else NOISE * noise.choice((-1, 1)) * noise.uniform(0.5, 1.0) * size
            )

        made, operands = list(leaves), []
        sizes = [abs(x) for x in leaves]  # of the largest number in the sum that a number is
        for name, places in self.operations:
            numbers = [made[x[0]] if isinstance(x, tuple) else mpf(x) for x in places]
            operands.append(numbers)
            if name in COMPARISONS:
                made.append(mpf(bool(COMPARISONS[name](*numbers))))
                sizes.append(mpf(1))
                continue
            if not ROWS[name].defined(*numbers):  # the noise has moved it
                return mp.nan, [mp.nan] * len(leaves)
            value = ROWS[name].value(*numbers)
            size = abs(value)
            if reordered and name in SUMS:
                size = max(sizes[x[0]] if isinstance(x, tuple) else abs(mpf(x)) for x in places)
            made.append(value + off(size * spread(name, numbers)))
            sizes.append(size)
        gradients = [mpf(0)] * (len(made) - 1) + [mpf(1)]
        for i in reversed(range(len(self.operations))):
            name, places = self.operations[i]
            upstream = gradients[len(leaves) + i]
            if name in COMPARISONS:
                continue
            row = ROWS[name]
            for place, partial in zip(places, row.partials, strict=True):
                if isinstance(place, tuple):
                    slope = partial(*operands[i])
                    size = abs(slope) * spread(name, operands[i]) + row.slack(*operands[i])
                    gradients[place[0]] += upstream * (slope + off(size))
        return made[-1], gradients[: len(leaves)]

    def exact_second(
        self,
        leaves: Sequence[Number],
        along: Sequence[float],
        noise: random.Random | None = None,
        reordered: bool = False,
    ) -> list[Number]:
        """The derivative of the gradient along a direction; infinite at a corner."""
        near, gradients = mpf(10) ** -20, []
        state = None if noise is None else noise.getstate()
        for side in (-near, 0, near):
            if noise is not None:
                noise.setstate(state)
            moved = [x + side * a for x, a in zip(leaves, along, strict=True)]
            gradients.append(self.exact(moved, noise, reordered)[1])
        slopes = []
        for before, here, after in zip(*gradients, strict=True):
            left, right = (here - before) / near, (after - here) / near
            corner = abs(right - left) > CORNER * (1 + abs(left))
            slopes.append(mp.inf if corner else (left + right) / 2)
        return slopes


def drawn(chance: random.Random, most: int) -> Expression:
    """A random expression of at most so many operations, defined at its leaves."""
    leaves = [number(chance) for _ in range(chance.randint(1, 5))]
    numbers: list[Number] = [mpf(x) for x in leaves]
    operations: list[tuple[str, tuple[Any, ...]]] = []
    conditions: set[int] = set()
    for _ in range(chance.randint(1, most)):
        name = chance.choice([*ROWS, "where"])
        count = len(ROWS[name].partials)
        places = [i for i in range(len(numbers)) if i not in conditions]
        # The newest is often among them, so that an expression is deep.
        chosen = [chance.choice((chance.choice(places), places[-1])) for _ in range(count)]
        operands: list[Any] = [(i,) for i in chosen]
        if name == "where":
            test, other = chance.choice(list(COMPARISONS)), chance.choice([operands[1], 0.5])
            sides = operands[0], other
            compared = [numbers[x[0]] if isinstance(x, tuple) else mpf(x) for x in sides]
            if is_near(*compared):
                continue
            operations.append((test, sides))
            numbers.append(mpf(bool(COMPARISONS[test](*compared))))
            conditions.add(len(numbers) - 1)
            operands[0] = (len(numbers) - 1,)
        elif count > 1 and chance.random() < 0.3:
            operands[chance.randrange(count)] = number(chance)
        value = value_of(name, operands, numbers)
        if value is None:
            continue
        operations.append((name, tuple(operands)))
        numbers.append(value)
    if not operations or len(numbers) - 1 in conditions:
        return drawn(chance, most)
    return Expression(leaves, operations)


def number(chance: random.Random) -> Any:
    """A number such as people use, and some that they seldom do."""
    return chance.choice(
        [
            chance.gauss(0.0, 1.0),
            chance.uniform(0.0, 2.0),
            chance.randint(-3, 3),
            chance.choice([0.5, -0.25, 1.0, -1.0, 0.0]),
            chance.gauss(0.0, 30.0),
            chance.gauss(0.0, 1.0) * 10.0 ** chance.randint(-8, 3),
        ]
    )


def is_near(x: Number, y: Number) -> bool:
    """Whether rounding may decide which of two is larger; not if they are equal."""
    return x != y and abs(x - y) < NEAR * max(abs(x), abs(y), NEAR)


def value_of(name: str, operands: Sequence[Any], numbers: Sequence[Number]) -> Number | None:
    """What an operation makes; None where it is not defined, or the result too large."""
    taken = [numbers[x[0]] if isinstance(x, tuple) else mpf(x) for x in operands]
    if name == "power":
        x, y = taken
        if x <= 0 and isinstance(operands[1], tuple):
            return None  # its derivative by the exponent is no number
        if abs(y) > 100:
            return None
    if not ROWS[name].defined(*taken) or max(map(abs, taken)) > LARGEST:
        return None
    if name in ("maximum", "minimum") and is_near(*taken):
        return None
    if name in CORNERS and is_near(taken[0], mpf(0)):
        return None
    value = ROWS[name].value(*taken)
    # What only rounding keeps from 0 is another expression for a float.
    least = NEAR * max(map(abs, taken)) if name in ("add", "subtract") else SMALLEST
    return value if value == 0 or least < abs(value) < LARGEST else None
