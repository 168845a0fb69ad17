"""A new control is one row: window, notebook, menus, keys and help are built from the table.

The window has its screen in tests/window: case_rows_for_controls_are_in_the_bar of window_cases.py.
"""

from collections.abc import Iterator
from typing import Any

import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.texts import text
from scalarviz.faces.controller.control import DIGITS, KINDS, Control, LogScale, Scale
from scalarviz.faces.controller.controller import Controller, help_rows
from scalarviz.faces.controller.controls import CONTROLS
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.stage.show import Show
from tests.faces.controller.fake_stage import FakeStage

SMALL = LogScale(0.001, 1.0)
PAINTED = text("keys.or", most=", ".join([*THEMES][:-1]), last=[*THEMES][-1])


def set_focus(controller: Controller, number: Any) -> None:
    controller.session.focus = int(float(number))


def set_small(controller: Controller, number: Any) -> None:
    controller.session.learning_rate = number


def rows() -> dict[str, Control]:
    """Controls of each kind; two buttons are a group."""
    made = [
        Control(
            "painted",
            "choice",
            "How the picture is painted",
            lambda controller, name: setattr(controller.stage, "theme", name),
            lambda state: state.theme,
            lambda state: tuple(THEMES),
            label="Paint",
            key="j",
            help="paint as {}",
        ),
        Control(
            "per layer",
            "tick",
            "Colours of each layer by themselves",
            lambda controller, on: setattr(controller.stage, "per_layer", on),
            lambda state: state.per_layer,
            label="Scale",
            text="by layer",
            key="k",
        ),
        Control(
            "sample in numbers",
            "number",
            "The sample that is followed",
            set_focus,
            lambda state: float(state.focus),
            label="Sample number",
        ),
        Control(
            "sample slid",
            "slider",
            "The sample that is followed, slid",
            set_focus,
            lambda state: state.focus,
            scale=lambda state: Scale(0, state.samples - 1),
            label="Sample slid",
        ),
        Control(
            "small rate",
            "slider",
            "A small learning rate",
            set_small,
            lambda state: state.rate,
            scale=lambda state: SMALL,
            label="Small rate",
        ),
        Control(
            "time again",
            "timeline",
            "Every step so far, once more",
            lambda controller, step: controller.seek(step),
            lambda state: state.step,
            scale=lambda state: Scale(0, max(1, state.end)),
            marks=lambda state: [1],
            primary=True,
        ),
        Control(
            "condition",
            "entry",
            "Where it stops",
            lambda controller, words: controller.session.stop_when(words),
            lambda state: state.stops,
            lambda state: ["not finite", "loss < 0.01"],
            label="Condition",
        ),
        Control(
            "step in words",
            "text",
            "Where it stands",
            get=lambda state: f"step {state.step}",
            label="Step",
        ),
        Control(
            "again",
            "button",
            "Start once more",
            lambda controller, _: controller.reset(),
            enabled=lambda state: state.step > 0,
            label="Run",
            text="Again",
        ),
        Control(
            "one on",
            "button",
            "One step on",
            lambda controller, times: controller.step(+1, times),
            label="Run",
            text="On",
            menu="Extras",
            key="w",
        ),
        Control(
            "side",
            "choice",
            "The side of it",
            lambda controller, name: controller.tell(name),
            names=lambda state: ("left", "right"),
            menu="Extras",
        ),
    ]
    return {row.name: row for row in made}


@pytest.fixture
def controls() -> Iterator[dict[str, Control]]:
    """The table, which afterwards has its rows again, in their order."""
    before = dict(CONTROLS)
    yield CONTROLS
    CONTROLS.clear()
    CONTROLS.update(before)


@pytest.fixture
def controller(controls: dict[str, Control]) -> Controller:
    for name, row in rows().items():
        assert name not in controls
        controls[name] = row
    network = sv.Network([3, 8, 3], "tanh", seed=0)
    session = sv.Session(network, data.Rgb(levels=4), "mse", sv.SGD(0.5), batch=8, engine="python")
    session.advance(2)
    stage: Any = FakeStage(Show(session))
    return Controller(Show(session), stage)


def test_there_is_one_of_each_kind() -> None:
    assert {row.kind for row in rows().values()} == set(KINDS)


def test_its_key_does_the_same_and_is_in_the_help(controller: Controller) -> None:
    stage: Any = controller.stage
    for key in "jkk":
        assert controller.press(key)
    assert (stage.theme, stage.per_layer) == ("light", False)
    assert controller.press("w", shift=True)
    assert controller.session.step_index == 12
    assert stage.keys == help_rows(controller.state)
    assert {
        ("j", f"paint as {PAINTED}"),
        ("k", "colours of each layer by themselves"),
        ("w", "one step on"),
    } <= set(stage.keys)


def test_of_a_choice_with_digits_each_name_has_one(
    controller: Controller, controls: dict[str, Control]
) -> None:
    del controls["camera"]
    for name, key in (("painted", DIGITS), ("side", "")):
        controls[name] = Control(**{**vars(rows()[name]), "key": key})
    assert controller.press("2") and not controller.press(str(len(THEMES) + 1))
    assert controller.stage.theme == list(THEMES)[1]
    assert (" ".join("123456789"[: len(THEMES)]), f"paint as {PAINTED}") in help_rows(
        controller.state
    )


@pytest.mark.parametrize("wrong", [{"kind": "dial"}, {"kind": "number", "menu": "View"}])
def test_a_row_that_no_face_can_build_is_refused_at_once(wrong: dict[str, Any]) -> None:
    with pytest.raises(AssertionError, match=wrong["kind"]):
        Control(**{"name": "it", "about": "what it is for", **wrong})


@pytest.mark.parametrize("number", [0.001, 0.5, 1.0])
def test_a_place_of_a_slider_is_that_of_its_number(number: float) -> None:
    assert SMALL.number(SMALL.place(number)) == number
    assert Scale(0.0, 1.0, 0.001).number(Scale(0.0, 1.0, 0.001).place(number)) == number


@pytest.mark.parametrize(
    ("number", "place"), [(None, 90), (7.0, 60), (float("nan"), 0), (0.0, 0), (float("inf"), 60)]
)
def test_what_is_off_a_slider_stands_at_its_end(number: float | None, place: int) -> None:
    assert LogScale(0.1, 1.0, endless=True).last == 90
    assert LogScale(0.1, 1.0, endless=True).place(number) == place
