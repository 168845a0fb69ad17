"""The rules of guessing: which weight, at which moment, and what is right; pages have the same."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scalarviz.core.model.program import Moment, Program
from scalarviz.training.session.session import Session

SAME = 1e-12  # of a number: a smaller change is none
NEAR = 0.1  # of the change, or of the gradient: so far off is near enough
DIGITS = 2  # that a typed number has at least, if it is compared digit by digit
OF_STEP, OF_NUMBER = 7919, 104729  # what they are multiplied by to choose a weight


@dataclass(frozen=True)
class Question:
    """What is asked.

    kind   "value", asked before the step that moves the weight, or "gradient", before its sum
    row    bank index of the weight
    at     operations of a step that are done then; `ahead`, how many are to be done until then
    """

    kind: str
    row: int
    at: int
    ahead: int


def can_guess(session: Session) -> bool:
    """Return whether there are layers, and a weight that moves."""
    network = session.network
    return not network.program.is_graph and not np.asarray(network.bank.frozen).all()


def question_of(session: Session, number: int, pinned: int | None) -> Question:
    """Return a question by its number, from 0: the even ones are about a value.

    pinned  bank index of the weight that it is about; None: one of those that move
    """
    moments, (step, done) = session.trainer.moments, session.clock.place
    rows = np.flatnonzero(~np.asarray(session.network.bank.frozen))
    row = int(rows[(step * OF_STEP + number * OF_NUMBER) % len(rows)])
    row = row if pinned is None else pinned
    at = len(moments) - 1
    if number % 2:
        at = fills(session.network.program, moments, row)
    kind = "gradient" if number % 2 else "value"
    return Question(kind, row, at, (at - done) % len(moments))


def fills(program: Program, moments: Sequence[Moment], row: int) -> int:
    """Return the number of the moment, from 0, after which the gradient of a weight is whole."""
    return max(
        i
        for i, moment in enumerate(moments)
        if moment.kind == "weight gradient"
        and row in program.operations[moment.operation].parameters
    )


def way_of(old: float, new: float) -> int | None:
    """Return 1 if a number has grown, -1 if it has shrunk, 0 if it stays; None without any."""
    change, least = new - old, SAME * max(abs(old), abs(new))
    if math.isnan(change):
        return None
    return 0 if abs(change) <= least else 1 if change > 0.0 else -1


def is_near(typed: str, old: float, new: float) -> bool:
    """Return whether a typed number is near enough to the new one, or has its digits.

    old  the number before, from which it has changed; 0 for a gradient
    """
    guess = float(typed)
    digits = len(typed.lstrip("-0.").replace(".", ""))
    same = digits >= DIGITS and float(f"{new:.{digits}g}") == guess
    return same or abs(guess - new) <= NEAR * abs(new - old)
