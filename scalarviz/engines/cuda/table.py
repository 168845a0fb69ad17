"""The kernels of the cuda engine by kind of operation: one row a kind.

All kernels of a purpose take the same arguments; see `elementwise`. A function here that begins
with `run = chosen(KERNELS, kind)[PURPOSE]` asks in the compiled file which kind it is, once.
"""

from __future__ import annotations

from typing import Any

from scalarviz.engines.codegen.cuda_dispatch import chosen, kernel
from scalarviz.engines.cuda.api import cuda
from scalarviz.engines.cuda.batch_norm import (
    batch_norm_forward,
    batch_norm_inputs,
    gather_batch_norm,
    gather_batch_norm_back,
    nothing_to_gather,
)
from scalarviz.engines.cuda.convolution import (
    convolution_forward,
    convolution_inputs,
    convolution_parameters,
)
from scalarviz.engines.cuda.elementwise import (
    activation_forward,
    activation_inputs,
    branch_forward,
    branch_inputs,
    dropout_forward,
    dropout_inputs,
    no_parameters,
    row_forward,
    row_inputs,
    scale_forward,
    scale_inputs,
    scale_parameters,
    sum_forward,
    sum_inputs,
)
from scalarviz.engines.cuda.plan import CHUNKS, COUNT, FLOW, KIND, SPACE, STRIDE
from scalarviz.engines.cuda.products import (
    affine_forward,
    affine_forward_all,
    affine_inputs,
    affine_inputs_all,
    affine_parameters,
    affine_parameters_all,
)
from scalarviz.engines.cuda.teams import chunk_start

Numbers = Any
Whole = Any
Exact = Any
Index = Any

FORWARD, PARAMETERS, INPUT, GATHER, GATHER_BACK = range(5)
ALONE = nothing_to_gather, nothing_to_gather

# In the order of `operations.KINDS`.
KERNELS = {
    "affine": (affine_forward, affine_parameters, affine_inputs, *ALONE),
    "activation": (activation_forward, no_parameters, activation_inputs, *ALONE),
    "row": (row_forward, no_parameters, row_inputs, *ALONE),
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
def forward(
    whole: Whole, op: Index, reals: Numbers, exact: Exact, space: Numbers, base: Index,
    stride: Index, first: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """One operation on the first `count` samples of a workspace that begins at `base`."""
    run = chosen(KERNELS, whole[op + KIND])[FORWARD]
    run(whole, op, reals, exact, space, base, stride, first, count, worker, workers)


@kernel
def parameter_gradient(
    whole: Whole, op: Index, reals: Numbers, chunk: Index, fresh: bool, space: Numbers,
    base: Index, flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index,
    workers: Index,
) -> None:  # fmt: skip
    """What these samples add to the gradient of an operation's parameters, in their chunk."""
    run = chosen(KERNELS, whole[op + KIND])[PARAMETERS]
    run(
        whole, op, reals, chunk, fresh, space, base, flow, flow_base, stride, count, worker, workers
    )


@kernel
def input_gradient(
    whole: Whole, op: Index, reals: Numbers, exact: Exact, space: Numbers, base: Index,
    flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """The gradient by what an operation read, from that by what it wrote."""
    run = chosen(KERNELS, whole[op + KIND])[INPUT]
    run(whole, op, reals, exact, space, base, flow, flow_base, stride, count, worker, workers)


@kernel
def gather(whole: Whole, op: Index, reals: Numbers, exact: Exact, count: Index) -> None:
    """What an operation must know of the whole batch before it can be done; by all blocks."""
    run = chosen(KERNELS, whole[op + KIND])[GATHER]
    run(whole, op, reals, exact, count)


@kernel
def gather_back(whole: Whole, op: Index, reals: Numbers, exact: Exact, count: Index) -> None:
    """The same on the way back."""
    run = chosen(KERNELS, whole[op + KIND])[GATHER_BACK]
    run(whole, op, reals, exact, count)


# ---- a whole batch ------------------------------------------------------------------------------


@kernel
def forward_by_number(whole: Whole, op: Index, reals: Numbers, exact: Exact, count: Index) -> None:
    """`forward` on all samples, by all threads."""
    forward(
        whole, op, reals, exact, reals, whole[SPACE], whole[STRIDE], 0, count, cuda.grid(1),
        cuda.gridsize(1),
    )  # fmt: skip


@kernel
def parameters_by_number(
    whole: Whole, op: Index, reals: Numbers, exact: Exact, count: Index
) -> None:
    """`parameter_gradient` on all samples: a parameter a thread, for every chunk."""
    for job in range(cuda.grid(1), whole[CHUNKS] * whole[op + COUNT], cuda.gridsize(1)):
        chunk = job // whole[op + COUNT]
        first = chunk_start(whole, chunk, count)
        n = chunk_start(whole, chunk + 1, count) - first
        parameter_gradient(
            whole, op, reals, chunk, True, reals, whole[SPACE] + first, reals, whole[FLOW] + first,
            whole[STRIDE], n, job - chunk * whole[op + COUNT], whole[op + COUNT],
        )  # fmt: skip


@kernel
def inputs_by_number(whole: Whole, op: Index, reals: Numbers, exact: Exact, count: Index) -> None:
    """`input_gradient` on all samples, by all threads."""
    input_gradient(
        whole, op, reals, exact, reals, whole[SPACE], reals, whole[FLOW], whole[STRIDE], count,
        cuda.grid(1), cuda.gridsize(1),
    )  # fmt: skip


# The first three purposes for a whole batch: by number, where a kind has nothing better.
WHOLE_BATCH = dict.fromkeys(KERNELS, (forward_by_number, parameters_by_number, inputs_by_number))
WHOLE_BATCH["affine"] = affine_forward_all, affine_parameters_all, affine_inputs_all


@kernel
def batch_forward(whole: Whole, op: Index, reals: Numbers, exact: Exact, count: Index) -> None:
    """One operation on a whole batch, by all blocks."""
    run = chosen(WHOLE_BATCH, whole[op + KIND])[FORWARD]
    run(whole, op, reals, exact, count)


@kernel
def batch_parameters(whole: Whole, op: Index, reals: Numbers, exact: Exact, count: Index) -> None:
    """The gradient by the parameters of an operation, as every chunk finds it."""
    run = chosen(WHOLE_BATCH, whole[op + KIND])[PARAMETERS]
    run(whole, op, reals, exact, count)


@kernel
def batch_inputs(whole: Whole, op: Index, reals: Numbers, exact: Exact, count: Index) -> None:
    """The gradient by what an operation read."""
    run = chosen(WHOLE_BATCH, whole[op + KIND])[INPUT]
    run(whole, op, reals, exact, count)
