"""Drawing the samples of a step in a kernel: the same ones as in `data/batches.py`."""

from __future__ import annotations

import numpy as np

from scalarviz.core.formulas.randomness import MASK, STREAM_ORDER, STREAM_PICKS, STREAM_POINTS
from scalarviz.engines.codegen.dispatch import Real, by_address, inner, philox, scramble, unit
from scalarviz.engines.cpu.arrays import Address, batch_record, samples_of
from scalarviz.engines.cpu.products import Index, Numbers, Record, Table


@inner
def begin(job: Address, step: Index, drawing: Record) -> tuple[Index, Index, Index]:
    """Return the number of samples of a step, those before them in the epoch, and the epoch.

    The first is written to the batch of the job.
    """
    epoch, start = step, np.int64(0)
    if drawing.samples > drawing.size:  # a division takes as long as all that is drawn for a few
        steps = (drawing.samples + drawing.size - 1) // drawing.size
        epoch = step // steps
        start = (step - epoch * steps) * drawing.size
    count = min(drawing.size, drawing.samples - start)
    batch_record(job).samples = np.uint64(count)
    return count, start, epoch


# A kernel for each way of drawing: it draws the samples of step `number`.


@by_address
def draw_in_order(job: Address, number: Index) -> None:
    """Draw consecutive samples."""
    samples, step = samples_of(job, Real), np.int64(number)
    count, start, _ = begin(job, step - np.int64(samples.settings[0]), samples.drawing)
    for i in range(count):
        samples.rows[i] = samples.goal_rows[i] = start + i


@by_address
def draw_shuffled(job: Address, number: Index) -> None:
    """Draw consecutive samples of a shuffled epoch."""
    samples, step = samples_of(job, Real), np.int64(number)
    count, start, epoch = begin(job, step, samples.drawing)
    shuffle_rows(samples.drawing, epoch, start, count, samples.rows, samples.goal_rows)


@by_address
def draw_picked(job: Address, number: Index) -> None:
    """Draw each sample at random."""
    samples, step = samples_of(job, Real), np.int64(number)
    drawing = samples.drawing
    count, _, _ = begin(job, step, drawing)
    for i in range(count):
        u, _ = draw_pair(drawing, STREAM_PICKS, step, i)
        samples.rows[i] = samples.goal_rows[i] = np.int64(u * drawing.samples)


@by_address
def draw_points(job: Address, number: Index) -> None:
    """Draw points at random, and the texel at each."""
    samples, step = samples_of(job, Real), np.int64(number)
    count, _, _ = begin(job, step, samples.drawing)
    for i in range(count):
        u, v = draw_pair(samples.drawing, STREAM_POINTS, step, i)
        samples.points[i, 0] = u
        samples.points[i, 1] = v
        samples.rows[i] = i
        samples.goal_rows[i] = texel(u, v, samples.settings)


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
    drawing: Record, epoch: Index, start: Index, count: Index, rows: Table, goal_rows: Table
) -> None:
    """Write the `count` samples from position `start` on of a shuffled epoch."""
    samples = drawing.samples
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
