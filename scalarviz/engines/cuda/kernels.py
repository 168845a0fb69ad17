"""The CUDA kernels that do one moment of a step on a whole batch, for networks of any width.

Each is launched with any number of blocks and threads. The workspaces of the batch lie in `reals`.
`k` counts the steps of one order; once a gradient was refused, all that follows does nothing, and
once a step has overflowed, no number of the bank changes.
"""

from __future__ import annotations

from typing import Any

from scalarviz.engines.codegen.cuda_dispatch import launched
from scalarviz.engines.cuda.api import cuda
from scalarviz.engines.cuda.draws import batch_size, draw
from scalarviz.engines.cuda.plan import (
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
def draw_batch(whole: Whole, reals: Numbers, exact: Exact, data: Numbers, k: Index) -> None:
    """Fill in the samples of a step, and note the state before it."""
    if whole[BAD] >= 0:
        return
    worker, count = cuda.grid(1), batch_size(whole, exact, k)
    if worker == 0:
        begin_step(whole)
    note_state(whole, exact, worker, cuda.gridsize(1))
    draw(
        whole, exact, data, k, 0, reals, whole[SPACE], whole[STRIDE], count, worker,
        cuda.gridsize(1),
    )  # fmt: skip


@launched
def gather_all(whole: Whole, reals: Numbers, exact: Exact, k: Index, op: Index) -> None:
    """What an operation must know of all samples before it can be done."""
    if whole[BAD] < 0 and whole[OVERFLOWED] >= k:
        gather(whole, op, reals, exact, batch_size(whole, exact, k))


@launched
def forward_all(whole: Whole, reals: Numbers, exact: Exact, k: Index, op: Index) -> None:
    """One operation on all samples."""
    if whole[BAD] < 0:
        batch_forward(whole, op, reals, exact, batch_size(whole, exact, k))


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
        exact[whole[ERRORS] + chunk] = total


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
    """What every chunk finds for the parameters of an operation."""
    if whole[BAD] < 0:
        batch_parameters(whole, op, reals, exact, batch_size(whole, exact, k))


@launched
def add_all(whole: Whole, reals: Numbers, exact: Exact, op: Index) -> None:
    """Add what the chunks found for an operation to the gradients of the bank."""
    if whole[BAD] < 0:
        add_chunks(whole, op, reals, exact, cuda.grid(1), cuda.gridsize(1))


@launched
def gather_back_all(whole: Whole, reals: Numbers, exact: Exact, k: Index, op: Index) -> None:
    """The same as `gather_all` on the way back."""
    if whole[BAD] < 0:
        gather_back(whole, op, reals, exact, batch_size(whole, exact, k))


@launched
def input_gradient_all(whole: Whole, reals: Numbers, exact: Exact, k: Index, op: Index) -> None:
    """The gradient by what an operation read, of all samples."""
    if whole[BAD] < 0:
        batch_inputs(whole, op, reals, exact, batch_size(whole, exact, k))


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
    if whole[BAD] < 0 and whole[OVERFLOWED] >= k:
        move(whole, reals, exact, k)
