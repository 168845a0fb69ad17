"""Positions in a training history: steps, moments, tiles of weights, and points of a plane.

Sessions and pages share this file; docs/TRANSLATOR.md lists the supported Python.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

MARGIN = 0.25  # fraction of the width of a path, added on each side
FLATTEST = 0.2  # minimum ratio of the narrower to the wider width of a path
PASSES = 8, 4, 2, 1  # distances between points in successive passes over a grid
NEAR_PATH = 0.03  # fraction of the plane: a point this close to the path selects its step

Place = Sequence[float]  # x and y of a point of a plane; a span is left, right, bottom and top


def even_steps(first: float, last: float, most: int) -> list[int]:
    """Return at most `most` evenly spaced steps, including the first and the last."""
    found: list[int] = []
    before: int = -1
    for i in range(most):
        step: int = math.floor(first + i * (last - first) / (most - 1))
        if step > before:
            found.append(step)
        before = step
    return found


def last_known(steps: Sequence[float], moments: Sequence[Any]) -> list[Any]:
    """Return the last moment up to each of some increasing steps; duplicates are left out.

    Args:
        moments: moments in order of their steps
    """
    found: list[Any] = []
    place: int = 0
    newest: float = -1.0
    for step in steps:
        kept = None
        while place < len(moments) and moments[place].step <= step:
            if moments[place].step > newest:
                kept = moments[place]
                newest = kept.step
            place += 1
        if kept is not None:
            found.append(kept)
    return found


def tiles_of(
    layers: Sequence[tuple[str, int]], most: int
) -> tuple[list[int], list[tuple[str, int, int]]]:
    """Return the first bank indices of about `most` tiles, and the tiles of each layer.

    Args:
        layers: name and number of parameters of each layer
    """
    total: int = sum([count for _, count in layers])
    first: int = 0
    starts: list[int] = []
    groups: list[tuple[str, int, int]] = []
    for name, length in layers:
        rows: int = length
        count: int = min(rows, max(1, math.floor(most * rows / total + 0.5)))
        groups.append((name, len(starts), count))
        for i in range(count):
            starts.append(first + math.floor(i * rows / count))
        first += rows
    return starts, groups


def coarse_to_fine(points: int) -> list[tuple[int, int]]:
    """Return row and column of each point of a grid, coarse points first."""
    found: list[tuple[int, int]] = []
    for apart in PASSES:
        for i in range(0, points, apart):
            for j in range(0, points, apart):
                if apart == PASSES[0] or i % (2 * apart) + j % (2 * apart) > 0:
                    found.append((i, j))
    return found


def span_of(path: Sequence[Place]) -> list[float]:
    """Return left, right, bottom and top of the section of a plane that shows a path."""
    lows = [min([each[k] for each in path]) for k in (0, 1)]
    widths = [max([each[k] for each in path]) - lows[k] for k in (0, 1)]
    found: list[float] = []
    for low, width in zip(lows, widths, strict=True):
        middle: float = low + width / 2.0
        half: float = (0.5 + MARGIN) * max(width, FLATTEST * max(widths) or 1.0)
        found.append(middle - half)
        found.append(middle + half)
    return found


def parts_of(span: Place, spot: Place) -> list[float]:
    """Return the horizontal and vertical position of a point in a span, as fractions."""
    return [(spot[k] - span[2 * k]) / (span[2 * k + 1] - span[2 * k]) for k in (0, 1)]


def is_within(span: Place, path: Sequence[Place]) -> bool:
    """Return whether a whole path is in the shown section of the plane."""
    parts = [part for spot in path for part in parts_of(span, spot)]
    return len([part for part in parts if not 0.0 <= part <= 1.0]) == 0


def nearest_step(
    span: Place, steps: Sequence[float], path: Sequence[Place], spot: Place
) -> float | None:
    """Return the step at which the path is closest to a point of the plane; None if far away."""
    across, up = parts_of(span, spot)
    places = [parts_of(span, each) for each in path]
    apart = [math.hypot(each[0] - across, each[1] - up) for each in places]
    near = min(apart) if apart else NEAR_PATH
    return steps[apart.index(near)] if near < NEAR_PATH else None


def point_at(span: Place, points: int, spot: Place) -> tuple[int, int]:
    """Return row and column of the grid point closest to a point of the plane."""
    across, up = parts_of(span, spot)
    return round(up * (points - 1)), round(across * (points - 1))
