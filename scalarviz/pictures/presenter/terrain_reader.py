"""TerrainReader: the loss over a plane through the weights, with the path of a training on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import rounded
from scalarviz.errors import InputError
from scalarviz.pictures.presenter.curve_view import CurveView
from scalarviz.pictures.presenter.overlay_pointer import OverlayPointer
from scalarviz.pictures.presenter.throttle import Throttle
from scalarviz.pictures.presenter.why import title_of
from scalarviz.pictures.view.frame_data import Terrain
from scalarviz.training.session.landscape import LossPlane, LossPlanes
from scalarviz.training.session.over_time import FilledPast, Moment, Now, moments_of
from scalarviz.training.session.session import Session
from scalarviz.training.session.timeline import Position

ROUNDING = 1e-5  # relative, of float32
NEAR = 0.03  # of the width of the plane: so near the path, its step is meant


@final
class TerrainReader:
    """Reads the plane of a session, and makes another one where the path has left it."""

    def __init__(self, session: Session, filled: FilledPast) -> None:
        self.session = session
        self.filled = filled
        self.planes = LossPlanes(session)
        self.held = False  # whether the ball is being dragged
        self._asked: tuple[int, ...] | None = None  # the weights of the plane; None: none was asked
        self._why = ""  # there is none
        self._made: tuple[object, ...] = ()  # what the plane was made of
        self._steps = 0  # of the path then
        self.waits = False  # whether a picture waits for all losses
        self._reading = Throttle()
        self._known: tuple[object, ...] = ()
        self._across = np.zeros(0)  # of the plane that the places are in
        self._places: dict[Moment, tuple[float, float]] = {}
        self.shown = self._terrain = Terrain(
            None, 0.0, np.zeros(0), np.zeros((0, 2)), (0.0, 0.0), "main"
        )

    def rest(self) -> None:
        """Compute no losses any more; what is computed stays."""
        if self.planes.busy:
            self.planes.stop()
            self._asked = None

    def read(self, view: CurveView, over: OverlayPointer, now: Now, here: Position) -> Terrain:
        """Return the plane along the directions of a view, with what the mouse reads."""
        pins = view.pinned if view.along == "two" else ()
        if view.along == "two" and len(pins) < 2:
            self._asked = None
            says = text("past.pin_two")
            self.shown = replace(self._terrain, plane=None, along="two", says=says)
            return self.shown
        plane = self.planes.now if self._asked == pins else None
        if plane is not None and (self.held or self._reading.due or not self.session.playing):
            known = id(plane.across), here.branch, here.clock, here.leaps, self.filled.version
            if known != self._known:
                with self._reading.doing():
                    self._terrain = self._placed(plane, now, here)
                self._known = known
            if self.waits:
                self.filled.wait()
                self._terrain = self._placed(plane, now, here)
        self._make(pins, plane, now, here)
        if self.waits and self.planes.busy:
            self.planes.wait()
            return self.read(view, over, now, here)
        told = self._why or (said(plane, self._terrain, over) if plane is not None else "")
        done = self.planes.done
        names = ("", "") if plane is None else names_of(self.session, plane, pins)
        self.shown = replace(
            self._terrain, plane=plane, done=done, along=view.along, names=names, says=told
        )
        return self.shown

    def _make(
        self, pins: tuple[int, ...], plane: LossPlane | None, now: Now, here: Position
    ) -> None:
        """Make a plane if there is none, or at rest if it does not hold the path any more.

        Losses along two weights are those with the other weights of one moment; main directions are
        those of a path, and found anew when it is twice as long, from the start on at once.
        """
        grows = not pins and here.end.step > 2 * self._steps
        plays = self.session.playing and not (grows and not self._steps)
        if plane is not None and (self.held or plays or self.planes.busy):
            return
        is_good = plane is not None and not grows and is_within(plane, self._terrain.path)
        if plane is not None and is_good and (not pins or is_in(plane, now.value)):
            return
        if self._asked == pins and (plane is None or self._why):
            return
        made = pins, here.branch, here.end, here.clock if pins else None
        if plane is not None and made == self._made:  # another one would be the same
            return
        self._asked, self._why, self._made = pins, "", made
        self._steps = here.end.step
        try:
            self.planes.start(pins or None)
        except InputError as error:
            self._why = " ".join(error.lines)

    def _placed(self, plane: LossPlane, now: Now, here: Position) -> Terrain:
        """Return the path of the branch in the plane."""
        steps = self.filled.steps(here.branch, 0.0, float(here.end.step))
        moments = moments_of(here.branch, now, steps, self.filled.moments)
        if plane.across is not self._across:
            self._across, self._places = plane.across, {}
        known, self._places = self._places, {}
        for moment in moments:  # of one that was shown before, the place is known
            self._places[moment] = known.get(moment) or plane.place_of(moment.value)
        path = np.array([*self._places.values()])
        at = np.array([moment.step for moment in moments], np.float64)
        return replace(self._terrain, steps=at, path=path, at=plane.place_of(now.value))


def names_of(session: Session, plane: LossPlane, pins: Sequence[int]) -> tuple[str, str]:
    """Return what the directions are: two weights, or shares of the path."""
    if pins:
        across, up = (title_of(session, session.network.program, row) for row in pins)
        return across, up
    first, second = (f"{100.0 * share:.3g}" for share in plane.shares)
    return text("past.axis.main", share=first), text("past.axis.main", share=second)


def is_within(plane: LossPlane, path: FloatArray) -> bool:
    left, right, bottom, top = plane.span
    x, y = path[:, 0], path[:, 1]
    return bool(((left <= x) & (x <= right) & (bottom <= y) & (y <= top)).all())


def is_in(plane: LossPlane, values: FloatArray) -> bool:
    """Return whether weights lie in a plane, up to rounding."""
    apart = np.abs(plane.values_at(*plane.place_of(values)) - values)
    return bool((apart <= ROUNDING * (1.0 + np.abs(values))).all())


def nearest_step(terrain: Terrain, spot: tuple[float, float]) -> int | None:
    """Return the step of the moment on the path that is near a point of the plane, or None."""
    if terrain.plane is None or not len(terrain.path):
        return None
    left, right, bottom, top = terrain.plane.span
    apart = (terrain.path - spot) / (right - left, top - bottom)
    distance = np.hypot(apart[:, 0], apart[:, 1])
    place = int(np.argmin(distance))
    return int(terrain.steps[place]) if distance[place] < NEAR else None


def said(plane: LossPlane, terrain: Terrain, over: OverlayPointer) -> str:
    """Return what the mouse reads: the loss at the nearest point of the grid, the step if near."""
    if over.spot is None:
        return ""
    row = int(np.argmin(np.abs(plane.ys - over.spot[1])))
    column = int(np.argmin(np.abs(plane.xs - over.spot[0])))
    found = float(plane.losses[row, column])
    if np.isnan(found):  # not computed yet
        return ""
    loss = rounded(found, 3)
    step = nearest_step(replace(terrain, plane=plane), over.spot)
    if step is None:
        return text("past.loss_here", loss=loss)
    return text("past.loss_near", loss=loss, step=step)
