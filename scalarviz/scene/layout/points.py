"""Points in space as numpy arrays; pages have the same functions in web/projection.js."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.scene.layout.camera import Reach
from scalarviz.scene.layout.projection import Projection

Vector = Sequence[float] | FloatArray


def vector(x: float, y: float, z: float) -> FloatArray:
    """Return a vector in space."""
    return np.array([x, y, z], np.float64)


def points3(parts: Sequence[FloatArray]) -> FloatArray:
    """Return points, or several arrays of points, as one array, (n, 3)."""
    return np.reshape(np.array(parts, np.float64), (-1, 3))


def dot3(one: Vector, other: Vector) -> float:
    """Return the dot product of two vectors."""
    return float(one[0] * other[0] + one[1] * other[1] + one[2] * other[2])


def minus3(one: Vector, other: Vector) -> tuple[float, ...]:
    return one[0] - other[0], one[1] - other[1], one[2] - other[2]


def row3(points: FloatArray, place: int) -> list[float]:
    """Return the point with index `place` from an array (n, 3), as a list."""
    return list(points[place].tolist())


def reach_of(points: FloatArray) -> Reach:
    """Return a function that gives the largest dot product of points, (n, 3), with a vector."""
    return lambda way: float((points @ way).max(initial=-np.inf))


def sphere_on(points: FloatArray, radius: float, start: Vector, ray: Vector) -> tuple[int, float]:
    """Return the index of the first sphere that a ray hits, and its distance in ray lengths."""
    apart = points - start
    along, length = apart @ ray, dot3(ray, ray)
    within = along**2 - length * ((apart**2).sum(axis=1) - radius**2)
    with np.errstate(invalid="ignore"):  # NaN: the ray misses it
        at = (along - np.sqrt(within)) / length
    at = np.where(at > 0.0, at, np.inf)
    place = int(np.argmin(at)) if len(at) else 0
    return place, float(at[place]) if len(at) else np.inf


def square_on(
    see: Projection,
    points: FloatArray,
    radius: float,
    xy: tuple[float, float],
    start: Vector,
    ray: Vector,
) -> tuple[int, float]:
    """Return the index of the square at a pixel, and its distance along the ray in ray lengths."""
    seen = see(points)
    inside = np.abs(seen.xy - xy).max(axis=1) <= radius * seen.unit
    place = int(np.argmax(inside))
    at = dot3(minus3(points[place], start), ray) / dot3(ray, ray)
    return place, at if inside[place] else np.inf
