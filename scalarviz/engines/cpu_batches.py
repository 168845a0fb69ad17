"""Whole batches and whole training steps, made of the tiles of `cpu_kernels`.

A batch is cut into chunks, as its size alone says, and a chunk into tiles. Each chunk has a
workspace and a gradient of its own, so that chunks can run in parallel; their gradients are added
up in the order of the chunks. So the bits do not depend on how many threads there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from scalarviz.engines.cpu_kernels import (
    Table,
    chunk_bounds,
    input_gradient,
    load_tile,
    operation_forward,
    parameter_gradient,
    store_tile,
    tile_of,
)
from scalarviz.engines.cpu_products import ONE, TILE, ZERO, Index, Numbers
from scalarviz.engines.dispatch import (
    condition_gradients,
    kernel,
    loss_backward,
    loss_forward,
    optimizer_constants,
    optimizer_update,
    parallel_kernel,
    schedule_factor,
)

Plan = Any  # an array of the fields below, unsigned

# The fields of a plan: where things are in a tile's workspace, and which formulas run.
(
    OUT, OUT_SIZE, GOALS, FLOW_OUT_0, PARALLEL, LOSS, OPTIMIZER, SCHEDULE, REFUSE
) = [np.uint64(i) for i in range(9)]  # fmt: skip
PLAN_FIELDS = 9

# The fields of the numbers that say how to step.
RATE, CLIP_NORM, CLIP_VALUE, L1, L2 = [np.uint64(i) for i in range(5)]


@parallel_kernel
def load_batch(spaces: Numbers, start: Index, data: Numbers, order: Table, tiles: Table) -> None:
    """Every tile's samples into its workspace; `tiles` has each one's first sample and count."""
    for j in prange(len(tiles)):
        load_tile(spaces[j], start, data, order, tiles[j, 0], tiles[j, 1])


@kernel
def store_batch(spaces: Numbers, start: Index, data: Numbers, tiles: Table) -> None:
    """Every tile's samples out of its workspace, as the rows of `data`."""
    for j in range(len(tiles)):
        store_tile(spaces[j], start, data, tiles[j, 0], tiles[j, 1])


@parallel_kernel
def forward_tiles(
    ops: Table, settings: Numbers, value: Numbers, spaces: Numbers, tiles: Table
) -> None:
    """Operations on every tile of a batch."""
    for j in prange(len(tiles)):
        for k in range(len(ops)):
            operation_forward(ops[k], settings[k], value, spaces[j], ZERO, tiles[j, 1])


@parallel_kernel
def backward_tiles(
    ops: Table, settings: Numbers, value: Numbers, spaces: Numbers, flows: Numbers, tiles: Table,
    partial: Numbers,
) -> None:  # fmt: skip
    """Operations backward on every tile; each chunk adds to its own row of `partial`."""
    for chunk in prange(len(partial)):
        for j in range(len(tiles)):
            if tiles[j, 2] == np.uint64(chunk):
                n = tiles[j, 1]
                for k in range(len(ops) - 1, -1, -1):
                    parameter_gradient(ops[k], partial[chunk], spaces[j], ZERO, flows[j], ZERO, n)
                    input_gradient(ops[k], settings[k], value, spaces[j], ZERO, flows[j], ZERO, n)


@kernel
def evaluate_chunk(
    plan: Plan, ops: Table, settings: Numbers, value: Numbers, data: Numbers, order: Table,
    chunk: Index, chunks: Index, space: Numbers, outputs: Numbers,
) -> None:  # fmt: skip
    """The outputs for one chunk; nothing but the outputs is kept."""
    first, end = chunk_bounds(chunk, chunks, np.uint64(len(data)))
    while first < end:
        n = min(TILE, end - first)
        load_tile(space, ZERO, data, order, first, n)
        for k in range(len(ops)):
            operation_forward(ops[k], settings[k], value, space, ZERO, n)
        store_tile(space, plan[OUT], outputs, first, n)
        first += n


@parallel_kernel
def evaluate(
    plan: Plan, ops: Table, settings: Numbers, value: Numbers, data: Numbers, order: Table,
    space: Numbers, outputs: Numbers,
) -> None:  # fmt: skip
    """The outputs for a batch; `space` has a workspace for each chunk."""
    chunks = np.uint64(len(space))
    for chunk in prange(chunks):
        c = np.uint64(chunk)
        evaluate_chunk(plan, ops, settings, value, data, order, c, chunks, space[c], outputs)


@kernel
def train_chunk(
    plan: Plan, ops: Table, settings: Numbers, value: Numbers, data: Numbers, goals: Numbers,
    order: Table, chunk: Index, chunks: Index, scale: float, space: Numbers, flow: Numbers,
    grad: Numbers,
) -> float:  # fmt: skip
    """Forward, loss and backward of one chunk: its sum of errors; `grad` becomes its gradient."""
    for row in range(np.uint64(len(grad))):
        grad[row] = grad.dtype.type(0)
    size = plan[OUT_SIZE]
    total = 0.0
    first, end = chunk_bounds(chunk, chunks, np.uint64(len(order)))
    while first < end:
        n = min(TILE, end - first)
        load_tile(space, ZERO, data, order, first, n)
        for k in range(len(ops)):
            operation_forward(ops[k], settings[k], value, space, ZERO, n)
        load_tile(space, plan[GOALS], goals, order, first, n)
        p, t = tile_of(space, plan[OUT], size), tile_of(space, plan[GOALS], size)
        total += loss_forward(plan[LOSS], p, t, n)
        loss_backward(plan[LOSS], p, t, scale, tile_of(flow, plan[FLOW_OUT_0], size), n)
        for k in range(len(ops) - 1, -1, -1):
            parameter_gradient(ops[k], grad, space, ZERO, flow, ZERO, n)
            if k > 0:  # nobody asks for the gradient by the inputs of the network
                input_gradient(ops[k], settings[k], value, space, ZERO, flow, ZERO, n)
        first += n
    return total


@kernel
def train_chunks(
    plan: Plan, ops: Table, settings: Numbers, value: Numbers, data: Numbers, goals: Numbers,
    order: Table, scale: float, space: Numbers, flow: Numbers, partial: Numbers, errors: Numbers,
) -> None:  # fmt: skip
    """Every chunk, one after the other."""
    chunks = np.uint64(len(space))
    for c in range(chunks):
        errors[c] = train_chunk(
            plan, ops, settings, value, data, goals, order, c, chunks, scale, space[c], flow[c],
            partial[c],
        )  # fmt: skip


@parallel_kernel
def train_chunks_in_parallel(
    plan: Plan, ops: Table, settings: Numbers, value: Numbers, data: Numbers, goals: Numbers,
    order: Table, scale: float, space: Numbers, flow: Numbers, partial: Numbers, errors: Numbers,
) -> None:  # fmt: skip
    """Every chunk, on all cores: the same bits."""
    chunks = np.uint64(len(space))
    for chunk in prange(chunks):
        c = np.uint64(chunk)
        errors[c] = train_chunk(
            plan, ops, settings, value, data, goals, order, c, chunks, scale, space[c], flow[c],
            partial[c],
        )  # fmt: skip


@kernel
def add_chunks(partial: Numbers, grad: Numbers) -> None:
    """grad becomes the sum of the gradients of the chunks, in their order."""
    for row in range(np.uint64(len(grad))):
        grad[row] = partial[ZERO, row]
    for c in range(ONE, np.uint64(len(partial))):
        for row in range(np.uint64(len(grad))):
            grad[row] += partial[c, row]


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
    return -1


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
def move(
    plan: Plan, value: Numbers, grad: Numbers, slots: Numbers, frozen: Table, how: Numbers,
    optimizer_settings: Numbers, schedule_settings: Numbers, arguments: Numbers, scratch: Numbers,
    step: Index,
) -> Index:  # fmt: skip
    """One step of the optimizer; or the row of a bad gradient, and then nothing has changed."""
    if plan[REFUSE] == ONE:
        bad = first_bad(grad, frozen)
        if bad >= 0:
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
    exact = np.zeros(len(arguments))
    exact[0] = how[RATE] * schedule_factor(plan[SCHEDULE], float(step), schedule_settings)
    count = len(optimizer_settings)
    for k in range(count):
        exact[1 + k] = optimizer_settings[k]
    optimizer_constants(plan[OPTIMIZER], float(step + 1), optimizer_settings, exact[1 + count :])
    for k in range(len(arguments)):
        arguments[k] = exact[k]
    optimizer_update(plan[OPTIMIZER], value, scratch, slots, arguments, frozen, 0, rows)
    return -1


@kernel
def train(
    plan: Plan, ops: Table, settings: Numbers, value: Numbers, grad: Numbers, slots: Numbers,
    frozen: Table, data: Numbers, goals: Numbers, order: Table, loss_scale: float, how: Numbers,
    optimizer_settings: Numbers, schedule_settings: Numbers, arguments: Numbers, space: Numbers,
    flow: Numbers, partial: Numbers, scratch: Numbers, errors: Numbers, losses: Numbers,
    first_step: Index,
) -> tuple[Index, Index]:  # fmt: skip
    """A step for each place in `losses`, all on the same samples.

    It returns how many steps were taken; and the row of a gradient that went bad, before anything
    was changed by it, or -1.
    """
    for k in range(len(losses)):
        if plan[PARALLEL] == ONE:
            train_chunks_in_parallel(
                plan, ops, settings, value, data, goals, order, loss_scale, space, flow, partial,
                errors,
            )  # fmt: skip
        else:
            train_chunks(
                plan, ops, settings, value, data, goals, order, loss_scale, space, flow, partial,
                errors,
            )  # fmt: skip
        add_chunks(partial, grad)
        losses[k] = 0.0
        for error in errors:
            losses[k] += error * loss_scale
        bad = move(
            plan, value, grad, slots, frozen, how, optimizer_settings, schedule_settings, arguments,
            scratch, first_step + k,
        )  # fmt: skip
        if bad >= 0:
            return k, bad
    return len(losses), -1
