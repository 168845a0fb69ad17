"""A window whose context is refused or lost says so, and goes on where that is possible."""

import subprocess
import sys
from collections.abc import Mapping

import pytest

from tests.root import ROOT


def run(screen: Mapping[str, str], times: str) -> list[str]:
    command = [sys.executable, "-m", "tests.faces.window.lost_context", times]
    done = subprocess.run(command, env=screen, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_a_window_goes_on_after_one_lost_frame(screen: Mapping[str, str]) -> None:
    said = run(screen, "once")
    assert "frames True colors True" in said and "code 0" in said


@pytest.mark.slow
def test_one_that_cannot_draw_at_all_any_more_ends_with_a_sentence(
    screen: Mapping[str, str],
) -> None:
    said = run(screen, "always")
    assert "OpenGL failed while drawing (OpenGL got errors" in said[-1]
    assert not any(line.startswith(("frames", "code")) for line in said)


@pytest.mark.slow
def test_a_context_that_is_refused_is_told_with_what_is_possible(
    screen: Mapping[str, str],
) -> None:
    said = run({**screen, "QT_XCB_GL_INTEGRATION": "none"}, "never")
    assert said[-1].startswith("OpenGL cannot be used here (Qt makes no context)")
    assert "browser=True" in said[-1]
