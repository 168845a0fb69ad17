"""Table of the kernels by kind of operation, and functions that choose a kernel from it.

All kernels with the same purpose have the same arguments; see `team_kernels.py`. A function that
begins with `run = chosen(KERNELS, kind)[PURPOSE]` compares `kind` once in the compiled file.
"""

from __future__ import annotations

from scalarviz.engines.codegen.cuda_dispatch import chosen, kernel
from scalarviz.engines.cuda.batch_convolution import (
    convolution_forward,
    convolution_inputs,
    convolution_parameters,
)
from scalarviz.engines.cuda.card import cuda
from scalarviz.engines.cuda.gpu_layout import (
    CHUNKS,
    COUNT,
    FLOW,
    KIND,
    SPACE,
    STRIDE,
    Exact,
    Index,
    Numbers,
    Whole,
    chunk_start,
)
from scalarviz.engines.cuda.matrix_products import (
    affine_forward,
    affine_forward_all,
    affine_inputs,
    affine_inputs_all,
    affine_parameters,
    affine_parameters_all,
)
from scalarviz.engines.cuda.team_kernels import (
    activation_forward,
    activation_inputs,
    batch_norm_forward,
    batch_norm_inputs,
    branch_forward,
    branch_inputs,
    concatenation_forward,
    concatenation_inputs,
    dropout_forward,
    dropout_inputs,
    embedding_forward,
    embedding_inputs,
    embedding_parameters,
    no_parameters,
    parametric_forward,
    parametric_inputs,
    parametric_parameters,
    product_forward,
    product_inputs,
    row_forward,
    row_forward_all,
    row_inputs,
    row_inputs_all,
    scale_forward,
    scale_inputs,
    scale_parameters,
    sum_forward,
    sum_inputs,
)

FORWARD, PARAMETERS, INPUT = range(3)

KERNELS = {
    "affine": (affine_forward, affine_parameters, affine_inputs),
    "activation": (activation_forward, no_parameters, activation_inputs),
    "row": (row_forward, no_parameters, row_inputs),
    "each_place": (row_forward, no_parameters, row_inputs),
    "embedding": (embedding_forward, embedding_parameters, embedding_inputs),
    "scale": (scale_forward, scale_parameters, scale_inputs),
    "parametric": (parametric_forward, parametric_parameters, parametric_inputs),
    "branch": (branch_forward, no_parameters, branch_inputs),
    "sum": (sum_forward, no_parameters, sum_inputs),
    "product": (product_forward, no_parameters, product_inputs),
    "concatenation": (concatenation_forward, no_parameters, concatenation_inputs),
    "dropout": (dropout_forward, no_parameters, dropout_inputs),
    "batch_norm": (batch_norm_forward, no_parameters, batch_norm_inputs),
}


@kernel
def forward(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, space: Numbers, base: Index,
    stride: Index, first: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """Run an operation forward on the first `count` samples of the workspace at `base`."""
    run = chosen(KERNELS, plan[op + KIND])[FORWARD]
    run(plan, op, arena, scalars, space, base, stride, first, count, worker, workers)


@kernel
def parameter_gradient(
    plan: Whole, op: Index, arena: Numbers, chunk: Index, fresh: bool, space: Numbers,
    base: Index, flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index,
    workers: Index,
) -> None:  # fmt: skip
    """Add an operation's parameter gradients, for some samples, to the gradients of their chunk."""
    run = chosen(KERNELS, plan[op + KIND])[PARAMETERS]
    run(plan, op, arena, chunk, fresh, space, base, flow, flow_base, stride, count, worker, workers)


@kernel
def input_gradient(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, space: Numbers, base: Index,
    flow: Numbers, flow_base: Index, stride: Index, count: Index, worker: Index, workers: Index,
) -> None:  # fmt: skip
    """Compute the gradient with respect to the inputs of an operation."""
    run = chosen(KERNELS, plan[op + KIND])[INPUT]
    run(plan, op, arena, scalars, space, base, flow, flow_base, stride, count, worker, workers)


# ---- a whole batch ------------------------------------------------------------------------------


@kernel
def forward_by_number(plan: Whole, op: Index, arena: Numbers, scalars: Exact, count: Index) -> None:
    """Run `forward` on all samples, by all threads."""
    forward(
        plan, op, arena, scalars, arena, plan[SPACE], plan[STRIDE], 0, count, cuda.grid(1),
        cuda.gridsize(1),
    )  # fmt: skip


@kernel
def parameters_by_number(
    plan: Whole, op: Index, arena: Numbers, scalars: Exact, count: Index
) -> None:
    """Run `parameter_gradient` for each chunk; a thread computes one parameter at a time."""
    for job in range(cuda.grid(1), plan[CHUNKS] * plan[op + COUNT], cuda.gridsize(1)):
        chunk = job // plan[op + COUNT]
        first = chunk_start(plan, chunk, count)
        n = chunk_start(plan, chunk + 1, count) - first
        parameter_gradient(
            plan, op, arena, chunk, True, arena, plan[SPACE] + first, arena, plan[FLOW] + first,
            plan[STRIDE], n, job - chunk * plan[op + COUNT], plan[op + COUNT],
        )  # fmt: skip


@kernel
def inputs_by_number(plan: Whole, op: Index, arena: Numbers, scalars: Exact, count: Index) -> None:
    """Run `input_gradient` on all samples, by all threads."""
    input_gradient(
        plan, op, arena, scalars, arena, plan[SPACE], arena, plan[FLOW], plan[STRIDE], count,
        cuda.grid(1), cuda.gridsize(1),
    )  # fmt: skip


# The purposes for a whole batch: number by number, unless a kind has separate kernels. Kinds that
# are not in KERNELS are computed only on whole batches. The index of a kind is its index here.
BY_NUMBER = forward_by_number, parameters_by_number, inputs_by_number
WHOLE_BATCH = dict.fromkeys(KERNELS, BY_NUMBER)
WHOLE_BATCH["row"] = row_forward_all, parameters_by_number, row_inputs_all
WHOLE_BATCH["each_place"] = WHOLE_BATCH["row"]
WHOLE_BATCH["affine"] = affine_forward_all, affine_parameters_all, affine_inputs_all
WHOLE_BATCH["convolution"] = convolution_forward, convolution_parameters, convolution_inputs
