"""The numbers of conditions over many steps at once, from the table that an engine has kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.engines.common.watch import FINITE, SQUARES, STEPS, Watch
from scalarviz.session.conditions import Condition
from scalarviz.session.trainer import Trainer

Read = Callable[[Watch, FloatArray, Trainer, int], FloatArray]


def rates(watch: Watch, table: FloatArray, trainer: Trainer, row: int) -> FloatArray:
    """Return the learning rate of the step that follows each one."""
    counts, places = np.unique(table[:, STEPS], return_inverse=True)
    optimizer = trainer.settings.optimizer
    found: FloatArray = np.array([optimizer.rate(int(count)) for count in counts])[places]
    return found


# How a number is read from a table; see `Quantity.watched`.
WATCHED: Mapping[str, Read] = {
    "value": lambda watch, table, trainer, row: table[:, watch.value_of(row)],
    "gradient": lambda watch, table, trainer, row: table[:, watch.gradient_of(row)],
    "norm": lambda watch, table, trainer, row: np.sqrt(table[:, SQUARES]),
    "finite": lambda watch, table, trainer, row: table[:, FINITE],
    "rate": rates,
}


def watch_of(conditions: Sequence[Condition]) -> Watch | None:
    """Return what an engine must keep for some conditions; None if one of them needs more."""
    kinds = {condition.watched for condition in conditions}
    if not kinds <= WATCHED.keys():
        return None
    values, gradients = (
        tuple(dict.fromkeys(each.row or 0 for each in conditions if each.watched == kind))
        for kind in ("value", "gradient")
    )
    return Watch(values, gradients, "norm" in kinds, "finite" in kinds)


def numbers_of(
    conditions: Sequence[Condition],
    watch: Watch,
    table: FloatArray,
    losses: FloatArray,
    trainer: Trainer,
) -> dict[Condition, FloatArray]:
    """Return the numbers of each condition after each step, as `Condition.number_at` reads them."""
    found = {
        condition: WATCHED[condition.watched](watch, table, trainer, condition.row or 0)
        for condition in conditions
    }
    for condition, numbers in found.items():
        if condition.is_not_finite:
            found[condition] = np.where(np.isfinite(losses), numbers, np.nan)
    return found
