"""Where the lines and walls of the layout "beads" stand along the flow of the data."""

from __future__ import annotations

from dataclasses import replace
from math import cos, radians, sin

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.pictures.view.scene.beads_lines import Run, Station
from scalarviz.pictures.view.scene.plates import NEAR, RIGHT, UP

ELEVATION = 15.0  # degrees from which the scene is seen
CORRIDOR = 24  # units; longer lines stand at the edges of the walls
# How much larger what is in front is seen, for the perspective; more if there is but one wall.
NEARER, OF_ONE_WALL = 1.12, 1.3
MARGIN = 1.28  # cells between the last cube of a wall and the line after it, as they are seen
OVERLAP = 0.15  # share of a wall that the wall before it may hide
BRANCHES = 0.2  # share of a folded wall that stays free before it, for the wires to its blocks
CLOSE, CLOSER = 2.2, 1.4  # least distance along the flow, in small and large networks
BETWEEN_ROWS = 2.0  # room between two rows of a folded network
HANGING, ABOVE = 0.6, 0.8  # from a wall to the images below it: along the flow, and downwards


def is_corridor(station: Station) -> bool:
    """Return whether a line stands at the edge of the walls."""
    return station.run.count > CORRIDOR and not station.run.images


def is_row(station: Station) -> bool:
    """Return whether a station is one row in depth."""
    return station.kind != "wall" and not station.run.upright and station.run.blocks == 1


def is_beside(station: Station) -> bool:
    """Return whether the columns of a wrapped line stand between the blocks of the wall before."""
    return station.kind == "line" and station.run.upright and station.run.blocks > 1


def box_of(station: Station, stations: list[Station]) -> FloatArray:
    """Return least and most of depth (z) and height (y) of a station: [[z, y], [z, y]]."""
    run, half = station.run, 0.5
    if station.kind == "line":
        ends = places_of(station, stations)
        half = 0.5 * station.pixel * max(station.shape[1:]) if station.shape else station.radius
    elif station.kind == "scale":
        ends = run.all_at(corner_units(run)) + station.aside
        half = 0.5 * run.pitch if run.images else 0.5
    else:
        before = station.before
        units = corner_units(before)
        if station.fold > 1:
            each = before.count // station.fold
            units = [0, each - 1, before.count - each, before.count - 1]
        rows = station.rows_at(corner_units(run))
        columns = station.columns_at([*units, *[before.count] * before.one])
        ends = (rows[:, np.newaxis] + columns).reshape(-1, 3)
        half = 0.5 * station.grain * max(station.tile) if station.tile else 0.5
    low, high = ends[:, [2, 1]].min(axis=0) - half, ends[:, [2, 1]].max(axis=0) + half
    return np.array([low, high])


def corner_units(run: Run) -> list[int]:
    """Return the first and last units of each block."""
    found: dict[int, None] = {}
    for first in range(0, run.count, run.block):
        end = min(first + run.block, run.count)
        ends = *range(first, end)[: run.lanes], *range(first, end)[-run.lanes :]
        found |= dict.fromkeys(ends)
    return list(found)


def places_of(station: Station, stations: list[Station]) -> FloatArray:
    """Return where the units of a line stand, and its 1 if it has one, apart from the flow."""
    run = station.run
    points = run.all_at(np.arange(run.count + run.one))
    return points + rim(station, stations) if is_corridor(station) else points


def rim(station: Station, stations: list[Station]) -> FloatArray:
    """Return the way from the middle of the walls beside a long line to their edge."""
    run = station.run
    walls = [each for each in stations if each.kind == "wall" and each.run is run]
    walls = walls or [each for each in stations if each.kind == "wall" and each.before is run]
    if not walls:
        return np.zeros(3)
    boxes = np.array([box_of(each, stations) for each in walls])
    if run.upright:
        near: FloatArray = (float(boxes[:, 1, 0].max()) + 1.0) * NEAR
        return near
    top: FloatArray = (float(boxes[:, 1, 1].max()) + 1.0) * UP
    return top


def along_flow(stations: list[Station], angle: float, wider: float = 1.0) -> list[FloatArray]:
    """Choose the place of each station, so that little hides what is behind it; return their boxes.

    angle  degrees off the flow from which the scene is seen
    wider  factor of the distances
    """
    boxes = [box_of(each, stations) + np.array([0.0, each.lift]) for each in stations]
    seen = [with_images(i, stations, boxes) for i in range(len(stations))]
    large = max(float(np.ptp(box[:, 1])) for box in boxes) > CORRIDOR
    nearer = NEARER if sum(each.kind == "wall" for each in stations) > 1 else OF_ONE_WALL
    x = 0.0
    for i, station in enumerate(stations):
        factor = 1.0 if is_beside(station) else wider
        if i:
            is_short = large and "scale" not in (station.kind, stations[i - 1].kind)
            least = CLOSER if is_short else CLOSE
            x += HANGING if hangs(station, stations[i - 1]) else least * factor
        for j in range(max(0, i - 3), i):
            least = apart(stations[j], seen[j], station, seen[i], radians(angle), nearer)
            x = max(x, float(stations[j].origin[0]) + least * factor)
        station.origin = x * RIGHT + station.lift * UP
    return boxes


def set_aside(stations: list[Station]) -> None:
    """Put gains and shifts of long lines on the wires between these, at the edge of the walls."""
    for station in stations:
        if station.kind == "scale" and is_corridor(station):
            station.aside = rim(station, stations)


def hang(stations: list[Station]) -> None:
    """Put images in depth below the wall of their kernels, so that its columns lead to them."""
    for i, wall in enumerate(stations):
        run = wall.run
        if wall.kind != "wall" or not wall.tile or not run.images or run.upright:
            continue
        count = next((j for j, each in enumerate(stations[i:]) if each.run is not run), None)
        group = stations[i:][1:count]
        top, y = box_of(wall, stations)[::-1, 1]
        for number, station in enumerate(group):
            if station.kind == "line":
                high = run.pitch * (run.lanes - 1) + station.pixel * max(station.shape[1:])
                station.lift = y - ABOVE - high / 2.0
                y -= ABOVE + high
                for scale in group[max(0, number - 1) : number]:
                    scale.lift = station.lift if scale.kind == "scale" else scale.lift
        for station in (wall, *group):
            station.lift -= (top + y) / 2.0


def with_images(number: int, stations: list[Station], boxes: list[FloatArray]) -> FloatArray:
    """Return the box of a station, with the depth of the images that hang below it."""
    if stations[number].kind != "wall" or not stations[number].lift:
        return boxes[number]
    (near, low), (far, high) = boxes[number]
    below = boxes[number + 1][:, 0]
    return np.array([(min(near, below[0]), low), (max(far, below[1]), high)])


def hangs(station: Station, before: Station) -> bool:
    """Return whether a line hangs below the wall before it, or below a line that does."""
    return station.lift != 0.0 and station.kind == "line" and before.kind != "scale"


def apart(
    front: Station,
    before: FloatArray,
    station: Station,
    own: FloatArray,
    off: float,
    nearer: float = NEARER,
) -> float:
    """Return the least distance along the flow from one station to a later one."""
    hidden = allowed(front, before, station, own)
    if hidden is None:
        return 0.0
    c, s, up = cos(off), sin(off), radians(ELEVATION)
    right, left, wide = before[1, 0], own[0, 0], np.ptp(own[:, 0])
    if front.run is station.run and is_beside(station):
        return 0.5 * station.run.apart * c / s  # in the middle between two blocks
    nearer = 1.0 if hidden or station.lift else nearer
    margin = MARGIN if station.kind == "line" else 0.6
    reach = (nearer * (right - left - hidden * wide) * c + margin) / s
    if hidden == 0.0 and is_row(front) and is_row(station):
        # Seen from above, a row stands higher than the one before it.
        high = 0.5 * float(np.ptp(before[:, 1]) + np.ptp(own[:, 1])) + 0.2
        reach = min(reach, high * cos(up) / (c * sin(up)))
    return max(float(reach), 0.0)


def allowed(front: Station, before: FloatArray, station: Station, own: FloatArray) -> float | None:
    """Return the share of a station's width that one in front of it may hide; None for all."""
    high = min(before[1, 1], own[1, 1]) - max(before[0, 1], own[0, 1])
    if station.kind != "wall":
        return 0.0 if high >= 0.35 * np.ptp(own[:, 1]) else None
    is_above = high <= 0.0 and front.kind != "scale"  # gains above a wall would cover its top
    if is_above or (front.kind == "line" and is_corridor(front)):
        return None
    if front.kind == "wall":
        return OVERLAP if station.fold == 1 else -BRANCHES
    return 0.0 if station.lift else 0.1


def folded(
    stations: list[Station], boxes: list[FloatArray], rows: int
) -> tuple[list[Station], list[FloatArray]]:
    """Return the stations in rows below each other, and the box of each.

    Each row begins with the line before it.
    """
    if rows == 1:
        return stations, boxes
    end = float(stations[-1].origin[0])
    high = max(float(box[1, 1]) for box in boxes) - min(float(box[0, 1]) for box in boxes)
    high = high * 1.1 + BETWEEN_ROWS
    found: list[Station] = []
    around: list[FloatArray] = []
    row, begin = 0, 0.0
    for i, station in enumerate(stations):
        found.append(station)
        around.append(boxes[i])
        station.origin = station.origin - begin * RIGHT - row * high * UP
        goes_on = i + 2 < len(stations)
        place = float(station.origin[0]) + begin
        if (
            station.kind == "line"
            and goes_on
            and row + 1 < rows
            and place >= (row + 1) * end / rows
        ):
            row, begin = row + 1, place
            origin = (station.lift - row * high) * UP
            found.append(replace(station, origin=origin, again=True))
            around.append(boxes[i])
    return found, around
