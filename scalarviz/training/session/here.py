"""Here: where a session stands, for other threads."""

from __future__ import annotations

from typing import NamedTuple

from scalarviz.core.program import Moment
from scalarviz.training.session.branches import Branch, Clock


class Here(NamedTuple):
    """A consistent view of a Timeline for other threads; replaced as a whole, never changed.

    `leaps` counts the moves by more than single operations, such as whole steps; `end` is that of
    the branch at this moment, which grows while the training goes on; `seen` is the step of whose
    batch pictures show a sample, which stays the same while whole steps play.
    """

    clock: Clock
    branch: Branch
    moments: tuple[Moment, ...]
    loss: float
    leaps: int
    end: Clock
    seen: int
