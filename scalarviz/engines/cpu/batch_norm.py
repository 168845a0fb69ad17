"""Batch norm: every feature brought to one scale over the whole batch.

Before the tiles can go on, the numbers of all of them must be there. `gather` then finds the mean
and the scale of every feature and leaves them in the memo of each tile, a row a feature; on the way
back it leaves there by how much the gradients move and stretch the feature as a whole.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from scalarviz.engines.codegen.dispatch import kernel
from scalarviz.engines.cpu.products import ONE, TILE, ZERO, Index, Numbers
from scalarviz.engines.cpu.tiles import (
    FLOW_IN,
    FLOW_OUT,
    HELD_FROM,
    HELD_TO,
    MEMO,
    SOURCE,
    STATE,
    TARGET,
    Table,
    chunk_bounds,
)

MEAN, DEVIATION, SHIFT, STRETCH = [np.uint64(i) for i in range(4)]  # places in a row of the memo


@kernel
def batch_norm_forward(
    op: Table, settings: Numbers, value: Numbers, state: Numbers, space: Numbers, first: Index,
    learning: bool, steps: Index, n: Index, stride: Index,
) -> None:  # fmt: skip
    """y = (x - mean) * scale, of this batch, or of all that were seen if the network only runs."""
    features, pixels = np.uint64(settings[0]), np.uint64(settings[1])
    for f in range(features):
        memo = (op[MEMO] + f) * stride
        mean, scale = space[memo + MEAN], space[memo + DEVIATION]
        if not learning:
            mean = state[op[STATE] + f]
            scale = 1.0 / math.sqrt(state[op[STATE] + features + f] + settings[2])
        a, b = value.dtype.type(mean), value.dtype.type(scale)
        for r in range(f * pixels, (f + ONE) * pixels):
            x, y = (op[SOURCE] + r) * stride, (op[TARGET] + r) * stride
            for t in range(n):
                space[y + t] = (space[x + t] - a) * b


@kernel
def batch_norm_inputs(
    op: Table, settings: Numbers, value: Numbers, space: Numbers, flow: Numbers, n: Index,
    stride: Index,
) -> None:  # fmt: skip
    """What moves a feature as a whole, or stretches it, has no effect: it is taken out."""
    features, pixels = np.uint64(settings[0]), np.uint64(settings[1])
    for f in range(features):
        memo = (op[MEMO] + f) * stride
        scale, shift = space[memo + DEVIATION], space[memo + SHIFT]
        stretch = space[memo + STRETCH]
        for r in range(f * pixels, (f + ONE) * pixels):
            y, g, h = (
                (op[TARGET] + r) * stride,
                (op[FLOW_OUT] + r) * stride,
                (op[FLOW_IN] + r) * stride,
            )
            for t in range(n):
                flow[h + t] = scale * (flow[g + t] - shift - space[y + t] * stretch)


@kernel
def gather_batch_norm(
    op: Table, settings: Numbers, state: Numbers, frozen: Table, spaces: Numbers, samples: Index,
    chunks: Index, stride: Index,
) -> None:  # fmt: skip
    """Mean and scale of every feature over all tiles; the running ones go some way to them.

    Of a frozen layer they are the running ones.
    """
    features, pixels = np.uint64(settings[0]), np.uint64(settings[1])
    count, held = float(samples * pixels), is_held(op, frozen)
    for f in range(features):
        a, b = op[STATE] + f, op[STATE] + features + f
        if held:
            put(spaces, op[MEMO] + f, MEAN, state[a], stride)
            put(spaces, op[MEMO] + f, DEVIATION, 1.0 / math.sqrt(state[b] + settings[2]), stride)
            continue
        mean = sum_over(spaces, op[SOURCE] + f * pixels, pixels, samples, chunks, stride)
        mean /= count
        start = op[SOURCE] + f * pixels
        squares = products_over(spaces, start, spaces, start, pixels, mean, samples, chunks, stride)
        variance = squares / count
        put(spaces, op[MEMO] + f, MEAN, mean, stride)
        put(spaces, op[MEMO] + f, DEVIATION, 1.0 / math.sqrt(variance + settings[2]), stride)
        # The variance of a sample, as one estimates by it that of all there could be.
        estimate = squares / max(count - 1.0, 1.0)
        state[a] += settings[3] * (mean - state[a])
        state[b] += settings[3] * (estimate - state[b])


@kernel
def gather_batch_norm_back(
    op: Table, settings: Numbers, frozen: Table, spaces: Numbers, flows: Numbers, samples: Index,
    chunks: Index, stride: Index,
) -> None:  # fmt: skip
    """The mean of g and of g y of every feature over all tiles; 0 of a frozen layer."""
    features, pixels = np.uint64(settings[0]), np.uint64(settings[1])
    count, held = float(samples * pixels), is_held(op, frozen)
    for f in range(features):
        if held:
            put(spaces, op[MEMO] + f, SHIFT, 0.0, stride)
            put(spaces, op[MEMO] + f, STRETCH, 0.0, stride)
            continue
        start = op[FLOW_OUT] + f * pixels
        shift = sum_over(flows, start, pixels, samples, chunks, stride)
        stretch = products_over(
            flows, start, spaces, op[TARGET] + f * pixels, pixels, 0.0, samples, chunks, stride
        )
        put(spaces, op[MEMO] + f, SHIFT, shift / count, stride)
        put(spaces, op[MEMO] + f, STRETCH, stretch / count, stride)


@kernel
def is_held(op: Table, frozen: Table) -> bool:
    """Whether all parameters of the layer are frozen, so that its statistics stand still."""
    for row in range(op[HELD_FROM], op[HELD_TO]):
        if not frozen[row]:
            return False
    return bool(op[HELD_FROM] < op[HELD_TO])


@kernel
def put(spaces: Numbers, row: Index, place: Index, number: Any, stride: Index) -> None:
    """A number into the memo of every tile."""
    for tile in range(np.uint64(len(spaces))):
        spaces[tile, row * stride + place] = number


@kernel
def sum_over(
    spaces: Numbers, start: Index, rows: Index, samples: Index, chunks: Index,
    stride: Index,
) -> float:  # fmt: skip
    """The sum of some rows over the samples of all tiles, in float64."""
    total, tile = 0.0, ZERO
    for chunk in range(chunks):
        first, end = chunk_bounds(np.uint64(chunk), chunks, samples)
        while first < end:
            n = min(TILE, end - first)
            for r in range(start, start + rows):
                for t in range(r * stride, r * stride + n):
                    total += spaces[tile, t]
            tile += ONE
            first += n
    return total


@kernel
def products_over(
    ones: Numbers, a0: Index, others: Numbers, b0: Index, rows: Index, mean: float,
    samples: Index, chunks: Index, stride: Index,
) -> float:  # fmt: skip
    """The same of the products of two, each less the mean."""
    total, tile = 0.0, ZERO
    for chunk in range(chunks):
        first, end = chunk_bounds(np.uint64(chunk), chunks, samples)
        while first < end:
            n = min(TILE, end - first)
            for r in range(rows):
                a, b = (a0 + r) * stride, (b0 + r) * stride
                for t in range(n):
                    total += (ones[tile, a + t] - mean) * (others[tile, b + t] - mean)
            tile += ONE
            first += n
    return total


@kernel
def nothing_to_gather(
    op: Table, settings: Numbers, state: Numbers, frozen: Table, spaces: Numbers, samples: Index,
    chunks: Index, stride: Index,
) -> None:  # fmt: skip
    """Of an operation that takes each sample by itself."""


@kernel
def nothing_to_gather_back(
    op: Table, settings: Numbers, frozen: Table, spaces: Numbers, flows: Numbers, samples: Index,
    chunks: Index, stride: Index,
) -> None:  # fmt: skip
    """The same on the way back."""
