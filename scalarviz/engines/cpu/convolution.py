"""Kernels of convolution, on one tile.

A pixel of a channel is a row of a workspace, one number per sample, so that a vector register
holds the same pixel of several samples. The loops compute four convolution kernels of a group at a
time; if fewer are left, the last one is computed several times.

    groups                    number of groups of channels and convolution kernels
    channels, kernels         number of channels of a group, and of its convolution kernels
    height, width             of a picture
    tall, broad               height and width of a window
    apart_y, apart_x          stride of the windows
    gap_y, gap_x              dilation: pixels from one number of a window to the next
    padding                   zeros around the picture
    high, wide                number of windows from top to bottom and from left to right
    fan                       number of weights of a convolution kernel
    o, c                      index of a convolution kernel, and of a channel
    z0, g0, h0, ...           index of the first output, output gradient, input gradient
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.engines.codegen.dispatch import inner
from scalarviz.engines.cpu.arrays import BankView, Tile
from scalarviz.engines.cpu.products import FOUR, ONE, THREE, TWO, ZERO, Index, Numbers, Record
from scalarviz.engines.cpu.simd import (
    add_lanes,
    add_sums_apart,
    lane_count,
    load_lanes,
    load_some,
    multiply_add,
    not_unrolled,
    spread,
    store_lanes,
)


@inner
def geometry(op: Record, settings: Numbers) -> Any:
    """Return groups, and channels and kernels of each; height and width of the picture.

    Then height and width of a window, strides, padding, dilations, and the number of windows from
    top to bottom and from left to right.
    """
    height, width = np.uint64(settings[1]), np.uint64(settings[2])
    tall, broad = np.uint64(settings[3]), np.uint64(settings[4])
    apart_y, apart_x = np.uint64(settings[5]), np.uint64(settings[6])
    padding, groups = np.uint64(settings[7]), np.uint64(settings[10])
    gap_y, gap_x = np.uint64(settings[8]), np.uint64(settings[9])
    high = (height + TWO * padding - (tall - ONE) * gap_y - ONE) // apart_y + ONE
    wide = (width + TWO * padding - (broad - ONE) * gap_x - ONE) // apart_x + ONE
    channels, kernels = np.uint64(settings[0]) // groups, op.outputs // (high * wide) // groups
    return (
        groups, channels, kernels, height, width, tall, broad, apart_y, apart_x, padding, gap_y,
        gap_x, high, wide,
    )  # fmt: skip


@inner
def four_of(place: Index, count: Index) -> tuple[Index, Index, Index]:
    """Return a group, and the first of up to four of its `count` members, and its last one.

    `place` counts these fours over all groups.
    """
    each = (count + THREE) // FOUR
    group = place // each
    return group, group * count + place % each * FOUR, group * count + count - ONE


@inner
def inside(
    place: Index, length: Index, step: Index, padding: Index, count: Index
) -> tuple[Index, Index]:
    """Return the range of indices, below `count`, of numbers that lie on the picture.

    The first is at `place`, counted from `padding` before the edge, and the next `step` further.
    """
    first = ZERO if place >= padding else (padding - place + step - ONE) // step
    if place + (count - ONE) * step < length + padding:
        return first, count
    if place >= length + padding:
        return first, ZERO
    return first, (length + padding - place - ONE) // step + ONE


@inner
def seeing(
    place: Index, count: Index, size: Index, apart: Index, gap: Index
) -> tuple[Index, Index]:
    """Return the range of indices, in steps of `turns`, at which windows of `size` read a number.

    `place` is the number's, counted from `padding` before the edge; there are `count` windows,
    `apart` numbers from one to the next, whose own numbers are `gap` apart.
    """
    far = (count - ONE) * apart
    first = ZERO if place <= far else (place - far + gap - ONE) // gap
    while first * gap < place and (place - first * gap) % apart != ZERO:
        first += ONE
    return first, size if (size - ONE) * gap <= place else place // gap + ONE


@inner
def turns(apart: Index, gap: Index) -> Index:
    """Return after how many numbers of a window the next one is read by a window, too."""
    found = ONE
    while found * gap % apart != ZERO:
        found += ONE
    return found


@inner
def convolution_forward(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """z = b + the sum over a window of w x, for each window and each kernel."""
    space, n, stride = tile.space, tile.n, tile.stride
    (
        groups, channels, kernels, height, width, tall, broad, apart_y, apart_x, padding, gap_y,
        gap_x, high, wide,
    ) = geometry(op, settings)  # fmt: skip
    step, fan = lane_count(space), channels * tall * broad
    c0 = c1 = c2 = c3 = bank.value.dtype.type(0)
    x0, z0, across = op.source, op.target * stride, high * wide * stride
    for four in range(groups * ((kernels + THREE) // FOUR)):
        group, o, last = four_of(four, kernels)
        o1, o2, o3 = min(o + ONE, last), min(o + TWO, last), min(o + THREE, last)
        if op.has_biases == ONE:
            c0, c1 = bank.value[op.biases + o], bank.value[op.biases + o1]
            c2, c3 = bank.value[op.biases + o2], bank.value[op.biases + o3]
        w0, w1 = op.weights + o * fan, op.weights + o1 * fan
        w2, w3 = op.weights + o2 * fan, op.weights + o3 * fan
        for y in range(high):
            top, bottom = inside(y * apart_y, height, gap_y, padding, tall)
            for x in range(wide):
                left, right = inside(x * apart_x, width, gap_x, padding, broad)
                z = z0 + (y * wide + x) * stride
                for t in range(ZERO, n, step):
                    s0, s1, s2, s3 = spread(c0), spread(c1), spread(c2), spread(c3)
                    for c in range(channels):
                        for line in range(top, bottom):
                            row = (group * channels + c) * height + y * apart_y + line * gap_y
                            at = x0 + (row - padding) * width + x * apart_x + left * gap_x
                            at = (at - padding) * stride + t
                            k = (c * tall + line) * broad + left
                            for _ in range(left, right):
                                not_unrolled()
                                p = load_lanes(space, at)
                                s0 = multiply_add(spread(bank.value[w0 + k]), p, s0)
                                s1 = multiply_add(spread(bank.value[w1 + k]), p, s1)
                                s2 = multiply_add(spread(bank.value[w2 + k]), p, s2)
                                s3 = multiply_add(spread(bank.value[w3 + k]), p, s3)
                                at += gap_x * stride
                                k += ONE
                    store_lanes(space, z + o * across + t, s0)
                    store_lanes(space, z + o1 * across + t, s1)
                    store_lanes(space, z + o2 * across + t, s2)
                    store_lanes(space, z + o3 * across + t, s3)


@inner
def convolution_parameters(op: Record, settings: Numbers, grad: Numbers, tile: Tile) -> None:
    """Add the gradient of each weight: the sum of g x over samples and windows."""
    space, flow, n, stride = tile.space, tile.flow, tile.n, tile.stride
    (
        groups, channels, kernels, height, width, tall, broad, apart_y, apart_x, padding, gap_y,
        gap_x, high, wide,
    ) = geometry(op, settings)  # fmt: skip
    fan, across = channels * tall * broad, high * wide * stride
    for four in range(groups * ((kernels + THREE) // FOUR)):
        group, o, last = four_of(four, kernels)
        g0 = op.flow_out * stride + o * across
        g1 = op.flow_out * stride + min(o + ONE, last) * across
        g2 = op.flow_out * stride + min(o + TWO, last) * across
        g3 = op.flow_out * stride + min(o + THREE, last) * across
        for c in range(channels):
            for line in range(tall):
                up, down = inside(line * gap_y, height, apart_y, padding, high)
                for column in range(broad):
                    left, right = inside(column * gap_x, width, apart_x, padding, wide)
                    weight_sums(
                        grad, op.gradients + o * fan + (c * tall + line) * broad + column, fan,
                        last + ONE - o, space, flow, op.source,
                        (group * channels + c) * height + line * gap_y - padding,
                        column * gap_x - padding, width, apart_y, apart_x, up, down, left, right,
                        wide, g0, g1, g2, g3, n, stride,
                    )  # fmt: skip
        if op.has_biases == ONE:
            bias_sums(
                grad, op.gradients + op.count - groups * kernels + o, last + ONE - o, flow,
                high * wide, g0, g1, g2, g3, n, stride,
            )  # fmt: skip


@inner
def weight_sums(
    grad: Numbers, at: Index, fan: Index, count: Index, space: Numbers, flow: Numbers, x0: Index,
    line: Index, column: Index, width: Index, apart_y: Index, apart_x: Index, up: Index,
    down: Index, left: Index, right: Index, wide: Index, g0: Index, g1: Index, g2: Index,
    g3: Index, n: Index, stride: Index,
) -> None:  # fmt: skip
    """Add the gradient of one weight of four kernels to grad[at], grad[at + fan], ..."""
    step = lane_count(space)
    tail = (n - ONE) // step * step
    some = n - tail
    zero = spread(grad.dtype.type(0))
    s0, s1, s2, s3 = zero, zero, zero, zero
    for y in range(up, down):
        for x in range(left, right):
            a = (x0 + (line + y * apart_y) * width + column + x * apart_x) * stride
            b = (y * wide + x) * stride
            for t in range(ZERO, tail, step):
                not_unrolled()
                p = load_lanes(space, a + t)
                s0 = multiply_add(load_lanes(flow, g0 + b + t), p, s0)
                s1 = multiply_add(load_lanes(flow, g1 + b + t), p, s1)
                s2 = multiply_add(load_lanes(flow, g2 + b + t), p, s2)
                s3 = multiply_add(load_lanes(flow, g3 + b + t), p, s3)
            p = load_some(space, a + tail, some)
            s0 = multiply_add(load_some(flow, g0 + b + tail, some), p, s0)
            s1 = multiply_add(load_some(flow, g1 + b + tail, some), p, s1)
            s2 = multiply_add(load_some(flow, g2 + b + tail, some), p, s2)
            s3 = multiply_add(load_some(flow, g3 + b + tail, some), p, s3)
    add_sums_apart(grad, at, fan, count, s0, s1, s2, s3)


@inner
def bias_sums(
    grad: Numbers, at: Index, count: Index, flow: Numbers, pixels: Index, g0: Index, g1: Index,
    g2: Index, g3: Index, n: Index, stride: Index,
) -> None:  # fmt: skip
    """Add the gradient of the biases of four kernels: the sum of g over windows and samples."""
    step = lane_count(flow)
    tail = (n - ONE) // step * step
    some = n - tail
    zero = spread(grad.dtype.type(0))
    s0, s1, s2, s3 = zero, zero, zero, zero
    for pixel in range(pixels):
        b = pixel * stride
        for t in range(ZERO, tail, step):
            not_unrolled()
            s0 = add_lanes(s0, load_lanes(flow, g0 + b + t))
            s1 = add_lanes(s1, load_lanes(flow, g1 + b + t))
            s2 = add_lanes(s2, load_lanes(flow, g2 + b + t))
            s3 = add_lanes(s3, load_lanes(flow, g3 + b + t))
        s0 = add_lanes(s0, load_some(flow, g0 + b + tail, some))
        s1 = add_lanes(s1, load_some(flow, g1 + b + tail, some))
        s2 = add_lanes(s2, load_some(flow, g2 + b + tail, some))
        s3 = add_lanes(s3, load_some(flow, g3 + b + tail, some))
    add_sums_apart(grad, at, ONE, count, s0, s1, s2, s3)


@inner
def convolution_inputs(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Gradient of each input: the sum of w g over kernels and the windows that read it."""
    flow, n, stride = tile.flow, tile.n, tile.stride
    (
        groups, channels, kernels, height, width, tall, broad, apart_y, apart_x, padding, gap_y,
        gap_x, high, wide,
    ) = geometry(op, settings)  # fmt: skip
    step, fan, area = lane_count(flow), channels * tall * broad, tall * broad
    turns_y, turns_x = turns(apart_y, gap_y), turns(apart_x, gap_x)
    # From one number that reads a pixel to the next, the window is so many rows before.
    back_y, back_x = turns_y * gap_y // apart_y, turns_x * gap_x // apart_x * stride
    zero = spread(bank.value.dtype.type(0))
    h0, plane = op.flow_in * stride, height * width * stride
    for four in range(groups * ((channels + THREE) // FOUR)):
        group, c, last = four_of(four, channels)
        c1, c2, c3 = min(c + ONE, last), min(c + TWO, last), min(c + THREE, last)
        weights = op.weights + group * (kernels * fan - channels * area)
        w0, w1 = weights + c * area, weights + c1 * area
        w2, w3 = weights + c2 * area, weights + c3 * area
        flow_out = op.flow_out + group * kernels * high * wide
        for i in range(height):
            up, down = seeing(i + padding, high, tall, apart_y, gap_y)
            bottom = (i + padding - up * gap_y) // apart_y
            for j in range(width):
                left, right = seeing(j + padding, wide, broad, apart_x, gap_x)
                x = (j + padding - left * gap_x) // apart_x
                h = h0 + (i * width + j) * stride
                for t in range(ZERO, n, step):
                    s0, s1, s2, s3 = zero, zero, zero, zero
                    for o in range(kernels):
                        y = bottom
                        for line in range(up, down, turns_y):
                            at = (flow_out + (o * high + y) * wide + x) * stride + t
                            k = o * fan + line * broad + left
                            for _ in range(left, right, turns_x):
                                not_unrolled()
                                p = load_lanes(flow, at)
                                s0 = multiply_add(spread(bank.value[w0 + k]), p, s0)
                                s1 = multiply_add(spread(bank.value[w1 + k]), p, s1)
                                s2 = multiply_add(spread(bank.value[w2 + k]), p, s2)
                                s3 = multiply_add(spread(bank.value[w3 + k]), p, s3)
                                at -= back_x
                                k += turns_x
                            y -= back_y
                    store_lanes(flow, h + c * plane + t, s0)
                    store_lanes(flow, h + c1 * plane + t, s1)
                    store_lanes(flow, h + c2 * plane + t, s2)
                    store_lanes(flow, h + c3 * plane + t, s3)
