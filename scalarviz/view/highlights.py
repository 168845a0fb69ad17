"""Marks on single cubes: pinned, hovered, frozen, and changed by a step."""

from __future__ import annotations

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.draw2d.canvas import Canvas2D
from scalarviz.draw2d.theme import Theme
from scalarviz.view.cubes.picking import half_sides
from scalarviz.view.cubes.shaders import HALF
from scalarviz.view.frame_data import FrameData
from scalarviz.view.neuron_colors import readable
from scalarviz.view.scene.frame import Projection
from scalarviz.view.scene.plates import Plate

FROZEN, ARROWS = 14.0, 11.0  # least pixels of a cube, and per cell, at which each is drawn
MOST_ARROWS = 1500
EDGES = ((0, 1), (2, 3), (4, 5), (6, 7), (0, 2), (1, 3), (4, 6), (5, 7), (0, 4), (1, 5), (2, 6))


def draw_marks(canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme) -> None:
    """Draw boxes around the hovered and the pinned cube, and mark frozen cubes."""
    if frame_data.hover is not None:
        mark(canvas, see, frame_data, frame_data.hover.row, theme.ink, 1.2)
    if frame_data.pinned is not None:
        mark(canvas, see, frame_data, frame_data.pinned.row, theme.accent, 2.2)
    if frame_data.cubes.frozen is not None:
        for row in np.flatnonzero(frame_data.cubes.frozen)[:MOST_ARROWS].tolist():
            hold(canvas, see, frame_data, row, theme)


def mark(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, row: int, color: str, width: float
) -> None:
    seen = see(corners_of(frame_data, row, half_of(frame_data, row) + 0.03))
    if len(seen.xy) == 8 and np.isfinite(seen.xy).all():
        pairs = np.array([*EDGES, (3, 7)])
        depth = np.maximum(seen.depth[pairs] - 2e-3, -1.0)
        canvas.segments(seen.xy[pairs[:, 0]], seen.xy[pairs[:, 1]], color, width=width, depth=depth)


def half_of(frame_data: FrameData, row: int) -> float:
    """Return half the side of a cube, in a cell of at least 1."""
    cubes = frame_data.cubes
    found = frame_data.layout.plate_of(row)
    places = [i for i, plate in enumerate(frame_data.layout.plates) if found and plate is found[0]]
    if not places:
        return HALF
    top = float(cubes.size_scales[places[0]])
    return float(half_sides(cubes.sizes[row : row + 1], top)[0])


def hold(canvas: Canvas2D, see: Projection, frame_data: FrameData, row: int, theme: Theme) -> None:
    """Draw a bar at each side of a frozen cube."""
    corners = corners_of(frame_data, row, 0.5)
    if not len(corners):
        return
    seen = see(corners[[1, 3, 5, 7]])
    if len(seen.xy) == 4 and np.isfinite(seen.xy).all() and np.ptp(seen.xy[:, 1]) > FROZEN:
        low, high = seen.xy.min(axis=0), seen.xy.max(axis=0)
        rest = 0.22 * (high[1] - low[1])
        depth = max(float(seen.depth.min()) - 1e-4, -1.0)
        for x in (low[0] + 0.5, high[0] - 0.5):
            ends = [(x, low[1] + rest)], [(x, high[1] - rest)]
            canvas.segments(*ends, theme.ink, width=1.6, depth=depth)


def corners_of(frame_data: FrameData, row: int, half: float) -> FloatArray:
    """Return the corners of the box around a cube, (8, 3); empty if it is on no plate."""
    found = frame_data.layout.plate_of(row)
    if found is None:
        return np.zeros((0, 3))
    plate, i, j = found
    return plate.corners_of(i, j, half * plate.unit)


def draw_changes(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, part: float, theme: Theme
) -> None:
    """Draw a step: each cube's old color around it, and an arrow up or down."""
    before = frame_data.cubes.before
    if before is None or len(before) > MOST_ARROWS:
        return
    for i, plate in enumerate(frame_data.layout.plates):
        draw_changes_of(canvas, see, frame_data, i, plate, before, part, theme)


def draw_changes_of(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    number: int,
    plate: Plate,
    before: FloatArray,
    part: float,
    theme: Theme,
) -> None:
    row, column, rows = plate.cells()
    old, new = before[rows], frame_data.cubes.colors[rows]
    middle = see(plate.point(column + 0.5, row + 0.5, HALF))
    scale = float(frame_data.cubes.color_scales[number])
    outlines = theme.map(old, scale)
    fills = theme.map(new, scale)
    for i in range(len(rows)):
        unit = float(middle.unit[i])
        x, y = middle.xy[i].tolist()
        if not np.isfinite(x) or unit < ARROWS:
            continue
        side = 0.92 * unit
        canvas.box(
            x - side / 2,
            y - side / 2,
            side,
            side,
            None,
            radius=0.1 * unit,
            outline=outlines[i],
            line=max(1.5, 0.06 * unit),
        )
        change = float(new[i] - old[i])
        if change:
            reach = 0.24 * unit * part * (1.0 if change > 0.0 else -1.0)
            head = max(4.0, 0.22 * unit)
            ink = readable(fills[i])
            width = max(1.2, 0.05 * unit)
            canvas.arrow((x, y + reach), (x, y - reach), ink, width=width, head=head)
