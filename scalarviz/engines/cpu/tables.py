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
from scalarviz.engines.cpu.optimizer_args import Order
from scalarviz.engines.cpu.passes import training_passes
from scalarviz.engines.cpu.products import LONGEST
from scalarviz.engines.cpu.records import OPERATION, PLAN, Records
from scalarviz.engines.cpu.table import KERNELS
from scalarviz.formulas.losses import LOSSES, ROW_LOSSES, Loss
from scalarviz.formulas.randomness import MASK
from scalarviz.model.operations import NONE, Buffer
from scalarviz.model.precision import Precision
from scalarviz.model.program import Program

Unsigned = npt.NDArray[np.uint64]
LINE = 64  # bytes
MOST_SETTINGS = 7  # of an operation


@dataclass(frozen=True, slots=True)
class Tables:
    """What the kernels are told about a program."""

    plan: Records  # one
    passes: Records
    operations: Records
    settings: FloatArray
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
    operations = np.zeros(len(program.operations), OPERATION)
    settings = np.zeros((len(program.operations), MOST_SETTINGS), dtype)
    goals = program.workspace
    memo = goals + program.outputs.size
    gradients = 0
    for i, operation in enumerate(program.operations):
        source, target, other = operation.source, operation.target, operation.other
        op = operations[i]
        op["kind"] = list(KERNELS).index(operation.kind)
        op["formula"] = operation.formula_place
        op["source"], op["target"] = source.offset, target.offset
        op["inputs"], op["outputs"] = source.size, target.size
        op["weights"], op["biases"] = max(operation.weights, 0), max(operation.biases, 0)
        op["has_biases"] = operation.biases != NONE
        op["memo"] = memo
        op["flow_in"], op["flow_out"] = flows[source], flows[target]
        op["gradients"], op["count"] = gradients, len(operation.parameters)
        op["each"] = operation.outputs_per_bias
        op["state"] = max(operation.state, 0)
        if other:
            op["other"], op["flow_other"] = other.offset, flows[other]
        op["held_from"], op["held_to"] = operation.held_by.start, operation.held_by.stop
        gradients += len(operation.parameters)
        settings[i, : len(operation.settings)] = operation.settings
        memo += operation.about.memo(operation)
    plan = np.zeros(1, PLAN)
    plan["out"], plan["out_size"] = program.outputs.offset, program.outputs.size
    plan["goals"] = goals
    plan["flow_out"], plan["flow_in"] = flows[program.outputs], flows[program.inputs]
    plan["half"] = precision.mixed
    plan["dynamic"] = precision.mixed and precision.dynamic
    plan["patience"] = precision.patience
    return Tables(
        plan,
        training_passes(program),
        operations,
        settings,
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


def plan_loss(tables: Tables, program: Program, loss: Loss) -> Records:
    """The plan of a training: that of the tables, and its loss."""
    # numpy's own copy of a record takes ten times as long.
    plan = np.ndarray(1, PLAN, bytearray(tables.plan.tobytes()))
    plan["first_needed"] = program.first_parameters + 1
    plan["loss"] = [*LOSSES, *ROW_LOSSES].index(loss.name)
    plan["mean_of"] = loss.divisor(program.outputs.size)
    return plan


def set_order(plan: Records, order: Order) -> None:
    """Note in a plan how weights move; with mixed precision no gradient is refused."""
    plan["optimizer"] = order.optimizer
    plan["schedule"] = order.schedule
    plan["refuse"] = order.refuses and not plan["half"][0]


def drawing_of(batches: Batches) -> tuple[int, ...]:
    """How batches are drawn: the fields of a DRAWING."""
    seed = batches.seed
    return batches.draw, seed & MASK, seed >> 32, batches.samples, batches.size


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
