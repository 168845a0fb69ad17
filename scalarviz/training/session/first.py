"""The first moment of the past at which a condition held, by the record or by a replay."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from scalarviz.training.session.arrivals import value_of
from scalarviz.training.session.branches import Branch, Clock
from scalarviz.training.session.conditions import (
    LOSSES,
    MEASURED,
    NUMBERS,
    Condition,
)
from scalarviz.training.session.metrics import series
from scalarviz.training.session.stops import Seen, after
from scalarviz.training.session.timeline import Timeline
from scalarviz.training.session.trainer import Settings, settings_after
from scalarviz.training.session.worker import check_end

Tell = Callable[[int], object]  # called with the steps that were replayed


def first_held(timeline: Timeline, conditions: Sequence[Condition], tell: Tell) -> int | None:
    """Return the first step up to now, on arrival at which a condition held, or None.

    timeline    stands where it stood at the end, also if `tell` raises an error that cancels it
    conditions  as `conditions.checked` returns them
    tell        called after some steps of a replay, which conditions on weights or gradients need

    For "not finite" a step whose update was refused counts, too, if the clock stands in it.
    """
    branch, now = timeline.branch, timeline.clock
    settings = all_settings(timeline, branch)
    found: list[int] = []
    of_losses = read_from(LOSSES, conditions, settings)
    is_kept = branch.is_exact(0)  # else they are found by the replay
    losses = branch.losses_between(0, now.step if is_kept else 0)
    for condition in of_losses if is_kept else ():
        found += (np.flatnonzero(condition.holds_over(losses))[:1] + 1).tolist()
    for condition in read_from(MEASURED, conditions, settings):
        steps, values = series(branch, now.step).get(condition.metric, (np.zeros(0), np.zeros(0)))
        found += steps[condition.holds_over(values)][:1].tolist()
    numbers = read_from(NUMBERS, conditions, settings) + ([] if is_kept else of_losses)
    if numbers:
        replayed = replay(timeline, numbers, min(found, default=now.step), tell)
        found += [] if replayed is None else [replayed]
    stuck = now.operation and not np.isfinite(timeline.trainer.bank.grad).all()
    if stuck and any(condition.is_not_finite for condition in conditions):
        found.append(now.step)
    return int(min(found)) if found else None


def read_from(
    source: str, conditions: Sequence[Condition], settings: Sequence[Settings]
) -> list[Condition]:
    """Return the conditions that are read from a source, with all settings that there were."""
    found = []
    for condition in conditions:
        sources = set(map(condition.source_with, settings))
        if source == (NUMBERS if NUMBERS in sources else sources.pop()):
            found.append(condition)
    return found


def all_settings(timeline: Timeline, branch: Branch) -> list[Settings]:
    """Return all settings that a branch has had."""
    found = [timeline.branches[0].frames[0].settings]
    for action in branch.journal:
        found.append(settings_after(found[-1], [action]))
    return [each for i, each in enumerate(found) if not i or each is not found[i - 1]]


def replay(
    timeline: Timeline, conditions: Sequence[Condition], last: int, tell: Tell
) -> int | None:
    """Return the first step, up to `last`, on arrival at which a condition holds, or None."""
    now = timeline.clock
    seen = dict.fromkeys(conditions, Seen(timeline.branch, -1, np.nan, np.nan, False))
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
