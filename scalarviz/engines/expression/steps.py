"""Steps of a trace: sums combined into one step, and independent operations grouped.

Additions, subtractions and multiplications by a parameter or a constant are combined into one step,
a sum of factor * number, without intermediate results. Every other operation is one step; steps
with the same formula that do not depend on each other become adjacent.

A place is the index of a number in a trace; see `model.trace`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from scalarviz.core.formulas.arithmetic import flat, where_by_condition
from scalarviz.core.formulas.formula import Formula
from scalarviz.core.trace import EVERY_OPERATION, NONE, Trace

LINEAR = ("add", "subtract", "negate", "linear")
FLAT = (flat, where_by_condition)  # derivatives that are 0 everywhere


@dataclass(frozen=True, slots=True)
class Term:
    """A product sign * factor * number.

    `factor` is the place of a parameter or constant, NONE for the factor 1; `number` the place of a
    number, NONE if there is none.
    """

    sign: float
    factor: int
    number: int


@dataclass(slots=True)
class TraceStep:
    """The computation of one number: a formula applied to other numbers, or a sum of terms."""

    target: int  # place of the number
    formula: Formula | None = None  # None for a sum
    operands: tuple[int, ...] = ()
    terms: list[Term] = field(default_factory=list)
    level: int = 0  # length of the longest chain of steps that it depends on
    slopes: list[bool] = field(default_factory=list)  # operands or terms that need a gradient

    @property
    def name(self) -> str:
        """Name of the formula; "" for a sum."""
        return self.formula.name if self.formula else ""

    @property
    def reads(self) -> Iterable[int]:
        """Places of the numbers that the step reads."""
        return self.operands or [term.number for term in self.terms if term.number != NONE]


class Lowering:
    """Converts a trace to steps: combines sums, and gives a row to scalars that need one."""

    def __init__(self, recording: Trace) -> None:
        self.recording = recording
        self.steps: list[TraceStep] = []
        self.sums: dict[int, list[Term]] = {}  # sums not yet merged into another sum
        self.rows: dict[int, None] = {}  # scalars with a number for every sample
        self.inlined = self._inlined()
        for i, formula in enumerate(recording.formulas):
            operands = [int(place) for place in recording.operands[i] if place != NONE]
            self._operation(recording.first_made + i, formula, operands)
        for place in recording.outputs:
            self._number(place)

    def _inlined(self) -> set[int]:
        """Return the places of sums that are read by one other sum only."""
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
        """Return an operation as the terms of a sum; None if it is not a sum."""
        if formula.name in ("add", "subtract"):
            left, right = map(self._as_terms, operands)
            if formula.name == "subtract":
                right = negated(right)
            if len(left) < len(right):  # extend the longer sum: copying it is slow
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
        """Make sure that a place has a number for every sample, and return the place."""
        if self._is_scalar(place) and place not in self.rows:
            self.rows[place] = None
            self.steps.append(TraceStep(place, terms=[Term(1.0, place, NONE)]))
        return place


def negated(terms: list[Term]) -> list[Term]:
    return [Term(-term.sign, term.factor, term.number) for term in terms]


def in_order(steps: list[TraceStep], inputs: int) -> tuple[list[list[TraceStep]], dict[int, int]]:
    """Return the steps in runs that one loop can compute, and the row of each place.

    Steps of one level with the same formula are adjacent, in the order of the rows that they read,
    and their results are in adjacent rows.
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
    """Whether a step has the same formula as the one before, on the next row of each operand."""
    if step.formula is None or step.formula is not before.formula:
        return False
    if step.level != before.level or step.slopes != before.slopes:
        return False
    pairs = zip(before.operands, step.operands, strict=True)
    return all(row[after] == row[first] + 1 for first, after in pairs)


def find_slopes(steps: list[TraceStep], recording: Trace) -> None:
    """Set the field `slopes` of every step: which operands or terms need a gradient."""
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
