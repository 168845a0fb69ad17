"""Kernels of batch norm: each feature standardized over the whole batch.

Before a number can be standardized, those of all tiles are needed. `gather` writes mean and scale
of each feature to the memo of every tile, one row per feature; in the backward pass, the means of
the gradients that are removed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from scalarviz.engines.codegen.dispatch import inner
from scalarviz.engines.cpu.arrays import BankView, Tile, Workspaces
from scalarviz.engines.cpu.products import ONE, TILE, ZERO, Index, Numbers, Record, Table
from scalarviz.engines.cpu.tiles import chunk_bounds, count_chunks, row_stride

MEAN, DEVIATION, SHIFT, STRETCH = [np.uint64(i) for i in range(4)]  # indices in a row of the memo


@inner
def batch_norm_forward(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """y = (x - mean) * scale: statistics of the batch in training, else running statistics."""
    space, n, stride = tile.space, tile.n, tile.stride
    features, pixels = np.uint64(settings[0]), np.uint64(settings[1])
    for f in range(features):
        memo = (op.memo + f) * stride
        mean, scale = space[memo + MEAN], space[memo + DEVIATION]
        if not tile.learning:
            mean = bank.state[op.state + f]
            scale = 1.0 / math.sqrt(bank.state[op.state + features + f] + settings[2])
        a, b = bank.value.dtype.type(mean), bank.value.dtype.type(scale)
        for r in range(f * pixels, (f + ONE) * pixels):
            x, y = (op.source + r) * stride, (op.target + r) * stride
            for t in range(n):
                space[y + t] = (space[x + t] - a) * b


@inner
def batch_norm_inputs(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Remove the components of a gradient that shift or scale a feature as a whole."""
    space, flow, n, stride = tile.space, tile.flow, tile.n, tile.stride
    features, pixels = np.uint64(settings[0]), np.uint64(settings[1])
    for f in range(features):
        memo = (op.memo + f) * stride
        scale, shift = space[memo + DEVIATION], space[memo + SHIFT]
        stretch = space[memo + STRETCH]
        for r in range(f * pixels, (f + ONE) * pixels):
            y, g, h = (
                (op.target + r) * stride,
                (op.flow_out + r) * stride,
                (op.flow_in + r) * stride,
            )
            for t in range(n):
                flow[h + t] = scale * (flow[g + t] - shift - space[y + t] * stretch)


@inner
def gather_batch_norm(
    op: Record, settings: Numbers, bank: BankView, room: Workspaces, samples: Index
) -> None:
    """Compute mean and scale of each feature over all tiles, and update the running statistics.

    A frozen layer uses its running statistics, and does not change them.
    """
    features, pixels = np.uint64(settings[0]), np.uint64(settings[1])
    count, held = float(samples * pixels), is_held(op, bank.frozen)
    spaces, state, stride = room.spaces, bank.state, row_stride(samples)
    for f in range(features):
        a, b = op.state + f, op.state + features + f
        if held:
            put(spaces, op.memo + f, MEAN, state[a], stride)
            put(spaces, op.memo + f, DEVIATION, 1.0 / math.sqrt(state[b] + settings[2]), stride)
            continue
        start = op.source + f * pixels
        mean = sum_over(spaces, start, pixels, samples)
        mean /= count
        squares = products_over(spaces, start, spaces, start, pixels, mean, samples)
        variance = squares / count
        put(spaces, op.memo + f, MEAN, mean, stride)
        put(spaces, op.memo + f, DEVIATION, 1.0 / math.sqrt(variance + settings[2]), stride)
        # The unbiased estimate.
        estimate = squares / max(count - 1.0, 1.0)
        state[a] += settings[3] * (mean - state[a])
        state[b] += settings[3] * (estimate - state[b])


@inner
def gather_batch_norm_back(
    op: Record, settings: Numbers, bank: BankView, room: Workspaces, samples: Index
) -> None:
    """Compute the mean of g and of g y of each feature over all tiles; 0 for a frozen layer."""
    features, pixels = np.uint64(settings[0]), np.uint64(settings[1])
    count, held = float(samples * pixels), is_held(op, bank.frozen)
    spaces, flows, stride = room.spaces, room.flows, row_stride(samples)
    for f in range(features):
        if held:
            put(spaces, op.memo + f, SHIFT, 0.0, stride)
            put(spaces, op.memo + f, STRETCH, 0.0, stride)
            continue
        g, y = op.flow_out + f * pixels, op.target + f * pixels
        shift = sum_over(flows, g, pixels, samples)
        stretch = products_over(flows, g, spaces, y, pixels, 0.0, samples)
        put(spaces, op.memo + f, SHIFT, shift / count, stride)
        put(spaces, op.memo + f, STRETCH, stretch / count, stride)


@inner
def is_held(op: Record, frozen: Table) -> bool:
    """Whether all parameters of the layer are frozen, so that running statistics do not change."""
    for row in range(op.held_from, op.held_to):
        if not frozen[row]:
            return False
    return bool(op.held_from < op.held_to)


@inner
def put(spaces: Numbers, row: Index, place: Index, number: Any, stride: Index) -> None:
    """Write a number to the memo of every tile, at a row of the workspace and an index in it."""
    for tile in range(np.uint64(len(spaces))):
        spaces[tile, row * stride + place] = number


@inner
def sum_over(spaces: Numbers, start: Index, rows: Index, samples: Index) -> float:
    """Sum rows of a workspace over the samples of all tiles, in float64."""
    chunks, stride = count_chunks(samples), row_stride(samples)
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


@inner
def products_over(
    ones: Numbers, a0: Index, others: Numbers, b0: Index, rows: Index, mean: float, samples: Index
) -> float:
    """Sum products of two sets of rows over all tiles, `mean` subtracted from each number."""
    chunks, stride = count_chunks(samples), row_stride(samples)
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
