"""What the cpu engine does with a Program: loops over tiles of samples, for numba to compile.

A tile is up to TILE samples that pass through the whole network and back while their numbers are in
the processor's cache. In a tile a buffer is `size` rows of `stride` numbers, of which the first n
are used, one a sample, so that the innermost loops run over samples; places are counted in rows.
All indices are unsigned: see `cpu_products`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.engines.cpu_products import (
    ONE,
    SHORTEST,
    TWO,
    Index,
    Numbers,
    add_row_sums,
    affine,
    outer,
)
from scalarviz.engines.dispatch import (
    activation_backward,
    activation_forward,
    kernel,
    row_backward,
    row_forward,
)

Table = Any  # the operations: one row each, unsigned

# The columns of the table of operations, and its kinds, in the order of `program.KINDS`. GRADIENTS
# is where in a chunk's gradient those of its parameters begin, and COUNT how many they are.
(
    KIND, FORMULA, SOURCE, TARGET, INPUTS, OUTPUTS, WEIGHTS, BIASES, HAS_BIASES, MEMO, FLOW_IN,
    FLOW_OUT, GRADIENTS, COUNT,
) = [np.uint64(i) for i in range(14)]  # fmt: skip
COLUMNS = 14
AFFINE, ACTIVATION, ROW, SCALE = [np.uint64(i) for i in range(4)]


@kernel
def tile_of(space: Numbers, start: Index, rows: Index, stride: Index) -> Numbers:
    """The buffer that begins at the row `start`, as an array of (rows, stride)."""
    return space[start * stride : (start + rows) * stride].reshape((rows, stride))


@kernel
def operation_forward(
    op: Table, settings: Numbers, value: Numbers, space: Numbers, n: Index, stride: Index
) -> None:
    """One operation on one tile."""
    kind, inputs, outputs = op[KIND], op[INPUTS], op[OUTPUTS]
    x, z = op[SOURCE] * stride, op[TARGET] * stride
    if kind == AFFINE:
        biases = value[: op[HAS_BIASES] * np.uint64(len(value))]
        affine(
            value, op[WEIGHTS], inputs, ONE, biases, op[BIASES], space, space, x, z, inputs,
            outputs, n, stride,
        )  # fmt: skip
    elif kind == ACTIVATION:
        rows, width = pieces(outputs, n, stride)
        for r in range(rows):
            a, b = x + r * stride, z + r * stride
            activation_forward(op[FORMULA], space[a : a + width], space[b : b + width])
    elif kind == ROW:
        memo = op[MEMO] * stride
        row_forward(
            op[FORMULA],
            tile_of(space, op[SOURCE], inputs, stride),
            tile_of(space, op[TARGET], outputs, stride),
            space[memo : memo + n],
            settings,
            n,
        )
    elif kind == SCALE:
        for r in range(outputs):
            a, b = x + r * stride, z + r * stride
            gain, shift = value[op[WEIGHTS] + r], value.dtype.type(0)
            if op[HAS_BIASES] == ONE:
                shift = value[op[BIASES] + r]
            for t in range(n):
                space[b + t] = gain * space[a + t] + shift


@kernel
def pieces(rows: Index, n: Index, stride: Index) -> tuple[Index, Index]:
    """How often, and to how many numbers, an activation is applied.

    To all rows in one go, and then also to what lies between them and is nobody's, unless that is
    the greater part.
    """
    if TWO * n >= stride or stride == SHORTEST:
        return ONE, rows * stride
    return rows, n


@kernel
def parameter_gradient(
    op: Table, grad: Numbers, space: Numbers, flow: Numbers, n: Index, stride: Index
) -> None:
    """What one tile adds to the gradient of an operation's weights and biases."""
    kind, inputs, outputs, first = op[KIND], op[INPUTS], op[OUTPUTS], op[GRADIENTS]
    x, g = op[SOURCE] * stride, op[FLOW_OUT] * stride
    if kind == AFFINE:
        outer(grad, first, space, flow, x, g, inputs, outputs, n, stride)
    elif kind == SCALE:
        for r in range(outputs):
            a, b = x + r * stride, g + r * stride
            total = grad.dtype.type(0)
            for t in range(n):
                total += flow[b + t] * space[a + t]
            grad[first + r] += total
    if op[HAS_BIASES] == ONE:
        add_row_sums(grad, first + op[COUNT] - outputs, flow, g, outputs, n, stride)


@kernel
def input_gradient(
    op: Table, settings: Numbers, value: Numbers, space: Numbers, flow: Numbers, n: Index,
    stride: Index,
) -> None:  # fmt: skip
    """The gradient by what an operation read, from that by what it wrote, in one tile.

    An activation may have both at one place: then it is changed where it is.
    """
    kind, inputs, outputs = op[KIND], op[INPUTS], op[OUTPUTS]
    x, y = op[SOURCE] * stride, op[TARGET] * stride
    g, h = op[FLOW_OUT] * stride, op[FLOW_IN] * stride
    if kind == AFFINE:
        affine(
            value, op[WEIGHTS], ONE, inputs, value[:0], op[BIASES], flow, flow, g, h, outputs,
            inputs, n, stride,
        )  # fmt: skip
    elif kind == ACTIVATION:
        rows, width = pieces(outputs, n, stride)
        for r in range(rows):
            a, b = x + r * stride, y + r * stride
            c, d = g + r * stride, h + r * stride
            if c != d:
                for t in range(width):
                    flow[d + t] = flow[c + t]
            activation_backward(
                op[FORMULA], space[a : a + width], space[b : b + width], flow[d : d + width]
            )
    elif kind == ROW:
        memo = op[MEMO] * stride
        row_backward(
            op[FORMULA],
            tile_of(space, op[SOURCE], inputs, stride),
            tile_of(space, op[TARGET], outputs, stride),
            space[memo : memo + n],
            tile_of(flow, op[FLOW_OUT], outputs, stride),
            tile_of(flow, op[FLOW_IN], inputs, stride),
            settings,
            n,
        )
    elif kind == SCALE:
        for r in range(outputs):
            a, b = g + r * stride, h + r * stride
            gain = value[op[WEIGHTS] + r]
            for t in range(n):
                flow[b + t] = gain * flow[a + t]


@kernel
def load_tile(
    space: Numbers, start: Index, data: Numbers, order: Table, first: Index, n: Index, stride: Index
) -> None:
    """The samples order[first], ... of a table, one row a sample, as the columns of a tile."""
    for t in range(n):
        row = order[first + t]
        at = start * stride + t
        for i in range(np.uint64(data.shape[1])):
            space[at + i * stride] = data[row, i]


@kernel
def store_tile(
    space: Numbers, start: Index, data: Numbers, first: Index, n: Index, stride: Index
) -> None:
    """Columns of a tile as rows `first`, ... of a table."""
    for i in range(np.uint64(data.shape[1])):
        at = (start + i) * stride
        for t in range(n):
            data[first + t, i] = space[at + t]


@kernel
def chunk_bounds(chunk: Index, chunks: Index, samples: Index) -> tuple[Index, Index]:
    """The first sample of a chunk, and the one after its last."""
    return chunk * samples // chunks, (chunk + ONE) * samples // chunks
