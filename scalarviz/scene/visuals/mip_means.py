"""Kernels that compute mip levels, the means of blocks of cubes, as bytes; see `mip_levels`."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numba import njit, prange

from scalarviz.base.kernel_files import enable_caching, keep_whole_files


@njit(inline="always")
def cube(colors: Any, sizes: Any, at: int, scale: Any) -> Any:
    """Return a cube's number relative to the scale, and the fraction of its cell that it covers."""
    one = np.float32(1.0)
    number = colors[at] * scale[0]
    place = min(max(number, -one), one) if number == number else number
    part = np.cbrt(abs(sizes[at] * scale[1]))
    cover = min(max(part * part, scale[3]), scale[4]) if part == part else one
    return place, cover * scale[2]


@njit(inline="always")
def cells_of(i: int, j: int, side: int, rows: int, columns: int) -> Any:
    """Return the first row and column of a block of a plate, and the ends of both ranges.

    A block outside the plate gets the nearest cells at the border.
    """
    top = min(i * side, rows - 1)
    left = min(j * side, columns - 1)
    bottom = min(max(i * side + side, top + 1), rows)
    return top, left, bottom, min(max(j * side + side, left + 1), columns)


@njit(parallel=True, fastmath={"contract", "reassoc", "nsz"})
def block_means(
    colors: Any, sizes: Any, shape: Any, rows: int, columns: int, level: int, scale: Any
) -> Any:
    """Return mean number times coverage, and mean coverage, per block, (rows, columns, 2)."""
    first, stride, plate_rows, plate_columns = shape
    side = 1 << level
    found = np.empty((rows, columns, 2), np.float32)
    for i in prange(rows):
        for j in range(columns):
            top, left, bottom, right = cells_of(i, j, side, plate_rows, plate_columns)
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


@njit(parallel=True, fastmath={"contract", "reassoc", "nsz"})
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
    """Return the same as `block_means`, for a plate of tiles with empty cells between them."""
    first, stride, plate_rows, plate_columns = shape
    high, wide, pitch, across, down, aside = tiles
    side = 1 << level
    found = np.zeros((rows, columns, 2), np.float32)
    for i in prange(rows):
        for j in range(columns):
            top, left, bottom, right = cells_of(i, j, side, plate_rows, plate_columns)
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


@njit(inline="always")
def write_row(means: Any, palette: Any, strength: Any, table: Any, i: int) -> None:
    most, half, least = np.float32(255.0), np.float32(0.5), np.float32(1e-6)
    none, one = len(palette) - 1, np.float32(1.0)
    span = np.float32(0.5 * (none - 1))
    for j in range(means.shape[1]):
        cover = means[i, j, 1]
        number = means[i, j, 0] / max(cover, least) * strength
        place = min(max(number, -one), one) * span + (span + half)
        entry = np.int32(place) if number == number else np.int32(none)
        for k in range(3):
            table[i, j, k] = np.uint8(palette[entry, k] * most + half)
        table[i, j, 3] = np.uint8(cover * most + half)


@njit(inline="always")
def halve_row(means: Any, found: Any, i: int) -> None:
    quarter = np.float32(0.25)
    for j in range(found.shape[1]):
        for k in range(found.shape[2]):
            upper = means[2 * i, 2 * j, k] + means[2 * i, 2 * j + 1, k]
            lower = means[2 * i + 1, 2 * j, k] + means[2 * i + 1, 2 * j + 1, k]
            found[i, j, k] = quarter * (upper + lower)


@njit(parallel=True)
def write_bytes(means: Any, palette: Any, strength: Any, table: Any) -> None:
    """Write the color of each mean, multiplied by `strength`, and its coverage, as bytes."""
    for i in prange(means.shape[0]):
        write_row(means, palette, strength, table, i)


@njit(parallel=True)
def halved(means: Any) -> Any:
    """Return the means of the next level, with half the rows and half the columns."""
    rows, columns, count = means.shape
    found = np.empty((rows // 2, columns // 2, count), np.float32)
    for i in prange(rows // 2):
        halve_row(means, found, i)
    return found


@njit
def write_levels(means: Any, palette: Any, strengths: Any, table: Any, places: Any) -> None:
    """Write a level and all higher levels, each with its strength and its first column.

    This runs in one thread, since threads cost more than they save for a few thousand means.
    """
    for number in range(len(strengths)):
        rows, columns, count = means.shape
        into = table[:rows, places[number] : places[number] + columns]
        for i in range(rows):
            write_row(means, palette, strengths[number], into, i)
        if number + 1 < len(strengths):
            found = np.empty((rows // 2, columns // 2, count), np.float32)
            for i in range(rows // 2):
                halve_row(means, found, i)
            means = found


enable_caching(block_means, tile_means, write_bytes, halved, write_levels)
keep_whole_files(sys.modules[__name__], beside=False)
