"""Chart data of a session: losses, weights over time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.scales import HEALTH, NAMES, SCALARS, WEIGHTS
from scalarviz.base.texts import text
from scalarviz.core.formulas.metric_formulas import HELD_OUT, LOSS, METRICS
from scalarviz.core.past_numbers import OverTime
from scalarviz.data import DataSet, Names
from scalarviz.data.written_names import SHOWN, write_names
from scalarviz.scene.canvas.palette import largest
from scalarviz.scene.frame_data import (
    BranchLine,
    Curve,
    HealthRows,
    Measured,
    PastWeights,
    ScalarCharts,
)
from scalarviz.scene.loss_chart import CurveView, smoothed_of
from scalarviz.scene.past_names import NamesOfMoment
from scalarviz.stage.background import Refreshed
from scalarviz.stage.chart_view import OverlayPointer
from scalarviz.stage.health_rows import health_of
from scalarviz.story.facts import Facts
from scalarviz.story.names import sentence
from scalarviz.story.past_words import name_of_tile, past_words
from scalarviz.training.session.branches import Branch, Series, means_of
from scalarviz.training.session.measurements import series
from scalarviz.training.session.over_time import (
    FilledPast,
    Now,
    WeightsOverTime,
)
from scalarviz.training.session.reading import TrainingState
from scalarviz.training.session.session import Session

SHARES = ("accuracy", "binary_accuracy", "subset_accuracy")
MOST_METRICS = 2  # metrics in a chart
POINTS = 700  # points of the curve
FEW_POINTS, MANY_POINTS = (
    50,
    250,
)  # points of the line of another branch, in a small and in a large chart
NEWEST = 20  # other branches with a line, the latest ones


@final
class Curves:
    """The loss curves of the branches of a session.

    During playback, a long history is read only at intervals.
    """

    def __init__(self, session: Session) -> None:
        self.past = PastReader(session)
        self._curve = Refreshed(Curve())
        self._earlier = earlier_losses(session)
        self._lines: dict[Branch, tuple[tuple[int, int, int], BranchLine]] = {}
        self._metrics = Refreshed[Sequence[Measured]](())

    def read(self, view: CurveView, now: TrainingState) -> Curve:
        """Return the losses of the current branch and of the most recent other branches.

        Args:
            view: the steps to show
            now: the state read for the picture
        """
        here, branch = now.here, now.here.branch
        count = min(end_of(branch), here.end.step + (here.end.operation > 0))
        about = branch, len(now.branches), view.key
        read = partial(self._read, now, count, view)
        curve = self._curve.get(about, count, read, may_wait=now.playing)
        marks = [(mark.step, mark.text) for mark in now.stops.marks_of(branch)]
        if now.origin is not None and len(self._earlier):
            marks.insert(0, (0, sentence(now.origin.did)))
        return replace(
            curve,
            at=float(here.clock.step),
            loss=here.loss,
            metrics=self._measured(now),
            marks=marks,
        )

    def _read(self, now: TrainingState, count: int, view: CurveView) -> Curve:
        """Read the first `count` losses of the branch, and the losses of other branches."""
        branch = now.here.branch
        others = sorted(
            (each for each in now.branches if each is not branch and each.end.step),
            key=lambda each: each.number,
        )[-NEWEST:]
        end = max([count, *map(end_of, others)])
        first = max(0, math.floor(view.first) - 2)  # the line continues outside the chart
        stop = end if view.last is None else math.ceil(view.last) + 1
        if first >= end:
            first, stop = 0, end
        steps, losses = points_of(branch, first, stop, POINTS)
        if not view.is_zoomed:
            stretch = max(1, -(-len(self._earlier) // POINTS))
            middles, means = means_of(self._earlier, stretch)
            steps = np.concatenate([middles + 1.0 - len(self._earlier), steps])
            losses = np.concatenate([means, losses])
        before, self._lines = self._lines, {}
        points = MANY_POINTS if view.large else FEW_POINTS
        for each in others:
            start = max(first, parting(each, branch) - 1)
            known = start, max(start, min(stop, end_of(each))), points
            kept = before.get(each)
            if kept is None or kept[0] != known:
                kept = known, BranchLine(each.number, *points_of(each, *known))
            self._lines[each] = kept
        level = level_of(now.data)
        lines = [line for _, line in self._lines.values() if len(line.steps) > 1]
        return Curve(
            *(steps, losses),
            others=lines,
            smoothed=np.array(
                smoothed_of(losses.tolist(), single=math.isfinite(level)) if view.smooth else []
            ),
            level=level,
            end=float(end),
            before=float(len(self._earlier)),
            first=view.first,
            last=view.last,
            start=float(self._earlier[0]) if len(self._earlier) else loss_at(branch, 1),
            measure=now.loss_function.name,
            followed=now.run.followed is not None,
        )

    def pointed(
        self, over: OverlayPointer, view: CurveView, now: TrainingState, facts: Facts | None
    ) -> Curve:
        """Return the result of `read`, with the item under the mouse and the chart below it.

        Args:
            facts: names for the chart of all weights below it; None omits that chart
        """
        below = None
        if facts is not None:
            below = self.past.read(view, over, now, facts)
        else:
            self.past.rest()
        branch = now.here.branch
        curve = replace(
            self.read(view, now),
            pointed=over.step,
            reads=loss_at(branch, over.step),
            on_title=over.title,
            large=view.large,
            below=below,
            settings=view.settings,
        )
        meant = next((each for each in now.branches if each.number == over.branch), None)
        if meant is None or meant is branch:  # a click on its line switched to it
            return curve
        name = text("chart.branch", number=meant.number, name=meant.name)
        return replace(curve, meant=meant.number, name=name, there=loss_at(meant, over.step))

    def _measured(self, now: TrainingState) -> Sequence[Measured]:
        """Return the metrics to draw."""
        if not now.measures:
            return ()
        at, known = (now.here.branch, now.here.clock.step), self._metrics
        may_wait = now.playing and bool(known.value)
        return known.get(None, at, lambda: measured_of(series(*at)), may_wait=may_wait)


def level_of(data: DataSet) -> float:
    """Return the loss of counting pairs of letters; NaN for data other than names."""
    people: Any = data
    return float(people.pairs_loss) if data.writes else math.nan


def earlier_losses(session: Session) -> FloatArray:
    """Return the known losses of the sessions from which a session was created."""
    parts, origin = [np.zeros(0)], session.origin
    while origin is not None and origin.session is not None:
        parts.append(origin.session.current_branch.losses_between(0, origin.step))
        origin = origin.session.origin
    return np.concatenate(parts[::-1])


def loss_at(branch: Branch | None, step: int | None) -> float:
    """Return the loss of a step of a branch; NaN if either is None or the loss is unknown."""
    if branch is None or step is None or not 0 < step <= end_of(branch):
        return math.nan
    return branch.loss_at(step - 1)


def end_of(branch: Branch) -> int:
    """Return the step at which the known losses of a branch end."""
    return branch.record.first + len(branch.record)


def parting(branch: Branch, shown: Branch) -> int:
    """Return the step at which a branch forks from its parent, or the shown branch from it."""
    lineage = shown.lineage()
    if branch in lineage[1:]:
        return lineage[lineage.index(branch) - 1].fork.step
    return branch.fork.step


def points_of(branch: Branch, first: int, stop: int, most: int) -> tuple[FloatArray, FloatArray]:
    """Return mean steps and mean losses of a branch in at most `most` equal intervals.

    A loss is drawn at the end of its step: the first one at step 1.
    """
    middles, losses = branch.means(first, stop, most)
    known = ~np.isnan(losses)  # of a followed model, some losses are not seen
    return (first + 1.0 + middles)[known], losses[known]


def measured_of(metrics: Mapping[str, Series]) -> Sequence[Measured]:
    """Return the drawn metrics of a session, see `drawn_of`."""
    return [
        Measured(name_of_metric(name), is_share(name, metrics), steps.astype(np.float64), values)
        for name in drawn_of(metrics)
        for steps, values in [metrics[name]]
    ]


def drawn_of(metrics: Mapping[str, Series]) -> list[str]:
    """Return the names of the drawn metrics, at most two.

    The held-out loss comes first, then a fraction such as the accuracy, preferably held-out, then
    others.
    """
    plain = [name for name in metrics if HELD_OUT + name not in metrics]
    ranked = sorted(plain, key=lambda name: (name != HELD_OUT + LOSS, not is_share(name, metrics)))
    return ranked[:MOST_METRICS]


def is_share(name: str, metrics: Mapping[str, Series]) -> bool:
    """Return whether a metric is drawn from 0 to 1: an accuracy, or a custom one in that range."""
    plain, values = name.removeprefix(HELD_OUT), metrics[name][1]
    if plain in SHARES:
        return True
    is_own = plain != LOSS and plain not in METRICS
    return is_own and bool(((values >= 0.0) & (values <= 1.0)).all())


def name_of_metric(name: str) -> str:
    """Return the name of a metric as shown in the chart."""
    if name == HELD_OUT + LOSS:
        return text("chart.held_out")
    if name == HELD_OUT + "accuracy":
        return text("chart.held_out.accuracy")
    plain = name.removeprefix(HELD_OUT).replace("_", " ")
    return text("chart.held_out.metric", name=plain) if name.startswith(HELD_OUT) else plain


# All weights over time, in the large chart.

TILES = 128  # approximate maximum


@final
class PastReader:
    """Reader of all weights over time; during playback, only at intervals.

    When paused, moments between the keyframes are recomputed in the background.

    Attributes:
        waits: whether a picture waits for all moments
    """

    def __init__(self, session: Session) -> None:
        self.filled = FilledPast(session)
        self.waits = False
        self._reader: tuple[object, WeightsOverTime] | None = None
        self._past: Refreshed[PastWeights | None] = Refreshed(None)
        self._health: Refreshed[HealthRows | None] = Refreshed(None)
        self._names: Refreshed[NamesOfMoment] = Refreshed(NamesOfMoment((), 0.0))
        self._scalars: Refreshed[dict[str, Curve]] = Refreshed({})

    def read(
        self, view: CurveView, over: OverlayPointer, now: TrainingState, facts: Facts
    ) -> PastWeights | HealthRows | ScalarCharts | NamesOfMoment:
        """Return the data of the chart below the large loss chart."""
        if view.order == HEALTH and (health := self.health(now)) is not None:
            self.rest()
            return health
        if view.order == SCALARS and now.run.followed is not None:
            self.rest()
            curves = self.scalars(view, now)
            return ScalarCharts([*curves], [*curves.values()])
        people: Any = now.data
        if view.order == NAMES and people.writes:
            self.rest()
            return self.names(now, people)
        if view.order in (HEALTH, SCALARS, NAMES):
            view.choose(WEIGHTS)  # another session is shown now
        here = now.here
        about = here.branch, view.first, view.last
        moment = here.clock, here.leaps, here.end, self.filled.version
        past = self._past.get(about, moment, lambda: self._made(view, now), may_wait=now.playing)
        assert past is not None, "nothing is shown before the first reading"
        told, seen = reading_of_weights(facts, past.over_time, view, over), past.over_time
        pinned = [*map(seen.tile_with, view.pinned)]
        if view.compared is not None:
            pinned += [tile for tile, _ in seen.moved_most(*view.compared)]
        return replace(past, tile=over.tile, pinned=pinned, says=told, compared=view.compared)

    def _made(self, view: CurveView, now: TrainingState) -> PastWeights:
        asked = now, view.first, view.last
        seen = self.seen(*asked)
        if self.waits:
            self.filled.background.complete()
            seen = self.seen(*asked)
        names = [text("plates.layer", label=label) if label else "" for label, *_ in seen.groups]
        return PastWeights(seen, largest(seen.tiles.ravel()) or 1.0, names)

    def health(self, now: TrainingState) -> HealthRows | None:
        """Return the health of a followed model; None for other networks."""
        make = partial(health_of, now.run)
        return self._health.get(now.run, now.here.end, make, may_wait=now.playing)

    def names(self, now: TrainingState, data: Names) -> NamesOfMoment:
        """Return the names that a network writes now."""
        here = now.here
        moment = here.branch, here.clock, here.leaps
        return self._names.get(now.run, moment, partial(names_of, now, data), may_wait=now.playing)

    def scalars(self, view: CurveView, now: TrainingState) -> dict[str, Curve]:
        """Return the curves of the scalars of a followed model by name; {} of other networks."""
        record = now.run.followed
        make = partial(scalar_curves, {} if record is None else record.scalars, view)
        moment = now.here.end, record is not None and record.record.is_done
        return self._scalars.get((now.run, view.key), moment, make, may_wait=now.playing)

    def rest(self) -> None:
        """Stop computing while nothing is shown."""
        self.filled.stop()

    @property
    def progress(self) -> tuple[object, ...]:
        """A value that changes while something is computed in the background."""
        return self.filled.version, self.filled.background.busy

    def seen(self, now: TrainingState, first: float = 0.0, last: float | None = None) -> OverTime:
        """Return all weights at selected moments of the branch, from step `first` to `last`."""
        program, here = now.program, now.here
        if self._reader is None or self._reader[0] is not program:
            self._reader = program, WeightsOverTime(program, len(now.numbers.value), TILES)
        end = here.end.step if last is None else min(last, here.end.step)
        return self._reader[1].read(
            here.branch,
            Now(here.clock.step, now.numbers.value),
            steps=self.filled.steps(here.branch, min(first, end), end),
            filled=self.filled.moments,
        )


def names_of(now: TrainingState, data: Names) -> NamesOfMoment:
    """Return the names that a network writes at this moment, from the same random numbers."""

    def ask(rows: list[float]) -> list[float]:
        outputs: list[float] = now.network(np.reshape(rows, (-1, data.places))).ravel().tolist()
        return outputs

    random = data.random_numbers(SHOWN).tolist()
    written = write_names(ask, random, data.letters, {*data.names})
    return NamesOfMoment(written, float(now.here.clock.step))


def is_rate(name: str) -> bool:
    """Return whether a scalar is a learning rate; these are drawn last."""
    return name.split(" ")[0] == "lr"


def scalar_curves(scalars: Mapping[str, Series], view: CurveView) -> dict[str, Curve]:
    """Return the shown part of each scalar in at most POINTS means, learning rates last."""
    found = {}
    for name in sorted(scalars, key=is_rate):
        steps = scalars[name][0]
        last = math.inf if view.last is None else view.last
        first, end = np.searchsorted(steps, [view.first, last])
        seen = slice(max(0, first - 1), end + 1)  # the line continues outside the chart
        stretch = max(1, -(-len(steps[seen]) // POINTS))
        places, means = (means_of(each[seen].astype(float), stretch)[1] for each in scalars[name])
        shown = np.isfinite(means)
        smoothed = np.array(smoothed_of(means[shown].tolist()) if view.smooth else [])
        found[name] = Curve(places[shown], means[shown], smoothed=smoothed)
    return found


def scalar_numbers(curves: Mapping[str, Curve]) -> dict[str, list[list[float]]]:
    """Return the steps and values of scalars for a page, rounded."""
    return {
        name: [[float(f"{x:.6g}") for x in each] for each in (curve.steps, curve.losses)]
        for name, curve in curves.items()
    }


def reading_of_weights(facts: Facts, seen: OverTime, view: CurveView, over: OverlayPointer) -> str:
    """Return the readout of the tile under the mouse: at a step, or between two compared steps."""

    def name_of(tile: int) -> str:
        rows = seen.rows_of(tile)
        return name_of_tile(facts, seen.groups, tile, len(rows), int(rows[0]))

    return past_words(
        (min(over.tile, len(seen.tiles) - 1), over.step)
        if over.tile is not None and over.step is not None
        else None,
        view.compared,
        number_at=lambda tile, step: float(seen.tiles[tile, seen.moment_at(step)]),
        step_at=lambda step: float(seen.steps[seen.moment_at(step)]),
        name_of=name_of,
        tiles=len(seen.tiles),
    )
