"""Memory and functions by address, for kernels.

A kernel that another one calls by its address takes addresses and unsigned integers only: it makes
its arrays from records that hold their addresses and sizes. So a call costs a few nanoseconds,
whatever the number of arrays, and each kernel is compiled by itself.

In these functions `kind` is a type of numpy, or the dtype of a record, that is known when the
kernel is compiled. Arrays that are made here do not own their memory.
"""

from __future__ import annotations

from typing import Any

from scalarviz.engines.cpu.emitting import ir, pack_array, populate_array, types, unpack_tuple
from scalarviz.engines.cpu.simd import Emitted, instruction

WORD = ir.IntType(64)


@instruction
def array_at(context: Any, address: Any, count: Any, kind: Any) -> Emitted:
    """Return the array of `count` items of a kind at an address."""
    array = types.Array(kind.dtype, 1, "C")

    def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return made(target, builder, array, arguments[0], arguments[1:2])

    return array(types.uint64, types.uint64, kind), emit


@instruction
def table_at(context: Any, address: Any, rows: Any, columns: Any, kind: Any) -> Emitted:
    """Return the array of shape (rows, columns) at an address."""
    array = types.Array(kind.dtype, 2, "C")

    def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return made(target, builder, array, arguments[0], arguments[1:3])

    return array(types.uint64, types.uint64, types.uint64, kind), emit


@instruction
def record_at(context: Any, address: Any, kind: Any) -> Emitted:
    """Return the record of a kind at an address."""
    record = kind.dtype

    def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], target.get_value_type(record))

    return record(types.uint64, kind), emit


@instruction
def address_of(context: Any, array: Any, at: Any) -> Emitted:
    """Return the address of an item of an array, or of a row of a 2-D array."""

    def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = target.make_array(array)(target, builder, arguments[0])
        stride = builder.extract_value(found.strides, 0)
        first = builder.ptrtoint(found.data, WORD)
        return builder.add(first, builder.mul(arguments[1], stride))

    return types.uint64(array, types.uint64), emit


@instruction
def call(context: Any, function: Any, arguments: Any) -> Emitted:
    """Call the function at an address with a tuple of unsigned integers; it returns nothing."""

    def emit(target: Any, builder: Any, signature: Any, given: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [WORD] * len(arguments))
        function = builder.inttoptr(given[0], kind.as_pointer())
        builder.call(function, unpack_tuple(builder, given[1]))  # type: ignore[no-untyped-call]  # numba's
        return target.get_dummy_value()

    unsigned = types.UniTuple(types.uint64, len(arguments))  # type: ignore[no-untyped-call]  # numba's
    return types.void(types.uint64, unsigned), emit


def made(target: Any, builder: Any, kind: Any, address: Any, shape: Any) -> Any:
    """Emit an array, C-contiguous, at an address."""
    array = target.make_array(kind)(target, builder)
    item = target.get_data_type(kind.dtype)
    size = ir.Constant(WORD, target.get_abi_sizeof(item))
    strides = [size]
    for length in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    populate_array(  # type: ignore[no-untyped-call]  # numba's
        array,
        data=builder.inttoptr(address, item.as_pointer()),
        shape=pack_array(builder, shape),  # type: ignore[no-untyped-call]  # numba's
        strides=pack_array(builder, strides),  # type: ignore[no-untyped-call]  # numba's
        itemsize=size,
        meminfo=None,
    )
    return array._getvalue()
