"""How weights move once the gradients are there, and what is refused before they do."""

from __future__ import annotations

import numpy as np

from scalarviz.engines.codegen.dispatch import (
    condition_gradients,
    kernel,
    lowered_scale,
    optimizer_constants,
    optimizer_update,
    raised_scale,
    schedule_factor,
)
from scalarviz.engines.cpu.half import half
from scalarviz.engines.cpu.products import ONE, ZERO, Index, Numbers
from scalarviz.engines.cpu.step import DYNAMIC, HALF, OPTIMIZER, PATIENCE, REFUSE, SCHEDULE, Plan
from scalarviz.engines.cpu.tiles import COUNT, GRADIENTS, WEIGHTS, Table

# The fields of the numbers that say how to step, and of those that say how halves are scaled.
RATE, CLIP_NORM, CLIP_VALUE, L1, L2 = [np.uint64(i) for i in range(5)]
LOSS_SCALE, GOOD_STEPS, SKIPPED = [np.uint64(i) for i in range(3)]

NONE, OVERFLOW = -1, -2  # see `operations`


@kernel
def add_chunks(
    plan: Plan, ops: Table, low: Index, high: Index, partial: Numbers, chunks: Index, grad: Numbers,
    scaling: Numbers,
) -> None:  # fmt: skip
    """Add to `grad` what the chunks found for some operations, in the order of the chunks.

    A layer that stands in a network twice has two operations; the later one's gradient comes first.
    """
    by_scale = grad.dtype.type(1.0 / scaling[LOSS_SCALE])
    for k in range(high - 1, low - 1, -1):
        row, first, count = ops[k, WEIGHTS], ops[k, GRADIENTS], ops[k, COUNT]
        total = partial[ZERO]
        for c in range(ONE, chunks):
            for i in range(first, first + count):
                total[i] += partial[c, i]
        if plan[HALF]:
            for i in range(count):
                grad[row + i] += half(total[first + i]) * by_scale
        else:
            for i in range(count):
                grad[row + i] += total[first + i]


@kernel
def first_bad(grad: Numbers, frozen: Table) -> Index:
    """The first row that is to move and whose gradient is NaN or infinite; -1 if there is none."""
    zero = grad.dtype.type(0)
    bad = False
    for row in range(len(grad)):
        bad |= grad[row] * zero != zero
    if bad:
        for row in range(len(grad)):
            if grad[row] * zero != zero and not frozen[row]:
                return row
    return NONE


@kernel
def norm_scale(grad: Numbers, frozen: Table, most: float) -> float:
    """By what gradients are multiplied so that the norm of all that move is at most `most`."""
    if most == np.inf:
        return 1.0
    total = 0.0
    for row in range(len(grad)):
        g = np.float64(grad[row])
        if not frozen[row] and g * 0.0 == 0.0:
            total += g * g
    return float(min(1.0, most / (np.sqrt(total) + 1e-6)))


@kernel
def is_skipped(plan: Plan, bad: Index, scaling: Numbers) -> bool:
    """Whether a dynamic loss scale skips this step; the scale follows what was found."""
    if bad >= 0:
        scaling[LOSS_SCALE] = lowered_scale(scaling[LOSS_SCALE])
        scaling[GOOD_STEPS] = 0.0
        scaling[SKIPPED] += 1.0
        return True
    scaling[GOOD_STEPS] += 1.0
    if scaling[GOOD_STEPS] >= plan[PATIENCE]:
        scaling[LOSS_SCALE] = raised_scale(scaling[LOSS_SCALE])
        scaling[GOOD_STEPS] = 0.0
    return False


@kernel
def move(
    plan: Plan, value: Numbers, grad: Numbers, slots: Numbers, frozen: Table, scaling: Numbers,
    how: Numbers, optimizer_settings: Numbers, schedule_settings: Numbers, arguments: Numbers,
    scratch: Numbers, counts: Numbers,
) -> Index:  # fmt: skip
    """One step of the optimizer; or the row of a bad gradient, and then nothing has changed.

    Returns OVERFLOW if a weight or a slot that has moved is not finite.
    counts[0] is how many steps were taken; it goes on by one, unless the step is skipped.
    """
    if plan[REFUSE] or plan[DYNAMIC]:
        bad = first_bad(grad, frozen)
        if plan[DYNAMIC]:
            if is_skipped(plan, bad, scaling):
                return NONE
        elif bad >= 0:
            return bad
    rows = len(grad)
    zero = grad.dtype.type(0)
    for row in range(rows):
        scratch[row] = grad[row] if grad[row] * zero == zero else zero
    scale = norm_scale(grad, frozen, how[CLIP_NORM])
    if scale != 1.0 or how[CLIP_VALUE] != np.inf or how[L1] != 0.0 or how[L2] != 0.0:
        kind = grad.dtype.type
        condition_gradients(
            scratch, value, kind(scale), kind(how[CLIP_VALUE]), kind(how[L1]), kind(how[L2]),
            0, rows, scratch,
        )  # fmt: skip
    # Constants are computed in float64, and then rounded once.
    step = float(counts[0])
    exact = np.zeros(len(arguments))
    exact[0] = how[RATE] * schedule_factor(plan[SCHEDULE], step, schedule_settings)
    count = len(optimizer_settings)
    for k in range(count):
        exact[1 + k] = optimizer_settings[k]
    optimizer_constants(plan[OPTIMIZER], step + 1.0, optimizer_settings, exact[1 + count :])
    for k in range(len(arguments)):
        arguments[k] = exact[k]
    finite = optimizer_update(plan[OPTIMIZER], value, scratch, slots, arguments, frozen, 0, rows)
    counts[0] += 1
    return NONE if finite else OVERFLOW
