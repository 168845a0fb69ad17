"""Picking: which cube is under a pixel, by the ray walk of the shader, in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import NONE
from scalarviz.scene.layout.plates import Plate
from scalarviz.scene.visuals.shaders import STEPS

Half = Callable[[Plate, int], float]  # (plate, bank index) -> half the side of the cube


def ray_at(matrix: FloatArray, x: float, y: float) -> tuple[FloatArray, FloatArray]:
    """Return the nearest point seen at (x, y), and the way from it to the farthest one.

    matrix   (4, 4), from space to clip coordinates
    x, y     the place in the picture, -1 to 1 to the right and up
    """
    inverse = np.linalg.inv(matrix)
    behind = inverse @ [x, y, 1.0, 1.0]
    before = inverse @ [x, y, -1.0, 1.0]
    far, near = behind[:3] / behind[3], before[:3] / before[3]
    return near, far - near


def pick(plates: Sequence[Plate], matrix: FloatArray, x: float, y: float, half: Half) -> int:
    """Return the bank index of the cube seen at (x, y), or NONE; see `nearest`.

    matrix   (4, 4), from space to clip coordinates
    x, y     the place in the picture, -1 to 1 to the right and up
    """
    return nearest(plates, *ray_at(matrix, x, y), half)[0]


def nearest(
    plates: Sequence[Plate], start: FloatArray, ray: FloatArray, half: Half
) -> tuple[int, float]:
    """Return the bank index of the first cube on a ray, or NONE, and its distance in rays.

    plates      the plates to search
    start, ray  where the ray begins, and its way
    half        half(plate, index) returns half the side of a cube
    """
    best, least = NONE, np.inf
    for plate in plates:
        found, at = walk(plate, start, ray, half)
        if found != NONE and at < least:
            best, least = found, at
    return best, float(least)


def walk(plate: Plate, start: FloatArray, ray: FloatArray, half: Half) -> tuple[int, float]:
    """Return the bank index of the first cube of a plate on a ray, and its distance; else NONE."""
    width, height = plate.cell
    most, lifted = plate.half, plate.lowered(plate.half)
    axes = np.stack([plate.along / width**2, plate.across / height**2, plate.toward])
    place, step = axes @ (start - plate.origin), axes @ ray
    step = np.where(np.abs(step) < 1e-12, 1e-12, step)
    low = (np.array([0.0, 0.0, lifted - most]) - place) / step
    high = (np.array([plate.columns, plate.rows, lifted + most]) - place) / step
    enter = max(float(np.minimum(low, high).max()), 0.0)
    leave = float(np.maximum(low, high).min())
    if enter > leave:
        return NONE, np.inf
    grid = np.array([plate.columns, plate.rows])
    cell = np.floor(np.clip((place + step * enter)[:2], 0.0, grid - 1e-9))
    forward = step[:2] > 0.0
    next_at = (cell + forward - place[:2]) / step[:2]
    for _ in range(4 * STEPS):
        index = plate.index_of(int(cell[1]), int(cell[0]))
        if index != NONE:  # NONE: a gap between tiles
            own = half(plate, index)
            side, low_by = own / np.array([width, height, 1.0]), plate.lowered(own)
            middle = np.array([cell[0] + 0.5, cell[1] + 0.5 + low_by / height, low_by]) - place
            a, b = (middle - side) / step, (middle + side) / step
            first, last = float(np.minimum(a, b).max()), float(np.maximum(a, b).min())
            if first <= last and first >= enter - 1e-9:
                return index, first
        axis = int(next_at[1] <= next_at[0])
        if next_at[axis] >= leave:
            break
        cell[axis] += 1.0 if forward[axis] else -1.0
        next_at[axis] += abs(1.0 / step[axis])
        if not 0.0 <= cell[axis] < grid[axis]:
            break
    return NONE, np.inf
