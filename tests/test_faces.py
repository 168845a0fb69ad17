"""The options of sv.watch arrive where something is shown."""

from typing import Any

import pytest

import scalarviz as sv
from scalarviz.errors import InputError
from scalarviz.faces import watch as faces
from scalarviz.faces.controller.options import Recipe
from scalarviz.faces.scene_file import find, load
from tests.wording import refused


def test_options_of_a_session_reach_its_window(
    monkeypatch: pytest.MonkeyPatch, colours: sv.Session
) -> None:
    pytest.importorskip("PySide6", reason="a window takes PySide6")
    monkeypatch.setattr(faces, "check_window", lambda: None)
    monkeypatch.setattr("scalarviz.faces.window.window.watch", lambda _, options: options)
    options: dict[str, Any] = {
        "size": (64, 48),
        "play": False,
        "tour": True,
        "reduced_motion": True,
        "present": True,
        "nodes": print,
        "color": "gradient",
        "cubes": "gradient",
        "pin": 3,
    }
    reached = sv.watch(colours, **options)
    assert {name: getattr(reached, name) for name in options} == options
    recipe = Recipe(load(find("rgb")))
    assert sv.watch(colours, recipe=recipe).recipes == [recipe]


def test_the_terminal_that_is_gone_is_answered_with_what_to_use(colours: sv.Session) -> None:
    with refused(InputError, "terminal"):
        sv.watch(colours, terminal=True)  # type: ignore[call-arg]  # on purpose


def test_options_of_a_sweep_reach_its_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faces, "watch_sweep", lambda *known, play: known[-1])
    sweep = sv.sweep(xor, {"lr": [0.1, 0.2]}, seeds=[0, 1])
    options: dict[str, Any] = {
        "networks": "losses",
        "order": "-success",
        "group": "lr",
        "against": 1,
    }
    look = sv.watch(sweep, **options)
    assert {name: getattr(look, name) for name in options} == options


def xor(lr: float, seed: int) -> sv.Session:
    net = sv.Network([2, 2, 1], seed=seed)
    return sv.Session(net, sv.data.Xor(), "mse", sv.SGD(lr), engine="python")
