"""Operations on a tile: the kinds that need no more than a loop or a product.

For each kind there are up to three kernels, and all of a purpose take the same arguments: forward;
the gradient by the parameters, added to that of the chunk; the gradient by what was read, from that
by what was written. `first` is the first sample's place in the batch; `learning`, whether a
backward may follow; `steps`, how many steps the network has taken.
"""

from __future__ import annotations

import numpy as np

from scalarviz.engines.codegen.dispatch import (
    activation_backward,
    activation_forward,
    drop_word,
    kernel,
    row_backward,
    row_forward,
)
from scalarviz.engines.cpu.products import (
    ONE,
    SHORTEST,
    TWO,
    Index,
    Numbers,
    add_row_sums,
    affine,
    outer,
)
from scalarviz.engines.cpu.tiles import (
    BIASES,
    COUNT,
    EACH,
    FLOW_IN,
    FLOW_OTHER,
    FLOW_OUT,
    FORMULA,
    GRADIENTS,
    HAS_BIASES,
    INPUTS,
    MEMO,
    OTHER,
    OUTPUTS,
    SOURCE,
    STATE,
    TARGET,
    WEIGHTS,
    Table,
    tile_of,
)


@kernel
def no_parameters(
    op: Table, settings: Numbers, grad: Numbers, space: Numbers, flow: Numbers, n: Index,
    stride: Index,
) -> None:  # fmt: skip
    """Of an operation that has none."""


# ---- affine -------------------------------------------------------------------------------------


@kernel
def affine_forward(
    op: Table, settings: Numbers, value: Numbers, state: Numbers, space: Numbers, first: Index,
    learning: bool, steps: Index, n: Index, stride: Index,
) -> None:  # fmt: skip
    """z = W x + b."""
    inputs, outputs = op[INPUTS], op[OUTPUTS]
    biases = value[: op[HAS_BIASES] * np.uint64(len(value))]
    affine(
        value, op[WEIGHTS], inputs, ONE, biases, op[BIASES], space, space, op[SOURCE] * stride,
        op[TARGET] * stride, inputs, outputs, n, stride,
    )  # fmt: skip


@kernel
def affine_parameters(
    op: Table, settings: Numbers, grad: Numbers, space: Numbers, flow: Numbers, n: Index,
    stride: Index,
) -> None:  # fmt: skip
    """Outer products, added up over the samples."""
    inputs, outputs, first = op[INPUTS], op[OUTPUTS], op[GRADIENTS]
    x, g = op[SOURCE] * stride, op[FLOW_OUT] * stride
    outer(grad, first, space, flow, x, g, inputs, outputs, n, stride)
    if op[HAS_BIASES] == ONE:
        add_row_sums(grad, first + op[COUNT] - outputs, flow, g, outputs, n, stride)


@kernel
def affine_inputs(
    op: Table, settings: Numbers, value: Numbers, space: Numbers, flow: Numbers, n: Index,
    stride: Index,
) -> None:  # fmt: skip
    """W, the other way."""
    inputs, outputs = op[INPUTS], op[OUTPUTS]
    affine(
        value, op[WEIGHTS], ONE, inputs, value[:0], op[BIASES], flow, flow, op[FLOW_OUT] * stride,
        op[FLOW_IN] * stride, outputs, inputs, n, stride,
    )  # fmt: skip


# ---- activation ---------------------------------------------------------------------------------


@kernel
def pieces(rows: Index, n: Index, stride: Index) -> tuple[Index, Index]:
    """How often, and to how many numbers, an activation is applied.

    To all rows in one go, and then also to what lies between them and is nobody's, unless that is
    the greater part.
    """
    if TWO * n >= stride or stride == SHORTEST:
        return ONE, rows * stride
    return rows, n


@kernel
def activation_tile(
    op: Table, settings: Numbers, value: Numbers, state: Numbers, space: Numbers, first: Index,
    learning: bool, steps: Index, n: Index, stride: Index,
) -> None:  # fmt: skip
    """y = f(x), number by number."""
    x, y = op[SOURCE] * stride, op[TARGET] * stride
    rows, width = pieces(op[OUTPUTS], n, stride)
    for r in range(rows):
        a, b = x + r * stride, y + r * stride
        activation_forward(op[FORMULA], space[a : a + width], space[b : b + width])


@kernel
def activation_inputs(
    op: Table, settings: Numbers, value: Numbers, space: Numbers, flow: Numbers, n: Index,
    stride: Index,
) -> None:  # fmt: skip
    """It may have both gradients at one place: then it is changed where it is."""
    x, y = op[SOURCE] * stride, op[TARGET] * stride
    g, h = op[FLOW_OUT] * stride, op[FLOW_IN] * stride
    rows, width = pieces(op[OUTPUTS], n, stride)
    for r in range(rows):
        a, b = x + r * stride, y + r * stride
        c, d = g + r * stride, h + r * stride
        if c != d:
            for t in range(width):
                flow[d + t] = flow[c + t]
        activation_backward(
            op[FORMULA], space[a : a + width], space[b : b + width], flow[d : d + width]
        )


# ---- row ----------------------------------------------------------------------------------------


@kernel
def row_tile(
    op: Table, settings: Numbers, value: Numbers, state: Numbers, space: Numbers, first: Index,
    learning: bool, steps: Index, n: Index, stride: Index,
) -> None:  # fmt: skip
    """y = f(x), a sample at a time."""
    memo = op[MEMO] * stride
    row_forward(
        op[FORMULA],
        tile_of(space, op[SOURCE], op[INPUTS], stride),
        tile_of(space, op[TARGET], op[OUTPUTS], stride),
        space[memo : memo + n],
        settings,
        n,
    )


@kernel
def row_inputs(
    op: Table, settings: Numbers, value: Numbers, space: Numbers, flow: Numbers, n: Index,
    stride: Index,
) -> None:  # fmt: skip
    """By the formula's own backward."""
    memo = op[MEMO] * stride
    row_backward(
        op[FORMULA],
        tile_of(space, op[SOURCE], op[INPUTS], stride),
        tile_of(space, op[TARGET], op[OUTPUTS], stride),
        space[memo : memo + n],
        tile_of(flow, op[FLOW_OUT], op[OUTPUTS], stride),
        tile_of(flow, op[FLOW_IN], op[INPUTS], stride),
        settings,
        n,
    )


# ---- scale --------------------------------------------------------------------------------------


@kernel
def scale_forward(
    op: Table, settings: Numbers, value: Numbers, state: Numbers, space: Numbers, first: Index,
    learning: bool, steps: Index, n: Index, stride: Index,
) -> None:  # fmt: skip
    """y = w x + b; EACH rows share w and b."""
    x, y = op[SOURCE] * stride, op[TARGET] * stride
    for r in range(op[OUTPUTS]):
        a, b, k = x + r * stride, y + r * stride, r // op[EACH]
        gain, shift = value[op[WEIGHTS] + k], value.dtype.type(0)
        if op[HAS_BIASES] == ONE:
            shift = value[op[BIASES] + k]
        for t in range(n):
            space[b + t] = gain * space[a + t] + shift


@kernel
def scale_parameters(
    op: Table, settings: Numbers, grad: Numbers, space: Numbers, flow: Numbers, n: Index,
    stride: Index,
) -> None:  # fmt: skip
    """Sums over the samples, and over the rows that share a weight."""
    x, g, outputs, first = op[SOURCE] * stride, op[FLOW_OUT] * stride, op[OUTPUTS], op[GRADIENTS]
    biases = first + outputs // op[EACH]
    for r in range(outputs):
        a, b, k = x + r * stride, g + r * stride, r // op[EACH]
        total, shift = grad.dtype.type(0), grad.dtype.type(0)
        for t in range(n):
            total += flow[b + t] * space[a + t]
            shift += flow[b + t]
        grad[first + k] += total
        if op[HAS_BIASES] == ONE:
            grad[biases + k] += shift


@kernel
def scale_inputs(
    op: Table, settings: Numbers, value: Numbers, space: Numbers, flow: Numbers, n: Index,
    stride: Index,
) -> None:  # fmt: skip
    """w times the gradient."""
    g, h = op[FLOW_OUT] * stride, op[FLOW_IN] * stride
    for r in range(op[OUTPUTS]):
        a, b = g + r * stride, h + r * stride
        gain = value[op[WEIGHTS] + r // op[EACH]]
        for t in range(n):
            flow[b + t] = gain * flow[a + t]


# ---- branch and sum -----------------------------------------------------------------------------


@kernel
def branch_forward(
    op: Table, settings: Numbers, value: Numbers, state: Numbers, space: Numbers, first: Index,
    learning: bool, steps: Index, n: Index, stride: Index,
) -> None:  # fmt: skip
    """y = x."""
    x, y = op[SOURCE] * stride, op[TARGET] * stride
    for i in range(op[OUTPUTS] * stride):
        space[y + i] = space[x + i]


@kernel
def branch_inputs(
    op: Table, settings: Numbers, value: Numbers, space: Numbers, flow: Numbers, n: Index,
    stride: Index,
) -> None:  # fmt: skip
    """What comes back on both ways adds up."""
    g, h, other = op[FLOW_OUT] * stride, op[FLOW_IN] * stride, op[FLOW_OTHER] * stride
    for i in range(op[OUTPUTS] * stride):
        flow[h + i] = flow[g + i] + flow[other + i]


@kernel
def sum_forward(
    op: Table, settings: Numbers, value: Numbers, state: Numbers, space: Numbers, first: Index,
    learning: bool, steps: Index, n: Index, stride: Index,
) -> None:  # fmt: skip
    """y = x + the other buffer."""
    x, y, other = op[SOURCE] * stride, op[TARGET] * stride, op[OTHER] * stride
    for i in range(op[OUTPUTS] * stride):
        space[y + i] = space[x + i] + space[other + i]


@kernel
def sum_inputs(
    op: Table, settings: Numbers, value: Numbers, space: Numbers, flow: Numbers, n: Index,
    stride: Index,
) -> None:  # fmt: skip
    """It goes on as it is; the other buffer's part is taken up where the ways part."""
    g, h = op[FLOW_OUT] * stride, op[FLOW_IN] * stride
    for i in range(op[OUTPUTS] * stride):
        flow[h + i] = flow[g + i]


# ---- dropout ------------------------------------------------------------------------------------


@kernel
def dropout_forward(
    op: Table, settings: Numbers, value: Numbers, state: Numbers, space: Numbers, first: Index,
    learning: bool, steps: Index, n: Index, stride: Index,
) -> None:  # fmt: skip
    """Times 0 or 1 / (1 - rate), which is kept; as it is if the network does not learn."""
    x, y, memo = op[SOURCE] * stride, op[TARGET] * stride, op[MEMO] * stride
    if not learning:
        branch_forward(op, settings, value, state, space, first, learning, steps, n, stride)
        return
    low, high = np.int64(state[op[STATE]]), np.int64(state[op[STATE] + ONE])
    rate, one = settings[0], value.dtype.type(1)
    kept = one / (one - rate)
    for r in range(op[OUTPUTS]):
        for t in range(n):
            word = drop_word(
                np.int64(r), np.int64(first + t), np.int64(steps), np.int64(op[STATE]), low, high
            )
            factor = value.dtype.type(0) if word < rate else kept
            at = r * stride + t
            space[memo + at] = factor
            space[y + at] = factor * space[x + at]


@kernel
def dropout_inputs(
    op: Table, settings: Numbers, value: Numbers, space: Numbers, flow: Numbers, n: Index,
    stride: Index,
) -> None:  # fmt: skip
    """Times the same."""
    g, h, memo = op[FLOW_OUT] * stride, op[FLOW_IN] * stride, op[MEMO] * stride
    for r in range(op[OUTPUTS]):
        for t in range(n):
            at = r * stride + t
            flow[h + at] = flow[g + at] * space[memo + at]
