"""Pinned weights: what values they had, so that their course can be drawn.

From the moment of pinning on, values are noted as the training goes on. What came before is made
again in the background, on a copy of the network, from the keyframes of the branch.
"""

from __future__ import annotations

from typing import final

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.engines.common.cores import Guard
from scalarviz.network.network import Network
from scalarviz.session.lock import SessionLock
from scalarviz.session.replay import MOST_STEPS, History
from scalarviz.session.timeline import Branch, Clock, copies_of
from scalarviz.session.trainer import Trainer
from scalarviz.session.worker import Background, Job

POINTS = (
    2000  # about so many of a history; where a training is longer, steps in between are left out
)
MEMORY = 2**24  # bytes, for keyframes of the copy


@final
class WeightHistory:
    """The pinned rows of a bank, and the values that they had at some steps of each branch."""

    def __init__(self, course: History, turns: SessionLock) -> None:
        self._course = course
        self._turns = turns
        self._values: dict[int, dict[tuple[int, int], float]] = {}  # by row; branch and step
        self._lock = Guard()
        self._background = Background()
        course.each_portion = self.note
        course.most_steps = self.stride

    @property
    def rows(self) -> list[int]:
        return list(self._values)

    def pin(self, rows: list[int], on: bool) -> None:
        """Note the values of these rows from now on; or forget them."""
        with self._lock:
            for row in rows:
                if on:
                    self._values.setdefault(row, {})
                else:
                    self._values.pop(row, None)
        if on:
            self._fill_in()
        elif not self._values:
            self.stop()

    def take_over(self, other: WeightHistory) -> None:
        """Pin what is pinned in the original of a copied course, with what is known of it."""
        with other._lock:
            self._values = {row: dict(known) for row, known in other._values.items()}
        if other._background.busy:
            self._fill_in()

    def stride(self) -> int:
        """How many steps may go by without a note."""
        return max(1, self._course.clock.step // POINTS) if self._values else MOST_STEPS

    def note(self, numbers: FloatArray | None = None) -> None:
        """Note the present values, or these numbers, if a step is just done."""
        clock = self._course.clock
        numbers = self._course.trainer.bank.value if numbers is None else numbers
        if not self._values or clock.operation or clock.actions:
            return
        with self._lock:
            for row, values in self._values.items():
                values[self._course.branch.number, clock.step] = float(numbers[row])
                if len(values) > 4 * POINTS:
                    self._values[row] = dict(list(values.items())[::2])

    def history(self, row: int) -> tuple[FloatArray, FloatArray]:
        """Steps of this branch up to now, and the values on arrival there."""
        here = self._course.here
        limits = limits_of(here.branch, here.clock.step)
        with self._lock:
            known = list(self._values.get(row, {}).items())
        found = {step: v for (n, step), v in known if step <= limits.get(n, -1)}
        steps = sorted(found)
        return np.array(steps, np.int64), np.array([found[step] for step in steps])

    def wait(self) -> None:
        """Until the background has done what it was asked for; an error that it met is raised."""
        if not self._turns.mine:  # else each would wait for the other
            self._background.finish()
        error = self._background.take_error()
        if error is not None:
            raise error

    def stop(self) -> None:
        """Break off what is being done in the background."""
        self._background.stop()

    def _fill_in(self) -> None:
        """Make again what came before, in the background."""
        if self._values:
            self._background.take_error()  # of what is done again now
            self._background.start(self._fill())

    def _fill(self) -> Job:
        with self._turns.taken():
            self.note(self._course.remembered)  # somebody may have written into the bank since
            network, rows = self._course.trainer.network, self.rows
            if not isinstance(network, Network):
                return
            twin = copy_at_start(self._course, network, Clock(), MEMORY)
            number, end = self._course.branch.number, self._course.clock.step
        for step in range(0, end + 1, max(1, end // POINTS)):
            while twin.clock.step < step:
                twin.forward(Clock(min(step, twin.clock.step + max(1, int(twin.pace)))))
                yield 0.0
            with self._lock:
                for row in set(rows) & set(self._values):
                    value = float(twin.trainer.bank.value[row])
                    self._values[row].setdefault((number, step), value)


def limits_of(branch: Branch, now: int) -> dict[int, int]:
    """For a branch and those it came from: the last step that they have in common with it."""
    limits = {}
    for each in branch.lineage():
        limits[each.number] = now
        now = min(now, each.fork.step)
    return limits


def copy_at_start(course: History, network: Network, clock: Clock, memory: int) -> History:
    """The same course on a copy of its network, at a moment of its branch; it goes its own way."""
    trainer, start = course.trainer, course.branches[0].frames[0].settings
    copied = Trainer(network.copy(), start, trainer.loss, trainer.batch, trainer.seed)
    twin, branches = History(copied, memory), copies_of(course.branches)
    twin.take_over(branches, branches[course.branches.index(course.branch)], clock)
    return twin
