"""Table of the kernels by kind of operation. All kernels of a purpose have the same arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from scalarviz.core.program import Operation
from scalarviz.engines.codegen.dispatch import Real, by_address
from scalarviz.engines.cpu.arrays import (
    MOST_SETTINGS,
    Address,
    batch_record,
    room_of,
    tile_at,
    view_of,
)
from scalarviz.engines.cpu.batch_norm import (
    batch_norm_forward,
    batch_norm_inputs,
    gather_batch_norm,
    gather_batch_norm_back,
)
from scalarviz.engines.cpu.convolution import (
    convolution_forward,
    convolution_inputs,
    convolution_parameters,
)
from scalarviz.engines.cpu.elementwise import (
    activation_inputs,
    activation_tile,
    affine_forward,
    affine_inputs,
    affine_parameters,
    branch_forward,
    branch_inputs,
    concatenation_forward,
    concatenation_inputs,
    dropout_forward,
    dropout_inputs,
    parametric_inputs,
    parametric_parameters,
    parametric_tile,
    product_forward,
    product_inputs,
    row_inputs,
    row_tile,
    scale_forward,
    scale_inputs,
    scale_parameters,
    sum_forward,
    sum_inputs,
)
from scalarviz.engines.cpu.lanes import forward_of_lanes, inputs_of_lanes, parameters_of_lanes
from scalarviz.engines.cpu.memory import array_at, record_at
from scalarviz.engines.cpu.products import Index
from scalarviz.engines.cpu.records import OPERATION
from scalarviz.engines.cpu.wide_products import (
    WIDE,
    back_on_all_cores,
    forward_on_all_cores,
    parameters_on_all_cores,
    part_of_back,
    part_of_forward,
    part_of_parameters,
    wide_forward,
    wide_inputs,
    wide_parameters,
)

Kernel = Callable[..., None]


class Kernels(NamedTuple):
    """The kernels of a kind of operation, on one tile.

    forward      forward
    back         gradient of the inputs
    parameters   gradient of the parameters, added to that of the chunk; None if it has none
    gather       statistics of the whole batch that its forward needs; None if it needs none
    gather_back  statistics of the whole batch that its backward needs
    """

    forward: Kernel | None = None
    back: Kernel | None = None
    parameters: Kernel | None = None
    gather: Kernel | None = None
    gather_back: Kernel | None = None


KERNELS = {
    "affine": Kernels(affine_forward, affine_inputs, affine_parameters),
    "activation": Kernels(activation_tile, activation_inputs),
    "row": Kernels(row_tile, row_inputs),
    "scale": Kernels(scale_forward, scale_inputs, scale_parameters),
    "parametric": Kernels(parametric_tile, parametric_inputs, parametric_parameters),
    "convolution": Kernels(convolution_forward, convolution_inputs, convolution_parameters),
    "branch": Kernels(branch_forward, branch_inputs),
    "sum": Kernels(sum_forward, sum_inputs),
    "product": Kernels(product_forward, product_inputs),
    "concatenation": Kernels(concatenation_forward, concatenation_inputs),
    "dropout": Kernels(dropout_forward, dropout_inputs),
    "batch_norm": Kernels(
        batch_norm_forward,
        batch_norm_inputs,
        gather=gather_batch_norm,
        gather_back=gather_batch_norm_back,
    ),
}


AS_PYTHON = Kernels()  # of a kind without a row, see `fallback`
WIDE_AFFINE = Kernels(wide_forward, wide_inputs, wide_parameters)
AFFINE_OF_LANES = Kernels(forward_of_lanes, inputs_of_lanes, parameters_of_lanes)

# Those of wide layers on all cores, for a batch of one chunk; and the kernels that do a part.
WIDE_ON_ALL_CORES = {
    "forward": forward_on_all_cores,
    "back": back_on_all_cores,
    "parameters": parameters_on_all_cores,
}
PARTS_OF_WIDE = {
    "part_of_forward": part_of_forward,
    "part_of_back": part_of_back,
    "part_of_parameters": part_of_parameters,
}


def kernels_for(operation: Operation) -> tuple[str, Kernels]:
    """Return the name and the kernels of an operation: those of its kind, or of its shape."""
    if operation.kind == "affine" and min(operation.source.size, operation.target.size) >= WIDE:
        return "wide_affine", WIDE_AFFINE
    return operation.kind, KERNELS.get(operation.kind, AS_PYTHON)


def on_tile(kernel: Kernel) -> Kernel:
    """Return the kernel to be called with the addresses of an operation, a job and a tile."""

    @by_address
    def run(place: Address, job: Address, tile: Address) -> None:
        op = record_at(place, OPERATION)
        settings = array_at(op.settings, MOST_SETTINGS, Real)
        kernel(op, settings, view_of(job, Real), tile_at(tile, Real))

    return run


def on_gradient(kernel: Kernel) -> Kernel:
    """Do the same for a kernel that writes to the gradient of the chunk."""

    @by_address
    def run(place: Address, job: Address, tile: Address) -> None:
        op, part = record_at(place, OPERATION), tile_at(tile, Real)
        settings = array_at(op.settings, MOST_SETTINGS, Real)
        kernel(op, settings, part.partial, part)

    return run


def on_part(kernel: Kernel) -> Kernel:
    """Return the kernel to be called as `on_tile`, with a range of rows of the result."""

    @by_address
    def run(place: Address, job: Address, tile: Address, low: Index, high: Index) -> None:
        op = record_at(place, OPERATION)
        settings = array_at(op.settings, MOST_SETTINGS, Real)
        kernel(op, settings, view_of(job, Real), tile_at(tile, Real), low, high)

    return run


def on_part_of_gradient(kernel: Kernel) -> Kernel:
    """Do the same for a kernel that writes to the gradient of the chunk."""

    @by_address
    def run(place: Address, job: Address, tile: Address, low: Index, high: Index) -> None:
        op, part = record_at(place, OPERATION), tile_at(tile, Real)
        settings = array_at(op.settings, MOST_SETTINGS, Real)
        kernel(op, settings, part.partial, part, low, high)

    return run


def on_batch(kernel: Kernel) -> Kernel:
    """Return the kernel to be called with the addresses of an operation and a job."""

    @by_address
    def run(place: Address, job: Address) -> None:
        op = record_at(place, OPERATION)
        settings = array_at(op.settings, MOST_SETTINGS, Real)
        samples = batch_record(job).samples
        kernel(op, settings, view_of(job, Real), room_of(job, Real), samples)

    return run


# How the kernels of each purpose are called.
CALLED = {
    "forward": on_tile,
    "back": on_tile,
    "parameters": on_gradient,
    "gather": on_batch,
    "gather_back": on_batch,
    "part_of_forward": on_part,
    "part_of_back": on_part,
    "part_of_parameters": on_part_of_gradient,
}
