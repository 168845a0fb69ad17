"""The CUDA kernels that do one moment of a step on a whole batch, for networks of any width.

Each is launched with any number of blocks and threads. The workspaces of the batch lie in `reals`.
`k` counts the steps of one order; once a gradient was refused, all that follows does nothing.

A matrix product is cut into tiles: the threads of a block fetch a tile of each factor into shared
memory and then all of them use it. Each number is still the sum that `cuda_samples` takes, in the
same order.
"""

from __future__ import annotations

from typing import Any

from scalarviz.engines.cuda_api import cuda
from scalarviz.engines.cuda_dispatch import Real, kernel, launched
from scalarviz.engines.cuda_draws import batch_size, draw
from scalarviz.engines.cuda_plan import (
    AFFINE,
    BAD,
    BIAS_ROW,
    CHUNKS,
    ERRORS,
    FLOW,
    HALF,
    HAS_BIASES,
    INPUTS,
    KIND,
    OUT,
    OUT_SIZE,
    OUTPUTS,
    ROWS,
    SOURCE,
    SPACE,
    STRIDE,
    TARGET,
    TILE,
    TILE_SIZE,
    VALUE,
    WEIGHT_ROW,
    WEIGHTS,
)
from scalarviz.engines.cuda_samples import (
    chunk_start,
    error_of,
    forward,
    input_gradient,
    kept,
    loss_gradient,
    mean_scale,
    parameter_gradient,
    partial_of,
)
from scalarviz.engines.cuda_updates import (
    add_chunks,
    add_squares,
    begin_step,
    clear_gradients,
    find_bad,
    finish_loss,
    move,
)

Numbers = Any
Whole = Any
Exact = Any
Index = Any


@kernel
def fetch(
    reals: Numbers, start: Index, down: Index, across: Index, rows: Index, columns: Index,
    part: Numbers,
) -> None:  # fmt: skip
    """A tile of at most TILE by TILE numbers, into shared memory; `down` and `across` are steps."""
    for i in range(cuda.threadIdx.x, TILE_SIZE, cuda.blockDim.x):
        r, c = i // TILE, i % TILE
        if r < rows and c < columns:
            part[i] = reals[start + r * down + c * across]


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
    whole: Whole, reals: Numbers, a: Index, a_down: Index, a_across: Index, b: Index,
    b_down: Index, b_across: Index, out: Index, out_down: Index, rows: Index, columns: Index,
    inner: Index, biases: Index, rounded: bool, first: Index, step: Index,
) -> None:  # fmt: skip
    """out = A B + biases, tiles `first`, `first` + `step`, ...; no biases if they are below 0."""
    left = cuda.shared.array(TILE_SIZE, Real)
    right = cuda.shared.array(TILE_SIZE, Real)
    sums = cuda.shared.array(TILE_SIZE, Real)
    wide = (columns + TILE - 1) // TILE
    for tile in range(first, (rows + TILE - 1) // TILE * wide, step):
        r0, c0 = tile // wide * TILE, tile % wide * TILE
        for i in range(cuda.threadIdx.x, TILE_SIZE, cuda.blockDim.x):
            sums[i] = Real(0)
            if biases >= 0 and r0 + i // TILE < rows:
                sums[i] = reals[biases + r0 + i // TILE]
        for k in range(0, inner, TILE):
            width = min(TILE, inner - k)
            fetch(reals, a + r0 * a_down + k * a_across, a_down, a_across, rows - r0, width, left)
            fetch(
                reals, b + k * b_down + c0 * b_across, b_down, b_across, width, columns - c0, right
            )
            cuda.syncthreads()
            multiply(left, right, width, sums)
            cuda.syncthreads()
        for i in range(cuda.threadIdx.x, TILE_SIZE, cuda.blockDim.x):
            r, c = r0 + i // TILE, c0 + i % TILE
            if r < rows and c < columns:
                reals[out + r * out_down + c] = kept(whole, sums[i]) if rounded else sums[i]
        cuda.syncthreads()


@launched
def draw_batch(whole: Whole, reals: Numbers, exact: Exact, data: Numbers, k: Index) -> None:
    """Fill in the samples of a step."""
    if whole[BAD] >= 0:
        return
    worker, count = cuda.grid(1), batch_size(whole, exact, k)
    if worker == 0:
        begin_step(whole)
    draw(
        whole, exact, data, k, 0, reals, whole[SPACE], whole[STRIDE], count, worker,
        cuda.gridsize(1),
    )  # fmt: skip


@launched
def forward_all(whole: Whole, reals: Numbers, exact: Exact, k: Index, op: Index) -> None:
    """One operation on all samples."""
    if whole[BAD] >= 0:
        return
    count, stride, space = batch_size(whole, exact, k), whole[STRIDE], whole[SPACE]
    if whole[op + KIND] != AFFINE:
        forward(whole, op, reals, reals, space, stride, count, cuda.grid(1), cuda.gridsize(1))
        return
    inputs, biases = whole[op + INPUTS], -1
    if whole[op + HAS_BIASES] != 0:
        biases = whole[WEIGHTS] + whole[op + BIAS_ROW]
    matrix_product(
        whole, reals, whole[WEIGHTS] + whole[op + WEIGHT_ROW], inputs, 1,
        space + whole[op + SOURCE] * stride, stride, 1, space + whole[op + TARGET] * stride, stride,
        whole[op + OUTPUTS], count, inputs, biases, True, cuda.blockIdx.x, cuda.gridDim.x,
    )  # fmt: skip


@launched
def sum_errors(whole: Whole, reals: Numbers, exact: Exact, k: Index) -> None:
    """The sum of the errors of every chunk, a chunk a thread."""
    if whole[BAD] >= 0:
        return
    count = batch_size(whole, exact, k)
    for chunk in range(cuda.grid(1), whole[CHUNKS], cuda.gridsize(1)):
        total = 0.0
        for n in range(chunk_start(whole, chunk, count), chunk_start(whole, chunk + 1, count)):
            total += error_of(whole, reals, whole[SPACE], whole[STRIDE], n)
        exact[ERRORS + chunk] = total


@launched
def loss_all(whole: Whole, exact: Exact, k: Index) -> None:
    """The loss of a step; for one thread."""
    if whole[BAD] < 0 and cuda.grid(1) == 0:
        finish_loss(whole, exact, mean_scale(whole, exact, batch_size(whole, exact, k)), k)


@launched
def loss_gradient_all(whole: Whole, reals: Numbers, exact: Exact, k: Index) -> None:
    """The gradient of the loss by the outputs of all samples."""
    if whole[BAD] >= 0:
        return
    count = batch_size(whole, exact, k)
    loss_gradient(
        whole, exact, count, reals, whole[SPACE], reals, whole[FLOW], whole[STRIDE], count,
        cuda.grid(1), cuda.gridsize(1),
    )  # fmt: skip


@launched
def keep_upstream(whole: Whole, reals: Numbers) -> None:
    """Round the gradients by the outputs, which came from outside, as they are to be kept."""
    first = whole[FLOW] + whole[OUT] * whole[STRIDE]
    for i in range(cuda.grid(1), whole[OUT_SIZE] * whole[STRIDE], cuda.gridsize(1)):
        reals[first + i] = kept(whole, reals[first + i])


@launched
def parameter_gradients(whole: Whole, reals: Numbers, exact: Exact, k: Index, op: Index) -> None:
    """What every chunk finds for the parameters of an operation, a chunk a block."""
    if whole[BAD] >= 0:
        return
    count, stride = batch_size(whole, exact, k), whole[STRIDE]
    inputs, outputs, lowest = whole[op + INPUTS], whole[op + OUTPUTS], 0
    if whole[op + KIND] == AFFINE:
        lowest = inputs * outputs
    tiles = (inputs + TILE - 1) // TILE * ((outputs + TILE - 1) // TILE)
    for job in range(cuda.blockIdx.x, whole[CHUNKS] * tiles, cuda.gridDim.x):
        chunk, tile = job // tiles, job % tiles
        first = chunk_start(whole, chunk, count)
        n = chunk_start(whole, chunk + 1, count) - first
        space, flow = whole[SPACE] + first, whole[FLOW] + first
        if lowest > 0:
            matrix_product(
                whole, reals, flow + whole[op + TARGET] * stride, stride, 1,
                space + whole[op + SOURCE] * stride, 1, stride, partial_of(whole, op, chunk),
                inputs, outputs, inputs, n, -1, False, tile, tiles,
            )  # fmt: skip
        if tile == 0:
            parameter_gradient(
                whole, op, reals, chunk, True, reals, space, reals, flow, stride, n, lowest,
                cuda.threadIdx.x, cuda.blockDim.x,
            )  # fmt: skip


@launched
def add_all(whole: Whole, reals: Numbers, exact: Exact, op: Index) -> None:
    """Add what the chunks found for an operation to the gradients of the bank."""
    if whole[BAD] < 0:
        add_chunks(whole, op, reals, exact, cuda.grid(1), cuda.gridsize(1))


@launched
def input_gradient_all(whole: Whole, reals: Numbers, exact: Exact, k: Index, op: Index) -> None:
    """The gradient by what an operation read, of all samples."""
    if whole[BAD] >= 0:
        return
    count, stride = batch_size(whole, exact, k), whole[STRIDE]
    space, flow, inputs = whole[SPACE], whole[FLOW], whole[op + INPUTS]
    if whole[op + KIND] != AFFINE:
        input_gradient(
            whole, op, reals, reals, space, reals, flow, stride, count, cuda.grid(1),
            cuda.gridsize(1),
        )  # fmt: skip
        return
    matrix_product(
        whole, reals, whole[WEIGHTS] + whole[op + WEIGHT_ROW], 1, inputs,
        flow + whole[op + TARGET] * stride, stride, 1, flow + whole[op + SOURCE] * stride, stride,
        inputs, count, whole[op + OUTPUTS], -1, True, cuda.blockIdx.x, cuda.gridDim.x,
    )  # fmt: skip


@launched
def clear_all(whole: Whole, reals: Numbers) -> None:
    """zero_grad."""
    if whole[BAD] < 0:
        clear_gradients(whole, reals, cuda.grid(1), cuda.gridsize(1))


@launched
def round_weights(whole: Whole, reals: Numbers) -> None:
    """The weights as products use them, from those of the bank."""
    for row in range(cuda.grid(1), whole[ROWS] * (whole[HALF] != 0), cuda.gridsize(1)):
        reals[whole[WEIGHTS] + row] = kept(whole, reals[whole[VALUE] + row])


@launched
def look_over(whole: Whole, reals: Numbers, exact: Exact) -> None:
    """What the optimizer must know of all gradients: a bad one, and the sum of their squares."""
    if whole[BAD] < 0:
        find_bad(whole, reals, cuda.grid(1), cuda.gridsize(1))
        add_squares(whole, reals, exact, cuda.grid(1), cuda.gridsize(1))


@launched
def move_all(whole: Whole, reals: Numbers, exact: Exact, k: Index) -> None:
    """The optimizer's part of a step."""
    if whole[BAD] < 0:
        move(whole, reals, exact, k)
