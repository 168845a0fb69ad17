"""What layers keep of their batches, in a step that is taken moment by moment."""

from __future__ import annotations

from typing import final

from scalarviz.engines.common.base import Engine
from scalarviz.errors import UpdateError
from scalarviz.model.bank import SCALING


@final
class Statistics:
    """The running statistics of a network, from the beginning of a step on.

    A forward that would make one of them NaN or infinite moves none, and the step is refused when
    the weights are to move: another reason may come first, or the loss scale may skip it.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._before = engine.bank.state[SCALING:].copy()
        self._lost = ""

    def after_forward(self) -> None:
        """Look at what the forward of an operation has left."""
        self._lost = self._lost or self._engine.lost_statistic()
        if self._lost:
            self.restore()

    def restore(self) -> None:
        """Write back those from before the step."""
        self._engine.bank.state[SCALING:] = self._before

    @property
    def error(self) -> UpdateError | None:
        """The error of a step that would lose one."""
        engine = self._engine
        return engine.bad_statistic(self._lost, engine.bank.step_count) if self._lost else None
