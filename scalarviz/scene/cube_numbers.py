"""Numbers on cubes: each stands on the face of its cube that is largest on the screen.

What is hovered, pinned or spoken of has its numbers, covered by nothing, on cubes of any size. If
all cubes are to have theirs, a number is left out that would be wider than its cell, meet another
number or a neuron, or be covered by something nearer. While weights move, cubes have the numbers
before and after the step. Out of focus there are no numbers.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import NONE, Places
from scalarviz.scene.annotations import (
    LEAST_LETTERS,
    Number,
    around_ball,
    choices,
    fitted,
    write_number,
)
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import HALO, NUMBER
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.layout.division import Projection
from scalarviz.scene.layout.plates import Plate
from scalarviz.scene.lights import Lights, rows_explained, rows_in_focus
from scalarviz.scene.pace import MOVED
from scalarviz.scene.silhouettes import spheres_seen


def draw_numbers(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    scale: float,
    lit: Lights | None = None,
) -> None:
    """Write numbers on the cubes.

    lit  brightness of the plates; None: all are bright
    """
    found, plates = numbers_on_cubes(canvas, see, frame_data, scale)
    for row, number in found.items():
        if lit is None or not lit.is_dim(row, plates[row]):
            write_number(canvas, number, NUMBER, HALO)


def numbers_on_cubes(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, scale: float
) -> tuple[dict[int, Number], dict[int, int]]:
    """Return what is written on cubes, and the number of the plate of each, by bank index."""
    first = first_rows(frame_data)
    if not first and not frame_data.look.numbers:
        return {}, {}
    faces = faces_seen(see, frame_data, first, scale)
    rows = faces.rows.tolist()
    shown = [i for i, row in enumerate(rows) if frame_data.look.numbers or row in first]
    order = sorted(shown, key=lambda i: (first.get(rows[i], 2), faces.far[i]))
    hidden, found = Hidden(see, frame_data, faces), dict[int, Number]()
    taken = np.array([around_ball(each, scale).ends for each in hidden.spheres.tolist()])
    boxes, count = np.concatenate([taken.reshape(-1, 4), np.zeros((len(rows), 4))]), len(taken)
    for i in order[: int(NUMBERS["most"])]:
        row, rank = rows[i], first.get(rows[i], 2)
        own, before = faces.order[i].tolist(), frame_data.cubes.before
        old = float(before[row]) if before is not None and frame_data.part >= MOVED else None
        value = float(frame_data.cubes.colors[row])
        for words, face, is_open in choices(old, value, own, rank):
            room = faces.high.item(i, face), faces.wide.item(i, face), faces.tall.item(i, face)
            front = faces.fronts.item(i, face, 0), faces.fronts.item(i, face, 1)
            place = front, faces.middles.item(i, 0) - front[0], faces.near.item(i)
            number = fitted(canvas, words, rank, *place, room)
            if number is None:
                continue
            x, y, right, bottom = ends = number.ends
            others = boxes[len(taken) if rank == 0 else 0 : count]  # what is marked has its number
            low = others[:, :2] < (right + NUMBERS["apart"], bottom)
            if (low & (others[:, 2:] > (x - NUMBERS["apart"], y))).all(axis=1).any():
                continue
            if is_open and hidden(i, face, NUMBERS["seen"] * (right - x)):
                continue
            found[row], boxes[count] = number, ends
            count += 1
            break
    return found, dict(zip(rows, faces.plates.tolist(), strict=True))


def first_rows(frame_data: FrameData) -> dict[int, int]:
    """Return the bank indices that have their numbers always: 0 if it is marked itself, else 1."""
    told, most = frame_data.told, int(NUMBERS["most"])
    chain = told.chain if told is not None else ()
    marked = bool(frame_data.cubes.moved[0] or chain)  # these have outlines or hooks
    beside = [*rows_explained(frame_data), *(each.row for each in chain if each.row != NONE)]
    beside += [] if marked else rows_in_focus(frame_data)[:most]
    chosen = [*frame_data.chosen_rows, *frame_data.beside]
    return dict.fromkeys(beside, 1) | dict.fromkeys(chosen, 0)


# Faces of cubes as they are seen: where a number may stand on each, and what hides it.

# What the page needs, too. Sizes are logical pixels.
NUMBERS = {
    "share": 1.35,  # largest width of a number, in cells: small cubes are narrower than theirs
    "shortest": 1.9,  # width of a number such as "-.1", in sizes of letters
    "most": 400,  # numbers in a picture, and cubes of a sum
    "searched": 100_000,  # cubes of a wall: larger ones are not searched for cubes in sight
    "before": 0.875,  # from the middle of a cell to where its number stands: before cubes beside it
    "apart": 2.0,  # between two numbers
    "seen": 0.45,  # how far from its middle a number must be seen, relative to its width
}
PAIRS = (1, 2), (0, 2), (0, 1)  # the axes along a face, by the axis that it is orthogonal to


@dataclass(frozen=True)
class Faces:
    """Cubes as they are seen, of one length; points and lengths are logical pixels.

    rows    bank indices; `plates` are the numbers of their plates
    fronts  (n, 3, 2), middles of the three faces that may be seen
    edges   (n, 3, 2), half an edge along each axis
    middles (n, 2), middles of the cubes
    order   (n, 3), the faces, that first which looks largest, the same one on all walls
    far     depth of the middle; `near` is the depth of its number
    high    (n, 3), height of each face at its middle
    wide    (n, 3), width that a number may have on each face; `tall` is its height
    """

    rows: Places
    plates: Places
    fronts: FloatArray
    edges: FloatArray
    middles: FloatArray
    order: Places
    far: FloatArray
    near: FloatArray
    high: FloatArray
    wide: FloatArray
    tall: FloatArray


def faces_seen(
    see: Projection, frame_data: FrameData, first: Collection[int], scale: float
) -> Faces:
    """Return the cubes in sight that are large enough for a number, and the `first` ones."""
    cubes = frame_data.cubes
    parts: list[tuple[FloatArray | Places, ...]] = [
        (*np.zeros((2, 0), np.int64), np.zeros((0, 3)), np.zeros((0, 3, 3)), *np.zeros((2, 0)))
    ]
    for number, plate in enumerate(frame_data.layout.plates):
        row, column, indices = cells_of(see, plate, first, scale)
        half = plate.halves(cubes.sizes[indices], float(cubes.size_scales[number]))
        axes, unit = np.tile(plate.axes, (len(row), 1, 1)), np.full(len(row), plate.unit)
        middles = plate.middle(row, column, half)
        parts.append((indices, np.full(len(row), number), middles, axes, half, unit))
    rows, plates, middles, axes, half, units = map(np.concatenate, zip(*parts, strict=True))
    eye = np.array(see.camera.target) + see.camera.distance * see.toward
    sign = np.where(np.einsum("nk,nmk->nm", eye - middles, axes) < 0.0, -1.0, 1.0)
    ways = sign[..., np.newaxis] * axes
    sides = half[:, np.newaxis, np.newaxis] * ways
    corner = NUMBERS["before"] * units[:, np.newaxis] * ways.sum(axis=1)
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
    rows, plates, more = rows[there], plates[there], (0.5 * units / half)[there, np.newaxis]
    order = np.argsort(-np.abs(axes[there] @ see.toward), axis=1)
    wide, tall = NUMBERS["share"] * more * wide, more * high
    return Faces(
        rows, plates, xy[:, :3], edges, xy[:, 6], order, depth[:, 6], depth[:, 7], high, wide, tall
    )


def cells_of(
    see: Projection, plate: Plate, first: Collection[int], scale: float
) -> tuple[Places, Places, Places]:
    """Return row, column and bank index of the cubes of a plate that may have a number."""
    least = LEAST_LETTERS * scale * NUMBERS["shortest"] / NUMBERS["share"]
    if plate.size <= NUMBERS["searched"] and largest_cell(see, plate) >= least:
        row, column, indices = plate.cells()
        there = in_box(see, see(plate.middle(row, column)).xy)
        return row[there], column[there], indices[there]
    places = {row: plate.place_of(row) for row in first}
    found = [(*place, row) for row, place in places.items() if place is not None]
    row, column, indices = np.array(found, np.int64).reshape(-1, 3).T
    return row, column, indices


def in_box(see: Projection, xy: FloatArray) -> npt.NDArray[np.bool_]:
    """Return which points, (n, 2), are in the box of the network."""
    low, high = (see.box.x, see.box.y), (see.box.right, see.box.bottom)
    return np.asarray(((xy > low) & (xy < high)).all(axis=1))


def largest_cell(see: Projection, plate: Plate) -> float:
    """Return the pixels of a cell at the corner of a plate that is nearest."""
    ends = see(plate.corners(0.0)).unit
    return float(np.nanmax(ends)) * plate.unit if np.isfinite(ends).any() else 0.0


def cross(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.asarray(a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0])


class Hidden:
    """Which cubes and spheres are before a number."""

    def __init__(self, see: Projection, frame_data: FrameData, faces: Faces) -> None:
        self.faces = faces
        self.sides = [faces.edges[:, [pair[k] for pair in PAIRS]] for k in (0, 1)]
        self.areas = np.abs(cross(*self.sides))
        self.reach = np.abs(faces.edges).sum(axis=1)  # from the middle of a cube to its sides
        self.spheres, self.depths = spheres_seen(see, frame_data.layout)

    def __call__(self, i: int, face: int, aside: float) -> bool:
        """Return whether a nearer sphere or cube is before the middle of a face, or left or right.

        aside  how many pixels to the left and to the right
        """
        faces = self.faces
        x, y = faces.fronts[i, face]
        points = np.array([(x, y), (x - aside, y), (x + aside, y)])
        near = self.spheres[self.depths < faces.far[i]]
        away = points[:, np.newaxis] - near[:, :2]
        if ((away**2).sum(axis=-1) < near[:, 2] ** 2).any():
            return True
        apart = np.abs(faces.middles - (x, y)) - (aside, 0.0)
        beside = np.flatnonzero((apart < self.reach).all(axis=1) & (faces.far < faces.far[i]))
        if not len(beside):
            return False
        u, v = self.sides[0][beside], self.sides[1][beside]
        away = points[:, np.newaxis, np.newaxis] - faces.fronts[beside]
        inside = np.maximum(np.abs(cross(away, v)), np.abs(cross(u, away))) < self.areas[beside]
        return bool(inside.any())
