"""Callbacks: functions of the user that a session calls at some steps, with a view of the moment.

What a function changes by its view is journalled like an action of the user, so a replay does the
same without calling the function again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, final

from scalarviz.base.checks import check_signature, shorten, true_or_false
from scalarviz.core.weight import Part, Weight
from scalarviz.errors import InputError, OrderError
from scalarviz.training.session.step_view import StepNumbers
from scalarviz.training.session.trainer import as_values, checked_rate, rows_of

if TYPE_CHECKING:
    from scalarviz.training.session.timeline import Timeline

STOPPED = "stopped by a callback"


@final
class StepView(StepNumbers):
    """What a callback sees of a session: the moment after `step` steps, read-only.

    What it changes by `set_rate`, `edit`, `freeze` and `stop` is done when it returns.
    """

    def __init__(self, timeline: Timeline) -> None:
        super().__init__(timeline)
        self.is_over = False  # whether it accepts no more changes
        self.asked: list[tuple[str, dict[str, Any]]] = []  # actions, in order
        self.stopped = ""  # the reason

    @property
    def rate_set_at(self) -> int:
        """The last step where somebody set the learning rate or the optimizer; 0 if nobody has."""
        now, kinds = self._timeline.clock, ("learning rate", "optimizer")
        journal = reversed(self._timeline.branch.journal)
        return next((a.step for a in journal if a.kind in kinds and a.place <= now.place), 0)

    # What it may change.

    def set_rate(self, rate: float) -> None:
        """Set the learning rate, at least 0; this ends the schedule."""
        self._ask("learning rate", rate=checked_rate(rate))

    def edit(self, weight: Weight | int | Sequence[int], value: object) -> None:
        """Set the value of one or several weights; arguments as in `Session.edit`."""
        rows = rows_of(self._timeline.trainer.network, weight)
        self._ask(
            "edit", rows=rows, values=as_values(value, rows, self._timeline.trainer.bank.dtype)
        )

    def freeze(self, part: Part | int | str | Sequence[int], on: bool = True) -> None:
        """Freeze a part of the network, or unfreeze it; arguments as in `Session.freeze`."""
        rows = rows_of(self._timeline.trainer.network, part)
        self._ask("freeze", rows=rows, on=true_or_false(on, "on"))

    def stop(self, reason: str = STOPPED) -> None:
        """End the `advance`, `seek` or `play` under way at this step.

        `reason` is what `Session.stopped` then says; by default "stopped by a callback".
        """
        self._check()
        if not isinstance(reason, str) or not reason:
            raise InputError(f"the reason of a stop must be some text, not {shorten(reason)}")
        self.stopped = reason

    def _ask(self, kind: str, **details: Any) -> None:
        self._check()
        self.asked.append((kind, details))

    def _check(self) -> None:
        if self.is_over:
            raise OrderError(
                f"the callback of step {self.step:,} has returned, so its view changes nothing any "
                "more: call methods of the session, such as s.edit(weight, value)"
            )


@final
class Callback:
    """A function that a session calls at every some steps; `remove()` ends that."""

    def __init__(
        self, function: Callable[[StepView], object], every: int, forget: Callable[[Any], None]
    ) -> None:
        self.function = function
        self.every = every
        self._forget = forget

    @property
    def name(self) -> str:
        """Name of the function."""
        return str(getattr(self.function, "__qualname__", type(self.function).__name__))

    def remove(self) -> None:
        """Do not call the function any more; may be called again."""
        self._forget(self)

    def call(self, timeline: Timeline) -> str:
        """Call the function at the present moment; return its reason to stop, or "".

        An error of the function names it and the step; what it has written into weights until then
        is journalled.
        """
        timeline.remember()
        view = StepView(timeline)
        try:
            self.function(view)
        except BaseException as error:  # raised again, with a note
            error.add_note(f"(in the callback {self.name}, called at step {view.step:,})")
            raise
        finally:
            view.is_over = True
            timeline.journal_outside_writes()
        for kind, details in view.asked:
            timeline.note(kind, details)
        return view.stopped

    def __repr__(self) -> str:
        return f"Callback({self.name}, every={self.every:,})"


def check_callback(function: object) -> None:
    """Raise InputError if a function cannot be called with a view."""
    if not callable(function):
        raise InputError(
            f"a callback is a function of a view, such as print, not {shorten(function)}"
        )
    check_signature(function, ["view"], "a callback", "def watch(view): ...")
