"""Kernels of whole training steps, many in one launch, for networks whose samples fit a block.

A step has four parts, between which all threads of the GPU synchronize. In the first, every block
takes chunks of the batch forward and backward, in tiles of WIDTH samples whose workspaces are in
the block's shared memory. Then the gradients of all chunks are added up; then the squares of all
gradients; at last the weights are updated.

Functions that are called once, and contain most of a kernel, are marked `inlined`: the compiler
would call a large one, with too few registers for it.
"""

from __future__ import annotations

import numpy as np

from scalarviz.engines.codegen.cuda_dispatch import Real, inlined, kernel, launched
from scalarviz.engines.cuda.api import cuda
from scalarviz.engines.cuda.draws import batch_size, draw
from scalarviz.engines.cuda.places import (
    CHUNKS,
    CLIP_NORM,
    COLUMNS,
    COUNT,
    ERRORS,
    FIRST_NEEDED,
    IN_ROOM,
    OPERATIONS,
    OVERFLOWED,
    PARTIAL_SIZE,
    PARTIALS,
    PLAN_FIELDS,
    ROOM_STRIDE,
    SPACE_ROWS,
    WIDTH,
    Exact,
    Index,
    Numbers,
    Whole,
)
from scalarviz.engines.cuda.products import fetch_weights
from scalarviz.engines.cuda.table import forward, input_gradient, parameter_gradient
from scalarviz.engines.cuda.teams import (
    chunk_start,
    errors,
    loss_gradient,
    mean_scale,
    sum_of_errors,
)
from scalarviz.engines.cuda.updates import (
    add_chunks,
    add_squares,
    begin_step,
    clear_gradients,
    find_bad,
    finish_loss,
    move,
    write_arguments,
)


@kernel
def place_of(i: Index) -> Index:
    """Return the index of operation i in `plan`."""
    return PLAN_FIELDS + i * COLUMNS


@inlined
def tile_forward(
    plan: Whole, arena: Numbers, scalars: Exact, room: Numbers, first: Index, n: Index
) -> None:
    """Run all operations forward on one tile of n samples, by the threads of a block."""
    for i in range(plan[OPERATIONS]):
        forward(
            plan, place_of(i), arena, scalars, room, 0, plan[ROOM_STRIDE], first, n,
            cuda.threadIdx.x, cuda.blockDim.x,
        )  # fmt: skip
        cuda.syncthreads()


@inlined
def tile_backward(
    plan: Whole, arena: Numbers, scalars: Exact, room: Numbers, chunk: Index, fresh: bool, n: Index
) -> None:
    """Run all operations backward on one tile, by the threads of a block."""
    worker, workers, stride = cuda.threadIdx.x, cuda.blockDim.x, plan[ROOM_STRIDE]
    flow = plan[SPACE_ROWS] * stride
    for i in range(plan[OPERATIONS] - 1, -1, -1):
        op = place_of(i)
        if plan[op + COUNT] > 0:
            parameter_gradient(
                plan, op, arena, chunk, fresh, room, 0, room, flow, stride, n, worker, workers
            )
        if i >= plan[FIRST_NEEDED]:
            input_gradient(
                plan, op, arena, scalars, room, 0, room, flow, stride, n, worker, workers
            )
            cuda.syncthreads()


@inlined
def take_chunk(
    plan: Whole, arena: Numbers, scalars: Exact, data: Numbers, room: Numbers, chunk: Index,
    samples: Index, k: Index,
) -> None:  # fmt: skip
    """Run forward, loss and backward of one chunk of a batch."""
    worker, workers, width = cuda.threadIdx.x, cuda.blockDim.x, plan[WIDTH]
    start, end = chunk_start(plan, chunk, samples), chunk_start(plan, chunk + 1, samples)
    stride = plan[ROOM_STRIDE]
    flow, total = plan[SPACE_ROWS] * stride, np.float64(0)
    for first in range(start, end, width):
        n = min(width, end - first)
        draw(plan, scalars, data, k, first, room, 0, stride, n, worker, workers)
        cuda.syncthreads()  # also after the weights were fetched
        tile_forward(plan, arena, scalars, room, first, n)
        errors(plan, room, 0, stride, n, worker, workers)
        loss_gradient(plan, scalars, samples, room, 0, room, flow, stride, n, worker, workers)
        cuda.syncthreads()
        if worker == 0:
            total = sum_of_errors(plan, room, 0, stride, n, total)
        tile_backward(plan, arena, scalars, room, chunk, first == start, n)
        cuda.syncthreads()
    if worker == 0:
        scalars[plan[ERRORS] + chunk] = total
    if start == end:
        place = plan[PARTIALS] + chunk * plan[PARTIAL_SIZE]
        for i in range(worker, plan[PARTIAL_SIZE], workers):
            arena[place + i] = Real(0)


@inlined
def take_samples(
    plan: Whole, arena: Numbers, scalars: Exact, data: Numbers, room: Numbers, k: Index
) -> None:
    """The first part of step k."""
    samples = batch_size(plan, scalars, k)
    if cuda.grid(1) == 0:
        begin_step(plan)
    for i in range(plan[OPERATIONS]):
        if plan[place_of(i) + IN_ROOM] >= 0 and cuda.blockIdx.x < plan[CHUNKS]:
            fetch_weights(plan, place_of(i), arena, room, cuda.threadIdx.x, cuda.blockDim.x)
    for chunk in range(cuda.blockIdx.x, plan[CHUNKS], cuda.gridDim.x):
        take_chunk(plan, arena, scalars, data, room, chunk, samples, k)


@inlined
def add_up(plan: Whole, arena: Numbers, scalars: Exact, k: Index) -> None:
    """The second part of step k: gradients from those of the chunks, and the loss beside them."""
    worker, workers = spread_worker(), cuda.gridsize(1)
    if cuda.blockIdx.x == cuda.gridDim.x - 1 and cuda.threadIdx.x == cuda.blockDim.x // 2:
        # A thread that often has no rows, in another warp than that which writes the arguments.
        finish_loss(plan, scalars, mean_scale(plan, scalars, batch_size(plan, scalars, k)), k)
    clear_gradients(plan, arena, worker, workers)
    for i in range(plan[OPERATIONS] - 1, -1, -1):
        if plan[place_of(i) + COUNT] > 0:
            add_chunks(plan, place_of(i), arena, worker, workers)
    find_bad(plan, arena, worker, workers)
    if cuda.grid(1) == workers - 1:
        write_arguments(plan, scalars)


@kernel
def spread_worker() -> Index:
    """Return the number of a thread in an order that takes 32 of each block, then the next 32.

    So a few thousand rows are spread over all multiprocessors, and neighbours read neighbours.
    """
    i, b = cuda.threadIdx.x, cuda.blockIdx.x
    if cuda.blockDim.x % 32 != 0:
        return cuda.grid(1)
    return (i // 32 * cuda.gridDim.x + b) * 32 + i % 32


@launched
def train(plan: Whole, arena: Numbers, scalars: Exact, data: Numbers, steps: Index) -> None:
    """Take `steps` steps. Launched cooperatively: all blocks run at the same time.

    What lives for a whole step takes registers of all operations: so the grid is asked for anew at
    each meeting, and no range counts how many steps are left.
    """
    room = cuda.shared.array(0, Real)
    k = 0
    while k < steps:
        take_samples(plan, arena, scalars, data, room, k)
        cuda.cg.this_grid().sync()
        add_up(plan, arena, scalars, k)
        cuda.cg.this_grid().sync()
        if scalars[CLIP_NORM] != np.inf:
            add_squares(plan, arena, scalars, cuda.grid(1), cuda.gridsize(1))
            cuda.cg.this_grid().sync()
        if not move(plan, arena, scalars, k):
            break
        cuda.cg.this_grid().sync()
        if plan[OVERFLOWED] <= k:
            break
        k += 1
