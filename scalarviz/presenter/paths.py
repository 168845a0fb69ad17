"""Paths: through which numbers of a network the signal of one weight passes."""

from __future__ import annotations

from math import isqrt, prod

import numpy as np

from scalarviz.model.operations import NONE, Operation, Places
from scalarviz.model.program import Program


def path(program: Program, row: int) -> list[tuple[int, int]]:
    """Through which output and which input of each operation the signal of a weight passes."""
    operations = program.operations
    homes = [i for i, operation in enumerate(operations) if row in operation.parameters]
    home = homes[0] if homes else 0
    places = [(0, 0)] * len(operations)
    places[home] = place_in(operations[home], row) if homes else (0, 0)
    for i in range(home + 1, len(operations)):
        column = places[i - 1][0]
        places[i] = output_for(operations[i], column), column
    for i in range(home - 1, -1, -1):
        output = places[i + 1][1]
        places[i] = output, input_for(operations[i], output)
    return places


def place_in(operation: Operation, row: int) -> tuple[int, int]:
    """The output and the input that a parameter belongs to; of a shared one those in the middle."""
    written, read = operation.uses(row)
    if not len(written):  # a kernel's corner that only ever lies beyond the edge of the picture
        output = (row - operation.weights) // per_unit(operation) * operation.outputs_per_bias
        return output, input_for(operation, output)
    at = middle(len(written))
    output = int(written[at])
    if read is not None:
        return output, int(read[at])
    return output, input_for(operation, output) if operation.outputs_per_bias > 1 else diagonal(
        operation, output
    )


def diagonal(operation: Operation, output: int) -> int:
    """The input that a bias stands beside: its own, or of a matrix the first."""
    return 0 if len(operation.shape) > 1 else output


def middle(count: int) -> int:
    """The middle of so many places; of a square, the one in the middle of its middle line."""
    return min(count - 1, (count + isqrt(count)) // 2)


def per_unit(operation: Operation) -> int:
    """How many weights each perceptron has, or each kernel."""
    return prod(operation.shape[1:])


def output_for(operation: Operation, column: int) -> int:
    """An output that an input goes to."""
    if operation.weights == NONE:
        return across(operation, column, forward=True)
    _, written, _ = weights_from(operation, column)
    if not len(written):  # no window sees it
        return column % operation.target.size
    units = operation.shape[0] if len(operation.shape) > 1 else 1
    return int(written.reshape(units, -1)[column % units, middle(len(written) // units)])


def input_for(operation: Operation, output: int) -> int:
    """An input that an output depends on."""
    if operation.weights == NONE:
        return across(operation, output, forward=False)
    rows, read = weights_into(operation, output)
    if not len(rows):
        return output % operation.source.size
    count = len(rows)
    return int(read[output % count if operation.outputs_per_bias == 1 else count // 2])


def across(operation: Operation, place: int, *, forward: bool) -> int:
    """The number that belongs to a number, of an operation without weights."""
    buffers = operation.source, operation.target
    here, there = buffers if forward else buffers[::-1]
    if here.size == there.size or not (here.shape and there.shape):
        return place % there.size
    at = np.unravel_index(place, here.shape)
    sides = zip(at, here.shape, there.shape, strict=True)
    return int(np.ravel_multi_index([int(i) * new // old for i, old, new in sides], there.shape))


def weights_into(operation: Operation, output: int) -> tuple[Places, Places]:
    """The rows of the weights that an output is made of, and what each is multiplied by."""
    unit, count = output // operation.outputs_per_bias, per_unit(operation)
    rows, inputs = [], []
    for row in range(operation.weights + unit * count, operation.weights + (unit + 1) * count):
        written, read = operation.uses(row)
        if read is not None:
            found = read[written == output]
            rows += [row] * len(found)
            inputs += found.tolist()
    return np.array(rows, np.intp), np.array(inputs, np.intp)


def weights_from(operation: Operation, column: int) -> tuple[Places, Places, Places]:
    """The rows of the weights that an input is multiplied by, what into, and of which perceptron.

    All perceptrons, or kernels, use an input in the same way: it is enough to ask the first.
    """
    each, count, units = operation.outputs_per_bias, per_unit(operation), operation.shape[0]
    if len(operation.shape) == 1:
        return (
            np.array([operation.weights + column // each]),
            np.array([column]),
            np.zeros(1, int),
        )
    rows, outputs = [], []
    for row in range(operation.weights, operation.weights + count):
        written, read = operation.uses(row)
        if read is not None:
            found = written[read == column]
            rows += [row] * len(found)
            outputs += found.tolist()
    order = np.argsort(outputs, kind="stable")
    first, into = np.array(rows, np.intp)[order], np.array(outputs, np.intp)[order]
    unit = np.arange(units)[:, np.newaxis]
    return (
        (first + unit * count).ravel(),
        (into + unit * each).ravel(),
        np.repeat(np.arange(units), len(first)),
    )
