"""A training of a compiled expression: whole steps, or its five phases one after the other."""

from __future__ import annotations

from typing import final

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.data.batches import Batches
from scalarviz.engines.common.base import Outcome, Run
from scalarviz.engines.expression.engines import ExpressionEngine
from scalarviz.errors import GradientError, UpdateError
from scalarviz.formulas.losses import Loss
from scalarviz.model.operations import Buffer
from scalarviz.model.optimizer import Optimizer
from scalarviz.model.program import Moment, Program

PHASES = ("zero_grad", "forward", "loss", "backward", "step")


def phases_program(inputs: int, outputs: int) -> Program:
    """What a session knows of an expression: numbers come in, numbers go out, in five phases."""
    program = Program(inputs)
    program.outputs = program.buffer("outputs", outputs)
    program.moments = tuple([Moment(phase, phase, phase) for phase in PHASES])
    return program


@final
class ExpressionRun(Run):
    """Trains an expression on its engine."""

    def __init__(
        self, engine: ExpressionEngine, program: Program, batches: Batches, loss: Loss
    ) -> None:
        super().__init__(batches, loss)
        self.engine = engine
        self.program = program
        self._batch = batches.at(0)
        self._outputs = np.zeros((0, program.outputs.size))
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
