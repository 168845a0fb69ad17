"""Shaders and drivers: GLSL ES 3.00 compiles, and what a driver cannot do is said in a sentence."""

import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base.processes import has_display
from scalarviz.errors import DisplayError
from scalarviz.scene import offscreen
from scalarviz.scene import picture as canvas_module
from scalarviz.scene.picture import Picture
from scalarviz.scene.visuals import cubes as cubes_module
from scalarviz.scene.visuals.shaders import PROGRAMS, as_es
from scalarviz.stage.stage import Stage
from tests.machine import ROOT, ended, output_of
from tests.scene import es_compiler
from tests.stage.cubes_in_canvas import made
from tests.studio import BLACK, Studio, at, framed, plate, shade
from tests.wording import refused

FOLDER = Path(es_compiler.__file__).parent


def compiled(pairs: list[tuple[str, str]]) -> Any:
    """What a compiler of OpenGL ES 3 says of each program."""
    done = subprocess.run(
        [sys.executable, es_compiler.__file__],
        input=json.dumps(pairs),
        env={**os.environ, "EGL_PLATFORM": "surfaceless", "LIBGL_ALWAYS_SOFTWARE": "1"},
        capture_output=True,
        text=True,
    )
    if done.returncode == 3:
        pytest.skip(f"no driver here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def both(name: str) -> tuple[str, str]:
    vertex, fragment = PROGRAMS[name]
    return as_es(vertex, fragment=False), as_es(fragment, fragment=True)


linux_egl = pytest.mark.skipif(sys.platform != "linux", reason="libEGL is that of Linux")


@linux_egl
def test_every_program_compiles_and_links() -> None:
    assert dict(zip(PROGRAMS, compiled([both(name) for name in PROGRAMS]), strict=True)) == (
        dict.fromkeys(PROGRAMS, "")
    )


@linux_egl
def test_the_compiler_is_a_strict_one() -> None:
    vertex, fragment = both("wires")
    loose = fragment.replace("+ 0.5", "+ 1")  # GLSL 1.20 converts integers
    wrong = fragment.replace("v_color", "v_colour")
    said = compiled([(vertex, loose), (vertex, wrong), PROGRAMS["wires"], (vertex, fragment)])
    assert all(said[:3]) and not said[3]


# They try what a driver can do, or draw a picture again in a context without a window.
NOT_IN_PAGES = "probe", "smooth"


def test_every_shader_of_the_view_is_among_them() -> None:
    whole = "".join(text for pair in PROGRAMS.values() for text in pair)
    for path in ROOT.joinpath("scalarviz", "scene").rglob("*"):
        if path.suffix in (".vert", ".frag", ".glsl") and path.stem not in NOT_IN_PAGES:
            assert path.read_text(encoding="utf-8") in whole, path


def test_nothing_of_the_older_language_is_left() -> None:
    for name in PROGRAMS:
        for text in both(name):
            assert text.startswith("#version 300 es\n") and text.count("#version") == 1
            for word in ("attribute ", "varying ", "texture2D", "gl_FragColor", "$"):
                assert word not in text


LOST = "OpenGL got errors (glDrawElements): GL_OUT_OF_MEMORY"


def picture(**look: Any) -> np.ndarray:
    return sv.picture(made(), size=(320, 200), **look)


@pytest.mark.usefixtures("studio")
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


@pytest.mark.usefixtures("studio")
def test_one_that_is_too_large_by_itself_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canvas_module, "largest_texture", lambda: 300)
    refused(DisplayError, "320").by(picture)
    assert sv.picture(made(), size=(300, 200)).shape == (200, 300, 3)


@pytest.mark.usefixtures("studio")
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


@pytest.mark.usefixtures("studio")
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


@pytest.mark.usefixtures("studio")
@pytest.mark.slow
def test_after_a_lost_context_the_next_picture_has_a_new_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = picture()
    before = offscreen._kept
    with monkeypatch.context() as patch:
        patch.setattr(Picture, "draw", raising(RuntimeError(LOST)))
        refused(DisplayError, "GL_OUT_OF_MEMORY").by(picture)
    np.testing.assert_array_equal(picture(), expected)
    assert before is not None and offscreen._kept is not before


@pytest.mark.usefixtures("studio")
def test_an_error_of_another_kind_stays_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = picture()
    before = offscreen._kept
    with monkeypatch.context() as patch:
        patch.setattr(Picture, "draw", raising(RuntimeError("mine")))
        with pytest.raises(RuntimeError, match="mine"):
            picture()
    np.testing.assert_array_equal(picture(), expected)
    assert offscreen._kept is before


@pytest.mark.usefixtures("studio")
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


PROGRAM = """
import scalarviz as sv
from scalarviz.errors import DisplayError
{before}
s = sv.Session(sv.Network([1, 1]), ([[0.0]], [[1.0]]), engine="python")
try:
    sv.picture(s)
except DisplayError as error:
    print(error)
"""
linux_only = pytest.mark.skipif(
    sys.platform != "linux", reason="elsewhere Qt draws without a window"
)


def said(before: str) -> str:
    """The one line that a program prints after something was taken away from it."""
    done = ended("-c", PROGRAM.format(before=before))
    assert done.stderr == "" and done.stdout.count("\n") == 1
    return done.stdout


@linux_only
def test_without_pyopengl_it_says_what_to_install() -> None:
    before = "from scalarviz.scene import offscreen; offscreen.find_spec = lambda name: None"
    assert "needs PyOpenGL, which is not installed: " in said(before)


@linux_only
def test_without_a_driver_it_says_so_and_what_mends_it() -> None:
    paths = "os.environ['LIBGL_DRIVERS_PATH'] = os.environ['__EGL_VENDOR_LIBRARY_DIRS'] = '/none'"
    text = said(f"import os; {paths}")
    assert text.startswith("OpenGL cannot be used here (") and "apt-get install libegl1" in text


@linux_only
def test_a_screen_is_what_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert not has_display()
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert has_display()


FORKED = """
import multiprocessing
import scalarviz as sv
from scalarviz.errors import DisplayError
s = sv.Session(sv.Network([1, 1]), ([[0.0]], [[1.0]]), engine="python")
def draw():
    try:
        sv.picture(s, size=(32, 32))
    except DisplayError as error:
        print(error)
sv.picture(s, size=(32, 32))
child = multiprocessing.get_context("fork").Process(target=draw, daemon=True)
child.start()
child.join(30)
assert child.exitcode == 0
"""


@linux_only
@pytest.mark.usefixtures("studio")
def test_a_forked_child_is_told_to_spawn_instead_of_waiting_for_ever() -> None:
    assert 'start it with multiprocessing.get_context("spawn")' in output_of("-c", FORKED)
