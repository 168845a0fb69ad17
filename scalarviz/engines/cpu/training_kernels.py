"""Kernels of training: many steps in one call, from drawing the samples to updating the weights.

Python calls `train`, and kernels for passes on a whole batch, with the address of a `Job`. A step
draws its samples (the same ones as `data/batches.py`), runs the passes, computes the loss, adds up,
checks and clips the gradients, and updates the weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from scalarviz.core.formulas.randomness import MASK, STREAM_ORDER, STREAM_PICKS, STREAM_POINTS
from scalarviz.engines.codegen.dispatch import (
    Real,
    by_address,
    condition_gradients,
    exact,
    in_parallel,
    inlined,
    inner,
    lowered_scale,
    optimizer_constants,
    optimizer_update,
    philox,
    raised_scale,
    row_loss_backward,
    row_loss_forward,
    scalar_loss_backward,
    scalar_loss_forward,
    schedule_factor,
    scramble,
    unit,
)
from scalarviz.engines.cpu.emitting import get_thread_id, prange
from scalarviz.engines.cpu.products import ONE, ZERO, Index, Numbers, Record, Table
from scalarviz.engines.cpu.records import (
    JOB,
    OPERATION,
    PROGRESS,
    Address,
    BankArrays,
    UpdateArrays,
    address_of,
    array_at,
    bank_of,
    bank_record,
    batch_of,
    batch_record,
    call,
    operations_of,
    passes_of,
    plan_of,
    progress_record,
    record_at,
    room_of,
    room_record,
    samples_of,
    tile_at,
    tiles_of,
    update_of,
    update_record,
)
from scalarviz.engines.cpu.tiles import DO_FLOW, DO_KEEP, count_chunks, first_tile, tile_of
from scalarviz.engines.cpu.wide_products import PARTS, part_bounds

# ---- a pass -------------------------------------------------------------------------------------


@by_address
def pass_on_one_core(job: Address, number: Index) -> None:
    """Run pass `number` on all chunks, one after the other."""
    turn_part(job, number, ZERO, ONE)
    samples = batch_record(job).samples
    chunks, keep = count_chunks(samples), passes_of(job)[number].what & DO_KEEP
    for chunk in range(chunks):
        place = first_tile(chunk, chunks, samples) if keep else ZERO
        call(record_at(job, JOB).chunk_work, (job, number, chunk, place))


@in_parallel
@by_address
def pass_on_all_cores(job: Address, number: Index) -> None:
    """Run pass `number` on all chunks in parallel.

    If there are fewer workspaces than chunks, each thread has one workspace.
    """
    samples = batch_record(job).samples
    chunks, keep = count_chunks(samples), passes_of(job)[number].what & DO_KEEP
    places, work = room_record(job).places, record_at(job, JOB).chunk_work
    turn_part(job, number, ZERO, ONE)
    for c in prange(np.int64(chunks)):
        chunk = np.uint64(c)
        if keep:
            place = first_tile(chunk, chunks, samples)
        elif places < chunks:
            place = np.uint64(get_thread_id())  # type: ignore[no-untyped-call]  # numba's
        else:
            place = chunk
        call(work, (job, number, chunk, place))


@in_parallel
@by_address
def pass_by_parts(job: Address, number: Index) -> None:
    """Run pass `number` on all chunks in parallel, then add up the gradients of all parameters.

    Each thread adds up the gradients of some outputs, over the chunks in order, in the bank. Each
    chunk has its own workspace, and its operations have no kernel `parameters`.
    """
    chunks, work = count_chunks(batch_record(job).samples), record_at(job, JOB).chunk_work
    ops, parts = operations_of(job), room_record(job).shared
    for p in prange(np.int64(parts)):
        turn_part(job, number, np.uint64(p), parts)
    for c in prange(np.int64(chunks)):
        call(work, (job, number, np.uint64(c), np.uint64(c)))
    for p in prange(np.int64(parts)):
        for k in range(np.uint64(len(ops))):
            add_part(address_of(ops, k), job, np.uint64(p), parts)


@inner
def add_part(place: Address, job: Address, part: Index, parts: Index) -> None:
    """Add up the gradients of a part of an operation's parameters, over the chunks in order."""
    op, tiles = record_at(place, OPERATION), tiles_of(job)
    low, high = part_bounds(part, parts, op.outputs)
    if op.part_of_parameters and low < high:
        for chunk in range(count_chunks(batch_record(job).samples)):
            tile = address_of(tiles, chunk)
            call(op.part_of_parameters, (place, job, tile, low, high))


@inner
def turn_part(job: Address, number: Index, part: Index, parts: Index) -> None:
    """Fill a part of the panels of weights that pass `number` reads in all chunks."""
    ops, flows = operations_of(job), passes_of(job)[number].what & DO_FLOW
    for k in range(np.uint64(len(ops))):
        if flows and ops[k].turn:
            call(ops[k].turn, (address_of(ops, k), job, part, parts))


@by_address
def run_passes(job: Address) -> None:
    """Run all passes of a job in order, without an optimizer."""
    for number in range(np.uint64(len(passes_of(job)))):
        gather_for(job, number)
        call(record_at(job, JOB).run_pass, (job, number))


@inner
def gather_for(job: Address, number: Index) -> None:
    """Compute the statistics of the whole batch that pass `number` needs."""
    which, ops = passes_of(job)[number].gathers, operations_of(job)
    if which > 0:
        k = np.uint64(which - 1)
        call(ops[k].gather, (address_of(ops, k), job))
    elif which < 0:
        k = np.uint64(-which - 1)
        call(ops[k].gather_back, (address_of(ops, k), job))


# ---- training -----------------------------------------------------------------------------------


@by_address
def train(job: Address) -> None:
    """Take the training steps requested in the job's progress record.

    Writes the losses, the number of steps taken, and why training stopped: NONE if it did not; the
    index of a non-finite gradient, in which case nothing is changed; or OVERFLOW if a weight, slot
    or running statistic is not finite after the update.
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
        mean = loss_scale(plan, progress.factor, total_weight(job))
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


@exact
def total_weight(job: Address) -> float:
    """Return the total weight of a step's samples (1 if it is 0), or their number if unweighted."""
    batch, last = batch_of(job, Real), plan_of(job).out_size
    if batch.goals.shape[1] == last:
        return float(batch.samples)
    total = 0.0
    for i in range(batch.samples):
        total += batch.goals[batch.goal_rows[i], last]
    return total if total > 0.0 else 1.0


@inlined
def loss_scale(plan: Record, factor: float, weight: float) -> float:
    """Return the factor that normalizes the loss of a batch with samples of this total weight."""
    if plan.mean_of == ZERO:
        return factor
    return float(factor / (weight * plan.mean_of))


@inner
def end_step(job: Address, before: Numbers, state: Numbers, progress: Record) -> bool:
    """Add up the gradients of the chunks and run the optimizer; return whether to continue.

    `before` is the bank's state before the step. A skipped or rejected step resets the running
    statistics to it.
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
    """Return whether all numbers of an array are finite."""
    bad = False
    for i in range(len(numbers)):
        bad |= numbers[i] * 0.0 != 0.0
    return not bad


@inner
def copy_numbers(numbers: Numbers, others: Numbers) -> None:
    """Copy `numbers` to `others`, an array of the same length."""
    for i in range(len(numbers)):
        others[i] = numbers[i]


# ---- samples of a step --------------------------------------------------------------------------


@inner
def begin(job: Address, step: Index, drawing: Record) -> tuple[Index, Index, Index]:
    """Return a step's sample count, the number of samples before it in the epoch, and the epoch.

    The number of samples is also written to the batch of the job.
    """
    epoch, start = step, np.int64(0)
    if drawing.samples > drawing.size:  # a division takes as long as drawing a few samples
        steps = (drawing.samples + drawing.size - 1) // drawing.size
        epoch = step // steps
        start = (step - epoch * steps) * drawing.size
    count = min(drawing.size, drawing.samples - start)
    batch_record(job).samples = np.uint64(count)
    return count, start, epoch


# A kernel for each way of drawing, which draws the samples of step `number`.


@by_address
def draw_in_order(job: Address, number: Index) -> None:
    """Draw the samples of a step in the order of the table."""
    samples, step = samples_of(job, Real), np.int64(number)
    count, start, _ = begin(job, step - np.int64(samples.settings[0]), samples.drawing)
    for i in range(count):
        samples.rows[i] = samples.goal_rows[i] = start + i


@by_address
def draw_shuffled(job: Address, number: Index) -> None:
    """Draw the samples of a step from a shuffled epoch."""
    samples, step = samples_of(job, Real), np.int64(number)
    count, start, epoch = begin(job, step, samples.drawing)
    shuffle_rows(samples.drawing, epoch, start, count, samples.rows, samples.goal_rows)


@by_address
def draw_picked(job: Address, number: Index) -> None:
    """Draw each sample of a step at random, with replacement."""
    samples, step = samples_of(job, Real), np.int64(number)
    drawing = samples.drawing
    count, _, _ = begin(job, step, drawing)
    for i in range(count):
        u, _ = draw_pair(drawing, STREAM_PICKS, step, i)
        samples.rows[i] = samples.goal_rows[i] = np.int64(u * drawing.samples)


@by_address
def draw_points(job: Address, number: Index) -> None:
    """Draw random points; the target of a point is the texel that contains it."""
    samples, step = samples_of(job, Real), np.int64(number)
    count, _, _ = begin(job, step, samples.drawing)
    for i in range(count):
        u, v = draw_pair(samples.drawing, STREAM_POINTS, step, i)
        samples.points[i, 0] = u
        samples.points[i, 1] = v
        samples.rows[i] = i
        samples.goal_rows[i] = texel(u, v, samples.settings)


@inner
def draw_pair(drawing: Record, stream: Index, step: Index, i: Index) -> tuple[float, float]:
    """Return two random numbers from 0 to 1 for draw i of a step."""
    low, high, _, _ = philox(
        np.int64(i), np.int64(0), np.int64(step) & MASK, stream,
        drawing.seed_low, drawing.seed_high,
    )  # fmt: skip
    return unit(low), unit(high)


@inner
def shuffle_rows(
    drawing: Record, epoch: Index, start: Index, count: Index, rows: Table, goal_rows: Table
) -> None:
    """Write the rows of `count` samples of a shuffled epoch, from position `start`."""
    samples = drawing.samples
    zero = np.int64(0)
    k0, k1, k2, k3 = philox(
        zero, zero, epoch & MASK, STREAM_ORDER, drawing.seed_low, drawing.seed_high
    )
    bits = np.int64(0)
    while (np.int64(1) << bits) < samples:
        bits += 1
    mask, shift = (np.int64(1) << bits) - 1, (bits + 1) >> 1
    for i in range(count):
        row = scramble(np.int64(start + i), mask, shift, k0, k1, k2, k3)
        while row >= samples:
            row = scramble(row, mask, shift, k0, k1, k2, k3)
        rows[i] = goal_rows[i] = row


@inner
def texel(u: float, v: float, settings: Numbers) -> Index:
    """Return the table row of the texel at a point; see `batches.Points`."""
    width, height = settings[0], settings[1]
    x = np.floor((settings[2] * u + settings[3] * v + settings[6]) * width)
    y = np.floor((settings[4] * u + settings[5] * v + settings[7]) * height)
    column = np.int64(min(max(x, 0.0), width - 1.0))
    return np.int64(min(max(y, 0.0), height - 1.0)) * np.int64(width) + column


# ---- loss, on one tile --------------------------------------------------------------------------

Kernel = Callable[..., Any]


def error_kernel(forward: Kernel) -> Kernel:
    """Return a kernel that adds a tile's errors, computed with `forward`, to its chunk's errors."""

    @by_address
    def add_errors(job: Address, place: Address, chunk: Index) -> None:
        plan, tile, batch = plan_of(job), tile_at(place, Real), batch_record(job)
        size, has_weights = plan.out_size, batch.goal_columns > plan.out_size
        weights = tile_of(tile.space, plan.goals + size, ONE, tile.stride)
        errors = array_at(batch.errors, chunk + ONE, np.float64)
        count = ONE if has_weights else tile.n
        for i in range(ZERO, tile.n, count):  # with weights, each sample separately
            space = array_at(address_of(tile.space, i), tile.n, tile.space.dtype)
            p = tile_of(space, plan.out, size, tile.stride)
            t = tile_of(space, plan.goals, size, tile.stride)
            error = forward(ZERO, p, t, count)
            errors[chunk] += error * weights[ZERO, i] if has_weights else error

    return add_errors


def delta_kernel(backward: Kernel) -> Kernel:
    """Return a kernel that computes the gradient of a tile's outputs with `backward`."""

    @by_address
    def write_delta(job: Address, place: Address, chunk: Index) -> None:
        plan, tile = plan_of(job), tile_at(place, Real)
        p = tile_of(tile.space, plan.out, plan.out_size, tile.stride)
        t = tile_of(tile.space, plan.goals, plan.out_size, tile.stride)
        gradient = tile_of(tile.flow, plan.flow_out, plan.out_size, tile.stride)
        scale = Real(batch_record(job).scale)
        backward(ZERO, p, t, scale, gradient, tile.n)
        if batch_record(job).goal_columns > plan.out_size:
            weights = tile_of(tile.space, plan.goals + plan.out_size, ONE, tile.stride)
            for k in range(plan.out_size):
                for i in range(tile.n):
                    gradient[k, i] *= weights[ZERO, i]

    return write_delta


scalar_error, scalar_delta = error_kernel(scalar_loss_forward), delta_kernel(scalar_loss_backward)
row_error, row_delta = error_kernel(row_loss_forward), delta_kernel(row_loss_backward)


# ---- gradients and weights ----------------------------------------------------------------------

# Indices in a bank's state: the loss scale and its counters for mixed precision.
LOSS_SCALE, GOOD_STEPS, SKIPPED = [np.uint64(i) for i in range(3)]

BLOCK = np.uint64(4096)  # parameters whose gradients remain in the cache while chunks are added up
MANY = np.uint64(8)  # number of blocks from which several cores add them up

NONE, OVERFLOW = -1, -2  # see `operations`


@inner
def adds_in_bank(job: Address) -> bool:
    """Return whether the gradients of the only chunk are added up directly in the bank."""
    return bool(room_record(job).partial == bank_record(job).grad)


@by_address
def add_chunks(job: Address, low: Index, high: Index) -> None:
    """Add the gradients of all chunks, for operations `low` to before `high`, to the bank.

    A layer used twice in a network has two operations; the gradient of the later operation is
    added first.
    """
    k = high
    while k > low:
        k -= ONE
        for block in range(blocks_of(job, k)):
            add_block(job, k, block)


@in_parallel
@by_address
def add_chunks_on_all_cores(job: Address, low: Index, high: Index) -> None:
    """Do the same as `add_chunks`, in parallel for operations with many parameters."""
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
    """Return the number of blocks into which the parameters of operation `k` are divided."""
    return (operations_of(job)[k].count + BLOCK - ONE) // BLOCK


@inner
def add_block(job: Address, k: Index, block: Index) -> None:
    """Add up the gradients of all chunks for one block of the parameters of operation `k`."""
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
    """Return the index of the first non-frozen, non-finite gradient; NONE if all are finite."""
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
    """Return the factor that scales the non-frozen gradients to a norm of at most `most`."""
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
    """Update a dynamic loss scale, and return whether this step must be skipped."""
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
    """Run the optimizer for one step, and write the result to the job's progress record.

    The result is NONE on success; the index of a non-finite gradient, in which case nothing is
    changed; or OVERFLOW if an updated weight or slot is not finite. The number of steps taken
    increases by 1 unless the step is skipped.
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
    update.finite = ONE
    move_spans(job, update_of(job, Real), update)
    progress.count += ONE
    progress.result = NONE if update.finite else OVERFLOW


@inner
def move_spans(job: Address, update: UpdateArrays, record: Record) -> None:
    """Run the optimizer on each span of rows, with its learning rate and its decay."""
    for k in range(record.span_count):
        span = update.spans[k]
        is_own, decays = span.rate == span.rate, span.decay == span.decay
        update.arguments[span.place] = span.decay if decays else update.exact[span.place]
        update.arguments[0] = span.rate * record.factor if is_own else update.exact[0]
        in_parts = record.in_parts if span.end - span.first > MANY * BLOCK else ZERO
        call(in_parts or record.move_rows, (job, span.first, span.end))


@in_parallel
@by_address
def move_on_all_cores(job: Address, first: Index, end: Index) -> None:
    """Run the optimizer on the rows `first` to before `end` in parallel."""
    for p in prange(np.int64(PARTS)):
        low, high = part_bounds(np.uint64(p), PARTS, end - first)
        call(update_record(job).move_rows, (job, first + low, first + high))


@inner
def conditioned(job: Address, bank: BankArrays, update: UpdateArrays) -> None:
    """Choose the gradients that the update reads: the bank's, or processed ones in `scratch`.

    Processed gradients are clipped and regularized, and non-finite ones are replaced by 0.
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
    """Write the optimizer's settings and its constants for a step after the learning rate."""
    update = update_of(job, Real)
    settings, exact = update.settings, update.exact
    count = len(settings)
    for k in range(count):
        exact[1 + k] = settings[k]
    optimizer_constants(ZERO, float(step) + 1.0, settings, exact[1 + count :])
    for k in range(len(exact)):
        update.arguments[k] = exact[k]


@by_address
def move_rows_of_bank(job: Address, first: Index, end: Index) -> None:
    """Update the non-frozen parameters of some rows, and record a result that is not finite."""
    bank, update = bank_of(job, Real), update_of(job, Real)
    if not optimizer_update(
        ZERO, bank.value, update.gradient, bank.slots, update.arguments, bank.frozen, first, end
    ):
        update_record(job).finite = ZERO


# ---- half precision in software: float32 numbers rounded to the nearest float16 -----------------

# Bits of a float32: mask of all except the sign; the smallest normal half; the smallest number that
# rounds to infinity; and infinity.
MAGNITUDE, SMALLEST, TOO_LARGE, INFINITE = 0x7FFFFFFF, 0x38800000, 0x477FF000, 0x7F800000
FRACTION, LEADING_ONE = 0x7FFFFF, 0x800000
DROPPED = 13  # binary digits of a float32 beyond those of a normal half
UNIT = 2.0**-24  # the smallest half above 0


@inner
def half(x: Any) -> Any:
    """Round x to the nearest half-precision number, ties to even; beyond 65,504 to infinity."""
    bits: Any = np.int64(np.float32(x).view(np.int32))
    magnitude = bits & MAGNITUDE
    rounded: Any = magnitude + ((1 << (DROPPED - 1)) - 1) + ((magnitude >> DROPPED) & 1)
    rounded = (rounded >> DROPPED) << DROPPED
    rounded = INFINITE if magnitude >= TOO_LARGE else rounded
    rounded = magnitude if magnitude > INFINITE else rounded  # NaN
    normal = np.int32(rounded).view(np.float32)
    # Below the smallest normal half, halves are integer multiples of UNIT.
    exponent = magnitude >> 23
    digits = (magnitude & FRACTION) | LEADING_ONE
    shift: Any = max(min(126 - exponent, 30), 0)
    whole = digits >> shift
    left = digits - (whole << shift)
    middle = (1 << shift) >> 1
    whole += 1 if left > middle or (left == middle and whole & 1) else 0
    size = normal if magnitude >= SMALLEST else np.float32(whole) * np.float32(UNIT)
    return -size if bits < 0 else size


@by_address
def round_bank(job: Address) -> None:
    """Round the weights of a job's bank to half precision, and write them to `halves`."""
    bank = bank_of(job, Real)
    for i in range(np.uint64(len(bank.value))):
        bank.halves[i] = half(bank.value[i])


@by_address
def round_rows(place: Address, rows: Index, n: Index, stride: Index) -> None:
    """Round n numbers of each row to half precision in place; rows are `stride` apart."""
    numbers = array_at(place, rows * stride, Real)
    for r in range(rows):
        for t in range(n):
            numbers[r * stride + t] = half(numbers[r * stride + t])


# ---- many networks ------------------------------------------------------------------------------


@in_parallel
@by_address
def train_networks(jobs: Address, count: Index, groups: Index, train: Address) -> None:
    """Call `train` for each of `count` jobs whose network has not stopped.

    The networks of a group share workspaces, so they are trained one after the other.
    """
    for group in prange(np.int64(groups)):
        table = array_at(jobs, count, JOB)
        for r in range(np.uint64(group), count, groups):
            if record_at(table[r].progress, PROGRESS).result == NONE:
                call(train, (address_of(table, r),))
