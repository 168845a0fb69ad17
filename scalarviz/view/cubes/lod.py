"""How near plates are: how many of their cells a pixel covers, where they are in the picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.view.scene.plates import Plate

# What is in the picture: the products of these with its x, y and w are positive.
INSIDE = np.array([(0, 0, 1), (1, 0, 1), (-1, 0, 1), (0, 1, 1), (0, -1, 1)], np.float64)
FLATTEST = 0.25  # a pixel that is longer than that is looked at as several, one beside the other
ROOM = 0.8  # for what lies between the places that are looked at


@dataclass(frozen=True)
class Near:
    """Cells a pixel covers, along its longer side, at least and at most; `fine` along the shorter.

    As the cubes' shader has them; a plate that is not seen has infinitely many.
    """

    least: float = np.inf
    most: float = 0.0
    fine: float = np.inf


ANYHOW = Near(0.0, np.inf, 0.0)  # so near, or so odd a view, that everything may be seen


def nearness(plates: Sequence[Plate], transform: Any, size: tuple[int, int]) -> list[Near]:
    """Of each plate, in a viewport of so many pixels.

    `transform.map` takes (n, 4) points of space to where they are seen.
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
    """The corners of the plane through the middle of its cubes, one after the other."""
    columns, rows = plate.columns, plate.rows
    return plate.point(np.array([0, columns, columns, 0]), np.array([0, 0, rows, rows]))


def near(plate: Plate, box: FloatArray, plane: FloatArray, half: FloatArray) -> Near:
    """Of one plate: its corners, and those of its middle, are seen at x, y and w."""
    inside = box @ INSIDE.T
    if (inside < 0.0).all(axis=0).any():
        return Near()
    right, down = (plane[1] - plane[0]) / plate.columns, (plane[3] - plane[0]) / plate.rows
    if (inside < 0.0).any():
        for side in INSIDE:
            plane = clipped(plane, plane @ side - 1e-6 * side[2])
    if not len(plane):
        return ANYHOW  # its middle is beside the picture, and its cubes are in it
    x, w = plane[:, :2], plane[:, 2:]
    # How a place of the plate moves by pixels, and so how a pixel by cells.
    moves = np.stack([(each[:2] * w - x * each[2]) / w**2 * half for each in (right, down)], -1)
    area = np.abs(moves[:, 0, 0] * moves[:, 1, 1] - moves[:, 0, 1] * moves[:, 1, 0])
    if not (area > 1e-12).all():
        return ANYHOW  # seen from its edge
    lengths = np.hypot(moves[:, :, 0], moves[:, :, 1]) / area[:, np.newaxis]
    longer, shorter = lengths.max(axis=1), lengths.min(axis=1)
    fine = np.maximum(shorter, FLATTEST * longer)
    return Near(ROOM * float(longer.min()), float(longer.max()) / ROOM, ROOM * float(fine.min()))


def clipped(polygon: FloatArray, inside: FloatArray) -> FloatArray:
    """That part of a convex polygon where a number, given at its corners, is not negative."""
    corners = []
    for i, (here, there) in enumerate(zip(polygon, np.roll(polygon, -1, axis=0), strict=True)):
        a, b = inside[i], inside[(i + 1) % len(polygon)]
        if a >= 0.0:
            corners.append(here)
        if (a < 0.0) != (b < 0.0):
            corners.append(here + a / (a - b) * (there - here))
    return np.array(corners).reshape(-1, polygon.shape[1])
