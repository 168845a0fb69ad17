"""Kernels of a loss, on one tile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from scalarviz.engines.codegen.dispatch import (
    Real,
    by_address,
    row_loss_backward,
    row_loss_forward,
    scalar_loss_backward,
    scalar_loss_forward,
)
from scalarviz.engines.cpu.arrays import Address, batch_record, plan_of, tile_at
from scalarviz.engines.cpu.memory import array_at
from scalarviz.engines.cpu.products import ONE, ZERO, Index
from scalarviz.engines.cpu.tiles import tile_of

Kernel = Callable[..., Any]


def error_kernel(forward: Kernel) -> Kernel:
    """Return the kernel that adds the errors of a tile, computed by `forward`, to its chunk's."""

    @by_address
    def add_errors(job: Address, place: Address, chunk: Index) -> None:
        plan, tile = plan_of(job), tile_at(place, Real)
        p = tile_of(tile.space, plan.out, plan.out_size, tile.stride)
        t = tile_of(tile.space, plan.goals, plan.out_size, tile.stride)
        errors = array_at(batch_record(job).errors, chunk + ONE, np.float64)
        errors[chunk] += forward(ZERO, p, t, tile.n)

    return add_errors


def delta_kernel(backward: Kernel) -> Kernel:
    """Return the kernel that computes the gradient of a tile's outputs by `backward`."""

    @by_address
    def write_delta(job: Address, place: Address, chunk: Index) -> None:
        plan, tile = plan_of(job), tile_at(place, Real)
        p = tile_of(tile.space, plan.out, plan.out_size, tile.stride)
        t = tile_of(tile.space, plan.goals, plan.out_size, tile.stride)
        gradient = tile_of(tile.flow, plan.flow_out, plan.out_size, tile.stride)
        scale = Real(batch_record(job).scale)
        backward(ZERO, p, t, scale, gradient, tile.n)

    return write_delta


scalar_error, scalar_delta = error_kernel(scalar_loss_forward), delta_kernel(scalar_loss_backward)
row_error, row_delta = error_kernel(row_loss_forward), delta_kernel(row_loss_backward)
