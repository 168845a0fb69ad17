"""Table of the kernels by kind of operation, and the functions that select from it.

All kernels of a purpose have the same arguments; see `elementwise`. A function that begins with
`run = chosen(KERNELS, kind)[PURPOSE]` compares the kind once in the compiled file.
"""

from __future__ import annotations

from scalarviz.engines.codegen.dispatch import chosen, inner
from scalarviz.engines.cpu.arrays import BankView, Tile, Workspaces
from scalarviz.engines.cpu.batch_norm import (
    batch_norm_forward,
    batch_norm_inputs,
    gather_batch_norm,
    gather_batch_norm_back,
    nothing_to_gather,
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
    dropout_forward,
    dropout_inputs,
    no_parameters,
    row_inputs,
    row_tile,
    scale_forward,
    scale_inputs,
    scale_parameters,
    sum_forward,
    sum_inputs,
)
from scalarviz.engines.cpu.products import Index, Numbers, Record

FORWARD, PARAMETERS, INPUT, GATHER, GATHER_BACK = range(5)
ALONE = nothing_to_gather, nothing_to_gather

KERNELS = {
    "affine": (affine_forward, affine_parameters, affine_inputs, *ALONE),
    "activation": (activation_tile, no_parameters, activation_inputs, *ALONE),
    "row": (row_tile, no_parameters, row_inputs, *ALONE),
    "scale": (scale_forward, scale_parameters, scale_inputs, *ALONE),
    "convolution": (convolution_forward, convolution_parameters, convolution_inputs, *ALONE),
    "branch": (branch_forward, no_parameters, branch_inputs, *ALONE),
    "sum": (sum_forward, no_parameters, sum_inputs, *ALONE),
    "dropout": (dropout_forward, no_parameters, dropout_inputs, *ALONE),
    "batch_norm": (
        batch_norm_forward, no_parameters, batch_norm_inputs, gather_batch_norm,
        gather_batch_norm_back,
    ),
}  # fmt: skip


@inner
def operation_forward(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Run an operation forward on one tile."""
    run = chosen(KERNELS, op.kind)[FORWARD]
    run(op, settings, bank, tile)


@inner
def parameter_gradient(op: Record, settings: Numbers, grad: Numbers, tile: Tile) -> None:
    """Add one tile's gradient of an operation's parameters to that of the chunk."""
    run = chosen(KERNELS, op.kind)[PARAMETERS]
    run(op, settings, grad, tile)


@inner
def input_gradient(op: Record, settings: Numbers, bank: BankView, tile: Tile) -> None:
    """Compute the gradient with respect to the inputs of an operation, on one tile."""
    run = chosen(KERNELS, op.kind)[INPUT]
    run(op, settings, bank, tile)


@inner
def gather(op: Record, settings: Numbers, bank: BankView, room: Workspaces, samples: Index) -> None:
    """Compute statistics of the whole batch that an operation needs for its forward."""
    run = chosen(KERNELS, op.kind)[GATHER]
    run(op, settings, bank, room, samples)


@inner
def gather_back(
    op: Record, settings: Numbers, bank: BankView, room: Workspaces, samples: Index
) -> None:
    """Compute statistics of the whole batch that an operation needs for its backward."""
    run = chosen(KERNELS, op.kind)[GATHER_BACK]
    run(op, settings, bank, room, samples)
