"""A Program as the arrays that kernels of the cpu engine read, and the sizes of workspaces.

A tile's workspace of values holds all buffers of the program, a row for each number of a sample,
then the targets of the loss, then the numbers that operations keep for backward. Gradients have a
workspace of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.formulas.losses import Loss
from scalarviz.core.formulas.randomness import MASK
from scalarviz.core.precision import Precision
from scalarviz.core.program import NONE, Buffer, Program
from scalarviz.data.batches import POINTS, Batches
from scalarviz.engines.cpu.arrays import MOST_SETTINGS
from scalarviz.engines.cpu.optimizer_args import Order
from scalarviz.engines.cpu.passes import training_passes
from scalarviz.engines.cpu.products import LONGEST
from scalarviz.engines.cpu.records import DRAWING, OPERATION, PLAN, Records

LINE = 64  # bytes


@dataclass(frozen=True, slots=True)
class Tables:
    """A program as arrays, and the sizes of its workspaces."""

    plan: Records  # one record
    passes: Records
    operations: Records
    settings: FloatArray
    space: int  # size of a tile's workspace of values, in numbers
    flow: int  # size of its workspace of gradients, in numbers
    flows: dict[Buffer, int]  # first row of each buffer's gradient in it
    gradients: int  # number of parameters; a layer used twice counts twice

    def matches_bank(self, rows: int) -> bool:
        """Whether each of a bank's rows has its gradient at the same place in those of a chunk."""
        ops = self.operations[self.operations["count"] > 0]
        return self.gradients == rows and bool((ops["gradients"] == ops["weights"]).all())


def make_tables(
    program: Program, dtype: str, precision: Precision, *, apart: bool = False
) -> Tables:
    """Return the tables of a program, with its layout in the workspaces.

    With `apart` the gradient of an activation's inputs does not overwrite that of its outputs, so
    that both can be read.
    """
    width = int(LONGEST)
    flows, flow_size = place_flows(program, apart)
    operations = np.zeros(len(program.operations), OPERATION)
    settings = np.zeros((len(program.operations), int(MOST_SETTINGS)), dtype)
    goals = program.workspace
    memo = goals + program.outputs.size
    gradients = 0
    for i, operation in enumerate(program.operations):
        source, target = operation.source, operation.target
        op = operations[i]
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
        for second in operation.sources[1:]:
            op["second"], op["seconds"], op["flow_second"] = (
                second.offset,
                second.size,
                flows[second],
            )
        op["held_from"], op["held_to"] = operation.held_by.start, operation.held_by.stop
        gradients += len(operation.parameters)
        settings[i, : len(operation.settings)] = operation.settings
        op["settings"] = settings[i].ctypes.data
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
    """Return `places` workspaces of `size` numbers, the first one aligned to a cache line."""
    room = np.zeros(places * size + LINE, dtype)
    first = -room.ctypes.data % LINE // room.itemsize
    return room[first : first + places * size].reshape(places, size)


def plan_loss(tables: Tables, program: Program, loss: Loss) -> Records:
    """Return a copy of the tables' plan with the loss of a training."""
    # numpy's copy of a record array takes ten times as long.
    plan = np.ndarray(1, PLAN, bytearray(tables.plan.tobytes()))
    plan["first_needed"] = program.first_parameters + 1
    plan["mean_of"] = loss.divisor(program.outputs.size)
    return plan


def set_order(plan: Records, order: Order) -> None:
    """Write to a plan whether bad gradients stop a training; in mixed precision none is refused."""
    plan["refuse"] = order.refuses and not plan["half"][0]


def drawing_arrays(batches: Batches) -> tuple[Records, FloatArray]:
    """Return how batches are drawn, as a DRAWING record and the settings, for `draws`."""
    drawing = np.empty(1, DRAWING)
    drawing[0] = drawing_of(batches)
    return drawing, np.array(batches.settings, np.float64)


def drawing_of(batches: Batches) -> tuple[int, ...]:
    """Return how batches are drawn: the fields of a DRAWING record."""
    seed = batches.seed
    return batches.draw, seed & MASK, seed >> 32, batches.samples, batches.size


def room_for_points(batches: Batches) -> int:
    """Return the number of points that a step draws at random instead of from the data set."""
    return batches.size if batches.draw == POINTS else 0


def place_flows(program: Program, apart: bool) -> tuple[dict[Buffer, int], int]:
    """Return the first row of each buffer's gradient, and the number of rows in total."""
    places = {program.outputs: 0}
    size = program.outputs.size
    for operation in reversed(program.operations):
        if operation.kind == "activation" and not apart:
            places[operation.source] = places[operation.target]
        for source in operation.sources:
            if source not in places:
                places[source] = size
                size += source.size
    return places, size
