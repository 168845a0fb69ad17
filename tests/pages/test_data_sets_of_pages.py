"""Points of the plane that a page makes itself, beside Python's."""

import random

import numpy as np
import pytest

from scalarviz import data
from scalarviz.story.build_link import COLOURS, packed_colours
from tests.pages.node import floats, in_web
from tests.pages.test_build_links import USUAL
from tests.pages.test_dense_image import show_of

SHAPES = {
    "circle": data.Circle,
    "gaussians": data.Gaussians,
    "spiral": data.Spiral,
    "moons": data.Moons,
    "quadrants": data.Quadrants,
}
FEATURES = "x y x2 y2 xy sinx siny".split()
SCRIPT = """
return data.cases.map((settings) => {
  const { points, targets, held } = pointsOf(settings);
  return [points, targets, held.points, held.targets, featuresOf(points, settings.features)];
});
"""


@pytest.mark.parametrize("seeds", [5, pytest.param(1000, marks=pytest.mark.slow)])
def test_points_of_a_page_have_the_bits_of_python(seeds: int) -> None:
    choose = random.Random(seeds)
    cases = [
        {
            "shape": shape,
            "noise": choose.choice([0.0, 0.05, 0.5]),
            "share": choose.choice([0.1, 0.5, 0.9]),
            "seed": choose.choice([seed, 2**40 + seed]),
            "features": [each for each in FEATURES if choose.random() < 0.5] or ["y"],
        }
        for shape in SHAPES
        for seed in range(seeds)
    ]
    for case, found in zip(cases, in_web("data_sets", SCRIPT, cases=cases), strict=True):
        settings = {key: value for key, value in case.items() if key != "shape"}
        made = SHAPES[str(case["shape"])](scale=5.0, signed=True, **settings)
        assert made.held_out is not None
        table = made.batches()
        np.testing.assert_array_equal(floats(found[0]), made.points)
        np.testing.assert_array_equal(floats(found[1]), table.targets[:, 0])
        np.testing.assert_array_equal(floats(found[2]), made.held_out_points)
        np.testing.assert_array_equal(floats(found[3]), made.held_out[1][:, 0])
        np.testing.assert_array_equal(floats(found[4]), table.inputs)


def test_colours_of_a_page_have_the_bits_of_python() -> None:
    pairs = [[i / 255, 0.5, 1.0, 0.0, 0.25, i / 300] for i in range(32)]
    cases = [USUAL | {"shape": shape} for shape in COLOURS]
    cases.append(USUAL | {"colours": packed_colours(pairs)})
    packed = "packed_colours(data.pairs)"
    script = f"return [{packed}, data.cases.map(samplesOf)];"
    words, made = in_web("data_sets story/build_link", script, cases=cases, pairs=pairs)
    assert words == cases[-1]["colours"]
    for case, found in zip(cases, made, strict=True):
        table = show_of(case).session.data.batches()
        np.testing.assert_array_equal(floats(found["inputs"]), table.inputs)
        np.testing.assert_array_equal(floats(found["targets"]), table.targets)
