"""Level of detail: how many cells of a plate a pixel covers, and which plates are visible.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

# Clip planes: a point is inside if its product with each of them is positive.
INSIDE: list[tuple[float, ...]] = [
    (0.0, 0.0, 1.0),
    (1.0, 0.0, 1.0),
    (-1.0, 0.0, 1.0),
    (0.0, 1.0, 1.0),
    (0.0, -1.0, 1.0),
]
FLATTEST = 0.25  # a longer pixel is sampled at several positions along its length
SAFETY = 0.8  # safety margin for cells between the sampled corners
EDGE_ON = 1e-12  # pixels of a cell seen edge-on


@dataclass(frozen=True)
class Near:
    """Cells per pixel on a plate: the range along the pixel's longer side, and the shorter side.

    The shader of the cubes computes the same numbers. The defaults mean a plate outside the view.
    """

    least: float = math.inf
    most: float = 0.0
    fine: float = math.inf


ANYHOW = Near(0.0, math.inf, 0.0)  # assume that every level of detail is visible


def near_of(
    columns: int,
    rows: int,
    box: list[tuple[float, ...]],
    plane: list[tuple[float, ...]],
    half: tuple[float, float],
    oblique: float,
) -> Near:
    """Return the level of detail of a plate, given the corners of the box around its cubes.

    Points are x, y and w in clip coordinates.

    Args:
        plane: corners of the plate's central plane, in order
        half: half the width and height of the viewport, in pixels
        oblique: maximum ratio of the longer to the shorter side of a pixel on the plate
    """
    outside = [[x * a + y * b + w * c < 0.0 for x, y, w in box] for a, b, c in INSIDE]
    if any(all(each) for each in outside):
        return Near()
    first, second, _, fourth = plane
    right: list[float] = [(b - a) / columns for a, b in zip(first, second, strict=True)]
    down: list[float] = [(b - a) / rows for a, b in zip(first, fourth, strict=True)]
    seen: list[tuple[float, ...]] = plane
    for side in INSIDE if any(any(each) for each in outside) else []:
        seen = clipped(seen, side)
    least, most, fine = math.inf, 0.0, math.inf
    for x, y, w in seen:
        # Pixels per cell, and by their inverse cells per pixel.
        across, below = half[0] / (w * w), half[1] / (w * w)
        ax, bx = across * (right[0] * w - x * right[2]), across * (down[0] * w - x * down[2])
        ay, by = below * (right[1] * w - y * right[2]), below * (down[1] * w - y * down[2])
        area = abs(ax * by - bx * ay)
        if not area > EDGE_ON:
            return ANYHOW
        one, other = math.hypot(ax, bx) / area, math.hypot(ay, by) / area
        longer, shorter = max(one, other), min(one, other)
        least, most = min(least, longer, oblique * shorter), max(most, longer)
        fine = min(fine, max(shorter, FLATTEST * longer))
    if not seen:
        return ANYHOW  # the central plane is out of view, but cubes are in view
    return Near(SAFETY * least, most / SAFETY, SAFETY * fine)


def clipped(polygon: list[tuple[float, ...]], side: tuple[float, ...]) -> list[tuple[float, ...]]:
    """Return the part of a convex polygon on the inner side of a plane."""
    corners: list[tuple[float, ...]] = []
    inside = [
        each[0] * side[0] + each[1] * side[1] + (each[2] - 1e-6) * side[2] for each in polygon
    ]
    for i, here in enumerate(polygon):
        follows = (i + 1) % len(inside)
        there, a, b = polygon[follows], inside[i], inside[follows]
        if a >= 0.0:
            corners.append(here)
        if (a < 0.0) != (b < 0.0):
            ends = zip(here, there, strict=True)
            corners.append(tuple([x + a / (a - b) * (y - x) for x, y in ends]))
    return corners
