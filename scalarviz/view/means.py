"""Means of blocks of a plate, for where its cubes are smaller than pixels.

Level k has one texel for 2**k times 2**k cubes: the mean of their colors' numbers, and how much of
the plate they cover. The levels of a plate lie side by side in a texture of bytes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit, prange

from scalarviz.checks import FloatArray
from scalarviz.view.cube_shaders import HALF, LEAST
from scalarviz.view.plates import Plate

WORTH = 48  # rows or columns from which on a plate has means
Bytes = npt.NDArray[np.uint8]
Scale = tuple[float, float, float]  # 1 / color scale, log2 of the largest size, 1 / their range


def levels_of(plate: Plate) -> int:
    """How many levels of means a plate has."""
    longest = max(plate.rows, plate.columns)
    return 0 if longest < WORTH else max(1, math.ceil(math.log2(longest)) - 2)


def room_of(plate: Plate) -> tuple[int, int]:
    """Rows and columns of its first level, so that each level is just half of the one before."""
    unit = 2 ** (levels_of(plate) - 1)
    rows, columns = (-(-length // 2) for length in (plate.rows, plate.columns))
    return -(-rows // unit) * unit, -(-columns // unit) * unit


def place_of(level: int, columns: int) -> int:
    """Where a level begins, to the right of the first level's corner."""
    return 2 * columns - (columns >> (level - 2) if level >= 2 else 2 * columns)


def fill(
    table: Bytes, plate: Plate, colors: FloatArray, sizes: FloatArray, scale: Scale, finest: int
) -> None:
    """Write the means of a plate from level `finest` on into its part of the table.

    The arrays are the bank's, of float32.
    """
    levels = levels_of(plate)
    rows, columns = (length >> (finest - 1) for length in room_of(plate))
    shape = plate.first, plate.stride, plate.rows, plate.columns
    means = block_means(
        colors, sizes.view(np.int32), shape, rows, columns, finest, np.array(scale, np.float32)
    )
    first_columns = room_of(plate)[1]
    for level in range(finest, levels + 1):
        left = place_of(level, first_columns)
        here = table[: means.shape[0], left : left + means.shape[1]]
        np.round(means * 255.0, out=means)
        here[...] = means
        means *= 1.0 / 255.0
        if level < levels:
            means = 0.25 * (
                means[::2, ::2] + means[1::2, ::2] + means[::2, 1::2] + means[1::2, 1::2]
            )


@njit(cache=True, parallel=True, fastmath={"contract", "reassoc", "nsz"})
def block_means(
    colors: Any, sizes: Any, shape: Any, rows: int, columns: int, level: int, scale: Any
) -> Any:
    """(rows, columns, 2): the mean color, 0 to 1, and the share that cubes cover.

    `sizes` are the bits of floats: their logarithm is read off them, to a tenth.
    """
    first, stride, plate_rows, plate_columns = shape
    side = 1 << level
    found = np.empty((rows, columns, 2), np.float32)
    one = np.float32(1.0)
    least, more = np.float32(2.0 * HALF * LEAST), np.float32(2.0 * HALF * (1.0 - LEAST))
    bits = np.float32(2.0**-23)
    bias = np.float32(-127.0) - scale[1]
    for i in prange(rows):
        for j in range(columns):
            # Beyond the last cubes those on the border are repeated.
            top = min(i * side, plate_rows - 1)
            left = min(j * side, plate_columns - 1)
            bottom = min(max(i * side + side, top + 1), plate_rows)
            right = min(max(j * side + side, left + 1), plate_columns)
            color, cover = np.float32(0.0), np.float32(0.0)
            for row in range(top, bottom):
                start = first + row * stride
                for at in range(start + left, start + right):
                    color += min(max(colors[at] * scale[0], -one), one)
                    size = np.float32(sizes[at] & 0x7FFFFFFF) * bits + bias
                    part = least + more * min(max(one + size * scale[2], np.float32(0.0)), one)
                    cover += part * part
            share = one / np.float32((bottom - top) * (right - left))
            found[i, j, 0] = np.float32(0.5) + np.float32(0.5) * color * share
            found[i, j, 1] = cover * share
    return found
