"""Layout of the named parameters of a compiled function: a wall for each name, in lines."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.messages import visible
from scalarviz.pictures.view.scene.plates import DOWN, NEAR, RIGHT, Label, Layout, Plate
from scalarviz.training.network.named_arrays import Wall

APART, BELOW = 1.5, 2.5  # cells between walls side by side, and below each other
NAMED = 0.05  # of the largest wall, which names of small cells need between them in addition


def of_walls(walls: Mapping[str, Wall], aspect: float) -> Layout:
    """Lay out walls by name in lines or in columns, whichever fills a stage of this shape best.

    aspect  width of the free stage divided by its height
    """
    sizes = np.array([(1, 1, *wall.shape)[-2:] for wall in walls.values()], np.float64)
    below = BELOW + NAMED * float(sizes[:, 0].max())
    tried = [
        in_lines(sizes[:, axes], count, gaps)[:, axes[::-1]]
        for axes, gaps in (([1, 0], (APART, below)), ([0, 1], (below, APART)))
        for count in range(1, len(walls) + 1)
    ]
    places = min(tried, key=lambda found: ((found + sizes[:, ::-1]).max(0) / [aspect, 1.0]).max())
    plates, labels = [], []
    for (name, wall), size, (x, y) in zip(walls.items(), sizes, places, strict=True):
        rows, columns = map(int, size)
        corner = np.array([x, -y, 0.0])
        plate = Plate(wall.first, rows, columns, columns, corner, RIGHT, DOWN, NEAR, "value")
        end, about = corner + columns * RIGHT, f"{rows}×{columns}"
        labels.append(Label(visible(name), about, corner, end, plate.indices, plate.corners()))
        plates.append(plate)
    return Layout(plates, (), (), labels)


def in_lines(sizes: FloatArray, count: int, gaps: tuple[float, float]) -> FloatArray:
    """Return the corners of boxes in about `count` lines: along the line, and across lines.

    sizes  (n, 2), along and across
    gaps   between boxes of a line, and between lines
    """
    most = max((sizes[:, 0] + gaps[0]).sum() / count, sizes[:, 0].max())
    places, along, across, line = [], 0.0, 0.0, 0.0
    for long, high in sizes:
        if along and along + long > most:
            along, across, line = 0.0, across + line + gaps[1], 0.0
        places.append((along, across))
        along, line = along + long + gaps[0], max(line, high)
    return np.array(places)
