"""What moves cubes: the push of each gradient, and the old size beside the new one at the step."""

from __future__ import annotations

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.view.cubes.picking import half_sides
from scalarviz.pictures.view.frame_data import FrameData
from scalarviz.pictures.view.highlights import edges_of
from scalarviz.pictures.view.numbers import numbers_on_cubes
from scalarviz.pictures.view.scene.frame import Projection
from scalarviz.pictures.view.scene.plates import Plate

LEAST = 11.0  # pixels of a cell from which on its cube has an arrow
MOST = 1500  # arrows
SHORTEST, LONGEST = 0.3, 0.95  # of an arrow, as shares of a cell
NONE = 1e-5  # of the scale of the cubes: a gradient up to this has no arrow
FULL = 10.0  # times that: the least gradient whose arrow has the full length
NEARER = 1.2  # how far before its cube an arrow is
SEEN = 2.0  # least pixels by which a cube has grown or shrunk for a ghost


def draw_pushes(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme, scale: float
) -> bool:
    """Draw the way each cube is pushed: up if its number is to grow, longer for a larger gradient.

    An arrow stands at the right edge of its cube's front, that of a cube with a number beside it.
    Return whether there are any.
    """
    pushes = frame_data.cubes.pushes
    if pushes is None:
        return False
    known = np.abs(pushes[np.isfinite(pushes)])
    top = frame_data.cubes.top_push or float(known.max(initial=0.0))
    if top == 0.0:
        return False
    numbered, left = [*numbers_on_cubes(canvas, see, frame_data, scale)[0]], MOST
    for number, plate in enumerate(frame_data.layout.plates):
        unit = see(plate.point(plate.columns / 2.0, plate.rows / 2.0)).unit[0]
        if not unit * plate.unit >= LEAST or left <= 0:
            continue
        row, column, rows = plate.cells()
        shares = shares_of(pushes[rows], top, float(frame_data.cubes.size_scales[number]))
        pushed = np.flatnonzero(shares)[:left]
        row, column, rows = row[pushed], column[pushed], rows[pushed]
        left -= len(rows)
        half = half_sides(frame_data.cubes.sizes[rows], frame_data.cubes.size_scales[number])
        places = row, column, np.isin(rows, numbered)
        draw_arrows(canvas, see, plate, places, half * plate.unit, -shares[pushed], theme, scale)
    return left < MOST


def shares_of(pushes: FloatArray, top: float, scale: float) -> FloatArray:
    """Return gradients as shares of the longest arrow's, -1 to 1; 0 for those without an arrow.

    top    the largest gradient
    scale  that of the cubes: gradients that are nearly 0 beside it have no arrow
    """
    known = np.isfinite(pushes) & (np.abs(pushes) > NONE * scale)
    return np.where(known, pushes, 0.0) / max(top, FULL * NONE * scale)


def draw_arrows(
    canvas: Canvas2D,
    see: Projection,
    plate: Plate,
    cells: tuple[FloatArray, FloatArray, FloatArray],
    half: FloatArray,
    push: FloatArray,
    theme: Theme,
    scale: float,
) -> None:
    """Draw the arrows of some cubes of a plate; `push` is from -1 to 1.

    cells  row and column of each cube, and whether its arrow stands beside it
    """
    row, column, beside = cells
    wide, high = plate.cell
    front = see(plate.point(column + 0.5, row + 0.5, half))
    none = np.zeros_like(half)
    ways = [(half / wide, none), (-half / wide, none), (none, half / high), (none, -half / high)]
    depths = np.where(beside, -half, half)
    edges = [see(plate.point(column + 0.5 + x, row + 0.5 + y, depths)).xy for x, y in ways]
    right = max(edges, key=lambda xy: float(np.nan_to_num(xy[:, 0]).sum()))
    right = right + np.stack([3.0 * scale * beside, none], axis=1)
    # Before the cubes beside its own, too.
    nearest = see(plate.point(column + 0.5, row + 0.5, half) + NEARER * see.camera.toward)
    length = (SHORTEST + (LONGEST - SHORTEST) * np.sqrt(np.abs(push))) * plate.unit * front.unit
    length *= np.sign(push)
    x, y = right.T
    sizes = front.unit * plate.unit
    good = np.isfinite(x + y)
    x, y, length, sizes = x[good], y[good], length[good], sizes[good]
    depth = np.maximum(nearest.depth[good] - 1e-4, -1.0)
    width = np.maximum(1.6 * scale, 0.055 * sizes)
    head = np.minimum(np.maximum(5.0 * scale, 0.2 * sizes), np.abs(length))
    rim = 1.2 * scale
    start, end = np.stack([x, y + 0.5 * length], 1), np.stack([x, y - 0.5 * length], 1)
    more = np.stack([np.zeros_like(length), rim * np.sign(length)], 1)
    wider, longer = width + 2.0 * rim, head + 2.6 * rim
    canvas.arrows(
        start + more, end - 1.6 * more, theme.ground, width=wider, head=longer, depth=depth
    )
    canvas.arrows(start, end, theme.push, width=width, head=head, depth=depth)


def draw_ghosts(canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme) -> None:
    """Draw the outline of each cube as it was before the step, where the difference is seen."""
    before = frame_data.cubes.before
    if before is None or len(before) > MOST:
        return
    cubes = frame_data.cubes
    for number, plate in enumerate(frame_data.layout.plates):
        row, column, rows = plate.cells()
        top = float(cubes.size_scales[number])
        old, new = half_sides(before[rows], top), half_sides(cubes.sizes[rows], top)
        unit = see(plate.point(column + 0.5, row + 0.5)).unit * plate.unit
        for i in np.flatnonzero(2.0 * np.abs(new - old) * unit >= SEEN).tolist():
            corners = plate.corners_of(int(row[i]), int(column[i]), float(old[i]) * plate.unit)
            edges_of(canvas, see, corners, theme.light + "b0", 1.2)
