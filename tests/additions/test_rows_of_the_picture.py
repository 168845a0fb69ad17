"""A new channel, layout, theme or camera is one row, with keys, menus and options."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.faces.controller.controller import Controller, help_rows
from scalarviz.scene.canvas.palette import THEMES, rgb
from scalarviz.scene.layout.camera import CAMERAS, Camera
from scalarviz.stage.channels import CHANNELS, Channel
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from tests.studio import Studio

SEPIA = replace(THEMES["light"], name="sepia", tray="#f4ecd8", ink="#5b4636")


@pytest.fixture
def controller() -> Controller:
    network = sv.Network([3, 8, 3], "tanh", "sigmoid", seed=0)
    session = sv.Session(network, data.Rgb(levels=4), "mse", sv.SGD(0.5), batch=8, engine="python")
    session.advance(2)
    return Controller(Show(session), Stage(Show(session), camera="flat", reduced_motion=True))


def test_a_channel_is_reached_by_its_key_and_drawn(
    controller: Controller, studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel = Channel("sign", lambda source: np.sign(source.numbers.value))
    monkeypatch.setitem(CHANNELS, "sign", channel)
    stage: Any = controller.stage
    assert "sign" in controller.state.channels
    before = studio.stage(stage)
    while stage.color != "sign":
        controller.press("c")
    assert not np.array_equal(studio.stage(stage), before)
    assert set(np.unique(stage.frame_data().cubes.colors)) == {-1.0, 1.0}


def test_a_theme_is_reached_by_its_key_and_everywhere(
    controller: Controller, studio: Studio, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(THEMES, "sepia", SEPIA)
    stage: Any = controller.stage
    for _ in range(2):
        controller.press("d")
    assert stage.theme == "sepia"
    pixels = studio.stage(stage, 0.0, (1280, 800))
    assert (abs(pixels - 255.0 * rgb((SEPIA.ground,))[0]).max(axis=2) < 2).any()
    frame = sv.picture(controller.session, tmp_path / "net.png", theme="sepia", size=(320, 200))
    assert frame.shape == (200, 320, 3)
    sv.storyboard(controller.session, tmp_path / "step.html", theme="sepia", size=(320, 200))
    assert (tmp_path / "step.html").exists()


def test_a_camera_is_reached_by_the_next_digit(
    controller: Controller, studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CAMERAS, "below", Camera(azimuth=10.0, elevation=-60.0))
    stage: Any = controller.stage
    before = studio.stage(stage)
    assert controller.press("4")
    assert stage.camera == "below"
    assert not np.array_equal(studio.stage(stage, 1.0), before)
    keys, about = next(row for row in help_rows(controller.state) if "flat" in row[1])
    assert keys == "1 2 3 4" and about.endswith("flat or below")
