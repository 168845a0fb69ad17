"""Callbacks: user functions that a session calls at regular steps, with a view of the step.

Changes made through the view are journalled like user actions, so a replay repeats them without
calling the function again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, final

import numpy as np

from scalarviz.base.attributes import meanwhile
from scalarviz.base.checks import (
    FloatArray,
    answered,
    check_signature,
    number,
    shorten,
    size,
    true_or_false,
)
from scalarviz.core.formulas.formula import pick
from scalarviz.core.formulas.metric_formulas import HELD_OUT, LOSS, METRICS
from scalarviz.core.weight import Part, Weight
from scalarviz.errors import InputError, OrderError
from scalarviz.training.session.actions import checked_rate
from scalarviz.training.session.branches import Series
from scalarviz.training.session.measurements import Metrics, record, series
from scalarviz.training.session.trainer import as_values, rows_of

if TYPE_CHECKING:
    from scalarviz.training.session.timeline import Timeline


def read_only(array: FloatArray) -> FloatArray:
    """Return a read-only view of an array."""
    view = array[:]
    view.flags.writeable = False
    return view


STOPPED = "stopped by a callback"


@final
class StepView:
    """Argument of a callback: a view of the session after `step` steps.

    Arrays are read-only and valid only in the call. Changes by `set_rate`, `edit`, `freeze` and
    `stop` take effect when the callback returns.
    """

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self.step: int = timeline.clock.step
        self.loss: float = timeline.loss  # of the last step, before its update
        self.is_over = False  # whether it no longer accepts changes
        self.asked: list[tuple[str, dict[str, Any]]] = []  # actions, in order
        self.stopped = ""  # the reason

    @property
    def losses(self) -> FloatArray:
        """Loss of each step taken, before its update; float64, 1-D."""
        return self._timeline.branch.losses_between(0, self.step)

    @property
    def metrics(self) -> dict[str, Series]:
        """Steps and values of each metric so far, as in `Session.metrics`."""
        return series(self._timeline.branch, self.step)

    @property
    def learning_rate(self) -> float:
        """Learning rate of the next step, including the factor of the schedule."""
        trainer = self._timeline.trainer
        return trainer.settings.optimizer.rate(trainer.bank.step_count)

    @property
    def values(self) -> FloatArray:
        """Values of all weights, read-only and 1-D, in the order of `network.bank.value`."""
        return read_only(self._timeline.trainer.bank.value)

    @property
    def gradients(self) -> FloatArray:
        """Gradients of the last step, read-only and 1-D, in the order of `network.bank.grad`."""
        return read_only(self._timeline.trainer.bank.grad)

    @property
    def rate_set_at(self) -> int:
        """Last step at which the learning rate or the optimizer was set; 0 if never."""
        now, kinds = self._timeline.clock, ("learning rate", "optimizer")
        journal = reversed(self._timeline.branch.journal)
        return next((a.step for a in journal if a.kind in kinds and a.place <= now.place), 0)

    # Changes allowed in a callback.

    def set_rate(self, rate: float) -> None:
        """Set the learning rate, at least 0; this ends the schedule."""
        self._ask("learning rate", rate=checked_rate(rate))

    def edit(self, weight: Weight | int | Sequence[int], value: object) -> None:
        """Set the value of one or several weights; see `Session.edit` for the arguments."""
        rows = rows_of(self._timeline.trainer.network, weight)
        self._ask(
            "edit", rows=rows, values=as_values(value, rows, self._timeline.trainer.bank.dtype)
        )

    def freeze(self, part: Part | int | str | Sequence[int], on: bool = True) -> None:
        """Freeze or unfreeze a part of the network; see `Session.freeze` for the arguments."""
        rows = rows_of(self._timeline.trainer.network, part)
        self._ask("freeze", rows=rows, on=true_or_false(on, "on"))

    def stop(self, reason: str = STOPPED) -> None:
        """End the current `advance`, `seek` or `play` at this step.

        `reason` becomes `Session.stopped`; the default is "stopped by a callback".
        """
        self._check()
        if not isinstance(reason, str) or not reason:
            raise InputError(
                f"the reason for a stop must be a non-empty string, not {shorten(reason)}"
            )
        self.stopped = reason

    def _ask(self, kind: str, **details: Any) -> None:
        self._check()
        self.asked.append((kind, details))

    def _check(self) -> None:
        if self.is_over:
            raise OrderError(
                f"the callback of step {self.step:,} has returned, so its view is read-only: call "
                "methods of the session, such as s.edit(weight, value)"
            )

    def __repr__(self) -> str:
        return f"StepView: step {self.step:,}, loss {self.loss:.4g}"


@final
class Callback:
    """A function that a session calls at regular steps; `remove()` ends the calls."""

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
        """Stop calling the function; further calls have no effect."""
        self._forget(self)

    def call(self, timeline: Timeline) -> str:
        """Call the function at the current step; return its reason to stop training, or "".

        An error raised by the function gets a note with the function's name and the step; weights
        that it wrote before are journalled.
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
    """Raise InputError unless an object is a function that accepts one view."""
    if not callable(function):
        raise InputError(
            f"a callback is a function of a view, such as print, not {shorten(function)}"
        )
    check_signature(function, ["view"], "a callback", "def watch(view): ...")


# Work at the first arrival of a training run at some steps, not repeated on a replay.


@final
class FirstArrivals:
    """The metrics and callbacks of a session, which run when a branch reaches a new step.

    Attributes:
        metrics: the measured metrics; can be set
        under_way: whether a user function is running
        stopped: the reason for which a callback or condition ended the last advance, or ""
    """

    def __init__(self) -> None:
        self.metrics: Metrics | None = None
        self.under_way = False
        self.stopped = ""
        self._callbacks: tuple[Callback, ...] = ()  # replaced as a whole, for other threads

    @property
    def any(self) -> bool:
        """Whether there are any metrics or callbacks."""
        return self.metrics is not None or bool(self._callbacks)

    def add(self, function: Callable[[StepView], object], every: int) -> Callback:
        """Register a function to be called every `every` steps, and return its Callback."""
        callback = Callback(function, every, self._remove)
        self._callbacks = (*self._callbacks, callback)
        return callback

    def _remove(self, callback: Callback) -> None:
        self._callbacks = tuple(each for each in self._callbacks if each is not callback)

    def steps_until(self, step: int) -> int:
        """Return the number of steps until a metric or callback is next due."""
        periods = [] if self.metrics is None else [self.metrics.every]
        periods += [callback.every for callback in self._callbacks]
        return min((every - step % every for every in periods), default=1)

    def is_due(self, timeline: Timeline) -> bool:
        """Return whether the branch has just reached a new step where a metric or callback is due.

        Call it before the end of the branch is moved.
        """
        step, operation = timeline.clock.place
        is_first = operation == 0 and timeline.clock > timeline.branch.end
        return is_first and self.steps_until(step - 1) == 1

    def measure(self, timeline: Timeline) -> None:
        """Measure and record the metrics, if they are due at the current step."""
        step, metrics = timeline.clock.step, self.metrics
        if metrics is not None and step % metrics.every == 0:
            with self.calling():
                record(timeline.branch, step, metrics.measure(timeline.trainer, step))

    def call(self, timeline: Timeline) -> None:
        """Call the callbacks that are due at the current step."""
        step = timeline.clock.step
        with self.calling():
            for callback in self._callbacks:
                if step % callback.every == 0:
                    self.stopped = callback.call(timeline) or self.stopped

    def calling(self) -> AbstractContextManager[None]:
        """Return a context manager that marks a user function as running."""
        return meanwhile(self, under_way=True)


# EarlyStopping and ReduceOnPlateau: callbacks for a metric that stops improving. They are
# stateless: their actions follow from the recorded metrics and the journal, so they are the same
# after going back, in a branch, and in a loaded run.

MODES = {name: name for name in ("auto", "min", "max")}


def is_rising(metric: str, mode: str) -> bool:
    """Return whether larger values of a metric are better; raise InputError if unknown.

    Args:
        metric: name in `Session.metrics`
        mode: "min", "max" or "auto"
    """
    mode, name = pick(MODES, mode, "mode"), metric.removeprefix(HELD_OUT)
    if mode == "auto" and name != LOSS and name not in METRICS:
        raise InputError(
            f"whether {metric!r} should rise or fall is unknown: choose one of "
            f"{', '.join([LOSS, *METRICS])}, with or without the prefix {HELD_OUT}, or, for a "
            "custom metric, pass mode='max' or mode='min'"
        )
    return METRICS[name].rises if mode == "auto" and name != LOSS else mode == "max"


def place_of_best(values: FloatArray, rises: bool) -> int:
    """Return the index of the first best value; NaN counts as the worst."""
    signed = -values if rises else values
    return int(np.argmin(np.where(np.isnan(signed), np.inf, signed)))


class MetricCallback(ABC):
    """Base class of callbacks that react when a metric stops improving.

    Args:
        metric: name in `Session.metrics`
        patience: number of measurements without improvement
        min_delta: minimum change that counts as an improvement
        mode: "min", "max" or "auto"

    The attribute `rises` is True if larger values are better.
    """

    def __init__(self, metric: str, patience: int, min_delta: float, mode: str) -> None:
        self.metric = str(metric)
        self.patience = size(patience, "patience")
        self.min_delta = number(min_delta, "min_delta", 0.0)
        self.rises = is_rising(self.metric, mode)

    @final
    def check(self, metrics: Metrics | None, *, held_out: bool) -> int:
        """Return the steps between measurements; raise InputError if the metric is not measured.

        Args:
            metrics: metrics of the session, or None
            held_out: whether the data has held-out samples
        """
        who = type(self).__name__
        if metrics is None:
            raise InputError(
                f"{who} watches the metric {self.metric!r}, which this session does not measure: "
                "write sv.Session(..., metrics=['accuracy'], every=100)"
            )
        if self.metric.startswith(HELD_OUT) and not held_out:
            raise InputError(
                f"{who} watches the metric {self.metric!r}, and this data has no held-out samples: "
                "write sv.data.Arrays(inputs, targets, share=0.8), or watch another metric, such "
                f"as {next(iter(metrics.rows), 'accuracy')!r}"
            )
        names = [HELD_OUT + LOSS, *metrics.rows, *(HELD_OUT + name for name in metrics.rows)]
        pick(dict.fromkeys(names), self.metric, f"metric that {who} watches:")
        return metrics.every

    @final
    def waits(self, view: StepView, since: int = 0) -> bool:
        """Return whether none of the last `patience` values is better than all earlier ones.

        Args:
            view: view of the current step
            since: step after which the last `patience` values must have been measured; 0 by default
        """
        steps, values = view.metrics.get(self.metric, (np.zeros(0, np.int64), np.zeros(0)))
        if len(values) <= self.patience or steps[-self.patience] <= since:
            return False
        signed = -values if self.rises else values
        signed = np.where(np.isnan(signed), np.inf, signed)
        best, last = signed[: -self.patience].min(), signed[-self.patience :].min()
        return not last < best - self.min_delta

    @final
    def best(self, view: StepView) -> tuple[int, float]:
        """Return the step and the value of the best measurement up to the step of `view`."""
        steps, values = view.metrics[self.metric]
        at = place_of_best(values, self.rises)
        return int(steps[at]), float(values[at])

    @abstractmethod
    def __call__(self, view: StepView) -> None:
        """React to the values of the metric; called by the session at a step."""


@final
class EarlyStopping(MetricCallback):
    """A callback that stops training when a metric stops improving.

    It ends the current `advance` or `play` of the session `s`. Afterwards `s.stopped` contains the
    reason and the best step, and `s.seek` can go back to that step.

    Args:
        metric: name in `s.metrics`; "held_out_loss" by default
        patience: number of measurements without improvement after which to stop; 10 by default
        min_delta: minimum change that counts as an improvement, at least 0; 0 by default
        mode: "min", "max" or "auto"; "auto" (default) is "max" for accuracies, precision, recall,
            f1 and r2, and "min" otherwise. Custom metrics require "min" or "max"

    Raises:
        InputError: for invalid arguments.

    >>> EarlyStopping("held_out_accuracy", patience=5)
    EarlyStopping('held_out_accuracy', patience=5)
    """

    @answered
    def __init__(
        self,
        metric: str = HELD_OUT + LOSS,
        patience: int = 10,
        *,
        min_delta: float = 0.0,
        mode: str = "auto",
    ) -> None:
        super().__init__(metric, patience, min_delta, mode)

    def __call__(self, view: StepView) -> None:
        """Stop if the metric has not improved for `patience` measurements."""
        if self.waits(view):
            step, value = self.best(view)
            best = f"was best at step {step:,}, {value:.4g}, and has not been better in"
            if np.isnan(value):  # also where samples lack a class, as for auc
                best = "is undefined (nan) for these samples, as auc where a class is missing, in"
            view.stop(f"stopped early: {self.metric} {best} {self.patience} measurements")

    def __repr__(self) -> str:
        return f"EarlyStopping({self.metric!r}, patience={self.patience})"


@final
class ReduceOnPlateau(MetricCallback):
    """A callback that lowers the learning rate when a metric stops improving.

    After lowering the rate, it waits for another `patience` measurements. Lowering the rate ends
    the schedule of the optimizer.

    Args:
        metric: name in `s.metrics`; "held_out_loss" by default
        factor: factor by which the learning rate is multiplied, between 0 and 1; 0.1 by default
        patience: number of measurements without improvement; 10 by default
        min_delta: minimum change that counts as an improvement, at least 0; 0 by default
        min_rate: lower bound of the learning rate, at least 0; 0 by default
        mode: "min", "max" or "auto", as in EarlyStopping; "auto" by default

    Raises:
        InputError: for invalid arguments.

    >>> ReduceOnPlateau(factor=0.5, patience=3)
    ReduceOnPlateau('held_out_loss', factor=0.5, patience=3)
    """

    @answered
    def __init__(
        self,
        metric: str = HELD_OUT + LOSS,
        *,
        factor: float = 0.1,
        patience: int = 10,
        min_delta: float = 0.0,
        min_rate: float = 0.0,
        mode: str = "auto",
    ) -> None:
        super().__init__(metric, patience, min_delta, mode)
        bounds = {"open_low": True, "open_high": True}
        self.factor = number(factor, "factor", 0.0, 1.0, **bounds)
        self.min_rate = number(min_rate, "min_rate", 0.0)

    def __call__(self, view: StepView) -> None:
        """Lower the rate if the metric has not improved for `patience` measurements."""
        if self.waits(view, view.rate_set_at):
            rate = max(self.min_rate, view.learning_rate * self.factor)
            if rate < view.learning_rate:
                view.set_rate(rate)

    def __repr__(self) -> str:
        return f"ReduceOnPlateau({self.metric!r}, factor={self.factor:g}, patience={self.patience})"
