"""Errors where nothing can be drawn."""

import subprocess
import sys

import pytest

from scalarviz.base.progress import has_display

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
linux = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere Qt draws without a window")


def said(before: str) -> str:
    """The one line that a program prints after something was taken away from it."""
    program = PROGRAM.format(before=before)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stderr == "" and done.stdout.count("\n") == 1
    return done.stdout


@linux
def test_without_pyopengl_it_says_what_to_install() -> None:
    before = "from scalarviz.scene import offscreen; offscreen.find_spec = lambda name: None"
    assert "needs PyOpenGL, which is not installed: " in said(before)


@linux
def test_without_a_driver_it_says_so_and_what_mends_it() -> None:
    paths = "os.environ['LIBGL_DRIVERS_PATH'] = os.environ['__EGL_VENDOR_LIBRARY_DIRS'] = '/none'"
    text = said(f"import os; {paths}")
    assert text.startswith("OpenGL cannot be used here (") and "apt-get install libegl1" in text


@linux
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


@linux
@pytest.mark.usefixtures("studio")
def test_a_forked_child_is_told_to_spawn_instead_of_waiting_for_ever() -> None:
    command = [sys.executable, "-c", FORKED]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 'start it by multiprocessing.get_context("spawn")' in done.stdout
