"""Words in space: the formula between cubes, and the names below them."""

from __future__ import annotations

from functools import partial

import numpy as np

from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.view.scene.frame import Projection
from scalarviz.pictures.view.scene.plates import ENDS, Layout

REFERENCE = 20.0  # size of letters at which words are measured


def draw_written(
    canvas: Canvas2D, see: Projection, layout: Layout, theme: Theme, scale: float
) -> None:
    """Write them as large as their parts of a line are seen."""
    write = partial(canvas.text, anchor="center", color=theme.ink, outline=theme.ground)
    for each in layout.written:
        xy = see(each.middle + ENDS * each.half).xy
        if np.isfinite(xy).all():
            wide = float(np.linalg.norm(xy[1] - xy[0]))
            size = REFERENCE * wide / canvas.measure(each.words, size=REFERENCE)
            size = max(size, each.least * scale)
            x, y = xy.mean(axis=0).tolist()
            write(x, y + 0.36 * size, each.words, size=size)
