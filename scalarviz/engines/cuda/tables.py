"""A program as the arrays that CUDA kernels read; see `places` for the layout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.core.bank import Bank
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.layer_formulas import PARAMETRIC_FORMULAS
from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES, Loss
from scalarviz.core.formulas.optimizers import OPTIMIZERS, SCHEDULES
from scalarviz.core.formulas.randomness import MASK
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.program import NONE, Operation, Program
from scalarviz.data.batches import IN_ORDER, Batches
from scalarviz.engines.cuda import places
from scalarviz.engines.cuda.table import KERNELS, WHOLE_BATCH
from scalarviz.errors import EngineError

Whole = npt.NDArray[np.int64]

LEAST_SHARE = 8  # samples in a chunk; a smaller one is not worth a block
MOST_CHUNKS = 128
MOST_NEAR = 2**16  # gradients of a chunk; with more, no block has room for the weights
TILES = 256  # of matrix products, which keep a GPU busy
MOST_PARTIALS = 2**25  # largest size of the gradients of all chunks
LEAST_WIDTH = 8  # samples in a tile of a whole step, or a whole chunk
MOST_STEPS = 1024  # at most in one launch


@dataclass(frozen=True, slots=True)
class MemoryLayout:
    """The plan with the table of operations, and the sizes of the other arrays."""

    plan: Whole
    arena: int
    scalars: int
    settings: FloatArray  # of all operations
    settings_place: int
    losses_place: int

    def op(self, i: int) -> int:
        """Return the index of operation i in `plan`."""
        return places.PLAN_FIELDS + i * places.COLUMNS


def formula_rows() -> tuple[object, ...]:
    """Return the rows of formulas that users add, also after the kernels of a run are made."""
    tables = ACTIVATIONS, PARAMETRIC_FORMULAS, LOSSES, ROW_LOSSES, OPTIMIZERS
    return tuple(row for table in tables for row in table.values())


def index_of(row: Any, rows: list[Any], kind: str) -> int:
    """Return the index of a row; raise EngineError for one that is no longer in its table.

    A formula of the user that was added again from the same source is the same one.
    """
    same = [each.name == row.name and each.digest == row.digest for each in rows]
    if not any(same):
        raise EngineError(
            f"the {kind} {row.name!r} was replaced by another one of that name, and the cuda "
            "engine has the newest only: make it anew, and the session with it"
        )
    return same.index(True)


def make_layout(
    program: Program,
    bank: Bank,
    samples: int,
    shared: int,
    learning: bool = True,
) -> MemoryLayout:
    """Return the layout for batches of `samples` samples; a block has `shared` bytes.

    learning  False: without room for the gradients of the chunks and of the workspace
    """
    widest = max((each.target.size for each in program.operations), default=1)
    if widest * samples >= 2**32:  # see `teams.row_of`
        raise EngineError(
            f"a batch of {samples:,} samples is too large for the engine cuda, which can take "
            f"{(2**32 - 1) // widest:,} with {widest:,} outputs of a layer: choose a smaller batch"
        )
    plan = np.zeros(places.PLAN_FIELDS + len(program.operations) * places.COLUMNS, np.int64)
    for field, number in sizes(program, bank, samples).items():
        plan[field] = number
    parts = place_parts(plan, len(program.operations) * places.MOST_SETTINGS, learning)
    settings_place, size = parts.pop(NONE), parts.pop(places.PLAN_FIELDS)
    for field, number in parts.items():
        plan[field] = number
    rows = int(plan[places.SPACE_ROWS] + plan[places.FLOW_ROWS])
    share = -(-samples // int(plan[places.CHUNKS]))
    item = np.dtype(bank.dtype).itemsize
    in_room, numbers = weights_in_room(program)
    width = tile_width(share, rows * item, shared - numbers * item)
    stride = room_stride(width)
    plan[places.WIDTH], plan[places.ROOM_STRIDE] = width, stride
    plan[places.ROOM] = rows * stride + numbers
    table = plan[places.PLAN_FIELDS :].reshape(-1, places.COLUMNS)
    losses = int(plan[places.ERRORS] + plan[places.CHUNKS] + plan[places.GROUPS])
    settings, before = fill_operations(table, program, settings_place, losses + MOST_STEPS)
    plan[places.STATE_BEFORE], plan[places.ARGUMENTS] = before, before + len(bank.state)
    table[:, places.IN_ROOM] = [NONE if at == NONE else rows * stride + at for at in in_room]
    return MemoryLayout(
        plan, size, int(plan[places.ARGUMENTS]) + places.STEP_ARGS, settings, settings_place, losses
    )


def sizes(program: Program, bank: Bank, samples: int) -> dict[int, int]:
    """Return the fields of the plan for a network and a batch without drawing."""
    memos = sum(map(memo_rows, program.operations))
    space_rows = program.workspace + program.outputs.size + memos + 1
    counts = [len(each.parameters) for each in program.operations]
    gradients, largest = sum(counts), max(counts, default=0)  # of a chunk, and of an operation
    return {
        places.ROWS: len(bank),
        places.OPERATIONS: len(program.operations),
        places.CHUNKS: count_chunks(samples, gradients, largest),
        places.STRIDE: samples,
        places.IN_SIZE: program.inputs.size,
        places.OUT: program.outputs.offset,
        places.OUT_SIZE: program.outputs.size,
        places.GOALS: program.workspace,
        places.ERRORS_ROW: space_rows - 1,
        places.SPACE_ROWS: space_rows,
        places.FLOW_ROWS: program.workspace,
        places.PARTIAL_SIZE: gradients,
        places.FIRST_NEEDED: program.first_parameters + 1,
        places.GROUPS: -(-len(bank) // places.GROUP),
        places.DRAW: IN_ORDER,
        places.SAMPLES: samples,
        places.SIZE: samples,
        places.ERRORS: places.STATE_NUMBERS + len(bank.state),
    }


def memo_rows(operation: Operation) -> int:
    """Return the numbers kept for each sample; statistics of a batch are in `scalars` instead."""
    about = operation.about
    return 0 if about.statistics(operation) else about.memo(operation)


def place_parts(plan: Whole, settings: int, learning: bool) -> dict[int, int]:
    """Return where the parts of `arena` begin; NONE: settings, PLAN_FIELDS: the end.

    Raise EngineError if the index of a weight would have more than 32 bits, see `convolution`.
    """
    rows, samples = int(plan[places.ROWS]), int(plan[places.STRIDE])
    parts = [
        (places.VALUE, rows),
        (places.FROZEN, rows),
        (places.SLOTS, most_slots() * rows),
        (places.GRAD, rows),
        (NONE, settings),
        (places.OWN_RATES, rows),
        (places.PARTIALS, int(plan[places.CHUNKS] * plan[places.PARTIAL_SIZE]) * learning),
        (places.SPACE, int(plan[places.SPACE_ROWS]) * samples),
        (places.FLOW, int(plan[places.FLOW_ROWS]) * samples * learning),
    ]
    ends = np.cumsum([size for _, size in parts]).tolist()
    fields = [*[field for field, _ in parts], places.PLAN_FIELDS]
    found = dict(zip(fields, [0, *ends], strict=True))
    if found[places.PARTIALS] > 2**32:
        raise EngineError(
            f"a network of {rows:,} parameters is too large for the engine cuda, which can address "
            f"{2**32 * rows // found[places.PARTIALS]:,}: choose the engine cpu"
        )
    return found


def count_chunks(samples: int, gradients: int, largest: int) -> int:
    """Return the number of chunks of a batch, which depends on no device.

    Of a network that needs kernels for whole batches, they are as many as the `largest` number of
    parameters of an operation needs for TILES tiles.
    """
    chunks = min(MOST_CHUNKS, samples // LEAST_SHARE)
    if gradients > MOST_NEAR:
        tiled = TILES * places.MATRIX_TILE**2
        chunks = min(chunks, MOST_PARTIALS // gradients, tiled // largest)
    return max(1, chunks)


def tile_width(share: int, a_sample: int, shared: int) -> int:
    """Return the number of samples in a tile of a block; 0 if fewer than LEAST_WIDTH fit.

    A part of a chunk has an even number, since a thread computes two samples at a time.
    """
    width = (shared // a_sample - 1) // 2 * 2  # which takes a column more, see `room_stride`
    if width >= share:
        return share
    return width if width >= LEAST_WIDTH else 0


def fits(program: Program, layout: MemoryLayout) -> bool:
    """Whether a network runs in whole steps; else kernel by kernel, as a graph for each step.

    All weights of its products, and a tile of samples beside them, must have room in the shared
    memory of a block: from anywhere else they would be read again for each tile, by threads that
    wait for them, where the kernels for a whole batch read them once for 64 samples. Not possible
    with statistics of the whole batch, for which all samples must have arrived, nor with kinds that
    are computed on whole batches only.
    """
    operations = program.operations
    alone = all(op.kind in KERNELS and not op.about.statistics(op) for op in operations)
    return alone and bool(layout.plan[places.WIDTH] > 0)


def room_stride(width: int) -> int:
    """Return the step from a row to the next in a tile: odd, and so in another memory bank."""
    return width + 1 + width % 2


def weights_in_room(program: Program) -> tuple[list[int], int]:
    """Return where a block has the weights of each operation, or NONE; and how many numbers.

    Four neighbours are read at a time, and so up to three numbers after the last one.
    """
    found, numbers = [], 0
    for operation in program.operations:
        found.append(numbers if operation.kind == "affine" else NONE)
        if operation.kind == "affine":
            apart = operation.target.size // 2 * 2 + 1
            numbers += operation.source.size * apart + 3
    return found, numbers


def most_slots() -> int:
    """Return the largest number of slots of an optimizer."""
    return max(len(row.slots) for row in OPTIMIZERS.values())


def fill_operations(
    table: Whole, program: Program, settings_place: int, statistics: int
) -> tuple[FloatArray, int]:
    """Fill the table of operations; return their settings, and the end of the statistics."""
    settings = np.zeros((len(program.operations), places.MOST_SETTINGS))
    memo, partial = program.workspace + program.outputs.size, 0
    for i, operation in enumerate(program.operations):
        table[i] = [
            [*WHOLE_BATCH, operation.kind].index(operation.kind),  # one behind them: no kernels
            operation.formula_place,
            operation.source.offset,
            operation.target.offset,
            operation.source.size,
            operation.target.size,
            max(operation.weights, 0),
            max(operation.biases, 0),
            operation.biases != NONE,
            len(operation.parameters),
            partial,
            memo,
            settings_place + i * places.MOST_SETTINGS,
            operation.outputs_per_bias,
            operation.sources[-1].offset,
            max(operation.state, 0),
            statistics,
            operation.held_by.start,
            operation.held_by.stop,
            NONE,
        ]
        settings[i, : len(operation.settings)] = operation.settings
        partial += len(operation.parameters)
        memo += memo_rows(operation)
        statistics += operation.about.statistics(operation) * places.MOMENTS
    return settings, statistics


def set_loss(plan: Whole, scalars: FloatArray, loss: Loss, outputs: int) -> None:
    """Set the fields of the loss."""
    losses = [*LOSSES.values(), *ROW_LOSSES.values()]
    plan[places.LOSS] = index_of(loss.row, losses, "loss")
    plan[places.MEAN_OF] = loss.divisor(outputs)
    scalars[places.FACTOR] = loss.factor


def set_batches(plan: Whole, scalars: FloatArray, batches: Batches) -> None:
    """Set the fields of the way that batches are drawn."""
    plan[places.DRAW] = batches.draw
    plan[places.SEED_LOW], plan[places.SEED_HIGH] = batches.seed & MASK, batches.seed >> 32
    plan[places.SAMPLES], plan[places.SIZE] = batches.samples, batches.size
    plan[places.TABLE_TARGETS] = batches.inputs.size
    settings = batches.settings
    scalars[places.DRAW_NUMBERS : places.DRAW_NUMBERS + len(settings)] = settings


def set_optimizer(plan: Whole, scalars: FloatArray, optimizer: Optimizer) -> None:
    """Set the fields of optimizer and schedule."""
    schedule = optimizer.schedule
    plan[places.OPTIMIZER] = index_of(optimizer.row, [*OPTIMIZERS.values()], "optimizer")
    plan[places.OPTIMIZER_SETTINGS] = len(optimizer.settings)
    plan[places.SLOT_COUNT] = len(optimizer.row.slots)
    plan[places.HAS_OWN_RATES] = bool(optimizer.own_rates)
    plan[places.SCHEDULE] = list(SCHEDULES).index(schedule.name)
    plan[places.REFUSE] = optimizer.not_finite == "error"
    limits = optimizer.clip_norm, optimizer.clip_value
    scalars[places.RATE : places.FACTOR] = [optimizer.lr, *limits, optimizer.l1, optimizer.l2]
    for place, numbers in (
        (places.OPTIMIZER_NUMBERS, optimizer.settings),
        (places.SCHEDULE_NUMBERS, schedule.settings),
    ):
        scalars[place : place + len(numbers)] = list(numbers.values())


def set_start(
    plan: Whole, scalars: FloatArray, bank: Bank, first: int, *, learning: bool = True
) -> None:
    """Set the fields of the beginning of a call: first step, steps taken, state."""
    plan[places.FIRST_STEP], plan[places.LEARNING] = first, learning
    plan[places.STEPS_TAKEN] = plan[places.STEPS_TAKEN_AFTER] = bank.step_count
    plan[places.FIRST_BAD], plan[places.BAD], plan[places.DONE] = places.NOBODY, NONE, 0
    plan[places.OVERFLOWED], plan[places.STEP] = places.NOBODY, 0
    set_state(scalars, bank)


def set_state(scalars: FloatArray, bank: Bank) -> None:
    """Set the bank's state."""
    scalars[places.STATE_NUMBERS : places.STATE_NUMBERS + len(bank.state)] = bank.state
