"""Projection of points in space into a picture.

Pages run this module as JavaScript, see docs/TRANSLATOR.md; methods over arrays are in
web/projection.js.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.scene.layout.camera import Box, Camera

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class ProjectedPoints:
    """Projected points: logical pixels (n, 2), depths, and pixels per cell at each point."""

    xy: FloatArray
    depth: FloatArray
    unit: FloatArray


@dataclass(frozen=True, eq=False)
class Projection:
    """A camera whose view fills a box of a picture; the area around the box is also visible.

    It is reused while layout, camera and size do not change, and caches values that depend only on
    them.
    """

    camera: Camera
    box: Box
    width: float
    height: float
    reach: float = 1e4

    @cached_property
    def _known(self) -> dict[Hashable, tuple[object, Any]]:
        return {}

    @cached_property
    def rows(self) -> list[list[float]]:
        """The rows of `matrix`, as lists."""
        box = self.box
        right, up, depth, w = self.camera.matrix(box.width / box.height, self.reach)
        wide, high = box.width / self.width, box.height / self.height
        x = (2.0 * box.x + box.width) / self.width - 1.0
        y = 1.0 - (2.0 * box.y + box.height) / self.height
        return [
            [wide * a + x * b for a, b in zip(right, w, strict=True)],
            [high * a + y * b for a, b in zip(up, w, strict=True)],
            depth,
            w,
        ]

    @cached_property
    def matrix(self) -> FloatArray:
        """The matrix from space to clip coordinates of the whole picture."""
        return np.array(self.rows)

    @cached_property
    def toward(self) -> FloatArray:
        """Unit vector from the target to the eye."""
        return np.array(self.camera.toward)

    def __call__(self, points: FloatArray) -> ProjectedPoints:
        """Project points, (n, 3); those behind the eye become NaN."""
        clip = np.asarray(points).reshape(-1, 3) @ self.matrix.T[:3] + self.matrix.T[3]
        w = clip[:, 3]
        w[w <= 1e-3] = np.nan
        xy = (clip[:, :2] / w[:, np.newaxis] * [0.5, -0.5] + 0.5) * [self.width, self.height]
        return ProjectedPoints(xy, clip[:, 2] / w, self.box.height / self.camera.height / w)

    def of(self, points: FloatArray) -> ProjectedPoints:
        """Return `self(points)`, cached by the identity of `points`, which must not change."""
        return self.once(id(points), points, self)

    def once(self, key: Hashable, given: object, make: Callable[[Any], Found]) -> Found:
        """Return `make(given)`, cached by a key; `given` must not change."""
        if key not in self._known:
            self._known[key] = given, make(given)
        found: Found = self._known[key][1]
        return found

    def ray(self, x: float, y: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return origin and direction of a pixel's ray, from the eye or a plane in front."""
        box, camera = self.box, self.camera
        cell = camera.height / box.height
        right, up = cell * (x - box.x - 0.5 * box.width), cell * (box.y + 0.5 * box.height - y)
        left, down = camera.lean
        deep = camera.distance * camera.in_plane(*camera.toward)[2]
        part, far = (1.0, deep) if camera.slope else (0.0, self.reach)
        start = camera.way((1.0 - part) * right + left * far, (1.0 - part) * up + down * far, far)
        start = tuple([a + b for a, b in zip(camera.target, start, strict=True)])
        return start, camera.way(part * right - left * far, part * up - down * far, -far)
