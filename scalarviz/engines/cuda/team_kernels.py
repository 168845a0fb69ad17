"""Kernels of batch norm and the simpler kinds of operations, run by a team of threads.

A kind has up to three kernels: forward, the gradient of the parameters for one chunk, and the
gradient of the inputs. Kernels with the same purpose have the same arguments. `first` is the index
in the batch of the workspace's first sample. A thread computes one number of a sample, or one
parameter, at a time; adjacent threads have adjacent samples.

A sum over samples continues the sum in memory, or starts at 0 if `fresh`. If several numbers share
a parameter, a sum runs over all numbers of a sample before the next sample, so that it does not
depend on the number of samples in a workspace.

Batch norm standardizes each feature over the whole batch, which requires the numbers of all
samples. `gather` writes the mean and scale of each feature to `scalars`; in the backward pass it
writes the means of the gradients that are subtracted. A block computes one feature at a time; its
sums have SHARES parts for any number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.engines.codegen.cuda_dispatch import (
    Real,
    activation_slope,
    activation_value,
    deviation_factor,
    drop_word,
    kernel,
    parametric_slope,
    parametric_value,
    row_gradients,
    row_values,
    slope_by_parameter,
)
from scalarviz.engines.codegen.formula_loops import TEAM_ROOM, TEAM_SAMPLES
from scalarviz.engines.cuda.card import cuda
from scalarviz.engines.cuda.gpu_layout import (
    BIAS_ROW,
    COUNT,
    DEVIATION,
    EACH,
    FLOW,
    FORMULA,
    FROZEN,
    HAS_BIASES,
    HELD_FROM,
    HELD_TO,
    INPUTS,
    LEARNING,
    MEAN,
    MEMO,
    MOMENTS,
    MOST_SETTINGS,
    OUTPUTS,
    SECOND,
    SETTINGS,
    SHARES,
    SHIFT,
    SOURCE,
    SPACE,
    STATE,
    STATE_NUMBERS,
    STATISTICS,
    STEPS_TAKEN_AFTER,
    STRETCH,
    STRIDE,
    TARGET,
    VALUE,
    WEIGHT_ROW,
    Exact,
    Index,
    Numbers,
    Whole,
    bias_sum,
    ends_of,
    number_at,
    partial_of,
    row_at,
    row_of,
    sum_in_order,
)


@kernel
def no_parameters(
    plan: Whole, op: Index, arena: Numbers, chunk: Index, fresh: bool, space: Numbers,
    base: Index, flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index,
    workers: Index,
) -> None:  # fmt: skip
    """No-op: this kind has no parameters."""


# ---- activation ---------------------------------------------------------------------------------


@kernel
def activation_forward(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, space: Numbers, base: Index,
    stride: Index, first: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """y = f(x), elementwise."""
    x, y = ends_of(plan, op, base, stride)
    formula = plan[op + FORMULA]
    for i in range(worker, plan[op + OUTPUTS] * count, workers):
        place = number_at(i, count, stride)
        space[y + place] = activation_value(formula, space[x + place])


@kernel
def activation_inputs(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, space: Numbers, base: Index,
    flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """Compute the gradient of the inputs: f'(x) times g."""
    x, y = ends_of(plan, op, base, stride)
    h, g = ends_of(plan, op, flow_base, stride)
    formula = plan[op + FORMULA]
    for i in range(worker, plan[op + INPUTS] * count, workers):
        place = number_at(i, count, stride)
        slope = activation_slope(formula, space[x + place], space[y + place])
        flow[h + place] = flow[g + place] * slope


# ---- row, and each place of a sequence ----------------------------------------------------------


@kernel
def row_forward(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, space: Numbers, base: Index,
    stride: Index, first: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """y = f(x) for a row formula, at each of EACH places; a sample may be one place.

    A block's threads divide the loops over a row, see `in_team`.
    """
    x, y = ends_of(plan, op, base, stride)
    memo, places = row_at(base, plan[op + MEMO], stride), np.uint32(plan[op + EACH])
    inputs = np.int64(np.uint32(plan[op + INPUTS]) // places)
    outputs = np.int64(np.uint32(plan[op + OUTPUTS]) // places)
    across = np.uint64(stride) * np.uint64(places)
    settings = arena[plan[op + SETTINGS] : plan[op + SETTINGS] + MOST_SETTINGS]
    room = cuda.shared.array(TEAM_ROOM, Real)
    for p in range(np.int64(places)):
        for i in range(0, count, TEAM_SAMPLES):
            n = np.uint64(p * stride + i)
            row_values(
                plan[op + FORMULA], x + n, y + n, memo + n, space, across, inputs, outputs, room,
                min(TEAM_SAMPLES, count - i), worker, workers, settings,
            )  # fmt: skip


@kernel
def row_inputs(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, space: Numbers, base: Index,
    flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """Compute the gradient of the inputs by the formula's backward, with the threads of a block."""
    x, y = ends_of(plan, op, base, stride)
    h, g = ends_of(plan, op, flow_base, stride)
    memo, places = row_at(base, plan[op + MEMO], stride), np.uint32(plan[op + EACH])
    inputs = np.int64(np.uint32(plan[op + INPUTS]) // places)
    outputs = np.int64(np.uint32(plan[op + OUTPUTS]) // places)
    across = np.uint64(stride) * np.uint64(places)
    settings = arena[plan[op + SETTINGS] : plan[op + SETTINGS] + MOST_SETTINGS]
    room = cuda.shared.array(TEAM_ROOM, Real)
    for p in range(np.int64(places)):
        for i in range(0, count, TEAM_SAMPLES):
            n = np.uint64(p * stride + i)
            row_gradients(
                plan[op + FORMULA], x + n, y + n, memo + n, g + n, h + n, space, flow, across,
                inputs, outputs, room, min(TEAM_SAMPLES, count - i), worker, workers, settings,
            )  # fmt: skip


@kernel
def row_forward_all(plan: Whole, op: Index, arena: Numbers, scalars: Exact, count: Index) -> None:
    """Run `row_forward` on all samples; a block computes several samples at a time."""
    for n in range(cuda.blockIdx.x * TEAM_SAMPLES, count, cuda.gridDim.x * TEAM_SAMPLES):
        row_forward(
            plan, op, arena, scalars, arena, plan[SPACE] + n, plan[STRIDE], n,
            min(TEAM_SAMPLES, count - n), cuda.threadIdx.x, cuda.blockDim.x,
        )  # fmt: skip


@kernel
def row_inputs_all(plan: Whole, op: Index, arena: Numbers, scalars: Exact, count: Index) -> None:
    """Run `row_inputs` on all samples; a block computes several samples at a time."""
    for n in range(cuda.blockIdx.x * TEAM_SAMPLES, count, cuda.gridDim.x * TEAM_SAMPLES):
        row_inputs(
            plan, op, arena, scalars, arena, plan[SPACE] + n, arena, plan[FLOW] + n, plan[STRIDE],
            min(TEAM_SAMPLES, count - n), cuda.threadIdx.x, cuda.blockDim.x,
        )  # fmt: skip


# ---- embedding ----------------------------------------------------------------------------------


@kernel
def embedding_forward(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, space: Numbers, base: Index,
    stride: Index, first: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """y = the row of W that the index at each place chooses, plus the bias of each number."""
    x, y = ends_of(plan, op, base, stride)
    places, biased = np.uint32(plan[op + INPUTS]), plan[op + HAS_BIASES] != 0
    size = np.uint64(plan[op + OUTPUTS] // plan[op + INPUTS])
    weights = np.uint64(plan[VALUE] + plan[op + WEIGHT_ROW])
    biases = np.uint64(plan[VALUE] + plan[op + BIAS_ROW])
    letters = arena[plan[op + SETTINGS]]
    for i in range(worker, plan[op + OUTPUTS] * count, workers):
        row = row_of(i, count)
        at = number_at(i, count, stride)
        behind = np.uint64(row - row % places) * np.uint64(stride)  # rows of earlier features
        index = space[x + at - behind]
        total = arena[biases + np.uint64(row)] if biased else Real(0)
        if index >= 0 and index < letters:
            total += arena[weights + np.uint64(index) * size + np.uint64(row // places)]
        space[y + at] = total


@kernel
def embedding_parameters(
    plan: Whole, op: Index, arena: Numbers, chunk: Index, fresh: bool, space: Numbers,
    base: Index, flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index,
    workers: Index,
) -> None:  # fmt: skip
    """Add the gradients of W, from the places that chose the row, and of the biases."""
    x, g = base + plan[op + SOURCE] * stride, flow_base + plan[op + TARGET] * stride
    places, begin = plan[op + INPUTS], partial_of(plan, op, chunk)
    size = plan[op + OUTPUTS] // places
    weights = np.int64(arena[plan[op + SETTINGS]]) * size
    for i in range(worker, plan[op + COUNT], workers):
        total = Real(0) if fresh else arena[begin + i]
        if i >= weights:
            total = bias_sum(flow, g + (i - weights) * stride, 1, stride, count, total)
        else:
            letter, feature = i // size, i % size
            for p in range(places):
                at = (feature * places + p) * stride
                for n in range(count):
                    index = space[np.uint64(x + p * stride + n)]
                    if index >= 0 and np.int64(index) == letter:
                        total += flow[np.uint64(g + at + n)]
        arena[begin + i] = total


@kernel
def embedding_inputs(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, space: Numbers, base: Index,
    flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """Write zeros: an index has no gradient."""
    h, _ = ends_of(plan, op, flow_base, stride)
    for i in range(worker, plan[op + INPUTS] * count, workers):
        flow[h + number_at(i, count, stride)] = Real(0)


# ---- scale --------------------------------------------------------------------------------------


@kernel
def scale_forward(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, space: Numbers, base: Index,
    stride: Index, first: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """y = w x + b; each pair of w and b is shared by EACH numbers."""
    x, y = ends_of(plan, op, base, stride)
    each, biased = np.uint32(plan[op + EACH]), plan[op + HAS_BIASES] != 0
    weights = np.uint64(plan[VALUE] + plan[op + WEIGHT_ROW])
    biases = np.uint64(plan[VALUE] + plan[op + BIAS_ROW])
    for i in range(worker, plan[op + OUTPUTS] * count, workers):
        place, k = number_at(i, count, stride), np.uint64(row_of(i, count) // each)
        shift = arena[biases + k] if biased else Real(0)
        total = cuda.fma(arena[weights + k], space[x + place], shift)
        space[y + place] = total


@kernel
def scale_parameters(
    plan: Whole, op: Index, arena: Numbers, chunk: Index, fresh: bool, space: Numbers,
    base: Index, flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index,
    workers: Index,
) -> None:  # fmt: skip
    """Add the gradients of w and b: sums over the samples and the numbers that share them."""
    x, g = base + plan[op + SOURCE] * stride, flow_base + plan[op + TARGET] * stride
    each, begin = plan[op + EACH], partial_of(plan, op, chunk)
    weights = plan[op + OUTPUTS] // each
    for i in range(worker, plan[op + COUNT], workers):
        total = Real(0) if fresh else arena[begin + i]
        if i >= weights:
            total = bias_sum(flow, g + (i - weights) * each * stride, each, stride, count, total)
        else:
            total = products_of_rows(flow, g, space, x, i * each, each, stride, count, total)
        arena[begin + i] = total


@kernel
def products_of_rows(
    flow: Numbers, g: Index, space: Numbers, x: Index, row: Index, rows: Index, stride: Index,
    count: Index, total: Any,
) -> Any:  # fmt: skip
    """Add to `total` the products of `rows` rows of both workspaces, sample after sample."""
    step, first = np.uint64(stride), row * stride
    a, b = np.uint64(g + first), np.uint64(x + first)
    for n in range(count):
        p, q, end = a + np.uint64(n), b + np.uint64(n), a + np.uint64(n) + np.uint64(rows) * step
        while p < end:
            total = cuda.fma(flow[p], space[q], total)
            p += step
            q += step
    return total


@kernel
def scale_inputs(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, space: Numbers, base: Index,
    flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """Compute the gradient of the inputs: w times g."""
    h, g = ends_of(plan, op, flow_base, stride)
    each = np.uint32(plan[op + EACH])
    weights = np.uint64(plan[VALUE] + plan[op + WEIGHT_ROW])
    for i in range(worker, plan[op + INPUTS] * count, workers):
        place, k = number_at(i, count, stride), np.uint64(row_of(i, count) // each)
        flow[h + place] = arena[weights + k] * flow[g + place]


# ---- parametric ---------------------------------------------------------------------------------


@kernel
def take_parameters(plan: Whole, op: Index, arena: Numbers, r: Index, given: Numbers) -> None:
    """Write the parameters of the formula for output r to `given`."""
    first = plan[VALUE] + plan[op + WEIGHT_ROW]
    for j in range(MOST_SETTINGS):
        each = np.int64(arena[plan[op + SETTINGS] + j])
        if each > 0:
            given[j] = arena[first + r // each]
            first += plan[op + OUTPUTS] // each


@kernel
def parametric_forward(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, space: Numbers, base: Index,
    stride: Index, first: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """y = f(x, w, ...), elementwise."""
    x, y = ends_of(plan, op, base, stride)
    given = cuda.local.array(MOST_SETTINGS, Real)
    for i in range(worker, plan[op + OUTPUTS] * count, workers):
        place = number_at(i, count, stride)
        take_parameters(plan, op, arena, np.int64(row_of(i, count)), given)
        space[y + place] = parametric_value(plan[op + FORMULA], space[x + place], given)


@kernel
def parametric_parameters(
    plan: Whole, op: Index, arena: Numbers, chunk: Index, fresh: bool, space: Numbers,
    base: Index, flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index,
    workers: Index,
) -> None:  # fmt: skip
    """Add the gradients of the parameters: sums over samples and the numbers that share them."""
    x, g = base + plan[op + SOURCE] * stride, flow_base + plan[op + TARGET] * stride
    begin, given = partial_of(plan, op, chunk), cuda.local.array(MOST_SETTINGS, Real)
    for i in range(worker, plan[op + COUNT], workers):
        total = Real(0) if fresh else arena[begin + i]
        place, k = 0, i
        each = np.int64(arena[plan[op + SETTINGS]])
        while k >= plan[op + OUTPUTS] // each:
            k -= plan[op + OUTPUTS] // each
            place += 1
            each = np.int64(arena[plan[op + SETTINGS] + place])
        for n in range(count):
            for r in range(k * each, (k + 1) * each):
                take_parameters(plan, op, arena, r, given)
                slope = slope_by_parameter(
                    plan[op + FORMULA], place, space[x + r * stride + n], given
                )
                total = cuda.fma(flow[g + r * stride + n], slope, total)
        arena[begin + i] = total


@kernel
def parametric_inputs(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, space: Numbers, base: Index,
    flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """Compute the gradient of the inputs: f'(x, w, ...) times g."""
    x = row_at(base, plan[op + SOURCE], stride)
    h, g = ends_of(plan, op, flow_base, stride)
    given = cuda.local.array(MOST_SETTINGS, Real)
    for i in range(worker, plan[op + INPUTS] * count, workers):
        place = number_at(i, count, stride)
        take_parameters(plan, op, arena, np.int64(row_of(i, count)), given)
        slope = parametric_slope(plan[op + FORMULA], space[x + place], given)
        flow[h + place] = flow[g + place] * slope


# ---- branch and sum -----------------------------------------------------------------------------


@kernel
def copy_rows(
    numbers: Numbers, base: Index, start: Index, to: Index, rows: Index, stride: Index,
    count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """Copy `rows` rows within a workspace, from row `start` to row `to`."""
    x, y = row_at(base, start, stride), row_at(base, to, stride)
    for i in range(worker, rows * count, workers):
        place = number_at(i, count, stride)
        numbers[y + place] = numbers[x + place]


@kernel
def branch_forward(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, space: Numbers, base: Index,
    stride: Index, first: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """y = x: the input of a branch is copied."""
    copy_rows(
        space, base, plan[op + SOURCE], plan[op + TARGET], plan[op + OUTPUTS], stride, count,
        worker, workers,
    )  # fmt: skip


@kernel
def branch_inputs(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, space: Numbers, base: Index,
    flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """Add g to the gradient of the inputs, which a later operation has already written."""
    h, g = ends_of(plan, op, flow_base, stride)
    for i in range(worker, plan[op + INPUTS] * count, workers):
        place = number_at(i, count, stride)
        flow[h + place] += flow[g + place]


@kernel
def sum_forward(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, space: Numbers, base: Index,
    stride: Index, first: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """y = x + the second input."""
    x, y = ends_of(plan, op, base, stride)
    second = row_at(base, plan[op + SECOND], stride)
    for i in range(worker, plan[op + OUTPUTS] * count, workers):
        place = number_at(i, count, stride)
        space[y + place] = space[x + place] + space[second + place]


@kernel
def sum_inputs(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, space: Numbers, base: Index,
    flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """Copy the gradient of the sum to both inputs."""
    h, g = ends_of(plan, op, flow_base, stride)
    second = row_at(flow_base, plan[op + SECOND], stride)
    for i in range(worker, plan[op + INPUTS] * count, workers):
        place = number_at(i, count, stride)
        flow[h + place] = flow[g + place]
        flow[second + place] = flow[g + place]


# ---- product and concatenation ------------------------------------------------------------------


@kernel
def product_forward(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, space: Numbers, base: Index,
    stride: Index, first: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """y = x times the second input."""
    x, y = ends_of(plan, op, base, stride)
    second = row_at(base, plan[op + SECOND], stride)
    for i in range(worker, plan[op + OUTPUTS] * count, workers):
        place = number_at(i, count, stride)
        space[y + place] = space[x + place] * space[second + place]


@kernel
def product_inputs(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, space: Numbers, base: Index,
    flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """Compute the gradient of each factor: g times the other factor."""
    x = row_at(base, plan[op + SOURCE], stride)
    h, g = ends_of(plan, op, flow_base, stride)
    second = row_at(base, plan[op + SECOND], stride)
    by_second = row_at(flow_base, plan[op + SECOND], stride)
    for i in range(worker, plan[op + INPUTS] * count, workers):
        place = number_at(i, count, stride)
        flow[h + place] = flow[g + place] * space[second + place]
        flow[by_second + place] = flow[g + place] * space[x + place]


@kernel
def concatenation_forward(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, space: Numbers, base: Index,
    stride: Index, first: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """y = x, followed by the second input."""
    inputs, outputs, target = plan[op + INPUTS], plan[op + OUTPUTS], plan[op + TARGET]
    copy_rows(space, base, plan[op + SOURCE], target, inputs, stride, count, worker, workers)
    copy_rows(
        space, base, plan[op + SECOND], target + inputs, outputs - inputs, stride, count, worker,
        workers,
    )  # fmt: skip


@kernel
def concatenation_inputs(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, space: Numbers, base: Index,
    flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """Copy each input's part of the gradient to that input."""
    inputs, outputs, target = plan[op + INPUTS], plan[op + OUTPUTS], plan[op + TARGET]
    copy_rows(flow, flow_base, target, plan[op + SOURCE], inputs, stride, count, worker, workers)
    copy_rows(
        flow, flow_base, target + inputs, plan[op + SECOND], outputs - inputs, stride, count,
        worker, workers,
    )  # fmt: skip


# ---- dropout ------------------------------------------------------------------------------------


@kernel
def dropout_forward(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, space: Numbers, base: Index,
    stride: Index, first: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """y = x times a factor 0 or 1 / (1 - rate), saved for backward; in evaluation y = x."""
    x, y = ends_of(plan, op, base, stride)
    memo, rate = row_at(base, plan[op + MEMO], stride), arena[plan[op + SETTINGS]]
    own = plan[op + STATE]
    low, high = np.int64(scalars[STATE_NUMBERS + own]), np.int64(scalars[STATE_NUMBERS + own + 1])
    grown, learning = Real(1) / (Real(1) - rate), plan[LEARNING] != 0
    for i in range(worker, plan[op + OUTPUTS] * count, workers):
        r = np.int64(row_of(i, count))
        n = i - r * count
        factor = Real(1)
        if learning:
            word = drop_word(r, np.int64(first + n), plan[STEPS_TAKEN_AFTER], own, low, high)
            factor = Real(0) if word < rate else grown
        place = number_at(i, count, stride)
        space[memo + place] = factor
        space[y + place] = factor * space[x + place]


@kernel
def dropout_inputs(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, space: Numbers, base: Index,
    flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """Compute the gradient of the inputs: g times the factor saved by forward."""
    h, g = ends_of(plan, op, flow_base, stride)
    memo = row_at(base, plan[op + MEMO], stride)
    for i in range(worker, plan[op + INPUTS] * count, workers):
        place = number_at(i, count, stride)
        flow[h + place] = flow[g + place] * space[memo + place]


# ---- batch norm ---------------------------------------------------------------------------------


@kernel
def batch_norm_forward(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, space: Numbers, base: Index,
    stride: Index, first: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """y = (x - mean) * scale."""
    x, y = ends_of(plan, op, base, stride)
    pixels, found = np.int64(arena[plan[op + SETTINGS] + 1]), plan[op + STATISTICS]
    for i in range(worker, plan[op + OUTPUTS] * count, workers):
        place = number_at(i, count, stride)
        f = found + np.int64(row_of(i, count)) // pixels * MOMENTS
        mean, scale = Real(scalars[f + MEAN]), Real(scalars[f + DEVIATION])
        space[y + place] = (space[x + place] - mean) * scale


@kernel
def batch_norm_inputs(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, space: Numbers, base: Index,
    flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """Subtract the part of the gradient that only shifts or scales a whole feature."""
    y = row_at(base, plan[op + TARGET], stride)
    h, g = ends_of(plan, op, flow_base, stride)
    pixels, found = np.int64(arena[plan[op + SETTINGS] + 1]), plan[op + STATISTICS]
    for i in range(worker, plan[op + INPUTS] * count, workers):
        place = number_at(i, count, stride)
        f = found + np.int64(row_of(i, count)) // pixels * MOMENTS
        scale, shift = Real(scalars[f + DEVIATION]), Real(scalars[f + SHIFT])
        own = flow[g + place] - shift - space[y + place] * Real(scalars[f + STRETCH])
        flow[h + place] = scale * own


@kernel
def gather_batch_norm(plan: Whole, op: Index, arena: Numbers, scalars: Exact, count: Index) -> None:
    """Compute mean and scale of each feature; in training also update the running statistics."""
    settings, found = plan[op + SETTINGS], plan[op + STATISTICS]
    features, pixels = np.int64(arena[settings]), np.int64(arena[settings + 1])
    eps, momentum = np.float64(arena[settings + 2]), np.float64(arena[settings + 3])
    stride, numbers = plan[STRIDE], np.float64(count * pixels)
    learning = plan[LEARNING] != 0 and not is_held(plan, op, arena)
    for f in range(cuda.blockIdx.x, features, cuda.gridDim.x):
        known = STATE_NUMBERS + plan[op + STATE] + f
        mean, variance = scalars[known], scalars[known + features]
        if learning:
            x = plan[SPACE] + (plan[op + SOURCE] + f * pixels) * stride
            mean = sum_of(arena, x, pixels, stride, count) / numbers
            squares = sum_of_products(arena, x, x, mean, pixels, stride, count)
            variance = squares / numbers
            if cuda.threadIdx.x == 0:
                # The unbiased estimate.
                estimate = squares / max(numbers - 1.0, 1.0)
                scalars[known] += momentum * (mean - scalars[known])
                scalars[known + features] += momentum * (estimate - scalars[known + features])
        if cuda.threadIdx.x == 0:
            scalars[found + f * MOMENTS + MEAN] = mean
            scalars[found + f * MOMENTS + DEVIATION] = deviation_factor(variance, eps)


@kernel
def gather_batch_norm_back(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, count: Index
) -> None:
    """Compute the means of g and of g * y for each feature."""
    settings, found = plan[op + SETTINGS], plan[op + STATISTICS]
    features, pixels = np.int64(arena[settings]), np.int64(arena[settings + 1])
    stride, numbers = plan[STRIDE], np.float64(count * pixels)
    held = is_held(plan, op, arena)
    for f in range(cuda.blockIdx.x, features, cuda.gridDim.x):
        row = (plan[op + TARGET] + f * pixels) * stride
        y, g = plan[SPACE] + row, plan[FLOW] + row
        shift = sum_of(arena, g, pixels, stride, count)
        stretch = sum_of_products(arena, g, y, 0.0, pixels, stride, count)
        if cuda.threadIdx.x == 0:
            scalars[found + f * MOMENTS + SHIFT] = 0.0 if held else shift / numbers
            scalars[found + f * MOMENTS + STRETCH] = 0.0 if held else stretch / numbers


@kernel
def is_held(plan: Whole, op: Index, arena: Numbers) -> bool:
    """Return whether all parameters of the layer, and so its running statistics, are frozen."""
    for row in range(plan[op + HELD_FROM], plan[op + HELD_TO]):
        if arena[plan[FROZEN] + row] == Real(0):
            return False
    return bool(plan[op + HELD_FROM] < plan[op + HELD_TO])


@kernel
def sum_of(arena: Numbers, x: Index, rows: Index, stride: Index, count: Index) -> Any:
    """Return the sum of rows of a workspace in float64, to all threads of a block."""
    shares = cuda.shared.array(SHARES, np.float64)
    for share in range(cuda.threadIdx.x, SHARES, cuda.blockDim.x):
        total = 0.0
        for i in range(share, rows * count, SHARES):
            total += np.float64(arena[np.uint64(x) + number_at(i, count, stride)])
        shares[share] = total
    return sum_of_shares(shares)


@kernel
def sum_of_products(
    arena: Numbers, x: Index, y: Index, mean: float, rows: Index, stride: Index, count: Index
) -> Any:
    """Return the sum of (x - mean) * (y - mean) in float64, to all threads of a block."""
    shares = cuda.shared.array(SHARES, np.float64)
    for share in range(cuda.threadIdx.x, SHARES, cuda.blockDim.x):
        total = 0.0
        for i in range(share, rows * count, SHARES):
            place = number_at(i, count, stride)
            first, second = arena[np.uint64(x) + place], arena[np.uint64(y) + place]
            total += (np.float64(first) - mean) * (np.float64(second) - mean)
        shares[share] = total
    return sum_of_shares(shares)


@kernel
def sum_of_shares(shares: Numbers) -> Any:
    """Add up the shares of a block in order, in one thread; all threads synchronize.

    One thread is enough, since many GPUs have few float64 units.
    """
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        shares[0] = sum_in_order(shares, 0, 1, SHARES, 1.0, 0.0)
    cuda.syncthreads()
    total = shares[0]
    cuda.syncthreads()
    return total
