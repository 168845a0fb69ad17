"""The numbers of conditions on arrival at a step, and at all steps of a replay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, final

import numpy as np

from scalarviz.checks.numbers import FloatArray, shorten
from scalarviz.engines.common.watch import Watch
from scalarviz.errors import InputError, OrderError
from scalarviz.session.branches import Clock
from scalarviz.session.conditions import LOSSES, Condition, Function
from scalarviz.session.step_view import ConditionView
from scalarviz.session.watched import numbers_of, watch_of

if TYPE_CHECKING:
    from scalarviz.session.timeline import Timeline

AT_ONCE = 20  # portions of a replay whose numbers are kept together, so that it can be cancelled


def value_of(timeline: Timeline, condition: Condition) -> float:
    """Return the number of a condition that is read at the present moment."""
    if condition.function is not None:
        return float(asked(timeline, condition.function, condition.text))
    if condition.source_with(timeline.trainer.settings) == LOSSES:  # of a step too old to be kept
        return timeline.loss
    loss = timeline.loss if timeline.clock.step else 0.0
    return condition.number_at(timeline.trainer, timeline.clock.step, loss)


def asked(timeline: Timeline, function: Function, name: str) -> bool:
    """Return what a function of the user's own says of the present moment.

    Raises InputError unless it says True or False, OrderError if it changes the network.
    """
    timeline.trainer.bank.fetch()
    timeline.remember()
    try:
        with timeline.visits.calling():
            found = function(ConditionView(timeline))
    except BaseException as error:  # raised again, with a note
        error.add_note(f"(in the {name}, called at step {timeline.clock.step:,})")
        raise
    finally:
        if timeline.set_back_writes():
            raise OrderError(
                f"the {name} has written numbers into the network, which were set back: a "
                "condition only looks, and s.on_step(f) calls a function that changes something"
            )
    if isinstance(found, (bool, np.bool_)):
        return bool(found)
    raise InputError(f"the {name} must return True or False, not {shorten(found)}")


@final
class Kept:
    """What an engine keeps of the steps of a replay, in order: see `Watch`."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._end: int | None = None
        self._tables: list[FloatArray] = []
        self._losses: list[FloatArray] = []

    def add(self, first: int, table: FloatArray, losses: FloatArray) -> None:
        """Add the steps from `first` on; steps that do not follow the last ones begin anew."""
        if first != self._end:
            self._tables, self._losses = [], []
        self._tables.append(table)
        self._losses.append(losses)
        self._end = first + len(losses)

    def taken(self, first: int, last: int) -> tuple[FloatArray, FloatArray] | None:
        """Return table and losses of the steps from one to before another; None if some lack."""
        count = sum(map(len, self._losses))
        if self._end != last or count != last - first:
            return None
        found = np.concatenate(self._tables), np.concatenate(self._losses)
        self._tables, self._losses, self._end = [], [], None
        return found


def arrivals(
    timeline: Timeline, conditions: Sequence[Condition], first: int, last: int
) -> Iterator[Mapping[Condition, FloatArray]]:
    """Replay from step `first` to `last`; yield the numbers of conditions, some arrivals at a time.

    The timeline is visiting, and stands at the last of these arrivals then, before the actions
    there.
    """
    watch, step = watch_of(conditions), first - 1
    while step < last:
        goal = goal_of(timeline, step, last) if watch is not None else step + 1
        found = None
        if watch is not None and goal > step + 1:
            kept = timeline.stops.kept = Kept(watch)
            try:
                timeline.forward(Clock(goal))
            finally:
                timeline.stops.kept = None
            found = kept.taken(step, goal)
            if found is None:  # an engine that reads them after single steps only
                watch = None
                timeline.go(Clock(step))
        if watch is not None and found is not None:
            table, losses = found
            yield numbers_of(conditions, watch, table, losses, timeline.trainer)
            step = goal
            continue
        step += 1
        timeline.forward(Clock(step))
        yield {each: np.array([value_of(timeline, each)]) for each in conditions}


def goal_of(timeline: Timeline, step: int, last: int) -> int:
    """Return the step up to which whole steps are replayed without an action between them."""
    if step < 0:
        return step + 1
    place = timeline.branch.next_place((step, -1))
    free = last if place is None else place[0]
    return max(step + 1, min(last, free, step + int(AT_ONCE * timeline.pace)))
