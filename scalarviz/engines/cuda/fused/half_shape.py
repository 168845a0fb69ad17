"""The memory of a block whose weights, activations and gradients are halves, see products.cu.

It begins with all weights, as they are in the image from which blocks fetch them; then come the
workspaces of a tile, and numbers in float32 for the formulas of losses.
"""

from __future__ import annotations

import numpy as np

from scalarviz.engines.cuda.fused.shape import (
    HEAD_BYTES,
    MOST_TILE,
    Stack,
    Table,
    dense_layers,
    row_step,
    rows_of_blocks,
)
from scalarviz.model.operations import NONE
from scalarviz.model.program import Program

SIDE = 16  # of the tables that a warp multiplies; also the bytes of a copy
APART = 8  # halves between the rows of a table
LEAST_SAMPLES = 32  # in a chunk: two tables
A_NUMBER, A_HALF = 4, 2  # bytes


def half_table_of(
    program: Program, chunks: int, share: int, shared: int, blocks: int, clipped: bool
) -> Table | None:
    """Return the table of a network as `table_of` does, for steps in halves."""
    stack = dense_layers(program)
    owned = rows_of_blocks(stack, blocks, clipped)
    if owned is None:
        return None
    each, own = owned
    room = shared - HEAD_BYTES
    fits = [tile for tile in range(MOST_TILE, 0, -SIDE) if Room(stack, tile).size <= room]
    if not fits or room < A_NUMBER * max(chunks, each):
        return None
    tile = min(fits[0], padded(share))
    found = Room(stack, tile)
    used = max(found.size, min(A_NUMBER * each * chunks, room // SIDE * SIDE))
    piece = min(each, used // A_NUMBER // chunks)
    numbers = [len(stack), tile, each, piece, *found.shape, *found.layers]
    return Table(np.array(numbers, np.int32), own, blocks, HEAD_BYTES + used, found.image)


def padded(size: int) -> int:
    """Return a size, rounded up to whole tables."""
    return -(-size // SIDE) * SIDE


def table_step(width: int) -> int:
    """Return the step between the rows of a table of halves."""
    return padded(width) + APART


class Room:
    """Where the parts of a block's memory are, for tiles of so many samples.

    layers  fields of `Layer`, of all layers
    shape   fields of `Shape` from `goals` on
    image   halves of all weights
    size    bytes
    """

    def __init__(self, stack: Stack, tile: int) -> None:
        self.size = 0
        weights = [
            (
                self._take(padded(affine.target.size) * table_step(affine.source.size)),
                self._take(padded(affine.target.size)),
            )
            for affine, _ in stack
        ]
        self.image = self.size // A_HALF
        self.layers: list[int] = []
        parts, first = 2, stack[0][0].source.size  # an input of the network is a sum of two halves
        x_step = table_step(parts * padded(first))
        widest, x = table_step(first), self._take(tile * x_step)
        for (affine, activation), (place, biases) in zip(stack, weights, strict=True):
            inputs, outputs = affine.source.size, affine.target.size
            y_step = table_step(outputs)
            z = self._take(tile * y_step)
            y = self._take(tile * y_step) if activation else z
            formula = activation.formula_place if activation else NONE
            self.layers += [inputs, outputs, affine.biases != NONE, affine.weights, formula]
            self.layers += [place, table_step(inputs), biases, x, x_step, parts, z, y, y_step]
            x, x_step, parts, widest = y, y_step, 1, max(widest, y_step)
        flow, other = self._take(tile * widest), self._take(tile * widest)
        step = row_step(stack[-1][0].target.size)
        numbers = [self._take(tile * size, A_NUMBER) for size in (step, step, step, 4)]
        goals, predictions, pulls, errors = numbers
        image = self.image * A_HALF // SIDE
        self.shape = [goals, predictions, pulls, step, errors, flow, other, image]

    def _take(self, count: int, bytes_each: int = A_HALF) -> int:
        """Take room for some numbers; return where they begin, counted in numbers of their size."""
        place = self.size
        self.size += -(-count * bytes_each // SIDE) * SIDE
        return place // bytes_each
