"""LastChange: what changed a weight last, a step or a user, and its values before and after."""

from __future__ import annotations

from dataclasses import dataclass

from scalarviz.training.session.branches import Action, Clock
from scalarviz.training.session.here import Here
from scalarviz.training.session.timeline import Timeline


@dataclass(frozen=True, slots=True)
class LastChange:
    """The last change of one weight.

    step      number of whole steps done when it was made, the one that moved it included
    is_edit   whether a user set it, else the step moved it
    old, new  its values before and after
    """

    step: int
    is_edit: bool
    old: float
    new: float


def last_change(timeline: Timeline, row: int) -> LastChange | None:
    """Return what changed the weight at `row` of the bank last; None before the first change.

    Several edits without a step between them are one change.
    """
    edit = last_edit(timeline, row)
    if edit is not None or timeline.clock.step == 0:
        return edit
    step, new = timeline.clock.step, float(timeline.trainer.bank.value[row])
    with timeline.visit_end(step - 1):
        return LastChange(step, False, float(timeline.trainer.bank.value[row]), new)


def last_edit(timeline: Timeline, row: int) -> LastChange | None:
    """Return the edits of a weight since the last step; None if they have not changed it."""
    if any(action.kind == "edit" and row in action.details["rows"] for action in done_in(timeline)):
        old, new = on_arrival(timeline, row), float(timeline.trainer.bank.value[row])
        if old != new:
            return LastChange(timeline.clock.step, True, old, new)
    return None


def done_in(timeline: Timeline | Here) -> list[Action]:
    """Return the actions of a user since the last step that are done."""
    branch, now = timeline.branch, timeline.clock
    before = [each for i in range(now.operation) for each in branch.actions_at((now.step, i))]
    return before + branch.actions_at(now.place)[: now.actions]


def on_arrival(timeline: Timeline, row: int) -> float:
    """Return the value of a weight on arrival at this step, before the actions there."""
    step = timeline.clock.step
    frame = timeline.branch.frame_before(step)
    if frame is not None and frame.step == step:
        return float(frame.value[row])
    with timeline.visit(Clock(step)):
        return float(timeline.trainer.bank.value[row])
