"""Visible faces of cubes: where numbers can be written, and what hides them.

This file uses arrays; pages use web/cube_faces.js instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import Places
from scalarviz.scene.annotations import (
    BETWEEN,
    CELL,
    LEAST_LETTERS,
    ON_CUBES,
    Number,
    around_ball,
)
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.layout.division import Projection
from scalarviz.scene.layout.plates import HALF, MOST, Layout, Plate
from scalarviz.scene.pace import MOVED
from scalarviz.scene.silhouettes import spheres_seen

PAIRS = (1, 2), (0, 2), (0, 1)  # the axes of a face, by its normal axis


class SeenCube(NamedTuple):
    """A cube in the picture, with positions in logical pixels.

    Attributes:
        row: bank index
        order: indices of its faces by decreasing visible size, the same for all walls
        fronts: centers of its three potentially visible faces
        x: x coordinate of its center
        far: depth of its center
        near: depth of its number
        rooms: for each face: its height at the center, the width and height available for a number,
            and the width of the face, or 0 if the cube is not in a row
        value: its number
        share: its number as a fraction of the strongest color
        before: its number before the step while that is shown, else None
        above: width available for a number above it; 0 if it does not fit
        alone: whether no closer item overlaps it
    """

    row: int
    order: list[int]
    fronts: list[tuple[float, float]]
    x: float
    far: float
    near: float
    rooms: list[tuple[float, float, float, float]]
    value: float
    share: float
    before: float | None
    above: float
    alone: bool


def faces_seen(
    see: Projection, frame_data: FrameData, first: Mapping[int, int], scale: float, least: float
) -> tuple[FloatArray | Places, ...]:
    """Return the visible cubes that are large enough for a number, and the cubes in `first`.

    Args:
        least: minimum size of a face, as for `CubeFaces`

    Returns:
        Bank indices; centers of three faces, (n, 3, 2); half edges along each axis, (n, 3, 2);
        centers of the cubes; order of the faces; depths of center and number; `rooms`, `share` and
        `above` of `SeenCube`.
    """
    cubes = frame_data.cubes
    parts: list[tuple[FloatArray | Places, ...]] = [
        (np.zeros(0, np.int64), np.zeros((0, 3)), np.zeros((0, 3, 3)), *np.zeros((5, 0)))
    ]
    asked = 0.0 if least == np.inf else least / (2.0 * HALF * MOST)
    largest = largest_cells(see, frame_data.layout)
    for number, plate in enumerate(frame_data.layout.plates):
        is_own = plate.is_numbered if see.camera.is_front else plate.in_row
        if not first and (largest[number] < asked or not (is_own or asked == 0.0)):
            continue
        row, column, indices = cells_of(see, plate, first, scale, largest[number])
        half = plate.halves(cubes.sizes[indices], float(cubes.size_scales[number]))
        axes, unit = np.tile(plate.axes, (len(row), 1, 1)), np.full(len(row), plate.unit)
        middles = plate.middle(row, column, half)
        share = cubes.colors[indices] / float(cubes.color_scales[number])
        places = np.full((len(row), 2), (is_own, plate.gap))
        parts.append((indices, middles, axes, half, unit, share, *places.T))
    rows, middles, axes, half, units, shares, own, gaps = map(
        np.concatenate, zip(*parts, strict=True)
    )
    eye = np.array(see.camera.target) + see.camera.distance * see.toward
    sign = np.where(np.einsum("nk,nmk->nm", eye - middles, axes) < 0.0, -1.0, 1.0)
    ways = sign[..., np.newaxis] * axes
    sides = half[:, np.newaxis, np.newaxis] * ways
    corner = ON_CUBES["before"] * units[:, np.newaxis] * ways.sum(axis=1)
    every = middles[:, np.newaxis]
    points = np.concatenate([every + sides, every - sides, every, every + corner[:, np.newaxis]], 1)
    seen = see(points.reshape(-1, 3))
    xy, depth = seen.xy.reshape(-1, 8, 2), seen.depth.reshape(-1, 8)
    there = np.isfinite(xy).all(axis=(1, 2)) & in_box(see, xy[:, 6])
    xy, depth = xy[there], depth[there]
    edges = 0.5 * (xy[:, :3] - xy[:, 3:6])
    pairs = np.array(PAIRS)
    one, other = edges[:, pairs[:, 0]], edges[:, pairs[:, 1]]
    areas = 2.0 * np.abs(cross(one, other))
    reach = np.maximum(np.maximum(np.abs(one), np.abs(other)), 1e-9)
    wide, high = areas / reach[..., 1], areas / reach[..., 0]
    more = (0.5 * units / half)[there, np.newaxis]
    order = np.argsort(-np.abs(axes[there] @ see.toward), axis=1)
    whole = more * wide
    faces = wide * own[there, np.newaxis]
    rooms = np.stack([high, ON_CUBES["share"] * whole, more * high, faces], axis=2)
    above = np.take_along_axis(whole, order[:, :1], 1)[:, 0]
    above = above * (above * gaps[there] >= BETWEEN * scale)
    numbers = shares[there], above
    return rows[there], xy[:, :3], edges, xy[:, 6], order, depth[:, 6:], rooms, *numbers


def cells_of(
    see: Projection, plate: Plate, first: Mapping[int, int], scale: float, largest: float
) -> tuple[Places, Places, Places]:
    """Return row, column and bank index of those cubes of a plate that can show a number.

    Args:
        largest: size of the largest cell of the plate in pixels
    """
    least = LEAST_LETTERS * scale * ON_CUBES["shortest"] / ON_CUBES["share"]
    if plate.size <= ON_CUBES["searched"] and largest >= least:
        row, column, indices = plate.cells()
        there = in_box(see, see(plate.middle(row, column)).xy)
        return row[there], column[there], indices[there]
    places = {row: plate.place_of(row) for row in first}
    found = [(*place, row) for row, place in places.items() if place is not None]
    row, column, indices = np.array(found, np.int64).reshape(-1, 3).T
    return row, column, indices


def in_box(see: Projection, xy: FloatArray) -> npt.NDArray[np.bool_]:
    """Return a mask of the points, shape (n, 2), that are in the box of the network."""
    low, high = (see.box.x, see.box.y), (see.box.right, see.box.bottom)
    return np.asarray(((xy > low) & (xy < high)).all(axis=1))


def largest_cells(see: Projection, layout: Layout) -> list[float]:
    """Return the size of a cell in pixels at the closest corner of each plate."""
    points, units = layout.once("corners", corners_of)
    ends = np.nan_to_num(see.of(points).unit.reshape(-1, 8))
    found: list[float] = (ends.max(axis=1, initial=0.0) * units).tolist()
    return found


def corners_of(layout: Layout) -> tuple[FloatArray, FloatArray]:
    """Return the corners and the cell size of each plate."""
    points = [each.corners(0.0) for each in layout.plates]
    return np.concatenate([np.zeros((0, 3)), *points]), np.array([x.unit for x in layout.plates])


def cross(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.asarray(a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0])


class CubeFaces:
    """The cubes that may have a number, and the items that can hide them.

    Attributes:
        cubes: cubes in `first` by rank, then the closest cubes whose largest face is at least
            `least` pixels wide (0 for all cubes) or, in the front view, that have room for a number
            above them
    """

    def __init__(
        self,
        see: Projection,
        frame_data: FrameData,
        first: Mapping[int, int],
        scale: float,
        least: float,
    ) -> None:
        self.cubes: list[SeenCube] = []
        self.taken: FloatArray = np.zeros((0, 4))
        rows, self.fronts, edges, self.middles, order, depths, rooms, shares, above = faces_seen(
            see, frame_data, first, scale, least
        )
        if not len(rows):
            return
        self.far, shown = depths[:, 0], frame_data.cubes
        ranks = np.array([first.get(row, 2) for row in rows.tolist()])
        places = np.arange(len(rows))
        if least == np.inf or not see.camera.is_front:
            above = 0.0 * above
        has_room = (rooms[places, order[:, 0], 3] >= least) | (above >= CELL * scale)
        best = np.lexsort((self.far, ranks))
        best = best[(has_room | (ranks < 2))[best]][: int(ON_CUBES["most"])]
        before = shown.before if frame_data.part >= MOVED else None
        known = np.full(len(rows), None) if before is None else before[rows]
        seen = order, self.fronts, self.middles[:, 0], *depths.T, rooms
        self.sides = [edges[:, [pair[k] for pair in PAIRS]] for k in (0, 1)]
        self.areas = np.abs(cross(*self.sides))
        self.reach = np.abs(edges).sum(axis=1)  # from a cube's center to its sides
        self.spheres, self.depths = spheres_seen(see, frame_data.layout)
        values = shown.colors[rows], shares, known, above
        columns = [each[best].tolist() for each in (rows, *seen, *values)]
        self.cubes = [SeenCube(*each) for each in zip(*columns, self.alone(best), strict=True)]
        self.scale = scale

    @cached_property
    def balls(self) -> FloatArray:
        """Bounding boxes of the spheres with their numbers: left, top, right and bottom."""
        ends = [around_ball(each, self.scale).ends for each in self.spheres.tolist()]
        return np.array(ends).reshape(-1, 4)

    def alone(self, chosen: Places) -> list[bool]:
        """Return for each chosen cube whether no closer cube or sphere overlaps it."""
        radius = self.spheres[:, 2:]
        others = np.concatenate([self.middles, self.spheres[:, :2]])
        reach = np.concatenate([self.reach, radius + 0.0 * self.spheres[:, :2]])
        far = np.concatenate([self.far, self.depths])
        near: npt.NDArray[np.bool_] = far < self.far[chosen, np.newaxis]
        for axis in (0, 1):
            away = np.abs(self.middles[chosen, axis, np.newaxis] - others[:, axis])
            near &= away < reach[:, axis] + self.reach[chosen, axis, np.newaxis]
        found: list[bool] = np.logical_not(np.any(near, axis=1)).tolist()
        return found

    def take(self, number: Number) -> None:
        """Mark the area of a number as occupied."""
        self.taken = np.concatenate([self.taken, [number.ends]])

    def is_taken(self, number: Number, rank: int) -> bool:
        """Return whether a number overlaps another one, or a sphere if `rank` is not 0."""
        x, y, right, bottom = number.ends
        others = np.concatenate([self.balls, self.taken]) if rank else self.taken
        low = others[:, :2] < (right + ON_CUBES["apart"], bottom)
        return bool((low & (others[:, 2:] > (x - ON_CUBES["apart"], y))).all(axis=1).any())

    def hides(self, cube: SeenCube, face: int, aside: float) -> bool:
        """Return whether a closer item hides the center of a face or a point next to it.

        Args:
            aside: distance of these points to the left and right of the center, in pixels
        """
        if cube.alone and aside <= 0.5 * cube.rooms[face][3]:
            return False
        x, y = cube.fronts[face]
        points = np.array([(x, y), (x - aside, y), (x + aside, y)])
        near = self.spheres[self.depths < cube.far]
        away = points[:, np.newaxis] - near[:, :2]
        if ((away**2).sum(axis=-1) < near[:, 2] ** 2).any():
            return True
        apart = np.abs(self.middles - (x, y)) - (aside, 0.0)
        beside = np.flatnonzero((apart < self.reach).all(axis=1) & (self.far < cube.far))
        if not len(beside):
            return False
        u, v = self.sides[0][beside], self.sides[1][beside]
        away = points[:, np.newaxis, np.newaxis] - self.fronts[beside]
        inside = np.maximum(np.abs(cross(away, v)), np.abs(cross(u, away))) < self.areas[beside]
        return bool(inside.any())
