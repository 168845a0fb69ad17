"""Units: advancing and going back by operations, phases, samples, steps or epochs."""

from __future__ import annotations

from scalarviz.process.memory import check_losses
from scalarviz.session.replay import History
from scalarviz.session.timeline import Clock


def advance(course: History, count: int, unit: str) -> None:
    """Advance by `count` units."""
    if unit in ("operation", "phase"):
        check_losses(course.clock.step + count // len(course.trainer.moments))
        for _ in range(count):
            after = course.after_operation() if unit == "operation" else after_phase(course)
            course.forward(after)
    else:
        steps = course.trainer.batches.steps_an_epoch if unit == "epoch" else 1
        target = Clock((course.clock.step // steps + count) * steps)
        check_losses(target.step)
        course.forward(target)


def back(course: History, count: int, unit: str) -> None:
    """Go back by `count` units, at most to the start."""
    if unit == "operation":
        back_operations(course, count)
    elif unit == "phase":
        for _ in range(count):
            if course.clock == Clock():
                break
            back_phase(course)
    else:
        steps = course.trainer.batches.steps_an_epoch if unit == "epoch" else 1
        begun = course.clock.step + (course.clock.operation > 0)
        course.go(Clock(max(0, -(-begun // steps) - count) * steps))


def after_phase(course: History) -> Clock:
    """Return the moment at which the current phase ends."""
    moments, (step, operation) = course.trainer.moments, course.clock.place
    for i in range(operation, len(moments)):
        if moments[i].phase != moments[operation].phase:
            return Clock(step, i)
    return Clock(step + 1)


def back_operations(course: History, count: int) -> None:
    """Go back by `count` operations, at most to the start."""
    while count > course.clock.operation and course.clock.step > 0:
        count -= course.clock.operation
        course.enter(course.clock.step - 1)
        last = len(course.trainer.moments)
        if count <= last:
            course.go(Clock(course.clock.step, last - count))
            return
        count -= last
    course.go(Clock(course.clock.step, max(0, course.clock.operation - count)))


def back_phase(course: History) -> None:
    """Go back to the start of the phase of the last operation."""
    if course.clock.operation == 0:
        return back_operations(course, 1)
    moments, first = course.trainer.moments, course.clock.operation - 1
    while first > 0 and moments[first - 1].phase == moments[first].phase:
        first -= 1
    course.go(Clock(course.clock.step, first))
