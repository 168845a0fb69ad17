"""A Program as arrays: the tables of numbers that the kernels of the cpu engine read.

A tile's workspace holds all buffers of the program, each `size` rows of TILE numbers, then the
targets of the loss, then what some operations keep for their way back. The gradients flow through a
workspace of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scalarviz.checks.numbers import FloatArray
from scalarviz.data.batches import POINTS, Batches
from scalarviz.engines.cpu import step as plans
from scalarviz.engines.cpu.draws import DRAWING_FIELDS
from scalarviz.engines.cpu.optimizer_args import Order
from scalarviz.engines.cpu.passes import Passes, training_passes
from scalarviz.engines.cpu.products import LONGEST
from scalarviz.engines.cpu.tiles import COLUMNS
from scalarviz.formulas.losses import LOSSES, ROW_LOSSES, Loss
from scalarviz.formulas.randomness import MASK
from scalarviz.model.operations import KINDS, NONE, Buffer
from scalarviz.model.precision import Precision
from scalarviz.model.program import Program

Unsigned = npt.NDArray[np.uint64]
LINE = 64  # bytes
MOST_SETTINGS = 7  # of an operation


@dataclass(frozen=True, slots=True)
class Tables:
    """What the kernels are told about a program."""

    plan: Unsigned
    operations: Unsigned
    settings: FloatArray
    passes: Passes
    space: int  # the size of a tile's workspace, in numbers
    flow: int  # and of the one for gradients
    flows: dict[Buffer, int]  # where in it, in rows, the gradient by each buffer lies
    gradients: int  # how many parameters, those of a shared layer counted each time


def make_tables(
    program: Program, dtype: str, precision: Precision, *, apart: bool = False
) -> Tables:
    """The tables of a program, with everything placed in the workspaces.

    `apart` keeps the gradient by what an activation read from taking the place of that by what it
    wrote, so that both can be looked at.
    """
    width = int(LONGEST)
    flows, flow_size = place_flows(program, apart)
    rows: list[list[int]] = []
    settings = np.zeros((len(program.operations), MOST_SETTINGS), dtype)
    goals = program.workspace
    memo = goals + program.outputs.size
    gradients = 0
    for i, operation in enumerate(program.operations):
        source, target = operation.source, operation.target
        rows.append(
            [
                list(KINDS).index(operation.kind),
                operation.formula_place,
                source.offset,
                target.offset,
                source.size,
                target.size,
                max(operation.weights, 0),
                max(operation.biases, 0),
                int(operation.biases != NONE),
                memo,
                flows[source],
                flows[target],
                gradients,
                len(operation.parameters),
                operation.outputs_per_bias,
                max(operation.state, 0),
                operation.other.offset if operation.other else 0,
                flows[operation.other] if operation.other else 0,
                operation.held_by.start,
                operation.held_by.stop,
            ]
        )
        gradients += len(operation.parameters)
        settings[i, : len(operation.settings)] = operation.settings
        memo += operation.about.memo(operation)
    plan = np.zeros(plans.PLAN_FIELDS, np.uint64)
    plan[plans.OUT] = program.outputs.offset
    plan[plans.OUT_SIZE] = program.outputs.size
    plan[plans.GOALS] = goals
    plan[plans.FLOW_OUT_0] = flows[program.outputs]
    plan[plans.FLOW_IN_0] = flows[program.inputs]
    plan[plans.HALF] = precision.mixed
    plan[plans.DYNAMIC] = precision.mixed and precision.dynamic
    plan[plans.PATIENCE] = precision.patience
    return Tables(
        plan,
        np.array(rows, np.uint64).reshape(len(rows), COLUMNS),
        settings,
        training_passes(program),
        memo * width,
        flow_size * width,
        flows,
        gradients,
    )


def workspaces(places: int, size: int, dtype: str) -> FloatArray:
    """Room for so many tiles, from the beginning of a line of the processor's cache on."""
    room = np.zeros(places * size + LINE, dtype)
    first = -room.ctypes.data % LINE // room.itemsize
    return room[first : first + places * size].reshape(places, size)


def plan_loss(tables: Tables, program: Program, loss: Loss) -> Unsigned:
    """The plan of a training: that of the tables, and its loss."""
    plan = tables.plan.copy()
    plan[plans.FIRST_NEEDED] = program.first_parameters + 1
    plan[plans.LOSS] = [*LOSSES, *ROW_LOSSES].index(loss.name)
    plan[plans.MEAN_OF] = loss.divisor(program.outputs.size)
    return plan


def set_order(plan: Unsigned, order: Order) -> None:
    """Note in a plan how weights move; with mixed precision no gradient is refused."""
    plan[plans.OPTIMIZER] = order.optimizer
    plan[plans.SCHEDULE] = order.schedule
    plan[plans.REFUSE] = order.refuses and not plan[plans.HALF]


def drawing_of(batches: Batches) -> npt.NDArray[np.int64]:
    """How batches are drawn, for `draws`."""
    seed = batches.seed
    fields = [batches.draw, seed & MASK, seed >> 32, batches.samples, batches.size]
    assert len(fields) == DRAWING_FIELDS
    return np.array(fields, np.int64)


def room_for_points(batches: Batches) -> int:
    """How many points a step draws that are in no table."""
    return batches.size if batches.draw == POINTS else 0


def place_flows(program: Program, apart: bool) -> tuple[dict[Buffer, int], int]:
    """Where the gradient by each buffer lies, and how much room they take."""
    places = {program.outputs: 0}
    size = program.outputs.size
    for operation in reversed(program.operations):
        if operation.kind == "activation" and not apart:
            places[operation.source] = places[operation.target]
        else:
            places[operation.source] = size
            size += operation.source.size
    return places, size
