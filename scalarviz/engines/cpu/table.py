"""The kernels of the cpu engine by kind of operation: one row a kind.

All kernels of a purpose take the same arguments; see `elementwise`. A function here that begins
with `run = chosen(KERNELS, kind)[PURPOSE]` asks in the compiled file which kind it is, once.
"""

from __future__ import annotations

from scalarviz.engines.codegen.dispatch import chosen, kernel
from scalarviz.engines.cpu.batch_norm import (
    batch_norm_forward,
    batch_norm_inputs,
    gather_batch_norm,
    gather_batch_norm_back,
    nothing_to_gather,
    nothing_to_gather_back,
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
from scalarviz.engines.cpu.products import Index, Numbers
from scalarviz.engines.cpu.tiles import KIND, Table

FORWARD, PARAMETERS, INPUT, GATHER, GATHER_BACK = range(5)
ALONE = nothing_to_gather, nothing_to_gather_back

# In the order of `operations.KINDS`.
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


@kernel
def operation_forward(
    op: Table, settings: Numbers, value: Numbers, state: Numbers, space: Numbers, first: Index,
    learning: bool, steps: Index, n: Index, stride: Index,
) -> None:  # fmt: skip
    """One operation on one tile."""
    run = chosen(KERNELS, op[KIND])[FORWARD]
    run(op, settings, value, state, space, first, learning, steps, n, stride)


@kernel
def parameter_gradient(
    op: Table, settings: Numbers, grad: Numbers, space: Numbers, flow: Numbers, n: Index,
    stride: Index,
) -> None:  # fmt: skip
    """What one tile adds to the gradient of an operation's weights and biases."""
    run = chosen(KERNELS, op[KIND])[PARAMETERS]
    run(op, settings, grad, space, flow, n, stride)


@kernel
def input_gradient(
    op: Table, settings: Numbers, value: Numbers, space: Numbers, flow: Numbers, n: Index,
    stride: Index,
) -> None:  # fmt: skip
    """The gradient by what an operation read, from that by what it wrote, in one tile."""
    run = chosen(KERNELS, op[KIND])[INPUT]
    run(op, settings, value, space, flow, n, stride)


@kernel
def gather(
    op: Table, settings: Numbers, state: Numbers, frozen: Table, spaces: Numbers, samples: Index,
    chunks: Index, stride: Index,
) -> None:  # fmt: skip
    """What an operation must know of the whole batch before it can be done."""
    run = chosen(KERNELS, op[KIND])[GATHER]
    run(op, settings, state, frozen, spaces, samples, chunks, stride)


@kernel
def gather_back(
    op: Table, settings: Numbers, frozen: Table, spaces: Numbers, flows: Numbers, samples: Index,
    chunks: Index, stride: Index,
) -> None:  # fmt: skip
    """The same on the way back."""
    run = chosen(KERNELS, op[KIND])[GATHER_BACK]
    run(op, settings, frozen, spaces, flows, samples, chunks, stride)
