"""Landscape: losses on a plane of weights, computed from coarse to fine on a network copy."""

from __future__ import annotations

import math
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from scalarviz.base.checks import FloatArray, require, shorten, size
from scalarviz.core.formulas.losses import Weights
from scalarviz.core.formulas.randomness import STREAM_INITIAL, unit_pairs
from scalarviz.core.past_numbers import LossPlane
from scalarviz.data.batches import Batches, TableBatches
from scalarviz.errors import InputError
from scalarviz.story.past_places import coarse_to_fine, span_of
from scalarviz.training.network.model import Model
from scalarviz.training.session.branches import Clock
from scalarviz.training.session.replays import arrivals, copy_at_start
from scalarviz.training.session.threads import Background, Job
from scalarviz.training.session.timeline import Timeline
from scalarviz.training.session.trainer import one_row

if TYPE_CHECKING:
    from scalarviz.training.session.session import Session


BLOCK = 2**14  # weights whose path is in memory in float64 at once
NEW = 1e-3  # minimum share of a direction perpendicular to the earlier ones


class Past(NamedTuple):
    """The weights along a training run, which determine the plane of a landscape.

    Attributes:
        center: current values of the bank
        steps: steps of the path's moments, int64, increasing
        values: values of the bank at each of these steps
        trained: bank rows of the trainable weights
        grad: current gradients of the bank
    """

    center: FloatArray
    steps: FloatArray
    values: Sequence[FloatArray]
    trained: Any
    grad: FloatArray


def plane_of(
    past: Past, rows: Sequence[int] = (), names: tuple[str, str] = ("", ""), points: int = 41
) -> LossPlane:
    """Return a LossPlane with `points` x `points` grid points, whose losses are still NaN.

    The axes are the weights in two bank `rows`, called `names`, or by default the principal
    directions of the path.
    """
    center = past.center.astype(np.float64)
    across, up = np.zeros((2, len(center)))
    variance = math.nan
    if rows:
        across[rows[0]] = up[rows[1]] = 1.0
    else:
        (across[past.trained], up[past.trained]), variance = main_directions(past)
    none, unknown = np.zeros(0), (math.nan, math.nan)
    span = unknown * 2
    plane = LossPlane(center, across, up, names, past.steps, none, span, unknown, none, none, none)
    path = np.array([plane.place_of(values) for values in past.values])
    first, second = (path.var(axis=0) / (variance or 1.0)).tolist()
    left, right, bottom, top = span_of(path.tolist())
    return replace(
        plane,
        path=path,
        span=(left, right, bottom, top),
        shares=(first, second),
        xs=np.linspace(left, right, points),
        ys=np.linspace(bottom, top, points),
        losses=np.full((points, points), np.nan),
    )


def main_directions(past: Past) -> tuple[list[FloatArray], float]:
    """Return the two directions in which the weights moved most, and the total variance.

    They are the principal components of the path, computed from the Gram matrix of its moments,
    which is small even for many weights. If the path has fewer than two components above rounding
    errors, the gradient or fixed random directions are added. Signs are chosen so that coordinates
    increase from the start to the end of the path.
    """
    last, count = past.values[-1][past.trained], len(past.values)
    products = sum(moves @ moves.T for moves in moves_of(past))
    squares, turns = np.linalg.eigh(products)  # the smallest first
    rounding = np.finfo(last.dtype).eps * math.sqrt(count) * float(np.linalg.norm(last))
    least = max(rounding, 1e-7 * math.sqrt(max(squares[-1], 0.0)))  # products are also rounded
    largest = turns[:, squares > least**2][:, :-3:-1]
    main = np.concatenate([moves.T @ largest for moves in moves_of(past)]).T
    gradient = past.grad[past.trained].astype(np.float64)
    gradient[~np.isfinite(gradient)] = 0.0
    others = np.array(unit_pairs(0, STREAM_INITIAL, 0, 0, len(past.trained))) - 0.5
    way = last.astype(np.float64) - past.values[0][past.trained]
    found: list[FloatArray] = []
    for each in (*main, gradient, *others):
        rest = each / (np.linalg.norm(each) or 1.0)
        for other in found * 2:  # twice, since the first pass leaves rounding errors
            rest = rest - (rest @ other) * other
        length = float(np.linalg.norm(rest))
        if len(found) < 2 and length > NEW:
            found.append(rest / math.copysign(length, way @ rest or 0.0))
    return found, float(np.trace(products)) / count


def moves_of(past: Past) -> Iterator[FloatArray]:
    """Yield the deviations of the trained weights from their mean over the path, in blocks."""
    for first in range(0, len(past.trained), BLOCK):
        rows = past.trained[first : first + BLOCK]
        moves = np.array([values[rows] for values in past.values], np.float64)
        yield moves - moves.mean(axis=0)


MOST_POINTS = 201  # grid points in each direction
MOST_SAMPLES, IN_PYTHON = 4096, 256  # samples for the loss, and with the slow python engine
MOST_MOMENTS = 200  # points of the path, before the current one
ENOUGH = 100  # keyframes, so that a replay adds none
REPLAY = 1.0  # time limit of this replay, in seconds
PORTION = 0.005  # seconds of computation before yielding


@final
class Landscape:
    """Computes the losses of a LossPlane, on a copy of the network and on its engine.

    The network is evaluated without dropout and with running statistics. The caller must hold the
    session's lock to construct it, but not to run `portions`.

    Attributes:
        plane: the plane; None until the path is known
        count: number of computed losses
    """

    def __init__(self, timeline: Timeline, rows: Sequence[int], points: int) -> None:
        model, batches = timeline.trainer.network, timeline.trainer.batches
        if timeline.trainer.recorded is not None:
            raise InputError(
                "the record of a training run has no samples, so the loss of other weights "
                "cannot be computed: pass a session that trains a Network"
            )
        model.bank.fetch()
        first, second = map(model.name_of, rows) if rows else ("", "")
        self._asked = rows, (first, second), points
        most = IN_PYTHON if timeline.trainer.settings.engine == "python" else MOST_SAMPLES
        self._rows, self._model = model.rows, model.copy()
        self._samples, self._loss_function = samples_of(batches, most), timeline.trainer.loss
        self._past = kept_past(timeline)
        self._end = timeline.branch.end.step
        self._now = timeline.clock.step
        self._twin: Timeline | None = None  # for the replay, if present
        takes_long = self._end * timeline.seconds_a_step > REPLAY  # unknown before the first step
        if len(self._past.steps) <= min(self._end, ENOUGH) and not takes_long:
            self._twin = copy_at_start(timeline, model, Clock(), timeline.keyframes.budget)
        self.plane: LossPlane | None = None
        self.count = 0

    @property
    def now(self) -> LossPlane | None:
        """The plane with a copy of the losses computed so far; thread-safe."""
        plane = self.plane
        return None if plane is None else replace(plane, losses=plane.losses.copy())

    @property
    def done(self) -> float:
        """Fraction of the losses computed so far, from 0 to 1."""
        return self.count / self._asked[-1] ** 2

    @cached_property
    def _loss(self) -> Callable[[], float]:
        """Function that returns the loss of the network copy; compiled without holding the lock."""
        return self._model.loss_on(*self._samples, self._loss_function)

    def loss_at(self, values: FloatArray) -> float:
        """Return the loss for the weights `values`."""
        with np.errstate(over="ignore"):
            self._model.bank.value[self._model.rows] = values[self._rows]
        return self._loss()

    def portions(self) -> Iterator[int]:
        """Find the path and compute all losses; yield the number of losses after each portion."""
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
        """Replace the keyframes of the path by evenly spaced moments, if that is quick enough."""
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
    """Return the weights in at most MOST_MOMENTS keyframes of the branch and now."""
    model, now, bank = timeline.trainer.network, timeline.clock.step, timeline.trainer.bank
    ways = [*timeline.branch.way()]
    frames = [f for each, last in reversed(ways) for f in each.frames if f.step <= last]
    steps = np.array([frame.step for frame in frames], np.int64)
    chosen = np.unique(np.searchsorted(steps, np.linspace(0, steps[-1], MOST_MOMENTS)))
    none = Past(bank.value.copy(), steps, (), rows_trained(model), bank.grad.copy())
    return with_present(none, now, steps[chosen].tolist(), [frames[i].value for i in chosen])


def with_present(past: Past, now: int, steps: list[int], values: list[FloatArray]) -> Past:
    """Return a path of these moments, plus the current moment if it is missing."""
    at = bisect_right(steps, now)
    is_one = at and steps[at - 1] == now and np.array_equal(values[at - 1], past.center)
    if not is_one:
        steps, values = [*steps[:at], now, *steps[at:]], [*values[:at], past.center, *values[at:]]
    return past._replace(steps=np.array(steps, np.int64), values=values)


def rows_trained(model: Model) -> Any:
    """Return the bank rows of a model's weights that are not frozen."""
    is_trained = np.zeros(len(model.bank), np.bool_)
    is_trained[model.rows] = True
    return np.flatnonzero(is_trained & ~model.bank.frozen)


def samples_of(
    batches: Batches, most: int = MOST_SAMPLES
) -> tuple[FloatArray, FloatArray, Weights]:
    """Return the inputs, targets and weights of the training samples, evenly thinned to `most`.

    For data that is generated in each step, return the samples of step 0.
    """
    is_table = isinstance(batches, TableBatches)
    inputs, targets = (batches.inputs, batches.targets) if is_table else batches.at(0)
    rows: Any = slice(None)
    if len(inputs) > most:
        rows = np.arange(most) * len(inputs) // most
    return inputs[rows], targets[rows], None if batches.weights is None else batches.weights[rows]


def checked(model: Model, weights: object, points: object) -> tuple[list[int], int]:
    """Return the bank rows of two chosen weights ([] for None), and the grid size.

    Raises:
        InputError: for invalid arguments, or for weights that are not trained.
    """
    count, trained = size(points, "the size of a landscape", least=2), rows_trained(model)
    require(
        count <= MOST_POINTS,
        f"a landscape has at most {MOST_POINTS} points in each direction, not {count:,}: pass "
        "size=101, for example",
    )
    require(
        len(trained) >= 2,
        "a landscape needs two weights that training moves, and this network has "
        f"{len(trained)}: unfreeze some, such as by s.freeze(weight, on=False)",
    )
    if weights is None:
        return [], count
    if not isinstance(weights, (list, tuple, np.ndarray)) or len(weights) != 2:
        raise InputError(
            f"a landscape takes two weights, not {shorten(weights)}: pass weights=(3, 7), for "
            "example, or None for the main directions of the training"
        )
    rows = [one_row(model, each) for each in weights]
    if rows[0] == rows[1]:
        raise InputError(
            f"both weights of the landscape are {model.name_of(rows[0])}: pass two different ones"
        )
    for row in rows:
        if row not in trained:
            raise InputError(
                f"{model.name_of(row)} is frozen, and a landscape needs weights that training "
                f"moves: pass another one, or unfreeze it by s.freeze({row}, on=False)"
            )
    return rows, count


@final
class LossPlanes:
    """Computes a LossPlane of a session in a separate thread, `background`."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.background = Background(session.timeline.lock)
        self._newest: list[Landscape] = []  # empty until the thread has read the session

    def start(self, weights: object = None, points: int = 41) -> None:
        """Start computing a plane through the current weights, replacing any earlier plane.

        Args:
            weights: two Weights or bank rows as axes; None (default) means the principal directions
            points: number of grid points in each direction; 41 by default

        Raises:
            InputError: for invalid arguments, as in `Session.landscape`.
        """
        rows, count = checked(self._session.network, weights, points)
        newest = self._newest = list[Landscape]()
        self.background.start(fill(self._session, rows, count, newest), forget=True)

    @property
    def now(self) -> LossPlane | None:
        """The plane with the losses computed so far; None if it has not been started."""
        return next((each.now for each in self._newest), None)

    @property
    def done(self) -> float:
        """Fraction of the losses computed so far, from 0 to 1."""
        return next((each.done for each in self._newest), 0.0)


def fill(session: Session, rows: Sequence[int], points: int, newest: list[Landscape]) -> Job:
    """Background job: read a session, and compute the losses on a plane through its weights."""
    with session.still(math.inf):
        newest.append(Landscape(session.timeline, rows, points))
    del session  # which may be deleted meanwhile
    for _ in newest[0].portions():
        yield 0.0
