"""The way back from a step that was refused: the step from which a training can go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scalarviz.core.not_finite import written_error
from scalarviz.errors import GradientError, UpdateError

if TYPE_CHECKING:
    from scalarviz.training.session.timeline import Timeline


def with_way_back(timeline: Timeline, error: GradientError) -> GradientError:
    """Return the error of a refused step, with the step from which training can go on."""
    step = timeline.clock.step
    losses = timeline.branch.losses[:step]
    if written := written_error(timeline.trainer.bank):
        return written.with_way_back(step, "")
    if isinstance(error, UpdateError):
        error = error.at(step)
        if not step or timeline.loss <= losses[0]:  # weights are fine: a lower rate is enough
            return error.with_way_back(step, "")
    step = int(np.nanargmin(losses)) if np.isfinite(losses).any() else 0
    return error.with_way_back(step, ", where the loss was smallest")
