"""Updates of weights on a GPU, after every chunk has computed its gradients; for teams.

A bad gradient, or the norm, is known only after all threads of the GPU have synchronized; so these
are several functions. Row r of the bank always belongs to the same worker.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.engines.codegen.cuda_dispatch import (
    Real,
    clip_factor,
    condition_one,
    kernel,
    move_one,
    optimizer_constants,
    schedule_factor,
)
from scalarviz.engines.cuda.api import cuda
from scalarviz.engines.cuda.places import (
    ARGUMENTS,
    BAD,
    CHUNKS,
    CLIP_NORM,
    CLIP_VALUE,
    COUNT,
    DONE,
    ERRORS,
    FIRST_BAD,
    FROZEN,
    GRAD,
    GROUP,
    GROUPS,
    HAS_OWN_RATES,
    L1,
    L2,
    MOST_ARGUMENTS,
    NOBODY,
    OPTIMIZER,
    OPTIMIZER_NUMBERS,
    OPTIMIZER_SETTINGS,
    OVERFLOWED,
    OWN_RATES,
    PARTIAL,
    PARTIAL_SIZE,
    PARTIALS,
    RATE,
    REFUSE,
    ROWS,
    RUNNING,
    SCHEDULE,
    SCHEDULE_NUMBERS,
    SCHEDULED,
    SHARES,
    SLOT_COUNT,
    SLOTS,
    STATE_BEFORE,
    STATE_NUMBERS,
    STEP_ARGS,
    STEPS_TAKEN,
    STEPS_TAKEN_AFTER,
    VALUE,
    WEIGHT_ROW,
    Exact,
    Index,
    Numbers,
    Whole,
)
from scalarviz.engines.cuda.teams import sum_in_order


@kernel
def begin_step(plan: Whole) -> None:
    """Reset what the last step found; for one thread."""
    plan[FIRST_BAD] = NOBODY
    plan[STEPS_TAKEN] = plan[STEPS_TAKEN_AFTER]


@kernel
def note_state(plan: Whole, scalars: Exact, worker: Index, workers: Index) -> None:
    """Save the state before a step."""
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
    """Compute the loss of step k from the errors of the chunks, in order; for one thread."""
    loss = sum_in_order(scalars, plan[ERRORS], 1, plan[CHUNKS], scale, 0.0)
    scalars[plan[ERRORS] + plan[CHUNKS] + plan[GROUPS] + k] = loss


@kernel
def clear_gradients(plan: Whole, arena: Numbers, worker: Index, workers: Index) -> None:
    """Set all gradients to 0."""
    for row in range(worker, plan[ROWS], workers):
        arena[plan[GRAD] + row] = Real(0)


@kernel
def add_chunks(plan: Whole, op: Index, arena: Numbers, worker: Index, workers: Index) -> None:
    """Add the gradients of all chunks for an operation to those of the bank, in order."""
    first = plan[op + WEIGHT_ROW]
    for i in range((worker - first) % workers, plan[op + COUNT], workers):
        at, step = plan[PARTIALS] + plan[op + PARTIAL] + i, plan[PARTIAL_SIZE]
        total = sum_in_order(arena, at, step, plan[CHUNKS], Real(1), Real(0))
        arena[plan[GRAD] + first + i] += total


@kernel
def find_bad(plan: Whole, arena: Numbers, worker: Index, workers: Index) -> None:
    """Set FIRST_BAD to the first row that is not frozen with a gradient that is not finite."""
    for row in range(worker, plan[ROWS], workers):
        if not is_finite(arena[plan[GRAD] + row]) and arena[plan[FROZEN] + row] == Real(0):
            cuda.atomic.min(plan, FIRST_BAD, row)


@kernel
def add_squares(plan: Whole, arena: Numbers, scalars: Exact, worker: Index, workers: Index) -> None:
    """Sum the squares of gradients of rows that are not frozen, one group of rows a thread.

    Only if the norm is limited: nothing else reads them.
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
    """Return the factor of gradients with which their norm is at most CLIP_NORM.

    The threads of a block add up the squares; the first one returns it.
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
    """Return the sum of the squares of every SHARES-th group of rows."""
    total = 0.0
    for group in range(share, plan[GROUPS], SHARES):
        total += scalars[plan[ERRORS] + plan[CHUNKS] + group]
    return total


@kernel
def write_arguments(plan: Whole, scalars: Exact) -> None:
    """Write the arguments common to all weights, in float64; for one thread.

    That takes powers in float64, during which others add up gradients. The first place is left to
    the norm's scale, see `read_arguments`.
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
    """Copy these arguments to a block's memory, by its threads; the norm's scale comes first."""
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
    """Update every weight that is not frozen; gradients that are not finite count as 0.

    Sets OVERFLOWED to step k if a weight or a slot is not finite then.
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
    """Run step k of the optimizer; return False, without a change, if a gradient is refused."""
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
