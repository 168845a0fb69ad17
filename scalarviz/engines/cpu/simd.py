"""Vector instructions as functions for kernels.

LLVM vectorises a plain loop where it can prove that this is safe. It cannot keep several sums in
registers during an inner loop, as a fast matrix product does; with these functions a kernel does so
explicitly. A value of type `Lanes` is a vector of 64 bytes, 16 numbers in float32 and 8 in float64;
the compiler uses one register for it, or two or four narrower ones. A lane is a position in it.

In these functions `x` is a flat array and `at` an index in it. `emit` writes LLVM's instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scalarviz.engines.cpu.emitting import intrinsic, ir, models, register_model, types

LINE_BITS = 512  # 64 bytes: a line of the cache, and the widest vector register

Emitted = tuple[Any, Callable[..., Any]]  # signature of a function, and the one that emits its code


class Lanes(types.Type):
    """numba's type of a vector of 64 bytes."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        self.count = LINE_BITS // dtype.bitwidth
        super().__init__(name=f"Lanes({dtype})")


@register_model(Lanes)
class LanesModel(models.PrimitiveModel):
    """Represents Lanes as a vector of LLVM."""

    def __init__(self, manager: Any, lanes: Lanes) -> None:
        number = manager.lookup(lanes.dtype).get_value_type()
        vector = ir.VectorType(number, lanes.count)
        super().__init__(manager, lanes, vector)  # type: ignore[no-untyped-call]  # numba's


def instruction(function: Callable[..., Emitted]) -> Any:
    """Decorate a function that returns, for argument types, a signature and a code emitter."""
    return intrinsic(function)


@instruction
def lane_count(context: Any, x: Any) -> Emitted:
    """Return the number of lanes for the dtype of an array, unsigned."""

    def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return target.get_constant(types.uint64, Lanes(x.dtype).count)

    return types.uint64(x), emit


@instruction
def spread(context: Any, number: Any) -> Emitted:
    """Return a vector with the same number in every lane."""
    lanes = Lanes(number)

    def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return copies(builder, arguments[0], lanes.count)

    return lanes(number), emit


@instruction
def load_lanes(context: Any, x: Any, at: Any) -> Emitted:
    """Load x[at], x[at + 1], ..."""

    def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return read(builder, pointer(target, builder, signature, arguments, signature.return_type))

    return Lanes(x.dtype)(x, at), emit


@instruction
def load_some(context: Any, x: Any, at: Any, count: Any) -> Emitted:
    """Load the first `count` lanes from x[at] on, and 0 in the others; memory of all is read."""
    lanes = Lanes(x.dtype)

    def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        index = arguments[2].type
        places = ir.Constant(ir.VectorType(index, lanes.count), [*range(lanes.count)])
        is_there = builder.icmp_unsigned("<", places, copies(builder, arguments[2], lanes.count))
        found = read(builder, pointer(target, builder, signature, arguments, lanes))
        return builder.select(is_there, found, ir.Constant(found.type, None))

    return lanes(x, at, count), emit


@instruction
def load_apart(context: Any, x: Any, at: Any, apart: Any) -> Emitted:
    """Load x[at], x[at + apart], x[at + 2 apart], ..."""
    lanes = Lanes(x.dtype)

    def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = pointer(target, builder, signature, arguments, x.dtype)
        found = ir.Constant(target.get_value_type(lanes), ir.Undefined)
        for i in range(lanes.count):
            found = builder.insert_element(found, builder.load(place), ir.IntType(32)(i))
            place = builder.gep(place, [arguments[2]])
        return found

    return lanes(x, at, apart), emit


@instruction
def store_lanes(context: Any, x: Any, at: Any, lanes: Any) -> Emitted:
    """Store a vector to x[at], x[at + 1], ..."""

    def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        write(builder, arguments[2], pointer(target, builder, signature, arguments, lanes))
        return target.get_dummy_value()

    return types.void(x, at, lanes), emit


@instruction
def multiply_add(context: Any, a: Any, b: Any, c: Any) -> Emitted:
    """Return a b + c in each lane."""

    def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fadd(builder.fmul(arguments[0], arguments[1]), arguments[2])

    return a(a, b, c), emit


@instruction
def multiply(context: Any, a: Any, b: Any) -> Emitted:
    """Return a b in each lane."""

    def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fmul(arguments[0], arguments[1])

    return a(a, b), emit


@instruction
def not_unrolled(context: Any) -> Emitted:
    """Prevent LLVM from unrolling the loop that contains this call."""

    def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        nothing = ir.FunctionType(ir.VoidType(), [])
        call = builder.asm(nothing, "", "", [], side_effect=True)
        call.attributes.add("convergent")
        return target.get_dummy_value()

    return types.void(), emit


@instruction
def add_lanes(context: Any, a: Any, b: Any) -> Emitted:
    """Return a + b in each lane."""

    def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fadd(arguments[0], arguments[1])

    return a(a, b), emit


@instruction
def add_sums(context: Any, x: Any, at: Any, count: Any, a: Any, b: Any, c: Any, d: Any) -> Emitted:
    """Add the sums over the lanes of the first `count` of four vectors to x[at], x[at + 1], ..."""

    def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        sums = fold(builder, arguments[3:], a.count)
        first = pointer(target, builder, signature, arguments, x.dtype)
        four = builder.bitcast(first, sums.type.as_pointer())
        with builder.if_else(is_less(builder, 3, arguments[2])) as (all_four, fewer):
            with all_four:
                write(builder, builder.fadd(read(builder, four), sums), four)
            with fewer:
                for i in range(3):
                    with builder.if_then(is_less(builder, i, arguments[2])):
                        place = builder.gep(first, [ir.IntType(32)(i)])
                        one = builder.extract_element(sums, ir.IntType(32)(i))
                        builder.store(builder.fadd(builder.load(place), one), place)
        return target.get_dummy_value()

    return types.void(x, at, count, a, b, c, d), emit


@instruction
def add_sums_apart(
    context: Any, x: Any, at: Any, apart: Any, count: Any, a: Any, b: Any, c: Any, d: Any
) -> Emitted:
    """Do the same as `add_sums` for x[at], x[at + apart], x[at + 2 apart], ..."""

    def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        sums = fold(builder, arguments[4:], a.count)
        place = pointer(target, builder, signature, arguments, x.dtype)
        for i in range(4):
            with builder.if_then(is_less(builder, i, arguments[3])):
                one = builder.extract_element(sums, ir.IntType(32)(i))
                further = builder.gep(place, [builder.mul(arguments[2], arguments[2].type(i))])
                builder.store(builder.fadd(builder.load(further), one), further)
        return target.get_dummy_value()

    return types.void(x, at, apart, count, a, b, c, d), emit


# ---- helpers that emit instructions --------------------------------------------------------------


def copies(builder: Any, number: Any, count: int) -> Any:
    """Return a vector of `count` copies of a number."""
    nothing = ir.Constant(ir.VectorType(number.type, count), ir.Undefined)
    first = builder.insert_element(nothing, number, ir.IntType(32)(0))
    return pick(builder, first, nothing, [0] * count)


def pick(builder: Any, a: Any, b: Any, places: list[int]) -> Any:
    """Shuffle two vectors: return the numbers at `places` of a and b, concatenated."""
    return builder.shuffle_vector(
        a, b, ir.Constant(ir.VectorType(ir.IntType(32), len(places)), places)
    )


def fold(builder: Any, vectors: Any, count: int) -> Any:
    """Return a vector of four numbers: the sum of each of four vectors.

    Halves of two vectors are combined to one vector, and added to the combined other halves, so
    that each addition reduces several vectors at once.
    """
    a, b, c, d = vectors
    close = [i for k in range(0, count, 4) for i in (k, k + count, k + 1, k + count + 1)]
    ab = add_picked(builder, a, b, close, 2)
    cd = add_picked(builder, c, d, close, 2)
    pairs = [i for k in range(0, count, 4) for i in (k, k + 1, k + count, k + count + 1)]
    sums = add_picked(builder, ab, cd, pairs, 2)
    while count > 4:
        count //= 2
        sums = add_picked(builder, sums, sums, [*range(count)], count)
    return sums


def add_picked(builder: Any, a: Any, b: Any, places: list[int], apart: int) -> Any:
    """Return the numbers at `places` of two vectors, plus those `apart` further on."""
    further = [place + apart for place in places]
    return builder.fadd(pick(builder, a, b, places), pick(builder, a, b, further))


def pointer(target: Any, builder: Any, signature: Any, arguments: Any, lanes: Any) -> Any:
    """Return a pointer to lanes in an array; the first two arguments are the array and an index."""
    array = target.make_array(signature.args[0])(target, builder, arguments[0])
    first = builder.gep(array.data, [arguments[1]])
    return builder.bitcast(first, target.get_value_type(lanes).as_pointer())


def is_less(builder: Any, number: int, index: Any) -> Any:
    """Whether a number is less than an index."""
    return builder.icmp_unsigned("<", ir.Constant(index.type, number), index)


def read(builder: Any, place: Any) -> Any:
    """Load the vector at a pointer that need not be aligned to a cache line."""
    found = builder.load(place)
    found.align = 4
    return found


def write(builder: Any, lanes: Any, place: Any) -> None:
    """Store a vector at a pointer that need not be aligned to a cache line."""
    builder.store(lanes, place).align = 4
