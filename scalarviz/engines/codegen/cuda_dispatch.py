"""Functions for CUDA kernels that select a formula by index, for one number or one sample.

The counterpart of `dispatch.py`, without loops: each thread computes one number or sample. The
functions are compiled in the same way, by `cuda_file`.

`formula` is the index of a row in its table; `x` and `y` are inputs and outputs of a formula, `p`
and `t` predictions and targets.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.elementary import sqrt
from scalarviz.core.formulas.layer_formulas import PARAMETRIC_FORMULAS, ROW_FORMULAS, typed
from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES
from scalarviz.core.formulas.optimizers import OPTIMIZERS, clip, regularize
from scalarviz.engines.codegen.dispatch import (
    Index,
    chosen,
    drop_word,
    inlined,
    kernel,
    mark,
    nth,
    optimizer_constants,
    philox,
    schedule_factor,
    scramble,
    unit,
)
from scalarviz.engines.codegen.formula_loops import in_team

__all__ = [
    "kernel", "inlined", "launched", "chosen", "Real",
    "activation_value", "activation_slope", "parametric_value", "parametric_slope",
    "slope_by_parameter", "row_values", "row_gradients", "sample_error",
    "sample_gradient", "move_one", "condition_one", "clip_factor", "deviation_factor",
    "schedule_factor", "optimizer_constants", "philox", "scramble", "unit", "drop_word",
]  # fmt: skip

Real = np.float64  # the working type in a kernel file


launched = mark  # a kernel launched on a GPU; one marked with `kernel` is called by others


def activation_value(formula: Index, x: Any) -> Any:
    """Return f(x)."""
    row = nth(ACTIVATIONS, formula)
    return row.value(x)


def activation_slope(formula: Index, x: Any, y: Any) -> Any:
    """Return the derivative f'(x), where y = f(x)."""
    row = nth(ACTIVATIONS, formula)
    return row.derivative(x, y)


def parametric_value(formula: Index, x: Any, given: FloatArray) -> Any:
    """Return f(x, ...), where `given` is a 1-D array of the formula's parameters."""
    row = nth(PARAMETRIC_FORMULAS, formula)
    return row.value(x, *given)


def parametric_slope(formula: Index, x: Any, given: FloatArray) -> Any:
    """Return the derivative of `parametric_value` with respect to x."""
    row = nth(PARAMETRIC_FORMULAS, formula)
    return row.derivative(x, *given)


def slope_by_parameter(formula: Index, place: Index, x: Any, given: FloatArray) -> Any:
    """Return the derivative of `parametric_value` with respect to parameter number `place`."""
    row = nth(PARAMETRIC_FORMULAS, formula)
    return row.by_parameter(place, x, *given)


def row_values(
    formula: Index, x: Index, y: Index, memo: Index, space: FloatArray, step: Index, inputs: Index,
    outputs: Index, room: FloatArray, samples: Index, worker: Index, workers: Index,
    settings: FloatArray,
) -> None:  # fmt: skip
    """Compute y = f(x) and the numbers saved for backward, for some samples, by a team of threads.

    x, y and memo are the unsigned indices in `space` of the first number of the first sample.
    `room` is an array of TEAM_ROOM numbers, enough for TEAM_SAMPLES samples; see `in_team`. All
    threads synchronize at the end.
    """
    row = nth(ROW_FORMULAS, formula)
    in_team(row.forward)(
        x, y, *typed(row.forward, settings), space, space, memo, step, inputs, outputs, room,
        samples, worker, workers,
    )  # fmt: skip


def row_gradients(
    formula: Index, x: Index, y: Index, memo: Index, upstream: Index, gradient: Index,
    space: FloatArray, flow: FloatArray, step: Index, inputs: Index, outputs: Index,
    room: FloatArray, samples: Index, worker: Index, workers: Index, settings: FloatArray,
) -> None:  # fmt: skip
    """Write the gradients of the inputs of samples to `flow`; arguments as for `row_values`."""
    row = nth(ROW_FORMULAS, formula)
    in_team(row.backward)(
        x, y, memo, upstream, gradient, *typed(row.backward, settings), space, flow, memo, step,
        inputs, outputs, room, samples, worker, workers,
    )  # fmt: skip


def sample_error(formula: Index, p: FloatArray, t: FloatArray) -> Any:
    """Return the weighted error of one sample; p and t are 1-D."""
    run = chosen(KINDS_OF_LOSSES, formula >= len(LOSSES))[0]
    return run(formula, p, t)


def sample_gradient(formula: Index, p: FloatArray, t: FloatArray, gradient: FloatArray) -> None:
    """Write the derivative of the error with respect to p; the error's weight is a constant."""
    run = chosen(KINDS_OF_LOSSES, formula >= len(LOSSES))[1]
    run(formula, p, t, gradient)


def scalar_sample_error(formula: Index, p: FloatArray, t: FloatArray) -> Any:
    """Compute `sample_error` for a row of `LOSSES`."""
    row = nth(LOSSES, formula)
    total = 0.0
    for k in range(len(p)):
        total += row.value(p[k], t[k]) * row.weight(p[k], t[k])
    return total


def scalar_sample_gradient(
    formula: Index, p: FloatArray, t: FloatArray, gradient: FloatArray
) -> None:
    """Compute `sample_gradient` for a row of `LOSSES`."""
    row = nth(LOSSES, formula)
    for k in range(len(p)):
        gradient[k] = row.derivative(p[k], t[k]) * row.weight(p[k], t[k])


def row_sample_error(formula: Index, p: FloatArray, t: FloatArray) -> Any:
    """Compute `sample_error` for a row of `ROW_LOSSES`."""
    row = nth(ROW_LOSSES, formula, LOSSES)
    return row.value(p, t)


def row_sample_gradient(formula: Index, p: FloatArray, t: FloatArray, gradient: FloatArray) -> None:
    """Compute `sample_gradient` for a row of `ROW_LOSSES`."""
    row = nth(ROW_LOSSES, formula, LOSSES)
    row.gradient(p, t, gradient)


# By table of a loss: its error and its gradient.
KINDS_OF_LOSSES = {
    "LOSSES": (scalar_sample_error, scalar_sample_gradient),
    "ROW_LOSSES": (row_sample_error, row_sample_gradient),
}


def move_one(
    formula: Index, value: FloatArray, gradient: Any, slots: FloatArray, arguments: FloatArray
) -> None:
    """Update value[0] and its optimizer slots, 1-D; `arguments` as for `optimizer_update`."""
    row = nth(OPTIMIZERS, formula)
    value[0], *slots[:] = row.update(value[0], gradient, *slots[:], *arguments)


def condition_one(g: Any, w: Any, scale: Any, limit: Any, l1: Any, l2: Any) -> Any:
    """Clip a gradient, and add the gradients of l1 and l2 regularization."""
    return regularize(clip(g, scale, limit), w, l1, l2)


def clip_factor(squares: float, most: float) -> float:
    """Return the factor that scales gradients to a norm of at most `most`; in float64."""
    return min(1.0, most / (sqrt(squares) + 1e-6))


def deviation_factor(variance: float, eps: float) -> float:
    """Return 1 / sqrt(variance + eps), the factor that scales numbers to variance 1; in float64."""
    return 1.0 / sqrt(variance + eps)
