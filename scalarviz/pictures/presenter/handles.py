"""Handles: cubes that are large enough to be dragged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scalarviz.base.checks.numbers import FloatArray
from scalarviz.pictures.presenter.scales import stop_above
from scalarviz.pictures.view.frame_data import FrameData
from scalarviz.pictures.view.highlights import corners_of
from scalarviz.pictures.view.scene.frame import Projection
from scalarviz.pictures.view.tooltip import box_around

SMALLEST = 12.0  # pixels of a cube that can be dragged; elsewhere a drag turns the network
REACH = 100.0  # pixels of a drag, up or down, that add the scale of the values
DIGITS = 3  # of the values while it is dragged


@dataclass(frozen=True)
class Handle:
    """A cube that is held by the mouse.

    row      its bank index
    value    that it had
    top      the scale of the values
    answers  outputs for the sample in use between two steps, or None
    """

    row: int
    value: float
    top: float
    answers: FloatArray | None = None

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
