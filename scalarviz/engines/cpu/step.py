"""The work of a pass on one chunk of a batch, tile by tile.

A batch is cut into chunks, whose number depends on its size only, and a chunk into tiles. Each
chunk has its own gradient, so that chunks can run in parallel; the gradients are added up in the
order of the chunks. So no bit of a result depends on the number of threads, or on whether a step is
one pass or goes moment by moment.

    job           address of a `Job`
    space, flow   workspaces of values and of gradients
    n, stride     number of samples of a tile, and of numbers from one row to the next
    what          flags of a pass, added up
"""

from __future__ import annotations

import numpy as np

from scalarviz.engines.codegen.dispatch import Real, by_address, inlined, inner
from scalarviz.engines.cpu.arrays import (
    Address,
    Workspaces,
    batch_of,
    operations_of,
    passes_of,
    plan_of,
    room_of,
    tiles_of,
)
from scalarviz.engines.cpu.memory import address_of, call, record_at
from scalarviz.engines.cpu.products import ONE, TILE, ZERO, Index, Numbers, Record, Table
from scalarviz.engines.cpu.records import JOB
from scalarviz.engines.cpu.tiles import (
    chunk_bounds,
    count_chunks,
    load_tile,
    row_stride,
    store_tile,
)

# Flags of a pass.
(
    DO_LOAD,  # copy samples to the workspaces
    DO_FORWARD,  # run the operations forward
    DO_STORE,  # copy the outputs to a table
    DO_AIM,  # copy the targets to the workspaces
    DO_ERROR,  # compute the loss
    DO_DELTA,  # compute the gradient of the loss with respect to the outputs
    DO_UPSTREAM,  # or copy that gradient from a table
    DO_WEIGHTS,  # compute the gradients of the parameters
    DO_FLOW,  # compute the gradients of the inputs of operations
    DO_RETURN,  # copy the gradients of the network's inputs to a table
    DO_KEEP,  # use a separate workspace for each tile
    DO_LEARN,  # run forward as in training: statistics of the batch, dropout
) = [1 << i for i in range(12)]


@by_address
def chunk_work(job: Address, number: Index, chunk: Index, place: Index) -> None:
    """Run pass `number` of a program on one chunk, and add its sum of errors to the batch's.

    `place` is the index of the workspace of its first tile.
    """
    batch, room, plan = batch_of(job, Real), room_of(job, Real), plan_of(job)
    ops, todo = operations_of(job), passes_of(job)[number]
    what, low, high, samples = todo.what, np.uint64(todo.low), np.uint64(todo.high), batch.samples
    first, end = chunk_bounds(chunk, count_chunks(samples), samples)
    tiles = tiles_of(job)
    at, tile, stride = address_of(tiles, chunk), tiles[chunk], row_stride(samples)
    begin_tiles(tile, room, chunk, stride, what & DO_LEARN, batch.steps)
    if what & DO_WEIGHTS:
        clear_gradients(ops, low, high, room.partial[chunk])
    while first < end:
        n = min(TILE, end - first)
        space, flow = room.spaces[place], room.flows[place]
        tile.first, tile.n = first, n
        tile.space, tile.flow = address_of(space, ZERO), address_of(flow, ZERO)
        if what & DO_LOAD:
            load_tile(space, ZERO, batch.data, batch.rows, first, n, stride)
        if what & DO_FORWARD:
            for k in range(low, high):
                call(ops[k].forward, (address_of(ops, k), job, at))
                if plan.half:
                    round_buffer(job, space, ops[k].target, ops[k].outputs, n, stride)
        if what & DO_STORE:
            store_tile(space, plan.out, batch.outputs, first, n, stride)
        if what & DO_AIM:
            load_tile(space, plan.goals, batch.goals, batch.goal_rows, first, n, stride)
        if what & DO_ERROR:
            call(plan.loss, (job, at, chunk))
        if what & DO_DELTA:
            call(plan.loss_back, (job, at, chunk))
        if what & DO_UPSTREAM:
            load_tile(flow, plan.flow_out, batch.goals, batch.goal_rows, first, n, stride)
        if plan.half and what & (DO_DELTA | DO_UPSTREAM):
            round_buffer(job, flow, plan.flow_out, plan.out_size, n, stride)
        if what & (DO_WEIGHTS | DO_FLOW):
            back = high
            while back > low:
                back -= ONE
                if what & DO_WEIGHTS and ops[back].parameters:
                    call(ops[back].parameters, (address_of(ops, back), job, at))
                if what & DO_FLOW and back >= plan.first_needed:
                    call(ops[back].back, (address_of(ops, back), job, at))
                    if plan.half:
                        op = ops[back]
                        round_buffer(job, flow, op.flow_in, op.inputs, n, stride)
                        round_buffer(job, flow, op.flow_second, op.seconds, n, stride)
        if what & DO_RETURN:
            store_tile(flow, plan.flow_in, batch.outputs, first, n, stride)
        if what & DO_KEEP:
            place = place + ONE
        first += n


@inlined
def round_buffer(
    job: Address, space: Numbers, start: Index, rows: Index, n: Index, stride: Index
) -> None:
    """Round the numbers of a buffer to half."""
    call(record_at(job, JOB).round_rows, (address_of(space, start * stride), rows, n, stride))


@inner
def begin_tiles(
    tile: Record, room: Workspaces, chunk: Index, stride: Index, learning: Index, steps: Index
) -> None:
    """Write what all tiles of a chunk share to their record."""
    tile.space_size, tile.flow_size = room.spaces.shape[1], room.flows.shape[1]
    tile.partial, tile.gradients = address_of(room.partial, chunk), room.partial.shape[1]
    tile.stride, tile.learning, tile.steps = stride, learning, steps


@inner
def clear_gradients(ops: Table, low: Index, high: Index, partial: Numbers) -> None:
    """Set the gradients of the parameters of operations `low` to before `high` to 0, in a chunk."""
    zero = partial.dtype.type(0)
    for k in range(low, high):
        first = ops[k].gradients
        for row in range(first, first + ops[k].count):
            partial[row] = zero
