"""A program as the arrays that CUDA kernels read: see `cuda_plan` for what is where."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scalarviz.bank import Bank
from scalarviz.batches import IN_ORDER, Batches
from scalarviz.checks import FloatArray
from scalarviz.engines import cuda_plan as plan
from scalarviz.formulas.activations import ACTIVATIONS
from scalarviz.formulas.losses import LOSSES, ROW_LOSSES, Loss
from scalarviz.formulas.optimizers import OPTIMIZERS
from scalarviz.formulas.randomness import MASK
from scalarviz.formulas.rowwise import ROW_FORMULAS
from scalarviz.formulas.schedules import SCHEDULES
from scalarviz.optimizer import Optimizer
from scalarviz.precision import Precision
from scalarviz.program import KINDS, NONE, Operation, Program

Whole = npt.NDArray[np.int64]

LEAST_SHARE = 8  # samples in a chunk; a smaller one is not worth a block
MOST_CHUNKS = 128
MOST_PARTIALS = 2**25  # numbers that the gradients of all chunks may take
MOST_SETTINGS = 2  # of a row formula
LEAST_WIDTH = 4  # samples in a tile of a whole step
MOST_STEPS = 1024  # in one launch


@dataclass(frozen=True, slots=True)
class Layout:
    """The plan and the operations, the sizes of the other arrays, and what they begin with."""

    whole: Whole
    reals: int
    exact: int
    settings: FloatArray  # of the row formulas
    settings_place: int
    losses_place: int

    def op(self, i: int) -> int:
        """Where operation i stands in `whole`."""
        return plan.PLAN_FIELDS + i * plan.COLUMNS


def make_layout(
    program: Program, bank: Bank, precision: Precision, samples: int, shared: int
) -> Layout:
    """The layout for batches of so many samples; a block has `shared` bytes of its own."""
    memos = sum(operation.kind == "row" for operation in program.operations)
    goals = program.workspace
    space_rows = goals + program.outputs.size + memos + 1
    partial_size = sum(len(operation.parameters) for operation in program.operations)
    chunks = count_chunks(samples, partial_size)
    groups = -(-len(bank) // plan.GROUP)
    whole = np.zeros(plan.PLAN_FIELDS + len(program.operations) * plan.COLUMNS, np.int64)
    places = place_parts(
        [
            (plan.VALUE, len(bank)),
            (plan.FROZEN, len(bank)),
            (plan.SLOTS, most_slots() * len(bank)),
            (plan.GRAD, len(bank)),
            (NONE, MOST_SETTINGS * len(program.operations)),
            (plan.WEIGHTS, len(bank) if precision.mixed else 0),
            (plan.PARTIALS, chunks * partial_size),
            (plan.SPACE, space_rows * samples),
            (plan.FLOW, program.workspace * samples),
        ]
    )
    settings_place, size = places.pop(NONE), places.pop(plan.PLAN_FIELDS)
    fields = {
        **places,
        plan.ROWS: len(bank),
        plan.OPERATIONS: len(program.operations),
        plan.CHUNKS: chunks,
        plan.STRIDE: samples,
        plan.IN_SIZE: program.inputs.size,
        plan.OUT: program.outputs.offset,
        plan.OUT_SIZE: program.outputs.size,
        plan.GOALS: goals,
        plan.ERRORS_ROW: space_rows - 1,
        plan.SPACE_ROWS: space_rows,
        plan.FLOW_ROWS: program.workspace,
        plan.PARTIAL_SIZE: partial_size,
        plan.FIRST_NEEDED: program.first_parameters + 1,
        plan.GROUPS: groups,
        plan.HALF: precision.mixed,
        plan.DYNAMIC: precision.mixed and precision.dynamic,
        plan.PATIENCE: precision.patience,
        plan.DRAW: IN_ORDER,
        plan.SAMPLES: samples,
        plan.SIZE: samples,
    }
    if not precision.mixed:
        fields[plan.WEIGHTS] = fields[plan.VALUE]
    share = -(-samples // chunks)
    a_sample = (space_rows + program.workspace) * np.dtype(bank.dtype).itemsize
    fields[plan.WIDTH] = tile_width(share, a_sample, shared)
    for field, number in fields.items():
        whole[field] = number
    table = whole[plan.PLAN_FIELDS :].reshape(-1, plan.COLUMNS)
    settings = fill_operations(table, program, goals + program.outputs.size, settings_place)
    losses_place = plan.ERRORS + chunks + groups
    return Layout(whole, size, losses_place + MOST_STEPS, settings, settings_place, losses_place)


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


def place_parts(parts: list[tuple[int, int]]) -> dict[int, int]:
    """Where each part begins; and at PLAN_FIELDS, where the last one ends."""
    places, end = {}, 0
    for field, size in parts:
        places[field] = end
        end += size
    return {**places, plan.PLAN_FIELDS: end}


def fill_operations(table: Whole, program: Program, memo: int, settings_place: int) -> FloatArray:
    """Write the rows of the operations; the settings of the row formulas."""
    settings = np.zeros((len(program.operations), MOST_SETTINGS))
    partial = 0
    for i, operation in enumerate(program.operations):
        table[i] = [
            list(KINDS).index(operation.kind),
            formula_index(operation),
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
            settings_place + i * MOST_SETTINGS,
        ]
        settings[i, : len(operation.settings)] = operation.settings
        partial += len(operation.parameters)
        memo += operation.kind == "row"
    return settings


def formula_index(operation: Operation) -> int:
    """The place of an operation's formula in its table."""
    if operation.kind == "activation":
        return list(ACTIVATIONS).index(operation.formula)
    return list(ROW_FORMULAS).index(operation.formula) if operation.kind == "row" else 0


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
    whole[plan.SCHEDULE] = list(SCHEDULES).index(schedule.name)
    whole[plan.REFUSE] = optimizer.not_finite == "error" and not whole[plan.HALF]
    limits = optimizer.clip_norm, optimizer.clip_value
    exact[plan.RATE : plan.FACTOR] = [optimizer.lr, *limits, optimizer.l1, optimizer.l2]
    for place, numbers in (
        (plan.OPTIMIZER_NUMBERS, optimizer.settings),
        (plan.SCHEDULE_NUMBERS, schedule.settings),
    ):
        exact[place : place + len(numbers)] = list(numbers.values())


def set_start(whole: Whole, exact: FloatArray, bank: Bank, first: int) -> None:
    """Where an order begins: its first step, and what the network has behind it."""
    whole[plan.FIRST_STEP] = first
    whole[plan.TAKEN] = whole[plan.TAKEN_AFTER] = bank.step_count
    whole[plan.FOUND], whole[plan.BAD], whole[plan.DONE] = plan.NOBODY, NONE, 0
    exact[plan.LOSS_SCALE : plan.SKIPPED + 1] = bank.scaling
