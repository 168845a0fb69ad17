"""Without float textures in the driver, numbers are uploaded as bytes, with the same result."""

from typing import Any

import numpy as np
import pytest

from scalarviz.scene.layout.camera import Camera
from scalarviz.scene.visuals import opengl
from tests.studio import WHITE, Studio, framed, ids_of, plate, project

STRANGE = [0.0, -0.0, np.nan, np.inf, -np.inf, 3.4e38, -1e30, 1e-45, -1e-38, 1.2e-38, 1.0, -2.0]
STRANGE += [np.nextafter(np.float32(1.0), np.float32(0.0)), 0.1, 1 / 3, 2.0**-126, 2.0**127]


def difference(studio: Studio, plates: Any, see: Any, *numbers: Any, **scales: Any) -> np.ndarray:
    """How far the two ways to send numbers are apart, pixel by pixel."""
    first, second = (
        studio.look(studio.cubes(plates, *numbers, **scales, floats=floats), see)
        for floats in (True, False)
    )
    assert len(np.unique(first.reshape(-1, 3), axis=0)) > 4
    return np.abs(first - second).max(axis=2)


@pytest.mark.parametrize("fov", [0.0, 40.0])
def test_bytes_give_the_same_picture_as_floats(studio: Studio, fov: float) -> None:
    rng = np.random.default_rng(0)
    plates = [plate(9, 14), plate(7, 3, 126, 5, origin=(2, 1, -4))]
    values, sizes = rng.normal(size=170), 10.0 ** rng.uniform(-7.0, 1.0, 170)
    see = framed(plates, azimuth=-30.0, elevation=20.0, fov=fov)
    apart = difference(studio, plates, see, values, sizes, scale=[1.3, 0.7], top=[2.0, 0.5])
    assert (apart > 1).mean() < 1e-3


def test_bytes_hold_every_float(studio: Studio) -> None:
    values = np.array(STRANGE * 2, np.float32)
    line = plate(2, len(STRANGE))
    see = framed([line], 340, 60, fov=0.0)
    for sizes in (np.ones(len(values)), values):
        assert (difference(studio, [line], see, values, sizes) > 1).mean() < 2e-3


def test_bytes_give_the_same_means(studio: Studio) -> None:
    rng = np.random.default_rng(0)
    each = plate(300, 200)
    see = framed([each], elevation=50.0)
    values = rng.normal(size=each.size)
    assert (difference(studio, [each], see, values, np.abs(values)) > 1).mean() < 1e-3


def test_bytes_count_cubes_as_well_as_floats(studio: Studio) -> None:
    count = 9_000_000
    plates = [
        plate(60, 40, 4_194_304 + 17, 4097),
        plate(60, 40, 8_388_608 + 4095, 5000, origin=(50, 0, 0)),
    ]
    numbers = np.ones(count, np.float32)
    visuals = [studio.cubes(plates, numbers, floats=floats) for floats in (True, False)]
    for visual in visuals:
        visual.ids = True
    for each in plates:
        for row, column in ((0, 0), (59, 39), (31, 17)):
            middle = tuple(each.point(column + 0.5, row + 0.5).tolist())
            see = project(Camera(middle, height=7.0, fov=0.0), plates, 80, 60)
            first, second = (ids_of(studio.look(visual, see, WHITE)) for visual in visuals)
            np.testing.assert_array_equal(first, second)
            assert first[30, 40] == each.index_of(row, column)


# Which way is taken.


def test_floats_arrive_here(studio: Studio) -> None:
    studio.canvas.set_current()
    assert opengl.has_float_textures() and opengl.arrive(opengl.SENT)
    each = plate(1, 1)
    cubes = studio.cubes([each], np.ones(1))
    studio.look(cubes, framed([each]))
    assert cubes.floats


@pytest.mark.parametrize("kind", ["half as precise", "clamped to one", "not there", "an error"])
def test_a_driver_that_harms_floats_is_found_out(
    studio: Studio, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = opengl.texture_of

    def texture_of(data: Any) -> Any:
        if kind == "an error":
            raise RuntimeError("GL got errors (glTexImage2D): GL_INVALID_VALUE")
        if kind == "not there":
            return honest(0.0 * data)
        if kind == "clamped to one":
            return honest(np.clip(data, 0.0, 1.0))
        with np.errstate(over="ignore"):
            return honest(data.astype(np.float16).astype(np.float32))

    studio.canvas.set_current()
    monkeypatch.setattr(opengl, "texture_of", texture_of)
    assert not opengl.arrive(opengl.SENT)


def test_a_context_is_asked_once(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(opengl, "arrive", lambda sent: asked.append(sent) or False)
    opengl.KNOWN.pop(studio.canvas.context, None)
    try:
        made = [studio.cubes([plate(1, 1)], np.ones(1)) for _ in range(2)]
        for each in made:
            studio.look(each, framed([plate(1, 1)]))
    finally:
        opengl.KNOWN.pop(studio.canvas.context, None)
    assert len(asked) == 1 and [each.floats for each in made] == [False, False]


def test_asking_leaves_the_picture_as_it_was(studio: Studio) -> None:
    from vispy import gloo

    opengl.KNOWN.pop(studio.canvas.context, None)

    def draw() -> None:
        gloo.clear(color=(0.0, 0.0, 1.0, 1.0))
        gloo.set_viewport(8, 4, 40, 30)
        assert opengl.has_float_textures()
        program = gloo.Program(
            "attribute vec2 a_at; void main() { gl_Position = vec4(a_at, 0.0, 1.0); }",
            "void main() { gl_FragColor = vec4(1.0, 0.0, 0.0, 1.0); }",
        )
        program["a_at"] = np.array([(-1, -1), (1, -1), (-1, 1), (1, 1)], np.float32)
        program.draw("triangle_strip")

    red = studio.shoot(draw, 64, 48)[..., 0] > 127
    y, x = np.nonzero(red)
    assert (x.min(), x.max(), y.min(), y.max()) == (8, 47, 14, 43)


def test_floats_arrive_where_a_picture_is_clipped_and_it_stays_clipped(studio: Studio) -> None:
    from vispy import gloo

    opengl.KNOWN.pop(studio.canvas.context, None)

    def draw() -> None:
        gloo.clear(color=(0.0, 0.0, 1.0, 1.0))
        gloo.set_state(scissor_test=True)
        gloo.set_scissor(8, 4, 40, 30)
        assert opengl.has_float_textures()
        gloo.clear(color=(1.0, 0.0, 0.0, 1.0))
        gloo.set_state(scissor_test=False)

    red = studio.shoot(draw, 64, 48)[..., 0] > 127
    y, x = np.nonzero(red)
    assert (x.min(), x.max(), y.min(), y.max()) == (8, 47, 14, 43)
