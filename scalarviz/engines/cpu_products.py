"""The two matrix products of a tile, which take nearly all of the time.

The innermost loop runs over the samples of a tile and fills vector registers; four weights of each
of four outputs wait in scalars meanwhile.

All indices are unsigned: a signed one costs a test for "counted from the end" at every number, and
the loop is no longer vectorised. Hence ONE for 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.engines.dispatch import kernel

Numbers = Any  # a flat array of the bank's type
Index = Any  # unsigned

TILE = np.uint64(128)
ZERO, ONE, TWO, THREE, FOUR = [np.uint64(i) for i in range(5)]


@kernel
def affine(
    w: Numbers, first: Index, across: Index, down: Index, x: Numbers, z: Numbers, x0: Index,
    z0: Index, inputs: Index, outputs: Index, n: Index,
) -> None:  # fmt: skip
    """z[o] += sum over i of w[first + o * across + i * down] * x[i], for n samples of a tile."""
    o = ZERO
    while o + FOUR <= outputs:
        a = z0 + o * TILE
        r0 = first + o * across
        r1, r2, r3 = r0 + across, r0 + TWO * across, r0 + THREE * across
        i = ZERO
        while i + FOUR <= inputs:
            c0 = i * down
            c1, c2, c3 = c0 + down, c0 + TWO * down, c0 + THREE * down
            w00, w01, w02, w03 = w[r0 + c0], w[r0 + c1], w[r0 + c2], w[r0 + c3]
            w10, w11, w12, w13 = w[r1 + c0], w[r1 + c1], w[r1 + c2], w[r1 + c3]
            w20, w21, w22, w23 = w[r2 + c0], w[r2 + c1], w[r2 + c2], w[r2 + c3]
            w30, w31, w32, w33 = w[r3 + c0], w[r3 + c1], w[r3 + c2], w[r3 + c3]
            b = x0 + i * TILE
            for t in range(n):
                p0, p1 = x[b + t], x[b + TILE + t]
                p2, p3 = x[b + TWO * TILE + t], x[b + THREE * TILE + t]
                z[a + t] += w00 * p0 + w01 * p1 + w02 * p2 + w03 * p3
                z[a + TILE + t] += w10 * p0 + w11 * p1 + w12 * p2 + w13 * p3
                z[a + TWO * TILE + t] += w20 * p0 + w21 * p1 + w22 * p2 + w23 * p3
                z[a + THREE * TILE + t] += w30 * p0 + w31 * p1 + w32 * p2 + w33 * p3
            i += FOUR
        while i < inputs:
            c0 = i * down
            w00, w10, w20, w30 = w[r0 + c0], w[r1 + c0], w[r2 + c0], w[r3 + c0]
            b = x0 + i * TILE
            for t in range(n):
                p0 = x[b + t]
                z[a + t] += w00 * p0
                z[a + TILE + t] += w10 * p0
                z[a + TWO * TILE + t] += w20 * p0
                z[a + THREE * TILE + t] += w30 * p0
            i += ONE
        o += FOUR
    while o < outputs:
        a = z0 + o * TILE
        r0 = first + o * across
        i = ZERO
        while i + FOUR <= inputs:
            c0 = i * down
            c1, c2, c3 = c0 + down, c0 + TWO * down, c0 + THREE * down
            w00, w01, w02, w03 = w[r0 + c0], w[r0 + c1], w[r0 + c2], w[r0 + c3]
            b = x0 + i * TILE
            for t in range(n):
                z[a + t] += (
                    w00 * x[b + t]
                    + w01 * x[b + TILE + t]
                    + w02 * x[b + TWO * TILE + t]
                    + w03 * x[b + THREE * TILE + t]
                )
            i += FOUR
        while i < inputs:
            w00 = w[r0 + i * down]
            b = x0 + i * TILE
            for t in range(n):
                z[a + t] += w00 * x[b + t]
            i += ONE
        o += ONE


@kernel
def outer(
    grad: Numbers, first: Index, x: Numbers, g: Numbers, x0: Index, g0: Index,
    inputs: Index, outputs: Index, n: Index,
) -> None:  # fmt: skip
    """grad[first + o * inputs + i] += sum over the samples of g[o] * x[i]."""
    zero = grad.dtype.type(0)
    o = ZERO
    while o + FOUR <= outputs:
        a = g0 + o * TILE
        r0 = first + o * inputs
        r1, r2, r3 = r0 + inputs, r0 + TWO * inputs, r0 + THREE * inputs
        i = ZERO
        while i + TWO <= inputs:
            b = x0 + i * TILE
            s00 = s01 = s10 = s11 = s20 = s21 = s30 = s31 = zero
            for t in range(n):
                p0, p1 = x[b + t], x[b + TILE + t]
                q0, q1 = g[a + t], g[a + TILE + t]
                q2, q3 = g[a + TWO * TILE + t], g[a + THREE * TILE + t]
                s00 += q0 * p0
                s01 += q0 * p1
                s10 += q1 * p0
                s11 += q1 * p1
                s20 += q2 * p0
                s21 += q2 * p1
                s30 += q3 * p0
                s31 += q3 * p1
            grad[r0 + i] += s00
            grad[r0 + i + ONE] += s01
            grad[r1 + i] += s10
            grad[r1 + i + ONE] += s11
            grad[r2 + i] += s20
            grad[r2 + i + ONE] += s21
            grad[r3 + i] += s30
            grad[r3 + i + ONE] += s31
            i += TWO
        if i < inputs:
            b = x0 + i * TILE
            s00 = s10 = s20 = s30 = zero
            for t in range(n):
                p0 = x[b + t]
                s00 += g[a + t] * p0
                s10 += g[a + TILE + t] * p0
                s20 += g[a + TWO * TILE + t] * p0
                s30 += g[a + THREE * TILE + t] * p0
            grad[r0 + i] += s00
            grad[r1 + i] += s10
            grad[r2 + i] += s20
            grad[r3 + i] += s30
        o += FOUR
    while o < outputs:
        a = g0 + o * TILE
        i = ZERO
        while i < inputs:
            b = x0 + i * TILE
            s00 = zero
            for t in range(n):
                s00 += g[a + t] * x[b + t]
            grad[first + o * inputs + i] += s00
            i += ONE
        o += ONE
