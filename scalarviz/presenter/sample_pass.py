"""One sample on its way through a network, forward and back, from a copy of the numbers.

Nothing of a session is touched: a picture asks at any time, while training goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.engines.common.reference import (
    OperationArrays,
    factors,
    operation_backward,
    operation_forward,
)
from scalarviz.formulas.activations import ACTIVATIONS
from scalarviz.formulas.losses import Loss
from scalarviz.model.operations import NONE, Operation
from scalarviz.model.program import Program

FLAT = 0.1  # of its steepest slope: an activation that answers less is saturated


@dataclass(frozen=True)
class SamplePass:
    """What each buffer holds, and the gradient of the loss by it, both by the buffer's name.

    saturated  1 where an activation hardly answers to what goes in, else 0
    left_out   1 where a dropout leaves a number out, else 0
    """

    values: dict[str, FloatArray] = field(default_factory=dict)
    flows: dict[str, FloatArray] = field(default_factory=dict)
    saturated: dict[str, FloatArray] = field(default_factory=dict)
    left_out: dict[str, FloatArray] = field(default_factory=dict)


@dataclass(frozen=True)
class SampleContext:
    """Where a sample stands: what its network keeps, steps taken, and its place in its batch."""

    state: FloatArray = field(default_factory=lambda: np.zeros(0))
    step: int = 0
    sample: int = 0


def numbers_for(
    operation: Operation,
    value: FloatArray,
    way: SamplePass,
    place: SampleContext,
    back: bool = False,
) -> OperationArrays:
    """What an operation is done with for one sample, as it is while the network learns.

    Statistics of a whole batch are not known here: those of all batches stand in for them.
    """
    other = operation.other.name if operation.other else ""
    more = (way.flows if back else way.values).get(other)
    return OperationArrays(
        value,
        place.state,
        place.step,
        way.values[operation.source.name][np.newaxis],
        None if more is None else more[np.newaxis],
        way.values[operation.target.name][np.newaxis] if back else None,
        way.flows[operation.target.name][np.newaxis] if back else None,
        not operation.about.statistics(operation),
        place.sample,
    )


def forward(
    program: Program, value: FloatArray, sample: FloatArray, place: SampleContext | None = None
) -> SamplePass:
    """A sample goes through a network that has these numbers."""
    way, place = (
        SamplePass({program.inputs.name: np.asarray(sample, np.float64)}),
        place or SampleContext(),
    )
    with np.errstate(all="ignore"):
        for operation in program.operations:
            numbers = numbers_for(operation, value, way, place)
            y = operation_forward(operation, numbers)[0]
            way.values[operation.target.name] = y
            if operation.kind in NOTES:
                NOTES[operation.kind](way, operation, numbers, y)
    return way


def note_saturated(
    way: SamplePass, operation: Operation, numbers: OperationArrays, y: FloatArray
) -> None:
    way.saturated[operation.target.name] = flatness(operation, numbers.x[0], y)


def note_left_out(
    way: SamplePass, operation: Operation, numbers: OperationArrays, y: FloatArray
) -> None:
    way.left_out[operation.target.name] = (factors(operation, numbers)[0] == 0.0).astype(np.float64)


# What is noted of a number beside its value, by the kind of the operation that wrote it.
NOTES: dict[str, Callable[[SamplePass, Operation, OperationArrays, FloatArray], None]] = {
    "activation": note_saturated,
    "dropout": note_left_out,
}


def flatness(operation: Operation, x: FloatArray, y: FloatArray) -> FloatArray:
    """1 where an activation hardly answers to what goes in, else 0."""
    row = ACTIVATIONS[operation.formula]
    slopes = [abs(row.derivative(*pair)) for pair in zip(x.tolist(), y.tolist(), strict=True)]
    steepest = max(abs(row.derivative(z, row.value(z))) for z in (-2.0, -0.5, 0.0, 0.5, 2.0))
    return (np.array(slopes) < FLAT * steepest).astype(np.float64)


def backward(
    program: Program,
    value: FloatArray,
    way: SamplePass,
    target: FloatArray,
    loss: Loss,
    batch: int,
    place: SampleContext | None = None,
) -> SamplePass:
    """The gradients too, of a sample in a batch of so many."""
    outputs = way.values[program.outputs.name][np.newaxis]
    loss.forward(outputs, np.asarray(target, np.float64)[np.newaxis])
    width = outputs.shape[1]
    part = loss.scale((batch, width)) / loss.scale((1, width))
    flow = loss.backward() * part
    way.flows[program.outputs.name] = flow[0]
    with np.errstate(all="ignore"):
        for operation in reversed(program.operations):
            numbers = numbers_for(operation, value, way, place or SampleContext(), back=True)
            way.flows[operation.source.name] = operation_backward(operation, numbers)[0]
    return way


def forward_products(program: Program, value: FloatArray, way: SamplePass) -> FloatArray:
    """w * x of every parameter, for a sample; a bias is multiplied by 1.

    Of a weight that is used at several places it is the mean over them.
    """
    found = np.asarray(value, np.float64).copy()
    for operation in program.operations:
        if operation.weights != NONE:
            rows = operation.parameters
            found[rows.start : rows.stop] *= means_of_inputs(operation, way)
    return found


def means_of_inputs(operation: Operation, way: SamplePass) -> FloatArray:
    """What each parameter is multiplied by."""
    x = np.append(way.values[operation.source.name], 1.0)
    if operation.kind in OUTER:
        return np.append(np.tile(x[:-1], operation.target.size), np.ones(biases_of(operation)))
    places, _, read = operation.all_uses
    count = len(operation.parameters)
    uses = np.maximum(np.bincount(places, minlength=count), 1)
    return np.bincount(places, x[read], count) / uses


def gradient_products(program: Program, count: int, way: SamplePass) -> FloatArray:
    """x * g of every parameter, for a sample: its part of the gradient."""
    found = np.zeros(count)
    for operation in program.operations:
        g = way.flows.get(operation.target.name)
        if operation.weights == NONE or g is None:
            continue
        rows, x = operation.parameters, way.values[operation.source.name]
        if operation.kind in OUTER:
            own = np.append(np.outer(g, x).ravel(), g[: biases_of(operation)])
        else:
            places, written, read = operation.all_uses
            own = np.bincount(places, g[written] * np.append(x, 1.0)[read], len(rows))
        found[rows.start : rows.stop] += own
    return found


OUTER = {"affine"}  # every output with every input: quicker than to look each pair up


def biases_of(operation: Operation) -> int:
    """How many biases it has."""
    return operation.target.size // operation.outputs_per_bias if operation.biases != NONE else 0
