"""Kernels that Python calls: passes on a whole batch, and many training steps in one call.

Each takes the address of a `Job`.
"""

from __future__ import annotations

import numpy as np

from scalarviz.engines.codegen.dispatch import Real, by_address, exact, in_parallel, inlined, inner
from scalarviz.engines.cpu.arrays import (
    Address,
    bank_of,
    batch_record,
    operations_of,
    passes_of,
    plan_of,
    progress_record,
    room_record,
)
from scalarviz.engines.cpu.emitting import get_thread_id, prange
from scalarviz.engines.cpu.memory import address_of, array_at, call, record_at
from scalarviz.engines.cpu.products import ONE, ZERO, Index, Numbers, Record
from scalarviz.engines.cpu.records import JOB
from scalarviz.engines.cpu.step import DO_KEEP
from scalarviz.engines.cpu.tiles import count_chunks, first_tile
from scalarviz.engines.cpu.updates import LOSS_SCALE, NONE, OVERFLOW, SKIPPED, adds_in_bank

# ---- a pass -------------------------------------------------------------------------------------


@by_address
def pass_on_one_core(job: Address, number: Index) -> None:
    """Run pass `number` on all chunks without threads."""
    samples = batch_record(job).samples
    chunks, keep = count_chunks(samples), passes_of(job)[number].what & DO_KEEP
    for chunk in range(chunks):
        place = first_tile(chunk, chunks, samples) if keep else ZERO
        call(record_at(job, JOB).chunk_work, (job, number, chunk, place))


@in_parallel
@by_address
def pass_on_all_cores(job: Address, number: Index) -> None:
    """Run pass `number` on all chunks in parallel.

    If there are fewer workspaces than chunks, each thread uses one.
    """
    samples = batch_record(job).samples
    chunks, keep = count_chunks(samples), passes_of(job)[number].what & DO_KEEP
    places, work = room_record(job).places, record_at(job, JOB).chunk_work
    for c in prange(np.int64(chunks)):
        chunk = np.uint64(c)
        if keep:
            place = first_tile(chunk, chunks, samples)
        elif places < chunks:
            place = np.uint64(get_thread_id())  # type: ignore[no-untyped-call]  # numba's
        else:
            place = chunk
        call(work, (job, number, chunk, place))


@by_address
def run_passes(job: Address) -> None:
    """Run all passes of a job in order."""
    for number in range(np.uint64(len(passes_of(job)))):
        gather_for(job, number)
        call(record_at(job, JOB).run_pass, (job, number))


@inner
def gather_for(job: Address, number: Index) -> None:
    """Compute statistics of the whole batch that pass `number` needs."""
    which, ops = passes_of(job)[number].gathers, operations_of(job)
    if which > 0:
        k = np.uint64(which - 1)
        call(ops[k].gather, (address_of(ops, k), job))
    elif which < 0:
        k = np.uint64(-which - 1)
        call(ops[k].gather_back, (address_of(ops, k), job))


# ---- a training ---------------------------------------------------------------------------------


@by_address
def train(job: Address) -> None:
    """Take the steps that the job's progress asks for.

    Writes the losses, the number of steps taken, and the reason why training
    stopped: NONE; or the row of a gradient that is not finite, nothing having changed; or OVERFLOW
    if after the update a weight, a slot or a running statistic is not finite.
    """
    kernels, plan, bank = record_at(job, JOB), plan_of(job), bank_of(job, Real)
    progress, batch = progress_record(job), batch_record(job)
    losses = array_at(progress.losses, progress.steps, np.float64)
    state = bank.state
    before = array_at(room_record(job).before, np.uint64(len(state)), np.float64)
    errors = array_at(batch.errors, room_record(job).chunks, np.float64)
    for k in range(progress.steps):
        copy_numbers(state, before)
        call(kernels.draw_rows, (job, progress.first + k))
        if plan.half:
            call(kernels.round_bank, (job,))
        if not adds_in_bank(job):
            for row in range(np.uint64(len(bank.grad))):
                bank.grad[row] = 0
        mean = loss_scale(plan, progress.factor, batch.samples)
        batch.scale = Real(mean) * Real(state[LOSS_SCALE])
        for chunk in range(len(errors)):
            errors[chunk] = 0.0
        batch.steps = progress.count
        for number in range(np.uint64(len(passes_of(job)))):
            gather_for(job, number)
            call(kernels.run_pass, (job, number))
        losses[k] = sum_of(errors) * mean
        if not end_step(job, before, state, progress):
            break
        progress.taken += ONE


@exact
def sum_of(errors: Numbers) -> float:
    """Return the sum of the errors of all chunks, in order."""
    total = 0.0
    for chunk in range(len(errors)):
        total += errors[chunk]
    return total


@inlined
def loss_scale(plan: Record, factor: float, samples: Index) -> float:
    """Return the normalisation factor of the loss for a batch of this size."""
    if plan.mean_of == ZERO:
        return factor
    return float(factor / (samples * plan.mean_of))


@inner
def end_step(job: Address, before: Numbers, state: Numbers, progress: Record) -> bool:
    """Add up the gradients of the chunks and run the optimizer; return False to stop training.

    `before` is the bank's state before the step. A step that is skipped or refused does not change
    running statistics.
    """
    kernels, taken = record_at(job, JOB), progress.count
    if not adds_in_bank(job):
        call(kernels.add_chunks, (job, ZERO, np.uint64(len(operations_of(job)))))
    call(kernels.move, (job,))
    statistics = state[SKIPPED + ONE :]
    if progress.count == taken:
        copy_numbers(before[SKIPPED + ONE :], statistics)
    elif not all_finite(statistics):
        progress.result = OVERFLOW
    return bool(progress.result == NONE)


@inner
def all_finite(numbers: Numbers) -> bool:
    """Whether all numbers of an array are finite."""
    bad = False
    for i in range(len(numbers)):
        bad |= numbers[i] * 0.0 != 0.0
    return not bad


@inner
def copy_numbers(numbers: Numbers, others: Numbers) -> None:
    """Copy `numbers` to `others`, an array of the same length."""
    for i in range(len(numbers)):
        others[i] = numbers[i]
