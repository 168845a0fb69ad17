"""Blocks of sums for matrix products, as functions for kernels; see `simd`.

A value of type `Block` is a matrix of vectors that stay in registers during an inner loop. Its
shape depends on the processor: with 32 registers of 64 bytes, 8 rows of 2 vectors, whose 16 sums
hide the latency of the multiplications and need 10 loads for 16 of them; else 6 rows of 1 vector,
12 registers of 32 bytes.
The shape does not change the order in which numbers are added.

    first, at      index of the first number in its array
    apart          numbers from one row to the next
    left           rows of the result that are left: beyond them, a block repeats the last one
    further        numbers from one vector of a row to the next; 0 repeats the first one
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scalarviz.engines.cpu.emitting import cpu_target, ir, models, register_model, types
from scalarviz.engines.cpu.simd import Emitted, Lanes, copies, instruction, pick, read, write


class Block(types.Type):
    """numba's type of a matrix of vectors."""

    def __init__(self, dtype: Any) -> None:
        _, _, features = cpu_target.target_context.codegen().magic_tuple()
        self.lanes = Lanes(dtype)
        self.rows, self.vectors = (8, 2) if "+avx512f" in features else (6, 1)
        super().__init__(name=f"Block({dtype}, {self.rows}, {self.vectors})")


@register_model(Block)
class BlockModel(models.PrimitiveModel):
    """Represents a Block as an array of vectors of LLVM, row by row."""

    def __init__(self, manager: Any, block: Block) -> None:
        vector = manager.lookup(block.lanes).get_value_type()
        super().__init__(  # type: ignore[no-untyped-call]  # numba's
            manager, block, ir.ArrayType(vector, block.rows * block.vectors)
        )


@instruction
def block_rows(context: Any, x: Any) -> Emitted:
    """Return the number of rows of a block for the dtype of an array, unsigned."""

    def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return target.get_constant(types.uint64, Block(x.dtype).rows)

    return types.uint64(x), emit


@instruction
def block_columns(context: Any, x: Any) -> Emitted:
    """Return how many numbers a row of a block has for the dtype of an array, unsigned."""

    def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        block = Block(x.dtype)
        return target.get_constant(types.uint64, block.vectors * block.lanes.count)

    return types.uint64(x), emit


@instruction
def no_sums(context: Any, x: Any) -> Emitted:
    """Return a block of zeros for the dtype of an array."""

    def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return ir.Constant(target.get_value_type(signature.return_type), None)

    return Block(x.dtype)(x), emit


@instruction
def spread_rows(context: Any, x: Any, at: Any, left: Any) -> Emitted:
    """Return a block with x[at] in all of row 0, x[at + 1] in row 1, ..."""
    block = Block(x.dtype)

    def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, start, rows = arguments
        sums = ir.Constant(target.get_value_type(block), ir.Undefined)
        for k, row in enumerate(rows_of(builder, block, rows)):
            number = builder.load(place(target, builder, signature, arguments, 0, start, row))
            for v in range(block.vectors):
                vector = copies(builder, number, block.lanes.count)
                sums = builder.insert_value(sums, vector, k * block.vectors + v)
        return sums

    return block(x, at, left), emit


@instruction
def load_block(context: Any, z: Any, at: Any, apart: Any, left: Any, further: Any) -> Emitted:
    """Return a block with z[at + k apart], ... in row k."""
    sums = Block(z.dtype)

    def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = target.get_value_type(sums.lanes).as_pointer()
        block = ir.Constant(target.get_value_type(sums), ir.Undefined)
        for i, numbers in enumerate(places(target, builder, signature, arguments, sums)):
            lanes = read(builder, builder.bitcast(numbers, vector))
            block = builder.insert_value(block, lanes, i)
        return block

    return sums(z, at, apart, left, further), emit


@instruction
def add_products(
    context: Any, sums: Any, w: Any, first: Any, apart: Any, left: Any, x: Any, at: Any,
    further: Any,
) -> Emitted:  # fmt: skip
    """Return a block plus w[first + k apart] x[at], x[at + 1], ... in row k."""

    def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        block, _, start, between, rows, _, column, beside = arguments
        vector = target.get_value_type(sums.lanes).as_pointer()
        found = []
        for v in range(sums.vectors):
            shift = builder.mul(beside, beside.type(v))
            numbers = place(target, builder, signature, arguments, 5, shift, column)
            found.append(read(builder, builder.bitcast(numbers, vector)))
        for k, row in enumerate(rows_of(builder, sums, rows)):
            # The offset of the row comes first: it does not change during the loop.
            offset = builder.mul(row, between)
            number = builder.load(place(target, builder, signature, arguments, 1, offset, start))
            factor = copies(builder, number, sums.lanes.count)
            for v in range(sums.vectors):
                i = k * sums.vectors + v
                old = builder.extract_value(block, i)
                new = builder.fadd(builder.fmul(factor, found[v]), old)
                block = builder.insert_value(block, new, i)
        return block

    return sums(sums, w, first, apart, left, x, at, further), emit


@instruction
def store_block(
    context: Any, z: Any, at: Any, apart: Any, left: Any, further: Any, sums: Any
) -> Emitted:
    """Store row k of a block to z[at + k apart], ..."""

    def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = target.get_value_type(sums.lanes).as_pointer()
        for i, numbers in enumerate(places(target, builder, signature, arguments, sums)):
            lanes = builder.extract_value(arguments[-1], i)
            write(builder, lanes, builder.bitcast(numbers, vector))
        return target.get_dummy_value()

    return types.void(z, at, apart, left, further, sums), emit


@instruction
def add_block(
    context: Any, z: Any, at: Any, apart: Any, rows: Any, columns: Any, sums: Any
) -> Emitted:
    """Add row k of a block to z[at + k apart], ...; only the first `rows` and `columns`."""
    lanes = sums.lanes

    def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, start, between, most, wide, block = arguments
        index, vector = start.type, target.get_value_type(lanes)
        load, store = masked(builder, lanes, vector)
        align = ir.IntType(32)(4)
        for k in range(sums.rows):
            used = builder.select(is_before(builder, k, most), wide, index(0))
            width = copies(builder, used, lanes.count)
            for v in range(sums.vectors):
                lane = [*range(v * lanes.count, (v + 1) * lanes.count)]
                mask = builder.icmp_unsigned(
                    "<", ir.Constant(ir.VectorType(index, lanes.count), lane), width
                )
                shift = builder.add(builder.mul(between, index(k)), index(lane[0]))
                numbers = builder.bitcast(
                    place(target, builder, signature, arguments, 0, start, shift),
                    vector.as_pointer(),
                )
                old = builder.call(load, [numbers, align, mask, ir.Constant(vector, None)])
                new = builder.fadd(old, builder.extract_value(block, k * sums.vectors + v))
                builder.call(store, [new, numbers, align, mask])
        return target.get_dummy_value()

    return types.void(z, at, apart, rows, columns, sums), emit


@instruction
def transpose_lanes(
    context: Any, x: Any, first: Any, apart: Any, left: Any, z: Any, at: Any, across: Any
) -> Emitted:
    """z[at + t across + k] = x[first + k apart + t], for as many k and t as a vector has lanes."""
    lanes = Lanes(x.dtype)

    def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, start, between, rows, _, goal, beyond = arguments
        vector = target.get_value_type(lanes).as_pointer()
        found = []
        for row in rows_of(builder, lanes, rows):
            offset = builder.mul(row, between)
            numbers = place(target, builder, signature, arguments, 0, start, offset)
            found.append(read(builder, builder.bitcast(numbers, vector)))
        for t, column in enumerate(transposed(builder, found)):
            offset = builder.mul(beyond, beyond.type(t))
            numbers = place(target, builder, signature, arguments, 4, goal, offset)
            write(builder, column, builder.bitcast(numbers, vector))
        return target.get_dummy_value()

    return types.void(x, first, apart, left, z, at, across), emit


@instruction
def load_columns(
    context: Any, data: Any, order: Any, first: Any, left: Any, column: Any, z: Any, at: Any,
    across: Any,
) -> Emitted:  # fmt: skip
    """z[at + c across + t] = data[order[first + t], column + c], for as many c and t as lanes."""
    lanes = Lanes(data.dtype)

    def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, _, start, rows, begin, _, goal, beyond = arguments
        vector = target.get_value_type(lanes).as_pointer()
        table = target.make_array(data)(target, builder, arguments[0])
        columns = builder.extract_value(table.shape, 1)
        found = []
        for t in rows_of(builder, lanes, rows):
            row = builder.load(place(target, builder, signature, arguments, 1, start, t))
            offset = builder.mul(row, columns)
            numbers = place(target, builder, signature, arguments, 0, begin, offset)
            found.append(read(builder, builder.bitcast(numbers, vector)))
        for c, numbers in enumerate(transposed(builder, found)):
            offset = builder.mul(beyond, beyond.type(c))
            goals = place(target, builder, signature, arguments, 5, goal, offset)
            write(builder, numbers, builder.bitcast(goals, vector))
        return target.get_dummy_value()

    return types.void(data, order, first, left, column, z, at, across), emit


# ---- helpers that emit instructions --------------------------------------------------------------


def is_before(builder: Any, number: int, index: Any) -> Any:
    """Whether a number is less than an index."""
    return builder.icmp_unsigned("<", index.type(number), index)


def rows_of(builder: Any, shape: Any, left: Any) -> Iterator[Any]:
    """Iterate over the rows of a block, or as many as lanes: 0, 1, ..., at most `left` - 1."""
    last = builder.sub(left, left.type(1))
    for k in range(shape.rows if isinstance(shape, Block) else shape.count):
        yield builder.select(is_before(builder, k, last), left.type(k), last)


def place(
    target: Any, builder: Any, signature: Any, arguments: Any, array: int, base: Any, offset: Any
) -> Any:
    """Return a pointer to the number base + offset of the argument with index `array`."""
    made = target.make_array(signature.args[array])(target, builder, arguments[array])
    return builder.gep(builder.gep(made.data, [base]), [offset])


def places(
    target: Any, builder: Any, signature: Any, arguments: Any, block: Block
) -> Iterator[Any]:
    """Iterate over pointers to the vectors of a block in an array: row 0, row 1, ..."""
    _, start, between, rows, beside, *_ = arguments
    for row in rows_of(builder, block, rows):
        for v in range(block.vectors):
            shift = builder.add(builder.mul(row, between), builder.mul(beside, beside.type(v)))
            yield place(target, builder, signature, arguments, 0, start, shift)


def masked(builder: Any, lanes: Lanes, vector: Any) -> tuple[Any, Any]:
    """Declare LLVM's functions that load and store the lanes of a mask only."""
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
    """Return the columns of a square matrix of vectors: blocks of 1, 2, 4, ... change places."""
    count, size = len(rows), 1
    while size < count:
        for i in [i for i in range(count) if not i & size]:
            a, b = rows[i], rows[i + size]
            low = [c - size + count if c & size else c for c in range(count)]
            high = [c + count if c & size else c + size for c in range(count)]
            rows[i], rows[i + size] = pick(builder, a, b, low), pick(builder, a, b, high)
        size *= 2
    return rows
