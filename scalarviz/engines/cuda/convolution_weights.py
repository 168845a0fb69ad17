"""Gradients of the weights of a convolution as products of matrices, for a whole batch.

A row is a convolution kernel, a column a tap of its window, or the bias; what is summed over are
the windows of some samples. The matrices are not in memory: the threads of a block load parts of
both into shared memory, where the inner loop of `matrix_products` adds up 4 x 4 numbers a thread.
The order of a sum is that of `convolution`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.engines.codegen.cuda_dispatch import Real, kernel
from scalarviz.engines.cuda.api import cuda
from scalarviz.engines.cuda.convolution import geometry
from scalarviz.engines.cuda.matrix_products import add_products
from scalarviz.engines.cuda.places import (
    BIAS_ROW,
    CHUNKS,
    DOWN,
    EACH,
    FLOW,
    FOUR,
    HAS_BIASES,
    MATRIX_TILE,
    PANEL,
    SOURCE,
    SPACE,
    STRIDE,
    TARGET,
    WEIGHT_ROW,
    Exact,
    Index,
    Numbers,
    Whole,
)
from scalarviz.engines.cuda.products import quarter
from scalarviz.engines.cuda.teams import chunk_start, partial_of, row_of

TABLE = 3 * MATRIX_TILE  # of the taps of a tile: places, lines and columns in the first window


@kernel
def convolution_parameters(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, count: Index
) -> None:
    """Gradients of weights and biases for each chunk, a tile of 64 x 64 a block."""
    table, job = cuda.shared.array(TABLE, np.int64), cuda.blockIdx.x
    while True:
        # Computed anew for each tile: they take no registers while products are added up.
        (
            groups, channels, kernels, height, width, tall, broad, apart_y, apart_x, padding, gap_y,
            gap_x, high, wide,
        ) = geometry(plan, op, arena)  # fmt: skip
        taps = channels * tall * broad
        columns = taps + (1 if plan[op + HAS_BIASES] != 0 else 0)
        across = (columns + MATRIX_TILE - 1) // MATRIX_TILE
        share = across * ((kernels + MATRIX_TILE - 1) // MATRIX_TILE)
        part = np.int64(row_of(job, share))
        down = np.int64(row_of(job - part * share, across))
        first, o = (job - part * share - down * across) * MATRIX_TILE, down * MATRIX_TILE
        chunk = np.int64(row_of(part, groups))
        if chunk >= plan[CHUNKS]:
            break
        group, here = part - chunk * groups, min(columns - first, MATRIX_TILE)
        for i in range(cuda.threadIdx.x, here, cuda.blockDim.x):
            channel = np.int64(row_of(first + i, tall * broad))
            line = np.int64(row_of(first + i, broad)) - channel * tall
            column = (first + i - (channel * tall + line) * broad) * gap_x - padding
            line = line * gap_y - padding
            channel += group * channels
            table[i] = ((channel * height + line) * width + column) * plan[STRIDE]
            table[MATRIX_TILE + i] = line
            table[2 * MATRIX_TILE + i] = column
        cuda.syncthreads()
        part_of_gradients(
            plan, op, arena, table, chunk, count, group * kernels + o, first, here,
            min(kernels - o, MATRIX_TILE), taps, height, width, apart_y, apart_x, high, wide,
        )  # fmt: skip
        job += cuda.gridDim.x


@kernel
def part_of_gradients(
    plan: Whole, op: Index, arena: Numbers, table: Whole, chunk: Index, count: Index, o: Index,
    first: Index, columns: Index, rows: Index, taps: Index, height: Index, width: Index,
    apart_y: Index, apart_x: Index, high: Index, wide: Index,
) -> None:  # fmt: skip
    """One tile, for a chunk: `columns` taps from `first` on, of `rows` kernels from o on.

    A block with fewer threads than the tile has parts takes several turns.
    """
    left = cuda.shared.array(PANEL, Real)
    right = cuda.shared.array(PANEL, Real)
    stride, pixels, step = plan[STRIDE], plan[op + EACH], apart_x * plan[STRIDE]
    x0 = plan[SPACE] + plan[op + SOURCE] * stride
    g0 = plan[FLOW] + (plan[op + TARGET] + o * pixels) * stride
    start, end = chunk_start(plan, chunk, count), chunk_start(plan, chunk + 1, count)
    begin = partial_of(plan, op, chunk)
    down, across = quarter(np.uint64(rows)), quarter(np.uint64(columns))
    parts, sums = np.int64(down * across), cuda.local.array(16, Real)
    for turn in range(0, parts, cuda.blockDim.x):
        job = turn + cuda.threadIdx.x
        r = np.int64(row_of(job, across)) if job < parts else 0
        c = job - r * np.int64(across) if job < parts else 0
        for i in range(16):
            sums[i] = Real(0)
        for n in range(start, end, 4):
            for line in range(high):
                g, x = g0 + line * wide * stride + n, x0 + line * apart_y * width * stride + n
                for place in range(0, wide, 4):
                    windows = min(wide - place, 4)
                    fetch_gradients(
                        arena, g + place * stride, pixels * stride, stride, rows, windows, end - n,
                        left,
                    )  # fmt: skip
                    fetch_inputs(
                        arena, x + place * step, step, table, columns, taps - first,
                        line * apart_y, place * apart_x, apart_x, windows, end - n, height, width,
                        right,
                    )  # fmt: skip
                    cuda.syncthreads()
                    add_products(
                        left, right, np.uint64(r), np.uint64(c), np.uint64(windows * 4), down,
                        across, sums,
                    )  # fmt: skip
                    cuda.syncthreads()
        if job < parts:
            for i in range(4):
                for j in range(4):
                    tap = c + j * np.int64(across)
                    if r < rows and tap < columns:
                        write_gradient(
                            plan, op, arena, begin, taps, o + r, first + tap, sums[4 * i + j]
                        )
                r += np.int64(down)


@kernel
def fetch_gradients(
    arena: Numbers, g: Index, apart: Index, stride: Index, rows: Index, windows: Index,
    samples: Index, panel: Numbers,
) -> None:  # fmt: skip
    """Load gradients of some windows of four samples to panel[inner, row]; 0 for missing samples.

    That of the first window and kernel is at g; those of the next kernel are `apart` after it.
    """
    for i in range(cuda.threadIdx.x, rows << 2, cuda.blockDim.x):
        row, s = i >> 2, i & 3
        at, to = np.uint64(g + row * apart + s), np.uint64(s) * DOWN + np.uint64(row)
        for _ in range(windows):
            panel[to] = arena[at] if s < samples else Real(0)
            at += np.uint64(stride)
            to += FOUR * DOWN


@kernel
def fetch_inputs(
    arena: Numbers, x: Index, step: Index, table: Whole, columns: Index, bias: Index, line: Index,
    place: Index, apart: Index, windows: Index, samples: Index, height: Index, width: Index,
    panel: Numbers,
) -> None:  # fmt: skip
    """Load what taps read, in neighbouring windows of four samples, to panel[inner, column].

    The first window begins at line and column `line` and `place`, and is at x in memory; the next
    is `step` after it. Beyond the picture there is 0, and 1 in the column `bias`.
    """
    for i in range(cuda.threadIdx.x, columns << 2, cuda.blockDim.x):
        column, s = i >> 2, i & 3
        at, to = np.uint64(x + table[column] + s), np.uint64(s) * DOWN + np.uint64(column)
        # A negative number is a large one without its sign.
        down = np.uint64(line + table[MATRIX_TILE + column])
        across = np.uint64(place + table[2 * MATRIX_TILE + column])
        there = s < samples and column != bias and down < np.uint64(height)
        beyond = Real(1) if s < samples and column == bias else Real(0)
        for _ in range(windows):
            panel[to] = arena[at] if there and across < np.uint64(width) else beyond
            at += np.uint64(step)
            across += np.uint64(apart)
            to += FOUR * DOWN


@kernel
def write_gradient(
    plan: Whole, op: Index, arena: Numbers, begin: Index, taps: Index, o: Index, tap: Index,
    total: Any,
) -> None:  # fmt: skip
    """Write the gradient of a tap, or, for the one after the last, that of the bias."""
    biases = plan[op + BIAS_ROW] - plan[op + WEIGHT_ROW]
    arena[begin + (o * taps + tap if tap < taps else biases + o)] = total
