"""The camera of a stage, with smooth moves between views, and the box that the network fills."""

from __future__ import annotations

from dataclasses import replace
from typing import final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.formulas.formula import pick
from scalarviz.scene.layout.camera import CAMERAS, EDGE, Camera
from scalarviz.scene.layout.division import Box, Division, Projection
from scalarviz.scene.layout.plates import Layout
from scalarviz.scene.legend import SIZE
from scalarviz.scene.neurons import boxes_below

SECONDS, QUICK = 0.7, 0.2  # duration of a move, and of one that makes room for a card
NEAR = 7.0  # visible height in cells when a single cube is framed
FARTHEST = 2.0  # visible height, in those of the whole network, at which zooming out ends
GAP = 8.0  # pixels from the network to the legend
PARTS = np.arange(1, 16) / 10.0  # of the height of the legend
DEGREES = 0.35  # degrees of rotation per pixel of dragging


@final
class CameraController:
    """A camera, the name of its preset in `CAMERAS`, and the move in progress.

    Until the user moves it or zooms, it keeps the whole network in the picture, also when the user
    has turned it.
    """

    def __init__(self, layout: Layout, name: str = "perspective", *, cuts: bool = False) -> None:
        self.layout = layout
        self.name = name
        self.cuts = cuts
        self.camera = self._preset(name)
        self._size = (1280.0, 800.0)
        self._inner: Box | None = None
        self._legend: Box | None = None
        self._framed = True
        self._from: Camera | None = None
        self._goal = self.camera
        self._started: float | None = None
        self._seconds = SECONDS
        self.camera = self.whole(self.camera)

    @property
    def inner(self) -> Box:
        """The box of the picture that the network is fitted to."""
        return self._inner or Division.of(*self._size).inner

    def frame(
        self, size: tuple[float, float], inner: Box | None = None, legend: Box | None = None
    ) -> None:
        """Set the size of the picture in logical pixels, and the box that the network fills.

        legend  a box in its lower left corner that the network keeps clear of
        """
        before = self._inner if size == self._size else None
        is_as_before = (size, inner, legend) == (self._size, self._inner, self._legend)
        self._size, self._inner, self._legend = size, inner, legend
        if self._framed and not self.cuts and before is not None and self.inner != before:
            self._refit(before)
        if self._framed and self._from is None and not is_as_before:
            self.camera = self.whole(self.camera)

    def _refit(self, before: Box) -> None:
        """Begin a quick move to fit the network to another box of the same picture."""
        box = self.inner
        camera = replace(self.camera, height=self.camera.height * box.height / before.height)
        right = (before.x + before.width / 2.0 - box.x - box.width / 2.0) / box.height
        down = (before.y + before.height / 2.0 - box.y - box.height / 2.0) / box.height
        self.camera = camera.moved(-right, down)  # what is seen stays where it is
        goal = self._goal if self._from is not None else self.camera
        self.go(self.whole(goal), framed=True, seconds=QUICK)

    def follow(self, layout: Layout) -> None:
        """Show another layout of the same network, from its own side until the user turns it."""
        now, own = self.camera if self._from is None else self._goal, self._preset(self.name)
        is_turned = (now.azimuth, now.elevation) != (own.azimuth, own.elevation)
        self.layout = layout
        if self._framed:
            goal = now if is_turned else self._preset(self.name)
            self.camera, self._from = self.whole(goal), None

    def _preset(self, name: str) -> Camera:
        chosen = pick(CAMERAS, name, "camera")
        return self.layout.views.get(name, chosen)

    def look(self, name: str) -> None:
        """Move to a preset of `CAMERAS`, with the whole network in the picture."""
        chosen = self._preset(name)
        self.name = name
        self.go(self.whole(replace(chosen, target=self.camera.target)), framed=True)

    def frame_all(self) -> None:
        self.go(self.whole(self.camera), framed=True)

    def frame_cube(self, index: int) -> None:
        """Move close to one cube."""
        found = self.layout.plate_of(index)
        if found is not None:
            plate, row, column = found
            target = tuple(plate.point(column + 0.5, row + 0.5).tolist())
            self.go(replace(self.camera, target=target, height=min(NEAR, self.camera.height)))

    def go(self, goal: Camera, *, framed: bool = False, seconds: float = SECONDS) -> None:
        """Start a move to a camera; with `cuts`, jump there."""
        self._framed, self._seconds = framed, seconds
        if self.cuts:
            self.camera, self._from = goal, None
        else:
            self._from, self._goal, self._started = self.camera, goal, None

    def tick(self, now: float) -> bool:
        """Advance a move to the time `now`; return whether there was one."""
        if self._from is None:
            return False
        self._started = now if self._started is None else self._started
        part = (now - self._started) / self._seconds
        if part >= 1.0:
            self.camera, self._from = self._goal, None
            self.camera = self.whole(self.camera) if self._framed else self.camera
        else:
            self.camera = self._from.blended(self._goal, max(part, 0.0))
        return True

    def orbit(self, right: float, down: float) -> None:
        """Rotate by dragging, in pixels; the next change of the free stage fits it again."""
        ends = self._framed and self._from is not None  # a move to where the network fits
        self.camera, self._from = self._goal if ends else self.camera, None
        if self.name == "flat" and (right or down):
            self.name = "orthographic"
        self.camera = self.camera.orbited(-DEGREES * right, DEGREES * down)

    def move(self, right: float, down: float) -> None:
        """Move sideways by dragging, in pixels."""
        self._stay()
        high = self.inner.height
        self.camera = self.camera.moved(-right / high, down / high)

    def zoom(self, factor: float, x: float, y: float) -> None:
        """Zoom in on a pixel."""
        self._stay()
        box = self.inner
        right = (x - box.x - box.width / 2.0) / box.height
        up = (box.y + box.height / 2.0 - y) / box.height
        most = FARTHEST * self.whole(self.camera).height
        factor = max(factor, min(1.0, self.camera.height / most))
        self.camera = self.camera.zoomed(factor, right, up)

    def _stay(self) -> None:
        self._framed = False
        self._from = None

    def whole(self, camera: Camera) -> Camera:
        """Return the camera with the whole network in the picture, in the same direction."""
        box, points = self.inner, self.layout.points()
        if not len(points) or not np.isfinite(points).all():
            return camera
        found = camera.framing(points, box.width / box.height, EDGE)
        legend = self._legend
        if legend is None or not self._covers(found, points, legend):
            return found
        # The network goes to the right, and above the legend as far as it must.
        for part in (0.0, *PARTS):
            above = box.height - part * legend.height
            found = self._upper_right(camera, box.width, above)
            wide = float(np.ptp(Projection(found, box, *self._size)(points).xy[:, 0]))
            found = self._upper_right(camera, min(box.width, wide / (1.0 - 2.0 * EDGE)), above)
            if not self._covers(found, points, legend):
                break
        return found

    def _upper_right(self, camera: Camera, width: float, height: float) -> Camera:
        """Return the camera with the whole network in the upper right part of its box."""
        box, points = self.inner, self.layout.points()
        found = camera.framing(points, width / height, EDGE)
        found = replace(found, height=found.height * box.height / height)
        right, up = (box.width - width) / box.height, (box.height - height) / box.height
        found = found.moved(-0.5 * right, -0.5 * up)
        # What is near moves further than what is far.
        beyond = float(Projection(found, box, *self._size)(points).xy[:, 0].max()) - box.right
        return found.moved(max(0.0, beyond / box.height), 0.0)

    def _covers(self, camera: Camera, points: FloatArray, legend: Box) -> bool:
        """Return whether the network, or a name below a sphere, would be in the legend's box."""
        see = Projection(camera, self.inner, *self._size)
        xy = see(points).xy
        x, y = xy[np.isfinite(xy).all(axis=1)].T
        if ((x < legend.right + GAP) & (y > legend.y - GAP)).any():
            return True
        lines, scale = self.layout.neurons, legend.width / SIZE[0]
        names = [box for line in lines for box in boxes_below(see, line, scale)]
        return any(box.x < legend.right + GAP and box.bottom > legend.y - GAP for box in names)


BOX_SECONDS = 0.2  # duration of a move


@final
class ViewBox:
    """Moves to another box of the same picture; in a picture of another size it jumps.

    cuts  whether it always jumps
    """

    def __init__(self, *, cuts: bool) -> None:
        self.cuts = cuts
        self._size = (0.0, 0.0)
        self._from: Box | None = None
        self._goal = Box(0.0, 0.0, 1.0, 1.0)
        self._started = 0.0

    def at(self, goal: Box, size: tuple[float, float], now: float) -> Box:
        """Return the box at the time `now`, on its way to `goal`."""
        if size != self._size or self.cuts:
            self._from = None
        elif goal != self._goal:
            self._from, self._started = self._between(now), now
        self._size, self._goal = size, goal
        return self._between(now)

    def tick(self, now: float) -> bool:
        """Return whether it moves."""
        if self._from is not None and now - self._started >= BOX_SECONDS:
            self._from = None
            return True
        return self._from is not None

    def _between(self, now: float) -> Box:
        if self._from is None:
            return self._goal
        part = min(1.0, max(0.0, (now - self._started) / BOX_SECONDS))
        part = part * part * (3.0 - 2.0 * part)
        pairs = zip(self._from.place, self._goal.place, strict=True)
        return Box(*(a + part * (b - a) for a, b in pairs))
