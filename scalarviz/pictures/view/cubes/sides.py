"""Brightness of the sides of cubes."""

from __future__ import annotations

import numpy as np

from scalarviz.pictures.view.scene.plates import DOWN, NEAR, RIGHT, UP, Plate

WAYS = np.array([UP, DOWN, RIGHT, -RIGHT, NEAR, -NEAR])
BRIGHT = 1.18, 0.5, 0.66, 0.66, 0.66, 0.66


def brightness_of_sides(plate: Plate) -> list[float]:
    """Brightness of the cubes' sides: +columns, -columns, +rows, -rows; the front has 1."""
    axes = plate.along, -plate.along, plate.across, -plate.across
    return [float(BRIGHT[int(np.argmax(WAYS @ axis))]) for axis in axes]
