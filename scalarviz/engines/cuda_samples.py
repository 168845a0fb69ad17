"""What every CUDA kernel is made of: functions that a team of threads calls together.

A thread of a team is told which `worker` of how many `workers` it is, and does its share. Every
sum is taken by one thread, in an order that depends on the size of the batch and on nothing else;
so the bits are the same for every size of team.

A workspace is a part of `space`, an array in the memory of the GPU or of one block; see
`cuda_plan`. `op` is the place of an operation in `whole`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.engines.cuda_api import cuda
from scalarviz.engines.cuda_dispatch import (
    Real,
    activation_slope,
    activation_value,
    kernel,
    row_gradient,
    row_value,
    sample_error,
    sample_gradient,
)
from scalarviz.engines.cuda_plan import (
    AFFINE,
    BIAS_ROW,
    CHUNKS,
    COUNT,
    ERRORS_ROW,
    FACTOR,
    FORMULA,
    GOALS,
    HALF,
    HAS_BIASES,
    INPUTS,
    KIND,
    LOSS,
    LOSS_SCALE,
    MEAN_OF,
    MEMO,
    OUT,
    OUT_SIZE,
    OUTPUTS,
    PARTIAL,
    PARTIAL_SIZE,
    PARTIALS,
    ROW,
    SCALE,
    SETTINGS,
    SOURCE,
    TARGET,
    WEIGHT_ROW,
    WEIGHTS,
)

Numbers = Any  # an array of the working type, 1-D
Whole = Any  # the plan and the operations, int64
Exact = Any  # numbers in float64
Index = Any


@kernel
def kept(whole: Whole, x: Any) -> Any:
    """x as it is kept: rounded to half precision if the plan says so."""
    if whole[HALF] != 0:
        return Real(np.float16(x))
    return x


@kernel
def chunk_start(whole: Whole, chunk: Index, count: Index) -> Index:
    """The first sample of a chunk; the last one ends where the next would begin."""
    return chunk * count // whole[CHUNKS]


# ---- forward ------------------------------------------------------------------------------------


@kernel
def forward(
    whole: Whole, op: Index, reals: Numbers, space: Numbers, base: Index, stride: Index,
    count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """One operation on the first `count` samples of a workspace that begins at `base`."""
    if whole[op + KIND] == ROW:
        row_forward(whole, op, reals, space, base, stride, count, worker, workers)
        return
    x, y = base + whole[op + SOURCE] * stride, base + whole[op + TARGET] * stride
    kind, formula, inputs = whole[op + KIND], whole[op + FORMULA], whole[op + INPUTS]
    weights = whole[WEIGHTS] + whole[op + WEIGHT_ROW]
    biases = whole[WEIGHTS] + whole[op + BIAS_ROW]
    for i in range(worker, whole[op + OUTPUTS] * count, workers):
        r = i // count
        n = i - r * count
        total = Real(0)
        if whole[op + HAS_BIASES] != 0:
            total = reals[biases + r]
        if kind == AFFINE:
            for k in range(inputs):
                w = reals[weights + r * inputs + k]
                total = cuda.fma(w, space[x + k * stride + n], total)
        elif kind == SCALE:
            total = cuda.fma(reals[weights + r], space[x + r * stride + n], total)
        else:
            total = activation_value(formula, space[x + r * stride + n])
        space[y + r * stride + n] = kept(whole, total)


@kernel
def row_forward(
    whole: Whole, op: Index, reals: Numbers, space: Numbers, base: Index, stride: Index,
    count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """`forward` of a row formula, a sample a thread."""
    x, y = base + whole[op + SOURCE] * stride, base + whole[op + TARGET] * stride
    inputs, outputs = whole[op + INPUTS], whole[op + OUTPUTS]
    settings = reals[whole[op + SETTINGS] : whole[op + SETTINGS] + 2]
    for n in range(worker, count, workers):
        written = space[y + n : y + n + outputs * stride : stride]
        read = space[x + n : x + n + inputs * stride : stride]
        space[base + whole[op + MEMO] * stride + n] = row_value(
            whole[op + FORMULA], read, written, settings
        )
        for r in range(outputs):
            written[r] = kept(whole, written[r])


# ---- the loss -----------------------------------------------------------------------------------


@kernel
def error_of(whole: Whole, space: Numbers, base: Index, stride: Index, n: Index) -> Any:
    """The error of one sample."""
    size = whole[OUT_SIZE] * stride
    first, goal = base + whole[OUT] * stride + n, base + whole[GOALS] * stride + n
    p, t = space[first : first + size : stride], space[goal : goal + size : stride]
    return sample_error(whole[LOSS], p, t)


@kernel
def errors(
    whole: Whole, space: Numbers, base: Index, stride: Index, count: Index, worker: Index,
    workers: Index,
) -> None:  # fmt: skip
    """The error of every sample, into its place in the workspace."""
    for n in range(worker, count, workers):
        space[base + whole[ERRORS_ROW] * stride + n] = error_of(whole, space, base, stride, n)


@kernel
def mean_scale(whole: Whole, exact: Exact, samples: Index) -> Any:
    """By what the sum of the errors of a batch of so many samples is multiplied."""
    if whole[MEAN_OF] == 0:
        return exact[FACTOR]
    return exact[FACTOR] / (samples * whole[MEAN_OF])


@kernel
def loss_gradient(
    whole: Whole, exact: Exact, samples: Index, space: Numbers, base: Index, flow: Numbers,
    flow_base: Index, stride: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """The gradient of the loss of a batch of `samples` by its outputs."""
    size = whole[OUT_SIZE] * stride
    out, goals = whole[OUT] * stride, base + whole[GOALS] * stride
    scale = Real(mean_scale(whole, exact, samples)) * Real(exact[LOSS_SCALE])
    for n in range(worker, count, workers):
        first, goal, written = base + out + n, goals + n, flow_base + out + n
        p, t = space[first : first + size : stride], space[goal : goal + size : stride]
        g = flow[written : written + size : stride]
        sample_gradient(whole[LOSS], p, t, g)
        for k in range(whole[OUT_SIZE]):
            g[k] = kept(whole, g[k] * scale)


# ---- backward -----------------------------------------------------------------------------------


@kernel
def partial_of(whole: Whole, op: Index, chunk: Index) -> Index:
    """Where the gradient by an operation's parameters begins, as found by one chunk."""
    return whole[PARTIALS] + chunk * whole[PARTIAL_SIZE] + whole[op + PARTIAL]


@kernel
def parameter_gradient(
    whole: Whole, op: Index, reals: Numbers, chunk: Index, fresh: bool, space: Numbers,
    base: Index, flow: Numbers, flow_base: Index, stride: Index, count: Index, lowest: Index,
    worker: Index, workers: Index,
) -> None:  # fmt: skip
    """Sums over samples in their order; each goes on where it was left, or begins if `fresh`.

    Of the parameters of an operation, only those from `lowest` on are looked at.
    """
    x, g = base + whole[op + SOURCE] * stride, flow_base + whole[op + TARGET] * stride
    inputs, first = whole[op + INPUTS], partial_of(whole, op, chunk)
    biases = whole[op + BIAS_ROW] - whole[op + WEIGHT_ROW]
    for i in range(lowest + worker, whole[op + COUNT], workers):
        total = Real(0) if fresh else reals[first + i]
        if whole[op + HAS_BIASES] != 0 and i >= biases:
            r = i - biases
            for n in range(count):
                total += flow[g + r * stride + n]
        else:
            r, k = i, i
            if whole[op + KIND] == AFFINE:
                r = i // inputs
                k = i - r * inputs
            for n in range(count):
                total = cuda.fma(flow[g + r * stride + n], space[x + k * stride + n], total)
        reals[first + i] = total


@kernel
def input_gradient(
    whole: Whole, op: Index, reals: Numbers, space: Numbers, base: Index, flow: Numbers,
    flow_base: Index, stride: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """The gradient by what an operation read, from that by what it wrote."""
    if whole[op + KIND] == ROW:
        row_backward(whole, op, reals, space, base, flow, flow_base, stride, count, worker, workers)
        return
    x, y = base + whole[op + SOURCE] * stride, base + whole[op + TARGET] * stride
    h, g = flow_base + whole[op + SOURCE] * stride, flow_base + whole[op + TARGET] * stride
    kind, formula = whole[op + KIND], whole[op + FORMULA]
    inputs, outputs = whole[op + INPUTS], whole[op + OUTPUTS]
    weights = whole[WEIGHTS] + whole[op + WEIGHT_ROW]
    for i in range(worker, inputs * count, workers):
        k = i // count
        n = i - k * count
        total = Real(0)
        if kind == AFFINE:
            for r in range(outputs):
                w = reals[weights + r * inputs + k]
                total = cuda.fma(w, flow[g + r * stride + n], total)
        elif kind == SCALE:
            total = reals[weights + k] * flow[g + k * stride + n]
        else:
            place = k * stride + n
            total = flow[g + place] * activation_slope(formula, space[x + place], space[y + place])
        flow[h + k * stride + n] = kept(whole, total)


@kernel
def row_backward(
    whole: Whole, op: Index, reals: Numbers, space: Numbers, base: Index, flow: Numbers,
    flow_base: Index, stride: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """`input_gradient` of a row formula, a sample a thread."""
    inputs, outputs = whole[op + INPUTS], whole[op + OUTPUTS]
    source, target = whole[op + SOURCE] * stride, whole[op + TARGET] * stride
    settings = reals[whole[op + SETTINGS] : whole[op + SETTINGS] + 2]
    for n in range(worker, count, workers):
        x, y = base + source + n, base + target + n
        h, g = flow_base + source + n, flow_base + target + n
        gradient = flow[h : h + inputs * stride : stride]
        row_gradient(
            whole[op + FORMULA],
            space[x : x + inputs * stride : stride],
            space[y : y + outputs * stride : stride],
            space[base + whole[op + MEMO] * stride + n],
            flow[g : g + outputs * stride : stride],
            gradient,
            settings,
        )
        for k in range(inputs):
            gradient[k] = kept(whole, gradient[k])
