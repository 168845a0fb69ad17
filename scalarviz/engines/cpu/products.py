"""Matrix products of a tile, which take nearly all of the time.

The innermost loops keep sums in vector registers, one sample per lane; see `simd`. The loops
compute four rows of a matrix at a time; if fewer are left, the last row is computed several times,
with the same bits, so that one loop serves all sizes. Wide layers have loops of their own: see
`wide_products`.

All indices are unsigned: numba tests a signed index for being negative at every access, which
prevents vectorisation. Hence ONE for 1.

    first, start, x0, g0, z0   index of the first number of a matrix or buffer in its array
    n, stride                  number of samples, and of numbers from one row to the next
    step                       numbers in a vector
    tail, left                 samples in whole vectors, and the remaining ones
    o, i, t                    index of an output, an input, a sample
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.engines.codegen.dispatch import inner
from scalarviz.engines.cpu.simd import (
    add_lanes,
    add_sums,
    lane_count,
    load_apart,
    load_lanes,
    load_some,
    multiply,
    multiply_add,
    not_unrolled,
    spread,
    store_lanes,
)

Numbers = Any  # an array of the bank's type
Index = Any  # an unsigned integer
Table = Any  # an array of integers, or of records
Record = Any  # a record of a table

TILE = np.uint64(128)  # maximum number of samples in a tile
SHORTEST = np.uint64(16)  # minimum stride of a tile's rows
LONGEST = TILE + SHORTEST  # maximum stride
FEW = np.uint64(2)  # number of samples up to which vectors are slower
ZERO, ONE, TWO, THREE, FOUR = [np.uint64(i) for i in range(5)]


@inner
def affine(
    w: Numbers, first: Index, across: Index, down: Index, biases: Numbers, bias: Index,
    x: Numbers, z: Numbers, x0: Index, z0: Index, inputs: Index, outputs: Index, n: Index,
    stride: Index,
) -> None:  # fmt: skip
    """z[o] = biases[bias + o] + sum over i of w[first + o * across + i * down] * x[i].

    For n samples of a tile. An empty array of biases stands for zeros.
    """
    step, last = lane_count(x), outputs - ONE
    c0 = c1 = c2 = c3 = w.dtype.type(0)
    for o in range(ZERO, outputs, FOUR):
        o1, o2, o3 = min(o + ONE, last), min(o + TWO, last), min(o + THREE, last)
        if len(biases):
            c0, c1 = biases[bias + o], biases[bias + o1]
            c2, c3 = biases[bias + o2], biases[bias + o3]
        for t in range(ZERO, n, step):
            r0, r1 = first + o * across, first + o1 * across
            r2, r3 = first + o2 * across, first + o3 * across
            s0, s1, s2, s3 = spread(c0), spread(c1), spread(c2), spread(c3)
            at = x0 + t
            for _ in range(inputs):
                not_unrolled()
                p = load_lanes(x, at)
                s0 = multiply_add(spread(w[r0]), p, s0)
                s1 = multiply_add(spread(w[r1]), p, s1)
                s2 = multiply_add(spread(w[r2]), p, s2)
                s3 = multiply_add(spread(w[r3]), p, s3)
                at += stride
                r0 += down
                r1 += down
                r2 += down
                r3 += down
            store_lanes(z, z0 + o * stride + t, s0)
            store_lanes(z, z0 + o1 * stride + t, s1)
            store_lanes(z, z0 + o2 * stride + t, s2)
            store_lanes(z, z0 + o3 * stride + t, s3)


@inner
def outer(
    grad: Numbers, first: Index, x: Numbers, g: Numbers, x0: Index, g0: Index,
    inputs: Index, outputs: Index, n: Index, stride: Index,
) -> None:  # fmt: skip
    """grad[first + o * inputs + i] += sum over the samples of g[o] * x[i]."""
    if n <= FEW:
        outer_of_few(grad, first, x, g, x0, g0, inputs, outputs, n, stride)
        return
    step = lane_count(x)
    tail = (n - ONE) // step * step
    left = n - tail
    for o in range(ZERO, outputs, TWO):
        a0 = g0 + o * stride
        a1 = g0 + min(o + ONE, outputs - ONE) * stride
        for i in range(ZERO, inputs, FOUR):
            last = inputs - ONE
            b0, b1 = x0 + i * stride, x0 + min(i + ONE, last) * stride
            b2, b3 = x0 + min(i + TWO, last) * stride, x0 + min(i + THREE, last) * stride
            p0, p1 = load_some(x, b0 + tail, left), load_some(x, b1 + tail, left)
            p2, p3 = load_some(x, b2 + tail, left), load_some(x, b3 + tail, left)
            q0, q1 = load_some(g, a0 + tail, left), load_some(g, a1 + tail, left)
            s00, s01 = multiply(q0, p0), multiply(q0, p1)
            s02, s03 = multiply(q0, p2), multiply(q0, p3)
            s10, s11 = multiply(q1, p0), multiply(q1, p1)
            s12, s13 = multiply(q1, p2), multiply(q1, p3)
            for t in range(ZERO, tail, step):
                not_unrolled()
                p0, p1 = load_lanes(x, b0 + t), load_lanes(x, b1 + t)
                p2, p3 = load_lanes(x, b2 + t), load_lanes(x, b3 + t)
                q0, q1 = load_lanes(g, a0 + t), load_lanes(g, a1 + t)
                s00 = multiply_add(q0, p0, s00)
                s01 = multiply_add(q0, p1, s01)
                s02 = multiply_add(q0, p2, s02)
                s03 = multiply_add(q0, p3, s03)
                s10 = multiply_add(q1, p0, s10)
                s11 = multiply_add(q1, p1, s11)
                s12 = multiply_add(q1, p2, s12)
                s13 = multiply_add(q1, p3, s13)
            at = first + o * inputs + i
            add_sums(grad, at, inputs - i, s00, s01, s02, s03)
            if o + ONE < outputs:
                add_sums(grad, at + inputs, inputs - i, s10, s11, s12, s13)


@inner
def outer_of_few(
    grad: Numbers, first: Index, x: Numbers, g: Numbers, x0: Index, g0: Index,
    inputs: Index, outputs: Index, n: Index, stride: Index,
) -> None:  # fmt: skip
    """Do the same as `outer`, one input per lane: faster for at most FEW samples."""
    step = lane_count(x)
    whole = inputs // step * step
    for t in range(n):
        for i in range(ZERO, whole, step):
            p = load_apart(x, x0 + i * stride + t, stride)
            for o in range(ZERO, outputs):
                at = first + o * inputs + i
                s = multiply_add(spread(g[g0 + o * stride + t]), p, load_lanes(grad, at))
                store_lanes(grad, at, s)
        for o in range(outputs):
            q = g[g0 + o * stride + t]
            row = first + o * inputs
            for i in range(whole, inputs):
                grad[row + i] += q * x[x0 + i * stride + t]


@inner
def add_row_sums(
    grad: Numbers, first: Index, g: Numbers, start: Index, rows: Index, n: Index, stride: Index
) -> None:
    """Add the gradient of the biases: grad[first + r] += sum over the samples of g[r]."""
    step, last = lane_count(g), rows - ONE
    tail = (n - ONE) // step * step
    left = n - tail
    for r in range(ZERO, rows, FOUR):
        a0, a1 = start + r * stride, start + min(r + ONE, last) * stride
        a2, a3 = start + min(r + TWO, last) * stride, start + min(r + THREE, last) * stride
        s0, s1 = load_some(g, a0 + tail, left), load_some(g, a1 + tail, left)
        s2, s3 = load_some(g, a2 + tail, left), load_some(g, a3 + tail, left)
        for t in range(ZERO, tail, step):
            not_unrolled()
            s0 = add_lanes(s0, load_lanes(g, a0 + t))
            s1 = add_lanes(s1, load_lanes(g, a1 + t))
            s2 = add_lanes(s2, load_lanes(g, a2 + t))
            s3 = add_lanes(s3, load_lanes(g, a3 + t))
        add_sums(grad, first + r, rows - r, s0, s1, s2, s3)
