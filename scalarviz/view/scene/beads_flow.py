"""Where the lines and walls of the layout "beads" stand along the flow of the data."""

from __future__ import annotations

from dataclasses import replace
from math import cos, radians, sin

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.view.scene.beads_lines import GRAIN, Run, Station
from scalarviz.view.scene.plates import NEAR, RIGHT, UP

ELEVATION = 15.0  # degrees from which the scene is seen
CORRIDOR = 24  # units; longer lines stand at the edges of the walls
NEARER = 1.12  # how much larger what is in front is seen, for the perspective
OVERLAP = 0.15  # share of a wall that the wall before it may hide
CLOSE, CLOSER = 2.2, 1.4  # least distance along the flow, in small and large networks
BETWEEN_ROWS = 2.0  # room between two rows of a folded network


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
        ends = run.all_at(corner_units(run))
        half = 0.5 * run.step if run.images else 0.5
    else:
        before = station.before
        units = [*corner_units(before), *[before.count] * before.one]
        rows, columns = run.all_at(corner_units(run), wall=True), before.all_at(units, wall=True)
        ends = (rows[:, np.newaxis] + columns).reshape(-1, 3)
        half = 0.5 * GRAIN * max(station.tile) if station.tile else 0.5
    low, high = ends[:, [2, 1]].min(axis=0) - half, ends[:, [2, 1]].max(axis=0) + half
    return np.array([low, high])


def corner_units(run: Run) -> list[int]:
    """Return the first and last unit of each block."""
    found: dict[int, None] = {}
    for first in range(0, run.count, run.block):
        found |= {first: None, min(first + run.block, run.count) - 1: None}
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
    boxes = [box_of(each, stations) for each in stations]
    large = max(float(np.ptp(box[:, 1])) for box in boxes) > CORRIDOR
    x = 0.0
    for i, station in enumerate(stations):
        factor = 1.0 if is_beside(station) else wider
        if i:
            is_short = large and "scale" not in (station.kind, stations[i - 1].kind)
            x += (CLOSER if is_short else CLOSE) * factor
        for j in range(max(0, i - 3), i):
            least = apart(stations[j], boxes[j], station, boxes[i], radians(angle))
            x = max(x, float(stations[j].origin[0]) + least * factor)
        station.origin = x * RIGHT
    return boxes


def apart(
    front: Station, before: FloatArray, station: Station, own: FloatArray, off: float
) -> float:
    """Return the least distance along the flow from one station to a later one."""
    hidden = allowed(front, before, station, own)
    if hidden is None:
        return 0.0
    c, s, up = cos(off), sin(off), radians(ELEVATION)
    right, left, wide = before[1, 0], own[0, 0], np.ptp(own[:, 0])
    if front.run is station.run and is_beside(station):
        return 0.5 * station.run.apart * c / s  # in the middle between two blocks
    nearer = 1.0 if hidden else NEARER
    margin = 1.0 if station.kind == "line" else 0.6
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
    if high <= 0.0 or (front.kind == "line" and is_corridor(front)):
        return None
    return OVERLAP if front.kind == "wall" else 0.1


def folded(stations: list[Station], boxes: list[FloatArray], rows: int) -> list[Station]:
    """Return the stations in rows below each other; each row begins with the line before it."""
    if rows == 1:
        return stations
    end = float(stations[-1].origin[0])
    high = max(float(box[1, 1]) for box in boxes) - min(float(box[0, 1]) for box in boxes)
    high = high * 1.1 + BETWEEN_ROWS
    found: list[Station] = []
    row, begin = 0, 0.0
    for i, station in enumerate(stations):
        found.append(station)
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
            found.append(replace(station, origin=-row * high * UP, again=True))
    return found
