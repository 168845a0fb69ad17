"""How near plates are: how many of their cells a pixel covers, at least and at most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scalarviz.checks import FloatArray
from scalarviz.view.plates import Plate

SAMPLES = np.linspace(0.0, 1.0, 9)


def cells_a_pixel(
    plates: Sequence[Plate], transform: Any, size: tuple[int, int]
) -> list[tuple[float, float]]:
    """For each plate, in a viewport of so many pixels; (inf, 0) where nothing of it is seen.

    `transform.map` takes (n, 4) points of space to where they are seen.
    """
    return [nearness(plate, transform, np.array(size, np.float64)) for plate in plates]


def nearness(plate: Plate, transform: Any, size: FloatArray) -> tuple[float, float]:
    columns, rows = (part.ravel() for part in np.meshgrid(SAMPLES, SAMPLES))
    across = np.stack([columns * plate.columns, rows * plate.rows])
    steps = np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 0.5]])
    places = across[:, np.newaxis] + steps.T[:, :, np.newaxis]
    points = plate.point(places[0], places[1]).reshape(-1, 3)
    seen = np.asarray(transform.map(np.c_[points, np.ones(len(points))]), np.float64)
    w = seen[:, 3:]
    ahead = (w[:, 0] > 1e-9).reshape(3, -1).all(axis=0)
    flat = (seen[:, :2] / np.where(np.abs(w) < 1e-9, 1e-9, w)).reshape(3, -1, 2)
    on_screen = ahead & (np.abs(flat[0]) < 1.0 + 2.0 / len(SAMPLES)).all(axis=1)
    if not ahead.all():  # the plate reaches behind the eye, and so as near to it as can be
        return (0.0, np.inf)
    if not on_screen.any():
        return (0.0, np.inf) if (np.abs(flat[0]).min(axis=0) < 1.0).all() else (np.inf, 0.0)
    jacobian = (flat[1:] - flat[0])[:, on_screen] * size  # half a cell is twice half the viewport
    pixels = np.linalg.svd(jacobian.transpose(1, 2, 0), compute_uv=False)[:, -1]
    cells = 1.0 / np.maximum(pixels, 1e-9)
    return (0.8 * float(cells.min()), 1.25 * float(cells.max()))
