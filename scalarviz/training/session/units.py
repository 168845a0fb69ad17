"""Units: advancing and going back by operations, phases, samples, steps or epochs."""

from __future__ import annotations

from itertools import pairwise

from scalarviz.base.limits import check_losses
from scalarviz.base.progress import Progress
from scalarviz.core.formulas.formula import pick
from scalarviz.errors import InputError
from scalarviz.training.session.branches import Clock
from scalarviz.training.session.timeline import Timeline

UNITS = {name: name for name in ("operation", "phase", "sample", "step", "epoch")}


def check_unit(timeline: Timeline, unit: str) -> None:
    """Raise InputError if the unit is unknown or not available for this batch size."""
    if unit == "neuron":
        raise InputError(
            "neurons are gone through in a picture, where the unit is chosen: a session goes by "
            "operations, of all neurons of a layer"
        )
    pick(UNITS, unit, "unit")
    count = timeline.trainer.batches.size
    if unit == "sample" and count != 1:
        raise InputError(
            f"the batch has {count} samples, which go through each operation together: "
            "go by operations, phases, steps or epochs"
        )


def advance(timeline: Timeline, count: int, unit: str) -> None:
    """Advance by `count` units, or up to where the training stops by itself."""
    timeline.stops.everywhere = True  # in repeated steps, too
    try:
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
    finally:
        timeline.stops.everywhere = False


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
    return count // len(beginnings(timeline, unit)) if unit in ("operation", "phase") else count


def back(timeline: Timeline, count: int, unit: str) -> None:
    """Go back by `count` units, at most to the start."""
    if unit in ("operation", "phase"):
        with timeline.unseen():
            back_within_steps(timeline, count, unit)
    else:
        timeline.leaps += 1
        steps = timeline.trainer.batches.steps_an_epoch if unit == "epoch" else 1
        begun = timeline.clock.step + (timeline.clock.operation > 0)
        timeline.go(Clock(max(0, -(-begun // steps) - count) * steps))


def beginnings(timeline: Timeline, unit: str) -> list[int]:
    """Return the operations of the present step at which an operation, or a phase, begins."""
    phases = ["", *(moment.phase for moment in timeline.trainer.moments)]
    pairs = enumerate(pairwise(phases))
    return [i for i, (before, phase) in pairs if unit == "operation" or before != phase]


def after_phase(timeline: Timeline) -> Clock:
    """Return the moment at which the current phase ends."""
    step, operation = timeline.clock.place
    later = [first for first in beginnings(timeline, "phase") if first > operation]
    return Clock(step, later[0]) if later else Clock(step + 1)


def back_within_steps(timeline: Timeline, count: int, unit: str) -> None:
    """Go back by `count` operations or phases, at most to the start."""
    step, operation = timeline.clock.place
    while True:
        begun = [first for first in beginnings(timeline, unit) if first < operation]
        if count <= len(begun) or step == 0:
            return timeline.go(Clock(step, begun[-count] if count <= len(begun) else 0))
        count, step = count - len(begun), step - 1
        timeline.enter(step)
        operation = len(timeline.trainer.moments)
