"""WeightHistory: the values and gradients of pinned weights over the steps, for plots.

From the pinning on, they are recorded during training. Earlier ones are replayed in the background
on a copy of the network.
"""

from __future__ import annotations

from itertools import product
from typing import Literal, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.engines.common.cores import Guard
from scalarviz.training.session.branches import Clock
from scalarviz.training.session.lock import SessionLock
from scalarviz.training.session.timeline import MOST_STEPS, Timeline
from scalarviz.training.session.twin import arrivals, copy_at_start
from scalarviz.training.session.worker import Background, Job

POINTS = 2000  # points of a history, about; a longer training is sampled at equal distances
MEMORY = 2**24  # bytes for keyframes of the copy

Recorded = Literal["value", "gradient"]
KINDS: dict[str, Recorded] = {"value": "value", "gradient": "gradient"}
Known = dict[tuple[int, int], float]  # by number of branch, and step


@final
class WeightHistory:
    """The pinned rows of a bank, with values and gradients at some steps of each branch.

    The gradient on arrival at a step is the one that the step before moved the weight by.
    """

    def __init__(self, timeline: Timeline, session_lock: SessionLock) -> None:
        self._timeline = timeline
        self._session_lock = session_lock
        self._known: dict[int, dict[Recorded, Known]] = {}  # by row
        self._lock = Guard()
        self._background = Background()
        timeline.each_portion = self.note
        timeline.most_steps = self.stride

    @property
    def rows(self) -> list[int]:
        return list(self._known)

    def pin(self, rows: list[int], on: bool) -> None:
        """Start recording these rows, or stop and forget them."""
        with self._lock:
            for row in rows:
                if on:
                    self._known.setdefault(row, {"value": {}, "gradient": {}})
                else:
                    self._known.pop(row, None)
        if on:
            self._fill_in()
        elif not self._known:
            self.stop()

    def take_over(self, other: WeightHistory) -> None:
        """Pin what the WeightHistory of the original had pinned, with all that is known."""
        with other._lock:
            self._known = {
                row: {kind: dict(each) for kind, each in known.items()}
                for row, known in other._known.items()
            }
        if other._background.busy:
            self._fill_in()

    def stride(self) -> int:
        """Return the number of steps that may pass between two records."""
        return max(1, self._timeline.clock.step // POINTS) if self._known else MOST_STEPS

    def note(self) -> None:
        """Record the present numbers, if the clock stands between two steps."""
        if self._known:
            bank = self._timeline.trainer.bank
            self._note({"value": bank.value, "gradient": bank.grad})

    def _note(self, numbers: dict[Recorded, FloatArray]) -> None:
        branch, clock = self._timeline.branch, self._timeline.clock
        if clock.operation or clock.actions:
            return
        with self._lock:
            for (row, known), (kind, array) in product(self._known.items(), numbers.items()):
                known[kind][branch.number, clock.step] = float(array[row])
                if len(known[kind]) > 4 * POINTS:
                    known[kind] = dict(list(known[kind].items())[::2])

    def history(self, row: int, kind: Recorded) -> tuple[FloatArray, FloatArray]:
        """Return the known steps of this branch up to now, and the numbers on arrival there."""
        here = self._timeline.here
        limits = {each.number: last for each, last in here.branch.way(here.clock.step)}
        with self._lock:
            known = list(self._known[row][kind].items()) if row in self._known else []
        found = {step: v for (n, step), v in known if step <= limits.get(n, -1)}
        steps = sorted(found)
        return np.array(steps, np.int64), np.array([found[step] for step in steps])

    def wait(self) -> None:
        """Wait for the background thread; raise the error that ended it, if any."""
        if not self._session_lock.mine:  # else a deadlock: the thread waits for the lock
            self._background.finish()
        self._background.raise_error()

    def stop(self) -> None:
        """Stop the background thread after its portion."""
        self._background.stop()

    def _fill_in(self) -> None:
        """Replay earlier steps in the background."""
        if self._known:
            self._background.take_error()  # drop the error of an earlier attempt
            self._background.start(self._fill())

    def _fill(self) -> Job:
        with self._session_lock.taken():
            # The bank may have been written to since; the gradient comes from the replay.
            self._note({"value": self._timeline.remembered})
            network, rows = self._timeline.trainer.network, self.rows
            if not network.layers:  # it cannot be copied
                return
            twin = copy_at_start(self._timeline, network, Clock(), MEMORY)
            number, end = self._timeline.branch.number, self._timeline.clock.step
        steps = range(0, end + 1, max(1, end // POINTS))
        for step, bank in arrivals(twin, steps):
            yield 0.0
            if bank is None:
                continue
            with self._lock:
                for row in set(rows) & set(self._known):
                    known = self._known[row]
                    known["value"].setdefault((number, step), float(bank.value[row]))
                    known["gradient"].setdefault((number, step), float(bank.grad[row]))
