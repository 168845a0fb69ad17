"""What Python calls: a piece of work on a whole batch, or many training steps in one call."""

from __future__ import annotations

import numpy as np
from numba import prange
from numba.np.ufunc.parallel import get_thread_id

from scalarviz.engines.codegen.dispatch import kernel, parallel_kernel
from scalarviz.engines.cpu.draws import Drawing, draw_rows
from scalarviz.engines.cpu.half import round_all
from scalarviz.engines.cpu.products import ONE, ZERO, Index, Numbers
from scalarviz.engines.cpu.simd import borrowed
from scalarviz.engines.cpu.step import (
    DO_KEEP,
    GATHERS,
    HALF,
    HIGH,
    LOW,
    MEAN_OF,
    WHAT,
    Plan,
    chunk_work,
    count_chunks,
    first_tile,
    row_stride,
)
from scalarviz.engines.cpu.table import gather, gather_back
from scalarviz.engines.cpu.tiles import Table
from scalarviz.engines.cpu.updates import LOSS_SCALE, NONE, OVERFLOW, SKIPPED, add_chunks, move


@kernel
def loss_scale(plan: Plan, factor: float, samples: Index) -> float:
    """By what the errors of a batch are multiplied when they are added up."""
    if plan[MEAN_OF] == ZERO:
        return factor
    return float(factor / (samples * plan[MEAN_OF]))


@kernel
def begin_step(
    plan: Plan, value: Numbers, grad: Numbers, drawing: Drawing, draw_settings: Numbers,
    points: Numbers, rows: Table, goal_rows: Table, weights: Numbers, step: Index,
) -> Index:  # fmt: skip
    """Draw the batch of a step, forget the gradients: how many samples there are."""
    samples = draw_rows(drawing, draw_settings, step, rows, goal_rows, points)
    if plan[HALF]:
        round_all(value, weights)
    for row in range(np.uint64(len(grad))):
        grad[row] = 0
    return np.uint64(samples)


@kernel
def gather_for(
    which: Index, ops: Table, settings: Numbers, state: Numbers, frozen: Table, samples: Index,
    spaces: Numbers, flows: Numbers,
) -> None:  # fmt: skip
    """What must be known of the whole batch before a pass; see the columns of passes."""
    chunks, stride = count_chunks(samples), row_stride(samples)
    if which > 0:
        k = which - 1
        gather(ops[k], settings[k], state, frozen, spaces, samples, chunks, stride)
    elif which < 0:
        k = -which - 1
        gather_back(ops[k], settings[k], frozen, spaces, flows, samples, chunks, stride)


@parallel_kernel
def batch_work(
    what: Index, low: Index, high: Index, plan: Plan, ops: Table, settings: Numbers,
    value: Numbers, state: Numbers, steps: Index, data: Numbers, rows: Table, goals: Numbers,
    goal_rows: Table, outputs: Numbers, samples: Index, spaces: Numbers, flows: Numbers,
    partial: Numbers, scale: float, errors: Numbers,
) -> None:  # fmt: skip
    """Some work on all chunks of a batch, on all cores.

    With fewer workspaces than chunks, each thread has one of its own.
    """
    chunks = count_chunks(samples)
    for chunk in prange(chunks):
        c = np.uint64(chunk)
        if what & DO_KEEP:
            place = first_tile(c, chunks, samples)
        elif len(spaces) < np.int64(chunks):
            place = np.uint64(get_thread_id())  # type: ignore[no-untyped-call]  # numba's
        else:
            place = c
        errors[c] += chunk_work(
            what, low, high, plan, ops, settings, value, state, steps, data, rows, goals,
            goal_rows, outputs, samples, c, chunks, place, spaces, flows, partial[c], scale,
        )  # fmt: skip


@kernel
def end_step(
    plan: Plan, ops: Table, samples: Index, partial: Numbers, value: Numbers, grad: Numbers,
    slots: Numbers, frozen: Table, state: Numbers, before: Numbers, how: Numbers,
    optimizer_settings: Numbers, schedule_settings: Numbers, arguments: Numbers, scratch: Numbers,
    counts: Numbers, done: Numbers,
) -> bool:  # fmt: skip
    """Add up what the chunks found, and move the weights: whether the step is a good one.

    `before` is the state before the step. Where no weight moves, no running statistic does.
    """
    add_chunks(plan, ops, 0, len(ops), partial, count_chunks(samples), grad, state)
    taken = counts[0]
    bad = move(
        plan, value, grad, slots, frozen, state, how, optimizer_settings, schedule_settings,
        arguments, scratch, counts,
    )  # fmt: skip
    statistics = state[SKIPPED + ONE :]
    if counts[0] == taken:
        copy_numbers(before[SKIPPED + ONE :], statistics)
    elif not all_finite(statistics):
        bad = OVERFLOW
    if bad != NONE:
        done[1] = bad
        return False
    done[0] += 1
    return True


@kernel
def all_finite(numbers: Numbers) -> bool:
    """Whether none of some numbers is NaN or infinite."""
    bad = False
    for i in range(len(numbers)):
        bad |= numbers[i] * 0.0 != 0.0
    return not bad


@kernel
def copy_numbers(numbers: Numbers, others: Numbers) -> None:
    """Some numbers into an array of as many."""
    for i in range(len(numbers)):
        others[i] = numbers[i]


@kernel
def train_alone(
    plan: Plan, passes: Table, ops: Table, settings: Numbers, value: Numbers, grad: Numbers,
    slots: Numbers, frozen: Table, state: Numbers, counts: Numbers, data: Numbers, goals: Numbers,
    drawing: Drawing, draw_settings: Numbers, points: Numbers, rows: Table, goal_rows: Table,
    factor: float, how: Numbers, optimizer_settings: Numbers, schedule_settings: Numbers,
    arguments: Numbers, halves: Numbers, spaces: Numbers, flows: Numbers, partial: Numbers,
    scratch: Numbers, errors: Numbers, first: Index, done: Numbers,
) -> None:  # fmt: skip
    """A step for each row of `errors`, from the step `first` on; it becomes the chunks' errors.

    All on one core. `done` becomes how many steps were taken; and the row of a gradient that went
    bad, before anything was changed by it, or NONE; or OVERFLOW, after the weights were changed, if
    one of them, a slot or a running statistic is not finite.
    """
    ops, settings, errors = borrowed(ops), borrowed(settings), borrowed(errors)
    passes, state = borrowed(passes), borrowed(state)
    value, halves, slots = borrowed(value), borrowed(halves), borrowed(slots)
    spaces, flows, partial = borrowed(spaces), borrowed(flows), borrowed(partial)
    weights = halves if plan[HALF] else value
    source = points if len(points) else data
    before = state.copy()
    for k in range(len(errors)):
        copy_numbers(state, before)
        samples = begin_step(
            plan, value, grad, drawing, draw_settings, points, rows, goal_rows, weights, first + k
        )
        mean = loss_scale(plan, factor, samples)
        scale = value.dtype.type(mean) * value.dtype.type(state[LOSS_SCALE])
        chunks = count_chunks(samples)
        for p in range(len(passes)):
            what, low, high = passes[p, WHAT], passes[p, LOW], passes[p, HIGH]
            gather_for(passes[p, GATHERS], ops, settings, state, frozen, samples, spaces, flows)
            for chunk in range(chunks):
                c = np.uint64(chunk)
                place = first_tile(c, chunks, samples) if what & DO_KEEP else ZERO
                errors[k, c] += chunk_work(
                    what, low, high, plan, ops, settings, weights, state, counts[0], source, rows,
                    goals, goal_rows, data, samples, c, chunks, place, spaces, flows, partial[c],
                    scale,
                )  # fmt: skip
        if not end_step(
            plan, ops, samples, partial, value, grad, slots, frozen, state, before, how,
            optimizer_settings, schedule_settings, arguments, scratch, counts, done,
        ):  # fmt: skip
            break


@kernel
def train(
    plan: Plan, passes: Table, ops: Table, settings: Numbers, value: Numbers, grad: Numbers,
    slots: Numbers, frozen: Table, state: Numbers, counts: Numbers, data: Numbers, goals: Numbers,
    drawing: Drawing, draw_settings: Numbers, points: Numbers, rows: Table, goal_rows: Table,
    factor: float, how: Numbers, optimizer_settings: Numbers, schedule_settings: Numbers,
    arguments: Numbers, halves: Numbers, spaces: Numbers, flows: Numbers, partial: Numbers,
    scratch: Numbers, errors: Numbers, first: Index, done: Numbers,
) -> None:  # fmt: skip
    """`train_alone` on all cores: a chunk each."""
    weights = halves if plan[HALF] else value
    source = points if len(points) else data
    before = state.copy()
    for k in range(len(errors)):
        copy_numbers(state, before)
        samples = begin_step(
            plan, value, grad, drawing, draw_settings, points, rows, goal_rows, weights, first + k
        )
        mean = loss_scale(plan, factor, samples)
        scale = value.dtype.type(mean) * value.dtype.type(state[LOSS_SCALE])
        for p in range(len(passes)):
            gather_for(passes[p, GATHERS], ops, settings, state, frozen, samples, spaces, flows)
            batch_work(
                passes[p, WHAT], passes[p, LOW], passes[p, HIGH], plan, ops, settings, weights,
                state, counts[0], source, rows, goals, goal_rows, data, samples, spaces, flows,
                partial, scale, errors[k],
            )  # fmt: skip
        if not end_step(
            plan, ops, samples, partial, value, grad, slots, frozen, state, before, how,
            optimizer_settings, schedule_settings, arguments, scratch, counts, done,
        ):  # fmt: skip
            break
