"""Pointing: which cube is under the pointer, of those that a sight shows."""

from __future__ import annotations

from scalarviz.model.operations import NONE
from scalarviz.view.cubes.picking import half_sides, pick
from scalarviz.view.cubes.shaders import DECADES
from scalarviz.view.frame_data import Sight
from scalarviz.view.scene.frame import Projection
from scalarviz.view.scene.plates import Plate


def cube_at(sight: Sight, see: Projection, x: float, y: float) -> int | None:
    """The row of the bank of the cube that is seen at a logical pixel."""
    cubes, plates = sight.cubes, sight.layout.plates
    tops = {id(p): top for p, top in zip(plates, cubes.size_scales.tolist(), strict=True)}

    def half(plate: Plate, index: int) -> float:
        return float(half_sides(cubes.sizes[index : index + 1], tops[id(plate)], DECADES)[0])

    right, up = see.across(x, y)
    found = pick(plates, see.matrix, right, up, half)
    return None if found == NONE else found
