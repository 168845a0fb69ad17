"""Tiles: up to TILE samples that pass through the whole network and back.

Their numbers stay in the processor's cache meanwhile. In a tile a buffer is `size` rows of `stride`
numbers, of which the first n are used, one a sample, so that the innermost loops run over samples;
places are counted in rows. All indices are unsigned: see `products`.
"""

from __future__ import annotations

import numpy as np

from scalarviz.engines.codegen.dispatch import inlined, inner
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


@inlined
def tile_of(space: Numbers, start: Index, rows: Index, stride: Index) -> Numbers:
    """The buffer that begins at the row `start`, as an array of (rows, stride)."""
    return space[start * stride : (start + rows) * stride].reshape((rows, stride))


@inner
def load_tile(
    space: Numbers, start: Index, data: Numbers, order: Table, first: Index, n: Index, stride: Index
) -> None:
    """The samples order[first], ... of a table, one row a sample, as the columns of a tile."""
    for t in range(n):
        row = order[first + t]
        at = start * stride + t
        for i in range(np.uint64(data.shape[1])):
            space[at + i * stride] = data[row, i]


@inner
def store_tile(
    space: Numbers, start: Index, data: Numbers, first: Index, n: Index, stride: Index
) -> None:
    """Columns of a tile as rows `first`, ... of a table."""
    for i in range(np.uint64(data.shape[1])):
        at = (start + i) * stride
        for t in range(n):
            data[first + t, i] = space[at + t]


@inner
def chunk_bounds(chunk: Index, chunks: Index, samples: Index) -> tuple[Index, Index]:
    """The first sample of a chunk, and the one after its last."""
    return chunk * samples // chunks, (chunk + ONE) * samples // chunks


@inner
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


@inner
def first_tile(chunk: Index, chunks: Index, samples: Index) -> Index:
    """How many tiles come before those of a chunk."""
    tiles = ZERO
    for c in range(chunk):
        first, end = chunk_bounds(np.uint64(c), chunks, samples)
        tiles += (end - first + TILE - ONE) // TILE
    return tiles


@inner
def count_chunks(samples: Index) -> Index:
    """Into how many chunks a batch is cut: at most 8, of at least 64 samples."""
    return max(ONE, min(np.uint64(8), samples // np.uint64(64)))
