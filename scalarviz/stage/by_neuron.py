"""By neuron: operations of a small network of dense layers, shown neuron after neuron.

The clock of the session goes by whole operations: here is which neurons of the last one are shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.core.program import NONE, Buffer, Moment, Program
from scalarviz.errors import InputError
from scalarviz.scene.frame_data import Buffers
from scalarviz.scene.layout.plates import Layout
from scalarviz.scene.lights import rows_of_sum
from scalarviz.story.caption import Caption
from scalarviz.story.facts import Neuron

MOST = 60  # neurons of a layer
KINDS = {"affine", "activation"}  # of operations


def has_neurons(program: Program) -> bool:
    """Return whether one can go through a program by neurons."""
    each = program.operations
    fit = all(op.kind in KINDS and not op.target.shape and op.target.size <= MOST for op in each)
    return fit and bool(program.operations) and not program.is_graph


def check_neurons(program: Program) -> None:
    """Raise InputError if one cannot go through a program by neurons."""
    if not has_neurons(program):
        raise InputError(text("notices.no_neurons", most=MOST))


def walked(program: Program, moment: Moment) -> Buffer | None:
    """Return the buffer through whose neurons one goes in a moment; None: it is one whole."""
    if moment.operation == NONE:
        return None
    operation = program.operations[moment.operation]
    if moment.kind == "input gradient":
        return operation.source
    return operation.target if moment.kind in ("forward", "delta", "weight gradient") else None


@dataclass(frozen=True)
class NeuronPart:
    """A moment of which a picture shows some neurons.

    moment  the moment
    buffer  the buffer of the neurons
    number  that of the neuron that is shown last, from 1
    part    how much of it is done, 0 to 1; its results are there if it has `arrived`
    """

    moment: Moment
    buffer: Buffer
    number: int
    part: float
    arrived: bool

    @property
    def neuron(self) -> Neuron:
        """The neuron that is shown last."""
        return self.buffer.name, self.number - 1

    def cut(self, buffers: Buffers, outputs: Buffer) -> Buffers:
        """Leave out the results of later neurons; answers are there when all outputs are."""
        count = self.number - (not self.arrived)

        def first(
            arrays: Mapping[str, FloatArray], written: Sequence[Buffer]
        ) -> dict[str, FloatArray]:
            names = {buffer.name for buffer in written}
            found = {k: v[:count] if k in names else v for k, v in arrays.items()}
            return {name: array for name, array in found.items() if len(array)}

        values = self.moment.values
        found = replace(
            buffers,
            values=first(buffers.values, values),
            saturated=first(buffers.saturated, values),
            tints=first(buffers.tints, values),
            flows=first(buffers.flows, self.moment.gradients),
        )
        whole = len(found.values.get(outputs.name, ())) == outputs.size
        return found if whole else replace(found, target=None, shares=None, answers=None)

    def told(self, caption: Caption) -> Caption:
        """Leave out what the caption of a neuron says of outputs that are not there yet."""
        is_early = self.moment.kind == "forward" and self.number < self.buffer.size
        return replace(caption, lines=caption.lines[:1]) if is_early else caption

    def grown(self, gradients: FloatArray, layout: Layout, missing: float) -> FloatArray:
        """Return gradients of a moment as far as they are there; `missing` stands for later ones.

        layout  has the weights of each neuron
        """
        if self.moment.kind != "weight gradient":
            return gradients
        found = gradients.copy()
        for place in range(self.number - 1, self.buffer.size):
            fan = layout.fan_into((self.buffer.name, place))
            rows = [] if fan is None else rows_of_sum(*fan)
            is_last = place == self.number - 1
            grown = min(1.0, max(0.0, 2.0 * self.part - 1.0))
            found[rows] = grown * found[rows] if is_last else missing
        return found


@final
class ByNeuron:
    """How many neurons of the last operation are shown, where one goes by neurons."""

    def __init__(self) -> None:
        self._shown: dict[tuple[int, int], int] = {}  # by step and operation; the last is the aim

    def clear(self) -> None:
        """Show whole operations."""
        self._shown.clear()

    @property
    def key(self) -> tuple[object, ...]:
        """Changes with the neurons that are shown."""
        return tuple(self._shown.items())

    def at(self, place: tuple[int, int]) -> int:
        """Return how many neurons are shown at a place of the clock; 0: the whole operation."""
        return self._shown.get(place, 0)

    def go(self, program: Program, place: tuple[int, int], by: int, *, waits: bool) -> int:
        """Go on by some neurons, or back; return by how many operations the session is to go.

        place  where the session stands: step and operation
        by     number of neurons, negative back; an operation without neurons counts as one
        waits  whether the session is still on its way to where one went before
        """
        moments = program.moments
        if not waits:
            self._shown = {place: self.at(place)}
        begun, shown = list(self._shown.items())[-1] if self._shown else (place, 0)
        first = at = begun[0] * len(moments) + begun[1]

        def size() -> int:
            buffer = walked(program, moments[at % len(moments) - 1]) if at else None
            return 1 if buffer is None else buffer.size

        shown = shown or size()
        for _ in range(abs(by)):
            if by > 0:
                at, shown = (at, shown + 1) if shown < size() else (at + 1, 1)
            elif shown > 1:
                shown -= 1
            elif at:
                at -= 1
                shown = size()
        self._shown.setdefault(begun, 0)
        aim = at // len(moments), at % len(moments)
        self._shown.pop(aim, None)
        self._shown[aim] = shown
        return at - first
