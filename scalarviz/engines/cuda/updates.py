"""How weights move on a GPU, once every chunk has found its gradients: what teams call for that.

What a step finds out for all - a bad gradient, the norm - is complete only when all threads of the
GPU have arrived; so these are several functions. Row r of the bank is always the same worker's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.engines.codegen.cuda_dispatch import (
    Real,
    clip_factor,
    condition_one,
    kernel,
    lowered_scale,
    move_one,
    optimizer_constants,
    raised_scale,
    schedule_factor,
)
from scalarviz.engines.cuda.api import cuda
from scalarviz.engines.cuda.plan import (
    BAD,
    CHUNKS,
    CLIP_NORM,
    CLIP_VALUE,
    COUNT,
    DONE,
    DYNAMIC,
    ERRORS,
    FOUND,
    FROZEN,
    GOOD_STEPS,
    GRAD,
    GROUP,
    GROUPS,
    HALF,
    L1,
    L2,
    LOSS_SCALE,
    MOST_ARGUMENTS,
    NOBODY,
    OPTIMIZER,
    OPTIMIZER_NUMBERS,
    OPTIMIZER_SETTINGS,
    OVERFLOWED,
    PARTIAL,
    PARTIAL_SIZE,
    PARTIALS,
    PATIENCE,
    RATE,
    REFUSE,
    ROWS,
    SCHEDULE,
    SCHEDULE_NUMBERS,
    SKIPPED,
    SLOT_COUNT,
    SLOTS,
    STATE_BEFORE,
    STATE_NUMBERS,
    TAKEN,
    TAKEN_AFTER,
    TOLD,
    VALUE,
    WEIGHT_ROW,
    WEIGHTS,
)
from scalarviz.engines.cuda.teams import kept

Numbers = Any
Whole = Any
Exact = Any
Index = Any


@kernel
def begin_step(whole: Whole) -> None:
    """Forget what the last step found; for one thread."""
    whole[FOUND] = NOBODY
    whole[TAKEN] = whole[TAKEN_AFTER]


@kernel
def note_state(whole: Whole, exact: Exact, worker: Index, workers: Index) -> None:
    """Note the state before a step."""
    for i in range(worker, whole[ERRORS] - STATE_NUMBERS, workers):
        exact[whole[STATE_BEFORE] + i] = exact[STATE_NUMBERS + i]


@kernel
def restore_statistics(whole: Whole, exact: Exact, worker: Index, workers: Index) -> None:
    """What layers keep of their batches becomes what it was before the step."""
    for i in range(SKIPPED + 1 + worker, whole[ERRORS], workers):
        exact[i] = exact[whole[STATE_BEFORE] + i - STATE_NUMBERS]


@kernel
def check_statistics(whole: Whole, exact: Exact, k: Index, worker: Index, workers: Index) -> None:
    """Note the k-th step as the one that overflowed if a running statistic is not finite."""
    for i in range(SKIPPED + 1 + worker, whole[ERRORS], workers):
        if not is_finite(exact[i]):
            cuda.atomic.min(whole, OVERFLOWED, k)


@kernel
def is_finite(x: Any) -> Any:
    """Whether x is neither infinite nor NaN."""
    return x - x == Real(0)


@kernel
def finish_loss(whole: Whole, exact: Exact, scale: float, k: Index) -> None:
    """The loss of the k-th step, from the errors of the chunks in their order; for one thread."""
    loss = 0.0
    for chunk in range(whole[CHUNKS]):
        loss += scale * exact[whole[ERRORS] + chunk]
    exact[whole[ERRORS] + whole[CHUNKS] + whole[GROUPS] + k] = loss


@kernel
def clear_gradients(whole: Whole, reals: Numbers, worker: Index, workers: Index) -> None:
    """All gradients become 0."""
    for row in range(worker, whole[ROWS], workers):
        reals[whole[GRAD] + row] = Real(0)


@kernel
def add_chunks(
    whole: Whole, op: Index, reals: Numbers, exact: Exact, worker: Index, workers: Index
) -> None:
    """Add to the gradients what the chunks found for an operation, in the order of the chunks."""
    by_scale = Real(1.0 / exact[LOSS_SCALE])
    first = whole[op + WEIGHT_ROW]
    for i in range((worker - first) % workers, whole[op + COUNT], workers):
        place = whole[PARTIALS] + whole[op + PARTIAL] + i
        total = reals[place]
        for chunk in range(1, whole[CHUNKS]):
            total += reals[place + chunk * whole[PARTIAL_SIZE]]
        if whole[HALF] != 0:
            total = kept(whole, total) * by_scale
        reals[whole[GRAD] + first + i] += total


@kernel
def find_bad(whole: Whole, reals: Numbers, worker: Index, workers: Index) -> None:
    """Note the first row that is to move and whose gradient is not finite."""
    for row in range(worker, whole[ROWS], workers):
        if not is_finite(reals[whole[GRAD] + row]) and reals[whole[FROZEN] + row] == Real(0):
            cuda.atomic.min(whole, FOUND, row)


@kernel
def add_squares(whole: Whole, reals: Numbers, exact: Exact, worker: Index, workers: Index) -> None:
    """The squares of the gradients of rows that move, a group of rows a thread."""
    for group in range(worker, whole[GROUPS], workers):
        total = 0.0
        for row in range(group * GROUP, min((group + 1) * GROUP, whole[ROWS])):
            g = reals[whole[GRAD] + row]
            if is_finite(g) and reals[whole[FROZEN] + row] == Real(0):
                total += np.float64(g) * np.float64(g)
        exact[whole[ERRORS] + whole[CHUNKS] + group] = total


@kernel
def norm_scale(whole: Whole, exact: Exact) -> float:
    """By what gradients are multiplied so that their norm is at most what was asked for."""
    most = exact[CLIP_NORM]
    if most == np.inf:
        return 1.0
    total = 0.0
    for group in range(whole[GROUPS]):
        total += exact[whole[ERRORS] + whole[CHUNKS] + group]
    return clip_factor(total, most)


@kernel
def write_arguments(whole: Whole, exact: Exact, told: Exact) -> None:
    """What is the same for all weights in a step, in float64: the norm's scale, then arguments."""
    step, count = float(whole[TAKEN]), whole[OPTIMIZER_SETTINGS]
    settings = exact[OPTIMIZER_NUMBERS : OPTIMIZER_NUMBERS + 8]
    factor = schedule_factor(whole[SCHEDULE], step, exact[SCHEDULE_NUMBERS : SCHEDULE_NUMBERS + 8])
    told[0] = norm_scale(whole, exact)
    told[1] = exact[RATE] * factor
    for i in range(count):
        told[2 + i] = settings[i]
    optimizer_constants(whole[OPTIMIZER], step + 1.0, settings, told[2 + count :])


@kernel
def move_rows(
    whole: Whole, reals: Numbers, exact: Exact, told: Exact, k: Index, worker: Index, workers: Index
) -> None:
    """Move every weight that is not frozen; gradients that are not finite count as 0.

    Note the k-th step as the one that overflowed if a weight or a slot is not finite then.
    """
    arguments = cuda.local.array(MOST_ARGUMENTS, Real)
    for i in range(MOST_ARGUMENTS):
        arguments[i] = Real(told[1 + i])
    scale, limit = Real(told[0]), Real(exact[CLIP_VALUE])
    l1, l2, rows = Real(exact[L1]), Real(exact[L2]), whole[ROWS]
    changed = told[0] != 1.0 or limit != np.inf or l1 != Real(0) or l2 != Real(0)
    slots = reals[whole[SLOTS] : whole[GRAD]]
    for row in range(worker, rows, workers):
        g = reals[whole[GRAD] + row]
        value = reals[whole[VALUE] + row : whole[VALUE] + row + 1]
        if reals[whole[FROZEN] + row] == Real(0):
            g = g if is_finite(g) else Real(0)
            if changed:
                g = condition_one(g, value[0], scale, limit, l1, l2)
            move_one(whole[OPTIMIZER], value, g, slots[row::rows], arguments)
            finite = is_finite(value[0])
            for place in range(row, whole[SLOT_COUNT] * rows, rows):
                finite = finite and is_finite(slots[place])
            if not finite:
                cuda.atomic.min(whole, OVERFLOWED, k)
            if whole[HALF] != 0:
                reals[whole[WEIGHTS] + row] = kept(whole, value[0])


@kernel
def move(whole: Whole, reals: Numbers, exact: Exact, k: Index) -> bool:
    """The k-th step of the optimizer; False, and nothing has changed, if a gradient was refused."""
    told = cuda.shared.array(TOLD, np.float64)
    worker, found = cuda.grid(1), whole[FOUND] != NOBODY
    if whole[REFUSE] != 0 and found:
        if worker == 0:
            whole[BAD] = whole[FOUND]
        return False
    skipped = whole[DYNAMIC] != 0 and found
    if not skipped:
        if cuda.threadIdx.x == 0:
            write_arguments(whole, exact, told)
        cuda.syncthreads()
        move_rows(whole, reals, exact, told, k, worker, cuda.gridsize(1))
        check_statistics(whole, exact, k, worker, cuda.gridsize(1))
        cuda.syncthreads()
    else:
        restore_statistics(whole, exact, worker, cuda.gridsize(1))
    if worker == 0:
        conclude(whole, exact, skipped, k)
    return True


@kernel
def conclude(whole: Whole, exact: Exact, skipped: bool, k: Index) -> None:
    """Count the k-th step; a dynamic loss scale follows what was found. For one thread."""
    whole[DONE] = k + 1
    if not skipped:
        whole[TAKEN_AFTER] = whole[TAKEN] + 1
    if whole[DYNAMIC] == 0:
        return
    if skipped:
        exact[LOSS_SCALE] = lowered_scale(exact[LOSS_SCALE])
        exact[GOOD_STEPS] = 0.0
        exact[SKIPPED] += 1.0
        return
    exact[GOOD_STEPS] += 1.0
    if exact[GOOD_STEPS] >= whole[PATIENCE]:
        exact[LOSS_SCALE] = raised_scale(exact[LOSS_SCALE])
        exact[GOOD_STEPS] = 0.0
