"""Walking over cubes and neurons by the keyboard, in the directions of the picture."""

from __future__ import annotations

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.pictures.presenter.pointing import Target, name_of
from scalarviz.pictures.view.frame_data import FrameData
from scalarviz.pictures.view.scene.frame import Box, Projection
from scalarviz.pictures.view.scene.plates import Neurons

WAYS = {"left": (-1.0, 0.0), "right": (1.0, 0.0), "up": (0.0, -1.0), "down": (0.0, 1.0)}
ASIDE = 2.0  # how many pixels ahead a pixel aside counts


def next_target(
    frame_data: FrameData, see: Projection, box: Box, now: Target, way: str = ""
) -> Target:
    """Return the nearest cube or neuron in a direction; `now` if there is none.

    frame_data, see  the picture
    box              the part of it in which the network is seen
    now              where one is; NOTHING: in the middle of the box
    way              a key of WAYS; "", the default: the nearest one
    """
    targets, xy = places_of(frame_data, see, box)
    if not targets:
        return now
    place = targets.index(now) if now in targets else None
    here = np.array([box.x + box.width / 2.0, box.y + box.height / 2.0])
    if place is not None:
        here = xy[place]
    if place is None or not way:
        return targets[int(np.argmin(np.hypot(*(xy - here).T)))]
    apart = xy - here
    ahead = apart @ WAYS[way]
    aside = np.abs(apart @ np.array(WAYS[way])[::-1])
    cost = np.where((ahead > 0.5) & (aside <= ahead), ahead + ASIDE * aside, np.inf)
    best = int(np.argmin(cost))
    return targets[best] if np.isfinite(cost[best]) else now


def places_of(frame_data: FrameData, see: Projection, box: Box) -> tuple[list[Target], FloatArray]:
    """Return all cubes and neurons whose middle is seen in a box, and where, (n, 2)."""
    targets: list[Target] = []
    points = [np.zeros((0, 3))]
    for plate in frame_data.layout.plates:
        row, column, index = plate.cells()
        points.append(plate.point(column + 0.5, row + 0.5))
        targets += map(Target, index.tolist())
    for line in frame_data.layout.neurons:
        places, own = neurons_of(line)
        points.append(own)
        targets += [Target(neuron=(name_of(line), place)) for place in places]
    xy = see(np.vstack(points)).xy
    with np.errstate(invalid="ignore"):
        good = (xy >= [box.x, box.y]).all(axis=1) & (xy <= [box.right, box.bottom]).all(axis=1)
    return [targets[i] for i in np.flatnonzero(good)], xy[good]


def neurons_of(line: Neurons) -> tuple[list[int], FloatArray]:
    """Return the places of a line to walk to, and their points: of an image, its middle."""
    if not line.shape:
        points = line.points if line.one is None else np.vstack([line.points, line.one])
        return list(range(len(points))), points
    channels, height, width = line.shape
    middle = height // 2 * width + width // 2
    places = [channel * height * width + middle for channel in range(channels)]
    return places, line.points[places]
