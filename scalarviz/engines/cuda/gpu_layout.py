"""Layout of a run's numbers in the memory of a GPU, and functions of thread teams that read them.

Each array adds to the time of a launch, so there are only four:

    plan     int64      sizes and indices, then the table of operations: a row of COLUMNS for each
    scalars  float64    settings of optimizer and schedule, the bank's state, errors and losses,
                        statistics of whole batches
    arena    working    the bank, settings of operations, gradients of the chunks, and workspaces
                        of values and gradients
    data     working    tables of a data set: all inputs, then all targets

The plan has the index of each part in `arena`. A workspace has a row for each number of a sample:
number r of sample n is at r * STRIDE + n. In a block's memory, with tiles of WIDTH samples, it is
at r * ROOM_STRIDE + n, with at least one more column, since samples are read in pairs.
Besides the buffers of the program, the workspace of values has rows for the targets, for the
numbers that operations save for backward, and one for the errors. In the other workspace, the
gradient of a buffer has the same rows as the buffer.

In all CUDA kernels, a team of threads calls a function together. Each thread of a team has an index
`worker` below `workers`, and computes its share. The order of every sum depends only on network and
batch, so the bits are the same for every team size.

A workspace is a part of `space`, an array in the memory of the GPU or of one block. `op` is the
index of an operation in `plan`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.core.bank import SCALING
from scalarviz.engines.codegen.cuda_dispatch import Real, kernel, sample_error, sample_gradient

# Types of kernel arguments: arrays of int64, of float64 and of the working type; and an index.
Whole = Any
Exact = Any
Numbers = Any
Index = Any

# Fields of the plan: sizes and indices, constant during a run ...
(
    ROWS, OPERATIONS, CHUNKS, STRIDE, IN_SIZE, OUT, OUT_SIZE, GOALS, ERRORS_ROW, SPACE_ROWS,
    FLOW_ROWS, VALUE, FROZEN, GRAD, SLOTS, PARTIALS, PARTIAL_SIZE, SPACE, FLOW,
    FIRST_NEEDED, GROUPS, LOSS, MEAN_OF, DRAW, SEED_LOW, SEED_HIGH, SAMPLES, SIZE, WIDTH,
    ROOM_STRIDE, ROOM, ERRORS, STATE_BEFORE, OWN_RATES, ARGUMENTS,
) = range(35)  # fmt: skip

# ... and fields of one call: tables, optimizer, whether the network is trained, the first step, the
# number of steps taken; and results. OVERFLOWED is the index in the call of the first step after
# which a weight or a slot was not finite. STEP is the index in the call of the current step for
# kernels of one moment: every step launches the same kernels, with the same arguments.
(
    TABLE_TARGETS, OPTIMIZER, OPTIMIZER_SETTINGS, SCHEDULE, REFUSE, LEARNING, FIRST_STEP,
    STEPS_TAKEN, STEPS_TAKEN_AFTER, FIRST_BAD, BAD, DONE, OVERFLOWED, SLOT_COUNT, HAS_OWN_RATES,
    STEP,
) = range(35, 51)  # fmt: skip
PLAN_FIELDS = 51

# The columns of the table of operations; buffers are given by rows of a workspace. EACH is the
# number of outputs that share a bias, SECOND the second buffer read, STATE an index in the bank's
# state, STATISTICS the index in `scalars` of statistics of the whole batch; running statistics do
# not change while the rows from HELD_FROM to before HELD_TO are frozen. IN_ROOM is the position of
# the weights of a product in the memory of a block during whole steps; -1 for other operations.
(
    KIND, FORMULA, SOURCE, TARGET, INPUTS, OUTPUTS, WEIGHT_ROW, BIAS_ROW, HAS_BIASES, COUNT,
    PARTIAL, MEMO, SETTINGS, EACH, SECOND, STATE, STATISTICS, HELD_FROM, HELD_TO, IN_ROOM,
) = range(20)  # fmt: skip
COLUMNS = 20
MOST_SETTINGS = 12  # of an operation

# Indices in `scalars`. The bank's state has any length: three numbers used only in mixed precision,
# on the cpu engine, then running statistics, from RUNNING. After it, from plan[ERRORS], follow the
# errors of the chunks, the sums of squares of the groups of rows, the losses, the statistics, the
# state before a step, and the arguments of an update.
RATE, CLIP_NORM, CLIP_VALUE, L1, L2, FACTOR = range(6)
OPTIMIZER_NUMBERS, SCHEDULE_NUMBERS, DRAW_NUMBERS, STATE_NUMBERS = 6, 14, 18, 26
RUNNING = STATE_NUMBERS + SCALING

# For each feature: mean, factor, and the means of gradients to remove.
MEAN, DEVIATION, SHIFT, STRETCH = range(4)
MOMENTS = 4
SHARES = 128  # parts of a sum over a whole batch, or of squares over all groups of rows

# Unsigned, like the indices of products: numba converts the sum of a signed and an unsigned integer
# to float.
ZERO, ONE, TWO, THREE, FOUR = [np.uint64(n) for n in range(5)]
WORD = np.uint64(32)  # bits
MATRIX_TILE = 64  # a matrix product is split into tiles of 64 x 64
TILE, DEPTH = np.uint64(MATRIX_TILE), np.uint64(32)
LOADED = 8  # numbers of a factor loaded by a thread; the threads that load a panel, TILE x DEPTH
LOADERS = TILE * DEPTH // np.uint64(LOADED)
# Numbers of a panel in shared memory, and the step from TILE of them to the next: 32 adjacent
# threads, with 16 in each of two rows, are in different memory banks.
PANEL, DOWN = 32 * 66, np.uint64(66)
APART = 16  # from a sample of a thread to the next, in convolutions of a whole batch
BEYOND_ARENA = 4 * APART  # numbers after the last one that reads of four samples may reach
GROUP = 64  # rows whose squares are summed by one thread
# Arguments of an update; and with the norm's scale before them and the schedule's factor after.
MOST_ARGUMENTS, SCHEDULED, STEP_ARGS = 16, 17, 18
NOBODY = 2**62  # "none" for the row of a bad gradient, or the step of an overflow


# ---- functions of teams -------------------------------------------------------------------------


@kernel
def row_at(base: Index, row: Index, stride: Index) -> Index:
    """Return the unsigned index at which a row of a workspace begins."""
    return np.uint64(base + row * stride)


@kernel
def ends_of(plan: Whole, op: Index, base: Index, stride: Index) -> Any:
    """Return where an operation's inputs and outputs, or their gradients, begin in a workspace."""
    return row_at(base, plan[op + SOURCE], stride), row_at(base, plan[op + TARGET], stride)


@kernel
def row_of(i: Index, count: Index) -> Index:
    """Return i // count, the row of number i in a table with `count` columns, in 32 bits.

    A 64-bit division would take longer than most formulas.
    """
    return np.uint32(i) // np.uint32(count)


@kernel
def number_at(i: Index, count: Index, stride: Index) -> Index:
    """Return the index in a workspace of number i of a table with `count` columns."""
    row = row_of(i, count)
    return np.uint64(row) * np.uint64(stride) + np.uint64(np.uint32(i) - row * np.uint32(count))


@kernel
def chunk_start(plan: Whole, chunk: Index, count: Index) -> Index:
    """Return the first sample of a chunk, which is also the end of the previous one."""
    return chunk * count // plan[CHUNKS]


@kernel
def partial_of(plan: Whole, op: Index, chunk: Index) -> Index:
    """Return the index of an operation's parameter gradients for one chunk."""
    return plan[PARTIALS] + chunk * plan[PARTIAL_SIZE] + plan[op + PARTIAL]


@kernel
def bias_sum(flow: Numbers, g: Index, each: Index, stride: Index, count: Index, total: Any) -> Any:
    """Add to `total` the gradients of `each` rows from index g, which share a bias."""
    step = np.uint64(stride)
    for n in range(count):
        place = np.uint64(g + n)
        end = place + np.uint64(each) * step
        while place < end:
            total += flow[place]
            place += step
    return total


@kernel
def sum_in_order(
    numbers: Any, at: Index, step: Index, count: Index, scale: Any, total: Any
) -> Any:  # fmt: skip
    """Return `total` plus `scale` times each of `count` numbers, which are `step` apart.

    Sixteen numbers are loaded before they are added, so that loads do not wait for the sum.
    """
    at, step = np.uint64(at), np.uint64(step)
    for _ in range(count // 16):
        for _ in range(16):
            total += scale * numbers[at]
            at += step
    for _ in range(count % 16):
        total += scale * numbers[at]
        at += step
    return total


# ---- the loss -----------------------------------------------------------------------------------


@kernel
def error_of(plan: Whole, space: Numbers, base: Index, stride: Index, n: Index) -> Any:
    """Return the error of sample n, computed by the loss."""
    size = plan[OUT_SIZE] * stride
    first, goal = base + plan[OUT] * stride + n, base + plan[GOALS] * stride + n
    p, t = space[first : first + size : stride], space[goal : goal + size : stride]
    return sample_error(plan[LOSS], p, t)


@kernel
def errors(
    plan: Whole, space: Numbers, base: Index, stride: Index, count: Index, worker: Index,
    workers: Index,
) -> None:  # fmt: skip
    """Write the error of each sample to the workspace."""
    for n in range(worker, count, workers):
        space[base + plan[ERRORS_ROW] * stride + n] = error_of(plan, space, base, stride, n)


@kernel
def sum_of_errors(
    plan: Whole, space: Numbers, base: Index, stride: Index, count: Index, total: Any
) -> Any:
    """Return `total` plus the errors of `count` samples, as written by `errors`, in order."""
    for n in range(count):
        total += space[base + plan[ERRORS_ROW] * stride + n]
    return total


@kernel
def mean_scale(plan: Whole, scalars: Exact, samples: Index) -> Any:
    """Return the factor by which the sum of errors of a batch is multiplied."""
    if plan[MEAN_OF] == 0:
        return scalars[FACTOR]
    return scalars[FACTOR] / (samples * plan[MEAN_OF])


@kernel
def loss_gradient(
    plan: Whole, scalars: Exact, samples: Index, space: Numbers, base: Index, flow: Numbers,
    flow_base: Index, stride: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """Write the gradient of the loss of a batch with respect to its outputs."""
    size = plan[OUT_SIZE] * stride
    out, goals = plan[OUT] * stride, base + plan[GOALS] * stride
    scale = Real(mean_scale(plan, scalars, samples))
    for n in range(worker, count, workers):
        first, goal, written = base + out + n, goals + n, flow_base + out + n
        p, t = space[first : first + size : stride], space[goal : goal + size : stride]
        g = flow[written : written + size : stride]
        sample_gradient(plan[LOSS], p, t, g)
        for k in range(plan[OUT_SIZE]):
            g[k] *= scale
