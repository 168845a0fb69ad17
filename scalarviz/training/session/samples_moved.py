"""Which samples moved a weight most over the last steps, found by a replay of these steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.data.batches import Batches, InOrder, Picked, Shuffled
from scalarviz.errors import InputError, OrderError
from scalarviz.training.session.branches import Clock
from scalarviz.training.session.explanation import factors_of, numbers_of
from scalarviz.training.session.timeline import Timeline
from scalarviz.training.session.trainer import Trainer
from scalarviz.training.session.worker import check_end


@dataclass(frozen=True, slots=True)
class SampleMove:
    """How much one sample moved a weight.

    sample  its row in `s.data.training`
    amount  sum over the steps of the absolute value of its part
    net     the same with signs: of a change, where it moved the weight to
    steps   number of steps whose batch it was in
    """

    sample: int
    amount: float
    net: float
    steps: int


@dataclass(frozen=True, slots=True)
class SamplesMoved:
    """The samples that moved a weight most, the largest amount first.

    name     name of the weight, `row` its row in the bank
    first    the first step, counted from 0; `last` the last one
    unit     "change": rate times the sample's part of the gradient, which for SGD is exactly what
             it changed the weight by; "gradient": that part alone, for other optimizers
    samples  the samples
    total    sum of the amounts of all samples, those that are not listed included
    """

    name: str
    row: int
    first: int
    last: int
    unit: str
    samples: tuple[SampleMove, ...]
    total: float

    def __str__(self) -> str:
        what = "moved by" if self.unit == "change" else "pushed by gradients of"
        lines = [f"{self.name}: {what} {self.total:.4g} in steps {self.first:,} to {self.last:,}"]
        for each in self.samples:
            share = 100.0 * each.amount / self.total if self.total else 0.0
            lines.append(
                f"sample {each.sample:,}: {each.amount:.4g} ({share:.0f}%), net {each.net:+.4g}, "
                f"in {each.steps:,} step{'s' * (each.steps != 1)}"
            )
        return "\n".join(lines)

    __repr__ = __str__


def samples_that_moved(
    timeline: Timeline, row: int, steps: int, most: int, tell: Callable[[int], object]
) -> SamplesMoved:
    """Return the samples that moved a weight most; see `Session.samples_that_moved`.

    `tell` is called with the number of steps that were replayed.
    """
    trainer, now = timeline.trainer, timeline.clock
    if trainer.network.program.is_graph:
        raise InputError(
            "a compiled function has no samples that add up to a gradient, product by product: "
            "pass a session of a Network"
        )
    if now.step == 0:
        raise OrderError("no step is done yet, so no sample has moved anything: advance first")
    first = max(0, now.step - steps, data_set_at(timeline))
    amounts, nets, counts = np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0, np.int64)
    is_exact = True
    with timeline.visit(Clock(first)):
        try:
            for step in range(first, now.step):
                timeline.enter(step)
                timeline.forward(Clock(step, len(trainer.moments) - 1))
                rows, parts = rows_of_batch(trainer.batches, step), parts_of_gradient(trainer, row)
                room = max(len(counts), int(rows.max()) + 1)
                amounts, nets, counts = (grown(each, room) for each in (amounts, nets, counts))
                both = np.stack([-rate_of(trainer, row) * parts, parts], axis=1)
                np.add.at(amounts, rows, np.abs(both))
                np.add.at(nets, rows, both)
                counts[np.unique(rows)] += 1
                is_exact = is_exact and is_plain(trainer)
                tell(step + 1 - first)
                check_end()
        finally:
            timeline.restore(now.step)
    which, unit = (0, "change") if is_exact else (1, "gradient")
    order = np.argsort(-amounts[:, which], kind="stable")
    order = order[counts[order] > 0][:most]
    found = [
        SampleMove(int(i), float(amounts[i, which]), float(nets[i, which]), int(counts[i]))
        for i in order
    ]
    name, total = trainer.bank.name_of(row), float(amounts[:, which].sum())
    return SamplesMoved(name, row, first, now.step - 1, unit, tuple(found), total)


def data_set_at(timeline: Timeline) -> int:
    """Return the step from which on the present data set is used."""
    journal = timeline.branch.journal
    places = [a.step for a in journal if a.kind == "data" and a.place <= timeline.clock.place]
    return places[-1] if places and places[-1] < timeline.clock.step else 0


def rows_of_batch(batches: Batches, step: int) -> Any:
    """Return the rows of the table that make up the batch of a step; raise InputError."""
    if isinstance(batches, (InOrder, Shuffled, Picked)):
        return batches.rows(step)
    raise InputError(
        "this data makes its samples anew in each step, so that none comes twice: take a table, "
        "such as sv.data.Arrays(inputs, targets)"
    )


def parts_of_gradient(trainer: Trainer, row: int) -> FloatArray:
    """Return what each sample of the batch adds to the gradient of a weight, before "step"."""
    done, total = len(trainer.moments) - 1, np.zeros(0)
    for operation in trainer.network.program.operations:
        if row in operation.parameters:
            numbers = numbers_of(trainer, operation, done)
            x, g = factors_of(operation, numbers, row)
            assert g is not None, "all gradients are computed before the update"
            parts = (x * g).reshape(len(numbers.inputs), -1).sum(axis=1)
            total = total + parts if len(total) else parts
    grad = float(trainer.bank.grad[row])
    if trainer.network.precision.mixed and total.sum():  # they are multiplied by the loss scale
        total = total * (grad / total.sum())
    return total * (not trainer.bank.frozen[row])


def rate_of(trainer: Trainer, row: int) -> float:
    """Return the factor of the gradient of a weight in the update of SGD."""
    optimizer, bank = trainer.settings.optimizer, trainer.bank
    scale = optimizer.norm_scale(bank.grad[~bank.frozen])
    return optimizer.rate_of(row, bank.step_count) * scale


def is_plain(trainer: Trainer) -> bool:
    """Whether the update is the gradient times a factor, the same for all samples."""
    optimizer = trainer.settings.optimizer
    is_linear = optimizer.name == "sgd" and optimizer.clip_value == np.inf
    return is_linear and not trainer.network.precision.mixed


def grown(array: Any, room: int) -> Any:
    """Return an array with zeros at the end of its first axis."""
    return np.pad(array, [(0, room - len(array)), *[(0, 0)] * (array.ndim - 1)])
