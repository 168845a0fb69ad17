"""Kernels that Python calls: passes on a whole batch, and many training steps in one call."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import prange
from numba.np.ufunc.parallel import get_thread_id

from scalarviz.engines.codegen.dispatch import inlined, inner, kernel, parallel_kernel
from scalarviz.engines.cpu.arrays import (
    BankArrays,
    BankView,
    BatchArrays,
    ProgramTables,
    Progress,
    SampleArrays,
    UpdateArrays,
    Workspaces,
)
from scalarviz.engines.cpu.draws import draw_rows
from scalarviz.engines.cpu.half import round_all
from scalarviz.engines.cpu.products import ONE, ZERO, Index, Numbers, Record, Table
from scalarviz.engines.cpu.simd import borrowed
from scalarviz.engines.cpu.step import DO_KEEP, chunk_work
from scalarviz.engines.cpu.table import gather, gather_back
from scalarviz.engines.cpu.tiles import count_chunks, first_tile
from scalarviz.engines.cpu.updates import LOSS_SCALE, NONE, OVERFLOW, SKIPPED, add_chunks, move

# ---- a pass -------------------------------------------------------------------------------------


@inlined
def gather_for(
    program: ProgramTables, number: Index, bank: BankView, room: Workspaces, samples: Index
) -> None:
    """Compute statistics of the whole batch that pass `number` needs."""
    which = program.passes[number].gathers
    if which > 0:
        k = which - 1
        gather(program.operations[k], program.settings[k], bank, room, samples)
    elif which < 0:
        k = -which - 1
        gather_back(program.operations[k], program.settings[k], bank, room, samples)


@parallel_kernel
def pass_on_all_cores(
    program: ProgramTables, number: Index, bank: BankView, batch: BatchArrays, room: Workspaces,
    errors: Numbers,
) -> None:  # fmt: skip
    """Run pass `number` on all chunks in parallel; add their sums of errors to `errors`.

    If there are fewer workspaces than chunks, each thread uses one.
    """
    chunks = count_chunks(batch.samples)
    for chunk in prange(chunks):
        c = np.uint64(chunk)
        if program.passes[number].what & DO_KEEP:
            place = first_tile(c, chunks, batch.samples)
        elif len(room.spaces) < np.int64(chunks):
            place = np.uint64(get_thread_id())  # type: ignore[no-untyped-call]  # numba's
        else:
            place = c
        errors[c] += chunk_work(program, number, bank, batch, room, c, place)


@inlined
def pass_on_one_core(
    program: ProgramTables, number: Index, bank: BankView, batch: BatchArrays, room: Workspaces,
    errors: Numbers,
) -> None:  # fmt: skip
    """Run pass `number` on all chunks without threads; add their sums of errors to `errors`."""
    chunks = count_chunks(batch.samples)
    for chunk in range(chunks):
        c = np.uint64(chunk)
        keep = program.passes[number].what & DO_KEEP
        place = first_tile(c, chunks, batch.samples) if keep else ZERO
        errors[c] += chunk_work(program, number, bank, batch, room, c, place)


@kernel
def run_passes(
    plan: Table, passes: Table, operations: Table, settings: Numbers, value: Numbers,
    state: Numbers, frozen: Table, data: Numbers, rows: Table, goals: Numbers, outputs: Numbers,
    samples: Index, steps: Index, scale: float, spaces: Numbers, flows: Numbers,
    partial: Numbers, errors: Numbers,
) -> None:  # fmt: skip
    """Run passes in order, each on all cores; `rows` are the samples in `data` and `goals`."""
    program = borrowed(ProgramTables(plan, passes, operations, settings))
    bank = borrowed(BankView(value, state, frozen))
    room = borrowed(Workspaces(spaces, flows, partial))
    batch = borrowed(BatchArrays(data, rows, goals, rows, outputs, samples, steps, scale))
    for number in range(len(passes)):
        gather_for(program, number, bank, room, samples)
        pass_on_all_cores(program, number, bank, batch, room, errors)


# ---- a step -------------------------------------------------------------------------------------


@inlined
def loss_scale(plan: Record, factor: float, samples: Index) -> float:
    """Return the normalisation factor of the loss for a batch of this size."""
    if plan.mean_of == ZERO:
        return factor
    return float(factor / (samples * plan.mean_of))


@inlined
def begin_step(plan: Record, bank: BankArrays, samples: SampleArrays, step: Index) -> Index:
    """Draw the batch of a step, set gradients to 0, and return the number of samples."""
    count = draw_rows(samples, step)
    if plan.half:
        round_all(bank.value, bank.halves)
    for row in range(np.uint64(len(bank.grad))):
        bank.grad[row] = 0
    return np.uint64(count)


@inlined
def end_step(
    program: ProgramTables, bank: BankArrays, room: Workspaces, samples: Index,
    before: Numbers, update: UpdateArrays, progress: Progress,
) -> bool:  # fmt: skip
    """Add up the gradients of the chunks and run the optimizer; return False to stop training.

    `before` is the bank's state before the step. A step that is skipped or refused does not change
    running statistics.
    """
    ops, counts, state = program.operations, progress.counts, bank.state
    add_chunks(
        program.plan, ops, 0, len(ops), room.partial, count_chunks(samples), bank.grad, state
    )
    taken = counts[0]
    bad = move(program.plan[0], bank, update, counts)
    statistics = state[SKIPPED + ONE :]
    if counts[0] == taken:
        copy_numbers(before[SKIPPED + ONE :], statistics)
    elif not all_finite(statistics):
        bad = OVERFLOW
    if bad != NONE:
        progress.done[1] = bad
        return False
    progress.done[0] += 1
    return True


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


# ---- a training ---------------------------------------------------------------------------------


def steps_by(run_pass: Callable[..., None]) -> Callable[..., None]:
    """Return a kernel that takes many steps, and runs each pass by `run_pass`."""

    @inlined
    def take_steps(
        program: ProgramTables, bank: BankArrays, samples: SampleArrays, room: Workspaces,
        update: UpdateArrays, factor: float, progress: Progress,
    ) -> None:  # fmt: skip
        program, bank, room = borrowed(program), borrowed(bank), borrowed(room)
        samples, update, progress = borrowed(samples), borrowed(update), borrowed(progress)
        plan, value, state = program.plan[0], bank.value, bank.state
        view = BankView(bank.halves if plan.half else value, state, bank.frozen)
        source = samples.points if len(samples.points) else samples.data
        before = state.copy()
        for k in range(len(progress.errors)):
            copy_numbers(state, before)
            count = begin_step(plan, bank, samples, progress.first + k)
            mean = loss_scale(plan, factor, count)
            scale = value.dtype.type(mean) * value.dtype.type(state[LOSS_SCALE])
            batch = BatchArrays(
                source, samples.rows, samples.goals, samples.goal_rows, samples.data, count,
                progress.counts[0], scale,
            )  # fmt: skip
            for number in range(len(program.passes)):
                gather_for(program, number, view, room, count)
                run_pass(program, number, view, batch, room, progress.errors[k])
            if not end_step(program, bank, room, count, before, update, progress):
                break

    return take_steps


steps_on_all_cores = steps_by(pass_on_all_cores)
steps_on_one_core = steps_by(pass_on_one_core)


@kernel
def train(
    plan: Table, passes: Table, operations: Table, settings: Numbers,
    value: Numbers, halves: Numbers, grad: Numbers, slots: Numbers, frozen: Table, state: Numbers,
    data: Numbers, goals: Numbers, rows: Table, goal_rows: Table, points: Numbers, drawing: Table,
    draw_settings: Numbers, spaces: Numbers, flows: Numbers, partial: Numbers, how: Table,
    optimizer_settings: Numbers, schedule_settings: Numbers, arguments: Numbers, scratch: Numbers,
    factor: float, first: Index, counts: Table, errors: Numbers, done: Table,
) -> None:  # fmt: skip
    """Take a step for each row of `errors`, the first being step `first`, on all cores.

    The arguments are the fields of the tuples below, in order; see `arrays`. Writes the sums of
    errors of the chunks to `errors`, and to `done` the number of steps taken and the reason why
    training stopped: NONE; or the row of a gradient that is not finite, nothing having changed; or
    OVERFLOW if after the update a weight, a slot or a running statistic is not finite.
    """
    steps_on_all_cores(
        ProgramTables(plan, passes, operations, settings),
        BankArrays(value, halves, grad, slots, frozen, state),
        SampleArrays(data, goals, rows, goal_rows, points, drawing, draw_settings),
        Workspaces(spaces, flows, partial),
        UpdateArrays(how, optimizer_settings, schedule_settings, arguments, scratch),
        factor,
        Progress(first, counts, errors, done),
    )


@kernel
def train_alone(
    plan: Table, passes: Table, operations: Table, settings: Numbers,
    value: Numbers, halves: Numbers, grad: Numbers, slots: Numbers, frozen: Table, state: Numbers,
    data: Numbers, goals: Numbers, rows: Table, goal_rows: Table, points: Numbers, drawing: Table,
    draw_settings: Numbers, spaces: Numbers, flows: Numbers, partial: Numbers, how: Table,
    optimizer_settings: Numbers, schedule_settings: Numbers, arguments: Numbers, scratch: Numbers,
    factor: float, first: Index, counts: Table, errors: Numbers, done: Table,
) -> None:  # fmt: skip
    """Do the same as `train`, without threads."""
    steps_on_one_core(
        ProgramTables(plan, passes, operations, settings),
        BankArrays(value, halves, grad, slots, frozen, state),
        SampleArrays(data, goals, rows, goal_rows, points, drawing, draw_settings),
        Workspaces(spaces, flows, partial),
        UpdateArrays(how, optimizer_settings, schedule_settings, arguments, scratch),
        factor,
        Progress(first, counts, errors, done),
    )
