"""Matrix products of a tile, which take nearly all of the run time, and their vector instructions.

The innermost loops keep sums in vector registers, one sample per lane. The loops compute four rows
of a matrix at a time. If fewer rows remain, the last one is computed several times with the same
bits, so that one loop covers all sizes. For wide layers see `wide_products.py`.

All indices are unsigned: numba checks signed indices for being negative at every access, which
prevents vectorisation. So ONE is used instead of 1.

    first, start, x0, g0, z0   index of the first number of a matrix or buffer in its array
    n, stride                  number of samples, and of numbers from one row to the next
    step                       numbers per vector
    tail, left                 samples that fill whole vectors, and the remaining ones
    o, i, t                    index of an output, an input, a sample

LLVM vectorises a plain loop if it can prove that this is safe. But it cannot keep several sums in
registers during an inner loop, as a fast matrix product requires; vector instructions do this
explicitly. A value of type `Lanes` is a vector of 64 bytes, 16 numbers in float32 and 8 in float64;
the compiler uses one register for it, or two or four narrower ones. A lane is a position in it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from scalarviz.engines.codegen.dispatch import inlined, inner
from scalarviz.engines.cpu.emitting import intrinsic, ir, models, register_model, types

Numbers = Any  # an array of the bank's type
Index = Any  # an unsigned integer
Table = Any  # an array of integers, or of records
Record = Any  # a record of a table
Four = tuple[Any, Any, Any, Any]  # for four rows at a time: start indices, or vectors

TILE = np.uint64(128)  # maximum number of samples in a tile
SHORTEST = np.uint64(16)  # minimum stride of a tile's rows
LONGEST = TILE + SHORTEST  # maximum stride
FEW = np.uint64(2)  # number of samples up to which vectors are slower
ZERO, ONE, TWO, THREE, FOUR = [np.uint64(i) for i in range(5)]


@inner
def affine(
    w: Numbers, first: Index, across: Index, down: Index, biases: Numbers, bias: Index,
    x: Numbers, z: Numbers, x0: Index, z0: Index, inputs: Index, outputs: Index, n: Index,
    stride: Index,
) -> None:  # fmt: skip
    """z[o] = biases[bias + o] + sum over i of w[first + o * across + i * down] * x[i].

    The sum is computed for n samples of a tile. An empty array of biases means zeros.
    """
    step, last, zero = lane_count(x), outputs - ONE, spread(w.dtype.type(0))
    shift = zero, zero, zero, zero
    for o in range(ZERO, outputs, FOUR):
        rows, results = four_rows(first, across, o, last), four_rows(z0, stride, o, last)
        if len(biases):
            shift = spread_four_rows(biases, four_rows(bias, ONE, o, last), ZERO)
        for t in range(ZERO, n, step):
            sums, at, k = shift, x0 + t, ZERO
            for _ in range(inputs):
                not_unrolled()
                sums = multiply_add_four(spread_four_rows(w, rows, k), load_lanes(x, at), sums)
                at += stride
                k += down
            store_four(z, results, t, sums)


@inner
def transposed_in_lanes(
    w: Numbers, first: Index, g: Numbers, g0: Index, h0: Index, inputs: Index, outputs: Index,
    stride: Index,
) -> Index:  # fmt: skip
    """h[i] = sum over o of w[first + o * inputs + i] * g[o], for one sample.

    An input is a lane, so that only whole vectors of inputs are computed. Returns their number.
    """
    step = lane_count(g)
    whole = inputs // step * step
    for i in range(ZERO, whole, step):
        s, at, row = spread(w.dtype.type(0)), g0, first + i
        for _ in range(outputs):
            not_unrolled()
            s = multiply_add(load_lanes(w, row), spread(g[at]), s)
            at += stride
            row += inputs
        store_apart(g, h0 + i * stride, stride, s)
    return whole


@inner
def outer(
    grad: Numbers, first: Index, x: Numbers, g: Numbers, x0: Index, g0: Index,
    inputs: Index, outputs: Index, n: Index, stride: Index,
) -> None:  # fmt: skip
    """grad[first + o * inputs + i] += sum over the samples of g[o] * x[i]."""
    if n <= FEW:
        outer_of_few(grad, first, x, g, x0, g0, inputs, outputs, n, stride)
        return
    step = lane_count(x)
    tail = (n - ONE) // step * step
    left = n - tail
    for o in range(ZERO, outputs, TWO):
        a0 = g0 + o * stride
        a1 = g0 + min(o + ONE, outputs - ONE) * stride
        for i in range(ZERO, inputs, FOUR):
            rows = four_rows(x0, stride, i, inputs - ONE)
            p = load_some_of_four(x, rows, tail, left)
            s0 = multiply_four(p, load_some(g, a0 + tail, left))
            s1 = multiply_four(p, load_some(g, a1 + tail, left))
            for t in range(ZERO, tail, step):
                not_unrolled()
                p = load_four(x, rows, t)
                s0 = multiply_add_four(p, load_lanes(g, a0 + t), s0)
                s1 = multiply_add_four(p, load_lanes(g, a1 + t), s1)
            at = first + o * inputs + i
            add_sums(grad, at, inputs - i, *s0)
            if o + ONE < outputs:
                add_sums(grad, at + inputs, inputs - i, *s1)


@inner
def outer_of_few(
    grad: Numbers, first: Index, x: Numbers, g: Numbers, x0: Index, g0: Index,
    inputs: Index, outputs: Index, n: Index, stride: Index,
) -> None:  # fmt: skip
    """Compute `outer` with one input per lane, which is faster for at most FEW samples."""
    step = lane_count(x)
    whole = inputs // step * step
    for t in range(n):
        for i in range(ZERO, whole, step):
            p = load_apart(x, x0 + i * stride + t, stride)
            for o in range(ZERO, outputs):
                at = first + o * inputs + i
                s = multiply_add(spread(g[g0 + o * stride + t]), p, load_lanes(grad, at))
                store_lanes(grad, at, s)
        for o in range(outputs):
            q = g[g0 + o * stride + t]
            row = first + o * inputs
            for i in range(whole, inputs):
                grad[row + i] += q * x[x0 + i * stride + t]


@inner
def add_row_sums(
    grad: Numbers, first: Index, g: Numbers, start: Index, rows: Index, n: Index, stride: Index
) -> None:
    """Add the gradients of the biases: grad[first + r] += sum over the samples of g[r]."""
    if n == ONE:  # sums of vectors take longer
        for r in range(rows):
            not_unrolled()
            grad[first + r] += g[start + r * stride]
        return
    step, last = lane_count(g), rows - ONE
    tail = (n - ONE) // step * step
    left = n - tail
    for r in range(ZERO, rows, FOUR):
        four = four_rows(start, stride, r, last)
        sums = load_some_of_four(g, four, tail, left)
        for t in range(ZERO, tail, step):
            not_unrolled()
            sums = add_four(sums, load_four(g, four, t))
        add_sums(grad, first + r, rows - r, *sums)


# ---- four rows at a time ------------------------------------------------------------------------


@inlined
def four_rows(start: Index, apart: Index, row: Index, last: Index) -> Four:
    """Return the start indices of rows `row` to `row + 3`; rows beyond `last` become `last`."""
    return (
        start + row * apart,
        start + min(row + ONE, last) * apart,
        start + min(row + TWO, last) * apart,
        start + min(row + THREE, last) * apart,
    )


@inlined
def load_four(x: Numbers, rows: Four, at: Index) -> Four:
    """Load a vector from each of four rows, starting at index `at` in the row."""
    return (
        load_lanes(x, rows[0] + at),
        load_lanes(x, rows[1] + at),
        load_lanes(x, rows[2] + at),
        load_lanes(x, rows[3] + at),
    )


@inlined
def load_some_of_four(x: Numbers, rows: Four, at: Index, count: Index) -> Four:
    """Load only the first `count` lanes from each of four rows, and 0 in the others."""
    return (
        load_some(x, rows[0] + at, count),
        load_some(x, rows[1] + at, count),
        load_some(x, rows[2] + at, count),
        load_some(x, rows[3] + at, count),
    )


@inlined
def spread_four_rows(x: Numbers, rows: Four, at: Index) -> Four:
    """Load the number at index `at` of each of four rows into every lane of a vector."""
    return (
        spread(x[rows[0] + at]),
        spread(x[rows[1] + at]),
        spread(x[rows[2] + at]),
        spread(x[rows[3] + at]),
    )


@inlined
def store_four(z: Numbers, rows: Four, at: Index, p: Four) -> None:
    """Store a vector to each of four rows, starting at index `at` in the row."""
    store_lanes(z, rows[0] + at, p[0])
    store_lanes(z, rows[1] + at, p[1])
    store_lanes(z, rows[2] + at, p[2])
    store_lanes(z, rows[3] + at, p[3])


@inlined
def add_four(p: Four, q: Four) -> Four:
    """Return p + q for each of four pairs of vectors."""
    return (
        add_lanes(p[0], q[0]),
        add_lanes(p[1], q[1]),
        add_lanes(p[2], q[2]),
        add_lanes(p[3], q[3]),
    )


@inlined
def multiply_four(p: Four, q: Numbers) -> Four:
    """Return p * q for each of four vectors p."""
    return multiply(p[0], q), multiply(p[1], q), multiply(p[2], q), multiply(p[3], q)


@inlined
def multiply_add_four(p: Four, q: Numbers, sums: Four) -> Four:
    """Return p * q + s for each of four vectors p and the corresponding sums s."""
    return (
        multiply_add(p[0], q, sums[0]),
        multiply_add(p[1], q, sums[1]),
        multiply_add(p[2], q, sums[2]),
        multiply_add(p[3], q, sums[3]),
    )


# ---- vector instructions ------------------------------------------------------------------------


# Instructions as functions for kernels. Each is written as the function that emits it: before the
# arguments, which are LLVM values there, it takes numba's target and builder and the signature. `x`
# is a flat array and `at` an index in it.

LINE_BITS = 512  # 64 bytes: a line of the cache, and the widest vector register


class Lanes(types.Type):
    """numba type of a vector of 64 bytes."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        self.count = LINE_BITS // dtype.bitwidth
        super().__init__(name=f"Lanes({dtype})")


@register_model(Lanes)
class LanesModel(models.PrimitiveModel):
    """Represent Lanes as an LLVM vector."""

    def __init__(self, manager: Any, lanes: Lanes) -> None:
        number = manager.lookup(lanes.dtype).get_value_type()
        vector = ir.VectorType(number, lanes.count)
        super().__init__(manager, lanes, vector)  # type: ignore[no-untyped-call]  # numba's


def instruction(returns: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function that emits instructions, so that kernels can call it.

    Its integer arguments become unsigned.

    Args:
        returns: numba type of the result, or a function that maps the argument types to it
    """

    def decorate(emit: Callable[..., Any]) -> Any:
        @wraps(emit)
        def find(context: Any, *given: Any) -> Any:
            def run(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                found = emit(target, builder, signature, *arguments)
                return target.get_dummy_value() if found is None else found

            result = returns if isinstance(returns, types.Type) else returns(*given)
            return result(*map(unsigned, given)), run

        # numba reads the names of the arguments, without the first one, the context.
        known = inspect.signature(emit)
        find.__signature__ = known.replace(parameters=[*known.parameters.values()][2:])  # type: ignore[attr-defined]
        return intrinsic(find)

    return decorate


def unsigned(kind: Any) -> Any:
    """Return the numba type of an argument, with unsigned instead of signed integers."""
    if isinstance(kind, types.BaseTuple):
        return types.UniTuple(types.uint64, len(kind))  # type: ignore[no-untyped-call]  # numba's
    return types.uint64 if isinstance(kind, types.Integer) else kind


def lanes_of(x: Any, *others: Any) -> Lanes:
    """Return the type of a vector that holds numbers of an array's dtype."""
    return Lanes(x.dtype)


def first_of(a: Any, *others: Any) -> Any:
    """Return the type of the first argument."""
    return a


@instruction(types.uint64)
def lane_count(target: Any, builder: Any, signature: Any, x: Any) -> Any:
    """Return the number of lanes of a vector for an array's dtype, as an unsigned integer."""
    return target.get_constant(types.uint64, lanes_of(*signature.args).count)


@instruction(Lanes)
def spread(target: Any, builder: Any, signature: Any, number: Any) -> Any:
    """Return a vector with the same number in every lane."""
    return copies(builder, number, signature.return_type.count)


@instruction(lanes_of)
def load_lanes(target: Any, builder: Any, signature: Any, x: Any, at: Any) -> Any:
    """Load x[at], x[at + 1], ..."""
    lanes = signature.return_type
    return read(builder, pointer(target, builder, signature.args[0], x, at, lanes))


@instruction(lanes_of)
def load_some(target: Any, builder: Any, signature: Any, x: Any, at: Any, count: Any) -> Any:
    """Load the first `count` lanes from x[at], and 0 in the others; all lanes are read."""
    lanes = signature.return_type
    places = ir.Constant(ir.VectorType(count.type, lanes.count), [*range(lanes.count)])
    is_there = builder.icmp_unsigned("<", places, copies(builder, count, lanes.count))
    found = read(builder, pointer(target, builder, signature.args[0], x, at, lanes))
    return builder.select(is_there, found, ir.Constant(found.type, None))


@instruction(lanes_of)
def load_apart(target: Any, builder: Any, signature: Any, x: Any, at: Any, apart: Any) -> Any:
    """Load x[at], x[at + apart], x[at + 2 apart], ..."""
    lanes = signature.return_type
    place = pointer(target, builder, signature.args[0], x, at, lanes.dtype)
    found = ir.Constant(target.get_value_type(lanes), ir.Undefined)
    for i in range(lanes.count):
        found = builder.insert_element(found, builder.load(place), ir.IntType(32)(i))
        place = builder.gep(place, [apart])
    return found


@instruction(types.void)
def store_apart(
    target: Any, builder: Any, signature: Any, x: Any, at: Any, apart: Any, lanes: Any
) -> None:
    """Store a vector to x[at], x[at + apart], x[at + 2 apart], ..."""
    array, *_, kind = signature.args
    place = pointer(target, builder, array, x, at, array.dtype)
    for i in range(kind.count):
        builder.store(builder.extract_element(lanes, ir.IntType(32)(i)), place)
        place = builder.gep(place, [apart])


@instruction(types.void)
def store_lanes(target: Any, builder: Any, signature: Any, x: Any, at: Any, lanes: Any) -> None:
    """Store a vector to x[at], x[at + 1], ..."""
    array, _, kind = signature.args
    write(builder, lanes, pointer(target, builder, array, x, at, kind))


@instruction(first_of)
def multiply_add(target: Any, builder: Any, signature: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a * b + c in each lane."""
    return builder.fadd(builder.fmul(a, b), c)


@instruction(first_of)
def multiply(target: Any, builder: Any, signature: Any, a: Any, b: Any) -> Any:
    """Return a * b in each lane."""
    return builder.fmul(a, b)


@instruction(types.void)
def not_unrolled(target: Any, builder: Any, signature: Any) -> None:
    """Prevent LLVM from unrolling the loop that contains this call."""
    nothing = ir.FunctionType(ir.VoidType(), [])
    call = builder.asm(nothing, "", "", [], side_effect=True)
    call.attributes.add("convergent")


@instruction(first_of)
def add_lanes(target: Any, builder: Any, signature: Any, a: Any, b: Any) -> Any:
    """Return a + b in each lane."""
    return builder.fadd(a, b)


@instruction(first_of)
def larger_lanes(target: Any, builder: Any, signature: Any, a: Any, b: Any) -> Any:
    """Return the larger number in each lane; NaN in `b` is ignored."""
    return builder.select(builder.fcmp_ordered(">", b, a), b, a)


@instruction(types.void)
def add_sums(
    target: Any, builder: Any, signature: Any, x: Any, at: Any, count: Any, a: Any, b: Any, c: Any,
    d: Any,
) -> None:  # fmt: skip
    """Sum the lanes of each of four vectors; add the first `count` sums to x[at], x[at + 1], ..."""
    array, *_, lanes = signature.args
    sums = fold(builder, (a, b, c, d), lanes.count)
    first = pointer(target, builder, array, x, at, array.dtype)
    four = builder.bitcast(first, sums.type.as_pointer())
    with builder.if_else(is_less(builder, 3, count)) as (all_four, fewer):
        with all_four:
            write(builder, builder.fadd(read(builder, four), sums), four)
        with fewer:
            for i in range(3):
                with builder.if_then(is_less(builder, i, count)):
                    place = builder.gep(first, [ir.IntType(32)(i)])
                    one = builder.extract_element(sums, ir.IntType(32)(i))
                    builder.store(builder.fadd(builder.load(place), one), place)


@instruction(types.void)
def add_sums_apart(
    target: Any, builder: Any, signature: Any, x: Any, at: Any, apart: Any, count: Any, a: Any,
    b: Any, c: Any, d: Any,
) -> None:  # fmt: skip
    """Compute `add_sums` for x[at], x[at + apart], x[at + 2 * apart], ..."""
    array, *_, lanes = signature.args
    sums = fold(builder, (a, b, c, d), lanes.count)
    place = pointer(target, builder, array, x, at, array.dtype)
    for i in range(4):
        with builder.if_then(is_less(builder, i, count)):
            one = builder.extract_element(sums, ir.IntType(32)(i))
            further = builder.gep(place, [builder.mul(apart, apart.type(i))])
            builder.store(builder.fadd(builder.load(further), one), further)


# ---- helpers that emit instructions -------------------------------------------------------------


def copies(builder: Any, number: Any, count: int) -> Any:
    """Return a vector of `count` copies of a number."""
    nothing = ir.Constant(ir.VectorType(number.type, count), ir.Undefined)
    first = builder.insert_element(nothing, number, ir.IntType(32)(0))
    return pick(builder, first, nothing, [0] * count)


def pick(builder: Any, a: Any, b: Any, places: list[int]) -> Any:
    """Shuffle two vectors: return the numbers at `places` of the concatenation of a and b."""
    return builder.shuffle_vector(
        a, b, ir.Constant(ir.VectorType(ir.IntType(32), len(places)), places)
    )


def fold(builder: Any, vectors: Any, count: int) -> Any:
    """Return a vector with the sum of the numbers of each of four vectors.

    Halves of two vectors are combined into one vector, and the other halves into a second one;
    their sum reduces both vectors with a single addition.
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
    """Return the numbers at `places` of two vectors plus the numbers `apart` positions later."""
    further = [place + apart for place in places]
    return builder.fadd(pick(builder, a, b, places), pick(builder, a, b, further))


def pointer(target: Any, builder: Any, kind: Any, array: Any, at: Any, lanes: Any) -> Any:
    """Return a pointer to a vector of type `lanes` that begins at an index of an array."""
    found = target.make_array(kind)(target, builder, array)
    first = builder.gep(found.data, [at])
    return builder.bitcast(first, target.get_value_type(lanes).as_pointer())


def is_less(builder: Any, number: int, index: Any) -> Any:
    """Emit a comparison: whether a constant is less than an index."""
    return builder.icmp_unsigned("<", ir.Constant(index.type, number), index)


def read(builder: Any, place: Any) -> Any:
    """Load the vector at a pointer that need not be aligned to a cache line."""
    found = builder.load(place)
    found.align = 4
    return found


def write(builder: Any, lanes: Any, place: Any) -> None:
    """Store a vector at a pointer that need not be aligned to a cache line."""
    builder.store(lanes, place).align = 4
