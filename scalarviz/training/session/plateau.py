"""EarlyStopping and ReduceOnPlateau: callbacks for a metric that does not get better any more.

They keep nothing themselves: what they do follows from the recorded metrics and the journal, so it
is the same after going back, in a branch, and in a loaded run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import final

import numpy as np

from scalarviz.base.checks import FloatArray, answered, number, size
from scalarviz.core.formulas.formula import pick
from scalarviz.core.formulas.metrics import HELD_OUT, LOSS, METRICS
from scalarviz.errors import InputError
from scalarviz.training.session.callbacks import StepView
from scalarviz.training.session.metrics import Metrics

MODES = {name: name for name in ("auto", "min", "max")}


def is_rising(metric: str, mode: str) -> bool:
    """Return whether larger is better; raise InputError if that is not known.

    metric  name in `Session.metrics`
    mode    "min", "max" or "auto"
    """
    mode, name = pick(MODES, mode, "mode"), metric.removeprefix(HELD_OUT)
    if mode == "auto" and name != LOSS and name not in METRICS:
        raise InputError(
            f"whether {metric!r} should rise or fall is not known here: choose one of "
            f"{', '.join([LOSS, *METRICS])}, or of the same with {HELD_OUT} before, or, for a "
            "metric of your own, write mode='max' or mode='min'"
        )
    return METRICS[name].rises if mode == "auto" and name != LOSS else mode == "max"


def place_of_best(values: FloatArray, rises: bool) -> int:
    """Return the index of the first of the best of some `values`; NaN is the worst."""
    signed = -values if rises else values
    return int(np.argmin(np.where(np.isnan(signed), np.inf, signed)))


class MetricCallback(ABC):
    """A callback that watches one metric: the base of the two below.

    metric     name in `Session.metrics`
    patience   measurements without a better value
    min_delta  by how much a value must be better to count
    mode       "min", "max" or "auto"

    Its attribute `rises` says whether larger is better.
    """

    def __init__(self, metric: str, patience: int, min_delta: float, mode: str) -> None:
        self.metric = str(metric)
        self.patience = size(patience, "patience")
        self.min_delta = number(min_delta, "min_delta", 0.0)
        self.rises = is_rising(self.metric, mode)

    @final
    def check(self, metrics: Metrics | None, *, held_out: bool) -> int:
        """Return the steps between two measurements; raise InputError if none has this metric.

        metrics   what the session measures; None: nothing
        held_out  whether its data hold samples out
        """
        who = type(self).__name__
        if metrics is None:
            raise InputError(
                f"{who} watches the metric {self.metric!r}, and this session measures none: write "
                "sv.Session(..., metrics=['accuracy'], every=100)"
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
        """Whether none of the last `patience` values is better than those before.

        view   of the present step
        since  a step; only values after it count as the last ones; by default 0
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
        """Return the step with the best value up to that of `view`, and the value."""
        steps, values = view.metrics[self.metric]
        at = place_of_best(values, self.rises)
        return int(steps[at]), float(values[at])

    @abstractmethod
    def __call__(self, view: StepView) -> None:
        """Do what is due at a step."""


@final
class EarlyStopping(MetricCallback):
    """A callback that stops a training when a metric does not get better any more.

    It ends the `advance` or `play` under way; `s.stopped` then says why, and where the metric was
    best, and `s.seek` goes there.

    metric     name in `s.metrics`, by default "held_out_loss"
    patience   measurements without a better value; by default 10
    min_delta  by how much a value must be better to count, at least 0; by default 0
    mode       "min", "max" or "auto", the default: "max" for accuracies, precision, recall, f1 and
               r2, else "min"; a metric of your own needs one of the other two

    Raises InputError for unsuitable arguments.

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
        """Stop if the metric has waited long enough; `view` is that of a step."""
        if self.waits(view):
            step, value = self.best(view)
            best = f"was best at step {step:,}, {value:.4g}, and has not been better in"
            if np.isnan(value):  # also where samples lack a class, as those for auc
                best = "is undefined (nan) for these samples, as auc where a class is missing, in"
            view.stop(f"stopped early: {self.metric} {best} {self.patience} measurements")

    def __repr__(self) -> str:
        return f"EarlyStopping({self.metric!r}, patience={self.patience})"


@final
class ReduceOnPlateau(MetricCallback):
    """A callback that lowers the learning rate when a metric does not get better any more.

    After that it waits for `patience` measurements anew. It ends the optimizer's schedule.

    metric     name in `s.metrics`, by default "held_out_loss"
    factor     factor of the learning rate, above 0 and below 1; by default 0.1
    patience   measurements without a better value; by default 10
    min_delta  by how much a value must be better to count, at least 0; by default 0
    min_rate   smallest learning rate, at least 0; by default 0
    mode       "min", "max" or "auto", as in EarlyStopping; by default "auto"

    Raises InputError for unsuitable arguments.

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
        """Lower the rate if the metric has waited long enough; `view` is that of a step."""
        if self.waits(view, view.rate_set_at):
            rate = max(self.min_rate, view.learning_rate * self.factor)
            if rate < view.learning_rate:
                view.set_rate(rate)

    def __repr__(self) -> str:
        return f"ReduceOnPlateau({self.metric!r}, factor={self.factor:g}, patience={self.patience})"
