"""What a driver cannot do is said in a sentence, and what it can do goes on."""

import logging
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import DisplayError
from scalarviz.scene import offscreen
from scalarviz.scene import picture as canvas_module
from scalarviz.scene.picture import Picture
from scalarviz.scene.visuals import cubes as cubes_module
from scalarviz.stage.stage import Stage
from tests.studio import BLACK, Studio, at, framed, plate, shade
from tests.wording import refused

pytestmark = pytest.mark.usefixtures("studio")
LOST = "OpenGL got errors (glDrawElements): GL_OUT_OF_MEMORY"


def made() -> sv.Session:
    network = sv.Network([2, 3, 1], "tanh", seed=1)
    return sv.Session(network, sv.data.Xor(), "mse", sv.SGD(0.5), engine="python")


def picture(**look: Any) -> np.ndarray:
    return sv.picture(made(), size=(320, 200), **look)


@pytest.mark.slow
def test_a_picture_beyond_the_largest_texture_takes_fewer_samples(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    expected = picture(samples=1)
    assert (picture(samples=3) != expected).any()
    monkeypatch.setattr(canvas_module, "largest_texture", lambda: 600)
    with caplog.at_level(logging.INFO, "scalarviz"):
        np.testing.assert_array_equal(picture(samples=3), expected)
    assert "the mean of 1 x 1 samples, not 3 x 3" in caplog.text and "600 pixels" in caplog.text


def test_one_that_is_too_large_by_itself_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canvas_module, "largest_texture", lambda: 300)
    with refused(DisplayError, "320"):
        picture()
    assert sv.picture(made(), size=(300, 200)).shape == (200, 300, 3)


def test_plates_beyond_the_largest_texture_are_left_out_and_the_others_drawn(
    studio: Studio, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(cubes_module, "largest_texture", lambda: 4)  # 8,192 numbers
    plates = [plate(2, 2), plate(2, 2, 8190, origin=(3, 0, 0)), plate(2, 2, 8188, origin=(6, 0, 0))]
    values = np.random.default_rng(0).uniform(-1.0, 1.0, 20_000)
    see = framed(plates, fov=0.0)
    with caplog.at_level(logging.INFO, "scalarviz"):
        pixels = studio.look(studio.cubes(plates, values), see)
    assert "1 of 3 plates" in caplog.text and "8,192 numbers" in caplog.text
    for each in (plates[0], plates[2]):
        for row, column in np.ndindex(2, 2):
            seen = at(pixels, see(each.point(column + 0.5, row + 0.5, 0.4)).xy[0])
            expected = shade("dark", values[each.index_of(row, column)])
            np.testing.assert_allclose(seen, expected, atol=2)
    assert at(pixels, see(plates[1].point(1.0, 1.0)).xy[0]).tolist() == list(BLACK)


def test_a_plate_whose_means_find_no_room_is_drawn_cube_by_cube(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = [plate(60, 60)]
    values = np.full(3600, 0.7)
    see = framed(large, 40, 30, fov=0.0)
    expected = studio.look(studio.cubes(large, values), see)
    monkeypatch.setattr(cubes_module, "largest_texture", lambda: 32)
    cubes = studio.cubes(large, values)
    pixels = studio.look(cubes, see)
    assert not cubes._levels.any()
    assert np.abs(pixels.mean(axis=(0, 1)) - expected.mean(axis=(0, 1))).max() < 12


@pytest.mark.slow
def test_after_a_lost_context_the_next_picture_has_a_new_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = picture()
    before = offscreen._kept
    with monkeypatch.context() as patch:
        patch.setattr(Picture, "draw", raising(RuntimeError(LOST)))
        with refused(DisplayError, "GL_OUT_OF_MEMORY"):
            picture()
    np.testing.assert_array_equal(picture(), expected)
    assert before is not None and offscreen._kept is not before


def test_an_error_of_another_kind_stays_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = picture()
    before = offscreen._kept
    with monkeypatch.context() as patch:
        patch.setattr(Picture, "draw", raising(RuntimeError("mine")))
        with pytest.raises(RuntimeError, match="mine"):
            picture()
    np.testing.assert_array_equal(picture(), expected)
    assert offscreen._kept is before


def test_a_stage_that_failed_to_draw_allocates_everything_again(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(made())
    expected = studio.stage(stage, 0.0)
    failed = stage.picture()
    with monkeypatch.context() as patch:
        patch.setattr(Picture, "draw", raising(RuntimeError(LOST)))
        with pytest.raises(RuntimeError):
            studio.stage(stage, 0.0)
    np.testing.assert_array_equal(studio.stage(stage, 0.0), expected)
    assert stage.picture() is not failed


def raising(error: Exception) -> Any:
    def draw(*arguments: object) -> None:
        raise error

    return draw
