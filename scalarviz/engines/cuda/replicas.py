"""CudaMany: trains many networks of one shape on a GPU, each on a stream of its own.

All launches of a call are queued before the first result is waited for, so that the GPU runs as
many of them at a time as it has room for. Each network has the bits of a training of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.core.bank import BankStack
from scalarviz.core.formulas.losses import Loss
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.precision import Precision
from scalarviz.core.program import NONE, Program
from scalarviz.data.batches import Batches
from scalarviz.engines.common.before import Before
from scalarviz.engines.cuda.engine import CudaEngine
from scalarviz.engines.cuda.failure import card_failures
from scalarviz.engines.cuda.run import CudaRun
from scalarviz.engines.cuda.tables import MOST_STEPS


@final
class CudaMany:
    """Trains networks of one program, each with its own bank and its own batches.

    taken  number of steps that each network has taken
    """

    def __init__(
        self,
        program: Program,
        stack: BankStack,
        batches: Sequence[Batches],
        loss: Loss,
        optimizer: Optimizer,
        precision: Precision,
    ) -> None:
        self._optimizer = optimizer
        self._going_on = np.ones(len(stack.banks), np.bool_)
        self.taken = np.zeros(len(stack.banks), np.int64)
        self._runs: list[CudaRun] = []
        for bank, each in zip(stack.banks, batches, strict=True):
            self._runs.append(CudaEngine([], program, bank, precision).run(each, loss))

    def prepare(self) -> None:
        """Nothing to do: kernels are compiled, or loaded, by the first step."""

    def count_steps(self) -> None:
        """Nothing to do: every call of `steps` counts."""

    def end(self, which: npt.NDArray[np.bool_]) -> None:
        """Take no more steps with these networks."""
        self._going_on &= ~which

    def steps(self, first: int, count: int) -> FloatArray:
        """Take `count` steps with every network, and return the losses, shape (networks, count).

        A loss is NaN from the step on at which the network stopped because of a bad gradient or an
        overflow.
        """
        losses = np.full((len(self._runs), count), np.nan)
        for start in range(0, count, MOST_STEPS):
            part = losses[:, start : start + MOST_STEPS]
            with card_failures():
                self._some_steps(first + start, part)
        return losses

    def _some_steps(self, first: int, losses: FloatArray) -> None:
        """Take a step for each column of `losses`, in one launch for each network."""
        count, chosen = losses.shape[1], np.flatnonzero(self._going_on).tolist()
        before = {}
        for i in chosen:
            run = self._runs[i]
            before[i] = Before(run.engine.bank, self._optimizer)
            run.share_tables(self._runs[0])
            run.launch(self._optimizer, first, count)
        for i in chosen:
            run = self._runs[i]
            outcome = run.outcome(self._optimizer)
            taken = len(outcome.losses)
            if outcome.overflow is not None:
                before[i].restore()
                if taken:
                    run.steps(self._optimizer, first, taken)
            losses[i, :taken] = outcome.losses
            self.taken[i] += taken
            self._going_on[i] = outcome.bad == NONE and outcome.overflow is None
