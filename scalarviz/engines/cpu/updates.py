"""Kernels of the optimizer's part of a step: sum, check and clip gradients, update weights."""

from __future__ import annotations

import numpy as np

from scalarviz.engines.codegen.dispatch import (
    condition_gradients,
    inner,
    kernel,
    lowered_scale,
    optimizer_constants,
    optimizer_update,
    raised_scale,
    schedule_factor,
)
from scalarviz.engines.cpu.arrays import BankArrays, UpdateArrays
from scalarviz.engines.cpu.half import half
from scalarviz.engines.cpu.products import ONE, ZERO, Index, Numbers, Record, Table

# Indices in a bank's state: the loss scale and its counters for mixed precision.
LOSS_SCALE, GOOD_STEPS, SKIPPED = [np.uint64(i) for i in range(3)]

NONE, OVERFLOW = -1, -2  # see `operations`


@kernel
def add_chunks(
    plan: Table, ops: Table, low: Index, high: Index, partial: Numbers, chunks: Index,
    grad: Numbers, state: Numbers,
) -> None:  # fmt: skip
    """Add the gradients of all chunks for operations `low` to before `high` to `grad`, in order.

    A layer used twice in a network has two operations; the gradient of the later one is added
    first.
    """
    by_scale = grad.dtype.type(1.0 / state[LOSS_SCALE])
    for k in range(high - 1, low - 1, -1):
        row, first, count = ops[k].weights, ops[k].gradients, ops[k].count
        total = partial[ZERO]
        for c in range(ONE, chunks):
            for i in range(first, first + count):
                total[i] += partial[c, i]
        if plan[0].half:
            for i in range(count):
                grad[row + i] += half(total[first + i]) * by_scale
        else:
            for i in range(count):
                grad[row + i] += total[first + i]


@inner
def first_bad(grad: Numbers, frozen: Table) -> Index:
    """Return the first row, not frozen, whose gradient is not finite; NONE if there is none."""
    zero = grad.dtype.type(0)
    bad = False
    for row in range(len(grad)):
        bad |= grad[row] * zero != zero
    if bad:
        for row in range(len(grad)):
            if grad[row] * zero != zero and not frozen[row]:
                return row
    return NONE


@inner
def norm_scale(grad: Numbers, frozen: Table, most: float) -> float:
    """Return the factor that makes the norm of all gradients, not frozen, at most `most`."""
    if most == np.inf:
        return 1.0
    total = 0.0
    for row in range(len(grad)):
        g = np.float64(grad[row])
        if not frozen[row] and g * 0.0 == 0.0:
            total += g * g
    return float(min(1.0, most / (np.sqrt(total) + 1e-6)))


@inner
def is_skipped(plan: Record, bad: Index, scaling: Numbers) -> bool:
    """Update a dynamic loss scale, and return whether it skips this step."""
    if bad >= 0:
        scaling[LOSS_SCALE] = lowered_scale(scaling[LOSS_SCALE])
        scaling[GOOD_STEPS] = 0.0
        scaling[SKIPPED] += 1.0
        return True
    scaling[GOOD_STEPS] += 1.0
    if scaling[GOOD_STEPS] >= plan.patience:
        scaling[LOSS_SCALE] = raised_scale(scaling[LOSS_SCALE])
        scaling[GOOD_STEPS] = 0.0
    return False


@kernel
def move(plan: Record, bank: BankArrays, update: UpdateArrays, counts: Table) -> Index:
    """Run the optimizer's part of a step, and return NONE if it succeeds.

    Otherwise returns the row of a gradient that is not finite, nothing having changed; or OVERFLOW
    if an updated weight or slot is not finite. counts[0], the number of steps taken, grows by 1,
    unless the step is skipped.
    """
    value, grad, frozen, scratch = bank.value, bank.grad, bank.frozen, update.scratch
    if plan.refuse or plan.dynamic:
        bad = first_bad(grad, frozen)
        if plan.dynamic:
            if is_skipped(plan, bad, bank.state):
                return NONE
        elif bad >= 0:
            return bad
    rows = len(grad)
    zero = grad.dtype.type(0)
    for row in range(rows):
        scratch[row] = grad[row] if grad[row] * zero == zero else zero
    how, kind = update.how[0], grad.dtype.type
    scale = norm_scale(grad, frozen, how.clip_norm)
    if scale != 1.0 or how.clip_value != np.inf or how.l1 != 0.0 or how.l2 != 0.0:
        condition_gradients(
            scratch, value, kind(scale), kind(how.clip_value), kind(how.l1), kind(how.l2),
            0, rows, scratch,
        )  # fmt: skip
    # Constants are computed in float64 and rounded once.
    step, settings, arguments = float(counts[0]), update.optimizer_settings, update.arguments
    exact = np.zeros(len(arguments))
    exact[0] = how.rate * schedule_factor(plan.schedule, step, update.schedule_settings)
    count = len(settings)
    for k in range(count):
        exact[1 + k] = settings[k]
    optimizer_constants(plan.optimizer, step + 1.0, settings, exact[1 + count :])
    for k in range(len(arguments)):
        arguments[k] = exact[k]
    finite = optimizer_update(
        plan.optimizer, value, scratch, bank.slots, arguments, frozen, 0, rows
    )
    counts[0] += 1
    return NONE if finite else OVERFLOW


@kernel
def take_step(
    plan: Table, value: Numbers, grad: Numbers, slots: Numbers, frozen: Table, state: Numbers,
    how: Table, optimizer_settings: Numbers, schedule_settings: Numbers, arguments: Numbers,
    scratch: Numbers, counts: Table,
) -> Index:  # fmt: skip
    """Run `move`; called from Python with plain arrays."""
    return move(
        plan[0],
        BankArrays(value, value[:0], grad, slots, frozen, state),
        UpdateArrays(how, optimizer_settings, schedule_settings, arguments, scratch),
        counts,
    )
