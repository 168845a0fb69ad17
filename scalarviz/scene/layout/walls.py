"""The layout "walls": every weight of every layer is a cube, and every layer is a wall.

The trays of a layer are stacked: a row is a neuron, a column is an input, and the biases are a
column after a gap. The outputs of neurons are spheres or images at the ends of their rows. Walls
are spaced along the flow so that none hides part of another at the camera's angle, which is chosen
to fill the stage. Deep networks continue in further rows of walls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import acos, atan, cos, degrees, radians, sin

from scalarviz.core.program import Program
from scalarviz.scene.layout.camera import Camera
from scalarviz.scene.layout.plates import RIGHT, UP, Layout
from scalarviz.scene.layout.trays import (
    APART,
    GRAIN,
    MOST_IMAGE,
    About,
    Names,
    Station,
    layout_at,
    stations_of,
)

ELEVATION = 8.0  # degrees
AWAY, TURNED = 5.0, 5.0  # distance of the eye by flow length; rotation of the far end
ANGLES = 42.0, 66.0  # minimum and maximum degrees between the flow and the view
ROW, GAP = 1.15, 1.0  # cells between rows, and from a row to its neuron
FEW, SPREAD = 10, 16  # rows of a last wall that are spread, and how many of them would fit
BEFORE = 0.6  # cells from the center of a wall to lines before it
RADIUS, LARGEST = 0.4, 1.6  # radius of neurons: relative to the row distance, and maximum in cells
LEAST = 1.0  # half the side of a square
BETWEEN = 0.05  # fraction of the height of the largest wall, between two walls in the picture
RISE = 0.08  # distance of names above the lines, relative to the largest wall
MOST_ROWS, ROWS_FROM = 4, 1.25  # maximum rows of walls; cube growth required for one more


def walls(
    program: Program,
    about: About,
    names: Names | None = None,
    aspect: float = 1.75,
    squares: Sequence[str] = (),
) -> Layout:
    """Lay out a program as walls, with the same arguments as `trays_layout`."""
    stations = stations_of(program, names or {}, squares)
    made = layout_at(program, about, stations, placed(stations, aspect))
    lines = [each for each in stations if each.kind == "line"]
    radii = [min(LARGEST, RADIUS * each.pitch) for each in lines]
    neurons = [
        line if line.shape else replace(line, radius=radius, square=line.square and radius > LEAST)
        for line, radius in zip(made.neurons, radii, strict=True)
    ]
    plates = [replace(each, seat=0.0) for each in made.plates]
    pitches = {each.place: each.pitch for each in stations if each.kind == "rows"}
    tops = [(0.5 * pitches[each.operation] + 0.3) * UP - BEFORE * RIGHT for each in made.fans]
    fans = [replace(each, top=top) for each, top in zip(made.fans, tops, strict=True)]
    rise = RISE * max(each.rows * each.cell[1] for each in plates) * UP
    labels = [replace(each, place=each.place + rise) for each in made.labels]
    return replace(made, plates=plates, neurons=neurons, fans=fans, labels=labels)


def placed(stations: Sequence[Station], aspect: float) -> Camera:
    """Place stations along the flow, in several rows if there are many; return the camera."""
    groups = grouped(stations)
    for each in stations:
        each.deep, each.gap = True, APART
    for group in groups:
        tile = group[0].tile
        group[0].pitch = (tile[0] + 1.0) * GRAIN if tile else ROW
        group[0].step = (tile[1] + 1.0) * GRAIN if tile else 1.0
    made = [group[0] for group in groups if group[0].kind == "rows"]
    is_spread = len(made) > 1 and made[-1].units.count <= FEW and not made[-1].tile
    high = max(
        each.pitch * each.units.count for each in made[: -1 if is_spread else None] or stations
    )
    if is_spread:
        made[-1].pitch = max(ROW, high / SPREAD)
        made[-1].lift = 0.5 * (high - made[-1].pitch * made[-1].units.count)
    wides = [line_up(group, high) for group in groups]
    below = high * (1.0 + BETWEEN) + sin(radians(ELEVATION)) * max(wides)  # from a row to the next
    between, wide = BETWEEN * high, sum(wides)

    def tried(rows: int) -> tuple[float, float, int]:
        """Return the visible size with a number of rows, the camera angle, and the number."""
        free = aspect * rows * below - len(groups) / rows * between
        off = degrees(acos(min(max(free * rows / wide, 0.0), 1.0)))
        off = min(max(off, ANGLES[0]), ANGLES[1])
        along = (wide * cos(radians(off)) + len(groups) * between) / rows
        return min(aspect / along, 1.0 / (rows * below)) / ROWS_FROM**rows, off, rows

    _, angle, rows = max(map(tried, range(1, min(MOST_ROWS, len(groups)) + 1)))
    turned = radians(angle - TURNED)
    done, x, length, row = 0.0, 0.0, below, 0
    for group, own in zip(groups, wides, strict=True):
        if done >= (row + 1) * wide / rows:
            row, x = row + 1, 0.0
        left = 0.5 * group[0].length if group[0].kind == "rows" else 0.0
        for station in group:
            station.x = x + left * cos(turned) / sin(turned)
            station.lift -= row * below
        done, x = done + own, x + (own * cos(turned) + between) / sin(turned)
        length = max(length, x)
    fov = degrees(2.0 * atan(0.5 * rows * below / (AWAY * length)))
    return Camera(azimuth=angle - 90.0, elevation=ELEVATION, fov=fov)


def grouped(stations: Sequence[Station]) -> list[list[Station]]:
    """Return groups of stations: usually a wall with the neurons at the ends of its rows."""
    found: list[list[Station]] = []
    for station in stations:
        if not found or station.kind == "rows" or station.units != found[-1][-1].units:
            found.append([])
        found[-1].append(station)
    return found


def line_up(group: Sequence[Station], high: float) -> float:
    """Place lines of neurons at the ends of the wall's rows; return the total width."""
    wall, count = group[0], group[0].units.count
    is_wall = wall.kind == "rows"
    start = far = 0.5 * wall.length if is_wall else 0.0
    if not is_wall:
        most = MOST_IMAGE + APART if wall.shape else max(ROW, high / SPREAD)
        wall.pitch = min(high / count, most)
    for station in group[is_wall:]:
        station.pitch, station.lift = wall.pitch, wall.lift
        half = 0.5 * min(wall.pitch, 2.0 * LARGEST)
        station.aside = far + 0.5 * GAP + half
        far += GAP + 2.0 * half
    return far + start * is_wall
