"""Which samples a step sees, drawn inside the kernels: the same ones as in `batches.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.data.batches import IN_ORDER, PICKED, POINTS, SHUFFLED
from scalarviz.engines.codegen.dispatch import kernel, philox, scramble, unit
from scalarviz.engines.cpu.products import Index, Numbers
from scalarviz.formulas.randomness import MASK, STREAM_ORDER, STREAM_PICKS, STREAM_POINTS

Drawing = Any  # an array of the fields below, int64

# How batches are drawn: which of the four ways, from which seed, how many samples there are in an
# epoch and in a batch.
DRAW, SEED_LOW, SEED_HIGH, SAMPLES, SIZE = [np.uint64(i) for i in range(5)]
DRAWING_FIELDS = 5


@kernel
def count_drawn(drawing: Drawing, settings: Numbers, step: Index) -> Index:
    """How many samples the batch of a step has."""
    return min(drawing[SIZE], drawing[SAMPLES] - first_place(drawing, settings, step))


@kernel
def first_place(drawing: Drawing, settings: Numbers, step: Index) -> Index:
    """How many samples of the epoch come before those of a step."""
    size = drawing[SIZE]
    steps = (drawing[SAMPLES] + size - 1) // size
    if drawing[DRAW] == IN_ORDER:
        step = step - np.int64(settings[0])
    return np.int64(step) % steps * size


@kernel
def draw_rows(
    drawing: Drawing, settings: Numbers, step: Index, rows: Any, goal_rows: Any, points: Numbers
) -> Index:
    """Fill in the rows of the samples of a step; how many there are."""
    count = np.int64(count_drawn(drawing, settings, step))
    start = np.int64(first_place(drawing, settings, step))
    if drawing[DRAW] == IN_ORDER:
        for i in range(count):
            rows[i] = goal_rows[i] = start + i
    elif drawing[DRAW] == SHUFFLED:
        shuffle_rows(drawing, step, start, count, rows, goal_rows)
    elif drawing[DRAW] == PICKED:
        for i in range(count):
            u, _ = draw_pair(drawing, STREAM_PICKS, step, i)
            rows[i] = goal_rows[i] = np.int64(u * drawing[SAMPLES])
    elif drawing[DRAW] == POINTS:
        for i in range(count):
            u, v = draw_pair(drawing, STREAM_POINTS, step, i)
            points[i, 0] = u
            points[i, 1] = v
            rows[i] = i
            goal_rows[i] = texel(u, v, settings)
    return count


@kernel
def draw_pair(drawing: Drawing, stream: Index, step: Index, i: Index) -> tuple[float, float]:
    """Two numbers between 0 and 1, for draw number i of a step."""
    low, high, _, _ = philox(
        np.int64(i), np.int64(0), np.int64(step) & MASK, stream,
        drawing[SEED_LOW], drawing[SEED_HIGH],
    )  # fmt: skip
    return unit(low), unit(high)


@kernel
def shuffle_rows(
    drawing: Drawing, step: Index, start: Index, count: Index, rows: Any, goal_rows: Any
) -> None:
    """The samples that stand at some places in the order of the step's epoch."""
    samples, size = drawing[SAMPLES], drawing[SIZE]
    epoch = np.int64(step) // ((samples + size - 1) // size)
    zero = np.int64(0)
    k0, k1, k2, k3 = philox(
        zero, zero, epoch & MASK, STREAM_ORDER, drawing[SEED_LOW], drawing[SEED_HIGH]
    )
    bits = np.int64(0)
    while (np.int64(1) << bits) < samples:
        bits += 1
    mask, shift = (np.int64(1) << bits) - 1, (bits + 1) >> 1
    for i in range(count):
        row = scramble(np.int64(start + i), mask, shift, k0, k1, k2, k3)
        while row >= samples:
            row = scramble(row, mask, shift, k0, k1, k2, k3)
        rows[i] = goal_rows[i] = row


@kernel
def texel(u: float, v: float, settings: Numbers) -> Index:
    """The row of the texel that a point looks at; see `batches.Points`."""
    width, height = settings[0], settings[1]
    x = np.floor((settings[2] * u + settings[3] * v + settings[6]) * width)
    y = np.floor((settings[4] * u + settings[5] * v + settings[7]) * height)
    column = np.int64(min(max(x, 0.0), width - 1.0))
    return np.int64(min(max(y, 0.0), height - 1.0)) * np.int64(width) + column
