"""Stops: training stops automatically at the first step at which a condition newly holds.

A condition is evaluated on arrival at a step, before the user actions there. It newly holds if it
did not hold at the previous step or was set after that. The step at which training stops depends
only on the history of the run, so it does not depend on how the run is divided into calls,
and a copied or loaded run stops at the same step.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.bank_arrays import written_error
from scalarviz.errors import GradientError, UpdateError
from scalarviz.training.session.branches import Branch, Clock, Series, place_of
from scalarviz.training.session.conditions import (
    LOSSES,
    MEASURED,
    NOT_FINITE,
    NUMBERS,
    Condition,
)
from scalarviz.training.session.measurements import series

if TYPE_CHECKING:
    from scalarviz.training.session.timeline import Timeline


KIND = "stop when"  # of the action that sets conditions
MOST_MARKS = 200


class ConditionState(NamedTuple):
    """State of a condition at a step: its number, and the smallest or largest number so far."""

    branch: Branch
    step: int = -1
    value: float = np.nan
    extreme: float = np.nan
    holds: bool = False


class Mark(NamedTuple):
    """A step to mark in the loss curve: training stopped there, or `first` found it."""

    branch: Branch
    step: int
    text: str


@final
class Stops:
    """Finds the steps at which a timeline stops automatically.

    Attributes:
        everywhere: whether repeated steps also stop, as in `advance` and `play`
        are_ignored: whether to ignore all conditions, as in a copy made for a recording; can be set
    """

    def __init__(self) -> None:
        self.everywhere = self.are_ignored = False
        self.marks: tuple[Mark, ...] = ()  # replaced as a whole, for other threads
        self._seen: dict[Condition, ConditionState] = {}

    def mark(self, branch: Branch, step: int, text: str) -> None:
        """Mark a step in the loss curve; only the latest marks are kept."""
        kept = [each for each in self.marks if each[:2] != (branch, step)]
        self.marks = (*kept[1 - MOST_MARKS :], Mark(branch, step, text))

    def marks_of(self, branch: Branch) -> list[Mark]:
        """Return the marks on a branch and its ancestors, in order of their steps."""
        last = dict(branch.way())
        return sorted(
            (mark for mark in self.marks if mark.step <= last.get(mark.branch, -1)),
            key=lambda mark: mark.step,
        )

    def most_steps(self, timeline: Timeline, first: int, most: int) -> int:
        """Return how many steps (at most `most`) can be taken before conditions must be checked."""
        known = 0 if self.everywhere else timeline.branch.end.step - first
        if known > 0:  # no condition reads them
            return min(most, known)
        settings = timeline.trainer.settings
        return 1 if NUMBERS in [each.source_with(settings) for each in settings.stops] else most

    def steps_until_stop(self, timeline: Timeline, first: int, losses: FloatArray) -> int | None:
        """Return how many steps to take before a condition on losses or metrics stops, or None.

        Args:
            first: index of the first step taken
            losses: losses of the steps taken, from `first`
        """
        found = []
        for condition in timeline.trainer.settings.stops:
            if condition.source_with(timeline.trainer.settings) != NUMBERS:
                steps, _ = self._stops_of(timeline, condition, first, losses)
                found += [step - first for step in steps[:1]]
        return min(found, default=None)

    def arrive(self, timeline: Timeline, first: int) -> str:
        """Return the reason to stop on arrival at the current step, or "".

        `first` is the index of the first step taken since the last check.
        """
        step, branch, trainer = timeline.clock.step, timeline.branch, timeline.trainer
        told, losses = [], branch.losses_between(first, step)
        for source in (LOSSES, MEASURED, NUMBERS):
            for condition in trainer.settings.stops:
                if condition.source_with(trainer.settings) == source:
                    steps, seen = self._stops_of(timeline, condition, first, losses)
                    self._seen[condition] = seen
                    if step in steps:
                        told.append(condition.told(seen.value))
        if told:
            self.mark(branch, step, " and ".join(told))
        return f"stopped at step {step:,}: {' and '.join(told)}" if told else ""

    def refuse(self, timeline: Timeline, error: GradientError) -> bool:
        """Return True if "not finite" is a stop condition; otherwise raise the step's error."""
        stops = timeline.trainer.settings.stops
        is_off = timeline.asking or self.are_ignored
        if is_off or not any(condition.is_not_finite for condition in stops):
            raise with_way_back(timeline, error) from None
        step = timeline.clock.step
        self.mark(timeline.branch, step, NOT_FINITE)
        timeline.visits.stopped = f"stopped before the update of step {step:,}: {NOT_FINITE}"
        return True

    def _stops_of(
        self, timeline: Timeline, condition: Condition, first: int, losses: FloatArray
    ) -> tuple[list[int], ConditionState]:
        """Return the steps after `first` at which a condition newly holds, and its latest state.

        Args:
            losses: losses of the steps from `first`; the bank contains the numbers after the last
                one
        """
        branch, source = timeline.branch, condition.source_with(timeline.trainer.settings)
        last, steps, values = first, np.arange(len(losses)) + first + 1, losses
        if source == MEASURED:
            steps, values = recorded(branch, condition, source, first + len(losses))
            at = int(np.searchsorted(steps, first, "right"))
            last, steps, values = (int(steps[at - 1]) if at else 0), steps[at:], values[at:]
        if source == NUMBERS:
            last, steps = timeline.clock.step - 1, np.array([timeline.clock.step])
            values = np.array([value_of(timeline, condition)])
        if not len(values):
            return [], ConditionState(branch)
        is_set = is_set_between(branch, last, int(steps[0]))
        before = ConditionState(branch, last)
        has_before = condition.predicate.before is not None
        if has_before or not (is_set or not condition.holds_over(values).any()):
            before = self._before(timeline, condition, before)
        holds, seen = over(before, condition, values, int(steps[-1]))
        holds = holds & ~np.concatenate([[before.holds and not is_set], holds[:-1]])
        return steps[holds].tolist(), seen

    def _before(
        self, timeline: Timeline, condition: Condition, start: ConditionState
    ) -> ConditionState:
        """Return the state of a condition on arrival at the step of `start`, an empty state.

        Losses and metrics are recorded; other numbers are read by visiting the step.
        """
        branch, step = start.branch, start.step
        seen = self._seen.get(condition)
        if seen is not None and seen.branch is branch and seen.step == step:
            return seen
        source = condition.source_with(timeline.trainer.settings)
        if source != NUMBERS:
            _, values = recorded(branch, condition, source, step)
            return over(start, condition, values, step)[1] if len(values) else start
        with timeline.visit(Clock(step)):
            timeline.forward(Clock(step))
            return after(start._replace(step=step - 1), condition, value_of(timeline, condition))


def over(
    before: ConditionState, condition: Condition, values: FloatArray, last: int
) -> tuple[Any, ConditionState]:
    """Return a mask of the following steps at which a condition holds, and its last state."""
    past = condition.before_each(np.append(values, np.nan), before.extreme)
    holds = condition.holds_over(values, past[:-1])
    return holds, ConditionState(
        before.branch, last, float(values[-1]), float(past[-1]), bool(holds[-1])
    )


def after(before: ConditionState, condition: Condition, value: float) -> ConditionState:
    """Return the state of a condition on arrival at the next step, given its value there."""
    return over(before, condition, np.array([value]), before.step + 1)[1]


def recorded(branch: Branch, condition: Condition, source: str, last: int) -> Series:
    """Return the steps up to `last` with recorded numbers for a condition, and these numbers."""
    if source == MEASURED:
        return series(branch, last).get(condition.quantity, (np.zeros(0, np.int64), np.zeros(0)))
    losses = branch.losses_between(0, last)
    return np.arange(len(losses)) + 1, losses


def is_set_between(branch: Branch, first: int, last: int) -> bool:
    """Return whether conditions were set between the arrivals at the steps `first` and `last`."""
    journal = branch.journal
    if not journal or journal[-1].step < first:
        return False
    start, end = (bisect_left(journal, (step, 0), key=place_of) for step in (first, last))
    return any(action.kind == KIND for action in journal[start:end])


def in_one_text(conditions: Sequence[object]) -> str:
    """Join conditions to one equivalent text."""
    return " or ".join(map(str, conditions))


# The numbers of conditions on arrival at a step.


def value_of(timeline: Timeline, condition: Condition) -> float:
    """Return the number to which a condition refers, at the current moment."""
    if condition.source_with(timeline.trainer.settings) == LOSSES:  # for a step that is too old
        return timeline.loss
    loss = timeline.loss if timeline.clock.step else 0.0
    return condition.number_at(timeline.trainer, timeline.clock.step, loss)


def with_way_back(timeline: Timeline, error: GradientError) -> GradientError:
    """Return the error of a rejected step, with advice on which step to go back to."""
    step = timeline.clock.step
    losses = timeline.branch.losses[:step]
    if written := written_error(timeline.trainer.bank):
        return written.with_way_back(step, "")
    if isinstance(error, UpdateError):
        error = error.at(step)
        if not step or timeline.loss <= losses[0]:  # weights are finite: a lower rate is sufficient
            return error.with_way_back(step, "")
    step = int(np.nanargmin(losses)) if np.isfinite(losses).any() else 0
    return error.with_way_back(step, ", where the loss was smallest")
