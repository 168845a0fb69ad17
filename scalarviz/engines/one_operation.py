"""One operation of a program on a batch, forward and backward, in plain Python and numpy.

This is what an operation means, said once and slowly: arrays of (samples, numbers) in float64. The
python engine shows by it what lies between the calls of its objects.
"""

from __future__ import annotations

import numpy as np

from scalarviz.checks import FloatArray
from scalarviz.formulas.activations import ACTIVATIONS
from scalarviz.formulas.rowwise import ROW_FORMULAS, typed
from scalarviz.program import NONE, Operation


def operation_forward(operation: Operation, value: FloatArray, x: FloatArray) -> FloatArray:
    """What an operation writes, given what it reads and the parameters of the network."""
    if operation.kind == "affine":
        sums: FloatArray = x @ matrix(operation, value).T + biases(operation, value)
        return sums
    if operation.kind == "scale":
        return x * gains(operation, value) + biases(operation, value)
    if operation.kind == "activation":
        formula = ACTIVATIONS[operation.formula].value
        return np.array([[formula(z) for z in sample] for sample in x.tolist()])
    return np.array([row_forward(operation, sample)[0] for sample in x.tolist()])


def operation_backward(
    operation: Operation, value: FloatArray, x: FloatArray, y: FloatArray, upstream: FloatArray
) -> FloatArray:
    """The gradient by what an operation read, given that by what it wrote, which is y."""
    if operation.kind == "affine":
        by_inputs: FloatArray = upstream @ matrix(operation, value)
        return by_inputs
    if operation.kind == "scale":
        scaled: FloatArray = upstream * gains(operation, value)
        return scaled
    if operation.kind == "activation":
        derivative = ACTIVATIONS[operation.formula].derivative
        samples = zip(x.tolist(), y.tolist(), strict=True)
        slopes = [[derivative(z, a) for z, a in zip(*pair, strict=True)] for pair in samples]
        gradient: FloatArray = upstream * np.array(slopes)
        return gradient
    samples = zip(x.tolist(), upstream.tolist(), strict=True)
    return np.array([row_backward(operation, *pair) for pair in samples])


def row_forward(operation: Operation, x: list[float]) -> tuple[list[float], float]:
    """A row formula on one sample: what it writes, and the number that it keeps."""
    formula = ROW_FORMULAS[operation.formula].forward
    y = [0.0] * operation.target.size
    return y, formula(x, y, *typed(formula, operation.settings))


def row_backward(operation: Operation, x: list[float], upstream: list[float]) -> list[float]:
    """The gradient of a row formula by one sample."""
    formula = ROW_FORMULAS[operation.formula].backward
    y, kept = row_forward(operation, x)
    gradient = [0.0] * operation.source.size
    formula(x, y, kept, upstream, gradient, *typed(formula, operation.settings))
    return gradient


def matrix(operation: Operation, value: FloatArray) -> FloatArray:
    """The weights of an affine operation, (outputs, inputs)."""
    shape = operation.target.size, operation.source.size
    first = operation.weights
    return value[first : first + shape[0] * shape[1]].reshape(shape).astype(np.float64)


def gains(operation: Operation, value: FloatArray) -> FloatArray:
    """The weights of a scale operation."""
    first = operation.weights
    return value[first : first + operation.target.size].astype(np.float64)


def biases(operation: Operation, value: FloatArray) -> FloatArray:
    """The biases of an operation; zeros where it has none."""
    size = operation.target.size
    if operation.biases == NONE:
        return np.zeros(size)
    return value[operation.biases : operation.biases + size].astype(np.float64)
