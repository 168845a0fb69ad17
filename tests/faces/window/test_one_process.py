"""Pictures and windows in one program, in every order."""

import subprocess
import sys
from collections.abc import Mapping

import pytest

from tests.pictures.export.many_pictures import MOST, grown, linux
from tests.root import ROOT


def run(screen: Mapping[str, str], *words: str) -> list[str]:
    """What a program with these deeds saw."""
    command = [sys.executable, "-m", "tests.faces.window.one_process", *words]
    done = subprocess.run(command, env=screen, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if line.split()[0] in words]


def test_a_picture_and_then_a_window(screen: Mapping[str, str]) -> None:
    assert run(screen, "picture", "watch") == ["picture same", "watch seen"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "seen"),
    [
        (["watch", "picture", "watch"], ["seen", "same", "seen"]),
        (["picture", "watch", "picture", "watch", "picture"], ["same", "seen"] * 2 + ["same"]),
        (["inside", "picture", "inside"], ["seen same", "same", "seen same"]),
        (["beside"] * 3, ["seen same"] * 3),
        (["picture", "beside", "watch", "beside"], ["same", "seen same", "seen", "seen same"]),
        (["shader", "watch", "shader"], ["right", "seen", "right"]),
        (["watch", "shaders", "picture", "shader"], ["seen", "seen right", "same", "right"]),
    ],
)
def test_in_every_order(screen: Mapping[str, str], words: list[str], seen: list[str]) -> None:
    found = run(screen, *words)
    assert found == [f"{word} {each}" for word, each in zip(words, seen, strict=True)]


@pytest.mark.slow
def test_where_qt_must_draw_by_glx_it_says_what_is_possible(screen: Mapping[str, str]) -> None:
    glx = {**screen, "QT_XCB_GL_INTEGRATION": "xcb_glx"}
    assert run(glx, "watch", "picture", "inside", "shader", "shaders") == [
        "watch seen",
        "picture same",
        "inside seen same",
        "shader right",
        "shaders seen right",
    ]
    command = [sys.executable, "-m", "tests.faces.window.one_process", "picture", "watch"]
    done = subprocess.run(command, env=glx, cwd=ROOT, capture_output=True, text=True)
    assert "this program has drawn by EGL already, and Qt would draw by GLX" in done.stderr


@linux
@pytest.mark.slow
def test_windows_that_are_closed_leave_no_memory_behind(screen: Mapping[str, str]) -> None:
    assert grown("window", 16, screen) < MOST
