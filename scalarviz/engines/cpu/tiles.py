"""Tiles: up to TILE samples that pass through the whole network and back.

Their numbers stay in the processor's cache meanwhile. In a tile a buffer is `size` rows of `stride`
numbers, of which the first n are used, one a sample, so that the innermost loops run over samples;
places are counted in rows. All indices are unsigned: see `products`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.engines.codegen.dispatch import kernel
from scalarviz.engines.cpu.products import ONE, Index, Numbers

Table = Any  # the operations: one row each, unsigned

# The columns of the table of operations. GRADIENTS is where in a chunk's gradient those of its
# parameters begin, COUNT how many they are, EACH how many numbers share a bias, STATE where its
# numbers are in the bank's state; OTHER and FLOW_OTHER are places of the other buffer. Its
# statistics stand still while the rows from HELD_FROM to before HELD_TO are frozen.
(
    KIND, FORMULA, SOURCE, TARGET, INPUTS, OUTPUTS, WEIGHTS, BIASES, HAS_BIASES, MEMO, FLOW_IN,
    FLOW_OUT, GRADIENTS, COUNT, EACH, STATE, OTHER, FLOW_OTHER, HELD_FROM, HELD_TO,
) = [np.uint64(i) for i in range(20)]  # fmt: skip
COLUMNS = 20


@kernel
def tile_of(space: Numbers, start: Index, rows: Index, stride: Index) -> Numbers:
    """The buffer that begins at the row `start`, as an array of (rows, stride)."""
    return space[start * stride : (start + rows) * stride].reshape((rows, stride))


@kernel
def load_tile(
    space: Numbers, start: Index, data: Numbers, order: Table, first: Index, n: Index, stride: Index
) -> None:
    """The samples order[first], ... of a table, one row a sample, as the columns of a tile."""
    for t in range(n):
        row = order[first + t]
        at = start * stride + t
        for i in range(np.uint64(data.shape[1])):
            space[at + i * stride] = data[row, i]


@kernel
def store_tile(
    space: Numbers, start: Index, data: Numbers, first: Index, n: Index, stride: Index
) -> None:
    """Columns of a tile as rows `first`, ... of a table."""
    for i in range(np.uint64(data.shape[1])):
        at = (start + i) * stride
        for t in range(n):
            data[first + t, i] = space[at + t]


@kernel
def chunk_bounds(chunk: Index, chunks: Index, samples: Index) -> tuple[Index, Index]:
    """The first sample of a chunk, and the one after its last."""
    return chunk * samples // chunks, (chunk + ONE) * samples // chunks
