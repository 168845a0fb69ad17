"""Functions of kernels that compute a formula, or select one by index: one function per purpose.

This file is both the readable version, which runs in plain Python, and the source of the fast one.
A function that begins with `row = nth(TABLE, formula)` gets the formula of one row in a kernel of
the cpu engine; see `kernel_units.py`. The functions of `cuda_dispatch.py` are written the same way.

A kernel file imports from here and decorates its functions with one of the marks below; it can be
read and type-checked without being compiled.

numba checks signed indices for being negative at every access, which prevents vectorisation, so
indices are `np.uint64`.

    formula            index of a row in its table; row losses are counted after the losses. It is
                       ignored by a kernel compiled for a single row
    first, last        range of parameters: from `first` up to, but not including, `last`
    samples            number of columns of a tile that are used
    memo               numbers saved by forward for backward, one per sample
    upstream           gradients of the outputs
    gradient           gradients of the inputs

Arrays are C-contiguous. A *tile* is 2-D, of shape (numbers, samples).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.elementary import exp
from scalarviz.core.formulas.formula import Formula, table
from scalarviz.core.formulas.layer_formulas import PARAMETRIC_FORMULAS, ROW_FORMULAS, typed
from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES
from scalarviz.core.formulas.optimizers import OPTIMIZERS, SCHEDULES, clip, regularize
from scalarviz.core.formulas.randomness import drop_word, normal, philox, scramble, uniform, unit
from scalarviz.core.precision import lowered_scale, raised_scale
from scalarviz.core.trace import EVERY_OPERATION

__all__ = [
    "kernel", "by_address", "in_parallel", "inner", "exact", "inlined", "chosen", "Real",
    "activation_forward", "activation_backward", "row_forward", "row_backward",
    "parametric_forward", "parametric_backward", "parametric_sum",
    "scalar_loss_forward", "scalar_loss_backward", "row_loss_forward", "row_loss_backward",
    "optimizer_update", "condition_gradients", "schedule_factor", "optimizer_constants",
    "operation_forward", "operation_backward", "philox", "scramble", "unit", "uniform", "normal",
    "drop_word", "lowered_scale", "raised_scale", "exponentials",
]  # fmt: skip

BLOCK = 64
Real: Any = np.float64  # the working type in a kernel file

Table = Mapping[str, Any]


def partial_row(formula: Formula, i: int) -> Formula:
    """Return a partial derivative as a formula of the inputs and the result, e.g. "divide by 1"."""
    return Formula(f"{formula.name} by {i}", formula.partials[i], ())


PARTIALS = table(
    partial_row(row, i) for row in EVERY_OPERATION.values() for i in range(len(row.partials))
)
Index = Any  # an int, or a numpy integer
FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


def mark(function: FunctionT) -> FunctionT:
    """Return a function unchanged; the mark's name determines how the function is compiled.

    kernel       a kernel: compiled, cached on disk, run without the GIL
    by_address   a kernel that is compiled separately and called by its address. Its arguments are
                 unsigned integers, and it returns nothing; see `kernel_units`
    in_parallel  a kernel called by its address whose loops over `numba.prange` run on all cores.
                 Such a loop calls other kernels by their address: numba drops writes to an array
                 made from an address if the same kernel does not read it
    inner        called only by kernels: compiles faster without a wrapper for Python
    exact        keeps the order of its sums, and is compiled into each kernel that calls it
    inlined      inlined where it is called. numba optimizes everything that a kernel calls,
                 again for each level of calls above it: another level of calls in a step makes
                 compilation several seconds slower
    """
    return function


kernel = by_address = in_parallel = inner = exact = inlined = mark


def nth(table: Table, formula: Index, before: Table | None = None) -> Any:
    """Return a row of a table by index; indices continue after the rows of the table `before`."""
    return [*(before or {}).values(), *table.values()][formula]


def chosen(kernels: Mapping[str, tuple[Any, ...]], kind: Index) -> tuple[Any, ...]:
    """Return the kernels for a kind of operation, by its index in a table.

    A function whose first line is `run = chosen(KERNELS, kind)[PURPOSE]` is compiled to one that
    compares `kind` once and then calls the kernel; see `formula_loops.choose`.
    """
    return list(kernels.values())[int(kind)]


def activation_forward(formula: Index, z: FloatArray, y: FloatArray) -> None:
    """y[i] = f(z[i]); 1-D."""
    row = nth(ACTIVATIONS, formula)
    for i in range(len(z)):
        y[i] = row.value(z[i])


def activation_backward(formula: Index, z: FloatArray, y: FloatArray, gradient: FloatArray) -> None:
    """gradient[i] *= f'(z[i]), where y = f(z); 1-D."""
    row = nth(ACTIVATIONS, formula)
    for i in range(len(z)):
        gradient[i] *= row.derivative(z[i], y[i])


def parametric_forward(formula: Index, x: FloatArray, given: FloatArray, y: FloatArray) -> None:
    """y[i] = f(x[i], ...), where `given` has the formula's parameters; 1-D."""
    row = nth(PARAMETRIC_FORMULAS, formula)
    for i in range(len(x)):
        y[i] = row.value(x[i], *given)


def parametric_backward(
    formula: Index, x: FloatArray, given: FloatArray, upstream: FloatArray, gradient: FloatArray
) -> None:
    """gradient[i] = upstream[i] f'(x[i], ...); 1-D."""
    row = nth(PARAMETRIC_FORMULAS, formula)
    for i in range(len(x)):
        gradient[i] = upstream[i] * row.derivative(x[i], *given)


def parametric_sum(
    formula: Index, place: Index, x: FloatArray, given: FloatArray, upstream: FloatArray
) -> Any:
    """Return the sum of upstream[i] times the derivative with respect to one parameter; 1-D."""
    row = nth(PARAMETRIC_FORMULAS, formula)
    total = 0.0
    for i in range(len(x)):
        total += upstream[i] * row.by_parameter(place, x[i], *given)
    return total


def operation_forward(formula: Index, operands: tuple[FloatArray, ...], out: FloatArray) -> None:
    """out[i] = f(x[i], ...); the arguments of f are the first operands; all 1-D."""
    row = nth(EVERY_OPERATION, formula)
    for i in range(len(out)):
        out[i] = row.value(*(each[i] for each in operands))


def operation_backward(
    formula: Index, operands: tuple[FloatArray, ...], upstream: FloatArray, gradient: FloatArray
) -> None:
    """gradient[i] += upstream[i] times a derivative of f(x[i], ...), a row of `PARTIALS`."""
    row = nth(PARTIALS, formula)
    for i in range(len(gradient)):
        gradient[i] += upstream[i] * row.value(*(each[i] for each in operands))


def row_forward(
    formula: Index, x: FloatArray, y: FloatArray, memo: FloatArray, settings: FloatArray,
    samples: Index,
) -> None:  # fmt: skip
    """Compute y[:, n] = f(x[:, n]) and memo[n]; x and y are tiles, memo and settings 1-D."""
    row = nth(ROW_FORMULAS, formula)
    for n in range(samples):
        memo[n] = row.forward(x[:, n], y[:, n], *typed(row.forward, settings))


def row_backward(
    formula: Index, x: FloatArray, y: FloatArray, memo: FloatArray, upstream: FloatArray,
    gradient: FloatArray, settings: FloatArray, samples: Index,
) -> None:  # fmt: skip
    """Write the gradient with respect to x[:, n] to gradient[:, n]; upstream has the shape of y."""
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


def exponentials(x: FloatArray) -> None:
    """x[i] = exp(x[i]); 1-D."""
    for i in range(len(x)):
        x[i] = exp(x[i])


def scalar_loss_forward(formula: Index, p: FloatArray, t: FloatArray, samples: Index) -> Any:
    """Return the sum of the weighted errors of predictions p and targets t, which are tiles."""
    row = nth(LOSSES, formula)
    total = 0.0
    for k in range(len(p)):
        for n in range(samples):
            total += row.value(p[k, n], t[k, n]) * row.weight(p[k, n], t[k, n])
    return total


def scalar_loss_backward(
    formula: Index, p: FloatArray, t: FloatArray, scale: float, gradient: FloatArray, samples: Index
) -> None:
    """Write `scale` times the derivative of the error with respect to p to `gradient`.

    The error's weight is treated as a constant. p, t and gradient are tiles.
    """
    row = nth(LOSSES, formula)
    for k in range(len(p)):
        for n in range(samples):
            error = row.derivative(p[k, n], t[k, n])
            gradient[k, n] = error * row.weight(p[k, n], t[k, n]) * scale


def row_loss_forward(formula: Index, p: FloatArray, t: FloatArray, samples: Index) -> Any:
    """Return the sum of the weighted errors for a row of `ROW_LOSSES`; p and t are tiles."""
    row = nth(ROW_LOSSES, formula, LOSSES)
    errors = np.empty(samples, p.dtype)
    for n in range(samples):
        errors[n] = row.value(p[:, n], t[:, n])
    return errors.sum()


def row_loss_backward(
    formula: Index, p: FloatArray, t: FloatArray, scale: float, gradient: FloatArray, samples: Index
) -> None:
    """Compute the gradient for a row of `ROW_LOSSES`; arguments as for `scalar_loss_backward`."""
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
    """Update value[first:last] and slots, shape (slots, rows); frozen parameters do not change.

    `arguments` is the result of `Optimizer.arguments`, in the type of the weights. Returns whether
    all updated weights and slots are finite.
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
    """Return the end of the range from `first` in which all `frozen` flags equal `kind`."""
    while first < last:
        stop = min(first + np.uint64(BLOCK), last)
        others = 0
        for i in range(first, stop):
            others += frozen[i] != kind
        if others:
            for i in range(first, stop):
                if frozen[i] != kind:
                    return np.uint64(i)  # in plain Python, numpy < 2 adds an int as a float64
        first = stop
    return last


def move_rows(
    formula: Index, value: FloatArray, gradient: FloatArray, slots: FloatArray,
    arguments: FloatArray, first: Index, last: Index,
) -> Any:  # fmt: skip
    """Update parameters, none of them frozen; return 0, or NaN if a result is not finite.

    Processors take many times longer for numbers below the smallest normal one. A slot that shrinks
    without gradients would get there, and becomes 0; a weight of usual size does not notice it.
    """
    row = nth(OPTIMIZERS, formula)
    zero, smallest = value.dtype.type(0), np.finfo(value.dtype).tiny
    excess = zero
    for i in range(first, last):
        value[i], *slots[:, i] = row.update(value[i], gradient[i], *slots[:, i], *arguments)
        for number in (value[i], *slots[:, i]):
            excess += number * zero
        for slot in slots:
            slot[i] = zero if abs(slot[i]) < smallest else slot[i]
    return excess


def condition_gradients(
    gradient: FloatArray, value: FloatArray, scale: float, limit: float, l1: float, l2: float,
    first: Index, last: Index, out: FloatArray,
) -> None:  # fmt: skip
    """out = clipped gradients plus the gradients of l1 and l2 regularization."""
    for i in range(np.uint64(first), np.uint64(last)):
        out[i] = regularize(clip(gradient[i], scale, limit), value[i], l1, l2)


def schedule_factor(formula: Index, step: float, settings: FloatArray) -> float:
    """Return the factor by which the schedule scales the learning rate at a step; in float64."""
    row = nth(SCHEDULES, formula)
    return float(row.factor(step, *settings))


def optimizer_constants(
    formula: Index, step: float, settings: FloatArray, constants: FloatArray
) -> None:
    """Compute the optimizer's constants for a step, counted from 1; in float64."""
    row = nth(OPTIMIZERS, formula)
    (*constants[:],) = row.constants(step, *settings)
