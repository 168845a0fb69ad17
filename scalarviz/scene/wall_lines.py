"""Lines of walls: hairlines of what large layers say, and the ways that are lit."""

from __future__ import annotations

import numpy as np

from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import Theme
from scalarviz.scene.focus import pointed_rows, told_rows
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.layout.division import Projection
from scalarviz.scene.layout.plates import RIGHT, Fan, Layout
from scalarviz.scene.layout.threads import said_to, thread_of
from scalarviz.scene.layout.wall_ways import MOST_LIT, SeenWall, hairlines, lit_way
from scalarviz.scene.layout.ways import BEHIND
from scalarviz.scene.lines import LinePaint, rings


def walls_seen(layout: Layout, see: Projection, scale: float) -> list[tuple[Fan, SeenWall]]:
    """Return the sums of each wall, and how it is seen, unless a part is behind the eye."""
    fans = [fan for fan in layout.fans if fan.top is not None]
    seen = [(fan, seen_wall(fan, layout, see, scale)) for fan in fans]
    return [(fan, wall) for fan, wall in seen if wall is not None]


def seen_wall(fan: Fan, layout: Layout, see: Projection, scale: float) -> SeenWall | None:
    """Return a wall as it is seen; None if a part is behind the eye."""
    xy, starts = see(fan.columns + fan.rows[0] + fan.top).xy, see(fan.starts)
    found = rings(starts.xy, starts.unit, layout.neurons[fan.before])
    if not np.isfinite(xy).all() or not np.isfinite(found).all():
        return None
    return SeenWall(found, xy[: len(found)].tolist(), scale)


def draw_walls(canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme) -> None:
    """Draw the lines of all walls: ways of what is pointed at are lit, else the strongest."""
    layout, scale = frame_data.layout, canvas.scale
    walls: list[tuple[Fan, SeenWall]] = see.once(
        ("walls", scale), layout, lambda found: walls_seen(found, see, scale)
    )
    if not walls:
        return
    paint, lit = LinePaint(canvas, theme), pointed_rows(frame_data) | told_rows(frame_data)
    rows = [row for row in lit if any(fan.unit_of(row) is not None for fan, _ in walls)]
    known = frame_data.buffers.values
    if not rows:
        thread = thread_of(layout, frame_data.weights, known)
        rows = [layout.fans[number].row_of(*step) for number, *step in thread]
    for fan, wall in walls:
        values, count = said_to(fan, layout, known), fan.inputs_count
        before = np.asarray(fan.top) * RIGHT
        strokes = [(each, BEHIND) for each in hairlines(wall, values.tolist())]
        for row in [each for each in rows if fan.unit_of(each) is not None][:MOST_LIT]:
            unit, column = fan.unit_of(row) or 0, fan.unit_before(row)
            spot = fan.rows[unit] + fan.columns[column] + before
            gate = fan.columns[column] + fan.rows[0] + fan.top
            seen = see(np.stack([gate, spot, fan.ends[unit]]))
            value = float(values[column]) if column < count else 1.0
            (_, cube, end), (high, deep, far) = seen.xy.tolist(), seen.depth.tolist()
            weight = float(frame_data.cubes.colors[row])
            way = lit_way(wall, column, value, weight, tuple(cube), tuple(end))
            strokes += zip(way, [BEHIND, (high, deep), (deep, far)][-len(way) :], strict=True)
        paint.add([(each, 1 if each.value >= 0.0 else 2, depth, False) for each, depth in strokes])
    paint.draw()
