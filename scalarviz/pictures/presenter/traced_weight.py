"""TracedWeight: one weight or neuron followed through a step, for captions.

In operations without the weight, the neuron that its signal passes is followed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.formulas.losses import Loss
from scalarviz.core.program import NONE, Buffer, Moment, Operation, Program
from scalarviz.pictures.presenter.captions.names import neuron_name, sentence, weight_name
from scalarviz.pictures.presenter.paths import (
    Path,
    path,
    path_of_neuron,
    per_unit,
    sources_for,
    weights_from,
    weights_into,
)
from scalarviz.training.network.model import Model
from scalarviz.training.session.branches import Clock
from scalarviz.training.session.caption import Neuron
from scalarviz.training.session.explanation import OperationNumbers
from scalarviz.training.session.session import Session
from scalarviz.training.session.timeline import Timeline

Made = TypeVar("Made")


@dataclass(frozen=True)
class TracedWeight:
    """A weight, by its bank index or NONE, at the session's last moment.

    neuron  the neuron that is followed instead, or None
    chosen  whether somebody chose it, so that its term is shown in any case
    known   what takes long and has been computed, see `once`
    """

    session: Session
    moment: Moment
    row: int
    neuron: Neuron | None = None
    chosen: bool = True
    known: list[Any] = field(default_factory=list)

    def once(self, compute: Callable[[], Made]) -> Made:
        """Return what is computed; a caption does so once, however often its digits are tried."""
        if not self.known:
            self.known.append(compute())
        found: Made = self.known[0]
        return found

    @property
    def network(self) -> Any:  # a Model; that of an expression has a name
        return self.session.network

    @property
    def program(self) -> Program:
        program: Program = self.network.program
        return program

    @property
    def loss(self) -> Loss:
        return self.session.timeline.trainer.loss

    @property
    def operation(self) -> Operation:
        return self.program.operations[self.moment.operation]

    @property
    def is_last(self) -> bool:
        return self.operation is self.program.operations[-1]

    @property
    def is_first(self) -> bool:
        """Whether it is the first with weights: gradients of its inputs are not needed."""
        return self.moment.operation == self.program.first_parameters

    @cached_property
    def numbers(self) -> OperationNumbers:
        return self.session.numbers(self.operation.name)

    @property
    def sample(self) -> int:
        """The focus sample, or the last of a smaller batch."""
        return min(self.session.focus, len(self.session.timeline.trainer.run.targets()) - 1)

    @cached_property
    def _path(self) -> Path:
        if self.neuron is not None:
            return path_of_neuron(self.program, self.neuron)
        return path(self.program, self.row)

    @property
    def place(self) -> tuple[int, int]:
        """The output and input of this operation that the signal passes."""
        return self._path[self.moment.operation]

    @property
    def letter(self) -> str:
        """What formulas call the inputs of this operation: x for those of the network, else a."""
        return "x" if self.is_first else "a"

    @property
    def ends(self) -> tuple[FloatArray | None, FloatArray | None]:
        """What the operation reads and writes."""
        return self.numbers.inputs, self.numbers.outputs

    @property
    def before(self) -> Neuron:
        """The input of this operation that the signal passes."""
        output, column = self.place
        return sources_for(self.operation, output)[0].name, column

    @property
    def behind(self) -> Neuron:
        """The output of this operation that the signal passes."""
        return self.operation.target.name, self.place[0]

    def opened(self, words: str) -> str:
        """Return words that may begin with the name of a weight as the beginning of a sentence."""
        return words if self.program.is_graph else sentence(words)

    def called(self, neuron: Neuron) -> str:
        """Return the name of a neuron."""
        return neuron_name(self.session, neuron)

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
        return self.of_sample(self.session.timeline.trainer.run.values(buffer))

    @property
    def answers(self) -> tuple[FloatArray, FloatArray]:
        """Predictions and targets of the batch."""
        run = self.session.timeline.trainer.run
        return run.values(self.program.outputs), run.targets()

    def of_sample(self, numbers: FloatArray | None) -> FloatArray:
        """Return the focus sample's row of an array."""
        assert numbers is not None
        found: FloatArray = numbers[self.sample].astype(np.float64)
        return found

    def name_of(self, row: int) -> str:
        """Return the name of a weight."""
        homes = [i for i, each in enumerate(self.program.operations) if row in each.parameters]
        home = self.moment.operation if self.moment.operation in homes else (*homes, NONE)[0]
        operation = None if home == NONE else self.program.operations[home]
        return weight_name(self.session, operation, row)


def first_row(network: Model) -> int:
    """Return the weight that is followed by default, one that learns if any; NONE without."""
    rows = network.row_numbers
    return next((row for row in rows if not network.bank.frozen[row]), next(iter(rows), NONE))


def row_beside(program: Program, neuron: Neuron) -> int:
    """Return a weight of the neuron's sum, else one that it is multiplied by; NONE without."""
    steps = list(zip(program.operations, path_of_neuron(program, neuron), strict=True))
    names = [operation.target.name for operation in program.operations]
    home = names.index(neuron[0]) if neuron[0] in names else -1
    for operation, (output, column) in reversed(steps[: home + 1]):
        if operation.about.multiplies:
            rows, read = weights_into(operation, output)
            own = rows[read == column]
            return int(own[0]) if len(own) else operation.weights
    for operation, (_, column) in steps[home + 1 :]:
        if operation.about.multiplies:
            rows, _ = weights_from(operation, column)
            return int(rows[0]) if len(rows) else operation.weights
    return NONE


def told_row(session: Session, moment: Moment, neuron: Neuron) -> int:
    """Return the weight of a neuron that is told of if nobody has chosen one.

    It is the one of `row_beside`, or if this one is not pushed, the one of its sum that is most.
    """
    program, grad = session.network.program, session.network.bank.grad
    row = row_beside(program, neuron)
    homes = [each for each in program.operations if row in each.parameters]
    is_known = moment.kind in ("weight gradient", "step")  # its gradient, at this moment
    if not is_known or not homes or grad[row] != 0.0 or len(homes[0].shape) < 2:
        return row
    count = per_unit(homes[0])
    first = row - (row - homes[0].weights) % count
    return int(first + place_of_largest(grad[first : first + count]))


def place_of_largest(numbers: FloatArray) -> int:
    """Return the place of the largest magnitude; what is no number is larger than any."""
    return int(np.argmax(np.where(np.isnan(numbers), np.inf, np.abs(numbers))))


def told_neuron(session: Session, moment: Moment, step: int) -> Neuron | None:
    """Return the neuron that is told of if nobody has chosen one; None: there is none yet.

    It has the largest sum of its layer, which in a convolution is a window with contrast; before
    relu the largest above 0, which goes on. Behind the last layer it is the right output, if there
    are classes.
    """
    program, run = session.network.program, session.timeline.trainer.run
    summed = [i for i, each in enumerate(program.operations) if each.weights != NONE]
    at = summed
    if moment.operation != NONE:
        end = moment.operation + (moment.kind != "input gradient")
        at = [i for i in summed if i < end]
    right = right_output(session, step)
    if right is not None and (moment.operation == NONE or at == summed):
        return right
    if moment.kind in ("zero_grad", "step") or not at:
        return None
    target = program.operations[at[-1]].target
    sums = run.values(target)[min(session.focus, len(run.targets()) - 1)].astype(np.float64)
    if any(each.source == target and each.formula == "relu" for each in program.operations):
        sums = np.maximum(sums, 0.0)
    return target.name, place_of_largest(sums)


def right_output(session: Session, step: int) -> Neuron | None:
    """Return the output of the class of the focus sample; None if there are no classes."""
    trainer, outputs = session.trainer, session.network.program.outputs
    if trainer.loss.row.logits != "softmax" or outputs.size < 2:
        return None
    targets = trainer.batches.at(step)[1]
    sample = min(session.focus, len(targets) - 1)
    return outputs.name, int(np.argmax(targets[sample]))


def old_gradient(timeline: Timeline, row: int) -> float:
    """Return the gradient of a weight at the start of this step, before zero_grad.

    It is read from a keyframe, or the step before is replayed; the timeline ends where it was.
    """
    now, actions = timeline.clock, timeline.branch.actions_at((timeline.clock.step, 0))
    frame = timeline.branch.frame_before(now.step)
    if frame is not None and frame.step == now.step and not actions:
        return float(frame.grad[row])
    with timeline.visit(Clock(now.step, 0, len(actions))):
        return float(timeline.trainer.bank.grad[row])
