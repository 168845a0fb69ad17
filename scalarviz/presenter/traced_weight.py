"""TracedWeight: one weight followed through a step, for captions.

In operations without the weight, the perceptron that its signal passes is followed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.formulas.losses import Loss
from scalarviz.model.operations import NONE, Buffer, Operation
from scalarviz.model.program import Moment, Program
from scalarviz.network.base import Model
from scalarviz.presenter.paths import path, weights_into
from scalarviz.session.branches import Clock
from scalarviz.session.explanation import OperationNumbers
from scalarviz.session.session import Session
from scalarviz.session.timeline import Timeline
from scalarviz.texts import text

# The unit that an operation writes: an element of a row, or a channel of images.
UNITS = {"affine": "perceptron", "activation": "perceptron", "convolution": "kernel"}


@dataclass(frozen=True)
class TracedWeight:
    """A weight, by its bank index or NONE, at the session's last moment."""

    session: Session
    moment: Moment
    row: int

    @property
    def network(self) -> Any:  # a Model; that of an expression has a name
        return self.session.network

    @property
    def timeline(self) -> Timeline:
        return self.session.timeline

    @property
    def program(self) -> Program:
        program: Program = self.network.program
        return program

    @property
    def loss(self) -> Loss:
        return self.timeline.trainer.loss

    @property
    def operation(self) -> Operation:
        return self.program.operations[self.moment.operation]

    @property
    def formula(self) -> str:
        """The name of the activation or row formula."""
        return self.operation.formula

    @property
    def is_last(self) -> bool:
        return self.operation is self.program.operations[-1]

    @property
    def is_first(self) -> bool:
        """Whether it is the first with weights: gradients of its inputs are not needed."""
        return self.moment.operation == self.program.first_parameters

    @property
    def numbers(self) -> OperationNumbers:
        return self.session.numbers(self.operation.name)

    @property
    def sample(self) -> int:
        """The focus sample, or the last of a smaller batch."""
        return min(self.session.focus, len(self.timeline.trainer.run.targets()) - 1)

    @property
    def place(self) -> tuple[int, int]:
        """The output and input of this operation that the weight's signal passes."""
        return path(self.program, self.row)[self.moment.operation]

    @property
    def unit(self) -> str:
        """The output by its name: perceptron 0, or kernel 2 at 4, 4."""
        operation, place = self.operation, self.place[0]
        shape, kind = operation.target.shape, UNITS.get(operation.kind, "feature")
        if not shape:
            return text(f"units.{kind}", number=place // operation.outputs_per_bias)
        channel, line, column = (int(i) for i in np.unravel_index(place, shape))
        kind = "kernel" if kind == "kernel" else "channel"
        return text(f"units.{kind}.pixel", number=channel, row=line, column=column)

    @property
    def own_row(self) -> int:
        """The weight, if this operation has it; else a weight that its signal passes."""
        operation, (output, column) = self.operation, self.place
        if self.row in operation.parameters:
            return self.row
        rows, read = weights_into(operation, output)
        found = rows[read == column]
        return int(found[0] if len(found) else rows[0] if len(rows) else operation.weights)

    def held(self, buffer: Buffer | None) -> FloatArray:
        """Return a buffer's values for the focus sample."""
        assert buffer is not None
        return self.of_sample(self.timeline.trainer.run.values(buffer))

    @property
    def answers(self) -> tuple[FloatArray, FloatArray]:
        """Predictions and targets of the batch."""
        run = self.timeline.trainer.run
        return run.values(self.program.outputs), run.targets()

    def of_sample(self, numbers: FloatArray | None) -> FloatArray:
        """Return the focus sample's row of an array."""
        assert numbers is not None
        found: FloatArray = numbers[self.sample].astype(np.float64)
        return found

    def name_of(self, row: int) -> str:
        """Return the name of a weight."""
        return str(self.network.name_of(row))


def first_row(network: Model) -> int:
    """Return the weight that is followed by default; NONE if there is none."""
    rows = network.row_numbers
    return rows[0] if rows else NONE


def old_gradient(timeline: Timeline, row: int) -> float:
    """Return the gradient of a weight at the start of this step, before zero_grad.

    It is read from a keyframe, or the step before is replayed; the timeline ends where it was.
    """
    now, actions = timeline.clock, timeline.branch.actions_at((timeline.clock.step, 0))
    frame = timeline.branch.frame_before(now.step)
    if frame is not None and frame.step == now.step and not actions:
        return float(frame.grad[row])
    try:
        timeline.go(Clock(now.step, 0, len(actions)))
        return float(timeline.trainer.bank.grad[row])
    finally:
        timeline.repair()
        timeline.forward(now)
