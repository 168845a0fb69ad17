"""One sample on its way through a network, forward and back, from a copy of the numbers.

Nothing of a session is touched: a picture asks at any time, while training goes on.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from scalarviz.checks import FloatArray
from scalarviz.engines.one_operation import operation_backward, operation_forward
from scalarviz.formulas.activations import ACTIVATIONS
from scalarviz.formulas.losses import Loss
from scalarviz.program import NONE, Operation, Program

FLAT = 0.1  # of its steepest slope: an activation that answers less is saturated


@dataclass(frozen=True)
class Way:
    """What each buffer holds, and the gradient of the loss by it, both by the buffer's name."""

    values: dict[str, FloatArray] = field(default_factory=dict)
    flows: dict[str, FloatArray] = field(default_factory=dict)
    saturated: dict[str, FloatArray] = field(default_factory=dict)


def forward(program: Program, value: FloatArray, sample: FloatArray) -> Way:
    """A sample goes through a network that has these numbers."""
    way = Way({program.inputs.name: np.asarray(sample, np.float64)})
    with np.errstate(all="ignore"):
        for operation in program.operations:
            x = way.values[operation.source.name]
            y = operation_forward(operation, value, x[np.newaxis])[0]
            way.values[operation.target.name] = y
            if operation.kind == "activation":
                way.saturated[operation.target.name] = flatness(operation, x, y)
    return way


def flatness(operation: Operation, x: FloatArray, y: FloatArray) -> FloatArray:
    """1 where an activation hardly answers to what goes in, else 0."""
    row = ACTIVATIONS[operation.formula]
    slopes = [abs(row.derivative(*pair)) for pair in zip(x.tolist(), y.tolist(), strict=True)]
    steepest = max(abs(row.derivative(z, row.value(z))) for z in (-2.0, -0.5, 0.0, 0.5, 2.0))
    return (np.array(slopes) < FLAT * steepest).astype(np.float64)


def backward(
    program: Program, value: FloatArray, way: Way, target: FloatArray, loss: Loss, batch: int
) -> Way:
    """The gradients too, of a sample in a batch of so many."""
    outputs = way.values[program.outputs.name][np.newaxis]
    loss.forward(outputs, np.asarray(target, np.float64)[np.newaxis])
    width = outputs.shape[1]
    part = loss.scale((batch, width)) / loss.scale((1, width))
    flow = loss.backward() * part
    way.flows[program.outputs.name] = flow[0]
    with np.errstate(all="ignore"):
        for operation in reversed(program.operations):
            x = way.values[operation.source.name][np.newaxis]
            y = way.values[operation.target.name][np.newaxis]
            upstream = way.flows[operation.target.name][np.newaxis]
            back = operation_backward(operation, value, x, y, upstream)
            way.flows[operation.source.name] = back[0]
    return way


def forward_products(program: Program, value: FloatArray, way: Way) -> FloatArray:
    """w * x of every parameter, for a sample; a bias is multiplied by 1."""
    found = np.asarray(value, np.float64).copy()
    for operation in program.operations:
        if operation.weights != NONE:
            x = way.values[operation.source.name]
            found[weights_of(operation)] *= by_columns(operation, x)
    return found


def gradient_products(program: Program, count: int, way: Way) -> FloatArray:
    """x * g of every parameter, for a sample: its part of the gradient."""
    found = np.zeros(count)
    for operation in program.operations:
        g = way.flows.get(operation.target.name)
        if operation.weights == NONE or g is None:
            continue
        x = way.values[operation.source.name]
        products = np.outer(g, x).ravel() if operation.kind == "affine" else g * x
        found[weights_of(operation)] += products
        if operation.biases != NONE:
            found[operation.biases : operation.biases + len(g)] += g
    return found


def weights_of(operation: Operation) -> slice:
    """The rows of the weights alone, without the biases."""
    rows = operation.parameters
    biases = operation.target.size if operation.biases != NONE else 0
    return slice(rows.start, rows.stop - biases)


def by_columns(operation: Operation, x: FloatArray) -> FloatArray:
    """What each weight is multiplied by."""
    return np.tile(x, operation.target.size) if operation.kind == "affine" else x
