"""Curves: what the chart of the losses shows of a session."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.core.formulas.metrics import HELD_OUT, LOSS, METRICS
from scalarviz.engines.engine import SnapshotValues
from scalarviz.pictures.presenter.captions.names import sentence
from scalarviz.pictures.presenter.curve_view import CurveView
from scalarviz.pictures.presenter.overlay_pointer import OverlayPointer
from scalarviz.pictures.presenter.past_reader import PastReader
from scalarviz.pictures.presenter.throttle import Throttle
from scalarviz.pictures.view.frame_data import BranchLine, Curve, Measured, Past, Terrain
from scalarviz.training.session.branches import Branch, Series, means_of
from scalarviz.training.session.session import Session
from scalarviz.training.session.timeline import Position

SHARES = ("accuracy", "binary_accuracy")
MOST = 2  # metrics in a chart
POINTS = 700  # of the curve
FEW, MANY = 50, 250  # points of the line of another branch, in a small and in a large chart
NEWEST = 20  # other branches with a line
PART = 25  # a mean goes over this part of the steps shown


@final
class Curves:
    """The losses of the branches of a session, as far as they are drawn.

    While the session plays, a long history is read again only at intervals.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self._reading = Throttle()
        self.past = PastReader(session)
        self._key: tuple[Any, ...] = ()
        self._curve = Curve()
        self._earlier = earlier_losses(session)
        self._lines: dict[Branch, tuple[tuple[int, int, int], BranchLine]] = {}
        self._metrics: Sequence[Measured] = ()
        self._metrics_key: tuple[int, ...] = ()

    def read(self, view: CurveView | None = None, here: Position | None = None) -> Curve:
        """Return the losses of this branch and of the newest other ones.

        view  the steps that are wanted; by default all
        here  where the session stood when the rest of the picture was read; by default where it
              stands now
        """
        session, view = self.session, view or CurveView()
        here = here or session.timeline.here
        branch = here.branch
        count = min(end_of(branch), here.end.step + (here.end.operation > 0))
        key = (branch, len(session.branches), view.key, count)
        waits = session.playing and not self._reading.due
        self._measure(waits)
        if key != self._key and not (waits and key[:-1] == self._key[:-1]):
            with self._reading.doing():
                self._curve = self._read(branch, count, view)
            self._key = key
        now = float(here.clock.step)
        marks = [(mark.step, mark.text) for mark in session.stops.marks_of(branch)]
        if session.origin is not None and len(self._earlier):
            marks.insert(0, (0, sentence(session.origin.did)))
        curve = replace(self._curve, at=now, loss=here.loss, metrics=self._metrics)
        return replace(curve, marks=marks) if marks else curve

    def _read(self, branch: Branch, count: int, view: CurveView) -> Curve:
        """Read the first `count` losses of a branch, and those of others."""
        others = [each for each in self.session.branches if each is not branch and each.end.step]
        others = sorted(others, key=lambda each: each.number)[-NEWEST:]
        end = max([count, *map(end_of, others)])
        first = max(0, math.floor(view.first) - 2)  # the line goes on outside of the chart
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
        points = MANY if view.large else FEW
        for each in others:
            start = max(first, parting(each, branch) - 1)
            known = start, max(start, min(stop, end_of(each))), points
            kept = before.get(each)
            if kept is None or kept[0] != known:
                kept = known, BranchLine(each.number, *points_of(each, *known))
            self._lines[each] = kept
        lines = [line for _, line in self._lines.values() if len(line.steps) > 1]
        smooths = view.smooths(count)
        smoothed = smoothed_of(losses) if smooths else np.zeros(0)
        return Curve(
            *(steps, losses),
            others=lines,
            smoothed=smoothed,
            end=float(end),
            before=float(len(self._earlier)),
            first=view.first,
            last=view.last,
        )

    def pointed(
        self, over: OverlayPointer, view: CurveView, here: Position, numbers: SnapshotValues | None
    ) -> Curve:
        """Return what `read` does, with what the mouse points at, and what stands below it.

        numbers  the present ones; None: nothing stands below it
        """
        below = None
        if view.large and numbers is not None:
            below = self.past.read(view, over, numbers, here)
        else:
            self.past.rest()
        curve = replace(
            self.read(view, here),
            pointed=over.step,
            reads=loss_at(here.branch, over.step),
            on_title=over.title,
            large=view.large,
            past=below if isinstance(below, Past) else None,
            terrain=below if isinstance(below, Terrain) else None,
        )
        meant = next((b for b in self.session.branches if b.number == over.branch), None)
        if meant is None or meant is here.branch:  # a click on its line went over to it
            return curve
        name = text("chart.branch", number=meant.number, name=meant.name)
        there = loss_at(meant, over.step)
        return replace(curve, meant=meant.number, name=name, there=there)

    def _measure(self, waits: bool) -> None:
        """Read the metrics that are drawn again if the clock has moved."""
        session = self.session
        if session.visits.metrics is None:
            return
        key = session.current_branch.number, session.step_index
        if key != self._metrics_key and not (waits and self._metrics):
            self._metrics_key, self._metrics = key, measured_of(session.metrics)


def earlier_losses(session: Session) -> FloatArray:
    """Return the losses of the trainings that a session was made from, as far as they are known."""
    parts, origin = [np.zeros(0)], session.origin
    while origin is not None and origin.session is not None:
        parts.append(origin.session.current_branch.losses_between(0, origin.step))
        origin = origin.session.origin
    return np.concatenate(parts[::-1])


def loss_at(branch: Branch | None, step: int | None) -> float:
    """Return the loss of a step of a branch; NaN without either, and for an unknown step."""
    if branch is None or step is None or not 0 < step <= end_of(branch):
        return math.nan
    return branch.loss_at(step - 1)


def end_of(branch: Branch) -> int:
    """Return the number of steps of a branch whose losses are known."""
    return branch.record.first + len(branch.record)


def parting(branch: Branch, shown: Branch) -> int:
    """Return the step from which on a branch has other losses than its parent, or its child."""
    child: Branch | None = None
    for each in shown.lineage():
        if each is branch:
            return branch.fork.step if child is None else child.fork.step
        child = each
    return branch.fork.step


def points_of(branch: Branch, first: int, stop: int, most: int) -> tuple[FloatArray, FloatArray]:
    """Return steps and losses of a branch: means over at most so many equal intervals.

    The first loss is drawn at step 1, where its step ends.
    """
    middles, losses = branch.means(first, stop, most)
    return first + 1.0 + middles, losses


def smoothed_of(losses: FloatArray) -> FloatArray:
    """Return the mean of the finite losses around each one, or no number if they are too few."""
    around = len(losses) // (2 * PART)  # on each side
    if not around:
        return np.zeros(0)
    window, good = np.ones(2 * around + 1), np.isfinite(losses)
    counts = np.convolve(good.astype(np.float64), window, "same")
    sums = np.convolve(np.where(good, losses, 0.0), window, "same")
    with np.errstate(divide="ignore", invalid="ignore"):
        means: FloatArray = sums / counts
    return means


def measured_of(metrics: Mapping[str, Series]) -> Sequence[Measured]:
    """Return the metrics of a session that are drawn, see `drawn_of`."""
    return [
        Measured(name_of(name), is_share(name, metrics), steps.astype(np.float64), values)
        for name in drawn_of(metrics)
        for steps, values in [metrics[name]]
    ]


def drawn_of(metrics: Mapping[str, Series]) -> list[str]:
    """Return the names of the metrics that are drawn, at most two.

    The loss of held-out samples comes first, then a share such as the accuracy, that of held-out
    samples if it is measured, then others.
    """
    plain = [name for name in metrics if HELD_OUT + name not in metrics]
    ranked = sorted(plain, key=lambda name: (name != HELD_OUT + LOSS, not is_share(name, metrics)))
    return ranked[:MOST]


def is_share(name: str, metrics: Mapping[str, Series]) -> bool:
    """Whether a metric is drawn on a scale from 0 to 1: an accuracy, or one of the user's own."""
    plain, values = name.removeprefix(HELD_OUT), metrics[name][1]
    if plain in SHARES:
        return True
    is_own = plain != LOSS and plain not in METRICS
    return is_own and bool(((values >= 0.0) & (values <= 1.0)).all())


def name_of(name: str) -> str:
    """Return what a metric is called in the chart."""
    if name == HELD_OUT + LOSS:
        return text("chart.held_out")
    plain = name.removeprefix(HELD_OUT).replace("_", " ")
    return text("chart.held_out.metric", name=plain) if name.startswith(HELD_OUT) else plain
