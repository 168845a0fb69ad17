"""Landscape: computes the losses over a plane, on a copy of the network, a coarse grid first."""

from __future__ import annotations

import math
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from scalarviz.base.checks import FloatArray, shorten, size
from scalarviz.data.batches import Batches, InOrder, Pair, Picked, Shuffled
from scalarviz.errors import InputError
from scalarviz.training.network.model import Model
from scalarviz.training.session.branches import Clock
from scalarviz.training.session.loss_plane import LossPlane, Past, plane_of
from scalarviz.training.session.timeline import Timeline
from scalarviz.training.session.trainer import one_row
from scalarviz.training.session.twin import arrivals, copy_at_start
from scalarviz.training.session.worker import Background, Job

if TYPE_CHECKING:
    from scalarviz.training.session.session import Session

MOST_POINTS = 201  # of the grid, in each direction
MOST_SAMPLES, IN_PYTHON = 4096, 256  # whose loss is computed, and by the slow engine python
MOST_MOMENTS = 200  # of the path, before the present
ENOUGH = 100  # keyframes, so that none are added by a replay
REPLAY = 1.0  # seconds that this replay may take
COARSEST = 8  # points from one to the next in the first pass over the grid
PORTION = 0.005  # seconds of computing until others have a turn


@final
class Landscape:
    """A LossPlane whose losses are being computed, on a copy of the network and on its engine.

    The network is evaluated as by a call: without dropout, with running statistics. Who makes it
    holds the session's lock; `portions` needs no lock.

    plane  None until the path is known
    count  number of losses that are computed
    """

    def __init__(self, timeline: Timeline, rows: Sequence[int], points: int) -> None:
        model, batches = timeline.trainer.network, timeline.trainer.batches
        model.bank.fetch()
        first, second = map(model.name_of, rows) if rows else ("", "")
        self._asked = rows, (first, second), points
        most = IN_PYTHON if timeline.trainer.settings.engine == "python" else MOST_SAMPLES
        self._rows, self._model = model.rows, model.copy()
        self._samples, self._loss_function = samples_of(batches, most), timeline.trainer.loss
        self._past = kept_past(timeline)
        self._end = timeline.branch.end.step
        self._now = timeline.clock.step
        self._twin: Timeline | None = None  # for the replay, if there is one
        takes_long = self._end * timeline.seconds_a_step > REPLAY  # unknown before the first step
        if len(self._past.steps) <= min(self._end, ENOUGH) and not takes_long:
            self._twin = copy_at_start(timeline, model, Clock(), timeline.keyframes.budget)
        self.plane: LossPlane | None = None
        self.count = 0

    @property
    def now(self) -> LossPlane | None:
        """The plane with a copy of the losses up to now; can be called from any thread."""
        plane = self.plane
        return None if plane is None else replace(plane, losses=plane.losses.copy())

    @property
    def done(self) -> float:
        """Share of the losses that are computed, from 0 to 1."""
        return self.count / self._asked[-1] ** 2

    @cached_property
    def _loss(self) -> Callable[[], float]:
        """Returns the loss at the numbers of the copy; made without the lock, as kernels may be."""
        return self._model.loss_on(*self._samples, self._loss_function)

    def loss_at(self, values: FloatArray) -> float:
        """Return the loss at other `values` of the bank."""
        with np.errstate(over="ignore"):
            self._model.bank.value[self._model.rows] = values[self._rows]
        return self._loss()

    def portions(self) -> Iterator[int]:
        """Find the path and compute all losses; yield the number of these after each portion."""
        yield from self._replay()
        plane = self.plane = plane_of(self._past, *self._asked)
        yield 0
        start = time.perf_counter()
        for row, column in coarse_to_fine(len(plane.xs)):
            values = plane.values_at(plane.xs[column], plane.ys[row])
            plane.losses[row, column] = self.loss_at(values)
            self.count += 1
            if time.perf_counter() - start > PORTION:
                yield self.count
                start = time.perf_counter()

    def _replay(self) -> Iterator[int]:
        """Replace keyframes by moments at equal distances, unless that takes longer than REPLAY."""
        twin, self._twin = self._twin, None
        if twin is None:
            return
        end, values = time.perf_counter() + REPLAY, []
        steps = np.unique(np.linspace(0, self._end, MOST_MOMENTS).astype(np.int64))
        for _, bank in arrivals(twin, steps.tolist()):
            if bank is not None:
                values.append(bank.value.copy())
            elif time.perf_counter() > end:
                return
            yield 0
        self._past = with_present(self._past, self._now, steps.tolist(), values)


def kept_past(timeline: Timeline) -> Past:
    """Return at most MOST_MOMENTS keyframes of the branch, and the present."""
    model, now, bank = timeline.trainer.network, timeline.clock.step, timeline.trainer.bank
    ways = [*timeline.branch.way()]
    frames = [f for each, last in reversed(ways) for f in each.frames if f.step <= last]
    steps = np.array([frame.step for frame in frames], np.int64)
    chosen = np.unique(np.searchsorted(steps, np.linspace(0, steps[-1], MOST_MOMENTS)))
    none = Past(bank.value.copy(), steps, (), rows_trained(model), bank.grad.copy())
    return with_present(none, now, steps[chosen].tolist(), [frames[i].value for i in chosen])


def with_present(past: Past, now: int, steps: list[int], values: list[FloatArray]) -> Past:
    """Return a past with these moments, and the present among them unless it is one of them."""
    at = bisect_right(steps, now)
    is_one = at and steps[at - 1] == now and np.array_equal(values[at - 1], past.center)
    if not is_one:
        steps, values = [*steps[:at], now, *steps[at:]], [*values[:at], past.center, *values[at:]]
    return past._replace(steps=np.array(steps, np.int64), values=values)


def rows_trained(model: Model) -> Any:
    """Return the rows of the bank that hold weights of a model which are not frozen."""
    is_trained = np.zeros(len(model.bank), np.bool_)
    is_trained[model.rows] = True
    return np.flatnonzero(is_trained & ~model.bank.frozen)


def samples_of(batches: Batches, most: int = MOST_SAMPLES) -> Pair:
    """Return the training samples, or `most` of them at equal distances.

    Of samples that are made anew in each step, those of step 0.
    """
    is_table = isinstance(batches, (InOrder, Shuffled, Picked))
    inputs, targets = (batches.inputs, batches.targets) if is_table else batches.at(0)
    rows = np.arange(most) * len(inputs) // most
    return (inputs[rows], targets[rows]) if len(inputs) > most else (inputs, targets)


def coarse_to_fine(points: int) -> Any:
    """Return row and column of each point of a grid, every COARSEST-th first, then between them."""
    places = np.indices((points, points)).reshape(2, -1)
    distances = np.gcd.reduce([*places, np.full(points**2, COARSEST)])
    return places[:, np.argsort(-distances, kind="stable")].T


def checked(model: Model, weights: object, points: object) -> tuple[list[int], int]:
    """Return the rows of two chosen weights, none for None, and the size of a grid.

    Raises InputError for anything else, and for weights that training does not move.
    """
    count, trained = size(points, "the size of a landscape", least=2), rows_trained(model)
    if count > MOST_POINTS:
        raise InputError(
            f"a landscape has at most {MOST_POINTS} points in each direction, not {count:,}: pass "
            "size=101, say"
        )
    if len(trained) < 2:
        raise InputError(
            "a landscape needs two weights that training moves, and this network has "
            f"{len(trained)}: unfreeze some, such as by s.freeze(weight, on=False)"
        )
    if weights is None:
        return [], count
    if not isinstance(weights, (list, tuple, np.ndarray)) or len(weights) != 2:
        raise InputError(
            f"a landscape goes along two weights, not {shorten(weights)}: pass weights=(3, 7), "
            "say, or None for the directions in which the weights moved most"
        )
    rows = [one_row(model, each) for each in weights]
    if rows[0] == rows[1]:
        raise InputError(
            f"both weights of the landscape are {model.name_of(rows[0])}: pass two different ones"
        )
    for row in rows:
        if row not in trained:
            raise InputError(
                f"{model.name_of(row)} is frozen, and a landscape goes along weights that training "
                f"moves: pass another one, or unfreeze it by s.freeze({row}, on=False)"
            )
    return rows, count


@final
class LossPlanes:
    """Computes a LossPlane of a session in a thread of its own.

    All methods can be called from any thread, and only `wait` waits.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._background = Background()
        self._newest: list[Landscape] = []  # empty until the thread has looked at the session

    def start(self, weights: object = None, points: int = 41) -> None:
        """Begin a plane at the present moment, instead of an earlier one.

        weights  two Weights or rows of the bank; None, the default: main directions
        points   of the grid in each direction; by default 41

        Raises InputError as `Session.landscape` does.
        """
        rows, count = checked(self._session.network, weights, points)
        self._background.take_error()  # of an earlier one
        newest = self._newest = list[Landscape]()
        self._background.start(fill(self._session, rows, count, newest))

    @property
    def now(self) -> LossPlane | None:
        """The plane with the losses up to now; None before there is any."""
        return next((each.now for each in self._newest), None)

    @property
    def done(self) -> float:
        """Share of the losses that are computed, from 0 to 1."""
        return next((each.done for each in self._newest), 0.0)

    @property
    def busy(self) -> bool:
        """Whether losses are being computed: neither all are, nor was it stopped, nor failed."""
        return self._background.busy

    def stop(self) -> None:
        """Stop after the current portion; what is computed stays."""
        self._background.stop()

    def wait(self) -> None:
        """Wait until nothing is computed any more; raise the error that ended it, if any."""
        if not self._session.has_turn:  # else a deadlock: the thread waits for the lock
            self._background.finish()
        self._background.raise_error()


def fill(session: Session, rows: Sequence[int], points: int, newest: list[Landscape]) -> Job:
    """Job: look at a session, and compute the losses over a plane there."""
    with session.still(math.inf):
        newest.append(Landscape(session.timeline, rows, points))
    del session  # which may go meanwhile
    for _ in newest[0].portions():
        yield 0.0
