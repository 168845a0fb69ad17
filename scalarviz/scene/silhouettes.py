"""Silhouettes: the outlines of spheres, plates and images, and how much of a box they cover.

This file uses arrays; pages use web/silhouettes.js instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.scene.annotations import Ball
from scalarviz.scene.layout.division import Box, Projection
from scalarviz.scene.layout.plates import HALF, Layout
from scalarviz.scene.layout.points import Vector

if TYPE_CHECKING:
    from scalarviz.scene.frame_data import FrameData


def balls_of(
    see: Projection, points: FloatArray | Sequence[Vector], radius: float | Sequence[float]
) -> list[Ball]:
    """Project points in space; return them as a list of `Ball`.

    Args:
        points: a list, or an array that never changes
        radius: radius in cells, one for all points or one per point
    """
    seen = see.of(points) if isinstance(points, np.ndarray) else see(np.array(points))
    rows = np.column_stack([seen.xy, np.multiply(radius, seen.unit), seen.depth, seen.unit])
    return [Ball(*row) for row in rows.tolist()]


def cubes_seen(
    see: Projection,
    frame_data: FrameData,
    rows: Iterable[int],
    half: float | None,
    margin: float = 0.0,
) -> list[list[Ball]]:
    """Return the eight projected corners of each cube that is on a plate.

    Args:
        half: half the side of the cubes, relative to the plate's cube size; None uses their own
            sides
        margin: added to half the side, in the same unit
    """
    layout, cubes, corners = frame_data.layout, frame_data.cubes, [np.zeros((0, 3))]
    for row in rows:
        found = layout.plate_of(row)
        if found is None:
            continue
        plate, i, j = found
        if half is None:
            top = float(cubes.size_scales[layout.plate_number(row)])
            own = float(plate.halves(cubes.sizes[row], top))
        else:
            own = half * plate.unit
        corners.append(plate.corners_of(i, j, own, margin * plate.unit))
    balls = balls_of(see, [*np.concatenate(corners)], 0.0) if len(corners) > 1 else []
    return [balls[first : first + 8] for first in range(0, len(balls), 8)]


def spheres_seen(see: Projection, layout: Layout) -> tuple[FloatArray, FloatArray]:
    """Return x, y and radius of all projected spheres and squares, (n, 3), and their depths."""
    points, radius = layout.once("spheres", spheres_of)
    seen = see.of(points)
    return np.concatenate([seen.xy, (radius * seen.unit)[:, np.newaxis]], axis=1), seen.depth


def spheres_of(layout: Layout) -> tuple[FloatArray, FloatArray]:
    """Return the centers of all spheres and squares, (n, 3), and their radii."""
    lines = [line for line in layout.neurons if not line.shape]
    points = np.concatenate([np.zeros((0, 3)), *(line.points for line in lines)])
    return points, np.repeat([line.radius for line in lines], [len(line.points) for line in lines])


def spheres_in_sight(see: Projection, layout: Layout) -> FloatArray:
    """Return x, y and radius of the spheres and squares in front of the eye, (n, 3)."""
    spheres, _ = spheres_seen(see, layout)
    return spheres[np.isfinite(spheres).all(axis=1)]


def polygons_seen(see: Projection, layout: Layout) -> FloatArray:
    """Return the projected sides of plates and images as convex polygons, (n, 4, 2)."""
    quads = see(layout.once("outlines", outlines_of)).xy.reshape(-1, 4, 2)
    quads = quads[np.isfinite(quads).all(axis=(1, 2))]
    (right, down), (left, low) = ((quads[:, place] - quads[:, 0]).T for place in (1, 3))
    mirrored = right * low < down * left
    quads[mirrored] = quads[mirrored, ::-1]
    return quads


def outlines_of(layout: Layout) -> FloatArray:
    """Return the corners of the sides of all plates and of all images, (n, 3)."""
    sides = [plate.corners(HALF)[[*SIDES]] for plate in layout.plates]
    for line in layout.neurons:
        if line.shape:
            first, right, down = np.moveaxis(line.corners(), 1, 0)
            sides.append(np.stack([first, right, right + down - first, down], axis=1))
    return np.concatenate([np.zeros((0, 4, 3)), *sides]).reshape(-1, 3)


# The corners of the box around a plate that form its sides, in order.
SIDES = (0, 2, 6, 4), (1, 3, 7, 5), (0, 1, 5, 4), (2, 3, 7, 6), (0, 1, 3, 2), (4, 5, 7, 6)


def is_on(box: Box, spheres: FloatArray) -> bool:
    """Return whether a box overlaps a sphere."""
    x, y, radius = spheres.T
    aside = np.maximum(np.maximum(box.x - x, x - box.right), 0.0)
    apart = np.maximum(np.maximum(box.y - y, y - box.bottom), 0.0)
    return bool((aside**2 + apart**2 < radius**2).any())


def share_under(box: Box, spheres: FloatArray, polygons: FloatArray, boxes: Sequence[Box]) -> float:
    """Return the fraction of a box that covers a sphere, a polygon or another box."""
    points = points_in(box, 25, 7)
    x, y, radius = spheres.T
    apart = np.hypot(points[:, :1] - x, points[:, 1:] - y)
    found = (apart < radius).any(axis=1) | inside(points, polygons)
    for each in boxes:
        low, high = (each.x, each.y), (each.right, each.bottom)
        found |= ((points >= low) & (points < high)).all(axis=1)
    return float(found.mean())


def points_in(box: Box, across: int, down: int) -> FloatArray:
    """Return the points of a grid over a box, (across * down, 2)."""
    grid = np.meshgrid(np.linspace(box.x, box.right, across), np.linspace(box.y, box.bottom, down))
    return np.stack(grid, axis=-1).reshape(-1, 2)


def inside(points: FloatArray, polygons: FloatArray) -> npt.NDArray[np.bool_]:
    """Return a mask of points, (n, 2), that are inside any convex polygon, (m, corners, 2)."""
    low, high = points.min(axis=0), points.max(axis=0)
    near = (polygons.min(axis=1) <= high).all(axis=1) & (polygons.max(axis=1) >= low).all(axis=1)
    starts = polygons[near, :, np.newaxis]
    edge, way = np.roll(starts, -1, axis=1) - starts, points - starts
    left = edge[..., 0] * way[..., 1] - edge[..., 1] * way[..., 0] >= 0.0
    return np.asarray(left.all(axis=1).any(axis=0))
