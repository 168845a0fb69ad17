"""Where a session stands: what there is to read of its clock, without moving it."""

from __future__ import annotations

from abc import ABC
from typing import Any, final

from scalarviz.checks import FloatArray
from scalarviz.course import Course
from scalarviz.displays.session import session_html
from scalarviz.timeline import Branch, Clock


class Standing(ABC):
    """The present moment of a course."""

    course: Course

    @final
    @property
    def network(self) -> Any:  # a Network, or a compiled expression
        return self.course.trainer.network

    @final
    @property
    def clock(self) -> Clock:
        return self.course.clock  # step, operation, and how much was done at this very place

    @final
    @property
    def step_index(self) -> int:
        return self.course.clock.step

    @final
    @property
    def epoch(self) -> float:
        """How often every sample was seen."""
        return self.course.clock.step / self.course.trainer.batches.steps_an_epoch

    @final
    @property
    def branches(self) -> list[Branch]:
        """All courses of events so far; `s.branches[0]` is the first."""
        return list(self.course.branches)

    @final
    @property
    def current_branch(self) -> Branch:
        return self.course.branch

    @final
    @property
    def operations(self) -> list[str]:  # what is done in a step, in order
        return [moment.name for moment in self.course.trainer.moments]

    @final
    @property
    def done(self) -> str:
        """The operation that the clock has just passed; empty at the very start."""
        clock = self.course.clock
        before = self.course.trainer.moments[clock.operation - 1].name
        return before if clock.operation or clock.step else ""

    @final
    @property
    def next(self) -> str:
        """The operation that comes next."""
        return self.course.trainer.moments[self.course.clock.operation].name

    @final
    @property
    def phase(self) -> str:
        """The phase of the operation that comes next."""
        return self.course.trainer.moments[self.course.clock.operation].phase

    @final
    @property
    def loss(self) -> float:
        return self.course.loss  # the last that was computed; NaN at first

    @final
    @property
    def losses(self) -> FloatArray:
        """The loss of every step that is done, each before the weights moved."""
        return self.course.branch.losses[: self.course.clock.step]

    @final
    def _repr_html_(self) -> str:
        return session_html(self)
