"""The kernels of the cpu engine: which ones an operation, a loss or an optimizer needs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES, Loss, LossRow, RowLossRow
from scalarviz.core.formulas.optimizers import OPTIMIZERS, SCHEDULES
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.precision import Precision
from scalarviz.core.program import KINDS, Operation, Program
from scalarviz.data.batches import IN_ORDER, PICKED, POINTS, SHUFFLED, Batches
from scalarviz.engines.codegen.unit_source import Unit
from scalarviz.engines.cpu import (
    draws,
    entry,
    half,
    lanes,
    losses,
    replicas_kernel,
    step,
    updates,
)
from scalarviz.engines.cpu.sizes import count_chunks
from scalarviz.engines.cpu.table import (
    AFFINE_OF_LANES,
    CALLED,
    KERNELS,
    PARTS_OF_WIDE,
    WIDE_AFFINE,
    WIDE_ON_ALL_CORES,
    Kernels,
    kernels_for,
)

WORTH_CORES = 250_000  # multiplications of a step; below, one core is faster than several
WORTH_CORES_APART = 20_000_000  # of one operation of a step that is taken operation by operation

# What every training needs, by the names of the fields of a `Job`; then what some do.
CHUNK_WORK = Unit("cpu_chunk_work", step.chunk_work)
ADD_CHUNKS = Unit("cpu_add_chunks", updates.add_chunks)
ADD_ON_ALL_CORES = Unit("cpu_add_chunks_on_all_cores", updates.add_chunks_on_all_cores)
MOVING = {"move": Unit("cpu_move", updates.move)}
TRAINING = {
    "train": Unit("cpu_train", entry.train),
    "chunk_work": CHUNK_WORK,
    "add_chunks": ADD_CHUNKS,
    **MOVING,
}
DRAWING = {
    IN_ORDER: Unit("cpu_draw_in_order", draws.draw_in_order),
    SHUFFLED: Unit("cpu_draw_shuffled", draws.draw_shuffled),
    PICKED: Unit("cpu_draw_picked", draws.draw_picked),
    POINTS: Unit("cpu_draw_points", draws.draw_points),
}
RUN_PASSES = Unit("cpu_run_passes", entry.run_passes)
ON_ONE_CORE = Unit("cpu_pass_on_one_core", entry.pass_on_one_core)
ON_ALL_CORES = Unit("cpu_pass_on_all_cores", entry.pass_on_all_cores)
ROUNDING = {
    "round_bank": Unit("cpu_round_bank", half.round_bank),
    "round_rows": Unit("cpu_round_rows", half.round_rows),
}
TRAIN_NETWORKS = Unit("cpu_train_networks", replicas_kernel.train_networks)
TRAIN_LANES = Unit("cpu_train_lanes", lanes.train_lanes)


def units_of_draws(batches: Batches) -> dict[str, Unit]:
    """Return the kernel that draws batches, by the field of a `Job` that has its address."""
    return {"draw_rows": DRAWING[batches.draw]}


def units_of_training(
    program: Program,
    batches: Batches,
    losses: Iterable[Loss],
    optimizers: Iterable[Optimizer],
    precision: Precision,
) -> list[Unit]:
    """Return all kernels that trainings of a program may need, also on several cores."""
    groups = [units_of(operation, batches.size) for operation in program.operations]
    groups += [units_of(operation) for operation in program.operations]
    groups += [*map(units_of_loss, losses), *map(units_of_optimizer, optimizers), TRAINING]
    groups.append(units_of_draws(batches))
    found = [unit for group in groups for unit in group.values()]
    if precision.mixed:
        found += ROUNDING.values()
    return [*dict.fromkeys([*found, RUN_PASSES, ON_ONE_CORE, ON_ALL_CORES, ADD_ON_ALL_CORES])]


def units_of(operation: Operation, samples: int = 0) -> dict[str, Unit]:
    """Return the kernels of an operation, by the fields of its record that have their addresses.

    A batch of so many samples that is one chunk uses all cores where the operation is wide.
    """
    formulas = operation.about.formulas
    row = None if formulas is None else formulas[operation.formula]
    name, kernels = kernels_for(operation)
    found = kernels_of(name, kernels, row)
    if kernels is WIDE_AFFINE and is_worth_cores(operation, samples):
        found |= kernels_of_parts()
    return found


def is_worth_cores(operation: Operation, samples: int) -> bool:
    """Whether an operation on a batch of one chunk is large enough for several cores."""
    work = samples * operation.source.size * operation.target.size
    return count_chunks(samples) == 1 and work > WORTH_CORES


def kernels_of_parts() -> dict[str, Unit]:
    """Return the kernels of a wide layer on all cores, and those that do a part of it."""
    cores = {
        field: Unit(f"cpu_wide_affine_{field}_on_all_cores", kernel)
        for field, kernel in WIDE_ON_ALL_CORES.items()
    }
    parts = {
        field: Unit(f"cpu_wide_affine_{field}", called(field, kernel))
        for field, kernel in PARTS_OF_WIDE.items()
    }
    return cores | parts


def kernels_of(name: str, kernels: Kernels, row: Any) -> dict[str, Unit]:
    """Return kernels of the table, for a row of the formulas of their kind if it has some."""
    label = name if row is None else re.sub(r"\W", "_", f"{name}_{row.name}")
    return {
        field: Unit(f"cpu_{label}_{field}", called(field, kernel), row)
        for field, kernel in kernels._asdict().items()
        if kernel is not None
    }


def units_of_lanes() -> dict[str, Unit]:
    """Return the kernels of an affine operation of networks in lanes."""
    return kernels_of("affine_of_lanes", AFFINE_OF_LANES, None)


@cache
def called(field: str, kernel: Callable[..., None]) -> Callable[..., None]:
    """Return a kernel of the table as it is called by its address."""
    return CALLED[field](kernel)


def units_of_loss(loss: Loss) -> dict[str, Unit]:
    """Return the kernels of a loss, by the fields of a plan that have their addresses."""
    return kernels_of_loss(loss.row)


def kernels_of_loss(row: LossRow | RowLossRow) -> dict[str, Unit]:
    """Return the kernels of a row of `LOSSES` or `ROW_LOSSES`."""
    scalar = isinstance(row, LossRow)
    error = losses.scalar_error if scalar else losses.row_error
    delta = losses.scalar_delta if scalar else losses.row_delta
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
        "constants": Unit(f"cpu_{row.name}_constants", updates.constants, row),
        "move_rows": Unit(f"cpu_{row.name}_rows", updates.move_rows_of_bank, row),
    }


def kernel_of_schedule(row: Any) -> Unit:
    """Return the kernel of a row of `SCHEDULES`."""
    return Unit(f"cpu_{row.name}_rate", updates.factor_of_rate, row)


def every_unit() -> list[Unit]:
    """Return all kernels of networks on the cpu engine."""
    found = [*TRAINING.values(), *DRAWING.values(), TRAIN_NETWORKS]
    found += [RUN_PASSES, ON_ONE_CORE, ON_ALL_CORES, ADD_ON_ALL_CORES, *ROUNDING.values()]
    for kind in KERNELS:
        for row in (KINDS[kind].formulas or {"": None}).values():
            found += kernels_of(kind, KERNELS[kind], row).values()
    found += kernels_of("wide_affine", WIDE_AFFINE, None).values()
    found += [*kernels_of_parts().values(), *units_of_lanes().values(), TRAIN_LANES]
    for each in LOSSES.values():
        found += kernels_of_loss(each).values()
    for whole in ROW_LOSSES.values():
        found += kernels_of_loss(whole).values()
    for row in OPTIMIZERS.values():
        found += kernels_of_optimizer(row).values()
    return [*found, *map(kernel_of_schedule, SCHEDULES.values())]
