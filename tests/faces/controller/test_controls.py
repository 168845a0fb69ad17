"""Every control of the tables does what it shows, whatever face has it."""

from typing import Any

import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.faces.controller.control import DIGITS, Control
from scalarviz.faces.controller.controller import Controller
from scalarviz.faces.controller.controls import CONTROLS
from scalarviz.stage.stage import Stage
from tests.faces.controller.conftest import Open

ALONE = [row for row in CONTROLS.values() if not row.several]
TICKS = [row for row in ALONE if row.kind == "tick"]


@pytest.fixture
def controller(opened: Open) -> Any:
    """Of a network over a plane, which has all there is to see, with two branches and a pin."""
    net = sv.Network([2, 4, 1], "tanh", "sigmoid", seed=0)
    session = sv.Session(net, data.Circle(), "mse", sv.SGD(0.5), batch=8, engine="python")
    session.advance(4)
    session.seek(2)
    session.edit(0, 0.5)
    made = opened(session, Stage)
    made.stage.pin(net.layers[0].perceptrons[0].weights[0])
    return made


def use(controller: Controller, row: Control, value: Any) -> Any:
    """What a control shows after its key was pressed, or without one after it was set."""
    if not row.key or row.key == DIGITS:
        row.set(controller, value)
    else:
        assert controller.press(row.key)
    return row.get(controller.state)


@pytest.mark.parametrize("row", TICKS, ids=lambda row: row.name)
def test_a_tick_shows_that_it_was_flipped(controller: Controller, row: Control) -> None:
    controller.stage.frame_data()
    before = row.get(controller.state)
    assert row.enabled(controller.state)
    assert use(controller, row, not before) == (not before)
    assert use(controller, row, before) == before


@pytest.mark.parametrize("name", ["go wrong", "scenes"])
def test_a_choice_that_begins_something_else_does_so_and_can_be_undone(
    controller: Controller, name: str
) -> None:
    row, session = CONTROLS[name], controller.session
    before = session.network.bank.value.copy()
    row.set(controller, [*row.names(controller.state)][-1])
    controller.pause()
    now = controller.session.network.bank.value
    assert now.shape != before.shape or (now != before).any()
    controller.undo()
    assert controller.session is session and (session.network.bank.value == before).all()


def test_a_button_fits_the_scales_to_the_numbers_of_now(controller: Controller) -> None:
    stage: Any = controller.stage
    controller.edit(0, 40.0)
    assert stage.frame_data().cubes.color_scales.max() >= 40.0
    controller.edit(0, 0.5)
    assert stage.frame_data().cubes.color_scales.max() >= 40.0
    CONTROLS["fit colours"].set(controller, 1)
    assert stage.frame_data().cubes.color_scales.max() < 40.0
