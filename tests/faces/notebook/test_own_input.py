"""Inputs of the user's own in a notebook: the row below the picture, and the mouse over it."""

import asyncio
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from scalarviz.faces.controller.controller import Controller
from scalarviz.faces.controller.watch_options import WatchOptions
from scalarviz.faces.notebook import show
from scalarviz.faces.notebook.controls import NotebookControls
from scalarviz.faces.notebook.own_input import OwnInput
from scalarviz.pictures.presenter.show import Show
from scalarviz.pictures.presenter.stage import Stage
from scalarviz.training.session.settings_now import settings_now
from tests.sessions import image, inverting, plane


@pytest.fixture
def controls(request: pytest.FixtureRequest) -> Iterator[NotebookControls]:
    shown = Show(request.param())
    controller = Controller(shown, Stage(shown))
    controller.hand.patience = 10.0
    made = NotebookControls(controller, lambda command: command())
    made.show_state(controller.state)
    yield made
    controller.quit()
    controller.rest()


def again(controls: NotebookControls) -> OwnInput:
    """Show the state as it is later, when nobody is at a control any more."""
    controls._touched.clear()
    controls.own._touched = -1.0
    controls.show_state(controls.controller.state)
    return controls.own


def is_seen(widget: Any) -> bool:
    return bool(widget.layout.display != "none")


def press(own: OwnInput, label: str) -> None:
    next(each for each in own.buttons.children if each.description == label).click()


def labels(own: OwnInput) -> list[str]:
    return [each.description for each in own.buttons.children]


@pytest.mark.parametrize("controls", [inverting], indirect=True)
def test_a_colour_is_picked_and_learned_and_that_is_undone(controls: NotebookControls) -> None:
    own, session = controls.own, controls.controller.session
    assert not is_seen(own.box)
    controls.made["own input"].click()
    shown = again(controls).picker.value
    assert is_seen(own.box) and is_seen(own.picker) and shown.startswith("#")
    own.picker.value = "#3366cc"
    assert np.allclose(controls.controller.stage.own, [0.2, 0.4, 0.8])
    assert again(controls).picker.value == "#3366cc"
    assert labels(own) == ["Back to the samples", "Learn this too"]
    press(own, "Learn this too")
    count = settings_now(session).data.samples
    assert np.allclose(settings_now(session).data.training[0][-1], [0.2, 0.4, 0.8])
    controls.made["undo"].click()
    assert settings_now(session).data.samples == count - 1
    again(controls)
    controls.made["redo"].click()
    assert settings_now(session).data.samples == count
    press(again(controls), "Back to the samples")
    assert not is_seen(again(controls).box) and controls.controller.stage.own is None


@pytest.mark.parametrize("controls", [inverting], indirect=True)
def test_the_picker_follows_what_the_mouse_puts_in(controls: NotebookControls) -> None:
    controls.controller.stage.own = np.array([1.0, 0.0, 0.4])
    own = again(controls)
    assert own.picker.value == "#ff0066"
    assert np.array_equal(controls.controller.stage.own, [1.0, 0.0, 0.4]), "none is sent back"


@pytest.mark.parametrize(
    ("controls", "offers"),
    [
        (plane, ["Back to the samples", "Learn as 0", "Learn as 1"]),
        (image, ["Back to the samples", "Learn as output 0", "Learn as output 1", "Draw anew"]),
    ],
    indirect=["controls"],
)
def test_other_inputs_have_no_colour(controls: NotebookControls, offers: list[str]) -> None:
    controls.made["own input"].click()
    own = again(controls)
    assert is_seen(own.box) and not is_seen(own._color)
    assert labels(own) == offers


def places(live: Any) -> list[tuple[float, float]]:
    """Pixels of the panel at which the mouse puts in something."""
    exhibit = live.controller.stage._seen.exhibit
    width, height = live.canvas.size
    return [
        (x, y)
        for x in range(width // 2, width, 4)
        for y in range(0, height, 4)
        if exhibit.inputs_at(x, y)
    ]


def event(kind: str, x: float, y: float) -> dict[str, Any]:
    return {"type": f"pointer_{kind}", "x": x, "y": y, "button": 1, "modifiers": ()}


@pytest.mark.usefixtures("studio")
@pytest.mark.parametrize("make", [plane, image])
def test_the_mouse_of_a_page_clicks_the_map_and_draws_on_the_pad(make: Any) -> None:
    async def program() -> None:
        live = show.watch(Show(make()), WatchOptions(size=(640, 420)))
        live.canvas.get_frame()
        if make is image:
            live.controls.made["own input"].click()
            await asyncio.sleep(0.05)
            live.canvas.get_frame()
        (x, y), *_, (to_x, to_y) = places(live)
        live.canvas.handle_event(event("down", x, y))
        first = live.controller.stage.own.copy()
        live.canvas.handle_event(event("move", to_x, to_y))
        live.canvas.handle_event(event("up", to_x, to_y))
        assert not np.array_equal(first, live.controller.stage.own)
        if make is image:
            assert (live.controller.stage.own > 0.0).sum() > 3
        live.controls.show_state(live.controller.state)
        assert is_seen(live.controls.own.box)
        live.close()

    asyncio.run(program())
