"""Replays: answer queries about the history of a training run by computing steps again.

The values and gradients of pinned weights are computed on a copy of the network. The first step at
which a condition held, and the samples that changed a weight most, are found with the original
network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, final

import numpy as np

from scalarviz.base.checks import FloatArray, require
from scalarviz.base.kernel_threads import Guard
from scalarviz.core.bank import Bank
from scalarviz.data.batches import Batches, TableBatches
from scalarviz.errors import InputError, OrderError
from scalarviz.training.network.model import Model
from scalarviz.training.session.actions import settings_after
from scalarviz.training.session.branches import Branch, Clock, copies_of
from scalarviz.training.session.conditions import LOSSES, NUMBERS, Condition
from scalarviz.training.session.explanation import factors_of, numbers_of
from scalarviz.training.session.stops import ConditionState, after, recorded, value_of
from scalarviz.training.session.threads import Background, Job, check_end
from scalarviz.training.session.timeline import MOST_STEPS, Timeline
from scalarviz.training.session.trainer import Settings, Trainer


def copy_at_start(timeline: Timeline, network: Model, clock: Clock, memory: int) -> Timeline:
    """Return an independent copy of a timeline and its network, at a moment of the same branch."""
    trainer, start = timeline.trainer, timeline.branches[0].frames[0].settings
    copied = Trainer(network.copy(), start, trainer.seed, trainer.recorded)
    twin, branches = Timeline(copied, memory), copies_of(timeline.branches)
    twin.origin = timeline.origin
    twin.take_over(branches, branches[timeline.branches.index(timeline.branch)], clock)
    same = dict(zip(timeline.branches, branches, strict=True))
    twin.stops.marks = tuple(
        mark._replace(branch=same[mark.branch]) for mark in timeline.stops.marks
    )
    return twin


def arrivals(twin: Timeline, steps: Iterable[int]) -> Iterator[tuple[int, Bank | None]]:
    """Go to each step in order; yield (step, bank) on arrival, and (step, None) on the way.

    A keyframe is restored if it is closer to the step than the current moment.
    """
    for step in steps:
        frame = twin.branch.frame_before(step)
        if frame is not None and frame.step > twin.clock.step:
            twin.restore(step)
        while twin.clock.step < step:
            twin.forward(Clock(min(step, twin.clock.step + max(1, int(twin.pace)))))
            yield step, None
        yield step, twin.trainer.bank


# Pinned weights: recorded during training from the pinning on. Earlier numbers are replayed in the
# background on a copy of the network.

POINTS = 2000  # approximate points of a history; a longer run is sampled at equal distances
MEMORY = 2**24  # bytes for keyframes of the copy

Recorded = Literal["value", "gradient"]
KINDS: dict[str, Recorded] = {"value": "value", "gradient": "gradient"}
Known = dict[tuple[int, int], float]  # by branch number and step


@final
class WeightHistory:
    """The recorded values and gradients of pinned weights, at some steps of each branch.

    The gradient on arrival at a step is the gradient used by the previous step. The thread
    `background` replays earlier steps.
    """

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._known: dict[int, dict[Recorded, Known]] = {}  # by row
        self._lock = Guard()
        self.background = Background(timeline.lock)
        timeline.each_portion = self.note
        timeline.most_steps = self.stride

    @property
    def rows(self) -> list[int]:
        return list(self._known)

    def pin(self, rows: list[int], on: bool) -> None:
        """Start recording these bank rows, or stop recording them and delete their records."""
        with self._lock:
            for row in rows:
                if on:
                    self._known.setdefault(row, {"value": {}, "gradient": {}})
                else:
                    self._known.pop(row, None)
        if on:
            self._fill_in()
        elif not self._known:
            self.background.stop()

    def take_over(self, other: WeightHistory) -> None:
        """Pin the same rows as another WeightHistory, and copy its records."""
        with other._lock:
            self._known = {
                row: {kind: dict(each) for kind, each in known.items()}
                for row, known in other._known.items()
            }
        if other.background.busy:
            self._fill_in()

    def stride(self) -> int:
        """Return the number of steps between two recorded values."""
        return max(1, self._timeline.clock.step // POINTS) if self._known else MOST_STEPS

    def note(self) -> None:
        """Record the current values and gradients if the clock is between two steps."""
        if self._known:
            bank = self._timeline.trainer.bank
            self._note({"value": bank.value, "gradient": bank.grad})

    def _note(self, numbers: dict[Recorded, FloatArray]) -> None:
        branch, clock = self._timeline.branch, self._timeline.clock
        if clock.operation or clock.actions:
            return
        with self._lock:
            for (row, known), (kind, array) in product(self._known.items(), numbers.items()):
                known[kind][branch.number, clock.step] = float(array[row])
                if len(known[kind]) > 4 * POINTS:
                    known[kind] = dict(list(known[kind].items())[::2])

    def history(self, row: int, kind: Recorded) -> tuple[FloatArray, FloatArray]:
        """Return the recorded steps of this branch so far, and the numbers on arrival at each."""
        here = self._timeline.here
        limits = {each.number: last for each, last in here.branch.way(here.clock.step)}
        with self._lock:
            known = list(self._known[row][kind].items()) if row in self._known else []
        found = {step: v for (n, step), v in known if step <= limits.get(n, -1)}
        steps = sorted(found)
        return np.array(steps, np.int64), np.array([found[step] for step in steps])

    def _fill_in(self) -> None:
        """Start to replay earlier steps in the background."""
        if self._known:
            self.background.start(self._fill(), forget=True)

    def _fill(self) -> Job:
        with self._timeline.lock.taken():
            # The bank may have been written to since; the gradient comes from the replay.
            self._note({"value": self._timeline.remembered})
            network, rows = self._timeline.trainer.network, self.rows
            if not network.layers:  # it cannot be copied
                return
            twin = copy_at_start(self._timeline, network, Clock(), MEMORY)
            number, end = self._timeline.branch.number, self._timeline.clock.step
        for step, bank in arrivals(twin, range(0, end + 1, max(1, end // POINTS))):
            yield 0.0
            if bank is None:
                continue
            with self._lock:
                for row in set(rows) & set(self._known):
                    known = self._known[row]
                    known["value"].setdefault((number, step), float(bank.value[row]))
                    known["gradient"].setdefault((number, step), float(bank.grad[row]))


# The first moment of the past at which a condition held, from the record or by a replay.

Tell = Callable[[int], object]  # called with the number of replayed steps


def first_held(timeline: Timeline, conditions: Sequence[Condition], tell: Tell) -> int | None:
    """Return the first step so far at which a condition held on arrival, or None.

    Args:
        timeline: the timeline to search; it returns to its current moment, even if `tell` raises an
            error to cancel the search
        conditions: conditions returned by `conditions.checked`
        tell: function called with the number of replayed steps, if a condition requires a replay

    For "not finite", a step that was rejected also counts if the clock is within that step.
    """
    branch, now = timeline.branch, timeline.clock
    settings = all_settings(timeline, branch)
    found: list[int] = []
    numbers = []
    for condition in conditions:
        sources = set(map(condition.source_with, settings))
        source = NUMBERS if NUMBERS in sources else sources.pop()
        if source == NUMBERS or (source == LOSSES and not branch.is_exact(0)):
            numbers.append(condition)  # found by the replay
            continue
        steps, values = recorded(branch, condition, source, now.step)
        found += steps[condition.holds_over(values)][:1].tolist()
    if numbers:
        replayed = replay(timeline, numbers, min(found, default=now.step), tell)
        found += [] if replayed is None else [replayed]
    stuck = now.operation and not np.isfinite(timeline.trainer.bank.grad).all()
    if stuck and any(condition.is_not_finite for condition in conditions):
        found.append(now.step)
    return int(min(found)) if found else None


def all_settings(timeline: Timeline, branch: Branch) -> list[Settings]:
    """Return all settings used in the history of a branch, in order."""
    found = [timeline.branches[0].frames[0].settings]
    for action in branch.journal:
        found.append(settings_after(found[-1], [action]))
    return [each for i, each in enumerate(found) if not i or each is not found[i - 1]]


def replay(
    timeline: Timeline, conditions: Sequence[Condition], last: int, tell: Tell
) -> int | None:
    """Replay the steps up to `last`; return the first at which a condition holds, or None."""
    now = timeline.clock
    seen = dict.fromkeys(conditions, ConditionState(timeline.branch))
    with timeline.visit(Clock()):
        try:
            for step in range(last + 1):
                timeline.forward(Clock(step))
                for condition, before in seen.items():
                    seen[condition] = after(before, condition, value_of(timeline, condition))
                if any(each.holds for each in seen.values()):
                    return step
                tell(step)
                check_end()
        finally:
            timeline.restore(now.step)  # the way from there to the present is shorter
    return None


# Samples that changed a weight most in the last steps.


@dataclass(frozen=True, slots=True)
class SampleMove:
    """The contribution of one sample to the changes of a weight.

    Attributes:
        sample: row of the sample in `s.data.training`
        amount: sum over the steps of the absolute contribution
        net: signed sum over the steps, such as the total change of the weight
        steps: number of steps whose batch contains the sample
    """

    sample: int
    amount: float
    net: float
    steps: int


@dataclass(frozen=True, slots=True)
class SamplesMoved:
    """The samples that changed a weight most, sorted by amount in descending order.

    Attributes:
        name: name of the weight; `row`: its bank row
        first: the first step, counted from 0; `last`: the last step
        unit: what the amounts measure. "change" is the learning rate times the sample's part of the
            gradient, which for SGD is exactly the change of the weight; "gradient" is only this
            part, for other optimizers
        samples: the contributions of the samples
        total: sum of the amounts of all samples, including those not listed
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
    """Implement `Session.samples_that_moved`.

    `tell` is called with the number of steps replayed so far.
    """
    trainer, now = timeline.trainer, timeline.clock
    if trainer.network.program.is_graph or trainer.recorded is not None:
        raise InputError(
            "compiled functions have no gradients per sample, and records of training runs have "
            "no samples: pass a session that trains a Network"
        )
    require(
        now.step != 0,
        "no step yet, so no sample has moved anything: advance first",
        OrderError,
    )
    journal = timeline.branch.journal
    set_at = [each.step for each in journal if each.kind == "data" and each.place <= now.place]
    first = max([0, now.step - steps, *[step for step in set_at if step < now.step][-1:]])
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


def rows_of_batch(batches: Batches, step: int) -> Any:
    """Return the data rows in the batch of a step; raise InputError for generated data."""
    if isinstance(batches, TableBatches):
        return batches.rows(step)
    raise InputError(
        "this data generates new samples in each step, so none occurs twice: use a table, such "
        "as sv.data.Arrays(inputs, targets)"
    )


def parts_of_gradient(trainer: Trainer, row: int) -> FloatArray:
    """Return the part of a weight's gradient that comes from each sample of the current batch."""
    done, total = len(trainer.moments) - 1, np.zeros(0)
    for operation in trainer.network.program.operations:
        if row in operation.parameters:
            numbers = numbers_of(trainer, operation, done)
            x, g = factors_of(operation, numbers, row)
            assert g is not None, "all gradients are computed before the update"
            parts = (x * g).reshape(len(numbers.inputs), -1).sum(axis=1)
            total = total + parts if len(total) else parts
    grad = float(trainer.bank.grad[row])
    if trainer.network.precision.mixed and total.sum():  # multiplied by the loss scale
        total = total * (grad / total.sum())
    return total * (not trainer.bank.frozen[row])


def rate_of(trainer: Trainer, row: int) -> float:
    """Return the factor by which SGD multiplies the gradient of a weight in the next update."""
    optimizer, bank = trainer.settings.optimizer, trainer.bank
    return optimizer.rate_of(row, bank.step_count) * optimizer.norm_scale(bank.grad[~bank.frozen])


def is_plain(trainer: Trainer) -> bool:
    """Return whether the update is the gradient times one factor, the same for all samples."""
    optimizer = trainer.settings.optimizer
    is_linear = optimizer.name == "sgd" and optimizer.clip_value == np.inf
    return is_linear and not trainer.network.precision.mixed


def grown(array: Any, room: int) -> Any:
    """Return an array padded with zeros to `room` entries along its first axis."""
    return np.pad(array, [(0, room - len(array)), *[(0, 0)] * (array.ndim - 1)])
