"""Kernels for one moment of a step on a whole batch, for networks of any width.

Each is launched with any number of blocks and threads. The workspaces of the batch are in `arena`.
`clear_all` comes first in a step: it sets plan[STEP], which the others read. After a refused
gradient all kernels do nothing, and after an overflow no number of the bank changes.
"""

from __future__ import annotations

import numpy as np

from scalarviz.engines.codegen.cuda_dispatch import chosen, launched
from scalarviz.engines.cuda.api import cuda
from scalarviz.engines.cuda.batch_norm import gather_batch_norm, gather_batch_norm_back
from scalarviz.engines.cuda.draws import batch_size, draw
from scalarviz.engines.cuda.places import (
    BAD,
    CHUNKS,
    DONE,
    ERRORS,
    FLOW,
    KIND,
    OVERFLOWED,
    SPACE,
    STEP,
    STRIDE,
    Exact,
    Index,
    Numbers,
    Whole,
)
from scalarviz.engines.cuda.table import FORWARD, INPUT, PARAMETERS, WHOLE_BATCH
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
    note_state,
    write_arguments,
)


@launched
def draw_batch(plan: Whole, arena: Numbers, scalars: Exact, data: Numbers) -> None:
    """Draw the samples of a step, and save the state before it."""
    if plan[BAD] >= 0:
        return
    worker, k = cuda.grid(1), plan[STEP]
    count = batch_size(plan, scalars, k)
    if worker == 0:
        begin_step(plan)
    note_state(plan, scalars, worker, cuda.gridsize(1))
    draw(
        plan, scalars, data, k, 0, arena, plan[SPACE], plan[STRIDE], count, worker,
        cuda.gridsize(1),
    )  # fmt: skip


@launched
def gather_all(plan: Whole, arena: Numbers, scalars: Exact, op: Index) -> None:
    """Compute statistics of all samples that an operation needs for its forward."""
    if plan[BAD] < 0 and plan[OVERFLOWED] >= plan[STEP]:
        gather_batch_norm(plan, op, arena, scalars, batch_size(plan, scalars, plan[STEP]))


@launched
def forward_all(plan: Whole, arena: Numbers, scalars: Exact, op: Index) -> None:
    """Run the forward of one operation on all samples."""
    run = chosen(WHOLE_BATCH, plan[op + KIND])[FORWARD]
    if plan[BAD] < 0:
        run(plan, op, arena, scalars, batch_size(plan, scalars, plan[STEP]))


@launched
def sum_errors(plan: Whole, arena: Numbers, scalars: Exact) -> None:
    """Sum the errors of each chunk, a chunk a block, whose threads compute them."""
    if plan[BAD] >= 0:
        return
    count, stride, worker = batch_size(plan, scalars, plan[STEP]), plan[STRIDE], cuda.threadIdx.x
    for chunk in range(cuda.blockIdx.x, plan[CHUNKS], cuda.gridDim.x):
        start = chunk_start(plan, chunk, count)
        base, n = plan[SPACE] + start, chunk_start(plan, chunk + 1, count) - start
        errors(plan, arena, base, stride, n, worker, cuda.blockDim.x)
        cuda.syncthreads()
        if worker == 0:
            total = sum_of_errors(plan, arena, base, stride, n, np.float64(0))
            scalars[plan[ERRORS] + chunk] = total


@launched
def loss_all(plan: Whole, scalars: Exact) -> None:
    """Compute the loss of a step, by one thread."""
    if plan[BAD] < 0 and cuda.grid(1) == 0:
        k = plan[STEP]
        finish_loss(plan, scalars, mean_scale(plan, scalars, batch_size(plan, scalars, k)), k)


@launched
def loss_gradient_all(plan: Whole, arena: Numbers, scalars: Exact) -> None:
    """Compute the gradient of the loss with respect to the outputs of all samples."""
    if plan[BAD] >= 0:
        return
    count = batch_size(plan, scalars, plan[STEP])
    loss_gradient(
        plan, scalars, count, arena, plan[SPACE], arena, plan[FLOW], plan[STRIDE], count,
        cuda.grid(1), cuda.gridsize(1),
    )  # fmt: skip


@launched
def parameter_gradients(plan: Whole, arena: Numbers, scalars: Exact, op: Index) -> None:
    """Compute the gradients of an operation's parameters for each chunk."""
    run = chosen(WHOLE_BATCH, plan[op + KIND])[PARAMETERS]
    if plan[BAD] < 0:
        run(plan, op, arena, scalars, batch_size(plan, scalars, plan[STEP]))


@launched
def add_all(plan: Whole, arena: Numbers, scalars: Exact, op: Index) -> None:
    """Add the gradients of all chunks for an operation to those of the bank."""
    if plan[BAD] < 0:
        add_chunks(plan, op, arena, cuda.grid(1), cuda.gridsize(1))


@launched
def gather_back_all(plan: Whole, arena: Numbers, scalars: Exact, op: Index) -> None:
    """Compute statistics of all samples that an operation needs for its backward."""
    if plan[BAD] < 0:
        gather_batch_norm_back(plan, op, arena, scalars, batch_size(plan, scalars, plan[STEP]))


@launched
def input_gradient_all(plan: Whole, arena: Numbers, scalars: Exact, op: Index) -> None:
    """Compute the gradient with respect to the inputs of an operation, of all samples."""
    run = chosen(WHOLE_BATCH, plan[op + KIND])[INPUT]
    if plan[BAD] < 0:
        run(plan, op, arena, scalars, batch_size(plan, scalars, plan[STEP]))


@launched
def clear_all(plan: Whole, arena: Numbers) -> None:
    """Set all gradients to 0, and the index of the step."""
    if plan[BAD] < 0:
        if cuda.grid(1) == 0:
            plan[STEP] = plan[DONE]  # no thread of this kernel reads it
        clear_gradients(plan, arena, cuda.grid(1), cuda.gridsize(1))


@launched
def look_over(plan: Whole, arena: Numbers, scalars: Exact) -> None:
    """Find a bad gradient, sum squares for the norm, and write arguments of the update."""
    if plan[BAD] < 0:
        if cuda.grid(1) == cuda.gridsize(1) - 1:
            write_arguments(plan, scalars)
        find_bad(plan, arena, cuda.grid(1), cuda.gridsize(1))
        add_squares(plan, arena, scalars, cuda.grid(1), cuda.gridsize(1))


@launched
def move_all(plan: Whole, arena: Numbers, scalars: Exact) -> None:
    """Run the optimizer's part of a step."""
    k = plan[STEP]
    if plan[BAD] < 0 and plan[OVERFLOWED] >= k:
        move(plan, arena, scalars, k)
