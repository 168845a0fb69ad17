"""The loss over a plane through the weights of a network, and the way of its training there.

The plane goes through the present weights, along two chosen ones or along the two directions in
which the weights moved most. Here are its directions; `landscape` computes the losses.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.formulas.randomness import STREAM_INITIAL, unit_pairs

MARGIN = 0.25  # of the width of the path, on each side of it
FLATTEST = 0.2  # the narrower width of the path counts as at least this much of the wider one
BLOCK = 2**14  # weights whose path is in memory in float64 at a time
NEW = 1e-3  # of a direction, at least, is perpendicular to those before it


@dataclass(frozen=True, eq=False)
class LossPlane:
    """The loss over a plane through the weights of a network, and the way of a training there.

    center   the present values of the bank, float64; the point (0, 0)
    across   direction of x: a unit vector of one number for each row of the bank; frozen weights
             have 0
    up       direction of y, perpendicular to `across`
    names    names of the two weights; "" for main directions
    steps    steps of the moments on the path, int64, up to the end of the branch
    path     where these moments lie, seen from above the plane, shape (moments, 2)
    span     left, right, bottom and top end of the grid
    shares   share of the variance of the path that each direction explains; NaN for two weights
    xs, ys   coordinates of the grid, float64
    losses   loss at each point, shape (len(ys), len(xs)); NaN where it is not computed yet
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
        """Return x and y of the point of the plane that is nearest to `values` of the bank."""
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


class Past(NamedTuple):
    """The weights on the way of a training, from which a plane is made.

    center   the present values of the bank
    steps    of some moments, int64, increasing
    values   of the bank at each of them
    trained  rows of the weights that training moves
    grad     gradients of the bank, at present
    """

    center: FloatArray
    steps: FloatArray
    values: Sequence[FloatArray]
    trained: Any
    grad: FloatArray


def plane_of(
    past: Past, rows: Sequence[int] = (), names: tuple[str, str] = ("", ""), points: int = 41
) -> LossPlane:
    """Return a plane without losses, with so many points in each direction.

    It goes along two `rows` of the bank with these `names`, or, without any, along the main
    directions.
    """
    center = past.center.astype(np.float64)
    across, up = np.zeros((2, len(center)))
    variance = math.nan
    if rows:
        across[rows[0]] = up[rows[1]] = 1.0
    else:
        (across[past.trained], up[past.trained]), variance = main_directions(past)
    none, unknown = np.zeros(0), (math.nan, math.nan)
    span = unknown * 2
    plane = LossPlane(center, across, up, names, past.steps, none, span, unknown, none, none, none)
    path = np.array([plane.place_of(values) for values in past.values])
    first, second = (path.var(axis=0) / (variance or 1.0)).tolist()
    low, high = path.min(axis=0), path.max(axis=0)
    width = np.maximum(high - low, FLATTEST * (high - low).max() or 1.0)
    middle, half = (low + high) / 2, (0.5 + MARGIN) * width
    (left, bottom), (right, top) = (middle - half).tolist(), (middle + half).tolist()
    return replace(
        plane,
        path=path,
        span=(left, right, bottom, top),
        shares=(first, second),
        xs=np.linspace(left, right, points),
        ys=np.linspace(bottom, top, points),
        losses=np.full((points, points), np.nan),
    )


def main_directions(past: Past) -> tuple[list[FloatArray], float]:
    """Return the two directions in which the trained weights moved most, and the whole variance.

    They are the main components of the path, by the products of its moments, a small matrix also
    if there are many weights. A path that has less than two, beyond the rounding of the weights, is
    completed by the gradient or by fixed random directions. The path ends further along each than
    it begins.
    """
    last, count = past.values[-1][past.trained], len(past.values)
    products = sum(moves @ moves.T for moves in moves_of(past))
    squares, turns = np.linalg.eigh(products)  # the smallest first
    rounding = np.finfo(last.dtype).eps * math.sqrt(count) * float(np.linalg.norm(last))
    least = max(rounding, 1e-7 * math.sqrt(max(squares[-1], 0.0)))  # products are rounded, too
    largest = turns[:, squares > least**2][:, :-3:-1]
    main = np.concatenate([moves.T @ largest for moves in moves_of(past)]).T
    gradient = past.grad[past.trained].astype(np.float64)
    gradient[~np.isfinite(gradient)] = 0.0
    others = np.array(unit_pairs(0, STREAM_INITIAL, 0, 0, len(past.trained))) - 0.5
    way = last.astype(np.float64) - past.values[0][past.trained]
    found: list[FloatArray] = []
    for each in (*main, gradient, *others):
        rest = each / (np.linalg.norm(each) or 1.0)
        for other in found * 2:  # twice, since the first time leaves rounding errors
            rest = rest - (rest @ other) * other
        length = float(np.linalg.norm(rest))
        if len(found) < 2 and length > NEW:
            found.append(rest / math.copysign(length, way @ rest or 0.0))
    return found, float(np.trace(products)) / count


def moves_of(past: Past) -> Iterator[FloatArray]:
    """Yield the moves of the trained weights from the mean of the path, some weights at a time."""
    for first in range(0, len(past.trained), BLOCK):
        rows = past.trained[first : first + BLOCK]
        moves = np.array([values[rows] for values in past.values], np.float64)
        yield moves - moves.mean(axis=0)
