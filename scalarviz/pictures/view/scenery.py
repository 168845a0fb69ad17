"""What stands on and beside the cubes: marks and numbers of neurons, numbers of cubes, labels."""

from __future__ import annotations

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import NONE
from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.view.cubes.picking import half_sides
from scalarviz.pictures.view.frame_data import FrameData
from scalarviz.pictures.view.labels import Obstacles, draw_labels
from scalarviz.pictures.view.lights import BACK, Lights
from scalarviz.pictures.view.neurons import draw_neurons
from scalarviz.pictures.view.numbers import draw_numbers
from scalarviz.pictures.view.scene.frame import Projection
from scalarviz.pictures.view.scene.plates import NEAR, Neurons, Wires
from scalarviz.pictures.view.signs import draw_signs
from scalarviz.pictures.view.tied import draw_tied
from scalarviz.pictures.view.written import draw_written

HEAD, SMALL_HEAD = 11.0, 8.0  # pixels of an arrow head, at spheres and at images
CORNER = 1.4  # from the middle of a cube as seen to its corners, in halves of its side


def draw_scenery(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    lit: Lights,
    theme: Theme,
    scale: float = 1.0,
) -> Obstacles:
    """Draw what stands on and beside cubes and spheres, with depth, so that cubes hide it.

    Return what other words must not cover.
    """
    for i, line in enumerate(frame_data.layout.neurons):
        bright = lit.neurons_of(i, len(line.points))
        draw_neurons(canvas, see, line, bright, frame_data, theme, scale)
    draw_heads(canvas, see, frame_data, theme, scale)
    draw_tied(canvas, see, frame_data, theme, scale)
    draw_numbers(canvas, see, frame_data, scale, lit)
    draw_written(canvas, see, frame_data.layout, theme, scale)
    draw_signs(canvas, see, frame_data, theme, scale)
    return draw_labels(canvas, see, frame_data, theme, scale)


def draw_heads(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme, scale: float
) -> None:
    """Draw arrow heads where the wires of a sum arrive, and where those of images end.

    While numbers go back, the heads are where they arrive then.
    """
    size, moment = HEAD * scale, frame_data.moment
    cubes_seen = places_of_cubes(see, frame_data)
    back = moment is not None and moment.kind in BACK
    for bundle in frame_data.layout.wires:
        if bundle.head is not None:
            line = frame_data.layout.neurons[bundle.neurons] if back else None
            head_wires(canvas, see, bundle, line, theme, scale)
    for fan in frame_data.layout.fans:
        if not fan.is_wired:
            continue
        if back and not fan.is_first:  # inputs get no gradient
            count = len(fan.columns) - (fan.biases != NONE)
            places, through = fan.starts[:count], fan.columns[:count] + fan.rows.mean(axis=0)
        else:
            places, through = fan.ends, fan.rows + fan.columns.mean(axis=0)
        ends, cubes = see(places), see(through)
        way = ends.xy - cubes.xy
        way = way / np.maximum(np.hypot(way[:, 0], way[:, 1]), 1e-9)[:, np.newaxis]
        tips = ends.xy - way * (fan.radius * ends.unit + scale)[:, np.newaxis]
        color = theme.accent if places is not fan.ends else theme.quiet
        free = [not is_on_cube(middle, cubes_seen) for middle in tips - 0.5 * size * way]
        own = np.array(free, np.bool_) & (fan.radius * ends.unit > size)
        starts, depth = (tips - size * way)[own], ends.depth[own]
        canvas.arrows(starts, tips[own], color, head=size, depth=depth)


def places_of_cubes(see: Projection, frame_data: FrameData) -> FloatArray:
    """Return x, y and radius of the cubes as seen, (n, 3), where all wires are drawn; else none."""
    layout, found = frame_data.layout, [np.zeros((0, 3))]
    wired = any(fan.is_wired for fan in layout.fans)
    for plate, top in zip(layout.plates, frame_data.cubes.size_scales, strict=True):
        if wired:
            row, column, indices = plate.cells()
            seen = see(plate.point(column + 0.5, row + 0.5))
            half = half_sides(frame_data.cubes.sizes[indices], float(top)) * plate.unit
            found.append(np.column_stack([seen.xy, CORNER * half * seen.unit]))
    return np.concatenate(found)


def is_on_cube(place: FloatArray, cubes: FloatArray) -> bool:
    """Return whether a place of the picture is on a cube."""
    return bool((np.hypot(*(cubes[:, :2] - place).T) < cubes[:, 2]).any())


def head_wires(
    canvas: Canvas2D,
    see: Projection,
    bundle: Wires,
    back: Neurons | None,
    theme: Theme,
    scale: float,
) -> None:
    """Draw an arrow head where each wire of a bundle meets its image.

    back  the neurons of the bundle, if numbers go back: heads are at the start of the wires then
    """
    begin, finish, half = bundle.start, bundle.end, bundle.head or 0.0
    if back is not None:
        begin, finish, half = finish, begin, half_of(back) if bundle.outgoing else 0.0
    start, end = see(begin), see(finish)
    wide = np.abs(see(finish + half * NEAR).xy[:, 0] - end.xy[:, 0])
    way = end.xy - start.xy
    way = way / np.maximum(np.hypot(way[:, 0], way[:, 1]), 1e-9)[:, np.newaxis]
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.fmin(wide / np.abs(way[:, 0]), half * end.unit / np.abs(way[:, 1]))
    tips = end.xy - way * (np.nan_to_num(reach) + scale)[:, np.newaxis]
    size, color = SMALL_HEAD * scale, theme.quiet if back is None else theme.accent
    canvas.arrows(tips - size * way, tips, color, head=size, depth=end.depth)


def half_of(line: Neurons) -> float:
    """Return half the side of the images of a line, or the radius of its neurons."""
    return 0.5 * line.side * max(line.shape[1:]) if line.shape else line.radius
