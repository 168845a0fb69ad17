"""Numbers from the past of a training run: all weights over time, and the loss on a plane.

Sessions collect these numbers, and pictures draw them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scalarviz.base.checks import FloatArray

Rows = Any  # an array of bank indices


@dataclass(frozen=True)
class OverTime:
    """Values, gradients or changes of all weights at several steps.

    Attributes:
        kind: "value", "gradient", or "change" since the start of the training run
        steps: the steps, increasing; each number is recorded on arrival at the step
        rows: bank indices in the order of display
        starts: index in `rows` of the first weight of each tile, which is a group of weights
        tiles: the mean of each tile at each step, shape (tiles, steps)
        groups: name, first tile and number of tiles of each layer; a single unnamed group if
            ordered by distance
        norms: Euclidean norm of each layer at each step, shape (layers, steps), if the order is
            "norms": of values, of gradients, or of the change per step since the previous moment
    """

    kind: str
    steps: FloatArray
    rows: Rows
    starts: Rows
    tiles: FloatArray
    groups: Sequence[tuple[str, int, int]]
    norms: FloatArray

    def rows_of(self, tile: int) -> Rows:
        """Return the bank indices of the weights in a tile."""
        ends = [*self.starts[1:], len(self.rows)]
        return self.rows[self.starts[tile] : ends[tile]]

    def tiles_with(self, row: int) -> list[int]:
        """Return a list with the tile that contains a bank row, or [] if norms are shown."""
        if not len(self.tiles):
            return []
        place = int(np.flatnonzero(self.rows == row)[0])
        return [int(np.searchsorted(self.starts, place, side="right")) - 1]

    def moment_at(self, step: float) -> int:
        """Return the index of the last recorded step up to `step`, or 0 if `step` is earlier."""
        return max(0, int(np.searchsorted(self.steps, step, side="right")) - 1)

    def moved_most(self, first: float, last: float, most: int = 3) -> list[tuple[int, float]]:
        """Return the tiles that differ most between two steps, and their differences."""
        change = self.tiles[:, self.moment_at(last)] - self.tiles[:, self.moment_at(first)]
        order = np.argsort(-np.abs(change), kind="stable")[:most]
        return [(int(tile), float(change[tile])) for tile in order]


@dataclass(frozen=True, eq=False)
class LossPlane:
    """The loss on a plane through the weights of a network, and the path of a training run on it.

    Attributes:
        center: current values of the bank, float64; the point (0, 0)
        across: direction of x: a unit vector with one number for each bank row; 0 for frozen
            weights
        up: direction of y, perpendicular to `across`
        names: names of the two weights that are the directions; "" for principal directions
        steps: steps of the points on the path, int64, up to the end of the branch
        path: projections of the weights at these steps onto the plane, shape (points, 2)
        span: left, right, bottom and top of the grid
        shares: share of the variance of the path that each direction explains; NaN for two weights
        xs, ys: coordinates of the grid, float64
        losses: loss at each point, shape (len(ys), len(xs)); NaN where not yet computed
    """

    center: FloatArray
    across: FloatArray
    up: FloatArray
    names: tuple[str, str]
    steps: FloatArray
    path: FloatArray
    span: tuple[float, float, float, float]
    shares: tuple[float, float]
    xs: FloatArray
    ys: FloatArray
    losses: FloatArray

    def values_at(self, x: float, y: float) -> FloatArray:
        """Return the values of the bank at the point (`x`, `y`), float64."""
        return self.center + x * self.across + y * self.up

    def place_of(self, values: FloatArray) -> tuple[float, float]:
        """Return x and y of the projection of bank `values` onto the plane."""
        moved = np.asarray(values, np.float64) - self.center
        return float(moved @ self.across), float(moved @ self.up)

    def __repr__(self) -> str:
        along = " and ".join(self.names)
        if not any(self.names):
            first, second = self.shares
            along = f"main directions with {first:.1%} and {second:.1%} of the path"
        found = self.losses[np.isfinite(self.losses)]
        reach = f", {found.min():.4g} to {found.max():.4g}" if found.size else ""
        grid = f"{len(self.xs)} x {len(self.ys)} losses{reach}"
        return f"LossPlane along {along}: {grid}; path of {len(self.path):,} moments"
