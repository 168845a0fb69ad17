"""Units: advancing and going back by operations, phases, samples, steps or epochs."""

from __future__ import annotations

import numpy as np

from scalarviz.base.checks.numbers import shorten
from scalarviz.base.process.memory import check_losses
from scalarviz.base.progress import Progress
from scalarviz.core.formulas.table import pick
from scalarviz.errors import InputError
from scalarviz.training.session.branches import Clock
from scalarviz.training.session.timeline import Timeline

UNITS = {name: name for name in ("operation", "phase", "sample", "step", "epoch")}


def check_unit(timeline: Timeline, unit: str) -> None:
    """Raise InputError if the unit is unknown or not available for this batch size."""
    pick(UNITS, unit, "unit")
    count = timeline.trainer.batches.size
    if unit == "sample" and count != 1:
        raise InputError(
            f"the batch has {count} samples, which go through each operation together: "
            "go by operations, phases, steps or epochs"
        )


def check_sample(timeline: Timeline, sample: object) -> int:
    """Return the index of a sample of the batch; raise InputError if out of range."""
    count = timeline.trainer.batches.size
    if not isinstance(sample, (int, np.integer)) or not 0 <= sample < count:
        raise InputError(f"the batch has samples 0 to {count - 1}, and no {shorten(sample)}")
    return int(sample)


def advance(timeline: Timeline, count: int, unit: str) -> None:
    """Advance by `count` units, or up to where the training stops by itself."""
    with timeline.stops.in_repeated_steps():
        go_on(timeline, count, unit)


def go_on(timeline: Timeline, count: int, unit: str) -> None:
    """Advance by `count` units."""
    if unit in ("operation", "phase"):
        check_losses(timeline.clock.step + count // len(timeline.trainer.moments))
        for _ in range(count):
            after = timeline.after_operation() if unit == "operation" else after_phase(timeline)
            timeline.forward(after)
            if timeline.visits.stopped:
                break
        timeline.walked = timeline.leaps, timeline.clock
    else:
        timeline.leaps += 1
        steps = timeline.trainer.batches.steps_an_epoch if unit == "epoch" else 1
        target = Clock((timeline.clock.step // steps + count) * steps)
        check_losses(target.step)
        timeline.forward(target)


def advance_with_bar(timeline: Timeline, count: int, unit: str, wanted: bool) -> None:
    """`advance` with a progress bar of several steps, if `wanted`; else without any."""
    steps = 1 if count == 1 and unit == "step" else steps_in(timeline, count, unit)
    if steps < 2 and wanted:
        return advance(timeline, count, unit)
    first, between = timeline.clock.step, timeline.between
    with Progress(steps, wanted) as progress:

        def tell() -> None:
            between()
            progress.tell(timeline.clock.step - first, timeline.loss)

        timeline.between = tell
        try:
            advance(timeline, count, unit)
        finally:
            timeline.between = between


def steps_in(timeline: Timeline, count: int, unit: str) -> int:
    """Return about how many steps some units are."""
    if unit == "epoch":
        return count * timeline.trainer.batches.steps_an_epoch
    if unit == "operation":
        return count // len(timeline.trainer.moments)
    if unit == "phase":
        return count // len({moment.phase for moment in timeline.trainer.moments})
    return count


def back(timeline: Timeline, count: int, unit: str) -> None:
    """Go back by `count` units, at most to the start."""
    if unit == "operation":
        with timeline.unseen():
            back_operations(timeline, count)
    elif unit == "phase":
        with timeline.unseen():
            for _ in range(count):
                if timeline.clock == Clock():
                    break
                back_phase(timeline)
    else:
        timeline.leaps += 1
        steps = timeline.trainer.batches.steps_an_epoch if unit == "epoch" else 1
        begun = timeline.clock.step + (timeline.clock.operation > 0)
        timeline.go(Clock(max(0, -(-begun // steps) - count) * steps))


def after_phase(timeline: Timeline) -> Clock:
    """Return the moment at which the current phase ends."""
    moments, (step, operation) = timeline.trainer.moments, timeline.clock.place
    for i in range(operation, len(moments)):
        if moments[i].phase != moments[operation].phase:
            return Clock(step, i)
    return Clock(step + 1)


def back_operations(timeline: Timeline, count: int) -> None:
    """Go back by `count` operations, at most to the start."""
    while count > timeline.clock.operation and timeline.clock.step > 0:
        count -= timeline.clock.operation
        timeline.enter(timeline.clock.step - 1)
        last = len(timeline.trainer.moments)
        if count <= last:
            timeline.go(Clock(timeline.clock.step, last - count))
            return
        count -= last
    timeline.go(Clock(timeline.clock.step, max(0, timeline.clock.operation - count)))


def back_phase(timeline: Timeline) -> None:
    """Go back to the start of the phase of the last operation."""
    if timeline.clock.operation == 0:
        return back_operations(timeline, 1)
    moments, first = timeline.trainer.moments, timeline.clock.operation - 1
    while first > 0 and moments[first - 1].phase == moments[first].phase:
        first -= 1
    timeline.go(Clock(timeline.clock.step, first))
