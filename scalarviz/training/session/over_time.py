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
from typing import Any, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.scales import KINDS, ORDERS
from scalarviz.core.formulas.formula import pick
from scalarviz.core.past_numbers import OverTime, Rows
from scalarviz.core.program import Program
from scalarviz.story.past_places import even_steps, last_known, tiles_of
from scalarviz.training.session.branches import Branch, Clock, Frame
from scalarviz.training.session.replays import MEMORY, arrivals, copy_at_start
from scalarviz.training.session.session import Session
from scalarviz.training.session.threads import Background, Job


@dataclass(frozen=True, slots=True, eq=False)
class Now:
    """The numbers of the network at one moment, such as the current one."""

    step: int
    value: FloatArray
    grad: FloatArray


Moment = Frame | Now
Filled = Mapping[Branch, Sequence[Now]]  # additional moments, by the branch that owns their steps
NONE_FILLED: Filled = {}


@final
class WeightsOverTime:
    """Reads the weights at several steps from keyframes, and caches the results."""

    def __init__(self, program: Program, count: int) -> None:
        self._layers = layers_of(program, count)
        self._by_layer = np.concatenate([rows for _, rows in self._layers])
        self._by_distance: Rows = None
        self._shown: tuple[Any, ...] = ()
        self._known: dict[tuple[Moment | None, Moment], FloatArray] = {}

    def read(
        self,
        branch: Branch,
        now: Now,
        kind: str = "value",
        order: str = "layer",
        *,
        steps: Sequence[float],
        most: int = 200,
        filled: Filled = NONE_FILLED,
        keeps_order: bool = False,
    ) -> OverTime:
        """Return the numbers of all weights at the known moments of a branch.

        Args:
            steps: requested steps, increasing; for each, the last known moment at or before it is
                used
            most: approximate maximum number of tiles
            filled: known moments in addition to the keyframes
            keeps_order: whether to reuse the previous sorting if the order is "distance"
        """
        kind = pick({each: each for each in KINDS}, kind, "kind")
        order = pick({each: each for each in ORDERS}, order, "order")
        frames = moments_of(branch, now, steps, filled)
        start = branch.lineage()[-1].frames[0].value
        rows, layers = self._by_layer, self._layers
        if order == "distance":
            rows = self._sorted(now.value.astype(np.float64) - start, keeps=keeps_order)
            layers = [("", rows)]
        starts, groups = tiles_of([(name, len(each)) for name, each in layers], most)
        shown = kind, order, len(starts), id(start), rows
        if shown[:-1] != self._shown[:-1] or rows is not self._shown[-1]:
            self._shown, self._known = shown, {}
        before, self._known = self._known, {}
        columns = []
        for earlier, frame in zip([None, *frames[:-1]], frames, strict=True):
            pair = (earlier if order == "norms" and kind == "change" else None), frame
            column = None if frame is now else before.get(pair)
            if column is None:
                if order == "norms":
                    numbers = moved(*pair) if kind == "change" else numbers_of(kind, frame, start)
                    column = norms_of(layers, numbers)
                else:
                    sums = np.add.reduceat(numbers_of(kind, frame, start)[rows], starts)
                    column = sums / np.diff(np.append(starts, len(rows)))
            if frame is not now:
                self._known[pair] = column
            columns.append(column)
        found = np.stack(columns, axis=1)
        at, none = np.array([frame.step for frame in frames], np.float64), found[:0]
        tiles, norms = (none, found) if order == "norms" else (found, none)
        return OverTime(kind, at, rows, starts, tiles, groups, norms)

    def _sorted(self, change: FloatArray, *, keeps: bool) -> Rows:
        """Return all rows, largest change first; reuse the array while the order is unchanged."""
        if self._by_distance is None or not keeps:
            found = np.argsort(-np.abs(change), kind="stable")
            if self._by_distance is None or not np.array_equal(found, self._by_distance):
                self._by_distance = found
        return self._by_distance


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


def numbers_of(kind: str, frame: Moment, start: FloatArray) -> FloatArray:
    """Return values, gradients or changes since the start at a moment, as float64."""
    numbers = (frame.grad if kind == "gradient" else frame.value).astype(np.float64)
    return numbers - start if kind == "change" else numbers


def moved(earlier: Moment | None, frame: Moment) -> FloatArray:
    """Return the change of the weights per step since an earlier moment; NaN if that is None."""
    if earlier is None:
        return np.full(len(frame.value), np.nan)
    change: FloatArray = frame.value.astype(np.float64) - earlier.value
    return change / max(1, frame.step - earlier.step)


def norms_of(layers: Sequence[tuple[str, Rows]], numbers: FloatArray) -> FloatArray:
    """Return the Euclidean norm of the values of each layer."""
    return np.array([np.linalg.norm(numbers[rows]) for _, rows in layers])


# Moments between the keyframes of a session, recomputed in the background.

MOMENTS = 800  # shown at most
ROOM = 2**25  # bytes of stored numbers
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
        """Return evenly spaced steps to display; when paused, start to compute unknown ones."""
        most = min(MOMENTS, max(2, ROOM // (16 * len(self.session.network.bank))))
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
            now = Now(step, bank.value.copy(), bank.grad.copy())
            insort(found.setdefault(branch.owner_of(step), []), now, key=attrgetter("step"))
            self.version += 1
