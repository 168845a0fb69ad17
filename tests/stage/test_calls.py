"""A picture takes few calls of functions of Python, as cProfile counts them."""

from __future__ import annotations

import pytest

from benchmarks.scene_frames import SCENES, measured

UNITS = "playing", "camera"
# By scene, while it plays and while the camera moves; 3,000 and 10,000 is what is aimed at.
MOST = {
    "rgb": (10_000, 12_500),
    "circle": (13_000, 14_000),
    "xor": (12_000, 12_500),
    "xnor": (13_500, 14_500),
    "digits": (17_500, 24_000),
    "texture": (14_500, 16_500),
    "micrograd": (15_500, 18_000),
    "expression": (7_500, 9_500),
    "normalized": (17_000, 19_000),
}


def test_every_scene_has_a_limit() -> None:
    assert [*MOST] == SCENES


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", SCENES)
def test_a_picture_takes_few_calls(name: str, unit: str) -> None:
    assert measured(name, unit, steps=5, shown_before=6)[1] <= MOST[name][UNITS.index(unit)]
