"""A Program as arrays: the tables of numbers that the kernels of the cpu engine read.

A tile's workspace holds all buffers of the program, each `size` rows of TILE numbers, then the
targets of the loss, then one row for each row-wise formula, which leaves a number a sample for its
way back. The gradients flow through a workspace of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scalarviz.checks import FloatArray
from scalarviz.engines.cpu_batches import FLOW_OUT_0, GOALS, OUT, OUT_SIZE, PLAN_FIELDS
from scalarviz.engines.cpu_products import TILE
from scalarviz.formulas.activations import ACTIVATIONS
from scalarviz.formulas.rowwise import ROW_FORMULAS
from scalarviz.program import KINDS, NONE, Buffer, Operation, Program

Unsigned = npt.NDArray[np.uint64]
MOST_SETTINGS = 2  # of a row-wise formula


@dataclass(frozen=True, slots=True)
class Tables:
    """What the kernels are told about a program."""

    plan: Unsigned
    operations: Unsigned
    settings: FloatArray
    space: int  # the size of a tile's workspace, in numbers
    flow: int  # and of the one for gradients
    flow_inputs: int  # where in it the gradient by the inputs of the network ends up


def make_tables(program: Program, dtype: str) -> Tables:
    """The tables of a program, with everything placed in the workspaces."""
    tile = int(TILE)
    flows, flow_size = place_flows(program)
    rows: list[list[int]] = []
    settings = np.zeros((len(program.operations), MOST_SETTINGS), dtype)
    goals = program.workspace
    memo = goals + program.outputs.size
    for i, operation in enumerate(program.operations):
        source, target = operation.source, operation.target
        rows.append(
            [
                list(KINDS).index(operation.kind),
                formula_index(operation),
                source.offset * tile,
                target.offset * tile,
                source.size,
                target.size,
                max(operation.weights, 0),
                max(operation.biases, 0),
                int(operation.biases != NONE),
                memo * tile,
                flows[source] * tile,
                flows[target] * tile,
            ]
        )
        settings[i, : len(operation.settings)] = operation.settings
        memo += operation.kind == "row"
    plan = np.zeros(PLAN_FIELDS, np.uint64)
    plan[OUT] = program.outputs.offset * tile
    plan[OUT_SIZE] = program.outputs.size
    plan[GOALS] = goals * tile
    plan[FLOW_OUT_0] = flows[program.outputs] * tile
    return Tables(
        plan,
        np.array(rows, np.uint64).reshape(len(rows), 12),
        settings,
        memo * tile,
        flow_size * tile,
        flows[program.inputs] * tile,
    )


def formula_index(operation: Operation) -> int:
    """The place of an operation's formula in its table."""
    if operation.kind == "activation":
        return list(ACTIVATIONS).index(operation.formula)
    return list(ROW_FORMULAS).index(operation.formula) if operation.kind == "row" else 0


def place_flows(program: Program) -> tuple[dict[Buffer, int], int]:
    """Where the gradient by each buffer lies, and how much room they take.

    The gradient by what an activation read takes the place of that by what it wrote.
    """
    places = {program.outputs: 0}
    size = program.outputs.size
    for operation in reversed(program.operations):
        if operation.kind == "activation":
            places[operation.source] = places[operation.target]
        else:
            places[operation.source] = size
            size += operation.source.size
    return places, size
