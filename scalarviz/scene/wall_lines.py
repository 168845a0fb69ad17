"""Lines of walls: thin lines for the outputs of large layers, and highlighted paths.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from scalarviz.scene.focus import pointed_rows, told_rows
from scalarviz.scene.layout.points import Vector, row3
from scalarviz.scene.layout.wall_ways import MOST_LIT, SeenWall, hairlines, lit_way
from scalarviz.scene.layout.ways import BEHIND, Stroke
from scalarviz.scene.lines import draw_signed
from scalarviz.scene.silhouettes import balls_of

if TYPE_CHECKING:
    from scalarviz.scene.canvas.canvas2d import Canvas2D
    from scalarviz.scene.canvas.palette import Theme
    from scalarviz.scene.frame_data import CubeValues, FrameData
    from scalarviz.scene.layout.division import Projection
    from scalarviz.scene.layout.plates import Fan, Layout

Drawn = tuple[Stroke, tuple[float, float]]  # a line and the depths of its ends


def walls_seen(layout: Layout, see: Projection, scale: float) -> list[tuple[Fan, SeenWall]]:
    """Return the fan of each visible wall, and the wall in the picture."""
    fans = [fan for fan in layout.fans if fan.top is not None]
    seen = [(fan, seen_wall(fan, layout, see, scale)) for fan in fans]
    return [(fan, wall) for fan, wall in seen if wall is not None]


def seen_wall(fan: Fan, layout: Layout, see: Projection, scale: float) -> SeenWall | None:
    """Return a wall in the picture; None if part of it is behind the eye."""
    line = layout.neurons[fan.before]
    half = 0.33 * line.side * max(line.shape[1:]) if line.shape else line.radius
    starts = balls_of(see, fan.starts, half)
    above = [gate_of(fan, column) for column in range(fan.inputs_count)]
    gates = balls_of(see, above, 0.0)
    if not all(math.isfinite(each.x + each.y) for each in [*starts, *gates]):
        return None
    rings = [(each.x, each.y, each.radius) for each in starts]
    return SeenWall(rings, [(each.x, each.y) for each in gates], scale)


def gate_of(fan: Fan, column: int) -> list[float]:
    """Return the point above a column of a wall."""
    assert fan.top is not None
    return joined(row3(fan.columns, column), row3(fan.rows, 0), fan.top)


def joined(*vectors: Vector) -> list[float]:
    """Return the sum of several vectors."""
    return [float(sum(each)) for each in zip(*vectors, strict=True)]


def paint_walls(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    theme: Theme,
    walls: list[tuple[Fan, SeenWall]],
    said: Callable[[Fan], list[float]],
    thread: Callable[[], list[int]],
) -> None:
    """Draw the lines of all walls, and highlight chosen paths or else the main path.

    Args:
        walls: walls in the picture
        said: function that returns the output of each input unit of a layer
        thread: function that returns the bank indices of the main path
    """
    lit = sorted({*pointed_rows(frame_data), *told_rows(frame_data)})
    rows = [row for row in lit if any(rows_in(fan, [row]) for fan, _ in walls)]
    rows = rows if rows or not walls else thread()
    for fan, wall in walls:
        values = said(fan)
        strokes: list[Drawn] = [(each, BEHIND) for each in hairlines(wall, values)]
        for row in rows_in(fan, rows)[:MOST_LIT]:
            strokes += way_through(see, fan, wall, row, values, frame_data.cubes)
        draw_signed(canvas, theme, strokes)


def rows_in(fan: Fan, rows: Sequence[int]) -> list[int]:
    """Return the bank indices that belong to a layer."""
    return [row for row in rows if fan.unit_of(row) is not None]


def way_through(
    see: Projection, fan: Fan, wall: SeenWall, row: int, values: list[float], cubes: CubeValues
) -> list[Drawn]:
    """Return the highlighted path through the cube of a bank index, with depths."""
    unit, column = fan.unit_of(row) or 0, fan.unit_before(row)
    assert fan.top is not None
    before = [float(fan.top[0]), 0.0, 0.0]
    spot = joined(row3(fan.columns, column), row3(fan.rows, unit), before)
    gate, cube, end = balls_of(see, [gate_of(fan, column), spot, row3(fan.ends, unit)], 0.0)
    value = values[column] if column < fan.inputs_count else 1.0
    weight = float(cubes.colors[row])
    way = lit_way(wall, column, value, weight, (cube.x, cube.y), (end.x, end.y))
    depths = [BEHIND, (gate.depth, cube.depth), (cube.depth, end.depth)]
    return list(zip(way, depths[-len(way) :], strict=True))
