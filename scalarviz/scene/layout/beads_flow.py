"""Where lines and walls of the layout "beads" stand along the flow of the data, and how close."""

from __future__ import annotations

from dataclasses import replace
from math import cos, radians, sin, tan

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.scene.layout.beads_lines import BESIDE, Station, UnitRun
from scalarviz.scene.layout.plates import HALF, NEAR, RIGHT, UP

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


def corner_units(run: UnitRun) -> list[int]:
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


# How close lines and walls stand so that nothing in them is covered. A sphere is seen as a circle
# and a cube as a hexagon. While what stands behind is moved along the flow, its outlines meet
# those before it within some intervals: the least distance is where the last of them ends.

HALF_NUMBER = 0.33, 0.13  # half the width and height of a number on a cube, in cells
PERSPECTIVE = 1.05  # how much larger what is in front is seen, for the perspective
AIR = 0.4  # cells that stay free between two outlines
LEAST_STEP = 2.0  # least distance along the flow
ASPECT = 1.75  # width by height of a usual stage
WALL_SHARES = 0.40, 0.65  # of the way between two lines that is before their wall
SLANTS = (1.0, 0.0), (0.0, 1.0), (0.7071, 0.7071), (0.7071, -0.7071)


def close_along_flow(stations: list[Station], angle: float, fov: float) -> FloatArray:
    """Return where along the flow stations stand as close as nothing in them is covered.

    angle  degrees off the flow from which the middle of the scene is seen
    fov    vertical field of view in degrees
    """
    middles = [middles_of(each, stations) for each in stations]
    angles = np.full(len(stations), radians(angle))
    for _ in range(2):  # the ends are seen from other angles, which depend on their places
        places = close_places(stations, middles, angles)
        right = places * sin(radians(angle))
        low, high = (cos(radians(angle)) * float(np.abs(middles[i][:, 2]).max()) for i in (0, -1))
        ends = right[0] - low, right[-1] + high
        aside = 2.0 * (right - ends[0]) / max(ends[1] - ends[0], AIR) - 1.0  # AIR: one line alone
        angles = radians(angle) - np.arctan(aside * tan(radians(fov) / 2.0) * ASPECT)
    return places


def close_places(
    stations: list[Station], middles: list[FloatArray], angles: FloatArray
) -> FloatArray:
    """Return the least places of stations that are seen from these angles, in radians."""
    radii = [each.radius if each.kind == "line" else 0.0 for each in stations]  # 0: it has cubes
    places = [0.0]
    for i in range(1, len(stations)):
        least = places[-1] + LEAST_STEP
        for j in range(max(0, i - 3), i):
            axes = axes_at(0.5 * (angles[i] + angles[j]))
            seen = middles[j] @ axes, radii[j], middles[i] @ axes, radii[i]
            least = max(least, places[j] + distance(*seen, axes) + AIR)
        places.append(least)
        if stations[i - 1].kind == "wall":
            before, behind = np.diff(places[-3:]).tolist()
            before = max(before, behind * WALL_SHARES[0] / (1.0 - WALL_SHARES[0]))
            behind = max(behind, before * (1.0 - WALL_SHARES[1]) / WALL_SHARES[1])
            places[-2:] = places[-3] + before, places[-3] + before + behind
    return np.array(places)


def axes_at(off: float) -> FloatArray:
    """Return how the three axes of the space are seen, (3, 2), from an angle off the flow."""
    up = radians(ELEVATION)
    flow, depth = (sin(off), cos(off) * sin(up)), (cos(off), -sin(off) * sin(up))
    return np.array([flow, (0.0, cos(up)), depth])


def middles_of(station: Station, stations: list[Station]) -> FloatArray:
    """Return the middles of the spheres or cubes of a station, (n, 3), apart from the flow."""
    run = station.run
    if station.kind == "line":
        return places_of(station, stations)
    if station.kind == "scale":
        points = run.all_at(np.arange(run.count)) + station.aside
        return np.concatenate([points + side * 0.5 * BESIDE * RIGHT for side in (-1.0, 1.0)])
    columns = station.columns_at(np.arange(station.before.count + station.before.one))
    rows = station.rows_at(np.arange(run.count))[:, np.newaxis]
    found: FloatArray = (rows + columns).reshape(-1, 3)
    return found


def distance(
    front: FloatArray, before: float, back: FloatArray, behind: float, axes: FloatArray
) -> float:
    """Return how far along the flow outlines begin that meet none of those in front of them.

    front, back     their middles as seen, (n, 2), if they began at the same place
    before, behind  their radii; 0 for cubes, of which the numbers of those behind stay free
    axes            how the three axes of the space are seen, (3, 2)
    """
    away = (back - PERSPECTIVE * front[:, np.newaxis]).reshape(-1, 2)
    normals = np.array([*(axes[:, ::-1] * (-1.0, 1.0)), *SLANTS])  # the first across the way
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    reach = np.full(len(normals), before + behind)
    if not (before and behind):
        reach += HALF * np.abs(axes @ normals.T).sum(axis=0)
    if not (before or behind):
        away, reach = away - HALF * axes[0], reach + np.abs(normals) @ HALF_NUMBER
    away = away[np.abs(away @ normals[0]) < reach[0]]
    middles = away @ normals[1:].T
    ends = np.stack([side * reach[1:] - middles for side in (-1.0, 1.0)]) / (normals[1:] @ axes[0])
    first, last = ends.min(axis=0).max(axis=1), ends.max(axis=0).min(axis=1)
    return float(last[first < last].max(initial=0.0))
