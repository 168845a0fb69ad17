"""What is done to a chunk of a batch, tile by tile: all of a step at once, or one thing alone.

A batch is cut into chunks, as its size alone says, and a chunk into tiles. Each chunk has a
gradient of its own, so that chunks can run in parallel; their gradients are added up in the order
of the chunks. So the bits depend neither on how many threads there are nor on whether a step runs
at once or moment by moment.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.engines.codegen.dispatch import kernel, loss_backward, loss_forward
from scalarviz.engines.cpu.half import round_rows
from scalarviz.engines.cpu.products import FOUR, ONE, SHORTEST, TILE, ZERO, Index, Numbers
from scalarviz.engines.cpu.table import input_gradient, operation_forward, parameter_gradient
from scalarviz.engines.cpu.tiles import (
    COUNT,
    FLOW_IN,
    GRADIENTS,
    INPUTS,
    OUTPUTS,
    TARGET,
    Table,
    chunk_bounds,
    load_tile,
    store_tile,
    tile_of,
)

Plan = Any  # an array of the fields below, unsigned

# The fields of a plan: where things are in a tile's workspace, and which formulas run. LAST_INPUT
# is the last operation by whose inputs nobody needs the gradient.
(
    OUT, OUT_SIZE, GOALS, FLOW_OUT_0, FLOW_IN_0, FIRST_NEEDED, LOSS, OPTIMIZER, SCHEDULE,
    REFUSE, HALF, DYNAMIC, PATIENCE, MEAN_OF,
) = [np.uint64(i) for i in range(14)]  # fmt: skip
PLAN_FIELDS = 14

# What is to be done, added up.
(
    DO_LOAD,  # the samples into the workspaces
    DO_FORWARD,  # the operations
    DO_STORE,  # the outputs as rows of a table
    DO_AIM,  # the targets into the workspaces
    DO_ERROR,  # the loss
    DO_DELTA,  # its gradient by the outputs
    DO_UPSTREAM,  # or that gradient from a table
    DO_WEIGHTS,  # the gradients by the parameters of the operations
    DO_FLOW,  # and by what they read
    DO_RETURN,  # the gradients by the inputs as rows of a table
    DO_KEEP,  # every tile has a workspace of its own
    DO_LEARN,  # a backward may follow: what only a network that learns does is done
) = [1 << i for i in range(12)]


# The columns of a table of passes: what is done, with the operations from LOW to before HIGH; and
# what must be gathered from the whole batch before: k + 1 for operation k, -(k + 1) on its way
# back, else 0.
WHAT, LOW, HIGH, GATHERS = range(4)


@kernel
def chunk_work(
    what: Index, low: Index, high: Index, plan: Plan, ops: Table, settings: Numbers,
    value: Numbers, state: Numbers, steps: Index, data: Numbers, rows: Table, goals: Numbers,
    goal_rows: Table, outputs: Numbers, samples: Index, chunk: Index, chunks: Index, place: Index,
    spaces: Numbers, flows: Numbers, partial: Numbers, scale: float,
) -> float:  # fmt: skip
    """Do this to one chunk, with the operations from `low` to `high`: its sum of errors.

    `place` is the workspace of its first tile.
    """
    first, end = chunk_bounds(chunk, chunks, samples)
    size, stride = plan[OUT_SIZE], row_stride(samples)
    if what & DO_WEIGHTS:
        clear_gradients(ops, low, high, partial)
    total = 0.0
    while first < end:
        n = min(TILE, end - first)
        space, flow = spaces[place], flows[place]
        if what & DO_LOAD:
            load_tile(space, ZERO, data, rows, first, n, stride)
        if what & DO_FORWARD:
            for k in range(low, high):
                operation_forward(
                    ops[k], settings[k], value, state, space, first, what & DO_LEARN != 0, steps,
                    n, stride,
                )  # fmt: skip
                if plan[HALF]:
                    round_rows(space, ops[k, TARGET], ops[k, OUTPUTS], n, stride)
        if what & DO_STORE:
            store_tile(space, plan[OUT], outputs, first, n, stride)
        if what & DO_AIM:
            load_tile(space, plan[GOALS], goals, goal_rows, first, n, stride)
        p = tile_of(space, plan[OUT], size, stride)
        t = tile_of(space, plan[GOALS], size, stride)
        if what & DO_ERROR:
            total += loss_forward(plan[LOSS], p, t, n)
        if what & DO_DELTA:
            loss_backward(plan[LOSS], p, t, scale, tile_of(flow, plan[FLOW_OUT_0], size, stride), n)
        if what & DO_UPSTREAM:
            load_tile(flow, plan[FLOW_OUT_0], goals, goal_rows, first, n, stride)
        if plan[HALF] and what & (DO_DELTA | DO_UPSTREAM):
            round_rows(flow, plan[FLOW_OUT_0], size, n, stride)
        if what & (DO_WEIGHTS | DO_FLOW):
            chunk_backward(
                what, low, high, plan, ops, settings, value, space, flow, partial, n, stride
            )
        if what & DO_RETURN:
            store_tile(flow, plan[FLOW_IN_0], outputs, first, n, stride)
        if what & DO_KEEP:
            place += ONE
        first += n
    return total


@kernel
def chunk_backward(
    what: Index, low: Index, high: Index, plan: Plan, ops: Table, settings: Numbers,
    value: Numbers, space: Numbers, flow: Numbers, partial: Numbers, n: Index, stride: Index,
) -> None:  # fmt: skip
    """Operations of one tile backward, the last one first."""
    for k in range(high - 1, low - 1, -1):
        if what & DO_WEIGHTS:
            parameter_gradient(ops[k], settings[k], partial, space, flow, n, stride)
        if what & DO_FLOW and k >= np.int64(plan[FIRST_NEEDED]):
            input_gradient(ops[k], settings[k], value, space, flow, n, stride)
            if plan[HALF]:
                round_rows(flow, ops[k, FLOW_IN], ops[k, INPUTS], n, stride)


@kernel
def clear_gradients(ops: Table, low: Index, high: Index, partial: Numbers) -> None:
    """The gradients of some operations' parameters become 0, in one chunk."""
    zero = partial.dtype.type(0)
    for k in range(low, high):
        first = ops[k, GRADIENTS]
        for row in range(first, first + ops[k, COUNT]):
            partial[row] = zero


@kernel
def row_stride(samples: Index) -> Index:
    """How far apart the rows of a tile lie: room for all samples, in whole vector registers.

    Rows that lie a power of 2 apart would share a few places of the processor's cache.
    """
    chunks = count_chunks(samples)
    longest = min(TILE, (samples + chunks - ONE) // chunks)
    lines = max(ONE, (longest + SHORTEST - ONE) // SHORTEST)
    if lines % FOUR == ZERO:
        lines += ONE
    return lines * SHORTEST


@kernel
def first_tile(chunk: Index, chunks: Index, samples: Index) -> Index:
    """How many tiles come before those of a chunk."""
    tiles = ZERO
    for c in range(chunk):
        first, end = chunk_bounds(np.uint64(c), chunks, samples)
        tiles += (end - first + TILE - ONE) // TILE
    return tiles


@kernel
def count_chunks(samples: Index) -> Index:
    """Into how many chunks a batch is cut: at most 8, of at least 64 samples."""
    return max(ONE, min(np.uint64(8), samples // np.uint64(64)))
