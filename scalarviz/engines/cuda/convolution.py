"""Kernels of convolution: outputs, and gradients of the inputs; see also `convolution_weights`.

They compute whole batches, by all threads. An output is a chain of `cuda.fma`
from the bias, or 0: over the lines and columns of the window, and for each over the channels. A
gradient of an input is one over lines and columns, and for each over the convolution kernels. That
of a weight is one over the samples of a chunk, four at a time: over all windows, and for each over
these samples. What a window reads beyond the picture is 0. A bias is a weight of a number that is
always 1, after those of the window.

A thread computes several of these sums at once, in registers, so that what it loads serves several
multiply-adds; indices are unsigned and advance by additions, see `products`. Neighbouring threads
have neighbouring samples, which are neighbours in memory. The samples of a thread are APART from
each other: the compiler knows how far, and needs one address for all of them.

    channels, height, width   shape of a picture
    tall, broad               height and width of a window
    apart, padding            stride of the windows, and zeros around the picture
    high, wide                number of windows from top to bottom and from left to right
    taps                      number of weights of a convolution kernel
    o, c                      index of a convolution kernel, and of a channel
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.engines.codegen.cuda_dispatch import Real, kernel
from scalarviz.engines.cuda.api import cuda
from scalarviz.engines.cuda.places import (
    APART,
    BIAS_ROW,
    EACH,
    FLOW,
    HAS_BIASES,
    OUTPUTS,
    SETTINGS,
    SOURCE,
    SPACE,
    STRIDE,
    TARGET,
    TWO,
    VALUE,
    WEIGHT_ROW,
    Exact,
    Index,
    Numbers,
    Whole,
)
from scalarviz.engines.cuda.products import for_four
from scalarviz.engines.cuda.teams import row_at, row_of

# From the first sample of a thread to the others.
SECOND_ON, THIRD_ON, FOURTH_ON = np.uint64(APART), np.uint64(2 * APART), np.uint64(3 * APART)


@kernel
def steps_in(length: Index, step: Index) -> Index:
    """Return how many steps of a size are in a length, which is not negative."""
    return np.int64(row_of(length, step))


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
    high = steps_in(height + 2 * padding - tall, apart) + 1
    wide = steps_in(width + 2 * padding - broad, apart) + 1
    return channels, height, width, tall, broad, apart, padding, high, wide


@kernel
def seeing(place: Index, count: Index, size: Index, apart: Index) -> Any:
    """Return the range of places, in steps of `apart`, at which windows of `size` read a number.

    `place` is the number's, counted from `padding` before the edge; there are `count` windows,
    `apart` numbers from one to the next.
    """
    far = place - (count - 1) * apart
    first = far if far > 0 else place - steps_in(place, apart) * apart
    return first, min(size, place + 1)


# ---- forward, and gradients of inputs -----------------------------------------------------------


@kernel
def threads_of(count: Index) -> Index:
    """Return how many threads share the samples of a row; see `first_sample`."""
    return (count + 4 * APART - 1) // (4 * APART) * min(count, APART)


@kernel
def first_sample(thread: Index, count: Index) -> Index:
    """Return the first of the four samples of a thread; the others are APART from each other.

    Neighbouring threads have neighbouring samples.
    """
    lanes = min(count, APART)
    group = np.int64(row_of(thread, lanes))
    return group * 4 * APART + thread - group * lanes


@kernel
def sixteen_sums(
    weights: Numbers, w: Index, b: Index, c: Index, d: Index, space: Numbers, x: Index, a0: Any,
    a1: Any, a2: Any, a3: Any, b0: Any, b1: Any, b2: Any, b3: Any, c0: Any, c1: Any, c2: Any,
    c3: Any, d0: Any, d1: Any, d2: Any, d3: Any,
) -> Any:  # fmt: skip
    """Return sixteen sums with the product of each of four weights and four samples added."""
    x0, x1, x2, x3 = space[x], space[x + SECOND_ON], space[x + THIRD_ON], space[x + FOURTH_ON]
    a0, a1, a2, a3 = for_four(weights[w], x0, x1, x2, x3, a0, a1, a2, a3)
    b0, b1, b2, b3 = for_four(weights[np.uint32(w + b)], x0, x1, x2, x3, b0, b1, b2, b3)
    c0, c1, c2, c3 = for_four(weights[np.uint32(w + c)], x0, x1, x2, x3, c0, c1, c2, c3)
    d0, d1, d2, d3 = for_four(weights[np.uint32(w + d)], x0, x1, x2, x3, d0, d1, d2, d3)
    return a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3


@kernel
def sums_along(
    weights: Numbers, w: Index, w_step: Index, b: Index, c: Index, d: Index, count: Index,
    space: Numbers, x: Index, step: Index,
    a0: Any, a1: Any, a2: Any, a3: Any, b0: Any, b1: Any, b2: Any, b3: Any, c0: Any,
    c1: Any, c2: Any, c3: Any, d0: Any, d1: Any, d2: Any, d3: Any,
) -> Any:  # fmt: skip
    """Return sixteen sums with `count` products added, of four rows of weights and four samples.

    The weights of a row are `w_step` numbers apart, from w on; those of the other rows are b, c and
    d numbers after those of the first. Their indices have 32 bits, see `tables.place_parts`: so an
    address takes fewer instructions. The samples are at x, and APART from each other. A loop that
    the compiler can count is unrolled further, and takes more registers.
    """
    w = np.uint32(w)
    last, whole = np.uint32(w + count * w_step), np.uint32(w + count // TWO * TWO * w_step)
    while w != whole:
        for _ in range(2):
            a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3 = sixteen_sums(
                weights, w, b, c, d, space, x,
                a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3,
            )  # fmt: skip
            w = np.uint32(w + w_step)
            x += step
    while w != last:
        a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3 = sixteen_sums(
            weights, w, b, c, d, space, x,
            a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3,
        )  # fmt: skip
        w = np.uint32(w + w_step)
        x += step
    return a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3


@kernel
def write_four_samples(
    space: Numbers, place: Index, row: Index, rows: Index, n: Index, count: Index, first: Any,
    second: Any, third: Any, fourth: Any,
) -> None:  # fmt: skip
    """Write the numbers of four samples of a row, from `place` on, those that exist."""
    if row < rows and n < count:
        space[place] = first
        if n + APART < count:
            space[place + SECOND_ON] = second
        if n + 2 * APART < count:
            space[place + THIRD_ON] = third
        if n + 3 * APART < count:
            space[place + FOURTH_ON] = fourth


@kernel
def convolution_forward(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, count: Index
) -> None:
    """z = b + the sum over a window of w x; for 4 kernels and 4 samples a thread."""
    channels, height, width, tall, broad, apart, padding, high, wide = geometry(plan, op, arena)
    base, stride = plan[SPACE], plan[STRIDE]
    x0, z0 = row_at(base, plan[op + SOURCE], stride), row_at(base, plan[op + TARGET], stride)
    pixels, taps, threads = high * wide, channels * tall * broad, threads_of(count)
    last = plan[op + OUTPUTS] // pixels - 1
    biased, channel = plan[op + HAS_BIASES] != 0, np.uint64(height * width * stride)
    for job in range(cuda.grid(1), (last + 4) // 4 * pixels * threads, cuda.gridsize(1)):
        place = np.int64(row_of(job, threads))
        n = first_sample(job - place * threads, count)
        quad = np.int64(row_of(place, pixels))
        pixel, o = place - quad * pixels, quad * 4
        y = np.int64(row_of(pixel, wide))
        top, left = y * apart - padding, (pixel - y * wide) * apart - padding
        o1, o2, o3 = min(o + 1, last), min(o + 2, last), min(o + 3, last)
        b, c, d = np.uint32((o1 - o) * taps), np.uint32((o2 - o) * taps), np.uint32((o3 - o) * taps)
        a0 = b0 = c0 = d0 = Real(0)
        if biased:
            biases = plan[VALUE] + plan[op + BIAS_ROW]
            a0, b0 = arena[biases + o], arena[biases + o1]
            c0, d0 = arena[biases + o2], arena[biases + o3]
        a1 = a2 = a3 = a0
        b1 = b2 = b3 = b0
        c1 = c2 = c3 = c0
        d1 = d2 = d3 = d0
        weights = plan[VALUE] + plan[op + WEIGHT_ROW] + o * taps
        line, end = max(0, -top), min(tall, height - top)
        while line < end:
            column = max(0, -left)
            x = x0 + np.uint64(((top + line) * width + left + column) * stride + n)
            while column < min(broad, width - left):
                a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3 = sums_along(
                    arena, np.uint64(weights + line * broad + column), np.uint64(tall * broad),
                    b, c, d, np.uint64(channels), arena, x, channel,
                    a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3,
                )  # fmt: skip
                x += np.uint64(stride)
                column += 1
            line += 1
        z, step, k = z0 + np.uint64(pixel * stride + n), np.uint64(pixels * stride), last + 1
        z += np.uint64(o) * step
        write_four_samples(arena, z, o, k, n, count, a0, a1, a2, a3)
        z += step
        write_four_samples(arena, z, o + 1, k, n, count, b0, b1, b2, b3)
        z += step
        write_four_samples(arena, z, o + 2, k, n, count, c0, c1, c2, c3)
        z += step
        write_four_samples(arena, z, o + 3, k, n, count, d0, d1, d2, d3)


@kernel
def convolution_inputs(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, count: Index
) -> None:
    """The sum of w g over the windows that read an input; for 4 channels and 4 samples a thread."""
    channels, height, width, tall, broad, apart, padding, high, wide = geometry(plan, op, arena)
    base, stride = plan[FLOW], plan[STRIDE]
    h0, g0 = row_at(base, plan[op + SOURCE], stride), row_at(base, plan[op + TARGET], stride)
    pixels, size, window, last = plan[op + EACH], height * width, tall * broad, channels - 1
    threads = threads_of(count)
    taps, kernels = np.uint64(channels * window), np.uint64(plan[op + OUTPUTS] // pixels)
    for job in range(cuda.grid(1), (last + 4) // 4 * size * threads, cuda.gridsize(1)):
        place = np.int64(row_of(job, threads))
        n = first_sample(job - place * threads, count)
        quad = np.int64(row_of(place, size))
        pixel, channel = place - quad * size, quad * 4
        y = np.int64(row_of(pixel, width))
        row, column = y + padding, pixel - y * width + padding
        up, down = seeing(row, high, tall, apart)
        left, right = seeing(column, wide, broad, apart)
        b = np.uint32((min(channel + 1, last) - channel) * window)
        c = np.uint32((min(channel + 2, last) - channel) * window)
        d = np.uint32((min(channel + 3, last) - channel) * window)
        a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = Real(0)
        c0 = c1 = c2 = c3 = d0 = d1 = d2 = d3 = Real(0)
        weights = plan[VALUE] + plan[op + WEIGHT_ROW] + channel * window
        # From one weight to the next that reads this number, the window is one before.
        windows = steps_in(row - up, apart) * wide + steps_in(column - left, apart)
        while up < down:
            g, k = g0 + np.uint64(windows * stride + n), left
            while k < right:
                a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3 = sums_along(
                    arena, np.uint64(weights + up * broad + k), taps, b, c, d, kernels, arena, g,
                    np.uint64(pixels * stride),
                    a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3,
                )  # fmt: skip
                g -= np.uint64(stride)
                k += apart
            windows -= wide
            up += apart
        h, step, o = h0 + np.uint64(pixel * stride + n), np.uint64(size * stride), channel
        h += np.uint64(o) * step
        write_four_samples(arena, h, o, channels, n, count, a0, a1, a2, a3)
        h += step
        write_four_samples(arena, h, o + 1, channels, n, count, b0, b1, b2, b3)
        h += step
        write_four_samples(arena, h, o + 2, channels, n, count, c0, c1, c2, c3)
        h += step
        write_four_samples(arena, h, o + 3, channels, n, count, d0, d1, d2, d3)
