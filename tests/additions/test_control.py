"""A control is one row, from which window and notebook both build theirs.

The window has its screen in tests/window: case_rows_for_controls_are_in_the_bar of window_cases.py.
"""

from collections.abc import Callable
from typing import Any

import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.controller.controller import Controller
from scalarviz.controller.controls import CONTROLS, Control
from scalarviz.presenter.show import Show
from scalarviz.view.scene.layout import LAYOUTS
from tests.controller.fake_stage import FakeStage


def set_focus(controller: Controller, number: Any) -> None:
    controller.session.focus = int(float(number))


def rows() -> dict[str, Control]:
    """A control of each kind."""
    made = [
        Control(
            "layers",
            "choice",
            "How layers are laid out",
            lambda controller, name: setattr(controller.stage, "layout", name),
            lambda state: state.layout,
            lambda state: tuple(LAYOUTS),
            label="Layers",
        ),
        Control(
            "by layer",
            "tick",
            "Colours of each layer by themselves",
            lambda controller, on: setattr(controller.stage, "per_layer", on),
            lambda state: state.per_layer,
            label="Scale",
            text="by layer",
        ),
        Control(
            "sample",
            "number",
            "The sample that is followed",
            set_focus,
            lambda state: float(state.focus),
            label="Sample number",
        ),
        Control(
            "again",
            "button",
            "Start again",
            lambda controller, _: controller.reset(),
            enabled=lambda state: state.step > 0,
            label="Run",
            text="Again",
        ),
    ]
    return {row.name: row for row in made}


def test_a_notebook_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ipywidgets", reason="the extra notebook is not installed")
    from scalarviz.notebook.controls import NotebookControls

    for name, row in rows().items():
        monkeypatch.setitem(CONTROLS, name, row)
    network = sv.Network([3, 8, 3], "tanh", seed=0)
    session = sv.Session(network, data.Rgb(levels=4), "mse", sv.SGD(0.5), batch=8, engine="python")
    session.advance(2)
    stage: Any = FakeStage(Show(session))
    controller = Controller(Show(session), stage)

    def at_once(deed: Callable[[], None]) -> None:
        deed()

    controls = NotebookControls(controller, at_once)
    controls.show_state(controller.state)
    made = controls.made
    line = [group.children[-1] for group in controls.box.children[1].children]
    assert all(made[name] in line and made[name].tooltip for name in rows())
    assert (made["layers"].value, made["layers"].options) == ("crossbar", tuple(LAYOUTS))
    made["layers"].value = "posters"
    made["by layer"].value = True
    made["sample"].value = 3.0
    assert (stage.layout, stage.per_layer, session.focus) == ("posters", True, 3)
    made["again"].click()
    controller.rest()
    assert session.step_index == 0
    controls.show_state(controller.state)
    assert made["again"].disabled
