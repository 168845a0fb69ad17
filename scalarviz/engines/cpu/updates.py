"""Kernels of the optimizer's part of a step: sum, check and clip gradients, update weights."""

from __future__ import annotations

import numpy as np

from scalarviz.engines.codegen.dispatch import (
    Real,
    by_address,
    condition_gradients,
    in_parallel,
    inner,
    lowered_scale,
    optimizer_constants,
    optimizer_update,
    raised_scale,
    schedule_factor,
)
from scalarviz.engines.cpu.arrays import (
    Address,
    BankArrays,
    UpdateArrays,
    bank_of,
    bank_record,
    batch_record,
    operations_of,
    plan_of,
    progress_record,
    room_of,
    room_record,
    update_of,
    update_record,
)
from scalarviz.engines.cpu.emitting import prange
from scalarviz.engines.cpu.memory import address_of, call, record_at
from scalarviz.engines.cpu.products import ONE, ZERO, Index, Numbers, Record, Table
from scalarviz.engines.cpu.records import JOB
from scalarviz.engines.cpu.tiles import count_chunks

# Indices in a bank's state: the loss scale and its counters for mixed precision.
LOSS_SCALE, GOOD_STEPS, SKIPPED = [np.uint64(i) for i in range(3)]

BLOCK = np.uint64(4096)  # parameters whose gradients stay in the cache while chunks are added up
MANY = np.uint64(8)  # blocks from which other cores add up some of them

NONE, OVERFLOW = -1, -2  # see `operations`


@inner
def adds_in_bank(job: Address) -> bool:
    """Whether the only chunk adds up its gradients in those of the bank."""
    return bool(room_record(job).partial == bank_record(job).grad)


@by_address
def add_chunks(job: Address, low: Index, high: Index) -> None:
    """Add the gradients of all chunks for operations `low` to before `high` to the bank's.

    A layer used twice in a network has two operations; the gradient of the later one is added
    first.
    """
    k = high
    while k > low:
        k -= ONE
        for block in range(blocks_of(job, k)):
            add_block(job, k, block)


@in_parallel
@by_address
def add_chunks_on_all_cores(job: Address, low: Index, high: Index) -> None:
    """Do the same in parallel for operations of many parameters."""
    k = high
    while k > low:
        k -= ONE
        blocks = blocks_of(job, k)
        if blocks < MANY:
            for block in range(blocks):
                add_block(job, k, block)
        else:
            for b in prange(np.int64(blocks)):
                add_block(job, k, np.uint64(b))


@inner
def blocks_of(job: Address, k: Index) -> Index:
    """Return the number of blocks of parameters of operation `k`."""
    return (operations_of(job)[k].count + BLOCK - ONE) // BLOCK


@inner
def add_block(job: Address, k: Index, block: Index) -> None:
    """Add up the gradients of all chunks for a block of the parameters of operation `k`."""
    op, partial, bank = operations_of(job)[k], room_of(job, Real).partial, bank_of(job, Real)
    grad, total, start = bank.grad, partial[ZERO], block * BLOCK
    count = min(BLOCK, op.count - start)
    row, first = op.weights + start, op.gradients + start
    for c in range(ONE, count_chunks(batch_record(job).samples)):
        for i in range(first, first + count):
            total[i] += partial[c, i]
    if plan_of(job).half:
        by_scale = grad.dtype.type(1.0 / bank.state[LOSS_SCALE])
        rounding = record_at(job, JOB).round_rows
        call(rounding, (address_of(total, first), ONE, count, count))
        for i in range(count):
            grad[row + i] += total[first + i] * by_scale
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


@by_address
def move(job: Address) -> None:
    """Run the optimizer's part of a step, and write the result to the job's progress.

    That is NONE if it succeeded; or the row of a gradient that is not finite, nothing having
    changed; or OVERFLOW if an updated weight or slot is not finite. The number of steps taken grows
    by 1, unless the step is skipped.
    """
    progress = progress_record(job)
    plan, bank = plan_of(job), bank_of(job, Real)
    if plan.refuse or plan.dynamic:
        bad = first_bad(bank.grad, bank.frozen)
        if plan.dynamic:
            if is_skipped(plan, bad, bank.state):
                progress.result = NONE
                return
        elif bad >= 0:
            progress.result = bad
            return
    conditioned(job, bank, update_of(job, Real))
    update = update_record(job)
    step = progress.count
    call(update.factor_of_rate, (job, step))
    call(update.constants, (job, step))
    call(update.move_rows, (job,))
    progress.count += ONE
    progress.result = NONE if update.finite else OVERFLOW


@inner
def conditioned(job: Address, bank: BankArrays, update: UpdateArrays) -> None:
    """Let the update read the gradients: those of the bank, or in `scratch` what is made of them.

    There they are finite, clipped and regularized.
    """
    value, grad, scratch, plan = bank.value, bank.grad, update.scratch, plan_of(job)
    how, record = update.how, update_record(job)
    clips = how.clip_norm != np.inf or how.clip_value != np.inf
    if not (clips or how.l1 != 0.0 or how.l2 != 0.0) and (
        plan.refuse or plan.dynamic or first_bad(grad, bank.frozen) == NONE
    ):
        record.gradient = address_of(grad, ZERO)
        return
    record.gradient = address_of(scratch, ZERO)
    rows = len(grad)
    zero = grad.dtype.type(0)
    for row in range(rows):
        scratch[row] = grad[row] if grad[row] * zero == zero else zero
    scale = norm_scale(grad, bank.frozen, how.clip_norm)
    if scale != 1.0 or how.clip_value != np.inf or how.l1 != 0.0 or how.l2 != 0.0:
        condition_gradients(
            scratch, value, Real(scale), Real(how.clip_value), Real(how.l1), Real(how.l2),
            0, rows, scratch,
        )  # fmt: skip


# ---- kernels of a schedule and of an optimizer --------------------------------------------------
# Constants are computed in float64 and rounded once.


@by_address
def factor_of_rate(job: Address, step: Index) -> None:
    """Write the learning rate of a step, counted from 0, to the arguments of the update."""
    update = update_of(job, Real)
    factor = schedule_factor(ZERO, float(step), update.schedule)
    update_record(job).factor = factor
    update.exact[0] = update.how.rate * factor


@by_address
def constants(job: Address, step: Index) -> None:
    """Write the optimizer's settings and its constants of a step after the learning rate."""
    update = update_of(job, Real)
    settings, exact = update.settings, update.exact
    count = len(settings)
    for k in range(count):
        exact[1 + k] = settings[k]
    optimizer_constants(ZERO, float(step) + 1.0, settings, exact[1 + count :])
    for k in range(len(exact)):
        update.arguments[k] = exact[k]


@by_address
def move_rows_of_bank(job: Address) -> None:
    """Update all rows that are not frozen, and write whether all of them are finite."""
    bank, update, record = bank_of(job, Real), update_of(job, Real), update_record(job)
    record.finite = ONE
    for k in range(record.span_count):
        span = update.spans[k]
        is_own = span.rate == span.rate
        update.arguments[0] = span.rate * record.factor if is_own else update.exact[0]
        finite = optimizer_update(
            ZERO, bank.value, update.gradient, bank.slots, update.arguments, bank.frozen,
            span.first, span.end,
        )  # fmt: skip
        if not finite:
            record.finite = ZERO
