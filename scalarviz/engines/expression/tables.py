"""ExpressionTables: the steps of a trace as arrays for the kernels of `kernels`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from scalarviz.core.formulas.formula import Formula
from scalarviz.core.trace import MOST_OPERANDS, NONE, Trace
from scalarviz.engines.codegen.dispatch import (
    BINARY_PARTIALS,
    TERNARY_PARTIALS,
)
from scalarviz.engines.codegen.unit_source import Unit
from scalarviz.engines.expression import kernels
from scalarviz.engines.expression.records import FORMULA, SLOPES, STEP, SUM
from scalarviz.engines.expression.steps import Lowering, Term, TraceStep, find_slopes, in_order

CACHE = 1 << 18  # maximum bytes of the values and gradients of a tile
MOST_SAMPLES, LEAST_SAMPLES = 128, 8

Code = tuple[tuple[int, ...], Unit | None]  # the fields of a STEP, and its kernel

# By number of operands: the kernels of a formula, forward and backward.
FORMULAS = (
    (kernels.unary, kernels.unary_back),
    (kernels.binary, kernels.binary_back),
    (kernels.ternary, kernels.ternary_back),
)


class ExpressionTables:
    """The steps of a trace as arrays.

    code, units                    steps forward, then backward; the kernel of each, if any
    forwards                       number of steps forward
    signs, scalars, rows           terms of all sums
    constants                      constants of the trace, followed by a 1
    outputs                        rows of the outputs
    numbers, samples               number of rows and of columns of a tile
    steps                          steps forward, in order
    """

    def __init__(self, recording: Trace, dtype: str) -> None:
        self.recording = recording
        steps = Lowering(recording).steps
        find_slopes(steps, recording)
        runs, self.row = in_order(steps, recording.inputs)
        self.steps = [step for run in runs for step in run]
        self.terms: list[tuple[float, int, int]] = []
        forward = [self._forward(run) for run in runs]
        code = forward + list(self._backward(runs))
        self.code = np.array([step for step, _ in code], STEP)
        self.units = [unit for _, unit in code]
        self.forwards = len(forward)
        signs, scalars, rows = zip(*self.terms, strict=True) if self.terms else ((), (), ())
        self.signs = np.array(signs, dtype)
        self.scalars = np.array(scalars, np.uint64)
        self.rows = np.array(rows, np.uint64)
        self.constants = np.array([*recording.constants, 1.0], dtype)
        self.outputs = np.array([self.row[place] for place in recording.outputs], np.uint64)
        self.numbers = len(self.row)
        fitting = CACHE // (2 * self.constants.itemsize * self.numbers)
        self.samples = min(MOST_SAMPLES, max(LEAST_SAMPLES, fitting))

    def _forward(self, run: list[TraceStep]) -> Code:
        """Return the record of a run of steps."""
        first = run[0]
        if first.formula is None:
            shifts = [term for term in first.terms if term.number == NONE]
            products = [term for term in first.terms if term.number != NONE]
            begin = len(self.terms)
            self._add(products, shifts)
            return self._code(
                SUM,
                target=first.target,
                terms=(begin, begin + len(shifts), len(self.terms)),
            )
        unit = forward_kernel(first.formula)
        return self._code(FORMULA, unit, first.operands, first.target, len(run))

    def _add(self, products: list[Term], shifts: list[Term]) -> None:
        for term in shifts:
            self.terms.append((term.sign, self._scalar(term.factor), 0))
        for term in products:
            self.terms.append((term.sign, self._scalar(term.factor), self.row[term.number]))

    def _scalar(self, factor: int) -> int:
        """Return the index of a scalar: parameters first, then constants, then the 1."""
        recording = self.recording
        if factor == NONE:
            return len(recording.parameters) + len(recording.constants)
        if factor >= recording.first_parameter:
            return factor - recording.first_parameter
        return len(recording.parameters) + factor - recording.inputs

    def _code(
        self,
        kind: np.uint64,
        unit: Unit | None = None,
        operands: tuple[int, ...] = (),
        target: int = 0,
        count: int = 1,
        source: int = 0,
        terms: tuple[int, int, int] = (0, 0, 0),
    ) -> Code:
        places = [*operands, 0, 0, 0][:MOST_OPERANDS]
        rows = [self.row.get(place, 0) for place in [*places, target]]
        return (int(kind), 0, *rows, count, self.row.get(source, 0), *terms), unit

    def _backward(self, runs: list[list[TraceStep]]) -> Iterator[Code]:
        """Iterate over the records of the steps backward."""
        readers = self._readers()
        for run in reversed(runs):
            for step in run:
                yield from self._gather(step.target, readers)
            if not any(run[0].slopes):
                continue
            if run[0].formula is None:
                yield from self._slopes(run[0])
            else:
                yield from self._partials(run)
        for place in range(self.recording.inputs):
            yield from self._gather(place, readers)

    def _readers(self) -> dict[int, list[Term]]:
        """Return, for each number, the sums that read it: a term each, with the sum as number."""
        readers: dict[int, list[Term]] = {}
        for step in self.steps:
            for term in step.terms:
                if term.number != NONE:
                    turned = Term(term.sign, term.factor, step.target)
                    readers.setdefault(term.number, []).append(turned)
        return readers

    def _gather(self, place: int, readers: dict[int, list[Term]]) -> Iterator[Code]:
        """Iterate over the record that adds the gradient of a number from the sums that read it."""
        if place in readers:
            begin = len(self.terms)
            self._add(readers[place], [])
            terms = (begin, begin, len(self.terms))
            yield self._code(SUM, target=place, terms=terms)

    def _slopes(self, step: TraceStep) -> Iterator[Code]:
        """Iterate over the record that computes gradients of the parameters in a sum."""
        learned = [term for term in step.terms if term.factor >= self.recording.first_parameter]
        shifts = [term for term in learned if term.number == NONE]
        products = [term for term in learned if term.number != NONE]
        if learned:
            begin = len(self.terms)
            self._add(products, shifts)
            terms = (begin, begin + len(shifts), len(self.terms))
            yield self._code(SLOPES, target=step.target, terms=terms)

    def _partials(self, run: list[TraceStep]) -> Iterator[Code]:
        """Iterate over the records that compute gradients of the operands of a run."""
        first = run[0]
        assert first.formula is not None
        for i, (operand, wanted) in enumerate(zip(first.operands, first.slopes, strict=True)):
            if wanted:
                unit = slope_kernel(first.formula, i)
                yield self._code(FORMULA, unit, first.operands, first.target, len(run), operand)


def forward_kernel(formula: Formula) -> Unit:
    """Return the kernel that computes a formula."""
    kernel, _ = FORMULAS[len(formula.partials) - 1]
    return Unit(f"expression_{formula.name}", kernel, formula)


def slope_kernel(formula: Formula, operand: int) -> Unit:
    """Return the kernel that computes the gradient of an operand of a formula."""
    _, kernel = FORMULAS[len(formula.partials) - 1]
    row = slope_row(formula, operand)
    return Unit(f"expression_{formula.name}_back_{operand}", kernel, row)


def slope_row(formula: Formula, operand: int) -> Formula:
    """Return the row that computes the derivative of a formula by an operand."""
    if len(formula.partials) == 1:
        return formula
    partials = BINARY_PARTIALS if len(formula.partials) == 2 else TERNARY_PARTIALS
    return partials[f"{formula.name} by {operand}"]
