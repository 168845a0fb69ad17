"""What a kernel may call: the tables of formulas behind plain functions, one for each purpose.

This is both the readable version and the source of the fast one. Called as it stands, it runs in
plain Python. `kernel_file.load` turns each function that begins with `row = nth(TABLE, formula)`
into one that asks once which row it is and then runs a loop of that row's own formula; so the
question is outside the loop, and the loop runs on several numbers at a time.

A file of kernels imports from here, decorates its functions with one of the marks below, and can be
read and checked without being compiled. A formula is told by its place in its table; the row losses
follow the losses.

An index that may count from the end costs a question for every number, and the loop is then one at
a time: hence `np.uint64`.

Arrays are C-contiguous. A *tile* is 2-D, (numbers, samples): its first `samples` columns are used.
`first` and `last` bound the rows of the bank that are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.formulas.activations import ACTIVATIONS
from scalarviz.formulas.arithmetic import COMPARISONS, OPERATIONS
from scalarviz.formulas.losses import LOSSES, ROW_LOSSES
from scalarviz.formulas.optimizers import OPTIMIZERS, clip, regularize
from scalarviz.formulas.randomness import drop_word, normal, philox, scramble, uniform, unit
from scalarviz.formulas.rowwise import ROW_FORMULAS, typed
from scalarviz.formulas.scaling import lowered_scale, raised_scale
from scalarviz.formulas.schedules import SCHEDULES
from scalarviz.formulas.table import Formula, table

__all__ = [
    "kernel", "parallel_kernel", "inner", "inlined", "chosen",
    "activation_forward", "activation_backward", "row_forward", "row_backward",
    "loss_forward", "loss_backward", "optimizer_update", "condition_gradients",
    "schedule_factor", "optimizer_constants",
    "unary_forward", "unary_backward", "binary_forward", "binary_backward", "ternary_forward",
    "ternary_backward", "philox", "scramble", "unit", "uniform", "normal", "drop_word",
    "lowered_scale", "raised_scale",
]  # fmt: skip

BLOCK = 64

Table = Mapping[str, Any]

# The operations of an expression by how many inputs they take; and the derivatives of those with
# several inputs, each a row of its own, called "divide by 1" if it is that by the second input.
UNARY, BINARY, TERNARY = [
    {k: row for k, row in {**OPERATIONS, **COMPARISONS}.items() if len(row.partials) == inputs}
    for inputs in (1, 2, 3)
]
BINARY_PARTIALS, TERNARY_PARTIALS = [
    table(
        Formula(f"{row.name} by {i}", partial, ())
        for row in rows.values()
        for i, partial in enumerate(row.partials)
    )
    for rows in (BINARY, TERNARY)
]
Index = Any  # an int, or one of numpy's
FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


def kernel(function: FunctionT) -> FunctionT:
    """Marks what is compiled; kept on disk, it runs without the GIL. Here it does nothing."""
    return function


def parallel_kernel(function: FunctionT) -> FunctionT:
    """The same, and `numba.prange` in it runs on all cores."""
    return function


def inner(function: FunctionT) -> FunctionT:
    """Marks what only other kernels call; without a way in from Python it is compiled sooner."""
    return function


def inlined(function: FunctionT) -> FunctionT:
    """Marks what is written out where it is called.

    numba optimizes the whole of what a kernel calls, and again for each kernel above it: where the
    calls of a step go one level deeper, compiling takes several seconds more.
    """
    return function


def nth(table: Table, formula: Index, before: Table | None = None) -> Any:
    """A row of a table, by its number; the rows of the table `before` are counted first."""
    return [*(before or {}).values(), *table.values()][formula]


def chosen(kernels: Mapping[str, tuple[Any, ...]], kind: Index) -> tuple[Any, ...]:
    """The row of a table of kernels for a kind of operation, by its number.

    A kernel whose first line is `run = chosen(KERNELS, kind)[PURPOSE]` becomes one that asks once
    which kind it is, and then calls that kind's own; see `kernel_choice.with_choices`.
    """
    return list(kernels.values())[int(kind)]


def activation_forward(formula: Index, z: FloatArray, y: FloatArray) -> None:
    """y[i] = f(z[i]); 1-D."""
    row = nth(ACTIVATIONS, formula)
    for i in range(len(z)):
        y[i] = row.value(z[i])


def activation_backward(formula: Index, z: FloatArray, y: FloatArray, gradient: FloatArray) -> None:
    """gradient[i] is multiplied by f'(z[i]), y being f(z); 1-D."""
    row = nth(ACTIVATIONS, formula)
    for i in range(len(z)):
        gradient[i] *= row.derivative(z[i], y[i])


def unary_forward(formula: Index, x: FloatArray, out: FloatArray) -> None:
    """out[i] = f(x[i]), f being a row of `UNARY`; 1-D."""
    row = nth(UNARY, formula)
    for i in range(len(x)):
        out[i] = row.value(x[i])


def unary_backward(
    formula: Index, x: FloatArray, out: FloatArray, upstream: FloatArray, gradient: FloatArray
) -> None:
    """upstream[i] f'(x[i]) is added to gradient[i], `out` being f(x); 1-D."""
    row = nth(UNARY, formula)
    for i in range(len(x)):
        gradient[i] += upstream[i] * row.derivative(x[i], out[i])


def binary_forward(formula: Index, x: FloatArray, y: FloatArray, out: FloatArray) -> None:
    """out[i] = f(x[i], y[i]), f being a row of `BINARY`; 1-D."""
    row = nth(BINARY, formula)
    for i in range(len(x)):
        out[i] = row.value(x[i], y[i])


def binary_backward(
    formula: Index, x: FloatArray, y: FloatArray, out: FloatArray, upstream: FloatArray,
    gradient: FloatArray,
) -> None:  # fmt: skip
    """The same as `unary_backward` for one derivative, a row of `BINARY_PARTIALS`; 1-D."""
    row = nth(BINARY_PARTIALS, formula)
    for i in range(len(x)):
        gradient[i] += upstream[i] * row.value(x[i], y[i], out[i])


def ternary_forward(
    formula: Index, x: FloatArray, y: FloatArray, z: FloatArray, out: FloatArray
) -> None:
    """out[i] = f(x[i], y[i], z[i]), f being a row of `TERNARY`; 1-D."""
    row = nth(TERNARY, formula)
    for i in range(len(x)):
        out[i] = row.value(x[i], y[i], z[i])


def ternary_backward(
    formula: Index, x: FloatArray, y: FloatArray, z: FloatArray, out: FloatArray,
    upstream: FloatArray, gradient: FloatArray,
) -> None:  # fmt: skip
    """The same as `unary_backward` for one derivative, a row of `TERNARY_PARTIALS`; 1-D."""
    row = nth(TERNARY_PARTIALS, formula)
    for i in range(len(x)):
        gradient[i] += upstream[i] * row.value(x[i], y[i], z[i], out[i])


def row_forward(
    formula: Index, x: FloatArray, y: FloatArray, memo: FloatArray, settings: FloatArray,
    samples: Index,
) -> None:  # fmt: skip
    """y[:, n] = f(x[:, n]), and memo[n] for the way back; tiles, memo and settings 1-D."""
    row = nth(ROW_FORMULAS, formula)
    for n in range(samples):
        memo[n] = row.forward(x[:, n], y[:, n], *typed(row.forward, settings))


def row_backward(
    formula: Index, x: FloatArray, y: FloatArray, memo: FloatArray, upstream: FloatArray,
    gradient: FloatArray, settings: FloatArray, samples: Index,
) -> None:  # fmt: skip
    """gradient[:, n] becomes the derivative by x[:, n]; upstream has the shape of y."""
    row = nth(ROW_FORMULAS, formula)
    for n in range(samples):
        row.backward(
            x[:, n],
            y[:, n],
            memo[n],
            upstream[:, n],
            gradient[:, n],
            *typed(row.backward, settings),
        )


def loss_forward(formula: Index, p: FloatArray, t: FloatArray, samples: Index) -> Any:
    """The sum of the weighted errors of a tile of predictions p and targets t."""
    if formula < len(LOSSES):
        return scalar_loss_forward(formula, p, t, samples)
    return row_loss_forward(formula, p, t, samples)


def loss_backward(
    formula: Index, p: FloatArray, t: FloatArray, scale: float, gradient: FloatArray, samples: Index
) -> None:
    """gradient = derivative of the error by p * scale, the weight being held; all are tiles."""
    if formula < len(LOSSES):
        scalar_loss_backward(formula, p, t, scale, gradient, samples)
    else:
        row_loss_backward(formula, p, t, scale, gradient, samples)


def scalar_loss_forward(formula: Index, p: FloatArray, t: FloatArray, samples: Index) -> Any:
    """`loss_forward` of a row of `LOSSES`."""
    row = nth(LOSSES, formula)
    total = 0.0
    for k in range(len(p)):
        for n in range(samples):
            total += row.value(p[k, n], t[k, n]) * row.weight(p[k, n], t[k, n])
    return total


def scalar_loss_backward(
    formula: Index, p: FloatArray, t: FloatArray, scale: float, gradient: FloatArray, samples: Index
) -> None:
    """`loss_backward` of a row of `LOSSES`."""
    row = nth(LOSSES, formula)
    for k in range(len(p)):
        for n in range(samples):
            error = row.derivative(p[k, n], t[k, n])
            gradient[k, n] = error * row.weight(p[k, n], t[k, n]) * scale


def row_loss_forward(formula: Index, p: FloatArray, t: FloatArray, samples: Index) -> Any:
    """`loss_forward` of a row of `ROW_LOSSES`."""
    row = nth(ROW_LOSSES, formula, LOSSES)
    errors = np.empty(samples, p.dtype)
    for n in range(samples):
        errors[n] = row.value(p[:, n], t[:, n])
    return errors.sum()


def row_loss_backward(
    formula: Index, p: FloatArray, t: FloatArray, scale: float, gradient: FloatArray, samples: Index
) -> None:
    """`loss_backward` of a row of `ROW_LOSSES`."""
    row = nth(ROW_LOSSES, formula, LOSSES)
    for n in range(samples):
        row.gradient(p[:, n], t[:, n], gradient[:, n])
    for k in range(len(p)):
        for n in range(samples):
            gradient[k, n] *= scale


def optimizer_update(
    formula: Index, value: FloatArray, gradient: FloatArray, slots: FloatArray,
    arguments: FloatArray, frozen: FloatArray, first: Index, last: Index,
) -> bool:  # fmt: skip
    """Move value[first:last] and its slots (slot, row); what is frozen stays as it is.

    `arguments` is what `Optimizer.arguments` gives, in the type of the weights. Returns whether
    all that has moved is finite.
    """
    start, stop = np.uint64(first), np.uint64(last)
    zero = value.dtype.type(0)
    excess = zero
    while start < stop:
        end = end_of_run(frozen, frozen[start], start, stop)
        if not frozen[start]:
            excess += move_rows(formula, value, gradient, slots, arguments, start, end)
        start = end
    return bool(excess == zero)


def end_of_run(frozen: FloatArray, kind: bool, first: Index, last: Index) -> Index:
    """The end of the rows from `first` on whose `frozen` is `kind`; a block at a time."""
    while first < last:
        stop = min(first + np.uint64(BLOCK), last)
        others = 0
        for i in range(first, stop):
            others += frozen[i] != kind
        if others:
            for i in range(first, stop):
                if frozen[i] != kind:
                    return i
        first = stop
    return last


def move_rows(
    formula: Index, value: FloatArray, gradient: FloatArray, slots: FloatArray,
    arguments: FloatArray, first: Index, last: Index,
) -> Any:  # fmt: skip
    """`optimizer_update` of rows of which none is frozen: 0, or NaN if not all are finite then."""
    row = nth(OPTIMIZERS, formula)
    zero = value.dtype.type(0)
    excess = zero
    for i in range(first, last):
        value[i], *slots[:, i] = row.update(value[i], gradient[i], *slots[:, i], *arguments)
        for number in (value[i], *slots[:, i]):
            excess += number * zero
    return excess


def condition_gradients(
    gradient: FloatArray, value: FloatArray, scale: float, limit: float, l1: float, l2: float,
    first: Index, last: Index, out: FloatArray,
) -> None:  # fmt: skip
    """out = the gradients as an update sees them: clipped, then with those of l1 and l2 added."""
    for i in range(np.uint64(first), np.uint64(last)):
        out[i] = regularize(clip(gradient[i], scale, limit), value[i], l1, l2)


def schedule_factor(formula: Index, step: float, settings: FloatArray) -> float:
    """By what the learning rate is multiplied at a step; always in float64."""
    row = nth(SCHEDULES, formula)
    return float(row.factor(step, *settings))


def optimizer_constants(
    formula: Index, step: float, settings: FloatArray, constants: FloatArray
) -> None:
    """The constants of a step, the first being step 1; always in float64."""
    row = nth(OPTIMIZERS, formula)
    (*constants[:],) = row.constants(step, *settings)
