"""Kernels of batch norm: each feature standardized over the whole batch.

Before a number can be standardized, those of all samples are needed. `gather` writes mean and scale
of each feature to `scalars`; in the backward pass, the means of the gradients that are removed. A
block computes one feature at a time, its sums in SHARES parts, whatever the number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.engines.codegen.cuda_dispatch import Real, deviation_factor, kernel
from scalarviz.engines.cuda.api import cuda
from scalarviz.engines.cuda.places import (
    DEVIATION,
    FLOW,
    FROZEN,
    HELD_FROM,
    HELD_TO,
    INPUTS,
    LEARNING,
    MEAN,
    MOMENTS,
    OUTPUTS,
    SETTINGS,
    SHARES,
    SHIFT,
    SOURCE,
    SPACE,
    STATE,
    STATE_NUMBERS,
    STATISTICS,
    STRETCH,
    STRIDE,
    TARGET,
    Exact,
    Index,
    Numbers,
    Whole,
)
from scalarviz.engines.cuda.teams import number_at, row_at, row_of, sum_in_order


@kernel
def batch_norm_forward(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, space: Numbers, base: Index,
    stride: Index, first: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """y = (x - mean) * scale."""
    x, y = row_at(base, plan[op + SOURCE], stride), row_at(base, plan[op + TARGET], stride)
    pixels, found = np.int64(arena[plan[op + SETTINGS] + 1]), plan[op + STATISTICS]
    for i in range(worker, plan[op + OUTPUTS] * count, workers):
        place = number_at(i, count, stride)
        f = found + np.int64(row_of(i, count)) // pixels * MOMENTS
        mean, scale = Real(scalars[f + MEAN]), Real(scalars[f + DEVIATION])
        space[y + place] = (space[x + place] - mean) * scale


@kernel
def batch_norm_inputs(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, space: Numbers, base: Index,
    flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """The components of a gradient that shift or scale a feature as a whole are removed."""
    y = row_at(base, plan[op + TARGET], stride)
    h = row_at(flow_base, plan[op + SOURCE], stride)
    g = row_at(flow_base, plan[op + TARGET], stride)
    pixels, found = np.int64(arena[plan[op + SETTINGS] + 1]), plan[op + STATISTICS]
    for i in range(worker, plan[op + INPUTS] * count, workers):
        place = number_at(i, count, stride)
        f = found + np.int64(row_of(i, count)) // pixels * MOMENTS
        scale, shift = Real(scalars[f + DEVIATION]), Real(scalars[f + SHIFT])
        own = flow[g + place] - shift - space[y + place] * Real(scalars[f + STRETCH])
        flow[h + place] = scale * own


@kernel
def gather_batch_norm(plan: Whole, op: Index, arena: Numbers, scalars: Exact, count: Index) -> None:
    """Compute mean and scale of each feature; in training, update the running statistics."""
    settings, found = plan[op + SETTINGS], plan[op + STATISTICS]
    features, pixels = np.int64(arena[settings]), np.int64(arena[settings + 1])
    eps, momentum = np.float64(arena[settings + 2]), np.float64(arena[settings + 3])
    stride, numbers = plan[STRIDE], np.float64(count * pixels)
    learning = plan[LEARNING] != 0 and not is_held(plan, op, arena)
    for f in range(cuda.blockIdx.x, features, cuda.gridDim.x):
        known = STATE_NUMBERS + plan[op + STATE] + f
        mean, variance = scalars[known], scalars[known + features]
        if learning:
            x = plan[SPACE] + (plan[op + SOURCE] + f * pixels) * stride
            mean = sum_of(arena, x, pixels, stride, count) / numbers
            squares = sum_of_products(arena, x, x, mean, pixels, stride, count)
            variance = squares / numbers
            if cuda.threadIdx.x == 0:
                # The unbiased estimate.
                estimate = squares / max(numbers - 1.0, 1.0)
                scalars[known] += momentum * (mean - scalars[known])
                scalars[known + features] += momentum * (estimate - scalars[known + features])
        if cuda.threadIdx.x == 0:
            scalars[found + f * MOMENTS + MEAN] = mean
            scalars[found + f * MOMENTS + DEVIATION] = deviation_factor(variance, eps)


@kernel
def gather_batch_norm_back(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, count: Index
) -> None:
    """Compute the mean of g and of g y of each feature."""
    settings, found = plan[op + SETTINGS], plan[op + STATISTICS]
    features, pixels = np.int64(arena[settings]), np.int64(arena[settings + 1])
    stride, numbers = plan[STRIDE], np.float64(count * pixels)
    held = is_held(plan, op, arena)
    for f in range(cuda.blockIdx.x, features, cuda.gridDim.x):
        row = (plan[op + TARGET] + f * pixels) * stride
        y, g = plan[SPACE] + row, plan[FLOW] + row
        shift = sum_of(arena, g, pixels, stride, count)
        stretch = sum_of_products(arena, g, y, 0.0, pixels, stride, count)
        if cuda.threadIdx.x == 0:
            scalars[found + f * MOMENTS + SHIFT] = 0.0 if held else shift / numbers
            scalars[found + f * MOMENTS + STRETCH] = 0.0 if held else stretch / numbers


@kernel
def is_held(plan: Whole, op: Index, arena: Numbers) -> bool:
    """Whether all parameters of the layer are frozen, so that running statistics do not change."""
    for row in range(plan[op + HELD_FROM], plan[op + HELD_TO]):
        if arena[plan[FROZEN] + row] == Real(0):
            return False
    return bool(plan[op + HELD_FROM] < plan[op + HELD_TO])


@kernel
def sum_of(arena: Numbers, x: Index, rows: Index, stride: Index, count: Index) -> Any:
    """Sum rows of a workspace in float64; returned to all threads of a block."""
    shares = cuda.shared.array(SHARES, np.float64)
    for share in range(cuda.threadIdx.x, SHARES, cuda.blockDim.x):
        total = 0.0
        for i in range(share, rows * count, SHARES):
            total += np.float64(arena[np.uint64(x) + number_at(i, count, stride)])
        shares[share] = total
    return sum_of_shares(shares)


@kernel
def sum_of_products(
    arena: Numbers, x: Index, y: Index, mean: float, rows: Index, stride: Index, count: Index
) -> Any:
    """Sum products of two sets of rows, each number minus the mean."""
    shares = cuda.shared.array(SHARES, np.float64)
    for share in range(cuda.threadIdx.x, SHARES, cuda.blockDim.x):
        total = 0.0
        for i in range(share, rows * count, SHARES):
            place = number_at(i, count, stride)
            first, second = arena[np.uint64(x) + place], arena[np.uint64(y) + place]
            total += (np.float64(first) - mean) * (np.float64(second) - mean)
        shares[share] = total
    return sum_of_shares(shares)


@kernel
def sum_of_shares(shares: Numbers) -> Any:
    """Sum the shares of a block in order, by one thread; all threads synchronize.

    Many GPUs have few units for float64.
    """
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        shares[0] = sum_in_order(shares, 0, 1, SHARES, 1.0, 0.0)
    cuda.syncthreads()
    total = shares[0]
    cuda.syncthreads()
    return total
