"""Division of a batch into chunks and tiles, and the work of a pass on one chunk, tile by tile.

A batch is split into chunks, whose number depends only on the batch size, and a chunk into tiles.
Each chunk has separate gradients, so that chunks can run in parallel; these are added up in the
order of the chunks. The gradients of wide layers are instead computed in parts of the outputs, each
of which adds up the chunks in order. So the bits of a result do not depend on the number of
threads, nor on whether a step runs as one pass or moment by moment.

A tile consists of up to TILE samples processed together, so that their values remain in the
processor's cache. In a workspace a buffer is `size` rows of `stride` numbers. The first n numbers
of a row are used, one per sample, so that the innermost loops run over samples. The position of a
buffer (`start`) is counted in rows. All indices are unsigned: see `products.py`.

    job           address of a `Job`
    space, flow   workspaces of values and of gradients
    n, stride     number of samples of a tile; numbers from one row to the next
    what          flags of a pass, added up
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

import numpy as np

from scalarviz.engines.codegen.dispatch import Real, by_address, inlined, inner
from scalarviz.engines.cpu.products import (
    FOUR,
    ONE,
    SHORTEST,
    TILE,
    ZERO,
    Index,
    Numbers,
    Record,
    Table,
    lane_count,
)
from scalarviz.engines.cpu.records import (
    JOB,
    Address,
    Workspaces,
    address_of,
    batch_of,
    call,
    operations_of,
    passes_of,
    plan_of,
    record_at,
    room_of,
    room_record,
    table_at,
    tiles_of,
)
from scalarviz.engines.cpu.wide_products import load_columns

AT_ONCE = np.uint64(128)  # columns of a table


@inlined
def tile_of(space: Numbers, start: Index, rows: Index, stride: Index) -> Numbers:
    """Return the buffer that begins at row `start` as an array of shape (rows, stride)."""
    return table_at(address_of(space, start * stride), rows, stride, space.dtype)


@inner
def load_tile(
    space: Numbers, start: Index, data: Numbers, order: Table, first: Index, n: Index, stride: Index
) -> None:
    """Copy the rows order[first], order[first + 1], ... of a table to the columns of a tile.

    A block of columns of the table is copied at a time, so that the rows of the tile stay in the
    cache; blocks of a full square of vector lanes are transposed together.
    """
    columns, lanes, begin = np.uint64(data.shape[1]), lane_count(space), start * stride
    square = min(n, columns) >= lanes
    for low in range(ZERO, columns, AT_ONCE):
        end = min(low + AT_ONCE, columns)
        if square:
            for t in range(ZERO, n, lanes):
                for c in range(low, end, lanes):
                    i = min(c, columns - lanes)  # the last ones are written twice
                    load_columns(
                        data, order, first + t, n - t, i, space, begin + i * stride + t, stride
                    )
        else:
            for t in range(n):
                row = order[first + t]
                for i in range(low, end):
                    space[begin + i * stride + t] = data[row, i]


@inner
def store_tile(
    space: Numbers, start: Index, data: Numbers, first: Index, n: Index, stride: Index
) -> None:
    """Copy the columns of a tile to the rows `first`, `first` + 1, ... of a table."""
    for i in range(np.uint64(data.shape[1])):
        at = (start + i) * stride
        for t in range(n):
            data[first + t, i] = space[at + t]


@inlined
def chunk_bounds(chunk: Index, chunks: Index, samples: Index) -> tuple[Index, Index]:
    """Return the index of the first sample of a chunk, and the index after its last one."""
    return chunk * samples // chunks, (chunk + ONE) * samples // chunks


@inlined
def row_stride(samples: Index) -> Index:
    """Return the stride of a tile's rows: enough for all samples, a multiple of the vector size.

    A power of 2 is avoided, because all rows would then compete for the same few cache sets.
    """
    chunks = count_chunks(samples)
    longest = min(TILE, (samples + chunks - ONE) // chunks)
    lines = max(ONE, (longest + SHORTEST - ONE) // SHORTEST)
    if lines % FOUR == ZERO:
        lines += ONE
    return lines * SHORTEST


@inlined
def first_tile(chunk: Index, chunks: Index, samples: Index) -> Index:
    """Return the total number of tiles in the chunks before chunk `chunk`."""
    tiles = ZERO
    for c in range(chunk):
        first, end = chunk_bounds(np.uint64(c), chunks, samples)
        tiles += (end - first + TILE - ONE) // TILE
    return tiles


@inlined
def count_chunks(samples: Index) -> Index:
    """Return the number of chunks of a batch: at most 8, of at least 64 samples each."""
    return max(ONE, min(np.uint64(8), samples // np.uint64(64)))


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
    """Run pass `number` of a program on one chunk, and add up the errors of its samples.

    `place` is the index of the workspace for the chunk's first tile.
    """
    batch, room, plan = batch_of(job, Real), room_of(job, Real), plan_of(job)
    ops, todo = operations_of(job), passes_of(job)[number]
    what, low, high, samples = todo.what, np.uint64(todo.low), np.uint64(todo.high), batch.samples
    first, end = chunk_bounds(chunk, count_chunks(samples), samples)
    tiles = tiles_of(job)
    at, tile, stride = address_of(tiles, chunk), tiles[chunk], row_stride(samples)
    if samples == ONE and plan.alone > ZERO:
        stride = plan.alone
    begin_tiles(tile, room, chunk, stride, what & DO_LEARN, batch.steps)
    if room_record(job).shared:
        tile.partial = address_of(room.partial, ZERO)
    if what & DO_WEIGHTS and (chunk == ZERO or room_record(job).shared == ZERO):
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
    """Round the numbers of a buffer to half precision."""
    call(record_at(job, JOB).round_rows, (address_of(space, start * stride), rows, n, stride))


@inner
def begin_tiles(
    tile: Record, room: Workspaces, chunk: Index, stride: Index, learning: Index, steps: Index
) -> None:
    """Write the fields that all tiles of a chunk have in common to the tile record."""
    tile.space_size, tile.flow_size = room.spaces.shape[1], room.flows.shape[1]
    tile.partial, tile.gradients = address_of(room.partial, chunk), room.partial.shape[1]
    tile.stride, tile.learning, tile.steps = stride, learning, steps


@inner
def clear_gradients(ops: Table, low: Index, high: Index, partial: Numbers) -> None:
    """Set a chunk's parameter gradients to 0, for operations `low` to before `high`."""
    zero = partial.dtype.type(0)
    for k in range(low, high):
        first = ops[k].gradients
        for row in range(first, first + ops[k].count):
            partial[row] = zero


# ---- the same sizes for Python ------------------------------------------------------------------


@lru_cache
def number_of_chunks(samples: int) -> int:
    """Return the number of chunks of a batch, which depends only on its size."""
    return int(count_chunks(np.uint64(samples)))


def stride_of_rows(samples: int, alone: int) -> int:
    """Return the distance between two rows of a tile for a batch of this size.

    `alone` is the field of the plan.
    """
    return alone if samples == 1 and alone else int(row_stride(np.uint64(samples)))


def number_of_tiles(samples: int) -> int:
    """Return the number of tiles in all chunks of a batch."""
    return len(tile_starts(samples)) - 1


def tile_starts(samples: int) -> list[int]:
    """Return the index of the first sample of each tile, followed by the number of samples."""
    chunks = number_of_chunks(samples)
    bounds = [chunk * samples // chunks for chunk in range(chunks + 1)]
    starts = [start for first, end in pairwise(bounds) for start in range(first, end, int(TILE))]
    return [*starts, samples]
