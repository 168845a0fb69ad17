"""Matrix products of wide layers, in blocks of sums that hide the latency of multiplications.

With several samples, forward and the gradients of the inputs add numbers in the same order as
`products.py`, so no bit differs. The gradients of the weights add up the samples in order, with one
input per lane. Names are explained in `products.py`.

A value of type `Block` is a matrix of vectors that stays in registers during an inner loop. Its
shape depends on the processor. With 32 registers of 64 bytes it has 8 rows of 2 vectors: its 16
sums hide the latency of the multiplications, and 16 of them need only 10 loads. Otherwise it has 6
rows of 1 vector, 12 registers of 32 bytes. Convolutions, which have few channels, use 4 rows of 1
vector. The shape does not change the order of additions.

    first, at      index of the first number in its array
    apart          distance from one row to the next, in numbers
    left           remaining rows of the result; a larger block repeats the last row
    further        distance from one vector of a row to the next; 0 repeats the first one
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from scalarviz.engines.codegen.dispatch import Real, by_address, in_parallel, inlined, inner
from scalarviz.engines.cpu.emitting import cpu_target, ir, models, prange, register_model, types
from scalarviz.engines.cpu.products import (
    FEW,
    FOUR,
    ONE,
    ZERO,
    Index,
    Lanes,
    Numbers,
    Record,
    add_row_sums,
    add_sums_apart,
    copies,
    first_of,
    four_rows,
    instruction,
    is_less,
    lane_count,
    load_four,
    load_lanes,
    multiply_add_four,
    not_unrolled,
    outer_of_few,
    pick,
    read,
    spread,
    store_lanes,
    write,
)
from scalarviz.engines.cpu.records import (
    OPERATION,
    Address,
    BankView,
    Tile,
    array_at,
    call,
    record_at,
    view_of,
)

WIDE = 32  # inputs and outputs from which blocks of sums are faster
PARTS = np.uint64(16)  # parts of an operation on all cores
SHARE = np.uint64(24)  # rows: a part has a multiple of this number
DEPTH = np.uint64(256)  # rows of x at a time: 32 KB for a block of samples
FEW_ROWS = np.uint64(16)  # rows of weights that are read together
TURNED = np.uint64(512)  # rows of the inputs in a panel; a multiple of a block's columns


# ---- a part of an operation ---------------------------------------------------------------------
# Each number of a result is a separate sum: so each of several cores can compute some rows of it,
# from `low` to before `high`, and no bit depends on the number of cores.


@inner
def part_of_forward(
    op: Record, settings: Numbers, bank: BankView, tile: Tile, low: Index, high: Index
) -> None:
    """z = W x + b, for the outputs `low` to before `high`."""
    biases = bank.value[: op.has_biases * np.uint64(len(bank.value))]
    first, z0 = op.weights + low * op.inputs, (op.target + low) * tile.stride
    if tile.n == ONE:
        affine_of_one(
            bank.value, first, biases, op.biases + low, tile.space, op.source * tile.stride, z0,
            op.inputs, high - low, tile.stride,
        )  # fmt: skip
        return
    affine_by_blocks(
        bank.value, first, op.inputs, biases, op.biases + low, tile.space, tile.space,
        op.source * tile.stride, z0, op.inputs, high - low, tile.n, tile.stride,
    )  # fmt: skip


@inner
def part_of_parameters(
    op: Record, settings: Numbers, bank: BankView, tile: Tile, low: Index, high: Index
) -> None:
    """Add the gradients of W and b for the outputs `low` to before `high`, summed over samples."""
    grad, n, stride, outputs = tile.partial, tile.n, tile.stride, high - low
    x, g = op.source * stride, (op.flow_out + low) * stride
    first = op.gradients + low * op.inputs
    if n <= FEW:
        outer_of_few(grad, first, tile.space, tile.flow, x, g, op.inputs, outputs, n, stride)
    else:
        wide_outer(grad, first, tile.space, tile.flow, x, g, op.inputs, outputs, n, stride)
    if op.has_biases == ONE:
        biases = op.gradients + op.count - op.outputs + low
        add_row_sums(grad, biases, tile.flow, g, outputs, n, stride)


@inner
def part_of_back(
    op: Record, settings: Numbers, bank: BankView, tile: Tile, low: Index, high: Index
) -> None:
    """Compute the gradient of the inputs `low` to before `high`: W transposed, times g.

    If the operation has panels, `low` is 0.
    """
    g0, h0 = op.flow_out * tile.stride, (op.flow_in + low) * tile.stride
    if tile.n == ONE:
        transposed_of_one(
            bank.value, op.weights + low, tile.flow, g0, h0, op.outputs, high - low, op.inputs,
            tile.stride,
        )  # fmt: skip
        return
    transposed_affine(
        panels_of(op, bank.value), bank.value, op.weights + low, tile.flow, g0, h0, op.outputs,
        high - low, op.inputs, tile.n, tile.stride,
    )  # fmt: skip


@by_address
def turn(place: Address, job: Address, part: Index, parts: Index) -> None:
    """Copy a part of W to the panels of its operation, which all chunks read in `part_of_back`."""
    op, w = record_at(place, OPERATION), view_of(job, Real).value
    groups = (op.inputs + group_of_rows(w) - ONE) // group_of_rows(w)
    low, high = part * groups // parts, (part + ONE) * groups // parts
    fill_panels(panels_of(op, w), w, op.weights, op.outputs, op.inputs, low, high)


# ---- a whole operation --------------------------------------------------------------------------
# Its kernel calls the kernel of a part, so the products are compiled once.


@by_address
def forward_on_one_core(place: Address, job: Address, tile: Address) -> None:
    """Run `part_of_forward` for all outputs."""
    op = record_at(place, OPERATION)
    call(op.part_of_forward, (place, job, tile, ZERO, op.outputs))


@by_address
def parameters_on_one_core(place: Address, job: Address, tile: Address) -> None:
    """Run `part_of_parameters` for all outputs."""
    op = record_at(place, OPERATION)
    call(op.part_of_parameters, (place, job, tile, ZERO, op.outputs))


@by_address
def back_on_one_core(place: Address, job: Address, tile: Address) -> None:
    """Run `part_of_back` for all inputs."""
    op = record_at(place, OPERATION)
    call(op.part_of_back, (place, job, tile, ZERO, op.inputs))


@inner
def part_bounds(part: Index, parts: Index, rows: Index) -> tuple[Index, Index]:
    """Return the first row of a part and the row after its last; parts are blocks of SHARE rows."""
    blocks = (rows + SHARE - ONE) // SHARE
    low, high = part * blocks // parts * SHARE, (part + ONE) * blocks // parts * SHARE
    return min(low, rows), min(high, rows)


@inlined
def run_parts(part: Address, rows: Index, place: Address, job: Address, tile: Address) -> None:
    """Call the kernel `part` in parallel, once for each part of an operation."""
    for p in prange(np.int64(PARTS)):
        low, high = part_bounds(np.uint64(p), PARTS, rows)
        if low < high:
            call(part, (place, job, tile, low, high))


@in_parallel
@by_address
def forward_on_all_cores(place: Address, job: Address, tile: Address) -> None:
    """Run `part_of_forward` for all parts of an operation in parallel."""
    op = record_at(place, OPERATION)
    run_parts(op.part_of_forward, op.outputs, place, job, tile)


@in_parallel
@by_address
def parameters_on_all_cores(place: Address, job: Address, tile: Address) -> None:
    """Run `part_of_parameters` for all parts of an operation in parallel."""
    op = record_at(place, OPERATION)
    run_parts(op.part_of_parameters, op.outputs, place, job, tile)


@in_parallel
@by_address
def back_on_all_cores(place: Address, job: Address, tile: Address) -> None:
    """Run `part_of_back` for all parts of an operation in parallel."""
    op = record_at(place, OPERATION)
    run_parts(op.part_of_back, op.inputs, place, job, tile)


# ---- one sample ---------------------------------------------------------------------------------
# The rows of the weights fill the vectors: the order of sums differs from several samples.


@inner
def affine_of_one(
    w: Numbers, first: Index, biases: Numbers, bias: Index, x: Numbers, x0: Index, z0: Index,
    inputs: Index, outputs: Index, stride: Index,
) -> None:  # fmt: skip
    """Compute z[o] = biases[bias + o] + sum over i of w[first + o * inputs + i] * x[i]."""
    step, last = lane_count(x), outputs - ONE
    end = inputs // step * step
    sample = np.empty(inputs, w.dtype)
    for i in range(inputs):
        sample[i] = x[x0 + i * stride]
    zero = spread(w.dtype.type(0))
    for o in range(ZERO, outputs, FOUR):
        rows, sums = four_rows(first, inputs, o, last), (zero, zero, zero, zero)
        for k in range(o, min(o + FOUR, outputs)):
            total = biases[bias + k] if len(biases) else w.dtype.type(0)
            for i in range(end, inputs):
                total += w[first + k * inputs + i] * sample[i]
            x[z0 + k * stride] = total
        for i in range(ZERO, end, step):
            not_unrolled()
            sums = multiply_add_four(load_four(w, rows, i), load_lanes(sample, i), sums)
        add_sums_apart(x, z0 + o * stride, stride, outputs - o, *sums)


@inner
def transposed_of_one(
    w: Numbers, first: Index, g: Numbers, g0: Index, h0: Index, outputs: Index, inputs: Index,
    across: Index, stride: Index,
) -> None:  # fmt: skip
    """Compute h[i] = sum over o of w[first + o * across + i] * g[o]."""
    sums = np.zeros(inputs, w.dtype)
    for o in range(outputs):
        factor, row = g[g0 + o * stride], first + o * across
        for i in range(inputs):
            sums[i] += factor * w[row + i]
    for i in range(inputs):
        g[h0 + i * stride] = sums[i]


# ---- several samples ----------------------------------------------------------------------------


@inner
def affine_by_blocks(
    w: Numbers, first: Index, across: Index, biases: Numbers, bias: Index, x: Numbers, z: Numbers,
    x0: Index, z0: Index, inputs: Index, outputs: Index, n: Index, stride: Index,
) -> None:  # fmt: skip
    """z[o] = biases[bias + o] + sum over i of w[first + o * across + i] * x[i]."""
    group = group_of_rows(x)
    for low in range(ZERO, inputs, DEPTH):
        count = min(DEPTH, inputs - low)
        for o in range(ZERO, outputs, group):
            add_group(
                w, first + o * across + low, across, ONE, biases, bias + o, x, z, x0 + low * stride,
                z0 + o * stride, low, count, min(group, outputs - o), n, stride,
            )  # fmt: skip


@inner
def transposed_affine(
    panels: Numbers, w: Numbers, first: Index, x: Numbers, x0: Index, z0: Index, inputs: Index,
    outputs: Index, down: Index, n: Index, stride: Index,
) -> None:  # fmt: skip
    """z[o] = sum over i of w[first + i * down + o] * x[i], where z are rows of the array x.

    Without panels that `turn` has filled, a few columns at a time are copied to one, which the
    product then reads for all samples.
    """
    group, filled, at = group_of_rows(x), len(panels) > 0, ZERO
    panel = panels if filled else np.empty(panel_size(DEPTH, x), w.dtype)
    for low in range(ZERO, inputs, DEPTH):
        count = min(DEPTH, inputs - low)
        for o in range(ZERO, outputs, group):
            if filled:
                at = o // group * panel_size(inputs, x) + low * group
            else:
                fill_panel(panel, ZERO, w, first + low * down + o, down, count, outputs - o)
            add_group(
                panel, at, ONE, group, w[:0], ZERO, x, x, x0 + low * stride, z0 + o * stride, low,
                count, min(group, outputs - o), n, stride,
            )  # fmt: skip


@inner
def fill_panels(
    panels: Numbers, w: Numbers, first: Index, rows: Index, down: Index, start: Index, end: Index
) -> None:
    """Fill the panels `start` to before `end` of a matrix with `rows` rows of `down` numbers."""
    group = group_of_rows(w)
    for low in range(ZERO, rows, FEW_ROWS):
        for k in range(start, end):
            fill_panel(
                panels, k * panel_size(rows, w) + low * group, w, first + low * down + k * group,
                down, min(FEW_ROWS, rows - low), down - k * group,
            )  # fmt: skip


@inner
def fill_panel(
    panel: Numbers, at: Index, w: Numbers, first: Index, down: Index, rows: Index, left: Index
) -> None:
    """Copy a group of columns of W, row by row, to a panel; `left` columns of W remain.

    The numbers of a column of a large matrix are all in different memory pages.
    """
    group, lanes = group_of_rows(w), lane_count(w)
    for i in range(rows):
        a, b = at + i * group, first + i * down
        for start in range(ZERO, min(group, left), lanes):
            if start + lanes <= left:  # the numbers beyond the group are overwritten
                store_lanes(panel, a + start, load_lanes(w, b + start))
            else:
                for c in range(start, min(group, left)):
                    panel[a + c] = w[b + c]


@inlined
def panel_size(rows: Index, x: Numbers) -> Index:
    """Return the size of a panel for rows of W, in numbers."""
    return rows * group_of_rows(x) + lane_count(x)


@inlined
def panels_of(op: Record, x: Numbers) -> Numbers:
    """Return the panels of an operation as an array, or an empty array if `turn` fills none."""
    groups = (op.inputs + group_of_rows(x) - ONE) // group_of_rows(x) * np.uint64(op.turned > ZERO)
    return array_at(op.turned, groups * panel_size(op.outputs, x), x.dtype)


@inlined
def group_of_rows(x: Numbers) -> Index:
    """Return how many rows of z are computed from the same part of the weights, in blocks."""
    return max(lane_count(x) // block_rows(x), ONE) * block_rows(x)


@inner
def add_group(
    w: Numbers, first: Index, across: Index, down: Index, biases: Numbers, bias: Index, x: Numbers,
    z: Numbers, x0: Index, z0: Index, low: Index, count: Index, outputs: Index, n: Index,
    stride: Index,
) -> None:  # fmt: skip
    """Add the products of `count` rows of x to a group of rows of z, one block at a time.

    The rows of x stay in the cache for all blocks, and the weights for all samples. If `low` is 0,
    z is not read: its rows begin with the biases.
    """
    step, rows, columns = lane_count(x), block_rows(x), block_columns(x)
    end = (n + step - ONE) // step * step
    for t in range(ZERO, end, columns):
        further = step if t + step < end else ZERO
        for o in range(ZERO, outputs, rows):
            left, goal = outputs - o, z0 + o * stride + t
            sums = no_sums(x)
            if low > ZERO:
                sums = load_block(z, goal, stride, left, further)
            elif len(biases):
                sums = spread_rows(biases, bias + o, left)
            at, row = x0 + t, first + o * across
            for _ in range(count):
                not_unrolled()
                sums = add_products(sums, w, row, across, left, x, at, further)
                at += stride
                row += down
            store_block(z, goal, stride, left, further, sums)


@inner
def wide_outer(
    grad: Numbers, first: Index, x: Numbers, g: Numbers, x0: Index, g0: Index,
    inputs: Index, outputs: Index, n: Index, stride: Index,
) -> None:  # fmt: skip
    """Compute `products.outer` with one input per lane, one sample after the other.

    Rows of x are transposed in groups into a panel of blocks, in which each sample has a row of
    numbers.
    """
    step, rows, columns = lane_count(x), block_rows(x), block_columns(x)
    end = (n + step - ONE) // step * step
    panel = np.empty(end * min(TURNED, inputs + columns), x.dtype)
    for start in range(ZERO, inputs, TURNED):
        stop = min(start + TURNED, inputs)
        for i in range(start, stop, step):
            column = (i - start) % columns
            to = (i - start - column) * end + column
            for t in range(ZERO, end, step):
                not_unrolled()
                transpose_lanes(
                    x, x0 + i * stride + t, stride, stop - i, panel, to + t * columns, columns
                )
        for o in range(ZERO, outputs, rows):
            left = outputs - o
            for i in range(start, stop, columns):
                sums, at = no_sums(x), (i - start) * end
                further = step if i + step < stop else ZERO
                row = g0 + o * stride
                for t in range(n):
                    not_unrolled()
                    sums = add_products(sums, g, row + t, stride, left, panel, at, further)
                    at += columns
                add_block(grad, first + o * inputs + i, inputs, left, stop - i, sums)


# ---- blocks of sums, as functions for kernels ---------------------------------------------------


class Block(types.Type):
    """numba type of a matrix of vectors, by default of the best shape for this processor."""

    def __init__(self, dtype: Any, shape: tuple[int, int] | None = None) -> None:
        _, _, features = cpu_target.target_context.codegen().magic_tuple()
        self.lanes = Lanes(dtype)
        self.rows, self.vectors = shape or ((8, 2) if "+avx512f" in features else (6, 1))
        super().__init__(name=f"Block({dtype}, {self.rows}, {self.vectors})")


@register_model(Block)
class BlockModel(models.PrimitiveModel):
    """Represent a Block as an LLVM array of vectors, row by row."""

    def __init__(self, manager: Any, block: Block) -> None:
        vector = manager.lookup(block.lanes).get_value_type()
        super().__init__(  # type: ignore[no-untyped-call]  # numba's
            manager, block, ir.ArrayType(vector, block.rows * block.vectors)
        )


def block_of(shape: tuple[int, int] | None = None) -> Callable[..., Block]:
    """Return a function that maps the type of an array to the type of a block for its numbers."""
    return lambda x, *others: Block(x.dtype, shape)


block_for = block_of()


@instruction(types.uint64)
def block_rows(target: Any, builder: Any, signature: Any, x: Any) -> Any:
    """Return the number of rows of a block for an array's dtype, as an unsigned integer."""
    return target.get_constant(types.uint64, block_for(*signature.args).rows)


@instruction(types.uint64)
def block_columns(target: Any, builder: Any, signature: Any, x: Any) -> Any:
    """Return the numbers per row of a block for an array's dtype, as an unsigned integer."""
    block = block_for(*signature.args)
    return target.get_constant(types.uint64, block.vectors * block.lanes.count)


def zeros(target: Any, builder: Any, signature: Any, x: Any) -> Any:
    """Return a block of zeros for an array's dtype."""
    return ir.Constant(target.get_value_type(signature.return_type), None)


def spread_numbers(target: Any, builder: Any, signature: Any, x: Any, at: Any, left: Any) -> Any:
    """Return a block with x[at] in all of row 0, x[at + 1] in all of row 1, ..."""
    block, array = signature.return_type, signature.args[0]
    sums = ir.Constant(target.get_value_type(block), ir.Undefined)
    for k, row in enumerate(rows_of(builder, block, left)):
        number = builder.load(place(target, builder, array, x, at, row))
        for v in range(block.vectors):
            vector = copies(builder, number, block.lanes.count)
            sums = builder.insert_value(sums, vector, k * block.vectors + v)
    return sums


FOUR_ROWS = block_of((4, 1))  # for convolutions
no_sums, no_four_sums = [instruction(block)(zeros) for block in (block_for, FOUR_ROWS)]
spread_rows, spread_four = [instruction(block)(spread_numbers) for block in (block_for, FOUR_ROWS)]


@instruction(block_for)
def load_block(
    target: Any, builder: Any, signature: Any, z: Any, at: Any, apart: Any, left: Any, further: Any
) -> Any:
    """Return a block whose row k contains z[at + k * apart], z[at + k * apart + 1], ..."""
    sums, array = signature.return_type, signature.args[0]
    block = ir.Constant(target.get_value_type(sums), ir.Undefined)
    vectors = places(target, builder, array, z, at, apart, left, further, sums)
    for i, numbers in enumerate(vectors):
        block = builder.insert_value(block, read(builder, numbers), i)
    return block


@instruction(first_of)
def add_products(
    target: Any, builder: Any, signature: Any, block: Any, w: Any, first: Any, apart: Any,
    left: Any, x: Any, at: Any, further: Any,
) -> Any:  # fmt: skip
    """Add w[first + k * apart] times x[at], x[at + 1], ... to row k of a block."""
    sums, weights, *_, inputs, _, _ = signature.args
    found = []
    for v in range(sums.vectors):
        shift = builder.mul(further, further.type(v))
        found.append(read(builder, vector_at(target, builder, inputs, x, shift, at)))
    for k, row in enumerate(rows_of(builder, sums, left)):
        # The offset of the row comes first, since it is constant in the loop.
        offset = builder.mul(row, apart)
        number = builder.load(place(target, builder, weights, w, offset, first))
        factor = copies(builder, number, sums.lanes.count)
        for v in range(sums.vectors):
            i = k * sums.vectors + v
            old = builder.extract_value(block, i)
            new = builder.fadd(builder.fmul(factor, found[v]), old)
            block = builder.insert_value(block, new, i)
    return block


@instruction(types.void)
def store_block(
    target: Any, builder: Any, signature: Any, z: Any, at: Any, apart: Any, left: Any,
    further: Any, block: Any,
) -> None:  # fmt: skip
    """Store row k of a block to z[at + k * apart], z[at + k * apart + 1], ..."""
    array, *_, sums = signature.args
    vectors = places(target, builder, array, z, at, apart, left, further, sums)
    for i, numbers in enumerate(vectors):
        write(builder, builder.extract_value(block, i), numbers)


@instruction(types.void)
def add_block(
    target: Any, builder: Any, signature: Any, z: Any, at: Any, apart: Any, rows: Any,
    columns: Any, block: Any,
) -> None:  # fmt: skip
    """Add block[k, j] to z[at + k * apart + j], for k < `rows` and j < `columns`."""
    array, *_, sums = signature.args
    lanes, index = sums.lanes, at.type
    vector = target.get_value_type(lanes)
    load, store = masked(builder, lanes, vector)
    word = ir.IntType(32)
    align, width = word(4), copies(builder, builder.trunc(columns, word), lanes.count)
    masks = []
    for v in range(sums.vectors):
        lane = [*range(v * lanes.count, (v + 1) * lanes.count)]
        numbers = ir.Constant(ir.VectorType(word, lanes.count), lane)
        masks.append(builder.icmp_unsigned("<", numbers, width))
    for k in range(sums.rows):
        is_used = is_less(builder, k, rows)
        for v, inside in enumerate(masks):
            mask = builder.select(is_used, inside, ir.Constant(inside.type, None))
            shift = builder.add(builder.mul(apart, index(k)), index(v * lanes.count))
            numbers = vector_at(target, builder, array, z, at, shift)
            old = builder.call(load, [numbers, align, mask, ir.Constant(vector, None)])
            new = builder.fadd(old, builder.extract_value(block, k * sums.vectors + v))
            builder.call(store, [new, numbers, align, mask])


@instruction(types.void)
def transpose_lanes(
    target: Any, builder: Any, signature: Any, x: Any, first: Any, apart: Any, left: Any, z: Any,
    at: Any, across: Any,
) -> None:  # fmt: skip
    """z[at + t * across + k] = x[first + k * apart + t], for all k and t below the lane count."""
    source, _, _, _, goal, _, _ = signature.args
    found = []
    for row in rows_of(builder, Lanes(source.dtype), left):
        offset = builder.mul(row, apart)
        found.append(read(builder, vector_at(target, builder, source, x, first, offset)))
    write_columns(target, builder, found, goal, z, at, across)


@instruction(types.void)
def load_columns(
    target: Any, builder: Any, signature: Any, data: Any, order: Any, first: Any, left: Any,
    column: Any, z: Any, at: Any, across: Any,
) -> None:  # fmt: skip
    """z[at + c across + t] = data[order[first + t], column + c], for c, t below the lane count."""
    source, indices, _, _, _, goal, _, _ = signature.args
    columns = builder.extract_value(target.make_array(source)(target, builder, data).shape, 1)
    found = []
    for t in rows_of(builder, Lanes(source.dtype), left):
        row = builder.load(place(target, builder, indices, order, first, t))
        offset = builder.mul(row, columns)
        found.append(read(builder, vector_at(target, builder, source, data, column, offset)))
    write_columns(target, builder, found, goal, z, at, across)


# ---- helpers that emit instructions -------------------------------------------------------------


def rows_of(builder: Any, shape: Any, left: Any) -> Iterator[Any]:
    """Yield row indices 0, 1, ... of a block or of all lanes, none larger than `left` - 1."""
    last = builder.sub(left, left.type(1))
    for k in range(shape.rows if isinstance(shape, Block) else shape.count):
        yield builder.select(is_less(builder, k, last), left.type(k), last)


def place(target: Any, builder: Any, kind: Any, array: Any, base: Any, offset: Any) -> Any:
    """Return a pointer to item base + offset of an array of type `kind`."""
    made = target.make_array(kind)(target, builder, array)
    return builder.gep(builder.gep(made.data, [base]), [offset])


def vector_at(target: Any, builder: Any, kind: Any, array: Any, base: Any, offset: Any) -> Any:
    """Return a pointer to the vector that begins at item base + offset of an array."""
    number = place(target, builder, kind, array, base, offset)
    return builder.bitcast(number, target.get_value_type(Lanes(kind.dtype)).as_pointer())


def places(
    target: Any, builder: Any, kind: Any, array: Any, at: Any, apart: Any, left: Any, further: Any,
    block: Block,
) -> Iterator[Any]:  # fmt: skip
    """Yield pointers to the vectors of a block in an array, row by row."""
    for row in rows_of(builder, block, left):
        for v in range(block.vectors):
            shift = builder.add(builder.mul(row, apart), builder.mul(further, further.type(v)))
            yield vector_at(target, builder, kind, array, at, shift)


def write_columns(
    target: Any, builder: Any, rows: list[Any], kind: Any, array: Any, at: Any, across: Any
) -> None:
    """Store the columns of a square matrix of vectors to array[at], array[at + across], ..."""
    for i, column in enumerate(transposed(builder, rows)):
        offset = builder.mul(across, across.type(i))
        write(builder, column, vector_at(target, builder, kind, array, at, offset))


def masked(builder: Any, lanes: Lanes, vector: Any) -> tuple[Any, Any]:
    """Declare the LLVM functions that load and store only the lanes selected by a mask."""
    pointer, count = vector.as_pointer(), ir.IntType(32)
    mask = ir.VectorType(ir.IntType(1), lanes.count)
    kind = f"v{lanes.count}f{lanes.dtype.bitwidth}.p0"
    load = ir.FunctionType(vector, [pointer, count, mask, vector])
    store = ir.FunctionType(ir.VoidType(), [vector, pointer, count, mask])
    return (
        builder.module.declare_intrinsic(f"llvm.masked.load.{kind}", (), load),
        builder.module.declare_intrinsic(f"llvm.masked.store.{kind}", (), store),
    )


def transposed(builder: Any, rows: list[Any]) -> list[Any]:
    """Return the columns of a square matrix of vectors by swapping blocks of 1, 2, 4, ..."""
    count, size = len(rows), 1
    while size < count:
        for i in [i for i in range(count) if not i & size]:
            a, b = rows[i], rows[i + size]
            low = [c - size + count if c & size else c for c in range(count)]
            high = [c + count if c & size else c + size for c in range(count)]
            rows[i], rows[i + size] = pick(builder, a, b, low), pick(builder, a, b, high)
        size *= 2
    return rows
