"""The rules of guessing: which weight, at which moment, and what is right; pages have the same."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scalarviz.story.facts import Facts, State
from scalarviz.story.names import owns

SAME = 1e-12  # of a number: a smaller change is none
NEAR = 0.1  # of the change, or of the gradient: so far off is near enough
DIGITS = 2  # that a typed number has at least, if it is compared digit by digit
OF_STEP, OF_NUMBER = 7919, 104729  # what they are multiplied by to choose a weight


@dataclass(frozen=True)
class GuessQuestion:
    """What is asked.

    kind  "value": that of a weight, before it moves; or "gradient", before it is summed
    row   bank index of the weight
    at    how many operations of a step are done then
    """

    kind: str
    row: int
    at: int


def number_asked(question: GuessQuestion, state: State) -> float:
    """Return the number that is asked about, as it is now."""
    return float((state.value if question.kind == "value" else state.grad)[question.row])


def can_guess(facts: Facts, state: State) -> bool:
    """Return whether there are layers, and a weight that moves."""
    return not facts.is_graph and not all(state.frozen)


def question_of(facts: Facts, state: State, number: int, pinned: int | None) -> GuessQuestion:
    """Return a question by its number, from 0: the even ones are about a value.

    pinned  bank index of the weight that it is about; None: one of those that move
    """
    rows = [row for row, is_frozen in enumerate(state.frozen) if not is_frozen]
    place = state.step * OF_STEP + number * OF_NUMBER
    row = rows[place % len(rows)] if pinned is None else pinned
    sums = [  # of a shared weight there are several
        i
        for i, moment in enumerate(facts.moments)
        if moment.kind == "weight gradient" and owns(facts.operations[moment.operation], row)
    ]
    if number % 2 and sums:
        return GuessQuestion("gradient", row, sums[-1])
    return GuessQuestion("value", row, len(facts.moments) - 1)


def way_of(old: float, new: float) -> int | None:
    """Return 1 if a number has grown, -1 if it has shrunk, 0 if it stays; None without any."""
    change = new - old
    if math.isnan(change):
        return None
    return 0 if abs(change) <= SAME * max(abs(old), abs(new)) else 1 if change > 0.0 else -1


def is_near(typed: str, old: float, new: float) -> bool:
    """Return whether a typed number is near enough to the new one, or has its digits.

    old  the number before, from which it has changed; 0 for a gradient
    """
    digits = len(typed.lstrip("-0.").replace(".", ""))
    has_digits = digits >= DIGITS and float(f"{new:.{digits}g}") == float(typed)
    return has_digits or abs(float(typed) - new) <= NEAR * abs(new - old)
