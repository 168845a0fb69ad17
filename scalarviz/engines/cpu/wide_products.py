"""Matrix products of wide layers, in blocks of sums that hide the latency of multiplications.

With several samples, forward and the gradient of the inputs add numbers in the order of
`products`, so no bit differs; the gradient of the weights adds up the samples in order, with one
input per lane. For names see `products`.
"""

from __future__ import annotations

import numpy as np

from scalarviz.engines.codegen.dispatch import by_address, in_parallel, inlined, inner
from scalarviz.engines.cpu.arrays import Address, BankView, Tile
from scalarviz.engines.cpu.blocks import (
    add_block,
    add_products,
    block_columns,
    block_rows,
    load_block,
    no_sums,
    spread_rows,
    store_block,
    transpose_lanes,
)
from scalarviz.engines.cpu.emitting import prange
from scalarviz.engines.cpu.memory import call, record_at
from scalarviz.engines.cpu.products import (
    FEW,
    FOUR,
    ONE,
    THREE,
    TWO,
    ZERO,
    Index,
    Numbers,
    Record,
    add_row_sums,
    outer_of_few,
)
from scalarviz.engines.cpu.records import OPERATION
from scalarviz.engines.cpu.simd import (
    add_sums_apart,
    lane_count,
    load_lanes,
    multiply_add,
    not_unrolled,
    spread,
)

WIDE = 32  # inputs and outputs from which blocks of sums are faster
LARGE = np.uint64(65_536)  # number of weights from which columns are read from a panel
PARTS = np.uint64(16)  # of an operation on all cores
SHARE = np.uint64(24)  # rows: a part has a multiple of these
PANEL = np.uint64(128)  # columns of the weights in a panel
DEPTH = np.uint64(192)  # rows of x at a time: for a block of samples, 12 KB
TURNED = np.uint64(512)  # rows of the inputs in a panel; a multiple of a block's columns


# ---- a part of an operation ---------------------------------------------------------------------
# Each number of a result is a sum of its own: so each of several cores can do some rows of it, from
# `low` to before `high`, and no bit depends on how many there are.


@inner
def part_of_forward(
    op: Record, settings: Numbers, bank: BankView, tile: Tile, low: Index, high: Index
) -> None:
    """z = W x + b, for some of the outputs."""
    biases = bank.value[: op.has_biases * np.uint64(len(bank.value))]
    first, z0 = op.weights + low * op.inputs, (op.target + low) * tile.stride
    if tile.n == ONE:
        affine_of_one(
            bank.value, first, biases, op.biases + low, tile.space, op.source * tile.stride, z0,
            op.inputs, high - low, tile.stride,
        )  # fmt: skip
        return
    affine_by_blocks(
        bank.value, first, op.inputs, ONE, biases, op.biases + low, tile.space, tile.space,
        op.source * tile.stride, z0, op.inputs, high - low, tile.n, tile.stride,
    )  # fmt: skip


@inner
def part_of_parameters(
    op: Record, settings: Numbers, grad: Numbers, tile: Tile, low: Index, high: Index
) -> None:
    """Add the gradients of W and b for some of the outputs: outer products, summed over samples."""
    n, stride, outputs = tile.n, tile.stride, high - low
    x, g = op.source * stride, (op.flow_out + low) * stride
    first = op.gradients + low * op.inputs
    if n <= FEW:
        outer_of_few(grad, first, tile.space, tile.flow, x, g, op.inputs, outputs, n, stride)
    else:
        wide_outer(grad, first, tile.space, tile.flow, x, g, op.inputs, outputs, n, stride)
    if op.has_biases == ONE:
        biases = op.gradients + op.count - op.outputs + low
        add_row_sums(grad, biases, tile.flow, g, outputs, n, stride)


@inner
def part_of_back(
    op: Record, settings: Numbers, bank: BankView, tile: Tile, low: Index, high: Index
) -> None:
    """Gradient of some of the inputs: W transposed, times g."""
    g0, h0 = op.flow_out * tile.stride, (op.flow_in + low) * tile.stride
    if tile.n == ONE:
        transposed_of_one(
            bank.value, op.weights + low, tile.flow, g0, h0, op.outputs, high - low, op.inputs,
            tile.stride,
        )  # fmt: skip
        return
    transposed_affine(
        bank.value, op.weights + low, tile.flow, tile.flow, g0, h0, op.outputs, high - low,
        op.inputs, tile.n, tile.stride,
    )  # fmt: skip


# ---- a whole operation --------------------------------------------------------------------------


@inner
def wide_forward(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """z = W x + b."""
    part_of_forward(op, settings, bank, tile, ZERO, op.outputs)


@inner
def wide_parameters(op: Record, settings: Numbers, grad: Numbers, tile: Tile) -> None:
    """Add the gradients of W and b: outer products, summed over the samples."""
    part_of_parameters(op, settings, grad, tile, ZERO, op.outputs)


@inner
def wide_inputs(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Gradient of the inputs: W transposed, times g."""
    part_of_back(op, settings, bank, tile, ZERO, op.inputs)


# ---- a whole operation on all cores -------------------------------------------------------------


@inner
def part_bounds(part: Index, rows: Index) -> tuple[Index, Index]:
    """Return the first row of a part, and that after its last: whole blocks of SHARE rows."""
    blocks = (rows + SHARE - ONE) // SHARE
    low, high = part * blocks // PARTS * SHARE, (part + ONE) * blocks // PARTS * SHARE
    return min(low, rows), min(high, rows)


@inlined
def run_parts(part: Address, rows: Index, place: Address, job: Address, tile: Address) -> None:
    """Call the kernel of a part for all parts of an operation, in parallel."""
    for p in prange(np.int64(PARTS)):
        low, high = part_bounds(np.uint64(p), rows)
        if low < high:
            call(part, (place, job, tile, low, high))


@in_parallel
@by_address
def forward_on_all_cores(place: Address, job: Address, tile: Address) -> None:
    """Run the parts of `wide_forward`."""
    op = record_at(place, OPERATION)
    run_parts(op.part_of_forward, op.outputs, place, job, tile)


@in_parallel
@by_address
def parameters_on_all_cores(place: Address, job: Address, tile: Address) -> None:
    """Run the parts of `wide_parameters`."""
    op = record_at(place, OPERATION)
    run_parts(op.part_of_parameters, op.outputs, place, job, tile)


@in_parallel
@by_address
def back_on_all_cores(place: Address, job: Address, tile: Address) -> None:
    """Run the parts of `wide_inputs`."""
    op = record_at(place, OPERATION)
    run_parts(op.part_of_back, op.inputs, place, job, tile)


# ---- one sample ---------------------------------------------------------------------------------
# The rows of the weights fill the vectors: their sums are in another order than with more samples.


@inner
def affine_of_one(
    w: Numbers, first: Index, biases: Numbers, bias: Index, x: Numbers, x0: Index, z0: Index,
    inputs: Index, outputs: Index, stride: Index,
) -> None:  # fmt: skip
    """Compute z[o] = biases[bias + o] + sum over i of w[first + o * inputs + i] * x[i]."""
    step, last = lane_count(x), outputs - ONE
    end = inputs // step * step
    sample = np.empty(inputs, w.dtype)
    for i in range(inputs):
        sample[i] = x[x0 + i * stride]
    zero = spread(w.dtype.type(0))
    for o in range(ZERO, outputs, FOUR):
        for k in range(o, min(o + FOUR, outputs)):
            total = biases[bias + k] if len(biases) else w.dtype.type(0)
            for i in range(end, inputs):
                total += w[first + k * inputs + i] * sample[i]
            x[z0 + k * stride] = total
        r0, r1 = first + o * inputs, first + min(o + ONE, last) * inputs
        r2, r3 = first + min(o + TWO, last) * inputs, first + min(o + THREE, last) * inputs
        s0, s1, s2, s3 = zero, zero, zero, zero
        for i in range(ZERO, end, step):
            not_unrolled()
            p = load_lanes(sample, i)
            s0 = multiply_add(load_lanes(w, r0 + i), p, s0)
            s1 = multiply_add(load_lanes(w, r1 + i), p, s1)
            s2 = multiply_add(load_lanes(w, r2 + i), p, s2)
            s3 = multiply_add(load_lanes(w, r3 + i), p, s3)
        add_sums_apart(x, z0 + o * stride, stride, outputs - o, s0, s1, s2, s3)


@inner
def transposed_of_one(
    w: Numbers, first: Index, g: Numbers, g0: Index, h0: Index, outputs: Index, inputs: Index,
    across: Index, stride: Index,
) -> None:  # fmt: skip
    """Compute h[i] = sum over o of w[first + o * across + i] * g[o]."""
    sums = np.zeros(inputs, w.dtype)
    for o in range(outputs):
        factor, row = g[g0 + o * stride], first + o * across
        for i in range(inputs):
            sums[i] += factor * w[row + i]
    for i in range(inputs):
        g[h0 + i * stride] = sums[i]


# ---- several samples ----------------------------------------------------------------------------


@inner
def affine_by_blocks(
    w: Numbers, first: Index, across: Index, down: Index, biases: Numbers, bias: Index,
    x: Numbers, z: Numbers, x0: Index, z0: Index, inputs: Index, outputs: Index, n: Index,
    stride: Index,
) -> None:  # fmt: skip
    """Do the same as `products.affine`, a block of sums at a time.

    Some rows of x at a time, which stay in the cache for all outputs; the sums wait in z meanwhile.
    """
    step, rows, columns = lane_count(x), block_rows(x), block_columns(x)
    end = (n + step - ONE) // step * step
    for low in range(ZERO, inputs, DEPTH):
        count = min(DEPTH, inputs - low)
        for t in range(ZERO, end, columns):
            further = step if t + step < end else ZERO
            for o in range(ZERO, outputs, rows):
                left, goal = outputs - o, z0 + o * stride + t
                sums = no_sums(x)
                if low > ZERO:
                    sums = load_block(z, goal, stride, left, further)
                elif len(biases):
                    sums = spread_rows(biases, bias + o, left)
                at, row = x0 + low * stride + t, first + o * across + low * down
                for _ in range(count):
                    not_unrolled()
                    sums = add_products(sums, w, row, across, left, x, at, further)
                    at += stride
                    row += down
                store_block(z, goal, stride, left, further, sums)


@inner
def transposed_affine(
    w: Numbers, first: Index, x: Numbers, z: Numbers, x0: Index, z0: Index, inputs: Index,
    outputs: Index, down: Index, n: Index, stride: Index,
) -> None:  # fmt: skip
    """z[o] = sum over i of w[first + i * down + o] * x[i].

    A column of a large matrix has each number in another page of memory: so some columns at a time
    are copied to a panel, which the product of all samples then reads.
    """
    nothing = w[:0]
    if inputs * down < LARGE:
        affine_by_blocks(
            w, first, ONE, down, nothing, ZERO, x, z, x0, z0, inputs, outputs, n, stride
        )  # fmt: skip
        return
    panel = np.empty(inputs * PANEL, w.dtype)
    for o in range(ZERO, outputs, PANEL):
        width = min(PANEL, outputs - o)
        for i in range(inputs):
            a, b = i * PANEL, first + i * down + o
            for c in range(width):
                panel[a + c] = w[b + c]
        affine_by_blocks(
            panel, ZERO, ONE, PANEL, nothing, ZERO, x, z, x0, z0 + o * stride, inputs, width, n,
            stride,
        )  # fmt: skip


@inner
def wide_outer(
    grad: Numbers, first: Index, x: Numbers, g: Numbers, x0: Index, g0: Index,
    inputs: Index, outputs: Index, n: Index, stride: Index,
) -> None:  # fmt: skip
    """Do the same as `products.outer`, one input per lane: for each sample in turn.

    Some rows of x at a time are transposed to a panel, of which block after block has a row of
    numbers for each sample.
    """
    step, rows, columns = lane_count(x), block_rows(x), block_columns(x)
    end = (n + step - ONE) // step * step
    panel = np.empty(end * min(TURNED, inputs + columns), x.dtype)
    for start in range(ZERO, inputs, TURNED):
        stop = min(start + TURNED, inputs)
        for i in range(start, stop, step):
            column = (i - start) % columns
            to = (i - start - column) * end + column
            for t in range(ZERO, end, step):
                not_unrolled()
                transpose_lanes(
                    x, x0 + i * stride + t, stride, stop - i, panel, to + t * columns, columns
                )
        for o in range(ZERO, outputs, rows):
            left = outputs - o
            for i in range(start, stop, columns):
                sums, at = no_sums(x), (i - start) * end
                further = step if i + step < stop else ZERO
                row = g0 + o * stride
                for t in range(n):
                    not_unrolled()
                    sums = add_products(sums, g, row + t, stride, left, panel, at, further)
                    at += columns
                add_block(grad, first + o * inputs + i, inputs, left, stop - i, sums)
