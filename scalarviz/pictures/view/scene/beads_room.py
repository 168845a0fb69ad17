"""How close lines and walls of the layout "beads" stand so that nothing in them is covered.

A sphere is seen as a circle and a cube as a hexagon. While what stands behind is moved along the
flow, its outlines meet those before it within some intervals of the way: the least distance is
where the last of them ends.
"""

from __future__ import annotations

from math import cos, radians, sin, tan

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.pictures.view.scene.beads_flow import ELEVATION, places_of
from scalarviz.pictures.view.scene.beads_lines import Station
from scalarviz.pictures.view.scene.beads_walls import BESIDE
from scalarviz.pictures.view.scene.plates import HALF, RIGHT

NUMBER = 0.33, 0.13  # half the width and height of a number on a cube, in cells
NEARER = 1.05  # how much larger what is in front is seen, for the perspective
AIR = 0.4  # cells that stay free between two outlines
STEP = 2.0  # least distance along the flow
ASPECT = 1.75  # width by height of a usual stage
SHARES = 0.40, 0.65  # of the way between two lines that is before their wall
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
        least = places[-1] + STEP
        for j in range(max(0, i - 3), i):
            axes = axes_at(0.5 * (angles[i] + angles[j]))
            seen = middles[j] @ axes, radii[j], middles[i] @ axes, radii[i]
            least = max(least, places[j] + distance(*seen, axes) + AIR)
        places.append(least)
        if stations[i - 1].kind == "wall":
            before, behind = np.diff(places[-3:]).tolist()
            before = max(before, behind * SHARES[0] / (1.0 - SHARES[0]))
            behind = max(behind, before * (1.0 - SHARES[1]) / SHARES[1])
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
    away = (back - NEARER * front[:, np.newaxis]).reshape(-1, 2)
    normals = np.array([*(axes[:, ::-1] * (-1.0, 1.0)), *SLANTS])  # the first across the way
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    reach = np.full(len(normals), before + behind)
    if not (before and behind):
        reach += HALF * np.abs(axes @ normals.T).sum(axis=0)
    if not (before or behind):
        away, reach = away - HALF * axes[0], reach + np.abs(normals) @ NUMBER
    away = away[np.abs(away @ normals[0]) < reach[0]]
    middles = away @ normals[1:].T
    ends = np.stack([side * reach[1:] - middles for side in (-1.0, 1.0)]) / (normals[1:] @ axes[0])
    first, last = ends.min(axis=0).max(axis=1), ends.max(axis=0).min(axis=1)
    return float(last[first < last].max(initial=0.0))
