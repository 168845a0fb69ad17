"""Kernels of convolution, by a team of threads.

Gradients of the weights for whole batches are in `convolution_products`.

Every number is the same sum, in the same order, on every path. An output is a chain of `cuda.fma`
from the bias, or 0: over the lines and columns of the window, and for each over the channels. A
gradient of an input is one over lines and columns, and for each over the convolution kernels. That
of a weight is one over the samples of a chunk, four at a time: over all windows, and for each over
these samples. What a window reads beyond the picture is 0. A bias is a weight of a number that is
always 1, after those of the window.

A thread computes several of these sums at once, in registers, so that what it loads serves several
multiply-adds; indices are unsigned and advance by additions, see `products`. Neighbouring threads
have neighbouring samples, which are neighbours in memory.

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
from scalarviz.engines.cuda.places import (
    BIAS_ROW,
    EACH,
    HAS_BIASES,
    ONE,
    OUTPUTS,
    SETTINGS,
    SOURCE,
    TARGET,
    THREE,
    TWO,
    WEIGHT_ROW,
    WEIGHTS,
    ZERO,
)
from scalarviz.engines.cuda.products import for_four, for_two, write_pair
from scalarviz.engines.cuda.teams import partial_of, row_at, row_of

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
def seeing(place: Index, count: Index, size: Index, apart: Index) -> Any:
    """Return the range of places, in steps of `apart`, at which windows of `size` read a number.

    `place` is the number's, counted from `padding` before the edge; there are `count` windows,
    `apart` numbers from one to the next.
    """
    far = place - (count - 1) * apart
    return far if far > 0 else place % apart, min(size, place + 1)


# ---- forward, and gradients of inputs -----------------------------------------------------------


@kernel
def halves(count: Index) -> Index:
    """Return how far apart the two pairs of samples of a thread are."""
    return (count + 3) // 4 * 2


@kernel
def sixteen_sums(
    weights: Numbers, w: Index, b: Index, c: Index, d: Index, space: Numbers, x: Index, far: Index,
    a0: Any, a1: Any, a2: Any, a3: Any, b0: Any, b1: Any, b2: Any, b3: Any, c0: Any,
    c1: Any, c2: Any, c3: Any, d0: Any, d1: Any, d2: Any, d3: Any,
) -> Any:  # fmt: skip
    """Return sixteen sums with the product of each of four weights and four samples added."""
    x0, x1, x2, x3 = space[x], space[x + ONE], space[x + far], space[x + far + ONE]
    a0, a1, a2, a3 = for_four(weights[w], x0, x1, x2, x3, a0, a1, a2, a3)
    b0, b1, b2, b3 = for_four(weights[w + b], x0, x1, x2, x3, b0, b1, b2, b3)
    c0, c1, c2, c3 = for_four(weights[w + c], x0, x1, x2, x3, c0, c1, c2, c3)
    d0, d1, d2, d3 = for_four(weights[w + d], x0, x1, x2, x3, d0, d1, d2, d3)
    return a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3


@kernel
def sums_along(
    weights: Numbers, w: Index, w_step: Index, b: Index, c: Index, d: Index, count: Index,
    space: Numbers, x: Index, far: Index, step: Index,
    a0: Any, a1: Any, a2: Any, a3: Any, b0: Any, b1: Any, b2: Any, b3: Any, c0: Any,
    c1: Any, c2: Any, c3: Any, d0: Any, d1: Any, d2: Any, d3: Any,
) -> Any:  # fmt: skip
    """Return sixteen sums with `count` products added, of four rows of weights and four samples.

    The weights of a row are `w_step` numbers apart, from w on; those of the other rows are b, c and
    d numbers after those of the first. The samples are two neighbours at x and two that are `far`
    numbers after these. A loop that the compiler can count is unrolled further, and takes more
    registers than a whole step in float64 has.
    """
    last, whole = w + count * w_step, w + count // TWO * TWO * w_step
    while w != whole:
        a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3 = sixteen_sums(
            weights, w, b, c, d, space, x, far,
            a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3,
        )  # fmt: skip
        w += w_step
        x += step
        a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3 = sixteen_sums(
            weights, w, b, c, d, space, x, far,
            a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3,
        )  # fmt: skip
        w += w_step
        x += step
    while w != last:
        a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3 = sixteen_sums(
            weights, w, b, c, d, space, x, far,
            a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3,
        )  # fmt: skip
        w += w_step
        x += step
    return a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3


@kernel
def write_four_samples(
    plan: Whole, space: Numbers, start: Index, step: Index, row: Index, n: Index, half: Index,
    rows: Index, samples: Index, first: Any, second: Any, third: Any, fourth: Any,
) -> None:  # fmt: skip
    """Write the numbers of two pairs of samples to a row, those that exist."""
    write_pair(plan, space, start, step, row, n, rows, samples, first, second)
    if n + half < samples:
        write_pair(plan, space, start, step, row, n + half, rows, samples, third, fourth)


@kernel
def convolution_forward(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, space: Numbers, base: Index,
    stride: Index, first: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """z = b + the sum over a window of w x; for 4 kernels and 4 samples a thread."""
    channels, height, width, tall, broad, apart, padding, high, wide = geometry(plan, op, arena)
    x0, z0 = row_at(base, plan[op + SOURCE], stride), row_at(base, plan[op + TARGET], stride)
    pixels, taps, half = high * wide, channels * tall * broad, halves(count)
    pairs, last = half // 2, plan[op + OUTPUTS] // pixels - 1
    biased, channel = plan[op + HAS_BIASES] != 0, np.uint64(height * width * stride)
    for job in range(worker, (last + 4) // 4 * pixels * pairs, workers):
        place = np.int64(row_of(job, pairs))
        n, quad = (job - place * pairs) * 2, np.int64(row_of(place, pixels))
        pixel, o = place - quad * pixels, quad * 4
        y = np.int64(row_of(pixel, wide))
        top, left = y * apart - padding, (pixel - y * wide) * apart - padding
        o1, o2, o3 = min(o + 1, last), min(o + 2, last), min(o + 3, last)
        b, c, d = np.uint64((o1 - o) * taps), np.uint64((o2 - o) * taps), np.uint64((o3 - o) * taps)
        far = np.uint64(half) if n + half < count else np.uint64(0)
        a0 = b0 = c0 = d0 = Real(0)
        if biased:
            biases = plan[WEIGHTS] + plan[op + BIAS_ROW]
            a0, b0 = arena[biases + o], arena[biases + o1]
            c0, d0 = arena[biases + o2], arena[biases + o3]
        a1 = a2 = a3 = a0
        b1 = b2 = b3 = b0
        c1 = c2 = c3 = c0
        d1 = d2 = d3 = d0
        weights = plan[WEIGHTS] + plan[op + WEIGHT_ROW] + o * taps
        line, end = max(0, -top), min(tall, height - top)
        while line < end:
            column = max(0, -left)
            x = x0 + np.uint64(((top + line) * width + left + column) * stride + n)
            while column < min(broad, width - left):
                a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3 = sums_along(
                    arena, np.uint64(weights + line * broad + column), np.uint64(tall * broad),
                    b, c, d, np.uint64(channels), space, x, far, channel,
                    a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3,
                )  # fmt: skip
                x += np.uint64(stride)
                column += 1
            line += 1
        start, step = z0 + np.uint64(pixel * stride), np.uint64(pixels * stride)
        rows = np.uint64(last + 1)
        r, t, h, samples = np.uint64(o), np.uint64(n), np.uint64(half), np.uint64(count)
        write_four_samples(plan, space, start, step, r, t, h, rows, samples, a0, a1, a2, a3)
        write_four_samples(plan, space, start, step, r + ONE, t, h, rows, samples, b0, b1, b2, b3)
        write_four_samples(plan, space, start, step, r + TWO, t, h, rows, samples, c0, c1, c2, c3)
        write_four_samples(plan, space, start, step, r + THREE, t, h, rows, samples, d0, d1, d2, d3)


@kernel
def convolution_inputs(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, space: Numbers, base: Index,
    flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """The sum of w g over the windows that read an input; for 4 channels and 4 samples a thread."""
    channels, height, width, tall, broad, apart, padding, high, wide = geometry(plan, op, arena)
    h0 = row_at(flow_base, plan[op + SOURCE], stride)
    g0 = row_at(flow_base, plan[op + TARGET], stride)
    pixels, size, window, half = plan[op + EACH], height * width, tall * broad, halves(count)
    pairs, last = half // 2, channels - 1
    taps, kernels = np.uint64(channels * window), np.uint64(plan[op + OUTPUTS] // pixels)
    for job in range(worker, (last + 4) // 4 * size * pairs, workers):
        place = np.int64(row_of(job, pairs))
        n, quad = (job - place * pairs) * 2, np.int64(row_of(place, size))
        pixel, channel = place - quad * size, quad * 4
        y = np.int64(row_of(pixel, width))
        row, column = y + padding, pixel - y * width + padding
        up, down = seeing(row, high, tall, apart)
        left, right = seeing(column, wide, broad, apart)
        b = np.uint64((min(channel + 1, last) - channel) * window)
        c = np.uint64((min(channel + 2, last) - channel) * window)
        d = np.uint64((min(channel + 3, last) - channel) * window)
        far = np.uint64(half) if n + half < count else np.uint64(0)
        a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = Real(0)
        c0 = c1 = c2 = c3 = d0 = d1 = d2 = d3 = Real(0)
        weights = plan[WEIGHTS] + plan[op + WEIGHT_ROW] + channel * window
        # From one weight to the next that reads this number, the window is one before.
        windows = (row - up) // apart * wide + (column - left) // apart
        while up < down:
            g, k = g0 + np.uint64(windows * stride + n), left
            while k < right:
                a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3 = sums_along(
                    arena, np.uint64(weights + up * broad + k), taps, b, c, d, kernels, flow, g,
                    far, np.uint64(pixels * stride),
                    a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3,
                )  # fmt: skip
                g -= np.uint64(stride)
                k += apart
            windows -= wide
            up += apart
        start, step = h0 + np.uint64(pixel * stride), np.uint64(size * stride)
        rows = np.uint64(channels)
        r, t, h, samples = np.uint64(channel), np.uint64(n), np.uint64(half), np.uint64(count)
        write_four_samples(plan, flow, start, step, r, t, h, rows, samples, a0, a1, a2, a3)
        write_four_samples(plan, flow, start, step, r + ONE, t, h, rows, samples, b0, b1, b2, b3)
        write_four_samples(plan, flow, start, step, r + TWO, t, h, rows, samples, c0, c1, c2, c3)
        write_four_samples(plan, flow, start, step, r + THREE, t, h, rows, samples, d0, d1, d2, d3)


# ---- gradients of weights -----------------------------------------------------------------------


@kernel
def gradient_place(begin: Index, taps: Index, kernels: Index, o: Index, tap: Index) -> Index:
    """Return where the gradient of a tap is, or, for the one after the last, that of the bias."""
    return begin + o * taps + tap if tap < taps else begin + kernels * taps + o


@kernel
def write_gradient(
    arena: Numbers, begin: Index, taps: Index, kernels: Index, o: Index, tap: Index, total: Any
) -> None:
    """Write the gradient of a tap, plus 0.

    Since -0 + 0 is 0, it does not matter then whether a product with 0 was added or left out.
    """
    arena[gradient_place(begin, taps, kernels, o, tap)] = total + Real(0)


@kernel
def windows_at(place: Index, length: Index, apart: Index, padding: Index, count: Index) -> Any:
    """Return the range of windows whose place `place` is on the picture."""
    first = (max(padding - place, 0) + apart - 1) // apart
    return first, min((length + padding - place - 1) // apart + 1, count)


@kernel
def add_sample(
    flow: Numbers, g: Index, gb: Index, gc: Index, gd: Index, x: Any, y: Any, a: Any, b: Any,
    c: Any, d: Any, e: Any, f: Any, h: Any, i: Any,
) -> Any:  # fmt: skip
    """Return eight sums with the products of four gradients with x, then with y, added."""
    g0, g1, g2, g3 = flow[g], flow[g + gb], flow[g + gc], flow[g + gd]
    a, e = for_two(g0, x, y, a, e)
    b, f = for_two(g1, x, y, b, f)
    c, h = for_two(g2, x, y, c, h)
    d, i = for_two(g3, x, y, d, i)
    return a, b, c, d, e, f, h, i


@kernel
def add_windows(
    flow: Numbers, g: Index, gb: Index, gc: Index, gd: Index, space: Numbers, x: Index, y: Index,
    stride: Index, step: Index, count: Index, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any,
    h: Any, i: Any,
) -> Any:  # fmt: skip
    """Return eight sums with `count` neighbouring windows of four samples added."""
    while count != ZERO:
        a, b, c, d, e, f, h, i = add_sample(
            flow, g, gb, gc, gd, space[x], space[y], a, b, c, d, e, f, h, i
        )  # fmt: skip
        a, b, c, d, e, f, h, i = add_sample(
            flow, g + ONE, gb, gc, gd, space[x + ONE], space[y + ONE], a, b, c, d, e, f, h, i
        )  # fmt: skip
        a, b, c, d, e, f, h, i = add_sample(
            flow, g + TWO, gb, gc, gd, space[x + TWO], space[y + TWO], a, b, c, d, e, f, h, i
        )  # fmt: skip
        a, b, c, d, e, f, h, i = add_sample(
            flow, g + THREE, gb, gc, gd, space[x + THREE], space[y + THREE],
            a, b, c, d, e, f, h, i,
        )  # fmt: skip
        g += stride
        x += step
        y += step
        count -= ONE
    return a, b, c, d, e, f, h, i


@kernel
def add_line(
    flow: Numbers, g: Index, gb: Index, gc: Index, gd: Index, space: Numbers, x: Index, y: Index,
    stride: Index, step: Index, windows: Index, left: Index, right: Index, samples: Index, a: Any,
    b: Any, c: Any, d: Any, e: Any, f: Any, h: Any, i: Any,
) -> Any:  # fmt: skip
    """Return eight sums with a line of windows added, for four kernels and two taps.

    x and y are what the taps read in the first window; they are on the picture in the windows from
    `left` to before `right`. In the others they read 0: of a gradient that is not finite the
    product with 0 is not 0, on any path.
    """
    k = np.int64(0)
    while k < windows:
        if k == left and samples == 4 and left < right:
            n = np.uint64(right - left)
            a, b, c, d, e, f, h, i = add_windows(
                flow, g, gb, gc, gd, space, x, y, stride, step, n, a, b, c, d, e, f, h, i
            )  # fmt: skip
            g += n * stride
            x += n * step
            y += n * step
            k = right
        else:
            for s in range(samples):
                t, p, q = np.uint64(s), Real(0), Real(0)
                if left <= k < right:
                    p, q = space[x + t], space[y + t]
                a, b, c, d, e, f, h, i = add_sample(
                    flow, g + t, gb, gc, gd, p, q, a, b, c, d, e, f, h, i
                )  # fmt: skip
            g += stride
            x += step
            y += step
            k += 1
    return a, b, c, d, e, f, h, i


@kernel
def convolution_parameters(
    plan: Whole, op: Index, arena: Numbers, chunk: Index, fresh: bool, space: Numbers,
    base: Index, flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index,
    workers: Index,
) -> None:  # fmt: skip
    """Gradients of weights: sums of g x; for 4 kernels and a tap of 2 channels a thread.

    Then those of the biases. A chunk is cut between groups of four samples: `tables.tile_width`.
    """
    channels, height, width, tall, broad, apart, padding, high, wide = geometry(plan, op, arena)
    x0, g0 = base + plan[op + SOURCE] * stride, flow_base + plan[op + TARGET] * stride
    pixels, begin, window = plan[op + EACH], partial_of(plan, op, chunk), tall * broad
    taps, last = channels * window, plan[op + OUTPUTS] // pixels - 1
    jobs = (channels + 1) // 2 * window
    for job in range(worker, (last + 4) // 4 * jobs, workers):
        quad = np.int64(row_of(job, jobs))
        pair = np.int64(row_of(job - quad * jobs, window))
        o, tap = quad * 4, job - quad * jobs + pair * window
        two = pair * 2 + 1 < channels
        place = job - quad * jobs - pair * window
        line = np.int64(row_of(place, broad))
        column = place - line * broad
        up, down = windows_at(line, height, apart, padding, high)
        left, right = windows_at(column, width, apart, padding, wide)
        line -= padding
        x = x0 + (pair * 2 * height + line) * width * stride
        x += (column - padding) * stride
        y = x + height * width * stride if two else x
        gb = np.uint64((min(o + 1, last) - o) * pixels * stride)
        gc = np.uint64((min(o + 2, last) - o) * pixels * stride)
        gd = np.uint64((min(o + 3, last) - o) * pixels * stride)
        a = b = c = d = e = f = h = i = Real(0)
        if not fresh:
            a, e = read_taps(arena, begin, taps, last, o, tap, window, two)
            b, f = read_taps(arena, begin, taps, last, o + 1, tap, window, two)
            c, h = read_taps(arena, begin, taps, last, o + 2, tap, window, two)
            d, i = read_taps(arena, begin, taps, last, o + 3, tap, window, two)
        for n in range(0, count, 4):
            for k in range(high):
                there = up <= k < down
                row = k * apart * width * stride + n
                a, b, c, d, e, f, h, i = add_line(
                    flow, np.uint64(g0 + (o * pixels + k * wide) * stride + n), gb, gc, gd, space,
                    np.uint64(x + row), np.uint64(y + row), np.uint64(stride),
                    np.uint64(apart * stride), wide, left, right if there else 0,
                    min(4, count - n), a, b, c, d, e, f, h, i,
                )  # fmt: skip
        write_taps(arena, begin, taps, last, o, tap, window, two, a, e)
        write_taps(arena, begin, taps, last, o + 1, tap, window, two, b, f)
        write_taps(arena, begin, taps, last, o + 2, tap, window, two, c, h)
        write_taps(arena, begin, taps, last, o + 3, tap, window, two, d, i)
    if plan[op + HAS_BIASES] != 0:
        for r in range(worker, last + 1, workers):
            at = gradient_place(begin, taps, last + 1, r, taps)
            total = Real(0) if fresh else arena[at]
            for n in range(0, count, 4):
                total = bias_windows(
                    flow, np.uint64(g0 + r * pixels * stride + n), np.uint64(stride),
                    np.uint64(pixels), np.uint64(min(4, count - n)), total,
                )  # fmt: skip
            write_gradient(arena, begin, taps, last + 1, r, taps, total)


@kernel
def bias_windows(
    flow: Numbers, g: Index, stride: Index, windows: Index, samples: Index, total: Any
) -> Any:
    """Return `total` with the gradients of all windows of a kernel added, for some samples."""
    while windows != ZERO:
        s = ZERO
        while s < samples:
            total += flow[g + s]
            s += ONE
        g += stride
        windows -= ONE
    return total


@kernel
def read_taps(
    arena: Numbers, begin: Index, taps: Index, last: Index, o: Index, tap: Index, window: Index,
    two: bool,
) -> Any:  # fmt: skip
    """Return the gradients of a tap of two channels of a kernel; 0 for those that are not there."""
    a = b = Real(0)
    if o <= last:
        place = begin + o * taps + tap
        a = arena[place]
        if two:
            b = arena[place + window]
    return a, b


@kernel
def write_taps(
    arena: Numbers, begin: Index, taps: Index, last: Index, o: Index, tap: Index, window: Index,
    two: bool, a: Any, b: Any,
) -> None:  # fmt: skip
    """Write the gradients of a tap of two channels of a kernel, those that are there."""
    if o <= last:
        write_gradient(arena, begin, taps, last + 1, o, tap, a)
        if two:
            write_gradient(arena, begin, taps, last + 1, o, tap + window, b)
