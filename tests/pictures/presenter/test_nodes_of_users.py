"""Visuals of a user in the scene of our pictures: a file, a window."""

import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import InputError
from scalarviz.stage.stage import Stage
from tests.faces.window.conftest import screen as screen
from tests.pictures.presenter import nodes_of_users as own
from tests.root import ROOT
from tests.studio import Studio
from tests.wording import refused

SEEN = "green True, red False"


@pytest.mark.parametrize("ratio", [1, 2])
def test_a_visual_stands_before_or_behind_a_cube(studio: Studio, ratio: int) -> None:
    stage = Stage(own.made())
    stage.nodes = lambda view: own.squares(stage, view)
    pixels = studio.stage(stage, 0.0, (900, 600), ratio)
    assert own.seen(stage, pixels, ratio) == SEEN


def test_another_session_has_another_view_with_the_same_visuals(studio: Studio) -> None:
    views: list[Any] = []
    stage = Stage(own.made())
    stage.nodes = views.append
    studio.stage(stage, 0.0)
    stage.replace(own.made())
    studio.stage(stage, 0.0)
    assert len(views) == len({*views}) == 2 and views[-1] is stage.picture().scene.view


def test_a_visual_that_is_invisible_or_removed_is_not_drawn(studio: Studio) -> None:
    stage = Stage(own.made())
    plain = studio.stage(stage, 0.0)
    view = stage.picture().scene.view
    own.squares(stage, view)
    first, second = view.scene.children[-2:]
    assert (studio.stage(stage) != plain).any()
    first.visible, second.parent = False, None
    np.testing.assert_array_equal(studio.stage(stage), plain)


@pytest.mark.slow
def test_a_window_calls_for_them(screen: Mapping[str, str]) -> None:
    command = [sys.executable, "-m", "tests.pictures.presenter.nodes_of_users"]
    done = subprocess.run(command, env=screen, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert SEEN in done.stdout.splitlines()


def test_they_are_made_by_a_function() -> None:
    with refused(InputError, "3"):
        sv.watch(own.made(), nodes=3)  # type: ignore[arg-type]  # on purpose
