"""The kernels of the cpu engine: a table by kind of operation, and those needed for training.

Kernels with the same purpose have the same arguments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from math import gcd, prod
from typing import Any

from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES, Loss, LossRow
from scalarviz.core.formulas.optimizers import OPTIMIZERS, SCHEDULES
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.precision import Precision
from scalarviz.core.program import KINDS, Operation, Program
from scalarviz.data.batches import IN_ORDER, PICKED, POINTS, SHUFFLED, Batches
from scalarviz.engines.codegen.dispatch import Real, by_address
from scalarviz.engines.codegen.kernel_units import Unit
from scalarviz.engines.cpu import tiles, training_kernels
from scalarviz.engines.cpu.products import SHORTEST, Index
from scalarviz.engines.cpu.records import (
    MOST_SETTINGS,
    OPERATION,
    Address,
    array_at,
    batch_record,
    record_at,
    room_of,
    tile_at,
    view_of,
)
from scalarviz.engines.cpu.tile_kernels import (
    activation_inputs,
    activation_tile,
    affine_forward,
    affine_inputs,
    affine_parameters,
    affine_parameters_at_once,
    attention_inputs,
    attention_tile,
    batch_norm_forward,
    batch_norm_inputs,
    branch_forward,
    branch_inputs,
    concatenation_forward,
    concatenation_inputs,
    convolution_forward,
    convolution_inputs,
    convolution_parameters,
    dropout_forward,
    dropout_inputs,
    embedding_forward,
    embedding_inputs,
    embedding_parameters,
    gather_batch_norm,
    gather_batch_norm_back,
    parametric_inputs,
    parametric_parameters,
    parametric_tile,
    pointwise_forward,
    pointwise_inputs,
    pointwise_parameters,
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
from scalarviz.engines.cpu.tiles import number_of_chunks
from scalarviz.engines.cpu.wide_products import (
    WIDE,
    back_on_all_cores,
    back_on_one_core,
    forward_on_all_cores,
    forward_on_one_core,
    parameters_on_all_cores,
    parameters_on_one_core,
    part_of_back,
    part_of_forward,
    part_of_parameters,
    turn,
)

KernelFunction = Callable[..., None]
Kernels = dict[str, KernelFunction]  # by the fields of an operation's record, see `KERNELS`

# The kernels of each kind of operation, on one tile:
KERNELS: dict[str, Kernels] = {
    "affine": {
        "forward": affine_forward, "back": affine_inputs, "parameters": affine_parameters,
    },
    "activation": {"forward": activation_tile, "back": activation_inputs},
    "row": {"forward": row_tile, "back": row_inputs},
    "each_place": {"forward": row_tile, "back": row_inputs},
    "embedding": {
        "forward": embedding_forward, "back": embedding_inputs, "parameters": embedding_parameters,
    },
    "scale": {"forward": scale_forward, "back": scale_inputs, "parameters": scale_parameters},
    "parametric": {
        "forward": parametric_tile, "back": parametric_inputs, "parameters": parametric_parameters,
    },
    "convolution": {
        "forward": convolution_forward, "back": convolution_inputs,
        "parameters": convolution_parameters,
    },
    "branch": {"forward": branch_forward, "back": branch_inputs},
    "sum": {"forward": sum_forward, "back": sum_inputs},
    "product": {"forward": product_forward, "back": product_inputs},
    "concatenation": {"forward": concatenation_forward, "back": concatenation_inputs},
    "dropout": {"forward": dropout_forward, "back": dropout_inputs},
    "batch_norm": {
        "forward": batch_norm_forward, "back": batch_norm_inputs, "gather": gather_batch_norm,
        "gather_back": gather_batch_norm_back,
    },
}  # fmt: skip
ATTENTION: Kernels = {"forward": attention_tile, "back": attention_inputs}
POINTWISE: Kernels = {
    "forward": pointwise_forward, "back": pointwise_inputs, "parameters": pointwise_parameters,
}  # fmt: skip

# Kernels of wide layers, which call kernels of their parts; a batch of one chunk uses all cores.
WIDE_KERNELS: dict[str, Kernels] = {
    "one_core": {
        "forward": forward_on_one_core, "back": back_on_one_core,
        "parameters": parameters_on_one_core,
    },
    "all_cores": {
        "forward": forward_on_all_cores, "back": back_on_all_cores,
        "parameters": parameters_on_all_cores,
    },
}  # fmt: skip
PARTS_OF_WIDE: Kernels = {
    "part_of_forward": part_of_forward,
    "part_of_back": part_of_back,
    "part_of_parameters": part_of_parameters,
}


def kernels_for(operation: Operation) -> tuple[str, Kernels]:
    """Return the kernels of an operation and their name, by its kind or, for wide layers, its size.

    A kind that is not in the table has no kernels; see `Fallback`.
    """
    if operation.kind == "affine" and min(operation.source.size, operation.target.size) >= WIDE:
        return "wide_affine", PARTS_OF_WIDE
    if is_pointwise(operation):
        return "pointwise", POINTWISE
    if operation.formula == "attention":
        return "row", ATTENTION
    return operation.kind, KERNELS.get(operation.kind, {})


def is_pointwise(operation: Operation) -> bool:
    """Return whether an operation is a convolution that computes each pixel from itself."""
    if operation.kind != "convolution":
        return False
    windows = operation.windows
    sides = windows.height, windows.width
    return windows.groups == 1 == prod(windows.extent) and sides == (
        windows.out_height,
        windows.out_width,
    )


# Kinds whose kernels write nothing beyond the places of a sample.
EXACT = {
    "each_place",
    "row",
    "embedding",
    "activation",
    "branch",
    "sum",
    "product",
    "concatenation",
}


def stride_alone(program: Program) -> int:
    """Return the stride of rows for a batch of one sample if a place can be a lane, else 0.

    The places of a sample then lie side by side, and a feature at all places fills whole vectors.
    """
    points = [each for each in program.operations if is_pointwise(each)]
    if not points or any(
        each.kind not in EXACT for each in program.operations if each not in points
    ):
        return 0
    shortest = int(SHORTEST)
    return max(shortest // gcd(shortest, each.outputs_per_bias) for each in points)


def on_tile(kernel: KernelFunction) -> KernelFunction:
    """Wrap a kernel so that its arguments are the addresses of an operation, a job and a tile."""

    @by_address
    def run(place: Address, job: Address, tile: Address) -> None:
        op = record_at(place, OPERATION)
        settings = array_at(op.settings, MOST_SETTINGS, Real)
        kernel(op, settings, view_of(job, Real), tile_at(tile, Real))

    return run


def on_part(kernel: KernelFunction) -> KernelFunction:
    """Wrap a kernel as `on_tile` does, with two more arguments: a range of result rows."""

    @by_address
    def run(place: Address, job: Address, tile: Address, low: Index, high: Index) -> None:
        op = record_at(place, OPERATION)
        settings = array_at(op.settings, MOST_SETTINGS, Real)
        kernel(op, settings, view_of(job, Real), tile_at(tile, Real), low, high)

    return run


def on_batch(kernel: KernelFunction) -> KernelFunction:
    """Wrap a kernel so that its arguments are the addresses of an operation and a job."""

    @by_address
    def run(place: Address, job: Address) -> None:
        op = record_at(place, OPERATION)
        settings = array_at(op.settings, MOST_SETTINGS, Real)
        samples = batch_record(job).samples
        kernel(op, settings, view_of(job, Real), room_of(job, Real), samples)

    return run


# Signature of the kernels of each purpose.
CALLED = {
    "forward": on_tile,
    "back": on_tile,
    "parameters": on_tile,
    "gather": on_batch,
    "gather_back": on_batch,
    "part_of_forward": on_part,
    "part_of_back": on_part,
    "part_of_parameters": on_part,
}


# ---- which kernels an operation, a loss or an optimizer needs -----------------------------------

WORTH_CORES = 250_000  # multiplications per step; below, one core is faster than several
WORTH_CORES_APART = 20_000_000  # the same per operation, for a step taken operation by operation

# Kernels of every training, by the names of the fields of a `Job`; then optional ones.
CHUNK_WORK = Unit("cpu_chunk_work", tiles.chunk_work)
ADD_CHUNKS = Unit("cpu_add_chunks", training_kernels.add_chunks)
ADD_ON_ALL_CORES = Unit("cpu_add_chunks_on_all_cores", training_kernels.add_chunks_on_all_cores)
MOVING = {"move": Unit("cpu_move", training_kernels.move)}
TRAINING = {
    "train": Unit("cpu_train", training_kernels.train),
    "chunk_work": CHUNK_WORK,
    "add_chunks": ADD_CHUNKS,
    **MOVING,
}
DRAWING = {
    IN_ORDER: Unit("cpu_draw_in_order", training_kernels.draw_in_order),
    SHUFFLED: Unit("cpu_draw_shuffled", training_kernels.draw_shuffled),
    PICKED: Unit("cpu_draw_picked", training_kernels.draw_picked),
    POINTS: Unit("cpu_draw_points", training_kernels.draw_points),
}
RUN_PASSES = Unit("cpu_run_passes", training_kernels.run_passes)
ON_ONE_CORE = Unit("cpu_pass_on_one_core", training_kernels.pass_on_one_core)
ON_ALL_CORES = Unit("cpu_pass_on_all_cores", training_kernels.pass_on_all_cores)
MOVING_IN_PARTS = {"in_parts": Unit("cpu_move_on_all_cores", training_kernels.move_on_all_cores)}
BY_PARTS = {  # a pass that adds up gradients by parts, and the parts of layers that are not wide
    **MOVING_IN_PARTS,
    "run_pass": Unit("cpu_pass_by_parts", training_kernels.pass_by_parts),
    "affine": Unit("cpu_affine_by_parts", on_part(affine_parameters_at_once)),
}
ROUNDING = {
    "round_bank": Unit("cpu_round_bank", training_kernels.round_bank),
    "round_rows": Unit("cpu_round_rows", training_kernels.round_rows),
}
TURNING = {"turn": Unit("cpu_turn", turn)}
TRAIN_NETWORKS = Unit("cpu_train_networks", training_kernels.train_networks)


def units_of_draws(batches: Batches) -> dict[str, Unit]:
    """Return the kernel that draws batches, by the `Job` field that holds its address."""
    return {"draw_rows": DRAWING[batches.draw]}


def units_of_training(
    program: Program,
    batches: Batches,
    losses: Iterable[Loss],
    optimizers: Iterable[Optimizer],
    precision: Precision,
) -> list[Unit]:
    """Return all kernels that training a program may need, including those for several cores."""
    groups = [units_of(operation, batches.size) for operation in program.operations]
    found = [unit for group in groups for unit in group.values()]
    found += units_on_one_core(program, batches, losses, optimizers, precision)
    found += TURNING.values() if turned(program, batches.size) else ()
    return [*dict.fromkeys([*found, ON_ALL_CORES, *adding_together(program).values()])]


def turned(program: Program, samples: int) -> list[int]:
    """Return the indices of operations whose weights a step copies to panels, for all chunks."""
    return [
        i
        for i, each in enumerate(program.operations)
        if i > program.first_parameters
        and kernels_for(each)[0] == "wide_affine"
        and number_of_chunks(samples) > 1
    ]


def adds_once(program: Program) -> bool:
    """Return whether a tile adds one number to each gradient."""
    return all(each.kind == "affine" for each in program.operations if each.parameters)


def adding_together(program: Program) -> dict[str, Unit]:
    """Return the kernels that add up gradients and move weights on all cores, if there are many.

    If all such operations are wide layers, `BY_PARTS` is included.
    """
    most = int((training_kernels.MANY - 1) * training_kernels.BLOCK)
    large = {kernels_for(each)[0] for each in program.operations if len(each.parameters) > most}
    by_parts = BY_PARTS if large == {"wide_affine"} and adds_once(program) else {}
    return {"add_chunks": ADD_ON_ALL_CORES} | MOVING_IN_PARTS | by_parts if large else {}


def units_on_one_core(
    program: Program,
    batches: Batches,
    losses: Iterable[Loss],
    optimizers: Iterable[Optimizer],
    precision: Precision,
) -> list[Unit]:
    """Return the kernels for training on one core, in the order of the table in a page."""
    groups = [TRAINING, units_of_draws(batches), *map(units_of, program.operations)]
    groups += [*map(units_of_loss, losses), *map(units_of_optimizer, optimizers)]
    groups += [ROUNDING] if precision.mixed else []
    found = [unit for group in groups for unit in group.values()]
    return [*dict.fromkeys([*found, RUN_PASSES, ON_ONE_CORE])]


def units_of(operation: Operation, samples: int = 0) -> dict[str, Unit]:
    """Return the kernels of an operation, by the record fields that hold their addresses.

    A wide operation on a batch that is a single chunk runs on all cores.
    """
    formulas = operation.about.formulas
    row = None if formulas is None else formulas[operation.formula]
    name, kernels = kernels_for(operation)
    found = kernels_of(name, kernels, row)
    if kernels is PARTS_OF_WIDE:
        found |= kernels_of_wide("all_cores" if is_worth_cores(operation, samples) else "one_core")
    return found


def is_worth_cores(operation: Operation, samples: int) -> bool:
    """Return whether an operation on a single-chunk batch is large enough for several cores."""
    work = samples * operation.source.size * operation.target.size
    return number_of_chunks(samples) == 1 and work > WORTH_CORES


def kernels_of_wide(cores: str) -> dict[str, Unit]:
    """Return the kernels of a wide layer on one core or on all, which call kernels of its parts."""
    return {
        field: Unit(f"cpu_wide_affine_{field}_on_{cores}", kernel)
        for field, kernel in WIDE_KERNELS[cores].items()
    }


def kernels_of(name: str, kernels: Kernels, row: Any) -> dict[str, Unit]:
    """Return the units of kernels; `row` is the table row of their formula, or None."""
    label = name if row is None else re.sub(r"\W", "_", f"{name}_{row.name}")
    return {
        field: Unit(f"cpu_{label}_{field}", called(field, kernel), row)
        for field, kernel in kernels.items()
    }


@cache
def called(field: str, kernel: Callable[..., None]) -> Callable[..., None]:
    """Return a kernel in the form that is called by address; `field` is its purpose."""
    return CALLED[field](kernel)


def units_of_loss(loss: Loss) -> dict[str, Unit]:
    """Return the kernels of a loss, by the plan fields that hold their addresses."""
    row = loss.row
    scalar = isinstance(row, LossRow)
    error = training_kernels.scalar_error if scalar else training_kernels.row_error
    delta = training_kernels.scalar_delta if scalar else training_kernels.row_delta
    return {
        "loss": Unit(f"cpu_{row.name}_error", error, row),
        "loss_back": Unit(f"cpu_{row.name}_delta", delta, row),
    }


def units_of_optimizer(optimizer: Optimizer) -> dict[str, Unit]:
    """Return the kernels of an optimizer and its schedule, by the fields of an `UpdateRecord`."""
    rate = kernel_of_schedule(optimizer.schedule.row)
    return {"factor_of_rate": rate, **kernels_of_optimizer(optimizer.row)}


def kernels_of_optimizer(row: Any) -> dict[str, Unit]:
    """Return the kernels of a row of `OPTIMIZERS`."""
    return {
        "constants": Unit(f"cpu_{row.name}_constants", training_kernels.constants, row),
        "move_rows": Unit(f"cpu_{row.name}_rows", training_kernels.move_rows_of_bank, row),
    }


def kernel_of_schedule(row: Any) -> Unit:
    """Return the kernel of a row of `SCHEDULES`."""
    return Unit(f"cpu_{row.name}_rate", training_kernels.factor_of_rate, row)


def every_unit() -> list[Unit]:
    """Return all kernels that the cpu engine has for networks."""
    found = [*TRAINING.values(), *DRAWING.values(), TRAIN_NETWORKS]
    found += [RUN_PASSES, ON_ONE_CORE, ON_ALL_CORES, ADD_ON_ALL_CORES, *ROUNDING.values()]
    found += [*BY_PARTS.values(), *TURNING.values()]
    for kind in KERNELS:
        for name, row in (KINDS[kind].formulas or {"": None}).items():
            kernels = ATTENTION if name == "attention" else KERNELS[kind]
            found += kernels_of(kind, kernels, row).values()
    found += kernels_of("pointwise", POINTWISE, None).values()
    found += kernels_of("wide_affine", PARTS_OF_WIDE, None).values()
    for cores in WIDE_KERNELS:
        found += kernels_of_wide(cores).values()
    for name in (*LOSSES, *ROW_LOSSES):
        found += units_of_loss(Loss(name)).values()
    for row in OPTIMIZERS.values():
        found += kernels_of_optimizer(row).values()
    return [*found, *map(kernel_of_schedule, SCHEDULES.values())]
