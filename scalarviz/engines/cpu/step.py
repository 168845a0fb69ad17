"""The work of a pass on one chunk of a batch, tile by tile.

A batch is cut into chunks, whose number depends on its size only, and a chunk into tiles. Each
chunk has its own gradient, so that chunks can run in parallel; the gradients are added up in the
order of the chunks. So no bit of a result depends on the number of threads, or on whether a step is
one pass or goes moment by moment.

    space, flow   workspaces of values and of gradients
    n, stride     number of samples of a tile, and of numbers from one row to the next
    partial       gradient of the parameters of a chunk
    p, t          outputs and targets of a tile
    what          flags of a pass, added up
"""

from __future__ import annotations

import numpy as np

from scalarviz.engines.codegen.dispatch import inner, loss_backward, loss_forward
from scalarviz.engines.cpu.arrays import BankView, BatchArrays, ProgramTables, Tile, Workspaces
from scalarviz.engines.cpu.half import round_rows
from scalarviz.engines.cpu.products import ONE, TILE, ZERO, Index, Numbers, Record, Table
from scalarviz.engines.cpu.table import input_gradient, operation_forward, parameter_gradient
from scalarviz.engines.cpu.tiles import (
    chunk_bounds,
    count_chunks,
    load_tile,
    row_stride,
    store_tile,
    tile_of,
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


@inner
def chunk_work(
    program: ProgramTables, number: Index, bank: BankView, batch: BatchArrays, room: Workspaces,
    chunk: Index, place: Index,
) -> float:  # fmt: skip
    """Run pass `number` of a program on one chunk, and return its sum of errors.

    `place` is the index of the workspace of its first tile.
    """
    todo, plan = program.passes[number], program.plan[0]
    ops, settings, partial = program.operations, program.settings, room.partial[chunk]
    what, low, high, samples = todo.what, todo.low, todo.high, batch.samples
    first, end = chunk_bounds(chunk, count_chunks(samples), samples)
    size, stride = plan.out_size, row_stride(samples)
    if what & DO_WEIGHTS:
        clear_gradients(ops, low, high, partial)
    total = 0.0
    while first < end:
        n = min(TILE, end - first)
        space, flow = room.spaces[place], room.flows[place]
        tile = Tile(space, flow, first, n, stride, what & DO_LEARN != 0, batch.steps)
        if what & DO_LOAD:
            load_tile(space, ZERO, batch.data, batch.rows, first, n, stride)
        if what & DO_FORWARD:
            for k in range(low, high):
                operation_forward(ops[k], settings[k], bank, tile)
                if plan.half:
                    round_rows(space, ops[k].target, ops[k].outputs, n, stride)
        if what & DO_STORE:
            store_tile(space, plan.out, batch.outputs, first, n, stride)
        if what & DO_AIM:
            load_tile(space, plan.goals, batch.goals, batch.goal_rows, first, n, stride)
        p = tile_of(space, plan.out, size, stride)
        t = tile_of(space, plan.goals, size, stride)
        if what & DO_ERROR:
            total += loss_forward(plan.loss, p, t, n)
        if what & DO_DELTA:
            gradient = tile_of(flow, plan.flow_out, size, stride)
            loss_backward(plan.loss, p, t, batch.scale, gradient, n)
        if what & DO_UPSTREAM:
            load_tile(flow, plan.flow_out, batch.goals, batch.goal_rows, first, n, stride)
        if plan.half and what & (DO_DELTA | DO_UPSTREAM):
            round_rows(flow, plan.flow_out, size, n, stride)
        if what & (DO_WEIGHTS | DO_FLOW):
            backward_of_tile(program, todo, bank, partial, tile)
        if what & DO_RETURN:
            store_tile(flow, plan.flow_in, batch.outputs, first, n, stride)
        if what & DO_KEEP:
            place += ONE
        first += n
    return total


@inner
def backward_of_tile(
    program: ProgramTables, todo: Record, bank: BankView, partial: Numbers, tile: Tile
) -> None:
    """Run the operations of a pass backward on one tile, the last one first."""
    ops, settings, plan, what = program.operations, program.settings, program.plan[0], todo.what
    for k in range(todo.high - 1, todo.low - 1, -1):
        if what & DO_WEIGHTS:
            parameter_gradient(ops[k], settings[k], partial, tile)
        if what & DO_FLOW and k >= np.int64(plan.first_needed):
            input_gradient(ops[k], settings[k], bank, tile)
            if plan.half:
                round_rows(tile.flow, ops[k].flow_in, ops[k].inputs, tile.n, tile.stride)


@inner
def clear_gradients(ops: Table, low: Index, high: Index, partial: Numbers) -> None:
    """Set the gradients of the parameters of operations `low` to before `high` to 0, in a chunk."""
    zero = partial.dtype.type(0)
    for k in range(low, high):
        first = ops[k].gradients
        for row in range(first, first + ops[k].count):
            partial[row] = zero
