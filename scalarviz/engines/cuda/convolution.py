"""Kernels of convolution, by a team of threads.

A thread computes one output, one weight gradient, or one input gradient, for all samples of its
share. Samples are adjacent in memory, so that neighbouring threads read neighbouring numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.engines.codegen.cuda_dispatch import Real, kernel
from scalarviz.engines.cuda.api import cuda
from scalarviz.engines.cuda.places import (
    BIAS_ROW,
    COUNT,
    EACH,
    HAS_BIASES,
    INPUTS,
    OUTPUTS,
    SETTINGS,
    SOURCE,
    TARGET,
    WEIGHT_ROW,
    WEIGHTS,
)
from scalarviz.engines.cuda.teams import bias_sum, kept, partial_of

Numbers = Any
Whole = Any
Exact = Any
Index = Any


@kernel
def geometry(plan: Whole, op: Index, arena: Numbers) -> Any:
    """Return channels, height, width of the picture; height, width, stride, padding of a window.

    Then the number of windows from top to bottom and from left to right.
    """
    first = plan[op + SETTINGS]
    channels, height = np.int64(arena[first]), np.int64(arena[first + 1])
    width, tall = np.int64(arena[first + 2]), np.int64(arena[first + 3])
    broad, apart = np.int64(arena[first + 4]), np.int64(arena[first + 5])
    padding = np.int64(arena[first + 6])
    high = (height + 2 * padding - tall) // apart + 1
    wide = (width + 2 * padding - broad) // apart + 1
    return channels, height, width, tall, broad, apart, padding, high, wide


@kernel
def windows_at(place: Index, length: Index, apart: Index, padding: Index, count: Index) -> Any:
    """Return the range of windows whose place `place` is on the picture."""
    first = (max(padding - place, 0) + apart - 1) // apart
    return first, min((length + padding - place - 1) // apart + 1, count)


@kernel
def seeing(place: Index, count: Index, size: Index, apart: Index) -> Any:
    """Return the range of places, in steps of `apart`, at which windows of `size` read a number.

    `place` is the number's, counted from `padding` before the edge; there are `count` windows,
    `apart` numbers from one to the next.
    """
    far = place - (count - 1) * apart
    return far if far > 0 else place % apart, min(size, place + 1)


@kernel
def products_of(
    left: Numbers, a: Index, a_step: Index, right: Numbers, b: Index, b_step: Index, count: Index,
    total: Any,
) -> Any:  # fmt: skip
    """Return `total` plus `count` products, of every a_step-th number of one and of the other.

    A step back is the unsigned number that the addition wraps around with.
    """
    if count <= 0:
        return total
    p, q = np.uint64(a), np.uint64(b)
    step, other = np.uint64(a_step), np.uint64(np.int64(b_step))
    end = p + np.uint64(count) * step
    while p < end:
        total = cuda.fma(left[p], right[q], total)
        p += step
        q += other
    return total


@kernel
def convolution_forward(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, space: Numbers, base: Index,
    stride: Index, first: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """z = b + the sum over a window of w x, for each window and each kernel."""
    channels, height, width, tall, broad, apart, padding, high, wide = geometry(plan, op, arena)
    x0, z0 = base + plan[op + SOURCE] * stride, base + plan[op + TARGET] * stride
    weights = plan[WEIGHTS] + plan[op + WEIGHT_ROW]
    biases = plan[WEIGHTS] + plan[op + BIAS_ROW]
    biased = plan[op + HAS_BIASES] != 0
    for i in range(worker, plan[op + OUTPUTS] * count, workers):
        r = i // count
        n = i - r * count
        o = r // (high * wide)
        top = (r // wide - o * high) * apart - padding
        left = r % wide * apart - padding
        total = arena[biases + o] if biased else Real(0)
        for c in range(channels):
            for line in range(max(0, -top), min(tall, height - top)):
                at = x0 + ((c * height + top + line) * width + left) * stride + n
                w = weights + ((o * channels + c) * tall + line) * broad
                k = max(0, -left)
                total = products_of(
                    arena, w + k, 1, space, at + k * stride, stride, min(broad, width - left) - k,
                    total,
                )  # fmt: skip
        space[z0 + r * stride + n] = kept(plan, total)


@kernel
def convolution_parameters(
    plan: Whole, op: Index, arena: Numbers, chunk: Index, fresh: bool, space: Numbers,
    base: Index, flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index,
    workers: Index,
) -> None:  # fmt: skip
    """Gradient of each weight: the sum of g x over samples and windows."""
    channels, height, width, tall, broad, apart, padding, high, wide = geometry(plan, op, arena)
    x0, g0 = base + plan[op + SOURCE] * stride, flow_base + plan[op + TARGET] * stride
    pixels, begin = plan[op + EACH], partial_of(plan, op, chunk)
    weights = plan[op + OUTPUTS] // pixels * channels * tall * broad
    for i in range(worker, plan[op + COUNT], workers):
        total = Real(0) if fresh else arena[begin + i]
        if i >= weights:
            g = g0 + (i - weights) * pixels * stride
            total = bias_sum(flow, g, pixels, stride, count, total)
        else:
            column, line = i % broad, i // broad % tall
            c, o = i // (broad * tall) % channels, i // (broad * tall * channels)
            up, down = windows_at(line, height, apart, padding, high)
            left, right = windows_at(column, width, apart, padding, wide)
            for n in range(count):
                for y in range(up, down):
                    row = (c * height + y * apart + line - padding) * width + column - padding
                    g = g0 + (o * pixels + y * wide + left) * stride + n
                    seen = x0 + (row + left * apart) * stride + n
                    total = products_of(
                        flow, g, stride, space, seen, apart * stride, right - left, total
                    )
        arena[begin + i] = total


@kernel
def convolution_inputs(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, space: Numbers, base: Index,
    flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """Gradient of each input: the sum of w g over kernels and the windows that read it."""
    channels, height, width, tall, broad, apart, padding, high, wide = geometry(plan, op, arena)
    h0, g0 = flow_base + plan[op + SOURCE] * stride, flow_base + plan[op + TARGET] * stride
    weights, pixels = plan[WEIGHTS] + plan[op + WEIGHT_ROW], plan[op + EACH]
    kernels = plan[op + OUTPUTS] // pixels
    for i in range(worker, plan[op + INPUTS] * count, workers):
        r = i // count
        n = i - r * count
        c = r // (height * width)
        row, column = r // width - c * height + padding, r % width + padding
        up, down = seeing(row, high, tall, apart)
        left, right = seeing(column, wide, broad, apart)
        total = Real(0)
        for o in range(kernels):
            for line in range(up, down, apart):
                g = g0 + (o * pixels + (row - line) // apart * wide) * stride + n
                w = weights + ((o * channels + c) * tall + line) * broad
                # From one weight to the next that reads this number, the window is one before.
                total = products_of(
                    arena, w + left, apart, flow, g + (column - left) // apart * stride, -stride,
                    (right - left + apart - 1) // apart, total,
                )  # fmt: skip
        flow[h0 + r * stride + n] = kept(plan, total)
