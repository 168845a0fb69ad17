"""A program as the arrays that CUDA kernels read: see `plan` for what is where."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scalarviz.checks.numbers import FloatArray
from scalarviz.data.batches import IN_ORDER, Batches
from scalarviz.engines.cuda import plan as plan
from scalarviz.formulas.losses import LOSSES, ROW_LOSSES, Loss
from scalarviz.formulas.optimizers import OPTIMIZERS
from scalarviz.formulas.randomness import MASK
from scalarviz.formulas.schedules import SCHEDULES
from scalarviz.model.bank import Bank
from scalarviz.model.operations import KINDS, NONE, Operation
from scalarviz.model.optimizer import Optimizer
from scalarviz.model.precision import Precision
from scalarviz.model.program import Program

Whole = npt.NDArray[np.int64]

LEAST_SHARE = 8  # samples in a chunk; a smaller one is not worth a block
MOST_CHUNKS = 128
MOST_PARTIALS = 2**25  # numbers that the gradients of all chunks may take
LEAST_WIDTH = 4  # samples in a tile of a whole step
MOST_STEPS = 1024  # in one launch


@dataclass(frozen=True, slots=True)
class MemoryLayout:
    """The plan and the operations, the sizes of the other arrays, and what they begin with."""

    whole: Whole
    reals: int
    exact: int
    settings: FloatArray  # of the operations
    settings_place: int
    losses_place: int

    def op(self, i: int) -> int:
        """Where operation i stands in `whole`."""
        return plan.PLAN_FIELDS + i * plan.COLUMNS


def make_layout(
    program: Program, bank: Bank, precision: Precision, samples: int, shared: int
) -> MemoryLayout:
    """The layout for batches of so many samples; a block has `shared` bytes of its own."""
    whole = np.zeros(plan.PLAN_FIELDS + len(program.operations) * plan.COLUMNS, np.int64)
    for field, number in sizes(program, bank, precision, samples).items():
        whole[field] = number
    places = place_parts(whole, len(program.operations) * plan.MOST_SETTINGS)
    settings_place, size = places.pop(NONE), places.pop(plan.PLAN_FIELDS)
    for field, number in places.items():
        whole[field] = number
    if not precision.mixed:
        whole[plan.WEIGHTS] = whole[plan.VALUE]
    rows = int(whole[plan.SPACE_ROWS] + whole[plan.FLOW_ROWS])
    share = -(-samples // int(whole[plan.CHUNKS]))
    whole[plan.WIDTH] = tile_width(share, rows * np.dtype(bank.dtype).itemsize, shared)
    table = whole[plan.PLAN_FIELDS :].reshape(-1, plan.COLUMNS)
    losses = int(whole[plan.ERRORS] + whole[plan.CHUNKS] + whole[plan.GROUPS])
    settings, before = fill_operations(table, program, settings_place, losses + MOST_STEPS)
    whole[plan.STATE_BEFORE] = before
    return MemoryLayout(whole, size, before + len(bank.state), settings, settings_place, losses)


def sizes(program: Program, bank: Bank, precision: Precision, samples: int) -> dict[int, int]:
    """What a plan says of the network, of the precision, and of a batch that is simply there."""
    memos = sum(map(memo_rows, program.operations))
    space_rows = program.workspace + program.outputs.size + memos + 1
    partial_size = sum(len(operation.parameters) for operation in program.operations)
    return {
        plan.ROWS: len(bank),
        plan.OPERATIONS: len(program.operations),
        plan.CHUNKS: count_chunks(samples, partial_size),
        plan.STRIDE: samples,
        plan.IN_SIZE: program.inputs.size,
        plan.OUT: program.outputs.offset,
        plan.OUT_SIZE: program.outputs.size,
        plan.GOALS: program.workspace,
        plan.ERRORS_ROW: space_rows - 1,
        plan.SPACE_ROWS: space_rows,
        plan.FLOW_ROWS: program.workspace,
        plan.PARTIAL_SIZE: partial_size,
        plan.FIRST_NEEDED: program.first_parameters + 1,
        plan.GROUPS: -(-len(bank) // plan.GROUP),
        plan.HALF: precision.mixed,
        plan.DYNAMIC: precision.mixed and precision.dynamic,
        plan.PATIENCE: precision.patience,
        plan.DRAW: IN_ORDER,
        plan.SAMPLES: samples,
        plan.SIZE: samples,
        plan.ERRORS: plan.STATE_NUMBERS + len(bank.state),
    }


def memo_rows(operation: Operation) -> int:
    """How many numbers of a sample are kept; what is found out about a batch lies in `exact`."""
    about = operation.about
    return 0 if about.statistics(operation) else about.memo(operation)


def place_parts(whole: Whole, settings: int) -> dict[int, int]:
    """Where in `reals` the parts begin: at NONE the settings, at PLAN_FIELDS what would be next."""
    rows, samples = int(whole[plan.ROWS]), int(whole[plan.STRIDE])
    parts = [
        (plan.VALUE, rows),
        (plan.FROZEN, rows),
        (plan.SLOTS, most_slots() * rows),
        (plan.GRAD, rows),
        (NONE, settings),
        (plan.WEIGHTS, rows if whole[plan.HALF] else 0),
        (plan.PARTIALS, int(whole[plan.CHUNKS] * whole[plan.PARTIAL_SIZE])),
        (plan.SPACE, int(whole[plan.SPACE_ROWS]) * samples),
        (plan.FLOW, int(whole[plan.FLOW_ROWS]) * samples),
    ]
    ends = np.cumsum([size for _, size in parts]).tolist()
    fields = [*[field for field, _ in parts], plan.PLAN_FIELDS]
    return dict(zip(fields, [0, *ends], strict=True))


def count_chunks(samples: int, partial_size: int) -> int:
    """Into how many chunks a batch is cut; that depends on no device."""
    room = max(1, MOST_PARTIALS // max(1, partial_size))
    return max(1, min(MOST_CHUNKS, samples // LEAST_SHARE, room))


def tile_width(share: int, a_sample: int, shared: int) -> int:
    """How many samples of a chunk a block has room for at a time; 0 if too few."""
    width = min(share, shared // a_sample)
    return width if width >= min(share, LEAST_WIDTH) else 0


def most_slots() -> int:
    """How many numbers the greediest optimizer keeps for a weight."""
    return max(len(row.slots) for row in OPTIMIZERS.values())


def fill_operations(
    table: Whole, program: Program, settings_place: int, statistics: int
) -> tuple[FloatArray, int]:
    """Write the rows of the operations; their settings, and where their statistics end."""
    settings = np.zeros((len(program.operations), plan.MOST_SETTINGS))
    memo, partial = program.workspace + program.outputs.size, 0
    for i, operation in enumerate(program.operations):
        table[i] = [
            list(KINDS).index(operation.kind),
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
            settings_place + i * plan.MOST_SETTINGS,
            operation.each,
            operation.other.offset if operation.other else 0,
            max(operation.state, 0),
            statistics,
            operation.held_by.start,
            operation.held_by.stop,
        ]
        settings[i, : len(operation.settings)] = operation.settings
        partial += len(operation.parameters)
        memo += memo_rows(operation)
        statistics += operation.about.statistics(operation) * plan.MOMENTS
    return settings, statistics


def set_loss(whole: Whole, exact: FloatArray, loss: Loss, outputs: int) -> None:
    """What a plan says of the loss."""
    whole[plan.LOSS] = [*LOSSES, *ROW_LOSSES].index(loss.name)
    whole[plan.MEAN_OF] = loss.divisor(outputs)
    exact[plan.FACTOR] = loss.factor


def set_batches(whole: Whole, exact: FloatArray, batches: Batches) -> None:
    """What a plan says of how batches are drawn."""
    whole[plan.DRAW] = batches.draw
    whole[plan.SEED_LOW], whole[plan.SEED_HIGH] = batches.seed & MASK, batches.seed >> 32
    whole[plan.SAMPLES], whole[plan.SIZE] = batches.samples, batches.size
    whole[plan.TABLE_TARGETS] = batches.inputs.size
    settings = batches.settings
    exact[plan.DRAW_NUMBERS : plan.DRAW_NUMBERS + len(settings)] = settings


def set_optimizer(whole: Whole, exact: FloatArray, optimizer: Optimizer) -> None:
    """What a plan says of how weights move."""
    schedule = optimizer.schedule
    whole[plan.OPTIMIZER] = list(OPTIMIZERS).index(optimizer.name)
    whole[plan.OPTIMIZER_SETTINGS] = len(optimizer.settings)
    whole[plan.SLOT_COUNT] = len(optimizer.row.slots)
    whole[plan.SCHEDULE] = list(SCHEDULES).index(schedule.name)
    whole[plan.REFUSE] = optimizer.not_finite == "error" and not whole[plan.HALF]
    limits = optimizer.clip_norm, optimizer.clip_value
    exact[plan.RATE : plan.FACTOR] = [optimizer.lr, *limits, optimizer.l1, optimizer.l2]
    for place, numbers in (
        (plan.OPTIMIZER_NUMBERS, optimizer.settings),
        (plan.SCHEDULE_NUMBERS, schedule.settings),
    ):
        exact[place : place + len(numbers)] = list(numbers.values())


def set_start(
    whole: Whole, exact: FloatArray, bank: Bank, first: int, *, learning: bool = True
) -> None:
    """Where an order begins: its first step, and what the network has behind it."""
    whole[plan.FIRST_STEP], whole[plan.LEARNING] = first, learning
    whole[plan.TAKEN] = whole[plan.TAKEN_AFTER] = bank.step_count
    whole[plan.FOUND], whole[plan.BAD], whole[plan.DONE] = plan.NOBODY, NONE, 0
    whole[plan.OVERFLOWED] = plan.NOBODY
    set_state(exact, bank)


def set_state(exact: FloatArray, bank: Bank) -> None:
    """What belongs to the network and is no parameter."""
    exact[plan.STATE_NUMBERS : plan.STATE_NUMBERS + len(bank.state)] = bank.state
