"""The CUDA kernels that do one moment of a step on a whole batch, for networks of any width.

Each is launched with any number of blocks and threads. The workspaces of the batch lie in `arena`.
`k` counts the steps of one order; once a gradient was refused, all that follows does nothing, and
once a step has overflowed, no number of the bank changes.
"""

from __future__ import annotations

from typing import Any

from scalarviz.engines.codegen.cuda_dispatch import launched
from scalarviz.engines.cuda.api import cuda
from scalarviz.engines.cuda.draws import batch_size, draw
from scalarviz.engines.cuda.places import (
    BAD,
    CHUNKS,
    ERRORS,
    FLOW,
    HALF,
    OUT,
    OUT_SIZE,
    OVERFLOWED,
    ROWS,
    SPACE,
    STRIDE,
    VALUE,
    WEIGHTS,
)
from scalarviz.engines.cuda.table import (
    batch_forward,
    batch_inputs,
    batch_parameters,
    gather,
    gather_back,
)
from scalarviz.engines.cuda.teams import chunk_start, error_of, kept, loss_gradient, mean_scale
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


@launched
def draw_batch(plan: Whole, arena: Numbers, scalars: Exact, data: Numbers, k: Index) -> None:
    """Fill in the samples of a step, and note the state before it."""
    if plan[BAD] >= 0:
        return
    worker, count = cuda.grid(1), batch_size(plan, scalars, k)
    if worker == 0:
        begin_step(plan)
    note_state(plan, scalars, worker, cuda.gridsize(1))
    draw(
        plan, scalars, data, k, 0, arena, plan[SPACE], plan[STRIDE], count, worker,
        cuda.gridsize(1),
    )  # fmt: skip


@launched
def gather_all(plan: Whole, arena: Numbers, scalars: Exact, k: Index, op: Index) -> None:
    """What an operation must know of all samples before it can be done."""
    if plan[BAD] < 0 and plan[OVERFLOWED] >= k:
        gather(plan, op, arena, scalars, batch_size(plan, scalars, k))


@launched
def forward_all(plan: Whole, arena: Numbers, scalars: Exact, k: Index, op: Index) -> None:
    """One operation on all samples."""
    if plan[BAD] < 0:
        batch_forward(plan, op, arena, scalars, batch_size(plan, scalars, k))


@launched
def sum_errors(plan: Whole, arena: Numbers, scalars: Exact, k: Index) -> None:
    """The sum of the errors of every chunk, a chunk a thread."""
    if plan[BAD] >= 0:
        return
    count = batch_size(plan, scalars, k)
    for chunk in range(cuda.grid(1), plan[CHUNKS], cuda.gridsize(1)):
        total = 0.0
        for n in range(chunk_start(plan, chunk, count), chunk_start(plan, chunk + 1, count)):
            total += error_of(plan, arena, plan[SPACE], plan[STRIDE], n)
        scalars[plan[ERRORS] + chunk] = total


@launched
def loss_all(plan: Whole, scalars: Exact, k: Index) -> None:
    """The loss of a step; for one thread."""
    if plan[BAD] < 0 and cuda.grid(1) == 0:
        finish_loss(plan, scalars, mean_scale(plan, scalars, batch_size(plan, scalars, k)), k)


@launched
def loss_gradient_all(plan: Whole, arena: Numbers, scalars: Exact, k: Index) -> None:
    """The gradient of the loss by the outputs of all samples."""
    if plan[BAD] >= 0:
        return
    count = batch_size(plan, scalars, k)
    loss_gradient(
        plan, scalars, count, arena, plan[SPACE], arena, plan[FLOW], plan[STRIDE], count,
        cuda.grid(1), cuda.gridsize(1),
    )  # fmt: skip


@launched
def keep_upstream(plan: Whole, arena: Numbers) -> None:
    """Round the gradients by the outputs, which came from outside, as they are to be kept."""
    first = plan[FLOW] + plan[OUT] * plan[STRIDE]
    for i in range(cuda.grid(1), plan[OUT_SIZE] * plan[STRIDE], cuda.gridsize(1)):
        arena[first + i] = kept(plan, arena[first + i])


@launched
def parameter_gradients(plan: Whole, arena: Numbers, scalars: Exact, k: Index, op: Index) -> None:
    """What every chunk finds for the parameters of an operation."""
    if plan[BAD] < 0:
        batch_parameters(plan, op, arena, scalars, batch_size(plan, scalars, k))


@launched
def add_all(plan: Whole, arena: Numbers, scalars: Exact, op: Index) -> None:
    """Add what the chunks found for an operation to the gradients of the bank."""
    if plan[BAD] < 0:
        add_chunks(plan, op, arena, scalars, cuda.grid(1), cuda.gridsize(1))


@launched
def gather_back_all(plan: Whole, arena: Numbers, scalars: Exact, k: Index, op: Index) -> None:
    """The same as `gather_all` on the way back."""
    if plan[BAD] < 0:
        gather_back(plan, op, arena, scalars, batch_size(plan, scalars, k))


@launched
def input_gradient_all(plan: Whole, arena: Numbers, scalars: Exact, k: Index, op: Index) -> None:
    """The gradient by what an operation read, of all samples."""
    if plan[BAD] < 0:
        batch_inputs(plan, op, arena, scalars, batch_size(plan, scalars, k))


@launched
def clear_all(plan: Whole, arena: Numbers) -> None:
    """zero_grad."""
    if plan[BAD] < 0:
        clear_gradients(plan, arena, cuda.grid(1), cuda.gridsize(1))


@launched
def round_weights(plan: Whole, arena: Numbers) -> None:
    """The weights as products use them, from those of the bank."""
    for row in range(cuda.grid(1), plan[ROWS] * (plan[HALF] != 0), cuda.gridsize(1)):
        arena[plan[WEIGHTS] + row] = kept(plan, arena[plan[VALUE] + row])


@launched
def look_over(plan: Whole, arena: Numbers, scalars: Exact) -> None:
    """What the optimizer must know of all gradients: a bad one, and the sum of their squares."""
    if plan[BAD] < 0:
        find_bad(plan, arena, cuda.grid(1), cuda.gridsize(1))
        add_squares(plan, arena, scalars, cuda.grid(1), cuda.gridsize(1))


@launched
def move_all(plan: Whole, arena: Numbers, scalars: Exact, k: Index) -> None:
    """The optimizer's part of a step."""
    if plan[BAD] < 0 and plan[OVERFLOWED] >= k:
        move(plan, arena, scalars, k)
