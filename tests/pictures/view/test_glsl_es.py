"""The shaders compile as GLSL ES 3.00 too, for a page."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scalarviz.scene.visuals.shaders import PROGRAMS, as_es
from tests.pictures.view import es_compiler

FOLDER = Path(es_compiler.__file__).parent


def compiled(pairs: list[tuple[str, str]]) -> list[str]:
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
    found: list[str] = json.loads(done.stdout)
    return found


def both(name: str) -> tuple[str, str]:
    vertex, fragment = PROGRAMS[name]
    return as_es(vertex, fragment=False), as_es(fragment, fragment=True)


linux = pytest.mark.skipif(sys.platform != "linux", reason="libEGL is that of Linux")


@linux
def test_every_program_compiles_and_links() -> None:
    assert dict(zip(PROGRAMS, compiled([both(name) for name in PROGRAMS]), strict=True)) == (
        dict.fromkeys(PROGRAMS, "")
    )


@linux
def test_the_compiler_is_a_strict_one() -> None:
    vertex, fragment = both("wires")
    loose = fragment.replace("+ 0.5", "+ 1")  # GLSL 1.20 converts integers
    wrong = fragment.replace("v_color", "v_colour")
    said = compiled([(vertex, loose), (vertex, wrong), PROGRAMS["wires"], (vertex, fragment)])
    assert all(said[:3]) and not said[3]


# They try what a driver can do, or draw several pictures at once in a context without a window.
NOT_IN_PAGES = "probe", "evaluate"


def test_every_shader_of_the_view_is_among_them() -> None:
    whole = "".join(text for pair in PROGRAMS.values() for text in pair)
    for path in FOLDER.parents[1].joinpath("scalarviz").rglob("*"):
        if path.suffix in (".vert", ".frag", ".glsl") and path.stem not in NOT_IN_PAGES:
            assert path.read_text(encoding="utf-8") in whole, path


def test_nothing_of_the_older_language_is_left() -> None:
    for name in PROGRAMS:
        for text in both(name):
            assert text.startswith("#version 300 es\n") and text.count("#version") == 1
            for word in ("attribute ", "varying ", "texture2D", "gl_FragColor", "$"):
                assert word not in text
