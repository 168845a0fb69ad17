"""Kernels of the simple kinds of operations, on one tile.

A kind has up to three kernels; all kernels of a purpose have the same arguments: forward; the
gradient of the parameters, added to that of the chunk; the gradient of the inputs.

    op, settings   the operation's record (see `records`), and its settings
    bank, grad     weights and state of the bank; gradient of the chunk
    space, flow    workspaces of values and of gradients
    n, stride      number of samples, and of numbers from one row to the next
    x, y           index in `space` of the first input and output
    g, h           index in `flow` of the gradient of the first output and input
    memo           index in `space` of what forward keeps for backward
"""

from __future__ import annotations

import numpy as np

from scalarviz.engines.codegen.dispatch import (
    activation_backward,
    activation_forward,
    drop_word,
    inner,
    parametric_backward,
    parametric_forward,
    parametric_sum,
    row_backward,
    row_forward,
)
from scalarviz.engines.cpu.arrays import BankView, Tile
from scalarviz.engines.cpu.products import (
    ONE,
    SHORTEST,
    TWO,
    ZERO,
    Index,
    Numbers,
    Record,
    add_row_sums,
    affine,
    outer,
)
from scalarviz.engines.cpu.tiles import tile_of

# ---- affine -------------------------------------------------------------------------------------


@inner
def affine_forward(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """z = W x + b."""
    space, n, stride = tile.space, tile.n, tile.stride
    inputs, outputs = op.inputs, op.outputs
    biases = bank.value[: op.has_biases * np.uint64(len(bank.value))]
    affine(
        bank.value, op.weights, inputs, ONE, biases, op.biases, space, space,
        op.source * stride, op.target * stride, inputs, outputs, n, stride,
    )  # fmt: skip


@inner
def affine_parameters(op: Record, settings: Numbers, grad: Numbers, tile: Tile) -> None:
    """Add the gradients of W and b: outer products, summed over the samples."""
    space, flow, n, stride = tile.space, tile.flow, tile.n, tile.stride
    inputs, outputs, first = op.inputs, op.outputs, op.gradients
    x, g = op.source * stride, op.flow_out * stride
    outer(grad, first, space, flow, x, g, inputs, outputs, n, stride)
    if op.has_biases == ONE:
        add_row_sums(grad, first + op.count - outputs, flow, g, outputs, n, stride)


@inner
def affine_inputs(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Gradient of the inputs: W transposed, times g."""
    flow, n, stride = tile.flow, tile.n, tile.stride
    inputs, outputs = op.inputs, op.outputs
    affine(
        bank.value, op.weights, ONE, inputs, bank.value[:0], op.biases, flow, flow,
        op.flow_out * stride, op.flow_in * stride, outputs, inputs, n, stride,
    )  # fmt: skip


# ---- activation ---------------------------------------------------------------------------------


@inner
def pieces(rows: Index, n: Index, stride: Index) -> tuple[Index, Index]:
    """Return the number of calls of an activation, and of numbers per call.

    One call for all rows is faster, and includes the unused numbers at the end of each row; where
    these are the greater part, there is one call per row.
    """
    if TWO * n >= stride or stride == SHORTEST:
        return ONE, rows * stride
    return rows, n


@inner
def activation_tile(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """y = f(x), number by number."""
    space, n, stride = tile.space, tile.n, tile.stride
    x, y = op.source * stride, op.target * stride
    rows, width = pieces(op.outputs, n, stride)
    for r in range(rows):
        a, b = x + r * stride, y + r * stride
        activation_forward(op.formula, space[a : a + width], space[b : b + width])


@inner
def activation_inputs(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Gradient of the inputs: f'(x) times g; in place if both gradients share a buffer."""
    space, flow, n, stride = tile.space, tile.flow, tile.n, tile.stride
    x, y = op.source * stride, op.target * stride
    g, h = op.flow_out * stride, op.flow_in * stride
    rows, width = pieces(op.outputs, n, stride)
    for r in range(rows):
        a, b = x + r * stride, y + r * stride
        c, d = g + r * stride, h + r * stride
        if c != d:
            for t in range(width):
                flow[d + t] = flow[c + t]
        activation_backward(
            op.formula, space[a : a + width], space[b : b + width], flow[d : d + width]
        )


# ---- row ----------------------------------------------------------------------------------------


@inner
def row_tile(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """y = f(x), sample by sample."""
    space, n, stride = tile.space, tile.n, tile.stride
    memo = op.memo * stride
    row_forward(
        op.formula,
        tile_of(space, op.source, op.inputs, stride),
        tile_of(space, op.target, op.outputs, stride),
        space[memo : memo + n],
        settings,
        n,
    )


@inner
def row_inputs(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Gradient of the inputs by the formula's backward, sample by sample."""
    space, flow, n, stride = tile.space, tile.flow, tile.n, tile.stride
    memo = op.memo * stride
    row_backward(
        op.formula,
        tile_of(space, op.source, op.inputs, stride),
        tile_of(space, op.target, op.outputs, stride),
        space[memo : memo + n],
        tile_of(flow, op.flow_out, op.outputs, stride),
        tile_of(flow, op.flow_in, op.inputs, stride),
        settings,
        n,
    )


# ---- scale --------------------------------------------------------------------------------------


@inner
def scale_forward(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """y = w x + b; `each` rows share w and b."""
    space, n, stride = tile.space, tile.n, tile.stride
    x, y = op.source * stride, op.target * stride
    for r in range(op.outputs):
        a, b, k = x + r * stride, y + r * stride, r // op.each
        gain, shift = bank.value[op.weights + k], bank.value.dtype.type(0)
        if op.has_biases == ONE:
            shift = bank.value[op.biases + k]
        for t in range(n):
            space[b + t] = gain * space[a + t] + shift


@inner
def scale_parameters(op: Record, settings: Numbers, grad: Numbers, tile: Tile) -> None:
    """Add the gradients of w and b: sums over samples, and over the rows that share them."""
    space, flow, n, stride = tile.space, tile.flow, tile.n, tile.stride
    x, g, outputs, first = op.source * stride, op.flow_out * stride, op.outputs, op.gradients
    biases = first + outputs // op.each
    for r in range(outputs):
        a, b, k = x + r * stride, g + r * stride, r // op.each
        total, shift = grad.dtype.type(0), grad.dtype.type(0)
        for t in range(n):
            total += flow[b + t] * space[a + t]
            shift += flow[b + t]
        grad[first + k] += total
        if op.has_biases == ONE:
            grad[biases + k] += shift


@inner
def scale_inputs(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Gradient of the inputs: w times g."""
    flow, n, stride = tile.flow, tile.n, tile.stride
    g, h = op.flow_out * stride, op.flow_in * stride
    for r in range(op.outputs):
        a, b = g + r * stride, h + r * stride
        gain = bank.value[op.weights + r // op.each]
        for t in range(n):
            flow[b + t] = gain * flow[a + t]


# ---- parametric ---------------------------------------------------------------------------------


@inner
def count_of(settings: Numbers) -> Index:
    """Return the number of parameters of a formula."""
    count = ZERO
    while count < len(settings) and settings[count] > 0:
        count += ONE
    return count


@inner
def parametric_tile(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """y = f(x, w, ...); the parameters of each row are kept side by side for the way back."""
    space, n, stride = tile.space, tile.n, tile.stride
    x, y, count = op.source * stride, op.target * stride, count_of(settings)
    for r in range(op.outputs):
        given, first = op.memo * stride + r * count, op.weights
        for j in range(count):
            each = np.uint64(settings[j])
            space[given + j] = bank.value[first + r // each]
            first += op.outputs // each
        a, b = x + r * stride, y + r * stride
        parametric_forward(
            op.formula, space[a : a + n], space[given : given + count], space[b : b + n]
        )


@inner
def parametric_parameters(op: Record, settings: Numbers, grad: Numbers, tile: Tile) -> None:
    """Add the gradients of the parameters: sums over samples, and over the rows that share them."""
    space, flow, n, stride = tile.space, tile.flow, tile.n, tile.stride
    x, g, count = op.source * stride, op.flow_out * stride, count_of(settings)
    for r in range(op.outputs):
        given, first = op.memo * stride + r * count, op.gradients
        a, b = x + r * stride, g + r * stride
        for j in range(count):
            each = np.uint64(settings[j])
            grad[first + r // each] += parametric_sum(
                op.formula, j, space[a : a + n], space[given : given + count], flow[b : b + n]
            )
            first += op.outputs // each


@inner
def parametric_inputs(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Gradient of the inputs: f'(x, w, ...) times g."""
    space, flow, n, stride = tile.space, tile.flow, tile.n, tile.stride
    x, g, h = op.source * stride, op.flow_out * stride, op.flow_in * stride
    count = count_of(settings)
    for r in range(op.outputs):
        given = op.memo * stride + r * count
        a, b, c = x + r * stride, g + r * stride, h + r * stride
        parametric_backward(
            op.formula, space[a : a + n], space[given : given + count], flow[b : b + n],
            flow[c : c + n],
        )  # fmt: skip


# ---- branch and sum -----------------------------------------------------------------------------


@inner
def branch_forward(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """y = x."""
    space, stride = tile.space, tile.stride
    x, y = op.source * stride, op.target * stride
    for i in range(op.outputs * stride):
        space[y + i] = space[x + i]


@inner
def branch_inputs(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Add the gradient to that of the inputs, which their last reader has written."""
    flow, stride = tile.flow, tile.stride
    g, h = op.flow_out * stride, op.flow_in * stride
    for i in range(op.outputs * stride):
        flow[h + i] += flow[g + i]


@inner
def sum_forward(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """y = x + the second buffer."""
    space, stride = tile.space, tile.stride
    x, y, second = op.source * stride, op.target * stride, op.second * stride
    for i in range(op.outputs * stride):
        space[y + i] = space[x + i] + space[second + i]


@inner
def sum_inputs(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Pass the gradient on to both buffers."""
    flow, stride = tile.flow, tile.stride
    g, h, second = op.flow_out * stride, op.flow_in * stride, op.flow_second * stride
    for i in range(op.outputs * stride):
        flow[h + i] = flow[g + i]
        flow[second + i] = flow[g + i]


# ---- product and concatenation -------------------------------------------------------------------


@inner
def product_forward(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """y = x times the second buffer."""
    space, stride = tile.space, tile.stride
    x, y, second = op.source * stride, op.target * stride, op.second * stride
    for i in range(op.outputs * stride):
        space[y + i] = space[x + i] * space[second + i]


@inner
def product_inputs(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Gradient of each factor: g times the other one."""
    space, flow, stride = tile.space, tile.flow, tile.stride
    x, second = op.source * stride, op.second * stride
    g, h, by_second = op.flow_out * stride, op.flow_in * stride, op.flow_second * stride
    for i in range(op.outputs * stride):
        flow[h + i] = flow[g + i] * space[second + i]
        flow[by_second + i] = flow[g + i] * space[x + i]


@inner
def concatenation_forward(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """y = x, followed by the second buffer."""
    space, stride = tile.space, tile.stride
    x, y, second = op.source * stride, op.target * stride, op.second * stride
    length = op.inputs * stride
    for i in range(length):
        space[y + i] = space[x + i]
    for i in range(op.seconds * stride):
        space[y + length + i] = space[second + i]


@inner
def concatenation_inputs(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Pass its part of the gradient on to each buffer."""
    flow, stride = tile.flow, tile.stride
    g, h, second = op.flow_out * stride, op.flow_in * stride, op.flow_second * stride
    length = op.inputs * stride
    for i in range(length):
        flow[h + i] = flow[g + i]
    for i in range(op.seconds * stride):
        flow[second + i] = flow[g + length + i]


# ---- dropout ------------------------------------------------------------------------------------


@inner
def dropout_forward(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """y = x times 0 or 1 / (1 - rate), which is kept; y = x in evaluation."""
    space, n, stride = tile.space, tile.n, tile.stride
    x, y, memo = op.source * stride, op.target * stride, op.memo * stride
    if not tile.learning:
        branch_forward(op, settings, bank, tile)
        return
    low, high = np.int64(bank.state[op.state]), np.int64(bank.state[op.state + ONE])
    rate, one = settings[0], bank.value.dtype.type(1)
    kept = one / (one - rate)
    for r in range(op.outputs):
        for t in range(n):
            word = drop_word(
                np.int64(r), np.int64(tile.first + t), np.int64(tile.steps), np.int64(op.state),
                low, high,
            )  # fmt: skip
            factor = bank.value.dtype.type(0) if word < rate else kept
            at = r * stride + t
            space[memo + at] = factor
            space[y + at] = factor * space[x + at]


@inner
def dropout_inputs(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Gradient of the inputs: g times the factor that forward kept."""
    space, flow, n, stride = tile.space, tile.flow, tile.n, tile.stride
    g, h, memo = op.flow_out * stride, op.flow_in * stride, op.memo * stride
    for r in range(op.outputs):
        for t in range(n):
            at = r * stride + t
            flow[h + at] = flow[g + at] * space[memo + at]
