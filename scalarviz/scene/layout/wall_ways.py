"""Lines over walls: the paths between large layers in the picture.

The neurons with the largest outputs have thin lines that start at the ends of their rows, rise in
front of the next wall, pass over its top and end at their columns. A highlighted path continues
down its column to its cube, and from there along the row to its neuron.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from scalarviz.scene.layout.ways import Point, Ring, Stroke, rounded

HAIRS = 12  # neurons of a line with a hairline
ASIDE, LANES, RISE, STEP = 20.0, 14.0, 6.0, 0.3  # pixels: wall to lanes, their room, top to lines
BEND = 5.0  # radius of corners in pixels
LIT, CASING, MOST_LIT = 2.4, 1.4, 16  # pixels of a lit path; and maximum lit paths of a wall


@dataclass
class SeenWall:
    """A wall in the picture, in logical pixels.

    Attributes:
        starts: center and radius of the input units
        gates: points above the columns of the input units
        scale: size of letters and lines
        lines: cached lines over the wall, by column
    """

    starts: list[Ring]
    gates: list[Point]
    scale: float
    lines: dict[int, list[Point]] = field(default_factory=dict)


def known_over(wall: SeenWall, column: int) -> list[Point]:
    """Return the line from an input unit to its column, cached."""
    if column not in wall.lines:
        wall.lines[column] = over(wall, column)
    return wall.lines[column]


def over(wall: SeenWall, column: int) -> list[Point]:
    """Return the line from an input unit over the top of the wall to its column.

    For input units in another row of walls, only the end of the line is drawn.
    """
    (x, y, radius), (right, top), first = wall.starts[column], wall.gates[column], wall.gates[0]
    count, scale = len(wall.starts), wall.scale
    lane = max(x + radius + 1.0, first[0] - (ASIDE - LANES * column / count) * scale)
    rise = (RISE + STEP * min(count, 64) * (1.0 - column / count)) * scale
    if x > first[0]:
        return [(right, top - rise), (right, top)]
    path = [(x + radius, y), (lane, y), (lane, first[1] - rise), (right, top - rise), (right, top)]
    return rounded(path, BEND * scale)


def hairlines(wall: SeenWall, values: list[float]) -> list[Stroke]:
    """Return the lines of the input units with the largest outputs."""
    sizes = sorted([abs(value) for value in values])
    least, top = max(1e-12, sizes[-min(HAIRS, len(sizes))]), max(1e-12, sizes[-1])
    found = []
    for column in range(len(values)):
        part = abs(values[column]) / top
        if abs(values[column]) >= least:
            width = (0.7 + 0.4 * part) * wall.scale
            path = known_over(wall, column)
            found.append(
                Stroke("hair", path, -1, column, values[column], width, 0.0, 0.3 + 0.3 * part)
            )
    return found


def lit_way(
    wall: SeenWall, column: int, value: float, weight: float, cube: Point, end: Point
) -> list[Stroke]:
    """Return a highlighted path over the wall, down to a cube, and along the row to its neuron.

    For a bias, only the last part is returned.

    Args:
        value: input of the cube
        weight: number of the cube
    """
    width, casing = LIT * wall.scale, CASING * wall.scale
    paths = [[cube, end]]
    if column < len(wall.starts):
        paths = [known_over(wall, column), [wall.gates[column], cube], [cube, end]]
    numbers = [value] * (len(paths) - 1) + [weight * value if len(paths) > 1 else weight]
    return [
        Stroke("lit", path, -1, column, number, width, casing, 0.95)
        for path, number in zip(paths, numbers, strict=True)
    ]
