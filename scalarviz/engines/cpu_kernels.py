"""What the cpu engine does with a Program: loops over tiles of samples, for numba to compile.

A tile is up to TILE samples that pass through the whole network and back while their numbers are in
the processor's cache. In a tile a buffer is `size` rows of TILE numbers, one column a sample, so
that the innermost loops run over samples. All indices are unsigned: see `cpu_products`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.engines.cpu_products import ONE, TILE, Index, Numbers, affine, outer
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
def fill_rows(
    space: Numbers, start: Index, value: Numbers, first: Index, rows: Index, n: Index
) -> None:
    """Every sample's row r becomes value[first + r]: where the biases are added up from."""
    for r in range(rows):
        a = start + r * TILE
        for t in range(n):
            space[a + t] = value[first + r]


@kernel
def clear_rows(space: Numbers, start: Index, rows: Index, n: Index) -> None:
    """Every sample's row becomes 0."""
    zero = space.dtype.type(0)
    for r in range(rows):
        a = start + r * TILE
        for t in range(n):
            space[a + t] = zero


@kernel
def add_row_sums(
    grad: Numbers, first: Index, g: Numbers, start: Index, rows: Index, n: Index
) -> None:
    """grad[first + r] += sum over the samples of g[r]: the gradient of the biases."""
    for r in range(rows):
        a = start + r * TILE
        total = grad.dtype.type(0)
        for t in range(n):
            total += g[a + t]
        grad[first + r] += total


@kernel
def tile_of(space: Numbers, start: Index, rows: Index) -> Numbers:
    """The buffer that begins at `start`, as an array of (rows, TILE)."""
    return space[start : start + rows * TILE].reshape((rows, TILE))


@kernel
def operation_forward(
    op: Table, settings: Numbers, value: Numbers, space: Numbers, n: Index
) -> None:
    """One operation on one tile."""
    kind, inputs, outputs = op[KIND], op[INPUTS], op[OUTPUTS]
    x, z = op[SOURCE], op[TARGET]
    if kind == AFFINE:
        if op[HAS_BIASES] == ONE:
            fill_rows(space, z, value, op[BIASES], outputs, n)
        else:
            clear_rows(space, z, outputs, n)
        affine(value, op[WEIGHTS], inputs, ONE, space, space, x, z, inputs, outputs, n)
    elif kind == ACTIVATION:
        for r in range(outputs):
            a, b = x + r * TILE, z + r * TILE
            activation_forward(op[FORMULA], space[a : a + n], space[b : b + n])
    elif kind == ROW:
        memo = op[MEMO]
        row_forward(
            op[FORMULA],
            tile_of(space, x, inputs),
            tile_of(space, z, outputs),
            space[memo : memo + n],
            settings,
            n,
        )
    elif kind == SCALE:
        for r in range(outputs):
            a, b = x + r * TILE, z + r * TILE
            gain, shift = value[op[WEIGHTS] + r], value.dtype.type(0)
            if op[HAS_BIASES] == ONE:
                shift = value[op[BIASES] + r]
            for t in range(n):
                space[b + t] = gain * space[a + t] + shift


@kernel
def parameter_gradient(op: Table, grad: Numbers, space: Numbers, flow: Numbers, n: Index) -> None:
    """What one tile adds to the gradient of an operation's weights and biases."""
    kind, inputs, outputs, first = op[KIND], op[INPUTS], op[OUTPUTS], op[GRADIENTS]
    x, g = op[SOURCE], op[FLOW_OUT]
    if kind == AFFINE:
        outer(grad, first, space, flow, x, g, inputs, outputs, n)
    elif kind == SCALE:
        for r in range(outputs):
            a, b = x + r * TILE, g + r * TILE
            total = grad.dtype.type(0)
            for t in range(n):
                total += flow[b + t] * space[a + t]
            grad[first + r] += total
    if op[HAS_BIASES] == ONE:
        add_row_sums(grad, first + op[COUNT] - outputs, flow, g, outputs, n)


@kernel
def input_gradient(
    op: Table, settings: Numbers, value: Numbers, space: Numbers, flow: Numbers, n: Index
) -> None:
    """The gradient by what an operation read, from that by what it wrote, in one tile.

    An activation may have both at one place: then it is changed where it is.
    """
    kind, inputs, outputs = op[KIND], op[INPUTS], op[OUTPUTS]
    x, y, g, h = op[SOURCE], op[TARGET], op[FLOW_OUT], op[FLOW_IN]
    if kind == AFFINE:
        clear_rows(flow, h, inputs, n)
        affine(value, op[WEIGHTS], ONE, inputs, flow, flow, g, h, outputs, inputs, n)
    elif kind == ACTIVATION:
        for r in range(outputs):
            a, b, c, d = x + r * TILE, y + r * TILE, g + r * TILE, h + r * TILE
            if c != d:
                for t in range(n):
                    flow[d + t] = flow[c + t]
            activation_backward(op[FORMULA], space[a : a + n], space[b : b + n], flow[d : d + n])
    elif kind == ROW:
        memo = op[MEMO]
        row_backward(
            op[FORMULA],
            tile_of(space, x, inputs),
            tile_of(space, y, outputs),
            space[memo : memo + n],
            tile_of(flow, g, outputs),
            tile_of(flow, h, inputs),
            settings,
            n,
        )
    elif kind == SCALE:
        for r in range(outputs):
            a, b = g + r * TILE, h + r * TILE
            gain = value[op[WEIGHTS] + r]
            for t in range(n):
                flow[b + t] = gain * flow[a + t]


@kernel
def load_tile(
    space: Numbers, start: Index, data: Numbers, order: Table, first: Index, n: Index
) -> None:
    """The samples order[first], ... of a table, one row a sample, as the columns of a tile."""
    for t in range(n):
        row = order[first + t]
        for i in range(np.uint64(data.shape[1])):
            space[start + i * TILE + t] = data[row, i]


@kernel
def store_tile(space: Numbers, start: Index, data: Numbers, first: Index, n: Index) -> None:
    """Columns of a tile as rows `first`, ... of a table."""
    for i in range(np.uint64(data.shape[1])):
        for t in range(n):
            data[first + t, i] = space[start + i * TILE + t]


@kernel
def chunk_bounds(chunk: Index, chunks: Index, samples: Index) -> tuple[Index, Index]:
    """The first sample of a chunk, and the one after its last."""
    return chunk * samples // chunks, (chunk + ONE) * samples // chunks
