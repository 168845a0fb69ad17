"""Gradients of the weights of a convolution, by a team of threads.

Those of whole batches are in `convolution_products`. For the order of a sum, and the meaning of
names, see `convolution`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.engines.codegen.cuda_dispatch import Real, kernel
from scalarviz.engines.cuda.convolution import geometry, steps_in
from scalarviz.engines.cuda.places import (
    EACH,
    HAS_BIASES,
    ONE,
    OUTPUTS,
    SOURCE,
    TARGET,
    THREE,
    TWO,
    ZERO,
)
from scalarviz.engines.cuda.products import for_two
from scalarviz.engines.cuda.teams import partial_of, row_of

Numbers = Any
Whole = Any
Exact = Any
Index = Any


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
    first = steps_in(max(padding - place, 0) + apart - 1, apart)
    return first, min(steps_in(max(length + padding - place - 1 + apart, 0), apart), count)


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
    """Return eight sums with `count` neighbouring windows of four samples added.

    The compiler cannot count the loop, and does not unroll it: see `sums_along`.
    """
    end = g + count * stride
    while g != end:
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
    return a, b, c, d, e, f, h, i


@kernel
def add_window(
    flow: Numbers, g: Index, gb: Index, gc: Index, gd: Index, space: Numbers, x: Index, y: Index,
    samples: Index, there: bool, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, h: Any, i: Any,
) -> Any:  # fmt: skip
    """Return eight sums with a window of up to four samples added; its taps read 0 unless `there`.

    Of a gradient that is not finite the product with 0 is not 0, on any path.
    """
    end, p, q = g + samples, Real(0), Real(0)
    while g != end:
        if there:
            p, q = space[x], space[y]
        a, b, c, d, e, f, h, i = add_sample(flow, g, gb, gc, gd, p, q, a, b, c, d, e, f, h, i)
        g += ONE
        x += ONE
        y += ONE
    return a, b, c, d, e, f, h, i


@kernel
def add_line(
    flow: Numbers, g: Index, gb: Index, gc: Index, gd: Index, space: Numbers, x: Index, y: Index,
    stride: Index, step: Index, windows: Index, left: Index, right: Index, samples: Index, a: Any,
    b: Any, c: Any, d: Any, e: Any, f: Any, h: Any, i: Any,
) -> Any:  # fmt: skip
    """Return eight sums with a line of windows added, for four kernels and two taps.

    x and y are what the taps read in the first window; they are on the picture in the windows from
    `left` to before `right`.
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
            a, b, c, d, e, f, h, i = add_window(
                flow, g, gb, gc, gd, space, x, y, np.uint64(samples), left <= k < right,
                a, b, c, d, e, f, h, i,
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
