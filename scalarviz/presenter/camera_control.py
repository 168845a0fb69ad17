"""CameraController: from where the scene is seen, and smooth moves from one place to another."""

from __future__ import annotations

from dataclasses import replace
from typing import final

import numpy as np

from scalarviz.formulas.table import pick
from scalarviz.view.scene.camera import CAMERAS, Camera
from scalarviz.view.scene.frame import Division
from scalarviz.view.scene.plates import Layout

SECONDS = 0.7  # that a move takes
NEAR = 7.0  # cells from top to bottom when one cube is looked at
DEGREES = 0.35  # that a pixel of dragging turns it


@final
class CameraController:
    """A camera, which of `CAMERAS` it came from, and where it is going.

    As long as nobody has moved it, it keeps the whole network in the picture.
    """

    def __init__(self, layout: Layout, name: str = "perspective", *, cuts: bool = False) -> None:
        self.layout = layout
        self.name = name
        self.cuts = cuts
        self.camera = pick(CAMERAS, name, "camera")
        self._size = (1280.0, 800.0)
        self._framed = True
        self._from: Camera | None = None
        self._goal = self.camera
        self._started: float | None = None
        self.frame(self._size)

    def frame(self, size: tuple[float, float]) -> None:
        """The picture is so large, in logical pixels."""
        self._size = size
        if self._framed and self._from is None:
            self.camera = self.whole(self.camera)

    def set_layout(self, layout: Layout) -> None:
        self.layout = layout
        self.go(self.whole(self.camera), framed=True)

    def look(self, name: str) -> None:
        """Go over to one of `CAMERAS`, with the whole network in the picture."""
        chosen = pick(CAMERAS, name, "camera")
        self.name = name
        self.go(self.whole(replace(chosen, target=self.camera.target)), framed=True)

    def frame_all(self) -> None:
        self.go(self.whole(self.camera), framed=True)

    def frame_cube(self, index: int) -> None:
        """Go near one cube."""
        found = self.layout.plate_of(index)
        if found is not None:
            plate, row, column = found
            target = tuple(plate.point(column + 0.5, row + 0.5).tolist())
            self.go(replace(self.camera, target=target, height=min(NEAR, self.camera.height)))

    def go(self, goal: Camera, *, framed: bool = False) -> None:
        """Move there."""
        self._framed = framed
        if self.cuts:
            self.camera, self._from = goal, None
        else:
            self._from, self._goal, self._started = self.camera, goal, None

    def tick(self, now: float) -> bool:
        """Go on with a move; whether there is one."""
        if self._from is None:
            return False
        self._started = now if self._started is None else self._started
        part = (now - self._started) / SECONDS
        if part >= 1.0:
            self.camera, self._from = self._goal, None
            self.frame(self._size)
        else:
            self.camera = self._from.blended(self._goal, max(part, 0.0))
        return True

    def orbit(self, right: float, down: float) -> None:
        """Turn as the mouse drags, by pixels."""
        self._stay()
        if self.name == "flat" and (right or down):
            self.name = "orthographic"
        self.camera = self.camera.orbited(-DEGREES * right, DEGREES * down)

    def move(self, right: float, down: float) -> None:
        """Move as the mouse drags, by pixels."""
        self._stay()
        high = Division.of(*self._size).inner.height
        self.camera = self.camera.moved(-right / high, down / high)

    def zoom(self, factor: float, x: float, y: float) -> None:
        """Go nearer to what is at a pixel."""
        self._stay()
        box = Division.of(*self._size).inner
        right = (x - box.x - box.width / 2.0) / box.height
        up = (box.y + box.height / 2.0 - y) / box.height
        self.camera = self.camera.zoomed(factor, right, up)

    def _stay(self) -> None:
        self._framed = False
        self._from = None

    def whole(self, camera: Camera) -> Camera:
        """The same direction, with the whole network in the picture."""
        box = Division.of(*self._size).inner
        points = self.layout.points()
        if not len(points) or not np.isfinite(points).all():
            return camera
        return camera.framing(points, box.width / box.height)
