"""OverTime: the values of all weights at stored moments of a branch, one row per weight.

The numbers are read from keyframes and need no extra memory; as keyframes are thinned out, older
moments become sparser during training. If there are more weights than rows, a row is the mean of
adjacent weights.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.past_numbers import OverTime, Rows
from scalarviz.core.program import Program
from scalarviz.story.past_places import even_steps, last_known, tiles_of
from scalarviz.training.session.branches import Branch, Clock, Frame
from scalarviz.training.session.replays import MEMORY, arrivals, copy_at_start
from scalarviz.training.session.session import Session
from scalarviz.training.session.threads import Background, Job


@dataclass(frozen=True, slots=True, eq=False)
class Now:
    """The values of the network at one moment, such as the current one."""

    step: int
    value: FloatArray


Moment = Frame | Now
Filled = Mapping[Branch, Sequence[Now]]  # additional moments, by the branch that owns their steps


@final
class WeightsOverTime:
    """Reads the weights at several steps from keyframes, and caches the results.

    Args:
        program: program of the network
        count: number of weights
        most: approximate maximum number of tiles
    """

    def __init__(self, program: Program, count: int, most: int) -> None:
        layers = layers_of(program, count)
        self._rows = np.concatenate([rows for _, rows in layers])
        self._starts, self._groups = tiles_of([(name, len(rows)) for name, rows in layers], most)
        self._counts = np.diff(np.append(self._starts, len(self._rows)))
        self._known: dict[Moment, FloatArray] = {}

    def read(
        self,
        branch: Branch,
        now: Now,
        *,
        steps: Sequence[float],
        filled: Filled,
    ) -> OverTime:
        """Return the values of all weights at the known moments of a branch.

        Args:
            steps: requested steps, increasing; for each, the last known moment at or before it is
                used
            filled: known moments in addition to the keyframes
        """
        frames = moments_of(branch, now, steps, filled)
        before, self._known = self._known, {}
        columns = []
        for frame in frames:
            column = None if frame is now else before.get(frame)
            if column is None:
                values = frame.value.astype(np.float64)[self._rows]
                column = np.add.reduceat(values, self._starts) / self._counts
            if frame is not now:
                self._known[frame] = column
            columns.append(column)
        at = np.array([frame.step for frame in frames], np.float64)
        tiles = np.stack(columns, axis=1)
        return OverTime(at, self._rows, self._starts, tiles, self._groups)


def layers_of(program: Program, count: int) -> list[tuple[str, Rows]]:
    """Return the label and bank rows of each layer with weights; a graph counts as one layer."""
    found: dict[str, list[Rows]] = {}
    known = np.zeros(count, np.bool_)
    for operation in () if program.is_graph else program.operations:
        rows = np.array(operation.parameters, np.int64)
        rows = rows[~known[rows]]  # shared weights belong to the first layer
        known[rows] = True
        if len(rows):
            found.setdefault(operation.label or str(operation.layer), []).append(rows)
    if not known.all():
        found.setdefault("", []).append(np.flatnonzero(~known))
    return [(label, np.concatenate(parts)) for label, parts in found.items()]


def moments_of(branch: Branch, now: Now, steps: Sequence[float], filled: Filled) -> list[Moment]:
    """Return the last known moment at or before each step, without duplicates."""
    known: list[Moment] = [now]  # used where no others are known
    for each, end in branch.way():
        kept: list[Moment] = [*each.frames, *filled.get(each, ())]
        known += [one for one in kept if one.step <= end]
    return last_known(steps, sorted(known, key=attrgetter("step")))


# Moments between the keyframes of a session, recomputed in the background.

MOMENTS = 800  # shown at most
ROOM = 2**24  # bytes of stored numbers
LONGEST = 10.0  # time limit in seconds for all; more distant moments remain unknown


@final
class FilledPast:
    """Weights at requested steps, recomputed in the background.

    Attributes:
        background: the thread that computes them
        asleep: whether to compute nothing
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.asleep = False
        self.moments: dict[Branch, list[Now]] = {}
        self.version = 0  # grows when moments become known
        self._wanted: tuple[object, ...] = ()
        self.background = Background(session.timeline.lock)

    def steps(self, branch: Branch, first: float, last: float) -> list[int]:
        """Return evenly spaced steps to display; if not playing, start to compute unknown ones."""
        most = min(MOMENTS, max(2, ROOM // (8 * len(self.session.network.bank))))
        steps = even_steps(first, last, most)
        if not (self.asleep or self.session.playing):
            self.want(branch, steps)
        return steps

    def want(self, branch: Branch, steps: Sequence[int]) -> None:
        """Start to compute the weights at these steps, replacing all earlier results."""
        network = self.session.network
        wanted = branch, tuple(steps)
        if wanted == self._wanted or not network.layers or not steps:
            return
        self._wanted = wanted
        self.background.start(self._fill(branch, steps))

    def stop(self) -> None:
        """Stop computing; the next request starts from the beginning."""
        if self.background.busy:
            self.background.stop()
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
            now = Now(step, bank.value.copy())
            insort(found.setdefault(branch.owner_of(step), []), now, key=attrgetter("step"))
            self.version += 1
