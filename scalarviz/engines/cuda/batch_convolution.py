"""Convolution kernels for whole batches: outputs, and gradients of inputs and weights.

An output is a chain of `cuda.fma` that starts from the bias or 0 and runs over the lines and
columns of the window and, for each of these, over the channels. A gradient of an input is a chain
over lines and columns and, for each, over the convolution kernels. A gradient of a weight is a
chain over the samples of a chunk, four at a time, over all windows and, for each, over the four
samples. Numbers outside the picture are 0. A bias is a weight with input 1 that follows the
weights of the window.

A thread computes several of these sums together, in registers, so that each loaded number is used
in several multiply-adds. Indices are unsigned and advance by additions; see `matrix_products.py`.
Adjacent threads have adjacent samples, which are adjacent in memory. The samples of one thread are
APART positions apart, a constant, so that the compiler needs a single address for all of them.

    groups                    number of groups of channels and convolution kernels
    channels, kernels         number of channels of a group, and of its convolution kernels
    height, width             height and width of a picture
    tall, broad               height and width of a window
    apart_y, apart_x          stride of the windows
    gap_y, gap_x              dilation: pixels from one number of a window to the next
    above, beside             rows and columns of zeros added on each side of the picture
    high, wide                number of windows from top to bottom and from left to right
    taps                      number of weights of a convolution kernel
    o, c                      index of a convolution kernel, index of a channel

Gradients of the weights are matrix products. A row is a convolution kernel, a column a tap of its
window, or the bias; the sums run over the windows of some samples. The matrices are not stored in
memory: the threads of a block load parts of both into shared memory, where the inner loop of
`matrix_products.py` adds up 4 x 4 numbers per thread.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.engines.codegen.cuda_dispatch import Real, kernel
from scalarviz.engines.cuda.card import cuda
from scalarviz.engines.cuda.gpu_layout import (
    APART,
    BIAS_ROW,
    CHUNKS,
    DOWN,
    EACH,
    FLOW,
    FOUR,
    HAS_BIASES,
    MATRIX_TILE,
    OUTPUTS,
    PANEL,
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
    chunk_start,
    ends_of,
    partial_of,
    row_of,
)
from scalarviz.engines.cuda.matrix_products import add_products, quarter


@kernel
def steps_in(length: Index, step: Index) -> Index:
    """Return length // step for a non-negative length, computed with 32-bit integers."""
    return np.int64(row_of(length, step))


@kernel
def geometry(plan: Whole, op: Index, arena: Numbers) -> Any:
    """Return the sizes of a convolution: groups, channels and kernels per group, picture size.

    These are followed by height and width of a window, strides, paddings, dilations, and the
    number of windows from top to bottom and from left to right.
    """
    first = plan[op + SETTINGS]
    height, width = np.int64(arena[first + 1]), np.int64(arena[first + 2])
    tall, broad = np.int64(arena[first + 3]), np.int64(arena[first + 4])
    apart_y, apart_x = np.int64(arena[first + 5]), np.int64(arena[first + 6])
    above, beside = np.int64(arena[first + 7]), np.int64(arena[first + 11])
    gap_y, gap_x = np.int64(arena[first + 8]), np.int64(arena[first + 9])
    groups = np.int64(arena[first + 10])
    high = steps_in(height + 2 * above - (tall - 1) * gap_y - 1, apart_y) + 1
    wide = steps_in(width + 2 * beside - (broad - 1) * gap_x - 1, apart_x) + 1
    channels = steps_in(np.int64(arena[first]), groups)
    kernels = steps_in(steps_in(plan[op + OUTPUTS], plan[op + EACH]), groups)
    return (
        groups, channels, kernels, height, width, tall, broad, apart_y, apart_x, above, beside,
        gap_y, gap_x, high, wide,
    )  # fmt: skip


@kernel
def four_of(place: Index, count: Index) -> Any:
    """Return the group of a block of four members, its first member, and the group's last member.

    `place` counts the blocks of all groups; each group has `count` members.
    """
    each = (count + 3) // 4
    group = steps_in(place, each)
    return group, group * count + (place - group * each) * 4, group * count + count - 1


@kernel
def inside(place: Index, length: Index, gap: Index, size: Index) -> Any:
    """Return the range of indices i < `size` of a window that are inside the picture.

    Index i is at position place + i * gap; `place` is less than `length`.
    """
    first, end = np.int64(0), size
    if place < 0:
        first = steps_in(gap - 1 - place, gap)
    if place + (size - 1) * gap >= length:
        end = steps_in(length - place + gap - 1, gap)
    return first, end


@kernel
def seeing(place: Index, count: Index, size: Index, apart: Index, gap: Index) -> Any:
    """Return the range of indices, in steps of `turns`, at which windows read a given number.

    `place` is the position of the number, counted from `padding` before the edge. There are `count`
    windows of `size` numbers; windows are `apart` apart, and the numbers of a window `gap` apart.
    """
    first, end = np.int64(0), size
    far = place - (count - 1) * apart
    if far > 0:
        first = steps_in(far + gap - 1, gap)
    if place < (size - 1) * gap:
        end = steps_in(place, gap) + 1
    left = place - first * gap
    while left > 0 and left != steps_in(left, apart) * apart:
        first += 1
        left -= gap
    if left < 0:
        return np.int64(0), np.int64(0)
    return first, end


@kernel
def turns(apart: Index, gap: Index) -> Index:
    """Return the smallest n for which n * gap is a multiple of `apart`."""
    found = np.int64(1)
    while found * gap != steps_in(found * gap, apart) * apart:
        found += 1
    return found


# ---- forward, and gradients of inputs -----------------------------------------------------------


@kernel
def threads_of(count: Index) -> Index:
    """Return the number of threads that share a row of `count` samples; see `first_sample`."""
    return (count + 4 * APART - 1) // (4 * APART) * min(count, APART)


@kernel
def first_sample(thread: Index, count: Index) -> Index:
    """Return the first of a thread's four samples; these are APART positions apart.

    Adjacent threads have adjacent samples.
    """
    lanes = min(count, APART)
    group = np.int64(row_of(thread, lanes))
    return group * 4 * APART + thread - group * lanes


@kernel
def four_weights(first: Index, last: Index, apart: Index, found: Whole) -> None:
    """Write the offsets of the weights of four members, relative to member `first`.

    The weights of adjacent members are `apart` numbers apart; members after `last` become `last`.
    """
    found[0] = np.uint32(0)
    for i in range(1, 4):
        found[i] = np.uint32((min(first + i, last) - first) * apart)


@kernel
def sixteen_sums(
    weights: Numbers, w: Index, rows: Whole, space: Numbers, x: Index, sums: Numbers
) -> None:
    """Add the products of four weights and four samples to sixteen sums."""
    for i in range(16):
        weight = weights[np.uint32(w + rows[i // 4])]
        sums[i] = cuda.fma(weight, space[x + np.uint64(i % 4 * APART)], sums[i])


@kernel
def sums_along(
    weights: Numbers, w: Index, w_step: Index, rows: Whole, count: Index, space: Numbers, x: Index,
    step: Index, sums: Numbers,
) -> None:  # fmt: skip
    """Add `count` products to each of sixteen sums, for four rows of weights and four samples.

    The weights of a row begin at index w and are `w_step` numbers apart; `rows` has the offsets of
    the four rows from the first one. These indices have 32 bits (see `place_parts`), so an address
    takes fewer instructions. The samples begin at x and are APART apart. The compiler unrolls all
    loops over `sums` and keeps them in registers. It would unroll a loop with a known count
    further, which takes more registers.
    """
    w = np.uint32(w)
    last, whole = np.uint32(w + count * w_step), np.uint32(w + count // TWO * TWO * w_step)
    while w != whole:
        for _ in range(2):
            sixteen_sums(weights, w, rows, space, x, sums)
            w = np.uint32(w + w_step)
            x += step
    while w != last:
        sixteen_sums(weights, w, rows, space, x, sums)
        w = np.uint32(w + w_step)
        x += step


@kernel
def write_sums(
    space: Numbers, place: Index, step: Index, rows: Index, samples: Index, sums: Numbers
) -> None:
    """Write up to four rows of four samples from index `place`; rows are `step` numbers apart."""
    for i in range(16):
        if i // 4 < rows and i % 4 * APART < samples:
            space[place + np.uint64(i // 4) * step + np.uint64(i % 4 * APART)] = sums[i]


@kernel
def convolution_forward(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, count: Index
) -> None:
    """z = b + sum over a window of w * x, for 4 convolution kernels and 4 samples per thread."""
    (
        groups, channels, kernels, height, width, tall, broad, apart_y, apart_x, above, beside,
        gap_y, gap_x, high, wide,
    ) = geometry(plan, op, arena)  # fmt: skip
    base, stride = plan[SPACE], plan[STRIDE]
    x0, z0 = ends_of(plan, op, base, stride)
    pixels, taps, threads = high * wide, channels * tall * broad, threads_of(count)
    biased, channel = plan[op + HAS_BIASES] != 0, np.uint64(height * width * stride)
    jobs = groups * ((kernels + 3) // 4) * pixels * threads
    sums, rows = cuda.local.array(16, Real), cuda.local.array(4, np.uint32)
    biases = plan[VALUE] + plan[op + BIAS_ROW]
    for job in range(cuda.grid(1), jobs, cuda.gridsize(1)):
        place = np.int64(row_of(job, threads))
        n = first_sample(job - place * threads, count)
        quad = np.int64(row_of(place, pixels))
        pixel = place - quad * pixels
        group, o, last = four_of(quad, kernels)
        y = np.int64(row_of(pixel, wide))
        top, left = y * apart_y - above, (pixel - y * wide) * apart_x - beside
        four_weights(o, last, taps, rows)
        for i in range(16):
            sums[i] = arena[biases + min(o + i // 4, last)] if biased else Real(0)
        line, end = inside(top, height, gap_y, tall)
        column, stop = inside(left, width, gap_x, broad)
        top += group * channels * height + line * gap_y
        x_line = x0 + np.uint64((top * width + left + column * gap_x) * stride + n)
        w_line = np.uint64(plan[VALUE] + plan[op + WEIGHT_ROW] + o * taps + line * broad + column)
        lines, columns = np.uint32(end - line), np.uint32(stop - column)
        while lines != 0:
            x, w, left_over = x_line, w_line, columns
            while left_over != 0:
                sums_along(
                    arena, w, np.uint64(tall * broad), rows, np.uint64(channels), arena, x,
                    channel, sums,
                )  # fmt: skip
                x += np.uint64(gap_x * stride)
                w += np.uint64(1)
                left_over -= np.uint32(1)
            x_line += np.uint64(gap_y * width * stride)
            w_line += np.uint64(broad)
            lines -= np.uint32(1)
        step = np.uint64(pixels * stride)
        z = z0 + np.uint64(pixel * stride + n) + np.uint64(o) * step
        write_sums(arena, z, step, last + 1 - o, count - n, sums)


@kernel
def convolution_inputs(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, count: Index
) -> None:
    """Sum w * g over the windows that read an input, for 4 channels and 4 samples per thread."""
    (
        groups, channels, kernels, height, width, tall, broad, apart_y, apart_x, above, beside,
        gap_y, gap_x, high, wide,
    ) = geometry(plan, op, arena)  # fmt: skip
    base, stride = plan[FLOW], plan[STRIDE]
    h0, g0 = ends_of(plan, op, base, stride)
    pixels, size, window = plan[op + EACH], height * width, tall * broad
    # From one weight to the next that reads a number, and between their windows.
    turns_y, turns_x = turns(apart_y, gap_y), turns(apart_x, gap_x)
    next_y, next_x = np.uint32(turns_y * broad), np.uint32(turns_x)
    back_y = np.uint64(steps_in(turns_y * gap_y, apart_y) * wide * stride)
    back_x = np.uint64(steps_in(turns_x * gap_x, apart_x) * stride)
    threads, taps = threads_of(count), np.uint64(channels * window)
    jobs = groups * ((channels + 3) // 4) * size * threads
    sums, rows = cuda.local.array(16, Real), cuda.local.array(4, np.uint32)
    job = cuda.grid(1)
    while job < jobs:
        place = np.int64(row_of(job, threads))
        n = first_sample(job - place * threads, count)
        quad = np.int64(row_of(place, size))
        pixel = place - quad * size
        group, channel, last = four_of(quad, channels)
        y = np.int64(row_of(pixel, width))
        row, column = y + above, pixel - y * width + beside
        up, down = seeing(row, high, tall, apart_y, gap_y)
        left, right = seeing(column, wide, broad, apart_x, gap_x)
        four_weights(channel, last, window, rows)
        for i in range(16):
            sums[i] = Real(0)
        weights = plan[VALUE] + plan[op + WEIGHT_ROW] + left
        weights += (group * (kernels - 1) * channels + channel) * window
        windows = steps_in(row - up * gap_y, apart_y) * wide + group * kernels * pixels
        windows += steps_in(column - left * gap_x, apart_x)
        g_line, columns = g0 + np.uint64(windows * stride + n), np.uint32(max(0, right - left))
        w_line, last_line = np.uint32(weights + up * broad), np.uint32(weights + down * broad)
        while w_line < last_line:
            g, w = g_line, w_line
            while w < np.uint32(w_line + columns):
                sums_along(
                    arena, w, taps, rows, np.uint64(kernels), arena, g, np.uint64(pixels * stride),
                    sums,
                )  # fmt: skip
                g -= back_x
                w = np.uint32(w + next_x)
            g_line -= back_y
            w_line = np.uint32(w_line + next_y)
        step = np.uint64(size * stride)
        h = h0 + np.uint64(pixel * stride + n) + np.uint64(channel) * step
        write_sums(arena, h, step, last + 1 - channel, count - n, sums)
        job += cuda.gridsize(1)


# ---- gradients of the weights -------------------------------------------------------------------

TABLE = 3 * MATRIX_TILE  # of the taps of a tile: places, lines and columns in the first window


@kernel
def convolution_parameters(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, count: Index
) -> None:
    """Compute the gradients of weights and biases per chunk, a tile of 64 x 64 per block."""
    table, job = cuda.shared.array(TABLE, np.int64), cuda.blockIdx.x
    while True:
        # Computed again for each tile, to free registers while products are added up.
        (
            groups, channels, kernels, height, width, tall, broad, apart_y, apart_x, above,
            beside, gap_y, gap_x, high, wide,
        ) = geometry(plan, op, arena)  # fmt: skip
        taps = channels * tall * broad
        columns = taps + (1 if plan[op + HAS_BIASES] != 0 else 0)
        across = (columns + MATRIX_TILE - 1) // MATRIX_TILE
        share = across * ((kernels + MATRIX_TILE - 1) // MATRIX_TILE)
        part = np.int64(row_of(job, share))
        down = np.int64(row_of(job - part * share, across))
        first, o = (job - part * share - down * across) * MATRIX_TILE, down * MATRIX_TILE
        chunk = np.int64(row_of(part, groups))
        if chunk >= plan[CHUNKS]:
            break
        group, here = part - chunk * groups, min(columns - first, MATRIX_TILE)
        for i in range(cuda.threadIdx.x, here, cuda.blockDim.x):
            channel = np.int64(row_of(first + i, tall * broad))
            line = np.int64(row_of(first + i, broad)) - channel * tall
            column = (first + i - (channel * tall + line) * broad) * gap_x - beside
            line = line * gap_y - above
            channel += group * channels
            table[i] = ((channel * height + line) * width + column) * plan[STRIDE]
            table[MATRIX_TILE + i] = line
            table[2 * MATRIX_TILE + i] = column
        cuda.syncthreads()
        part_of_gradients(
            plan, op, arena, table, chunk, count, group * kernels + o, first, here,
            min(kernels - o, MATRIX_TILE), taps, height, width, apart_y, apart_x, high, wide,
        )  # fmt: skip
        job += cuda.gridDim.x


@kernel
def part_of_gradients(
    plan: Whole, op: Index, arena: Numbers, table: Whole, chunk: Index, count: Index, o: Index,
    first: Index, columns: Index, rows: Index, taps: Index, height: Index, width: Index,
    apart_y: Index, apart_x: Index, high: Index, wide: Index,
) -> None:  # fmt: skip
    """Compute a tile of a chunk's gradients: `columns` taps from `first`, `rows` kernels from o.

    A block with fewer threads than the tile has parts computes the parts in several turns.
    """
    left = cuda.shared.array(PANEL, Real)
    right = cuda.shared.array(PANEL, Real)
    stride, pixels, step = plan[STRIDE], plan[op + EACH], apart_x * plan[STRIDE]
    x0 = plan[SPACE] + plan[op + SOURCE] * stride
    g0 = plan[FLOW] + (plan[op + TARGET] + o * pixels) * stride
    start, end = chunk_start(plan, chunk, count), chunk_start(plan, chunk + 1, count)
    begin = partial_of(plan, op, chunk)
    down, across = quarter(np.uint64(rows)), quarter(np.uint64(columns))
    parts, sums = np.int64(down * across), cuda.local.array(16, Real)
    for turn in range(0, parts, cuda.blockDim.x):
        job = turn + cuda.threadIdx.x
        r = np.int64(row_of(job, across)) if job < parts else 0
        c = job - r * np.int64(across) if job < parts else 0
        for i in range(16):
            sums[i] = Real(0)
        for n in range(start, end, 4):
            for line in range(high):
                g, x = g0 + line * wide * stride + n, x0 + line * apart_y * width * stride + n
                for place in range(0, wide, 4):
                    windows = min(wide - place, 4)
                    fetch_gradients(
                        arena, g + place * stride, pixels * stride, stride, rows, windows, end - n,
                        left,
                    )  # fmt: skip
                    fetch_inputs(
                        arena, x + place * step, step, table, columns, taps - first,
                        line * apart_y, place * apart_x, apart_x, windows, end - n, height, width,
                        right,
                    )  # fmt: skip
                    cuda.syncthreads()
                    add_products(
                        left, right, np.uint64(r), np.uint64(c), np.uint64(windows * 4), down,
                        across, sums,
                    )  # fmt: skip
                    cuda.syncthreads()
        if job < parts:
            for i in range(4):
                for j in range(4):
                    tap = c + j * np.int64(across)
                    if r < rows and tap < columns:
                        write_gradient(
                            plan, op, arena, begin, taps, o + r, first + tap, sums[4 * i + j]
                        )
                r += np.int64(down)


@kernel
def fetch_gradients(
    arena: Numbers, g: Index, apart: Index, stride: Index, rows: Index, windows: Index,
    samples: Index, panel: Numbers,
) -> None:  # fmt: skip
    """Load gradients of some windows of four samples to panel[inner, row]; 0 after the last sample.

    The gradient of the first window and kernel is at index g; the gradients of the next kernel
    follow `apart` numbers later.
    """
    for i in range(cuda.threadIdx.x, rows << 2, cuda.blockDim.x):
        row, s = i >> 2, i & 3
        at, to = np.uint64(g + row * apart + s), np.uint64(s) * DOWN + np.uint64(row)
        for _ in range(windows):
            panel[to] = arena[at] if s < samples else Real(0)
            at += np.uint64(stride)
            to += FOUR * DOWN


@kernel
def fetch_inputs(
    arena: Numbers, x: Index, step: Index, table: Whole, columns: Index, bias: Index, line: Index,
    place: Index, apart: Index, windows: Index, samples: Index, height: Index, width: Index,
    panel: Numbers,
) -> None:  # fmt: skip
    """Load the inputs of taps, for adjacent windows of four samples, to panel[inner, column].

    The first window begins at line `line` and column `place`, and at index x in memory; the next
    one `step` later. The input is 0 outside the picture, and 1 in the `bias` column.
    """
    for i in range(cuda.threadIdx.x, columns << 2, cuda.blockDim.x):
        column, s = i >> 2, i & 3
        at, to = np.uint64(x + table[column] + s), np.uint64(s) * DOWN + np.uint64(column)
        # A negative number is a large one without its sign.
        down = np.uint64(line + table[MATRIX_TILE + column])
        across = np.uint64(place + table[2 * MATRIX_TILE + column])
        there = s < samples and column != bias and down < np.uint64(height)
        beyond = Real(1) if s < samples and column == bias else Real(0)
        for _ in range(windows):
            panel[to] = arena[at] if there and across < np.uint64(width) else beyond
            at += np.uint64(step)
            across += np.uint64(apart)
            to += FOUR * DOWN


@kernel
def write_gradient(
    plan: Whole, op: Index, arena: Numbers, begin: Index, taps: Index, o: Index, tap: Index,
    total: Any,
) -> None:  # fmt: skip
    """Write the gradient of tap `tap`, or of the bias if `tap` equals `taps`."""
    biases = plan[op + BIAS_ROW] - plan[op + WEIGHT_ROW]
    arena[begin + (o * taps + tap if tap < taps else biases + o)] = total
