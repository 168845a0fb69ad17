"""A picture takes few calls of functions of Python, as cProfile counts them."""

from __future__ import annotations

import pytest

from benchmarks.scene_frames import SCENES, measured

UNITS = "playing", "camera"
# By scene, while it plays and while the camera moves.
MOST = {
    "rgb": (9_500, 12_500),
    "circle": (12_500, 13_500),
    "xor": (10_500, 12_000),
    "xnor": (12_000, 14_000),
    "digits": (16_500, 23_000),
    "texture": (14_000, 16_000),
    "micrograd": (15_500, 17_500),
    "expression": (7_500, 9_500),
    "normalized": (16_500, 19_000),
}


def test_every_scene_has_a_limit() -> None:
    assert [*MOST] == SCENES


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", SCENES)
def test_a_picture_takes_few_calls(name: str, unit: str) -> None:
    calls = measured(name, unit, steps=5, shown_before=6)[1]
    assert calls <= MOST[name][UNITS.index(unit)]
