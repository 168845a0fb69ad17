"""What the kernel of this folder calls, with pointers in the place of arrays: functions of the
tables, and those of the other kernels for draws and updates.

Every one has the name and the arguments that it has there. Indices of formulas are those of the
tables; a loss and an optimizer need none, since only one of each is in use.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.engines.codegen.cuda_dispatch import (
    Real,
    activation_slope,
    activation_value,
    clip_factor,
    condition_one,
    kernel,
    launched,
    move_one,
    sample_error,
    sample_gradient,
)
from scalarviz.engines.cuda.draws import batch_size, drawn_row
from scalarviz.engines.cuda.fused.pointers import array_at
from scalarviz.engines.cuda.places import (
    CLIP_NORM,
    SHARES,
    Exact,
    Index,
    Numbers,
    Whole,
)
from scalarviz.engines.cuda.teams import mean_scale
from scalarviz.engines.cuda.updates import share_of_squares, write_arguments

MANY = 2**40  # length of an array of which only the beginning is known
ONLY = 0  # index of the only formula in use


@kernel
def fused_value(formula: Index, x: Any) -> Any:
    return activation_value(formula, x)


@kernel
def fused_slope(formula: Index, x: Any, y: Any) -> Any:
    return activation_slope(formula, x, y)


@kernel
def fused_error(p: Numbers, t: Numbers, size: Index) -> Any:
    return Real(sample_error(ONLY, array_at(p, size), array_at(t, size)))


@kernel
def fused_loss_gradient(p: Numbers, t: Numbers, g: Numbers, size: Index) -> None:
    sample_gradient(ONLY, array_at(p, size), array_at(t, size), array_at(g, size))


@kernel
def fused_move(value: Numbers, g: Any, slots: Numbers, arguments: Numbers) -> None:
    move_one(ONLY, array_at(value, 1), g, array_at(slots, MANY), array_at(arguments, MANY))


@kernel
def fused_condition(g: Any, w: Any, scale: Any, limit: Any, l1: Any, l2: Any) -> Any:
    return condition_one(g, w, scale, limit, l1, l2)


@kernel
def fused_draw(plan: Whole, scalars: Exact, k: Index, i: Index, x: Numbers) -> Index:
    return drawn_row(array_at(plan, MANY), array_at(scalars, MANY), k, i, array_at(x, 2), 0, 1)


@kernel
def fused_batch_size(plan: Whole, scalars: Exact, k: Index) -> Index:
    return batch_size(array_at(plan, MANY), array_at(scalars, MANY), k)


@kernel
def fused_mean_scale(plan: Whole, scalars: Exact, samples: Index) -> Any:
    return mean_scale(array_at(plan, MANY), array_at(scalars, MANY), samples)


@kernel
def fused_norm_scale(plan: Whole, scalars: Exact) -> Any:
    # In the order of `norm_scale`, by one thread.
    numbers, total = array_at(scalars, MANY), 0.0
    if numbers[CLIP_NORM] == np.inf:
        return 1.0
    for share in range(SHARES):
        total += share_of_squares(array_at(plan, MANY), numbers, share)
    return clip_factor(total, numbers[CLIP_NORM])


@kernel
def fused_arguments(plan: Whole, scalars: Exact) -> None:
    write_arguments(array_at(plan, MANY), array_at(scalars, MANY))


@launched
def fused_functions(plan: Whole) -> Any:
    """Names all functions of whole steps, so that they are in one file; it is never launched."""
    return (
        fused_value, fused_slope, fused_error, fused_loss_gradient, fused_move, fused_condition,
        fused_draw, fused_batch_size, fused_mean_scale, fused_norm_scale, fused_arguments,
    )  # fmt: skip
