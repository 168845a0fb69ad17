"""Nodes: the numbers of all values of a trace for some samples, node by node."""

from __future__ import annotations

import math
from typing import final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import Buffer
from scalarviz.core.trace_program import TraceProgram

Rows = list[list[float]]  # of each sample a number for each value of the trace


@final
class Nodes:
    """Values, and gradients of the loss, of inputs, constants, parameters and results.

    values, gradients  of each sample, by place in the trace; NaN where nothing is computed yet
    """

    def __init__(self, program: TraceProgram, inputs: FloatArray, parameters: FloatArray) -> None:
        self.program, self.trace = program, program.trace
        known = [*self.trace.constants.tolist(), *parameters.tolist()]
        rest = [math.nan] * program.products
        self.values: Rows = [[*row, *known, *rest] for row in inputs.tolist()]
        self.gradients: Rows = [[math.nan] * program.workspace for _ in self.values]

    def forward(self, node: int, parameters: FloatArray) -> None:
        """Compute the results of a node; `parameters` are the numbers of all parameters."""
        first, members = self.trace.first_made, self.program.nodes[node].members
        formulas, operands = self.trace.formulas, self.trace.taken
        for row in self.values:
            row[self.trace.first_parameter : first] = parameters.tolist()
            for i in members:
                row[first + i] = formulas[i].value(*[row[place] for place in operands[i]])

    def outputs(self) -> FloatArray:
        """Return the results of the function, shape (samples, outputs)."""
        return self.of(self.values, self.program.outputs)

    def begin_back(self, upstream: FloatArray) -> None:
        """Set the gradients of the outputs; others have received nothing yet."""
        for row, given in zip(self.gradients, upstream.tolist(), strict=True):
            row[:] = [0.0] * len(row)
            for place, gradient in zip(self.trace.outputs, given, strict=True):
                row[place] += gradient

    def backward(self, node: int) -> dict[int, float]:
        """Pass the gradients of the results of a node on to all that it takes.

        Return what each parameter has received of all samples, by its number.
        """
        trace, received = self.trace, dict[int, float]()
        parameters = range(trace.first_parameter, trace.first_made)
        for row, gradients in zip(self.values, self.gradients, strict=True):
            for i in reversed(self.program.nodes[node].members):
                taken, came = trace.taken[i], gradients[trace.first_made + i]
                numbers = [*[row[place] for place in taken], row[trace.first_made + i]]
                for place, partial in zip(taken, trace.formulas[i].partials, strict=True):
                    if trace.inputs <= place < trace.first_parameter:
                        continue
                    passed = partial(*numbers) * came
                    gradients[place] += passed
                    if place in parameters:
                        number = place - trace.first_parameter
                        received[number] = received.get(number, 0.0) + passed
        return received

    def of(self, numbers: Rows, buffer: Buffer) -> FloatArray:
        """Return a buffer of `values` or `gradients`, shape (samples, size)."""
        places = self.program.places_of(buffer)
        return np.array([[row[place] for place in places] for row in numbers], np.float64)
