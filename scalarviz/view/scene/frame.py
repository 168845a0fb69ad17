"""Division of a picture into scene and panels, and the projection of points into it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.view.scene.camera import Camera

MARGIN = 16.0
HEAD, FOOT, STRIP = 58.0, 30.0, 104.0
SIDE_BY_SIDE = 720.0  # width in pixels from which on the panels stand beside the scene
LEAST = 340.0  # height in pixels below which there are no panels
LOW = 420.0  # height in pixels below which head and strip are smaller


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle of the picture, in logical pixels from its upper left corner."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    def inside(self, margin: float) -> Box:
        """Return the box reduced by a margin on each side."""
        wide, high = max(0.0, self.width - 2.0 * margin), max(0.0, self.height - 2.0 * margin)
        return Box(self.x + margin, self.y + margin, wide, high)

    def has(self, x: float, y: float) -> bool:
        return self.x <= x < self.right and self.y <= y < self.bottom

    def meets(self, other: Box) -> bool:
        """Return whether two boxes overlap."""
        beside = self.right <= other.x or other.right <= self.x
        return not (beside or self.bottom <= other.y or other.bottom <= self.y)


@dataclass(frozen=True, slots=True)
class Division:
    """The boxes of a picture: head, scene, caption strip, side panels and status line (foot).

    The panels stand beside the scene in a wide picture, else below it.
    """

    whole: Box
    head: Box
    scene: Box
    strip: Box
    side: Box
    foot: Box

    @property
    def inner(self) -> Box:
        """The box that the network fills: the scene without the border for labels."""
        scene = self.scene
        side, above, below = min(20.0, scene.width / 8), scene.height / 20, scene.height / 12
        return Box(
            scene.x + side,
            scene.y + above,
            max(1.0, scene.width - 2.0 * side),
            max(1.0, scene.height - above - below),
        )

    @staticmethod
    def of(width: float, height: float, *, panels: bool = True) -> Division:
        """Divide a picture of this size; without panels the scene gets their place."""
        head, strip = (HEAD, STRIP) if height >= LOW else (34.0, 64.0)
        foot = FOOT
        beside = panels and width >= SIDE_BY_SIDE
        column = min(340.0, max(236.0, 0.255 * width)) if beside else 0.0
        below = 0.0 if beside or not panels or height < LEAST else 0.26 * height
        left = width - column
        high = max(1.0, height - head - foot - strip - below)
        scene = Box(0.0, head, left, high)
        side = (
            Box(left, MARGIN, column - MARGIN, height - foot - 2.0 * MARGIN)
            if beside
            else Box(MARGIN, head + high + strip, width - 2.0 * MARGIN, max(0.0, below - 6.0))
        )
        return Division(
            Box(0.0, 0.0, width, height),
            Box(0.0, 0.0, left, head),
            scene,
            Box(0.0, head + high, left, strip),
            side,
            Box(0.0, height - foot, width, foot),
        )


@dataclass(frozen=True, slots=True)
class ProjectedPoints:
    """Projected points: (n, 2) logical pixels, depths, and pixels per cell at each point."""

    xy: FloatArray
    depth: FloatArray
    unit: FloatArray


@dataclass(frozen=True, slots=True)
class Projection:
    """A camera whose view fills a box of a picture; the surroundings of the box are seen, too."""

    camera: Camera
    box: Box
    width: float
    height: float
    reach: float = 1e4

    @property
    def matrix(self) -> FloatArray:
        """The matrix from space to clip coordinates of the whole picture."""
        box = self.box
        fit = np.eye(4)
        fit[0, 0], fit[1, 1] = box.width / self.width, box.height / self.height
        fit[0, 3] = (2.0 * box.x + box.width) / self.width - 1.0
        fit[1, 3] = 1.0 - (2.0 * box.y + box.height) / self.height
        matrix: FloatArray = fit @ self.camera.matrix(box.width / box.height, self.reach)
        return matrix

    def __call__(self, points: FloatArray) -> ProjectedPoints:
        """Project (n, 3) points; those behind the eye become NaN."""
        points = np.atleast_2d(np.asarray(points, np.float64))
        clip = np.c_[points, np.ones(len(points))] @ self.matrix.T
        w = clip[:, 3]
        w = np.where(w > 1e-3, w, np.nan)
        xy = (clip[:, :2] / w[:, np.newaxis] * [0.5, -0.5] + 0.5) * [self.width, self.height]
        return ProjectedPoints(xy, clip[:, 2] / w, self.box.height / self.camera.height / w)

    def across(self, x: float, y: float) -> tuple[float, float]:
        """Return a pixel position as -1 .. 1 to the right and up."""
        return 2.0 * x / self.width - 1.0, 1.0 - 2.0 * y / self.height
