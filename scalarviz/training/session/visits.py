"""Visits: what is done when a training first arrives at some steps, and never on a replay."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, final

from scalarviz.training.session.callbacks import Callback, StepView
from scalarviz.training.session.metrics import Metrics, record

if TYPE_CHECKING:
    from scalarviz.training.session.timeline import Timeline


@final
class Visits:
    """Metrics and callbacks of a session, at the first arrival of a branch at every some steps.

    metrics    what is measured; can be set
    under_way  True while functions of the user are called
    stopped    the reason for which a callback has ended the last advance, or ""
    """

    def __init__(self) -> None:
        self.metrics: Metrics | None = None
        self.under_way = False
        self.stopped = ""
        self._callbacks: tuple[Callback, ...] = ()  # replaced as a whole, for other threads

    @property
    def any(self) -> bool:
        """Whether there is anything to do at some step."""
        return self.metrics is not None or bool(self._callbacks)

    def add(self, function: Callable[[StepView], object], every: int) -> Callback:
        """Return a callback of a function, called from now on."""
        callback = Callback(function, every, self._remove)
        self._callbacks = (*self._callbacks, callback)
        return callback

    def _remove(self, callback: Callback) -> None:
        self._callbacks = tuple(each for each in self._callbacks if each is not callback)

    def steps_until(self, step: int) -> int:
        """Return the number of steps from a step to the next one where something is due."""
        periods = [] if self.metrics is None else [self.metrics.every]
        periods += [callback.every for callback in self._callbacks]
        return min((every - step % every for every in periods), default=1)

    def is_due(self, timeline: Timeline) -> bool:
        """Whether this is the first arrival of the branch at a step where something is to be done.

        The branch's end has not been moved yet.
        """
        step, operation = timeline.clock.place
        is_first = operation == 0 and timeline.clock > timeline.branch.end
        return is_first and self.steps_until(step - 1) == 1

    def most_until(self, timeline: Timeline, step: int) -> int:
        """Return the number of steps up to the next one where something is due."""
        known = max(step, timeline.branch.end.step)  # steps before it are replayed
        return known + self.steps_until(known) - step

    def measure(self, timeline: Timeline) -> None:
        """Measure what is due at the present moment, which is the arrival at a step."""
        step, metrics = timeline.clock.step, self.metrics
        if metrics is not None and step % metrics.every == 0:
            with self.calling():
                record(timeline.branch, step, metrics.measure(timeline.trainer, step))

    def call(self, timeline: Timeline) -> None:
        """Call the functions that are due at the present moment, the arrival at a step."""
        step = timeline.clock.step
        with self.calling():
            for callback in self._callbacks:
                if step % callback.every == 0:
                    self.stopped = callback.call(timeline) or self.stopped

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Let functions of the user be called in this block."""
        self.under_way = True
        try:
            yield
        finally:
            self.under_way = False
