"""The camera of a stage, with smooth moves between views and picture areas.

It uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import final

from scalarviz.scene.layout.camera import CAMERAS, EDGE, LAG, STEEPEST, Box, Camera
from scalarviz.scene.layout.plates import Layout
from scalarviz.scene.layout.points import reach_of

SECONDS, QUICK = 0.7, 0.2  # duration of a move, and of one that makes room for a card
FOLDS, UNFOLDS = 0.25, 0.35  # seconds of the two parts of a layout change
FARTHEST = 2.0  # maximum visible height when zooming out, in heights of the network
DEGREES = 0.35  # degrees of rotation per pixel of dragging


@final
class CameraController:
    """A camera, its preset in `CAMERAS`, and the current move.

    Until the user moves or zooms it, the whole network stays in the picture, even after rotation.

    Attributes:
        inner: area of the picture in which the network is fitted
        framed: whether the whole network is kept in that area
    """

    def __init__(self, layout: Layout, name: str = "perspective", cuts: bool = False) -> None:
        self.layout = layout
        self.name = name
        self.cuts: bool = cuts
        self.framed: bool = True
        self.inner: Box = Box(0.0, 0.0, 1280.0, 800.0)
        self._size: tuple[float, float] | None = None
        self._from: Camera | None = None
        self._goal = self._preset(name)
        self._started: float | None = None
        self._seconds = SECONDS
        self.camera: Camera = self.whole(self._goal)

    @property
    def is_turned(self) -> bool:
        """Whether the direction of `goal` differs from the direction of the preset."""
        goal, preset = self.goal, self._preset(self.name)
        return (goal.azimuth, goal.elevation) != (preset.azimuth, preset.elevation)

    @property
    def goal(self) -> Camera:
        """The camera, or the target of its current move."""
        return self.camera if self._from is None else self._goal

    def frame(self, size: tuple[float, float], inner: Box) -> None:
        """Set the size of the picture in logical pixels, and the area that the network fills."""
        before, is_resized = self.inner, size != self._size
        is_as_before = (size, inner) == (self._size, before)
        self._size, self.inner = size, inner
        if self.framed and not self.cuts and not is_resized and inner != before:
            self._refit(before)
        if self.framed and self._from is None and not is_as_before:
            self.camera = self.whole(self.camera)

    def _refit(self, before: Box) -> None:
        """Start a quick move to fit the network to another area of the same picture."""
        box = self.inner
        camera = replace(self.camera, height=self.camera.height * box.height / before.height)
        right = (before.x + before.width / 2.0 - box.x - box.width / 2.0) / box.height
        down = (before.y + before.height / 2.0 - box.y - box.height / 2.0) / box.height
        self.camera = camera.moved(-right, down)  # the view stays in place
        self.go(self.whole(self.goal), framed=True, seconds=QUICK)

    def follow(self, layout: Layout) -> None:
        """Show another layout of the same network, in its default direction unless rotated."""
        goal, is_turned = self.goal, self.is_turned
        self.layout = layout
        if self.framed:
            goal = goal if is_turned else self._preset(self.name)
            self.camera, self._from = self.whole(goal), None

    def fold(self) -> bool:
        """Start to rotate the layout to an edge-on view; return whether that is finished."""
        goal = self._edge_on()
        if self.cuts or (self._from is None and self.camera.azimuth == goal.azimuth):
            return True
        if self.goal.azimuth != goal.azimuth:
            self.go(goal, framed=True, seconds=FOLDS)
        return False

    def unfold(self) -> None:
        """Rotate the current layout from an edge-on view to its default direction."""
        self.camera = self._edge_on()
        self.go(self.whole(self._preset(self.name)), framed=True, seconds=UNFOLDS)

    def _edge_on(self) -> Camera:
        """Return the camera for an edge-on view of walls, or of trays and squares."""
        preset = self._preset(self.name)
        azimuth = -STEEPEST if abs(preset.azimuth) <= LAG else 0.0
        return self.whole(replace(preset, azimuth=azimuth, elevation=0.0))

    def _preset(self, name: str) -> Camera:
        return self.layout.views.get(name, CAMERAS[name])

    def look(self, name: str) -> None:
        """Move to a preset of `CAMERAS`, with the whole network in the picture."""
        self.name = name
        self.go(self.whole(replace(self._preset(name), target=self.camera.target)), framed=True)

    def go(self, goal: Camera, framed: bool = False, seconds: float = SECONDS) -> None:
        """Start a smooth move to a camera, or jump there if `cuts` is set."""
        self.framed, self._seconds = framed, seconds
        if self.cuts:
            self.camera, self._from = goal, None
        else:
            self._from, self._goal, self._started = self.camera, goal, None

    def tick(self, now: float) -> bool:
        """Advance the current move to the time `now`; return whether the camera was moving."""
        if self._from is None:
            return False
        self._started = now if self._started is None else self._started
        part = (now - self._started) / self._seconds
        if part >= 1.0:
            self.camera, self._from = self._goal, None
            self.camera = self.whole(self.camera) if self.framed else self.camera
        else:
            self.camera = self._from.blended(self._goal, max(part, 0.0))
        return True

    def orbit(self, right: float, down: float) -> None:
        """Rotate by a drag in pixels; the view is fitted again when its area changes."""
        ends = self.framed and self._from is not None  # a move that fits the network
        self.camera, self._from = self._goal if ends else self.camera, None
        if self.name == "flat" and (right or down):
            self.name = "orthographic"
        self.camera = self.camera.orbited(-DEGREES * right, DEGREES * down)

    def move(self, right: float, down: float) -> None:
        """Move sideways by a drag in pixels."""
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
        self.framed = False
        self._from = None

    def whole(self, camera: Camera) -> Camera:
        """Return a camera with the same direction that has the whole network in view."""
        reach = reach_of(self.layout.extent)
        if not math.isfinite(reach(camera.toward)):
            return camera
        return camera.framing(reach, self.inner.width / self.inner.height, EDGE)
