"""StepNumbers: the moment on arrival at a step, as functions of the user see it, read-only."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from scalarviz.base.checks import FloatArray
from scalarviz.training.session.metrics import series
from scalarviz.training.session.points import Series

if TYPE_CHECKING:
    from scalarviz.training.session.timeline import Timeline


class StepNumbers:
    """The moment after `step` whole steps; arrays are read-only, and current during the call."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self.step: int = timeline.clock.step
        self.loss: float = timeline.loss  # of the step just done, before its update

    @final
    @property
    def losses(self) -> FloatArray:
        """Loss of each step that is done, before its update; float64, 1-D."""
        return self._timeline.branch.losses_between(0, self.step)

    @final
    @property
    def metrics(self) -> dict[str, Series]:
        """Steps and values of each metric up to now, as in `Session.metrics`."""
        return series(self._timeline.branch, self.step)

    @final
    @property
    def learning_rate(self) -> float:
        """Learning rate of the next step, schedule included."""
        trainer = self._timeline.trainer
        return trainer.settings.optimizer.rate(trainer.bank.step_count)

    @final
    @property
    def values(self) -> FloatArray:
        """The values of all weights, read-only; 1-D, as in `network.bank.value`."""
        return read_only(self._timeline.trainer.bank.value)

    @final
    @property
    def gradients(self) -> FloatArray:
        """The gradients of the step just done, read-only; 1-D, as in `network.bank.grad`."""
        return read_only(self._timeline.trainer.bank.grad)

    @final
    def __repr__(self) -> str:
        return f"{type(self).__name__}: step {self.step:,}, loss {self.loss:.4g}"


@final
class ConditionView(StepNumbers):
    """What a condition of the user's own sees: the moment after `step` steps, read-only."""

    @property
    def outputs(self) -> FloatArray:
        """What the network answers to the batch of the next step, shape (samples, outputs)."""
        trainer = self._timeline.trainer
        found: FloatArray = trainer.network(trainer.batches.at(self.step)[0])
        return found


def read_only(array: FloatArray) -> FloatArray:
    """Return the same numbers, which cannot be written."""
    view = array[:]
    view.flags.writeable = False
    return view
