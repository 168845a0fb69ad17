"""What a network that reads a sequence computes: shares of heads, parts of a score, largest terms.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts.sums import top_of
from scalarviz.scene.layout.sequence_places import KEY, QUERY, VALUE, Choice, SequencePlan
from scalarviz.story.facts import NONE

STREAM = "x", "a", "o"  # what a score adds up: what stays, looking back, neurons


@dataclass
class SequenceNumbers:
    """The numbers of a sample, which may be known only in part, and the weights.

    Attributes:
        values: activations by buffer name, all places of the first number first
        weights: all values of the bank
    """

    plan: SequencePlan
    values: Mapping[str, FloatArray]
    weights: FloatArray
    choice: Choice

    def has(self, name: str) -> bool:
        """Return whether the numbers of a buffer are known; `name` is its role in the plan."""
        return self.plan.buffers[name] in self.values

    def number(self, name: str, index: int, place: int) -> float:
        """Return a number of a place."""
        return float(self.values[self.plan.buffers[name]][index * self.plan.places + place])

    def numbers(self, name: str, place: int) -> list[float]:
        """Return all numbers of a place; [] if unknown."""
        if not self.has(name):
            return []
        count = len(self.values[self.plan.buffers[name]]) // self.plan.places
        return [self.number(name, each, place) for each in range(count)]

    def weight(self, wall: str, row: int, column: int, length: int = 0) -> float:
        """Return a weight of a wall whose rows have `length` weights, by default one per number."""
        first = self.plan.rows[wall] + row * (length if length > 0 else self.plan.size)
        return float(self.weights[first + column])

    def row(self, wall: str, row: int) -> list[float]:
        """Return the weights of a row of a wall."""
        return [self.weight(wall, row, each) for each in range(self.plan.size)]

    @cached_property
    def read(self) -> list[int]:
        """The letters of the sequence."""
        if not self.has("inputs"):
            return []
        letters = self.numbers("inputs", 0)[:0]
        for place in range(self.plan.places):
            letters.append(self.number("inputs", 0, place))
        return [round(each) for each in letters if each >= 0.0]

    @property
    def place(self) -> int:
        """The chosen place; NONE without letters."""
        last = len(self.read) - 1
        return min(last, self.plan.usual if self.choice.place == NONE else self.choice.place)

    @cached_property
    def chances(self) -> list[float]:
        """How likely each letter is to come next; [] if unknown."""
        scores = [each / self.choice.heat for each in self.numbers("out", self.place)]
        is_whole = self.choice.heat == 1.0 or len(scores) == 0
        return [math.exp(each) for each in scores] if is_whole else softmax(scores)

    @property
    def best(self) -> int:
        """The most likely letter; NONE if unknown."""
        known = self.chances
        return max(range(len(known)), key=lambda each: known[each]) if known else NONE

    @property
    def letter(self) -> int:
        """The letter whose score is explained: the chosen one, or else the most likely one."""
        return self.best if self.choice.letter == NONE else self.choice.letter

    # Heads.

    def of_head(self, head: int, kind: int, number: int, place: int) -> float:
        """Return a number of the query (0), key (1) or value (2) of a head at a place."""
        each = self.plan.each
        return self.number("qkv", 3 * each * head + kind * each + number, place)

    def products(self, head: int, here: int, other: int) -> list[float]:
        """Return the products of the query of a place and the key of another place."""
        return [
            self.of_head(head, QUERY, each, here) * self.of_head(head, KEY, each, other)
            for each in range(self.plan.each)
        ]

    def scores(self, head: int, here: int) -> list[float]:
        """Return how well each place up to `here` fits the query of `here`."""
        root = math.sqrt(float(self.plan.each))
        return [sum(self.products(head, here, other)) / root for other in range(here + 1)]

    @cached_property
    def shares(self) -> list[list[list[float]]]:
        """For each head and place, the shares of all places up to this one."""
        places = range(len(self.read) if self.has("qkv") else 0)
        heads = range(self.plan.heads)
        return [[softmax(self.scores(head, here)) for here in places] for head in heads]

    # The parts of a score, and the largest term of each.

    def parts(self, letter: int) -> list[float]:
        """Return what each of STREAM adds to the score of a letter; [] if unknown."""
        weights, place = self.row("scores", letter), self.place
        found: list[float] = []
        for name in STREAM:
            known = self.numbers(name, place)
            terms = [x * w for x, w in zip(known, weights, strict=False)]
            found += [sum(terms)] if known else []
        return found if len(found) == len(STREAM) else []

    def additions(self, neuron: int) -> list[float]:
        """Return what a neuron adds to the score of each letter."""
        plan, value = self.plan, self.number("z", neuron, self.place)
        column = [self.weight("narrow", row, neuron, plan.hidden) for row in range(plan.size)]
        rows = [self.row("scores", letter) for letter in range(plan.letters)]
        return [value * sum([a * b for a, b in zip(row, column, strict=True)]) for row in rows]

    def staying(self, letter: int, sign: float) -> int:
        """Return the number of the road that adds most, with a sign, to the score of a letter."""
        weights, known = self.row("scores", letter), self.numbers("x", self.place)
        return max(range(len(known)), key=lambda each: sign * known[each] * weights[each])

    def looking(self, letter: int, sign: float) -> tuple[int, int, int]:
        """Return the way of looking back that adds most, with a sign, to the score of a letter.

        It consists of a number of the road, a number of the mix, and the place that is looked at.
        """
        plan, weights, best = self.plan, self.row("scores", letter), -math.inf
        found = 0, 0, 0
        for number in range(plan.size):
            head, each = divmod(number, plan.each)
            shares = self.shares[head][self.place]
            out = [
                weights[row] * self.weight("join", row, number, plan.size)
                for row in range(plan.size)
            ]
            come = [
                share * self.of_head(head, VALUE, each, other) for other, share in enumerate(shares)
            ]
            row, other = largest_product(out, come, sign)
            if sign * out[row] * come[other] > best:
                best, found = sign * out[row] * come[other], (row, number, other)
        return found

    def speaking(self, letter: int, sign: float) -> tuple[int, int, int]:
        """Return the way through a neuron that adds most, with a sign, to the score of a letter.

        It consists of a number of the road, the neuron, and a number that the neuron reads.
        """
        plan, weights, best = self.plan, self.row("scores", letter), -math.inf
        known, active = self.numbers("n", self.place), self.numbers("z", self.place)
        found = 0, 0, 0
        for neuron, value in enumerate(active):
            if value <= 0.0:
                continue
            out = [
                weights[row] * self.weight("narrow", row, neuron, plan.hidden)
                for row in range(plan.size)
            ]
            come = [x * w for x, w in zip(known, self.row("wide", neuron), strict=True)]
            row, column = largest_product(out, come, sign)
            if sign * out[row] * come[column] > best:
                best, found = sign * out[row] * come[column], (row, neuron, column)
        return found


def softmax(scores: Sequence[float]) -> list[float]:
    """Return shares that add up to 1."""
    top: float = max(scores)
    parts = [math.exp(each - top) for each in scores]
    total: float = sum(parts)
    return [each / total for each in parts]


def largest_product(one: Sequence[float], other: Sequence[float], sign: float) -> tuple[int, int]:
    """Return the indices of the factors of the largest product; of the smallest if sign < 0."""
    high, low = top_of(one, 1.0), top_of(one, -1.0)
    first, last = top_of(other, sign), top_of(other, -sign)
    is_high = sign * one[high] * other[first] >= sign * one[low] * other[last]
    return (high, first) if is_high else (low, last)
