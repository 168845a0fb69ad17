"""The engines of a compiled expression: what each does with a trace, and the readable one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, final

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.data.batches import Batches
from scalarviz.engines.common.base import Engine, Outcome, Run, check_samples, newest_of
from scalarviz.errors import GradientError, UpdateError
from scalarviz.formulas.losses import Loss
from scalarviz.layers import Layer
from scalarviz.model.bank import Bank
from scalarviz.model.operations import Buffer
from scalarviz.model.optimizer import Optimizer
from scalarviz.model.precision import Precision
from scalarviz.model.program import Moment, Program
from scalarviz.model.trace import NONE, TraceProgram

Kept = TypeVar("Kept")


@dataclass(slots=True)
class Waiting(Generic[Kept]):
    """A batch that waits for its backward, and what is kept for that."""

    samples: int
    kept: Kept


class ExpressionEngine(Engine, Generic[Kept]):
    """Runs the trace of a program, whose parameters stand on some rows of a bank."""

    def __init__(
        self, layers: Sequence[Layer], program: Program, bank: Bank, precision: Precision
    ) -> None:
        super().__init__(layers, program, bank, precision)
        assert isinstance(program, TraceProgram)
        self.trace = program.trace
        self.rows = program.rows
        self._passes: list[Waiting[Kept]] = []

    @final
    def newest_batch(self) -> int:
        return newest_of(self._passes, "expression")

    @final
    def check_backward(self, samples: int) -> None:
        check_samples(self.newest_batch(), samples, "expression")

    @final
    def forget(self) -> None:
        self._passes.clear()

    @final
    def run(self, batches: Batches, loss: Loss) -> ExpressionRun:
        return ExpressionRun(self, batches, loss)

    @abstractmethod
    def step(self, optimizer: Optimizer) -> None:
        """Move the parameters against their gradients."""

    @abstractmethod
    def train(
        self, inputs: FloatArray, targets: FloatArray, loss: Loss, optimizer: Optimizer
    ) -> float:
        """zero_grad, forward, loss, backward, step; the loss."""

    @abstractmethod
    def learn(self, inputs: FloatArray, targets: FloatArray, loss: Loss) -> float:
        """All of that but the step; the loss."""

    @final
    def learn_by_verbs(self, inputs: FloatArray, targets: FloatArray, loss: Loss) -> float:
        """The same, one verb after the other."""
        self.bank.zero_grad(self.rows)
        error = loss.forward(self.forward(inputs), targets)
        self.backward(loss.backward())
        return error


@final
class PythonExpressionEngine(ExpressionEngine[list[list[float]]]):
    """Goes through the table, one sample and one operation after the other."""

    name = "python"

    def __init__(
        self, layers: Sequence[Layer], program: Program, bank: Bank, precision: Precision
    ) -> None:
        super().__init__(layers, program, bank, precision)
        rows = zip(self.trace.formulas, self.trace.operands.tolist(), strict=True)
        self._table = [
            (formula, [place for place in places if place != NONE]) for formula, places in rows
        ]

    def evaluate(self, batch: FloatArray) -> FloatArray:
        return self._results([self._numbers(sample) for sample in batch.tolist()])

    def forward(self, batch: FloatArray) -> FloatArray:
        samples = [self._numbers(sample) for sample in batch.tolist()]
        self._passes.append(Waiting(len(batch), samples))  # every number of every sample
        return self._results(samples)

    def _numbers(self, sample: list[float]) -> list[float]:
        """The inputs, the constants, the parameters, and the result of every operation."""
        parameters = self.bank.value[self.rows].tolist()
        numbers = [*sample, *self.trace.constants.tolist(), *parameters]
        for formula, places in self._table:
            numbers.append(formula.value(*[numbers[place] for place in places]))
        return numbers

    def _results(self, samples: list[list[float]]) -> FloatArray:
        outputs = self.trace.outputs
        with np.errstate(over="ignore"):
            return np.array(
                [[numbers[place] for place in outputs] for numbers in samples], self.bank.dtype
            )

    def backward(self, upstream: FloatArray) -> FloatArray:
        samples = zip(self._passes.pop().kept, upstream.tolist(), strict=True)
        gradients = np.array([self._gradients(numbers, g) for numbers, g in samples])
        first, end = self.trace.first_parameter, self.trace.first_made
        self.bank.has_gradients = True
        with np.errstate(all="ignore"):
            self.bank.grad[self.rows] += gradients[:, first:end].sum(axis=0)
            return gradients[:, : self.trace.inputs].astype(self.bank.dtype)

    def _gradients(self, numbers: list[float], upstream: list[float]) -> list[float]:
        """The gradient by every number of a sample, from those by its results."""
        gradients = [0.0] * len(numbers)
        for place, gradient in zip(self.trace.outputs, upstream, strict=True):
            gradients[place] += gradient
        made = range(self.trace.first_made, len(numbers))
        for place, (formula, places) in zip(reversed(made), reversed(self._table), strict=True):
            inputs = [numbers[x] for x in places]
            for x, partial in zip(places, formula.partials, strict=True):
                if x < self.trace.inputs or x >= self.trace.first_parameter:
                    slope = partial(*inputs, numbers[place])
                    gradients[x] += gradients[place] * slope
        return gradients

    def step(self, optimizer: Optimizer) -> None:
        self.bank.step(optimizer, self.rows)

    def train(
        self, inputs: FloatArray, targets: FloatArray, loss: Loss, optimizer: Optimizer
    ) -> float:
        error = self.learn(inputs, targets, loss)
        self.step(optimizer)
        return error

    def learn(self, inputs: FloatArray, targets: FloatArray, loss: Loss) -> float:
        return self.learn_by_verbs(inputs, targets, loss)


@final
class ExpressionRun(Run):
    """Trains an expression on its engine: whole steps, or its five phases one after the other."""

    def __init__(self, engine: ExpressionEngine[Any], batches: Batches, loss: Loss) -> None:
        super().__init__(batches, loss)
        self.engine = engine
        self.program = engine.program
        self._batch = batches.at(0)
        self._outputs = np.zeros((0, self.program.outputs.size))
        self._gradients = np.zeros(0)

    def steps(self, optimizer: Optimizer, first: int, count: int) -> Outcome:
        losses = np.zeros(count)
        for i in range(count):
            inputs, targets = self.batches.at(first + i)
            try:
                losses[i] = self.engine.train(inputs, targets, self.loss_function, optimizer)
            except UpdateError as error:
                return Outcome(losses[:i], overflow=error)
            except GradientError:
                return Outcome(losses[:i], self.engine.bank.find_bad(optimizer, self.engine.rows))
        return Outcome(losses)

    def begin(self, step: int) -> None:
        self._batch = self.batches.at(step)
        self.loss = np.nan

    def perform(self, moment: Moment, optimizer: Optimizer) -> None:
        bank, rows = self.engine.bank, self.engine.rows
        inputs, targets = self._batch
        if moment.kind == "zero_grad":
            bank.zero_grad(rows)
        elif moment.kind == "forward":
            self._outputs = self.engine.evaluate(inputs)
        elif moment.kind == "loss":
            # The kernel does all at once; the gradients are shown when it is their turn.
            self.loss = self.engine.learn(inputs, targets, self.loss_function)
            self._gradients = bank.grad[rows]
            bank.zero_grad(rows)
        elif moment.kind == "backward":
            bank.grad[rows] = self._gradients
            bank.has_gradients = True
        else:
            self.engine.step(optimizer)

    def values(self, buffer: Buffer) -> FloatArray:
        return self._outputs if buffer is self.program.outputs else self._batch[0]

    def gradients(self, buffer: Buffer) -> FloatArray:
        return np.full((len(self._batch[0]), buffer.size), np.nan)

    def targets(self) -> FloatArray:
        return self._batch[1]
