"""Statistics: running statistics during a step that is taken moment by moment."""

from __future__ import annotations

from typing import final

from scalarviz.core.bank import SCALING
from scalarviz.engines.common.base import Engine
from scalarviz.errors import UpdateError


@final
class Statistics:
    """The running statistics at the beginning of a step, to undo bad changes.

    If a forward makes one of them NaN or infinite, all are restored. The error is raised by the
    moment "step", since a bad gradient has precedence, and the loss scale may skip the step.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._before = engine.bank.state[SCALING:].copy()
        self._lost = ""

    def after_forward(self) -> None:
        """Check the statistics after the forward of an operation; restore them if one is bad."""
        self._lost = self._lost or self._engine.lost_statistic()
        if self._lost:
            self.restore()

    def restore(self) -> None:
        """Restore the statistics from before the step."""
        self._engine.bank.state[SCALING:] = self._before

    @property
    def error(self) -> UpdateError | None:
        """The error for a step with a bad statistic, or None."""
        engine = self._engine
        return engine.bad_statistic(self._lost, engine.bank.step_count) if self._lost else None
