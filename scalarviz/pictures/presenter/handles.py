"""Handles: cubes that are large enough to be dragged, and the arrow of a guess."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.pictures.presenter.scales import stop_above
from scalarviz.pictures.view.frame_data import FrameData, Guess
from scalarviz.pictures.view.guess import mark_of
from scalarviz.pictures.view.highlights import corners_of
from scalarviz.pictures.view.scene.frame import Projection
from scalarviz.pictures.view.tooltip import box_around

SMALLEST = 12.0  # pixels of a cube that can be dragged; elsewhere a drag turns the network
REACH = 100.0  # pixels of a drag, up or down, that add the scale of the values
AROUND = 60.0  # pixels around a question mark and its arrow from which the arrow is dragged
DIGITS = 3  # of the values while it is dragged


@dataclass(frozen=True)
class Handle:
    """A cube, or the arrow of a guess over it, that is held by the mouse.

    row      its bank index
    value    that it had
    top      the scale of the values
    answers  outputs for the sample in use between two steps, or None
    guesses  whether it is the arrow
    """

    row: int
    value: float
    top: float
    answers: FloatArray | None = None
    guesses: bool = False

    def value_at(self, up: float) -> float:
        """Return the value after a drag by so many pixels upwards."""
        value = self.value + up / REACH * self.top
        return float(f"{value:.{DIGITS}g}") if up else self.value


def handle_at(
    frame_data: FrameData, see: Projection, values: FloatArray, row: int
) -> Handle | None:
    """Return the handle of a cube; None if it is too small in the picture to be dragged."""
    box = box_around(see(corners_of(frame_data, row, 0.5)).xy)
    if box is None or min(box.width, box.height) < SMALLEST or not np.isfinite(values[row]):
        return None
    largest = np.max(np.abs(values), where=np.isfinite(values), initial=0.0)
    answers = None if frame_data.current else frame_data.buffers.answers
    return Handle(row, float(values[row]), stop_above(float(largest)) or 1.0, answers)


def arrow_at(
    frame_data: FrameData, see: Projection, guess: Guess, x: float, y: float
) -> Handle | None:
    """Return the handle of the arrow of a guess if it, or its cube, is near a pixel."""
    scale = frame_data.division(see.width, see.height).scale
    mark = mark_of(frame_data, see, guess, scale)
    if mark is None or hypot(mark[0] - x, mark[1] - y) > mark[2] + AROUND * scale:
        return None
    return Handle(guess.row, 0.0, 0.0, guesses=True)
