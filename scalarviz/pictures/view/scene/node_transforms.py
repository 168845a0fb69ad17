"""What our visuals read from the transforms of their node: one matrix, and the viewport.

vispy chains the transforms of a node in the shaders, in float32. Our visuals take one matrix, which
is multiplied in float64, so that a camera far away is as exact as a near one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.errors import DisplayError

BASIS = np.vstack([np.eye(4), [0.375, -0.75, 0.5, 1.0]])


def matrix_of(transform: Any) -> FloatArray:
    """Return the (4, 4) matrix of a linear transform of vispy; points are rows.

    Raise DisplayError if the transform is not linear, such as a logarithmic axis.
    """
    with np.errstate(all="ignore"):  # a logarithm of these points is not finite
        mapped = np.asarray(transform.map(BASIS), np.float64)
    matrix: FloatArray = mapped[:4]
    expected = BASIS[4] @ matrix
    if not np.abs(mapped[4] - expected).max() <= 1e-6 * max(1.0, np.abs(mapped).max()):
        raise DisplayError(
            "cubes, spheres and wires need a linear transform, such as those of vispy's cameras, "
            "and this one bends lines"
        )
    return matrix


def is_flat(matrix: FloatArray) -> bool:
    """Return whether a matrix maps space to a plane, as that of a view without extent."""
    volume = np.linalg.det(matrix)
    return not np.isfinite(volume) or volume == 0.0


def viewport_of(system: Any) -> tuple[float, float]:
    """Return width and height of the viewport in device pixels, from a TransformSystem."""
    corner, other = system.framebuffer_transform.map(np.array([(0.0, 0.0), (1.0, 1.0)]))[:, :2]
    width, height = np.abs(2.0 / (other - corner))
    return float(width), float(height)


def ratio_of(system: Any) -> float:
    """Return the device pixels per logical pixel, from a TransformSystem."""
    return float(abs(system.pixel_scale))
