"""Nodes: the numbers of all values of a trace for some samples, operation by operation."""

from __future__ import annotations

from typing import final

import numpy as np

from scalarviz.base.checks.numbers import FloatArray
from scalarviz.core.model.operations import NONE, Buffer
from scalarviz.core.model.trace import TraceProgram


@final
class Nodes:
    """Values, and gradients of the loss, of inputs, constants, parameters and results.

    values, gradients  shape (samples, numbers of the trace); NaN where nothing is computed yet
    """

    def __init__(self, program: TraceProgram, inputs: FloatArray) -> None:
        self.program, self.trace = program, program.trace
        self.values = np.full((len(inputs), program.workspace), np.nan)
        self.gradients = np.full_like(self.values, np.nan)
        self.values[:, : self.trace.inputs] = inputs
        self.values[:, self.trace.inputs : self.trace.first_parameter] = self.trace.constants

    def forward(self, operation: int, parameters: FloatArray) -> None:
        """Compute the results of an operation; `parameters` are the numbers of all parameters."""
        trace = self.trace
        self.values[:, trace.first_parameter : trace.first_made] = parameters
        value = trace.formulas[operation].value
        operands = self.values[:, self.operands(operation)].tolist()
        self.values[:, trace.first_made + operation] = [value(*each) for each in operands]

    def outputs(self) -> FloatArray:
        """Return the results of the function, shape (samples, outputs)."""
        return self.values[:, self.trace.outputs]

    def begin_back(self, upstream: FloatArray) -> None:
        """Set the gradients of the outputs; others have received nothing yet."""
        self.gradients[:] = 0.0
        for column, place in enumerate(self.trace.outputs):
            self.gradients[:, place] += upstream[:, column]

    def backward(self, operation: int) -> dict[int, float]:
        """Pass the gradient of a result on to its operands.

        Return what each parameter has received of all samples, by its number.
        """
        trace, received = self.trace, dict[int, float]()
        for place, slopes in self.slopes(operation):
            passed = slopes * self.gradients[:, trace.first_made + operation]
            self.gradients[:, place] += passed
            number = place - trace.first_parameter
            if 0 <= number < len(trace.parameters):
                received[number] = received.get(number, 0.0) + float(passed.sum())
        return received

    def slopes(self, operation: int) -> list[tuple[int, FloatArray]]:
        """Return the operands that are no constants, each with the slopes of the result in it."""
        trace, places = self.trace, self.operands(operation)
        numbers = self.values[:, [*places, trace.first_made + operation]].tolist()
        return [
            (place, np.array([partial(*each) for each in numbers]))
            for place, partial in zip(places, trace.formulas[operation].partials, strict=True)
            if not trace.inputs <= place < trace.first_parameter
        ]

    def operands(self, operation: int) -> list[int]:
        """Return the numbers of the operands of an operation."""
        return [place for place in self.trace.operands[operation].tolist() if place != NONE]

    def of(self, numbers: FloatArray, buffer: Buffer) -> FloatArray:
        """Return a buffer of `values` or `gradients`, shape (samples, size)."""
        if buffer == self.program.outputs:
            return numbers[:, self.trace.outputs]
        return numbers[:, buffer.offset : buffer.offset + buffer.size]
