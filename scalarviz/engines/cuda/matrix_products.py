"""Kernels of affine operations: matrix products by a team of threads, or of a whole batch.

A thread of a team computes several numbers together, in registers, so that each loaded number is
used in several multiply-adds: 4 or 2 rows of 2 samples, or 4 x 4 numbers of a matrix. In every
kernel, each number is the same sum in the same order: a chain of `cuda.fma` from the bias, or 0.

Indices are unsigned and advance by additions. numba checks signed indices for being negative, and a
multiplication per index would take longer than the multiply-add itself.

The product of a whole batch is split into tiles. The threads of a block load a panel of each factor
into shared memory, then each thread computes 4 x 4 numbers. Meanwhile the next panels are loaded
into registers; otherwise a block would wait for them two thirds of its time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.engines.codegen.cuda_dispatch import Real, kernel
from scalarviz.engines.cuda.card import cuda
from scalarviz.engines.cuda.gpu_layout import (
    BIAS_ROW,
    CHUNKS,
    COUNT,
    DEPTH,
    DOWN,
    FLOW,
    FOUR,
    HAS_BIASES,
    IN_ROOM,
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
    THREE,
    TILE,
    TWO,
    VALUE,
    WEIGHT_ROW,
    WORD,
    ZERO,
    Exact,
    Index,
    Numbers,
    Whole,
    bias_sum,
    chunk_start,
    ends_of,
    partial_of,
)

ALL_ROWS = np.uint64(2**64 - 1)  # none is the last one that may be read


@kernel
def quarter(n: Index) -> Index:
    """Return n / 4 rounded up."""
    return (n + THREE) // FOUR


@kernel
def smaller(a: Index, b: Index) -> Index:
    """Return the smaller of two indices."""
    return a if a < b else b


# ---- the samples of a block ---------------------------------------------------------------------


@kernel
def room_apart(outputs: Index) -> Index:
    """Return the distance between the weights of adjacent inputs in a block's memory.

    It is odd, so that adjacent inputs are in different memory banks.
    """
    return outputs // TWO * TWO + ONE


@kernel
def reciprocal(n: Index) -> Index:
    """Return r = 2**32 / n rounded up; i // n equals i * r >> 32 if i * n < 2**32."""
    return np.uint64(np.uint32(0xFFFFFFFF) // np.uint32(n)) + ONE


@kernel
def one_of(i: Index, end: Index, other: Index) -> Index:
    """Return i if it is less than `end`, else `other`."""
    return i if i < end else other


@kernel
def fetch(
    arena: Numbers, start: Index, apart: Index, lines: Index, count: Index, room: Numbers,
    to: Index, down: Index, across: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """Copy lines of `count` numbers, fewer than 2**16 in total, to the memory of a block.

    The lines begin at `start` in `arena` and are `apart` numbers apart. Number n of line m is
    copied to room[to + m * down + n * across]. Adjacent threads read adjacent numbers. A thread
    loads four numbers before it stores them, so that it waits only once; if fewer remain, one is
    copied several times. The number loaded last is stored first, since otherwise the compiler would
    begin to store before all are loaded.
    """
    i, step, end, by = np.uint64(worker), np.uint64(workers), lines * count, reciprocal(count)
    skipped, turned = apart - count, down - count * across  # negative numbers wrap around, and back
    while i < end:
        j, k, m = one_of(i + step, end, i), one_of(i + TWO * step, end, i), i + THREE * step
        m = one_of(m, end, i)
        p, q, r, s = i * by >> WORD, j * by >> WORD, k * by >> WORD, m * by >> WORD
        a, b = arena[start + i + p * skipped], arena[start + j + q * skipped]
        c, d = arena[start + k + r * skipped], arena[start + m + s * skipped]
        room[to + m * across + s * turned] = d
        room[to + k * across + r * turned] = c
        room[to + j * across + q * turned] = b
        room[to + i * across + p * turned] = a
        i += FOUR * step


@kernel
def fetch_weights(
    plan: Whole, op: Index, arena: Numbers, room: Numbers, worker: Index, workers: Index
) -> None:
    """Copy the weights of an operation to the block's memory, grouped by input."""
    inputs, outputs = np.uint64(plan[op + INPUTS]), np.uint64(plan[op + OUTPUTS])
    fetch(
        arena, np.uint64(plan[VALUE] + plan[op + WEIGHT_ROW]), inputs, outputs, inputs, room,
        np.uint64(plan[op + IN_ROOM]), ONE, room_apart(outputs), worker, workers,
    )  # fmt: skip


@kernel
def affine_forward(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, space: Numbers, base: Index,
    stride: Index, first: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """z = W x + b, with W in `space`; up to three numbers after W are read without effect."""
    inputs, outputs = np.uint64(plan[op + INPUTS]), np.uint64(plan[op + OUTPUTS])
    x, z = ends_of(plan, op, base, stride)
    biases = plan[VALUE] + plan[op + BIAS_ROW]
    products(
        space, np.uint64(plan[op + IN_ROOM]), ONE, room_apart(outputs), ALL_ROWS, outputs, inputs,
        arena, np.uint64(biases), plan[op + HAS_BIASES] != 0, space, x, z,
        np.uint64(stride), np.uint64(count), np.uint64(worker), np.uint64(workers),
    )  # fmt: skip


@kernel
def affine_inputs(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, space: Numbers, base: Index,
    flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """Compute the gradient of the inputs: W transposed, times g, with W in `space`."""
    inputs, outputs = np.uint64(plan[op + INPUTS]), np.uint64(plan[op + OUTPUTS])
    h, g = ends_of(plan, op, flow_base, stride)
    products(
        space, np.uint64(plan[op + IN_ROOM]), room_apart(outputs), ONE, inputs - ONE, inputs,
        outputs, arena, ZERO, False, flow, g, h, np.uint64(stride),
        np.uint64(count), np.uint64(worker), np.uint64(workers),
    )  # fmt: skip


@kernel
def products(
    weights: Numbers, w: Index, down: Index, along: Index, last: Index, rows: Index, inner: Index,
    arena: Numbers, biases: Index, biased: bool, space: Numbers, x: Index, z: Index, step: Index,
    samples: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """Write a matrix times x, plus biases, to z; x and z are in `space`.

    The rows of the matrix are `down` numbers apart, its columns `along`; no row after `last` is
    read. A tile has 4 rows, or 2 if half of the threads would otherwise be idle.
    """
    if quarter(rows) * ((samples + ONE) // TWO) * TWO > workers:
        write_tiles(
            4, weights, w, down, along, last, rows, inner, arena, biases, biased, space, x, z,
            step, samples, worker, workers,
        )  # fmt: skip
    else:
        write_tiles(
            2, weights, w, down, along, last, rows, inner, arena, biases, biased, space, x, z,
            step, samples, worker, workers,
        )  # fmt: skip


@kernel
def write_tiles(
    height: Index, weights: Numbers, w: Index, down: Index, along: Index, last: Index, rows: Index,
    inner: Index, arena: Numbers, biases: Index, biased: bool, space: Numbers, x: Index, z: Index,
    step: Index, samples: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """Compute `products` in tiles of `height` rows, which must be constant, and two samples.

    The compiler unrolls all loops over a tile and keeps its sums in registers.
    """
    sums, high, groups = cuda.local.array(8, Real), np.uint64(height), (samples + ONE) // TWO
    job, end = worker, (rows + high - ONE) // high * groups
    while job < end:
        r = job // groups
        n = (job - r * groups) * TWO
        r *= high
        for i in range(2 * height):
            row = smaller(r + np.uint64(i // 2), rows - ONE)
            sums[i] = arena[biases + row] if biased else Real(0)
        add_tile(
            height, weights, w + r * down, down, along, last, r, inner, space, x + n, step, sums
        )
        for i in range(2 * height):
            row, sample = r + np.uint64(i // 2), n + np.uint64(i % 2)
            if row < rows and sample < samples:
                space[z + row * step + sample] = sums[i]
        job += workers


@kernel
def add_tile(
    height: Index, weights: Numbers, w: Index, down: Index, along: Index, last: Index, r: Index,
    inner: Index, space: Numbers, x: Index, step: Index, sums: Numbers,
) -> None:  # fmt: skip
    """Add `inner` products to each sum of a tile, whose first row is r and begins at index w.

    Rows after the last one are replaced by the first row; the caller does not write their sums.
    """
    offsets = cuda.local.array(4, np.uint64)
    for i in range(height):
        offsets[i] = np.uint64(i) * down if r + np.uint64(i) <= last else ZERO
    single, end = w + inner % FOUR * along, w + inner * along
    while w < single:
        add_pairs(height, weights, w, offsets, space, x, sums)
        w += along
        x += step
    while w < end:
        for _ in range(4):  # unrolled, which a step unknown to the compiler prevents
            add_pairs(height, weights, w, offsets, space, x, sums)
            w += along
            x += step


@kernel
def add_pairs(
    height: Index, weights: Numbers, w: Index, offsets: Whole, space: Numbers, x: Index,
    sums: Numbers,
) -> None:  # fmt: skip
    """Add one product to each sum of a tile."""
    for i in range(2 * height):
        y = space[x + np.uint64(i % 2)]
        sums[i] = cuda.fma(weights[w + offsets[i // 2]], y, sums[i])


@kernel
def affine_parameters(
    plan: Whole, op: Index, arena: Numbers, chunk: Index, fresh: bool, space: Numbers,
    base: Index, flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index,
    workers: Index,
) -> None:  # fmt: skip
    """Add the gradients of W and b, summed over the samples; 4 x 4 weights per thread.

    The rows of a thread are a quarter of all rows apart, and so are its columns. So adjacent
    threads read adjacent rows of the workspaces and write adjacent weights.
    """
    x, g = base + plan[op + SOURCE] * stride, flow_base + plan[op + TARGET] * stride
    inputs, outputs = np.uint64(plan[op + INPUTS]), np.uint64(plan[op + OUTPUTS])
    step, samples = np.uint64(stride), np.uint64(count)
    begin = np.uint64(partial_of(plan, op, chunk))
    down, across = quarter(outputs), quarter(inputs)
    sums = cuda.local.array(16, Real)
    of_g, of_x = cuda.local.array(4, np.uint64), cuda.local.array(4, np.uint64)
    job, end, jump = np.uint64(worker), down * across, np.uint64(workers)
    while job < end:
        r = job // across
        k = job - r * across
        four_rows(np.uint64(g), step, r, down, outputs, of_g)
        four_rows(np.uint64(x), step, k, across, inputs, of_x)
        for i in range(16):
            row, column = r + np.uint64(i // 4) * down, k + np.uint64(i % 4) * across
            known = not fresh and row < outputs and column < inputs
            sums[i] = arena[begin + row * inputs + column] if known else Real(0)
        single = of_g[0] + samples % FOUR
        last = of_g[0] + samples
        while of_g[0] < single:
            add_sample(flow, of_g, space, of_x, sums)
        while of_g[0] < last:
            for _ in range(4):  # unrolled
                add_sample(flow, of_g, space, of_x, sums)
        for i in range(16):
            row, column = r + np.uint64(i // 4) * down, k + np.uint64(i % 4) * across
            if row < outputs and column < inputs:
                arena[begin + row * inputs + column] = sums[i]
        job += jump
    weights = plan[op + INPUTS] * plan[op + OUTPUTS]
    for i in range(weights + worker, plan[op + COUNT], workers):
        place = partial_of(plan, op, chunk) + i
        total = Real(0) if fresh else arena[place]
        arena[place] = bias_sum(flow, g + (i - weights) * stride, 1, stride, count, total)


@kernel
def add_sample(flow: Numbers, g: Whole, space: Numbers, x: Whole, sums: Numbers) -> None:
    """Add the products of four gradients and four inputs to 16 sums; go to the next sample."""
    for i in range(16):
        sums[i] = cuda.fma(flow[g[i // 4]], space[x[i % 4]], sums[i])
    for i in range(4):
        g[i] += ONE
        x[i] += ONE


@kernel
def four_rows(
    start: Index, stride: Index, row: Index, apart: Index, rows: Index, found: Whole
) -> None:
    """Write the starts of rows `row`, `row` + `apart`, ...; rows after the last become the last."""
    for i in range(4):
        found[i] = start + smaller(row + np.uint64(i) * apart, rows - ONE) * stride


# ---- products of a whole batch ------------------------------------------------------------------


@kernel
def in_panel(i: Index, inner: Index) -> Any:
    """Return line and place of the first number of part i of a panel, and the steps to the next.

    i is less than LOADERS. Adjacent parts are adjacent in memory: in the same line if `inner`, the
    distance between the numbers of a line, is 1, else in adjacent lines.
    """
    if inner == ONE:
        return i // DEPTH, i % DEPTH, LOADERS // DEPTH, ZERO
    return i % TILE, i // TILE, ZERO, LOADERS // TILE


@kernel
def load_part(
    arena: Numbers, start: Index, along: Index, inner: Index, length: Index, width: Index,
    i: Index, numbers: Numbers,
) -> None:  # fmt: skip
    """Load part i of a panel with `length` lines of `width` numbers; nothing beyond is read.

    `along` is the distance between lines in memory; either `along` or `inner` is 1.
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
    """Store the numbers of part i, loaded by `load_part`, to panel[place, line]."""
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
    """Load and store the remaining parts of a panel if a block has fewer than LOADERS threads."""
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
    """out = A B + biases, for tiles `first`, `first` + `step`, ...; no biases if `biases` < 0.

    A tile is 64 x 64. The threads of a block load parts of both factors; then each thread computes
    4 x 4 numbers of the tile, whose rows and columns are a quarter of the tile apart.
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
    """Compute one tile of `matrix_product`; `row` is the index of its first row in the product.

    A block with fewer threads than the tile has parts computes the parts in several turns.
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
            # The next ones are loaded while the products of these are added up.
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
    """Add `width` products to each of sixteen sums, for rows from p and columns from q.

    The four rows in a panel are `down` apart, the four columns `across`. The compiler unrolls all
    loops over `sums` and keeps them in registers.
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
    """Return the initial value of the sums in row r of a tile: the bias, or 0."""
    if biases >= 0 and r < rows:
        return arena[np.uint64(biases) + first + r]
    return Real(0)


@kernel
def affine_forward_all(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, count: Index
) -> None:
    """z = W x + b for a whole batch, computed by all blocks."""
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
    """Compute the gradients of W for each chunk, a tile per block; then of the biases."""
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
    """Compute the gradient of the inputs of a whole batch, W transposed times g, by all blocks."""
    stride, inputs = plan[STRIDE], plan[op + INPUTS]
    matrix_product(
        arena, plan[VALUE] + plan[op + WEIGHT_ROW], 1, inputs,
        plan[FLOW] + plan[op + TARGET] * stride, stride, 1,
        plan[FLOW] + plan[op + SOURCE] * stride, stride, inputs, count, plan[op + OUTPUTS], -1,
        cuda.blockIdx.x, cuda.gridDim.x,
    )  # fmt: skip
