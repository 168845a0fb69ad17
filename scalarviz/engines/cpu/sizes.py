"""Sizes of chunks and tiles, for Python; the kernels compute the same ones."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

import numpy as np

from scalarviz.engines.cpu import tiles
from scalarviz.engines.cpu.products import TILE


@lru_cache
def count_chunks(samples: int) -> int:
    """Return the number of chunks of a batch; it depends on the size only."""
    return int(tiles.count_chunks(np.uint64(samples)))


def row_stride(samples: int) -> int:
    """Return how many numbers lie between two rows of a tile, for a batch of this size."""
    return int(tiles.row_stride(np.uint64(samples)))


def count_tiles(samples: int) -> int:
    """Return the number of tiles of all chunks of a batch."""
    return len(tile_starts(samples)) - 1


def tile_starts(samples: int) -> list[int]:
    """Return the index of the first sample of each tile, then the number of samples."""
    chunks = count_chunks(samples)
    bounds = [chunk * samples // chunks for chunk in range(chunks + 1)]
    starts = [start for first, end in pairwise(bounds) for start in range(first, end, int(TILE))]
    return [*starts, samples]
