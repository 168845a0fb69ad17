"""PlanePoints: the plane in which the data of a session lie, its samples, and a grid over it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.data import DataSet
from scalarviz.data.batches import Pair
from scalarviz.data.data_set import TableSet
from scalarviz.data.plane import PLANE, PlaneSet
from scalarviz.pictures.presenter.names_of_data import axis_names
from scalarviz.pictures.view.exhibits.plane import cells

SIDE = 40  # cells along a map, which needs SIDE * SIDE evaluations per picture


@final
@dataclass(frozen=True)
class PlanePoints:
    """Some samples of data that lie in a plane.

    samples    inputs and targets
    points     where the samples lie, shape (samples, 2), in the numbers of the axes
    low, high  the lower left and the upper right corner of the map
    names      of the axes
    axes       the inputs that are the coordinates; empty if the inputs are features of them
    features   returns the inputs of points; None if `axes` are inputs and the others constant
    """

    samples: Pair
    points: FloatArray
    low: FloatArray
    high: FloatArray
    names: tuple[str, str]
    axes: tuple[int, ...]
    features: Callable[[FloatArray], FloatArray] | None = None

    @property
    def grid(self) -> FloatArray:
        """The inputs of all cell centers of a map, row by row from the top left."""
        return self.inputs_of(self.low + cells(SIDE) * (self.high - self.low))

    def inputs_of(self, points: FloatArray) -> FloatArray:
        """Return the inputs of points of the plane."""
        if self.features is not None:
            return self.features(points)
        inputs = np.repeat(self.samples[0][:1], len(points), axis=0)
        inputs[:, list(self.axes)] = points
        return inputs

    def placed(self, points: FloatArray) -> FloatArray:
        """Return points as shares of the map; (0, 0) is its lower left corner."""
        shares: FloatArray = (points - self.low) / (self.high - self.low)
        return shares

    def about(self) -> dict[str, Any]:
        """Return the arguments of an exhibit that say where the plane is."""
        return {
            "points": self.placed(self.points),
            "names": self.names,
            "axes": self.axes,
            "low": (float(self.low[0]), float(self.low[1])),
            "high": (float(self.high[0]), float(self.high[1])),
            "inputs_of": self.inputs_of,
        }


def plane_points(data: DataSet, samples: Pair) -> PlanePoints | None:
    """Return the plane in which some samples of data lie; None if they lie in none.

    These are the data sets of the plane, and all data of which exactly two inputs vary.
    """
    inputs, _ = samples
    if isinstance(data, PlaneSet) and data.features:
        points = data.points[: len(inputs)]
        low, high = bounds_of(data, points)
        return PlanePoints(samples, points, low, high, PLANE, (), data.inputs_of)
    varying = varying_inputs(inputs)
    if len(varying) != 2:
        return None
    points, names = inputs[:, varying], axis_names(data)
    low, high = bounds_of(data, points)
    if not is_plane(low, high):
        return None
    axes = int(varying[0]), int(varying[1])
    return PlanePoints(samples, points, low, high, (names[axes[0]], names[axes[1]]), axes)


def held_out_points(data: DataSet, plane: PlanePoints, most: int) -> tuple[FloatArray, FloatArray]:
    """Return where some held-out samples lie in a plane, and their targets; may be none."""
    if not isinstance(data, TableSet) or data.held_out is None:
        return np.zeros((0, 2)), np.zeros((0, data.outputs))
    inputs, targets = data.held_out
    if plane.features is not None and isinstance(data, PlaneSet):
        return data.held_out_points[:most], targets[:most]
    return inputs[:most, list(plane.axes)], targets[:most]


def varying_inputs(inputs: FloatArray) -> Any:
    """Return which inputs are not the same in all samples."""
    return np.flatnonzero(inputs.max(axis=0) > inputs.min(axis=0))


def is_plane(low: FloatArray, high: FloatArray) -> bool:
    """Return whether a map can have these corners: not if they are too far apart for a float."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(high - low).all())


def bounds_of(data: DataSet, points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the lower left and the upper right corner of the map."""
    if data.bounds is not None:
        return np.full(2, data.bounds[0]), np.full(2, data.bounds[1])
    low, high = points.min(axis=0), points.max(axis=0)
    with np.errstate(over="ignore"):
        room = 0.1 * (high - low)
        return low - room, high + room
