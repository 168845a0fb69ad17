"""Kernels for each kind of operation, on one tile of samples.

A kind has up to three kernels with the same arguments: forward; the gradients of the parameters,
added to the chunk's gradients; and the gradients of the inputs.

    op, settings   record of the operation (see `records.py`), and its settings
    bank, tile     weights and state of the network; the tile, with the gradients of its chunk
    space, flow    workspaces of values and of gradients
    n, stride      number of samples, and of numbers from one row to the next
    x, y           index in `space` of the first input and output
    g, h           index in `flow` of the gradient of the first output and input
    memo           index in `space` of the numbers that forward saves for backward

Batch norm standardizes each feature over the whole batch, which requires the numbers of all tiles.
`gather` writes the mean and scale of each feature to the memo of every tile, one row per feature.
In the backward pass it writes the means of the gradients that are subtracted.

In a convolution a pixel of a channel is a row of a workspace with one number per sample, so a
vector register holds the same pixel of several samples. The loops compute four convolution kernels
of a group at a time; if fewer remain, the last one is computed several times.

    groups                    number of groups of channels and convolution kernels
    channels, kernels         number of channels of a group, and of its convolution kernels
    height, width             height and width of a picture
    tall, broad               height and width of a window
    apart_y, apart_x          stride of the windows
    gap_y, gap_x              dilation: pixels from one number of a window to the next
    above, beside             rows and columns of zeros added on each side of the picture
    high, wide                number of windows from top to bottom and from left to right
    fan                       number of weights of a convolution kernel
    o, c                      index of a convolution kernel, index of a channel
    z0, g0, h0, ...           index of the first output, output gradient, input gradient
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from scalarviz.engines.codegen.dispatch import (
    activation_backward,
    activation_forward,
    drop_word,
    exponentials,
    inner,
    parametric_backward,
    parametric_forward,
    parametric_sum,
    row_backward,
    row_forward,
)
from scalarviz.engines.cpu.products import (
    FOUR,
    ONE,
    SHORTEST,
    THREE,
    TILE,
    TWO,
    ZERO,
    Four,
    Index,
    Numbers,
    Record,
    Table,
    add_four,
    add_lanes,
    add_row_sums,
    add_sums_apart,
    affine,
    four_rows,
    lane_count,
    larger_lanes,
    load_apart,
    load_four,
    load_lanes,
    load_some,
    load_some_of_four,
    multiply,
    multiply_add_four,
    not_unrolled,
    outer,
    spread,
    store_apart,
    store_lanes,
    transposed_in_lanes,
)
from scalarviz.engines.cpu.records import BankView, Tile, Workspaces, address_of, table_at
from scalarviz.engines.cpu.tiles import chunk_bounds, count_chunks, row_stride
from scalarviz.engines.cpu.wide_products import (
    add_products,
    no_four_sums,
    spread_four,
    store_block,
)

NOWHERE = np.uint64(2**64 - 1)  # instead of the row of an index that chooses none

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
def affine_parameters(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Add the gradients of W and b: outer products, summed over the samples."""
    space, flow, n, stride = tile.space, tile.flow, tile.n, tile.stride
    inputs, outputs, first = op.inputs, op.outputs, op.gradients
    x, g = op.source * stride, op.flow_out * stride
    outer(tile.partial, first, space, flow, x, g, inputs, outputs, n, stride)
    if op.has_biases == ONE:
        add_row_sums(tile.partial, first + op.count - outputs, flow, g, outputs, n, stride)


@inner
def affine_parameters_at_once(
    op: Record, settings: Numbers, bank: BankView, tile: Tile, low: Index, high: Index
) -> None:
    """Do the same as `affine_parameters`, which is not worth several parts, with the first part."""
    if low == ZERO:
        affine_parameters(op, settings, bank, tile)


@inner
def affine_inputs(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Compute the gradient of the inputs: W transposed, times g."""
    flow, n, stride = tile.flow, tile.n, tile.stride
    inputs, outputs = op.inputs, op.outputs
    g, h, done = op.flow_out * stride, op.flow_in * stride, ZERO
    if n == ONE:
        done = transposed_in_lanes(bank.value, op.weights, flow, g, h, inputs, outputs, stride)
    affine(
        bank.value, op.weights + done, ONE, inputs, bank.value[:0], op.biases, flow, flow, g,
        h + done * stride, outputs, inputs - done, n, stride,
    )  # fmt: skip


# ---- activation ---------------------------------------------------------------------------------


@inner
def pieces(rows: Index, n: Index, stride: Index) -> tuple[Index, Index]:
    """Return the number of calls of an activation function, and the numbers per call.

    A single call for all rows is faster, but includes the unused numbers at the end of each row. If
    most numbers are unused, there is one call per row.
    """
    if TWO * n >= stride or stride == SHORTEST:
        return ONE, rows * stride
    return rows, n


@inner
def activation_tile(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """y = f(x), elementwise.

    Numbers of a single sample are computed a vector at a time, in two of the rows of y.
    """
    space, n, stride = tile.space, tile.n, tile.stride
    x, y = op.source * stride, op.target * stride
    done, step = ZERO, lane_count(space)
    if n == ONE and stride == SHORTEST:
        done = op.outputs // step * step
        for r in range(ZERO, done, step):
            a, b = y + r * stride, y + (r + TWO) * stride
            store_lanes(space, a, load_apart(space, x + r * stride, stride))
            activation_forward(op.formula, space[a : a + step], space[b : b + step])
            store_apart(space, a, stride, load_lanes(space, b))
    rows, width = pieces(op.outputs - done, n, stride)
    x, y = x + done * stride, y + done * stride
    for r in range(rows):
        a, b = x + r * stride, y + r * stride
        activation_forward(op.formula, space[a : a + width], space[b : b + width])


@inner
def activation_inputs(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Compute the gradient of the inputs: f'(x) times g; in place if the two share a buffer."""
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


# ---- attention ----------------------------------------------------------------------------------
# With one sample a place is a lane of a vector, and all sums over places are matrix products.


@inner
def attention_tile(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """y = the values of all places times their shares, for each head and place."""
    heads, size, places = np.uint64(settings[0]), np.uint64(settings[1]), np.uint64(settings[2])
    space, none = tile.space, tile.space[:0]
    if tile.stride != ONE or places % lane_count(space) != ZERO:
        row_tile(op, settings, bank, tile)
        return
    one_head, square = size * places, places * places
    shares = np.empty(heads * square, space.dtype)
    find_shares(shares, space, op.source, heads, size, places, settings)
    for head in range(heads):
        value = op.source + (THREE * head + TWO) * one_head
        affine(
            space, value, places, ONE, none, ZERO, shares, space, head * square,
            op.target + head * one_head, places, size, places, places,
        )  # fmt: skip


@inner
def find_shares(
    shares: Numbers, space: Numbers, x: Index, heads: Index, size: Index, places: Index,
    settings: Numbers,
) -> None:  # fmt: skip
    """Compute the share that each place takes of each other one, for all heads.

    A row has the shares of one place, and a lane those that a place takes.
    """
    one_head, square, step, dtype = size * places, places * places, lane_count(space), space.dtype
    sees, total = np.empty(square, dtype), np.empty(places, dtype)
    for u in range(places):
        for t in range(places):
            sees[u * places + t] = dtype.type(1) if t >= u or settings[3] == 0 else dtype.type(0)
    for head in range(heads):
        query, first = x + THREE * head * one_head, head * square
        affine(
            space, query + one_head, ONE, places, space[:0], ZERO, space, shares, query, first,
            size, places, places, places,
        )  # fmt: skip
        # Scores of places that are not seen count as 0, which changes no share, and are 0 later.
        for t in range(ZERO, places, step):
            largest = multiply(load_lanes(shares, first + t), load_lanes(sees, t))
            for u in range(ONE, places):
                at = u * places + t
                score = multiply(load_lanes(shares, first + at), load_lanes(sees, at))
                store_lanes(shares, first + at, score)
                largest = larger_lanes(largest, score)
            minus = multiply(largest, spread(dtype.type(-1)))
            factor = spread(dtype.type(settings[4]))
            for u in range(places):
                at = first + u * places + t
                store_lanes(shares, at, multiply(add_lanes(load_lanes(shares, at), minus), factor))
    exponentials(shares)
    for head in range(heads):
        first = head * square
        for t in range(ZERO, places, step):
            sums = spread(dtype.type(0))
            for u in range(places):
                at = u * places + t
                part = multiply(load_lanes(shares, first + at), load_lanes(sees, at))
                store_lanes(shares, first + at, part)
                sums = add_lanes(sums, part)
            store_lanes(total, t, sums)
        for t in range(places):
            total[t] = dtype.type(1) / total[t]
        for t in range(ZERO, places, step):
            by = load_lanes(total, t)
            for u in range(places):
                at = first + u * places + t
                store_lanes(shares, at, multiply(load_lanes(shares, at), by))


@inner
def attention_inputs(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Compute the gradients of queries, keys and values."""
    heads, size, places = np.uint64(settings[0]), np.uint64(settings[1]), np.uint64(settings[2])
    space, flow, none = tile.space, tile.flow, tile.space[:0]
    if tile.stride != ONE or places % lane_count(space) != ZERO:
        row_inputs(op, settings, bank, tile)
        return
    one_head, square, step = size * places, places * places, lane_count(space)
    zero, factor = space.dtype.type(0), spread(space.dtype.type(settings[4]))
    shares, slopes = np.empty(heads * square, space.dtype), np.empty(square, space.dtype)
    find_shares(shares, space, op.source, heads, size, places, settings)
    for head in range(heads):
        first = head * square
        query, y = op.source + THREE * head * one_head, op.target + head * one_head
        key, value = query + one_head, query + TWO * one_head
        g, h = op.flow_out + head * one_head, op.flow_in + THREE * head * one_head
        affine(
            space, value, ONE, places, none, ZERO, flow, slopes, g, ZERO, size, places, places,
            places,
        )  # fmt: skip
        for t in range(ZERO, places, step):
            minus = spread(zero)
            for d in range(size):
                at = d * places + t
                product = multiply(load_lanes(flow, g + at), load_lanes(space, y + at))
                minus = add_lanes(minus, multiply(product, spread(space.dtype.type(-1))))
            for u in range(places):
                at = u * places + t
                gain = add_lanes(load_lanes(slopes, at), minus)
                slope = multiply(multiply(load_lanes(shares, first + at), gain), factor)
                store_lanes(slopes, at, slope)
        affine(
            space, key, places, ONE, none, ZERO, slopes, flow, ZERO, h, places, size, places,
            places,
        )  # fmt: skip
        for i in range(h + one_head, h + THREE * one_head):
            flow[i] = zero
        outer(flow, h + one_head, slopes, space, ZERO, query, places, size, places, places)
        outer(flow, h + TWO * one_head, shares, flow, first, g, places, size, places, places)


# ---- row, and each place of a sequence ----------------------------------------------------------
# The numbers of a feature at all places are consecutive rows, so a place of a sample is computed
# like a sample: a feature is one row of `places * stride` numbers. A whole sample is one place.


@inner
def row_tile(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """y = f(x) for each place of each sample; f is a row formula, such as rms_norm."""
    space, n, stride, places = tile.space, tile.n, tile.stride, op.each
    inputs, outputs, wide = op.inputs // places, op.outputs // places, op.each * tile.stride
    x, y, memo = op.source * stride, op.target * stride, op.memo * stride
    width, runs = (wide, ONE) if n == stride else (n, places)
    for p in range(runs):
        at = p * stride
        row_forward(
            op.formula,
            table_at(address_of(space, x + at), inputs, wide, space.dtype),
            table_at(address_of(space, y + at), outputs, wide, space.dtype),
            space[memo + at : memo + at + width],
            settings,
            width,
        )


@inner
def row_inputs(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Compute the gradient of the inputs by the formula's backward, place by place."""
    space, flow, n, stride, places = tile.space, tile.flow, tile.n, tile.stride, op.each
    inputs, outputs, wide = op.inputs // places, op.outputs // places, op.each * tile.stride
    x, y, memo = op.source * stride, op.target * stride, op.memo * stride
    g, h = op.flow_out * stride, op.flow_in * stride
    width, runs = (wide, ONE) if n == stride else (n, places)
    for p in range(runs):
        at = p * stride
        row_backward(
            op.formula,
            table_at(address_of(space, x + at), inputs, wide, space.dtype),
            table_at(address_of(space, y + at), outputs, wide, space.dtype),
            space[memo + at : memo + at + width],
            table_at(address_of(flow, g + at), outputs, wide, space.dtype),
            table_at(address_of(flow, h + at), inputs, wide, space.dtype),
            settings,
            width,
        )


@inner
def pointwise_forward(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """z = W x + b at each pixel or place: a convolution whose windows are 1 x 1."""
    space, wide, pixels = tile.space, op.each * tile.stride, op.each
    biases = bank.value[: op.has_biases * np.uint64(len(bank.value))]
    affine(
        bank.value, op.weights, op.inputs // pixels, ONE, biases, op.biases, space, space,
        op.source * tile.stride, op.target * tile.stride, op.inputs // pixels,
        op.outputs // pixels, wide, wide,
    )  # fmt: skip


@inner
def pointwise_parameters(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Add the gradients of W and b: sums over the samples and the pixels."""
    space, flow, n, stride, pixels = tile.space, tile.flow, tile.n, tile.stride, op.each
    inputs, outputs, first = op.inputs // pixels, op.outputs // pixels, op.gradients
    wide = pixels * stride
    width, runs = (wide, ONE) if n == stride else (n, pixels)
    for p in range(runs):
        x, g = (op.source + p) * stride, (op.flow_out + p) * stride
        outer(tile.partial, first, space, flow, x, g, inputs, outputs, width, wide)
        if op.has_biases == ONE:
            biases = first + op.count - outputs
            add_row_sums(tile.partial, biases, flow, g, outputs, width, wide)


@inner
def pointwise_inputs(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Compute the gradient of the inputs at each pixel: W transposed, times g."""
    flow, wide, pixels = tile.flow, op.each * tile.stride, op.each
    affine(
        bank.value, op.weights, ONE, op.inputs // pixels, bank.value[:0], op.biases, flow, flow,
        op.flow_out * tile.stride, op.flow_in * tile.stride, op.outputs // pixels,
        op.inputs // pixels, wide, wide,
    )  # fmt: skip


# ---- embedding ----------------------------------------------------------------------------------


@inner
def chosen_row(op: Record, space: Numbers, at: Index, count: Index) -> Index:
    """Return the first weight of the row that an index in `space` chooses; NOWHERE for none."""
    index = space[at]
    inside = index >= 0 and index < count
    return np.uint64(index) * (op.outputs // op.inputs) if inside else NOWHERE


@inner
def embedding_forward(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """y = the row of W that the index at each place chooses, plus the bias of each number."""
    space, n, stride, places = tile.space, tile.n, tile.stride, op.inputs
    count = np.uint64(settings[0])
    for p in range(places):
        for t in range(n):
            row = chosen_row(op, space, (op.source + p) * stride + t, count)
            for f in range(op.outputs // places):
                at = f * places + p
                number = bank.value.dtype.type(0)
                if row != NOWHERE:
                    number = bank.value[op.weights + row + f]
                if op.has_biases == ONE:
                    number += bank.value[op.biases + at]
                space[(op.target + at) * stride + t] = number


@inner
def embedding_parameters(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Add the gradient of each number to the gradients of the weight and the bias that made it."""
    space, flow, grad, n, stride = tile.space, tile.flow, tile.partial, tile.n, tile.stride
    places, count = op.inputs, np.uint64(settings[0])
    biases = op.gradients + op.count - op.outputs
    for p in range(places):
        for t in range(n):
            row = chosen_row(op, space, (op.source + p) * stride + t, count)
            for f in range(op.outputs // places):
                at = f * places + p
                number = flow[(op.flow_out + at) * stride + t]
                if row != NOWHERE:
                    grad[op.gradients + row + f] += number
                if op.has_biases == ONE:
                    grad[biases + at] += number


@inner
def embedding_inputs(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Write zeros: an index has no gradient."""
    flow, first = tile.flow, op.flow_in * tile.stride
    for i in range(op.inputs * tile.stride):
        flow[first + i] = 0


# ---- scale --------------------------------------------------------------------------------------


@inner
def scale_forward(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """y = w x + b; each pair of w and b is shared by `each` rows."""
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
def scale_parameters(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Add the gradients of w and b: sums over the samples and over the rows that share them."""
    space, flow, grad, n, stride = tile.space, tile.flow, tile.partial, tile.n, tile.stride
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
    """Compute the gradient of the inputs: w times g."""
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
    """y = f(x, w, ...); the parameters of each row are stored consecutively for backward."""
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
def parametric_parameters(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Add the gradients of the parameters: sums over the samples and the rows that share them."""
    space, flow, n, stride = tile.space, tile.flow, tile.n, tile.stride
    x, g, count = op.source * stride, op.flow_out * stride, count_of(settings)
    for r in range(op.outputs):
        given, first = op.memo * stride + r * count, op.gradients
        a, b = x + r * stride, g + r * stride
        for j in range(count):
            each = np.uint64(settings[j])
            tile.partial[first + r // each] += parametric_sum(
                op.formula, j, space[a : a + n], space[given : given + count], flow[b : b + n]
            )
            first += op.outputs // each


@inner
def parametric_inputs(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Compute the gradient of the inputs: f'(x, w, ...) times g."""
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
def copy_rows(numbers: Numbers, start: Index, to: Index, rows: Index, stride: Index) -> None:
    """Copy `rows` rows within a workspace, from row `start` to row `to`."""
    x, y = start * stride, to * stride
    for i in range(rows * stride):
        numbers[y + i] = numbers[x + i]


@inner
def branch_forward(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """y = x: the input of a branch is copied."""
    copy_rows(tile.space, op.source, op.target, op.outputs, tile.stride)


@inner
def branch_inputs(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Add g to the gradient of the inputs, which a later operation has already written."""
    flow, stride = tile.flow, tile.stride
    g, h = op.flow_out * stride, op.flow_in * stride
    for i in range(op.outputs * stride):
        flow[h + i] += flow[g + i]


@inner
def sum_forward(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """y = x + the second input."""
    space, stride = tile.space, tile.stride
    x, y, second = op.source * stride, op.target * stride, op.second * stride
    for i in range(op.outputs * stride):
        space[y + i] = space[x + i] + space[second + i]


@inner
def sum_inputs(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Copy the gradient of the sum to both inputs."""
    copy_rows(tile.flow, op.flow_out, op.flow_in, op.outputs, tile.stride)
    copy_rows(tile.flow, op.flow_out, op.flow_second, op.outputs, tile.stride)


# ---- product and concatenation ------------------------------------------------------------------


@inner
def multiply_rows(
    a: Numbers, first: Index, b: Numbers, second: Index, c: Numbers, to: Index, rows: Index,
    stride: Index,
) -> None:  # fmt: skip
    """c = a * b, elementwise, for rows that begin at index `first`, `second` and `to`."""
    x, y, z = first * stride, second * stride, to * stride
    for i in range(rows * stride):
        c[z + i] = a[x + i] * b[y + i]


@inner
def product_forward(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """y = x times the second input."""
    space = tile.space
    multiply_rows(space, op.source, space, op.second, space, op.target, op.outputs, tile.stride)


@inner
def product_inputs(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Compute the gradient of each factor: g times the other factor."""
    flow, g, space, stride = tile.flow, op.flow_out, tile.space, tile.stride
    multiply_rows(flow, g, space, op.second, flow, op.flow_in, op.outputs, stride)
    multiply_rows(flow, g, space, op.source, flow, op.flow_second, op.outputs, stride)


@inner
def concatenation_forward(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """y = x, followed by the second input."""
    copy_rows(tile.space, op.source, op.target, op.inputs, tile.stride)
    copy_rows(tile.space, op.second, op.target + op.inputs, op.seconds, tile.stride)


@inner
def concatenation_inputs(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Copy each input's part of the gradient to that input."""
    copy_rows(tile.flow, op.flow_out, op.flow_in, op.inputs, tile.stride)
    copy_rows(tile.flow, op.flow_out + op.inputs, op.flow_second, op.seconds, tile.stride)


# ---- dropout ------------------------------------------------------------------------------------


@inner
def dropout_forward(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """y = x times a factor 0 or 1 / (1 - rate), saved for backward; in evaluation y = x."""
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
    """Compute the gradient of the inputs: g times the factor saved by forward."""
    space, flow, n, stride = tile.space, tile.flow, tile.n, tile.stride
    g, h, memo = op.flow_out * stride, op.flow_in * stride, op.memo * stride
    for r in range(op.outputs):
        for t in range(n):
            at = r * stride + t
            flow[h + at] = flow[g + at] * space[memo + at]


# ---- batch norm ---------------------------------------------------------------------------------

MEAN, DEVIATION, SHIFT, STRETCH = [np.uint64(i) for i in range(4)]  # indices in a row of the memo


@inner
def batch_norm_forward(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """y = (x - mean) * scale, with batch statistics in training and else running statistics."""
    space, n, stride = tile.space, tile.n, tile.stride
    features, pixels = np.uint64(settings[0]), np.uint64(settings[1])
    for f in range(features):
        memo = (op.memo + f) * stride
        mean, scale = space[memo + MEAN], space[memo + DEVIATION]
        if not tile.learning:
            mean = bank.state[op.state + f]
            scale = 1.0 / math.sqrt(bank.state[op.state + features + f] + settings[2])
        a, b = bank.value.dtype.type(mean), bank.value.dtype.type(scale)
        for r in range(f * pixels, (f + ONE) * pixels):
            x, y = (op.source + r) * stride, (op.target + r) * stride
            for t in range(n):
                space[y + t] = (space[x + t] - a) * b


@inner
def batch_norm_inputs(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Subtract the part of the gradient that only shifts or scales a whole feature."""
    space, flow, n, stride = tile.space, tile.flow, tile.n, tile.stride
    features, pixels = np.uint64(settings[0]), np.uint64(settings[1])
    for f in range(features):
        memo = (op.memo + f) * stride
        scale, shift = space[memo + DEVIATION], space[memo + SHIFT]
        stretch = space[memo + STRETCH]
        for r in range(f * pixels, (f + ONE) * pixels):
            y, g, h = (
                (op.target + r) * stride,
                (op.flow_out + r) * stride,
                (op.flow_in + r) * stride,
            )
            for t in range(n):
                flow[h + t] = scale * (flow[g + t] - shift - space[y + t] * stretch)


@inner
def gather_batch_norm(
    op: Record, settings: Numbers, bank: BankView, room: Workspaces, samples: Index
) -> None:
    """Compute the mean and scale of each feature over all tiles; update the running statistics.

    A frozen layer uses its running statistics and does not change them.
    """
    features, pixels = np.uint64(settings[0]), np.uint64(settings[1])
    count, held = float(samples * pixels), is_held(op, bank.frozen)
    spaces, state, stride = room.spaces, bank.state, row_stride(samples)
    for f in range(features):
        a, b = op.state + f, op.state + features + f
        if held:
            put(spaces, op.memo + f, MEAN, state[a], stride)
            put(spaces, op.memo + f, DEVIATION, 1.0 / math.sqrt(state[b] + settings[2]), stride)
            continue
        start = op.source + f * pixels
        mean = sum_over(spaces, start, pixels, samples)
        mean /= count
        squares = products_over(spaces, start, spaces, start, pixels, mean, samples)
        variance = squares / count
        put(spaces, op.memo + f, MEAN, mean, stride)
        put(spaces, op.memo + f, DEVIATION, 1.0 / math.sqrt(variance + settings[2]), stride)
        # The unbiased estimate.
        estimate = squares / max(count - 1.0, 1.0)
        state[a] += settings[3] * (mean - state[a])
        state[b] += settings[3] * (estimate - state[b])


@inner
def gather_batch_norm_back(
    op: Record, settings: Numbers, bank: BankView, room: Workspaces, samples: Index
) -> None:
    """Compute the means of g and of g * y for each feature over all tiles; 0 for a frozen layer."""
    features, pixels = np.uint64(settings[0]), np.uint64(settings[1])
    count, held = float(samples * pixels), is_held(op, bank.frozen)
    spaces, flows, stride = room.spaces, room.flows, row_stride(samples)
    for f in range(features):
        if held:
            put(spaces, op.memo + f, SHIFT, 0.0, stride)
            put(spaces, op.memo + f, STRETCH, 0.0, stride)
            continue
        g, y = op.flow_out + f * pixels, op.target + f * pixels
        shift = sum_over(flows, g, pixels, samples)
        stretch = products_over(flows, g, spaces, y, pixels, 0.0, samples)
        put(spaces, op.memo + f, SHIFT, shift / count, stride)
        put(spaces, op.memo + f, STRETCH, stretch / count, stride)


@inner
def is_held(op: Record, frozen: Table) -> bool:
    """Return whether all parameters of the layer, and so its running statistics, are frozen."""
    for row in range(op.held_from, op.held_to):
        if not frozen[row]:
            return False
    return bool(op.held_from < op.held_to)


@inner
def put(spaces: Numbers, row: Index, place: Index, number: Any, stride: Index) -> None:
    """Write a number to the same position of every tile's workspace: index `place` in a row."""
    for tile in range(np.uint64(len(spaces))):
        spaces[tile, row * stride + place] = number


@inner
def sum_over(spaces: Numbers, start: Index, rows: Index, samples: Index) -> float:
    """Sum rows of a workspace over the samples of all tiles, in float64."""
    chunks, stride = count_chunks(samples), row_stride(samples)
    total, tile = 0.0, ZERO
    for chunk in range(chunks):
        first, end = chunk_bounds(np.uint64(chunk), chunks, samples)
        while first < end:
            n = min(TILE, end - first)
            for r in range(start, start + rows):
                for t in range(r * stride, r * stride + n):
                    total += spaces[tile, t]
            tile += ONE
            first += n
    return total


@inner
def products_over(
    ones: Numbers, a0: Index, others: Numbers, b0: Index, rows: Index, mean: float, samples: Index
) -> float:
    """Sum (a - mean) * (b - mean) over rows and over the samples of all tiles."""
    chunks, stride = count_chunks(samples), row_stride(samples)
    total, tile = 0.0, ZERO
    for chunk in range(chunks):
        first, end = chunk_bounds(np.uint64(chunk), chunks, samples)
        while first < end:
            n = min(TILE, end - first)
            for r in range(rows):
                a, b = (a0 + r) * stride, (b0 + r) * stride
                for t in range(n):
                    total += (ones[tile, a + t] - mean) * (others[tile, b + t] - mean)
            tile += ONE
            first += n
    return total


# ---- convolution --------------------------------------------------------------------------------


@inner
def geometry(op: Record, settings: Numbers) -> Any:
    """Return the sizes of a convolution: groups, channels and kernels per group, picture size.

    These are followed by height and width of a window, strides, paddings, dilations, and the
    number of windows from top to bottom and from left to right.
    """
    height, width = np.uint64(settings[1]), np.uint64(settings[2])
    tall, broad = np.uint64(settings[3]), np.uint64(settings[4])
    apart_y, apart_x = np.uint64(settings[5]), np.uint64(settings[6])
    above, beside, groups = np.uint64(settings[7]), np.uint64(settings[11]), np.uint64(settings[10])
    gap_y, gap_x = np.uint64(settings[8]), np.uint64(settings[9])
    high = (height + TWO * above - (tall - ONE) * gap_y - ONE) // apart_y + ONE
    wide = (width + TWO * beside - (broad - ONE) * gap_x - ONE) // apart_x + ONE
    channels, kernels = np.uint64(settings[0]) // groups, op.outputs // (high * wide) // groups
    return (
        groups, channels, kernels, height, width, tall, broad, apart_y, apart_x, above, beside,
        gap_y, gap_x, high, wide,
    )  # fmt: skip


@inner
def four_of(place: Index, count: Index) -> tuple[Index, Index, Index]:
    """Return the group of a block of four members, its first member, and the group's last member.

    `place` counts the blocks of all groups; each group has `count` members.
    """
    each = (count + THREE) // FOUR
    group = place // each
    return group, group * count + place % each * FOUR, group * count + count - ONE


@inner
def inside(
    place: Index, length: Index, step: Index, padding: Index, count: Index
) -> tuple[Index, Index]:
    """Return the range of indices, below `count`, whose positions are inside the picture.

    Index i has the position place + i * step, counted from `padding` before the picture's edge.
    """
    first = ZERO if place >= padding else (padding - place + step - ONE) // step
    if place + (count - ONE) * step < length + padding:
        return first, count
    if place >= length + padding:
        return first, ZERO
    return first, (length + padding - place - ONE) // step + ONE


@inner
def seeing(
    place: Index, count: Index, size: Index, apart: Index, gap: Index
) -> tuple[Index, Index]:
    """Return the range of indices, in steps of `turns`, at which windows read a given number.

    `place` is the position of the number, counted from `padding` before the edge. There are `count`
    windows of `size` numbers; windows are `apart` apart, and the numbers of a window `gap` apart.
    """
    far = (count - ONE) * apart
    first = ZERO if place <= far else (place - far + gap - ONE) // gap
    while first * gap < place and (place - first * gap) % apart != ZERO:
        first += ONE
    return first, size if (size - ONE) * gap <= place else place // gap + ONE


@inner
def turns(apart: Index, gap: Index) -> Index:
    """Return the smallest n for which n * gap is a multiple of `apart`."""
    found = ONE
    while found * gap % apart != ZERO:
        found += ONE
    return found


@inner
def convolution_forward(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """z = b + sum over a window of w * x, for each window and each convolution kernel."""
    space, n, stride = tile.space, tile.n, tile.stride
    (
        groups, channels, kernels, height, width, tall, broad, apart_y, apart_x, above, beside,
        gap_y, gap_x, high, wide,
    ) = geometry(op, settings)  # fmt: skip
    step, fan = lane_count(space), channels * tall * broad
    x0, z0, across = op.source, op.target * stride, high * wide * stride
    for four in range(groups * ((kernels + THREE) // FOUR)):
        group, o, last = four_of(four, kernels)
        weights, count = op.weights + o * fan, last + ONE - o
        for y in range(high):
            top, bottom = inside(y * apart_y, height, gap_y, above, tall)
            for x in range(wide):
                left, right = inside(x * apart_x, width, gap_x, beside, broad)
                z = z0 + o * across + (y * wide + x) * stride
                for t in range(ZERO, n, step):
                    sums = no_four_sums(space)
                    if op.has_biases == ONE:
                        sums = spread_four(bank.value, op.biases + o, count)
                    for c in range(channels):
                        for line in range(top, bottom):
                            row = (group * channels + c) * height + y * apart_y + line * gap_y
                            at = x0 + (row - above) * width + x * apart_x + left * gap_x
                            at = (at - beside) * stride + t
                            w = weights + (c * tall + line) * broad + left
                            for _ in range(left, right):
                                not_unrolled()
                                sums = add_products(
                                    sums, bank.value, w, fan, count, space, at, ZERO
                                )
                                at += gap_x * stride
                                w += ONE
                    store_block(space, z + t, across, count, ZERO, sums)


@inner
def convolution_parameters(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Add the gradient of each weight: the sum of g * x over samples and windows."""
    space, flow, n, stride = tile.space, tile.flow, tile.n, tile.stride
    (
        groups, channels, kernels, height, width, tall, broad, apart_y, apart_x, above, beside,
        gap_y, gap_x, high, wide,
    ) = geometry(op, settings)  # fmt: skip
    fan, across = channels * tall * broad, high * wide * stride
    for four in range(groups * ((kernels + THREE) // FOUR)):
        group, o, last = four_of(four, kernels)
        rows = four_rows(op.flow_out * stride, across, o, last)
        for c in range(channels):
            for line in range(tall):
                up, down = inside(line * gap_y, height, apart_y, above, high)
                for column in range(broad):
                    left, right = inside(column * gap_x, width, apart_x, beside, wide)
                    weight_sums(
                        tile.partial, op.gradients + o * fan + (c * tall + line) * broad + column,
                        fan, last + ONE - o, space, flow, op.source,
                        (group * channels + c) * height + line * gap_y - above,
                        column * gap_x - beside, width, apart_y, apart_x, up, down, left, right,
                        wide, rows, n, stride,
                    )  # fmt: skip
        if op.has_biases == ONE:
            bias_sums(
                tile.partial, op.gradients + op.count - groups * kernels + o, last + ONE - o, flow,
                high * wide, rows, n, stride,
            )  # fmt: skip


@inner
def weight_sums(
    grad: Numbers, at: Index, fan: Index, count: Index, space: Numbers, flow: Numbers, x0: Index,
    line: Index, column: Index, width: Index, apart_y: Index, apart_x: Index, up: Index,
    down: Index, left: Index, right: Index, wide: Index, rows: Four, n: Index, stride: Index,
) -> None:  # fmt: skip
    """Add the gradients of one weight in each of four kernels to grad[at], grad[at + fan], ..."""
    step = lane_count(space)
    tail = (n - ONE) // step * step
    some = n - tail
    zero = spread(grad.dtype.type(0))
    sums = zero, zero, zero, zero
    for y in range(up, down):
        for x in range(left, right):
            a = (x0 + (line + y * apart_y) * width + column + x * apart_x) * stride
            b = (y * wide + x) * stride
            for t in range(ZERO, tail, step):
                not_unrolled()
                p = load_four(flow, rows, b + t)
                sums = multiply_add_four(p, load_lanes(space, a + t), sums)
            p = load_some_of_four(flow, rows, b + tail, some)
            sums = multiply_add_four(p, load_some(space, a + tail, some), sums)
    add_sums_apart(grad, at, fan, count, *sums)


@inner
def bias_sums(
    grad: Numbers, at: Index, count: Index, flow: Numbers, pixels: Index, rows: Four, n: Index,
    stride: Index,
) -> None:  # fmt: skip
    """Add the gradients of the biases of four kernels: sums of g over windows and samples."""
    step = lane_count(flow)
    tail = (n - ONE) // step * step
    some = n - tail
    zero = spread(grad.dtype.type(0))
    sums = zero, zero, zero, zero
    for pixel in range(pixels):
        b = pixel * stride
        for t in range(ZERO, tail, step):
            not_unrolled()
            sums = add_four(sums, load_four(flow, rows, b + t))
        sums = add_four(sums, load_some_of_four(flow, rows, b + tail, some))
    add_sums_apart(grad, at, ONE, count, *sums)


@inner
def convolution_inputs(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Compute the gradient of each input: sum of w * g over kernels and windows that read it."""
    flow, n, stride = tile.flow, tile.n, tile.stride
    (
        groups, channels, kernels, height, width, tall, broad, apart_y, apart_x, above, beside,
        gap_y, gap_x, high, wide,
    ) = geometry(op, settings)  # fmt: skip
    step, fan, area = lane_count(flow), channels * tall * broad, tall * broad
    turns_y, turns_x = turns(apart_y, gap_y), turns(apart_x, gap_x)
    # From one number that reads a pixel to the next, the window is this many rows before.
    back_y, back_x = turns_y * gap_y // apart_y, turns_x * gap_x // apart_x * stride
    h0, plane = op.flow_in * stride, height * width * stride
    for four in range(groups * ((channels + THREE) // FOUR)):
        group, c, last = four_of(four, channels)
        weights = op.weights + group * (kernels * fan - channels * area) + c * area
        count, flow_out = last + ONE - c, op.flow_out + group * kernels * high * wide
        for i in range(height):
            up, down = seeing(i + above, high, tall, apart_y, gap_y)
            bottom = (i + above - up * gap_y) // apart_y
            for j in range(width):
                left, right = seeing(j + beside, wide, broad, apart_x, gap_x)
                x = (j + beside - left * gap_x) // apart_x
                h = h0 + c * plane + (i * width + j) * stride
                for t in range(ZERO, n, step):
                    sums = no_four_sums(flow)
                    for o in range(kernels):
                        y = bottom
                        for line in range(up, down, turns_y):
                            at = (flow_out + (o * high + y) * wide + x) * stride + t
                            w = weights + o * fan + line * broad + left
                            for _ in range(left, right, turns_x):
                                not_unrolled()
                                sums = add_products(
                                    sums, bank.value, w, area, count, flow, at, ZERO
                                )
                                at -= back_x
                                w += turns_x
                            y -= back_y
                    store_block(flow, h + t, plane, count, ZERO, sums)
