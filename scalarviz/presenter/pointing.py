"""Finds the cube under the pointer."""

from __future__ import annotations

from scalarviz.model.operations import NONE
from scalarviz.view.cubes.picking import half_sides, pick
from scalarviz.view.frame_data import FrameData
from scalarviz.view.scene.frame import Projection
from scalarviz.view.scene.plates import Plate


def cube_at(frame_data: FrameData, see: Projection, x: float, y: float) -> int | None:
    """Return the bank index of the cube at a logical pixel; None if there is none."""
    cubes, plates = frame_data.cubes, frame_data.layout.plates
    tops = {id(p): top for p, top in zip(plates, cubes.size_scales.tolist(), strict=True)}

    def half(plate: Plate, index: int) -> float:
        return float(half_sides(cubes.sizes[index : index + 1], tops[id(plate)])[0])

    right, up = see.across(x, y)
    found = pick(plates, see.matrix, right, up, half)
    return None if found == NONE else found
