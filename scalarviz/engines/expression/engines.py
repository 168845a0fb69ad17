"""The engines of a compiled expression: what each does with a recording, and the readable one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import final

import numpy as np
import numpy.typing as npt

from scalarviz.checks.numbers import FloatArray
from scalarviz.formulas.losses import Loss
from scalarviz.model.bank import Bank
from scalarviz.model.optimizer import Optimizer
from scalarviz.model.trace import NONE, Trace


class ExpressionEngine(ABC):
    """Runs one recording, whose parameters stand on some rows of a bank.

    What comes in has been checked: batches are 2-D and float64, one row a sample, and fit.
    """

    name: str

    def __init__(self, recording: Trace, bank: Bank, rows: npt.NDArray[np.intp]) -> None:
        self.recording = recording
        self.bank = bank
        self.rows = rows

    @abstractmethod
    def evaluate(self, batch: FloatArray) -> FloatArray:
        """The results for a batch, with nothing kept."""

    @abstractmethod
    def forward(self, batch: FloatArray) -> FloatArray:
        """The results for a batch; what backward needs is kept."""

    @abstractmethod
    def newest_batch(self) -> int:
        """How many samples the newest unmatched forward had; 0 if there is none."""

    @abstractmethod
    def backward(self, upstream: FloatArray) -> FloatArray:
        """Add to the gradients, for the newest unmatched forward; return that by its inputs."""

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
    def __reduce__(self) -> tuple[object, ...]:
        """A copy, or what is sent to another process, is an engine of its own."""
        return type(self), (self.recording, self.bank, self.rows)

    @final
    def learn_by_verbs(self, inputs: FloatArray, targets: FloatArray, loss: Loss) -> float:
        """The same, one verb after the other."""
        self.bank.zero_grad(self.rows)
        error = loss.forward(self.forward(inputs), targets)
        self.backward(loss.backward())
        return error

    @abstractmethod
    def forget(self) -> None:
        """Drop everything that waits for a backward."""


@final
class PythonExpressionEngine(ExpressionEngine):
    """Goes through the table, one sample and one operation after the other."""

    name = "python"

    def __init__(self, recording: Trace, bank: Bank, rows: npt.NDArray[np.intp]) -> None:
        super().__init__(recording, bank, rows)
        self._passes: list[list[list[float]]] = []  # every number of every sample
        self._table = [
            (formula, [place for place in places if place != NONE])
            for formula, places in zip(recording.formulas, recording.operands.tolist(), strict=True)
        ]

    def evaluate(self, batch: FloatArray) -> FloatArray:
        return self._results([self._numbers(sample) for sample in batch.tolist()])

    def forward(self, batch: FloatArray) -> FloatArray:
        self._passes.append([self._numbers(sample) for sample in batch.tolist()])
        return self._results(self._passes[-1])

    def _numbers(self, sample: list[float]) -> list[float]:
        """The inputs, the constants, the parameters, and the result of every operation."""
        parameters = self.bank.value[self.rows].tolist()
        numbers = [*sample, *self.recording.constants.tolist(), *parameters]
        for formula, places in self._table:
            numbers.append(formula.value(*[numbers[place] for place in places]))
        return numbers

    def _results(self, samples: list[list[float]]) -> FloatArray:
        outputs = self.recording.outputs
        with np.errstate(over="ignore"):
            return np.array(
                [[numbers[place] for place in outputs] for numbers in samples], self.bank.dtype
            )

    def newest_batch(self) -> int:
        return len(self._passes[-1]) if self._passes else 0

    def backward(self, upstream: FloatArray) -> FloatArray:
        samples = zip(self._passes.pop(), upstream.tolist(), strict=True)
        gradients = np.array([self._gradients(numbers, g) for numbers, g in samples])
        first, end = self.recording.first_parameter, self.recording.first_made
        self.bank.has_gradients = True
        with np.errstate(all="ignore"):
            self.bank.grad[self.rows] += gradients[:, first:end].sum(axis=0)
            return gradients[:, : self.recording.inputs].astype(self.bank.dtype)

    def _gradients(self, numbers: list[float], upstream: list[float]) -> list[float]:
        """The gradient by every number of a sample, from those by its results."""
        gradients = [0.0] * len(numbers)
        for place, gradient in zip(self.recording.outputs, upstream, strict=True):
            gradients[place] += gradient
        made = range(self.recording.first_made, len(numbers))
        for place, (formula, places) in zip(reversed(made), reversed(self._table), strict=True):
            inputs = [numbers[x] for x in places]
            for x, partial in zip(places, formula.partials, strict=True):
                if x < self.recording.inputs or x >= self.recording.first_parameter:
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

    def forget(self) -> None:
        self._passes.clear()
