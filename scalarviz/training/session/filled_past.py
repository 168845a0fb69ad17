"""FilledPast: moments between the keyframes of a session, computed again in the background."""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Sequence
from operator import attrgetter
from typing import final

import numpy as np

from scalarviz.training.session.branches import Branch, Clock
from scalarviz.training.session.over_time import Now
from scalarviz.training.session.session import Session
from scalarviz.training.session.twin import arrivals, copy_at_start
from scalarviz.training.session.weight_history import MEMORY
from scalarviz.training.session.worker import Background, Job

MOMENTS = 800  # shown at most
ROOM = 2**25  # bytes of numbers that are kept
LONGEST = 10.0  # seconds that all of it may take; farther apart moments stay unknown


@final
class FilledPast:
    """The numbers of weights at steps that were wanted, by the branch that owns the step."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.moments: dict[Branch, list[Now]] = {}
        self.version = 0  # grows when moments have become known
        self._wanted: tuple[object, ...] = ()
        self._background = Background()

    def steps(self, branch: Branch, first: float, last: float) -> list[int]:
        """Return evenly spread steps to be shown; at rest, begin to compute what is not known."""
        most = min(MOMENTS, max(2, ROOM // (16 * len(self.session.network.bank))))
        steps = sorted({*np.linspace(first, last, most).astype(np.int64).tolist()})
        if not self.session.playing:
            self.want(branch, steps)
        return steps

    @property
    def busy(self) -> bool:
        return self._background.busy

    def want(self, branch: Branch, steps: Sequence[int]) -> None:
        """Begin to compute the moments of these steps, in place of those that were known before."""
        network = self.session.network
        wanted = branch, tuple(steps)
        if wanted == self._wanted or not network.layers or not steps:
            return
        self._wanted = wanted
        self._background.start(self._fill(branch, steps))

    def wait(self) -> None:
        """Wait until all that was wanted is known; raise the error that ended it, if any."""
        if not self.session.has_turn:  # else a deadlock: the thread waits for the lock
            self._background.finish()
        self._background.raise_error()

    def stop(self) -> None:
        """Compute nothing any more; what is wanted next begins anew."""
        if self.busy:
            self._background.stop()
            self._wanted = ()

    def _fill(self, branch: Branch, steps: Sequence[int]) -> Job:
        session = self.session
        with session.still(math.inf):
            timeline = session.timeline
            if timeline.branch is not branch:
                return
            twin = copy_at_start(timeline, session.network, Clock(), MEMORY)
        apart = 0
        for step in steps:
            frame = twin.branch.frame_before(step)
            apart += step - (frame.step if frame else 0)
        if apart * timeline.seconds_a_step > LONGEST:
            return
        found: dict[Branch, list[Now]] = {}
        self.moments = found
        for step, bank in arrivals(twin, steps):
            yield 0.0
            if bank is None:
                continue
            now = Now(step, bank.value.copy(), bank.grad.copy())
            insort(found.setdefault(branch.owner_of(step), []), now, key=attrgetter("step"))
            self.version += 1
