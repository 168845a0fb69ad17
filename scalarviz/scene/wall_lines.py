"""Lines of walls: hairlines of what large layers say, and the ways that are lit."""

from __future__ import annotations

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import NONE
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import Theme
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.layout.division import Projection
from scalarviz.scene.layout.plates import RIGHT, Fan
from scalarviz.scene.layout.wall_ways import MOST_LIT, SeenWall, hairlines, lit_way
from scalarviz.scene.lines import BEHIND, LinePaint, pointed_rows, rings, told_rows


def draw_walls(canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme) -> None:
    """Draw the lines of all walls: ways of what is pointed at are lit, else the strongest."""
    layout, paint = frame_data.layout, LinePaint(canvas, theme)
    walls = [fan for fan in layout.fans if fan.top is not None]
    lit = pointed_rows(frame_data) | told_rows(frame_data) if walls else ()
    rows = [row for row in lit if any(fan.unit_of(row) is not None for fan in walls)]
    rows = rows or strongest_way(frame_data, walls)
    for fan in walls:
        values, count = said_to(fan, frame_data), fan.inputs_count
        before = np.asarray(fan.top) * RIGHT
        gates = fan.columns + fan.rows[0] + fan.top
        xy, starts = see(gates).xy, rings(fan.starts, layout.neurons[fan.before], see)
        if not np.isfinite(xy).all() or not np.isfinite(starts).all():
            continue
        wall = SeenWall(starts, [(x, y) for x, y in xy[:count].tolist()], canvas.scale)
        strokes = [(each, BEHIND) for each in hairlines(wall, values.tolist())]
        for row in [each for each in rows if fan.unit_of(each) is not None][:MOST_LIT]:
            unit, column = fan.unit_of(row) or 0, fan.unit_before(row)
            spot = fan.rows[unit] + fan.columns[column] + before
            seen = see(np.stack([gates[column], spot, fan.ends[unit]]))
            value = float(values[column]) if column < count else 1.0
            (_, cube, end), (gate, deep, far) = seen.xy.tolist(), seen.depth.tolist()
            weight = float(frame_data.cubes.colors[row])
            way = lit_way(wall, column, value, weight, tuple(cube), tuple(end))
            depths = [BEHIND, (gate, deep), (deep, far)][-len(way) :]
            strokes += zip(way, depths, strict=True)
        for stroke, depth in strokes:
            paint.add(stroke, 1 if stroke.value >= 0.0 else 2, depth, hollow=False)
    paint.draw()


def said_to(fan: Fan, frame_data: FrameData) -> FloatArray:
    """Return what each unit before a wall says, of an image the mean; zeros if it is not known."""
    line, known = frame_data.layout.neurons[fan.before], frame_data.buffers.values
    values = known.get(line.values, known.get(line.sums, np.zeros(len(line.points))))
    means = values[fan.reads].reshape(fan.inputs_count, -1).mean(axis=1)
    found: FloatArray = np.nan_to_num(means)
    return found


def strongest_way(frame_data: FrameData, walls: list[Fan]) -> list[int]:
    """Return the bank index of one cube of each wall: the way that carries most to the last."""
    found: list[int] = []
    unit, last = 0, NONE
    for fan in walls[::-1]:
        if fan.operation == last:
            continue
        count, last = fan.inputs_count, fan.operation
        first = fan.row_of(min(unit, len(fan.ends) - 1), 0)
        own = np.abs(frame_data.weights[first : first + fan.inputs]).reshape(count, -1).max(axis=1)
        column = int(np.nanargmax(own * np.abs(said_to(fan, frame_data))))
        found.append(fan.row_of(min(unit, len(fan.ends) - 1), column))
        unit = column + fan.reads.start // max(1, fan.reads.stop - fan.reads.start)
    return found
