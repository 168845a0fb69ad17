"""Order: an optimizer and its schedule as table indices and argument arrays, for kernels."""

from __future__ import annotations

from operator import itemgetter
from typing import final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.optimizer import Optimizer
from scalarviz.engines.cpu.records import HOW, SPAN, Records

# From the dictionary of an optimizer: each attribute of its own would take several times as long.
SETTINGS = itemgetter(
    "row", "_schedule", "_lr", "clip_norm", "clip_value", "l1", "l2", "not_finite", "_own_rates"
)


@final
class Order:
    """Optimizer and schedule as table indices and argument arrays.

    `numbers` are the arrays that kernels read: a HOW record (see `records`), the settings of the
    optimizer, those of the schedule, and the learning rates of spans of `rows` (SPAN records).
    """

    def __init__(self, optimizer: Optimizer, rows: int) -> None:
        self.state = state_of(optimizer)
        self.refuses = optimizer.not_finite == "error"
        self.slots = optimizer.row.slots
        self.arguments = len(optimizer.arguments(0))
        limits = optimizer.clip_norm, optimizer.clip_value
        self.numbers: tuple[Records, FloatArray, FloatArray, Records] = (
            np.array([(optimizer.lr, *limits, optimizer.l1, optimizer.l2)], HOW),
            np.array([*optimizer.settings.values()], np.float64),
            np.array([*optimizer.schedule.settings.values()], np.float64),
            np.array(optimizer.own_rates.cover(rows), SPAN),
        )

    @staticmethod
    def of(optimizer: Optimizer, rows: int, last: Order | None) -> Order:
        """Return the Order of an optimizer: `last` if no setting has changed since."""
        if last is not None and last.state == state_of(optimizer):
            return last
        return Order(optimizer, rows)


def state_of(optimizer: Optimizer) -> tuple[object, ...]:
    """Return all settings of an optimizer, for comparison."""
    return (*SETTINGS(vars(optimizer)), *optimizer.settings.values())
