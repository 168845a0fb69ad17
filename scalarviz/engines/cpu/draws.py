"""Drawing the samples of a step in a kernel: the same ones as in `data/batches.py`."""

from __future__ import annotations

import numpy as np

from scalarviz.data.batches import IN_ORDER, PICKED, POINTS, SHUFFLED
from scalarviz.engines.codegen.dispatch import inner, philox, scramble, unit
from scalarviz.engines.cpu.arrays import SampleArrays
from scalarviz.engines.cpu.products import Index, Numbers, Record, Table
from scalarviz.formulas.randomness import MASK, STREAM_ORDER, STREAM_PICKS, STREAM_POINTS


@inner
def count_drawn(drawing: Record, settings: Numbers, step: Index) -> Index:
    """Return the number of samples in the batch of a step."""
    return min(drawing.size, drawing.samples - first_place(drawing, settings, step))


@inner
def first_place(drawing: Record, settings: Numbers, step: Index) -> Index:
    """Return how many samples of the epoch come before those of a step."""
    size = drawing.size
    steps = (drawing.samples + size - 1) // size
    if drawing.draw == IN_ORDER:
        step = step - np.int64(settings[0])
    return np.int64(step) % steps * size


@inner
def draw_rows(samples: SampleArrays, step: Index) -> Index:
    """Write the rows of a step's samples to `samples`, and return their number."""
    drawing, settings, points = samples.drawing[0], samples.draw_settings, samples.points
    rows, goal_rows = samples.rows, samples.goal_rows
    count = np.int64(count_drawn(drawing, settings, step))
    start = np.int64(first_place(drawing, settings, step))
    if drawing.draw == IN_ORDER:
        for i in range(count):
            rows[i] = goal_rows[i] = start + i
    elif drawing.draw == SHUFFLED:
        shuffle_rows(drawing, step, start, count, rows, goal_rows)
    elif drawing.draw == PICKED:
        for i in range(count):
            u, _ = draw_pair(drawing, STREAM_PICKS, step, i)
            rows[i] = goal_rows[i] = np.int64(u * drawing.samples)
    elif drawing.draw == POINTS:
        for i in range(count):
            u, v = draw_pair(drawing, STREAM_POINTS, step, i)
            points[i, 0] = u
            points[i, 1] = v
            rows[i] = i
            goal_rows[i] = texel(u, v, settings)
    return count


@inner
def draw_pair(drawing: Record, stream: Index, step: Index, i: Index) -> tuple[float, float]:
    """Return two numbers between 0 and 1, for draw number i of a step."""
    low, high, _, _ = philox(
        np.int64(i), np.int64(0), np.int64(step) & MASK, stream,
        drawing.seed_low, drawing.seed_high,
    )  # fmt: skip
    return unit(low), unit(high)


@inner
def shuffle_rows(
    drawing: Record, step: Index, start: Index, count: Index, rows: Table, goal_rows: Table
) -> None:
    """Write the `count` samples from position `start` on of the shuffled epoch of a step."""
    samples, size = drawing.samples, drawing.size
    epoch = np.int64(step) // ((samples + size - 1) // size)
    zero = np.int64(0)
    k0, k1, k2, k3 = philox(
        zero, zero, epoch & MASK, STREAM_ORDER, drawing.seed_low, drawing.seed_high
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


@inner
def texel(u: float, v: float, settings: Numbers) -> Index:
    """Return the row of the texel of a point; see `batches.Points`."""
    width, height = settings[0], settings[1]
    x = np.floor((settings[2] * u + settings[3] * v + settings[6]) * width)
    y = np.floor((settings[4] * u + settings[5] * v + settings[7]) * height)
    column = np.int64(min(max(x, 0.0), width - 1.0))
    return np.int64(min(max(y, 0.0), height - 1.0)) * np.int64(width) + column
