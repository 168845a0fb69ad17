"""Dead neurons: no sample of the training data can move their weights any more."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import NONE, Operation
from scalarviz.data.data_set import TableSet
from scalarviz.engines.common.reference import OperationArrays, operation_backward, program_forward

if TYPE_CHECKING:
    from scalarviz.training.session.trainer import Trainer

FIRST = 32  # samples that are looked at first; then ever more at a time


def dead_neuron(trainer: Trainer, step: int) -> float:
    """Return the first row of the first dead neuron on arrival at a step; NaN if none is dead.

    A neuron is dead if the gradients of all its weights were exactly 0 in the last step, and the
    derivative of its activation is 0 for every sample of the training data; for data that is made
    by code, of the batch that comes next.
    """
    still = {op: neurons for op, neurons in still_neurons(trainer) if neurons.any()}
    if not still or not step:
        return math.nan
    for inputs in samples_of(trainer, step):
        still = quiet_neurons(trainer, still, inputs)
        if not still:
            return math.nan
    first = min(still, key=lambda operation: operation.weights)
    return float(rows_of_neurons(first)[int(np.flatnonzero(still[first])[0])][0])


def still_neurons(trainer: Trainer) -> Iterator[tuple[Operation, Any]]:
    """Yield the operations that an activation follows, and which neurons had no gradient."""
    for operation, after in pairwise(trainer.network.program.operations):
        is_one = after.kind == "activation" and after.source == operation.target
        if is_one and operation.weights != NONE:
            rows = rows_of_neurons(operation)
            yield operation, ~trainer.bank.grad[rows].any(axis=1)


@lru_cache(maxsize=64)
def rows_of_neurons(operation: Operation) -> FloatArray:
    """Return the rows of the bank of each neuron of an operation, (neurons, rows)."""
    has_bias = operation.biases != NONE
    count = operation.target.size // operation.outputs_per_bias
    rows = np.array(operation.parameters)
    weights = len(rows) - has_bias * count
    table = rows[:weights].reshape(count, -1)
    return np.hstack([table, rows[weights:].reshape(count, -1)])


def samples_of(trainer: Trainer, step: int) -> Iterator[FloatArray]:
    """Yield the inputs of all samples, some at a time."""
    data = trainer.settings.data
    table = data.training[0] if isinstance(data, TableSet) else trainer.batches.at(step)[0]
    first, count = 0, FIRST
    while first < len(table):
        yield table[first : first + count]
        first, count = first + count, 4 * count


def quiet_neurons(
    trainer: Trainer, still: dict[Operation, FloatArray], inputs: FloatArray
) -> dict[Operation, FloatArray]:
    """Return those of some neurons whose activation has the derivative 0 for all these samples."""
    program, bank = trainer.network.program, trainer.bank
    found = program_forward(program, bank.value, bank.state, inputs)
    left = {}
    for operation, after in pairwise(program.operations):
        if operation not in still:
            continue
        x, y = found[after.source.name], found[after.target.name]
        arrays = OperationArrays(
            bank.value, bank.state, 0, (x,), y, np.ones_like(y), learning=False
        )
        slopes = operation_backward(after, arrays)[0].reshape(len(x), len(still[operation]), -1)
        quiet = still[operation] & ~slopes.any(axis=(0, 2))
        if quiet.any():
            left[operation] = quiet
    return left
