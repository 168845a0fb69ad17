"""SessionState: what can be read of a session, without moving it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Any, final

from scalarviz.checks.numbers import FloatArray, not_copied
from scalarviz.errors import OrderError
from scalarviz.formulas.table import pick
from scalarviz.leaf_calls import session_html
from scalarviz.model.weight import Weight
from scalarviz.session.explanation import Explanation, OperationNumbers, explain, numbers_of
from scalarviz.session.replay import History
from scalarviz.session.timeline import Branch, Clock
from scalarviz.session.trainer import one_row
from scalarviz.session.weight_history import WeightHistory


class SessionState(ABC):
    """The present moment of a course, the numbers of its batch, and the weights that are pinned."""

    course: History
    _pins: WeightHistory
    _focus: int

    __reduce_ex__ = not_copied(
        "a session, which has locks and perhaps a thread of its own",
        "s.copy() makes a second one, and s.save(path) keeps it in a file for Session.load(path)",
    )

    @abstractmethod
    def doing(self) -> AbstractContextManager[None]:
        """One thing at a time."""

    @final
    @property
    def network(self) -> Any:  # a Network, or a compiled expression
        return self.course.trainer.network

    @final
    @property
    def clock(self) -> Clock:
        return self.course.here.clock  # step, operation, and how much was done at this very place

    @final
    @property
    def step_index(self) -> int:
        return self.course.here.clock.step

    @final
    @property
    def epoch(self) -> float:
        """How often every sample was seen."""
        return self.course.here.clock.step / self.course.trainer.batches.steps_an_epoch

    @final
    @property
    def branches(self) -> list[Branch]:
        """All courses of events so far; `s.branches[0]` is the first."""
        return list(self.course.branches)

    @final
    @property
    def current_branch(self) -> Branch:
        return self.course.here.branch

    @final
    @property
    def operations(self) -> list[str]:  # what is done in a step, in order
        return [moment.name for moment in self.course.here.moments]

    @final
    @property
    def done(self) -> str:
        """The operation that the clock has just passed; empty at the very start."""
        clock, _, moments, _ = self.course.here
        before = moments[clock.operation - 1].name
        return before if clock.operation or clock.step else ""

    @final
    @property
    def next(self) -> str:
        """The operation that comes next."""
        clock, _, moments, _ = self.course.here
        return moments[clock.operation].name

    @final
    @property
    def phase(self) -> str:
        """The phase of the operation that comes next."""
        clock, _, moments, _ = self.course.here
        return moments[clock.operation].phase

    @final
    @property
    def loss(self) -> float:
        return self.course.here.loss  # the last that was computed; NaN at first

    @final
    @property
    def losses(self) -> FloatArray:
        """The loss of every step that is done, each before the weights moved."""
        here = self.course.here
        return here.branch.losses[: here.clock.step]

    # The numbers of the current batch.

    @property
    def focus(self) -> int:  # the sample of the batch whose numbers are shown
        return min(self._focus, self.course.trainer.batches.size - 1)

    @focus.setter
    def focus(self, sample: int) -> None:
        self._focus = self.course.check_sample(sample)

    @final
    def numbers(self, operation: str) -> OperationNumbers:
        """What an operation of the current batch reads and writes, and the gradients by both.

        Between two steps the current batch is that of the step that is done, with the operations
        that this step had. Raises UnknownNameError if it had no such operation, and OrderError if
        only the next step will have it, or if no step has begun yet.

        `operation` is a name out of `operations`, such as "affine 0".
        """
        with self.doing():
            coming = [each.name for each in self.network.program.operations]
            with self.course.at_work():
                known = {each.name: each for each in self.network.program.operations}
                if operation in coming and operation not in list(known):
                    raise OrderError(
                        f"{operation!r} has not been computed yet, since an activation was changed "
                        f"after the step that is done, which has {', '.join(known)}: advance first"
                    )
                found = pick(known, operation, "operation")
                return numbers_of(self.course.trainer, found, self.course.clock.operation)

    @final
    def explain(self, weight: Weight | int) -> Explanation:
        """The whole arithmetic of a `weight` in this step: x * g of every sample, sum, new value.

        `weight` is a Weight or a row of the bank. Between two steps it is that of the step that is
        done.
        """
        row = one_row(self.network, weight)
        with self.doing(), self.course.at_work():
            return explain(self.course.trainer, row, self.course.clock.operation)

    @final
    @property
    def pinned(self) -> list[int]:
        return self._pins.rows

    @final
    def history(self, weight: Weight | int, *, wait: bool = False) -> tuple[FloatArray, FloatArray]:
        """Steps up to now, and the values of a pinned `weight` there, as far as they are known.

        weight  a Weight or a row of the bank
        wait    True: wait until the background has made what came before the pinning; an error that
                it met is raised then. By default False: nobody is waited for

        Returns two arrays of one length.
        """
        row = one_row(self.network, weight)
        if wait:
            self._pins.wait()
        return self._pins.history(row)

    @final
    def _repr_html_(self) -> str:
        return session_html(self)
