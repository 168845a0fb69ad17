"""Drawing the samples of a step on a GPU: the same ones as in `data/batches.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.core.formulas.randomness import MASK, STREAM_ORDER, STREAM_PICKS, STREAM_POINTS
from scalarviz.data.batches import IN_ORDER, POINTS
from scalarviz.engines.codegen.cuda_dispatch import Real, chosen, kernel, philox, scramble, unit
from scalarviz.engines.cuda.api import cuda
from scalarviz.engines.cuda.places import (
    DRAW,
    DRAW_NUMBERS,
    FIRST_STEP,
    GOALS,
    IN_SIZE,
    OUT_SIZE,
    SAMPLES,
    SEED_HIGH,
    SEED_LOW,
    SIZE,
    TABLE_TARGETS,
    Exact,
    Index,
    Numbers,
    Whole,
)


@kernel
def epoch_place(plan: Whole, scalars: Exact, k: Index) -> Any:
    """Return the epoch of step k of a call, and how many of its samples came before."""
    size = plan[SIZE]
    steps = (plan[SAMPLES] + size - 1) // size
    step = plan[FIRST_STEP] + k
    if plan[DRAW] == IN_ORDER:
        step -= np.int64(scalars[DRAW_NUMBERS])
    return step // steps, step % steps * size


@kernel
def batch_size(plan: Whole, scalars: Exact, k: Index) -> Index:
    """Return the number of samples in the batch of a step."""
    _, place = epoch_place(plan, scalars, k)
    return min(plan[SIZE], plan[SAMPLES] - place)


@kernel
def draw_pair(plan: Whole, stream: Index, k: Index, i: Index) -> Any:
    """Return two numbers between 0 and 1, for draw number i of a step."""
    low, high, _, _ = philox(
        np.int64(i) & MASK, np.int64(i) >> 32, (plan[FIRST_STEP] + k) & MASK, np.int64(stream),
        plan[SEED_LOW], plan[SEED_HIGH],
    )  # fmt: skip
    return unit(low), unit(high)


@kernel
def shuffled_row(plan: Whole, epoch: Index, place: Index) -> Index:
    """Return the sample at a place in the order of an epoch."""
    zero = np.int64(0)
    k0, k1, k2, k3 = philox(
        zero, zero, epoch & MASK, np.int64(STREAM_ORDER), plan[SEED_LOW], plan[SEED_HIGH]
    )
    bits = np.int64(0)
    while (np.int64(1) << bits) < plan[SAMPLES]:
        bits += 1
    mask, shift = (np.int64(1) << bits) - 1, (bits + 1) >> 1
    row = scramble(np.int64(place), mask, shift, k0, k1, k2, k3)
    while row >= plan[SAMPLES]:
        row = scramble(row, mask, shift, k0, k1, k2, k3)
    return row


@kernel
def product(x: float, y: float) -> Any:
    """Return x * y, rounded: the compiler must not fuse it with the addition that follows."""
    return cuda.fma(x, y, 0.0)


@kernel
def texel(scalars: Exact, u: float, v: float) -> Index:
    """Return the row of the texel of a point; see `batches.Points`."""
    settings = scalars[DRAW_NUMBERS : DRAW_NUMBERS + 8]
    width, height = settings[0], settings[1]
    across = product(settings[2], u) + product(settings[3], v) + settings[6]
    down = product(settings[4], u) + product(settings[5], v) + settings[7]
    x = np.int64(min(max(across * width, 0.0), width - 1.0))
    y = np.int64(min(max(down * height, 0.0), height - 1.0))
    return y * np.int64(width) + x


# ---- one sample ---------------------------------------------------------------------------------


@kernel
def row_in_order(
    plan: Whole, scalars: Exact, k: Index, i: Index, space: Numbers, place: Index, stride: Index
) -> Index:
    """Return the row of sample i of a step, in the order of the table."""
    _, before = epoch_place(plan, scalars, k)
    return before + i


@kernel
def row_shuffled(
    plan: Whole, scalars: Exact, k: Index, i: Index, space: Numbers, place: Index, stride: Index
) -> Index:
    """Return the row of sample i of a step, in the order of its epoch."""
    epoch, before = epoch_place(plan, scalars, k)
    return shuffled_row(plan, epoch, before + i)


@kernel
def row_picked(
    plan: Whole, scalars: Exact, k: Index, i: Index, space: Numbers, place: Index, stride: Index
) -> Index:
    """Return a row drawn with replacement."""
    u, _ = draw_pair(plan, STREAM_PICKS, k, i)
    return np.int64(u * plan[SAMPLES])


@kernel
def texel_of_point(
    plan: Whole, scalars: Exact, k: Index, i: Index, space: Numbers, place: Index, stride: Index
) -> Index:
    """Write a point to the workspace, and return the row of its texel."""
    u, v = draw_pair(plan, STREAM_POINTS, k, i)
    space[place] = Real(u)
    space[place + stride] = Real(v)
    return texel(scalars, u, v)


# How a sample is drawn, in the order of the codes of `data/batches.py`.
DRAWS = {
    "in order": (row_in_order,),
    "shuffled": (row_shuffled,),
    "picked": (row_picked,),
    "points": (texel_of_point,),
}


@kernel
def drawn_row(
    plan: Whole, scalars: Exact, k: Index, i: Index, space: Numbers, place: Index, stride: Index
) -> Index:
    """Return the row in the tables of sample i of a step, whose column begins at `place`."""
    run = chosen(DRAWS, plan[DRAW])[0]
    return run(plan, scalars, k, i, space, place, stride)


@kernel
def draw(
    plan: Whole, scalars: Exact, data: Numbers, k: Index, first: Index, space: Numbers, base: Index,
    stride: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """Write the samples `first`, `first` + 1, ... of a batch to the columns of a workspace."""
    inputs, outputs, goals = plan[IN_SIZE], plan[OUT_SIZE], base + plan[GOALS] * stride
    for n in range(worker, count, workers):
        row = drawn_row(plan, scalars, k, first + n, space, base + n, stride)
        if plan[DRAW] != POINTS:  # which are written already
            for i in range(inputs):
                space[base + n + i * stride] = data[row * inputs + i]
        for i in range(outputs):
            space[goals + i * stride + n] = data[plan[TABLE_TARGETS] + row * outputs + i]
