"""Sizes of chunks and tiles, and copies between the workspace of a tile and a table.

A tile is up to TILE samples that go through the network together, so that their values stay in the
processor's cache. In a workspace a buffer is `size` rows of `stride` numbers, of which the first n
are used, one per sample, so that the innermost loops run over samples. The position of a buffer
(`start`) is counted in rows. All indices are unsigned: see `products`.
"""

from __future__ import annotations

import numpy as np

from scalarviz.engines.codegen.dispatch import inlined, inner
from scalarviz.engines.cpu.blocks import load_columns
from scalarviz.engines.cpu.memory import address_of, table_at
from scalarviz.engines.cpu.products import (
    FOUR,
    ONE,
    SHORTEST,
    TILE,
    ZERO,
    Index,
    Numbers,
    Table,
)
from scalarviz.engines.cpu.simd import lane_count

AT_ONCE = np.uint64(128)  # columns of a table


@inlined
def tile_of(space: Numbers, start: Index, rows: Index, stride: Index) -> Numbers:
    """Return the buffer that begins at row `start`, as an array of shape (rows, stride)."""
    return table_at(address_of(space, start * stride), rows, stride, space.dtype)


@inner
def load_tile(
    space: Numbers, start: Index, data: Numbers, order: Table, first: Index, n: Index, stride: Index
) -> None:
    """Copy the rows order[first], order[first + 1], ... of a table to the columns of a tile.

    Some columns of the table at a time, whose rows of the tile stay in the cache; squares of
    numbers where there are as many samples and columns as a vector has lanes.
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
    """Return the index of the first sample of a chunk, and that after its last."""
    return chunk * samples // chunks, (chunk + ONE) * samples // chunks


@inlined
def row_stride(samples: Index) -> Index:
    """Return the stride of a tile's rows: room for all samples, a multiple of a vector's size.

    A power of 2 is avoided, as the rows would compete for a few sets of the processor's cache.
    """
    chunks = count_chunks(samples)
    longest = min(TILE, (samples + chunks - ONE) // chunks)
    lines = max(ONE, (longest + SHORTEST - ONE) // SHORTEST)
    if lines % FOUR == ZERO:
        lines += ONE
    return lines * SHORTEST


@inlined
def first_tile(chunk: Index, chunks: Index, samples: Index) -> Index:
    """Return the number of tiles in the chunks before a chunk."""
    tiles = ZERO
    for c in range(chunk):
        first, end = chunk_bounds(np.uint64(c), chunks, samples)
        tiles += (end - first + TILE - ONE) // TILE
    return tiles


@inlined
def count_chunks(samples: Index) -> Index:
    """Return the number of chunks of a batch: at most 8, of at least 64 samples each."""
    return max(ONE, min(np.uint64(8), samples // np.uint64(64)))
