"""Operations on a tile: the kinds that need no more than a loop or a product.

For each kind there are up to three kernels, and all of a purpose take the same arguments: forward;
the gradient by the parameters, added to that of the chunk; the gradient by what was read, from that
by what was written. `op` is a record of the table of operations.
"""

from __future__ import annotations

import numpy as np

from scalarviz.engines.codegen.dispatch import (
    activation_backward,
    activation_forward,
    drop_word,
    inner,
    row_backward,
    row_forward,
)
from scalarviz.engines.cpu.arrays import BankView, Tile
from scalarviz.engines.cpu.products import (
    ONE,
    SHORTEST,
    TWO,
    Index,
    Numbers,
    Record,
    add_row_sums,
    affine,
    outer,
)
from scalarviz.engines.cpu.tiles import tile_of


@inner
def no_parameters(op: Record, settings: Numbers, grad: Numbers, tile: Tile) -> None:
    """Of an operation that has none."""


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
    """Outer products, added up over the samples."""
    space, flow, n, stride = tile.space, tile.flow, tile.n, tile.stride
    inputs, outputs, first = op.inputs, op.outputs, op.gradients
    x, g = op.source * stride, op.flow_out * stride
    outer(grad, first, space, flow, x, g, inputs, outputs, n, stride)
    if op.has_biases == ONE:
        add_row_sums(grad, first + op.count - outputs, flow, g, outputs, n, stride)


@inner
def affine_inputs(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """W, the other way."""
    flow, n, stride = tile.flow, tile.n, tile.stride
    inputs, outputs = op.inputs, op.outputs
    affine(
        bank.value, op.weights, ONE, inputs, bank.value[:0], op.biases, flow, flow,
        op.flow_out * stride, op.flow_in * stride, outputs, inputs, n, stride,
    )  # fmt: skip


# ---- activation ---------------------------------------------------------------------------------


@inner
def pieces(rows: Index, n: Index, stride: Index) -> tuple[Index, Index]:
    """How often, and to how many numbers, an activation is applied.

    To all rows in one go, and then also to what lies between them and is nobody's, unless that is
    the greater part.
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
    """It may have both gradients at one place: then it is changed where it is."""
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
    """y = f(x), a sample at a time."""
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
    """By the formula's own backward."""
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
    """Sums over the samples, and over the rows that share a weight."""
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
    """w times the gradient."""
    flow, n, stride = tile.flow, tile.n, tile.stride
    g, h = op.flow_out * stride, op.flow_in * stride
    for r in range(op.outputs):
        a, b = g + r * stride, h + r * stride
        gain = bank.value[op.weights + r // op.each]
        for t in range(n):
            flow[b + t] = gain * flow[a + t]


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
    """What comes back on both ways adds up."""
    flow, stride = tile.flow, tile.stride
    g, h, other = op.flow_out * stride, op.flow_in * stride, op.flow_other * stride
    for i in range(op.outputs * stride):
        flow[h + i] = flow[g + i] + flow[other + i]


@inner
def sum_forward(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """y = x + the other buffer."""
    space, stride = tile.space, tile.stride
    x, y, other = op.source * stride, op.target * stride, op.other * stride
    for i in range(op.outputs * stride):
        space[y + i] = space[x + i] + space[other + i]


@inner
def sum_inputs(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """It goes on as it is; the other buffer's part is taken up where the ways part."""
    flow, stride = tile.flow, tile.stride
    g, h = op.flow_out * stride, op.flow_in * stride
    for i in range(op.outputs * stride):
        flow[h + i] = flow[g + i]


# ---- dropout ------------------------------------------------------------------------------------


@inner
def dropout_forward(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Times 0 or 1 / (1 - rate), which is kept; as it is if the network does not learn."""
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
    """Times the same."""
    space, flow, n, stride = tile.space, tile.flow, tile.n, tile.stride
    g, h, memo = op.flow_out * stride, op.flow_in * stride, op.memo * stride
    for r in range(op.outputs):
        for t in range(n):
            at = r * stride + t
            flow[h + at] = flow[g + at] * space[memo + at]
