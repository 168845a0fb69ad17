"""Level of detail: how many cells of a plate one pixel covers, and which plates are in view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.pictures.view.cubes.shaders import OBLIQUE
from scalarviz.pictures.view.scene.plates import Plate

# Clip planes: a point (x, y, w) is inside if its product with each row is positive.
INSIDE = np.array([(0, 0, 1), (1, 0, 1), (-1, 0, 1), (0, 1, 1), (0, -1, 1)], np.float64)
FLATTEST = 0.25  # a longer pixel is sampled at several places along its length
ROOM = 0.8  # safety margin for cells between the sampled corners


@dataclass(frozen=True)
class Near:
    """How many cells a pixel covers: the range along its longer side, and its shorter side.

    The shader of the cubes computes the same. The default is a plate outside the view.
    """

    least: float = np.inf
    most: float = 0.0
    fine: float = np.inf


ANYHOW = Near(0.0, np.inf, 0.0)  # assume that every level of detail is visible


def nearness(plates: Sequence[Plate], transform: Any, size: tuple[float, float]) -> list[Near]:
    """Return the level of detail of each plate in a viewport of `size` pixels.

    `transform.map` takes (n, 4) points in space to clip coordinates.
    """
    if not plates:
        return []
    half = 0.5 * np.array(size, np.float64)
    points = np.concatenate([np.concatenate([each.corners(), face(each)]) for each in plates])
    seen = np.asarray(transform.map(np.c_[points, np.ones(len(points))]), np.float64)
    found = seen[:, [0, 1, 3]].reshape(len(plates), -1, 3)
    return [
        near(plate, each[:8], each[8:], half) for plate, each in zip(plates, found, strict=True)
    ]


def face(plate: Plate) -> FloatArray:
    """Return the corners, in order, of the middle plane of a plate's cubes."""
    columns, rows = plate.columns, plate.rows
    return plate.point(np.array([0, columns, columns, 0]), np.array([0, 0, rows, rows]))


def near(plate: Plate, box: FloatArray, plane: FloatArray, half: FloatArray) -> Near:
    """Return the level of detail of one plate from the clip coordinates of its corners.

    box    (8, 3), x, y and w of the corners of the box around its cubes
    plane  (4, 3), the same of its middle plane
    half   half the size of the viewport, in pixels
    """
    inside = box @ INSIDE.T
    if (inside < 0.0).all(axis=0).any():
        return Near()
    right, down = (plane[1] - plane[0]) / plate.columns, (plane[3] - plane[0]) / plate.rows
    if (inside < 0.0).any():
        for side in INSIDE:
            plane = clipped(plane, plane @ side - 1e-6 * side[2])
    if not len(plane):
        return ANYHOW  # the middle plane is out of view, but cubes are in view
    x, w = plane[:, :2], plane[:, 2:]
    # Pixels per cell, and by their inverse cells per pixel.
    moves = np.stack([(each[:2] * w - x * each[2]) / w**2 * half for each in (right, down)], -1)
    area = np.abs(moves[:, 0, 0] * moves[:, 1, 1] - moves[:, 0, 1] * moves[:, 1, 0])
    if not (area > 1e-12).all():
        return ANYHOW  # seen edge-on
    lengths = np.hypot(moves[:, :, 0], moves[:, :, 1]) / area[:, np.newaxis]
    longer, shorter = lengths.max(axis=1), lengths.min(axis=1)
    fine = np.maximum(shorter, FLATTEST * longer)
    least = np.minimum(longer, OBLIQUE * shorter)
    return Near(ROOM * float(least.min()), float(longer.max()) / ROOM, ROOM * float(fine.min()))


def clipped(polygon: FloatArray, inside: FloatArray) -> FloatArray:
    """Return the part of a convex polygon where `inside`, given at its corners, is not negative."""
    corners = []
    for i, (here, there) in enumerate(zip(polygon, np.roll(polygon, -1, axis=0), strict=True)):
        a, b = inside[i], inside[(i + 1) % len(polygon)]
        if a >= 0.0:
            corners.append(here)
        if (a < 0.0) != (b < 0.0):
            corners.append(here + a / (a - b) * (there - here))
    return np.array(corners).reshape(-1, polygon.shape[1])
