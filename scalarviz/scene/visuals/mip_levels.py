"""Mip levels of a plate, used where its cubes are smaller than a pixel.

Level k has one texel per block of 2**k x 2**k cubes: the color of their mean, and the fraction of
the area that they cover. The mean of many numbers of both signs is close to 0. It is therefore
multiplied by half the side of the block, so that independent numbers have the same contrast on all
levels and common structure of neighbors stands out. On higher levels, it is measured relative to
the spread of the plate, so that structure is also visible in a layer of small weights. If cubes
fill their cells, it is multiplied by the side instead: then colors are equally strong at all sizes.
The levels of a plate are side by side in a texture of bytes.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.base.kernel_threads import parallel_calls
from scalarviz.scene.layout.plates import MOST, Plate

WORTH = 48  # minimum rows or columns of a plate with mip levels
SPREADS = 0.8  # minimum of a plate's spread on the color scale, on higher levels
SAMPLE = 2**14  # numbers used for computing the spread
ALONE = 2**15  # means of a level above which all levels are written in one thread
held = False  # True while another process compiles their kernels: then no levels are used
Bytes = npt.NDArray[np.uint8]
Scale = tuple[float, ...]  # 1 / color scale, 1 / size scale


def levels_of(plate: Plate) -> int:
    """Return the number of mip levels of a plate; 0 if it is small."""
    longest = max(plate.rows, plate.columns)
    return 0 if longest < WORTH else max(1, math.ceil(math.log2(longest)) - 2)


def room_of(plate: Plate) -> tuple[int, int]:
    """Return rows and columns of level 1, padded so that they can be halved for each level."""
    unit = 2 ** (levels_of(plate) - 1)
    rows, columns = (-(-length // 2) for length in (plate.rows, plate.columns))
    return -(-rows // unit) * unit, -(-columns // unit) * unit


def place_of(level: int, columns: int) -> int:
    """Return the first column of a level in the texture; level 1 has `columns` columns."""
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
    """Write the mip levels of a plate, starting with level `finest`, to its part of the table.

    `colors` and `sizes` are float32 arrays with one number per element of the bank. `palette`
    contains the colors of numbers from -1 to 1, followed by the color of NaN.
    """
    from scalarviz.scene.visuals import mip_means  # numba takes long to import

    levels = levels_of(plate)
    rows, columns = (length >> (finest - 1) for length in room_of(plate))
    shape = plate.first, plate.stride, plate.rows, plate.columns
    size = rows, columns, finest
    share = (2.0 * plate.half) ** 2 / (plate.cell[0] * plate.cell[1])  # for the largest cube
    kinds = np.array([*scale, share, plate.least**2, MOST**2], np.float32)
    first_columns = room_of(plate)[1]
    spread = spread_of(colors[plate.indices]) * scale[0]
    with parallel_calls(mip_means):
        if plate.tiles is None:
            means = mip_means.block_means(colors, sizes, shape, *size, kinds)
        else:
            grid = plate.tiles
            tiles = *grid.size, *grid.pitch, *grid.stride
            means = mip_means.tile_means(colors, sizes, shape, tiles, *size, kinds)
        rest = np.arange(finest, levels + 1)
        even = plate.is_full
        strengths = np.array([strength_of(int(x), spread, even=even) for x in rest], np.float32)
        places = np.array([place_of(int(level), first_columns) for level in rest])
        for number, left in enumerate(places.tolist()):
            if means[..., 0].size <= ALONE:
                mip_means.write_levels(means, palette, strengths[number:], table, places[number:])
                break
            into = table[: means.shape[0], left : left + means.shape[1]]
            mip_means.write_bytes(means, palette, strengths[number], into)
            if number + 1 < len(rest):
                means = mip_means.halved(means)


def strength_of(level: int, spread: float, *, even: bool = False) -> float:
    """Return the factor by which the means of a level are multiplied.

    Args:
        spread: root mean square of the plate's numbers, relative to the color scale
        even: whether independent numbers have the same strength at all levels and alone
    """
    if even:
        return 2.0**level
    stronger = max(1.0, SPREADS / max(spread, 1e-6))
    return 0.5 * 2.0**level * float(stronger ** min(0.5 * level, 1.0))


def spread_of(numbers: FloatArray) -> float:
    """Return the root mean square of the finite numbers, or of a sample if there are many."""
    own = numbers[:: max(1, len(numbers) // SAMPLE)]
    own = own[np.isfinite(own)].astype(np.float64)
    return float(np.sqrt((own**2).mean())) if len(own) else 0.0
