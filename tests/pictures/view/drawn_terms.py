"""What a stage draws of the sum of an operation, without OpenGL."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from scalarviz.scene.callout import draw_callout
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.labels import Obstacles, draw_labels
from scalarviz.scene.layout.division import Box
from scalarviz.stage.stage import Stage
from tests.pictures.view.measures import projection

DARK = THEMES["dark"]


class Notes(Canvas2D):
    """A canvas that notes boxes and words; all letters have one width."""

    def __init__(self, width: float, height: float) -> None:
        super().__init__(width, height)
        self.noted: list[tuple[Any, ...]] = []
        self.said: list[tuple[Any, ...]] = []

    def measure(self, words: str, *, size: float = 13.0, bold: bool = False) -> float:
        return 0.6 * size * len(words)

    def box(self, x: float, y: float, width: float, height: float, fill: Any, **look: Any) -> None:
        self.noted.append((x, y, width, height, fill, look.get("outline")))

    def boxes(self, xy: Any, size: Any, fill: Any, **look: Any) -> None:
        self.noted += [(*at, *size, fill, look.get("outline")) for at in np.asarray(xy).tolist()]

    def text(self, x: float, y: float, words: str, **look: Any) -> float:
        self.said.append((x, y, words))
        return 0.0


def drawn_terms(
    stage: Stage, part: float = 1.0, given: FrameData | None = None
) -> tuple[Notes, Box | None, Obstacles]:
    """The notes of a canvas, the box of the stack, and what it was to keep clear of."""
    frame_data, see = given or stage.frame_data(), projection(stage)
    size = see.width, see.height
    taken = draw_labels(Notes(*size), see, frame_data, DARK, 1.0)
    notes = Notes(*size)
    box = draw_callout(notes, see, replace(frame_data, part=part), taken, DARK, 1.0)
    return notes, box, taken
