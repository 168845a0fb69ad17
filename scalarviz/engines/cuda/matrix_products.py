"""Kernels of affine operations as matrix products of a whole batch.

A product is cut into tiles: the threads of a block load a panel of each factor into shared memory,
then each thread computes 4 x 4 numbers, see `products`. While they do, the next panels are on their
way, in registers: a block that waited for them would wait for two thirds of its time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.engines.codegen.cuda_dispatch import Real, kernel
from scalarviz.engines.cuda.api import cuda
from scalarviz.engines.cuda.places import (
    BIAS_ROW,
    CHUNKS,
    COUNT,
    DEPTH,
    DOWN,
    FLOW,
    HAS_BIASES,
    INPUTS,
    LOADED,
    LOADERS,
    MATRIX_TILE,
    ONE,
    OUTPUTS,
    PANEL,
    SOURCE,
    SPACE,
    STRIDE,
    TARGET,
    TILE,
    VALUE,
    WEIGHT_ROW,
    ZERO,
    Exact,
    Index,
    Numbers,
    Whole,
)
from scalarviz.engines.cuda.products import quarter, smaller
from scalarviz.engines.cuda.teams import bias_sum, chunk_start, partial_of


@kernel
def in_panel(i: Index, inner: Index) -> Any:
    """Return line and place of the first number of part i of a panel, and the steps to the next.

    i < LOADERS. Neighbouring i are neighbours in memory: of a line if `inner`, the step in memory
    from one of its numbers to the next, is 1, else of neighbouring lines.
    """
    if inner == ONE:
        return i // DEPTH, i % DEPTH, LOADERS // DEPTH, ZERO
    return i % TILE, i // TILE, ZERO, LOADERS // TILE


@kernel
def load_part(
    arena: Numbers, start: Index, along: Index, inner: Index, length: Index, width: Index,
    i: Index, numbers: Numbers,
) -> None:  # fmt: skip
    """Load part i of `length` lines of `width` numbers each; nothing that is not there.

    `along` is the step in memory from a line to the next; that or `inner` is 1.
    """
    line, k, lines, places = in_panel(i, inner)
    at, jump = start + line * along + k * inner, lines * along + places * inner
    for j in range(LOADED):
        if line < length and k < width:
            numbers[j] = arena[at]
        line += lines
        k += places
        at += jump


@kernel
def store_part(
    inner: Index, length: Index, width: Index, i: Index, numbers: Numbers, panel: Numbers
) -> None:
    """Store it to panel[place, line]."""
    line, k, lines, places = in_panel(i, inner)
    for j in range(LOADED):
        if line < length and k < width:
            panel[line + k * DOWN] = numbers[j]
        line += lines
        k += places


@kernel
def load_others(
    arena: Numbers, start: Index, along: Index, inner: Index, length: Index, width: Index,
    numbers: Numbers, panel: Numbers,
) -> None:  # fmt: skip
    """Load and store what a block of fewer than LOADERS threads has left."""
    i = np.uint64(cuda.threadIdx.x + cuda.blockDim.x)
    while i < LOADERS:
        load_part(arena, start, along, inner, length, width, i, numbers)
        store_part(inner, length, width, i, numbers, panel)
        i += np.uint64(cuda.blockDim.x)


@kernel
def matrix_product(
    arena: Numbers, a: Index, a_down: Index, a_across: Index, b: Index, b_down: Index,
    b_across: Index, out: Index, out_down: Index, rows: Index, columns: Index, inner: Index,
    biases: Index, first: Index, step: Index,
) -> None:  # fmt: skip
    """out = A B + biases, tiles `first`, `first` + `step`, ...; no biases if `biases` < 0.

    A tile is 64 x 64; the threads of a block load parts of both factors, then each computes 4 x 4
    numbers of it, a quarter of the tile apart.
    """
    left = cuda.shared.array(PANEL, Real)
    right = cuda.shared.array(PANEL, Real)
    wide = (np.uint64(columns) + TILE - ONE) // TILE
    tile, tiles = np.uint64(first), (np.uint64(rows) + TILE - ONE) // TILE * wide
    while tile < tiles:
        r0 = tile // wide * TILE
        c0 = (tile - tile // wide * wide) * TILE
        high, broad = smaller(np.uint64(rows) - r0, TILE), smaller(np.uint64(columns) - c0, TILE)
        part_of_product(
            arena, left, right, np.uint64(a) + r0 * np.uint64(a_down), np.uint64(a_down),
            np.uint64(a_across), np.uint64(b) + c0 * np.uint64(b_across), np.uint64(b_down),
            np.uint64(b_across), np.uint64(out) + r0 * np.uint64(out_down) + c0,
            np.uint64(out_down), high, broad, np.uint64(inner), biases, r0,
        )  # fmt: skip
        tile += np.uint64(step)


@kernel
def part_of_product(
    arena: Numbers, left: Numbers, right: Numbers, a: Index, a_down: Index, a_across: Index,
    b: Index, b_down: Index, b_across: Index, out: Index, out_down: Index, rows: Index,
    columns: Index, inner: Index, biases: Index, row: Index,
) -> None:  # fmt: skip
    """One tile of `matrix_product`, whose first row of the whole is `row`.

    A block with fewer threads than the tile has parts takes several turns.
    """
    down, across = quarter(rows), quarter(columns)
    sums = cuda.local.array(16, Real)
    ours, theirs = cuda.local.array(LOADED, Real), cuda.local.array(LOADED, Real)
    turn, end = ZERO, down * across
    while turn < end:
        job = turn + np.uint64(cuda.threadIdx.x)
        mine = job < end
        r = job // across if mine else ZERO
        c = job - r * across if mine else ZERO
        for i in range(16):
            sums[i] = bias_of(arena, biases, row, r + np.uint64(i // 4) * down, rows)
        worker, start, width = np.uint64(cuda.threadIdx.x), ZERO, smaller(inner, DEPTH)
        load_part(arena, a, a_down, a_across, rows, width, worker, ours)
        load_part(arena, b, b_across, b_down, columns, width, worker, theirs)
        while start < inner:
            store_part(a_across, rows, width, worker, ours, left)
            store_part(b_down, columns, width, worker, theirs, right)
            p, q = a + start * a_across, b + start * b_down
            load_others(arena, p, a_down, a_across, rows, width, ours, left)
            load_others(arena, q, b_across, b_down, columns, width, theirs, right)
            # The next ones arrive while the products of these are added up.
            added, start = width, start + DEPTH
            if start < inner:
                width = smaller(inner - start, DEPTH)
                p, q = a + start * a_across, b + start * b_down
                load_part(arena, p, a_down, a_across, rows, width, worker, ours)
                load_part(arena, q, b_across, b_down, columns, width, worker, theirs)
            cuda.syncthreads()
            add_products(left, right, r, c, added, down, across, sums)
            cuda.syncthreads()
        if mine:
            for i in range(4):
                for j in range(4):
                    if r < rows and c + np.uint64(j) * across < columns:
                        arena[out + r * out_down + c + np.uint64(j) * across] = sums[4 * i + j]
                r += down
        turn += np.uint64(cuda.blockDim.x)


@kernel
def add_products(
    left: Numbers, right: Numbers, p: Index, q: Index, width: Index, down: Index, across: Index,
    sums: Numbers,
) -> None:  # fmt: skip
    """Add `width` products to each of sixteen sums: of rows from p on, and columns from q on.

    The four rows of a panel are `down` apart, the four columns `across`. The compiler unrolls all
    loops over `sums`, and keeps them in registers.
    """
    last = p + width * DOWN
    while p < last:
        for i in range(16):
            x, y = left[p + np.uint64(i // 4) * down], right[q + np.uint64(i % 4) * across]
            sums[i] = cuda.fma(x, y, sums[i])
        p += DOWN
        q += DOWN


@kernel
def bias_of(arena: Numbers, biases: Index, first: Index, r: Index, rows: Index) -> Any:
    """Return what a sum of row r of a tile begins with."""
    if biases >= 0 and r < rows:
        return arena[np.uint64(biases) + first + r]
    return Real(0)


@kernel
def affine_forward_all(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, count: Index
) -> None:
    """z = W x + b of a whole batch, by all blocks."""
    stride, inputs, biases = plan[STRIDE], plan[op + INPUTS], -1
    if plan[op + HAS_BIASES] != 0:
        biases = plan[VALUE] + plan[op + BIAS_ROW]
    matrix_product(
        arena, plan[VALUE] + plan[op + WEIGHT_ROW], inputs, 1,
        plan[SPACE] + plan[op + SOURCE] * stride, stride, 1,
        plan[SPACE] + plan[op + TARGET] * stride, stride, plan[op + OUTPUTS], count, inputs,
        biases, cuda.blockIdx.x, cuda.gridDim.x,
    )  # fmt: skip


@kernel
def affine_parameters_all(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, count: Index
) -> None:
    """Gradients of W for each chunk, a tile a block; then those of the biases, one a thread."""
    stride, inputs, outputs = plan[STRIDE], plan[op + INPUTS], plan[op + OUTPUTS]
    x, g = plan[SPACE] + plan[op + SOURCE] * stride, plan[FLOW] + plan[op + TARGET] * stride
    tiles = -(-inputs // MATRIX_TILE) * -(-outputs // MATRIX_TILE)
    for job in range(cuda.blockIdx.x, plan[CHUNKS] * tiles, cuda.gridDim.x):
        chunk = job // tiles
        first = chunk_start(plan, chunk, count)
        n = chunk_start(plan, chunk + 1, count) - first
        matrix_product(
            arena, g + first, stride, 1, x + first, 1, stride, partial_of(plan, op, chunk),
            inputs, outputs, inputs, n, -1, job - chunk * tiles, tiles,
        )  # fmt: skip
    weights = inputs * outputs
    biases = plan[op + COUNT] - weights
    for job in range(cuda.grid(1), plan[CHUNKS] * biases, cuda.gridsize(1)):
        chunk = job // biases
        r = job - chunk * biases
        first = chunk_start(plan, chunk, count)
        n = chunk_start(plan, chunk + 1, count) - first
        total = bias_sum(arena, g + r * stride + first, 1, stride, n, Real(0))
        arena[partial_of(plan, op, chunk) + weights + r] = total


@kernel
def affine_inputs_all(plan: Whole, op: Index, arena: Numbers, scalars: Exact, count: Index) -> None:
    """Gradient of the inputs of a whole batch: W transposed times g, by all blocks."""
    stride, inputs = plan[STRIDE], plan[op + INPUTS]
    matrix_product(
        arena, plan[VALUE] + plan[op + WEIGHT_ROW], 1, inputs,
        plan[FLOW] + plan[op + TARGET] * stride, stride, 1,
        plan[FLOW] + plan[op + SOURCE] * stride, stride, inputs, count, plan[op + OUTPUTS], -1,
        cuda.blockIdx.x, cuda.gridDim.x,
    )  # fmt: skip
