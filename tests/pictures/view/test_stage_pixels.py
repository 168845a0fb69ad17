"""Whole pictures, by their pixels: cubes and spheres where geometry says, and nothing elsewhere."""

import numpy as np
import pytest

from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.visuals.shaders import FOG
from tests.pictures.view.measures import look, stage_of, trained
from tests.studio import Studio, ground_of, shade

scenes = pytest.mark.parametrize(
    ("name", "size"),
    [
        ("rgb", (800, 500)),
        ("xor", (800, 500)),
        ("circle", (1280, 800)),
        *(
            pytest.param(name, size, marks=pytest.mark.slow)
            for name in ("rgb", "xor", "circle", "normalized", "expression")
            for size in ((1280, 800), (3840, 2160))
        ),
    ],
)


@pytest.mark.some(2)
@scenes
@pytest.mark.parametrize("theme", THEMES)
def test_each_cube_has_its_color_where_it_is_seen(
    studio: Studio, name: str, size: tuple[int, int], theme: str
) -> None:
    stage = stage_of(trained(name), size, theme=theme)
    seen, pixels = look(stage), studio.stage(stage, size=size)
    cubes = stage.frame_data().cubes
    scale = float(cubes.color_scales[0])
    judged = 0
    for number, row in enumerate(seen.rows.tolist()):
        own = pixels[seen.picture == number]
        if len(own) < 240:  # its number takes most of it
            continue
        color = shade(theme, float(cubes.colors[row]), scale)
        # Its color, more or less bright and mixed with the ground.
        lit = np.minimum(np.arange(0.3, 1.3, 0.05)[:, np.newaxis, np.newaxis] * color, 255.0)
        mixed = lit + np.array([[0.0], [0.5 * FOG], [FOG]]) * (ground_of(theme) - lit)
        apart = np.abs(own[:, np.newaxis] - mixed.reshape(-1, 3)).max(axis=2)
        near = apart.min(axis=1) < 12.0
        # The rest are numbers and wires, and brighter than a screen can: on small cubes half.
        assert near.mean() > 0.33, row
        judged += 1
    assert judged > 0.9 * len(seen.rows) or name == "normalized"


@pytest.mark.parametrize("factor", [0.3, 3.0])
def test_zooming_draws_nothing_over_what_is_around_the_stage(studio: Studio, factor: float) -> None:
    size = (800, 500)
    stage = stage_of(trained("rgb"), size)
    before = studio.stage(stage, size=size)
    stage.zoom(factor, 300.0, 180.0)
    after = studio.stage(stage, size=size)
    view = stage.frame_data().division(*size).view
    outside = np.ones(before.shape[:2], bool)
    top, left = round(view.y), round(view.x)
    outside[top : round(view.bottom), left : round(view.right)] = False
    assert outside.sum() > 50_000
    np.testing.assert_array_equal(after[outside], before[outside])
    assert (after != before).any()
