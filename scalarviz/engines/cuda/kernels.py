"""Kernels launched by the host: whole training steps, or one moment of a step on a whole batch.

`train` takes many steps in one launch, for networks that fit into a block. A step has four parts,
between which all threads of the GPU synchronize. First, every block processes chunks of the batch
forward and backward, in tiles of WIDTH samples whose workspaces are in the block's shared memory.
Then the gradients of all chunks are added up. Then the squares of all gradients are summed. Last,
the weights are updated.

Functions that are called once and contain most of a kernel are marked `inlined`. Otherwise the
compiler would not inline large ones, which leaves too few registers.

The kernels of one moment support networks of any width and any number of blocks and threads. The
workspaces of the batch are in `arena`. `clear_all` is the first kernel of a step: it sets
plan[STEP], which the others read. After a rejected gradient all kernels do nothing, and after an
overflow no number of the bank changes.

The samples of a step are the same as in `data/batches.py`. Bad gradients and the norm are known
only after all threads of the GPU have synchronized. So the update of the weights is split
into several functions for teams. Row r of the bank always belongs to the same worker.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.core.formulas.randomness import MASK, STREAM_ORDER, STREAM_PICKS, STREAM_POINTS
from scalarviz.data.batches import IN_ORDER, POINTS
from scalarviz.engines.codegen.cuda_dispatch import (
    Real,
    chosen,
    clip_factor,
    condition_one,
    inlined,
    kernel,
    launched,
    move_one,
    optimizer_constants,
    philox,
    schedule_factor,
    scramble,
    unit,
)
from scalarviz.engines.cuda.card import cuda
from scalarviz.engines.cuda.gpu_layout import (
    ARGUMENTS,
    BAD,
    CHUNKS,
    CLIP_NORM,
    CLIP_VALUE,
    COLUMNS,
    COUNT,
    DONE,
    DRAW,
    DRAW_NUMBERS,
    ERRORS,
    FIRST_BAD,
    FIRST_NEEDED,
    FIRST_STEP,
    FLOW,
    FROZEN,
    GOALS,
    GRAD,
    GROUP,
    GROUPS,
    HAS_OWN_RATES,
    IN_ROOM,
    IN_SIZE,
    KIND,
    L1,
    L2,
    MOST_ARGUMENTS,
    NOBODY,
    OPERATIONS,
    OPTIMIZER,
    OPTIMIZER_NUMBERS,
    OPTIMIZER_SETTINGS,
    OUT_SIZE,
    OVERFLOWED,
    OWN_RATES,
    PARTIAL,
    PARTIAL_SIZE,
    PARTIALS,
    PLAN_FIELDS,
    RATE,
    REFUSE,
    ROOM_STRIDE,
    ROWS,
    RUNNING,
    SAMPLES,
    SCHEDULE,
    SCHEDULE_NUMBERS,
    SCHEDULED,
    SEED_HIGH,
    SEED_LOW,
    SHARES,
    SIZE,
    SLOT_COUNT,
    SLOTS,
    SPACE,
    SPACE_ROWS,
    STATE_BEFORE,
    STATE_NUMBERS,
    STEP,
    STEP_ARGS,
    STEPS_TAKEN,
    STEPS_TAKEN_AFTER,
    STRIDE,
    TABLE_TARGETS,
    VALUE,
    WEIGHT_ROW,
    WIDTH,
    Exact,
    Index,
    Numbers,
    Whole,
    chunk_start,
    errors,
    loss_gradient,
    mean_scale,
    sum_in_order,
    sum_of_errors,
)
from scalarviz.engines.cuda.matrix_products import fetch_weights
from scalarviz.engines.cuda.table import (
    FORWARD,
    INPUT,
    PARAMETERS,
    WHOLE_BATCH,
    forward,
    input_gradient,
    parameter_gradient,
)
from scalarviz.engines.cuda.team_kernels import gather_batch_norm, gather_batch_norm_back


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
    """Run forward, loss and backward for one chunk of a batch."""
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
    """Run the first part of step k: forward and backward for all chunks."""
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
    """Run the second part of step k: add up the gradients of the chunks, compute the loss."""
    worker, workers = spread_worker(), cuda.gridsize(1)
    if cuda.blockIdx.x == cuda.gridDim.x - 1 and cuda.threadIdx.x == cuda.blockDim.x // 2:
        # A thread that often has no rows, in another warp than the one that writes the arguments.
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
    """Return this thread's index, counting 32 threads of each block, then the next 32 of each.

    So a few thousand rows are spread over all multiprocessors, while adjacent threads read adjacent
    numbers.
    """
    i, b = cuda.threadIdx.x, cuda.blockIdx.x
    if cuda.blockDim.x % 32 != 0:
        return cuda.grid(1)
    return (i // 32 * cuda.gridDim.x + b) * 32 + i % 32


@launched
def train(plan: Whole, arena: Numbers, scalars: Exact, data: Numbers, steps: Index) -> None:
    """Take `steps` training steps; a cooperative launch runs all blocks concurrently.

    A variable that is alive for a whole step occupies a register in every operation. So the grid is
    requested again at each synchronization, and no range counts the remaining steps.
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


# ---- one moment of a step -----------------------------------------------------------------------


@launched
def draw_batch(plan: Whole, arena: Numbers, scalars: Exact, data: Numbers) -> None:
    """Draw the samples of a step, and save the bank's state before the step."""
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
    """Compute the batch statistics that an operation needs for its forward pass."""
    if plan[BAD] < 0 and plan[OVERFLOWED] >= plan[STEP]:
        gather_batch_norm(plan, op, arena, scalars, batch_size(plan, scalars, plan[STEP]))


@launched
def forward_all(plan: Whole, arena: Numbers, scalars: Exact, op: Index) -> None:
    """Run one operation forward on all samples."""
    run = chosen(WHOLE_BATCH, plan[op + KIND])[FORWARD]
    if plan[BAD] < 0:
        run(plan, op, arena, scalars, batch_size(plan, scalars, plan[STEP]))


@launched
def sum_errors(plan: Whole, arena: Numbers, scalars: Exact) -> None:
    """Sum the errors of each chunk; a block computes one chunk, a thread one sample at a time."""
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
    """Compute the loss of a step from the errors of its chunks, in one thread."""
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
    """Compute the gradients of an operation's parameters, separately for each chunk."""
    run = chosen(WHOLE_BATCH, plan[op + KIND])[PARAMETERS]
    if plan[BAD] < 0:
        run(plan, op, arena, scalars, batch_size(plan, scalars, plan[STEP]))


@launched
def add_all(plan: Whole, arena: Numbers, scalars: Exact, op: Index) -> None:
    """Add the gradients of an operation's parameters to the bank, for all chunks."""
    if plan[BAD] < 0:
        add_chunks(plan, op, arena, cuda.grid(1), cuda.gridsize(1))


@launched
def gather_back_all(plan: Whole, arena: Numbers, scalars: Exact, op: Index) -> None:
    """Compute the batch statistics that an operation needs for its backward pass."""
    if plan[BAD] < 0:
        gather_batch_norm_back(plan, op, arena, scalars, batch_size(plan, scalars, plan[STEP]))


@launched
def input_gradient_all(plan: Whole, arena: Numbers, scalars: Exact, op: Index) -> None:
    """Compute the gradient with respect to the inputs of an operation, for all samples."""
    run = chosen(WHOLE_BATCH, plan[op + KIND])[INPUT]
    if plan[BAD] < 0:
        run(plan, op, arena, scalars, batch_size(plan, scalars, plan[STEP]))


@launched
def clear_all(plan: Whole, arena: Numbers) -> None:
    """Set all gradients to 0, and set the index of the step."""
    if plan[BAD] < 0:
        if cuda.grid(1) == 0:
            plan[STEP] = plan[DONE]  # no thread of this kernel reads it
        clear_gradients(plan, arena, cuda.grid(1), cuda.gridsize(1))


@launched
def look_over(plan: Whole, arena: Numbers, scalars: Exact) -> None:
    """Find a bad gradient, sum squares for the norm, and write the arguments of the update."""
    if plan[BAD] < 0:
        if cuda.grid(1) == cuda.gridsize(1) - 1:
            write_arguments(plan, scalars)
        find_bad(plan, arena, cuda.grid(1), cuda.gridsize(1))
        add_squares(plan, arena, scalars, cuda.grid(1), cuda.gridsize(1))


@launched
def move_all(plan: Whole, arena: Numbers, scalars: Exact) -> None:
    """Run the optimizer for one step, unless a gradient was rejected or a number overflowed."""
    k = plan[STEP]
    if plan[BAD] < 0 and plan[OVERFLOWED] >= k:
        move(plan, arena, scalars, k)


# ---- samples of a step --------------------------------------------------------------------------


@kernel
def epoch_place(plan: Whole, scalars: Exact, k: Index) -> Any:
    """Return the epoch of step k of a call, and the number of samples before it in this epoch."""
    size = plan[SIZE]
    steps = (plan[SAMPLES] + size - 1) // size
    step = plan[FIRST_STEP] + k
    if plan[DRAW] == IN_ORDER:
        step -= np.int64(scalars[DRAW_NUMBERS])
    return step // steps, step % steps * size


@kernel
def batch_size(plan: Whole, scalars: Exact, k: Index) -> Index:
    """Return the number of samples in the batch of a step."""
    _, place = epoch_place(plan, scalars, k)
    return min(plan[SIZE], plan[SAMPLES] - place)


@kernel
def draw_pair(plan: Whole, stream: Index, k: Index, i: Index) -> Any:
    """Return two random numbers from 0 to 1 for draw i of a step."""
    low, high, _, _ = philox(
        np.int64(i) & MASK, np.int64(i) >> 32, (plan[FIRST_STEP] + k) & MASK, np.int64(stream),
        plan[SEED_LOW], plan[SEED_HIGH],
    )  # fmt: skip
    return unit(low), unit(high)


@kernel
def shuffled_row(plan: Whole, epoch: Index, place: Index) -> Index:
    """Return the row of the sample at index `place` of a shuffled epoch."""
    zero = np.int64(0)
    k0, k1, k2, k3 = philox(
        zero, zero, epoch & MASK, np.int64(STREAM_ORDER), plan[SEED_LOW], plan[SEED_HIGH]
    )
    bits = np.int64(0)
    while (np.int64(1) << bits) < plan[SAMPLES]:
        bits += 1
    mask, shift = (np.int64(1) << bits) - 1, (bits + 1) >> 1
    row = scramble(np.int64(place), mask, shift, k0, k1, k2, k3)
    while row >= plan[SAMPLES]:
        row = scramble(row, mask, shift, k0, k1, k2, k3)
    return row


@kernel
def product(x: float, y: float) -> Any:
    """Return x * y, rounded; the compiler must not fuse it with a following addition."""
    return cuda.fma(x, y, 0.0)


@kernel
def texel(scalars: Exact, u: float, v: float) -> Index:
    """Return the table row of the texel at a point; see `batches.Points`."""
    settings = scalars[DRAW_NUMBERS : DRAW_NUMBERS + 8]
    width, height = settings[0], settings[1]
    across = product(settings[2], u) + product(settings[3], v) + settings[6]
    down = product(settings[4], u) + product(settings[5], v) + settings[7]
    x = np.int64(min(max(across * width, 0.0), width - 1.0))
    y = np.int64(min(max(down * height, 0.0), height - 1.0))
    return y * np.int64(width) + x


# ---- one sample ---------------------------------------------------------------------------------


@kernel
def row_in_order(
    plan: Whole, scalars: Exact, k: Index, i: Index, space: Numbers, place: Index, stride: Index
) -> Index:
    """Return the table row of sample i of a step; samples are drawn in the order of the table."""
    _, before = epoch_place(plan, scalars, k)
    return before + i


@kernel
def row_shuffled(
    plan: Whole, scalars: Exact, k: Index, i: Index, space: Numbers, place: Index, stride: Index
) -> Index:
    """Return the table row of sample i of a step, in the shuffled order of its epoch."""
    epoch, before = epoch_place(plan, scalars, k)
    return shuffled_row(plan, epoch, before + i)


@kernel
def row_picked(
    plan: Whole, scalars: Exact, k: Index, i: Index, space: Numbers, place: Index, stride: Index
) -> Index:
    """Return the table row of sample i of a step, drawn with replacement."""
    u, _ = draw_pair(plan, STREAM_PICKS, k, i)
    return np.int64(u * plan[SAMPLES])


@kernel
def texel_of_point(
    plan: Whole, scalars: Exact, k: Index, i: Index, space: Numbers, place: Index, stride: Index
) -> Index:
    """Draw a point, write it to the workspace, and return the table row of its texel."""
    u, v = draw_pair(plan, STREAM_POINTS, k, i)
    space[place] = Real(u)
    space[place + stride] = Real(v)
    return texel(scalars, u, v)


# How a sample is drawn, in the order of the codes of `data/batches.py`.
DRAWS = {
    "in order": (row_in_order,),
    "shuffled": (row_shuffled,),
    "picked": (row_picked,),
    "points": (texel_of_point,),
}


@kernel
def drawn_row(
    plan: Whole, scalars: Exact, k: Index, i: Index, space: Numbers, place: Index, stride: Index
) -> Index:
    """Return the table row of sample i of a step; the sample's column begins at `place`."""
    run = chosen(DRAWS, plan[DRAW])[0]
    return run(plan, scalars, k, i, space, place, stride)


@kernel
def draw(
    plan: Whole, scalars: Exact, data: Numbers, k: Index, first: Index, space: Numbers, base: Index,
    stride: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """Write the samples of a batch from index `first` to the columns of a workspace."""
    inputs, outputs, goals = plan[IN_SIZE], plan[OUT_SIZE], base + plan[GOALS] * stride
    for n in range(worker, count, workers):
        row = drawn_row(plan, scalars, k, first + n, space, base + n, stride)
        if plan[DRAW] != POINTS:  # already written
            for i in range(inputs):
                space[base + n + i * stride] = data[row * inputs + i]
        for i in range(outputs):
            space[goals + i * stride + n] = data[plan[TABLE_TARGETS] + row * outputs + i]


# ---- gradients and weights ----------------------------------------------------------------------


@kernel
def begin_step(plan: Whole) -> None:
    """Reset the results of the last step; called by one thread."""
    plan[FIRST_BAD] = NOBODY
    plan[STEPS_TAKEN] = plan[STEPS_TAKEN_AFTER]


@kernel
def note_state(plan: Whole, scalars: Exact, worker: Index, workers: Index) -> None:
    """Save the state of the bank before a step."""
    for i in range(worker, plan[ERRORS] - STATE_NUMBERS, workers):
        scalars[plan[STATE_BEFORE] + i] = scalars[STATE_NUMBERS + i]


@kernel
def check_statistics(plan: Whole, scalars: Exact, k: Index, worker: Index, workers: Index) -> None:
    """Set OVERFLOWED to step k if a running statistic is not finite."""
    for i in range(RUNNING + worker, plan[ERRORS], workers):
        if not is_finite(scalars[i]):
            cuda.atomic.min(plan, OVERFLOWED, k)


@kernel
def is_finite(x: Any) -> Any:
    """Return whether x is neither infinite nor NaN."""
    return x - x == Real(0)


@kernel
def finish_loss(plan: Whole, scalars: Exact, scale: float, k: Index) -> None:
    """Compute the loss of step k from the errors of its chunks; called by one thread."""
    loss = sum_in_order(scalars, plan[ERRORS], 1, plan[CHUNKS], scale, 0.0)
    scalars[plan[ERRORS] + plan[CHUNKS] + plan[GROUPS] + k] = loss


@kernel
def clear_gradients(plan: Whole, arena: Numbers, worker: Index, workers: Index) -> None:
    """Set all gradients to 0."""
    for row in range(worker, plan[ROWS], workers):
        arena[plan[GRAD] + row] = Real(0)


@kernel
def add_chunks(plan: Whole, op: Index, arena: Numbers, worker: Index, workers: Index) -> None:
    """Add the gradients of an operation's parameters to the bank, chunk after chunk."""
    first = plan[op + WEIGHT_ROW]
    for i in range((worker - first) % workers, plan[op + COUNT], workers):
        at, step = plan[PARTIALS] + plan[op + PARTIAL] + i, plan[PARTIAL_SIZE]
        total = sum_in_order(arena, at, step, plan[CHUNKS], Real(1), Real(0))
        arena[plan[GRAD] + first + i] += total


@kernel
def find_bad(plan: Whole, arena: Numbers, worker: Index, workers: Index) -> None:
    """Set FIRST_BAD to the index of the first non-finite gradient of a non-frozen parameter."""
    for row in range(worker, plan[ROWS], workers):
        if not is_finite(arena[plan[GRAD] + row]) and arena[plan[FROZEN] + row] == Real(0):
            cuda.atomic.min(plan, FIRST_BAD, row)


@kernel
def add_squares(plan: Whole, arena: Numbers, scalars: Exact, worker: Index, workers: Index) -> None:
    """Sum the squares of non-frozen gradients, one group of rows per thread.

    No-op unless the norm of the gradients is limited.
    """
    if scalars[CLIP_NORM] == np.inf:
        return
    for group in range(worker, plan[GROUPS], workers):
        total = 0.0
        for row in range(group * GROUP, min((group + 1) * GROUP, plan[ROWS])):
            g = arena[plan[GRAD] + row]
            if is_finite(g) and arena[plan[FROZEN] + row] == Real(0):
                total += np.float64(g) * np.float64(g)
        scalars[plan[ERRORS] + plan[CHUNKS] + group] = total


@kernel
def norm_scale(plan: Whole, scalars: Exact) -> float:
    """Return the factor that scales the gradients to a norm of at most CLIP_NORM.

    The threads of a block add up the squares; only the first one returns the right factor.
    """
    if scalars[CLIP_NORM] == np.inf:
        return 1.0
    shares = cuda.shared.array(SHARES, np.float64)
    for share in range(cuda.threadIdx.x, SHARES, cuda.blockDim.x):
        shares[share] = share_of_squares(plan, scalars, share)
    cuda.syncthreads()
    total = 0.0
    if cuda.threadIdx.x == 0:
        for share in range(min(SHARES, plan[GROUPS])):
            total += shares[share]
    return clip_factor(total, scalars[CLIP_NORM])


@kernel
def share_of_squares(plan: Whole, scalars: Exact, share: Index) -> float:
    """Return the sum of the squares in every SHARES-th group of rows, from group `share`."""
    total = 0.0
    for group in range(share, plan[GROUPS], SHARES):
        total += scalars[plan[ERRORS] + plan[CHUNKS] + group]
    return total


@kernel
def write_arguments(plan: Whole, scalars: Exact) -> None:
    """Write the arguments of the update that all weights share; called by one thread.

    Powers are computed here in float64, while other threads add up gradients. The first place is
    reserved for the scale of the norm, see `read_arguments`.
    """
    step, count, first = float(plan[STEPS_TAKEN]), plan[OPTIMIZER_SETTINGS], plan[ARGUMENTS]
    settings = scalars[OPTIMIZER_NUMBERS : OPTIMIZER_NUMBERS + 8]
    factor = schedule_factor(plan[SCHEDULE], step, scalars[SCHEDULE_NUMBERS : SCHEDULE_NUMBERS + 8])
    scalars[first + SCHEDULED] = factor
    scalars[first + 1] = scalars[RATE] * factor
    for i in range(count):
        scalars[first + 2 + i] = settings[i]
    constants = scalars[first + 2 + count : first + SCHEDULED]
    optimizer_constants(plan[OPTIMIZER], step + 1.0, settings, constants)


@kernel
def read_arguments(plan: Whole, scalars: Exact, step_args: Exact) -> None:
    """Copy the arguments of the update to a block's memory; the scale of the norm is the first."""
    scale = norm_scale(plan, scalars)
    for i in range(cuda.threadIdx.x, STEP_ARGS, cuda.blockDim.x):
        step_args[i] = scale if i == 0 else scalars[plan[ARGUMENTS] + i]


@kernel
def move_rows(
    plan: Whole,
    arena: Numbers,
    scalars: Exact,
    step_args: Exact,
    k: Index,
    worker: Index,
    workers: Index,
) -> None:
    """Update every non-frozen weight; a non-finite gradient counts as 0.

    Sets OVERFLOWED to k if a weight or slot becomes infinite or NaN.
    """
    arguments = cuda.local.array(MOST_ARGUMENTS, Real)
    for i in range(MOST_ARGUMENTS):
        arguments[i] = Real(step_args[1 + i])
    scale, limit = Real(step_args[0]), Real(scalars[CLIP_VALUE])
    l1, l2, rows = Real(scalars[L1]), Real(scalars[L2]), plan[ROWS]
    changed = step_args[0] != 1.0 or limit != np.inf or l1 != Real(0) or l2 != Real(0)
    slots = arena[plan[SLOTS] : plan[GRAD]]
    for row in range(worker, rows, workers):
        g = arena[plan[GRAD] + row]
        value = arena[plan[VALUE] + row : plan[VALUE] + row + 1]
        if arena[plan[FROZEN] + row] == Real(0):
            g = g if is_finite(g) else Real(0)
            if changed:
                g = condition_one(g, value[0], scale, limit, l1, l2)
            if plan[HAS_OWN_RATES] != 0:
                own = arena[plan[OWN_RATES] + row]
                is_own = own == own
                arguments[0] = Real(own * step_args[SCHEDULED] if is_own else step_args[1])
            move_one(plan[OPTIMIZER], value, g, slots[row::rows], arguments)
            finite = is_finite(value[0])
            for place in range(row, plan[SLOT_COUNT] * rows, rows):
                finite = finite and is_finite(slots[place])
            if not finite:
                cuda.atomic.min(plan, OVERFLOWED, k)


@kernel
def move(plan: Whole, arena: Numbers, scalars: Exact, k: Index) -> bool:
    """Run the optimizer for step k; return False, without changes, if a gradient is rejected."""
    step_args = cuda.shared.array(STEP_ARGS, np.float64)
    worker = cuda.grid(1)
    if plan[REFUSE] != 0 and plan[FIRST_BAD] != NOBODY:
        if worker == 0:
            plan[BAD] = plan[FIRST_BAD]
        return False
    read_arguments(plan, scalars, step_args)
    cuda.syncthreads()
    move_rows(plan, arena, scalars, step_args, k, worker, cuda.gridsize(1))
    check_statistics(plan, scalars, k, worker, cuda.gridsize(1))
    if worker == 0:
        plan[DONE] = k + 1
        plan[STEPS_TAKEN_AFTER] = plan[STEPS_TAKEN] + 1
    return True
