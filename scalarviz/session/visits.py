"""Visits: what is done when a training first arrives at some steps, and never on a replay."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from scalarviz.session.metrics import Metrics, record

if TYPE_CHECKING:
    from scalarviz.session.timeline import Timeline


@final
class Visits:
    """The metrics of a session, measured on the first arrival at every some steps.

    any        whether there is anything to do at some step
    under_way  True while functions of the user are called
    """

    def __init__(self) -> None:
        self.any = False
        self.under_way = False
        self._metrics: Metrics | None = None

    @property
    def metrics(self) -> Metrics | None:
        """What is measured; can be set."""
        return self._metrics

    @metrics.setter
    def metrics(self, metrics: Metrics | None) -> None:
        self._metrics = metrics
        self.any = metrics is not None

    def steps_until(self, step: int) -> int:
        """Return the number of steps from a step to the next one where something is due."""
        periods = [] if self._metrics is None else [self._metrics.every]
        return min(every - step % every for every in periods)

    def arrive(self, timeline: Timeline) -> None:
        """Do what is due at the present moment, which is the arrival at a step."""
        step, metrics = timeline.clock.step, self._metrics
        self.under_way = True
        try:
            if metrics is not None and step % metrics.every == 0:
                record(timeline.branch, step, metrics.measure(timeline.trainer, step))
        finally:
            self.under_way = False
