"""TracedWeight: one weight or neuron followed through a step, for captions.

In operations without the weight, the neuron that its signal passes is followed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from math import isqrt, prod
from typing import Any, TypeVar

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.bank_arrays import row_numbers
from scalarviz.core.formulas.losses import Loss
from scalarviz.core.program import NONE, Buffer, Moment, Operation, Places, Program, Windows
from scalarviz.story.caption import Neuron
from scalarviz.story.names import neuron_name, sentence, weight_name
from scalarviz.training.network.model import Model
from scalarviz.training.session.branches import Clock
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
        return path_of_weight(self.program, self.row)

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
    rows = row_numbers(network)
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


def explained_row(session: Session, moment: Moment, neuron: Neuron) -> int:
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


def explained_neuron(session: Session, moment: Moment, step: int) -> Neuron | None:
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


# The path of a signal through the outputs and inputs of all operations.

Path = list[tuple[int, int]]  # output and input of each operation


def path_of_weight(program: Program, row: int) -> Path:
    """Return the output and input of each operation that a weight's signal passes."""
    operations = program.operations
    homes = [i for i, operation in enumerate(operations) if row in operation.parameters]
    home = homes[0] if homes else 0
    return through(program, home, place_in(operations[home], row) if homes else (0, 0))


def path_of_neuron(program: Program, neuron: Neuron) -> Path:
    """Return the output and input of each operation that a neuron's signal passes."""
    name, place = neuron
    for home, operation in enumerate(program.operations):
        if operation.target.name == name:
            return through(program, home, (place, input_for(operation, place)))
    return through(program, 0, (output_for(program.operations[0], place), place))


def through(program: Program, home: int, place: tuple[int, int]) -> Path:
    """Return the path that passes an output and input of the operation `home`."""
    operations = program.operations
    places = {home: place}
    at = {operations[home].target: place[0]}
    for i in range(home, -1, -1):
        output = at.get(operations[i].target)
        if output is not None:
            places.setdefault(i, (output, input_for(operations[i], output)))
            at.update(dict.fromkeys(sources_for(operations[i], output), places[i][1]))
    behind = {operations[home].target}
    for i, operation in enumerate(operations):
        if i not in places:  # the path goes on behind its home, and into branches beside it
            source = next((each for each in operation.sources if each in behind), operation.source)
            column = at[source]
            places[i] = output_for(operation, column, source), column
            at.setdefault(operation.target, places[i][0])
        if not behind.isdisjoint(operation.sources):
            behind.add(operation.target)
    return [places[i] for i in range(len(operations))]


def sources_for(operation: Operation, output: int) -> tuple[Buffer, ...]:
    """Return the buffers that an output depends on."""
    if operation.kind == "concatenation":
        return (operation.sources[output >= operation.source.size],)
    return operation.sources


def place_in(operation: Operation, row: int) -> tuple[int, int]:
    """Return the output and input of a parameter; those in the middle for a shared one."""
    if not operation.about.multiplies:
        return (0, 0)
    written, read = operation.uses(row)
    if not len(written):  # a kernel's corner that always lies in the padding
        output = (row - operation.weights) // per_unit(operation) * operation.outputs_per_bias
        return output, input_for(operation, output)
    at = middle(len(written))
    output = int(written[at])
    if read is not None:
        return output, int(read[at])
    if operation.outputs_per_bias > 1:
        return output, input_for(operation, output)
    return output, 0 if len(operation.shape) > 1 else output  # beside a bias


def middle(count: int) -> int:
    """Return the middle of `count` places; for a square, that of the middle row."""
    return min(count - 1, (count + isqrt(count)) // 2)


def per_unit(operation: Operation) -> int:
    """Return the number of weights per perceptron or kernel."""
    return prod(operation.shape[1:])


def output_for(operation: Operation, column: int, source: Buffer | None = None) -> int:
    """Return an output that depends on an input of `source`, by default the first buffer."""
    if operation.kind == "concatenation":
        return column + (source == operation.sources[1]) * operation.source.size
    if not operation.about.multiplies:
        return across(operation, column, forward=True)
    _, written = weights_from(operation, column)
    if not len(written):  # no window covers it
        return column % operation.target.size
    units = len(units_on(operation, column)) if len(operation.shape) > 1 else 1
    return int(written.reshape(units, -1)[column % units, middle(len(written) // units)])


def input_for(operation: Operation, output: int) -> int:
    """Return an input that an output depends on."""
    if operation.kind == "concatenation":
        return output - (output >= operation.source.size) * operation.source.size
    if not operation.about.multiplies:
        return across(operation, output, forward=False)
    rows, read = weights_into(operation, output)
    if not len(rows):
        return output % operation.source.size
    count = len(rows)
    return int(read[output % count if operation.outputs_per_bias == 1 else count // 2])


def across(operation: Operation, place: int, *, forward: bool) -> int:
    """Return the corresponding index on the other side of an operation without weights."""
    buffers = operation.source, operation.target
    here, there = buffers if forward else buffers[::-1]
    if here.size == there.size or not (here.shape and there.shape):
        return place % there.size
    at = np.unravel_index(place, here.shape)
    sides = zip(at, here.shape, there.shape, strict=True)
    return int(np.ravel_multi_index([int(i) * new // old for i, old, new in sides], there.shape))


def weights_into(operation: Operation, output: int) -> tuple[Places, Places]:
    """Return the weights that an output depends on, and the input of each."""
    unit, count = output // operation.outputs_per_bias, per_unit(operation)
    rows, inputs = [], []
    for row in range(operation.weights + unit * count, operation.weights + (unit + 1) * count):
        written, read = operation.uses(row)
        if read is not None:
            found = read[written == output]
            rows += [row] * len(found)
            inputs += found.tolist()
    return np.array(rows, np.intp), np.array(inputs, np.intp)


def units_on(operation: Operation, column: int) -> range:
    """Return the perceptrons that see an input, or the kernels of its group."""
    units = operation.shape[0]
    if operation.kind != "convolution":
        return range(units)
    windows = Windows.of(operation)
    share = units // windows.groups
    group = column // (windows.height * windows.width) // windows.seen_channels
    return range(group * share, (group + 1) * share)


def weights_from(operation: Operation, column: int) -> tuple[Places, Places]:
    """Return the weights that multiply an input, and the output of each.

    All perceptrons, or kernels, that see an input use it in the same way: the first is looked up.
    """
    each, count = operation.outputs_per_bias, per_unit(operation)
    if len(operation.shape) == 1:
        return np.array([operation.weights + column // each]), np.array([column])
    units = units_on(operation, column)
    first_row = operation.weights + units.start * count
    rows, outputs = [], []
    for row in range(first_row, first_row + count):
        written, read = operation.uses(row)
        if read is not None:
            found = written[read == column]
            rows += [row] * len(found)
            outputs += found.tolist()
    order = np.argsort(outputs, kind="stable")
    first, into = np.array(rows, np.intp)[order], np.array(outputs, np.intp)[order]
    unit = np.arange(len(units))[:, np.newaxis]
    return (first + unit * count).ravel(), (into + unit * each).ravel()
