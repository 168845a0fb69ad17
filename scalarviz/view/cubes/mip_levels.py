"""Mip levels of a plate, used where its cubes are smaller than a pixel.

Level k has one texel for 2**k times 2**k cubes: the color of their mean, and the share of the plate
that they cover. The mean of many numbers of both signs is close to 0, so it is multiplied by half
the side of the block: then independent numbers have the same contrast on all levels, and what
neighbors have in common stands out. On higher levels it is measured by the spread of the plate, so
that a layer of small weights has a structure, too. The levels of a plate lie side by side in a
texture of bytes.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit, prange

from scalarviz.checks.numbers import FloatArray
from scalarviz.engines.common.cores import parallel_calls
from scalarviz.view.cubes.shaders import HALF, LEAST
from scalarviz.view.scene.plates import Plate

WORTH = 48  # rows or columns from which on a plate has mip levels
SPREADS = 0.8  # number of the color scale that a plate's spread gets on higher levels, at least
SAMPLE = 2**14  # numbers that the spread is computed of
held = False  # True while another process compiles the kernels below: then no levels are used
Bytes = npt.NDArray[np.uint8]
Scale = tuple[float, ...]  # 1 / color scale, 1 / size scale


def levels_of(plate: Plate) -> int:
    """Return the number of mip levels of a plate."""
    longest = max(plate.rows, plate.columns)
    return 0 if longest < WORTH else max(1, math.ceil(math.log2(longest)) - 2)


def room_of(plate: Plate) -> tuple[int, int]:
    """Return rows and columns of level 1, padded so that each level is half the one before."""
    unit = 2 ** (levels_of(plate) - 1)
    rows, columns = (-(-length // 2) for length in (plate.rows, plate.columns))
    return -(-rows // unit) * unit, -(-columns // unit) * unit


def place_of(level: int, columns: int) -> int:
    """Return the column offset of a level from level 1, which has `columns` columns."""
    return 2 * columns - (columns >> (level - 2) if level >= 2 else 2 * columns)


def fill(
    table: Bytes,
    plate: Plate,
    colors: FloatArray,
    sizes: FloatArray,
    scale: Scale,
    palette: FloatArray,
    finest: int,
) -> None:
    """Write the mip levels of a plate, from level `finest` on, into its part of the table.

    `colors` and `sizes` are float32 arrays of the bank's length. The palette holds the colors of
    the numbers from -1 to 1, and last the color of NaN.
    """
    levels = levels_of(plate)
    rows, columns = (length >> (finest - 1) for length in room_of(plate))
    shape = plate.first, plate.stride, plate.rows, plate.columns
    size = rows, columns, finest
    share = plate.unit**2 / (plate.cell[0] * plate.cell[1])  # of a cell, by the largest cube
    kinds = np.array([*scale, share], np.float32)
    first_columns = room_of(plate)[1]
    spread = spread_of(colors[plate.indices]) * scale[0]
    with parallel_calls(sys.modules[__name__]):
        if plate.tiles is None:
            means = block_means(colors, sizes, shape, *size, kinds)
        else:
            grid = plate.tiles
            tiles = *grid.size, *grid.pitch, *grid.stride
            means = tile_means(colors, sizes, shape, tiles, *size, kinds)
        for level in range(finest, levels + 1):
            left = place_of(level, first_columns)
            into = table[: means.shape[0], left : left + means.shape[1]]
            write_bytes(means, palette, np.float32(strength_of(level, spread)), into)
            if level < levels:
                means = halved(means)


def strength_of(level: int, spread: float) -> float:
    """Return the factor of the means of a level.

    spread  root of the mean square of the plate's numbers, relative to the color scale
    """
    stronger = max(1.0, SPREADS / max(spread, 1e-6))
    return 0.5 * 2.0**level * float(stronger ** min(0.5 * level, 1.0))


def spread_of(numbers: FloatArray) -> float:
    """Return the root of the mean square of the finite numbers, of some if they are many."""
    own = numbers[:: max(1, len(numbers) // SAMPLE)]
    own = own[np.isfinite(own)].astype(np.float64)
    return float(np.sqrt((own**2).mean())) if len(own) else 0.0


@njit(inline="always")
def cube(colors: Any, sizes: Any, at: int, scale: Any) -> Any:
    """Return the number of a cube relative to the scale, and the share of its cell it covers."""
    one = np.float32(1.0)
    least, more = np.float32(2.0 * HALF * LEAST), np.float32(2.0 * HALF * (1.0 - LEAST))
    number = colors[at] * scale[0]
    place = min(max(number, -one), one) if number == number else number
    side = least + more * min(np.sqrt(abs(sizes[at] * scale[1])), one)
    return place, side * side * scale[2]


@njit(cache=True, parallel=True, fastmath={"contract", "reassoc", "nsz"})
def block_means(
    colors: Any, sizes: Any, shape: Any, rows: int, columns: int, level: int, scale: Any
) -> Any:
    """Return (rows, columns, 2): mean of the numbers, times coverage, and coverage."""
    first, stride, plate_rows, plate_columns = shape
    side = 1 << level
    found = np.empty((rows, columns, 2), np.float32)
    for i in prange(rows):
        for j in range(columns):
            # Cells outside the plate repeat those at its border.
            top = min(i * side, plate_rows - 1)
            left = min(j * side, plate_columns - 1)
            bottom = min(max(i * side + side, top + 1), plate_rows)
            right = min(max(j * side + side, left + 1), plate_columns)
            total, cover = np.float32(0.0), np.float32(0.0)
            for row in range(top, bottom):
                start = first + row * stride
                for at in range(start + left, start + right):
                    place, part = cube(colors, sizes, at, scale)
                    total += part * place
                    cover += part
            share = np.float32(1.0) / np.float32((bottom - top) * (right - left))
            found[i, j, 0] = total * share
            found[i, j, 1] = cover * share
    return found


@njit(cache=True, parallel=True, fastmath={"contract", "reassoc", "nsz"})
def tile_means(
    colors: Any,
    sizes: Any,
    shape: Any,
    tiles: Any,
    rows: int,
    columns: int,
    level: int,
    scale: Any,
) -> Any:
    """Return the same for a tiled plate, whose cells between tiles are empty."""
    first, stride, plate_rows, plate_columns = shape
    high, wide, pitch, across, down, aside = tiles
    side = 1 << level
    found = np.zeros((rows, columns, 2), np.float32)
    for i in prange(rows):
        for j in range(columns):
            top = min(i * side, plate_rows - 1)
            left = min(j * side, plate_columns - 1)
            bottom = min(max(i * side + side, top + 1), plate_rows)
            right = min(max(j * side + side, left + 1), plate_columns)
            share = np.float32(1.0) / np.float32((bottom - top) * (right - left))
            for row in range(top, bottom):
                tile, line = row // pitch, row % pitch
                for column in range(left, right):
                    beside, place = column // across, column % across
                    if line < high and place < wide:
                        at = first + tile * down + beside * aside + line * stride + place
                        number, part = cube(colors, sizes, at, scale)
                        found[i, j, 0] += part * share * number
                        found[i, j, 1] += part * share
    return found


@njit(cache=True, parallel=True)
def write_bytes(means: Any, palette: Any, strength: Any, table: Any) -> None:
    """Write the colors of means, multiplied by `strength`, and coverage as bytes."""
    most, half, least = np.float32(255.0), np.float32(0.5), np.float32(1e-6)
    none, one = len(palette) - 1, np.float32(1.0)
    span = np.float32(0.5 * (none - 1))
    for i in prange(means.shape[0]):
        for j in range(means.shape[1]):
            cover = means[i, j, 1]
            number = means[i, j, 0] / max(cover, least) * strength
            place = min(max(number, -one), one) * span + (span + half)
            entry = np.int32(place) if number == number else np.int32(none)
            for k in range(3):
                table[i, j, k] = np.uint8(palette[entry, k] * most + half)
            table[i, j, 3] = np.uint8(cover * most + half)


@njit(cache=True, parallel=True)
def halved(means: Any) -> Any:
    """Return the next level, with half as many rows and columns."""
    rows, columns, count = means.shape
    found = np.empty((rows // 2, columns // 2, count), np.float32)
    quarter = np.float32(0.25)
    for i in prange(rows // 2):
        for j in range(columns // 2):
            for k in range(count):
                upper = means[2 * i, 2 * j, k] + means[2 * i, 2 * j + 1, k]
                lower = means[2 * i + 1, 2 * j, k] + means[2 * i + 1, 2 * j + 1, k]
                found[i, j, k] = quarter * (upper + lower)
    return found
