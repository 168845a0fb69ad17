"""Kernels of compiled functions: forward, backward and training steps on tiles of samples.

A tile has a row for each number of the function and a column for each sample. Row r of a tile of n
samples begins at r * n, so adjacent operations of one kind form one long row, and a loop over them
fills vector registers even for small batches. Gradients are in the same rows of a second workspace,
`flow`.

    place, trace           address of a TRACE record; the record
    code, step             STEP records: forward steps, then backward steps; one of these records
    terms                  the terms of all sums
    space, flow, sums      values and gradients of a tile; gradients of the parameters
    n, t                   number of samples of a tile; index of one of them
    a, b, x, y, z          index in a workspace of the first number of a row

All indices are unsigned, as in `cpu/products.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from scalarviz.engines.codegen.dispatch import (
    Real,
    by_address,
    inlined,
    inner,
    operation_backward,
    operation_forward,
)
from scalarviz.engines.cpu.products import (
    FOUR,
    ONE,
    THREE,
    TWO,
    ZERO,
    Index,
    Numbers,
    Record,
    Table,
)
from scalarviz.engines.cpu.records import (
    JOB,
    TILE_RECORD,
    Address,
    address_of,
    array_at,
    bank_of,
    batch_record,
    call,
    plan_of,
    record_at,
    record_type,
    structure,
    table_at,
)

Kernel = Callable[..., Any]


class Terms(NamedTuple):
    """The terms of all sums: sign, index of a scalar (a parameter or constant), and row.

    `factors` are the scalars multiplied by the signs. A term with only a scalar has no row.
    """

    signs: Numbers
    scalars: Table
    rows: Table
    factors: Numbers


@inner
def combine(
    terms: Terms, first: Index, last: Index, space: Numbers, target: Index, n: Index
) -> None:
    """Add factors[k] * space[rows[k]] to row `target`, for terms `first` to before `last`."""
    factors, rows = terms.factors, terms.rows
    a = target * n
    k = first
    while k + FOUR <= last:
        f0, f1, f2, f3 = factors[k], factors[k + ONE], factors[k + TWO], factors[k + THREE]
        b0, b1, b2, b3 = four_starts(rows, k, n)
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
        b0, b1, b2, b3 = four_starts(rows, k, n)
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


@inlined
def four_starts(rows: Table, k: Index, n: Index) -> tuple[Index, Index, Index, Index]:
    """Return where the rows of terms `k` to `k + 3` begin in a tile."""
    return rows[k] * n, rows[k + ONE] * n, rows[k + TWO] * n, rows[k + THREE] * n


# ---- formulas -----------------------------------------------------------------------------------
# The kernels of all operations have the same arguments: addresses of three operands, of the result,
# of gradients of result and operand, and the number of numbers.


@by_address
def formula_value(
    x: Address, y: Address, z: Address, out: Address, g: Address, h: Address, n: Index
) -> None:
    """out = f(x, ...); operands that f does not use are not read."""
    operands = array_at(x, n, Real), array_at(y, n, Real), array_at(z, n, Real)
    operation_forward(ZERO, operands, array_at(out, n, Real))


@by_address
def formula_slope(
    x: Address, y: Address, z: Address, out: Address, g: Address, h: Address, n: Index
) -> None:
    """h += g times a derivative of f; the result of f is passed after its last operand."""
    operands = (
        array_at(x, n, Real), array_at(y, n, Real), array_at(z, n, Real), array_at(out, n, Real)
    )  # fmt: skip
    operation_backward(ZERO, operands, array_at(g, n, Real), array_at(h, n, Real))


# ---- a tile -------------------------------------------------------------------------------------


@inlined
def terms_of(trace: Record) -> Terms:
    """Return the terms of a trace."""
    count = trace.term_count
    return Terms(
        array_at(trace.signs, count, Real),
        array_at(trace.scalars, count, np.uint64),
        array_at(trace.rows, count, np.uint64),
        array_at(trace.factors, count, Real),
    )


@by_address
def tile_forward(place: Address, space_place: Address, n: Index) -> None:
    """Run all forward steps on a tile of n samples; the first rows contain the inputs."""
    trace = record_at(place, TRACE)
    terms, code = terms_of(trace), array_at(trace.code, trace.code_count, STEP)
    space = array_at(space_place, trace.tile, Real)
    for i in range(trace.steps):
        step = code[i]
        a = step.target * n
        if step.kind == SUM:
            start = space.dtype.type(0)
            for k in range(step.first, step.middle):
                start += terms.factors[k]
            for t in range(n):
                space[a + t] = start
            combine(terms, step.middle, step.last, space, step.target, n)
        else:
            x, y, z = step.x * n, step.y * n, step.z * n
            out = address_of(space, a)
            call(
                step.run,
                (
                    address_of(space, x), address_of(space, y), address_of(space, z), out, out,
                    out, step.count * n,
                ),
            )  # fmt: skip


@by_address
def tile_backward(place: Address, space_place: Address, n: Index) -> None:
    """Run all backward steps on a tile, and add to the gradients of the parameters.

    The workspace of gradients initially has the gradients of the outputs, and 0 elsewhere.
    """
    trace = record_at(place, TRACE)
    terms, code = terms_of(trace), array_at(trace.code, trace.code_count, STEP)
    space, flow = array_at(space_place, trace.tile, Real), array_at(trace.flow, trace.tile, Real)
    sums = array_at(trace.sums, trace.parameters, Real)
    for i in range(trace.steps, trace.code_count):
        step = code[i]
        if step.kind == FORMULA:
            x, y, z, a = step.x * n, step.y * n, step.z * n, step.target * n
            call(
                step.run,
                (
                    address_of(space, x), address_of(space, y), address_of(space, z),
                    address_of(space, a), address_of(flow, a), address_of(flow, step.source * n),
                    step.count * n,
                ),
            )  # fmt: skip
        elif step.kind == SLOPES:
            slopes(terms, step, space, flow, sums, n)
        else:
            combine(terms, step.first, step.last, flow, step.target, n)


# ---- a batch ------------------------------------------------------------------------------------


@inner
def begin(trace: Record, bank: Numbers) -> None:
    """Compute the factor of each term, a sign times a scalar; set parameter gradients to 0."""
    terms, parameters = terms_of(trace), trace.parameters
    owned = array_at(trace.owned, parameters, np.uint64)
    constants = array_at(trace.constants, trace.constant_count, Real)
    sums = array_at(trace.sums, parameters, Real)
    for k in range(len(terms.factors)):
        scalar = terms.scalars[k]
        if scalar < parameters:
            terms.factors[k] = terms.signs[k] * bank[owned[scalar]]
        else:
            terms.factors[k] = terms.signs[k] * constants[scalar - parameters]
    if trace.learning:
        for i in range(parameters):
            sums[i] = sums.dtype.type(0)


@inner
def load_rows(space: Numbers, data: Numbers, first: Index, n: Index) -> None:
    """Copy n samples, which are rows of a table, to the columns of a tile."""
    for i in range(np.uint64(data.shape[1])):
        for t in range(n):
            space[i * n + t] = data[first + t, i]


@inner
def clear(flow: Numbers, size: Index) -> None:
    """Set the gradients of a tile to 0."""
    for i in range(size):
        flow[i] = flow.dtype.type(0)


@by_address
def forward(place: Address) -> None:
    """Compute the outputs of a batch; keep all values if each tile has a workspace."""
    trace = record_at(place, TRACE)
    begin(trace, bank_of(trace.job, Real).value)
    samples, outputs = trace.samples, array_at(trace.outputs, trace.output_count, np.uint64)
    data = table_at(trace.data, samples, trace.columns, Real)
    results = table_at(trace.results, samples, trace.output_count, Real)
    first, tile = ZERO, ZERO
    while first < samples:
        n = min(trace.tile_samples, samples - first)
        at = trace.spaces + min(tile, trace.places - ONE) * trace.tile * trace.item
        space = array_at(at, trace.tile, Real)
        load_rows(space, data, first, n)
        call(trace.forward, (place, at, n))
        for i in range(trace.output_count):
            for t in range(n):
                results[first + t, i] = space[outputs[i] * n + t]
        first += n
        tile += ONE


@by_address
def backward(place: Address) -> None:
    """Compute the gradients of a batch's inputs; add the parameter gradients to the bank."""
    trace = record_at(place, TRACE)
    bank = bank_of(trace.job, Real)
    begin(trace, bank.value)
    samples, outputs = trace.samples, array_at(trace.outputs, trace.output_count, np.uint64)
    upstream = table_at(trace.upstream, samples, trace.output_count, Real)
    by_inputs = table_at(trace.by_inputs, samples, trace.columns, Real)
    flow = array_at(trace.flow, trace.tile, Real)
    first, at = ZERO, trace.spaces
    while first < samples:
        n = min(trace.tile_samples, samples - first)
        clear(flow, trace.numbers * n)
        for i in range(trace.output_count):
            for t in range(n):
                flow[outputs[i] * n + t] += upstream[first + t, i]
        call(trace.backward, (place, at, n))
        for i in range(trace.columns):
            for t in range(n):
                by_inputs[first + t, i] = flow[i * n + t]
        first += n
        at += trace.tile * trace.item
    owned = array_at(trace.owned, trace.parameters, np.uint64)
    sums = array_at(trace.sums, trace.parameters, Real)
    for i in range(trace.parameters):
        bank.grad[owned[i]] += sums[i]


@by_address
def train(place: Address) -> None:
    """Take a training step on a batch, and write its loss; the optimizer runs only if `moves`.

    The job's tile contains the outputs and targets of a tile, and the gradients of its outputs.
    """
    trace = record_at(place, TRACE)
    job, tile, bank = (
        record_at(trace.job, JOB),
        record_at(trace.ends, TILE_RECORD),
        bank_of(trace.job, Real),
    )
    begin(trace, bank.value)
    samples, count = trace.samples, trace.output_count
    outputs, plan = array_at(trace.outputs, count, np.uint64), plan_of(trace.job)
    data = table_at(trace.data, samples, trace.columns, Real)
    goals = table_at(trace.goals, samples, count, Real)
    space, flow = array_at(trace.spaces, trace.tile, Real), array_at(trace.flow, trace.tile, Real)
    p = table_at(tile.space, count, tile.stride, Real)
    t = table_at(address_of(p, count), count, tile.stride, Real)
    g = table_at(tile.flow, count, tile.stride, Real)
    batch = batch_record(trace.job)
    errors = array_at(batch.errors, ONE, np.float64)
    errors[0] = 0.0
    first = ZERO
    while first < samples:
        n = min(trace.tile_samples, samples - first)
        tile.n = n
        load_rows(space, data, first, n)
        call(trace.forward, (place, trace.spaces, n))
        clear(flow, trace.numbers * n)
        for i in range(count):
            for k in range(n):
                p[i, k] = space[outputs[i] * n + k]
                t[i, k] = goals[first + k, i]
        call(plan.loss, (trace.job, trace.ends, ZERO))
        call(plan.loss_back, (trace.job, trace.ends, ZERO))
        for i in range(count):
            for k in range(n):
                flow[outputs[i] * n + k] += g[i, k]
        call(trace.backward, (place, trace.spaces, n))
        first += n
    errors[0] = errors[0] * Real(batch.scale)
    owned = array_at(trace.owned, trace.parameters, np.uint64)
    sums = array_at(trace.sums, trace.parameters, Real)
    for i in range(trace.parameters):
        bank.grad[owned[i]] = sums[i]
    if trace.moves:
        call(job.move, (trace.job,))


# ---- records ------------------------------------------------------------------------------------

# Kinds of steps: a sum of products, forward or backward; gradients of the parameters in a sum; a
# formula.
SUM, SLOPES, FORMULA = [np.uint64(i) for i in range(3)]

# A step: its kind; the address of the kernel of its formula (`run`); rows of up to three operands
# (`x`, `y`, `z`) and of the result (`target`); number of rows computed at once (`count`); the row
# whose gradient it adds to (`source`); and the terms of a sum: from `first` on scalars alone, from
# `middle` to before `last` products with a row.
STEP = record_type(
    "kind", "run", "x", "y", "z", "target", "count", "source", "first", "middle", "last"
)


# An expression, its workspaces, and a batch: addresses and sizes.
TRACE = record_type(
    "job",
    "code", "code_count",  # steps forward, then backward
    "steps",  # number of steps forward
    "signs", "scalars", "rows", "factors", "term_count",  # terms of all sums
    "constants", "constant_count",
    "outputs", "output_count",  # rows of the outputs
    "owned", "parameters",  # rows of the parameters in the bank
    "numbers",  # rows of a tile
    "tile_samples",  # columns of a tile
    "tile",  # size of a workspace
    "item",  # bytes of a number
    "spaces", "places",  # workspaces, and their number
    "flow", "sums",
    "ends",  # a TILE record: outputs, targets and gradients of the outputs of a tile
    "samples",  # of the batch
    "columns",  # number of inputs
    "data", "goals", "results", "upstream", "by_inputs",
    "learning",  # whether gradients of the parameters are computed
    "moves",  # whether a step runs the optimizer
    "forward", "backward",  # addresses of the kernels of a tile
)  # fmt: skip
TraceRecord = structure(TRACE)
