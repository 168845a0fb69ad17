"""Kernels that train networks of equal shape in the lanes of a vector, one network per lane.

Each number of a sample in a workspace, and each parameter, is repeated for every lane. So the
kernels of activations, losses and optimizers are the same as for a single network, with more
samples and parameters. Kernels that read weights are in this file; they add numbers in the same
order, so that results have the same bits.

    op           the operation's record; its parameter indices are multiplied by the lane count
    n, stride    number of samples times lanes; it is also the distance between rows
    reader       address of the job of a single network, which draws samples and adds up errors
"""

from __future__ import annotations

import numpy as np

from scalarviz.engines.codegen.dispatch import Real, by_address, exact, inlined, inner
from scalarviz.engines.cpu.products import (
    FEW,
    FOUR,
    ONE,
    THREE,
    TWO,
    ZERO,
    Four,
    Index,
    Numbers,
    Record,
    Table,
    add_lanes,
    four_rows,
    lane_count,
    load_four,
    load_lanes,
    multiply,
    multiply_add,
    multiply_add_four,
    not_unrolled,
    spread,
    store_four,
    store_lanes,
)
from scalarviz.engines.cpu.records import (
    JOB,
    SAMPLES,
    Address,
    BankView,
    Tile,
    address_of,
    array_at,
    bank_of,
    batch_of,
    batch_record,
    call,
    operations_of,
    plan_of,
    progress_record,
    record_at,
    room_of,
    tiles_of,
)
from scalarviz.engines.cpu.tiles import begin_tiles, row_stride
from scalarviz.engines.cpu.training_kernels import LOSS_SCALE, end_step, loss_scale, sum_of

EIGHT, TWELVE = np.uint64(8), np.uint64(12)

# ---- affine -------------------------------------------------------------------------------------


@inner
def forward_of_lanes(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """z = W x + b, for the network in each lane."""
    space, lanes, stride = tile.space, lane_count(tile.space), tile.stride
    biases = bank.value[: op.has_biases * np.uint64(len(bank.value))]
    affine_of_lanes(
        bank.value, op.weights, op.inputs * lanes, lanes, biases, op.biases, space,
        op.source * stride, op.target * stride, op.inputs, op.outputs, tile.n, stride,
    )  # fmt: skip


@inner
def inputs_of_lanes(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Gradient of the inputs, for the network in each lane: W transposed, times g."""
    flow, lanes, stride = tile.flow, lane_count(tile.flow), tile.stride
    affine_of_lanes(
        bank.value, op.weights, lanes, op.inputs * lanes, bank.value[:0], op.biases, flow,
        op.flow_out * stride, op.flow_in * stride, op.outputs, op.inputs, tile.n, stride,
    )  # fmt: skip


@inner
def affine_of_lanes(
    w: Numbers, first: Index, across: Index, down: Index, biases: Numbers, bias: Index,
    x: Numbers, x0: Index, z0: Index, inputs: Index, outputs: Index, n: Index, stride: Index,
) -> None:  # fmt: skip
    """Compute `products.affine` within one workspace, for the network in each lane."""
    lanes = lane_count(x)
    samples, c = n // lanes, spread(w.dtype.type(0))
    for o in range(ZERO, outputs):
        if len(biases):
            c = load_lanes(biases, bias + o * lanes)
        for t in range(ZERO, samples, FOUR):
            places, sums = four_rows(ZERO, lanes, t, samples - ONE), (c, c, c, c)
            r, at = first + o * across, x0
            for _ in range(inputs):
                not_unrolled()
                sums = multiply_add_four(load_four(x, places, at), load_lanes(w, r), sums)
                at += stride
                r += down
            store_four(x, places, z0 + o * stride, sums)


@inner
def parameters_of_lanes(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Add the gradients of W and b, for each lane: outer products, summed over the samples."""
    space, flow, grad, stride = tile.space, tile.flow, tile.partial, tile.stride
    lanes = lane_count(space)
    samples, x, g = tile.n // lanes, op.source * stride, op.flow_out * stride
    for o in range(ZERO, op.outputs):
        at = op.gradients + o * op.inputs * lanes
        if samples <= FEW:
            add_few(grad, at, space, flow, x, g + o * stride, op.inputs, samples, stride)
        else:
            add_products(grad, at, space, flow, x, g + o * stride, op.inputs, samples, stride)
    if op.has_biases == ONE:
        at = op.gradients + (op.count - op.outputs * lanes)
        for o in range(ZERO, op.outputs):
            add_row(grad, at + o * lanes, flow, g + o * stride, samples)


@inner
def add_few(
    grad: Numbers, first: Index, x: Numbers, g: Numbers, x0: Index, g0: Index, inputs: Index,
    samples: Index, stride: Index,
) -> None:  # fmt: skip
    """grad[i] += sum over at most FEW samples of g * x[i], added as in `products.outer_of_few`."""
    lanes = lane_count(g)
    for i in range(ZERO, inputs):
        s = load_lanes(grad, first + i * lanes)
        for t in range(ZERO, samples * lanes, lanes):
            not_unrolled()
            s = multiply_add(load_lanes(g, g0 + t), load_lanes(x, x0 + i * stride + t), s)
        store_lanes(grad, first + i * lanes, s)


@inner
def add_products(
    grad: Numbers, first: Index, x: Numbers, g: Numbers, x0: Index, g0: Index, inputs: Index,
    samples: Index, stride: Index,
) -> None:  # fmt: skip
    """grad[i] += sum over the samples of g * x[i], added in the order of `products.outer`."""
    lanes = lane_count(g)
    q = four_samples(g, g0)
    for i in range(ZERO, inputs):
        at, b = first + i * lanes, x0 + i * stride
        s = sum_of_products(q, four_samples(x, b))
        if samples > FOUR:
            further = four_products(x, g, b, g0, FOUR)
            if samples > EIGHT:
                s = plus(s, four_products(x, g, b, g0, EIGHT))
                if samples > TWELVE:
                    further = plus(further, four_products(x, g, b, g0, TWELVE))
            s = plus(s, further)
        store_lanes(grad, at, plus(load_lanes(grad, at), s))


@inlined
def four_products(x: Numbers, g: Numbers, b: Index, g0: Index, t: Index) -> Numbers:
    """Return the sum of g * x over samples t to t + 3, added in the order of `fold`."""
    lanes = lane_count(g)
    return sum_of_products(four_samples(g, g0 + t * lanes), four_samples(x, b + t * lanes))


@inlined
def sum_of_products(q: Four, p: Four) -> Numbers:
    """Return the sum of q * p over four samples, added in the order of `fold`."""
    even = plus(multiply(q[0], p[0]), multiply(q[2], p[2]))
    return plus(even, plus(multiply(q[1], p[1]), multiply(q[3], p[3])))


@inlined
def four_samples(x: Numbers, at: Index) -> Four:
    """Load a vector for each of four consecutive samples, the first at index `at`."""
    return load_four(x, four_rows(at, lane_count(x), ZERO, THREE), ZERO)


@inner
def add_row(grad: Numbers, at: Index, g: Numbers, g0: Index, samples: Index) -> None:
    """grad += sum over the samples of g, added in the order of `products.add_row_sums`."""
    lanes = lane_count(g)
    if samples <= FEW:
        s = load_lanes(g, g0)
        if samples == TWO:
            s = plus(s, load_lanes(g, g0 + lanes))
    else:
        s = four_numbers(g, g0)
        if samples > FOUR:
            further = four_numbers(g, g0 + FOUR * lanes)
            if samples > EIGHT:
                s = plus(s, four_numbers(g, g0 + EIGHT * lanes))
                if samples > TWELVE:
                    further = plus(further, four_numbers(g, g0 + TWELVE * lanes))
            s = plus(s, further)
    store_lanes(grad, at, plus(load_lanes(grad, at), s))


@inlined
def four_numbers(g: Numbers, at: Index) -> Numbers:
    """Return the sum of four consecutive vectors of g, added in the order of `fold`."""
    s = four_samples(g, at)
    return plus(plus(s[0], s[2]), plus(s[1], s[3]))


@exact
def plus(a: Numbers, b: Numbers) -> Numbers:
    """Return a + b; the compiler must not fuse this sum with other operations."""
    return add_lanes(a, b)


# ---- training -----------------------------------------------------------------------------------


@by_address
def train_lanes(job: Address) -> None:
    """Take the requested steps for the networks in lanes; see `training_kernels.train`."""
    kernels, plan, bank = record_at(job, JOB), plan_of(job), bank_of(job, Real)
    progress, batch = progress_record(job), batch_record(job)
    reader = kernels.reader
    for k in range(progress.steps):
        if k < kernels.draws:
            draw_samples(job, reader, progress.first + k)
        for row in range(np.uint64(len(bank.grad))):
            bank.grad[row] = 0
        batch.samples = batch_record(reader).samples
        mean = loss_scale(plan, progress.factor, batch.samples)
        batch.scale = Real(mean) * Real(bank.state[LOSS_SCALE])
        batch.steps = progress.count
        pass_of_lanes(job)
        measure(job, reader, k, mean)
        if not end_step(job, bank.state, bank.state, progress):
            break
        progress.taken += ONE


@inner
def draw_samples(job: Address, reader: Address, step: Index) -> None:
    """Draw samples for the network in each lane, and copy their inputs and targets.

    The number of samples is padded to a multiple of four by repeating the first one.
    """
    batch, plan, whole = batch_of(reader, Real), plan_of(reader), room_of(job, Real).spaces[ZERO]
    lanes, kernels = lane_count(whole), record_at(job, JOB)
    order = array_at(kernels.drawn, lanes * lanes, np.uint64)
    drawings, samples = array_at(kernels.drawings, lanes, np.uint64), record_at(reader, JOB).samples
    room = ZERO
    for lane in range(lanes):
        record_at(samples, SAMPLES).drawing = drawings[lane]
        call(record_at(reader, JOB).draw_rows, (reader, step))
        n = batch_record(reader).samples
        room = padded(n)
        for t in range(room):
            order[t * lanes + lane] = batch.rows[t if t < n else ZERO]
    load_lanes_of(whole, ZERO, batch.data, order, room)
    load_lanes_of(whole, plan.goals, batch.goals, order, room)


@inner
def load_lanes_of(whole: Numbers, start: Index, data: Numbers, order: Table, room: Index) -> None:
    """Copy rows of a table to the workspace; `order` has the row for each sample and lane."""
    lanes = lane_count(whole)
    for t in range(ZERO, room * lanes, lanes):
        for i in range(np.uint64(data.shape[1])):
            at = (start + i) * room * lanes + t
            for lane in range(lanes):
                whole[at + lane] = data[order[t + lane], i]


@inner
def measure(job: Address, reader: Address, step: Index, mean: float) -> None:
    """Write the losses of a step: the job of a single network adds up the errors of each lane."""
    plan, batch, room = plan_of(reader), batch_record(reader), room_of(reader, Real)
    tile, n, stride = tiles_of(reader)[ZERO], batch.samples, row_stride(batch.samples)
    space, whole = room.spaces[ZERO], room_of(job, Real).spaces[ZERO]
    lanes, each, progress = lane_count(whole), padded(n), progress_record(job)
    losses = array_at(progress.losses, lanes * progress.steps, np.float64)
    errors = array_at(batch.errors, ONE, np.float64)
    tile.n, tile.stride, tile.space = n, stride, address_of(space, ZERO)
    at = address_of(tiles_of(reader), ZERO)
    for lane in range(lanes):
        for r in range(plan.out_size):
            y, goal = plan.out + r, plan.goals + r
            for t in range(n):
                space[y * stride + t] = whole[(y * each + t) * lanes + lane]
                space[goal * stride + t] = whole[(goal * each + t) * lanes + lane]
        errors[0] = 0.0
        call(plan.loss, (reader, at, ZERO))
        losses[lane * progress.steps + step] = sum_of(errors) * mean


@inlined
def padded(samples: Index) -> Index:
    """Return the number of samples to allocate: above FEW, rounded up to a multiple of four."""
    if samples <= FEW:
        return samples
    return (samples + THREE) // FOUR * FOUR


@inner
def pass_of_lanes(job: Address) -> None:
    """Run all operations forward and backward; none of them may need statistics of the batch."""
    batch, room, plan = batch_record(job), room_of(job, Real), plan_of(job)
    ops, tile = operations_of(job), tiles_of(job)[ZERO]
    at, partial = address_of(tiles_of(job), ZERO), room.partial[ZERO]
    lanes = lane_count(partial)
    n, room_for = batch.samples * lanes, padded(batch.samples) * lanes
    begin_tiles(tile, room, ZERO, room_for, ONE, batch.steps)
    tile.first, tile.n = ZERO, room_for
    tile.space, tile.flow = address_of(room.spaces, ZERO), address_of(room.flows, ZERO)
    for i in range(len(partial)):
        partial[i] = 0
    for k in range(np.uint64(len(ops))):
        call(ops[k].forward, (address_of(ops, k), job, at))
    call(plan.loss_back, (job, at, ZERO))
    flow = room.flows[ZERO]
    for r in range(plan.flow_out, plan.flow_out + plan.out_size):
        for t in range(n, room_for):
            flow[r * room_for + t] = 0
    back = np.uint64(len(ops))
    while back > ZERO:
        back -= ONE
        if ops[back].parameters:
            call(ops[back].parameters, (address_of(ops, back), job, at))
        if back >= plan.first_needed:
            call(ops[back].back, (address_of(ops, back), job, at))
