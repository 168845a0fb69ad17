"""Functions that a team of threads calls together, for all CUDA kernels.

A thread of a team knows its index `worker` among `workers`, and does its share. Every sum is
computed in an order that depends on network and batch and on nothing else; so the bits are the same
for every size of a team.

A workspace is a part of `space`, an array in the memory of the GPU or of one block; see
`places`. `op` is the index of an operation in `plan`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.engines.codegen.cuda_dispatch import (
    Real,
    kernel,
    sample_error,
    sample_gradient,
)
from scalarviz.engines.cuda.places import (
    CHUNKS,
    ERRORS_ROW,
    FACTOR,
    GOALS,
    LOSS,
    MEAN_OF,
    OUT,
    OUT_SIZE,
    PARTIAL,
    PARTIAL_SIZE,
    PARTIALS,
    Exact,
    Index,
    Numbers,
    Whole,
)


@kernel
def row_at(base: Index, row: Index, stride: Index) -> Index:
    """Return where a row of a workspace begins, unsigned; see `products`."""
    return np.uint64(base + row * stride)


@kernel
def row_of(i: Index, count: Index) -> Index:
    """Return the row of number i of a table whose rows have `count` numbers; 32 bits long.

    A division of 64 bits would take longer than most formulas.
    """
    return np.uint32(i) // np.uint32(count)


@kernel
def number_at(i: Index, count: Index, stride: Index) -> Index:
    """Return where number i of that table is in a workspace, counted from its first row."""
    row = row_of(i, count)
    return np.uint64(row) * np.uint64(stride) + np.uint64(np.uint32(i) - row * np.uint32(count))


@kernel
def chunk_start(plan: Whole, chunk: Index, count: Index) -> Index:
    """Return the first sample of a chunk, which is also the end of the previous one."""
    return chunk * count // plan[CHUNKS]


@kernel
def partial_of(plan: Whole, op: Index, chunk: Index) -> Index:
    """Return where the gradient of an operation's parameters begins, for one chunk."""
    return plan[PARTIALS] + chunk * plan[PARTIAL_SIZE] + plan[op + PARTIAL]


@kernel
def bias_sum(flow: Numbers, g: Index, each: Index, stride: Index, count: Index, total: Any) -> Any:
    """Add to `total` the gradients of `each` numbers from `g` on, which share a bias."""
    step = np.uint64(stride)
    for n in range(count):
        place = np.uint64(g + n)
        end = place + np.uint64(each) * step
        while place < end:
            total += flow[place]
            place += step
    return total


@kernel
def sum_in_order(
    numbers: Any, at: Index, step: Index, count: Index, scale: Any, total: Any
) -> Any:  # fmt: skip
    """Return `total` with numbers added, `step` apart, each times `scale`.

    Sixteen at a time are loaded before they are added: the next one need not wait for the sum.
    """
    at, step = np.uint64(at), np.uint64(step)
    for _ in range(count // 16):
        for _ in range(16):
            total += scale * numbers[at]
            at += step
    for _ in range(count % 16):
        total += scale * numbers[at]
        at += step
    return total


# ---- the loss -----------------------------------------------------------------------------------


@kernel
def error_of(plan: Whole, space: Numbers, base: Index, stride: Index, n: Index) -> Any:
    """Return the error of one sample."""
    size = plan[OUT_SIZE] * stride
    first, goal = base + plan[OUT] * stride + n, base + plan[GOALS] * stride + n
    p, t = space[first : first + size : stride], space[goal : goal + size : stride]
    return sample_error(plan[LOSS], p, t)


@kernel
def errors(
    plan: Whole, space: Numbers, base: Index, stride: Index, count: Index, worker: Index,
    workers: Index,
) -> None:  # fmt: skip
    """Write the error of each sample to the workspace."""
    for n in range(worker, count, workers):
        space[base + plan[ERRORS_ROW] * stride + n] = error_of(plan, space, base, stride, n)


@kernel
def sum_of_errors(
    plan: Whole, space: Numbers, base: Index, stride: Index, count: Index, total: Any
) -> Any:
    """Return `total` with the errors of some samples added, in order, which `errors` wrote."""
    for n in range(count):
        total += space[base + plan[ERRORS_ROW] * stride + n]
    return total


@kernel
def mean_scale(plan: Whole, scalars: Exact, samples: Index) -> Any:
    """Return the factor of the sum of errors of a batch."""
    if plan[MEAN_OF] == 0:
        return scalars[FACTOR]
    return scalars[FACTOR] / (samples * plan[MEAN_OF])


@kernel
def loss_gradient(
    plan: Whole, scalars: Exact, samples: Index, space: Numbers, base: Index, flow: Numbers,
    flow_base: Index, stride: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """Write the gradient of the loss of a batch with respect to its outputs."""
    size = plan[OUT_SIZE] * stride
    out, goals = plan[OUT] * stride, base + plan[GOALS] * stride
    scale = Real(mean_scale(plan, scalars, samples))
    for n in range(worker, count, workers):
        first, goal, written = base + out + n, goals + n, flow_base + out + n
        p, t = space[first : first + size : stride], space[goal : goal + size : stride]
        g = flow[written : written + size : stride]
        sample_gradient(plan[LOSS], p, t, g)
        for k in range(plan[OUT_SIZE]):
            g[k] *= scale
