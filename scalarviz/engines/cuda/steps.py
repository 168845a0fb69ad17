"""Whole training steps on a GPU, many in one launch, for networks whose samples fit a block.

A step has four parts, between which all threads of the GPU must have met. In the first, every
block takes chunks of the batch forward and backward, in tiles of WIDTH samples whose workspaces lie
in the block's own shared memory. Then the gradients of all chunks are added up; the squares of all
gradients; and at last the weights move.

Where all threads can meet, `train` does many steps. Each part is a kernel by itself, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.engines.codegen.cuda_dispatch import Real, kernel, launched
from scalarviz.engines.cuda.api import cuda
from scalarviz.engines.cuda.draws import batch_size, draw
from scalarviz.engines.cuda.plan import (
    BAD,
    CHUNKS,
    CLIP_NORM,
    COLUMNS,
    COUNT,
    ERRORS,
    ERRORS_ROW,
    FIRST_NEEDED,
    OPERATIONS,
    OVERFLOWED,
    PARTIAL_SIZE,
    PARTIALS,
    PLAN_FIELDS,
    SPACE_ROWS,
    WIDTH,
)
from scalarviz.engines.cuda.table import forward, input_gradient, parameter_gradient
from scalarviz.engines.cuda.teams import chunk_start, errors, loss_gradient, mean_scale
from scalarviz.engines.cuda.updates import (
    add_chunks,
    add_squares,
    begin_step,
    clear_gradients,
    find_bad,
    finish_loss,
    move,
    note_state,
)

Numbers = Any
Whole = Any
Exact = Any
Index = Any


@kernel
def place_of(i: Index) -> Index:
    """Where operation i stands in `whole`."""
    return PLAN_FIELDS + i * COLUMNS


@kernel
def tile_forward(
    whole: Whole, reals: Numbers, exact: Exact, room: Numbers, first: Index, n: Index
) -> None:
    """All operations on one tile of n samples, by the threads of a block."""
    for i in range(whole[OPERATIONS]):
        forward(
            whole, place_of(i), reals, exact, room, 0, whole[WIDTH], first, n, cuda.threadIdx.x,
            cuda.blockDim.x,
        )  # fmt: skip
        cuda.syncthreads()


@kernel
def tile_backward(
    whole: Whole, reals: Numbers, exact: Exact, room: Numbers, chunk: Index, fresh: bool, n: Index
) -> None:
    """All operations backward on one tile, by the threads of a block."""
    worker, workers, width = cuda.threadIdx.x, cuda.blockDim.x, whole[WIDTH]
    flow = whole[SPACE_ROWS] * width
    for i in range(whole[OPERATIONS] - 1, -1, -1):
        op = place_of(i)
        if whole[op + COUNT] > 0:
            parameter_gradient(
                whole, op, reals, chunk, fresh, room, 0, room, flow, width, n, worker, workers
            )
        if i >= whole[FIRST_NEEDED]:
            input_gradient(whole, op, reals, exact, room, 0, room, flow, width, n, worker, workers)
            cuda.syncthreads()


@kernel
def take_chunk(
    whole: Whole, reals: Numbers, exact: Exact, data: Numbers, room: Numbers, chunk: Index,
    samples: Index, k: Index,
) -> None:  # fmt: skip
    """Forward, loss and backward of one chunk of a step's batch."""
    worker, workers, width = cuda.threadIdx.x, cuda.blockDim.x, whole[WIDTH]
    start, end = chunk_start(whole, chunk, samples), chunk_start(whole, chunk + 1, samples)
    flow, total = whole[SPACE_ROWS] * width, 0.0
    for first in range(start, end, width):
        n = min(width, end - first)
        draw(whole, exact, data, k, first, room, 0, width, n, worker, workers)
        cuda.syncthreads()
        tile_forward(whole, reals, exact, room, first, n)
        errors(whole, room, 0, width, n, worker, workers)
        loss_gradient(whole, exact, samples, room, 0, room, flow, width, n, worker, workers)
        cuda.syncthreads()
        if worker == 0:
            for t in range(n):
                total += room[whole[ERRORS_ROW] * width + t]
        tile_backward(whole, reals, exact, room, chunk, first == start, n)
        cuda.syncthreads()
    if worker == 0:
        exact[whole[ERRORS] + chunk] = total
    if start == end:
        place = whole[PARTIALS] + chunk * whole[PARTIAL_SIZE]
        for i in range(worker, whole[PARTIAL_SIZE], workers):
            reals[place + i] = Real(0)


@kernel
def take_samples(
    whole: Whole, reals: Numbers, exact: Exact, data: Numbers, room: Numbers, k: Index
) -> None:
    """The first part of the k-th step."""
    samples = batch_size(whole, exact, k)
    if cuda.grid(1) == 0:
        begin_step(whole)
    note_state(whole, exact, cuda.grid(1), cuda.gridsize(1))
    for chunk in range(cuda.blockIdx.x, whole[CHUNKS], cuda.gridDim.x):
        take_chunk(whole, reals, exact, data, room, chunk, samples, k)


@kernel
def add_up(whole: Whole, reals: Numbers, exact: Exact, k: Index) -> None:
    """The second part: the gradients and the loss, from what the chunks found."""
    worker, workers = cuda.grid(1), cuda.gridsize(1)
    clear_gradients(whole, reals, worker, workers)
    for i in range(whole[OPERATIONS] - 1, -1, -1):
        if whole[place_of(i) + COUNT] > 0:
            add_chunks(whole, place_of(i), reals, exact, worker, workers)
    find_bad(whole, reals, worker, workers)
    if worker == 0:
        finish_loss(whole, exact, mean_scale(whole, exact, batch_size(whole, exact, k)), k)


@launched
def train(whole: Whole, reals: Numbers, exact: Exact, data: Numbers, steps: Index) -> None:
    """So many steps. All blocks must run at the same time: it is launched cooperatively."""
    room = cuda.shared.array(0, Real)
    everybody = cuda.cg.this_grid()
    for k in range(steps):
        take_samples(whole, reals, exact, data, room, k)
        everybody.sync()
        add_up(whole, reals, exact, k)
        everybody.sync()
        if exact[CLIP_NORM] != np.inf:
            add_squares(whole, reals, exact, cuda.grid(1), cuda.gridsize(1))
            everybody.sync()
        if not move(whole, reals, exact, k):
            break
        everybody.sync()
        if whole[OVERFLOWED] <= k:
            break


@launched
def samples_alone(whole: Whole, reals: Numbers, exact: Exact, data: Numbers, k: Index) -> None:
    """The first part of the k-th step, by itself."""
    room = cuda.shared.array(0, Real)
    if whole[BAD] < 0:
        take_samples(whole, reals, exact, data, room, k)


@launched
def sums_alone(whole: Whole, reals: Numbers, exact: Exact, k: Index) -> None:
    """The second part of the k-th step, by itself."""
    if whole[BAD] < 0:
        add_up(whole, reals, exact, k)


@launched
def squares_alone(whole: Whole, reals: Numbers, exact: Exact) -> None:
    """The third part of a step, by itself."""
    if whole[BAD] < 0:
        add_squares(whole, reals, exact, cuda.grid(1), cuda.gridsize(1))
