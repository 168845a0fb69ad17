"""ExpressionEngine, the base class of engines for compiled functions, and the Python engine.

`Nodes` holds all values of a trace for some samples, computed node by node, or all together by the
Python engine.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Generic, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.bank import Bank
from scalarviz.core.bank_arrays import find_bad
from scalarviz.core.formulas.losses import Loss
from scalarviz.core.layers import Layer
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.precision import Precision
from scalarviz.core.program import Buffer, Moment, Program
from scalarviz.core.trace_program import TraceProgram, slopes_of_operation
from scalarviz.data.batches import Batches
from scalarviz.engines.engine import Kept, Run, RunOutcome, StackEngine, Waiting
from scalarviz.errors import GradientError, UpdateError


class ExpressionEngine(StackEngine[Kept], Generic[Kept]):
    """Runs the recorded trace of a compiled function.

    Attributes:
        rows: bank indices of the function's parameters
        every: indices of all operations of the trace
    """

    called = "expression"
    program: TraceProgram

    def __init__(
        self, layers: Sequence[Layer], program: Program, bank: Bank, precision: Precision
    ) -> None:
        super().__init__(layers, program, bank, precision)
        assert isinstance(program, TraceProgram)
        self.trace = program.trace
        self.rows = program.rows
        self.every = range(program.products)

    @final
    def run(self, batches: Batches, loss: Loss) -> ExpressionRun:
        return ExpressionRun(self, batches, loss)

    @final
    def survey(self, batch: FloatArray) -> dict[str, FloatArray]:
        """Return {"values": array}, all values of the trace, shape (samples, values)."""
        trace = self.trace
        found = np.full((len(batch), self.program.workspace), np.nan)
        found[:, : trace.inputs] = batch
        found[:, trace.first_made :] = self._surveying.evaluate(batch)
        return {"values": found}

    @cached_property
    def _surveying(self) -> ExpressionEngine[Kept]:
        """An engine for the same function that returns the results of all operations."""
        every = range(self.trace.first_made, self.program.workspace)
        program = TraceProgram(replace(self.trace, outputs=[*every]), self.rows)
        return type(self)((), program, self.bank, self.precision)

    def step(self, optimizer: Optimizer) -> None:
        """Update the parameters by one optimizer step."""
        self.bank.step(optimizer, self.rows)

    def train(
        self, inputs: FloatArray, targets: FloatArray, loss: Loss, optimizer: Optimizer
    ) -> float:
        """Run a training step: zero_grad, forward, loss, backward, step; return the loss."""
        error = self.learn(inputs, targets, loss)
        self.step(optimizer)
        return error

    @abstractmethod
    def learn(self, inputs: FloatArray, targets: FloatArray, loss: Loss) -> float:
        """Run zero_grad, forward, loss and backward, without the step; return the loss."""


@final
class PythonExpressionEngine(ExpressionEngine["Nodes"]):
    """Runs a trace in plain Python, one sample and one operation at a time."""

    name = "python"

    def learn(self, inputs: FloatArray, targets: FloatArray, loss: Loss) -> float:
        self.bank.zero_grad(self.rows)
        error = loss.forward(self.forward(inputs), targets)
        self.backward(loss.backward())
        return error

    def evaluate(self, batch: FloatArray) -> FloatArray:
        return self.array(self._computed(batch).outputs())

    def forward(self, batch: FloatArray) -> FloatArray:
        nodes = self._computed(batch)
        self._waiting.append(Waiting(len(batch), nodes))
        return self.array(nodes.outputs())

    def _computed(self, batch: FloatArray) -> Nodes:
        """Return the values of the trace for a batch."""
        parameters = self.bank.value[self.rows]
        nodes = Nodes(self.program, batch, parameters)
        nodes.forward(self.every, parameters)
        return nodes

    def backward(self, upstream: FloatArray) -> FloatArray:
        nodes = self._waiting.pop().kept
        nodes.begin_back(upstream)
        nodes.backward(self.every)
        gradients = np.array(nodes.gradients)
        first, end = self.trace.first_parameter, self.trace.first_made
        self.bank.has_gradients = True
        with np.errstate(all="ignore"):
            self.bank.grad[self.rows] += gradients[:, first:end].sum(axis=0)
            return gradients[:, : self.trace.inputs].astype(self.bank.dtype)


@final
class ExpressionRun(Run):
    """Trains a compiled function on its engine, one entire step or one moment at a time."""

    def __init__(self, engine: ExpressionEngine[Any], batches: Batches, loss: Loss) -> None:
        super().__init__(batches, loss)
        self.engine = engine
        self.program = engine.program
        self.begin(0)
        self._gradients = np.zeros(0)

    def steps(self, optimizer: Optimizer, first: int, count: int) -> RunOutcome:
        losses = np.zeros(count)
        for i in range(count):
            inputs, targets = self.batches.at(first + i)
            try:
                losses[i] = self.engine.train(inputs, targets, self.loss_function, optimizer)
            except UpdateError as error:
                return RunOutcome(losses[:i], overflow=error)
            except GradientError:
                return RunOutcome(
                    losses[:i], find_bad(self.engine.bank, optimizer, self.engine.rows)
                )
        return RunOutcome(losses)

    def begin(self, step: int) -> None:
        self._batch = self.batches.at(step)
        self._nodes = Nodes(self.program, self._batch[0], self.engine.bank.value[self.engine.rows])
        self.loss = np.nan

    def perform(self, moment: Moment, optimizer: Optimizer) -> None:
        bank, rows = self.engine.bank, self.engine.rows
        inputs, targets = self._batch
        if moment.kind == "zero_grad":
            bank.zero_grad(rows)
        elif moment.kind == "forward":
            self._nodes.forward(self._members(moment), bank.value[rows])
        elif moment.kind == "loss":
            # One kernel computes loss and gradients; the backward pass shows the gradients.
            self.loss = self.engine.learn(inputs, targets, self.loss_function)
            self._gradients = bank.grad[rows]
            if self.program.operations:
                bank.zero_grad(rows)
            self.loss_function.forward(self._nodes.outputs(), targets)
            self._nodes.begin_back(self.loss_function.backward())
        elif moment.kind == "operand gradient":
            self._pass_back(moment)
        else:
            self.engine.step(optimizer)

    def _members(self, moment: Moment) -> Sequence[int]:
        return self.program.nodes[moment.operation].members

    def _pass_back(self, moment: Moment) -> None:
        """Propagate gradients to a moment's operands; at the end, use the engine's gradients."""
        bank = self.engine.bank
        for number, received in self._nodes.backward(self._members(moment)).items():
            bank.grad[self.engine.rows[number]] += received
        if moment.operation == 0:  # the kernel adds in another order, which changes the last digits
            bank.grad[self.engine.rows] = self._gradients
        bank.has_gradients = True

    def values(self, buffer: Buffer) -> FloatArray:
        return self._nodes.of(self._nodes.values, buffer)

    def gradients(self, buffer: Buffer) -> FloatArray:
        return self._nodes.of(self._nodes.gradients, buffer)

    def targets(self) -> FloatArray:
        return self._batch[1]


# ---- numbers of nodes ---------------------------------------------------------------------------

Rows = list[list[float]]  # for each sample a number for each value of the trace


@final
class Nodes:
    """Values and gradients of all inputs, constants, parameters and results of a trace.

    Attributes:
        values, gradients: a list per sample, by index in the trace; NaN if not computed yet
    """

    def __init__(self, program: TraceProgram, inputs: FloatArray, parameters: FloatArray) -> None:
        self.program, self.trace = program, program.trace
        known = [*self.trace.constants.tolist(), *parameters.tolist()]
        rest = [math.nan] * program.products
        self.values: Rows = [[*row, *known, *rest] for row in inputs.tolist()]
        self.gradients: Rows = [[math.nan] * program.workspace for _ in self.values]

    def forward(self, members: Sequence[int], parameters: FloatArray) -> None:
        """Compute the operations with the indices `members`."""
        first = self.trace.first_made
        formulas, operands = self.trace.formulas, self.trace.taken
        for row in self.values:
            row[self.trace.first_parameter : first] = parameters.tolist()
            for i in members:
                taken = operands[i]  # most have two: without a list of them
                if len(taken) == 2:
                    row[first + i] = formulas[i].value(row[taken[0]], row[taken[1]])
                else:
                    row[first + i] = formulas[i].value(*[row[place] for place in taken])

    def outputs(self) -> FloatArray:
        """Return the results of the function, shape (samples, outputs)."""
        return self.of(self.values, self.program.outputs)

    def begin_back(self, upstream: FloatArray) -> None:
        """Set the gradients of the outputs, and all other gradients to 0."""
        for row, given in zip(self.gradients, upstream.tolist(), strict=True):
            row[:] = [0.0] * len(row)
            for place, gradient in zip(self.trace.outputs, given, strict=True):
                row[place] += gradient

    def backward(self, members: Sequence[int]) -> dict[int, float]:
        """Propagate gradients from the results of operations to all their operands.

        Returns the gradient of each parameter by index, summed over the samples.
        """
        trace, received = self.trace, dict[int, float]()
        parameters = range(trace.first_parameter, trace.first_made)
        for row, gradients in zip(self.values, self.gradients, strict=True):
            for i in reversed(members):
                came = gradients[trace.first_made + i]
                for place, slope in slopes_of_operation(trace, i, row):
                    passed = slope * came
                    gradients[place] += passed
                    if place in parameters:
                        number = place - trace.first_parameter
                        received[number] = received.get(number, 0.0) + passed
        return received

    def of(self, numbers: Rows, buffer: Buffer) -> FloatArray:
        """Return a buffer's part of `values` or `gradients`, shape (samples, size)."""
        places = self.program.places_of(buffer)
        return np.array([[row[place] for place in places] for row in numbers], np.float64)
