"""Kernels of compiled expressions: forward, backward and training steps on tiles of samples.

A tile has one row for each number of the expression and one column per sample: row r of a tile of n
samples begins at r * n. So the rows of adjacent operations of one kind are one long row, and a loop
over them fills vector registers even if a batch is small. Gradients are in the same rows of a
second workspace, `flow`.

    plan, sizes            a record SIZES of `tables`
    code, step             records STEP of `tables`: the steps forward, then backward; one of them
    terms                  the terms of all sums
    owned, value           rows of the parameters in the bank; the weights of the bank
    space, flow, sums      values and gradients of a tile; gradients of the parameters
    n, t                   number of samples of a tile; index of one of them
    a, b, x, y, z          index in a workspace of the first number of a row

All indices are unsigned, as in `products`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scalarviz.engines.codegen.dispatch import (
    binary_backward,
    binary_forward,
    inner,
    kernel,
    loss_backward,
    loss_forward,
    ternary_backward,
    ternary_forward,
    unary_backward,
    unary_forward,
)
from scalarviz.engines.cpu.arrays import BankArrays, UpdateArrays
from scalarviz.engines.cpu.products import FOUR, ONE, THREE, TWO, Index, Numbers, Record, Table
from scalarviz.engines.cpu.updates import move

# Kinds of steps.
(
    SUM, UNARY_FORWARD, BINARY_FORWARD, TERNARY_FORWARD,
    SLOPES, SUM_BACKWARD, UNARY_BACKWARD, BINARY_BACKWARD, TERNARY_BACKWARD,
) = [np.uint64(i) for i in range(9)]  # fmt: skip


class Terms(NamedTuple):
    """The terms of all sums: sign, index of a scalar (a parameter or a constant), and a row.

    `factors` are the scalars multiplied by the signs. A term that is a scalar alone has no row.
    """

    signs: Numbers
    scalars: Table
    rows: Table
    factors: Numbers


@inner
def combine(
    terms: Terms, first: Index, last: Index, space: Numbers, target: Index, n: Index
) -> None:
    """Add the terms `first` to before `last` to row `target`: factors[k] * space[rows[k]]."""
    factors, rows = terms.factors, terms.rows
    a = target * n
    k = first
    while k + FOUR <= last:
        f0, f1, f2, f3 = factors[k], factors[k + ONE], factors[k + TWO], factors[k + THREE]
        b0, b1, b2, b3 = rows[k] * n, rows[k + ONE] * n, rows[k + TWO] * n, rows[k + THREE] * n
        for t in range(n):
            space[a + t] += (
                f0 * space[b0 + t] + f1 * space[b1 + t] + f2 * space[b2 + t] + f3 * space[b3 + t]
            )
        k += FOUR
    while k < last:
        f0, b0 = factors[k], rows[k] * n
        for t in range(n):
            space[a + t] += f0 * space[b0 + t]
        k += ONE


@inner
def slopes(
    terms: Terms, step: Record, space: Numbers, flow: Numbers, sums: Numbers, n: Index
) -> None:
    """Add the gradients of the parameters that are factors in one sum to `sums`."""
    signs, scalars, rows = terms.signs, terms.scalars, terms.rows
    zero = flow.dtype.type(0)
    a = step.target * n
    k = step.first
    if k < step.middle:
        total = zero
        for t in range(n):
            total += flow[a + t]
        while k < step.middle:
            sums[scalars[k]] += signs[k] * total
            k += ONE
    while k + FOUR <= step.last:
        b0, b1, b2, b3 = rows[k] * n, rows[k + ONE] * n, rows[k + TWO] * n, rows[k + THREE] * n
        s0 = s1 = s2 = s3 = zero
        for t in range(n):
            g = flow[a + t]
            s0 += g * space[b0 + t]
            s1 += g * space[b1 + t]
            s2 += g * space[b2 + t]
            s3 += g * space[b3 + t]
        sums[scalars[k]] += signs[k] * s0
        sums[scalars[k + ONE]] += signs[k + ONE] * s1
        sums[scalars[k + TWO]] += signs[k + TWO] * s2
        sums[scalars[k + THREE]] += signs[k + THREE] * s3
        k += FOUR
    while k < step.last:
        b0 = rows[k] * n
        s0 = zero
        for t in range(n):
            s0 += flow[a + t] * space[b0 + t]
        sums[scalars[k]] += signs[k] * s0
        k += ONE


@inner
def tile_forward(sizes: Record, code: Table, terms: Terms, space: Numbers, n: Index) -> None:
    """Run all steps forward on a tile whose inputs are in the first rows."""
    for i in range(sizes.steps):
        step = code[i]
        kind, formula, length = step.kind, step.formula, step.count * n
        a, x, y, z = step.target * n, step.x * n, step.y * n, step.z * n
        if kind == SUM:
            start = space.dtype.type(0)
            for k in range(step.first, step.middle):
                start += terms.factors[k]
            for t in range(n):
                space[a + t] = start
            combine(terms, step.middle, step.last, space, step.target, n)
        elif kind == UNARY_FORWARD:
            unary_forward(formula, space[x : x + length], space[a : a + length])
        elif kind == BINARY_FORWARD:
            binary_forward(
                formula, space[x : x + length], space[y : y + length], space[a : a + length]
            )
        else:
            ternary_forward(
                formula,
                space[x : x + length],
                space[y : y + length],
                space[z : z + length],
                space[a : a + length],
            )


@inner
def tile_backward(
    sizes: Record, code: Table, terms: Terms, space: Numbers, flow: Numbers, sums: Numbers, n: Index
) -> None:
    """Run all steps backward on a tile; add the gradients of the parameters to `sums`.

    `flow` has the gradients of the outputs, and 0 elsewhere.
    """
    for i in range(sizes.steps, np.uint64(len(code))):
        step = code[i]
        kind, formula, length = step.kind, step.formula, step.count * n
        if kind == SUM_BACKWARD:
            combine(terms, step.first, step.last, flow, step.target, n)
        elif kind == SLOPES:
            slopes(terms, step, space, flow, sums, n)
        else:
            a, x, y, z = step.target * n, step.x * n, step.y * n, step.z * n
            b = step.source * n
            out, upstream = space[a : a + length], flow[a : a + length]
            gradient = flow[b : b + length]
            if kind == UNARY_BACKWARD:
                unary_backward(formula, space[x : x + length], out, upstream, gradient)
            elif kind == BINARY_BACKWARD:
                binary_backward(
                    formula, space[x : x + length], space[y : y + length], out, upstream, gradient
                )
            else:
                ternary_backward(
                    formula,
                    space[x : x + length],
                    space[y : y + length],
                    space[z : z + length],
                    out,
                    upstream,
                    gradient,
                )


@inner
def make_factors(
    sizes: Record, terms: Terms, constants: Numbers, owned: Table, value: Numbers
) -> None:
    """Compute the factor of each term: its sign times a parameter or a constant."""
    for k in range(len(terms.factors)):
        scalar = terms.scalars[k]
        if scalar < sizes.parameters:
            terms.factors[k] = terms.signs[k] * value[owned[scalar]]
        else:
            terms.factors[k] = terms.signs[k] * constants[scalar - sizes.parameters]


@inner
def load_rows(space: Numbers, data: Numbers, first: Index, n: Index) -> None:
    """Copy n samples of a table, one row each, to the first rows of a tile."""
    for i in range(np.uint64(data.shape[1])):
        for t in range(n):
            space[i * n + t] = data[first + t, i]


@inner
def store_rows(space: Numbers, rows: Table, data: Numbers, first: Index, n: Index) -> None:
    """Copy rows of a tile to n samples of a table, from sample `first` on."""
    for i in range(np.uint64(len(rows))):
        for t in range(n):
            data[first + t, i] = space[rows[i] * n + t]


@kernel
def forward(
    plan: Table, code: Table, signs: Numbers, scalars: Table, rows: Table, constants: Numbers,
    outputs: Table, owned: Table, value: Numbers, factors: Numbers, data: Numbers, spaces: Numbers,
    results: Numbers,
) -> None:  # fmt: skip
    """Compute the outputs of a batch; keep the values if `spaces` has one row per tile."""
    sizes, terms = plan[0], Terms(signs, scalars, rows, factors)
    make_factors(sizes, terms, constants, owned, value)
    samples, first, tile = np.uint64(len(data)), np.uint64(0), np.uint64(0)
    while first < samples:
        n = min(sizes.samples, samples - first)
        space = spaces[min(tile, np.uint64(len(spaces) - 1))]
        load_rows(space, data, first, n)
        tile_forward(sizes, code, terms, space, n)
        store_rows(space, outputs, results, first, n)
        first += n
        tile += np.uint64(1)


@kernel
def backward(
    plan: Table, code: Table, signs: Numbers, scalars: Table, rows: Table, constants: Numbers,
    outputs: Table, owned: Table, value: Numbers, factors: Numbers, upstream: Numbers,
    spaces: Numbers, flow: Numbers, sums: Numbers, grad: Numbers, by_inputs: Numbers,
) -> None:  # fmt: skip
    """Compute the gradients of the inputs of a batch; add those of the parameters to `grad`."""
    sizes, terms = plan[0], Terms(signs, scalars, rows, factors)
    make_factors(sizes, terms, constants, owned, value)
    sums[:] = sums.dtype.type(0)
    samples, first, tile = np.uint64(len(upstream)), np.uint64(0), np.uint64(0)
    while first < samples:
        n = min(sizes.samples, samples - first)
        flow[: sizes.rows * n] = flow.dtype.type(0)
        for i in range(np.uint64(len(outputs))):
            for t in range(n):
                flow[outputs[i] * n + t] += upstream[first + t, i]
        tile_backward(sizes, code, terms, spaces[tile], flow, sums, n)
        for i in range(np.uint64(by_inputs.shape[1])):
            for t in range(n):
                by_inputs[first + t, i] = flow[i * n + t]
        first += n
        tile += np.uint64(1)
    for i in range(sizes.parameters):
        grad[owned[i]] += sums[i]


@kernel
def train(
    plan: Table, code: Table, signs: Numbers, scalars: Table, rows: Table, constants: Numbers,
    outputs: Table, owned: Table, value: Numbers, factors: Numbers, data: Numbers, goals: Numbers,
    space: Numbers, flow: Numbers, sums: Numbers, ends: Numbers, loss_scale: float,
    training: Table, grad: Numbers, slots: Numbers, frozen: Table, state: Numbers, how: Table,
    optimizer_settings: Numbers, schedule_settings: Numbers, arguments: Numbers, scratch: Numbers,
    counts: Table, errors: Numbers,
) -> int:  # fmt: skip
    """Take a whole step on a batch: write the loss to `errors`, and return the result of `move`.

    If `arguments` is empty, the optimizer is not run. `ends` is a buffer for outputs, targets and
    gradients of the outputs of a tile.
    """
    sizes, terms = plan[0], Terms(signs, scalars, rows, factors)
    make_factors(sizes, terms, constants, owned, value)
    sums[:] = sums.dtype.type(0)
    p, t, g = ends[0], ends[1], ends[2]
    samples, first, total = np.uint64(len(data)), np.uint64(0), 0.0
    while first < samples:
        n = min(sizes.samples, samples - first)
        load_rows(space, data, first, n)
        tile_forward(sizes, code, terms, space, n)
        flow[: sizes.rows * n] = flow.dtype.type(0)
        for i in range(np.uint64(len(outputs))):
            for k in range(n):
                p[i, k] = space[outputs[i] * n + k]
                t[i, k] = goals[first + k, i]
        total += loss_forward(training[0].loss, p, t, n)
        loss_backward(training[0].loss, p, t, loss_scale, g, n)
        for i in range(np.uint64(len(outputs))):
            for k in range(n):
                flow[outputs[i] * n + k] += g[i, k]
        tile_backward(sizes, code, terms, space, flow, sums, n)
        first += n
    errors[0] = total * loss_scale
    for i in range(sizes.parameters):
        grad[owned[i]] = sums[i]
    if len(arguments) == 0:
        return -1
    bank = BankArrays(value, value, grad, slots, frozen, state)
    update = UpdateArrays(how, optimizer_settings, schedule_settings, arguments, scratch)
    bad: int = move(training[0], bank, update, counts)
    return bad
