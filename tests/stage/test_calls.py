"""A picture takes few calls of functions of Python, as cProfile counts them."""

from __future__ import annotations

import pytest

from benchmarks.scene_frames import SCENES, measured

UNITS = "playing", "camera"
CAMERA = 10_000
# By scene, while it plays; 3,000 is what is aimed at.
MOST = {
    "rgb": 4_400,
    "circle": 4_900,
    "xor": 4_900,
    "xnor": 5_000,
    "digits": 6_500,
    "texture": 4_200,
    "micrograd": 4_700,
    "expression": 3_600,
    "normalized": 5_500,
}


def test_every_scene_has_a_limit() -> None:
    assert [*MOST] == SCENES


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", SCENES)
def test_a_picture_takes_few_calls(name: str, unit: str) -> None:
    most = CAMERA if unit == "camera" else MOST[name]
    assert measured(name, unit, steps=5, shown_before=6)[1] <= most
