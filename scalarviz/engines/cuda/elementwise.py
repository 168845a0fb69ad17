"""Operations by a team of threads: the kinds that need no more than a loop.

For each kind there are up to three kernels, and all of a purpose take the same arguments: forward;
the gradient by the parameters, as one chunk finds it; the gradient by what was read, from that by
what was written. `first` is the place in the batch of the workspace's first sample. A thread has a
number of a sample, or a parameter, at a time; threads that stand together have samples that do.

A sum over samples goes on where it was left, or begins if `fresh`; where several numbers share a
parameter, all those of a sample come before those of the next one, so that the sums do not depend
on how many samples a workspace has room for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.engines.codegen.cuda_dispatch import (
    Real,
    activation_slope,
    activation_value,
    drop_word,
    kernel,
    row_gradient,
    row_value,
)
from scalarviz.engines.cuda.api import cuda
from scalarviz.engines.cuda.plan import (
    BIAS_ROW,
    COUNT,
    EACH,
    FORMULA,
    HAS_BIASES,
    INPUTS,
    LEARNING,
    MEMO,
    MOST_SETTINGS,
    OTHER,
    OUTPUTS,
    SETTINGS,
    SOURCE,
    STATE,
    STATE_NUMBERS,
    TAKEN_AFTER,
    TARGET,
    WEIGHT_ROW,
    WEIGHTS,
)
from scalarviz.engines.cuda.teams import bias_sum, kept, partial_of

Numbers = Any
Whole = Any
Exact = Any
Index = Any


@kernel
def no_parameters(
    whole: Whole, op: Index, reals: Numbers, chunk: Index, fresh: bool, space: Numbers,
    base: Index, flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index,
    workers: Index,
) -> None:  # fmt: skip
    """Of an operation that has none."""


# ---- activation ---------------------------------------------------------------------------------


@kernel
def activation_forward(
    whole: Whole, op: Index, reals: Numbers, exact: Exact, space: Numbers, base: Index,
    stride: Index, first: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """y = f(x), number by number."""
    x, y = base + whole[op + SOURCE] * stride, base + whole[op + TARGET] * stride
    formula = whole[op + FORMULA]
    for i in range(worker, whole[op + OUTPUTS] * count, workers):
        r = i // count
        place = r * stride + i - r * count
        space[y + place] = kept(whole, activation_value(formula, space[x + place]))


@kernel
def activation_inputs(
    whole: Whole, op: Index, reals: Numbers, exact: Exact, space: Numbers, base: Index,
    flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """f'(x) times the gradient."""
    x, y = base + whole[op + SOURCE] * stride, base + whole[op + TARGET] * stride
    h, g = flow_base + whole[op + SOURCE] * stride, flow_base + whole[op + TARGET] * stride
    formula = whole[op + FORMULA]
    for i in range(worker, whole[op + INPUTS] * count, workers):
        r = i // count
        place = r * stride + i - r * count
        slope = activation_slope(formula, space[x + place], space[y + place])
        flow[h + place] = kept(whole, flow[g + place] * slope)


# ---- row ----------------------------------------------------------------------------------------


@kernel
def row_forward(
    whole: Whole, op: Index, reals: Numbers, exact: Exact, space: Numbers, base: Index,
    stride: Index, first: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """y = f(x), a sample a thread."""
    x, y = base + whole[op + SOURCE] * stride, base + whole[op + TARGET] * stride
    inputs, outputs = whole[op + INPUTS], whole[op + OUTPUTS]
    settings = reals[whole[op + SETTINGS] : whole[op + SETTINGS] + MOST_SETTINGS]
    for n in range(worker, count, workers):
        written = space[y + n : y + n + outputs * stride : stride]
        read = space[x + n : x + n + inputs * stride : stride]
        space[base + whole[op + MEMO] * stride + n] = row_value(
            whole[op + FORMULA], read, written, settings
        )
        for r in range(outputs):
            written[r] = kept(whole, written[r])


@kernel
def row_inputs(
    whole: Whole, op: Index, reals: Numbers, exact: Exact, space: Numbers, base: Index,
    flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """By the formula's own backward, a sample a thread."""
    inputs, outputs = whole[op + INPUTS], whole[op + OUTPUTS]
    source, target = whole[op + SOURCE] * stride, whole[op + TARGET] * stride
    settings = reals[whole[op + SETTINGS] : whole[op + SETTINGS] + MOST_SETTINGS]
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


# ---- scale --------------------------------------------------------------------------------------


@kernel
def scale_forward(
    whole: Whole, op: Index, reals: Numbers, exact: Exact, space: Numbers, base: Index,
    stride: Index, first: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """y = w x + b; EACH numbers share w and b."""
    x, y = base + whole[op + SOURCE] * stride, base + whole[op + TARGET] * stride
    each, biased = whole[op + EACH], whole[op + HAS_BIASES] != 0
    weights = whole[WEIGHTS] + whole[op + WEIGHT_ROW]
    biases = whole[WEIGHTS] + whole[op + BIAS_ROW]
    for i in range(worker, whole[op + OUTPUTS] * count, workers):
        r = i // count
        place = r * stride + i - r * count
        shift = reals[biases + r // each] if biased else Real(0)
        total = cuda.fma(reals[weights + r // each], space[x + place], shift)
        space[y + place] = kept(whole, total)


@kernel
def scale_parameters(
    whole: Whole, op: Index, reals: Numbers, chunk: Index, fresh: bool, space: Numbers,
    base: Index, flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index,
    workers: Index,
) -> None:  # fmt: skip
    """Sums over the samples, and over the numbers that share a weight."""
    x, g = base + whole[op + SOURCE] * stride, flow_base + whole[op + TARGET] * stride
    each, begin = whole[op + EACH], partial_of(whole, op, chunk)
    weights = whole[op + OUTPUTS] // each
    for i in range(worker, whole[op + COUNT], workers):
        total = Real(0) if fresh else reals[begin + i]
        if i >= weights:
            total = bias_sum(flow, g + (i - weights) * each * stride, each, stride, count, total)
        else:
            for n in range(count):
                for r in range(i * each, (i + 1) * each):
                    place = r * stride + n
                    total = cuda.fma(flow[g + place], space[x + place], total)
        reals[begin + i] = total


@kernel
def scale_inputs(
    whole: Whole, op: Index, reals: Numbers, exact: Exact, space: Numbers, base: Index,
    flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """w times the gradient."""
    h, g = flow_base + whole[op + SOURCE] * stride, flow_base + whole[op + TARGET] * stride
    each, weights = whole[op + EACH], whole[WEIGHTS] + whole[op + WEIGHT_ROW]
    for i in range(worker, whole[op + INPUTS] * count, workers):
        r = i // count
        place = r * stride + i - r * count
        flow[h + place] = kept(whole, reals[weights + r // each] * flow[g + place])


# ---- branch and sum -----------------------------------------------------------------------------


@kernel
def branch_forward(
    whole: Whole, op: Index, reals: Numbers, exact: Exact, space: Numbers, base: Index,
    stride: Index, first: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """y = x."""
    x, y = base + whole[op + SOURCE] * stride, base + whole[op + TARGET] * stride
    for i in range(worker, whole[op + OUTPUTS] * count, workers):
        r = i // count
        place = r * stride + i - r * count
        space[y + place] = space[x + place]


@kernel
def branch_inputs(
    whole: Whole, op: Index, reals: Numbers, exact: Exact, space: Numbers, base: Index,
    flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """What comes back on both ways adds up."""
    h, g = flow_base + whole[op + SOURCE] * stride, flow_base + whole[op + TARGET] * stride
    other = flow_base + whole[op + OTHER] * stride
    for i in range(worker, whole[op + INPUTS] * count, workers):
        r = i // count
        place = r * stride + i - r * count
        flow[h + place] = kept(whole, flow[g + place] + flow[other + place])


@kernel
def sum_forward(
    whole: Whole, op: Index, reals: Numbers, exact: Exact, space: Numbers, base: Index,
    stride: Index, first: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """y = x + the other buffer."""
    x, y = base + whole[op + SOURCE] * stride, base + whole[op + TARGET] * stride
    other = base + whole[op + OTHER] * stride
    for i in range(worker, whole[op + OUTPUTS] * count, workers):
        r = i // count
        place = r * stride + i - r * count
        space[y + place] = kept(whole, space[x + place] + space[other + place])


@kernel
def sum_inputs(
    whole: Whole, op: Index, reals: Numbers, exact: Exact, space: Numbers, base: Index,
    flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """It goes on as it is; the other buffer's part is taken up where the ways part."""
    h, g = flow_base + whole[op + SOURCE] * stride, flow_base + whole[op + TARGET] * stride
    for i in range(worker, whole[op + INPUTS] * count, workers):
        r = i // count
        place = r * stride + i - r * count
        flow[h + place] = flow[g + place]


# ---- dropout ------------------------------------------------------------------------------------


@kernel
def dropout_forward(
    whole: Whole, op: Index, reals: Numbers, exact: Exact, space: Numbers, base: Index,
    stride: Index, first: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """Times 0 or 1 / (1 - rate), which is kept; as it is if the network does not learn."""
    x, y = base + whole[op + SOURCE] * stride, base + whole[op + TARGET] * stride
    memo, rate = base + whole[op + MEMO] * stride, reals[whole[op + SETTINGS]]
    own = whole[op + STATE]
    low, high = np.int64(exact[STATE_NUMBERS + own]), np.int64(exact[STATE_NUMBERS + own + 1])
    grown, learning = Real(1) / (Real(1) - rate), whole[LEARNING] != 0
    for i in range(worker, whole[op + OUTPUTS] * count, workers):
        r = i // count
        n = i - r * count
        factor = Real(1)
        if learning:
            word = drop_word(np.int64(r), np.int64(first + n), whole[TAKEN_AFTER], own, low, high)
            factor = Real(0) if word < rate else grown
        place = r * stride + n
        space[memo + place] = factor
        space[y + place] = kept(whole, factor * space[x + place])


@kernel
def dropout_inputs(
    whole: Whole, op: Index, reals: Numbers, exact: Exact, space: Numbers, base: Index,
    flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """Times the same."""
    h, g = flow_base + whole[op + SOURCE] * stride, flow_base + whole[op + TARGET] * stride
    memo = base + whole[op + MEMO] * stride
    for i in range(worker, whole[op + INPUTS] * count, workers):
        r = i // count
        place = r * stride + i - r * count
        flow[h + place] = kept(whole, flow[g + place] * space[memo + place])
