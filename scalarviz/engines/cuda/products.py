"""Kernels of affine operations: by a team of threads, or as matrix products of a whole batch.

A matrix product is cut into tiles: the threads of a block load a tile of each factor into shared
memory, then all of them use it. Each number is the same sum, in the same order, as by a team.
"""

from __future__ import annotations

from typing import Any

from scalarviz.engines.codegen.cuda_dispatch import Real, kernel
from scalarviz.engines.cuda.api import cuda
from scalarviz.engines.cuda.places import (
    BIAS_ROW,
    CHUNKS,
    COUNT,
    FLOW,
    HAS_BIASES,
    INPUTS,
    OUTPUTS,
    SOURCE,
    SPACE,
    STRIDE,
    TARGET,
    TILE,
    TILE_SIZE,
    WEIGHT_ROW,
    WEIGHTS,
)
from scalarviz.engines.cuda.teams import bias_sum, chunk_start, kept, partial_of

Numbers = Any
Whole = Any
Exact = Any
Index = Any


@kernel
def affine_forward(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, space: Numbers, base: Index,
    stride: Index, first: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """z = W x + b."""
    x, z = base + plan[op + SOURCE] * stride, base + plan[op + TARGET] * stride
    inputs, biased = plan[op + INPUTS], plan[op + HAS_BIASES] != 0
    weights = plan[WEIGHTS] + plan[op + WEIGHT_ROW]
    biases = plan[WEIGHTS] + plan[op + BIAS_ROW]
    for i in range(worker, plan[op + OUTPUTS] * count, workers):
        r = i // count
        n = i - r * count
        total = arena[biases + r] if biased else Real(0)
        for k in range(inputs):
            w = arena[weights + r * inputs + k]
            total = cuda.fma(w, space[x + k * stride + n], total)
        space[z + r * stride + n] = kept(plan, total)


@kernel
def affine_parameters(
    plan: Whole, op: Index, arena: Numbers, chunk: Index, fresh: bool, space: Numbers,
    base: Index, flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index,
    workers: Index,
) -> None:  # fmt: skip
    """Gradients of W and b: outer products, summed over the samples."""
    x, g = base + plan[op + SOURCE] * stride, flow_base + plan[op + TARGET] * stride
    inputs, begin = plan[op + INPUTS], partial_of(plan, op, chunk)
    weights = inputs * plan[op + OUTPUTS]
    for i in range(worker, plan[op + COUNT], workers):
        total = Real(0) if fresh else arena[begin + i]
        if i >= weights:
            total = bias_sum(flow, g + (i - weights) * stride, 1, stride, count, total)
        else:
            r = i // inputs
            k = i - r * inputs
            for n in range(count):
                total = cuda.fma(flow[g + r * stride + n], space[x + k * stride + n], total)
        arena[begin + i] = total


@kernel
def affine_inputs(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, space: Numbers, base: Index,
    flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """Gradient of the inputs: W transposed, times g."""
    h, g = flow_base + plan[op + SOURCE] * stride, flow_base + plan[op + TARGET] * stride
    inputs, outputs = plan[op + INPUTS], plan[op + OUTPUTS]
    weights = plan[WEIGHTS] + plan[op + WEIGHT_ROW]
    for i in range(worker, inputs * count, workers):
        k = i // count
        n = i - k * count
        total = Real(0)
        for r in range(outputs):
            w = arena[weights + r * inputs + k]
            total = cuda.fma(w, flow[g + r * stride + n], total)
        flow[h + k * stride + n] = kept(plan, total)


# ---- a whole batch ------------------------------------------------------------------------------


@kernel
def fetch(
    arena: Numbers, start: Index, down: Index, across: Index, rows: Index, columns: Index,
    part: Numbers,
) -> None:  # fmt: skip
    """Load a tile of at most TILE x TILE numbers; `down` and `across` are the steps in memory."""
    for i in range(cuda.threadIdx.x, TILE_SIZE, cuda.blockDim.x):
        r, c = i // TILE, i % TILE
        if r < rows and c < columns:
            part[i] = arena[start + r * down + c * across]


@kernel
def multiply(left: Numbers, right: Numbers, inner: Index, sums: Numbers) -> None:
    """sums += left times right, the first `inner` numbers of each; all three are tiles."""
    for i in range(cuda.threadIdx.x, TILE_SIZE, cuda.blockDim.x):
        r, c = i // TILE, i % TILE
        total = sums[i]
        for k in range(inner):
            total = cuda.fma(left[r * TILE + k], right[k * TILE + c], total)
        sums[i] = total


@kernel
def matrix_product(
    plan: Whole, arena: Numbers, a: Index, a_down: Index, a_across: Index, b: Index,
    b_down: Index, b_across: Index, out: Index, out_down: Index, rows: Index, columns: Index,
    inner: Index, biases: Index, rounded: bool, first: Index, step: Index,
) -> None:  # fmt: skip
    """out = A B + biases, tiles `first`, `first` + `step`, ...; no biases if `biases` < 0."""
    left = cuda.shared.array(TILE_SIZE, Real)
    right = cuda.shared.array(TILE_SIZE, Real)
    sums = cuda.shared.array(TILE_SIZE, Real)
    wide = (columns + TILE - 1) // TILE
    for tile in range(first, (rows + TILE - 1) // TILE * wide, step):
        r0, c0 = tile // wide * TILE, tile % wide * TILE
        for i in range(cuda.threadIdx.x, TILE_SIZE, cuda.blockDim.x):
            sums[i] = Real(0)
            if biases >= 0 and r0 + i // TILE < rows:
                sums[i] = arena[biases + r0 + i // TILE]
        for k in range(0, inner, TILE):
            width = min(TILE, inner - k)
            fetch(arena, a + r0 * a_down + k * a_across, a_down, a_across, rows - r0, width, left)
            fetch(
                arena, b + k * b_down + c0 * b_across, b_down, b_across, width, columns - c0, right
            )
            cuda.syncthreads()
            multiply(left, right, width, sums)
            cuda.syncthreads()
        for i in range(cuda.threadIdx.x, TILE_SIZE, cuda.blockDim.x):
            r, c = r0 + i // TILE, c0 + i % TILE
            if r < rows and c < columns:
                arena[out + r * out_down + c] = kept(plan, sums[i]) if rounded else sums[i]
        cuda.syncthreads()


@kernel
def affine_forward_all(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, count: Index
) -> None:
    """z = W x + b of a whole batch, by all blocks."""
    stride, inputs, biases = plan[STRIDE], plan[op + INPUTS], -1
    if plan[op + HAS_BIASES] != 0:
        biases = plan[WEIGHTS] + plan[op + BIAS_ROW]
    matrix_product(
        plan, arena, plan[WEIGHTS] + plan[op + WEIGHT_ROW], inputs, 1,
        plan[SPACE] + plan[op + SOURCE] * stride, stride, 1,
        plan[SPACE] + plan[op + TARGET] * stride, stride, plan[op + OUTPUTS], count, inputs,
        biases, True, cuda.blockIdx.x, cuda.gridDim.x,
    )  # fmt: skip


@kernel
def affine_parameters_all(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, count: Index
) -> None:
    """Gradients of W for each chunk, a tile a block; then those of the biases, one a thread."""
    stride, inputs, outputs = plan[STRIDE], plan[op + INPUTS], plan[op + OUTPUTS]
    x, g = plan[SPACE] + plan[op + SOURCE] * stride, plan[FLOW] + plan[op + TARGET] * stride
    tiles = (inputs + TILE - 1) // TILE * ((outputs + TILE - 1) // TILE)
    for job in range(cuda.blockIdx.x, plan[CHUNKS] * tiles, cuda.gridDim.x):
        chunk = job // tiles
        first = chunk_start(plan, chunk, count)
        n = chunk_start(plan, chunk + 1, count) - first
        matrix_product(
            plan, arena, g + first, stride, 1, x + first, 1, stride, partial_of(plan, op, chunk),
            inputs, outputs, inputs, n, -1, False, job - chunk * tiles, tiles,
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
        plan, arena, plan[WEIGHTS] + plan[op + WEIGHT_ROW], 1, inputs,
        plan[FLOW] + plan[op + TARGET] * stride, stride, 1,
        plan[FLOW] + plan[op + SOURCE] * stride, stride, inputs, count, plan[op + OUTPUTS], -1,
        True, cuda.blockIdx.x, cuda.gridDim.x,
    )  # fmt: skip
