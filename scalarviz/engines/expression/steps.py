"""A recording as steps: sums drawn together, and neighbours of one kind done at once.

What additions, subtractions and multiplications by a parameter or a constant make of some numbers
is one step, a sum of factor * number, with no numbers in between. Everything else is one step for
each operation; those of one formula that do not need each other become neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from scalarviz.formulas.arithmetic import flat, where_by_condition
from scalarviz.formulas.table import Formula
from scalarviz.model.trace import EVERY_OPERATION, NONE, Trace

LINEAR = ("add", "subtract", "negate", "linear")
FLAT = (flat, where_by_condition)  # derivatives that are always 0


@dataclass(frozen=True, slots=True)
class Term:
    """sign * factor * number: the place of a parameter or constant, and that of a number.

    NONE stands for the factor 1, and for no number.
    """

    sign: float
    factor: int
    number: int


@dataclass(slots=True)
class TraceStep:
    """What makes one number: a row of the table on some others, or a sum of terms."""

    target: int  # its place
    formula: Formula | None = None  # None for a sum
    operands: tuple[int, ...] = ()
    terms: list[Term] = field(default_factory=list)
    level: int = 0  # how many steps must come before, one after the other
    slopes: list[bool] = field(default_factory=list)  # by which operands a gradient is wanted

    @property
    def name(self) -> str:
        """The name of the formula; sums have none."""
        return self.formula.name if self.formula else ""

    @property
    def reads(self) -> Iterable[int]:
        """The places of the numbers that it needs."""
        return self.operands or [term.number for term in self.terms if term.number != NONE]


class Lowering:
    """Draws sums together, and makes numbers of parameters where an operation needs them."""

    def __init__(self, recording: Trace) -> None:
        self.recording = recording
        self.steps: list[TraceStep] = []
        self.sums: dict[int, list[Term]] = {}  # sums that wait for the sum that they are part of
        self.rows: dict[int, None] = {}  # scalars that have a number for every sample
        self.inlined = self._inlined()
        for i, formula in enumerate(recording.formulas):
            operands = [int(place) for place in recording.operands[i] if place != NONE]
            self._operation(recording.first_made + i, formula, operands)
        for place in recording.outputs:
            self._number(place)

    def _inlined(self) -> set[int]:
        """The places of sums that only one other sum needs."""
        recording = self.recording
        uses = np.bincount(recording.operands[recording.operands != NONE], minlength=1).tolist()
        needed = set(recording.outputs)
        inlined = set()
        for i, formula in enumerate(recording.formulas):
            if formula.name in LINEAR:
                for place in recording.operands[i].tolist():
                    if place >= recording.first_made and uses[place] == 1 and place not in needed:
                        inlined.add(place)
        return inlined

    def _is_scalar(self, place: int) -> bool:
        return self.recording.inputs <= place < self.recording.first_made

    def _is_constant(self, place: int, number: float) -> bool:
        recording = self.recording
        inside = recording.inputs <= place < recording.first_parameter
        return inside and recording.constants[place - recording.inputs] == number

    def _operation(self, place: int, formula: Formula, operands: list[int]) -> None:
        terms = self._terms(formula, operands)
        if terms is not None:
            if place in self.inlined:
                self.sums[place] = terms
            else:
                self.steps.append(TraceStep(place, terms=terms))
            return
        if formula.name == "power" and self._is_constant(operands[1], 2.0):
            formula, operands = EVERY_OPERATION["multiply"], [operands[0], operands[0]]
        numbers = tuple([self._number(operand) for operand in operands])
        self.steps.append(TraceStep(place, formula, numbers))

    def _terms(self, formula: Formula, operands: list[int]) -> list[Term] | None:
        """An operation as a sum; None if it is none."""
        if formula.name in ("add", "subtract"):
            left, right = map(self._as_terms, operands)
            if formula.name == "subtract":
                right = negated(right)
            if len(left) < len(right):  # a long sum is not copied for every number added to it
                left, right = right, left
            left.extend(right)
            return left
        if formula.name == "negate":
            return negated(self._as_terms(operands[0]))
        if formula.name == "linear":
            return self._as_terms(operands[0])
        scalars = [place for place in operands if self._is_scalar(place)]
        if formula.name == "multiply" and len(scalars) == 1:
            (number,) = set(operands) - set(scalars)
            return [Term(1.0, scalars[0], number)]
        return None

    def _as_terms(self, place: int) -> list[Term]:
        if place in self.sums:
            return self.sums.pop(place)
        if self._is_scalar(place):
            return [Term(1.0, place, NONE)]
        return [Term(1.0, NONE, place)]

    def _number(self, place: int) -> int:
        """A place that has a number for every sample."""
        if self._is_scalar(place) and place not in self.rows:
            self.rows[place] = None
            self.steps.append(TraceStep(place, terms=[Term(1.0, place, NONE)]))
        return place


def negated(terms: list[Term]) -> list[Term]:
    return [Term(-term.sign, term.factor, term.number) for term in terms]


def in_order(steps: list[TraceStep], inputs: int) -> tuple[list[list[TraceStep]], dict[int, int]]:
    """The steps in runs that can be done at once, and the row of each place.

    Of those that do not need each other, those of one formula are neighbours, in the order of the
    rows that they read; and what they make lies in neighbouring rows.
    """
    level = dict.fromkeys(range(inputs), 0)
    for step in steps:
        step.level = level[step.target] = 1 + max((level[x] for x in step.reads), default=0)
    row = {i: i for i in range(inputs)}
    runs: list[list[TraceStep]] = []
    for _, group in groupby(sorted(steps, key=lambda s: s.level), key=lambda s: s.level):
        for step in sorted(group, key=lambda s: (s.name, [row[x] for x in s.operands])):
            row[step.target] = len(row)
            if runs and continues(runs[-1][-1], step, row):
                runs[-1].append(step)
            else:
                runs.append([step])
    return runs, row


def continues(before: TraceStep, step: TraceStep, row: dict[int, int]) -> bool:
    """Whether a step does the same as the one before it, to the next row of each operand."""
    if step.formula is None or step.formula is not before.formula:
        return False
    if step.level != before.level or step.slopes != before.slopes:
        return False
    pairs = zip(before.operands, step.operands, strict=True)
    return all(row[after] == row[first] + 1 for first, after in pairs)


def find_slopes(steps: list[TraceStep], recording: Trace) -> None:
    """Note in every step by which of its operands or terms a gradient is wanted."""
    changing = {*range(recording.inputs), *range(recording.first_parameter, recording.first_made)}
    for step in steps:
        if step.formula is None:
            step.slopes = [t.factor in changing or t.number in changing for t in step.terms]
        else:
            pairs = zip(step.operands, step.formula.partials, strict=True)
            step.slopes = [x in changing and partial not in FLAT for x, partial in pairs]
        if any(step.slopes):
            changing.add(step.target)
        else:
            changing.discard(step.target)
