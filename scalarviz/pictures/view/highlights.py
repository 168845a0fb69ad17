"""Marks on single cubes and neurons: pinned, hovered, spoken of, and frozen."""

from __future__ import annotations

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import NONE
from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.view.cubes.picking import half_sides
from scalarviz.pictures.view.cubes.shaders import HALF
from scalarviz.pictures.view.frame_data import FrameData
from scalarviz.pictures.view.lights import BACK
from scalarviz.pictures.view.scene.frame import Projection
from scalarviz.training.session.caption import Neuron

FROZEN = 8.0  # least pixels of a frozen cube at which it is marked
RINGED = 3  # neurons of a caption that are marked
MARKED = 64  # cubes of a caption that are marked
MOST = 1500  # frozen cubes that are marked
EDGES = ((0, 1), (2, 3), (4, 5), (6, 7), (0, 2), (1, 3), (4, 6), (5, 7), (0, 4), (1, 5), (2, 6))


def draw_marks(canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme) -> None:
    """Mark cubes and neurons that are hovered, pinned or spoken of, and frozen cubes."""
    draw_highlights(canvas, see, frame_data, theme)
    if frame_data.hover is not None:
        mark(canvas, see, frame_data, frame_data.hover.row, theme.ink, 1.2)
    for row in frame_data.beside:
        mark(canvas, see, frame_data, row, theme.accent, 1.4)
    if frame_data.pinned is not None:
        mark(canvas, see, frame_data, frame_data.pinned.row, theme.accent, 2.2)
    if frame_data.cubes.frozen is not None:
        for row in np.flatnonzero(frame_data.cubes.frozen)[:MOST].tolist():
            hold(canvas, see, frame_data, row, theme)


def draw_highlights(canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme) -> None:
    """Mark what the caption of an operation is about, and what is hovered and pinned."""
    caption, moment = frame_data.words.caption, frame_data.moment
    if moment is not None and caption is not None:
        light = theme.accent if moment.kind in BACK else theme.light
        for neuron in caption.neurons[:RINGED]:
            ring(canvas, see, frame_data, neuron, light, 3.0)
        for row in caption.rows[:MARKED]:
            mark(canvas, see, frame_data, row, light, 2.0)
    if frame_data.hover_neuron is not None:
        ring(canvas, see, frame_data, frame_data.hover_neuron, theme.ink, 1.6)
    if frame_data.pinned_neuron is not None:
        ring(canvas, see, frame_data, frame_data.pinned_neuron, theme.accent, 3.0)
    pointed = frame_data.pointed
    if pointed is not None and pointed.row != NONE:
        mark(canvas, see, frame_data, pointed.row, theme.light, 3.0)
    if pointed is not None and pointed.neuron is not None:
        ring(canvas, see, frame_data, pointed.neuron, theme.light, 3.0)


def ring(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    neuron: Neuron,
    color: str,
    width: float,
) -> None:
    """Draw a ring around a neuron's sphere, or a frame around its image."""
    found = frame_data.layout.line_of(neuron)
    if found is None:
        return
    line, place = found
    if line.shape and place < len(line.points):
        corners = line.corners()[place // (line.shape[1] * line.shape[2])]
        left, right, low = see(corners).xy
        path = np.array([left, right, right + low - left, low, left])
        if np.isfinite(path).all():
            canvas.line(path, color, width=width * canvas.scale)
        return
    seen = see(line.point(place))
    if np.isfinite(seen.xy).all():
        width *= canvas.scale
        radius = line.radius * float(seen.unit[0]) + canvas.scale + 0.5 * width
        depth = np.maximum(see(line.point(place) + line.radius * see.camera.toward).depth, -1.0)
        canvas.discs(seen.xy, [radius], None, outline=color, line=width, depth=depth)


def mark(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, row: int, color: str, width: float
) -> None:
    corners = corners_of(frame_data, row, half_of(frame_data, row) + 0.03)
    edges_of(canvas, see, corners, color, width)


def edges_of(
    canvas: Canvas2D, see: Projection, corners: FloatArray, color: str, width: float
) -> None:
    """Draw the edges of a box, (8, 3), in space; `width` is that in a picture of 1280 x 800."""
    width *= canvas.scale
    seen = see(corners) if len(corners) == 8 else None
    if seen is not None and np.isfinite(seen.xy).all():
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
    """Draw a bar along each side of a frozen cube."""
    corners = corners_of(frame_data, row, half_of(frame_data, row) + 0.05)
    if not len(corners):
        return
    seen = see(corners)
    if len(seen.xy) == 8 and np.isfinite(seen.xy).all() and np.ptp(seen.xy[:, 1]) > FROZEN:
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
