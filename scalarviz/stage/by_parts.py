"""Operations shown in parts: neuron by neuron, and the sums of a batch sample by sample.

The clock of a session counts whole operations; this module selects the shown neurons of the last
operation and accumulates its weight gradients.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from scalarviz.base.checks import FloatArray, require
from scalarviz.base.texts import text
from scalarviz.core.program import NONE, Buffer, Moment, Operation, Program
from scalarviz.scene.focus import rows_of_sum
from scalarviz.scene.frame_data import Buffers
from scalarviz.scene.layout.plates import Layout
from scalarviz.scene.pace import NeuronPart
from scalarviz.story.caption import Caption, Piece
from scalarviz.story.formats import agreeing, exact_sum, said, written_alike
from scalarviz.story.traced_weight import TracedWeight, explained_neuron, explained_row
from scalarviz.training.session.reading import facts_of, state_of
from scalarviz.training.session.session import Session

MOST_NEURONS = 60  # neurons of a layer
KINDS = {"affine", "activation"}  # kinds of operations


def has_neurons(program: Program) -> bool:
    """Return whether a program can be stepped by neurons."""
    operations = program.operations
    return (
        bool(operations)
        and not program.is_graph
        and all(op.kind in KINDS and not op.target.shape for op in operations)
        and all(op.target.size <= MOST_NEURONS for op in operations)
    )


def check_neurons(program: Program) -> None:
    """Raise InputError if a program cannot be stepped by neurons."""
    require(has_neurons(program), text("notices.no_neurons", most=MOST_NEURONS))


def walked(program: Program, moment: Moment) -> Buffer | None:
    """Return the buffer whose neurons a moment shows one by one; None for a single step."""
    if moment.operation == NONE:
        return None
    operation = program.operations[moment.operation]
    if moment.kind == "input gradient":
        return operation.source
    return operation.target if moment.kind in ("forward", "delta", "weight gradient") else None


def sizes_of(program: Program) -> list[int]:
    """Return, for each moment, the number of neurons to step through; 1 for a single step."""
    buffers = [walked(program, moment) for moment in program.moments]
    return [1 if each is None else each.size for each in buffers]


def cut(neurons: NeuronPart, buffers: Buffers, outputs: Buffer) -> Buffers:
    """Drop the results of neurons not yet computed; keep the outputs only if all are computed."""
    found = replace(
        buffers,
        values=neurons.cut(buffers.values, neurons.values),
        saturated=neurons.cut(buffers.saturated, neurons.values),
        tints=neurons.cut(buffers.tints, neurons.values),
        flows=neurons.cut(buffers.flows, neurons.gradients),
    )
    whole = len(found.values.get(outputs.name, ())) == outputs.size
    return found if whole else replace(found, target=None, answers=None)


def grown(neurons: NeuronPart, gradients: FloatArray, layout: Layout, missing: float) -> FloatArray:
    """Return gradients with `missing` in place of those that are not computed yet.

    Args:
        layout: layout of the network, which maps each neuron to its weights
    """
    found = gradients.copy()
    for neuron, share in neurons.growing():
        fan = layout.fan_into(neuron)
        rows = [] if fan is None else rows_of_sum(*fan)
        found[rows] = missing if share is None else share * found[rows]
    return found


MOST_PRODUCTS = (
    4_000_000  # products of inputs and outputs of an operation; larger ones are not accumulated
)


def can_add_up(operation: Operation) -> bool:
    """Return whether a BatchSum of an operation takes acceptable time and memory."""
    size = operation.source.size * operation.target.size
    return operation.about.multiplies and size <= MOST_PRODUCTS


@final
@dataclass(frozen=True)
class BatchSum:
    """The terms of the weight gradients of the session's last operation.

    Attributes:
        operation: the operation, whose weight gradients have just been computed
        inputs: its inputs, and a 1 for biases: shape (samples, inputs + 1)
        upstream: gradients of its outputs, shape (samples, outputs)
        row, name: bank index and name of the followed weight
        grad: its gradient in the bank
        letter: symbol of the inputs in formulas
    """

    operation: Operation
    inputs: FloatArray
    upstream: FloatArray
    row: int
    name: str
    grad: float
    letter: str

    @staticmethod
    def of(session: Session, pinned: int | None = None) -> BatchSum | None:
        """Return the BatchSum of the last operation; None if it computed no weight gradients.

        Args:
            session: the session
            pinned: bank index of the followed weight, if this operation uses it
        """
        with session.doing():
            done = session.clock.operation
            moment = session.trainer.moments[done - 1] if done else None
            if moment is None or moment.kind != "weight gradient":
                return None
            facts, state = facts_of(session), state_of(session)
            here = facts, state, facts.moments[state.moment]
            neuron = explained_neuron(*here) if pinned is None else None
            followed = pinned if neuron is None else explained_row(*here, neuron)
            traced = TracedWeight(*here, NONE if followed is None else followed, neuron)
            operation = session.network.program.operations[moment.operation]
            numbers, row = session.numbers(operation.name), traced.own_row
            if numbers.inputs is None or numbers.upstream is None or not can_add_up(operation):
                return None
            return BatchSum(
                operation,
                np.hstack([numbers.inputs.astype(np.float64), np.ones((len(numbers.inputs), 1))]),
                numbers.upstream.astype(np.float64),
                row,
                traced.name_of(row),
                float(session.network.bank.grad[row]),
                traced.letter,
            )

    @property
    def count(self) -> int:
        """The number of samples."""
        return len(self.inputs)

    def gradients(self, samples: float) -> FloatArray:
        """Return the sums over the first samples, one for each parameter of the operation.

        With a fractional number of samples, the last one is weighted by the fraction.
        """
        share = np.clip(samples - np.arange(self.count), 0.0, 1.0)
        with np.errstate(all="ignore"):  # infinities are shown as they are
            products = (self.upstream * share[:, np.newaxis]).T @ self.inputs
        places, written, read = self.operation.all_uses
        return np.bincount(places, products[written, read], len(self.operation.parameters))

    def pushes(self, grad: FloatArray, samples: float) -> FloatArray:
        """Return `grad`, with the operation's gradients summed over the first samples only."""
        found = np.array(grad, np.float64)
        found[self.operation.parameters] = self.gradients(samples)
        return found

    def terms(self) -> tuple[FloatArray, FloatArray]:
        """Return deltas and inputs of the followed weight, each (samples, positions)."""
        written, read = self.operation.uses(self.row)
        columns = np.full(len(written), self.operation.source.size) if read is None else read
        return self.upstream[:, written], self.inputs[:, columns]

    def caption(self, samples: float) -> Caption:
        """Return the caption after the terms of `samples` samples have been accumulated."""
        number = min(max(1, int(np.ceil(samples))), self.count)
        with np.errstate(all="ignore"):
            delta, x = self.terms()
            own = (x * delta).sum(axis=1)
        before, now = float(own[: number - 1].sum()), float(own[:number].sum())
        last = (x, delta) if delta.shape[1] == 1 else (own[:, np.newaxis],)
        factors = [float(each[number - 1, 0]) for each in last]
        first = before if number > 1 else None
        line, grad = written_alike(lambda: (sum_of(first, factors, now), said(self.grad)))
        counts = {"number": number, "count": self.count}
        total = text("captions.batch.line", number=number, sum=line, total=grad)
        return Caption(
            text(f"captions.batch.{'done' if samples >= self.count else 'title'}", **counts),
            text("captions.batch.formula", x=self.letter),
            ((Piece(self.name, self.row),), (Piece(total),)),
            rows=(self.row,),
        )


def sum_of(before: float | None, factors: list[float], now: float) -> str:
    """Return a partial sum plus a product as an equation."""
    if before is None and len(factors) == 1:
        return said(now)
    values = [*([] if before is None else [before]), *factors]

    def compute(v: Sequence[float]) -> float:
        *sums, product = *v[: len(v) - len(factors)], math.prod(v[-len(factors) :])
        return exact_sum([*sums, product])

    shown, result, _ = agreeing(values, compute, now)
    product = " × ".join(shown[-len(factors) :])
    terms = [*shown[: len(shown) - len(factors)], product]
    return f"{' + '.join(terms).replace('+ -', '- ')} = {result}"
