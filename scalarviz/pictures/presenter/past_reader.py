"""PastReader: all weights over time, as far as the large chart shows them."""

from __future__ import annotations

from dataclasses import replace
from typing import final

from scalarviz.base.texts import plural, text
from scalarviz.base.texts.decimals import rounded
from scalarviz.engines.engine import SnapshotValues
from scalarviz.pictures.presenter.channels import largest
from scalarviz.pictures.presenter.curve_view import CurveView
from scalarviz.pictures.presenter.overlay_pointer import OverlayPointer
from scalarviz.pictures.presenter.terrain_reader import TerrainReader
from scalarviz.pictures.presenter.throttle import Throttle
from scalarviz.pictures.presenter.why import title_of
from scalarviz.pictures.view.frame_data import Past, Terrain
from scalarviz.pictures.view.overlay import LANDSCAPE
from scalarviz.training.session.over_time import FilledPast, Now, OverTime, WeightsOverTime
from scalarviz.training.session.session import Session
from scalarviz.training.session.timeline import Position

TILES = 128  # at most, about


@final
class PastReader:
    """Reads all weights over time; while the session plays, only at intervals.

    At rest, moments between the keyframes are computed again in the background.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.filled = FilledPast(session)
        self.terrain = TerrainReader(session, self.filled)
        self._reading = Throttle()
        self._reader: tuple[object, WeightsOverTime] | None = None
        self._shown: tuple[object, ...] = ()
        self._past: Past | None = None

    def read(
        self, view: CurveView, over: OverlayPointer, numbers: SnapshotValues, here: Position
    ) -> Past | Terrain:
        """Return what is shown below a large chart."""
        if view.order == LANDSCAPE:
            return self.terrain.read(view, over, self.now(numbers, here), here)
        self.terrain.rest()
        chosen = view.kind, view.order, here.branch, view.first, view.last
        shown = (*chosen, here.clock, here.leaps, here.end, self.filled.version)
        waits = self.session.playing and self._shown[: len(chosen)] == chosen
        if shown != self._shown and not (waits and not self._reading.due):
            asked = view.kind, view.order, numbers, here, view.first, view.last
            with self._reading.doing():
                seen = self.seen(*asked)
            if self.terrain.waits:
                self.filled.wait()
                seen = self.seen(*asked)
            self._past = past_of(seen, view.order)
            self._shown = shown
        assert self._past is not None, "nothing is shown before the first reading"
        told = said(self.session, self._past.over_time, view, over)
        seen = self._past.over_time
        pinned = [tile for row in view.pinned for tile in seen.tiles_with(row)]
        if view.compared is not None and len(seen.tiles):
            pinned += [tile for tile, _ in seen.moved_most(*view.compared)]
        return replace(self._past, tile=over.tile, pinned=pinned, says=told, compared=view.compared)

    def rest(self) -> None:
        """Compute nothing while nobody looks."""
        self.filled.stop()
        self.terrain.rest()

    @property
    def progress(self) -> tuple[object, ...]:
        """Changes while something is computed in the background."""
        planes = self.terrain.planes
        return self.filled.version, self.filled.busy, planes.done, planes.busy

    def now(self, numbers: SnapshotValues, here: Position) -> Now:
        """Return the present moment."""
        return Now(here.clock.step, numbers.value, numbers.grad)

    def seen(
        self,
        kind: str,
        order: str,
        numbers: SnapshotValues,
        here: Position,
        first: float = 0.0,
        last: float | None = None,
    ) -> OverTime:
        """Return all weights at some moments of the branch, from a step on, up to a `last` one."""
        program = self.session.network.program
        if self._reader is None or self._reader[0] is not program:
            self._reader = program, WeightsOverTime(program, len(numbers.value))
        end = here.end.step if last is None else min(last, here.end.step)
        steps = self.filled.steps(here.branch, min(first, end), end)
        return self._reader[1].read(
            here.branch,
            self.now(numbers, here),
            *(kind, order),
            steps=steps,
            most=TILES,
            filled=self.filled.moments,
            keeps_order=self.session.playing,
        )


def past_of(seen: OverTime, order: str) -> Past:
    """Return what a chart shows of numbers over time."""
    names = [text("plates.layer", label=label) if label else "" for label, *_ in seen.groups]
    return Past(seen, order, largest(seen.tiles.ravel()) or 1.0, names)


def said(session: Session, seen: OverTime, view: CurveView, over: OverlayPointer) -> str:
    """Return what the mouse reads: a tile at a step, or between the two that are compared."""
    if not len(seen.tiles):
        return ""
    if over.tile is not None and over.step is not None:
        numbers = seen.tiles[min(over.tile, len(seen.tiles) - 1)]
        name = name_of(session, seen, min(over.tile, len(seen.tiles) - 1))
        if view.compared is None:
            moment = seen.moment_at(over.step)
            fields = {"value": rounded(numbers[moment], 3), "step": seen.steps[moment]}
            return text("past.reads", name=name, **fields)
        both = [numbers[seen.moment_at(step)] for step in view.compared]
        first, last = (rounded(each, 3) for each in both)
        change = signed(both[1] - both[0])
        return text("past.compares", name=name, first=first, last=last, change=change)
    if view.compared is None:
        return ""
    most = seen.moved_most(*view.compared)
    moved = [f"{name_of(session, seen, tile)} {signed(change)}" for tile, change in most]
    first, last = (seen.steps[seen.moment_at(step)] for step in view.compared)
    return text("past.most", first=first, last=last, moved="; ".join(moved))


def signed(number: float) -> str:
    """Return a number with its sign."""
    return f"{'+' if number > 0.0 else ''}{rounded(number, 3)}"


def name_of(session: Session, seen: OverTime, tile: int) -> str:
    """Return the name of a weight, or how many weights of which layer a tile is the mean of."""
    rows = seen.rows_of(tile)
    if len(rows) > 1:
        label = next(name for name, first, count in seen.groups if tile < first + count)
        layer = text("plates.layer", label=label) if label else ""
        return plural("past.tile", len(rows), layer=layer).strip().rstrip(",")
    return title_of(session, session.network.program, int(rows[0]))
