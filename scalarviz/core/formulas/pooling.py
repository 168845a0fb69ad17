"""Pooling: one number for each window of a picture, its maximum or its mean.

A picture is a row of numbers: channel by channel, line by line. Windows have `kernel` pixels a
side and begin `stride` pixels apart; `padding` is how far the first one reaches beyond the edge.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence

Row = Sequence[float]
MutableRow = MutableSequence[float]


def max_pool(
    x: Row, y: MutableRow, channels: int, height: int, width: int, kernel: int, stride: int,
    padding: int,
) -> float:  # fmt: skip
    """Write the largest number of each window to y; numbers beyond the edge do not count."""
    high = (height + 2 * padding - kernel) // stride + 1
    wide = (width + 2 * padding - kernel) // stride + 1
    for place in range(channels * high * wide):
        top = place // wide % high * stride - padding
        left = place % wide * stride - padding
        first = place // (wide * high) * height
        best = x[(first + max(top, 0)) * width + max(left, 0)]
        for line in range(max(top, 0), min(top + kernel, height)):
            for column in range(max(left, 0), min(left + kernel, width)):
                value = x[(first + line) * width + column]
                # NaN wins
                best = value if value > best or value != value else best
        y[place] = best
    return 0.0


def max_pool_backward(
    x: Row, y: Row, scale: float, upstream: Row, gradient: MutableRow, channels: int, height: int,
    width: int, kernel: int, stride: int, padding: int,
) -> None:  # fmt: skip
    """Pass the gradient to the pixel that was the largest, the first one if there are several.

    It is found as a pixel that is equal to y.
    """
    high = (height + 2 * padding - kernel) // stride + 1
    wide = (width + 2 * padding - kernel) // stride + 1
    for i in range(len(gradient)):
        gradient[i] = 0.0
    for place in range(channels * high * wide):
        top = place // wide % high * stride - padding
        left = place % wide * stride - padding
        first = place // (wide * high) * height
        largest = y[place]
        rest = upstream[place]
        for line in range(max(top, 0), min(top + kernel, height)):
            for column in range(max(left, 0), min(left + kernel, width)):
                here = x[(first + line) * width + column]
                share = rest if here == largest or here != here else 0.0
                gradient[(first + line) * width + column] += share
                rest = 0.0 if here == largest or here != here else rest


def average_pool(
    x: Row, y: MutableRow, channels: int, height: int, width: int, kernel: int, stride: int,
    padding: int, share: float,
) -> float:  # fmt: skip
    """Write the mean of each window to y; numbers beyond the edge count as 0.

    `share` is 1 / kernel**2, as a float.
    """
    high = (height + 2 * padding - kernel) // stride + 1
    wide = (width + 2 * padding - kernel) // stride + 1
    for place in range(channels * high * wide):
        top = place // wide % high * stride - padding
        left = place % wide * stride - padding
        first = place // (wide * high) * height
        total = 0.0
        for line in range(max(top, 0), min(top + kernel, height)):
            for column in range(max(left, 0), min(left + kernel, width)):
                total += x[(first + line) * width + column]
        y[place] = total * share
    return 0.0


def average_pool_backward(
    x: Row, y: Row, scale: float, upstream: Row, gradient: MutableRow, channels: int, height: int,
    width: int, kernel: int, stride: int, padding: int, share: float,
) -> None:  # fmt: skip
    """Pass to each pixel of a window its share of the gradient."""
    high = (height + 2 * padding - kernel) // stride + 1
    wide = (width + 2 * padding - kernel) // stride + 1
    for i in range(len(gradient)):
        gradient[i] = 0.0
    for place in range(channels * high * wide):
        top = place // wide % high * stride - padding
        left = place % wide * stride - padding
        first = place // (wide * high) * height
        for line in range(max(top, 0), min(top + kernel, height)):
            for column in range(max(left, 0), min(left + kernel, width)):
                gradient[(first + line) * width + column] += upstream[place] * share
