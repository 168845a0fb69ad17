"""All weights of a training run over time: sessions collect these numbers, pictures draw them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scalarviz.base.checks import FloatArray

Rows = Any  # an array of bank indices


@dataclass(frozen=True)
class OverTime:
    """Values of all weights at several steps.

    Attributes:
        steps: the steps, increasing; each number is recorded on arrival at the step
        rows: bank indices in the order of display
        starts: index in `rows` of the first weight of each tile, which is a group of weights
        tiles: the mean of each tile at each step, shape (tiles, steps)
        groups: name, first tile and number of tiles of each layer
    """

    steps: FloatArray
    rows: Rows
    starts: Rows
    tiles: FloatArray
    groups: Sequence[tuple[str, int, int]]

    def rows_of(self, tile: int) -> Rows:
        """Return the bank indices of the weights in a tile."""
        ends = [*self.starts[1:], len(self.rows)]
        return self.rows[self.starts[tile] : ends[tile]]

    def tile_with(self, row: int) -> int:
        """Return the index of the tile that contains a bank row."""
        place = int(np.flatnonzero(self.rows == row)[0])
        return int(np.searchsorted(self.starts, place, side="right")) - 1

    def moment_at(self, step: float) -> int:
        """Return the index of the last recorded step up to `step`, or 0 if `step` is earlier."""
        return max(0, int(np.searchsorted(self.steps, step, side="right")) - 1)

    def moved_most(self, first: float, last: float, most: int = 3) -> list[tuple[int, float]]:
        """Return the tiles that differ most between two steps, and their differences."""
        change = self.tiles[:, self.moment_at(last)] - self.tiles[:, self.moment_at(first)]
        order = np.argsort(-np.abs(change), kind="stable")[:most]
        return [(int(tile), float(change[tile])) for tile in order]
